//! A reader of logs of version 1, `layland run log 1`: lines of words. New logs have another
//! format.
//!
//! ```text
//! layland run log 1
//! policy g-edf                  the policy with its options
//! seed 0
//! set 113                       the task set follows in so many bytes
//! ...
//! 0 online 0                    time in ns, what happened, its arguments
//! 20171 join 1 0                task, request
//! 20171 release 1 0 0 5000000   task, job, release, deadline
//! 20171 decide 1 850            actions that follow, cost in ns
//! 20171 > run 0 1 0 -           CPU, task, job, budget
//! 20171 # on 0 1 0 21534        measured: CPU, task, job, since
//! ```
//!
//! | line | arguments |
//! |---|---|
//! | `online`, `offline` | CPU |
//! | `join` | task, request |
//! | `leave` | task |
//! | `asks` | index of the request in the set, request |
//! | `arrive`, `release` | task, job, release, deadline |
//! | `measured` | task, job, got in all |
//! | `complete` | task, job, CPU, `blocks`, `continues` or `yields` |
//! | `budget` | task, job, CPU |
//! | `timer` | timer |
//! | `decide` | how many actions follow, cost |
//! | `> run` | CPU, task, job, budget or `-` |
//! | `> idle` | CPU |
//! | `> set` | timer, time |
//! | `> clear` | timer |
//! | `> abort`, `> end` | task, job |
//! | `> dates` | task, job, release, deadline |
//! | `> speed` | CPU, numerator, denominator |
//! | `> moved` | task, from, to, `placed`, `pushed`, `pulled` or `expelled` |
//! | `> throttled`, `> unlisted` | task |
//! | `> replenished` | task, deadline |
//! | `> indicator` | CPU, level |
//! | `> refuse` | request, `busy`, `denied` or `invalid`, the reason |
//! | `# asked` | task, job, arrival, demand or `-` |
//! | `# on` | CPU, task, job, since |
//! | `# off` | CPU, task, job, got, until |
//! | `# leaked` | task, job, got while it waited |
//! | `# done` | task, job, end, got in all |
//! | `# dropped` | task, job, `aborted` or `left` |
//! | `# granted` | index of the request in the set |
//! | `# refused`, `# outside` | index of the request, or task; the kind and the reason |
//! | `# unready` | task, job, arrival, release, deadline |
//! | `# over` | `whole` or `interrupted` |
//!
//! Lines that begin with `#` are measurements; a replay does not need them. Unknown lines are
//! errors. Times are nanoseconds since the start of the run.

use crate::log::file::{LogError, LogFile, wrong};
use crate::log::{Entry, Log, Record};
use layland_model::note::{ReadDetails, Value};
use layland_model::{CpuId, JobId, Note, Rate, Service, Speed, TaskId, Time};
use layland_policy::{AfterJob, Refusal, RefusalKind, RequestId, TimerId};

/// The version, as its first line names it.
pub const VERSION: &str = "run log 1";

/// Reads a log.
///
/// # Errors
/// Returns an error with a line if the string is not a log.
pub fn read(text: &str) -> Result<LogFile, LogError> {
    let (_, mut rest) = text.split_once('\n').ok_or_else(|| wrong(1, "the line is cut off"))?;
    let mut line = 1;
    let next = |rest: &mut &str| -> Option<String> {
        let (first, after) = rest.split_once('\n')?;
        *rest = after;
        Some(first.to_owned())
    };
    let mut header = |name: &str| -> Result<String, LogError> {
        line += 1;
        let found = next(&mut rest).and_then(|text| {
            text.strip_prefix(name).and_then(|value| value.strip_prefix(' ')).map(str::to_owned)
        });
        found.ok_or_else(|| wrong(line, format!("`{name}` and its value are expected")))
    };
    let policy = header("policy")?;
    let seed = header("seed")?;
    let set_length = header("set")?;
    let seed = seed.parse().map_err(|_| wrong(3, "the seed is not a number"))?;
    let length: usize = set_length.parse().map_err(|_| wrong(4, "the length is not a number"))?;
    let set = rest.get(..length).ok_or_else(|| wrong(4, "the file ends within the task set"))?;
    let set = set.to_owned();
    let body = rest[length..].strip_prefix('\n');
    let body = body.ok_or_else(|| wrong(4, "the task set is not as long as is said"))?;
    line = 5 + set.matches('\n').count();
    let mut log = Log::default();
    for text in body.split_inclusive('\n') {
        line += 1;
        let text = text.strip_suffix('\n').ok_or_else(|| wrong(line, "the line is cut off"))?;
        let record = Words(text).record(&mut log).ok_or_else(|| {
            wrong(line, format!("`{text}` is not a line of a log: see its documentation"))
        })?;
        log.records.push(record);
    }
    Ok(LogFile { policy, seed, set, log })
}

/// The words of a line that have not been read yet.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn word(&mut self) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
    fn number<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.word()?.parse().ok()
    }
    fn cpu(&mut self) -> Option<CpuId> {
        self.number().map(CpuId)
    }
    fn task(&mut self) -> Option<TaskId> {
        self.number().map(TaskId)
    }
    fn job(&mut self) -> Option<JobId> {
        Some(JobId { task: self.task()?, seq: self.number()? })
    }
    fn time(&mut self) -> Option<Time> {
        self.number().map(Time::from_ns)
    }
    fn work(&mut self) -> Option<Service> {
        self.number().map(Service::from_ns)
    }
    fn optional(&mut self) -> Option<Option<Service>> {
        match self.word()? {
            "-" => Some(None),
            word => word.parse().ok().map(|ns| Some(Service::from_ns(ns))),
        }
    }
    fn reason(&mut self, log: &mut Log) -> Option<u32> {
        let kind = match self.word()? {
            "busy" => RefusalKind::Busy,
            "denied" => RefusalKind::NotPermitted,
            "invalid" => RefusalKind::Invalid,
            _ => return None,
        };
        let mut reason = String::new();
        let mut escaped = false;
        for letter in std::mem::take(&mut self.0).chars() {
            match (escaped, letter) {
                (false, '\\') => escaped = true,
                (true, 'n') => (escaped, reason) = (false, reason + "\n"),
                (_, letter) => {
                    escaped = false;
                    reason.push(letter);
                }
            }
        }
        Some(log.refusal(&Refusal { kind, reason }))
    }

    fn record(mut self, log: &mut Log) -> Option<Record> {
        let at = self.time()?;
        let entry = match self.word()? {
            ">" => self.action(log)?,
            "#" => self.measured(log)?,
            verb => self.event(verb)?,
        };
        self.0.is_empty().then_some(Record { at, entry })
    }

    fn event(&mut self, verb: &str) -> Option<Entry> {
        Some(match verb {
            "online" => Entry::Online { cpu: self.cpu()? },
            "offline" => Entry::Offline { cpu: self.cpu()? },
            "join" => Entry::Join { task: self.task()?, request: RequestId(self.number()?) },
            "leave" => Entry::Leave { task: self.task()? },
            "asks" => Entry::Asks { index: self.number()?, request: RequestId(self.number()?) },
            "arrive" => {
                Entry::Arrival { job: self.job()?, release: self.time()?, deadline: self.time()? }
            }
            "measured" => Entry::Measured { job: self.job()?, executed: self.work()? },
            "release" => {
                Entry::Release { job: self.job()?, release: self.time()?, deadline: self.time()? }
            }
            "complete" => {
                let (job, cpu) = (self.job()?, self.cpu()?);
                let then = match self.word()? {
                    "blocks" => AfterJob::Blocks,
                    "continues" => AfterJob::Continues,
                    "yields" => AfterJob::Yields,
                    _ => return None,
                };
                Entry::Completion { job, cpu, then }
            }
            "budget" => Entry::Budget { job: self.job()?, cpu: self.cpu()? },
            "timer" => Entry::Timer { id: TimerId(self.number()?) },
            "decide" => Entry::Decide { actions: self.number()?, cost_ns: self.number()? },
            _ => return None,
        })
    }

    fn action(&mut self, log: &mut Log) -> Option<Entry> {
        Some(match self.word()? {
            "run" => Entry::Run { cpu: self.cpu()?, job: self.job()?, budget: self.optional()? },
            "idle" => Entry::Idle { cpu: self.cpu()? },
            "set" => Entry::SetTimer { id: TimerId(self.number()?), at: self.time()? },
            "clear" => Entry::ClearTimer { id: TimerId(self.number()?) },
            "abort" => Entry::Abort { job: self.job()? },
            // Version 1 only writes ends of jobs whose budget was used up.
            "end" => Entry::EndJob { job: self.job()?, used_up: true },
            "dates" => {
                Entry::SetDates { job: self.job()?, release: self.time()?, deadline: self.time()? }
            }
            "speed" => {
                let (cpu, numerator, denominator): (_, i64, i64) =
                    (self.cpu()?, self.number()?, self.number()?);
                if denominator == 0 {
                    return None;
                }
                Entry::SetSpeed { cpu, speed: Speed::new(&Rate::new(numerator, denominator))? }
            }
            "refuse" => {
                Entry::Refuse { request: RequestId(self.number()?), reason: self.reason(log)? }
            }
            kind => Entry::Note(Note::read(kind, self).ok()??),
        })
    }

    fn measured(&mut self, log: &mut Log) -> Option<Entry> {
        Some(match self.word()? {
            "asked" => {
                Entry::Asked { job: self.job()?, arrival: self.time()?, demand: self.optional()? }
            }
            "on" => Entry::On { cpu: self.cpu()?, job: self.job()?, since: self.time()? },
            "off" => Entry::Off {
                cpu: self.cpu()?,
                job: self.job()?,
                used: self.work()?,
                until: self.time()?,
            },
            "leaked" => Entry::Leaked { job: self.job()?, got: self.work()? },
            "done" => Entry::Done { job: self.job()?, end: self.time()?, used: self.work()? },
            "dropped" => {
                let job = self.job()?;
                let aborted = match self.word()? {
                    "aborted" => true,
                    "left" => false,
                    _ => return None,
                };
                Entry::Dropped { job, aborted }
            }
            "granted" => Entry::Granted { index: self.number()? },
            "refused" => Entry::Refused { index: self.number()?, reason: self.reason(log)? },
            "outside" => Entry::TurnedAway { task: self.task()?, reason: self.reason(log)? },
            "unready" => Entry::NeverReady {
                job: self.job()?,
                arrival: self.time()?,
                release: self.time()?,
                deadline: self.time()?,
            },
            "over" => {
                let interrupted = match self.word()? {
                    "interrupted" => true,
                    "whole" => false,
                    _ => return None,
                };
                Entry::Over { interrupted }
            }
            _ => return None,
        })
    }
}

/// The details of a note stand in the order of its description, without their names.
impl ReadDetails for Words<'_> {
    type Error = ();
    fn take(&mut self, _name: &'static str) -> Option<Value<'_>> {
        let word = self.word()?;
        Some(word.parse().map_or(Value::Word(word.into()), Value::Number))
    }
    fn wrong(&self, _name: &'static str, _expected: &'static str) {}
}
