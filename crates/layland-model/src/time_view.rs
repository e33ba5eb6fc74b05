//! The *time view*: tasks as CPUs of unit speed see them.
//!
//! Decisions fall on whole nanoseconds. On a CPU of speed `s` a job with the rest `r` needs
//! `ceil(r / s)` whole nanoseconds, one nanosecond makes that one less, and so a job takes exactly
//! `ceil(C / s)` of its CPU, however often it is preempted. The schedule on one CPU, or on CPUs of
//! one speed with any migrations, is that of unit speed with `ceil(C / s)`, slice by slice. So every
//! test for unit speeds holds for the view with its own kind: an exact one stays exact.
//!
//! | parameter | in the view |
//! |---|---|
//! | WCETs of all levels, budgets, drawn execution times | divided by the speed, rounded up |
//! | `run` steps | each by itself, rounded up: an engine ends each with a whole nanosecond |
//! | fixed non-preemptive segments | their *ends* are divided and rounded up, because a job crosses them without a stop |
//! | periods, deadlines, jitter, offsets, suspensions, blocking times, floating regions, overheads, reloads | as they are: they are times |
//!
//! The sum of `C / T` against the speed is *not* a test: two tasks (1, 3) at speed 2/3 sum to 2/3,
//! and need 2 + 2 nanoseconds in 3.
//!
//! A section takes the time of the CPU that executes it: the home of its resource under DPCP, that
//! of its task otherwise.

use crate::{
    CpuSet, Duration, ExecutionModel, Preemption, Protocol, ResourceId, Service, Speed, Step,
    System, TIME_LIMIT, Task,
};

/// Returns the time for some work as the work of a CPU of unit speed; `None` beyond the limit of
/// times.
fn in_time(work: Service, speed: Speed) -> Option<Service> {
    let ns = speed.time_for(work).ns();
    (ns <= TIME_LIMIT).then_some(Service::from_ns(ns))
}

impl Task {
    /// The task as it runs on CPUs of this speed, in time: see the [time view](System::time_view).
    /// `None` if a time is beyond [`TIME_LIMIT`].
    ///
    /// ```
    /// use layland_model::{Duration, Rate, Service, Speed, Task};
    /// let little = Speed::new(&Rate::new(223, 500)).unwrap();
    /// let task = Task::implicit("a", Service::from_ms(2), Duration::from_ms(10));
    /// assert_eq!(task.at_speed(little).unwrap().own_wcet(), Service::from_ns(4_484_305));
    /// ```
    pub fn at_speed(&self, speed: Speed) -> Option<Task> {
        self.at_speeds(speed, &|_| speed)
    }

    /// As [`at_speed`](Self::at_speed), with sections that are executed at the speeds of their
    /// resources.
    fn at_speeds(&self, speed: Speed, of: &dyn Fn(ResourceId) -> Speed) -> Option<Task> {
        let mut task = self.clone();
        for wcet in &mut task.wcet {
            *wcet = in_time(*wcet, speed)?;
        }
        if let Some(steps) = &self.steps {
            let mut held: Vec<ResourceId> = Vec::new();
            let mut whole = 0i64;
            let mut timed = Vec::with_capacity(steps.len());
            for &step in steps.iter() {
                timed.push(match step {
                    Step::Run(length) => {
                        let at = held.first().map_or(speed, |&resource| of(resource));
                        let length = in_time(length, at)?;
                        whole = whole.checked_add(length.ns()).filter(|&ns| ns <= TIME_LIMIT)?;
                        Step::Run(length)
                    }
                    Step::Lock(resource) => {
                        held.push(resource);
                        step
                    }
                    Step::Unlock(_) => {
                        held.pop();
                        step
                    }
                    Step::Suspend(_) => step,
                });
            }
            task.steps = Some(timed.into());
            let level = task.criticality.level().min(task.wcet.len() - 1);
            task.wcet[level] = Service::from_ns(whole);
        }
        if let Some(budget) = task.budget {
            task.budget = Some(in_time(budget, speed)?);
        }
        task.preemption = self.preemption.at_speed(speed)?;
        match &mut task.execution {
            ExecutionModel::Wcet | ExecutionModel::Level(_) | ExecutionModel::Fraction(_) => {}
            ExecutionModel::Uniform { min, max } => {
                (*min, *max) = (in_time(*min, speed)?, in_time(*max, speed)?);
            }
            ExecutionModel::Discrete(values) => {
                for (work, _) in values {
                    *work = in_time(*work, speed)?;
                }
            }
            ExecutionModel::List(values) => {
                for work in values {
                    *work = in_time(*work, speed)?;
                }
            }
        }
        Some(task)
    }

    /// The longest time of a job on a CPU of this speed, alone and without overheads. Steps are
    /// rounded up one by one.
    pub fn time_at(&self, speed: Speed) -> Duration {
        if speed == Speed::UNIT || self.steps.is_none() {
            return speed.time_for(self.own_wcet());
        }
        let of_step = |step: &Step| match *step {
            Step::Run(length) => speed.time_for(length).ns(),
            Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => 0,
        };
        Duration::from_ns(self.steps().iter().map(of_step).fold(0, i64::saturating_add))
    }
}

impl Preemption {
    /// The regions in the time of a CPU of this speed. Segments that fall into one nanosecond with
    /// the one before are dropped. `None` if a time is beyond [`TIME_LIMIT`].
    ///
    /// ```
    /// use layland_model::{Preemption, Rate, Service, Speed};
    /// let speed = Speed::new(&Rate::new(2, 3)).unwrap();
    /// let ns = Service::from_ns;
    /// let segments = Preemption::Between([ns(1), ns(1), ns(1)].into());
    /// assert_eq!(segments.at_speed(speed), Some(Preemption::Between([ns(2), ns(1), ns(2)].into())));
    /// ```
    pub fn at_speed(&self, speed: Speed) -> Option<Preemption> {
        let Preemption::Between(segments) = self else { return Some(self.clone()) };
        let (mut done, mut last) = (0i64, 0i64);
        let mut timed = Vec::with_capacity(segments.len());
        for segment in segments {
            done = done.checked_add(segment.ns())?;
            let end = in_time(Service::from_ns(done), speed)?.ns();
            if end > last {
                timed.push(Service::from_ns(end - last));
            }
            last = end;
        }
        Some(Preemption::Between(timed.into()))
    }
}

impl System {
    /// The speed of these CPUs, if they have one.
    pub fn speed_of(&self, cpus: &CpuSet) -> Option<Speed> {
        let mut speeds = cpus.iter().filter_map(|cpu| self.platform.speeds.get(cpu).copied());
        let first = speeds.next()?;
        speeds.all(|speed| speed == first).then_some(first)
    }

    /// The system as CPUs of unit speed see it: in each cluster whose CPUs have one speed, tasks
    /// count in time, and the CPUs have unit speed. A cluster with CPUs of different speeds stays as
    /// it is. `None` if nothing changes, if a time would be beyond [`TIME_LIMIT`], or if the system
    /// changes while it runs, because its CPUs may then be others.
    ///
    /// With a protocol, the sections of the tasks take the time of the CPUs that execute them.
    ///
    /// ```
    /// use layland_model::{CpuId, Duration, Rate, Service, Speed, System, Task};
    /// let task = |name| Task::implicit(name, Service::from_ns(1), Duration::from_ns(3));
    /// let mut system = System::new(1, vec![task("a"), task("b")]);
    /// assert_eq!(system.time_view(None), None);
    /// system.platform.speeds[CpuId(0)] = Speed::new(&Rate::new(2, 3)).unwrap();
    /// let view = system.time_view(None).unwrap();
    /// assert!(view.platform.is_unit_speed());
    /// assert!(view.tasks.values().all(|task| task.own_wcet() == Service::from_ns(2)));
    /// ```
    pub fn time_view(&self, protocol: Option<Protocol>) -> Option<System> {
        if self.platform.is_unit_speed() || !self.requests.is_empty() {
            return None;
        }
        let clusters = &self.platform.clusters;
        let has_tasks = |at: usize| self.tasks.values().any(|task| task.cluster == at);
        let speeds: Vec<Option<Speed>> = (clusters.iter().enumerate())
            .map(|(at, cpus)| {
                // CPUs that serve no task have no speed that matters.
                let of_all = self.speed_of(cpus);
                if has_tasks(at) { of_all } else { of_all.or(Some(Speed::UNIT)) }
            })
            .collect();
        let mut view = self.clone();
        let home = |resource: ResourceId| {
            let home = self.resources.get(resource.0 as usize)?.home?;
            self.platform.speeds.get(home).copied()
        };
        for (id, task) in self.tasks.iter() {
            let Some(speed) = speeds[task.cluster] else { continue };
            let of = |resource: ResourceId| match protocol {
                Some(Protocol::Dpcp) => home(resource).unwrap_or(speed),
                Some(_) | None => speed,
            };
            let is_as_it_is = speed == Speed::UNIT && protocol != Some(Protocol::Dpcp);
            if !is_as_it_is {
                view.tasks[id] = task.at_speeds(speed, &of)?;
            }
        }
        let is_in_cluster =
            |cpu| clusters.iter().position(|cpus| cpus.contains(cpu)).map(|at| speeds[at]);
        for cpu in self.platform.cpus() {
            if is_in_cluster(cpu) != Some(None) {
                view.platform.speeds[cpu] = Speed::UNIT;
            }
        }
        view.provenance = None;
        Some(view).filter(|view| view != self)
    }

    /// The time view where each cluster has the speed of its slowest CPU. Under a policy that runs
    /// the jobs of the highest fixed priorities, a job is done no later than in this system: whatever
    /// its CPU, each nanosecond takes at least one off the time that it needs on the slowest.
    /// `None` as for [`time_view`](Self::time_view).
    pub fn time_view_of_slowest(&self) -> Option<System> {
        if !self.requests.is_empty() {
            return None;
        }
        let mut slowest = self.clone();
        slowest.provenance = None;
        for cpus in &self.platform.clusters {
            let speeds = cpus.iter().filter_map(|cpu| self.platform.speeds.get(cpu).copied());
            let Some(least) = speeds.min_by(|a, b| a.rate().cmp(&b.rate())) else { continue };
            for cpu in cpus.iter() {
                if let Some(speed) = slowest.platform.speeds.get_mut(cpu) {
                    *speed = least;
                }
            }
        }
        if slowest.platform.is_unit_speed() {
            return Some(slowest).filter(|slowest| slowest != self);
        }
        slowest.time_view(None)
    }
}
