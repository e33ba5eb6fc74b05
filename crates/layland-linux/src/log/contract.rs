//! The contract of [`Policy`](layland_policy::Policy), checked before each event of a log is
//! replayed: an engine must be able to send the policy this event. A policy may rely on the
//! contract, so a damaged log must not reach it.
//!
//! The check follows the decisions of the policy as an engine does: the ready jobs, the job of each
//! CPU, and the timers. It does not check the order of the events of one instant.

use layland_model::{
    Behaviour, Change, CpuId, CpuMap, Duration, Index, JobId, OnMiss, RequestKind, System,
    TIME_LIMIT, Task, TaskId, TaskMap, Time,
};
use layland_policy::{Action, AfterJob, Event, Needs, Progress, RequestId, Schedules};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The state of a task, as an engine knows it.
#[derive(Clone, Debug, Default)]
struct ContractTask {
    is_in: bool,
    has_left: bool,
    ready: Option<u64>,
    /// The number of its last job.
    last: Option<u64>,
    /// The release of that job; and true if a CPU was ever given to it.
    released: Option<Time>,
    has_run: bool,
    /// The number of the last job that has arrived, if the policy follows arrivals.
    arrived: Option<u64>,
    /// The reservation, if it is a thread of another program.
    program: Option<Arc<Task>>,
}

/// The state of a run, as far as later events depend on it.
pub(super) struct Contract<'a> {
    system: &'a System,
    needs: Needs,
    tasks: TaskMap<ContractTask>,
    /// For each CPU: true if it is online; and the job that it runs, with true if that has a
    /// budget.
    cpus: CpuMap<(bool, Option<(JobId, bool)>)>,
    /// The time at which the budget on each CPU ends, if that follows from the time since `Run`;
    /// see [`Contract::grants`].
    budget_ends: CpuMap<Time>,
    timers: BTreeMap<u32, Time>,
    /// The tasks that asked to enter, by their requests, unless refused.
    joins: BTreeMap<u32, TaskId>,
    next_request: u32,
    asked: BTreeSet<usize>,
    now: Time,
    /// True if the policy has received an event at `now` and not decided since.
    is_undecided: bool,
}

type Verdict = Result<(), String>;

impl<'a> Contract<'a> {
    pub(super) fn new(system: &'a System, needs: Needs) -> Contract<'a> {
        Contract {
            system,
            needs,
            tasks: TaskMap::filled(ContractTask::default(), system.tasks.len()),
            cpus: CpuMap::filled((false, None), system.platform.cpu_count()),
            budget_ends: CpuMap::filled(Time::NEVER, system.platform.cpu_count()),
            timers: BTreeMap::new(),
            joins: BTreeMap::new(),
            next_request: 0,
            asked: BTreeSet::new(),
            now: Time::ZERO,
            is_undecided: false,
        }
    }

    fn time(&mut self, at: Time) -> Verdict {
        if !(Time::ZERO..=Time::from_ns(TIME_LIMIT)).contains(&at) {
            return Err(format!("{at} is not a time of a run"));
        }
        if at < self.now {
            return Err(format!("{at} is before {}, the time of the line before", self.now));
        }
        if self.is_undecided && at > self.now {
            return Err(format!("there is no decision about the events at {}", self.now));
        }
        self.now = at;
        Ok(())
    }

    /// Checks that the policy may decide now.
    pub(super) fn decides(&mut self, at: Time) -> Verdict {
        self.time(at)?;
        for (cpu, &(_, on)) in self.cpus.iter() {
            if let Some((job, true)) = on
                && self.budget_ends[cpu] <= at
            {
                let end = self.budget_ends[cpu];
                let JobId { task, seq } = job;
                return Err(format!(
                    "the budget of job {seq} of task {task} was used up at {end}, and the policy was not notified"
                ));
            }
        }
        self.is_undecided = false;
        Ok(())
    }

    /// Checks that the policy may receive this event. If the event is a request of the system,
    /// `index` is the request's position.
    pub(super) fn tells(&mut self, at: Time, event: &Event, index: Option<u32>) -> Verdict {
        self.time(at)?;
        self.is_undecided = true;
        match *event {
            Event::CpuOnline { cpu } => self.goes(cpu, true),
            Event::CpuOffline { cpu } => self.goes(cpu, false),
            Event::Join { task, request, .. } => {
                self.requests(request)?;
                self.joins.insert(request.0, task);
                let state = self.task(task)?;
                // The number of a program that has left may be reused.
                if state.is_in || state.has_left && state.program.is_none() {
                    return Err(format!("task {task} enters twice"));
                }
                (state.is_in, state.has_left, state.released) = (true, false, None);
                Ok(())
            }
            Event::Leave { task } => {
                self.member(task)?;
                self.withdraw(task);
                let state = &mut self.tasks[task];
                (state.is_in, state.has_left, state.ready) = (false, true, None);
                Ok(())
            }
            Event::Reconfigure { task, request, .. } => {
                self.member(task)?;
                self.asks(index, request)
            }
            Event::SetClusterCpus { request, .. } => self.asks(index, request),
            Event::Arrival { job, release, deadline } => {
                let state = self.member(job.task)?;
                let expected = state.arrived.map_or(0, |seq| seq.saturating_add(1));
                state.arrived = Some(job.seq);
                if !self.follows(job, expected) {
                    return Err(format!("job {} arrives where job {expected} is due", job.seq));
                }
                if self.needs.schedules != Schedules::ArrivingJobs {
                    return Err("the policy does not follow arrivals".to_owned());
                }
                self.dates(job, release, deadline)
            }
            Event::Release { job, release, deadline } => self.releases(job, release, deadline),
            Event::Measured { job, executed } => {
                let now = self.now.ns();
                let state = self.task(job.task)?;
                if state.last.is_none_or(|last| job.seq > last) {
                    return Err(format!("job {} was not released", job.seq));
                }
                // The measured execution time may differ from the time since `Run`, so the budget's
                // end is unknown.
                for (cpu, (_, on)) in self.cpus.iter() {
                    if on.is_some_and(|(own, _)| own == job) {
                        self.budget_ends[cpu] = Time::NEVER;
                    }
                }
                if !(0..=now).contains(&executed.ns()) {
                    return Err(format!("no job can have executed for {executed} by now"));
                }
                if self.needs.schedules == Schedules::ReadyJobs
                    && self.needs.progress == Progress::Elapsed
                {
                    return Err(
                        "the policy does not receive the execution times of jobs".to_owned()
                    );
                }
                Ok(())
            }
            Event::Completion { job, cpu, then } => {
                self.runs(job, cpu)?;
                let behaviour = &self.parameters(job.task).behaviour;
                if then == AfterJob::Yields && *behaviour != Behaviour::Yield {
                    return Err("its task does not yield".to_owned());
                }
                if *behaviour == Behaviour::Hog && self.needs.schedules == Schedules::Threads {
                    return Err("the thread of its task never ends a job".to_owned());
                }
                self.cpus[cpu].1 = None;
                self.tasks[job.task].ready = None;
                Ok(())
            }
            Event::Ended { job } => {
                let state = self.member(job.task)?;
                let (is_ready, has_run) = (state.ready == Some(job.seq), state.has_run);
                let task = self.parameters(job.task);
                let is_endless =
                    task.behaviour == Behaviour::Hog && self.needs.schedules == Schedules::Threads;
                let is_on = self.cpus.values().any(|(_, on)| on.is_some_and(|(own, _)| own == job));
                // A job that completes on a CPU ends with a completion event instead.
                let has_completed = has_run && !is_on && !is_endless;
                if !is_ready || !has_completed && task.on_miss != OnMiss::Abort {
                    return Err(format!(
                        "job {} of task {} can neither have ended nor be aborted",
                        job.seq, job.task
                    ));
                }
                self.stop(job.task);
                Ok(())
            }
            Event::BudgetExhausted { job, cpu } => {
                self.runs(job, cpu)?;
                match &mut self.cpus[cpu].1 {
                    Some((_, has_budget)) if *has_budget => *has_budget = false,
                    Some(_) | None => return Err("it was given no budget".to_owned()),
                }
                Ok(())
            }
            Event::Step { .. } => Err("threads take no steps".to_owned()),
            Event::Timer { id } => match self.timers.remove(&id.0) {
                Some(due) if due <= self.now => Ok(()),
                Some(due) => Err(format!("timer {} is due at {due}", id.0)),
                None => Err(format!("timer {} is not set", id.0)),
            },
        }
    }

    /// Prepares for a thread of another program that is about to enter as this task.
    pub(super) fn expects(&mut self, task: TaskId, parameters: &Arc<Task>) -> Verdict {
        let (own, known) = (self.system.tasks.len(), self.tasks.len());
        if task.index() < own || task.index() > known {
            return Err(format!("task {task} is none that a program can be given"));
        }
        if task.index() == known {
            self.tasks.push(ContractTask::default());
        }
        let state = &mut self.tasks[task];
        if !state.is_in {
            state.program = Some(Arc::clone(parameters));
        }
        Ok(())
    }

    /// Follows an action of the policy.
    pub(super) fn decided(&mut self, action: &Action) {
        match *action {
            Action::Run { cpu, job, budget } => {
                self.withdraw(job.task);
                self.tasks.get_mut(job.task).into_iter().for_each(|state| state.has_run = true);
                if let Some(on) = self.cpus.get_mut(cpu) {
                    on.1 = Some((job, budget.is_some()));
                    self.budget_ends[cpu] = self.grants(budget);
                }
            }
            Action::Idle { cpu } => self.cpus.get_mut(cpu).into_iter().for_each(|on| on.1 = None),
            Action::SetTimer { id, at } => {
                self.timers.insert(id.0, at);
            }
            Action::ClearTimer { id } => {
                self.timers.remove(&id.0);
            }
            Action::Abort { job } => self.stop(job.task),
            Action::EndJob { job, .. } => {
                let next = JobId { task: job.task, seq: job.seq.saturating_add(1) };
                if let Some(state) = self.tasks.get_mut(job.task) {
                    state.ready = state.ready.and(Some(next.seq));
                    state.last = Some(next.seq);
                }
                for (_, on) in self.cpus.values_mut() {
                    if let Some((own, _)) = on.as_mut().filter(|(own, _)| *own == job) {
                        *own = next;
                    }
                }
            }
            Action::Refuse { request, .. } => {
                if let Some(task) = self.joins.remove(&request.0) {
                    self.stop(task);
                    let state = &mut self.tasks[task];
                    (state.is_in, state.has_left) = (false, true);
                }
            }
            Action::SetSpeed { cpu, .. } => {
                self.budget_ends.get_mut(cpu).into_iter().for_each(|end| *end = Time::NEVER);
            }
            Action::SetDates { .. } | Action::Grant { .. } | Action::Note { .. } => {}
        }
    }

    /// Returns the time at which a budget that is granted now ends. A policy that schedules threads
    /// counts the time since `Run`. Other policies receive measurements; then the end is unknown.
    fn grants(&self, budget: Option<Duration>) -> Time {
        let by_time = self.needs.schedules == Schedules::Threads;
        let budget = budget.filter(|_| by_time);
        // A damaged log may have any budget, so the sum must not overflow.
        budget.map_or(Time::NEVER, |budget| self.now.saturating_add(budget))
    }

    fn task(&mut self, task: TaskId) -> Result<&mut ContractTask, String> {
        let count = self.tasks.len();
        self.tasks
            .get_mut(task)
            .ok_or_else(|| format!("task {task} is not one of the {count} tasks"))
    }

    /// Returns the state of a task that has entered.
    fn member(&mut self, task: TaskId) -> Result<&mut ContractTask, String> {
        let state = self.task(task)?;
        if state.is_in { Ok(state) } else { Err(format!("task {task} has not entered")) }
    }

    /// Returns the parameters with which a task has entered.
    fn parameters(&self, id: TaskId) -> &Task {
        match &self.tasks[id].program {
            Some(program) => program,
            None => &self.system.tasks[id],
        }
    }

    fn goes(&mut self, cpu: CpuId, online: bool) -> Verdict {
        let count = self.cpus.len();
        let on = (self.cpus.get_mut(cpu))
            .ok_or_else(|| format!("CPU {cpu} is not one of the {count} CPUs"))?;
        if on.0 == online {
            return Err(format!(
                "CPU {cpu} is {} already",
                if online { "online" } else { "offline" }
            ));
        }
        *on = (online, None);
        Ok(())
    }

    fn requests(&mut self, request: RequestId) -> Verdict {
        // Requests that the policy does not receive have numbers, too.
        if request.0 < self.next_request || request.0 > MOST_REQUESTS {
            return Err(format!("request {} is not the next one", request.0));
        }
        self.next_request = request.0 + 1;
        Ok(())
    }

    fn asks(&mut self, index: Option<u32>, request: RequestId) -> Verdict {
        self.requests(request)?;
        let index = index.map_or(usize::MAX, |index| index as usize);
        match self.system.requests.get(index) {
            Some(asked) if asked.at > self.now => {
                Err(format!("request {index} is for {}", asked.at))
            }
            Some(_) if self.asked.insert(index) => Ok(()),
            Some(_) => Err(format!("request {index} of the set is made twice")),
            None => Err(format!("the set has no request {index}")),
        }
    }

    fn releases(&mut self, job: JobId, release: Time, deadline: Time) -> Verdict {
        let follows = self.needs.schedules == Schedules::ArrivingJobs;
        let skips = self.skips(job.task);
        let state = self.member(job.task)?;
        if let Some(ready) = state.ready {
            return Err(format!("job {} is released while job {ready} is ready", job.seq));
        }
        let expected = state.last.map_or(0, |seq| seq.saturating_add(1));
        if !(job.seq == expected || skips && job.seq > expected) {
            return Err(format!("job {} is released where job {expected} is due", job.seq));
        }
        if follows && state.arrived.is_none_or(|arrived| job.seq > arrived) {
            return Err(format!("job {} is released and has not arrived", job.seq));
        }
        let before = state.released;
        (state.ready, state.last, state.released) = (Some(job.seq), Some(job.seq), Some(release));
        state.has_run = false;
        let task = self.parameters(job.task);
        if before.is_some_and(|before| before + self.least_period(job.task) - task.jitter > release)
        {
            return Err(format!("job {} is released too soon after the one before", job.seq));
        }
        self.dates(job, release, deadline)
    }

    /// Returns true if a job may come when the job of this number is due.
    fn follows(&self, job: JobId, expected: u64) -> bool {
        job.seq == expected || self.skips(job.task) && job.seq > expected
    }

    /// Returns true if jobs of a task may be skipped. The policy receives no event for a skipped
    /// job.
    fn skips(&self, id: TaskId) -> bool {
        self.system.tasks.get(id).is_some_and(|task| task.on_miss == OnMiss::Skip)
    }

    /// Returns the least time between two arrivals.
    fn least_period(&self, id: TaskId) -> Duration {
        let task = self.parameters(id);
        match task.behaviour {
            Behaviour::Periodic | Behaviour::Sporadic(_) | Behaviour::Hog | Behaviour::Yield => {
                let others = self.changes(id).map(|(period, _)| period);
                others.fold(task.period, Duration::min)
            }
            // Jobs may have equal arrivals, and jitter may give the later one the earlier release.
            Behaviour::Explicit(_) => Duration::ZERO,
            Behaviour::Curve(ref arrivals) => arrivals.curve.distance(1),
            Behaviour::SelfSuspending { .. } => task.jitter,
        }
    }

    /// Returns the periods and deadlines of requests about this task.
    fn changes(&self, id: TaskId) -> impl Iterator<Item = (Duration, Duration)> {
        self.system.requests.iter().filter_map(move |request| match &request.kind {
            RequestKind::Reconfigure(task, Change::Parameters { period, deadline, .. })
                if *task == id =>
            {
                Some((*period, *deadline))
            }
            RequestKind::Leave(_)
            | RequestKind::Reconfigure(..)
            | RequestKind::SetClusterCpus { .. }
            | RequestKind::CpuOnline(_)
            | RequestKind::CpuOffline(_) => None,
        })
    }

    /// Checks that a job has been released by now, and is due a relative deadline after its
    /// arrival.
    fn dates(&self, job: JobId, release: Time, deadline: Time) -> Verdict {
        let task = self.parameters(job.task);
        if release < Time::ZERO || release > self.now {
            return Err(format!("job {} is released at {release}, and reported now", job.seq));
        }
        let is_program = self.tasks[job.task].program.is_some();
        if !is_program && task.jobs.is_some_and(|jobs| job.seq >= jobs) {
            return Err(format!("its task has no job {}", job.seq));
        }
        let fits = |relative: Duration| {
            let arrival = deadline - relative;
            arrival <= release && release - arrival <= task.jitter
        };
        let in_range = (0..=2 * TIME_LIMIT).contains(&deadline.ns());
        let mut relatives =
            std::iter::once(task.deadline).chain(self.changes(job.task).map(|(_, d)| d));
        if in_range && relatives.any(fits) {
            Ok(())
        } else {
            Err(format!("job {} cannot be due at {deadline}", job.seq))
        }
    }

    fn runs(&mut self, job: JobId, cpu: CpuId) -> Verdict {
        let is_ready = self.member(job.task)?.ready == Some(job.seq);
        let on = self.cpus.get(cpu).and_then(|&(_, on)| on);
        if is_ready && on.is_some_and(|(own, _)| own == job) {
            return Ok(());
        }
        Err(format!("CPU {cpu} does not run job {} of task {}", job.seq, job.task))
    }

    /// Removes the task from every CPU.
    fn withdraw(&mut self, task: TaskId) {
        for (_, on) in self.cpus.values_mut() {
            if on.is_some_and(|(job, _)| job.task == task) {
                *on = None;
            }
        }
    }

    fn stop(&mut self, task: TaskId) {
        self.withdraw(task);
        self.tasks.get_mut(task).into_iter().for_each(|state| state.ready = None);
    }
}

/// The largest number of requests of a run.
const MOST_REQUESTS: u32 = u32::MAX - 1;
