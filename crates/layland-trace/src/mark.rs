//! [`Mark`]: a point in time that a chart shows. A mark describes itself as a [`Note`] does, so
//! that formats and charts match no kind.

use layland_model::note::{Description, Detail, NoteKind, ReadDetails};
use layland_model::{CpuId, JobId, Note, ResourceId, Speed, TaskId, Time};
use smallvec::smallvec;

/// A point in time that a chart shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The time.
    pub at: Time,
    /// The event.
    pub kind: MarkKind,
}

/// The event that a [`Mark`] shows: an action of the engine, or a note of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A job used up the processor time that its policy granted.
    BudgetExhausted(JobId, CpuId),
    /// A CPU has become usable.
    CpuOnline(CpuId),
    /// A CPU can no longer be used.
    CpuOffline(CpuId),
    /// The speed of a CPU has changed.
    Speed(CpuId, Speed),
    /// A job has requested, received or released a resource.
    Lock(JobId, ResourceId, LockMark),
    /// A job has suspended itself.
    Suspended(JobId),
    /// A job that had suspended itself is ready again.
    Resumed(JobId),
    /// The policy has reported a note.
    Note(Note),
}

/// An event between a job and a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMark {
    /// The job has requested the resource.
    Requested,
    /// The job now holds the resource.
    Granted,
    /// The job has released the resource.
    Unlocked,
}

impl MarkKind {
    /// Splits the mark into its parts.
    pub fn describe(&self) -> Description {
        let of = |kind, details| Description { kind, details };
        match *self {
            MarkKind::BudgetExhausted(job, cpu) => of(
                &NoteKind {
                    name: "budget_exhausted",
                    text: "budget exhausted",
                    sign: "▾",
                    legend: "budget used up",
                    state: None,
                },
                smallvec![Detail::Task(job.task), Detail::Job(job.seq), Detail::Cpu(cpu)],
            ),
            // Online and offline are two values of one state.
            MarkKind::CpuOnline(cpu) => of(
                &NoteKind {
                    name: "cpu_online",
                    text: "CPU {cpu} online",
                    sign: "|",
                    legend: "online",
                    state: Some("online"),
                },
                smallvec![Detail::Cpu(cpu)],
            ),
            MarkKind::CpuOffline(cpu) => of(
                &NoteKind {
                    name: "cpu_offline",
                    text: "CPU {cpu} offline",
                    sign: "×",
                    legend: "offline",
                    state: Some("online"),
                },
                smallvec![Detail::Cpu(cpu)],
            ),
            MarkKind::Speed(cpu, speed) => of(
                &NoteKind {
                    name: "speed",
                    text: "CPU {cpu} at speed {speed}",
                    sign: "{speed}",
                    legend: "speed of a CPU",
                    state: Some("speed"),
                },
                smallvec![Detail::Cpu(cpu), Detail::Speed(speed)],
            ),
            MarkKind::Lock(job, resource, mark) => {
                let kind = match mark {
                    LockMark::Requested => &NoteKind {
                        name: "requested",
                        text: "asks for resource {resource}",
                        sign: "?{resource}",
                        legend: "asks for a resource",
                        state: None,
                    },
                    LockMark::Granted => &NoteKind {
                        name: "granted",
                        text: "holds resource {resource}",
                        sign: "+{resource}",
                        legend: "holds a resource from now on",
                        state: None,
                    },
                    LockMark::Unlocked => &NoteKind {
                        name: "unlocked",
                        text: "gives resource {resource} back",
                        sign: "-{resource}",
                        legend: "gives a resource back",
                        state: None,
                    },
                };
                let (task, seq) = (Detail::Task(job.task), Detail::Job(job.seq));
                of(kind, smallvec![task, seq, Detail::Resource(resource)])
            }
            MarkKind::Suspended(job) => of(
                &NoteKind {
                    name: "suspended",
                    text: "suspends itself",
                    sign: "z",
                    legend: "suspends itself",
                    state: None,
                },
                smallvec![Detail::Task(job.task), Detail::Job(job.seq)],
            ),
            MarkKind::Resumed(job) => of(
                &NoteKind {
                    name: "resumed",
                    text: "is ready again",
                    sign: "!",
                    legend: "ready after a suspension",
                    state: None,
                },
                smallvec![Detail::Task(job.task), Detail::Job(job.seq)],
            ),
            MarkKind::Note(note) => note.describe(),
        }
    }

    /// Returns a mark of each kind, for the description of files.
    pub(crate) fn samples() -> Vec<MarkKind> {
        let (cpu, resource) = (CpuId(0), ResourceId(0));
        let job = JobId { task: TaskId(0), seq: 0 };
        let own = [
            MarkKind::BudgetExhausted(job, cpu),
            MarkKind::CpuOnline(cpu),
            MarkKind::CpuOffline(cpu),
            MarkKind::Speed(cpu, Speed::UNIT),
            MarkKind::Lock(job, resource, LockMark::Requested),
            MarkKind::Lock(job, resource, LockMark::Granted),
            MarkKind::Lock(job, resource, LockMark::Unlocked),
            MarkKind::Suspended(job),
            MarkKind::Resumed(job),
        ];
        own.into_iter().chain(Note::samples().map(MarkKind::Note)).collect()
    }

    /// Builds a mark of a kind from its details, which are read in the order of
    /// [`MarkKind::describe`]. Returns `None` if no kind has this name.
    ///
    /// # Errors
    /// Returns an error if a detail is missing or invalid.
    pub fn read<D: ReadDetails>(kind: &str, from: &mut D) -> Result<Option<MarkKind>, D::Error> {
        Ok(Some(match kind {
            "budget_exhausted" => {
                let job = JobId { task: from.task()?, seq: from.seq()? };
                MarkKind::BudgetExhausted(job, from.cpu()?)
            }
            "cpu_online" => MarkKind::CpuOnline(from.cpu()?),
            "cpu_offline" => MarkKind::CpuOffline(from.cpu()?),
            "requested" => of_lock(from, LockMark::Requested)?,
            "granted" => of_lock(from, LockMark::Granted)?,
            "unlocked" => of_lock(from, LockMark::Unlocked)?,
            "suspended" => MarkKind::Suspended(JobId { task: from.task()?, seq: from.seq()? }),
            "resumed" => MarkKind::Resumed(JobId { task: from.task()?, seq: from.seq()? }),
            "speed" => MarkKind::Speed(from.cpu()?, from.speed()?),
            _ => return Ok(Note::read(kind, from)?.map(MarkKind::Note)),
        }))
    }
}

fn of_lock<D: ReadDetails>(from: &mut D, mark: LockMark) -> Result<MarkKind, D::Error> {
    let job = JobId { task: from.task()?, seq: from.seq()? };
    Ok(MarkKind::Lock(job, from.resource()?, mark))
}
