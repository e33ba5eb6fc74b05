//! First arrivals that delay one task most, for sets with too many states to examine all of them.
//!
//! Each task is the *victim* in turn, the densest first. It arrives after every other task has
//! arrived at least once. The others arrive with it, or with the same deadline, or as late as
//! possible while leaving as much work as possible, or at random; from then on all tasks are
//! periodic. The run with the least slack so far is changed a little, and the changed run replaces
//! it unless the slack has grown.
//!
//! Random choices use a fixed seed: the same set gives the same run.

use super::{FirstLate, Origin, Search, Witness, densest};
use layland_gen::{Aspect, Random};
use layland_model::{Duration, Index, Rate, Service, System, TaskId, Time};
use layland_trace::{Both, Job, JobEnd, Recorder};
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The number of changes of the best run before a new one begins.
const CHANGES: u64 = 24;

/// Searches first arrivals under which a job is late.
pub(super) fn search(search: &Search<'_>) -> Option<Witness> {
    let mut run = densest(search.system);
    let longest = run.tasks.values().map(|task| task.period.max(task.deadline)).max()?;
    let origin = search.origin();
    // Past the deadline of the victim: the jobs that it delays may be late as well.
    let end = Time::ZERO.saturating_add(origin).saturating_add(longest.checked_mul(4)?);
    let per_run = u64::try_from(run.arrivals(end)).ok()?.max(1);
    let mut victims: Vec<TaskId> = run.tasks.ids().collect();
    victims.sort_by_key(|&task| {
        let task = &run.tasks[task];
        let density = Rate::new(task.own_wcet().ns(), task.deadline.ns().max(1));
        Reverse((density, task.own_wcet()))
    });
    let mut random = Random::new(0, 0, Aspect::Offsets);
    let mut best: Option<(i64, Vec<Duration>)> = None;
    for trial in 0..search.effort / per_run {
        let (round, change) = (trial / CHANGES, trial % CHANGES);
        let victim = victims[round as usize % victims.len()];
        if change == 0 {
            best = None;
        }
        let tasks: Vec<TaskId> = match &best {
            None => run.tasks.ids().collect(),
            Some((_, offsets)) => {
                for (task, &offset) in run.tasks.values_mut().zip(offsets) {
                    task.offset = offset;
                }
                let count = search.system.tasks.len();
                (0..2).map(|_| TaskId::from_index(random.below(count as u64) as usize)).collect()
            }
        };
        for task in tasks {
            run.tasks[task].offset =
                first_arrival(search, &run, (victim, longest), task, &mut random);
        }
        if search.decisions.ended().is_some() {
            return None;
        }
        let late = Arc::new(AtomicBool::new(false));
        let first = FirstLate { late: &late, found: None };
        let mut seen = Both(first, LeastSlack(i64::MAX));
        search.simulate(&run, Origin::Phases, end, &late, &mut seen)?;
        if let Some((record, over)) = seen.0.found {
            return Some(Witness { record, origin: Origin::Phases, run, over });
        }
        if best.as_ref().is_none_or(|(slack, _)| seen.1.0 <= *slack) {
            best = Some((seen.1.0, run.tasks.values().map(|task| task.offset).collect()));
        }
    }
    None
}

/// Chooses the first arrival of a task, with a victim that arrives at a given time.
fn first_arrival(
    search: &Search<'_>,
    run: &System,
    (victim, arrives): (TaskId, Duration),
    task: TaskId,
    random: &mut Random,
) -> Duration {
    let (due, task, is_victim) =
        (arrives + run.tasks[victim].deadline, &run.tasks[task], task == victim);
    let at = match random.below(4) {
        _ if is_victim => arrives,
        0 => arrives,
        1 => due - task.deadline,
        2 => arrives + task.own_wcet().at_unit_speed() - task.deadline,
        _ => Duration::from_ns(random.between(0, task.period.ns() - 1)),
    };
    let tick = search.tick.map_or(1, Duration::ns);
    let phase = at.ns().rem_euclid(task.period.ns());
    // No task may arrive before its own offset.
    search.origin() + Duration::from_ns(phase / tick * tick)
}

/// The least slack of a job, in thousandths of its deadline.
struct LeastSlack(i64);

impl Recorder for LeastSlack {
    fn ended(&mut self, job: &Job, at: Time, _end: JobEnd, _executed: Service) {
        let (left, all) = ((job.deadline - at).ns(), (job.deadline - job.arrival).ns().max(1));
        let slack = i128::from(left) * 1000 / i128::from(all);
        self.0 = self.0.min(i64::try_from(slack).unwrap_or(i64::MAX));
    }
}
