//! Blocking times by their definition, tick by tick: the slow twins of the response times and of
//! the processor demand with blocking in `layland_analysis::uniprocessor`.
//!
//! A job of lower priority, or of a later deadline, has the CPU when all other jobs become ready,
//! and keeps it for the whole blocking time. After that, the schedule is that of the others.

/// A task, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_snake_case, reason = "symbols of the papers")]
pub struct Blocked {
    /// WCET.
    pub C: i64,
    /// Relative deadline.
    pub D: i64,
    /// Period.
    pub T: i64,
    /// Release jitter, below the period and the deadline.
    pub J: i64,
    /// Blocking time.
    pub B: i64,
}

impl Blocked {
    /// Returns the ready time of a job: the first job becomes ready as late as possible, all others at once.
    fn ready(&self, job: i64) -> i64 {
        (job * self.T - self.J).max(0)
    }
}

/// Returns the longest response time of a job of the last task, in the busy period that begins when
/// a job of lower priority has the CPU for the blocking time of that task. The tasks are by
/// descending priority. Returns `None` if the busy period is longer than `most`.
pub fn response(tasks: &[Blocked], most: i64) -> Option<i64> {
    let last = tasks.last()?;
    // The number of jobs of each task that have arrived, and the remaining work of the pending ones.
    let mut come = vec![0; tasks.len()];
    let mut left = vec![0; tasks.len()];
    let (mut ended, mut longest) = (0, 0);
    for now in 0..most {
        if now > 0 && now >= last.B && left.iter().all(|&left| left == 0) {
            return Some(longest);
        }
        for (at, task) in tasks.iter().enumerate() {
            while task.ready(come[at]) == now {
                come[at] += 1;
                left[at] += task.C;
            }
        }
        if now < last.B {
            continue;
        }
        let Some(running) = left.iter().position(|&left| left > 0) else { continue };
        left[running] -= 1;
        if running + 1 == tasks.len() && left[running] % last.C == 0 {
            let arrival = ended * last.T - last.J;
            longest = longest.max(now + 1 - arrival);
            ended += 1;
        }
    }
    None
}

/// Returns true if under EDF no job is late until `until`. Each task in turn is the one that a job
/// of a later deadline delays for its blocking time. Jobs that are due before its first deadline
/// are not delayed for so long.
pub fn is_met(tasks: &[Blocked], until: i64) -> bool {
    let nobody = std::iter::once((0, 0));
    let blocked = tasks.iter().map(|task| (task.B, task.D - task.J));
    nobody.chain(blocked).all(|(blocking, from)| is_met_with(tasks, blocking, from, until))
}

fn is_met_with(tasks: &[Blocked], blocking: i64, from: i64, until: i64) -> bool {
    let mut come = vec![0; tasks.len()];
    // The deadlines of jobs, with the remaining work.
    let mut pending: Vec<(i64, i64)> = Vec::new();
    for now in 0..until {
        if now >= from && pending.iter().any(|&(due, _)| due <= now) {
            return false;
        }
        for (at, task) in tasks.iter().enumerate() {
            while task.ready(come[at]) == now {
                pending.push((come[at] * task.T - task.J + task.D, task.C));
                come[at] += 1;
            }
        }
        if now < blocking {
            continue;
        }
        let Some(first) = pending.iter_mut().min() else { continue };
        first.1 -= 1;
        pending.retain(|&(_, left)| left > 0);
    }
    true
}
