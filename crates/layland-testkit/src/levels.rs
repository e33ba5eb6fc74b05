//! Several tasks of one priority, one unit of time after the other: the slow twin of `tie=fifo`,
//! and other orders within a level, for which the bounds for every order have to hold.
//!
//! Times are whole units. The code uses no policies and no systems, and does not track the CPUs of jobs.

/// A task whose jobs need `wcet` units each. A smaller level is more important.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levelled {
    /// The execution time of a job.
    pub wcet: i64,
    /// The relative deadline.
    pub deadline: i64,
    /// The minimum time between two arrivals.
    pub period: i64,
    /// The level.
    pub level: i64,
}

/// The order of jobs within one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Running jobs go on; then the earliest arrival comes first; then the position, where `last` comes last.
    Fifo {
        /// The task that comes last among those that arrive at one instant.
        last: Option<usize>,
    },
    /// The latest arrival comes first, and preempts.
    Lifo,
    /// The job that has waited for longest comes first, decided anew in each unit.
    RoundRobin,
    /// The order is drawn anew in each unit, from this seed.
    Random(u64),
}

/// A job that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndedJob {
    /// The position of its task.
    pub task: usize,
    /// The number of the job, from 0.
    pub job: usize,
    /// The arrival of the job.
    pub arrival: i64,
    /// The end of the job.
    pub end: i64,
}

struct PendingJob {
    task: usize,
    job: usize,
    arrival: i64,
    left: i64,
    /// True if the job ran in the previous unit.
    ran: bool,
    /// The time of its last execution.
    served: i64,
}

/// Returns every job that ends by `until`, by task and number. Arrivals ascend; a job waits for its predecessor.
pub fn run(
    tasks: &[Levelled],
    arrivals: &[Vec<i64>],
    cpus: usize,
    within: Within,
    until: i64,
) -> Vec<EndedJob> {
    let mut next = vec![0; tasks.len()];
    let mut pending: Vec<PendingJob> = Vec::new();
    let mut ended = Vec::new();
    let mut drawn = match within {
        Within::Random(seed) => seed | 1,
        Within::Fifo { .. } | Within::Lifo | Within::RoundRobin => 1,
    };
    for now in 0..until {
        for (task, of_task) in arrivals.iter().enumerate() {
            while of_task.get(next[task]).is_some_and(|&at| at <= now) {
                let (job, arrival) = (next[task], of_task[next[task]]);
                let left = tasks[task].wcet;
                pending.push(PendingJob { task, job, arrival, left, ran: false, served: arrival });
                next[task] += 1;
            }
        }
        let is_first = |at: usize| {
            pending
                .iter()
                .all(|other| other.task != pending[at].task || other.job >= pending[at].job)
        };
        let mut ready: Vec<usize> = (0..pending.len()).filter(|&at| is_first(at)).collect();
        // Xorshift; its quality is good enough here.
        let mut draw = || {
            drawn ^= drawn << 13;
            drawn ^= drawn >> 7;
            drawn ^= drawn << 17;
            (drawn >> 33) as i64
        };
        let mut keys: Vec<(i64, bool, i64, i64)> = Vec::with_capacity(pending.len());
        for job in &pending {
            let level = tasks[job.task].level;
            keys.push(match within {
                Within::Fifo { last } => {
                    let place = if last == Some(job.task) { i64::MAX } else { job.task as i64 };
                    (level, !job.ran, job.arrival, place)
                }
                Within::Lifo => (level, false, -job.arrival, job.task as i64),
                Within::RoundRobin => (level, false, job.served, job.task as i64),
                Within::Random(_) => (level, false, draw(), 0),
            });
        }
        ready.sort_by_key(|&at| keys[at]);
        ready.truncate(cpus);
        for (at, job) in pending.iter_mut().enumerate() {
            job.ran = ready.contains(&at);
            if job.ran {
                job.left -= 1;
                job.served = now + 1;
            }
        }
        let done = pending.extract_if(.., |job| job.left == 0);
        ended.extend(done.map(|job| EndedJob {
            task: job.task,
            job: job.job,
            arrival: job.arrival,
            end: now + 1,
        }));
    }
    ended.sort_unstable();
    ended
}

/// Returns the greatest response time of the ended jobs of each task, or 0 if none ended.
pub fn greatest(tasks: &[Levelled], ended: &[EndedJob]) -> Vec<i64> {
    let mut greatest = vec![0; tasks.len()];
    for job in ended {
        greatest[job.task] = greatest[job.task].max(job.end - job.arrival);
    }
    greatest
}
