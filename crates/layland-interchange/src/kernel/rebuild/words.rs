//! Describes the doubts about a text in words: the missing events and their positions.

use super::super::gaps::gaps;
use super::super::line::Lines;
use super::super::threads::Tasks;
use super::lives::{Life, Misfit, Missed};
use layland_model::Index;

/// The maximum number of doubts of one kind that are listed besides the first.
const MOST_TOLD: usize = 4;

/// Formats a time of the trace's clock as in the lines of the trace.
fn seconds(at: i64) -> String {
    let (seconds, rest) = (at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000));
    if rest % 1_000 == 0 {
        format!("{seconds}.{:06} s", rest / 1_000)
    } else {
        format!("{seconds}.{rest:09} s")
    }
}

/// Returns the name of a thread, which is missing for an idle CPU and if the tool did not keep it.
pub(super) fn called(comm: &str) -> &str {
    match comm {
        "" | "<idle>" => "<idle>",
        comm => comm,
    }
}

/// Describes the unrecorded switches to tasks.
pub(super) fn unrecorded_words(missed: &[Missed<'_>], tasks: &Tasks) -> Vec<String> {
    let Some(first) = missed.first() else { return Vec::new() };
    let word = |missed: &Missed<'_>| {
        let name = &tasks.names[missed.task.index()];
        let (cpu, from) = (missed.cpu, called(missed.from));
        let (after, by) = (seconds(missed.after), seconds(missed.by));
        format!("`{name}` began on CPU {cpu} after `{from}` between {after} and {by}")
    };
    let times = match missed.len() {
        1 => "1 switch to a task is not recorded, and nothing is lost".to_owned(),
        count => {
            format!("{count} switches to tasks are not recorded, and nothing is lost; the first")
        }
    };
    vec![format!("{times}: {}", word(first))]
}

/// Describes the deficiencies of a text.
pub(super) fn damages(lines: &Lines, misfits: &[Misfit<'_>]) -> Vec<String> {
    let mut remarks = Vec::new();
    if lines.lost > 0 {
        remarks.push(format!("the kernel dropped {} events: use a larger buffer", lines.lost));
    }
    if let Some(first) = misfits.first() {
        let Misfit { at, cpu, leaves, had } = *first;
        let each = match misfits.len() {
            1 => "1 switch does not fit the one before it".to_owned(),
            count => format!("{count} switches do not fit the ones before them, the first"),
        };
        let (leaves, had) = (called(leaves), called(had));
        let at = seconds(at);
        remarks.push(format!("{each}: at {at} `{leaves}` leaves CPU {cpu}, which `{had}` had"));
        let others: Vec<String> = misfits
            .iter()
            .skip(1)
            .take(MOST_TOLD)
            .map(|misfit| {
                format!(
                    "`{}` on CPU {} at {}",
                    called(misfit.leaves),
                    misfit.cpu,
                    seconds(misfit.at)
                )
            })
            .collect();
        if !others.is_empty() {
            let more = misfits.len() - 1 - others.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            remarks.push(format!("others that do not fit: {}{more}", others.join(", ")));
        }
    }
    let gaps = gaps(&lines.events);
    if let Some(&(from, to)) = gaps.first() {
        let (from, to) = (seconds(from), seconds(to));
        let count = match gaps.len() {
            1 => "two".to_owned(),
            more => (more + 1).to_string(),
        };
        remarks.push(format!("there is no event from {from} to {to}: are these {count} traces?"));
    }
    if let Some(line) = lines.first_unknown {
        remarks.push(match lines.unknown {
            1 => format!("1 line is not an event: line {line}"),
            count => format!("{count} lines are not events, the first is line {line}"),
        });
    }
    remarks
}

pub(super) fn remarks(
    lines: &Lines,
    tasks: &Tasks,
    lives: &[Life],
    misfits: &[Misfit<'_>],
) -> Vec<String> {
    let mut remarks = damages(lines, misfits);
    if !tasks.doubles.is_empty() {
        let pids: Vec<String> = tasks.doubles.iter().map(u32::to_string).collect();
        remarks.push(format!(
            "threads {} have the name of a task whose thread is another one: left out",
            first(&pids)
        ));
    }
    let absent: Vec<&str> = (tasks.names.iter().zip(lives))
        .filter(|(_, life)| life.runs.is_empty())
        .map(|(name, _)| name.as_str())
        .collect();
    if !absent.is_empty() {
        remarks.push(format!("no thread of {} runs in this trace", first(&absent)));
    }
    remarks
}

/// Returns a list of at most a few.
fn first<T: AsRef<str>>(of: &[T]) -> String {
    const MOST: usize = 8;
    let told: Vec<&str> = of.iter().take(MOST).map(AsRef::as_ref).collect();
    let more = match of.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", told.join(", "))
}
