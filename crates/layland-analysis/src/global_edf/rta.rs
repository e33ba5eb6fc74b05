//! Response-time analysis for global EDF (Bertogna, Cirinei 2007). **Sufficient.** Accepts all that
//! [BCLI](super::bcli) accepts.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) there are few pairs of
//! tasks. Times are integers.
//!
//! | paper | meaning |
//! |---|---|
//! | `R_k` | bound on the response times of `tau_k`: the least fixed point of `C_k + floor(sum over i != k of min(W_i(R), I_i^k, R - C_k + 1) / m)` |
//! | `S_k` | slack, `D_k - R_k` |
//! | `W_i`, `I_i^k` | what `tau_i` can do (`workload.rs`) |
//!
//! Rounds as in BCLI. Deviations: before the rounds and after the first of them a task is looked for that is late
//! whatever they do, with response times that only grow, from `C_k` on, and the slacks that these leave. And `R_k` is
//! a point at or a little above the least fixed point, as the search for it takes steps of at least a 64th of
//! `D_k - C_k`.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::workload::{Growing, Interference, Pairs, Rival, rivals, share, sum};
use super::{ALGORITHMS, PAIRED, Slacks};
use crate::group::Group;
use crate::{
    Certify, Citation, ResponseTest, SchedulabilityTest, Shortcuts, Sporadic, Subject, TestKind,
};

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

/// These passes end when no response time grows by more than this part of `D_k - C_k`: then they come near a
/// fixed point.
const LEAST_GROWTH: i64 = 256;

/// So many passes come before the rounds, and the others after so many rounds.
const FIRST_PASSES: usize = 3;
const FIRST_ROUNDS: usize = 2;

/// So often the cap `R - C_k + 1` is raised in one pass, for one task.
const STEPS: usize = 64;

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
    shortcuts: Shortcuts {
        verdict: Some(|system| super::verdict_by(system, accepts)),
        with_bounds: Some(|system| super::both_by_slacks(system, Group::clusters(system), slacks)),
    },
    decide: |system| super::by_slacks(Group::clusters(system), slacks),
};

/// The response bounds that the test finds.
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "G-RTA",
    title: "response-time analysis for global EDF",
    algorithms: ALGORITHMS,
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_CIRINEI],
    bound: |system| super::responses_by_slacks(system, Group::clusters(system), slacks),
};

/// The slacks that the test finds, or the first task without one.
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
    grown: impl FnMut(usize, i64),
) -> Slacks {
    let (m, n) = (cpus as i64, tasks.len());
    let (rivals, mut room) = (rivals(tasks), Vec::with_capacity(n));
    // Most tasks that no round can help show in the first passes, and most sets are accepted in the first rounds: the
    // rest of the passes waits for those. The order changes no answer, as a set with such a task is never accepted.
    let mut passes = Passes::new(tasks, &rivals, m);
    if let Some(k) = passes.up_to(first_passes) {
        return Slacks::Late(k);
    }
    let hopeless = |round: usize, ends: bool| match round == first_rounds || ends {
        true => passes.up_to(ROUNDS),
        false => None,
    };
    super::grow_slacks(n, ROUNDS, grown, hopeless, |k, S| {
        let others = (0..n).filter(|&i| i != k);
        let response = response_among(&tasks[k], others, &rivals, S, m, &mut room)?;
        Some(tasks[k].deadline.ns() - response)
    })
}

/// The search for a task that no round can help: `R` is at most every response time that the rounds can come to, and
/// still above its deadline. From `R_k = C_k` on, with the slacks `D_i - R_i` that no task exceeds. What the others
/// do at most is taken from the pass before, which is no more than they do.
struct Passes<'a> {
    tasks: &'a [Sporadic],
    rivals: &'a [Rival],
    pairs: Pairs<'a>,
    m: i64,
    R: Vec<i64>,
    S: Vec<i64>,
    /// How many passes there were, and whether another one may find more.
    passed: usize,
    grows: bool,
    /// Memory to use again.
    room: Vec<Interference>,
    most: Vec<i64>,
}

impl<'a> Passes<'a> {
    fn new(tasks: &'a [Sporadic], rivals: &'a [Rival], m: i64) -> Passes<'a> {
        let R: Vec<i64> = tasks.iter().map(|tau_i| tau_i.wcet.ns()).collect();
        let S = tasks.iter().zip(&R).map(|(tau_i, R_i)| tau_i.deadline.ns() - R_i).collect();
        let (pairs, most) = (Pairs::of(tasks, rivals), Vec::with_capacity(tasks.len()));
        let room = Vec::new();
        Passes { tasks, rivals, pairs, m, R, S, passed: 0, grows: true, room, most }
    }

    /// A task that so many passes find, those before included.
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

    /// Whether a task may be helped, for all that is seen of the others.
    fn pass(&mut self, k: usize) -> bool {
        let Passes { tasks, rivals, m, .. } = *self;
        let Passes { pairs, R, S, room, most, .. } = self;
        let [C_k, D_k, _] = tasks[k].ns();
        let before = R[k];
        most.clear();
        let of = |((I_i, tau_i), &S_i): ((&Interference, &Rival), &i64)| {
            I_i.with_slack(S_i).min(tau_i.workload(before, S_i))
        };
        most.extend(pairs.with(k, D_k, room).iter().zip(rivals).zip(&S[..]).map(of));
        most.swap_remove(k);
        let first = sum(most.iter().map(|&most| most.min(before - C_k + 1)), before - C_k + 1);
        let mut next = C_k + share(first, m);
        if next > before {
            // Sorted, those that do all that they can are in front, and more and more of them.
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

/// The data that the search for `R_k` needs of another task.
#[derive(Clone, Copy)]
pub(crate) struct Other {
    tau_i: Growing,
    /// `I_i^k`, which does not depend on `R`.
    I_i: i64,
}

/// `R_k` if it is at most `D_k`, where only these other tasks interfere. `room` is memory to use again.
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
    // Tasks that cannot interfere, whatever R is.
    room.retain(|other| other.I_i > 0);
    // What a task does grows with R until it is all that it can do, I_i: from then on it is not asked again while R
    // grows. Those that are still asked are in front.
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

/// Whether the test accepts these tasks, which keep its assumptions, on this many CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    matches!(slacks(tasks, cpus), Slacks::All(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sporadic::random;
    use layland_model::{Duration, Service};

    #[test]
    fn when_the_passes_come_changes_no_answer() {
        let mut draw = random(7);
        let (mut all, mut late) = (0, 0);
        for _ in 0..1_000 {
            let (count, cpus) = (2 + draw(12), 1 + draw(5) as usize);
            let load = 2 + draw(9) as i64;
            let task = |_| {
                let period = 20 + draw(400) as i64;
                let wcet = 1 + draw((period * load / 10).clamp(1, period) as u64) as i64;
                let deadline = period - draw((period - wcet + 1) as u64) as i64 / 3;
                let [deadline, period] = [deadline, period].map(Duration::from_ns);
                Sporadic { wcet: Service::from_ns(wcet), deadline, period }
            };
            let tasks: Vec<Sporadic> = (0..count).map(task).collect();
            let found = slacks(&tasks, cpus);
            match found {
                Slacks::All(_) => all += 1,
                Slacks::Late(_) | Slacks::GaveUp => late += 1,
            }
            // All passes first; and none before the rounds have ended.
            for (passes, rounds) in [(ROUNDS, 1), (0, ROUNDS), (0, 1), (1, 3)] {
                let other = grow_after(passes, rounds, &tasks, cpus, |_, _| {});
                assert_eq!(other, found, "{tasks:?} on {cpus}: {passes} passes, {rounds} rounds");
            }
        }
        assert!(all > 100 && late > 100, "{all} {late}");
    }
}
