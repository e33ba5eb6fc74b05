//! [`Note`]: an event that a policy reports about itself while it runs. Every kind of note
//! describes itself here: formats, charts and reports use its [`Description`] and match no kind.
//!
//! To add a kind, add a variant, an arm of [`Note::describe`] and an arm of [`Note::read`].

use crate::{CpuId, Criticality, MoveReason, ResourceId, Speed, TaskId, Time};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::fmt;

/// An event in a policy that no other action shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A task has moved to the run queue of another CPU.
    Moved {
        /// The task.
        task: TaskId,
        /// The CPU whose run queue the task left.
        from: CpuId,
        /// The CPU whose run queue the task entered.
        to: CpuId,
        /// The reason for the move.
        why: MoveReason,
    },
    /// The server of a task has no budget left until it is replenished.
    Throttled {
        /// The task.
        task: TaskId,
    },
    /// The server of a task has a new budget.
    Replenished {
        /// The task.
        task: TaskId,
        /// The new deadline of the server.
        deadline: Time,
    },
    /// The criticality indicator of a CPU has changed to this value.
    Indicator {
        /// The CPU.
        cpu: CpuId,
        /// The lowest criticality whose jobs the CPU runs.
        level: Criticality,
    },
    /// The list of job priorities of a task is empty: the job that has just arrived runs at a
    /// priority below all others.
    Unlisted {
        /// The task.
        task: TaskId,
    },
}

impl Note {
    /// Returns a note of each kind, for the description of files.
    pub fn samples() -> [Note; 5] {
        let (task, cpu) = (TaskId(0), CpuId(0));
        [
            Note::Moved { task, from: cpu, to: cpu, why: MoveReason::Placed },
            Note::Throttled { task },
            Note::Replenished { task, deadline: Time::ZERO },
            Note::Indicator { cpu, level: Criticality(0) },
            Note::Unlisted { task },
        ]
    }

    /// Splits the note into its parts.
    ///
    /// ```
    /// use layland_model::note::Detail;
    /// use layland_model::{CpuId, MoveReason, Note, TaskId};
    /// let (from, to, why) = (CpuId(0), CpuId(2), MoveReason::Pushed);
    /// let description = Note::Moved { task: TaskId(1), from, to, why }.describe();
    /// assert_eq!(description.kind.name, "moved");
    /// assert_eq!(description.details[0], Detail::Task(TaskId(1)));
    /// assert_eq!(description.text(), "pushed from CPU 0 to 2");
    /// assert_eq!(description.sign(), "»2");
    /// ```
    pub fn describe(&self) -> Description {
        let of = |kind, details| Description { kind, details };
        match *self {
            Note::Moved { task, from, to, why } => of(
                &NoteKind {
                    name: "moved",
                    text: "{why} from CPU {from} to {cpu}",
                    sign: "{why}{cpu}",
                    legend: "moved to the run queue of this CPU: » pushed, « pulled, → otherwise",
                    state: None,
                },
                smallvec![
                    Detail::Task(task),
                    Detail::From(from),
                    Detail::Cpu(to),
                    Detail::Why(why)
                ],
            ),
            Note::Throttled { task } => of(
                &NoteKind {
                    name: "throttled",
                    text: "throttled",
                    sign: "‖",
                    legend: "throttled",
                    state: None,
                },
                smallvec![Detail::Task(task)],
            ),
            Note::Replenished { task, deadline } => of(
                &NoteKind {
                    name: "replenished",
                    text: "replenished",
                    sign: "○",
                    legend: "budget replenished",
                    state: None,
                },
                smallvec![Detail::Task(task), Detail::Deadline(deadline)],
            ),
            Note::Indicator { cpu, level } => of(
                &NoteKind {
                    name: "indicator",
                    text: "CPU {cpu} at criticality {level}",
                    sign: "{level}",
                    legend: "criticality level of a CPU: only jobs of at least this level run",
                    state: Some("indicator"),
                },
                smallvec![Detail::Cpu(cpu), Detail::Level(level)],
            ),
            Note::Unlisted { task } => of(
                &NoteKind {
                    name: "unlisted",
                    text: "no priority is left",
                    sign: "∅",
                    legend: "no priority is left: below all others",
                    state: None,
                },
                smallvec![Detail::Task(task)],
            ),
        }
    }

    /// Builds a note of a kind from its details, which are read in the order of [`Note::describe`].
    /// Returns `None` if no kind has this name.
    ///
    /// # Errors
    /// Returns an error if a detail is missing or invalid.
    pub fn read<D: ReadDetails>(kind: &str, from: &mut D) -> Result<Option<Note>, D::Error> {
        Ok(Some(match kind {
            "moved" => Note::Moved {
                task: from.task()?,
                from: from.from()?,
                to: from.cpu()?,
                why: from.why()?,
            },
            "throttled" => Note::Throttled { task: from.task()? },
            "replenished" => Note::Replenished { task: from.task()?, deadline: from.deadline()? },
            "indicator" => Note::Indicator { cpu: from.cpu()?, level: from.level()? },
            "unlisted" => Note::Unlisted { task: from.task()? },
            _ => return Ok(None),
        }))
    }
}

/// The properties that all notes of one kind share. In the strings, the name of a detail in braces
/// stands for its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoteKind {
    /// The name in files.
    pub name: &'static str,
    /// A short description, without the task.
    pub text: &'static str,
    /// The mark in a chart at the time of the note: one or two characters, with the short forms of
    /// details.
    pub sign: &'static str,
    /// The meaning of the mark.
    pub legend: &'static str,
    /// The state of a CPU that the note sets, if any. The state holds until the next note that sets
    /// it.
    pub state: Option<&'static str>,
}

/// A note, split into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The kind of the note.
    pub kind: &'static NoteKind,
    /// The subject of the note, then its attributes. All details have different names.
    pub details: SmallVec<[Detail; 4]>,
}

impl Description {
    /// The task that the note is about, if any.
    pub fn task(&self) -> Option<TaskId> {
        self.find(|detail| if let Detail::Task(task) = detail { Some(task) } else { None })
    }

    /// The CPU on which the note happened or that it is about, if any.
    pub fn cpu(&self) -> Option<CpuId> {
        self.find(|detail| if let Detail::Cpu(cpu) = detail { Some(cpu) } else { None })
    }

    /// The criticality in the note, if any.
    pub fn level(&self) -> Option<Criticality> {
        self.find(|detail| if let Detail::Level(level) = detail { Some(level) } else { None })
    }

    fn find<T>(&self, of: impl Fn(Detail) -> Option<T>) -> Option<T> {
        self.details.iter().copied().find_map(of)
    }

    /// A short description, without the task.
    pub fn text(&self) -> String {
        self.filled(self.kind.text, Detail::to_string)
    }

    /// The mark in a chart at the time of the note.
    pub fn sign(&self) -> String {
        self.filled(self.kind.sign, Detail::short)
    }

    fn filled(&self, template: &str, value: impl Fn(&Detail) -> String) -> String {
        self.details.iter().fold(template.to_owned(), |text, detail| {
            text.replace(&format!("{{{}}}", detail.name()), &value(detail))
        })
    }
}

/// One part of a note. Each format defines how it writes each of these types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The task that the note is about.
    Task(TaskId),
    /// The number of a job of that task.
    Job(u64),
    /// A resource.
    Resource(ResourceId),
    /// The previous CPU.
    From(CpuId),
    /// The CPU.
    Cpu(CpuId),
    /// A new deadline.
    Deadline(Time),
    /// A new speed.
    Speed(Speed),
    /// The reason for a move.
    Why(MoveReason),
    /// A new criticality.
    Level(Criticality),
}

impl Detail {
    /// The name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Detail::Task(_) => "task",
            Detail::Job(_) => "seq",
            Detail::Resource(_) => "resource",
            Detail::From(_) => "from",
            Detail::Cpu(_) => "cpu",
            Detail::Deadline(_) => "deadline",
            Detail::Speed(_) => "speed",
            Detail::Why(_) => "why",
            Detail::Level(_) => "level",
        }
    }

    /// The value as a number or a word, for a file. Times are in nanoseconds.
    pub fn value(&self) -> Value<'static> {
        match *self {
            Detail::Task(task) => Value::Number(task.0.into()),
            Detail::Job(seq) => Value::Number(seq.into()),
            Detail::Resource(resource) => Value::Number(resource.0.into()),
            Detail::From(cpu) | Detail::Cpu(cpu) => Value::Number(cpu.0.into()),
            Detail::Deadline(at) => Value::Number(at.ns().into()),
            Detail::Speed(speed) => Value::Word(speed.to_string().into()),
            Detail::Why(why) => Value::Word(why.name().into()),
            Detail::Level(level) => Value::Number(level.0.into()),
        }
    }

    /// The value in its shortest form.
    fn short(&self) -> String {
        match *self {
            Detail::Why(MoveReason::Placed | MoveReason::Expelled) => "→".to_owned(),
            Detail::Why(MoveReason::Pushed) => "»".to_owned(),
            Detail::Why(MoveReason::Pulled) => "«".to_owned(),
            Detail::Task(_)
            | Detail::Job(_)
            | Detail::Resource(_)
            | Detail::From(_)
            | Detail::Cpu(_)
            | Detail::Deadline(_)
            | Detail::Speed(_)
            | Detail::Level(_) => self.to_string(),
        }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

/// A detail as written in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A whole number.
    Number(i128),
    /// A word.
    Word(Cow<'a, str>),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Word(word) => word.fmt(f),
        }
    }
}

/// A source of the details of a note, such as an object of a JSON document or the words of a line.
pub trait ReadDetails {
    /// The reason why a detail cannot be read.
    type Error;

    /// Returns the detail with this name, or `None` if it is missing.
    fn take(&mut self, name: &'static str) -> Option<Value<'_>>;

    /// The error for a detail that is missing or invalid.
    fn wrong(&self, name: &'static str, expected: &'static str) -> Self::Error;

    /// Reads a number in the range of a type.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or out of range.
    fn number<N: TryFrom<i128>>(&mut self, name: &'static str) -> Result<N, Self::Error> {
        let number = match self.take(name) {
            Some(Value::Number(number)) => N::try_from(number).ok(),
            Some(Value::Word(_)) | None => None,
        };
        number.ok_or_else(|| self.wrong(name, "a whole number in range"))
    }

    /// Reads a task.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn task(&mut self) -> Result<TaskId, Self::Error> {
        self.number("task").map(TaskId)
    }
    /// Reads the number of a job.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn seq(&mut self) -> Result<u64, Self::Error> {
        self.number("seq")
    }
    /// Reads a resource.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn resource(&mut self) -> Result<ResourceId, Self::Error> {
        self.number("resource").map(ResourceId)
    }
    /// Reads the previous CPU.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn from(&mut self) -> Result<CpuId, Self::Error> {
        self.number("from").map(CpuId)
    }
    /// Reads a CPU.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn cpu(&mut self) -> Result<CpuId, Self::Error> {
        self.number("cpu").map(CpuId)
    }
    /// Reads a deadline.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn deadline(&mut self) -> Result<Time, Self::Error> {
        self.number("deadline").map(Time::from_ns)
    }
    /// Reads a criticality.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn level(&mut self) -> Result<Criticality, Self::Error> {
        self.number("level").map(Criticality)
    }
    /// Reads a speed.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn speed(&mut self) -> Result<Speed, Self::Error> {
        let speed = match self.take("speed") {
            Some(Value::Word(word)) => word.parse().ok().and_then(|rate| Speed::new(&rate)),
            Some(Value::Number(_)) | None => None,
        };
        speed.ok_or_else(|| self.wrong("speed", "a positive fraction"))
    }
    /// Reads the reason for a move.
    ///
    /// # Errors
    /// Returns an error if the detail is missing or invalid.
    fn why(&mut self) -> Result<MoveReason, Self::Error> {
        let why = match self.take("why") {
            Some(Value::Word(word)) => MoveReason::ALL.into_iter().find(|why| why.name() == word),
            Some(Value::Number(_)) | None => None,
        };
        why.ok_or_else(|| self.wrong("why", "placed, pushed, pulled or expelled"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads details by position, and asserts that their names are requested in this order.
    struct InOrder(Vec<Detail>);

    impl ReadDetails for InOrder {
        type Error = &'static str;
        fn take(&mut self, name: &'static str) -> Option<Value<'_>> {
            let detail = self.0.remove(0);
            assert_eq!(detail.name(), name);
            Some(detail.value())
        }
        fn wrong(&self, name: &'static str, _: &'static str) -> &'static str {
            name
        }
    }

    /// Enumerates every kind: a new kind does not compile until it is listed here.
    fn after(note: Option<Note>) -> Option<Note> {
        let (task, cpu) = (TaskId(3), CpuId(1));
        Some(match note {
            None => Note::Moved { task, from: CpuId(0), to: cpu, why: MoveReason::Expelled },
            Some(Note::Moved { .. }) => Note::Throttled { task },
            Some(Note::Throttled { .. }) => {
                Note::Replenished { task, deadline: Time::from_ns(i64::MAX) }
            }
            Some(Note::Replenished { .. }) => Note::Indicator { cpu, level: Criticality(255) },
            Some(Note::Indicator { .. }) => Note::Unlisted { task },
            Some(Note::Unlisted { .. }) => return None,
        })
    }

    #[test]
    fn every_kind_reads_back_as_it_describes_itself() {
        let mut names = Vec::new();
        let mut note = after(None);
        while let Some(now) = note {
            let Description { kind, details } = now.describe();
            assert!(!names.contains(&kind.name), "two kinds are called {}", kind.name);
            names.push(kind.name);
            let mut details = InOrder(details.to_vec());
            assert_eq!(Note::read(kind.name, &mut details), Ok(Some(now)));
            assert!(details.0.is_empty(), "{} does not read {:?}", kind.name, details.0);
            for text in [now.describe().text(), now.describe().sign()] {
                assert!(!text.is_empty() && !text.contains('{'), "{text}");
            }
            note = after(note);
        }
        assert_eq!(Note::read("unheard", &mut InOrder(Vec::new())), Ok(None));
    }
}
