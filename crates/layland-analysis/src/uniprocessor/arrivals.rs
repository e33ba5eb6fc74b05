//! The number of jobs of a task that arrive within a length of time, sporadic or by an **arrival
//! curve** (as in Bozhko and Brandenburg 2020, and in the network calculus of Le Boudec and
//! Thiran). Also the processor demand of EDF for arrival curves.
//!
//! The tests of one CPU use three functions of arrivals. Sporadic arrivals compute them by a
//! division, arrival curves by a lookup:
//!
//! | | sporadic | by a curve |
//! |---|---|---|
//! | `eta(w)`, the maximum number of arrivals in a half-open interval of length `w > 0` | `ceil(w / T)` | `1 + max { k : d_k < w }` |
//! | `eta` if both ends count | `1 + floor(w / T)` | `eta(w + 1)` |
//! | the earliest `k`-th arrival after the first | `k T` | `d_k` |
//!
//! All proofs remain valid: the densest arrivals from an instant on (the `k`-th at `d_k`) are the
//! maximum in every interval that begins there, and the densest arrivals up to an instant are the
//! maximum in every interval that ends there. Later arrivals also satisfy the curve:
//! `eta(a + b) <= eta(a) + eta(b)`.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Citation;
use crate::fixed_point::{GaveUp, least_of_all};
use crate::sporadic::Divisor;
use crate::uniprocessor::edf::{Blocking, Demand, qpa};
use layland_model::{ArrivalCurve, Duration, Rate, RateSum, TIME_LIMIT, Task};

/// Bozhko and Brandenburg 2020.
pub const BOZHKO: Citation = Citation {
    key: "bozhko2020abstract",
    text: "S. Bozhko and B. B. Brandenburg. Abstract response-time analysis: a formal foundation for the busy-window \
           principle. ECRTS 2020, LIPIcs 165, pages 22:1-22:24.",
    bibtex: "@inproceedings{bozhko2020abstract,
  author    = {Sergey Bozhko and Bj{\\\"o}rn B. Brandenburg},
  title     = {Abstract Response-Time Analysis: A Formal Foundation for the Busy-Window Principle},
  booktitle = {32nd Euromicro Conference on Real-Time Systems (ECRTS)},
  series    = {LIPIcs}, volume = {165}, pages = {22:1--22:24}, year = {2020},
  doi       = {10.4230/LIPIcs.ECRTS.2020.22}
}",
};

/// The reason why answers about curves have no certificate.
pub(crate) const NO_CERTIFICATE: &str = "the verifier does not know arrival curves";

/// The arrivals of the jobs of a task.
#[derive(Clone, Copy)]
pub(crate) enum TaskArrivals<'a> {
    Sporadic(Divisor),
    Curve(&'a ArrivalCurve),
}

impl<'a> TaskArrivals<'a> {
    pub(crate) fn of(task: &'a Task) -> TaskArrivals<'a> {
        match task.bursts() {
            None => TaskArrivals::Sporadic(Divisor::new(task.period.ns())),
            Some(curve) => TaskArrivals::Curve(curve),
        }
    }

    /// Returns `eta`, the maximum number of arrivals in a half-open interval; 0 unless it is longer
    /// than zero.
    #[inline]
    pub(crate) fn within(self, length: i64) -> i64 {
        match self {
            TaskArrivals::Sporadic(_) if length <= 0 => 0,
            TaskArrivals::Sporadic(period) => 1 + period.div_rem(length - 1).0,
            TaskArrivals::Curve(curve) => curve.arrivals_within(Duration::from_ns(length)),
        }
    }

    /// Returns the earliest arrival of the job that comes `jobs` jobs after the first.
    #[inline]
    pub(crate) fn distance(self, jobs: i64) -> i64 {
        match self {
            TaskArrivals::Sporadic(period) => period.number().saturating_mul(jobs),
            TaskArrivals::Curve(curve) => curve.distance(jobs.unsigned_abs()).ns(),
        }
    }

    /// Returns the jobs and the length of a cycle, and the number of jobs and the time from which
    /// on the cycle repeats.
    fn cycle(self) -> ([i64; 2], [i64; 2]) {
        match self {
            TaskArrivals::Sporadic(period) => ([1, period.number()], [0, 0]),
            TaskArrivals::Curve(curve) => {
                let ((jobs, length), (from, distance)) = (curve.cycle(), curve.repeats_from());
                ([jobs as i64, length.ns()], [from as i64, distance.ns()])
            }
        }
    }
}

/// Returns true if some of these tasks arrive by a curve that differs from a period.
pub(crate) fn have_bursts<'a>(mut tasks: impl Iterator<Item = &'a Task>) -> bool {
    tasks.any(|task| task.bursts().is_some())
}

/// The repetition of a full load: the least common multiple of all cycles, the number of jobs of
/// the first task in it, and the number of these jobs and the time from which on it repeats. `None`
/// if it is too long.
pub(crate) struct Repetition {
    pub(crate) jobs: i64,
    pub(crate) length: i64,
    pub(crate) from_job: i64,
    pub(crate) from: i64,
}

impl Repetition {
    pub(crate) fn of<'a>(
        first: TaskArrivals<'a>,
        others: impl Iterator<Item = TaskArrivals<'a>>,
    ) -> Option<Repetition> {
        let ([own_jobs, own_length], [from_job, mut from]) = first.cycle();
        let mut length = own_length;
        for other in others {
            let ([_, cycle], [_, distance]) = other.cycle();
            length = length.checked_mul(cycle / num_integer::gcd(length, cycle))?;
            if length > TIME_LIMIT {
                return None;
            }
            from = from.max(distance);
        }
        let jobs = (length / own_length).checked_mul(own_jobs)?;
        Some(Repetition { jobs, length, from_job, from })
    }
}

/// A task in the form that the demand uses. The deadline is shortened by the jitter, as in
/// [`edf`](crate::uniprocessor::edf).
struct Demanding<'a> {
    C: i64,
    D: i64,
    J: i64,
    arrivals: TaskArrivals<'a>,
}

/// The demand of tasks.
pub(crate) struct Demands<'a>(Vec<Demanding<'a>>);

impl<'a> Demands<'a> {
    pub(crate) fn of(tasks: &[&'a Task]) -> Demands<'a> {
        let one = |task: &&'a Task| Demanding {
            C: task.own_wcet().ns(),
            D: (task.deadline - task.jitter).ns(),
            J: task.jitter.ns(),
            arrivals: TaskArrivals::of(task),
        };
        Demands(tasks.iter().map(one).collect())
    }

    /// `h(t)`.
    pub(crate) fn demand(&self, t: i64) -> i64 {
        let of_task = |tau: &Demanding| tau.arrivals.within(t - tau.D + 1).saturating_mul(tau.C);
        self.0.iter().map(of_task).fold(0, i64::saturating_add)
    }

    /// The last deadline before `t`.
    pub(crate) fn last_deadline_before(&self, t: i64) -> Option<i64> {
        let of_task = |tau: &Demanding| {
            let jobs = tau.arrivals.within(t - tau.D);
            (jobs > 0).then(|| tau.D + tau.arrivals.distance(jobs - 1))
        };
        self.0.iter().filter_map(of_task).max()
    }

    /// Returns the time by which the CPU idles at the latest: the least fixed point of
    /// `w = B + sum eta_i(w + J_i) C_i`. A demand that exceeds an interval of this length or more
    /// also exceeds the interval that is shorter by this length: later arrivals also satisfy the
    /// curve, and the work of all earlier ones is done.
    fn busy_period(&self, B: i64) -> Result<i64, GaveUp> {
        let work = |w: i64| {
            let of_task = |tau: &Demanding| tau.arrivals.within(w + tau.J).saturating_mul(tau.C);
            self.0.iter().map(of_task).fold(B, i64::saturating_add)
        };
        let found = least_of_all(Duration::from_ns(work(1)), |w| Duration::from_ns(work(w.ns())));
        found.map(Duration::ns)
    }
}

/// Tests whether tasks meet every deadline under EDF on one unit-speed CPU: `h(t) + B(t) <= t` for
/// every `t`. Exact without blocking times.
///
/// # Errors
/// Returns [`GaveUp`] if the search reaches its limit: if the load is exactly 1, the busy period
/// may not end.
pub(crate) fn criterion(tasks: &[&Task]) -> Result<Demand, GaveUp> {
    let mut U = RateSum::default();
    tasks.iter().for_each(|tau| U.add(&tau.utilization()));
    if !U.fits(&Rate::ZERO, &Rate::ONE) {
        return Ok(Demand::Overload);
    }
    let blocking = Blocking::of(tasks);
    let B = blocking.largest();
    // With a full load, a CPU that is blocked once is busy for ever.
    if B > 0 && U.exact() >= Rate::ONE {
        return Err(GaveUp::Endless);
    }
    let demands = Demands::of(tasks);
    let d_min = demands.0.iter().map(|tau| tau.D).min().unwrap_or(0);
    let demand = |t| demands.demand(t).saturating_add(blocking.within(t));
    qpa(demands.busy_period(B)?, d_min, |t| demands.last_deadline_before(t), demand)
}
