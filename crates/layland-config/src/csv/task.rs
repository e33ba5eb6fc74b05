//! Converts a row to a task.

use super::TableReader;
use super::cells::BETWEEN;
use super::header::Column;
use super::row::Row;
use super::rows::Cell;
use crate::cpus::Choice;
use crate::keys::{Fault, TASK_KEYS, TaskKey, Value};
use crate::problem::{Problem, Span};
use crate::steps::execution;
use crate::tolerance;
use layland_model::{
    Behaviour, Criticality, Duration, Levels, MissTolerance, ParseTimeError, Preemption,
    Separation, Service, Task,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The filled cells of a row, by the key of their column.
struct Filled<'c> {
    row: Span,
    texts: BTreeMap<&'static str, &'c Cell<'c>>,
    /// Times in nanoseconds.
    times: BTreeMap<&'static str, i64>,
    /// The share of a CPU in place of an execution time, with its column.
    share: Option<(&'c Cell<'c>, &'c Column)>,
    /// The execution times of the levels that have a column of their own, in nanoseconds.
    by_level: Vec<Option<i64>>,
}

impl Filled<'_> {
    fn has_wcet(&self) -> bool {
        self.times.contains_key("wcet") || self.by_level.iter().any(Option::is_some)
    }
}

impl TableReader<'_> {
    pub(super) fn task(
        &mut self,
        columns: &[Option<Column>],
        cells: &[Cell<'_>],
        levels: &Levels,
        position: usize,
    ) -> Option<Row> {
        if cells.len() > columns.len() {
            let extra = &cells[columns.len()];
            let message =
                format!("the row has {} cells, the header {}", cells.len(), columns.len());
            let help = "remove the rest, or put a string with separators in quotes: \"0,2\"";
            self.error("layland::csv::row", extra.span.clone(), message, help);
            return None;
        }
        let mut ok = true;
        let mut filled = self.filled(columns, cells, levels, &mut ok);
        if ok && let Some((cell, of)) = filled.share.take() {
            ok = self.share(cell, of, &mut filled.times).is_some();
        }
        let Filled { texts, times, .. } = &filled;
        let name = self.name(columns, &filled, position)?;
        let steps = self.steps(texts.get("steps").copied(), &mut ok);
        // An aperiodic job with a period is a task whose arrivals are not limited.
        let is_once = times.get("period").is_none_or(|&period| period == 0)
            && texts.get("release").is_some_and(|cell| is_aperiodic(&cell.text));
        if ok {
            self.missing(columns, &filled, &name, steps.is_some(), is_once);
        }
        let criticality = self.criticality(texts.get("criticality").copied(), levels)?;
        let preemption = self.preemption(texts, &mut ok);
        let affinity = self.affinity(texts.get("affinity").copied(), &mut ok);
        let cluster = self.whole("cluster", texts, &mut ok);
        let behaviour = match texts.get("release").filter(|_| !is_once) {
            Some(cell) => self.release(cell, &mut ok),
            None => Behaviour::Periodic,
        };
        let tolerance = self.tolerance(texts, &mut ok);
        let mut task = Task::implicit(name.as_str(), Service::ZERO, Duration::ZERO);
        task.rank = position as i64;
        for key in TASK_KEYS {
            if let Some(cell) = texts.get(key.name) {
                ok &= self.value(key, cell, &mut task).is_some();
            } else if let (Value::Time(_, set), Some(&ns)) = (&key.value, times.get(key.name)) {
                set(&mut task, Duration::from_ns(ns));
            }
        }
        if !ok || (!times.contains_key("period") && !is_once) {
            return None;
        }
        let wcet = if filled.has_wcet() {
            self.wcet(&filled, &name, criticality)?
        } else {
            vec![execution(steps.as_ref()?); levels.count()]
        };
        if steps.is_none() && wcet.iter().all(|wcet| *wcet == Service::ZERO) {
            let message = format!("`{name}` is left out: it never executes");
            let problem = Problem::warning("layland::csv::no_execution", message);
            self.problems.push(problem.at(filled.row.clone(), "here").help("give it a WCET"));
            return None;
        }
        if is_once && task.deadline == Duration::ZERO {
            self.background.push((name, filled.row.clone()));
            return None;
        }
        Some(Row {
            is_once,
            has_rank: texts.contains_key("rank"),
            has_affinity: texts.contains_key("affinity"),
            affinity,
            task: Task {
                wcet: wcet.into(),
                criticality,
                cluster: cluster.unwrap_or(0),
                preemption,
                behaviour,
                steps: steps.map(Into::into),
                tolerance,
                ..task
            },
        })
    }

    fn filled<'c>(
        &mut self,
        columns: &'c [Option<Column>],
        cells: &'c [Cell<'c>],
        levels: &Levels,
        ok: &mut bool,
    ) -> Filled<'c> {
        let mut filled = Filled {
            row: cells.first().map_or(0..0, |cell| cell.span.clone()),
            texts: BTreeMap::new(),
            times: BTreeMap::new(),
            share: None,
            by_level: vec![None; levels.count()],
        };
        for (column, cell) in columns.iter().zip(cells) {
            let Some(column) = column else { continue };
            if cell.text.trim().is_empty() {
                continue;
            }
            if column.is_share {
                filled.share = Some((cell, column));
                continue;
            }
            if !column.is_time {
                filled.texts.insert(column.key.name, cell);
                continue;
            }
            let Some(ns) = self.time(column, cell) else {
                *ok = false;
                continue;
            };
            match column.level.as_ref().map(|level| levels.find(level)) {
                Some(Some(level)) => filled.by_level[level.level()] = Some(ns),
                // The header has reported this.
                Some(None) => *ok = false,
                None => drop(filled.times.insert(column.key.name, ns)),
            }
        }
        filled
    }

    /// Returns the name of a task: that of its row, or one by its position where no column has names.
    fn name(
        &mut self,
        columns: &[Option<Column>],
        filled: &Filled<'_>,
        position: usize,
    ) -> Option<String> {
        let has_names = columns.iter().flatten().any(|column| column.key.name == "name");
        match filled.texts.get("name") {
            Some(cell) => Some(cell.text.trim().to_owned()),
            None if !has_names => Some(format!("t{position}")),
            None => {
                let message = "the row has no name".to_owned();
                self.error("layland::csv::missing", filled.row.clone(), message, "name it");
                None
            }
        }
    }

    /// Reports empty cells for which there is no default.
    fn missing(
        &mut self,
        columns: &[Option<Column>],
        filled: &Filled<'_>,
        name: &str,
        has_steps: bool,
        is_once: bool,
    ) {
        let has_period = filled.times.contains_key("period") || is_once;
        for (key, there) in [("period", has_period), ("wcet", filled.has_wcet() || has_steps)] {
            // A missing column has been reported with the titles.
            let is_of = |name: &str| name == key || (key == "wcet" && name == "steps");
            let has_column = columns.iter().flatten().any(|column| is_of(column.key.name));
            if !there && has_column {
                let message = format!("task `{name}` has no {key}");
                let help = "fill the cell: there is no default";
                self.error("layland::csv::missing", filled.row.clone(), message, help);
            }
        }
    }

    fn criticality(&mut self, cell: Option<&Cell<'_>>, levels: &Levels) -> Option<Criticality> {
        let Some(cell) = cell else { return Some(Criticality::default()) };
        let text = cell.text.trim();
        // Tables write the two usual levels in words, too.
        let usual = match &*text.to_ascii_lowercase() {
            "high" | "hi" => levels.find("HI"),
            "low" | "lo" => levels.find("LO"),
            _ => None,
        };
        let found = levels.find(text).or(usual);
        if found.is_none() {
            let message = format!("`{}` is not a criticality level", cell.text.trim());
            let help = format!("the levels are {}", levels.names().join(" "));
            self.error("layland::csv::levels", cell.span.clone(), message, &help);
        }
        found
    }

    fn affinity(&mut self, cell: Option<&Cell<'_>>, ok: &mut bool) -> Choice {
        let mut affinity = Choice::default();
        if let Some(cell) = cell
            && let Err((message, help)) = affinity.add(cell.text.trim(), &BTreeMap::new())
        {
            self.error("layland::csv::cpus", cell.span.clone(), message, &help);
            *ok = false;
        }
        affinity
    }

    /// Returns the execution time of each level: one for all, or those of the columns by level.
    fn wcet(
        &mut self,
        filled: &Filled<'_>,
        name: &str,
        criticality: Criticality,
    ) -> Option<Vec<Service>> {
        let by_level = &filled.by_level;
        if let Some(&ns) = filled.times.get("wcet") {
            if by_level.iter().all(Option::is_none) {
                return Some(vec![Service::from_ns(ns); by_level.len()]);
            }
            let message = format!("task `{name}` has `wcet` and times by level");
            let help = "fill either one column or the other";
            self.error("layland::csv::row", filled.row.clone(), message, help);
            return None;
        }
        let own = by_level[..=criticality.level()].iter().try_fold(0, |_, time| *time);
        let Some(own) = own else {
            let message = format!("task `{name}` has no wcet for each level up to its own");
            let help = "fill the cells: there is no default";
            self.error("layland::csv::missing", filled.row.clone(), message, help);
            return None;
        };
        Some(by_level.iter().map(|time| Service::from_ns(time.unwrap_or(own))).collect())
    }

    /// Reads the value of a key into a task, if it has no syntax of its own; `None` after a fault.
    fn value(&mut self, key: &TaskKey, cell: &Cell<'_>, task: &mut Task) -> Option<()> {
        let text = cell.text.trim();
        match &key.value {
            Value::Number(_, set) => set(task, self.number(key.name, cell)?),
            Value::Count(_, set) => set(task, self.number(key.name, cell)?),
            Value::Text(_, set, _) => set(task, text),
            Value::Flag(_, set, in_table) => match text.parse() {
                Ok(flag) => set(task, flag),
                Err(_) => {
                    let message = format!("`{text}` is neither true nor false");
                    self.error(in_table.code, cell.span.clone(), message, in_table.help);
                    return None;
                }
            },
            Value::Word(word) => {
                if (word.set)(task, text).is_none() {
                    let message = format!("`{text}` is not a {}", word.what);
                    let Fault { code, help } = word.in_table;
                    self.error(code, cell.span.clone(), message, help);
                    return None;
                }
            }
            Value::Time(..) | Value::Own(_) => {}
        }
        Some(())
    }

    /// Returns the places where jobs may be preempted: none,
    /// after a time, or between blank-separated segments.
    fn preemption(&mut self, texts: &BTreeMap<&str, &Cell<'_>>, ok: &mut bool) -> Preemption {
        let code = "layland::csv::regions";
        let (cell, read) = match (texts.get("nonpreemptive"), texts.get("segments")) {
            (None, None) => return Preemption::Anywhere,
            (Some(_), Some(cell)) => {
                let message = "a task has either `nonpreemptive` or `segments`".to_owned();
                self.error(code, cell.span.clone(), message, "leave one of them empty");
                *ok = false;
                return Preemption::Anywhere;
            }
            (Some(cell), None) => match cell.text.trim() {
                "false" => return Preemption::Anywhere,
                "true" => return Preemption::Never,
                text => (cell, self.host.time(text).map(Preemption::Delayed)),
            },
            (None, Some(cell)) => {
                let length = |text| Ok(Service::from_ns(self.host.time(text)?.ns()));
                let segments: Result<Box<[Service]>, ParseTimeError> =
                    cell.text.split_whitespace().map(length).collect();
                (cell, segments.map(Preemption::Between))
            }
        };
        read.unwrap_or_else(|fault| {
            let help = "write true, false or a time (nonpreemptive), or times with blanks between (segments)";
            self.error(code, cell.span.clone(), fault.to_string(), help);
            *ok = false;
            Preemption::Anywhere
        })
    }

    fn tolerance(
        &mut self,
        texts: &BTreeMap<&str, &Cell<'_>>,
        ok: &mut bool,
    ) -> Option<Arc<MissTolerance>> {
        let mut constraints = Vec::new();
        if let Some(cell) = texts.get("mk") {
            for text in cell.text.split(BETWEEN) {
                let read = tolerance::constraint(text);
                constraints.extend(self.read_or_report(read, cell, ok));
            }
        }
        let probability = texts.get("miss").and_then(|cell| {
            let read = tolerance::probability(&cell.text);
            self.read_or_report(read, cell, ok)
        });
        tolerance::of(constraints, probability)
    }

    fn read_or_report<T>(
        &mut self,
        read: Result<T, tolerance::Misread>,
        cell: &Cell<'_>,
        ok: &mut bool,
    ) -> Option<T> {
        read.map_err(|(message, help)| {
            *ok = false;
            self.error("layland::csv::how_often", cell.span.clone(), message, &help);
        })
        .ok()
    }

    /// Returns the arrivals of the jobs of a task of this type.
    fn release(&mut self, cell: &Cell<'_>, ok: &mut bool) -> Behaviour {
        let text = cell.text.trim();
        let help = match &*text.to_lowercase() {
            "p" | "periodic" | "tt" | "time-triggered" | "strictly periodic" => {
                return Behaviour::Periodic;
            }
            "s" | "sporadic" => {
                return Behaviour::Sporadic(Separation::Uniform { max: Duration::ZERO });
            }
            _ if is_aperiodic(text) => {
                "without a least time between two jobs nothing can be guaranteed: give the task a server's budget and period, \
                 and call it sporadic"
            }
            _ => {
                "write periodic or sporadic, and leave servers out: the policies ps, ds, ss and cbs have them"
            }
        };
        let message = format!("`{text}` is not a way to release jobs");
        self.error("layland::csv::release", cell.span.clone(), message, help);
        *ok = false;
        Behaviour::Periodic
    }

    fn whole<T: std::str::FromStr>(
        &mut self,
        key: &str,
        texts: &BTreeMap<&str, &Cell<'_>>,
        ok: &mut bool,
    ) -> Option<T> {
        let number = self.number(key, texts.get(key)?);
        *ok &= number.is_some();
        number
    }

    fn number<T: std::str::FromStr>(&mut self, key: &str, cell: &Cell<'_>) -> Option<T> {
        let number = cell.text.trim().parse().ok();
        if number.is_none() {
            let message = format!("`{key}` is a whole number, not `{}`", cell.text.trim());
            self.error("layland::csv::not_a_number", cell.span.clone(), message, "as in 1");
        }
        number
    }
}

/// Returns true for the type of jobs that come at any time.
fn is_aperiodic(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    matches!(&*text, "a" | "aperiodic" | "et" | "event-triggered" | "single" | "once")
}
