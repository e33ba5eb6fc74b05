//! Converts a row to a task.

use super::header::Column;
use super::row::Row;
use super::rows::Cell;
use super::{Decimal, TableReader};
use crate::cpus::Choice;
use crate::keys::{Fault, TASK_KEYS, TaskKey, Value};
use crate::problem::{Problem, Span};
use crate::steps::execution;
use layland_model::{
    Behaviour, Criticality, Duration, Levels, ParseTimeError, Preemption, Rate, Separation,
    Service, TIME_LIMIT, Task,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

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

    /// Computes an execution time from a share of a CPU, as in `0.25` or `25%`, and the period. Rounded up, so that
    /// nothing that is guaranteed is lost. Returns `None` after a fault.
    fn share(
        &mut self,
        cell: &Cell<'_>,
        of: &Column,
        times: &mut BTreeMap<&'static str, i64>,
    ) -> Option<()> {
        let text = self.decimal(cell)?;
        let (number, divisor) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100),
            None => (text.trim(), 1),
        };
        let share: Option<Rate> = number.parse().ok().filter(|share| *share >= Rate::ZERO);
        let Some(share) = share else {
            let message = format!("`{}` is not a share of a CPU", cell.text.trim());
            let help = "write a decimal number, as in 0.25, or a column of execution times";
            self.error("layland::csv::utilization", cell.span.clone(), message, help);
            return None;
        };
        // A missing period is reported with the other missing cells.
        let period = *times.get("period")?;
        let wcet = (share * Rate::new(period, divisor)).ceil();
        let wcet = wcet.and_then(|ns| i64::try_from(ns).ok()).filter(|ns| *ns <= TIME_LIMIT);
        let Some(wcet) = wcet else {
            let message = format!("`{}` of the period is too long", cell.text.trim());
            let help = "a time is at most 36 years";
            self.error("layland::csv::utilization", cell.span.clone(), message, help);
            return None;
        };
        times.insert("wcet", wcet);
        if !self.has_told_share {
            self.has_told_share = true;
            let title = &of.title;
            let message = format!(
                "`{title}` stands for execution times: WCET = {title} x period, rounded up"
            );
            let problem = Problem::warning("layland::csv::utilization", message);
            let help = "write a column of execution times if they are known";
            self.problems.push(problem.at(cell.span.clone(), "first here").help(help));
        }
        Some(())
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

    /// Returns the text of a number with a decimal point, or `None` after reporting a comma that
    /// may also separate thousands.
    fn decimal<'c>(&mut self, cell: &'c Cell<'_>) -> Option<Cow<'c, str>> {
        let text = cell.text.trim();
        let is_digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let unit_at = text.trim_end_matches(|c: char| c.is_alphabetic() || c.is_whitespace()).len();
        let number = &text[..unit_at];
        let Some((whole, fraction)) = number.split_once(',') else { return Some(text.into()) };
        if !is_digits(whole) || !is_digits(fraction) {
            return Some(text.into());
        }
        if fraction.len() == 3 && self.decimal == Decimal::Point {
            let message = format!("`{number}` is {whole}.{fraction} or {whole}{fraction}");
            let help = "write it with a point, or without a sign between thousands";
            self.error("layland::csv::time", cell.span.clone(), message, help);
            return None;
        }
        Some(text.replacen(',', ".", 1).into())
    }

    /// Parses a time with a unit, or a number under a title with one.
    fn time(&mut self, column: &Column, cell: &Cell<'_>) -> Option<i64> {
        let text = self.decimal(cell)?;
        let text = &*text;
        let parse = |text: &str| match column.unit {
            Some(unit) => format!("{text}{unit}").parse(),
            None => self.host.time(text),
        };
        let read: Result<Duration, ParseTimeError> = match (parse(text), shortened(text)) {
            (Err(ParseTimeError::NotWhole { .. }), Some(short)) => parse(&short),
            (read, _) => read,
        };
        let fault = match read {
            Ok(time) => return Some(time.ns()),
            Err(fault) => fault,
        };
        if let ParseTimeError::NotWhole { .. } = &fault
            && let Some(ns) = printed(text, column, &parse)
        {
            let rounded =
                self.rounded.get_or_insert_with(|| (0, text.to_owned(), cell.span.clone()));
            rounded.0 += 1;
            return Some(ns);
        }
        if let ParseTimeError::MissingUnit { .. } = &fault {
            self.without_unit.get_or_insert_with(|| (column.clone(), cell.span.clone()));
            return None;
        }
        let title = &column.title;
        let (message, help) = match column.unit {
            Some(unit) if text.ends_with(char::is_alphabetic) => (
                format!("`{text}` has a unit, and the column `{title}` has one too"),
                format!("write the number of {unit} alone, or call the column {}", column.key.name),
            ),
            Some(unit) => (
                format!("`{text}` is not a number of {unit}"),
                format!("write a decimal number, with a point: {fault}"),
            ),
            None if column.key.name == "wcet" && text.contains([',', '{', '[', ';']) => (
                format!("`{text}` is not one time"),
                "write a column for each criticality level: wcet.LO, wcet.HI".to_owned(),
            ),
            None => (fault.to_string(), fault.help().replace('"', "")),
        };
        self.error("layland::csv::time", cell.span.clone(), message, &help);
        None
    }
}

/// Returns the time of a number with so many digits that a program printed it, in whole nanoseconds. Work and jitter are
/// rounded up, and other times down: to less time, so that no guarantee for sporadic tasks is lost.
fn printed(
    text: &str,
    column: &Column,
    parse: &impl Fn(&str) -> Result<Duration, ParseTimeError>,
) -> Option<i64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let digits = number.trim_start_matches(['0', '.']).chars().filter(char::is_ascii_digit).count();
    if digits < PRINTED_DIGITS {
        return None;
    }
    let one = parse(&format!("1{unit}")).ok()?;
    let exact = number.parse::<Rate>().ok()? * Rate::new(one.ns(), 1);
    let is_work = matches!(column.key.name, "wcet" | "budget" | "jitter" | "blocking");
    i64::try_from(if is_work { exact.ceil() } else { exact.floor() }?).ok()
}

/// People round the times that they write; a program that prints a `double` does not.
const PRINTED_DIGITS: usize = 9;

/// Returns true for the type of jobs that come at any time.
fn is_aperiodic(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    matches!(&*text, "a" | "aperiodic" | "et" | "event-triggered" | "single" | "once")
}

/// Returns a number of 16 digits or more, perhaps with a unit, with 15 of them.
///
/// Programs print a `double` with 17 digits, such as 0.30000000000000004 for 0.3. A `double` keeps
/// any decimal number of 15 digits, so that no digit that was meant is lost.
fn shortened(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.')?;
    let whole = whole.trim_start_matches('0');
    let zeros = fraction.len() - fraction.trim_start_matches('0').len();
    let digits =
        if whole.is_empty() { fraction.len() - zeros } else { whole.len() + fraction.len() };
    let kept = fraction.len().checked_sub(digits.checked_sub(15).filter(|&more| more > 0)?)?;
    let number: u128 = format!("{whole}{fraction}").parse().ok()?;
    let unit_of_last = 10u128.checked_pow(u32::try_from(fraction.len() - kept).ok()?)?;
    let rounded = (number + unit_of_last / 2) / unit_of_last;
    let rounded = format!("{rounded:0>width$}", width = kept + 1);
    let (whole, fraction) = rounded.split_at(rounded.len() - kept);
    Some(format!("{whole}.{fraction}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_double_is_the_number_that_was_meant() {
        for (printed, meant) in [
            ("0.30000000000000004", Some("0.300000000000000")),
            ("0.30000000000000004ms", Some("0.300000000000000ms")),
            ("16.300000000000001", Some("16.3000000000000")),
            ("145070.58200000002", Some("145070.582000000")),
            ("0.0029999999999999996 s", Some("0.00300000000000000 s")),
            ("9.9999999999999996", Some("10.00000000000000")),
            ("1.123456789012", None),
            ("0.123456789012345", None),
            ("3", None),
            ("1.2.3", None),
        ] {
            assert_eq!(shortened(printed).as_deref(), meant, "{printed}");
        }
    }
}
