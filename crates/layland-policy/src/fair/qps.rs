//! **QPS**: quasi-partitioned scheduling (Massa, Lima, Regnier, Levin, Brandt 2014; as evaluated by
//! Compagnin, Mezzetti, Vardanega 2015).
//!
//! | paper | here |
//! |-------|------|
//! | execution set of a processor | `ClientSet`, made before the start by [`quasi_partition`] |
//! | major set, excess `x` | `ClientSet` with a `Major` part, `excess` |
//! | dedicated servers `S_A`, `S_B` | `Major::budgets` |
//! | master `S_M` | a client of the set of a CPU with a larger number |
//! | slave `S_S` | implied: it runs exactly when the master does |
//!
//! A client is *active* from its release to its deadline. A major set is in **QPS mode** while all
//! its clients are active, and in **EDF mode** otherwise. In EDF mode its CPU alone runs its
//! clients by EDF, and the master is not active, so a system is scheduled globally only when
//! necessary. Time in QPS mode is cut into intervals that end with the earliest deadline of the
//! clients. In each interval, of length `l`, the servers of the two sides get `(R(A) - x) l` and
//! `(R(B) - x) l` on the set's own CPU, and the master a job of `x l`. While the master runs, on
//! any CPU, it runs a client of one side, and the set's own CPU runs one of the other side. Minor
//! sets are plain EDF.
//!
//! At each event of a hierarchy:
//!
//! 1. Windows of tasks end, then others begin.
//! 2. Major sets are updated, those with the lower CPU first: mode changes, new intervals,
//!    collapses.
//! 3. Dispatching, from the highest CPU down: the set of the CPU selects a client. If that is a
//!    master, the master selects one in turn, down to a task.
//!
//! The *update* of the hierarchy ([`Policy::update`](crate::Policy::update)) is steps 1 and 2, which
//! are the release primitive of the paper, and step 3 is the schedule primitive (Section V-B).
//!
//! **Sides.** If a set enters QPS mode with all clients released now, the sides are the static
//! bi-partition; otherwise A consists of the clients released now. **Collapse**: if a side has
//! nothing pending while the master has budget left, nothing will arrive before the end of the
//! interval, and the set is run by EDF on its own CPU until then. **The side that a master serves**
//! follows from a [`MasterRule`]; [`Stay`](MasterRule::Stay) is not in the paper. A CPU whose
//! master does not run stays on the side that it ran last, if that side has budget and a pending
//! client.
//!
//! **Ties.** Among equal deadlines: the client picked last, a task before a master, the lower
//! number (of tasks: by rank). The set and its master each remember their own last pick; the set
//! forgets its pick when there was nothing to pick.
//!
//! **Packing by `nfd`.** The cursor of next fit stays in place when a bin is overpacked; the
//! program of the evaluation ("no going back") has then passed the last bin. About one set in ten
//! is packed differently; both results are quasi-partitions, and no deadline is missed with either.
//!
//! **Budgets are whole nanoseconds**, without any rounding at run time: see
//! [`RateGrid`](layland_offline::RateGrid), which also explains why rounding the *rates* up does
//! not cause deadline misses, and how the windows of sporadic tasks are cut to multiples of its
//! unit.
//!
//! A job that is late, because the machine has delayed it, continues in a further window of its
//! task.
//!
//! **Scheduling events** ([`Counts::events`]) follow the definition of Compagnin et al.: a CPU is
//! invoked, at most once per instant, when a task of its set is released, its running task changes,
//! an interval of its set begins or ends, its master begins, ends or changes sides, or a master
//! that it hosts gets a job.

mod clients;
mod dispatch;
mod hierarchy;
mod modes;

use super::parts::{NONE, Parts, policy_of_parts};
use super::preparation::{Prepared, Releases, by_task, prepare, quasi_rule, refusal};
use crate::Count;
use crate::Refusal;
use crate::info::{PolicyOptions, SystemRefusal};
use clients::{ClientKind, QpsClient};
use hierarchy::{ClientSet, Hierarchy, Major};
use layland_model::{JobId, System};
use layland_offline::{Client as Item, Hierarchy as Sets, quasi_partition};

/// The rule for the side of its set that a master serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MasterRule {
    /// The side that it served just before, while that has a pending client; else the side that the
    /// set's own CPU did not run last; else as `Edf`. Saves a third to a half of the preemptions.
    #[default]
    Stay,
    /// The side with the earliest deadline, at every event (Compagnin et al., Algorithm 1).
    Edf,
}

impl MasterRule {
    /// Reads the option `master`.
    ///
    /// # Errors
    /// If it is neither `stay` nor `edf`.
    pub fn of(options: &PolicyOptions) -> Result<MasterRule, Refusal> {
        let rules = [("stay", MasterRule::Stay), ("edf", MasterRule::Edf)];
        Ok(options.one_of("master", &rules)?.unwrap_or_default())
    }
}

/// The counts of all hierarchies so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of times that a major set entered or left QPS mode.
    pub mode_changes: u64,
    /// The number of QPS intervals that began.
    pub intervals: u64,
    /// The number of QPS intervals that collapsed.
    pub collapses: u64,
    /// The number of invocations of CPUs: the scheduling events.
    pub events: u64,
    /// The number of masters that CPUs followed to a task, over all selections.
    pub chain_steps: u64,
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct Qps(Parts<Hierarchy>);

/// Returns the processor hierarchy of a system, with its tasks by rank.
///
/// # Errors
/// If QPS cannot schedule the system, or the packing in the options is not a quasi-partition.
pub fn sets(system: &System, options: &PolicyOptions) -> Result<(Prepared, Sets), SystemRefusal> {
    let prepared = prepare("qps", system, Releases::Separated)?;
    let rule = quasi_rule(options)?;
    let sets = quasi_partition(&prepared.rates, system.platform.cpu_count(), &rule)
        .map_err(|error| refusal(system, &prepared.order, error))?;
    Ok((prepared, sets))
}

/// Returns **QPS** for a valid system.
///
/// # Errors
/// As [`sets`].
pub fn qps(system: &System, options: &PolicyOptions) -> Result<Qps, SystemRefusal> {
    let rule = MasterRule::of(options)?;
    let (Prepared { order, grid, .. }, sets) = sets(system, options)?;
    let mut places = vec![(0, 0); order.len()];
    let mut parts = Vec::new();
    for (index, cluster) in sets.clusters().into_iter().enumerate() {
        let mut part = Hierarchy::new(grid.unit.ns(), rule, &cluster);
        let local = |cpu: usize| cluster.binary_search(&cpu).expect("a hierarchy is closed");
        let mut master_of = vec![(NONE, NONE); cluster.len()];
        for &cpu in &cluster {
            let set = &sets.sets[cpu];
            let first = part.clients.len() as u32;
            for client in &set.clients {
                let member = part.clients.len() as u32;
                let (rate, number, kind) = match *client {
                    Item::Task(seat) => {
                        places[seat] = (index as u32, member);
                        let task = order[seat];
                        let window = grid.tasks[task].window.ns();
                        let job = JobId { task, seq: 0 };
                        (
                            grid.tasks[task].numerator,
                            seat,
                            ClientKind::Task { job, window, ready: false },
                        )
                    }
                    Item::Master(cpu) => {
                        let below = local(cpu);
                        master_of[below] = (member, part.sets.len() as u32);
                        (part.excess(below), cpu, ClientKind::Master(below as u32))
                    }
                };
                let set = part.sets.len() as u32;
                part.clients.push(QpsClient::new(kind, number as u32, rate, set));
            }
            let major = set
                .master
                .as_ref()
                .map(|master| Major::new(grid.units(&master.excess), first + master.split as u32));
            part.sets.push(ClientSet::new(first, part.clients.len() as u32, major));
        }
        for (set, client) in part.sets.iter_mut().zip(master_of) {
            if let Some(major) = &mut set.major {
                (major.client, major.host) = client;
            }
        }
        part.reserve();
        parts.push(part);
    }
    let home = by_task(system, &order, &places);
    Ok(Qps(Parts::new("qps", parts, system.platform.cpu_count(), home)))
}

impl Qps {
    /// Returns the counts so far.
    pub fn counts(&self) -> Counts {
        self.0.parts().iter().fold(Counts::default(), |sum, part| Counts {
            mode_changes: sum.mode_changes + part.counts.mode_changes,
            intervals: sum.intervals + part.counts.intervals,
            collapses: sum.collapses + part.counts.collapses,
            events: sum.events + part.counts.events,
            chain_steps: sum.chain_steps + part.counts.chain_steps,
        })
    }
    fn counted(&self) -> Vec<Count> {
        let Counts { mode_changes, intervals, collapses, events, chain_steps } = self.counts();
        let count = |name, count| Count { name, count };
        vec![
            count("mode_changes", mode_changes),
            count("intervals", intervals),
            count("collapses", collapses),
            count("events", events),
            count("updates", self.0.updates()),
            count("server_updates", self.0.server_updates()),
            count("chain_steps", chain_steps),
        ]
    }
}

policy_of_parts!(Qps);
