//! The direct-mapped cache of each CPU: the task that last loaded each cache set, and the reloads
//! of jobs.
//!
//! A job that resumes pays a block reload time for each of its useful blocks that was evicted,
//! because a job that ran meanwhile has blocks in the same cache set. The model is that of the
//! analyses (Altmeyer, Davis and Maiza 2012, Section 2), in its worst case: a job that begins to
//! run fills all of its evicting blocks at once, and it needs all of its useful blocks again after
//! a preemption at any point. The loads of the first run of a job are part of its WCET. A job that
//! migrates finds none of its blocks, unless it has been on that CPU before.
//!
//! Reloads are time of the job, not of the kernel. A job that is preempted while it reloads does
//! not delay the other one, and does the rest when it resumes. The job on a CPU at the end of an
//! instant counts.

use super::Simulator;
use super::state::NONE;
use layland_engine::programs::Programs;
use layland_model::{CpuId, CpuMap, Duration, JobId, System, TaskId, Time};
use layland_policy::{Policy, State};
use layland_trace::Recorder;

/// The caches of all CPUs.
pub(super) struct Caches {
    /// The block reload time.
    reload: Duration,
    of: CpuMap<Cache>,
}

#[derive(Clone, Default)]
struct Cache {
    /// The task that last loaded each cache set, or [`NONE`].
    loaded_by: Vec<u32>,
    /// The job that fills it.
    job: Option<JobId>,
    /// True if that job still has to reload blocks.
    is_reloading: bool,
}

impl Caches {
    /// Returns the caches, or `None` if no job of this system ever reloads anything.
    pub(super) fn of(system: &System) -> Option<Box<Caches>> {
        let reload = system.platform.overheads.block_reload_time;
        let of = || CpuMap::filled(Cache::default(), system.platform.cpu_count());
        system.has_reloads().then(|| Box::new(Caches { reload, of: of() }))
    }
}

impl<P: Policy, R: Recorder, G: Programs> Simulator<'_, P, R, G> {
    /// Returns the time of the next event, given the time `next` without reloads. At the end of an
    /// instant, jobs that are new on a CPU fill its cache, which may postpone their ends.
    #[cold]
    #[inline(never)]
    pub(super) fn next_after_reloads(&mut self, next: Time) -> Time {
        if next <= self.ledger.now {
            return next;
        }
        self.fill_caches();
        self.next_time()
    }

    /// Lets jobs that are new on a CPU fill its cache and pay for evicted blocks.
    fn fill_caches(&mut self) {
        for cpu in self.system.platform.cpus() {
            let task = self.cpus[cpu].task;
            let job = (task != NONE).then(|| self.ledger.tasks[TaskId(task)].job.id);
            let Some(caches) = &mut self.caches else { return };
            let (cache, reload) = (&mut caches.of[cpu], caches.reload);
            if cache.job == job {
                continue;
            }
            cache.job = job;
            let Some(job) = job else { continue };
            let own = &mut self.ledger.tasks[job.task].own;
            if let Some(used) = &self.ledger.streams[job.task].task().cache {
                let bound = used.ecb.bound().max(cache.loaded_by.len());
                cache.loaded_by.resize(bound, NONE);
                if own.has_filled {
                    let evicted = |&set: &usize| cache.loaded_by[set] != job.task.0;
                    own.to_reload += reload * used.ucb.iter().filter(evicted).count() as i64;
                }
                used.ecb.iter().for_each(|set| cache.loaded_by[set] = job.task.0);
            }
            own.has_filled = true;
            let reloads = std::mem::take(&mut own.to_reload);
            cache.is_reloading = reloads > Duration::ZERO;
            if cache.is_reloading {
                let run = &mut self.cpus[cpu];
                run.progress_from = run.progress_from.saturating_add(reloads);
                self.schedule_end(cpu);
            }
        }
    }

    /// Handles a job that leaves its CPU: its remaining reloads are left for later.
    #[cold]
    pub(super) fn stop_reload(&mut self, cpu: CpuId, task: TaskId) {
        let (run, now) = (&self.cpus[cpu], self.ledger.now);
        let Some(caches) = &mut self.caches else { return };
        let cache = &mut caches.of[cpu];
        // A job that comes back within this instant has not been away, unless another one fills the
        // cache first.
        if std::mem::take(&mut cache.is_reloading) {
            let left = run.progress_from - now.max(run.busy_until);
            self.ledger.tasks[task].own.to_reload = left.max(Duration::ZERO);
            cache.job = None;
        }
    }

    /// Writes all state that the future depends on.
    pub(super) fn save_caches(&self, state: &mut State) {
        let Some(caches) = &self.caches else { return };
        let now = self.ledger.now;
        for (cpu, cache) in caches.of.iter() {
            for &task in &cache.loaded_by {
                state.number(i64::from(task));
            }
            let run = &self.cpus[cpu];
            let left = run.progress_from.max(now);
            state.time(if cache.is_reloading { left } else { Time::NEVER }, now);
        }
        for task in self.ledger.tasks.values() {
            state.number(i64::from(task.own.has_filled));
            state.number(task.own.to_reload.ns());
        }
    }
}
