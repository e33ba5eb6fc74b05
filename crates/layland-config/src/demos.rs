//! Bundled task sets.

/// A bundled task set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// Its name, as in `demo:robot`.
    pub name: &'static str,
    /// The topic of the set, in a line.
    pub title: &'static str,
    /// The task-set file.
    pub text: &'static str,
}

const DEMOS: &[Demo] = &[
    Demo {
        name: "dhall",
        title: "the Dhall effect: global EDF misses at a low load, partitioned EDF does not",
        text: include_str!("../demos/dhall.toml"),
    },
    Demo {
        name: "three-tasks",
        title: "no partition exists, and global EDF is late by at most 2 ms",
        text: include_str!("../demos/three-tasks.toml"),
    },
    Demo {
        name: "robot",
        title: "a mobile robot on four CPUs, with affinities and varying execution times",
        text: include_str!("../demos/robot.toml"),
    },
    Demo {
        name: "constrained",
        title: "rate-monotonic priorities miss a deadline, deadline-monotonic ones do not",
        text: include_str!("../demos/constrained.toml"),
    },
    Demo {
        name: "rm-edf",
        title: "at a utilization of 0.97 rate-monotonic priorities miss a deadline, and EDF does not",
        text: include_str!("../demos/rm-edf.toml"),
    },
    Demo {
        name: "inversion",
        title: "priority inversion: a high task waits for one that needs no lock, until it inherits",
        text: include_str!("../demos/inversion.toml"),
    },
    Demo {
        name: "domino",
        title: "overload: under EDF every task is late, under fixed priorities only the last one",
        text: include_str!("../demos/domino.toml"),
    },
    Demo {
        name: "servers",
        title: "events under a polling, a deferrable and a sporadic server",
        text: include_str!("../demos/servers.toml"),
    },
    Demo {
        name: "overload",
        title: "more work than the CPUs can do, and a CPU that goes away",
        text: include_str!("../demos/overload.toml"),
    },
    Demo {
        name: "mixed",
        title: "two criticality levels, and jobs that overrun their low-level times",
        text: include_str!("../demos/mixed.toml"),
    },
    Demo {
        name: "parameter-defect",
        title: "parameters that change: granted, and late without bound (Tang et al. 2021, Example 1)",
        text: include_str!("../demos/parameter-defect.toml"),
    },
    Demo {
        name: "frequency-defect",
        title: "CPUs as fast as their tasks ask for are too slow (Example 2)",
        text: include_str!("../demos/frequency-defect.toml"),
    },
    Demo {
        name: "capacity-defect",
        title: "CPUs of different speed are added up, and threads are late without bound (Defect 3)",
        text: include_str!("../demos/capacity-defect.toml"),
    },
    Demo {
        name: "cluster-defect",
        title: "a task that moves to another cluster makes another one late (Example 3)",
        text: include_str!("../demos/cluster-defect.toml"),
    },
    Demo {
        name: "suspension-defect",
        title: "a thread that sleeps after its deadline gets less than it reserved (Example 4)",
        text: include_str!("../demos/suspension-defect.toml"),
    },
    Demo {
        name: "affinity-defect",
        title: "SCHED_DEADLINE with affinities is late, its repair is not (Example 5)",
        text: include_str!("../demos/affinity-defect.toml"),
    },
    Demo {
        name: "push-defect",
        title: "SCHED_DEADLINE preempts the wrong task (Example 6)",
        text: include_str!("../demos/push-defect.toml"),
    },
    Demo {
        name: "starvation-defect",
        title: "a task that changes its affinity never runs (Example 7)",
        text: include_str!("../demos/starvation-defect.toml"),
    },
    Demo {
        name: "inversion-defect",
        title: "a priority inversion that ends with a job, or does not (Example 8)",
        text: include_str!("../demos/inversion-defect.toml"),
    },
    Demo {
        name: "reclaim-defect",
        title: "threads that reclaim on CPUs of one domain take what another one has reserved",
        text: include_str!("../demos/reclaim-defect.toml"),
    },
    Demo {
        name: "no-convergence",
        title: "adaptive partitioning never finds a partition that exists (Stevanato et al. 2021)",
        text: include_str!("../demos/no-convergence.toml"),
    },
    Demo {
        name: "shifting",
        title: "weak scheduling with affinities is late, strong scheduling is not (Bonifaci et al. 2016)",
        text: include_str!("../demos/shifting.toml"),
    },
    Demo {
        name: "crowded-socket",
        title: "affinities of three levels, and a socket with more work than it can do",
        text: include_str!("../demos/crowded-socket.toml"),
    },
    Demo {
        name: "virtual-clusters",
        title: "all that three CPUs have: RUN and QPS are never late (Compagnin et al. 2015)",
        text: include_str!("../demos/virtual-clusters.toml"),
    },
    Demo {
        name: "mixed-overrun",
        title: "overruns that only the tasks of low criticality pay for, under every mechanism",
        text: include_str!("../demos/mixed-overrun.toml"),
    },
    Demo {
        name: "mixed-amc-defect",
        title: "adaptive mixed criticality: AMC-IA accepts what misses a deadline",
        text: include_str!("../demos/mixed-amc-defect.toml"),
    },
    Demo {
        name: "mixed-pt-defect",
        title: "period transformation: the printed test accepts a set that misses a deadline",
        text: include_str!("../demos/mixed-pt-defect.toml"),
    },
    Demo {
        name: "mixed-zss-defect",
        title: "zero slack: an instant that comes too late (Huang et al. 2014, Table I)",
        text: include_str!("../demos/mixed-zss-defect.toml"),
    },
    Demo {
        name: "mixed-plrs-defect",
        title: "fixed job priorities: an accepted set that no policy can schedule",
        text: include_str!("../demos/mixed-plrs-defect.toml"),
    },
];

/// Every bundled task set. Each is a valid task-set file whose first lines describe its topic.
pub fn demos() -> &'static [Demo] {
    DEMOS
}

/// Returns the bundled task set of this name.
///
/// ```
/// assert!(layland_config::demo("robot").is_some());
/// ```
pub fn demo(name: &str) -> Option<&'static Demo> {
    DEMOS.iter().find(|demo| demo.name == name)
}
