//! The test of the tasks of one CPU that packing uses: the processor demand under EDF (Baruah, Mok
//! and Rosier 1990, with the search of Zhang and Burns 2009), response times under fixed priorities
//! (Lehoczky 1990; Tindell, Burns and Wellings 1994).
//!
//! The tests of `layland-analysis` decide what a policy guarantees, but this crate cannot use them,
//! and a policy knows no analysis: it must place its tasks without one. So this file has the same
//! conditions, in a form that a packing can ask a thousand times. For sporadic tasks, arrival
//! curves, release jitter, blocking times and overheads it accepts exactly the tasks that `QPA` and
//! `RTA` accept; `layland-tests` holds them against each other.
//!
//! | also counted | how | the test is then |
//! |---|---|---|
//! | non-preemptive regions | the longest region of a task of lower priority (under EDF of a later deadline) delays each job once | sufficient |
//! | sections on shared resources | as regions | a guide: protocols delay jobs in more ways, which tests by name know |
//! | suspensions | as execution | sufficient |
//! | several tasks with one priority, not by rank | each delays the others | sufficient |
//! | servers | a task with the budget as its WCET and the period as its deadline; the budget of a deferrable server may come late | sufficient |
//! | speeds | tasks count in the [time](layland_model::System::time_view) of the CPU; then come overheads | as at unit speed |
//!
//! A search that takes more than [`STEPS`] steps counts as a *no*.

use super::response::{Above, keeps_deadline};
use layland_model::{
    ArrivalCurve, CpuId, Duration, Order, Rate, RateSum, ServerKind, Speed, System, Task, TaskId,
    TaskMap,
};
use num_integer::Integer;

/// The maximum number of lengths that a test of a CPU examines.
pub(super) const STEPS: usize = 100_000;

/// Utilizations are counted in units of `2^-SHIFT`, rounded up.
pub(super) const SHIFT: u32 = 62;

/// The rules of a policy on each CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuRules {
    /// The order of jobs.
    pub order: Order,
    /// True if no job is preempted once it has begun.
    pub never_preempts: bool,
    /// True if tasks with the same priority may delay each other.
    pub has_levels: bool,
    /// The servers of tasks with budgets, if the policy has servers.
    pub servers: Option<ServerKind>,
}

impl CpuRules {
    /// Returns the rules of an order, preemptive and with ties broken by rank.
    pub fn of(order: Order) -> CpuRules {
        CpuRules { order, never_preempts: false, has_levels: false, servers: None }
    }
}

/// The arrivals of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arrivals<'a> {
    /// At least this time apart.
    Apart(i64),
    By(&'a ArrivalCurve),
}

impl Arrivals<'_> {
    /// Returns the maximum number of arrivals in a half-open interval of this length.
    pub(super) fn within(self, length: i64) -> i64 {
        match self {
            _ if length <= 0 => 0,
            Arrivals::Apart(period) => Integer::div_ceil(&length, &period),
            Arrivals::By(curve) => curve.arrivals_within(Duration::from_ns(length)),
        }
    }

    /// Returns the earliest arrival of the job that comes this many jobs after the first.
    pub(super) fn distance(self, jobs: i64) -> i64 {
        match self {
            Arrivals::Apart(period) => period.saturating_mul(jobs),
            Arrivals::By(curve) => curve.distance(jobs.unsigned_abs()).ns(),
        }
    }
}

/// A task as a CPU of unit speed sees it, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load<'a> {
    /// The position in the order of priorities; smaller is higher.
    pub(super) key: (i64, i64, TaskId),
    /// The execution time, with suspensions and overheads.
    pub(super) work: i64,
    pub(super) deadline: i64,
    pub(super) jitter: i64,
    /// The delay of the execution as others notice it: the jitter, or that of a server.
    pub(super) noticed: i64,
    /// The longest time for which a job keeps the CPU from jobs that come before it.
    pub(super) region: i64,
    /// The stated blocking time.
    pub(super) blocking: i64,
    pub(super) arrivals: Arrivals<'a>,
    /// No first job ends before this time, however many tasks come onto the CPU.
    pub(super) least_end: i64,
}

impl Load<'_> {
    /// Returns the time from the readiness of a job to its deadline.
    pub(super) fn window(&self) -> i64 {
        self.deadline - self.jitter
    }

    /// Returns the execution of all jobs that become ready in an interval of this length.
    pub(super) fn interference(&self, length: i64) -> i64 {
        self.arrivals.within(length.saturating_add(self.noticed)).saturating_mul(self.work)
    }

    /// Returns the execution of all jobs that become ready and are due in such an interval.
    fn demand(&self, length: i64) -> i64 {
        self.arrivals.within(length - self.window() + 1).saturating_mul(self.work)
    }

    fn last_due_before(&self, length: i64) -> Option<i64> {
        let jobs = self.arrivals.within(length - self.window());
        (jobs > 0).then(|| self.window().saturating_add(self.arrivals.distance(jobs - 1)))
    }

    fn add_utilization(&self, sum: &mut RateSum) {
        let work = self.work.max(0).unsigned_abs();
        match self.arrivals {
            Arrivals::Apart(period) => {
                sum.add_fraction(work.into(), period.unsigned_abs().into());
            }
            Arrivals::By(curve) => {
                let (jobs, length) = curve.cycle();
                sum.add(&Rate::of_wide(i128::from(work) * i128::from(jobs), length.ns().into()));
            }
        }
    }
}

/// The tasks of a CPU, which keep their deadlines there.
#[derive(Clone, Debug, Default)]
pub(super) struct OnCpu<'a> {
    /// Under fixed priorities, the highest comes first.
    loads: Vec<Load<'a>>,
}

impl OnCpu<'_> {
    pub(super) fn remove(&mut self, task: TaskId) {
        self.loads.retain(|load| load.key.2 != task);
        // Jobs end earlier without it.
        self.loads.iter_mut().for_each(|load| load.least_end = 0);
    }
}

/// The test of the CPUs of a system.
#[derive(Clone, Debug)]
pub struct OneCpu<'a> {
    system: &'a System,
    rules: CpuRules,
    /// The tasks as the CPUs of each speed see them.
    classes: Vec<(Speed, TaskMap<Load<'a>>)>,
}

impl<'a> OneCpu<'a> {
    /// Prepares the test for a policy with these rules on each CPU.
    ///
    /// ```
    /// use layland_model::{CpuId, Duration, Order, Service, System, Task, TaskId};
    /// use layland_offline::packing::{CpuRules, OneCpu};
    /// let tasks = [(2, 10), (2, 10), (9, 12)]
    ///     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
    /// let system = System::new(2, tasks.to_vec());
    /// let test = OneCpu::new(&system, CpuRules::of(Order::RateMonotonic));
    /// assert!(test.accepts(CpuId(0), &[TaskId(0), TaskId(1)]));
    /// assert!(!test.accepts(CpuId(0), &[TaskId(0), TaskId(2)]));
    /// ```
    pub fn new(system: &'a System, rules: CpuRules) -> OneCpu<'a> {
        let costs = OverheadsPerJob::of(system);
        let at_speed = |speed: Speed| {
            let loads = system.tasks.iter().map(|(id, task)| Load {
                key: (rules.order.fixed_key(task).unwrap_or_default(), task.rank, id),
                ..load_at(
                    speed,
                    task,
                    costs.as_ref().and_then(|costs| costs.get(task.cluster)),
                    rules,
                )
            });
            (speed, loads.collect())
        };
        let mut speeds: Vec<Speed> = Vec::new();
        for &speed in system.platform.speeds.values() {
            if !speeds.contains(&speed) {
                speeds.push(speed);
            }
        }
        OneCpu { system, rules, classes: speeds.into_iter().map(at_speed).collect() }
    }

    /// Returns true if all tasks keep their deadlines on this CPU.
    pub fn accepts(&self, cpu: CpuId, tasks: &[TaskId]) -> bool {
        let mut loads: Vec<Load<'_>> = tasks.iter().map(|&task| self.load_on(cpu, task)).collect();
        if self.rules.order != Order::Deadline {
            loads.sort_by_key(|load| load.key);
        }
        self.accepts_loads(&mut loads, None)
    }

    /// Returns the tasks of a CPU and another one, if they all keep their deadlines there.
    pub(super) fn with_another(
        &self,
        cpu: CpuId,
        tasks: &OnCpu<'a>,
        another: TaskId,
    ) -> Option<OnCpu<'a>> {
        let load = self.load_on(cpu, another);
        let mut loads = tasks.loads.clone();
        let at = match self.rules.order {
            Order::Deadline => loads.len(),
            Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => {
                loads.partition_point(|other| other.key < load.key)
            }
        };
        loads.insert(at, load);
        self.accepts_loads(&mut loads, Some(at)).then_some(OnCpu { loads })
    }

    /// Returns true if the tasks of a CPU keep their deadlines. The highest priority comes first,
    /// and all but the one that is new are known to keep them without it.
    fn accepts_loads(&self, loads: &mut [Load<'_>], new: Option<usize>) -> bool {
        if loads.iter().any(|load| load.work > load.window()) {
            return false;
        }
        let is_overloaded = |loads: &[Load<'_>]| {
            let mut sum = RateSum::with_capacity(loads.len());
            loads.iter().for_each(|load| load.add_utilization(&mut sum));
            !sum.fits(&Rate::ZERO, &Rate::ONE)
        };
        match self.rules.order {
            Order::Deadline => !is_overloaded(loads) && meets_demand(loads),
            Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => {
                let above = Above::of(loads);
                if above.may_be_overloaded() && is_overloaded(loads) {
                    return false;
                }
                let mut lowest_first = (0..loads.len()).rev();
                lowest_first.all(|at| {
                    let delaying = self.delaying(loads, at);
                    if new.is_some_and(|new| new >= delaying && loads[new].region == 0) {
                        // The new task does not delay this one.
                        return true;
                    }
                    above.leave_enough(loads, at, delaying)
                        || keeps_deadline(loads, at, delaying, &above)
                })
            }
        }
    }

    /// Returns the load of a task on a CPU.
    fn load_on(&self, cpu: CpuId, task: TaskId) -> Load<'a> {
        let own = self.system.platform.speeds[cpu];
        let class = self.classes.iter().find(|(speed, _)| *speed == own);
        class.expect("every speed of a CPU is a class").1[task]
    }

    /// Returns true if jobs are preempted anywhere in the order of their deadlines, and nothing but
    /// execution times, deadlines and periods counts.
    pub(super) fn is_plain_edf(&self) -> bool {
        let is_plain = |speed: Speed, (id, load): (TaskId, &Load<'_>)| {
            load.work == self.system.tasks[id].time_at(speed).ns()
                && load.jitter == 0
                && load.region == 0
                && load.blocking == 0
                && matches!(load.arrivals, Arrivals::Apart(_))
        };
        let mut classes = self.classes.iter();
        self.rules.order == Order::Deadline
            && classes.all(|(speed, loads)| loads.iter().all(|one| is_plain(*speed, one)))
    }

    /// Returns the number of tasks, from the first on, that delay the task at this position by their
    /// priority; itself included.
    fn delaying(&self, loads: &[Load<'_>], at: usize) -> usize {
        if self.rules.has_levels {
            loads.partition_point(|load| load.key.0 <= loads[at].key.0)
        } else {
            at + 1
        }
    }
}

/// The overheads of each job of a cluster: what is added to the WCET, and the share of a CPU that
/// releases and ticks leave, by which the sum is divided.
struct OverheadsPerJob {
    more: i64,
    left: Rate,
}

impl OverheadsPerJob {
    /// Returns the overheads in each cluster; `None` if there are none. They are those of
    /// `layland_analysis::overheads`, for tasks that never migrate.
    fn of(system: &System) -> Option<Vec<OverheadsPerJob>> {
        let costs = &system.platform.overheads;
        if costs.without_reloads().is_zero() {
            return None;
        }
        let switches =
            [costs.tick, costs.scheduling * 3, costs.context_switch * 2, costs.interrupt * 2];
        let switches: i64 = switches.iter().map(|length| length.ns()).fold(0, i64::saturating_add);
        let cluster = |cluster: usize| {
            let mut taken = RateSum::default();
            let mut released = 0i64;
            if costs.release > Duration::ZERO {
                for task in system.tasks.values().filter(|task| task.cluster == cluster) {
                    taken.add(&Rate::new(costs.release.ns(), task.period.ns()));
                    let jobs = 1 + task.jitter.div_ceil(task.period);
                    released = released.saturating_add(costs.release.ns().saturating_mul(jobs));
                }
            }
            if costs.tick > Duration::ZERO {
                taken.add(&Rate::new(costs.tick.ns(), costs.tick_period.ns()));
            }
            let left = &Rate::ONE - &taken.exact();
            OverheadsPerJob { more: released.saturating_add(switches), left }
        };
        Some((0..system.platform.clusters.len()).map(cluster).collect())
    }

    fn add_to(&self, work: i64) -> i64 {
        if self.left <= Rate::ZERO {
            return i64::MAX;
        }
        (&Rate::whole(work.saturating_add(self.more)) / &self.left).ceil().unwrap_or(i64::MAX)
    }
}

/// Returns the load of a task on CPUs of this speed.
fn load_at<'a>(
    speed: Speed,
    task: &'a Task,
    costs: Option<&OverheadsPerJob>,
    rules: CpuRules,
) -> Load<'a> {
    if speed == Speed::UNIT {
        return load(task, task, costs, rules);
    }
    match task.at_speed(speed) {
        Some(timed) => load(task, &timed, costs, rules),
        // No window is as long.
        None => Load { work: i64::MAX, ..load(task, task, costs, rules) },
    }
}

/// Returns the load of a task, with the times that its jobs take.
fn load<'a>(
    given: &'a Task,
    task: &Task,
    costs: Option<&OverheadsPerJob>,
    rules: CpuRules,
) -> Load<'a> {
    let server = rules.servers.and_then(|kind| Some((kind, task.budget?)));
    let wcet = server.map_or(task.own_wcet(), |(_, budget)| budget);
    let work = wcet.ns().saturating_add(task.suspensions().0.ns());
    let whole = task.own_wcet().ns() - 1;
    let region = if rules.never_preempts { whole } else { task.blocking().ns() };
    let jitter = task.jitter.ns();
    Load {
        key: (0, 0, TaskId(0)),
        work: costs.map_or(work, |costs| costs.add_to(work)),
        deadline: if server.is_some() { task.period.ns() } else { task.deadline.ns() },
        jitter: if server.is_some() { 0 } else { jitter },
        noticed: match server {
            Some((ServerKind::Deferrable, budget)) => (task.period.ns() - budget.ns()).max(0),
            Some((ServerKind::Sporadic | ServerKind::Polling, _)) => 0,
            None => jitter,
        },
        region: region.max(longest_section(task)),
        blocking: task.blocking_time.ns(),
        arrivals: match given.bursts().filter(|_| server.is_none()) {
            Some(curve) => Arrivals::By(curve),
            None => Arrivals::Apart(task.period.ns()),
        },
        least_end: 0,
    }
}

fn longest_section(task: &Task) -> i64 {
    if task.steps().is_empty() {
        return 0;
    }
    task.sections().iter().map(|section| section.length.ns()).max().unwrap_or(0)
}

/// Returns true if the demand in every interval, with the longest delay by jobs of later deadlines,
/// is at most its length. The utilization is at most 1.
fn meets_demand(loads: &[Load<'_>]) -> bool {
    let has_regions = loads.iter().any(|load| load.region > 0);
    let most_blocking = loads.iter().map(|load| load.blocking.max(load.region)).max().unwrap_or(0);
    let has_late_deadlines = loads.iter().all(|load| match load.arrivals {
        Arrivals::Apart(period) => load.window() >= period,
        Arrivals::By(_) => false,
    });
    if most_blocking == 0 && has_late_deadlines {
        return true;
    }
    let Some(horizon) = horizon(loads, most_blocking) else { return false };
    let least = loads.iter().map(Load::window).min().unwrap_or(0);
    let last_before =
        |length: i64| loads.iter().filter_map(|load| load.last_due_before(length)).max();
    // The delay changes only at the windows of tasks.
    let delay = |length: i64| {
        let of =
            |load: &Load<'_>| if load.window() <= length { load.blocking } else { load.region };
        loads.iter().map(of).max().unwrap_or(0)
    };
    let Some(mut length) = last_before(horizon.saturating_add(1)) else { return true };
    for _ in 0..STEPS {
        let demand = loads.iter().map(|load| load.demand(length)).fold(0, i64::saturating_add);
        let needed = demand.saturating_add(delay(length));
        if needed > length {
            return false;
        }
        // Below the windows of all tasks nothing is due.
        if length <= least || (needed < least && !has_regions) {
            return true;
        }
        let earlier = if needed < length { Some(needed.max(least)) } else { last_before(length) };
        let Some(earlier) = earlier else { return true };
        // The delay by regions grows where a window begins, so the search must not jump over one.
        let begun = loads.iter().map(Load::window).filter(|&window| window <= length).max();
        length = match begun {
            Some(begun) if has_regions && earlier < begun => match last_before(begun) {
                Some(before) => before,
                None => return true,
            },
            Some(_) | None => earlier,
        };
    }
    false
}

/// Returns a length from which on the demand always fits, if one is found: the end of the longest
/// busy period, or a bound by the utilization if that is shorter.
fn horizon(loads: &[Load<'_>], blocking: i64) -> Option<i64> {
    let by_load = bound_by_load(loads, blocking);
    let mut busy = loads.iter().map(|load| load.work).fold(blocking, i64::saturating_add).max(1);
    for _ in 0..STEPS {
        if by_load.is_some_and(|bound| busy >= bound) || busy == i64::MAX {
            return by_load;
        }
        let work = |load: &Load<'_>| {
            load.arrivals.within(busy.saturating_add(load.jitter)).saturating_mul(load.work)
        };
        let next = loads.iter().map(work).fold(blocking, i64::saturating_add);
        if next <= busy {
            return Some(busy);
        }
        busy = next;
    }
    by_load
}

/// Returns `(B + sum (T_i - W_i) U_i) / (1 - U)` for windows `W_i`, rounded up; `None` if the
/// utilization is 1, or some task has an arrival curve.
fn bound_by_load(loads: &[Load<'_>], blocking: i64) -> Option<i64> {
    let one = 1u128 << SHIFT;
    let (mut utilization, mut gaps) = (0u128, u128::from(blocking.unsigned_abs()));
    for load in loads {
        let Arrivals::Apart(period) = load.arrivals else { return None };
        let work = u128::from(load.work.unsigned_abs());
        let period_ns = u128::from(period.unsigned_abs());
        utilization += (work << SHIFT).div_ceil(period_ns);
        let gap = u128::from((period - load.window()).max(0).unsigned_abs());
        gaps += (gap * work).div_ceil(period_ns);
    }
    let left = one.checked_sub(utilization).filter(|&left| left > 0)?;
    i64::try_from(gaps.checked_mul(one)?.div_ceil(left)).ok()
}
