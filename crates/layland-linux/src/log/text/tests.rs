//! What is written, what is documented and what is read are the same.

use super::*;
use layland_model::{Criticality, MoveReason};
use std::collections::BTreeSet;

/// One entry of each kind, with the word of its line.
fn all(reason: u32) -> Vec<(&'static str, Entry)> {
    let (cpu, task, id) = (CpuId(1), TaskId(2), TimerId(3));
    let (request, index) = (RequestId(4), 5);
    let job = JobId { task, seq: 6 };
    let [release, arrival, since, until, end, at] = [7, 8, 9, 10, 11, 12].map(Time::from_ns);
    let deadline = Time::from_ns(13);
    let [executed, used, got] = [14, 15, 16].map(Service::from_ns);
    let speed = Speed::new(&Rate::new(1, 2)).unwrap();
    let (from, to, why) = (CpuId(0), CpuId(1), MoveReason::Pushed);
    let entries = vec![
        Entry::Online { cpu },
        Entry::Offline { cpu },
        Entry::Join { task, request },
        Entry::Leave { task },
        Entry::Asks { index, request },
        Entry::Arrival { job, release, deadline },
        Entry::Release { job, release, deadline },
        Entry::Completion { job, cpu, then: AfterJob::Yields },
        Entry::Budget { job, cpu },
        Entry::Timer { id },
        Entry::Measured { job, executed },
        Entry::Decide { actions: 17, cost_ns: 18 },
        Entry::Run { cpu, job, budget: None },
        Entry::Idle { cpu },
        Entry::SetTimer { id, at },
        Entry::ClearTimer { id },
        Entry::Abort { job },
        Entry::EndJob { job },
        Entry::SetDates { job, release, deadline },
        Entry::SetSpeed { cpu, speed },
        Entry::Note(Note::Moved { task, from, to, why }),
        Entry::Note(Note::Throttled { task }),
        Entry::Note(Note::Replenished { task, deadline }),
        Entry::Note(Note::Indicator { cpu, level: Criticality(1) }),
        Entry::Note(Note::Unlisted { task }),
        Entry::Refuse { request, reason },
        Entry::Asked { job, arrival, demand: Some(used) },
        Entry::On { cpu, job, since },
        Entry::Off { cpu, job, used, until },
        Entry::Leaked { job, got },
        Entry::Done { job, end, used },
        Entry::Dropped { job, aborted: true },
        Entry::Granted { index },
        Entry::Refused { index, reason },
        Entry::TurnedAway { task, reason },
        Entry::NeverReady { job, arrival, release, deadline },
        Entry::Over { interrupted: false },
    ];
    entries.into_iter().map(|entry| (word(&entry), entry)).collect()
}

/// A new kind of entry needs a word here, an entry in the list, and a line in the documentation.
fn word(entry: &Entry) -> &'static str {
    match entry {
        Entry::Online { .. } => "online",
        Entry::Offline { .. } => "offline",
        Entry::Join { .. } => "join",
        Entry::Leave { .. } => "leave",
        Entry::Asks { .. } => "asks",
        Entry::Arrival { .. } => "arrive",
        Entry::Release { .. } => "release",
        Entry::Completion { .. } => "complete",
        Entry::Budget { .. } => "budget",
        Entry::Timer { .. } => "timer",
        Entry::Measured { .. } => "measured",
        Entry::Decide { .. } => "decide",
        Entry::Run { .. } => "> run",
        Entry::Idle { .. } => "> idle",
        Entry::SetTimer { .. } => "> set",
        Entry::ClearTimer { .. } => "> clear",
        Entry::Abort { .. } => "> abort",
        Entry::EndJob { .. } => "> end",
        Entry::SetDates { .. } => "> dates",
        Entry::SetSpeed { .. } => "> speed",
        Entry::Note(Note::Moved { .. }) => "> moved",
        Entry::Note(Note::Throttled { .. }) => "> throttled",
        Entry::Note(Note::Replenished { .. }) => "> replenished",
        Entry::Note(Note::Indicator { .. }) => "> indicator",
        Entry::Note(Note::Unlisted { .. }) => "> unlisted",
        Entry::Refuse { .. } => "> refuse",
        Entry::Asked { .. } => "# asked",
        Entry::On { .. } => "# on",
        Entry::Off { .. } => "# off",
        Entry::Leaked { .. } => "# leaked",
        Entry::Done { .. } => "# done",
        Entry::Dropped { .. } => "# dropped",
        Entry::Granted { .. } => "# granted",
        Entry::Refused { .. } => "# refused",
        Entry::TurnedAway { .. } => "# outside",
        Entry::NeverReady { .. } => "# unready",
        Entry::Over { .. } => "# over",
    }
}

#[test]
fn every_line_that_is_written_is_documented_and_read_back() {
    let rows = include_str!("../text.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
    let names = rows.map(|row| row.split_once("` | ").expect("a row has two cells").0);
    let documented: BTreeSet<&str> = names.flat_map(|names| names.split("`, `")).collect();

    let refusal = Refusal { kind: RefusalKind::Busy, reason: "too\nmuch \\ here".to_owned() };
    let mut log = Log::default();
    let reason = log.refusal(&refusal);
    let mut written = BTreeSet::new();
    for (word, entry) in all(reason) {
        let record = Record { at: Time::from_ns(20), entry };
        let mut line = Vec::new();
        write_record(&mut line, record, &log).unwrap();
        let line = std::str::from_utf8(&line).unwrap();
        assert!(line.starts_with(&format!("20 {word} ")), "{line}");
        let read = Words::of(line.strip_suffix('\n').unwrap()).record(&mut log);
        assert_eq!(read, Some(record), "{line}");
        written.insert(word);
    }
    assert_eq!(written, documented);
    assert_eq!(log.refusals, [refusal]);
}
