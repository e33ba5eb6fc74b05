//! Real recordings in every dialect, a round trip, and damaged texts.

use super::*;
use layland_model::{Duration, Service, System, Task, TaskId, Time};
use layland_trace::testing::naive;
use layland_trace::{Labels, Trace};
use proptest::prelude::*;

const TRACEFS: &str = include_str!("../../tests/kernel/tracefs.txt");
const OVERWRITTEN: &str = include_str!("../../tests/kernel/tracefs-overwritten.txt");
const TRACE_CMD: &str = include_str!("../../tests/kernel/trace-cmd.txt");
const PLUGINS: &str = include_str!("../../tests/kernel/trace-cmd-plugins.txt");
const RAW: &str = include_str!("../../tests/kernel/trace-cmd-raw.txt");
const PERF: &str = include_str!("../../tests/kernel/perf.txt");

/// The recorded system: two SCHED_FIFO threads on CPU
/// 1, the second of which moves to CPU 0 in its job 1.
fn recorded() -> System {
    let task = |name, wcet, period| {
        Task::implicit(name, Service::from_us(wcet), Duration::from_ms(period))
    };
    System::new(2, vec![task("my task-1", 1_000, 5), task("<odd> b", 5_500, 10)])
}

fn of(system: &System) -> ReadOptions<'_> {
    ReadOptions { threads: Threads::Of(system), ..ReadOptions::default() }
}

#[test]
fn four_dialects_of_one_recording_say_the_same() {
    let system = recorded();
    let expected = read(TRACEFS, &of(&system)).unwrap();
    assert_eq!(expected.dialect, Dialect::Tracefs);
    assert!(expected.is_trustworthy() && !expected.is_inferred, "{:?}", expected.remarks);
    for (text, dialect) in [
        (TRACE_CMD, Dialect::TraceCmd),
        (PLUGINS, Dialect::TraceCmdPlugins),
        (RAW, Dialect::TraceCmdRaw),
    ] {
        let import = read(text, &of(&system)).unwrap();
        assert_eq!(import, Import { dialect, ..expected.clone() });
    }
}

/// Returns a recording of tracefs in the latency format: the CPU stands before its flags, and times
/// are microseconds since the first event.
fn in_latency_format(text: &str) -> String {
    let mut origin = None;
    let mut out = String::from("# nop latency trace v1.1.5 on 6.12.0\n");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (thread, rest) = line.split_once(" [").expect("a CPU");
        let (cpu, rest) = rest.split_once("] ").expect("a CPU");
        let (flags, rest) = rest.split_once(' ').expect("flags");
        let (time, event) = rest.trim_start().split_once(": ").expect("a time");
        let us = time.replace('.', "").parse::<i64>().expect("microseconds");
        let us = us - *origin.get_or_insert(us);
        let mark = [' ', '+', '!', '#'][us as usize % 4];
        let cpu: usize = cpu.parse().expect("a CPU");
        out += &format!("{thread}  {cpu}{flags} {us:4}us{mark}: {event}\n");
    }
    out
}

#[test]
fn the_latency_format_says_the_same() {
    let system = recorded();
    // The marks of a run name times of the kernel's clock, which this format does not have.
    let bare: String = (TRACEFS.lines().filter(|line| !line.contains("layland:")))
        .map(|line| format!("{line}\n"))
        .collect();
    let expected = read(&bare, &of(&system)).unwrap();
    let latency = read(&in_latency_format(&bare), &of(&system)).unwrap();
    assert_eq!(latency.trace, expected.trace);
    assert_eq!((latency.lost, latency.wakes), (expected.lost, expected.wakes));
    assert_eq!(latency.dialect, Dialect::Tracefs);
    // The mark, the time or the CPU is missing.
    for line in ["a-7 1d..2. 12us: sched_switch: x", "a-7 1d..2. us : y: z", "a-7 d..2. 1us : y: z"]
    {
        assert!(read(&format!("{line}\n"), &of(&system)).is_err(), "{line}");
    }
}

#[test]
fn a_recording_with_marks_is_exact() {
    let system = recorded();
    let import = read(TRACEFS, &of(&system)).unwrap();
    assert_eq!(import.origin_ns, 1_097_393_500_915);
    let ends: Vec<(u32, u64, i64, i64, i64)> = (import.trace.jobs.iter())
        .map(|record| {
            let at = |time: Time| time.ns() / 1000;
            let job = record.job;
            let end = record.completion().map_or(-1, at);
            (job.id.task.0, job.id.seq, at(job.arrival), end, record.executed.ns() / 1000)
        })
        .collect();
    assert_eq!(
        ends,
        [
            (0, 0, 0, 1109, 1042),
            (0, 1, 5000, 6036, 1004),
            (1, 0, 0, 7635, 5516),
            (0, 2, 10000, 11089, 1021),
            (1, 1, 10000, 16648, 5475),
            (1, 2, 20000, 25566, 5515),
        ]
    );
    // The second task was preempted once and moved once.
    let of_first: Vec<u32> = (import.trace.segments.iter())
        .filter(|segment| segment.job.task == TaskId(1))
        .map(|segment| segment.cpu.0)
        .collect();
    assert_eq!(of_first, [1, 1, 1, 0, 0]);
    // Six wake-ups for a job, and one by the thread that moved it.
    assert_eq!(import.wakes.len(), 7);
}

#[test]
fn without_marks_jobs_are_inferred_and_said_to_be() {
    let system = recorded();
    let import = read(PERF, &of(&system)).unwrap();
    assert_eq!(import.dialect, Dialect::Perf);
    assert!(import.is_inferred && import.is_trustworthy(), "{:?}", import.remarks);
    // The first job of each task is the execution of its thread before it first sleeps.
    let of_task = |task| import.trace.jobs.iter().filter(|r| r.job.id.task == TaskId(task)).count();
    assert_eq!((of_task(0), of_task(1)), (4, 4));
    // A migration (state D) does not end a job.
    let moved =
        import.trace.jobs.iter().find(|r| r.job.id == layland_trace::testing::id(1, 2)).unwrap();
    assert!(moved.executed > Service::from_us(5_400), "{moved:?}");

    // Without its marks, the other recording has the same jobs, up to microseconds.
    let bare: String = (TRACEFS.lines().filter(|line| !line.contains("layland:")))
        .map(|line| format!("{line}\n"))
        .collect();
    let inferred = read(&bare, &of(&system)).unwrap();
    assert!(inferred.is_inferred);
    let marked = read(TRACEFS, &of(&system)).unwrap();
    for record in &marked.trace.jobs {
        let mut id = record.job.id;
        id.seq += 1;
        let other = inferred.trace.jobs.iter().find(|other| other.job.id == id).unwrap();
        let difference = (other.executed - record.executed).ns().abs();
        assert!(difference < 60_000, "{id:?}: {difference}");
    }
}

#[test]
fn lost_events_are_counted_wherever_they_are_told() {
    let system = recorded();
    let overwritten = read(OVERWRITTEN, &of(&system)).unwrap();
    assert!(overwritten.lost > 0 && !overwritten.is_trustworthy());
    for (line, count) in [
        ("CPU:1 [LOST 12 EVENTS]", 12),
        ("CPU:0 [73 EVENTS DROPPED]", 73),
        ("CPU:0 [EVENTS DROPPED]", 1),
        ("# cpu1 overrun: 5", 5),
        ("dropped events: 4", 4),
        ("  perf 12 PERF_RECORD_LOST lost 9", 9),
    ] {
        let import = read(&format!("{TRACEFS}{line}\n"), &of(&system)).unwrap();
        assert_eq!((import.lost, import.unknown_lines), (count, 0), "{line}");
    }
    // A missing switch is detected even if the trace does not report a loss.
    let switch = TRACEFS.lines().position(|line| line.contains("next_comm=<odd> b")).unwrap();
    let without: String = (TRACEFS.lines().enumerate().filter(|&(index, _)| index != switch))
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    assert!(read(&without, &of(&system)).unwrap().lost > 0);
}

#[test]
fn a_switch_out_of_an_idle_cpu_need_not_be_told() {
    let wake =
        |at| format!("<idle>-0 [001] d.h3. 1.{at}: sched_waking: comm=odd pid=7 prio=9 x=1\n");
    let on = |at| {
        format!(
            "<idle>-0 [001] d..2. 1.{at}: sched_switch: prev_comm=swapper/1 prev_pid=0 \
             prev_prio=120 prev_state=R ==> next_comm=odd next_pid=7 next_prio=9\n"
        )
    };
    let off = |at| {
        format!(
            "odd-7 [001] d..2. 1.{at}: sched_switch: prev_comm=odd prev_pid=7 prev_prio=9 \
             prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n"
        )
    };
    let is_odd = |name: &str, _| name == "odd";
    let options = ReadOptions { threads: Threads::Where(&is_odd), ..ReadOptions::default() };
    let told = wake("000100") + &on("000107") + &off("000300") + &wake("000400") + &off("000600");
    let import = read(&told, &options).unwrap();
    let missed = |import: &Import| -> Vec<(i64, i64)> {
        let of = |missed: &Unrecorded| (missed.after.ns(), missed.by.ns());
        import.unrecorded.iter().map(of).collect()
    };
    assert_eq!((import.lost, missed(&import)), (0, vec![(300_000, 500_000)]));
    assert!(import.remarks[0].contains("began on CPU 1 after `swapper/1` between 1.000400 s"));
    let executed: Vec<i64> = import.trace.jobs.iter().map(|job| job.executed.ns()).collect();
    assert_eq!(executed, [193_000, 200_000]);
    assert_eq!(import.wakes.len(), 1, "nobody knows when the second job began");
    // Without its wake-up, the start of the second job is unknown;
    // it must not appear to have run since the first one.
    let unwoken = told.replace(&wake("000400"), "");
    let import = read(&unwoken, &options).unwrap();
    assert_eq!((import.lost, missed(&import)), (0, vec![(200_000, 500_000)]));
    let executed: Vec<i64> = import.trace.jobs.iter().map(|job| job.executed.ns()).collect();
    assert_eq!(executed, [193_000, 0]);
    // At the earliest it has run since the end of the
    // first job, and at the latest it has just begun.
    for (begins, second) in [(Begins::Earliest, 300_000), (Begins::Latest, 0)] {
        let import = read(&unwoken, &ReadOptions { begins, ..options }).unwrap();
        let executed: Vec<i64> = import.trace.jobs.iter().map(|job| job.executed.ns()).collect();
        assert_eq!(executed, [193_000, second], "{begins:?}");
    }
    // The same holds for a thread other than the idle one, if the trace never shows it leaving. If
    // the trace does elsewhere, the missing switch is a loss.
    let other = told
        .replace("next_comm=swapper/1 next_pid=0", "next_comm=other next_pid=8")
        .replace("<idle>-0 [001] d.h3. 1.000400", "other-8 [001] d.h3. 1.000400");
    let import = read(&other, &options).unwrap();
    assert_eq!((import.lost, import.unrecorded.len()), (0, 1));
    assert_eq!(import.unrecorded[0].from, "other");
    assert_eq!(never_left(&other).unwrap(), [(1, "other".to_owned(), 8)]);
    let leaves = other
        + "other-8 [001] d..2. 1.000700: sched_switch: prev_comm=other prev_pid=8 prev_prio=120 \
           prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n";
    let import = read(&leaves, &options).unwrap();
    assert_eq!((import.lost, import.unrecorded.len()), (1, 0));
    let said = "1 switch does not fit the one before it: at 1.000600 s `odd` leaves CPU 1, which `other` had";
    assert_eq!(import.remarks, [said]);
}

#[test]
fn threads_are_chosen_by_set_by_mark_or_by_filter() {
    let by_mark = read(TRACEFS, &ReadOptions::default()).unwrap();
    assert_eq!(by_mark.labels.tasks.as_slice(), ["my task-1", "<odd> b"]);
    assert_eq!(by_mark.trace.jobs[0].job.deadline, Time::from_ns(NO_DEADLINE.ns()));
    let odd = |comm: &str, _pid: u32| comm.starts_with('<');
    let by_name =
        read(TRACEFS, &ReadOptions { threads: Threads::Where(&odd), ..ReadOptions::default() })
            .unwrap();
    assert_eq!(by_name.labels.tasks.as_slice(), ["<odd> b"]);
    assert_eq!(by_name.trace.jobs.len(), 3);
    let pid = |_: &str, pid: u32| pid == 31947;
    let by_pid =
        read(TRACEFS, &ReadOptions { threads: Threads::Where(&pid), ..ReadOptions::default() })
            .unwrap();
    assert_eq!(by_pid.labels.tasks.as_slice(), ["my task-1"]);

    let none = |_: &str, _: u32| false;
    let error =
        read(TRACEFS, &ReadOptions { threads: Threads::Where(&none), ..ReadOptions::default() })
            .unwrap_err();
    assert!(error.help().contains("`my task-1` (31947)"), "{}", error.help());
    let other =
        System::new(1, vec![Task::implicit("x", Service::from_ms(1), Duration::from_ms(5))]);
    assert!(read(TRACEFS, &of(&other)).unwrap_err().help().contains("the set has `x`"));
    let long = |end: &str| {
        Task::implicit(
            format!("a-name-that-is-long-{end}"),
            Service::from_ms(1),
            Duration::from_ms(5),
        )
    };
    let same = System::new(1, vec![long("1"), long("2")]);
    assert!(matches!(read(TRACEFS, &of(&same)), Err(ReadError::SameComm { .. })));
}

#[test]
fn marks_may_tell_times_of_the_run() {
    let system = recorded();
    let relative = TRACEFS.replace("t=10973", "t=3").replace("t=10974", "t=4");
    let import = read(&relative, &of(&system)).unwrap();
    // The first `release` was written 105.085 us late,
    // and no other earlier, so all times are off by that.
    let arrivals: Vec<i64> =
        import.trace.jobs.iter().map(|record| record.job.arrival.ns()).collect();
    assert_eq!(arrivals.len(), 6);
    assert!(import.is_trustworthy());
    assert!(import.trace.segments.iter().all(|segment| segment.end <= import.trace.over));
}

#[test]
fn what_is_no_trace_is_answered() {
    assert_eq!(
        read("", &ReadOptions::default()),
        Err(ReadError::NoEvents { first_unknown_line: None })
    );
    let other = "hello\nworld\n";
    assert_eq!(
        read(other, &ReadOptions::default()),
        Err(ReadError::NoEvents { first_unknown_line: Some(1) })
    );
    let without_cpu = "  a 7   1.000001: sched:sched_waking: comm=b pid=8 prio=1 target_cpu=000";
    assert_eq!(read(without_cpu, &ReadOptions::default()), Err(ReadError::NoCpu { line: 1 }));
}

/// Names that could make a parser misread a line.
const NAMES: [&str; 8] =
    ["a", "two words", "dash-7", "<...>x", "[000] 1.0:", "x ==> y", "a prev_pid=3", "b:7 [1]"];

/// Only the trace of a page of systrace is read, in both forms of such pages.
#[test]
fn a_trace_in_a_page_is_read_alone() {
    let system = recorded();
    let alone = read(TRACEFS, &of(&system)).unwrap();
    let head = "<!DOCTYPE html>\n<html>\n<body>\n<script>\nvar a = 1;\n</script>\n";
    let script = format!(
        "{head}<script class=\"trace-data\" type=\"application/text\">\n{TRACEFS}</script>\n</html>\n"
    );
    let lines = TRACEFS.lines().map(|line| format!("{line}\\n\\\n")).collect::<String>();
    let string = format!("{head}<script>\nvar data = \"\\\n{lines}\\n\";\n</script>\n</html>\n");
    // The tag may be indented, or follow the last event, and other scripts may have other data.
    let other = "<script class=\"trace-data\">\n{\"traceEvents\": []}\n</script>\n";
    let indented = script.replace("</script>\n</html>", &format!("  </script>\n{other}</html>"));
    let at_end = script.replace("\n</script>\n</html>", "</script>\n</html>");
    for page in [script, indented, at_end, string] {
        let import = read(&page, &of(&system)).unwrap();
        assert!(import.is_trustworthy(), "{:?}", import.remarks);
        assert_eq!(import.trace, alone.trace);
        assert_eq!(import.remarks, alone.remarks);
    }
}

#[test]
fn odd_names_are_read_whole() {
    for (index, name) in NAMES.iter().enumerate() {
        let task = Task::implicit(*name, Service::from_ns(2), Duration::from_ns(5));
        let system = System::new(1, vec![task]);
        let (_, trace) = naive(1, &[(2, 5)], 20);
        let text = write(&trace, &Labels::of(&system), 7_000_000_000);
        let import = read(&text, &of(&system)).unwrap();
        assert_eq!(import.trace, trace, "{index}: {name}\n{text}");
    }
}

proptest! {
    /// A schedule that is written as kernel text is the same when it is read.
    #[test]
    fn a_schedule_survives_the_kernels_text(
        cpus in 1usize..4,
        tasks in prop::collection::vec((1i64..5, 5i64..12), 1..5),
        over in 1i64..60,
        start in 0i64..1_000_000_000_000,
    ) {
        let (mut system, trace) = naive(cpus, &tasks, over);
        for (index, task) in system.tasks.values_mut().enumerate() {
            task.name = format!("{index} {}", task.name).into();
        }
        let text = write(&trace, &Labels::of(&system), start);
        let import = read(&text, &of(&system)).unwrap();
        prop_assert!(import.is_trustworthy(), "{:?}\n{}", import.remarks, text);
        let sorted = |mut trace: Trace| {
            trace.jobs.sort_by_key(|record| record.job.id);
            trace
        };
        prop_assert_eq!(sorted(import.trace), sorted(trace));
    }

    /// No text causes a panic, and the result can be drawn, summarized, checked and written.
    #[test]
    fn damaged_texts_are_answered(
        sample in 0usize..6,
        damage in prop::collection::vec(
            (any::<prop::sample::Index>(), prop_oneof![
                any::<u8>(), Just(b'='), Just(b' '), Just(b'['), Just(b':'), Just(b'-'), b'0'..=b'9',
            ]),
            0..40,
        ),
        lines in prop::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..6),
        cut in any::<prop::sample::Index>(),
        by_mark in any::<bool>(),
    ) {
        let text = [TRACEFS, OVERWRITTEN, TRACE_CMD, PLUGINS, RAW, PERF][sample];
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut.index(bytes.len()) / 4);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut all: Vec<&str> = text.lines().collect();
        for (a, b) in lines {
            let (a, b) = (a.index(all.len()), b.index(all.len()));
            all.swap(a, b);
        }
        exercise(&all.join("\n"), by_mark);
    }
}

/// Reads a text and processes the result in the same ways as the commands do.
fn exercise(text: &str, by_mark: bool) {
    let system = recorded();
    let options = if by_mark { ReadOptions::default() } else { of(&system) };
    let Ok(import) = read(text, &options) else { return };
    let mut statistics = layland_trace::Statistics::default();
    import.trace.replay(&mut statistics);
    let _ = statistics.summary(&import.labels);
    let _ = layland_checker::check(&import.trace, &system, &layland_model::ScheduleRule::None, 10);
    let view = layland_chart::gantt::View::interesting(&import.trace, &import.labels);
    let _ = view.text(&layland_chart::gantt::TextOptions::default());
    let mut json = Vec::new();
    layland_trace::json::write_json(&mut json, &import.trace, &import.labels, None).unwrap();
    let (again, _) = layland_trace::json::read_json(json.as_slice()).unwrap();
    assert_eq!(again, import.trace);
    let _ = write(&import.trace, &import.labels, import.origin_ns);
}

/// A thread whose budget is too small is always behind: it is throttled and never sleeps.
#[test]
fn a_thread_that_never_sleeps_has_one_long_job() {
    let mut text = String::new();
    for k in 0..100 {
        let at = |us: i64| {
            format!("{}.{:06}", (k * 10_000 + us) / 1_000_000, (k * 10_000 + us) % 1_000_000)
        };
        text += &format!(
            "<idle>-0 [000] d..2. {}: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=motor next_pid=7 next_prio=-1\n\
             motor-7 [000] d..2. {}: sched_switch: prev_comm=motor prev_pid=7 prev_prio=-1 prev_state=R ==> next_comm=swapper/0 next_pid=0 next_prio=120\n",
            at(0),
            at(500)
        );
    }
    let mut counter = JobCounter::default();
    counter.follow(7);
    let mut counted = counter.read(&text);
    counted.extend(counter.finish());
    let used_up = counted.iter().filter(|one| matches!(one, Counted::BudgetUsedUp { thread: 7 }));
    assert_eq!(used_up.count(), 100);
    let jobs: Vec<Duration> = counted
        .iter()
        .filter_map(|one| match one {
            Counted::Job { response, .. } => Some(*response),
            Counted::BudgetUsedUp { .. } => None,
        })
        .collect();
    assert_eq!(jobs, [Duration::from_us(990_500)]);
}
