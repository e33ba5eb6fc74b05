//! Converts a thread to a task: by its timer, by its sleep, or as one that never blocks.

use super::cycle::Cycle;
use super::program::{End, Unlike};
use super::{Importer, Phase, Reservation, Step, Thread, limited};
use crate::steps::execution;
use layland_model::{Behaviour, Duration, ExecutionModel, Service, Task};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum length of a list of execution times; longer ones are replaced by a distribution.
const MAX_LIST: u64 = 100_000;

impl Importer<'_> {
    /// Returns the task of a thread, without the properties that do not depend on its events.
    pub(super) fn task(&mut self, thread: &Thread) -> Option<Task> {
        let phases = self.reachable(thread);
        let all = || phases.iter().flat_map(|phase| &phase.steps);
        let runs = all().any(|step| matches!(step, Step::Run(ns) if *ns > 0));
        if thread.times == Some(0) || phases.is_empty() {
            self.skip(thread, "it is never executed", "raise `loop`");
            return None;
        }
        if !runs {
            self.skip(thread, "it never runs", "give it a `run`, if it is to take time");
            return None;
        }
        let has_timer = all().any(|step| matches!(step, Step::Timer(ns) if *ns > 0));
        let has_sleep = all().any(|step| matches!(step, Step::Sleep(ns) if *ns > 0));
        if let Some((event, span)) = &thread.waits
            && !has_timer
            && !(has_sleep && event == "barrier")
        {
            let message = format!(
                "`{}` is left out: it waits for other threads (`{event}`), not for a timer",
                thread.name
            );
            let help = "give it a `timer` with the period at which it is woken";
            self.warn("layland::rtapp::left_out", span, message, help);
            return None;
        }
        // An endless phase is repeated forever, regardless of the thread's own loop.
        let endless = thread.times.is_none() || phases.iter().any(|phase| phase.times.is_none());
        // A thread that executes its phases once begins after those in which it only sleeps.
        let idle = if has_timer && thread.times == Some(1) {
            phases.iter().take_while(|phase| phase.is_idle()).count()
        } else {
            0
        };
        let cycle = Cycle::of(&phases[idle..], has_timer);
        let task = if has_timer {
            let delay = delay(&phases[..idle]);
            self.by_timer(thread, &phases[idle..], cycle, endless).map(|task| Task {
                offset: Duration::from_ns(limited(task.offset.ns().saturating_add(delay))),
                ..task
            })
        } else if has_sleep {
            self.by_sleep(thread, &phases, cycle, endless)
        } else {
            self.without_end(thread, &phases, &cycle, endless)
        };
        task.map(|task| self.reserve(thread, task, has_timer || has_sleep))
    }

    /// Returns the phases that are executed repeatedly.
    fn reachable<'t>(&mut self, thread: &'t Thread) -> Vec<&'t Phase> {
        let phases: Vec<&Phase> =
            thread.phases.iter().filter(|phase| phase.times != Some(0)).collect();
        let Some(endless) = phases.iter().position(|phase| phase.times.is_none()) else {
            return phases;
        };
        if phases.len() > 1 {
            let name = &phases[endless].name;
            let message = format!("the phase `{name}` of `{}` never ends", thread.name);
            let help = "only this phase is taken; those before it would come once, at the start";
            self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
        }
        vec![phases[endless]]
    }

    /// Converts a thread with timers to a periodic task.
    pub(super) fn by_timer(
        &mut self,
        thread: &Thread,
        phases: &[&Phase],
        mut cycle: Cycle,
        endless: bool,
    ) -> Option<Task> {
        let name = &thread.name;
        let periods: BTreeSet<i64> = cycle.jobs().map(|job| job.wait).collect();
        let &period = periods.first()?;
        if periods.len() > 1 {
            let some: Vec<String> =
                periods.iter().take(4).map(|&ns| Duration::from_ns(ns).to_string()).collect();
            let why = format!("its timers have different periods ({})", some.join(", "));
            let help = "a task has one period: make a thread of each, or use one period";
            self.skip(thread, &why, help);
            return None;
        }
        let mut offset = 0;
        if cycle.tail > 0 {
            // The execution after the last timer belongs to the first job of the next cycle.
            let tail = cycle.tail;
            let first = cycle.first_mut()?;
            let begins_with_timer = first.run == 0;
            first.run = first.run.saturating_add(tail);
            if begins_with_timer {
                offset = period;
            } else {
                let message = format!("`{name}` runs before and after its last timer");
                let help = "both are taken as one job, also the first time";
                self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
            }
        }
        let mut task = self.with_times(thread, &cycle, period);
        task.offset = Duration::from_ns(offset);
        task.jobs = jobs(thread, &cycle, endless);
        let steps = self.program(phases, End::Timer, 1);
        self.with_steps(thread, task, steps, End::Timer)
    }

    /// Converts a thread with sleeps and without timers to a self-suspending task.
    fn by_sleep(
        &mut self,
        thread: &Thread,
        phases: &[&Phase],
        mut cycle: Cycle,
        endless: bool,
    ) -> Option<Task> {
        let name = &thread.name;
        let tail = std::mem::take(&mut cycle.tail);
        if let Some(first) = cycle.first_mut() {
            first.run = first.run.saturating_add(tail);
        }
        let gaps: BTreeSet<i64> = cycle.jobs().map(|job| job.wait).collect();
        // Without critical sections the execution times of the jobs may differ.
        let of_jobs = self.program(phases, End::Sleep, 1);
        let is_alike = gaps.len() == 1 && cycle.jobs().all(|job| job.run > 0);
        let (mut steps, end) = if is_alike && of_jobs.is_ok() {
            (of_jobs, End::Sleep)
        } else {
            cycle = cycle.merged();
            (self.program(phases, End::Turn, 1), End::Turn)
        };
        let longest = cycle.jobs().map(|job| job.run).max().unwrap_or(0);
        let wait = cycle.jobs().next().map_or(0, |job| job.wait);
        let period = limited(longest.saturating_add(wait));
        let mut task = self.with_times(thread, &cycle, period);
        let mut gap = wait;
        if end == End::Turn {
            let message = format!("`{name}` sleeps in several places");
            let mut help = "one turn of its loop is taken as one job, with all sleeps at its end";
            if let Some(last) = steps.as_mut().ok().and_then(last_sleep) {
                gap = last.ns();
                help = "one turn of its loop is taken as one job, which suspends itself";
            }
            self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
        }
        task.behaviour = Behaviour::SelfSuspending { gap: Duration::from_ns(gap) };
        task.jobs = jobs(thread, &cycle, endless);
        let message = format!(
            "`{name}` has no timer: it sleeps for {} after each job",
            Duration::from_ns(gap)
        );
        let help = format!("its period is taken as run plus sleep, {}", Duration::from_ns(period));
        self.warn("layland::rtapp::no_period", &thread.span, message, &help);
        self.with_steps(thread, task, steps, end)
    }

    /// Converts a thread that neither sleeps nor waits.
    fn without_end(
        &mut self,
        thread: &Thread,
        phases: &[&Phase],
        cycle: &Cycle,
        endless: bool,
    ) -> Option<Task> {
        let name = &thread.name;
        let turns = if endless { 1 } else { thread.times.unwrap_or(1) };
        let run = cycle.tail.saturating_mul(i64::try_from(turns).unwrap_or(i64::MAX));
        let mut steps = phases.iter().flat_map(|phase| &phase.steps);
        let yields = steps.any(|step| matches!(step, Step::Yield));
        let wcet = limited(run);
        let period = thread.reservation.period().filter(|&ns| ns > 0).unwrap_or(wcet);
        let (length, shown) = (Duration::from_ns(period), Duration::from_ns(period));
        let mut task = Task::implicit(name.clone(), Service::from_ns(wcet), length);
        let (message, help) = if yields {
            task.behaviour = Behaviour::Yield;
            let message = format!("`{name}` yields after each job and has no timer");
            (message, format!("its period is taken as {shown}"))
        } else if endless {
            task.behaviour = Behaviour::Hog;
            let message = format!("`{name}` never sleeps");
            (message, format!("it is taken to run without end, with a period of {shown}"))
        } else {
            task.jobs = Some(1);
            let message = format!("`{name}` runs once and ends");
            (message, format!("it is taken as a single job of {}", Duration::from_ns(wcet)))
        };
        self.warn("layland::rtapp::no_period", &thread.span, message, &help);
        let steps = self.program(phases, End::Turn, turns);
        self.with_steps(thread, task, steps, End::Turn)
    }

    /// Returns the task with the steps of its jobs, if they do
    /// more than execute; `None` if no task can have these steps.
    fn with_steps(
        &mut self,
        thread: &Thread,
        mut task: Task,
        steps: Result<Vec<layland_model::Step>, Unlike>,
        end: End,
    ) -> Option<Task> {
        match steps {
            Ok(steps) if steps.iter().all(|step| matches!(step, layland_model::Step::Run(_))) => {}
            Ok(mut steps) => {
                if !self.is_nested(thread, &steps, end) {
                    return None;
                }
                self.drop_empty_sections(thread, &mut steps);
                // Lengths beyond the valid range were cut.
                if execution(&steps) == task.own_wcet() {
                    // Without its empty sections, the job may only execute.
                    let only_runs =
                        steps.iter().all(|step| matches!(step, layland_model::Step::Run(_)));
                    task.steps = (!only_runs).then(|| steps.into());
                } else {
                    self.without_program(thread, &Unlike::Long);
                }
            }
            Err(why) => self.without_program(thread, &why),
        }
        Some(task)
    }

    /// Returns a task with the execution times of the jobs of a cycle.
    fn with_times(&mut self, thread: &Thread, cycle: &Cycle, period: i64) -> Task {
        let longest = cycle.jobs().map(|job| job.run).max().unwrap_or(0);
        let wcet = Service::from_ns(limited(longest));
        let mut task =
            Task::implicit(thread.name.clone(), wcet, Duration::from_ns(limited(period)));
        if let Some(deadline) = thread.deadline {
            task.deadline = Duration::from_ns(deadline);
        }
        if cycle.jobs().any(|job| job.run != longest) {
            if cycle.length() <= MAX_LIST {
                let times = cycle.blocks.iter().flat_map(|(jobs, times)| {
                    (0..*times)
                        .flat_map(move |_| jobs)
                        .map(|job| Service::from_ns(limited(job.run)))
                });
                task.execution = ExecutionModel::List(times.collect());
            } else {
                let mut weights: BTreeMap<i64, u64> = BTreeMap::new();
                for (jobs, times) in &cycle.blocks {
                    for job in jobs {
                        let weight = weights.entry(limited(job.run)).or_default();
                        // The limit keeps the sum of all weights within 64 bits.
                        *weight = weight.saturating_add(*times).min(1 << 40);
                    }
                }
                let values = weights.into_iter().map(|(ns, weight)| (Service::from_ns(ns), weight));
                task.execution = ExecutionModel::Discrete(values.collect());
                let message = format!("the phases of `{}` are too long for a list", thread.name);
                let help = "their execution times are drawn with the same frequencies instead";
                self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
            }
        }
        task
    }

    /// Adds the reservation.
    fn reserve(&mut self, thread: &Thread, mut task: Task, has_period: bool) -> Task {
        let Reservation { runtime, deadline, span, .. } = &thread.reservation;
        let Some(span) = span else { return task };
        task.budget = runtime.map(Service::from_ns);
        let given = thread.reservation.period;
        if has_period && given.is_none() {
            let message = format!("`{}` has no `dl-period`", thread.name);
            let help =
                "rt-app takes the budget for it, a whole CPU; here that of the timer is taken";
            self.warn("layland::rtapp::not_modelled", span, message, help);
        }
        let period = if has_period { given } else { thread.reservation.period() };
        if let Some(deadline) = deadline.or(period) {
            task.deadline = Duration::from_ns(deadline);
        }
        let period = period.map(Duration::from_ns);
        if let Some(period) = period.filter(|&period| has_period && period != task.period) {
            if let Behaviour::SelfSuspending { .. } = task.behaviour {
                task.period = period;
                return task;
            }
            let message = format!(
                "`{}` has a job every {}, and a budget every {}",
                thread.name, task.period, period
            );
            let help = "a task has one period: that of the timer is taken for both";
            self.warn("layland::rtapp::not_modelled", span, message, help);
        }
        task
    }
}

/// Removes the last sleep from the steps of a cycle: the
/// job ends with it, and begins with the steps after it.
fn last_sleep(steps: &mut Vec<layland_model::Step>) -> Option<Duration> {
    let at = steps.iter().rposition(|step| matches!(step, layland_model::Step::Suspend(_)))?;
    let mut job = steps.split_off(at + 1);
    let Some(layland_model::Step::Suspend(length)) = steps.pop() else { return None };
    job.append(steps);
    *steps = job;
    Some(length)
}

impl Phase {
    /// Returns true if it only sleeps.
    fn is_idle(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, Step::Sleep(_) | Step::Yield))
    }
}

/// Returns the time that these phases sleep.
fn delay(phases: &[&Phase]) -> i64 {
    let of_phase = |phase: &&Phase| {
        let sleep = |step: &Step| match *step {
            Step::Sleep(ns) => ns,
            Step::Run(_) | Step::Timer(_) | Step::Yield | Step::Lock(_) | Step::Unlock(_) => 0,
        };
        let once = phase.steps.iter().map(sleep).fold(0, i64::saturating_add);
        once.saturating_mul(phase.times.and_then(|times| i64::try_from(times).ok()).unwrap_or(1))
    };
    phases.iter().map(of_phase).fold(0, i64::saturating_add)
}

/// Returns the number of jobs of a thread.
fn jobs(thread: &Thread, cycle: &Cycle, endless: bool) -> Option<u64> {
    let turns = thread.times.filter(|_| !endless)?;
    Some(cycle.length().saturating_mul(turns))
}
