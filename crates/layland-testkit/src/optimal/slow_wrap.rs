//! The slow twin of DP-WRAP, nanosecond by nanosecond, from deadline to deadline. It takes the jobs
//! of a trace, and returns the running jobs in every nanosecond.

use layland_model::{JobId, System};
use layland_offline::RateGrid;
use layland_trace::Trace;
use std::collections::BTreeMap;

/// Returns the running jobs of a trace of periodic tasks for each nanosecond and CPU, up to the end
/// of the run. Incomplete jobs need their WCETs.
pub fn schedule(system: &System, mirror: bool, trace: &Trace) -> Vec<(i64, usize, JobId)> {
    let grid = RateGrid::of(system).expect("the policy was built");
    let (unit, over) = (grid.unit.ns(), trace.over.ns());
    // For each job, the release and the remaining need. The jobs of a task are in order.
    let mut jobs: BTreeMap<JobId, (i64, i64)> = BTreeMap::new();
    for record in &trace.jobs {
        let task = &system.tasks[record.job.id.task];
        let needs = match record.completion() {
            Some(_) => record.executed,
            None => task.own_wcet().max(record.executed),
        };
        jobs.insert(record.job.id, (record.job.release.ns(), needs.ns()));
    }
    let is_border = |t: i64| {
        t % unit == 0
            && system.tasks.values().any(|task| {
                let (o, p) = (task.offset.ns(), task.period.ns());
                // A release within a unit of the grid cuts off that unit.
                (t - unit + 1..t + unit).any(|at| at >= o && (at - o) % p == 0)
            })
    };
    let mut runs = Vec::new();
    let (mut start, mut is_odd) = (0, false);
    while start < over {
        let end = (start + unit..).find(|&t| is_border(t)).expect("there are tasks");
        let length = end - start;
        // The ready tasks, and their sections of the line.
        let mut line = Vec::new();
        let mut at = 0;
        for task in system.by_rank() {
            let is_ready =
                |(id, &(release, _)): (&JobId, &(i64, i64))| id.task == task && release <= start;
            if jobs.iter().any(is_ready) {
                let share = grid.tasks[task].numerator * (length / unit);
                line.push((task, at, at + share));
                at += share;
            }
        }
        for now in start..end.min(over) {
            let place = if mirror && is_odd { end - 1 - now } else { now - start };
            let mut done = Vec::new();
            for cpu in 0..system.platform.cpu_count() {
                let point = cpu as i64 * length + place;
                let owner = line.iter().find(|&&(_, from, to)| from <= point && point < to);
                let Some(&(task, ..)) = owner else { continue };
                let pending =
                    jobs.iter_mut().find(|(id, (release, _))| id.task == task && *release <= now);
                // Off the grid a job may come within a slice in which its predecessor ends.
                let Some((&id, (_, left))) = pending else { continue };
                runs.push((now, cpu, id));
                *left -= 1;
                if *left == 0 {
                    done.push(id);
                }
            }
            done.iter().for_each(|id| {
                jobs.remove(id);
            });
        }
        (start, is_odd) = (end, !is_odd);
    }
    runs
}
