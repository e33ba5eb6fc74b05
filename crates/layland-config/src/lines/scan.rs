//! Scans a line as [`to_line`](super::to_line) writes it for generators: its keys in that order,
//! without blanks between them and without escapes in strings. All other lines, including invalid
//! ones, are left to the other ways.

use crate::host::MAX_TASKS;
use crate::read::HowMade;
use crate::taskset;
use layland_model::{Provenance, System, Task};
use std::str::FromStr;

/// Returns the system of such a line, unless it has a fault.
pub(super) fn scan(text: &str, made: HowMade) -> Option<System> {
    let mut rest = Rest(text);
    rest.skip("{\"layland\":")?;
    if rest.number()? != taskset::VERSION as u64 {
        return None;
    }
    rest.skip(",\"platform\":{\"cpus\":")?;
    let cpus = u16::try_from(rest.number()?).ok().filter(|&cpus| cpus > 0)?;
    rest.skip("},\"task\":[")?;
    // A task has some fifty bytes, so the vector rarely grows.
    let mut tasks = Vec::with_capacity(rest.0.len() / 50);
    loop {
        tasks.push(rest.task()?);
        if tasks.len() > MAX_TASKS {
            return None;
        }
        if rest.skip(",").is_none() {
            break;
        }
    }
    rest.skip("]")?;
    let provenance = match rest.skip(",\"provenance\":{\"generator\":") {
        Some(()) => rest.provenance(made)?,
        None => None,
    };
    rest.skip("}")?;
    if !rest.0.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
        return None;
    }
    let mut system = System::new(cpus.into(), tasks);
    system.provenance = provenance;
    system.validate().is_empty().then_some(system)
}

/// The rest of a line.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// Skips this text, if the rest begins with it.
    fn skip(&mut self, what: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(what)?;
        Some(())
    }

    /// Parses a JSON number: after a leading zero there is no further digit.
    fn number(&mut self) -> Option<u64> {
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(digits);
        if digits > 1 && number.starts_with('0') {
            return None;
        }
        self.0 = rest;
        number.parse().ok()
    }

    /// Parses a string without escapes.
    fn string(&mut self) -> Option<&'t str> {
        let inside = self.0.strip_prefix('"')?;
        let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | ..=0x1f);
        let length = inside.as_bytes().iter().position(ends)?;
        let (string, rest) = inside.split_at(length);
        self.0 = rest.strip_prefix('"')?;
        Some(string)
    }

    fn time<T: FromStr>(&mut self) -> Option<T> {
        self.string()?.parse().ok()
    }

    fn task(&mut self) -> Option<Task> {
        self.skip("{\"name\":")?;
        let name = self.string()?;
        self.skip(",\"period\":")?;
        let period = self.time()?;
        let deadline = match self.skip(",\"deadline\":") {
            Some(()) => self.time()?,
            None => period,
        };
        self.skip(",\"wcet\":")?;
        let mut task = Task::implicit(name, self.time()?, period);
        task.deadline = deadline;
        if self.skip(",\"offset\":").is_some() {
            task.offset = self.time()?;
        }
        self.skip("}")?;
        Some(task)
    }

    /// Parses the provenance, from the name of the generator
    /// on; the inner `None` if it is to be dropped.
    fn provenance(&mut self, made: HowMade) -> Option<Option<Provenance>> {
        let generator = self.string()?;
        self.skip(",\"seed\":")?;
        let seed = self.number()?;
        let mut parameters = Vec::new();
        if self.skip(",\"parameters\":{").is_some() {
            loop {
                let key = self.string()?;
                self.skip(":")?;
                let value = self.string()?;
                if made == HowMade::Kept {
                    parameters.push((key.into(), value.into()));
                }
                if self.skip(",").is_none() {
                    break;
                }
            }
            self.skip("}")?;
        }
        self.skip("}")?;
        Some((made == HowMade::Kept).then(|| Provenance {
            generator: generator.to_owned(),
            seed,
            parameters: parameters.into_iter().collect(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{plain, to_line};
    use super::*;
    use layland_model::{Duration, Service};
    use proptest::prelude::*;

    /// Fragments that are valid in a line but that we
    /// do not write, and fragments that are not valid.
    const ODD: [&str; 18] = [
        "{", "}", "[", "]", ",", ":", "\"", "\\n", "\\", " ", "0", "01", "-1", "1.5", "\u{1}", "é",
        "ms", "null",
    ];

    fn line(tasks: usize, seed: u64, provenance: bool) -> String {
        let task = |at: usize| {
            let period = Duration::from_us(1000 + 37 * at as i64);
            let mut task =
                Task::implicit(format!("t{at}"), Service::from_us(5 + at as i64), period);
            if at % 3 == 1 {
                task.deadline = Duration::from_us(900);
            }
            if at % 4 == 2 {
                task.offset = Duration::from_ns(1_500);
            }
            task
        };
        let mut system = System::new(1 + tasks, (0..tasks).map(task).collect());
        let parameters = ["a", "b.c"].map(|key| (key.into(), format!("{key}!").into()));
        system.provenance = provenance.then(|| Provenance {
            generator: "gen 1".to_owned(),
            seed,
            parameters: parameters.into_iter().take(seed as usize % 3).collect(),
        });
        to_line(&system)
    }

    #[test]
    fn what_we_write_is_scanned() {
        for tasks in 1..9 {
            for (seed, provenance) in [(0, false), (0, true), (1, true), (5, true)] {
                let line = line(tasks, seed, provenance);
                let scanned = scan(&line, HowMade::Kept);
                assert!(scanned.is_some(), "{line}");
                assert_eq!(scanned, plain(&line), "{line}");
                let without = scanned.map(|system| System { provenance: None, ..system });
                assert_eq!(scan(&line, HowMade::LeftOut), without, "{line}");
            }
        }
    }

    proptest! {
        /// The scanner returns the same systems as the reader that accepts the keys in any order.
        #[test]
        fn a_changed_line_is_scanned_as_it_is_read(
            (tasks, seed, provenance) in (1usize..4, 0u64..4, any::<bool>()),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..ODD.len(), 0usize..3), 0..3),
        ) {
            let mut line: Vec<char> = line(tasks, seed, provenance).chars().collect();
            for (at, odd, gone) in changes {
                let at = at.index(line.len());
                let end = (at + gone).min(line.len());
                line.splice(at..end, ODD[odd].chars());
            }
            let line: String = line.into_iter().collect();
            let scanned = scan(&line, HowMade::Kept);
            prop_assert_eq!(scanned.is_some(), scan(&line, HowMade::LeftOut).is_some(), "{}", line);
            if let Some(system) = scanned {
                prop_assert_eq!(Some(system), plain(&line), "{}", line);
            }
        }
    }
}
