//! Charts of small schedules compared with files, and charts of arbitrary traces without panics.

use super::words::Nanoseconds;
use super::*;
use layland_model::{CpuId, Criticality, Duration, Note, ResourceId, Service, TaskId, Time};
use layland_trace::testing::{at, id, naive, segment, stretched};
use layland_trace::{Job, JobEnd, JobRecord, Labels, LockMark, Mark, MarkKind, Trace};

const MS: i64 = 1_000_000;

fn schedule(cpus: usize, tasks: &[(i64, i64)], over: i64, names: &[&str]) -> (Trace, Labels) {
    let (_, trace) = naive(cpus, tasks, over);
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    (stretched(trace, MS), Labels { tasks: names.into(), cpus, ..Labels::default() })
}

const NAMES: [&str; 5] = ["camera", "lidar", "fusion", "planner", "logger"];

/// Five tasks on two CPUs that meet their deadlines, with preemptions and migrations.
fn feasible() -> (Trace, Labels) {
    schedule(2, &[(1, 4), (2, 5), (3, 10), (5, 20), (4, 20)], 40, &NAMES)
}

/// The tasks of [`feasible`] with overload, an overhead, an abort and a CPU that goes offline.
fn overloaded() -> (Trace, Labels) {
    let (mut trace, labels) = schedule(2, &[(2, 4), (3, 5), (4, 10), (6, 20), (4, 20)], 40, &NAMES);
    for segment in trace.segments.iter_mut().filter(|segment| segment.job.task == TaskId(1)) {
        segment.overhead = Duration::from_ns(MS / 2);
    }
    let last = trace.jobs.iter_mut().rev().find(|record| record.end.is_some()).unwrap();
    last.end = last.end.map(|(at, _)| (at, JobEnd::Aborted));
    trace.marks = vec![
        Mark { at: at(36 * MS), kind: MarkKind::CpuOffline(CpuId(1)) },
        Mark { at: at(39 * MS), kind: MarkKind::CpuOnline(CpuId(1)) },
    ];
    trace.segments.retain(|segment| segment.cpu.0 == 0 || segment.end <= at(36 * MS));
    (trace, labels)
}

/// A set whose CPU 0 twice runs only critical jobs for some time, once for a moment.
fn critical() -> (Trace, Labels) {
    let (mut trace, mut labels) = schedule(2, &[(1, 4), (2, 5), (3, 10)], 40, &NAMES[..3]);
    labels.levels = ["LO", "MID", "HI"].map(str::to_owned).to_vec();
    let level = |ns, level| Mark {
        at: at(ns),
        kind: MarkKind::Note(Note::Indicator { cpu: CpuId(0), level }),
    };
    trace.marks = [(8 * MS, 1), (11 * MS, 2), (19 * MS, 0), (30 * MS, 2), (30 * MS + 1, 0)]
        .map(|(ns, value)| level(ns, Criticality(value)))
        .to_vec();
    (trace, labels)
}

/// A camera that holds a resource, suspends itself and waits for the CPU; a lidar that spins for
/// that resource, and waits for another one off its CPU; a fusion task that is preempted.
fn locking() -> (Trace, Labels) {
    let ms = |ms: i64| at(ms * MS);
    let run = |task, cpu, from: i64, to: i64| segment(id(task, 0), cpu, from * MS, to * MS);
    let job = |task, end| {
        let job = Job { id: id(task, 0), arrival: ms(0), release: ms(0), deadline: ms(16) };
        JobRecord { job, end: Some((ms(end), JobEnd::Completed)), executed: Service::ZERO }
    };
    let lock =
        |at, task, resource, what| (at, MarkKind::Lock(id(task, 0), ResourceId(resource), what));
    let [asks, gets, gives] = [LockMark::Requested, LockMark::Granted, LockMark::Unlocked];
    let marks = [
        lock(1, 0, 0, asks),
        lock(1, 0, 0, gets),
        lock(2, 1, 0, asks),
        lock(4, 0, 0, gives),
        (4, MarkKind::Suspended(id(0, 0))),
        lock(4, 1, 0, gets),
        lock(5, 1, 0, gives),
        lock(6, 1, 12, asks),
        (8, MarkKind::Resumed(id(0, 0))),
        lock(9, 1, 12, gets),
        lock(10, 1, 12, gives),
    ];
    let trace = Trace {
        jobs: vec![job(1, 11), job(0, 12), job(2, 14)],
        segments: vec![
            run(0, 0, 0, 4),
            // The job spins, without progress, for 2 ms of 6.
            layland_trace::Segment { overhead: Duration::from_ms(2), ..run(1, 1, 0, 6) },
            run(2, 0, 4, 10),
            run(1, 1, 9, 11),
            run(0, 0, 10, 12),
            run(2, 0, 12, 14),
        ],
        marks: marks.map(|(at, kind)| Mark { at: ms(at), kind }).to_vec(),
        over: ms(16),
        ..Trace::default()
    };
    let names: Vec<String> = NAMES[..3].iter().map(|&name| name.to_owned()).collect();
    (trace, Labels { tasks: names.into(), cpus: 2, ..Labels::default() })
}

/// Fifty tasks on eight CPUs.
fn large() -> (Trace, Labels) {
    let tasks: Vec<(i64, i64)> = (0..50)
        .map(|index: i64| {
            let period = [20, 25, 40, 50, 80, 100][(index * 7 % 6) as usize] + index % 3;
            ((period * (10 + index * 5 % 14) / 100).max(1), period)
        })
        .collect();
    let names: Vec<String> = (0..50).map(|index| format!("task-{index:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    schedule(8, &tasks, 300, &names)
}

/// Draws with a fixed window and fixed sizes, independent of the defaults.
fn text(view: View, rows: Rows, charset: Charset) -> String {
    let colours = Colours::Never;
    view.text(&TextOptions { width: 90, rows, charset, colours, max_rows: 24 })
}
fn svg(view: View, title: &str) -> String {
    let title = Some(title.to_owned());
    view.svg(&SvgOptions { width: 900, rows: Rows::Both, title, max_rows: 24 })
}

#[test]
fn charts_are_as_recorded() {
    let sets = [
        ("feasible", feasible()),
        ("overloaded", overloaded()),
        ("critical", critical()),
        ("locking", locking()),
    ];
    for (name, (trace, labels)) in sets {
        let view = View::new(&trace, &labels);
        insta::assert_snapshot!(format!("{name}.txt"), text(view, Rows::Both, Charset::Unicode));
        let ascii = text(view, Rows::Both, Charset::Ascii);
        assert!(ascii.is_ascii());
        insta::assert_snapshot!(format!("{name}-ascii.txt"), ascii);
        insta::assert_snapshot!(
            format!("{name}-cpus.txt"),
            text(view, Rows::Cpus, Charset::Unicode)
        );
        insta::assert_snapshot!(format!("{name}.svg"), svg(view, name));
        let title = Some(name.to_owned());
        let options = TikzOptions { width: 120, rows: Rows::Both, title, max_rows: 24 };
        insta::assert_snapshot!(format!("{name}.tex"), view.tikz(&options));
    }
}

#[test]
fn a_coarse_chart_says_so() {
    let (trace, labels) = large();
    let options = TextOptions { width: 40, max_rows: 3, ..TextOptions::default() };
    insta::assert_snapshot!("large.txt", View::new(&trace, &labels).text(&options));
}

#[test]
fn a_miss_is_visible_at_any_width_and_counted_if_its_lane_is_not_shown() {
    let (trace, labels) = overloaded();
    let view = View::new(&trace, &labels);
    for width in [1, 24, 30, 40, 80, 300] {
        for rows in [Rows::Cpus, Rows::Tasks, Rows::Both] {
            let chart = view.text(&TextOptions { width, rows, ..TextOptions::default() });
            let row = chart.lines().skip(1).find(|line| line.contains('✗'));
            assert!(row.is_some(), "{width} {rows:?}\n{chart}");
        }
    }
    let options = TextOptions { max_rows: 1, ..TextOptions::default() };
    let chart = view.text(&options);
    assert!(chart.contains("D planner ✗1"), "{chart}");
    assert!(chart.contains("4 tasks not shown, with 2 deadline misses"), "{chart}");
    for width in [1, 400, 2000] {
        // The mark of a miss occurs once in the legend and once in each row; two at 40 ms share a
        // position if the tasks share a row.
        for (rows, marks) in [(Rows::Both, 4), (Rows::Tasks, 4), (Rows::Cpus, 3)] {
            let svg = view.svg(&SvgOptions { width, rows, ..SvgOptions::default() });
            assert_eq!(svg.matches("m-2.6 -2.6l5.2 5.2").count(), marks, "{width} {rows:?}");
            assert!(svg.contains("logger#1 missed its deadline at 20 ms by 2 ms"));
        }
    }
}

#[test]
fn a_raised_criticality_level_is_visible_in_every_chart() {
    let (trace, labels) = critical();
    let view = View::new(&trace, &labels);
    for rows in [Rows::Cpus, Rows::Tasks, Rows::Both] {
        for width in [24, 40, 100] {
            let chart = view.text(&TextOptions { width, rows, ..TextOptions::default() });
            let levels: Vec<&str> = chart.lines().filter(|line| line.contains("level ")).collect();
            assert!(levels[0].contains('2') || levels[0].contains("HI"), "{chart}");
            assert!(chart.contains("1 MID, 2 HI"), "{chart}");
        }
        let svg = view.svg(&SvgOptions { rows, ..SvgOptions::default() });
        assert!(svg.contains("criticality level MID on CPU 0: 8 ms to 11 ms"));
        assert!(svg.contains(
            "The criticality level of CPU 0 is raised 2 times, for 11000.001 µs in all."
        ));
        assert!(svg.contains("The criticality level of CPU 1 is not raised."));
        let tikz = view.tikz(&TikzOptions { rows, ..TikzOptions::default() });
        assert_eq!(tikz.matches("\\filldraw[level]").count(), 7);
    }
    // The level before the window still applies.
    let chart = view.window(at(12 * MS), at(16 * MS)).text(&TextOptions::default());
    assert!(
        chart.contains("HI━━━") && !chart.contains("LO━") && !chart.contains("MID━"),
        "{chart}"
    );
}

#[test]
fn what_jobs_do_at_their_steps_is_in_every_chart() {
    let (trace, labels) = locking();
    let view = View::new(&trace, &labels);
    let text = |charset| {
        let options =
            TextOptions { width: 74, rows: Rows::Tasks, charset, ..TextOptions::default() };
        view.text(&options)
    };
    // Four characters per millisecond.
    let rows = |chart: &str| -> Vec<String> {
        let shown = chart.lines().filter(|line| !line.contains(['↕', '^', 'I']));
        shown.map(|line| line.chars().skip(10).collect()).collect()
    };
    let chart = text(Charset::Unicode);
    let found = rows(&chart);
    let camera = "███████0████████zzzzzzzzzzzzzzzz········███0████";
    let lidar = "████████≈≈≈1≈≈≈≈████████wwwwwwwwwwww███1████";
    let lidar_locks = "        0╌╌╌╌╌╌╌0━━━    12╌╌╌╌╌╌╌╌╌╌12━━";
    assert!(found.iter().any(|row| row == camera), "{chart}");
    assert!(found.iter().any(|row| row == lidar), "{chart}");
    assert!(found.iter().any(|row| row == lidar_locks), "{chart}");
    let legend = "z suspended  w waiting for a lock  ≈ spinning  ━ holds a resource";
    assert!(chart.replace('\n', "  ").contains(legend), "{chart}");
    assert!(text(Charset::Ascii).contains(&lidar_locks.replace('╌', "-").replace('━', "=")));
    // Of the jobs that stop and continue, one is preempted.
    let svg = svg(view, "locking");
    assert_eq!(svg.matches(", then preempted").count(), 2, "in a row of tasks and in one of CPUs");
    assert!(svg.contains("fusion#1 on CPU 0: 4 ms to 10 ms (6 ms), then preempted"));
    assert!(svg.contains(">suspended<"));
    // Spinning is drawn as such in a row of tasks, in one
    // of CPUs and in the legend, and not as overhead.
    assert!(svg.contains(">spinning<") && !svg.contains(">overhead<"));
    assert_eq!([svg.matches("#spin)").count(), svg.matches("#overhead)").count()], [3, 0]);
    assert!(svg.contains("lidar#1 on CPU 1: 0 to 6 ms (6 ms), spinning from 2 ms to 4 ms<"));
    let tikz = view.tikz(&TikzOptions::default());
    let count = |style: &str| tikz.matches(&format!("[{style}]")).count();
    assert_eq!([count("suspended"), count("hold"), count("request")], [1, 3, 2]);
    assert_eq!([count("spin"), count("overhead")], [2, 0]);
    assert!(tikz.contains("\\filldraw[hold]") && tikz.contains("{12}"));
    // A job that waits for a lock off its CPU has only the line of its lock, without dots.
    assert_eq!(count("wait"), 3, "camera after its suspension, fusion before and after it runs");
    let pdf = String::from_utf8_lossy(&view.pdf(&PdfOptions::default(), "locking")).into_owned();
    let without = Trace { marks: Vec::new(), ..trace.clone() };
    let plain = View::new(&without, &labels).pdf(&PdfOptions::default(), "locking");
    assert_ne!(pdf.as_bytes(), plain);
}

#[test]
fn what_is_more_than_the_spin_is_overhead_and_a_window_does_not_matter() {
    let (mut trace, labels) = locking();
    trace.segments[1].overhead = Duration::from_ms(3);
    let whole = View::new(&trace, &labels);
    for view in [whole, whole.window(at(3 * MS), at(8 * MS)), whole.window(at(5 * MS), at(8 * MS))]
    {
        let svg = svg(view, "locking");
        assert!(svg.contains("(6 ms), 1 ms overhead, spinning from 2 ms to 4 ms<"), "{svg}");
    }
    // It is at the start of the segment, and thus outside of a window that begins later.
    let overhead = |view| svg(view, "locking").contains(">overhead<");
    assert!(overhead(whole) && !overhead(whole.window(at(3 * MS), at(8 * MS))));
}

#[test]
fn the_interesting_window_contains_the_first_miss() {
    let (trace, labels) = overloaded();
    let (from, to) = View::interesting(&trace, &labels).bounds();
    assert!(from <= at(20 * MS) && at(20 * MS) <= to && to - from <= Duration::from_ms(60));
    let (trace, labels) = large();
    let (from, to) = View::interesting(&trace, &labels).bounds();
    assert_eq!(from, at(0));
    assert!(to < at(300 * MS) && to > at(30 * MS), "{to}");
    let empty = Trace::default();
    assert_eq!(View::interesting(&empty, &labels).bounds(), (at(0), at(1)));
}

#[test]
fn colours_are_reset_at_the_end_of_a_line() {
    let (trace, labels) = overloaded();
    let options = TextOptions { colours: Colours::Ansi, ..TextOptions::default() };
    let plain = View::new(&trace, &labels).text(&TextOptions::default());
    let coloured = View::new(&trace, &labels).text(&options);
    let mut stripped = String::new();
    for line in coloured.lines() {
        let last = line.rfind("\x1b[").map(|at| &line[at..]);
        assert!(last.is_none_or(|last| last.starts_with("\x1b[0m")), "{line:?}");
        for (index, part) in line.split('\x1b').enumerate() {
            stripped += if index == 0 { part } else { part.split_once('m').unwrap().1 };
        }
        stripped.push('\n');
    }
    assert_eq!(stripped, plain);
}

#[test]
fn times_have_the_digits_of_the_model() {
    for ns in [1, 999, 1_000, 1_500, 1_234_567, 1_200_000, -5_000_000, 2_000_000_000, 12_345] {
        let text = Nanoseconds(ns).to_string();
        assert_eq!(text.replace(' ', ""), Time::from_ns(ns).to_string());
        assert!(text.contains(' '), "a blank before the unit: {text}");
    }
    assert_eq!(Nanoseconds(0).to_string(), "0");
    assert_eq!(Nanoseconds(1 << 60).to_string(), "1152921504606846.976 us");
    assert_eq!(Nanoseconds(i64::MAX).to_string(), "never");
}

#[test]
fn names_are_escaped() {
    let (trace, mut labels) = feasible();
    labels.tasks[TaskId(0)] = "<a & \"b\">\u{1b}[31m\n".to_owned();
    let svg = View::new(&trace, &labels).svg(&SvgOptions::default());
    assert!(svg.contains("&lt;a &amp; &quot;b&quot;&gt;") && !svg.contains('\u{1b}'));
    assert!(!View::new(&trace, &labels).text(&TextOptions::default()).contains('\u{1b}'));
}

mod anything {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn times() -> impl Strategy<Value = i64> {
        prop_oneof![0i64..50, 0i64..1_000_000_000, Just(0), Just(i64::MAX), 0..i64::MAX]
    }

    fn traces() -> impl Strategy<Value = Trace> {
        let ends = prop_oneof![Just(JobEnd::Completed), Just(JobEnd::Aborted), Just(JobEnd::Left)];
        let job =
            (0u32..250, 0u64..6, times(), times(), times(), prop::option::of((times(), ends)))
                .prop_map(|(task, seq, arrival, release, deadline, end)| {
                    let (arrival, release, deadline) = (at(arrival), at(release), at(deadline));
                    let job = Job { id: id(task, seq), arrival, release, deadline };
                    let end = end.map(|(ns, how)| (at(ns), how));
                    JobRecord { job, end, executed: Service::ZERO }
                });
        let segment = (0u32..250, 0u64..6, 0u32..9, times(), times(), times()).prop_map(
            |(task, seq, cpu, start, end, overhead)| {
                let overhead = Duration::from_ns(overhead);
                layland_trace::Segment { overhead, ..segment(id(task, seq), cpu, start, end) }
            },
        );
        let mark = (times(), 0u32..9, 0u8..=255).prop_map(|(ns, cpu, kind)| {
            let (job, resource) = (id(cpu, u64::from(kind % 3)), ResourceId(cpu));
            let cpu = CpuId(cpu);
            let kind = match kind {
                0..50 => MarkKind::CpuOnline(cpu),
                50..80 => MarkKind::CpuOffline(cpu),
                80..110 => MarkKind::Suspended(job),
                110..130 => MarkKind::Resumed(job),
                130..160 => MarkKind::Lock(job, resource, LockMark::Requested),
                160..180 => MarkKind::Lock(job, resource, LockMark::Granted),
                180..200 => MarkKind::Lock(job, resource, LockMark::Unlocked),
                level => {
                    let level = Criticality(level.wrapping_sub(200) * 4);
                    MarkKind::Note(Note::Indicator { cpu, level })
                }
            };
            Mark { at: at(ns), kind }
        });
        (vec(job, 0..60), vec(segment, 0..120), vec(mark, 0..12), times()).prop_map(
            |(jobs, segments, marks, over)| Trace {
                jobs,
                segments,
                marks,
                over: at(over),
                ..Trace::default()
            },
        )
    }

    proptest! {
        #[test]
        fn is_drawn_without_a_panic(
            trace in traces(),
            names in 0usize..201,
            (from, to) in (times(), times()),
            width in prop_oneof![Just(0usize), Just(1), 2usize..300],
            max_rows in 0usize..300,
            rows in prop_oneof![Just(Rows::Cpus), Just(Rows::Tasks), Just(Rows::Both)],
            colours in prop_oneof![Just(Colours::Never), Just(Colours::Ansi)],
            charset in prop_oneof![Just(Charset::Unicode), Just(Charset::Ascii)],
        ) {
            let names: Vec<String> = (0..names).map(|index| format!("τ{index}")).collect();
            let labels = Labels { tasks: names.into(), cpus: 2, ..Labels::default() };
            let whole = View::new(&trace, &labels);
            let views = [whole, whole.window(at(from), at(to)), View::interesting(&trace, &labels)];
            for view in views {
                let text =
                    view.text(&TextOptions { width, rows, charset, colours, max_rows });
                prop_assert!(text.ends_with('\n'));
                let width = width as u32 * 7;
                let svg = view.svg(&SvgOptions { width, rows, title: None, max_rows });
                prop_assert!(svg.ends_with("</svg>\n"));
                let tikz = TikzOptions { rows, max_rows, ..TikzOptions::default() };
                prop_assert!(view.tikz(&tikz).contains("tikzpicture"));
            }
        }
    }
}
