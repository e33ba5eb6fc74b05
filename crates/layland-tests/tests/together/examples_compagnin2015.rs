//! Example III.1 of Compagnin, Mezzetti and Vardanega 2015, the bundled set `virtual-clusters`: the
//! reduction tree of their Figure 1, the processor hierarchy of their Figure 2, and the schedules.

use layland_config::{Format, Host, demo, read};
use layland_model::{Rate, System, Time};
use layland_offline::{Client, Clients};
use layland_policy::fair::{qps, run};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{Both, Counters, Trace};

const RUN: &str = "run:packing=0/1/2/3/4+5:duals=0+1/2+3/4:dual_fit=wfd";
const QPS: &str = "qps:packing=0+1/2+3/4+5//m0+m1+4+5";

fn system() -> System {
    let demo = demo("virtual-clusters").unwrap();
    read(demo.name, demo.text.as_bytes(), Format::Toml, &Host::default()).unwrap().system
}

/// Task, job, CPU, start and end in milliseconds.
type Row = (u32, u64, u32, i64, i64);

/// Returns the schedule of a hyperperiod, with deadline misses, preemptions and migrations.
fn schedule(spec: &str) -> (Vec<Row>, [u64; 3]) {
    let system = system();
    let policy = registry().build(spec, &system).unwrap();
    let mut both = Both(Trace::default(), Counters::new(6, 3));
    simulate(&system, policy, &mut both, &SimOptions::until(Time::from_ms(20))).unwrap();
    let mut segments = both.0.segments;
    segments.sort_by_key(|segment| (segment.start, segment.cpu));
    let ms = |at: Time| at.ns() / 1_000_000;
    let rows = segments.iter().map(|segment| {
        let (job, cpu) = (segment.job, segment.cpu);
        (job.task.0, job.seq, cpu.0, ms(segment.start), ms(segment.end))
    });
    let total = both.1.total();
    (rows.collect(), [total.missed, total.preemptions, total.migrations_within_jobs])
}

#[test]
fn figure_1_is_the_tree() {
    let (_, options) = registry().parse(RUN).unwrap();
    let (_, tree) = run::tree(&system(), &options).unwrap();
    assert_eq!(tree.level_sizes, [5, 3, 1]);
    let rates: Vec<String> = tree.servers.iter().map(|server| server.rate.to_string()).collect();
    assert_eq!(rates, ["3/5", "3/5", "3/5", "3/5", "3/5", "4/5", "4/5", "2/5", "1"]);
    assert_eq!(tree.servers[4].clients, Clients::Tasks(vec![4, 5]));
    assert_eq!(tree.servers[5].clients, Clients::Duals(vec![0, 1]));
    assert_eq!((tree.reductions(), tree.preemption_bound()), (2, 4));
    // With first fit the tree is flatter: t5 fits with t1, and the two need no other CPU.
    let (_, options) = registry().parse("run").unwrap();
    let (_, tree) = run::tree(&system(), &options).unwrap();
    assert_eq!((tree.level_sizes.as_slice(), tree.subsystems.len()), ([4, 1].as_slice(), 2));
}

#[test]
fn figure_2_is_the_hierarchy() {
    let (_, options) = registry().parse(QPS).unwrap();
    let (_, sets) = qps::sets(&system(), &options).unwrap();
    assert_eq!((sets.clusters(), sets.levels()), (vec![vec![0, 1, 2]], 2));
    for cpu in 0..2 {
        let master = sets.sets[cpu].master.as_ref().unwrap();
        assert_eq!((&master.excess, master.host, master.split), (&Rate::new(1, 5), 2, 1));
    }
    let shared = [Client::Master(0), Client::Master(1), Client::Task(4), Client::Task(5)];
    assert_eq!(sets.sets[2].clients, shared);
    assert_eq!(sets.sets[2].rate, Rate::ONE);
}

#[test]
fn run_schedules_it() {
    let expected = [
        (0, 0, 0, 0, 6),
        (3, 0, 1, 0, 4),
        (4, 0, 2, 0, 2),
        (5, 0, 2, 2, 3),
        (1, 0, 2, 3, 5),
        (2, 0, 1, 4, 10),
        (3, 0, 2, 5, 7),
        (1, 0, 0, 6, 10),
        (5, 0, 2, 7, 8),
        (4, 1, 2, 8, 10),
        (1, 1, 0, 10, 16),
        (2, 1, 1, 10, 14),
        (4, 2, 2, 10, 12),
        (5, 1, 2, 12, 13),
        (0, 0, 2, 13, 15),
        (3, 0, 1, 14, 20),
        (2, 1, 2, 15, 17),
        (0, 0, 0, 16, 20),
        (5, 1, 2, 17, 18),
        (4, 3, 2, 18, 20),
    ];
    assert_eq!(schedule(RUN), (expected.to_vec(), [0, 8, 6]));
}

#[test]
fn qps_schedules_it() {
    let stay = [
        (1, 0, 0, 0, 6),
        (2, 0, 1, 0, 4),
        (4, 0, 2, 0, 2),
        (5, 0, 2, 2, 4),
        (3, 0, 1, 4, 14),
        (0, 0, 2, 4, 6),
        (0, 0, 0, 6, 16),
        (4, 1, 2, 6, 8),
        (2, 0, 2, 8, 10),
        (4, 2, 2, 10, 12),
        (5, 1, 2, 12, 14),
        (2, 1, 1, 14, 20),
        (1, 1, 2, 14, 16),
        (1, 1, 0, 16, 20),
        (4, 3, 2, 16, 18),
        (3, 0, 2, 18, 20),
    ];
    assert_eq!(schedule(QPS), (stay.to_vec(), [0, 4, 4]));
    let edf = [
        (1, 0, 0, 0, 4),
        (2, 0, 1, 0, 4),
        (4, 0, 2, 0, 2),
        (5, 0, 2, 2, 4),
        (0, 0, 0, 4, 16),
        (3, 0, 1, 4, 14),
        (1, 0, 2, 4, 6),
        (4, 1, 2, 6, 8),
        (2, 0, 2, 8, 10),
        (4, 2, 2, 10, 12),
        (5, 1, 2, 12, 14),
        (2, 1, 1, 14, 18),
        (1, 1, 2, 14, 16),
        (1, 1, 0, 16, 20),
        (4, 3, 2, 16, 18),
        (3, 0, 1, 18, 20),
        (2, 1, 2, 18, 20),
    ];
    assert_eq!(schedule(&format!("{QPS}:master=edf")), (edf.to_vec(), [0, 5, 4]));
}

#[test]
fn others_cannot() {
    // No partition exists: a heuristic by name refuses the set, and the default runs it late.
    assert!(registry().build("p-edf:fit=ffd", &system()).is_err());
    for spec in ["p-edf", "g-edf"] {
        assert!(schedule(spec).1[0] > 0, "{spec}");
    }
    for spec in ["run", "qps", "qps:master=edf"] {
        assert_eq!(schedule(spec).1[0], 0, "{spec}");
    }
}
