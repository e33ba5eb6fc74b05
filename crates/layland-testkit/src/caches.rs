//! Slow twins for cache-related preemption delays: one CPU with its cache, one time unit at a time,
//! and the analyses with lists of blocks.

use crate::ticks::Finished;
use layland_analysis::crpd::{Approach, Cached};
use layland_model::{Behaviour, Order, System, TaskId, TaskMap, Time};
use std::collections::BTreeMap;

struct CachedJob {
    task: TaskId,
    seq: u64,
    deadline: i64,
    left: i64,
    /// The number of blocks to reload before the job goes on.
    reloads: i64,
    has_begun: bool,
}

/// Returns the arrivals of each task before `until`.
///
/// # Panics
/// If a task is neither periodic nor has a list of releases.
pub fn arrivals(system: &System, until: i64) -> TaskMap<Vec<i64>> {
    let of_task = |task: &layland_model::Task| match &task.behaviour {
        Behaviour::Periodic => (0..)
            .map(|k| task.offset.ns() + k * task.period.ns())
            .take_while(|&at| at < until)
            .collect(),
        Behaviour::Explicit(times) => {
            times.iter().map(|at| at.ns()).filter(|&at| at < until).collect()
        }
        other => panic!("{other:?} is not simulated by ticks"),
    };
    system.tasks.values().map(of_task).collect()
}

/// Returns every job that finishes up to `until` on one CPU, where each job executes for its WCET.
/// When a job gets the CPU, it reloads its useful blocks in cache sets that another task has loaded
/// since, and loads all of its evicting blocks.
pub fn simulate(system: &System, order: Order, until: Time) -> Vec<Finished> {
    let reload = system.platform.overheads.block_reload_time.ns();
    let arrivals = arrivals(system, until.ns());
    let mut loaded_by: BTreeMap<usize, TaskId> = BTreeMap::new();
    let mut pending: Vec<CachedJob> = Vec::new();
    let mut finished = Vec::new();
    let mut on_cpu: Option<(TaskId, u64)> = None;
    for now in 0..until.ns() {
        for (id, times) in arrivals.iter() {
            for (seq, _) in times.iter().enumerate().filter(|&(_, &at)| at == now) {
                let task = &system.tasks[id];
                pending.push(CachedJob {
                    task: id,
                    seq: seq as u64,
                    deadline: now + task.deadline.ns(),
                    left: task.own_wcet().ns(),
                    reloads: 0,
                    has_begun: false,
                });
            }
        }
        let key = |job: &CachedJob| {
            let task = &system.tasks[job.task];
            let earlier = pending.iter().any(|other| other.task == job.task && other.seq < job.seq);
            (earlier, order.fixed_key(task).unwrap_or(job.deadline), task.rank, job.task)
        };
        let first = (0..pending.len()).min_by_key(|&at| key(&pending[at]));
        let Some(at) = first else {
            on_cpu = None;
            continue;
        };
        let job = &mut pending[at];
        if on_cpu != Some((job.task, job.seq)) {
            on_cpu = Some((job.task, job.seq));
            if let Some(cache) = &system.tasks[job.task].cache {
                let evicted = cache.ucb.iter().filter(|set| loaded_by.get(set) != Some(&job.task));
                if job.has_begun {
                    job.reloads += reload * evicted.count() as i64;
                }
                loaded_by.extend(cache.ecb.iter().map(|set| (set, job.task)));
            }
            job.has_begun = true;
        }
        match job.reloads {
            0 => job.left -= 1,
            _ => job.reloads -= 1,
        }
        if job.left == 0 {
            let CachedJob { task, seq, deadline, .. } = pending.remove(at);
            finished.push(Finished { finish: now + 1, task, seq, deadline });
            on_cpu = None;
        }
    }
    finished.sort_unstable();
    finished
}

/// Returns `ceil(t / T)`.
fn ceil(t: i64, period: i64) -> i64 {
    (t + period - 1) / period
}

/// Returns the number of block reloads due to preemptions by a task, with the lists of the papers.
/// `jobs` jobs of task `j` preempt, and each evicts `ecb`. `affected` has the useful blocks of the
/// preempted tasks, and how often each is preempted. `above` has the blocks that `j` and the tasks
/// above it evict.
fn blocks(
    approach: Approach,
    jobs: i64,
    ecb: &[usize],
    above: &[usize],
    affected: &[(Vec<usize>, i64)],
) -> i64 {
    let affected: Vec<&(Vec<usize>, i64)> =
        affected.iter().filter(|(_, times)| *times > 0).collect();
    if affected.is_empty() {
        return 0;
    }
    let common =
        |ucb: &[usize], ecb: &[usize]| ucb.iter().filter(|set| ecb.contains(set)).count() as i64;
    match approach {
        Approach::EcbOnly => jobs * ecb.len() as i64,
        Approach::UcbOnly => {
            jobs * affected.iter().map(|(ucb, _)| ucb.len() as i64).max().unwrap_or(0)
        }
        Approach::UcbUnion => {
            let mut union: Vec<usize> = affected.iter().flat_map(|(ucb, _)| ucb.clone()).collect();
            union.sort_unstable();
            union.dedup();
            jobs * common(&union, ecb)
        }
        Approach::EcbUnion => {
            jobs * affected.iter().map(|(ucb, _)| common(ucb, above)).max().unwrap_or(0)
        }
        Approach::UcbMultiset => {
            let mut useful: Vec<usize> = Vec::new();
            for (ucb, times) in &affected {
                (0..*times).for_each(|_| useful.extend(ucb));
            }
            let evicting = (0..jobs).flat_map(|_| ecb.iter().copied());
            let taken = |set: usize| {
                let at = useful.iter().position(|&other| other == set)?;
                Some(useful.swap_remove(at))
            };
            evicting.filter_map(taken).count() as i64
        }
        Approach::EcbMultiset => {
            let mut costs: Vec<i64> = Vec::new();
            for (ucb, times) in &affected {
                (0..*times).for_each(|_| costs.push(common(ucb, above)));
            }
            costs.sort_unstable();
            costs.iter().rev().take(jobs as usize).sum()
        }
        Approach::Combined => unreachable!("it is two sums"),
    }
}

/// Returns both sums of the combined approach, or the single sum of another approach.
fn parts(approach: Approach) -> Vec<Approach> {
    match approach {
        Approach::Combined => vec![Approach::UcbMultiset, Approach::EcbMultiset],
        one => vec![one],
    }
}

fn listed(sets: &layland_model::CacheSets) -> Vec<usize> {
    sets.iter().collect()
}

/// Returns response bounds under fixed priorities, highest first, by a search of every length up to the deadline.
pub fn responses(tasks: &[Cached], reload: i64, approach: Approach) -> Vec<Option<i64>> {
    let mut found: Vec<Option<i64>> = Vec::new();
    for (i, task) in tasks.iter().enumerate() {
        let knows = !approach.is_multiset() || found.iter().all(Option::is_some);
        let reloads = |t: i64, approach: Approach| -> i64 {
            let by = |j: usize| {
                let above: Vec<usize> =
                    tasks[..=j].iter().flat_map(|above| listed(&above.ecb)).collect();
                let affected = (j + 1..=i).map(|k| {
                    let response = if k == i { t } else { found[k].unwrap_or(t) };
                    let times = ceil(response, tasks[j].period) * ceil(t, tasks[k].period);
                    (listed(&tasks[k].ucb), times)
                });
                let jobs = ceil(t, tasks[j].period);
                blocks(
                    approach,
                    jobs,
                    &listed(&tasks[j].ecb),
                    &above,
                    &affected.collect::<Vec<_>>(),
                )
            };
            (0..i).map(by).sum()
        };
        let is_enough = |&t: &i64| {
            let work: i64 = (0..i).map(|j| ceil(t, tasks[j].period) * tasks[j].wcet).sum();
            let least = parts(approach)
                .into_iter()
                .map(|part| reloads(t, part))
                .min()
                .expect("at least one part");
            task.wcet + work + reload * least <= t
        };
        let response = knows.then(|| (task.wcet..=task.deadline).find(is_enough)).flatten();
        found.push(response);
    }
    found
}

/// Returns the work of `jobs` jobs of each task under EDF, with reloads.
fn work(tasks: &[Cached], reload: i64, approach: Approach, jobs: &dyn Fn(&Cached) -> i64) -> i64 {
    let work: i64 = tasks.iter().map(|task| jobs(task) * task.wcet).sum();
    let by = |approach: Approach, tau_j: &Cached| {
        let shorter = tasks.iter().filter(|task| task.deadline <= tau_j.deadline);
        let above: Vec<usize> = shorter.flat_map(|task| listed(&task.ecb)).collect();
        let longer = tasks.iter().filter(|task| task.deadline > tau_j.deadline);
        let affected = longer.map(|tau_k| {
            let times = ceil(tau_k.deadline - tau_j.deadline, tau_j.period) * jobs(tau_k);
            (listed(&tau_k.ucb), times)
        });
        let affected: Vec<_> = affected.collect();
        blocks(approach, jobs(tau_j), &listed(&tau_j.ecb), &above, &affected)
    };
    let sum = |approach| tasks.iter().map(|task| by(approach, task)).sum::<i64>();
    work + reload * parts(approach).into_iter().map(sum).min().expect("at least one part")
}

/// Returns the demand of EDF in an interval, with reloads.
pub fn demand(tasks: &[Cached], reload: i64, approach: Approach, t: i64) -> i64 {
    work(tasks, reload, approach, &|task| {
        if t < task.deadline { 0 } else { (t - task.deadline) / task.period + 1 }
    })
}

/// Returns the end of the longest busy period of EDF, with reloads, if it is at most `most`.
pub fn busy_period(tasks: &[Cached], reload: i64, approach: Approach, most: i64) -> Option<i64> {
    (1..=most).find(|&w| work(tasks, reload, approach, &|task| ceil(w, task.period)) <= w)
}
