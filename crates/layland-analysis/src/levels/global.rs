//! Every order within a level, on the CPUs of a cluster: the tests for global fixed priorities, in
//! which equal tasks count as higher and are carried in up to their deadlines.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{NO_PROOF, ON_SEVERAL, SHARED, ranges, sorted};
use crate::global_edf::workload::{Growing, Rival, rivals, sum};
use crate::global_edf::{Slacks, both_of_slacks, rta};
use crate::global_fp::{self, BERTOGNA_2005, Carrier, response};
use crate::group::Group;
use crate::test::ResponseBounds;
use crate::{
    BoundedTest, Certify, Citation, Finding, ResponseBound, ResponseTest, SchedulabilityTest,
    Sporadic,
};
use layland_model::{System, TaskMap};
use std::ops::Range;

const fn test(
    name: &'static str,
    title: &'static str,
    citations: &'static [&'static Citation],
    both: fn(&System) -> (Finding, ResponseBounds),
) -> BoundedTest {
    BoundedTest {
        name,
        title,
        algorithms: ON_SEVERAL,
        assumptions: SHARED,
        citations,
        certify: Certify::Without(NO_PROOF),
        both,
    }
}

const BCL_TEST: BoundedTest = test(
    "BCL-LEVEL",
    "interference test for global fixed priorities, in any order among equal ones",
    &[&BERTOGNA_2005],
    |system| both(system, bcl),
);
/// `BCL-LEVEL`: interference test for global fixed priorities, in any order among equal ones.
pub const BCL: SchedulabilityTest = BCL_TEST.test();
/// The response bounds of `BCL-LEVEL`.
pub const BCL_RESPONSES: ResponseTest = BCL_TEST.responses();

const BERTOGNA_TEST: BoundedTest = test(
    "BERTOGNA-LEVEL",
    "response times under global fixed priorities, in any order among equal ones",
    &[&rta::BERTOGNA_CIRINEI],
    |system| both(system, bertogna),
);
/// `BERTOGNA-LEVEL`: response times under global fixed priorities, in any order among equal ones.
pub const BERTOGNA: SchedulabilityTest = BERTOGNA_TEST.test();
/// The response bounds of `BERTOGNA-LEVEL`.
pub const BERTOGNA_RESPONSES: ResponseTest = BERTOGNA_TEST.responses();

const GUAN_TEST: BoundedTest = test(
    "GUAN-LEVEL",
    "response times under global fixed priorities, in any order among equal ones, with limited carry-in",
    &[&global_fp::GUAN_2009],
    |system| both(system, guan),
);
/// `GUAN-LEVEL`: response times under global fixed priorities, in any order among equal ones, with limited carry-in.
pub const GUAN: SchedulabilityTest = GUAN_TEST.test();
/// The response bounds of `GUAN-LEVEL`.
pub const GUAN_RESPONSES: ResponseTest = GUAN_TEST.responses();

/// The tasks of some CPUs, the highest level first.
struct LevelTasks<'a> {
    tasks: &'a [Sporadic],
    rivals: &'a [Rival],
    cpus: usize,
    /// The known slacks of the higher levels; 0 for others, whose jobs are carried in up to their
    /// deadlines.
    S: Vec<i64>,
}

impl LevelTasks<'_> {
    /// All tasks that come, or may come, before a job of task `k`; the tasks of its level end at
    /// `end`.
    fn others(&self, k: usize, end: usize) -> impl Iterator<Item = usize> {
        (0..end).filter(move |&i| i != k)
    }
}

/// Returns the response bound of task `k`, whose level ends at `end`, if it is within the deadline.
type Bound = fn(&LevelTasks<'_>, k: usize, end: usize) -> Option<i64>;

fn both(system: &System, bound: Bound) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let mut groups = Group::clusters(system);
    let slacks: Vec<Slacks> = groups
        .iter_mut()
        .map(|group| {
            let levels = sorted(group);
            let cpus = group.cpus.len();
            slacks_of(&group.sporadic(), ranges(&levels), cpus, bound)
        })
        .collect();
    both_of_slacks(system, &groups, &slacks)
}

fn slacks_of(
    tasks: &[Sporadic],
    levels: impl Iterator<Item = Range<usize>>,
    cpus: usize,
    bound: Bound,
) -> Slacks {
    let mut set = LevelTasks { tasks, rivals: &rivals(tasks), cpus, S: vec![0; tasks.len()] };
    for level in levels {
        let mut slacks = Vec::with_capacity(level.len());
        for k in level.clone() {
            match bound(&set, k, level.end) {
                Some(R) => slacks.push(tasks[k].ns()[1] - R),
                None => return Slacks::Late(k),
            }
        }
        set.S[level].copy_from_slice(&slacks);
    }
    Slacks::All(set.S)
}

/// See [`global_fp::bcl`].
fn bcl(set: &LevelTasks<'_>, k: usize, end: usize) -> Option<i64> {
    let [C_k, D_k, _] = set.tasks[k].ns();
    let most = D_k - C_k + 1;
    let work: Vec<i64> =
        set.others(k, end).map(|i| set.rivals[i].workload(D_k, 0).min(most)).collect();
    let others = (sum(work.into_iter(), most) / set.cpus as i128) as i64;
    (others < most).then_some(C_k + others)
}

/// See [`global_fp::bertogna`].
fn bertogna(set: &LevelTasks<'_>, k: usize, end: usize) -> Option<i64> {
    let [C_k, D_k, _] = set.tasks[k].ns();
    let mut above: Vec<Growing> =
        set.others(k, end).map(|i| Growing::new(set.rivals[i], set.S[i])).collect();
    response(C_k, D_k, set.cpus as i64, |R| {
        let most = R - C_k + 1;
        sum(above.iter_mut().map(|tau_i| tau_i.workload(R).min(most)), most)
    })
}

/// See [`global_fp::guan`].
fn guan(set: &LevelTasks<'_>, k: usize, end: usize) -> Option<i64> {
    let [C_k, D_k, _] = set.tasks[k].ns();
    let above: Vec<Carrier> =
        set.others(k, end).map(|i| Carrier::new(&set.tasks[i], set.S[i])).collect();
    let mut more: Vec<i64> = Vec::new();
    response(C_k, D_k, set.cpus as i64, |x| {
        let most = x - C_k + 1;
        let mut sum = 0i128;
        more.clear();
        for tau_i in &above {
            let [no, carried] = tau_i.workloads(x).map(|W| W.min(most));
            sum += i128::from(no);
            more.push((carried - no).max(0));
        }
        sum + global_fp::largest(&mut more, set.cpus - 1)
    })
}

/// The bounds of [`BERTOGNA`] with all higher tasks carried in up to their deadlines. Each task is
/// given with its level; smaller levels come first. `None` if a bound exceeds the deadline; the
/// bounds hold only if every task has one.
pub fn by_deadlines(tasks: &[(Sporadic, i64)], cpus: usize) -> Vec<Option<i64>> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| tasks[at].1);
    let sorted: Vec<Sporadic> = order.iter().map(|&at| tasks[at].0).collect();
    let levels: Vec<i64> = order.iter().map(|&at| tasks[at].1).collect();
    let set =
        LevelTasks { tasks: &sorted, rivals: &rivals(&sorted), cpus, S: vec![0; sorted.len()] };
    let mut found = vec![None; tasks.len()];
    for level in ranges(&levels) {
        for k in level.clone() {
            found[order[k]] = bertogna(&set, k, level.end);
        }
    }
    found
}
