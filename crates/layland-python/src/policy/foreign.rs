//! A policy whose decisions are made by a Python object.
//!
//! Events are collected until the policy decides, so that one decision takes the interpreter's lock
//! once. The order of events is that of the contract (`layland-policy/src/policy.rs`).

use super::job::{Job, JobState, PolicyTask};
use super::key::Key;
use super::machine::{Machine, Ready};
use crate::patience::Stop;
use layland_model::{CpuMap, Duration, JobId, ScheduleRule, TaskId, TaskMap, Time};
use layland_policy::{Action, Count, Event, Needs, Policy, Refusal, RequestId, State, TimerId};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PySequence};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering as Atomic};

/// The way in which a Python class decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// By an order of jobs: `key(job, now)`, which is called only once for each job if the key does
    /// not change.
    Key { is_fixed: bool },
    /// By a placement: `decide(now)`.
    Decide,
}

/// An event that Python receives before the next decision.
pub(super) enum News {
    Released(TaskId),
    /// A job has ended or left.
    Over(Ready),
    /// The time that the policy requested has come.
    Timer,
}

const ALARM: TimerId = TimerId(0);
/// The limit on wake-ups after an error: the simulator checks for interrupts after less than half as
/// many instants.
pub(super) const ALARMS: u32 = 10_000;

pub(super) struct Foreign {
    pub name: String,
    pub style: Style,
    /// True if it has `on_release`, `on_completion` or `on_timer`, which receive events before the
    /// decision.
    pub listens: bool,
    pub object: Py<PyAny>,
    pub stop: Arc<Stop>,
    pub tasks: Arc<TaskMap<Py<PolicyTask>>>,
    pub rule: ScheduleRule,
    pub machine: Machine,
    /// The tasks in the order that breaks ties.
    pub by_rank: Arc<Vec<TaskId>>,
    pub news: Vec<News>,
    pub refused: Vec<RequestId>,
    /// The time of the next decision that the policy requested.
    pub wake_at: Option<Time>,
    /// The number of wake-ups that it may still request after an error.
    pub alarms: u32,
}

impl Foreign {
    fn decide_in(&mut self, py: Python<'_>, now: Time, actions: &mut Vec<Action>) -> PyResult<()> {
        let object = self.object.clone_ref(py);
        let object = object.bind(py);
        self.machine.count_all(now);
        for news in &self.news {
            if let News::Over(ready) = news {
                ready.show(now);
            }
        }
        self.tell_news(py, object, now)?;
        match self.style {
            Style::Key { is_fixed } => self.decide_by_key(py, now, is_fixed, actions)?,
            Style::Decide => self.decide_by_itself(object, now, actions)?,
        }
        self.look_at_alarm(object, now, actions)
    }

    /// Passes the events since the last decision to Python.
    fn tell_news(&mut self, py: Python<'_>, object: &Bound<'_, PyAny>, now: Time) -> PyResult<()> {
        for news in std::mem::take(&mut self.news) {
            match news {
                News::Timer => {
                    object.setattr(intern!(py, "wake_at"), py.None())?;
                    if self.listens {
                        object.call_method1(intern!(py, "on_timer"), (now.ns(),))?;
                    }
                }
                _ if !self.listens => {}
                News::Released(task) => {
                    if let Some(job) = self.seen(py, now, task)? {
                        object.call_method1(intern!(py, "on_release"), (job, now.ns()))?;
                    }
                }
                News::Over(Ready { seen: Some(job), .. }) => {
                    object.call_method1(intern!(py, "on_completion"), (job, now.ns()))?;
                }
                // The job came and went within this instant: Python never saw it.
                News::Over(Ready { seen: None, .. }) => {}
            }
        }
        Ok(())
    }

    /// Returns the Python object of the ready job of a task.
    fn seen(&mut self, py: Python<'_>, now: Time, task: TaskId) -> PyResult<Option<Py<Job>>> {
        let Some(ready) = self.machine.ready[task].as_mut() else { return Ok(None) };
        if ready.seen.is_none() {
            let of = self.tasks[task].clone_ref(py);
            let Ready { id, release, deadline, .. } = *ready;
            let job = Job { task: of, id, release, deadline, seen: JobState::at(now) };
            ready.seen = Some(Py::new(py, job)?);
        }
        Ok(ready.seen.as_ref().map(|seen| seen.clone_ref(py)))
    }

    fn decide_by_key(
        &mut self,
        py: Python<'_>,
        now: Time,
        is_fixed: bool,
        actions: &mut Vec<Action>,
    ) -> PyResult<()> {
        let method = self.object.bind(py).getattr(intern!(py, "key"))?;
        let at = now.ns().into_pyobject(py)?;
        // Collect the keys in the order that breaks ties: the sort is stable and keeps it.
        let mut order: Vec<(Key, TaskId)> = Vec::new();
        for &task in self.by_rank.clone().iter() {
            let Some(job) = self.seen(py, now, task)? else { continue };
            let known = self.machine.ready[task].as_ref().and_then(|ready| ready.key.as_ref());
            let key = match known {
                Some(key) => key.copy(py),
                None => {
                    let key = Key::of(method.call1((job, &at))?)?;
                    if is_fixed && let Some(ready) = self.machine.ready[task].as_mut() {
                        ready.key = Some(key.copy(py));
                    }
                    key
                }
            };
            order.push((key, task));
        }
        let mut failed = None;
        order.sort_by(|(a, _), (b, _)| {
            a.compare(b, py).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                Ordering::Equal
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let cpus = self.machine.online.len();
        let chosen: Vec<TaskId> = order.into_iter().take(cpus).map(|(_, task)| task).collect();
        self.machine.run_highest(now, &chosen, actions);
        Ok(())
    }

    fn decide_by_itself(
        &mut self,
        object: &Bound<'_, PyAny>,
        now: Time,
        actions: &mut Vec<Action>,
    ) -> PyResult<()> {
        let decided = object.call_method1(intern!(object.py(), "decide"), (now.ns(),))?;
        let wanted = self.wanted(&decided)?;
        self.machine.run_placed(now, &wanted, actions);
        Ok(())
    }

    /// Sets the timer for the next decision that the policy requested.
    fn look_at_alarm(
        &mut self,
        object: &Bound<'_, PyAny>,
        now: Time,
        actions: &mut Vec<Action>,
    ) -> PyResult<()> {
        let wrong = || PyTypeError::new_err("`wake_at` is a whole number of nanoseconds, or None");
        let asked = object.getattr(intern!(object.py(), "wake_at"))?;
        if asked.is_instance_of::<PyBool>() {
            return Err(wrong());
        }
        let wake_at = asked.extract::<Option<i64>>().map_err(|_| wrong())?;
        self.set_alarm(now, wake_at.map(Time::from_ns), actions)
    }

    fn set_alarm(
        &mut self,
        now: Time,
        wake_at: Option<Time>,
        actions: &mut Vec<Action>,
    ) -> PyResult<()> {
        if wake_at == self.wake_at {
            return Ok(());
        }
        match wake_at {
            // A wake-up at the current time is an error, too: time would stand still.
            Some(at) if at <= now => {
                let (at, now, name) = (at.ns(), now.ns(), &self.name);
                let message = format!(
                    "`wake_at` of policy `{name}` is {at}, and it is {now} already: it has to be later"
                );
                return Err(PyValueError::new_err(message));
            }
            Some(at) => actions.push(Action::SetTimer { id: ALARM, at }),
            None => actions.push(Action::ClearTimer { id: ALARM }),
        }
        self.wake_at = wake_at;
        Ok(())
    }

    /// Converts the result of `decide`: for each CPU a ready job, or None.
    fn wanted(&self, decided: &Bound<'_, PyAny>) -> PyResult<CpuMap<Option<TaskId>>> {
        let wrong = |what: String| {
            Err(PyValueError::new_err(format!("decide() of policy `{}` {what}", self.name)))
        };
        let cpus = self.machine.running.len();
        let Ok(list) = decided.cast::<PySequence>() else {
            let kind = decided.get_type().name()?;
            return wrong(format!("returns {kind} and no list with a job or None for each CPU"));
        };
        if list.len()? != cpus {
            return wrong(format!("returns {} entries for {cpus} CPUs", list.len()?));
        }
        let mut wanted: CpuMap<Option<TaskId>> = CpuMap::filled(None, cpus);
        for (index, cpu) in self.machine.running.ids().enumerate() {
            let item = list.get_item(index)?;
            if item.is_none() {
                continue;
            }
            let Ok(job) = item.cast::<Job>() else {
                return wrong(format!("gives CPU {cpu} {}, which is not a job", item.repr()?));
            };
            let JobId { task, seq } = job.get().id;
            let ready = self.machine.ready.get(task).and_then(Option::as_ref);
            if ready.is_none_or(|ready| ready.id.seq != seq) {
                return wrong(format!("gives CPU {cpu} {}, which is not ready", item.repr()?));
            }
            if !self.tasks[task].get().may_use(cpu) {
                return wrong(format!("gives CPU {cpu} {}, which may not run there", item.repr()?));
            }
            if let Some((other, _)) = wanted.iter().find(|(_, other)| **other == Some(task)) {
                return wrong(format!("gives {} to CPU {other} and to CPU {cpu}", item.repr()?));
            }
            wanted[cpu] = Some(task);
        }
        Ok(wanted)
    }

    fn is_over(&mut self, now: Time, task: TaskId) {
        if let Some(ready) = self.machine.retire(now, task) {
            self.news.push(News::Over(ready));
        }
    }
}

impl Policy for Foreign {
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Release { job, release, deadline } => {
                self.machine.ready[job.task] = Some(Ready::new(job, release, deadline));
                self.news.push(News::Released(job.task));
            }
            Event::Completion { job, cpu: _, then: _ } | Event::Ended { job } => {
                self.is_over(now, job.task);
            }
            Event::Leave { task } => self.is_over(now, task),
            Event::Timer { id: _ } => {
                self.wake_at = None;
                self.news.push(News::Timer);
            }
            Event::Join { task, parameters: _, request } => {
                if task.0 as usize >= self.tasks.len() {
                    self.refused.push(request);
                }
            }
            Event::Reconfigure { task: _, change: _, request }
            | Event::SetClusterCpus { cluster: _, cpus: _, request } => self.refused.push(request),
            Event::CpuOnline { cpu } => {
                self.machine.online.insert(cpu);
            }
            Event::CpuOffline { cpu } => self.machine.withdraw(now, cpu),
            // Irrelevant: this policy grants no budgets, refuses steps, and does not ask for
            // arrivals.
            Event::BudgetExhausted { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. } => {}
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        for request in std::mem::take(&mut self.refused) {
            let reason = "a policy in Python keeps its tasks and clusters as they are";
            let reason = Refusal::not_permitted(reason);
            actions.push(Action::Refuse { request, reason });
        }
        let stop = Arc::clone(&self.stop);
        if !stop.is_stopped() {
            Python::attach(|py| {
                if let Err(error) = stop.within(|| self.decide_in(py, now, actions)) {
                    stop.with(error);
                }
            });
        }
        if stop.is_stopped() && self.alarms > 0 {
            // Without decisions nothing would happen until the end of the run, where all of its
            // jobs are counted first. Set timers, so that something happens until the engine
            // notices the interrupt.
            self.alarms -= 1;
            let at = now.saturating_add(Duration::from_ns(1));
            actions.push(Action::SetTimer { id: ALARM, at });
        }
    }

    fn save(&self, _now: Time, state: &mut State) {
        // The state of the object is unknown, so no two states may ever count as equal.
        static STATES: AtomicI64 = AtomicI64::new(0);
        state.number(STATES.fetch_add(1, Atomic::Relaxed));
    }

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        self.rule.clone()
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

impl Clone for Foreign {
    fn clone(&self) -> Foreign {
        Python::attach(|py| {
            let copy = || {
                let module = py.import("copy")?;
                module.call_method1("deepcopy", (&self.object,))
            };
            let copied = self.stop.within(copy);
            let object = copied.map(Bound::unbind).unwrap_or_else(|error| {
                self.stop.with(error);
                self.object.clone_ref(py)
            });
            let news = self.news.iter().map(|news| news.copy(py)).collect();
            Foreign {
                name: self.name.clone(),
                style: self.style,
                listens: self.listens,
                object,
                stop: Arc::clone(&self.stop),
                tasks: Arc::clone(&self.tasks),
                rule: self.rule.clone(),
                machine: self.machine.copy(py),
                by_rank: Arc::clone(&self.by_rank),
                news,
                refused: self.refused.clone(),
                wake_at: self.wake_at,
                alarms: self.alarms,
            }
        })
    }
}

impl News {
    fn copy(&self, py: Python<'_>) -> News {
        match self {
            News::Released(task) => News::Released(*task),
            News::Over(ready) => News::Over(ready.copy(py)),
            News::Timer => News::Timer,
        }
    }
}
