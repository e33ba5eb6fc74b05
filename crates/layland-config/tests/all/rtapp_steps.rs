//! Locks and sleeps of rt-app as steps of jobs, and back.
//! The twin of the reader executes a thread literally.

use crate::common::{moves, rt_app, steps};
use layland_config::{Format, Host, Loaded, RtAppPolicy, read, to_rt_app};
use layland_model::*;
use proptest::prelude::*;
use std::fmt::Write;

const TIMER: &str =
    "\"timer\" : { \"ref\" : \"unique\", \"period\" : 100000, \"mode\" : \"absolute\" }";

/// Returns the steps of a task as strings, as far as rt-app distinguishes them: consecutive
/// execution is one step, and suspensions of zero length are omitted.
fn texts(task: &Task, resources: &[Resource]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut run = Service::ZERO;
    let flush = |run: &mut Service, texts: &mut Vec<String>| {
        if *run > Service::ZERO {
            texts.push(format!("run {run}"));
        }
        *run = Service::ZERO;
    };
    for step in task.steps() {
        let name = |resource: ResourceId| &resources[resource.index()].name;
        let text = match *step {
            Step::Run(length) => {
                run += length;
                continue;
            }
            Step::Suspend(Duration::ZERO) => continue,
            Step::Suspend(length) => format!("suspend {length}"),
            Step::Lock(resource) => format!("lock {}", name(resource)),
            Step::Unlock(resource) => format!("unlock {}", name(resource)),
        };
        flush(&mut run, &mut texts);
        texts.push(text);
    }
    flush(&mut run, &mut texts);
    if texts.iter().all(|text| text.starts_with("run")) { Vec::new() } else { texts }
}

fn one(thread: &str) -> Result<Loaded, String> {
    let text = format!("{{ \"tasks\" : {{ \"t\" : {thread} }} }}");
    rt_app(&text).map_err(|report| report.plain())
}

fn program(thread: &str) -> (Vec<String>, Task) {
    let loaded = one(thread).unwrap_or_else(|report| panic!("{report}"));
    let task = loaded.system.tasks[TaskId(0)].clone();
    (texts(&task, &loaded.system.resources), task)
}

#[test]
fn locks_and_sleeps_before_the_timer_are_steps() {
    let (steps, task) = program(&format!(
        "{{ \"run0\" : 100, \"lock\" : \"m\", \"run1\" : 200, \"unlock\" : \"m\", \"sleep\" : 3000, \"run2\" : 50, {TIMER} }}"
    ));
    assert_eq!(steps, ["run 100us", "lock m", "run 200us", "unlock m", "suspend 3ms", "run 50us"]);
    assert_eq!((task.own_wcet(), task.period), (Service::from_us(350), Duration::from_ms(100)));
    assert_eq!(task.behaviour, Behaviour::Periodic);
}

/// A phase without a timer is repeated within the job, and the steps after the timer come first.
#[test]
fn loops_within_a_job_are_unrolled() {
    let (steps, _) = program(&format!(
        "{{ \"loop\" : -1, \"phases\" : {{ \
           \"a\" : {{ \"loop\" : 2, \"lock\" : \"m\", \"run\" : 1, \"unlock\" : \"m\" }}, \
           \"b\" : {{ {TIMER}, \"run\" : 7 }} }} }}"
    ));
    assert_eq!(
        steps,
        ["run 7us", "lock m", "run 1us", "unlock m", "lock m", "run 1us", "unlock m"]
    );
}

/// Without a timer, the last sleep of a cycle ends the job, and the others are within it.
#[test]
fn a_thread_that_sleeps_in_several_places_suspends_itself() {
    let (steps, task) = program(
        "{ \"loop\" : -1, \"run0\" : 1, \"sleep0\" : 20, \"run1\" : 3, \"sleep1\" : 40, \"run2\" : 5 }",
    );
    assert_eq!(steps, ["run 6us", "suspend 20us", "run 3us"]);
    assert_eq!(task.behaviour, Behaviour::SelfSuspending { gap: Duration::from_us(40) });
    assert_eq!((task.own_wcet(), task.period), (Service::from_us(9), Duration::from_us(69)));
    // A single sleep is the gap.
    let (steps, task) = program(
        "{ \"loop\" : -1, \"lock\" : \"m\", \"run0\" : 1, \"unlock\" : \"m\", \"sleep0\" : 20 }",
    );
    assert_eq!(steps, ["lock m", "run 1us", "unlock m"]);
    assert_eq!(task.behaviour, Behaviour::SelfSuspending { gap: Duration::from_us(20) });
}

/// The section of example 5 of the rt-app tutorial, without the other thread.
#[test]
fn a_sleep_before_everything_is_an_offset() {
    let thread = format!(
        "{{ \"loop\" : 1, \"phases\" : {{ \"p0\" : {{ \"sleep\" : 10000 }}, \
         \"p1\" : {{ \"loop\" : 8, \"lock\": \"mutex\", \"run\" : 10000, \"signal\": \"queue\", \
         \"run1\" : 10000, \"unlock\": \"mutex\", \"run2\": 70000, {TIMER} }} }} }}"
    );
    let (steps, task) = program(&thread);
    assert_eq!(steps, ["lock mutex", "run 20ms", "unlock mutex", "run 70ms"]);
    assert_eq!((task.offset, task.jobs), (Duration::from_ms(10), Some(8)));
    // If the cycle is repeated, the sleep is part of the first job of every cycle.
    let again = thread.replacen("\"loop\" : 1", "\"loop\" : 2", 1);
    let loaded = one(&again).unwrap();
    assert_eq!(loaded.system.tasks[TaskId(0)].steps, None);
    assert!(loaded.warnings.plain().contains("not every job does the same"));
}

/// The tasks of the rt-app examples: of those that lock, all
/// but one wait for conditions, which are not supported.
#[test]
fn the_examples_of_rt_app_lock_where_they_wait_for_timers() {
    let examples = std::path::Path::new("/usr/share/doc/rt-app/examples");
    if !examples.is_dir() {
        eprintln!("skipped: needs the examples of the Debian package rt-app");
        return;
    }
    let example = |name: &str| {
        let bytes = std::fs::read(examples.join(name)).unwrap();
        read(name, &bytes, Format::RtApp, &Host { default_cpus: Some(8), ..Host::default() })
    };
    let system = example("tutorial/example5.json").unwrap().system;
    let task = &system.tasks[TaskId(0)];
    assert_eq!(
        texts(task, &system.resources),
        ["lock mutex", "run 20ms", "unlock mutex", "run 100ms"]
    );
    assert_eq!((task.offset, task.jobs), (Duration::from_ms(10), Some(8)));
    for name in ["mp3-long.json", "mp3-short.json", "browser-long.json", "browser-short.json"] {
        let report = example(name).unwrap_err().plain();
        assert!(report.contains("it waits for other threads (`wait`)"), "{report}");
    }
    for name in ["video-long.json", "video-short.json"] {
        let system = example(name).unwrap().system;
        assert_eq!((system.tasks.len(), system.resources.len()), (1, 0), "{name}");
    }
}

#[test]
fn a_thread_without_timers_has_sections() {
    let (steps, task) =
        program("{ \"lock\" : \"m\", \"run0\" : 1, \"unlock\" : \"m\", \"run1\" : 2 }");
    assert_eq!(steps, ["lock m", "run 1us", "unlock m", "run 2us"]);
    assert_eq!((task.behaviour, task.jobs), (Behaviour::Hog, None));
    // All cycles of a finite thread are one job.
    let (steps, task) = program(
        "{ \"loop\" : 2, \"lock\" : \"m\", \"run0\" : 1, \"unlock\" : \"m\", \"run1\" : 2 }",
    );
    let turn = ["lock m", "run 1us", "unlock m", "run 2us"];
    assert_eq!(steps, turn.repeat(2));
    assert_eq!((task.own_wcet(), task.jobs), (Service::from_us(6), Some(1)));
}

#[test]
fn sections_beyond_a_job_leave_the_thread_out() {
    for (events, why) in [
        (
            format!("\"lock\" : \"m\", \"run\" : 5, {TIMER}, \"unlock\" : \"m\""),
            "a job unlocks `m`, which it has not locked",
        ),
        (
            format!("\"run\" : 5, \"lock\" : \"m\", {TIMER}"),
            "it holds `m` while it waits for its timer",
        ),
        (
            "\"lock\" : \"m\", \"run\" : 5, \"sleep\" : 9".to_owned(),
            "it holds `m` while it sleeps after a job",
        ),
        ("\"lock\" : \"m\", \"run\" : 5".to_owned(), "it holds `m` at the end of its loop"),
        (
            format!(
                "\"run\" : 5, \"lock0\" : \"m\", \"lock1\" : \"m\", \"unlock\" : \"m\", {TIMER}"
            ),
            "it locks `m`, which it holds",
        ),
        (
            format!(
                "\"run\" : 5, \"lock0\" : \"a\", \"lock1\" : \"b\", \"unlock0\" : \"a\", \"unlock1\" : \"b\", {TIMER}"
            ),
            "it unlocks `a`, which is not what it locked last",
        ),
    ] {
        let report = one(&format!("{{ {events} }}")).unwrap_err();
        assert!(report.contains(&format!("warning: `t` is left out: {why} ")), "{report}");
    }
}

/// A task cannot have a section without execution: the
/// section is dropped, and the steps around it stay.
#[test]
fn empty_sections_are_left_out_and_told() {
    for (events, left, what) in [
        (
            "\"run\" : 5, \"lock\" : \"m\", \"unlock\" : \"m\"",
            &[][..],
            "the empty critical section of `t` on `m` is left out",
        ),
        (
            "\"lock\" : \"m\", \"sleep\" : 3, \"unlock\" : \"m\", \"run\" : 5",
            &["suspend 3us", "run 5us"][..],
            "the empty critical section of `t` on `m` is left out",
        ),
        (
            "\"lock0\" : \"a\", \"run0\" : 5, \"lock1\" : \"b\", \"run1\" : 0, \"unlock1\" : \"b\", \
             \"unlock0\" : \"a\", \"lock2\" : \"b\", \"unlock2\" : \"b\"",
            &["lock a", "run 5us", "unlock a"][..],
            "2 empty critical sections of `t`, the first on `b`, are left out",
        ),
    ] {
        let loaded = one(&format!("{{ {events}, {TIMER} }}")).unwrap();
        let task = &loaded.system.tasks[TaskId(0)];
        assert_eq!(texts(task, &loaded.system.resources), left, "{events}");
        let said = loaded.warnings.plain();
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn jobs_that_differ_have_no_steps_and_a_warning() {
    let thread = format!(
        "{{ \"phases\" : {{ \"a\" : {{ \"lock\" : \"m\", \"run\" : 5, \"unlock\" : \"m\", {TIMER} }}, \
         \"b\" : {{ \"run\" : 1, {TIMER} }} }} }}"
    );
    let loaded = one(&thread).unwrap();
    assert_eq!(loaded.system.tasks[TaskId(0)].steps, None);
    assert_eq!(loaded.system.resources, []);
    let said = loaded.warnings.plain();
    let warning =
        "warning: the critical sections of `t` are not modelled: not every job does the same";
    assert!(said.contains(warning), "{said}");
    // A job has at most 10,000 steps.
    let long =
        thread.replace("{ \"lock\"", "{ \"loop\" : 9000, \"lock\"").replace(TIMER, "\"run9\" : 1");
    let said = one(&long).unwrap().warnings.plain();
    assert!(said.contains("not modelled: it has too many steps"), "{said}");
}

#[test]
fn names_of_mutexes_are_names_of_resources() {
    let section =
        |name: &str| format!("{{ \"lock\" : {name}, \"run\" : 5, \"unlock\" : {name}, {TIMER} }}");
    let report = one(&section("\"a b\"")).unwrap_err();
    assert!(report.contains("set.json:1:32: error: `lock` names the mutex \"a b\""), "{report}");
    let report = one(&section("7")).unwrap_err();
    assert!(report.contains("set.json:1:32: error: `lock` is a string, not a number"), "{report}");
    // Only mutexes that a task locks become resources, in the order of their first use.
    let text = format!(
        "{{ \"tasks\" : {{ \"gone\" : {{ \"lock\" : \"x\", \"wait\" : {{ \"ref\" : \"q\", \"mutex\" : \"x\" }}, \"unlock\" : \"x\" }}, \
         \"b\" : {}, \"a\" : {}, \"c\" : {} }} }}",
        section("\"late\""),
        section("\"early\""),
        section("\"late\""),
    );
    let system = rt_app(&text).unwrap().system;
    let names: Vec<&str> = system.resources.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["late", "early"]);
    let tasks = system.tasks.as_slice();
    assert_eq!(texts(&tasks[2], &system.resources)[0], "lock late");
    assert_eq!(texts(&tasks[1], &system.resources)[0], "lock early");
}

/// An event of a thread that is executed literally.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Event {
    Run(i64),
    Sleep(i64),
    Lock(usize),
    Unlock(usize),
    Timer,
}

/// Phases with their loops. Most locks are released in the same phase.
fn phases() -> impl Strategy<Value = Vec<(usize, Vec<Event>)>> {
    let block = prop_oneof![
        4 => (1i64..4).prop_map(|us| vec![Event::Run(us)]),
        4 => (0usize..2, 1i64..3)
            .prop_map(|(m, us)| vec![Event::Lock(m), Event::Run(us), Event::Unlock(m)]),
        1 => Just(vec![Event::Lock(0), Event::Lock(1), Event::Run(1), Event::Unlock(1), Event::Unlock(0)]),
        2 => (0i64..3).prop_map(|us| vec![Event::Sleep(us)]),
        2 => Just(vec![Event::Timer]),
        1 => (0usize..2, any::<bool>())
            .prop_map(|(m, locks)| vec![if locks { Event::Lock(m) } else { Event::Unlock(m) }]),
    ];
    let events = prop::collection::vec(block, 1..4).prop_map(|blocks| blocks.concat());
    prop::collection::vec((1usize..4, events), 1..4)
}

fn json(phases: &[(usize, Vec<Event>)]) -> String {
    let mut text = "{ \"loop\" : -1, \"phases\" : {".to_owned();
    for (at, (times, events)) in phases.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        write!(text, "{comma} \"p{at}\" : {{ \"loop\" : {times}").unwrap();
        for (at, event) in events.iter().enumerate() {
            match event {
                Event::Run(us) => write!(text, ", \"run{at}\" : {us}"),
                Event::Sleep(us) => write!(text, ", \"sleep{at}\" : {us}"),
                Event::Lock(m) => write!(text, ", \"lock{at}\" : \"m{m}\""),
                Event::Unlock(m) => write!(text, ", \"unlock{at}\" : \"m{m}\""),
                Event::Timer => write!(text, ", {}", TIMER.replace("timer", &format!("timer{at}"))),
            }
            .unwrap();
        }
        text += " }";
    }
    text + " } }"
}

/// Returns the actions of a job, as strings.
fn told(job: &[Event]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut run = 0;
    for event in job.iter().chain([&Event::Timer]) {
        if let Event::Run(us) = event {
            run += us;
            continue;
        }
        if *event == Event::Sleep(0) {
            continue;
        }
        if run > 0 {
            texts.push(format!("run {run}us"));
            run = 0;
        }
        match event {
            Event::Sleep(us) => texts.push(format!("suspend {us}us")),
            Event::Lock(m) => texts.push(format!("lock m{m}")),
            Event::Unlock(m) => texts.push(format!("unlock m{m}")),
            Event::Run(_) | Event::Timer => {}
        }
    }
    texts
}

/// Returns the actions of a job with nested sections, as strings, without sections that have no
/// execution; empty if the job then only executes.
fn left(job: &[Event]) -> Vec<String> {
    let mut kept = job.to_vec();
    let is_empty = |from: usize, kept: &[Event]| {
        let Event::Lock(m) = kept[from] else { return None };
        let to = from + kept[from..].iter().position(|event| *event == Event::Unlock(m))?;
        let runs = kept[from..to].iter().any(|event| matches!(event, Event::Run(us) if *us > 0));
        (!runs).then_some((from, to))
    };
    while let Some((from, to)) = (0..kept.len()).find_map(|from| is_empty(from, &kept)) {
        kept.remove(to);
        kept.remove(from);
    }
    let texts = told(&kept);
    if texts.iter().all(|text| text.starts_with("run")) { Vec::new() } else { texts }
}

/// Returns true if a job locks and unlocks as a task may.
fn is_nested(job: &[Event]) -> bool {
    let mut held = Vec::new();
    for event in job {
        match *event {
            Event::Lock(m) if held.contains(&m) => return false,
            Event::Lock(m) => held.push(m),
            Event::Unlock(m) if held.pop() != Some(m) => return false,
            Event::Unlock(_) | Event::Run(_) | Event::Sleep(_) | Event::Timer => {}
        }
    }
    held.is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Executes a thread literally, several times through
    /// all its phases, and splits it at its timers.
    #[test]
    fn steps_are_what_a_thread_executes_between_its_timers(phases in phases()) {
        let turn: Vec<Event> = phases
            .iter()
            .flat_map(|(times, events)| (0..*times).flat_map(move |_| events.clone()))
            .collect();
        prop_assume!(turn.contains(&Event::Timer) && turn.iter().any(|event| matches!(event, Event::Run(_))));
        // The job before the first timer lacks the end of the
        // cycle before, and the one after the last is incomplete.
        let executed = turn.repeat(4);
        let mut jobs: Vec<&[Event]> = executed.split(|event| *event == Event::Timer).collect();
        jobs.remove(0);
        jobs.pop();
        let more = |event: &Event| match *event {
            Event::Lock(_) | Event::Unlock(_) => true,
            Event::Sleep(us) => us > 0,
            Event::Run(_) | Event::Timer => false,
        };
        let does_more = turn.iter().any(more);
        let programs: Vec<Vec<String>> = jobs.iter().map(|job| told(job)).collect();
        let are_alike = programs.windows(2).all(|pair| pair[0] == pair[1]);
        let found = one(&json(&phases));
        match (does_more, are_alike, are_alike && !is_nested(jobs[0])) {
            (true, true, true) => {
                let report = found.unwrap_err();
                prop_assert!(report.contains("`t` is left out: "), "{}", report);
            }
            (true, true, false) => {
                let loaded = found.map_err(TestCaseError::fail)?;
                let task = &loaded.system.tasks[TaskId(0)];
                prop_assert_eq!(texts(task, &loaded.system.resources), left(jobs[0]), "{}", json(&phases));
            }
            (true, false, _) => {
                let loaded = found.map_err(TestCaseError::fail)?;
                prop_assert_eq!(&loaded.system.tasks[TaskId(0)].steps, &None);
                prop_assert!(loaded.warnings.plain().contains("not every job does the same"));
            }
            (false, _, _) => {
                let loaded = found.map_err(TestCaseError::fail)?;
                prop_assert_eq!(&loaded.system.tasks[TaskId(0)].steps, &None);
                prop_assert!(!loaded.warnings.plain().contains("not every job does the same"));
            }
        }
    }

    /// The same without timers: sleeps end the jobs if all
    /// are alike; otherwise the last sleep of a cycle does.
    #[test]
    fn steps_are_what_a_thread_executes_between_its_sleeps(phases in phases()) {
        let without_timers = |(times, events): (usize, Vec<Event>)| {
            let instead = |event| if event == Event::Timer { Event::Sleep(1) } else { event };
            (times, events.into_iter().map(instead).collect())
        };
        let phases: Vec<(usize, Vec<Event>)> = phases.into_iter().map(without_timers).collect();
        let turn: Vec<Event> = phases
            .iter()
            .flat_map(|(times, events)| (0..*times).flat_map(move |_| events.clone()))
            .collect();
        let sleeps = |event: &Event| matches!(event, Event::Sleep(us) if *us > 0);
        let runs = |job: &[Event]| job.iter().any(|event| matches!(event, Event::Run(_)));
        prop_assume!(turn.iter().any(sleeps) && runs(&turn));
        let last = turn.iter().rposition(sleeps).expect("it sleeps");
        let whole = [&turn[last + 1..], &turn[..last]].concat();
        let jobs: Vec<&[Event]> = whole.split(sleeps).collect();
        let gaps: Vec<&Event> = turn.iter().filter(|event| sleeps(event)).collect();
        let locks = turn.iter().any(|event| matches!(event, Event::Lock(_) | Event::Unlock(_)));
        let do_the_same = jobs.windows(2).all(|pair| told(pair[0]) == told(pair[1]));
        let are_jobs = gaps.windows(2).all(|pair| pair[0] == pair[1])
            && jobs.iter().all(|job| runs(job))
            && (do_the_same || !locks);
        let job = if are_jobs { jobs[0].to_vec() } else { whole };
        let found = one(&json(&phases));
        if !is_nested(&job) {
            let report = found.unwrap_err();
            prop_assert!(report.contains("`t` is left out: "), "{}", report);
            return Ok(());
        }
        let loaded = found.map_err(TestCaseError::fail)?;
        let task = &loaded.system.tasks[TaskId(0)];
        let expected = if are_jobs && !locks { Vec::new() } else { left(&job) };
        prop_assert_eq!(texts(task, &loaded.system.resources), expected, "{}", json(&phases));
        let Event::Sleep(gap) = turn[last] else { unreachable!("it sleeps") };
        prop_assert_eq!(&task.behaviour, &Behaviour::SelfSuspending { gap: Duration::from_us(gap) });
    }

    /// Steps of whole microseconds read back unchanged.
    #[test]
    fn steps_that_are_written_read_back(drawn in prop::collection::vec((moves(), 1i64..9000), 1..4)) {
        let us = |ns: i64| 1000 * (ns % 100_000);
        let tasks = drawn.into_iter().enumerate().map(|(index, (moves, c))| {
            let mut task = Task::implicit(format!("t{index}"), Service::from_us(c), Duration::from_secs(3600));
            task.priority = Some(-1 - index as i64);
            task.rank = index as i64;
            task.steps = moves.map(|moves| {
                let steps = steps(&moves, c, 3).into_iter();
                let scaled = steps.map(|step| match step {
                    Step::Run(length) => Step::Run(Service::from_us(length.ns())),
                    Step::Suspend(length) => Step::Suspend(Duration::from_ns(us(length.ns()))),
                    Step::Lock(_) | Step::Unlock(_) => step,
                });
                scaled.collect()
            });
            task
        });
        let mut system = System::new(2, tasks.collect());
        system.resources = ["bus", "a;b", "c\"d"]
            .map(|name| Resource { name: name.to_owned(), home: None })
            .into();
        prop_assert_eq!(system.validate(), []);
        let (text, lost) = to_rt_app(&system, RtAppPolicy::OfTasks);
        prop_assert!(lost.iter().all(|one| one.message.ends_with("no task uses it")), "{:?}", lost);
        let host = Host { default_cpus: Some(2), ..Host::default() };
        let again = read("x", text.as_bytes(), Format::RtApp, &host)
            .map_err(|report| TestCaseError::fail(report.plain()))?
            .system;
        for (task, again_task) in system.tasks.values().zip(again.tasks.values()) {
            prop_assert_eq!(texts(task, &system.resources), texts(again_task, &again.resources), "{}", text);
            prop_assert_eq!(task.own_wcet(), again_task.own_wcet());
        }
    }
}
