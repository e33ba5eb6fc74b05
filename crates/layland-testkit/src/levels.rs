//! Several tasks of one priority, one unit of time after the other: the slow twin of `tie=fifo`, and other orders
//! within a level, which the bounds for every order have to hold in.
//!
//! Times are whole units. It knows nothing of policies, of systems and of where jobs run.

/// A task: its jobs need `wcet` units each, and a smaller level is more important.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levelled {
    /// What a job needs.
    pub wcet: i64,
    /// The relative deadline.
    pub deadline: i64,
    /// The least time between two arrivals.
    pub period: i64,
    /// The level.
    pub level: i64,
}

/// What decides between jobs of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Those that run go on; then the earliest arrival; then the position, where this task comes last.
    Fifo {
        /// The task that comes last among those that arrive at one instant.
        last: Option<usize>,
    },
    /// The latest arrival, and it preempts.
    Lifo,
    /// Whoever has waited for longest, anew in each unit.
    RoundRobin,
    /// Drawn anew in each unit, from this seed.
    Random(u64),
}

/// A job that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ended {
    /// Its task, by position.
    pub task: usize,
    /// Which of its jobs, from 0.
    pub job: usize,
    /// When it arrived.
    pub arrival: i64,
    /// When it ended.
    pub end: i64,
}

struct Pending {
    task: usize,
    job: usize,
    arrival: i64,
    left: i64,
    /// Whether it ran in the unit before.
    ran: bool,
    /// When it ran last.
    served: i64,
}

/// Every job that ends by `until`, by task and number. Arrivals ascend; a job waits for the one before it of its task.
pub fn run(
    tasks: &[Levelled],
    arrivals: &[Vec<i64>],
    cpus: usize,
    within: Within,
    until: i64,
) -> Vec<Ended> {
    let mut next = vec![0; tasks.len()];
    let mut pending: Vec<Pending> = Vec::new();
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
                pending.push(Pending { task, job, arrival, left, ran: false, served: arrival });
                next[task] += 1;
            }
        }
        let is_first = |at: usize| {
            pending
                .iter()
                .all(|other| other.task != pending[at].task || other.job >= pending[at].job)
        };
        let mut ready: Vec<usize> = (0..pending.len()).filter(|&at| is_first(at)).collect();
        // Xorshift: it need not be good.
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
        ended.extend(done.map(|job| Ended {
            task: job.task,
            job: job.job,
            arrival: job.arrival,
            end: now + 1,
        }));
    }
    ended.sort_unstable();
    ended
}

/// The greatest response of the jobs of each task that ended; 0 if none did.
pub fn greatest(tasks: &[Levelled], ended: &[Ended]) -> Vec<i64> {
    let mut greatest = vec![0; tasks.len()];
    for job in ended {
        greatest[job.task] = greatest[job.task].max(job.end - job.arrival);
    }
    greatest
}
