//! Global EDF: on the CPUs of a cluster the jobs with the earliest deadlines run, and may migrate.
//!
//! Several clusters are several such systems (clustered EDF); every test examines each of them.
//!
//! - [`gfb`], [`bcl`], [`bcli`], [`bak`], [`bar`], [`rta`], [`limited`], [`load`], [`ff_dbf`]:
//!   sufficient tests. `bcli` accepts every set that `bcl` accepts, `rta` every set that `bcli`
//!   accepts, and `limited` every set that `rta` or `bar` accepts, unless it gives up. Apart from
//!   these, no test dominates another;
//! - [`edzl`]: a test for EDZL. EDZL makes the schedule of global EDF if that meets all deadlines,
//!   so all tests above cover it, too;
//! - [`combined`]: the fast tests for global EDF, until one accepts;
//! - [`devi_anderson`], [`compliant_vector`]: bounds on tardiness, if the load does not exceed the
//!   CPUs.

#![expect(non_snake_case, reason = "symbols of the papers")]

pub mod bak;
pub mod bar;
pub mod bcl;
pub mod bcli;
pub mod combined;
pub mod compliant_vector;
pub mod devi_anderson;
pub mod edzl;
pub mod ff_dbf;
pub mod gfb;
pub mod limited;
pub mod load;
pub mod rta;
pub(crate) mod workload;

use crate::Assumption::{self, *};
use crate::group::{Group, together};
use crate::necessary::load as load_of;
use crate::proof::{MOST, TOO_LONG};
use crate::sporadic::SHIFT;
use crate::{
    Evidence, Finding, Part, Quantity, Reason, ResponseBound, Scope, Sporadic, Tardiness,
    TardinessBound, TestKind, Verdict,
};
use layland_model::{Algorithm, Duration, Form, Order, Rate, System, TIME_LIMIT, TaskId, TaskMap};

/// The assumptions of tests for constrained deadlines.
pub(crate) const CONSTRAINED: &[Assumption] = &[
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    FitsAlone,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    WholeClusters,
    NoRequests,
];

/// The assumptions of tests for constrained deadlines that compare every two tasks.
pub(crate) const PAIRED: &[Assumption] = &crate::assumption::and::<10>(CONSTRAINED, FewPairs);

/// The assumptions of tests for arbitrary deadlines.
const ARBITRARY: &[Assumption] = &[
    SporadicReleases,
    NoJitter,
    FitsAlone,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    WholeClusters,
    NoRequests,
];

/// The policies that bounds on tardiness are about.
const GLOBAL_EDF: &[Algorithm] = &[
    Algorithm::Ordered(Form::Global, Order::Deadline),
    Algorithm::Ordered(Form::Clustered, Order::Deadline),
];

/// The policies that tests and response times are about. If global EDF meets every deadline when
/// all jobs execute for their WCETs, no waiting job ever runs out of laxity before EDF runs it, so
/// EDZL makes the same schedule. Jobs that execute for less end no later under EDZL (Han et al.
/// 2006). If EDF is late, the two differ, so no bound on tardiness covers EDZL. EFDF makes the same
/// schedule, too, and with jobs that execute for less; its header has the proof.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::Ordered(Form::Global, Order::Deadline),
    Algorithm::Ordered(Form::Clustered, Order::Deadline),
    Algorithm::Edzl,
    Algorithm::Efdf,
];

/// Computes tardiness bounds cluster by cluster; unknown if a cluster or a single task is
/// overloaded.
fn each_cluster(system: &System, bounds: impl Fn(&Group<'_>) -> Vec<(TaskId, Rate)>) -> Tardiness {
    let mut all: Vec<(TaskId, Rate)> = Vec::new();
    let mut failed = Vec::new();
    for group in Group::clusters(system) {
        let sum = group.utilization();
        let capacity = Rate::whole(group.cpu_count());
        let too_long = group.tasks.iter().find(|(_, task)| task.utilization() > Rate::ONE);
        if let Some((id, task)) = too_long {
            failed.push(Reason::compared(
                "the utilization",
                Scope::task(*id, &group.cpus),
                Quantity::Number(task.utilization()),
                Quantity::Number(Rate::ONE),
                false,
            ));
        } else if !sum.fits(&Rate::ZERO, &capacity) {
            failed.push(load_of(sum, capacity, false));
        } else {
            all.extend(bounds(&group));
        }
    }
    if !failed.is_empty() {
        return Tardiness::Unknown(failed);
    }
    all.sort_by_key(|&(task, _)| task);
    let bounds = all.into_iter().map(|(task, tardiness)| TardinessBound { task, tardiness });
    Tardiness::Bounded(bounds.collect::<TaskMap<TardinessBound>>())
}

/// `ceil(U)` of a set with at least one task.
fn ceil_of_load(group: &Group<'_>) -> usize {
    group.utilization().ceil().and_then(|u| usize::try_from(u).ok()).unwrap_or(usize::MAX)
}

/// The result of an iteration over slacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slacks {
    /// Every task finishes this long before its deadline, in nanoseconds, or earlier.
    All(Vec<i64>),
    /// This task may be late, as far as the slacks of the others show.
    Late(usize),
    /// The iteration gave up.
    GaveUp,
}

/// Computes the slacks of `count` tasks, from 0: `slack(k, S)` returns a slack of task `k` given
/// those of the others, or `None` if it may be late. Iterates for at most `rounds` rounds, until
/// every task has a slack and none may be late, or no slack grows. Larger slacks of the others
/// never yield a smaller slack. A task is evaluated again only if the slack of another one has
/// changed since. `grown` receives each slack that grows.
///
/// After a round in which some task may be late, `hopeless(rounds, ends)` may return a task that no
/// further round can help. It receives the number of rounds so far, and true if the last round
/// changed nothing.
pub(crate) fn grow_slacks(
    count: usize,
    rounds: usize,
    mut grown: impl FnMut(usize, i64),
    mut hopeless: impl FnMut(usize, bool) -> Option<usize>,
    mut slack: impl FnMut(usize, &[i64]) -> Option<i64>,
) -> Slacks {
    let mut S = vec![0i64; count];
    // `changes` counts the slacks that grew; `asked[k]` is its value after the last evaluation of
    // task `k`.
    let mut changes = 0usize;
    let mut asked = vec![usize::MAX; count];
    let mut is_late = vec![false; count];
    for round in 1..=rounds {
        let (mut late, before) = (None, changes);
        for k in 0..count {
            if asked[k] != changes {
                let found = slack(k, &S);
                is_late[k] = found.is_none();
                if let Some(found) = found.filter(|&found| found > S[k]) {
                    S[k] = found;
                    grown(k, found);
                    changes += 1;
                }
                asked[k] = changes;
            }
            if is_late[k] {
                late = late.or(Some(k));
            }
        }
        let Some(late) = late else { return Slacks::All(S) };
        let ends = changes == before;
        if let Some(k) = hopeless(round, ends) {
            return Slacks::Late(k);
        }
        if ends {
            return Slacks::Late(late);
        }
    }
    Slacks::GaveUp
}

/// A test that bounds slacks.
type BySlacks = fn(&[Sporadic], usize) -> Slacks;

/// Response bounds from slacks, for these clusters of a system in which every task has one.
pub(crate) fn responses_by_slacks(
    system: &System,
    groups: Vec<Group<'_>>,
    test: BySlacks,
) -> TaskMap<Option<ResponseBound>> {
    responses_by(system, &groups, &slacks_of(&groups, test))
}

/// The verdict of a test that bounds slacks, for these clusters.
pub(crate) fn verdict_by_slacks(groups: &[Group<'_>], test: BySlacks) -> Verdict {
    let accepts =
        |group: &Group<'_>| matches!(test(&group.sporadic(), group.cpus.len()), Slacks::All(_));
    TestKind::Sufficient.verdict(groups.iter().all(accepts))
}

/// The finding and the bounds from the same slacks.
pub(crate) fn both_by_slacks(
    system: &System,
    groups: Vec<Group<'_>>,
    test: BySlacks,
) -> (Finding, TaskMap<Option<ResponseBound>>) {
    let slacks = slacks_of(&groups, test);
    (finding_by(&groups, &slacks), responses_by(system, &groups, &slacks))
}

/// The finding and the bounds from the slacks of each of these clusters.
pub(crate) fn both_of_slacks(
    system: &System,
    groups: &[Group<'_>],
    slacks: &[Slacks],
) -> (Finding, TaskMap<Option<ResponseBound>>) {
    (finding_by(groups, slacks), responses_by(system, groups, slacks))
}

fn slacks_of(groups: &[Group<'_>], test: BySlacks) -> Vec<Slacks> {
    groups.iter().map(|group| test(&group.sporadic(), group.cpus.len())).collect()
}

fn finding_by(groups: &[Group<'_>], slacks: &[Slacks]) -> Finding {
    together(groups.iter().zip(slacks).map(|(group, slacks)| {
        let response = |at: usize, length: Duration, holds: bool| {
            let (id, task) = group.tasks[at];
            let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
            let (value, bound) = (quantity(length), quantity(task.deadline));
            let scope = Scope::task(id, &group.cpus);
            Reason::compared("the response time", scope, value, bound, holds)
        };
        match slacks {
            Slacks::All(slacks) => Finding {
                verdict: Verdict::Yes,
                reasons: (slacks.iter().enumerate())
                    .map(|(at, &S)| {
                        response(at, group.tasks[at].1.deadline - Duration::from_ns(S), true)
                    })
                    .collect(),
            },
            &Slacks::Late(at) => {
                Finding::new(Verdict::Unknown, Reason::MayBeLate(group.tasks[at].0))
            }
            Slacks::GaveUp => {
                Finding::new(Verdict::Unknown, Reason::Holds("the iteration stopped at its limit"))
            }
        }
    }))
}

fn responses_by(
    system: &System,
    groups: &[Group<'_>],
    slacks: &[Slacks],
) -> TaskMap<Option<ResponseBound>> {
    let mut bounds: TaskMap<Option<ResponseBound>> = TaskMap::filled(None, system.tasks.len());
    for (group, slacks) in groups.iter().zip(slacks) {
        if let Slacks::All(slacks) = slacks {
            for (&(task, tau), &S) in group.tasks.iter().zip(slacks) {
                let response = tau.deadline - Duration::from_ns(S);
                bounds[task] = Some(ResponseBound::new(task, response));
            }
        }
    }
    bounds
}

/// Returns the verdict of a sufficient test: *yes* if its condition holds for the tasks of each
/// cluster.
fn verdict_by(system: &System, accepts: fn(&[Sporadic], usize) -> bool) -> Verdict {
    let groups = Group::clusters(system);
    let accepts = |group: &Group<'_>| accepts(&group.sporadic(), group.cpus.len());
    TestKind::Sufficient.verdict(groups.iter().all(accepts))
}

/// A test that bounds slacks and reports each slack that grows.
type SlacksBy = fn(&[Sporadic], usize, &mut dyn FnMut(usize, i64)) -> Slacks;

/// Returns the slacks of these clusters in the order in which they grow, for a test that accepts.
fn steps(groups: Vec<Group<'_>>, test: SlacksBy) -> Result<Vec<Part>, &'static str> {
    let part = |group: Group<'_>| {
        let mut steps = Vec::new();
        let found = test(&group.sporadic(), group.cpus.len(), &mut |k, slack| {
            if steps.len() <= MOST {
                steps.push((group.tasks[k].0, Duration::from_ns(slack)));
            }
        });
        match found {
            Slacks::All(_) if steps.len() > MOST => Err(TOO_LONG),
            Slacks::All(_) => {
                let (tasks, evidence) = (group.ids(), Evidence::Slacks(steps));
                Ok(Part { cpus: group.cpus, tasks, evidence })
            }
            Slacks::Late(_) | Slacks::GaveUp => Err("a task may be late"),
        }
    };
    groups.into_iter().map(part).collect()
}

/// Returns `numerator 2^62 / room`, rounded up, or `None` if it is out of range for times.
pub(crate) fn quotient(numerator: i128, room: u128) -> Option<i64> {
    let scaled = u128::try_from(numerator).ok()?;
    // A numerator that is too large to be shifted: divide first, which rounds up further.
    let value = if scaled.leading_zeros() > SHIFT {
        (scaled << SHIFT).div_ceil(room)
    } else {
        scaled.checked_mul((1u128 << SHIFT).div_ceil(room))?
    };
    i64::try_from(value).ok().filter(|&ns| ns <= TIME_LIMIT)
}

/// Returns a bound on the least fixed point from `C` on of a monotone `f`, if it finds one up to
/// `D`.
///
/// Steps of `f` can be as short as a nanosecond, so each step is at least a fixed part of the whole
/// range. Every `R` with `f(R) <= R` is a bound, and so is `f(R)`. The last candidate is `D`
/// itself. For short ranges, the result is the least fixed point.
pub(crate) fn fixed_point_bound(C: i64, D: i64, mut f: impl FnMut(i64) -> i64) -> Option<i64> {
    const PARTS: i64 = 64;
    const REFINEMENTS: usize = 8;
    let step = (D - C) / PARTS + 1;
    let mut R = C;
    loop {
        let next = f(R);
        if next <= R {
            R = next;
            break;
        }
        if R == D {
            return None;
        }
        R = next.max(R + step).min(D);
    }
    for _ in 0..REFINEMENTS {
        let next = f(R);
        if next == R {
            break;
        }
        R = next;
    }
    Some(R)
}
