//! The marks that a run writes to `trace_marker`, so that its trace can be read without guessing.
//!
//! | mark | meaning |
//! |---|---|
//! | `layland: begin t=NS cpus=0,2` | time 0 of the run, and the kernel CPU of each CPU |
//! | `layland: release task=NAME job=K t=NS` | job K arrived at t; `d=NS` may follow, its deadline |
//! | `layland: start task=NAME job=K` | its thread starts working on it |
//! | `layland: complete task=NAME job=K` | the job completed |
//! | `layland: abort task=NAME job=K` | the job was aborted |
//! | `layland: overrun task=NAME job=K` | the job used up its budget |
//! | `layland: decision cpu=N run=NAME/K` | the policy wants the CPU to run this job (also `run=NAME job=K`); `run=-`: no job |
//! | `layland: end t=NS` | the run is over |
//!
//! Times are nanoseconds of the trace's clock, which should be CLOCK_MONOTONIC (`mono`), or else of
//! the run: they are those of the run if there is no `begin` and the first `t` is not inside the
//! trace. Unknown words after the known ones are ignored, so that a reason can be appended.

use layland_model::CpuSet;
use std::fmt;

/// One mark.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are in the table of the module, and plain")]
pub enum Marker<'a> {
    /// The run begins.
    Begin { t: i64, cpus: Vec<u32> },
    /// A job arrived.
    Release { task: &'a str, job: u64, t: i64, deadline: Option<i64> },
    /// The thread of the job begins to work on it.
    Start { task: &'a str, job: u64 },
    /// The job completed.
    Complete { task: &'a str, job: u64 },
    /// The job was aborted.
    Abort { task: &'a str, job: u64 },
    /// The job used up its budget.
    Overrun { task: &'a str, job: u64 },
    /// The policy selected the job for a CPU.
    Decision { cpu: u32, run: Option<(&'a str, u64)> },
    /// The run is over.
    End { t: i64 },
}

/// The prefix of every mark.
const PREFIX: &str = "layland: ";

/// The reason why a text is not a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// The text comes from another program.
    #[error("not a mark of layland")]
    Foreign,
    /// The text begins like a mark, but the rest is invalid.
    #[error("a damaged mark")]
    Damaged,
}

impl<'a> Marker<'a> {
    /// Parses a mark, which may begin anywhere in the text.
    ///
    /// ```
    /// use layland_interchange::kernel::Marker;
    /// let mark = Marker::parse("layland: complete task=two words job=7").unwrap();
    /// assert_eq!(mark, Marker::Complete { task: "two words", job: 7 });
    /// assert_eq!(mark.to_string(), "layland: complete task=two words job=7");
    /// ```
    ///
    /// # Errors
    /// If the text contains no mark, or a damaged one.
    pub fn parse(text: &'a str) -> Result<Marker<'a>, MarkerError> {
        let at = text.find(PREFIX).ok_or(MarkerError::Foreign)?;
        let body = text[at + PREFIX.len()..].trim_end();
        Self::parse_body(body).ok_or(MarkerError::Damaged)
    }

    fn parse_body(body: &'a str) -> Option<Marker<'a>> {
        let (verb, rest) = body.split_once(' ')?;
        match verb {
            "begin" => {
                let mut cpus = Vec::new();
                for cpu in value(rest, "cpus").unwrap_or_default().split(',') {
                    if !cpu.is_empty() {
                        cpus.push(cpu_id(cpu)?);
                    }
                }
                Some(Marker::Begin { t: number(rest, "t")?, cpus })
            }
            "end" => Some(Marker::End { t: number(rest, "t")? }),
            "decision" => {
                let cpu = cpu_id(value(rest, "cpu")?)?;
                let run = rest.split_once("run=")?.1;
                // A name may contain any character: the job
                // number follows the last slash before a space.
                let run = match run.split(' ').next()? {
                    "-" => None,
                    _ => Some(with_slash(run).or_else(|| with_job(run))?),
                };
                Some(Marker::Decision { cpu, run })
            }
            "release" | "start" | "complete" | "abort" | "overrun" => {
                let rest = rest.strip_prefix("task=")?;
                let (task, fields) = rest.rsplit_once(" job=")?;
                let job = fields.split(' ').next()?.parse().ok()?;
                Some(match verb {
                    "release" => Marker::Release {
                        task,
                        job,
                        t: number(fields, "t")?,
                        deadline: match value(fields, "d") {
                            None => None,
                            Some(text) => Some(text.parse().ok()?),
                        },
                    },
                    "start" => Marker::Start { task, job },
                    "complete" => Marker::Complete { task, job },
                    "abort" => Marker::Abort { task, job },
                    _ => Marker::Overrun { task, job },
                })
            }
            _ => None,
        }
    }
}

/// Parses `NAME job=K`.
fn with_job(text: &str) -> Option<(&str, u64)> {
    let (task, fields) = text.rsplit_once(" job=")?;
    Some((task, fields.split(' ').next()?.parse().ok()?))
}

/// Parses `NAME/K` at the first slash that is followed by digits up to the end of a word.
fn with_slash(text: &str) -> Option<(&str, u64)> {
    text.match_indices('/').find_map(|(at, _)| {
        let job = text[at + 1..].split(' ').next()?.parse().ok()?;
        Some((&text[..at], job))
    })
}

fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

/// Parses a CPU number, with a limit: tables by CPU extend up to the largest one.
pub(super) fn cpu_id(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let cpu = is_number.then(|| text.parse::<u32>().ok())?;
    cpu.filter(|&cpu| (cpu as usize) < CpuSet::MAX_CPUS)
}

fn number<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    value(text, key)?.parse().ok()
}

impl fmt::Display for Marker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        match self {
            Marker::Begin { t, cpus } => {
                write!(f, "begin t={t}")?;
                for (index, cpu) in cpus.iter().enumerate() {
                    write!(f, "{}{cpu}", if index == 0 { " cpus=" } else { "," })?;
                }
                Ok(())
            }
            Marker::Release { task, job, t, deadline } => {
                write!(f, "release task={task} job={job} t={t}")?;
                deadline.map_or(Ok(()), |deadline| write!(f, " d={deadline}"))
            }
            Marker::Start { task, job } => write!(f, "start task={task} job={job}"),
            Marker::Complete { task, job } => write!(f, "complete task={task} job={job}"),
            Marker::Abort { task, job } => write!(f, "abort task={task} job={job}"),
            Marker::Overrun { task, job } => write!(f, "overrun task={task} job={job}"),
            Marker::Decision { cpu, run: None } => write!(f, "decision cpu={cpu} run=-"),
            Marker::Decision { cpu, run: Some((task, job)) } => {
                write!(f, "decision cpu={cpu} run={task}/{job}")
            }
            Marker::End { t } => write!(f, "end t={t}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_reads_back() {
        for mark in [
            Marker::Begin { t: 5, cpus: vec![] },
            Marker::Begin { t: 5, cpus: vec![1, 3] },
            Marker::Release { task: "a job=3", job: 7, t: -1, deadline: None },
            Marker::Release { task: "a b", job: 7, t: 9, deadline: Some(12) },
            Marker::Start { task: "x/y", job: 0 },
            Marker::Complete { task: "<odd> -1", job: 3 },
            Marker::Abort { task: "a", job: 1 },
            Marker::Overrun { task: "a", job: 1 },
            Marker::Decision { cpu: 3, run: None },
            Marker::Decision { cpu: 0, run: Some(("two words", 4)) },
            Marker::End { t: 77 },
        ] {
            assert_eq!(Marker::parse(&mark.to_string()), Ok(mark));
        }
    }

    #[test]
    fn foreign_and_damaged_marks_differ() {
        assert_eq!(Marker::parse("hello"), Err(MarkerError::Foreign));
        for damaged in [
            "layland: ",
            "layland: release task=a job=x t=1",
            "layland: end t=",
            "layland: dance t=1",
        ] {
            assert_eq!(Marker::parse(damaged), Err(MarkerError::Damaged), "{damaged}");
        }
        let with_reason =
            "ip=tracing_mark_write buf=layland: decision cpu=1 run=a b/3 reason=edf/2";
        let decision = Marker::Decision { cpu: 1, run: Some(("a b", 3)) };
        assert_eq!(Marker::parse(with_reason), Ok(decision.clone()));
        assert_eq!(Marker::parse("layland: decision cpu=1 run=a b job=3 t=5"), Ok(decision));
    }
}
