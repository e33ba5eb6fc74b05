//! Determines the steps of each job of a thread:
//! `lock`, `unlock`, `run`, and `sleep` within the job.
//!
//! A task has one program for all of its jobs. So the jobs of one cycle through the phases must be
//! equal, or else the whole cycle is one job, which is possible only for threads without timers.

use super::{Importer, Phase, Step, Thread};
use crate::steps::{MAX_STEPS, drop_empty_sections};
use layland_model::{Duration, Index, ResourceId, Service};

/// The maximum number of steps of all threads together: a short loop can expand to many.
pub(super) const ALL_STEPS: usize = 4_000_000;

/// A step of a task, as opposed to a step of a thread.
type Done = layland_model::Step;

/// The event that ends a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A timer.
    Timer,
    /// Any sleep.
    Sleep,
    /// The end of one cycle through the phases, or the last sleep in it.
    Turn,
}

/// The reason why there is no common program.
pub(super) enum Unlike {
    /// The jobs differ.
    Differ,
    /// The program has too many steps.
    Long,
}

/// The steps of the jobs of one cycle.
struct Programs<'a> {
    jobs: Vec<Vec<Done>>,
    /// The steps since the last wait.
    open: Vec<Done>,
    /// The number of steps so far.
    taken: usize,
    /// The number of steps that all threads may still have.
    left: &'a mut usize,
}

impl Programs<'_> {
    fn new(left: &mut usize) -> Programs<'_> {
        Programs { jobs: Vec::new(), open: Vec::new(), taken: 0, left }
    }

    /// Adds a step; merges consecutive runs.
    fn push(&mut self, step: Done) -> Result<(), Unlike> {
        if self.taken == MAX_STEPS || *self.left == 0 {
            return Err(Unlike::Long);
        }
        self.taken += 1;
        *self.left -= 1;
        match (self.open.last_mut(), step) {
            (Some(Done::Run(before)), Done::Run(length)) => {
                let sum = before.ns().checked_add(length.ns()).ok_or(Unlike::Long)?;
                *before = Service::from_ns(sum);
            }
            (_, step) => self.open.push(step),
        }
        Ok(())
    }

    fn step(&mut self, step: Step, end: End) -> Result<(), Unlike> {
        match step {
            Step::Run(ns) if ns > 0 => self.push(Done::Run(Service::from_ns(ns))),
            Step::Lock(resource) => self.push(Done::Lock(resource)),
            Step::Unlock(resource) => self.push(Done::Unlock(resource)),
            step if step.ends(end) => {
                self.jobs.push(std::mem::take(&mut self.open));
                Ok(())
            }
            Step::Sleep(ns) if ns > 0 => self.push(Done::Suspend(Duration::from_ns(ns))),
            Step::Run(_) | Step::Sleep(_) | Step::Timer(_) | Step::Yield => Ok(()),
        }
    }

    /// Returns the jobs of one cycle through these phases, each distinct one at least once.
    fn of<'a>(phases: &[&Phase], end: End, left: &'a mut usize) -> Result<Programs<'a>, Unlike> {
        let mut programs = Programs::new(left);
        for phase in phases {
            let times = phase.times.unwrap_or(1);
            let only_runs = phase.steps.iter().all(|step| match step {
                Step::Run(_) | Step::Yield => true,
                Step::Timer(ns) | Step::Sleep(ns) => *ns == 0,
                Step::Lock(_) | Step::Unlock(_) => false,
            });
            if only_runs {
                let run = |step: &Step| match *step {
                    Step::Run(ns) => ns,
                    Step::Sleep(_)
                    | Step::Timer(_)
                    | Step::Yield
                    | Step::Lock(_)
                    | Step::Unlock(_) => 0,
                };
                let once = phase.steps.iter().map(run).fold(0, i64::saturating_add);
                let times = i64::try_from(times).unwrap_or(i64::MAX);
                programs.step(Step::Run(once.saturating_mul(times)), end)?;
                continue;
            }
            // The first job of a phase begins with the end of the phase before; on repetition it
            // begins with the end of its own phase. All further repetitions are equal.
            let ends = phase.steps.iter().any(|step| step.ends(end));
            for _ in 0..if ends { times.min(2) } else { times } {
                for &step in &phase.steps {
                    programs.step(step, end)?;
                }
            }
        }
        Ok(programs)
    }
}

impl Step {
    /// Returns true if it ends a job.
    fn ends(self, end: End) -> bool {
        match (self, end) {
            (Step::Timer(ns), End::Timer) | (Step::Sleep(ns), End::Sleep) => ns > 0,
            (Step::Timer(_) | Step::Sleep(_), End::Timer | End::Sleep | End::Turn)
            | (Step::Run(_) | Step::Yield | Step::Lock(_) | Step::Unlock(_), _) => false,
        }
    }
}

/// Returns the steps of each job, for `turns` cycles through the phases, if all jobs have the same
/// steps; an empty program if the jobs only execute. The steps after the last wait are at the
/// beginning of the first job of the next cycle.
fn program(phases: &[&Phase], end: End, turns: u64, left: &mut usize) -> Result<Vec<Done>, Unlike> {
    let does_more = |step: &Step| match *step {
        Step::Lock(_) | Step::Unlock(_) => true,
        Step::Sleep(ns) => ns > 0 && !step.ends(end),
        Step::Run(_) | Step::Timer(_) | Step::Yield => false,
    };
    if !phases.iter().flat_map(|phase| &phase.steps).any(does_more) {
        return Ok(Vec::new());
    }
    let Programs { mut jobs, open, .. } = Programs::of(phases, end, left)?;
    if end == End::Turn {
        let once = open.clone();
        let mut all = Programs { open, ..Programs::new(left) };
        for _ in 1..turns {
            for &step in &once {
                all.push(step)?;
            }
        }
        return Ok(all.open);
    }
    if let Some(first) = jobs.first_mut() {
        let mut whole = Programs { open, ..Programs::new(left) };
        for step in std::mem::take(first) {
            whole.push(step)?;
        }
        *first = whole.open;
    }
    jobs.dedup();
    match &mut jobs[..] {
        [only] => Ok(std::mem::take(only)),
        _ => Err(Unlike::Differ),
    }
}

impl Importer<'_> {
    /// Does what [`program`] does, within the number of steps that all threads may have.
    pub(super) fn program(
        &mut self,
        phases: &[&Phase],
        end: End,
        turns: u64,
    ) -> Result<Vec<Done>, Unlike> {
        program(phases, end, turns, &mut self.steps_left)
    }

    /// Returns true if sections are nested, and closed at the end. If not, the thread is omitted.
    pub(super) fn is_nested(&mut self, thread: &Thread, steps: &[Done], end: End) -> bool {
        let name = |importer: &Self, resource: ResourceId| {
            importer.mutexes.names.get(resource.index()).cloned().unwrap_or_default()
        };
        let mut held: Vec<ResourceId> = Vec::new();
        for step in steps {
            match *step {
                Done::Lock(resource) if held.contains(&resource) => {
                    let why = format!("it locks `{}`, which it holds", name(self, resource));
                    self.skip(thread, &why, "it would wait for itself: unlock it before");
                    return false;
                }
                Done::Lock(resource) => held.push(resource),
                Done::Unlock(resource) if held.is_empty() => {
                    let why = format!(
                        "a job unlocks `{}`, which it has not locked",
                        name(self, resource)
                    );
                    self.skip(
                        thread,
                        &why,
                        "unlock it in the job that locks it: before `timer`, or `sleep`",
                    );
                    return false;
                }
                Done::Unlock(resource) if held.pop() != Some(resource) => {
                    let why = format!(
                        "it unlocks `{}`, which is not what it locked last",
                        name(self, resource)
                    );
                    self.skip(thread, &why, "sections are nested: unlock in the reverse order");
                    return false;
                }
                Done::Unlock(_) | Done::Run(_) | Done::Suspend(_) => {}
            }
        }
        let Some(&resource) = held.last() else { return true };
        let held = name(self, resource);
        let why = match end {
            End::Timer => format!("it holds `{held}` while it waits for its timer"),
            End::Sleep => format!("it holds `{held}` while it sleeps after a job"),
            End::Turn => format!("it holds `{held}` at the end of its loop"),
        };
        self.skip(thread, &why, "unlock it before a job ends");
        false
    }

    /// Drops the sections without execution, with a warning.
    pub(super) fn drop_empty_sections(&mut self, thread: &Thread, steps: &mut Vec<Done>) {
        let dropped = drop_empty_sections(steps);
        let Some(first) = dropped.first() else { return };
        let mutex = self.mutexes.names.get(first.index()).map_or("", String::as_str);
        let of = match dropped.len() {
            1 => format!("the empty critical section of `{}` on `{mutex}` is", thread.name),
            count => format!(
                "{count} empty critical sections of `{}`, the first on `{mutex}`, are",
                thread.name
            ),
        };
        let span = thread.locks.first().unwrap_or(&thread.span).clone();
        let message = format!("{of} left out");
        let help = "between `lock` and `unlock` is no `run` of at least one unit";
        self.warn("layland::rtapp::not_modelled", &span, message, help);
    }

    /// Warns that a program is dropped.
    pub(super) fn without_program(&mut self, thread: &Thread, why: &Unlike) {
        let name = &thread.name;
        let (why, help) = match why {
            Unlike::Differ => (
                "not every job does the same",
                "all jobs of a task have the same steps: make a thread of each kind of job",
            ),
            Unlike::Long => ("it has too many steps", "the loops of a job are unrolled"),
        };
        let message = if thread.locks.is_empty() {
            format!("`{name}` sleeps inside of a job, which is not modelled: {why}")
        } else {
            format!("the critical sections of `{name}` are not modelled: {why}")
        };
        let span = thread.locks.first().unwrap_or(&thread.span).clone();
        self.warn("layland::rtapp::not_modelled", &span, message, help);
    }
}
