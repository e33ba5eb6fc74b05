//! Response-time analysis for global EDF (Bertogna, Cirinei 2007). **Sufficient.** Accepts every
//! set that [BCLI](super::bcli) accepts.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) few pairs of tasks
//! share a CPU. Times are integers.
//!
//! | paper | meaning |
//! |---|---|
//! | `R_k` | bound on the response times of `tau_k`: the least fixed point of `C_k + floor(sum over i != k of min(W_i(R), I_i^k, R - C_k + 1) / m)` |
//! | `S_k` | slack, `D_k - R_k` |
//! | `W_i`, `I_i^k` | the maximum interference of `tau_i` (`workload.rs`) |
//!
//! The rounds are those of BCLI. Deviations: before the rounds, and after the first of them, the
//! test searches for a task that is late after any number of rounds, with response times that only
//! grow from `C_k` on and the slacks that these leave. Also, `R_k` is at or slightly above the
//! least fixed point, as the search takes steps of at least a 64th of `D_k - C_k`. If rounds with
//! such steps end without a proof that a task is late, rounds with points from `D_k` down decide.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::workload::{Growing, Interference, Pairs, Rival, rivals, share, sum};
use super::{ALGORITHMS, PAIRED, Slacks};
use crate::group::Group;
use crate::sporadic::fixed;
use crate::{
    Certify, Citation, Decide, Respond, ResponseTest, SchedulabilityTest, Sporadic, Subject,
    TestKind,
};
use std::cmp::Reverse;

/// Bertogna and Cirinei 2007.
pub const BERTOGNA_CIRINEI: Citation = Citation {
    key: "bertogna2007response",
    text: "M. Bertogna and M. Cirinei. Response-time analysis for globally scheduled symmetric \
           multiprocessor platforms. RTSS 2007, pages 149-160.",
    bibtex: "@inproceedings{bertogna2007response,
  author    = {Marko Bertogna and Michele Cirinei},
  title     = {Response-Time Analysis for Globally Scheduled Symmetric Multiprocessor Platforms},
  booktitle = {28th IEEE Real-Time Systems Symposium (RTSS)}, pages = {149--160}, year = {2007},
  doi       = {10.1109/RTSS.2007.31}
}",
};

/// The limit of rounds, and of the passes before them.
const ROUNDS: usize = 50;

/// The passes end when no response time grows by more than this fraction of `D_k - C_k`, as they
/// are then near a fixed point.
const LEAST_GROWTH: i64 = 256;

/// The number of passes before the rounds, and the number of rounds after which the remaining
/// passes run.
const FIRST_PASSES: usize = 3;
const FIRST_ROUNDS: usize = 2;

/// The maximum number of times that one pass raises the cap `R - C_k + 1` for one task.
const STEPS: usize = 64;

/// When only the verdict is required: the number of tasks that are probed first, and the numbers of
/// rounds from above before and after the passes.
const PROBED: usize = 5;
const FIRST_ROUNDS_ABOVE: usize = 3;
const ROUNDS_ABOVE: usize = 9;

/// RTA, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{bcli, rta}};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(2, 5), (2, 6), (3, 10)].iter().enumerate().map(|(at, &(c, t))| {
///     Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(2, tasks.collect());
/// assert_eq!(rta::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "G-RTA",
    title: "response-time analysis for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_CIRINEI],
    certify: Certify::By(|system| super::steps(Group::clusters(system), slacks_by)),
    decide: Decide::with_bounds(|system| {
        super::both_by_slacks(system, Group::clusters(system), slacks)
    })
    .or_sooner(|system| super::verdict_by(system, accepts)),
};

/// The response bounds of the test.
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "G-RTA",
    title: "response-time analysis for global EDF",
    algorithms: ALGORITHMS,
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_CIRINEI],
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
    grow_after(FIRST_PASSES, FIRST_ROUNDS, tasks, cpus, grown)
}

fn grow_after(
    first_passes: usize,
    first_rounds: usize,
    tasks: &[Sporadic],
    cpus: usize,
    mut grown: impl FnMut(usize, i64),
) -> Slacks {
    let (m, n) = (cpus as i64, tasks.len());
    let (rivals, mut room) = (rivals(tasks), Vec::with_capacity(n));
    // Most tasks that no round can help are found in the first passes, and most sets are accepted
    // in the first rounds, so the other passes run after those rounds. The order does not change
    // the answer, as a set with such a task is never accepted.
    let pairs = Pairs::of(tasks, &rivals);
    let mut passes = Passes::new(tasks, &pairs, m);
    if let Some(k) = passes.up_to(first_passes) {
        return Slacks::Late(k);
    }
    let mut proven = false;
    let hopeless = |round: usize, ends: bool| {
        if round == first_rounds || ends {
            let found = passes.up_to(ROUNDS);
            proven |= found.is_some();
            found
        } else {
            None
        }
    };
    let found = super::grow_slacks(n, ROUNDS, &mut grown, hopeless, |k, S| {
        let others = (0..n).filter(|&i| i != k);
        let response = response_among(&tasks[k], others, &rivals, S, m, &mut room)?;
        Some(tasks[k].deadline.ns() - response)
    });
    match found {
        // The steps of the rounds are wide. Without a proof that a task is late, the search with
        // which `accepts` begins must agree.
        Slacks::Late(_) | Slacks::GaveUp if !proven => {
            let mut from_above = FromAbove::new(tasks, &pairs, m);
            if from_above.rounds(FIRST_ROUNDS_ABOVE + ROUNDS_ABOVE, grown) {
                Slacks::All(from_above.S)
            } else {
                found
            }
        }
        Slacks::All(_) | Slacks::Late(_) | Slacks::GaveUp => found,
    }
}

/// The search for a task that no round can help. `R` is at most every response time that the rounds
/// can reach; a task is hopeless if it still exceeds the deadline. The search starts from
/// `R_k = C_k`, with the slacks `D_i - R_i`, which are upper bounds. The interference of the others
/// is taken at the `R` of the previous pass, which only underestimates it.
struct Passes<'a> {
    tasks: &'a [Sporadic],
    pairs: &'a Pairs<'a>,
    m: i64,
    R: Vec<i64>,
    S: Vec<i64>,
    /// The number of passes so far.
    passed: usize,
    /// True if another pass may find more.
    grows: bool,
    /// Buffers that each pass reuses.
    room: Vec<Interference>,
    most: Vec<i64>,
}

impl<'a> Passes<'a> {
    fn new(tasks: &'a [Sporadic], pairs: &'a Pairs<'a>, m: i64) -> Passes<'a> {
        let R: Vec<i64> = tasks.iter().map(|tau_i| tau_i.wcet.ns()).collect();
        let S = tasks.iter().zip(&R).map(|(tau_i, R_i)| tau_i.deadline.ns() - R_i).collect();
        let (most, room) = (Vec::with_capacity(tasks.len()), Vec::new());
        Passes { tasks, pairs, m, R, S, passed: 0, grows: true, room, most }
    }

    /// Returns a task that this number of passes finds hopeless, including earlier passes.
    fn up_to(&mut self, passes: usize) -> Option<usize> {
        while self.grows && self.passed < passes {
            self.passed += 1;
            self.grows = false;
            for k in 0..self.tasks.len() {
                if !self.pass(k) {
                    return Some(k);
                }
            }
        }
        None
    }

    /// Raises `R_k`. Returns false if no round can help the task, given the bounds of the others.
    fn pass(&mut self, k: usize) -> bool {
        let Passes { tasks, pairs, m, .. } = *self;
        let Passes { R, S, room, most, .. } = self;
        let [C_k, D_k, _] = tasks[k].ns();
        let before = R[k];
        most.clear();
        let of = |((I_i, tau_i), &S_i): ((&Interference, &Rival), &i64)| {
            I_i.with_slack(S_i).min(tau_i.workload(before, S_i))
        };
        most.extend(pairs.with(k, D_k, room).iter().zip(pairs.rivals()).zip(&S[..]).map(of));
        most.swap_remove(k);
        let first = sum(most.iter().map(|&most| most.min(before - C_k + 1)), before - C_k + 1);
        let mut next = C_k + share(first, m);
        if next > before {
            // After sorting, the tasks whose work is below the cap come first, and their number
            // grows with it.
            most.sort_unstable();
        }
        let (mut settled, mut done) = (0i128, 0);
        for _ in 0..STEPS {
            if next <= R[k] {
                break;
            }
            if next > D_k {
                return false;
            }
            R[k] = next;
            let cap = next - C_k + 1;
            while done < most.len() && most[done] <= cap {
                settled += i128::from(most[done]);
                done += 1;
            }
            let others = settled + i128::from(cap) * (most.len() - done) as i128;
            next = C_k + share(others, m);
        }
        S[k] = D_k - R[k];
        self.grows |= R[k] - before > (D_k - C_k) / LEAST_GROWTH;
        true
    }
}

/// The data about another task that the search for `R_k` needs.
#[derive(Clone, Copy)]
pub(crate) struct Other {
    tau_i: Growing,
    /// `I_i^k`, which does not depend on `R`.
    I_i: i64,
}

/// Returns `R_k` if it is at most `D_k`, where only these other tasks interfere. `room` is a buffer
/// that callers reuse.
pub(crate) fn response_among(
    tau_k: &Sporadic,
    others: impl Iterator<Item = usize>,
    rivals: &[Rival],
    S: &[i64],
    m: i64,
    room: &mut Vec<Other>,
) -> Option<i64> {
    let [C_k, D_k, _] = tau_k.ns();
    room.clear();
    room.extend(others.map(|i| {
        let (tau_i, S_i) = (rivals[i], S[i]);
        Other { tau_i: Growing::new(tau_i, S_i), I_i: tau_i.interference(D_k).with_slack(S_i) }
    }));
    // Drop the tasks that cannot interfere for any R.
    room.retain(|other| other.I_i > 0);
    // The interference of a task grows with R up to its maximum, I_i. From then on it is not
    // evaluated again while R grows. The tasks that still need an evaluation come first.
    let (mut asked, mut settled, mut last) = (room.len(), 0i128, C_k);
    super::fixed_point_bound(C_k, D_k, |R| {
        if R < last {
            (asked, settled) = (room.len(), 0);
        }
        last = R;
        let most = R - C_k + 1;
        let (mut others, mut at) = (settled, 0);
        while at < asked {
            let Other { tau_i, I_i } = &mut room[at];
            let does = (*I_i).min(most).min(tau_i.workload(R));
            others += i128::from(does);
            if does == *I_i {
                settled += i128::from(does);
                asked -= 1;
                room.swap(at, asked);
            } else {
                at += 1;
            }
        }
        C_k + share(others, m)
    })
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs. The decision is that of [`slacks`], which runs only if cheaper searches do not decide.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    let (rivals, m) = (rivals(tasks), cpus as i64);
    let pairs = Pairs::of(tasks, &rivals);
    let mut passes = Passes::new(tasks, &pairs, m);
    // Most sets that are not accepted fail at their densest tasks.
    let density = |&k: &usize| Reverse(fixed(tasks[k].wcet.ns(), tasks[k].deadline.ns()));
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_cached_key(density);
    if order.iter().take(PROBED).any(|&k| !passes.pass(k)) {
        return false;
    }
    let mut from_above = FromAbove::new(tasks, &pairs, m);
    from_above.rounds(FIRST_ROUNDS_ABOVE, |_, _| {})
        || passes.up_to(FIRST_PASSES).is_none()
            && (from_above.rounds(ROUNDS_ABOVE, |_, _| {})
                || matches!(slacks(tasks, cpus), Slacks::All(_)))
}

/// The search for slacks that proves every task in time without coming near the least fixed points.
/// `R = D_k` suffices to prove a task in time, and evaluating the interference at any sufficient
/// `R` yields a sufficient `R`.
struct FromAbove<'a> {
    tasks: &'a [Sporadic],
    pairs: &'a Pairs<'a>,
    m: i64,
    S: Vec<i64>,
    /// A buffer that each round reuses.
    room: Vec<Interference>,
}

impl<'a> FromAbove<'a> {
    fn new(tasks: &'a [Sporadic], pairs: &'a Pairs<'a>, m: i64) -> FromAbove<'a> {
        FromAbove { tasks, pairs, m, S: vec![0; tasks.len()], room: Vec::new() }
    }

    /// Returns true if every task is in time after at most this number of rounds. `grown` receives
    /// each slack that grows.
    fn rounds(&mut self, rounds: usize, mut grown: impl FnMut(usize, i64)) -> bool {
        for _ in 0..rounds {
            let (mut all, mut grows) = (true, false);
            for k in 0..self.tasks.len() {
                let D_k = self.tasks[k].deadline.ns();
                let slack = D_k - self.response(k, D_k - self.S[k]);
                all &= slack >= 0;
                if slack > self.S[k] {
                    self.S[k] = slack;
                    grown(k, slack);
                    grows = true;
                }
            }
            if all || !grows {
                return all;
            }
        }
        false
    }

    /// `C_k + floor(sum over i != k of min(W_i(R), I_i^k, R - C_k + 1) / m)`.
    fn response(&mut self, k: usize, R: i64) -> i64 {
        let FromAbove { tasks, pairs, m, S, room } = self;
        let rivals = pairs.rivals();
        let [C_k, D_k, _] = tasks[k].ns();
        let most = R - C_k + 1;
        let row = pairs.with(k, D_k, room);
        let does = |((I_i, tau_i), &S_i): ((&Interference, &Rival), &i64)| {
            I_i.with_slack(S_i).min(tau_i.workload(R, S_i)).min(most)
        };
        let all = sum(row.iter().zip(rivals).zip(&S[..]).map(does), most);
        let own = does(((&row[k], &rivals[k]), &S[k]));
        C_k + share(all - i128::from(own), *m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sporadic::{random, random_tasks};

    #[test]
    fn when_the_passes_come_changes_no_answer() {
        let mut draw = random(7);
        let (mut all, mut late) = (0, 0);
        for _ in 0..1_000 {
            let (count, cpus) = (2 + draw(12), 1 + draw(5) as usize);
            let load = 2 + draw(9) as i64;
            let tasks = random_tasks(&mut draw, count, load);
            let found = slacks(&tasks, cpus);
            match found {
                Slacks::All(_) => all += 1,
                Slacks::Late(_) | Slacks::GaveUp => late += 1,
            }
            assert_eq!(
                accepts(&tasks, cpus),
                matches!(found, Slacks::All(_)),
                "{tasks:?} on {cpus}"
            );
            // Run all passes first, and none before the rounds have ended.
            for (passes, rounds) in [(ROUNDS, 1), (0, ROUNDS), (0, 1), (1, 3)] {
                let other = grow_after(passes, rounds, &tasks, cpus, |_, _| {});
                assert_eq!(other, found, "{tasks:?} on {cpus}: {passes} passes, {rounds} rounds");
            }
        }
        assert!(all > 100 && late > 100, "{all} {late}");
    }
}
