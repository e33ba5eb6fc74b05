//! The slow twin of PD2 and ER-PD2: slot by slot, with weights, windows and group deadlines from
//! their definitions and all subtasks compared in pairs. It takes the jobs of a trace, and returns
//! the slots of each of them.

use layland_model::{JobId, System, Task, TaskId};
use layland_trace::Trace;
use std::cmp::Ordering;

/// The parameters of the slots.
#[derive(Clone, Copy, Debug)]
pub struct Slotted {
    /// The length of a slot in nanoseconds.
    pub quantum: i64,
    /// True if windows are a slot shorter for tasks that may be released within slots.
    pub anywhere: bool,
    /// True if subtasks may run before their windows.
    pub early: bool,
}

/// A subtask that may run in the current slot.
struct Subtask {
    task: TaskId,
    rank: i64,
    deadline: i64,
    overlaps: bool,
    group: i64,
}

/// A task, with its current job.
struct Pd2Task {
    e: i64,
    p: i64,
    /// The jobs: number, release and demand, beginning with the next one.
    jobs: std::vec::IntoIter<(u64, i64, i64)>,
    now: Option<(u64, i64, i64)>,
    anchor: Option<i64>,
    given: i64,
}

fn up(a: i64, b: i64) -> i64 {
    (a + b - 1).div_euclid(b)
}

impl Pd2Task {
    fn release(&self, i: i64) -> i64 {
        ((i - 1) * self.p).div_euclid(self.e)
    }
    fn deadline(&self, i: i64) -> i64 {
        up(i * self.p, self.e)
    }
    fn overlaps(&self, i: i64) -> bool {
        self.release(i + 1) < self.deadline(i)
    }
    /// Returns the group deadline by its definition, for windows that count from this anchor; 0 for a light task.
    fn group(&self, anchor: i64, i: i64) -> i64 {
        if 2 * self.e < self.p {
            return 0;
        }
        let ends = (i..).find_map(|j| {
            let length = self.deadline(j) - self.release(j);
            let ends = [
                (length == 3).then(|| self.deadline(j) - 1),
                (!self.overlaps(j)).then(|| self.deadline(j)),
            ];
            ends.into_iter().flatten().find(|&t| t >= self.deadline(i))
        });
        anchor + ends.expect("the last subtask of a job overlaps no other")
    }

    /// Begins the next job, if it has been released.
    fn begin(&mut self, now: i64, q: i64) {
        if self.now.is_none()
            && let Some(&(_, release, _)) = self.jobs.as_slice().first()
            && release <= now
        {
            let earliest = self.anchor.map(|anchor| anchor + self.deadline(self.given.max(self.e)));
            self.anchor = Some(up(release, q)).max(earliest);
            self.given = 0;
            self.now = self.jobs.next();
        }
    }
}

/// Compares two subtasks: the smaller one runs if only one can.
fn compare(a: &Subtask, b: &Subtask) -> Ordering {
    if a.deadline != b.deadline {
        return a.deadline.cmp(&b.deadline);
    }
    if a.overlaps != b.overlaps {
        return if a.overlaps { Ordering::Less } else { Ordering::Greater };
    }
    if a.overlaps && a.group != b.group {
        return b.group.cmp(&a.group);
    }
    (a.rank, a.task).cmp(&(b.rank, b.task))
}

fn weight(task: &Task, slotted: Slotted) -> (i64, i64) {
    let q = slotted.quantum;
    let window = task.deadline.min(task.period).ns();
    let begins = match &task.behaviour {
        layland_model::Behaviour::Periodic => {
            [task.offset.ns(), task.period.ns()].iter().all(|time| time % q == 0)
        }
        layland_model::Behaviour::Explicit(times) => times.iter().all(|at| at.ns() % q == 0),
        _ => false,
    };
    let window = if slotted.anywhere && !begins { window - q + 1 } else { window };
    (up(task.own_wcet().ns(), q), window / q)
}

/// Returns the slots of each job of a trace, up to the last whole slot before its end, as pairs.
/// Incomplete jobs need their WCETs.
pub fn slots(system: &System, slotted: Slotted, trace: &Trace) -> Vec<(i64, JobId)> {
    let q = slotted.quantum;
    let mut states: Vec<Pd2Task> = Vec::new();
    for (id, task) in system.tasks.iter() {
        let of_task = trace.jobs.iter().filter(|record| record.job.id.task == id);
        let mut jobs: Vec<(u64, i64, i64)> = of_task
            .map(|record| {
                let needs = match record.completion() {
                    Some(_) => record.executed,
                    None => task.own_wcet().max(record.executed),
                };
                (record.job.id.seq, record.job.release.ns(), needs.ns())
            })
            .collect();
        jobs.sort_unstable();
        let (e, p) = weight(task, slotted);
        states.push(Pd2Task { e, p, jobs: jobs.into_iter(), now: None, anchor: None, given: 0 });
    }
    let mut runs = Vec::new();
    for slot in 0..trace.over.ns() / q {
        let mut waiting: Vec<Subtask> = Vec::new();
        for (id, task) in system.tasks.iter() {
            let state = &mut states[id.0 as usize];
            state.begin(slot * q, q);
            let (Some(_), Some(anchor)) = (state.now, state.anchor) else { continue };
            let i = state.given + 1;
            let from = if slotted.early { anchor } else { anchor + state.release(i) };
            if from <= slot {
                waiting.push(Subtask {
                    task: id,
                    rank: task.rank,
                    deadline: anchor + state.deadline(i),
                    overlaps: state.overlaps(i),
                    group: state.group(anchor, i),
                });
            }
        }
        for _ in 0..system.platform.cpu_count() {
            let first = (0..waiting.len()).find(|&at| {
                (0..waiting.len()).all(|other| {
                    other == at || compare(&waiting[at], &waiting[other]) == Ordering::Less
                })
            });
            let Some(first) = first else { break };
            let task = waiting.remove(first).task;
            let state = &mut states[task.0 as usize];
            let (seq, release, left) = state.now.take().expect("it waits");
            state.given += 1;
            runs.push((slot, JobId { task, seq }));
            state.now = (left > q).then_some((seq, release, left - q));
        }
    }
    runs.sort_unstable();
    runs
}
