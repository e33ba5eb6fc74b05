//! The tables of `docs/overheads.md`, as Markdown.

use super::{Dispatched, MOVES, Measured, OTHERS, PUSH, Traced};
use serde_json::Value;
use std::fmt::Write;

/// The distribution of some times, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The number of times.
    pub count: usize,
    /// The smallest time.
    pub min: u64,
    /// The median: half of the times are not above it.
    pub median: u64,
    /// The mean, rounded down.
    pub mean: u64,
    /// The 99th percentile: 99 of 100 times are not above it.
    pub p99: u64,
    /// The largest time.
    pub max: u64,
}

impl Spread {
    /// Computes the distribution; `None` if there are no times. A quantile is one of the times: the
    /// smallest that is at least as large as this share of them.
    #[must_use]
    pub fn of(times: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut times: Vec<u64> = times.into_iter().collect();
        times.sort_unstable();
        let count = times.len();
        let at = |percent: usize| times[(count * percent).div_ceil(100).max(1) - 1];
        let sum: u128 = times.iter().map(|&ns| u128::from(ns)).sum();
        let (&min, &max) = (times.first()?, times.last()?);
        let mean = u64::try_from(sum / count as u128).unwrap_or(u64::MAX);
        Some(Self { count, min, median: at(50), mean, p99: at(99), max })
    }

    fn cells(this: Option<Self>) -> String {
        this.map_or_else(
            || "0 | | | | | ".to_owned(),
            |spread| {
                let Self { count, min, median, mean, p99, max } = spread;
                let [min, median, mean, p99, max] = [min, median, mean, p99, max].map(us);
                format!("{count} | {min} | {median} | {mean} | {p99} | {max}")
            },
        )
    }
}

/// Formats a time in microseconds, with two decimals.
fn us(ns: u64) -> String {
    format!("{}.{:02}", ns / 1_000, ns % 1_000 / 10)
}

impl Traced {
    /// The calls of [`PUSH`] that moved a thread, or those that did not.
    #[must_use]
    pub fn pushes(&self, moved: bool) -> Option<Spread> {
        let does_move = |within: &Vec<String>| within.iter().any(|function| function == MOVES);
        let calls = self.pushes.iter().filter(|call| call.function == PUSH);
        Spread::of(calls.filter(|call| does_move(&call.within) == moved).map(|call| call.ns))
    }

    /// The calls of another function.
    #[must_use]
    pub fn calls(&self, function: &str) -> Option<Spread> {
        let calls = self.others.iter().filter(|call| call.function == function);
        Spread::of(calls.map(|call| call.ns))
    }
}

impl Dispatched {
    /// The sum of a counter of the servers over all runs.
    #[must_use]
    pub fn count(&self, what: &str) -> u64 {
        self.runs.iter().filter_map(|run| run["servers"][what].as_u64()).sum()
    }

    /// The number of completed jobs in all runs.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        let completed = |run: &Value| run["summary"]["total"]["completed"].as_u64();
        self.runs.iter().filter_map(completed).sum()
    }

    /// Formats a distribution that each run has: the figures of the run with the median of the
    /// medians, and the total number of values; empty if no run has any.
    fn figures(&self, of: impl Fn(&Value) -> &Value) -> String {
        let mut all: Vec<&Value> = self.runs.iter().map(of).filter(|one| one.is_object()).collect();
        let number = |one: &Value, key: &str| one[key].as_u64().unwrap_or(0);
        all.sort_by_key(|one| number(one, "p50_ns"));
        let count: u64 = all.iter().map(|one| number(one, "count")).sum();
        let Some(one) = all.get(all.len() / 2) else { return String::new() };
        let max = all.iter().map(|one| number(one, "max_ns")).max().unwrap_or(0);
        let [min, median, p99] = ["min_ns", "p50_ns", "p99_ns"].map(|key| us(number(one, key)));
        format!("{count} | {min} | {median} | {p99} | {}", us(max))
    }
}

/// Formats the tables of the measurements.
#[must_use]
pub fn markdown<'a>(all: impl IntoIterator<Item = &'a Measured>) -> String {
    let all: Vec<&Measured> = all.into_iter().collect();
    let mut text = String::new();
    if all.iter().any(|measured| !measured.traced.is_empty()) {
        text += "| kernel | tasks | calls of `push_dl_task` | calls | min | median | mean | p99 | max |\n|---|---|---|---|---|---|---|---|---|\n";
        for (place, traced) in pairs(&all, |measured| &measured.traced) {
            for (what, moved) in [("that moved a thread", true), ("that moved none", false)] {
                let cells = Spread::cells(traced.pushes(moved));
                let _ = writeln!(text, "| {place} | {} | {what} | {cells} |", traced.tasks);
            }
        }
        text += "\n| kernel | tasks | function | calls | min | median | mean | p99 | max |\n|---|---|---|---|---|---|---|---|---|\n";
        for (place, traced) in pairs(&all, |measured| &measured.traced) {
            for function in OTHERS {
                let cells = Spread::cells(traced.calls(function));
                let _ = writeln!(text, "| {place} | {} | `{function}` | {cells} |", traced.tasks);
            }
        }
        text.push('\n');
    }
    text += "| dispatcher on | policy | CPUs | tasks | jobs | pushes | pulls | throttles | forced | forced, stayed |\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (place, one) in pairs(&all, |measured| &measured.dispatched) {
        let counts = ["pushes", "pulls", "throttles", "forced_throttles", "forced_stayed"];
        let counts = counts.map(|what| one.count(what).to_string()).join(" | ");
        let Dispatched { policy, cpus, tasks, .. } = one;
        let _ = writeln!(
            text,
            "| {place} | `{policy}` | {cpus} | {tasks} | {} | {counts} |",
            one.jobs()
        );
    }
    text += "\n| dispatcher on | policy | tasks | time | values | min | median | p99 | max |\n|---|---|---|---|---|---|---|---|---|\n";
    for (place, one) in pairs(&all, |measured| &measured.dispatched) {
        let Dispatched { policy, tasks, .. } = one;
        let times = [
            ("forced throttle, to a CPU", one.figures(|run| &run["servers"]["forced_throttle"])),
            (
                "end of a budget, until the manager hears of it",
                one.figures(|run| &run["overheads"]["budget detection"]),
            ),
            (
                "decision with a forced throttle",
                one.figures(|run| &run["servers"]["forced_decision"]),
            ),
            ("push, to the other CPU", one.figures(|run| &run["servers"]["push"])),
            (
                "migration, to the first instruction",
                one.figures(|run| &run["overheads"]["migration"]),
            ),
            ("switch, to the first instruction", one.figures(|run| &run["overheads"]["switch"])),
            ("decision", one.figures(|run| &run["overheads"]["decision"])),
        ];
        for (what, cells) in times.into_iter().filter(|(_, cells)| !cells.is_empty()) {
            let _ = writeln!(text, "| {place} | `{policy}` | {tasks} | {what} | {cells} |");
        }
    }
    text
}

fn pairs<'a, T: 'a>(
    all: &[&'a Measured],
    of: impl Fn(&'a Measured) -> &'a Vec<T>,
) -> Vec<(&'a str, &'a T)> {
    let each = all
        .iter()
        .flat_map(|measured| of(measured).iter().map(|one| (measured.place.as_str(), one)));
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overheads::graph::calls;
    use serde_json::json;

    #[test]
    fn quantiles_are_times_that_occurred() {
        let spread = Spread::of((1..=200).rev()).unwrap();
        let expected = Spread { count: 200, min: 1, median: 100, mean: 100, p99: 198, max: 200 };
        assert_eq!(spread, expected);
        let one = Spread::of([7]).unwrap();
        assert_eq!((one.min, one.median, one.p99, one.max), (7, 7, 7, 7));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn tables_have_what_was_measured() {
        let pushes = calls(
            " 1) | push_dl_task() {\n 1) 2.000 us | set_task_cpu();\n 1) + 12.340 us | } /* push_dl_task */\n 1) 1.000 us | push_dl_task();\n",
        );
        let others = calls(" 1) 3.500 us | dequeue_task_dl();\n");
        let figures = |p50: u64| json!({ "count": 3, "min_ns": 1_000, "p50_ns": p50, "p99_ns": 9_000, "max_ns": 10 * p50 });
        let run = |p50| {
            json!({
                "servers": { "pushes": 5, "forced_throttles": 2, "push": figures(p50) },
                "summary": { "total": { "completed": 40 } },
                "overheads": {},
            })
        };
        let runs = vec![run(7_000), run(4_000), run(5_000)];
        let measured = Measured {
            place: "6.18".into(),
            traced: vec![Traced { tasks: 16, pushes, others }],
            dispatched: vec![Dispatched { policy: "dl-sp", cpus: 8, tasks: 16, runs }],
        };
        let text = markdown([&measured]);
        for row in [
            "| 6.18 | 16 | that moved a thread | 1 | 12.34 | 12.34 | 12.34 | 12.34 | 12.34 |",
            "| 6.18 | 16 | that moved none | 1 | 1.00 | 1.00 | 1.00 | 1.00 | 1.00 |",
            "| 6.18 | 16 | `dequeue_task_dl` | 1 | 3.50 | 3.50 | 3.50 | 3.50 | 3.50 |",
            "| 6.18 | 16 | `pull_dl_task` | 0 | | | | |  |",
            "| 6.18 | `dl-sp` | 8 | 16 | 120 | 15 | 0 | 0 | 6 | 0 |",
            "| 6.18 | `dl-sp` | 16 | push, to the other CPU | 9 | 1.00 | 5.00 | 9.00 | 70.00 |",
        ] {
            assert!(text.lines().any(|line| line == row), "{row}\n{text}");
        }
    }
}
