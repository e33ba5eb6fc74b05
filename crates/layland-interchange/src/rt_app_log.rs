//! Reads the log that rt-app writes for each thread: a line for each loop, with times in
//! microseconds.
//!
//! | column | here |
//! |---|---|
//! | `run`, `c_duration` | the time from the start of the work to its end, and the time that the file asks for |
//! | `period`, `c_period` | the time between two loops, and that of the timers in the file |
//! | `slack` | the time from the end of the work to the next timer; negative if the loop was late |
//! | `wu_lat` | the time from the timer until the thread ran |
//!
//! The columns are found by the titles in the first line. Nothing else is known of the thread: a
//! log has no switches, and `run` includes the time for which others had the CPU.

use layland_model::Duration;
use std::fmt;

/// A loop of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The line in the log, from 1.
    pub line: usize,
    /// The time from the start of the work to its end.
    pub run: Duration,
    /// The time that the file asks for.
    pub asked: Duration,
    /// The time from this loop to the next.
    pub period: Duration,
    /// The period of the timers in the file; zero without a timer.
    pub timer: Duration,
    /// The time from the end of the work to the next timer; negative if the loop was late.
    pub slack: Duration,
    /// The time from the timer until the thread ran; `None` if the log has no such column.
    pub latency: Option<Duration>,
}

/// The reason why a text is not a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogError {
    /// The first line has no title of this name.
    NoColumn(&'static str),
    /// A line has another number of values than titles, or a value that is not a whole number.
    Line(usize),
    /// There is no loop.
    Empty,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::NoColumn(name) => write!(f, "the log of rt-app has no column `{name}`"),
            LogError::Line(line) => write!(f, "line {line} is not a line of the log of rt-app"),
            LogError::Empty => f.write_str("the log of rt-app has no loop"),
        }
    }
}

impl std::error::Error for LogError {}

/// Returns true if a text begins as a log of rt-app does.
///
/// ```
/// assert!(layland_interchange::rt_app_log::is_log("#idx perf run period start end rel_st slack c_duration c_period"));
/// assert!(!layland_interchange::rt_app_log::is_log("# tracer: nop"));
/// ```
pub fn is_log(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    first.starts_with('#') && ["idx", "perf", "slack"].iter().all(|word| first.contains(word))
}

/// Reads a log.
///
/// ```
/// use layland_model::Duration;
/// let text = "\
/// #idx perf run period start end rel_st slack c_duration c_period wu_lat
/// 0 10 3012 9001 100000 103012 0 5980 3000 9000 8
/// 0 10 9120 9120 109001 118121 9001 -130 3000 9000 11
/// ";
/// let loops = layland_interchange::rt_app_log::read(text).unwrap();
/// assert_eq!(loops[0].slack, Duration::from_us(5980));
/// assert!(loops[1].slack < Duration::ZERO && loops[1].latency == Some(Duration::from_us(11)));
/// ```
///
/// # Errors
/// If a column or a value is missing, or if there is no loop.
pub fn read(text: &str) -> Result<Vec<Loop>, LogError> {
    let mut lines = text.lines().enumerate();
    let (_, titles) = lines.next().ok_or(LogError::Empty)?;
    let titles: Vec<&str> = titles.trim_start_matches('#').split_whitespace().collect();
    let column = |name: &'static str| {
        titles.iter().position(|title| *title == name).ok_or(LogError::NoColumn(name))
    };
    let (run, asked) = (column("run")?, column("c_duration")?);
    let (period, timer) = (column("period")?, column("c_period")?);
    let (slack, latency) = (column("slack")?, column("wu_lat").ok());
    let mut loops = Vec::new();
    for (at, line) in lines {
        let values: Vec<&str> = line.split_whitespace().collect();
        if values.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = at + 1;
        let value = |column: usize| {
            let us: i64 = values
                .get(column)
                .and_then(|value| value.parse().ok())
                .ok_or(LogError::Line(line))?;
            us.checked_mul(1_000).map(Duration::from_ns).ok_or(LogError::Line(line))
        };
        loops.push(Loop {
            line,
            run: value(run)?,
            asked: value(asked)?,
            period: value(period)?,
            timer: value(timer)?,
            slack: value(slack)?,
            latency: latency.map(value).transpose()?,
        });
    }
    if loops.is_empty() { Err(LogError::Empty) } else { Ok(loops) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_log_has_a_reason() {
        let titles = "#idx perf run period start end rel_st slack c_duration c_period wu_lat\n";
        for (text, error) in [
            ("", LogError::Empty),
            (titles, LogError::Empty),
            ("#idx perf run period slack\n", LogError::NoColumn("c_duration")),
            (&format!("{titles}0 1 2\n"), LogError::Line(2)),
            (&format!("{titles}\n0 1 x 4 5 6 7 8 9 10 11\n"), LogError::Line(3)),
            (&format!("{titles}0 1 9223372036854775807 4 5 6 7 8 9 10 11\n"), LogError::Line(2)),
        ] {
            assert_eq!(read(text), Err(error), "{text}");
        }
        // Older versions have no wake-up latency.
        let old = "#idx perf run period start end rel_st slack c_duration c_period\n0 1 2 4 5 6 7 8 9 10\n";
        assert_eq!(read(old).expect("a log")[0].latency, None);
    }
}
