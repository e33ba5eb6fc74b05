//! A dispatcher on every CPU, and one lock for all CPUs that share their tasks.
//!
//! Source: D. Compagnin, E. Mezzetti, T. Vardanega. Experimental evaluation of optimal schedulers based
//! on partitioned proportionate fairness. ECRTS 2015, Section IV. There the dispatcher of QPS
//! (Algorithm 1) runs on each CPU, and each processor hierarchy has a lock; RUN has one tree, and one
//! lock for all CPUs.
//!
//! | paper | here |
//! |---|---|
//! | processor hierarchy | [`Domain`]: the CPUs and tasks of one group of the policy's rule |
//! | lock of a hierarchy | [`Locks::PerGroup`]: a manager behind a lock for each domain |
//! | global lock of RUN | [`Locks::One`]: one domain with all CPUs |
//! | dispatcher on a CPU | a thread on it, above the threads of all tasks |
//!
//! A dispatcher sleeps on a timer of its own. When it wakes up, it takes the lock of its domain and does
//! what a single manager would: a round, in which the policy receives everything that is due in the
//! domain, updates its state, selects, and has its decision carried out, also on other CPUs. So releases
//! of one instant are collapsed within a domain, and only there.
//!
//! | event | wakes the dispatcher of |
//! |---|---|
//! | release | the CPU on which the task ran last; at first the CPUs of the domain in turn |
//! | completion | the CPU on which the job ran |
//! | timer of the policy, used-up budget, request | the CPU that decided last, and so set the timer |
//!
//! Each domain has a clone of the policy, which receives the events of its domain alone. Groups of a rule
//! do not interact, so that the decisions are those of one policy, and the logs of the domains are one
//! log, in the order of time ([`merged`]): its replay into one fresh policy decides the same.
//!
//! Each domain ends when its dispatcher sees that the time is over, some microseconds after another. The
//! run is over when the last one has ended: until then no CPU is given to anything else, and the records
//! that a domain writes at its end get the time of the end of the run. The times that threads report stay
//! as they are. If a domain has to end early, because its log is full, the others end with it
//! (`fifo/dispatch.rs`).
//!
//! Deviations: (1) A dispatcher changes the priorities of threads on other CPUs itself, where Algorithm 1
//! notifies those CPUs, which then run it. The kernel sends the interrupt. (2) QPS visits its whole
//! hierarchy in a round, as in the original formulation, and not only the CPU that was invoked.

use super::carrier::Carrier;
use super::overheads::Measured;
use super::{Finished, Manager, RESERVE};
use crate::fifo::worker::DispatcherPost;
use crate::kernel::lock::PriorityLock;
use crate::kernel::sys::{self, Tid};
use crate::log::{Entry, Log, Record};
use layland_engine::rounds;
use layland_model::{CpuId, CpuMap, Index, ScheduleRule, System, TaskId, TaskMap, Time};
use layland_policy::RequestId;
use std::collections::BTreeMap;
use std::iter::Peekable;

/// The locks that the dispatchers of CPUs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Locks {
    /// One for each group of CPUs that share their tasks, if the rule of the policy has groups that do
    /// not interact and the system makes no requests; otherwise one for all.
    #[default]
    PerGroup,
    /// One for all CPUs.
    One,
}

/// The CPUs and the tasks of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub cpus: Vec<CpuId>,
    pub tasks: Vec<TaskId>,
}

/// Returns the domains of a run: each CPU and each task is in one of them.
pub(crate) fn scopes(rule: &ScheduleRule, system: &System, locks: Locks) -> Vec<Scope> {
    let (cpus, tasks) = (system.platform.cpus().collect(), system.tasks.ids().collect());
    let all = vec![Scope { cpus, tasks }];
    // Groups of these rules share nothing, not even a level of criticality.
    let are_apart =
        matches!(rule, ScheduleRule::Optimal { .. } | ScheduleRule::HighestFirst { .. });
    let Some(groups) = rule.groups().filter(|_| are_apart && locks == Locks::PerGroup) else {
        return all;
    };
    let with_tasks = groups.iter().filter(|group| !group.tasks.is_empty());
    let mut scopes: Vec<Scope> = with_tasks
        .map(|group| Scope { cpus: group.cpus.iter().collect(), tasks: group.tasks.clone() })
        .collect();
    let times =
        |is_in: &dyn Fn(&Scope) -> bool| scopes.iter().filter(|&scope| is_in(scope)).count();
    let cpu_times = |cpu: CpuId| times(&|scope| scope.cpus.contains(&cpu));
    let task_times = |task: TaskId| times(&|scope| scope.tasks.contains(&task));
    if !system.requests.is_empty()
        || scopes.is_empty()
        || system.platform.cpus().any(|cpu| cpu_times(cpu) > 1)
        || system.tasks.ids().any(|task| task_times(task) != 1)
    {
        return all;
    }
    // Nothing runs on the CPUs without a group, but the policy is notified of them.
    let idle: Vec<CpuId> = system.platform.cpus().filter(|&cpu| cpu_times(cpu) == 0).collect();
    // In the order in which CPUs come online, which is that of the first decision of a policy.
    scopes.sort_by_key(|scope| scope.cpus.iter().min().copied());
    scopes[0].cpus.extend(idle);
    scopes
}

impl<C: Carrier> Manager<'_, C> {
    /// Confines a manager that has not begun to a domain.
    pub fn confine(&mut self, scope: &Scope) {
        self.ledger.confine(|task| scope.tasks.contains(&task));
    }
}

/// The dispatchers of CPUs that share their tasks: a manager behind a lock.
pub(crate) struct Domain<'a, C> {
    scope: Scope,
    manager: PriorityLock<Shared<'a, C>>,
    /// The dispatchers of all CPUs of the platform.
    posts: &'a [DispatcherPost],
}

struct Shared<'a, C> {
    /// `None` once the run is over.
    manager: Option<Manager<'a, C>>,
    has_begun: bool,
    /// The CPU whose dispatcher releases the next job of each task.
    home: TaskMap<CpuId>,
    /// The time to which the timer of each CPU is set; and, while it is computed, that of the next.
    set_to_ns: CpuMap<i64>,
    due: CpuMap<Time>,
}

/// The end of the work of a dispatcher.
pub(crate) enum Served {
    /// The run is over; one dispatcher of each domain has its records.
    Over(Option<Box<Finished>>),
    /// The policy panicked on another CPU of the domain.
    Panicked,
}

impl<'a, C: Carrier> Domain<'a, C> {
    /// Returns the domain of a manager that has not begun.
    pub fn new(
        mut manager: Manager<'a, C>,
        scope: Scope,
        posts: &'a [DispatcherPost],
    ) -> Domain<'a, C> {
        manager.confine(&scope);
        let mut home = TaskMap::filled(scope.cpus[0], manager.system.tasks.len());
        for (&task, &cpu) in scope.tasks.iter().zip(scope.cpus.iter().cycle()) {
            home[task] = cpu;
        }
        let cpus = manager.system.platform.cpu_count();
        let shared = Shared {
            manager: Some(manager),
            has_begun: false,
            home,
            set_to_ns: CpuMap::filled(i64::MIN, cpus),
            due: CpuMap::filled(Time::NEVER, cpus),
        };
        Domain { scope, manager: PriorityLock::new(shared), posts }
    }

    /// Returns the CPUs of the domain.
    pub fn cpus(&self) -> &[CpuId] {
        &self.scope.cpus
    }

    /// Works as the dispatcher of this CPU, on the calling thread, until the run is over.
    pub fn serve(&self, cpu: CpuId, own: Tid) -> Served {
        let post = &self.posts[cpu.index()];
        loop {
            post.wait();
            let woke_ns = sys::monotonic_ns();
            let mut shared = self.manager.lock(own);
            if self.manager.is_poisoned() {
                return Served::Panicked;
            }
            let Shared { manager, has_begun, .. } = &mut *shared;
            let Some(working) = manager else { return Served::Over(None) };
            let began_ns = sys::monotonic_ns();
            // If the policy does not return, the watchdog ends the run.
            working.carrier.expect_awake_by(began_ns);
            let is_first = !std::mem::replace(has_begun, true);
            if is_first {
                rounds::begin_on(working, |cpu| self.scope.cpus.contains(&cpu));
            }
            while working.round() {
                if working.carrier.is_tripped() {
                    break;
                }
            }
            let log_full = working.log.is_full(RESERVE);
            if working.is_over() || log_full {
                working.carrier.expect_awake_by(i64::MAX);
                let finished = manager.take().map(|manager| Box::new(manager.finish(log_full).0));
                drop(shared);
                let others = self.scope.cpus.iter().filter(|&&other| other != cpu);
                others.for_each(|other| self.posts[other.index()].ring());
                return Served::Over(finished);
            }
            self.arm(&mut shared, cpu);
            // The first invocation only begins the run.
            if let (Some(working), false) = (&mut shared.manager, is_first) {
                working.measured.lock.record(began_ns - woke_ns);
                working.measured.invocation.record(working.carrier.clock_ns() - woke_ns);
            }
        }
    }

    /// Sets the timers of the domain, after the dispatcher of the CPU `own` has worked.
    fn arm(&self, shared: &mut Shared<'a, C>, own: CpuId) {
        let Shared { manager, home, set_to_ns, due, .. } = shared;
        let Some(manager) = manager else { return };
        for (cpu, run) in manager.cpus.iter() {
            if let Some(task) = run.task {
                home[task] = cpu;
            }
        }
        self.scope.cpus.iter().for_each(|&cpu| due[cpu] = Time::NEVER);
        due[own] = manager.needed_beside_releases();
        for &task in &self.scope.tasks {
            let run = &manager.ledger.tasks[task];
            let release = run.next_release;
            // A job that has arrived and waits for the one before it needs no timer.
            if !run.blocked || release > manager.ledger.now {
                due[home[task]] = due[home[task]].min(release);
            }
        }
        let mut earliest_ns = i64::MAX;
        for &cpu in &self.scope.cpus {
            let at_ns = manager.absolute_ns(due[cpu]);
            earliest_ns = earliest_ns.min(at_ns);
            // Its own timer has expired.
            if std::mem::replace(&mut set_to_ns[cpu], at_ns) != at_ns || cpu == own {
                self.posts[cpu.index()].set(at_ns);
            }
        }
        manager.carrier.expect_awake_by(earliest_ns);
    }
}

impl<C: Carrier> Manager<'_, C> {
    /// Returns the time of the next event that is not a release.
    fn needed_beside_releases(&self) -> Time {
        let running = self.cpus.values().filter(|run| run.task.is_some());
        let budgets = running.map(|run| run.budget_end);
        let next = self.end.min(self.ledger.next_time_but_arrivals());
        budgets.fold(next, Time::min)
    }
}

/// Returns the parts of a run, each with its records in the order of time, as one run. Parts are in the
/// order of their domains, which decides between records of one instant.
pub(crate) fn merged(parts: Vec<Finished>) -> Finished {
    let end = parts.iter().map(|part| part.end).max().unwrap_or(Time::ZERO);
    let interrupted = parts.iter().any(|part| part.interrupted);
    let records: usize = parts.iter().map(|part| part.log.records.len()).sum();
    let mut whole = Finished {
        log: Log::with_capacity(records + 2, 0),
        closing: 0,
        measured: Measured::default(),
        end,
        interrupted,
        log_full: parts.iter().any(|part| part.log_full),
        events: 0,
        decisions: 0,
        unsupported: None,
    };
    let mut all: Vec<(usize, Record)> = Vec::with_capacity(records);
    let mut first = Beginning::default();
    for (domain, mut part) in parts.into_iter().enumerate() {
        // Otherwise a CPU would look idle from the end of its domain to that of the last one, although
        // a job waits.
        let at_end = &mut part.log.records[part.closing..];
        at_end.iter_mut().for_each(|record| record.at = end);
        let Finished { log, measured, events, decisions, unsupported, .. } = part;
        whole.measured.add(&measured);
        whole.events += events;
        whole.decisions += decisions;
        whole.unsupported = whole.unsupported.or(unsupported);
        whole.log.lost += log.lost;
        let (refusals, programs) = (whole.log.refusals.len(), whole.log.programs.len());
        whole.log.refusals.extend(log.refusals);
        whole.log.programs.extend(log.programs);
        let mut records = log.records.into_iter().peekable();
        whole.decisions -= u64::from(first.take(&mut records) && domain > 0);
        for mut record in records {
            let Numbers { refusal, program, .. } = numbers_of(&mut record.entry);
            refusal.into_iter().for_each(|position| *position += refusals as u32);
            program.into_iter().for_each(|position| *position += programs as u32);
            if !matches!(record.entry, Entry::Over { .. }) {
                all.push((domain, record));
            }
        }
    }
    first.write(&mut whole.log);
    // The sort is stable: records of one domain keep their order.
    all.sort_by_key(|&(domain, record)| (record.at, domain));
    let mut numbers: BTreeMap<(usize, u32), u32> = BTreeMap::new();
    for (domain, mut record) in all {
        if let Some(request) = numbers_of(&mut record.entry).request {
            let next = numbers.len() as u32;
            *request = RequestId(*numbers.entry((domain, request.0)).or_insert(next));
        }
        whole.log.push(record.at, record.entry);
    }
    whole.closing = whole.log.records.partition_point(|record| record.at < end);
    whole.log.push(end, Entry::Over { interrupted });
    whole
}

/// The beginning of a run: CPUs come online, and the policy decides for the first time. It is the first
/// decision of every domain, and one decision of the policy: all CPUs are online before anything else.
#[derive(Default)]
struct Beginning {
    online: BTreeMap<CpuId, Time>,
    actions: Vec<Record>,
    at: Time,
    cost_ns: u32,
}

impl Beginning {
    /// Takes the beginning from the records of a domain. Returns false if it has none.
    fn take(&mut self, records: &mut Peekable<impl Iterator<Item = Record>>) -> bool {
        let is_online = |record: &Record| matches!(record.entry, Entry::Online { .. });
        while let Some(Record { at, entry: Entry::Online { cpu } }) = records.next_if(is_online) {
            self.online.insert(cpu, at);
        }
        let is_decision = |record: &Record| matches!(record.entry, Entry::Decide { .. });
        let Some(Record { at, entry: Entry::Decide { actions, cost_ns } }) =
            records.next_if(is_decision)
        else {
            return false;
        };
        self.at = at;
        self.cost_ns = self.cost_ns.saturating_add(cost_ns);
        self.actions.extend(records.take(actions as usize));
        true
    }

    fn write(self, log: &mut Log) {
        for (cpu, at) in self.online {
            log.push(at, Entry::Online { cpu });
        }
        let actions = self.actions.len() as u32;
        log.push(self.at, Entry::Decide { actions, cost_ns: self.cost_ns });
        for record in self.actions {
            log.push(record.at, record.entry);
        }
    }
}

/// The numbers in a record that count within its log.
#[derive(Default)]
struct Numbers<'a> {
    request: Option<&'a mut RequestId>,
    /// The position of a refusal, and that of a program.
    refusal: Option<&'a mut u32>,
    program: Option<&'a mut u32>,
}

fn numbers_of(entry: &mut Entry) -> Numbers<'_> {
    let none = Numbers::default();
    match entry {
        Entry::Join { request, .. } | Entry::Asks { request, .. } => {
            Numbers { request: Some(request), ..none }
        }
        Entry::Enter { request, program, .. } => {
            Numbers { request: Some(request), program: Some(program), ..none }
        }
        Entry::Refuse { request, reason } => {
            Numbers { request: Some(request), refusal: Some(reason), ..none }
        }
        Entry::Refused { reason, .. } | Entry::TurnedAway { reason, .. } => {
            Numbers { refusal: Some(reason), ..none }
        }
        Entry::Online { .. }
        | Entry::Offline { .. }
        | Entry::Leave { .. }
        | Entry::Arrival { .. }
        | Entry::Release { .. }
        | Entry::Completion { .. }
        | Entry::Budget { .. }
        | Entry::Ended { .. }
        | Entry::Timer { .. }
        | Entry::Measured { .. }
        | Entry::Decide { .. }
        | Entry::Run { .. }
        | Entry::Idle { .. }
        | Entry::SetTimer { .. }
        | Entry::ClearTimer { .. }
        | Entry::Abort { .. }
        | Entry::EndJob { .. }
        | Entry::SetDates { .. }
        | Entry::SetSpeed { .. }
        | Entry::Note(_)
        | Entry::Asked { .. }
        | Entry::On { .. }
        | Entry::Off { .. }
        | Entry::Leaked { .. }
        | Entry::Done { .. }
        | Entry::Dropped { .. }
        | Entry::Granted { .. }
        | Entry::Skipped { .. }
        | Entry::NeverReady { .. }
        | Entry::Over { .. } => none,
    }
}
