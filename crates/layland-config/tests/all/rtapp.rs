//! rt-app JSON: the tasks of threads, and the threads of tasks.

use crate::common::{rt_app, system};
use layland_config::{Format, Host, RtAppPolicy, read, to_rt_app};
use layland_model::*;
use proptest::prelude::*;

#[test]
fn threads_become_tasks() {
    let loaded = rt_app(include_str!("data/phases.json")).unwrap();
    let task = |name: &str| {
        loaded
            .system
            .tasks
            .values()
            .find(|task| task.name == name)
            .unwrap_or_else(|| panic!("{name}"))
    };
    let names: Vec<&str> = loaded.system.tasks.values().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["camera", "motor.0", "motor.1", "logger", "spinner"]);
    assert_eq!(loaded.until, Some(Duration::from_secs(10)));
    assert_eq!(loaded.system.platform.cpu_count(), 2);

    let camera = task("camera");
    let list = [8, 8, 1].map(Service::from_ms).to_vec();
    assert_eq!(camera.execution, ExecutionModel::List(list));
    assert_eq!((camera.own_wcet(), camera.period), (Service::from_ms(8), Duration::from_ms(33)));
    assert_eq!((camera.priority, camera.jobs), (Some(-40), None));

    let motor = task("motor.1");
    assert_eq!(
        (motor.own_wcet(), motor.budget),
        (Service::from_ms(1), Some(Service::from_us(1500)))
    );
    assert_eq!((motor.period, motor.deadline), (Duration::from_ms(5), Duration::from_ms(4)));
    assert_eq!((motor.offset, motor.jobs), (Duration::from_us(500), Some(100)));
    assert_eq!(motor.behaviour, Behaviour::Periodic);

    let logger = task("logger");
    assert_eq!(logger.behaviour, Behaviour::SelfSuspending { gap: Duration::from_ms(20) });
    assert_eq!(logger.period, Duration::from_us(20_300));
    assert_eq!(task("spinner").behaviour, Behaviour::Hog);
}

/// One thread, on one CPU.
fn one(thread: &str) -> Option<Task> {
    let text = format!("{{ \"tasks\" : {{ \"t\" : {thread} }} }}");
    rt_app(&text).ok().map(|loaded| loaded.system.tasks[TaskId(0)].clone())
}

#[test]
fn jobs_end_at_timers_wherever_these_stand() {
    let timer = "\"timer\" : { \"ref\" : \"unique\", \"period\" : 10000 }";
    // The timer comes first, so the first job is one period late.
    let task = one(&format!("{{ \"loop\" : 4, {timer}, \"run\" : 300 }}")).unwrap();
    assert_eq!((task.offset, task.jobs), (Duration::from_ms(10), Some(4)));
    assert_eq!(task.own_wcet(), Service::from_us(300));
    // Two jobs in one cycle.
    let task = one(&format!("{{ \"loop\" : 3, \"run0\" : 1, {timer}, \"run1\" : 2, {timer} }}"));
    let task = task.unwrap();
    assert_eq!(task.jobs, Some(6));
    assert_eq!(
        task.execution,
        ExecutionModel::List(vec![Service::from_us(1), Service::from_us(2)])
    );
    // A phase without a timer belongs to the next job, repeated as often as its loop requires.
    let task = one(&format!(
        "{{ \"phases\" : {{ \"a\" : {{ \"loop\" : 3, \"run\" : 5 }}, \"b\" : {{ \"run\" : 1, {timer} }} }} }}"
    ));
    assert_eq!(task.unwrap().own_wcet(), Service::from_us(16));
    // A long phase becomes a distribution.
    let task = one(&format!(
        "{{ \"phases\" : {{ \"a\" : {{ \"loop\" : 3000000, \"run\" : 5, {timer} }}, \
         \"b\" : {{ \"run\" : 1, {timer} }} }} }}"
    ));
    let values = vec![(Service::from_us(1), 1), (Service::from_us(5), 3_000_000)];
    assert_eq!(task.unwrap().execution, ExecutionModel::Discrete(values));
}

#[test]
fn faults_are_errors_with_places() {
    for (text, at, message) in [
        ("[]", "1:1", "the file is a list, not an object with `tasks`"),
        ("{ \"taks\" : {} }", "1:1", "the file has no `tasks`"),
        ("{ \"tasks\" : { \"a\" : 3 } }", "1:21", "`a` is an object, not a number"),
        ("{ \"tasks\" : {\n\"a\" : { \"run\" : -5 } } }", "2:17", "`run` is negative: -5"),
        (
            "{ \"tasks\" : { \"a\" : { \"run\" : \"5\" } } }",
            "1:31",
            "`run` is a number of microseconds, not a string",
        ),
        ("{ \"tasks\" : { \"a\" : { \"timer\" : {} } } }", "1:33", "a timer of `a` has no period"),
        ("{ \"tasks\" : { \"a\" : { \"run\" : 5, \"loop\" : -2 } } }", "1:43", "`loop` is -2"),
    ] {
        let report = rt_app(text).unwrap_err();
        let first = &report.problems[0];
        assert_eq!(first.message, message);
        assert_eq!(first.position.unwrap().to_string(), at, "{text}");
    }
}

/// In rt-app, the period defaults to the budget, and the deadline to the period.
#[test]
fn reservations_have_the_defaults_of_rt_app() {
    let policy = "\"policy\" : \"SCHED_DEADLINE\"";
    let task =
        one(&format!("{{ \"loop\" : -1, \"run\" : 20000, {policy}, \"dl-runtime\" : 200000 }}"));
    let task = task.unwrap();
    assert_eq!((task.budget, task.behaviour), (Some(Service::from_ms(200)), Behaviour::Hog));
    assert_eq!((task.period, task.deadline), (Duration::from_ms(200), Duration::from_ms(200)));
    // The period of a task with a timer is known.
    let timer = "\"timer\" : { \"ref\" : \"unique\", \"period\" : 10000, \"mode\" : \"absolute\" }";
    let text = format!(
        "{{ \"tasks\" : {{ \"t\" : {{ \"run\" : 300, {timer}, {policy}, \"dl-runtime\" : 500 }} }} }}"
    );
    let loaded = rt_app(&text).unwrap();
    let task = &loaded.system.tasks[TaskId(0)];
    assert_eq!((task.budget, task.deadline), (Some(Service::from_us(500)), Duration::from_ms(10)));
    assert!(loaded.warnings.plain().contains("`t` has no `dl-period`"));
}

#[test]
fn keys_of_groups_and_clamps_are_known() {
    let timer = "\"timer\" : { \"ref\" : \"unique\", \"period\" : 10000, \"mode\" : \"absolute\" }";
    let text = format!(
        "{{ \"tasks\" : {{ \"t\" : {{ \"taskgroup\" : \"/tg1\", \"util_min\" : 512, \"run\" : 300, {timer} }} }} }}"
    );
    let loaded = rt_app(&text).unwrap();
    let said = loaded.warnings.plain();
    assert!(said.contains("warning: `taskgroup` of `t` is not modelled"), "{said}");
    assert_eq!(said.matches("taskgroup").count(), 1, "{said}");
    assert!(!said.contains("unknown key"), "{said}");
}

/// Threads get the requested policy of the kernel.
#[test]
fn threads_are_written_with_a_policy() {
    let task = |name: &str, wcet, period| {
        Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
    };
    let system = System::new(2, vec![task("slow", 4, 20), task("fast", 1, 5), task("mid", 2, 10)]);
    let threads = |policy| {
        let (text, lost) = to_rt_app(&system, policy);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let lost: Vec<String> = lost.into_iter().map(|problem| problem.message).collect();
        (["slow", "fast", "mid"].map(|name| json["tasks"][name].clone()), lost)
    };
    let (of_tasks, lost) = threads(RtAppPolicy::OfTasks);
    assert!(of_tasks.iter().all(|thread| thread["policy"] == "SCHED_OTHER"));
    assert_eq!(
        lost,
        ["`slow` and 2 more are SCHED_OTHER: they have neither budgets nor priorities"]
    );
    let (fifo, lost) = threads(RtAppPolicy::Fifo(Order::RateMonotonic));
    assert_eq!(lost, [""; 0]);
    assert!(fifo.iter().all(|thread| thread["policy"] == "SCHED_FIFO"));
    assert_eq!(fifo.map(|thread| thread["priority"].as_i64().unwrap()), [97, 99, 98]);
    let (deadline, lost) = threads(RtAppPolicy::Deadline);
    assert_eq!(lost, [""; 0]);
    assert_eq!(deadline[1]["policy"], "SCHED_DEADLINE");
    assert_eq!([&deadline[1]["dl-runtime"], &deadline[1]["dl-period"]], [1000, 5000]);
}

#[test]
fn threads_of_the_old_format_are_read() {
    let task =
        one("{ \"exec\" : 5000, \"period\" : 24000, \"deadline\" : 20000, \"lock_order\" : [] }");
    let task = task.unwrap();
    assert_eq!((task.own_wcet(), task.period), (Service::from_ms(5), Duration::from_ms(24)));
    assert_eq!(task.deadline, Duration::from_ms(20));
}

/// Equal priorities stay equal in the kernel, unless ranks decide.
#[test]
fn priorities_are_told_apart_where_ranks_tell_tasks_apart() {
    let task = |name: &str, priority: i64| Task {
        priority: Some(priority),
        ..Task::implicit(name, Service::from_ms(1), Duration::from_ms(10))
    };
    let mut system = System::new(1, vec![task("a", 5), task("b", 5), task("c", 4)]);
    system.in_level = Some(InLevel::Fifo);
    let numbers = |system: &System, policy| {
        let (text, _) = to_rt_app(system, policy);
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        ["a", "b", "c"].map(|name| file["tasks"][name]["priority"].as_i64().unwrap())
    };
    let given = RtAppPolicy::Fifo(Order::Given);
    assert_eq!(numbers(&system, given), [98, 98, 99]);
    assert_eq!(numbers(&system, RtAppPolicy::Fifo(Order::RateMonotonic)), [99, 98, 97]);
    system.in_level = None;
    assert_eq!(numbers(&system, given), [98, 97, 99]);
    system.in_level = Some(InLevel::Any);
    let (_, lost) = to_rt_app(&system, given);
    assert!(lost.iter().any(|problem| problem.message.contains("any order")), "{lost:?}");

    let many = (0..100).map(|k| task(&format!("t{k}"), k)).collect();
    let (text, lost) = to_rt_app(&System::new(1, many), given);
    assert!(text.is_empty() && lost[0].message.contains("100 priorities"), "{lost:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// The written file is read without errors; systems that rt-app can express exactly read back.
    #[test]
    fn what_is_written_reads_back(system in system()) {
        let (text, lost) = to_rt_app(&system, RtAppPolicy::OfTasks);
        let host = Host { cpus: None, default_cpus: Some(system.platform.cpu_count()), ..Host::default() };
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(parsed["tasks"].as_object().unwrap().len(), system.tasks.len());
        match read("x", text.as_bytes(), Format::RtApp, &host) {
            Ok(loaded) if lost.is_empty() => {
                for (task, again) in system.tasks.values().zip(loaded.system.tasks.values()) {
                    prop_assert_eq!(task.period, again.period);
                    prop_assert_eq!(&task.affinity, &again.affinity);
                    prop_assert_eq!(task.budget, again.budget);
                }
            }
            // A budget or an execution time may have been rounded beyond the valid range.
            Ok(_) => {}
            Err(report) => prop_assert!(!lost.is_empty(), "{}\n{}", report.plain(), text),
        }
    }
}

/// Keys of `resources` beyond types, and `pi_enabled`, are reported.
#[test]
fn keys_of_resources_do_not_count_in_silence() {
    let file = |resources: &str, inherits: bool| {
        format!(
            "{{ \"tasks\" : {{ \"a\" : {{ \"run\" : 5, \"timer\" : {{ \"ref\" : \"t\", \"period\" : 10, \"mode\" : \
             \"absolute\" }} }} }}, \"resources\" : {{ {resources} }}, \"global\" : {{ \"pi_enabled\" : {inherits} }} }}"
        )
    };
    let inherits = "`pi_enabled` makes mutexes inherit priorities, and here the policy decides it";
    let unknown = "unknown key `protocoll` of the resource `m`: it does not count";
    for (resources, is_enabled, expected) in [
        ("\"m\" : { \"type\" : \"mutex\" }", false, vec![]),
        ("\"m\" : { \"type\" : \"mutex\" }", true, vec![inherits]),
        ("\"m\" : { \"type\" : \"mutex\", \"protocoll\" : \"inherit\" }", false, vec![unknown]),
        ("\"m\" : { \"protocoll\" : \"inherit\" }", true, vec![unknown, inherits]),
        (
            "\"m\" : { \"protocol\" : \"inherit\" }, \"n\" : { \"protocol\" : \"PRIO_INHERIT\" }",
            false,
            vec!["the mutexes have the protocol `inherit`, and here the policy decides it"],
        ),
        (
            "\"m\" : { \"protocol\" : \"inherit\" }, \"n\" : { \"protocol\" : \"protect\" }",
            false,
            vec!["mutexes have several protocols, and here the policy decides on one for all"],
        ),
        (
            "\"m\" : { \"protocol\" : \"none\" }",
            false,
            vec!["the mutexes have the protocol `none`, and here the policy decides it"],
        ),
    ] {
        let loaded = rt_app(&file(resources, is_enabled)).unwrap();
        let problems = loaded.warnings.problems;
        let messages: Vec<&str> = problems.iter().map(|problem| &*problem.message).collect();
        let messages: Vec<&str> =
            messages.into_iter().filter(|message| !message.contains("how many CPUs")).collect();
        assert_eq!(messages, expected, "{resources}");
    }
}
