//! [`Mark`]: a point in time worth showing. A mark describes itself as a [`Note`] does, so that formats
//! and charts match no kind.

use layland_model::note::{Description, Detail, NoteKind, ReadDetails};
use layland_model::{CpuId, JobId, Note, Speed, Time};
use smallvec::smallvec;

/// A point in time worth showing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Time,
    /// What.
    pub kind: MarkKind,
}

/// What a [`Mark`] shows: what the engine did, or what the policy said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A job used up the processor time that its policy granted.
    BudgetExhausted(JobId, CpuId),
    /// A CPU can be used.
    CpuOnline(CpuId),
    /// A CPU can no longer be used.
    CpuOffline(CpuId),
    /// A CPU has another speed from now on.
    Speed(CpuId, Speed),
    /// The policy noted this.
    Note(Note),
}

impl MarkKind {
    /// The mark in parts.
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
            MarkKind::Note(note) => note.describe(),
        }
    }

    /// The mark of a kind, from its details in the order in which [`MarkKind::describe`] gives them; `None`
    /// if no kind has this name.
    ///
    /// # Errors
    /// If a detail is missing or is not what it should be.
    pub fn read<D: ReadDetails>(kind: &str, from: &mut D) -> Result<Option<MarkKind>, D::Error> {
        Ok(Some(match kind {
            "budget_exhausted" => {
                let job = JobId { task: from.task()?, seq: from.seq()? };
                MarkKind::BudgetExhausted(job, from.cpu()?)
            }
            "cpu_online" => MarkKind::CpuOnline(from.cpu()?),
            "cpu_offline" => MarkKind::CpuOffline(from.cpu()?),
            "speed" => MarkKind::Speed(from.cpu()?, from.speed()?),
            _ => return Ok(Note::read(kind, from)?.map(MarkKind::Note)),
        }))
    }
}
