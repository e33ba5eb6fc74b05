//! A written document reads back; a damaged one is rejected.

use super::*;
use crate::testing::{at, id, naive};
use crate::{Errno, Foreign, JobEnd, LockMark, Lost, MarkKind, Scratch, Statistics, ThreadEvent};
use layland_model::{Criticality, Duration, MoveReason, Note, Rate, Speed, System};
use proptest::prelude::*;

fn full() -> (Trace, System) {
    let (system, mut trace) = naive(2, &[(2, 4), (3, 5), (5, 6)], 23);
    trace.segments[0].overhead = Duration::from_ns(1);
    trace.jobs[0].end = Some((at(2), JobEnd::Aborted));
    trace.jobs[1].end = Some((at(3), JobEnd::Left));
    let note = |ns, note| Mark { at: at(ns), kind: MarkKind::Note(note) };
    trace.marks = vec![
        Mark { at: at(1), kind: MarkKind::CpuOffline(CpuId(1)) },
        Mark { at: at(2), kind: MarkKind::CpuOnline(CpuId(1)) },
        Mark { at: at(3), kind: MarkKind::BudgetExhausted(id(2, 7), CpuId(0)) },
        Mark {
            at: at(4),
            kind: MarkKind::Note(Note::Moved {
                task: TaskId(1),
                from: CpuId(0),
                to: CpuId(1),
                why: MoveReason::Pulled,
            }),
        },
        note(5, Note::Throttled { task: TaskId(0) }),
        Mark {
            at: at(5),
            kind: MarkKind::Speed(CpuId(1), Speed::new(&Rate::new(63, 100)).unwrap()),
        },
        note(6, Note::Replenished { task: TaskId(0), deadline: at(9) }),
        note(7, Note::Indicator { cpu: CpuId(1), level: Criticality(2) }),
        note(7, Note::Unlisted { task: TaskId(1) }),
    ];
    trace.answers = vec![
        Answer {
            at: at(4),
            request: "a \"quoted\" request".to_owned(),
            entering: None,
            refused: None,
            errno: None,
        },
        Answer {
            at: at(5),
            request: "join".to_owned(),
            entering: None,
            refused: Some("full".to_owned()),
            errno: Some(Errno::Busy),
        },
    ];
    trace.interrupted = true;
    (trace, system)
}

fn written(trace: &Trace, labels: &Labels, summary: Option<&Summary>) -> String {
    let mut text = Vec::new();
    write_json(&mut text, trace, labels, summary).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_trace_reads_back_as_written() {
    let (trace, system) = full();
    let mut labels = Labels::of(&system);
    let mut statistics = Statistics::default();
    trace.replay(&mut statistics);
    let summary = statistics.summary(&labels);
    for summary in [None, Some(&summary)] {
        labels.levels = summary.map_or(Vec::new(), |_| vec!["LO".to_owned(), "\"HI\"".to_owned()]);
        let text = written(&trace, &labels, summary);
        assert_eq!(read_json(text.as_bytes()).unwrap(), (trace.clone(), labels.clone()));
        serde_json::from_str::<IgnoredAny>(&text).unwrap();
    }
}

/// The schema has the kinds of the samples, and no others.
#[test]
fn every_kind_of_mark_has_a_sample() {
    // A new kind does not compile here until it has a place, and then needs a sample.
    let place = |kind: &MarkKind| match kind {
        MarkKind::BudgetExhausted(..) => 0,
        MarkKind::CpuOnline(_) => 1,
        MarkKind::CpuOffline(_) => 2,
        MarkKind::Speed(..) => 3,
        MarkKind::Lock(_, _, LockMark::Requested) => 4,
        MarkKind::Lock(_, _, LockMark::Granted) => 5,
        MarkKind::Lock(_, _, LockMark::Unlocked) => 6,
        MarkKind::Suspended(_) => 7,
        MarkKind::Resumed(_) => 8,
        MarkKind::Note(Note::Moved { .. }) => 9,
        MarkKind::Note(Note::Throttled { .. }) => 10,
        MarkKind::Note(Note::Replenished { .. }) => 11,
        MarkKind::Note(Note::Indicator { .. }) => 12,
        MarkKind::Note(Note::Unlisted { .. }) => 13,
    };
    let samples = MarkKind::samples();
    let places: Vec<usize> = samples.iter().map(place).collect();
    assert_eq!(places, (0..samples.len()).collect::<Vec<_>>());
    assert_eq!(samples.len(), 14);
    for kind in samples {
        let text = serde_json::to_string(&Described::from(kind.describe())).unwrap();
        let described: Described = serde_json::from_str(&text).unwrap();
        assert_eq!(described.read("mark", MarkKind::read), Ok(kind));
    }
}

#[test]
fn wrong_documents_are_refused() {
    let (trace, system) = full();
    let text = written(&trace, &Labels::of(&system), None);
    for (from, to, message) in [
        ("\"version\":1", "\"version\":2", "version 2 of the schema"),
        ("\"unit\":\"ns\"", "\"unit\":\"ms\"", "unknown variant `ms`"),
        ("\"over\"", "\"oven\"", "unknown field `oven`"),
        ("\"cpus\":2", "\"cpus\":1", "names CPU 1, but has 1 CPUs"),
        ("\"task\":2", "\"task\":3", "names task 3, but has 3 tasks"),
        ("\"how\":\"aborted\",", "", "both `end` and `how`"),
        ("\"arrival\":0", "\"arrival\":-1", "a time of -1ns"),
        ("\"seq\":7,", "", "a mark of kind `budget_exhausted` has a `seq`: a whole"),
        (
            "\"why\":\"pulled\"",
            "\"why\":\"sent\"",
            "has a `why`: placed, pushed, pulled or expelled",
        ),
        ("\"speed\":\"63/100\"", "\"speed\":63", "has a `speed`: a positive fraction"),
        ("\"level\":2", "\"level\":256", "has a `level`: a whole number in range"),
        ("\"level\":2", "\"level\":2,\"seq\":1", "a mark of kind `indicator` has no `seq`"),
        ("\"kind\":\"throttled\"", "\"kind\":\"tired\"", "no mark is called `tired`"),
        ("]}", "]", "EOF"),
    ] {
        let error = read_json(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(message), "{message}: {error}");
    }
}

proptest! {
    #[test]
    fn any_schedule_reads_back(
        cpus in 1usize..4,
        tasks in prop::collection::vec((1i64..5, 5i64..12), 0..5),
        over in 0i64..60,
    ) {
        let (system, trace) = naive(cpus, &tasks, over);
        let labels = Labels::of(&system);
        let text = written(&trace, &labels, None);
        prop_assert_eq!(read_json(text.as_bytes()).unwrap(), (trace, labels));
    }

    /// A document that is not a trace any more is an error, and never causes a panic.
    #[test]
    fn damaged_documents_are_answered(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let (trace, system) = full();
        let mut bytes = written(&trace, &Labels::of(&system), None).into_bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read_json(bytes.as_slice());
        bytes.truncate(cut.index(bytes.len()));
        prop_assert!(read_json(bytes.as_slice()).is_err());
    }
}

/// The document that is written during a run equals that of the whole trace, with or without
/// temporary files.
#[test]
fn a_reported_run_is_written_as_its_trace() {
    let (trace, system) = full();
    let labels = Labels::of(&system);
    let over = (trace.over, trace.interrupted);
    let mut statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
    trace.replay(&mut statistics);
    let summary = statistics.summary(&labels);
    let mut whole = Vec::new();
    write_json(&mut whole, &trace, &labels, Some(&summary)).unwrap();
    for room in [0, 100, 1000, usize::MAX] {
        let scratch = Scratch::in_folder(&std::env::temp_dir(), room);
        let mut writer = JsonWriter::new(Vec::new(), &labels, over, Some(&summary), &scratch);
        trace.replay(&mut writer);
        assert_eq!(String::from_utf8(writer.finish().unwrap()), String::from_utf8(whole.clone()));
    }
}

/// A full disk is an error at the end, not before.
#[test]
fn what_cannot_be_written_is_told() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let (trace, system) = full();
    let (labels, over) = (Labels::of(&system), (trace.over, trace.interrupted));
    for room in [0, 10, 200, 400] {
        let mut writer = JsonWriter::new(Full(room), &labels, over, None, &Scratch::memory());
        trace.replay(&mut writer);
        let error = writer.finish().err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{room}");
    }
}

fn recorded() -> Recorded {
    let foreign = |start: i64| Foreign {
        cpu: CpuId(1),
        start: Time::from_ns(start),
        end: at(3),
        thread: "kworker \"1\"".to_owned(),
    };
    let event = |ns: i64, kind| ThreadEvent { at: Time::from_ns(ns), task: TaskId(1), kind };
    Recorded {
        by: "ftrace".to_owned(),
        is_of_kernel: true,
        is_inferred: true,
        is_trustworthy: false,
        origin_ns: 1_000_000_007,
        since: Some(at(1)),
        until: Some(at(22)),
        lost_events: 23,
        unrecorded_switches: 2,
        remarks: vec!["23 events are lost".to_owned()],
        // A record may begin before the run.
        foreign: vec![foreign(-4), foreign(2)],
        above: vec![foreign(1)],
        thread_events: vec![
            event(-3, ThreadEventKind::WokeUp),
            event(1, ThreadEventKind::GotCpu { cpu: CpuId(1), was_free: true }),
            event(2, ThreadEventKind::LostCpu(Lost::Preempted)),
            event(3, ThreadEventKind::LostCpu(Lost::Throttled)),
            event(4, ThreadEventKind::LostCpu(Lost::Slept)),
            event(5, ThreadEventKind::Unknown),
        ],
    }
}

#[test]
fn how_a_trace_was_recorded_reads_back() {
    let (trace, system) = full();
    let labels = Labels::of(&system);
    let text = |recorded: Option<&Recorded>| {
        let mut text = Vec::new();
        write_json_recorded(&mut text, &trace, &labels, None, recorded).unwrap();
        String::from_utf8(text).unwrap()
    };
    let unknown = Recorded { since: None, until: None, ..Recorded::default() };
    for how in [Some(recorded()), Some(unknown), None] {
        let read = read_json_recorded(text(how.as_ref()).as_bytes()).unwrap();
        assert_eq!(read, (trace.clone(), labels.clone(), how));
    }
    assert_eq!(text(None), written(&trace, &labels, None));
    let with = text(Some(&recorded()));
    for (from, to, why) in [
        ("\"cpu\":1,\"start\":-4", "\"cpu\":9,\"start\":-4", "the trace names CPU 9"),
        (
            "\"task\":1,\"event\":\"slept\"",
            "\"task\":9,\"event\":\"slept\"",
            "the trace names task 9",
        ),
        ("\"start\":-4", "\"start\":-9223372036854775808", "no run is that long"),
        ("\"event\":\"slept\"", "\"event\":\"slept\",\"cpu\":1", "of no other"),
        ("\"kernel\":true", "\"kernel\":true,\"more\":1", "unknown field `more`"),
    ] {
        assert!(with.contains(from), "{with}");
        let error = read_json_recorded(with.replace(from, to).as_bytes()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}
