//! The slow twin of LRE-TL, nanosecond by nanosecond, from plane to plane. It takes the jobs of a
//! trace, and returns the running jobs in every nanosecond. Each nanosecond is decided from
//! scratch, by sorting all tasks.

use super::slow::{FutureJob, Seat, jobs_of, place};
use layland_model::{JobId, System, TaskId};
use layland_offline::RateGrid;
use layland_trace::Trace;
use std::collections::VecDeque;

/// A task, by rank.
struct PlaneTask {
    rate: i64,
    jobs: VecDeque<FutureJob>,
    /// The ready job, with its remaining need.
    job: Option<(JobId, i64)>,
    from: i64,
    deadline: i64,
    is_served: bool,
    share: i64,
    seat: Seat,
}

impl AsMut<Seat> for PlaneTask {
    fn as_mut(&mut self) -> &mut Seat {
        &mut self.seat
    }
}

fn tasks(system: &System, grid: &RateGrid, trace: &Trace) -> Vec<PlaneTask> {
    let state = |task: TaskId| {
        let mut jobs = jobs_of(trace, task);
        jobs.iter_mut().for_each(|job| job.deadline = grid.down(job.deadline));
        PlaneTask {
            rate: grid.tasks[task].numerator,
            jobs: jobs.into(),
            job: None,
            from: 0,
            deadline: 0,
            is_served: false,
            share: 0,
            seat: Seat::default(),
        }
    };
    system.by_rank().into_iter().map(state).collect()
}

/// Returns the running jobs of a trace for each nanosecond and CPU, up to the end of the run.
pub fn schedule(system: &System, trace: &Trace) -> Vec<(i64, usize, JobId)> {
    let grid = RateGrid::of(system).expect("the policy was built");
    let unit = grid.unit.ns();
    let shortest = grid.tasks.values().map(|rate| rate.window.ns()).min().expect("there are tasks");
    let mut tasks = tasks(system, &grid, trace);
    let cpus = system.platform.cpu_count();
    let mut plane_end = 0;
    let mut runs = Vec::new();
    for now in 0..trace.over.ns() {
        for task in &mut tasks {
            let ends = task.job.is_some_and(|(_, needs)| needs == 0);
            if ends {
                task.seat.stop(now);
                task.job = None;
            }
            if task.job.is_none() && task.jobs.front().is_some_and(|job| job.release <= now) {
                let FutureJob { id, deadline, needs, .. } =
                    task.jobs.pop_front().expect("there is one");
                (task.job, task.deadline) = (Some((id, needs)), deadline);
                task.from = if ends && task.is_served { now } else { grid.up(now) };
            } else if ends {
                task.share = 0;
            }
        }
        let begins = now == plane_end;
        if begins {
            let deadlines = tasks.iter().map(|task| task.deadline).filter(|&at| at > now);
            plane_end = deadlines.chain([now + shortest]).min().expect("it is not empty");
            tasks.iter_mut().for_each(|task| task.is_served = false);
        }
        let time = plane_end - now;
        for task in &mut tasks {
            if task.job.is_some() && !task.is_served && task.from <= now {
                assert_eq!((task.share, time % unit), (0, 0), "it has had all of its shares");
                task.share = task.rate * (time / unit);
                task.is_served = true;
            }
        }
        let chosen = chosen(&tasks, begins, time, cpus);
        place(&mut tasks, &chosen, now, cpus);
        for task in &mut tasks {
            if let (Some(cpu), Some((job, needs))) = (task.seat.cpu, &mut task.job) {
                runs.push((now, cpu, *job));
                task.share -= 1;
                *needs -= 1;
            }
        }
    }
    runs.sort_unstable();
    runs
}

/// Returns the tasks that run, in the order in which they select CPUs.
fn chosen(tasks: &[PlaneTask], begins: bool, time: i64, cpus: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..tasks.len()).filter(|&at| tasks[at].share > 0).collect();
    if begins {
        all.sort_by_key(|&at| (tasks[at].share < time, tasks[at].seat.cpu.is_none(), at));
        all.truncate(cpus);
        return all;
    }
    let (mut running, mut waiting): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|&at| tasks[at].seat.cpu.is_some());
    waiting.sort_by_key(|&at| (-tasks[at].share, at));
    for at in waiting {
        if running.len() < cpus {
            running.push(at);
        } else if tasks[at].share == time {
            running.sort_by_key(|&other| (-tasks[other].share, other));
            *running.last_mut().expect("there is a CPU") = at;
        }
    }
    running.sort_unstable();
    running
}
