//! `layland trace check -p dl`: checks that threads under SCHED_DEADLINE got their reservations.

use super::document::{ReservationEvent, Reservations, ReservedThread};
use super::load::Loaded;
use super::show::for_people;
use crate::ui::exit::Exit;
use crate::ui::table;
use layland_checker::reservations::{
    Client, Judgement, Kept, Recorded, Reserved, ServerEvent, reservations,
};
use layland_model::{CpuId, Duration, System, Time, counted};

/// The largest number of breaches that are shown.
const MOST_SHOWN: usize = 20;

/// The verdicts on the threads of a set.
pub(super) struct Judged<'a> {
    system: &'a System,
    pub judgement: Judgement,
}

/// Judges the threads of the set, if any of them was under SCHED_DEADLINE.
pub(super) fn judge<'a>(
    loaded: &Loaded,
    system: &'a System,
    latency: Duration,
) -> Option<Judged<'a>> {
    if loaded.thread_events.is_empty() {
        return None;
    }
    let clients = system.tasks.iter().map(|(id, task)| Client {
        name: task.name.to_string(),
        reserved: Reserved {
            runtime: Duration::from_ns(task.reservation().ns()),
            deadline: task.deadline,
            period: task.period,
        },
        cpus: system.allowed_cpus(id),
        reclaims: task.reclaim,
    });
    let unknown: Vec<(CpuId, Time, Time)> = loaded
        .unrecorded
        .iter()
        .map(|missed| (missed.cpu, missed.after, missed.by.max(missed.after)))
        .collect();
    let recorded = Recorded {
        events: &loaded.thread_events,
        above: &loaded.above,
        others: &loaded.foreign,
        unknown: &unknown,
        over: loaded.trace.over,
        latency,
    };
    let clients = clients.collect();
    Some(Judged { system, judgement: reservations(&clients, &recorded, MOST_SHOWN) })
}

impl Judged<'_> {
    pub(super) fn exit(&self) -> Exit {
        if self.judgement.count > 0 {
            return Exit::No;
        }
        let is_unknown = |kept| kept == Kept::Unknown;
        if self.judgement.accounts.values().any(|account| is_unknown(account.verdict())) {
            Exit::Unknown
        } else {
            Exit::Yes
        }
    }

    /// Formats one line for each thread, followed by the breaches.
    pub(super) fn text(&self, ascii: bool, beyond: &str) -> String {
        let style = table::Style { ascii, colours: crate::ui::terminal::colours() };
        let rows = self.system.tasks.iter().map(|(id, task)| {
            let account = &self.judgement.accounts[id];
            let count = |count: u64| count.to_string();
            [
                task.name.to_string(),
                format!("{:#}/{:#}", Duration::from_ns(task.reservation().ns()), task.period),
                count(account.periods),
                count(account.served),
                count(account.short),
                if account.periods > 0 { format!("{:#}", account.most) } else { "-".to_owned() },
                count(account.throttled),
                count(account.passed_over),
                word(account.verdict()).to_owned(),
            ]
        });
        let headings = [
            "thread",
            "reserved",
            "periods",
            "served",
            "short",
            "most",
            "throttled",
            "passed over",
            "kept",
        ];
        let table = table::plain(headings, rows, style);
        let judgement = for_people(&self.judgement.to_string());
        let (first, rest) = match judgement.split_once('\n') {
            Some((first, rest)) => (first, format!("\n{rest}")),
            None => (judgement.as_str(), String::new()),
        };
        format!("{table}\n{first} of reservations{beyond}{rest}\n")
    }

    /// Returns the verdicts for JSON.
    pub(super) fn document(&self) -> Reservations<'_> {
        let threads = self.system.tasks.iter().map(|(id, task)| {
            let account = &self.judgement.accounts[id];
            ReservedThread {
                thread: &task.name,
                kept: word(account.verdict()),
                periods: account.periods,
                served: account.served,
                short: account.short,
                exceeded: account.exceeded,
                most_ns: account.most.ns(),
                throttled: account.throttled,
                replenished: account.replenished,
                passed_over: account.passed_over,
            }
        });
        let event = |event: &ServerEvent| ReservationEvent {
            at_ns: event.at.ns(),
            thread: &self.system.tasks[event.task].name,
            kind: if event.replenished.is_some() { "replenished" } else { "throttled" },
            deadline_ns: event.replenished.map(Time::ns),
        };
        Reservations {
            threads: threads.collect(),
            breaches: self.judgement.breaches.iter().map(ToString::to_string).collect(),
            count: self.judgement.count,
            events: self.judgement.events.iter().map(event).collect(),
        }
    }

    /// Describes what is unknown, for a warning.
    pub(super) fn doubts(&self) -> Option<String> {
        let unknown = self
            .judgement
            .accounts
            .iter()
            .filter(|(_, account)| account.verdict() == Kept::Unknown);
        let names: Vec<String> =
            unknown.map(|(id, _)| format!("`{}`", self.system.tasks[id].name)).collect();
        (!names.is_empty()).then(|| {
            let threads = counted(names.len(), "thread");
            format!("no server period of {threads} is certain: {}", names.join(", "))
        })
    }
}

fn word(kept: Kept) -> &'static str {
    match kept {
        Kept::Yes => "yes",
        Kept::No => "no",
        Kept::Unknown => "unknown",
    }
}
