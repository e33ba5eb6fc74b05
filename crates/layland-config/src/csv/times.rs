//! Times and shares of a CPU in the cells of a table.

use super::header::Column;
use super::rows::Cell;
use super::{Decimal, TableReader};
use crate::problem::Problem;
use layland_model::{Duration, ParseTimeError, Rate, TIME_LIMIT, counted};
use std::borrow::Cow;
use std::collections::BTreeMap;

impl TableReader<'_> {
    /// Reports numbers without a unit, once: all of them lack the same unit.
    pub(super) fn report_unit(&mut self) {
        let Some((column, span)) = self.without_unit.take() else { return };
        let message = format!("`{}`: a time needs a unit", column.title);
        let help = format!(
            "say it for all columns with --unit, in the title, as in {}_ms, or after each number",
            column.key.name
        );
        self.error("layland::csv::time", span, message, &help);
    }

    /// Reports times that are finer than a nanosecond, once for all.
    pub(super) fn report_rounded(&mut self) {
        let Some((count, first, span)) = self.rounded.take() else { return };
        let message = match count - 1 {
            0 => format!("`{first}` is rounded to whole nanoseconds"),
            more => format!(
                "`{first}` and {} are rounded to whole nanoseconds",
                counted(more, "more time")
            ),
        };
        let help = "execution times and jitter are rounded up, periods, deadlines and offsets down";
        let problem = Problem::warning("layland::csv::rounded", message);
        self.problems.push(problem.at(span, "here").help(help));
    }

    /// Computes an execution time from a share of a CPU, as in `0.25` or `25%`, and the period,
    /// rounded up. Returns `None` after a fault.
    pub(super) fn share(
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
        let Some(&period) = times.get("period") else {
            let message =
                format!("`{}` is a share of a period, and the row has none", cell.text.trim());
            let help = "fill the cell: there is no default";
            self.error("layland::csv::missing", cell.span.clone(), message, help);
            return None;
        };
        let wcet = (share * Rate::new(period, divisor)).ceil();
        let wcet = wcet.filter(|ns| *ns <= TIME_LIMIT);
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
    pub(super) fn time(&mut self, column: &Column, cell: &Cell<'_>) -> Option<i64> {
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

/// Returns the time of a number with so many digits that a program printed it, in whole
/// nanoseconds. Work and jitter are rounded up, and other times down, so that a guarantee for
/// sporadic tasks holds for the numbers that were meant.
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
    if is_work { exact.ceil() } else { exact.floor() }
}

/// People round the times that they write; a program that prints a `double` does not.
const PRINTED_DIGITS: usize = 9;

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
