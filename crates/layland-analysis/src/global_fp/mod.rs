//! Global fixed priorities: on the CPUs of a cluster the jobs of the highest priorities run, and may
//! migrate. **Sufficient** tests for rate-monotonic, deadline-monotonic and given priorities.
//!
//! | test | bound on the interference of higher priorities with a job | source |
//! |---|---|---|
//! | `BCL-*` | in a window as long as the deadline | Bertogna, Cirinei, Lipari 2005 |
//! | `BERTOGNA-*` | in a window as long as the response, given the slacks of higher priorities | Bertogna, Cirinei 2007 |
//! | `GUAN-*` | as `BERTOGNA-*`, with at most `m - 1` carried-in jobs | Guan, Stigge, Yi, Yu 2009 |
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) there are few pairs
//! of tasks, (11) for given priorities: every task has one. Times are integers. Equal priorities go
//! to the smaller rank, then to the smaller id, as the policies do.
//!
//! | paper | meaning |
//! |---|---|
//! | `W_i(L)` | the maximum execution of `tau_i` in a window of length `L` |
//! | `W^NC`, `W^CI` | this maximum without and with a carried-in job |
//! | `R_k`, `S_k` | response bound; slack, `D_k - R_k` |
//! | `Omega_k(x)` | the work of higher priorities in a window of length `x`, summed over CPUs |

#![expect(non_snake_case, reason = "symbols of the papers")]

pub mod assignment;

use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::global_edf::workload::{Growing, rivals, share, sum};
use crate::global_edf::{Slacks, both_by_slacks, fixed_point_bound, rta, verdict_by_slacks};
use crate::group::Group;
use crate::ordered::{Analysis, ByOrder, GLOBAL, Listing, given_last};
use crate::sporadic::Divisor;
use crate::test::ResponseBounds;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{Certify, Citation, Finding, OrderedTest, Sporadic, TestKind, Verdict};
use layland_model::{Duration, System};

/// Bertogna, Cirinei and Lipari 2005.
pub const BERTOGNA_2005: Citation = Citation {
    key: "bertogna2005new",
    text: "M. Bertogna, M. Cirinei and G. Lipari. New schedulability tests for real-time task sets \
           scheduled by deadline monotonic on multiprocessors. OPODIS 2005, pages 306-321.",
    bibtex: "@inproceedings{bertogna2005new,
  author    = {Marko Bertogna and Michele Cirinei and Giuseppe Lipari},
  title     = {New Schedulability Tests for Real-Time Task Sets Scheduled by Deadline Monotonic on
               Multiprocessors},
  booktitle = {9th International Conference on Principles of Distributed Systems (OPODIS)},
  pages     = {306--321}, year = {2005},
  doi       = {10.1007/11795490_24}
}",
};

/// Guan, Stigge, Yi and Yu 2009.
pub const GUAN_2009: Citation = Citation {
    key: "guan2009new",
    text: "N. Guan, M. Stigge, W. Yi and G. Yu. New response time bounds for fixed priority \
           multiprocessor scheduling. RTSS 2009, pages 387-397.",
    bibtex: "@inproceedings{guan2009new,
  author    = {Nan Guan and Martin Stigge and Wang Yi and Ge Yu},
  title     = {New Response Time Bounds for Fixed Priority Multiprocessor Scheduling},
  booktitle = {30th IEEE Real-Time Systems Symposium (RTSS)}, pages = {387--397}, year = {2009},
  doi       = {10.1109/RTSS.2009.11}
}",
};

const DERIVED: &[Assumption] = crate::global_edf::PAIRED;
const GIVEN: &[Assumption] = &and::<11>(DERIVED, Priorities);

/// The clusters, each with its tasks from the highest priority down.
fn ordered(system: &System, order: PriorityOrder) -> Vec<Group<'_>> {
    let mut groups = Group::clusters(system);
    groups.iter_mut().for_each(|group| group.tasks = order.sort(group));
    groups
}

const fn test(
    listing: Listing,
    citations: &'static [&'static Citation],
    both: fn(&System, PriorityOrder) -> (Finding, ResponseBounds),
    verdict: fn(&System, PriorityOrder) -> Verdict,
) -> OrderedTest {
    OrderedTest {
        listing,
        subject: GLOBAL,
        kind: TestKind::Sufficient,
        assumptions: ByOrder::new(GIVEN, DERIVED),
        citations,
        certify: ByOrder::all(Certify::Reasons),
        analysis: Analysis::OrSooner { both, verdict },
    }
}

/// `BCL-RM`, `BCL-DM` and `BCL-FP`: interference tests, see [`bcl`].
pub const BCL: OrderedTest = test(
    given_last!("BCL", "interference test for global ", " priorities"),
    &[&BERTOGNA_2005],
    |system, order| both_by_slacks(system, ordered(system, order), bcl),
    |system, order| verdict_by_slacks(&ordered(system, order), bcl),
);

/// `BERTOGNA-RM`, `BERTOGNA-DM` and `BERTOGNA-FP`: response times, see [`bertogna`].
pub const BERTOGNA: OrderedTest = test(
    given_last!("BERTOGNA", "response times under global ", " priorities"),
    &[&rta::BERTOGNA_CIRINEI],
    |system, order| both_by_slacks(system, ordered(system, order), bertogna),
    |system, order| verdict_by_slacks(&ordered(system, order), bertogna),
);

/// `GUAN-RM`, `GUAN-DM` and `GUAN-FP`: response times with limited carry-in, see [`guan`].
pub const GUAN: OrderedTest = test(
    given_last!("GUAN", "response times under global ", " priorities, with limited carry-in"),
    &[&GUAN_2009],
    |system, order| both_by_slacks(system, ordered(system, order), guan),
    |system, order| verdict_by_slacks(&ordered(system, order), guan),
);

/// BCL: `sum over i < k of min(W_i(D_k), D_k - C_k + 1) < m (D_k - C_k + 1)` for every task, in the
/// order of priorities, highest first. A response is then at most
/// `C_k + floor(sum over i < k of min(W_i(D_k), D_k - C_k + 1) / m)`.
///
/// ```
/// use layland_analysis::Sporadic;
/// use layland_analysis::global_edf::Slacks;
/// use layland_analysis::global_fp::bcl;
/// use layland_model::{Duration, Service};
/// let task = |c, t| Sporadic::implicit(Service::from_ns(c), Duration::from_ns(t));
/// // W_1(6) = 2 + 2, hence R_2 <= 3 + 2; W_1(10) = 4 + 2, W_2(10) = 6 + 1, hence R_3 <= 3 + 6.
/// let slacks = bcl(&[task(2, 5), task(3, 6), task(3, 10)], 2);
/// assert_eq!(slacks, Slacks::All(vec![3, 1, 1]));
/// ```
pub fn bcl(tasks: &[Sporadic], cpus: usize) -> Slacks {
    let (m, rivals) = (cpus as i64, rivals(tasks));
    let mut S = vec![0i64; tasks.len()];
    for k in 0..tasks.len() {
        let [C_k, D_k, _] = tasks[k].ns();
        let most = D_k - C_k + 1;
        let higher = sum(rivals[..k].iter().map(|tau_i| tau_i.workload(D_k, 0).min(most)), most);
        let others = (higher / i128::from(m)) as i64;
        if others >= most {
            return Slacks::Late(k);
        }
        S[k] = D_k - C_k - others;
    }
    Slacks::All(S)
}

/// Returns a bound on the least `R` from `C_k` on with `R = C_k + floor(Omega(R) / m)`, if it is at
/// most `D_k`. The bound is at or slightly above this `R`.
pub(crate) fn response(
    C_k: i64,
    D_k: i64,
    m: i64,
    mut Omega: impl FnMut(i64) -> i128,
) -> Option<i64> {
    fixed_point_bound(C_k, D_k, |R| C_k + share(Omega(R), m))
}

/// Bertogna and Cirinei: `R_k = C_k + floor(sum over i < k of min(W_i(R_k), R_k - C_k + 1) / m)`,
/// for tasks in the order of priorities, highest first.
pub fn bertogna(tasks: &[Sporadic], cpus: usize) -> Slacks {
    let (mut S, rivals) = (vec![0i64; tasks.len()], rivals(tasks));
    let mut higher: Vec<Growing> = Vec::with_capacity(tasks.len());
    for k in 0..tasks.len() {
        let [C_k, D_k, _] = tasks[k].ns();
        higher.clear();
        higher.extend(rivals[..k].iter().zip(&S).map(|(&tau_i, &S_i)| Growing::new(tau_i, S_i)));
        let Omega = |R: i64| {
            let most = R - C_k + 1;
            sum(higher.iter_mut().map(|tau_i| tau_i.workload(R).min(most)), most)
        };
        match response(C_k, D_k, cpus as i64, Omega) {
            None => return Slacks::Late(k),
            Some(R_k) => S[k] = D_k - R_k,
        }
    }
    Slacks::All(S)
}

/// Guan, Stigge, Yi and Yu: `R_k = C_k + floor(Omega_k(R_k) / m)`, where at most `m - 1` of the tasks
/// of higher priority have a job carried into the window; for tasks in the order of priorities,
/// highest first.
///
/// `W^NC(x) = floor(x / T_i) C_i + min(C_i, x mod T_i)`;
/// `W^CI(x) = floor(y / T_i) C_i + C_i + alpha` with `y = max(0, x - C_i)` and
/// `alpha = min(C_i - 1, max(0, y mod T_i - (T_i - R_i)))`; both at most `x - C_k + 1`.
pub fn guan(tasks: &[Sporadic], cpus: usize) -> Slacks {
    let mut S = vec![0i64; tasks.len()];
    let mut higher: Vec<Carrier> = Vec::with_capacity(tasks.len());
    let mut more: Vec<i64> = Vec::new();
    for k in 0..tasks.len() {
        let [_, D_k, _] = tasks[k].ns();
        match carried_response(&tasks[k], &higher, cpus, &mut more) {
            None => return Slacks::Late(k),
            Some(R_k) => {
                S[k] = D_k - R_k;
                higher.push(Carrier::new(&tasks[k], S[k]));
            }
        }
    }
    Slacks::All(S)
}

/// The step of [`guan`] for one task, below tasks of which bounds on the responses are known: a
/// bound on its response, if it is at most the deadline. The bounds may come from any analysis, and
/// no order of the higher tasks matters. One nanosecond is the shortest time: a test in coarser
/// units has to count them as nanoseconds.
///
/// ```
/// use layland_analysis::Sporadic;
/// use layland_analysis::global_fp::limited_carry_in;
/// use layland_model::{Duration, Service};
/// let task = |c, t| Sporadic::implicit(Service::from_ns(c), Duration::from_ns(t));
/// let higher = [task(2, 5), task(3, 6)].map(|task| (task, Duration::from_ns(task.wcet.ns())));
/// // 3 + floor((2 + 3) / 2) = 5; 3 + floor((2 + 3) / 2) again.
/// assert_eq!(limited_carry_in(&task(3, 10), &higher, 2), Some(Duration::from_ns(5)));
/// ```
pub fn limited_carry_in(
    task: &Sporadic,
    higher: &[(Sporadic, Duration)],
    cpus: usize,
) -> Option<Duration> {
    let carrier =
        |(tau_i, R_i): &(Sporadic, Duration)| Carrier::new(tau_i, tau_i.deadline.ns() - R_i.ns());
    let higher: Vec<Carrier> = higher.iter().map(carrier).collect();
    carried_response(task, &higher, cpus, &mut Vec::new()).map(Duration::from_ns)
}

fn carried_response(
    tau_k: &Sporadic,
    higher: &[Carrier],
    cpus: usize,
    more: &mut Vec<i64>,
) -> Option<i64> {
    let [C_k, D_k, _] = tau_k.ns();
    let Omega = |x: i64| {
        let most = x - C_k + 1;
        let mut sum = 0i128;
        more.clear();
        for tau_i in higher {
            let [no, carried] = tau_i.workloads(x).map(|W| W.min(most));
            sum += i128::from(no);
            more.push((carried - no).max(0));
        }
        sum + largest(more, cpus - 1)
    };
    response(C_k, D_k, cpus as i64, Omega)
}

/// A task that may have one job carried into a window; see [`guan`].
pub(crate) struct Carrier {
    C: i64,
    /// `T_i - R_i`.
    late: i64,
    T: Divisor,
}

impl Carrier {
    /// Returns the carrier for a task with this slack.
    pub(crate) fn new(tau_i: &Sporadic, S_i: i64) -> Carrier {
        let [C, D, T] = tau_i.ns();
        Carrier { C, late: T - (D - S_i), T: Divisor::new(T) }
    }

    /// `W^NC(x)` and `W^CI(x)` of Guan, Stigge, Yi and Yu.
    #[inline]
    pub(crate) fn workloads(&self, x: i64) -> [i64; 2] {
        let Carrier { C, late, T } = *self;
        let (jobs, rest) = T.div_rem(x);
        let no = jobs.saturating_mul(C).saturating_add(C.min(rest));
        let (jobs, rest) = T.div_rem((x - C).max(0));
        let alpha = (rest - late).max(0).min(C - 1);
        [no, jobs.saturating_mul(C).saturating_add(C + alpha)]
    }
}

/// Returns the sum of the `count` largest of these numbers, and reorders them.
#[inline]
pub(crate) fn largest(values: &mut [i64], count: usize) -> i128 {
    if values.len() > count && count > 0 {
        values.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
    }
    values.iter().take(count).map(|&x| i128::from(x)).sum()
}
