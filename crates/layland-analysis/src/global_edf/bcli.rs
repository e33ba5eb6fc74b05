//! BCLI, the iterative interference test for global EDF (Bertogna, Cirinei, Lipari 2009, Section
//! 5). **Sufficient.** Accepts every set that [BCL](super::bcl) accepts.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) there are few pairs
//! of tasks. Times are integers, as everywhere in Layland; hence the `+ 1`.
//!
//! | paper | meaning |
//! |---|---|
//! | `S_k` | slack of `tau_k` known so far, from 0 |
//! | `I_i^k` | the interference of `tau_i` with a job of `tau_k`, given `S_i` (`workload.rs`) |
//!
//! A job of `tau_k` has a slack of at least
//! `D_k - C_k - floor(sum over i != k of min(I_i^k, D_k - C_k + 1) / m)`, and larger slacks reduce
//! the interference. The test iterates until every task meets its deadline or no slack grows.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::workload::{Interference, Pairs, Rival, rivals, share, sum};
use super::{ALGORITHMS, PAIRED, Slacks};
use crate::group::Group;
use crate::sporadic::densest;
use crate::{
    Certify, Citation, Decide, Respond, ResponseTest, SchedulabilityTest, Sporadic, Subject,
    TestKind,
};

/// Bertogna, Cirinei and Lipari 2009.
pub const BERTOGNA_2009: Citation = Citation {
    key: "bertogna2009schedulability",
    text: "M. Bertogna, M. Cirinei and G. Lipari. Schedulability analysis of global scheduling \
           algorithms on multiprocessor platforms. IEEE Transactions on Parallel and Distributed \
           Systems 20(4):553-566, 2009.",
    bibtex: "@article{bertogna2009schedulability,
  author  = {Marko Bertogna and Michele Cirinei and Giuseppe Lipari},
  title   = {Schedulability Analysis of Global Scheduling Algorithms on Multiprocessor Platforms},
  journal = {IEEE Transactions on Parallel and Distributed Systems},
  volume  = {20}, number = {4}, pages = {553--566}, year = {2009},
  doi     = {10.1109/TPDS.2008.129}
}",
};

/// The limit of rounds. Each round is sound; more rounds only accept more.
const ROUNDS: usize = 100;

/// Most accepted sets are accepted within this number of rounds.
const USUAL_ROUNDS: usize = 2;

/// The limit of passes that search for a task that no round can help.
const PASSES: usize = 8;

/// BCLI, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{bcl, bcli}};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(3, 10), (3, 10), (5, 14)].iter().enumerate().map(|(at, &(c, t))| {
///     Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(2, tasks.collect());
/// // For the third task BCL counts 6 and 6 of the others against 2 * 9; BCLI accepts as well.
/// assert_eq!(bcl::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// assert_eq!(bcli::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "BCLI",
    title: "iterative interference test for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_2009],
    certify: Certify::By(|system| super::steps(Group::clusters(system), slacks_by)),
    decide: Decide::with_bounds(|system| {
        super::both_by_slacks(system, Group::clusters(system), slacks)
    })
    .or_sooner(|system| super::verdict_by(system, accepts)),
};

/// The response bounds of the test.
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "BCLI",
    title: "iterative interference test for global EDF",
    algorithms: ALGORITHMS,
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_2009],
    bound: Respond::Alone(|system| {
        super::responses_by_slacks(system, Group::clusters(system), slacks)
    }),
    by_rank: None,
};

/// Returns the slacks of the tasks, or the first task without one.
pub fn slacks(tasks: &[Sporadic], cpus: usize) -> Slacks {
    grow(tasks, cpus, |_, _| {})
}

fn slacks_by(tasks: &[Sporadic], cpus: usize, grown: &mut dyn FnMut(usize, i64)) -> Slacks {
    grow(tasks, cpus, grown)
}

fn grow(tasks: &[Sporadic], cpus: usize, grown: impl FnMut(usize, i64)) -> Slacks {
    let rivals = rivals(tasks);
    let (test, mut room) = (Interfered::new(tasks, &rivals, cpus), Vec::new());
    let slack = |k: usize, S: &[i64]| test.slack(k, S, &mut room);
    super::grow_slacks(tasks.len(), ROUNDS, grown, |_, _| None, slack)
}

/// The tasks and their interference with each other.
struct Interfered<'a> {
    tasks: &'a [Sporadic],
    pairs: Pairs<'a>,
    m: i64,
}

impl<'a> Interfered<'a> {
    fn new(tasks: &'a [Sporadic], rivals: &'a [Rival], cpus: usize) -> Interfered<'a> {
        Interfered { tasks, pairs: Pairs::of(tasks, rivals), m: cpus as i64 }
    }

    /// Returns the slack of a task, given those of the others, or `None` if it may be late. `room`
    /// is a buffer that callers reuse.
    fn slack(&self, k: usize, S: &[i64], room: &mut Vec<Interference>) -> Option<i64> {
        let Interfered { tasks, pairs, m } = self;
        let [C_k, D_k, _] = tasks[k].ns();
        let most = D_k - C_k + 1;
        let row = pairs.with(k, D_k, room);
        let does = |(I_i, &S_i): (&Interference, &i64)| I_i.with_slack(S_i).min(most);
        let others = sum(row.iter().zip(S).map(does), most) - i128::from(does((&row[k], &S[k])));
        (others < i128::from(*m) * i128::from(most)).then(|| D_k - C_k - share(others, *m))
    }
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs. Skips rounds that cannot help. No slack exceeds `D_k - C_k`, and a round maps upper bounds
/// on all slacks to upper bounds: a task that may be late with these may be late after every round.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    let rivals = rivals(tasks);
    let test = Interfered::new(tasks, &rivals, cpus);
    let [mut room, mut other_room] = [Vec::new(), Vec::new()];
    let mut most: Vec<i64> = tasks.iter().map(|tau| tau.deadline.ns() - tau.wcet.ns()).collect();
    // Most sets that are not accepted fail at their densest task.
    if densest(tasks).is_some_and(|k| test.slack(k, &most, &mut room).is_none()) {
        return false;
    }
    let hopeless = |round: usize, _| {
        if round != USUAL_ROUNDS {
            return None;
        }
        for _ in 0..PASSES {
            let mut falls = false;
            for k in 0..tasks.len() {
                let Some(slack) = test.slack(k, &most, &mut room) else { return Some(k) };
                falls |= slack < most[k];
                most[k] = most[k].min(slack);
            }
            if !falls {
                break;
            }
        }
        None
    };
    let slack = |k: usize, S: &[i64]| test.slack(k, S, &mut other_room);
    let found = super::grow_slacks(tasks.len(), ROUNDS, |_, _| {}, hopeless, slack);
    matches!(found, Slacks::All(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sporadic::{random, random_tasks};

    #[test]
    fn a_set_is_accepted_if_every_task_has_a_slack() {
        let mut draw = random(11);
        let (mut all, mut late) = (0, 0);
        for _ in 0..4_000 {
            let (count, cpus) = (1 + draw(14), 1 + draw(5) as usize);
            let load = 1 + draw(9) as i64;
            let tasks = random_tasks(&mut draw, count, load);
            let found = matches!(slacks(&tasks, cpus), Slacks::All(_));
            assert_eq!(accepts(&tasks, cpus), found, "{tasks:?} on {cpus}");
            if found { all += 1 } else { late += 1 }
        }
        assert!(all > 400 && late > 400, "{all} {late}");
    }
}
