//! The slow twin of U-EDF, nanosecond by nanosecond. It takes the jobs of a trace, and returns the
//! running jobs in every nanosecond. Sums that the policy maintains are evaluated here by the
//! formulas of the paper, from all tasks.
//!
//! The rules, with `Q` the unit of the grid and `U_i` the rates on it:
//!
//! 1. A job released at `r` and due at `d` has the window from `r` rounded up to `d` rounded down
//!    to the grid. When the window begins, the job may execute for `U_i` times its length. If the
//!    job is still present when it ends, another window of the length of the shortest one begins. A
//!    job that follows one that ends within a window takes the rest of that window.
//! 2. `d_i(t)` is the end of the open window, or `t`. Tasks are in the order of `d_i(t)`, then of
//!    ranks: `hp_i` are the tasks before `i`.
//! 3. `u_{i,j} = [sum_{hp_i + i} U - (j - 1)] - [sum_{hp_i} U - (j - 1)]`, with each difference
//!    clamped between 0 and 1.
//! 4. Whenever a window begins, at `t`, `al_{i,j}` is computed again, in the order of tasks and
//!    lanes. It is the minimum of the remaining need of `i` beyond `sum_{y < j} al_{i,y}`, and of
//!    `d_i - t - sum_{x in hp_i} (al_{x,j} + (d_i - d_x) u_{x,j}) - sum_{y < j} al_{i,y}`.
//! 5. Lane `j` runs the first task in this order with `al_{i,j} > 0` that runs on no lane below `j`.

use super::slow::{FutureJob, Seat, jobs_of, place};
use layland_model::{JobId, System, TaskId};
use layland_offline::RateGrid;
use layland_trace::Trace;
use std::collections::VecDeque;

/// A task, by rank.
struct LaneTask {
    rate: i64,
    shortest: i64,
    jobs: VecDeque<FutureJob>,
    /// The ready job, with its remaining need.
    job: Option<(JobId, i64)>,
    /// The earliest start of the job's window, and its end.
    from: i64,
    until: i64,
    /// The end of the open window, or of the last one.
    ends: i64,
    /// The remaining execution in the window, on each lane.
    left: Vec<i64>,
    seat: Seat,
}

impl AsMut<Seat> for LaneTask {
    fn as_mut(&mut self) -> &mut Seat {
        &mut self.seat
    }
}

fn tasks(system: &System, grid: &RateGrid, trace: &Trace) -> Vec<LaneTask> {
    let state = |task: TaskId| LaneTask {
        rate: grid.tasks[task].numerator,
        shortest: grid.tasks[task].window.ns(),
        jobs: jobs_of(trace, task).into(),
        job: None,
        from: 0,
        until: 0,
        ends: 0,
        left: vec![0; system.platform.cpu_count()],
        seat: Seat::default(),
    };
    system.by_rank().into_iter().map(state).collect()
}

/// Returns the running jobs of a trace for each nanosecond and CPU, up to the end of the run.
///
/// # Panics
/// If a job's need does not fit into the allotments.
pub fn schedule(system: &System, trace: &Trace) -> Vec<(i64, usize, JobId)> {
    let grid = RateGrid::of(system).expect("the policy was built");
    let cpus = system.platform.cpu_count();
    let mut tasks = tasks(system, &grid, trace);
    let mut runs = Vec::new();
    for now in 0..trace.over.ns() {
        let mut begins = false;
        for task in &mut tasks {
            let ends = task.job.is_some_and(|(_, needs)| needs == 0);
            if ends {
                task.seat.stop(now);
                task.job = None;
            }
            if task.job.is_none() && task.jobs.front().is_some_and(|job| job.release <= now) {
                let FutureJob { id, deadline, needs, .. } =
                    task.jobs.pop_front().expect("there is one");
                task.job = Some((id, needs));
                task.until = grid.down(deadline);
                if !(ends && now < task.ends) {
                    task.from = grid.up(now);
                }
            } else if ends {
                task.left.fill(0);
            }
            if task.job.is_some() && task.from.max(task.ends) <= now {
                task.ends = if task.until > now { task.until } else { now + task.shortest };
                // The lane does not matter, because `allot` distributes the work again.
                task.left[0] += task.rate * (task.ends - now) / grid.unit.ns();
                begins = true;
            }
        }
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        order.sort_by_key(|&at| (tasks[at].ends.max(now), at));
        if begins {
            allot(&mut tasks, &order, now, grid.unit.ns());
        }
        let mut chosen = Vec::new();
        for j in 0..cpus {
            let first = order.iter().find(|at| tasks[**at].left[j] > 0 && !chosen.contains(*at));
            if let Some(&at) = first {
                tasks[at].left[j] -= 1;
                chosen.push(at);
            }
        }
        place(&mut tasks, &chosen, now, cpus);
        for task in &mut tasks {
            if let (Some(cpu), Some((job, needs))) = (task.seat.cpu, &mut task.job) {
                runs.push((now, cpu, *job));
                *needs -= 1;
            }
        }
    }
    runs.sort_unstable();
    runs
}

/// Rules 3 and 4. Multiplied by `Q`, all values are whole.
fn allot(tasks: &mut [LaneTask], order: &[usize], t: i64, q: i64) {
    let lanes = tasks.first().map_or(0, |task| task.left.len());
    let d: Vec<i64> = tasks.iter().map(|task| task.ends.max(t)).collect();
    let sum_before = |at: usize| -> i64 {
        order.iter().take_while(|&&other| other != at).map(|&other| tasks[other].rate).sum()
    };
    let u = |at: usize, j: usize| {
        let cut = |sum: i64| (sum - j as i64 * q).clamp(0, q);
        cut(sum_before(at) + tasks[at].rate) - cut(sum_before(at))
    };
    let mut al: Vec<Vec<i64>> = vec![vec![0; lanes]; tasks.len()];
    for (place, &i) in order.iter().enumerate() {
        let needs: i64 = tasks[i].left.iter().sum();
        for j in 0..lanes {
            let lower: i64 = al[i][..j].iter().sum();
            let budget = |&x: &usize| {
                let reserved = i128::from(d[i] - d[x]) * i128::from(u(x, j));
                i128::from(al[x][j]) * i128::from(q) + reserved
            };
            let before: i128 = order[..place].iter().map(budget).sum();
            let most = i128::from(d[i] - t - lower) * i128::from(q) - before;
            assert_eq!(most % i128::from(q), 0, "an allotment at {t} is no whole number");
            let most = i64::try_from(most / i128::from(q)).expect("it is short");
            al[i][j] = most.min(needs - lower).max(0);
        }
        assert_eq!(al[i].iter().sum::<i64>(), needs, "no room at {t} for all that task {i} needs");
    }
    for (task, al) in tasks.iter_mut().zip(al) {
        task.left = al;
    }
}
