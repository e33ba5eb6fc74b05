//! Measures which threads of a program use the processor time. If only the first thread has a
//! reservation and others do the work, the promise is made to the wrong thread.

use super::args::ExecArgs;
use crate::ui::terminal;
use layland_linux::exec::{Thread, processor_time};
use layland_model::Duration;
use std::collections::BTreeMap;

/// The processor time that threads must have used before a warning.
const ENOUGH: Duration = Duration::from_ms(100);

pub(super) struct Work {
    /// For each thread, the time that it had used when it was first seen, the time so far, and
    /// whether it has a reservation.
    used: BTreeMap<(i32, u64), Used>,
    is_told: bool,
}

struct Used {
    name: String,
    first: Duration,
    last: Duration,
    is_reserved: bool,
}

impl Used {
    fn time(&self) -> Duration {
        self.last - self.first
    }
}

impl Work {
    /// Creates the measurement if the reservation is for the first thread alone.
    pub(super) fn of(args: &ExecArgs) -> Option<Work> {
        let is_first = args.thread.as_deref().is_none_or(|pattern| pattern == "main");
        let is_one = args.set.is_none() && args.cgroup.is_none() && is_first && !args.quiet;
        is_one.then(|| Work { used: BTreeMap::new(), is_told: false })
    }

    /// Measures all threads of the program, and warns once if those without a reservation do the
    /// work.
    pub(super) fn look<'a>(
        &mut self,
        threads: impl Iterator<Item = &'a Thread>,
        is_reserved: impl Fn(&Thread) -> bool,
    ) {
        if self.is_told {
            return;
        }
        for thread in threads {
            let Some(time) = processor_time(thread.tid.0) else { continue };
            let used = self.used.entry((thread.tid.0, thread.started)).or_insert_with(|| Used {
                name: thread.name.clone(),
                first: time,
                last: time,
                is_reserved: false,
            });
            used.last = time;
            used.is_reserved |= is_reserved(thread);
            used.name.clone_from(&thread.name);
        }
        if let Some((message, help)) = self.verdict() {
            self.is_told = true;
            terminal::warn(&message, Some(&help));
        }
    }

    fn verdict(&self) -> Option<(String, String)> {
        let time = |is_reserved: bool| -> Duration {
            let all = self.used.values().filter(|used| used.is_reserved == is_reserved);
            all.fold(Duration::ZERO, |sum, used| sum + used.time())
        };
        let (with, without) = (time(true), time(false));
        // Before a thread has its reservation, the measurement says nothing.
        let is_begun = self.used.values().any(|used| used.is_reserved);
        if !is_begun || without < ENOUGH || without < with {
            return None;
        }
        let mut busy: Vec<(&(i32, u64), &Used)> =
            self.used.iter().filter(|(_, used)| !used.is_reserved).collect();
        busy.sort_by_key(|(_, used)| std::cmp::Reverse(used.time()));
        busy.retain(|(_, used)| used.time() > Duration::ZERO);
        let shown: Vec<String> = busy
            .iter()
            .take(3)
            .map(|((tid, _), used)| format!("`{}` ({tid})", used.name))
            .collect();
        let more = match busy.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let most = busy.first().map_or("", |(_, used)| used.name.as_str());
        let message = format!(
            "threads without a reservation do the work: {}{more} used {} ms of processor time, the reserved one {} ms",
            shown.join(", "),
            without.ns() / 1_000_000,
            with.ns() / 1_000_000
        );
        let help = format!(
            "the promise is to the first thread alone: --thread '{}' reserves for each of that name",
            regex::escape(most)
        );
        Some((message, help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(times: &[(&str, i64, bool)]) -> Option<String> {
        let used = times.iter().enumerate().map(|(index, &(name, ms, is_reserved))| {
            let (first, last) = (Duration::from_ms(5), Duration::from_ms(5 + ms));
            ((index as i32 + 7, 1), Used { name: name.to_owned(), first, last, is_reserved })
        });
        let work = Work { used: used.collect(), is_told: false };
        work.verdict().map(|(message, help)| format!("{message}: {help}"))
    }

    #[test]
    fn threads_that_do_the_work_are_named() {
        let said = after(&[("main", 3, true), ("worker.1", 90, false), ("worker.2", 120, false)]);
        let said = said.expect("they are named");
        assert!(said.contains("`worker.2` (9), `worker.1` (8) used 210 ms"), "{said}");
        assert!(said.contains("--thread 'worker\\.2'"), "{said}");
        // The first thread does as much, or no thread does much, or none has a reservation yet.
        assert_eq!(after(&[("main", 300, true), ("log", 120, false)]), None);
        assert_eq!(after(&[("main", 1, true), ("log", 99, false)]), None);
        assert_eq!(after(&[("main", 300, false), ("log", 120, false)]), None);
    }
}
