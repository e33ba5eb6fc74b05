//! The register of admitted tasks and of departed tasks that may still delay others: see [`super`]
//! for the rules.

use super::beside::{Load, Part};
use super::rules::{Theory, busy_period, components, densities_fit};
use layland_model::{CpuId, CpuSet, Duration, Platform, Rate, Service, Time};

/// The guarantee of a task that keeps to its reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guarantee {
    /// Every job ends by its deadline.
    #[default]
    Deadlines,
    /// No job ends later than this after its deadline.
    Tardiness(Duration),
}

/// States whether tasks under policies with servers may need more than their runtimes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overruns {
    /// They may, and then no other task may suffer.
    #[default]
    Possible,
    /// The caller vouches that they do not, so tests that count jobs may be used.
    Excluded,
}

/// The request of a task: `runtime` of processor time in each `period`, due within `deadline`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The name of the task; no two admitted tasks have the same name.
    pub name: String,
    /// The most processor time that a job needs.
    pub runtime: Service,
    /// The relative deadline.
    pub deadline: Duration,
    /// The minimum time between two jobs.
    pub period: Duration,
    /// The CPUs that the task may use; any if none is given.
    pub cpus: Option<CpuSet>,
    /// The given priority, where the policy uses given priorities.
    pub priority: Option<i64>,
    /// Breaks ties: the smaller rank goes first. Where priorities are fixed, no two tasks should have
    /// the same priority and rank.
    pub rank: i64,
    /// The guarantee that the task asks for.
    pub guarantee: Guarantee,
}

impl Reservation {
    /// Creates a reservation whose deadline is the end of the period, on any CPU.
    pub fn implicit(name: impl Into<String>, runtime: Service, period: Duration) -> Reservation {
        Reservation {
            name: name.into(),
            runtime,
            deadline: period,
            period,
            cpus: None,
            priority: None,
            rank: 0,
            guarantee: Guarantee::Deadlines,
        }
    }

    /// Returns this reservation on these CPUs.
    #[must_use]
    pub fn on(self, cpus: CpuSet) -> Reservation {
        Reservation { cpus: Some(cpus), ..self }
    }

    /// Returns `runtime / period`: the part of a CPU that the task takes.
    pub fn utilization(&self) -> Rate {
        Rate::new(self.runtime.ns(), self.period.ns())
    }

    /// Returns `runtime / min(deadline, period)`.
    pub fn density(&self) -> Rate {
        Rate::new(self.runtime.ns(), self.window().ns())
    }

    /// Returns the time after its release for which a job holds its density: the shorter of
    /// deadline and period.
    pub fn window(&self) -> Duration {
        self.deadline.min(self.period)
    }
}

/// The instant at which a task left, or got other parameters or CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The instant of the departure or change.
    pub at: Time,
    /// The time until which its bandwidth is in use: the end of the [window](Reservation::window) of
    /// its last job.
    pub until: Time,
    /// The kind of the end.
    pub how: How,
}

/// The way in which a reservation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The task left. A later task counts in addition, even under the same name.
    Gone,
    /// The task continues with other parameters from its next job on, which comes a period of the
    /// old ones after the last.
    Changed,
}

/// A reservation in the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The identity of a task: unchanged when its parameters change.
    pub id: u64,
    /// The reservation as requested.
    pub task: Reservation,
    /// The CPUs where the task was placed. It stays there.
    pub cpus: CpuSet,
    /// Set once the reservation ended. A departed task keeps counting for as long as its last job
    /// could still delay others.
    pub left: Option<Left>,
}

/// The register of a machine: the admitted tasks, the policy, and the departed tasks.
///
/// It is a plain value. Its owner records which task [leaves](Self::leave), and replaces it by
/// [the register of a grant](super::Grant::after). The fields are public so that it can be written
/// to a file and read back.
///
/// All times are those of one clock that never goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The machine: its clusters are those of the policy, and CPUs outside all clusters are not used.
    pub platform: Platform,
    /// The policy with its options, as `name:option=value`.
    pub spec: String,
    /// States whether tasks may need more than their runtimes, where the policy has servers. Set it
    /// before the first task enters.
    pub overruns: Overruns,
    /// The admitted and the departed tasks.
    pub holdings: Vec<Holding>,
    /// Demand on a CPU that precedes all tasks there, and is not a task. It prolongs the time until
    /// a CPU is quiet; [`keeps_priorities`](super::keeps_priorities) checks what it means for tasks.
    pub loads: Vec<(CpuId, Load)>,
    /// The CPUs on which densities were too high for the density rule at some instant since they were
    /// last quiet.
    pub exceeded: CpuSet,
    /// The CPUs of which some departures were forgotten since they were last quiet: the quiet rule
    /// cannot be used there.
    pub forgotten: CpuSet,
    /// The id of the next holding.
    pub next_id: u64,
}

/// The number of departures kept for CPUs that are never known to be quiet.
const MOST_LEFT: usize = 32;

impl Admitted {
    /// Creates an empty register.
    pub fn new(platform: Platform, spec: impl Into<String>) -> Admitted {
        Admitted {
            platform,
            spec: spec.into(),
            overruns: Overruns::default(),
            holdings: Vec::new(),
            loads: Vec::new(),
            exceeded: CpuSet::new(),
            forgotten: CpuSet::new(),
            next_id: 0,
        }
    }

    /// Returns the admitted tasks.
    pub fn tasks(&self) -> impl Iterator<Item = &Holding> {
        self.holdings.iter().filter(|holding| holding.left.is_none())
    }

    /// Returns the admitted task of this name.
    pub fn find(&self, name: &str) -> Option<&Holding> {
        self.tasks().find(|holding| holding.task.name == name)
    }

    /// Records that a task leaves at `now`, which drops its pending job. Its last job may have come
    /// just now, so its bandwidth is in use for another [window](Reservation::window). Returns
    /// false if the task is not admitted.
    pub fn leave(&mut self, name: &str, now: Time) -> bool {
        match self.find(name).map(|holding| holding.task.window()) {
            Some(window) => self.leave_knowing(name, now, now + window),
            None => false,
        }
    }

    /// Records that a task leaves, where the caller knows until when the last job holds its
    /// density: until the end of its window, or, if the job has received `e` of its runtime, until
    /// its zero-lag time, `e` divided by the density after its release. Returns false if the task
    /// is not admitted.
    pub fn leave_knowing(&mut self, name: &str, now: Time, until: Time) -> bool {
        let found = self.holdings.iter_mut().find(|it| it.left.is_none() && it.task.name == name);
        let Some(holding) = found else { return false };
        holding.left = Some(Left { at: now, until, how: How::Gone });
        true
    }

    /// Records that at this instant no task has a job left that may run on any of these CPUs.
    /// Departed tasks are forgotten there.
    pub fn quiet(&mut self, cpus: &CpuSet) {
        for group in components(&self.holdings) {
            if group.cpus.is_subset(cpus) {
                self.start_anew(&group.cpus);
            }
        }
        self.exceeded = self.exceeded.difference(cpus);
        self.forgotten = self.forgotten.difference(cpus);
        self.mark_exceeded();
    }

    fn start_anew(&mut self, cpus: &CpuSet) {
        self.holdings.retain(|holding| holding.left.is_none() || !holding.cpus.is_subset(cpus));
    }

    /// Records where densities are too high now: they then count as too high since the last quiet
    /// instant.
    fn mark_exceeded(&mut self) {
        let now = Time::NEVER;
        for group in components(&self.holdings) {
            let all = group.of(&self.holdings);
            if densities_fit(&all, &group, now, Duration::ZERO).is_err() {
                self.exceeded = self.exceeded.union(&group.cpus);
            }
        }
    }

    /// Forgets departed tasks that can no longer delay others at `now`. Every request does this
    /// first.
    pub(super) fn settle(&mut self, theory: &Theory, now: Time) {
        for group in components(&self.holdings) {
            if group.of(&self.holdings).iter().all(|holding| holding.left.is_some()) {
                // A task that leaves drops its job, so no task of this group has work left.
                self.start_anew(&group.cpus);
                self.exceeded = self.exceeded.difference(&group.cpus);
                self.forgotten = self.forgotten.difference(&group.cpus);
                continue;
            }
            if theory.has_ideal_cpus && group.cpus.len() == 1 {
                self.settle_one_cpu(&group.cpus, now);
            } else if theory.has_density_rule && self.exceeded.is_disjoint(&group.cpus) {
                self.forget_many(&group.cpus, now);
            }
        }
    }

    /// Uses that a CPU is quiet at some instant within the longest busy period of all its holdings.
    fn settle_one_cpu(&mut self, cpu: &CpuSet, now: Time) {
        let Some(longest) = self.busy_period(cpu) else { return };
        let is_over = |holding: &Holding| {
            let past = |left: Left| left.at.saturating_add(longest) <= now && left.until <= now;
            holding.cpus == *cpu && holding.left.is_some_and(past)
        };
        self.holdings.retain(|holding| !is_over(holding));
        if !self.holdings.iter().any(|holding| holding.cpus == *cpu && holding.left.is_some()) {
            self.exceeded = self.exceeded.difference(cpu);
            self.forgotten = self.forgotten.difference(cpu);
            self.mark_exceeded();
        }
    }

    /// Returns the longest time that a CPU can be busy with its tasks and the loads above them.
    fn busy_period(&self, cpu: &CpuSet) -> Option<Duration> {
        let tasks = self.holdings.iter().filter(|holding| holding.cpus == *cpu);
        let tasks = tasks.map(|holding| Part::of_task(&holding.task));
        let loads = self.loads.iter().filter(|(of, _)| cpu.contains(*of));
        let parts: Vec<Part> = tasks.chain(loads.map(|(_, load)| Part::of_load(load))).collect();
        busy_period(&parts)
    }

    /// Returns the instants after `now` at which departed tasks may cease to count, in ascending
    /// order.
    pub(super) fn releases(&self, now: Time) -> Vec<Time> {
        let mut times = Vec::new();
        for holding in &self.holdings {
            let Some(left) = holding.left else { continue };
            times.push(left.until);
            if let (1, Some(longest)) = (holding.cpus.len(), self.busy_period(&holding.cpus)) {
                times.push(left.until.max(left.at.saturating_add(longest)));
            }
        }
        times.retain(|&time| time > now);
        times.sort_unstable();
        times.dedup();
        times
    }

    /// Forgets departures if there are too many of them: the density rule does not need those whose
    /// window is over.
    fn forget_many(&mut self, cpus: &CpuSet, now: Time) {
        let is_over = |holding: &Holding| {
            holding.cpus.is_subset(cpus) && holding.left.is_some_and(|left| left.until <= now)
        };
        if self.holdings.iter().filter(|holding| is_over(holding)).count() > MOST_LEFT {
            self.holdings.retain(|holding| !is_over(holding));
            self.forgotten = self.forgotten.union(cpus);
        }
    }
}
