//! Blocking times in every format: formats that support
//! them keep them, and others report their loss.

use layland_config::{
    Format, Host, RtAppPolicy, Unit, read, to_csv, to_line, to_rt_app, to_schedcat, to_simso,
    to_toml,
};
use layland_model::{Duration, Service, System, Task};

/// The set of an exercise, with execution time, period and blocking time per task.
fn exercise() -> System {
    let task = |(at, (c, t, b)): (usize, (i64, i64, i64))| Task {
        blocking_time: Duration::from_ms(b),
        rank: at as i64,
        ..Task::implicit(format!("t{}", at + 1), Service::from_ms(c), Duration::from_ms(t))
    };
    System::new(1, [(1, 3, 1), (2, 8, 2), (4, 12, 0)].into_iter().enumerate().map(task).collect())
}

fn read_back(name: &str, text: &str, unit: Option<Unit>) -> System {
    let host = Host { default_cpus: Some(1), unit, ..Host::default() };
    let format = Format::detect(name, text.as_bytes(), &host).expect("a set");
    let loaded = read(name, text.as_bytes(), format, &host);
    loaded.unwrap_or_else(|report| panic!("{}", report.plain())).system
}

#[test]
fn the_titles_of_exercises_are_read() {
    let columns =
        ["T,C,B\n3,1,1\n8,2,2\n12,4,0\n", "Period;WCET;Blocking Time\n3;1;1\n8;2;2\n12;4;\n"];
    for text in columns {
        let named: Vec<String> = text
            .lines()
            .enumerate()
            .map(|(at, line)| {
                let separator = if text.contains(';') { ';' } else { ',' };
                let name = if at == 0 { "Task".to_owned() } else { format!("t{at}") };
                format!("{name}{separator}{line}\n")
            })
            .collect();
        let found = read_back("set.csv", &named.concat(), Some(Unit::Ms));
        assert_eq!(found.tasks, exercise().tasks, "{text}");
    }
}

#[test]
fn formats_with_a_place_for_them_keep_blocking_times() {
    let (table, lost) = to_csv(&exercise());
    assert!(lost.is_empty(), "{lost:?}");
    assert!(table.contains("name,period,wcet,blocking\nt1,3ms,1ms,1ms\n"), "{table}");
    for (name, text) in [
        ("set.csv", table),
        ("set.toml", to_toml(&exercise())),
        ("set.jsonl", to_line(&exercise())),
    ] {
        assert_eq!(read_back(name, &text, None).tasks, exercise().tasks, "{text}");
    }
}

#[test]
fn formats_without_a_place_for_them_tell_that_they_are_lost() {
    for (format, lost) in [
        ("rt-app", to_rt_app(&exercise(), RtAppPolicy::OfTasks).1),
        ("SimSo", to_simso(&exercise()).1),
        ("SchedCAT", to_schedcat(&exercise()).1),
    ] {
        for (task, is_blocked) in [("t1", true), ("t2", true), ("t3", false)] {
            let sentence = format!("the blocking time of `{task}` is lost");
            let told = lost.iter().any(|problem| problem.message == sentence);
            assert_eq!(told, is_blocked, "{format}, {task}: {lost:?}");
        }
    }
}

#[test]
fn a_negative_blocking_time_is_refused_at_its_place() {
    let text = to_toml(&exercise()).replace("blocking = \"2ms\"", "blocking = \"-2ms\"");
    let host = Host::default();
    let report =
        read("set.toml", text.as_bytes(), Format::Toml, &host).expect_err("it is negative");
    let problem = &report.problems[0];
    assert_eq!(problem.message, "blocking of `t2` is -2ms");
    assert_eq!(problem.help.as_deref(), Some("it cannot be negative"));
}
