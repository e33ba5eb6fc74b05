//! Steps and resources in task-set files, lines and
//! tables: their meaning, and the positions of faults.

use crate::common::{csv, toml};
use layland_config::RtAppPolicy;
use layland_config::{
    Format, Host, Report, read, to_csv, to_line, to_rt_app, to_schedcat, to_simso, to_toml,
};
use layland_model::*;

fn file(keys: &str) -> String {
    format!(
        "layland = 1\n[platform]\ncpus = 2\n[[resource]]\nname = \"bus\"\nhome = 1\n[[resource]]\nname = \"buffer\"\n\
         [[task]]\nname = \"a\"\nperiod = \"50ms\"\n{keys}\n"
    )
}

fn steps() -> Vec<Step> {
    let (bus, buffer, ms) = (ResourceId(0), ResourceId(1), Service::from_ms);
    vec![
        Step::Run(ms(1)),
        Step::Lock(bus),
        Step::Run(ms(2)),
        Step::Lock(buffer),
        Step::Run(ms(1)),
        Step::Unlock(buffer),
        Step::Unlock(bus),
        Step::Suspend(Duration::from_ms(3)),
        Step::Run(ms(4)),
    ]
}

const STEPS: &str = "[\"run 1ms\", \"lock bus\", \" run  2 ms\", \"lock buffer\", \"run 1ms\", \"unlock buffer\", \
                     \"unlock\tbus\", \"suspend 3ms\", \"run 4ms\"]";

#[test]
fn steps_are_read_and_the_wcet_follows() {
    let loaded = toml(&file(&format!("steps = {STEPS}")))
        .unwrap_or_else(|report| panic!("{}", report.plain()));
    let system = loaded.system;
    assert_eq!(system.tasks[TaskId(0)].steps(), steps());
    assert_eq!(system.tasks[TaskId(0)].own_wcet(), Service::from_ms(8));
    let bus = Resource { name: "bus".to_owned(), home: Some(CpuId(1)) };
    assert_eq!(system.resources, [bus, Resource { name: "buffer".to_owned(), home: None }]);
    let same = toml(&file(&format!("wcet = \"8ms\"\nsteps = {STEPS}"))).unwrap();
    assert_eq!(same.system, system);
    let line = read("set.jsonl", to_line(&system).as_bytes(), Format::Lines, &Host::default());
    assert_eq!(line.unwrap().system, system);
    // With levels and without a table of times, the WCET of every level is this sum.
    let levels = "steps = [\"run 2ms\", \"suspend 1ms\"]\ncriticality = \"LO\"\n[criticality]\nlevels = [\"LO\", \"HI\"]";
    assert_eq!(
        toml(&file(levels)).unwrap().system.tasks[TaskId(0)].wcet,
        [2, 2].map(Service::from_ms).into()
    );
    let copies = toml(&file("count = 2\nsteps = [\"run 2ms\", \"suspend 1ms\"]")).unwrap().system;
    assert_eq!(copies.tasks[TaskId(1)].steps().len(), 2);
}

const EMPTY: &str =
    "a section of `a` on `bus` is empty: no `run` of at least one unit between them";

/// Returns the position, the message and the help of the first problem.
fn first(report: &Report) -> (String, &str, &str) {
    let problem = &report.problems[0];
    let position = problem.position.map_or(String::new(), |position| position.to_string());
    (position, &problem.message, problem.help.as_deref().unwrap_or_default())
}

#[test]
fn faults_point_at_the_step() {
    // The list begins in column 10 of line 12, and its second element in column 21.
    let steps = |second: &str| file(&format!("steps = [\"run 1ms\", {second}]"));
    for (second, message, help) in [
        ("\"lok bus\"", "`lok` is nothing that a job does", "did you mean `lock`?"),
        ("\"fly\"", "`fly` is nothing that a job does", "the steps are"),
        ("\"\"", "a step is empty", "the steps are"),
        ("\"run\"", "`run` is without a time", "write \"run 1ms\""),
        ("\"lock \"", "`lock` is without a resource", "write \"lock bus\""),
        ("\"lock buss\"", "there is no resource `buss`", "did you mean `bus`?"),
        (
            "\"lock disk\"",
            "there is no resource `disk`",
            "list it: [[resource]] with name = \"disk\"",
        ),
        ("\"lock bus buffer\"", "`lock` is followed by more than one name", "write each step"),
        ("\"run 5\"", "`steps`: a time needs a unit", "add ns, us, ms or s"),
        ("\"suspend 5 parsecs\"", "unknown time unit `parsecs`", ""),
        ("7", "`steps` is a list of strings, not a whole number", "\"lock bus\""),
        // Faults that the validation of systems finds.
        ("\"unlock bus\"", "`a` unlocks `bus`, which is not what it locked last", "reverse order"),
        ("\"run 0ms\"", "`a` runs for 0ns", "leave the step out"),
        ("\"suspend -1ms\"", "`a` suspends itself for -1ms", "cannot be negative"),
        ("\"lock bus\", \"unlock bus\"", EMPTY, "leave out the lock"),
        ("\"lock bus\", \"suspend 0ms\", \"unlock bus\"", EMPTY, "leave out the lock"),
        ("\"lock bus\", \"suspend 2ms\", \"unlock bus\", \"run 1ms\"", EMPTY, "leave out the lock"),
    ] {
        let report = toml(&steps(second)).unwrap_err();
        let (at, said, what) = first(&report);
        assert!(said.starts_with(message), "{second}: {said}");
        assert!(what.contains(help), "{second}: {what}");
        assert_eq!((at.as_str(), report.problems.len()), ("12:21", 1), "{}", report.plain());
    }
    // Every empty section is reported at its lock: both of two nested ones, or only the inner one.
    for (second, at) in [
        (
            "\"lock bus\", \"lock buffer\", \"unlock buffer\", \"unlock bus\"",
            &["12:33", "12:21"][..],
        ),
        (
            "\"lock bus\", \"run 1ms\", \"lock buffer\", \"unlock buffer\", \"unlock bus\"",
            &["12:44"][..],
        ),
    ] {
        let report = toml(&steps(second)).unwrap_err();
        let mut places: Vec<String> = (report.problems.iter())
            .filter_map(|problem| Some(problem.position?.to_string()))
            .collect();
        let mut at = at.to_vec();
        places.sort();
        at.sort_unstable();
        assert_eq!(places, at, "{}", report.plain());
        assert!(report.plain().contains("is empty: no `run` of at least one unit between them"));
    }
    let held = toml(&steps("\"lock bus\", \"lock bus\"")).unwrap_err();
    assert_eq!(
        (first(&held).0.as_str(), first(&held).1),
        ("12:33", "`a` locks `bus`, which it holds already")
    );
}

#[test]
fn faults_of_the_whole_point_at_the_key() {
    for (keys, at, message) in [
        ("steps = []", "12:9", "`steps` is empty"),
        ("steps = \"run 1ms\"", "12:9", "`steps` is a list, not a string"),
        ("steps = [\"run 1ms\", \"lock bus\"]", "12:9", "a job of `a` ends holding `bus`"),
        ("steps = [\"suspend 1ms\"]", "12:9", "wcet of `a` is 0ns"),
        (
            "wcet = \"3ms\"\nsteps = [\"run 1ms\"]",
            "13:9",
            "the steps of `a` run for 1ms, and its wcet is 3ms",
        ),
        ("stpes = [\"run 1ms\"]", "12:1", "unknown key `stpes`"),
        ("", "9:1", "task `a` has no `wcet`"),
        ("wcet = \"1ms\"\n[defaults]\nsteps = [\"run 1ms\"]", "14:1", "`steps` has no default"),
        ("wcet = \"1ms\"\n[[resource]]\nhome = 0", "13:1", "a resource has no `name`"),
        (
            "wcet = \"1ms\"\n[[resource]]\nname = \"a\"\nhome = 2",
            "15:8",
            "`home` names CPU 2, which does not exist",
        ),
        (
            "wcet = \"1ms\"\n[[resource]]\nname = \"bus\"",
            "14:8",
            "the name `bus` is taken by resource 1",
        ),
        ("wcet = \"1ms\"\n[[resource]]\nname = \"a b\"", "14:8", "a resource has the name \"a b\""),
        ("wcet = \"1ms\"\n[[resource]]\nname = \"a\"\ncpu = 0", "15:1", "unknown key `cpu`"),
    ] {
        let report = toml(&file(keys)).unwrap_err();
        let (place, said, _) = first(&report);
        assert_eq!(
            (place.as_str(), said, report.problems.len()),
            (at, message, 1),
            "{}",
            report.plain()
        );
    }
    let table = "layland = 1\n[platform]\ncpus = 1\n[resource]\nname = \"a\"\n[[task]]\nname = \"t\"\nperiod = \"5ms\"\n\
                 steps = [\"run 1ms\", \"lock a\", \"unlock a\"]\n";
    let report = toml(table).unwrap_err();
    assert_eq!(report.problems.len(), 1, "{}", report.plain());
    assert_eq!(first(&report).2, "write [[resource]], with two brackets, before each resource");
}

#[test]
fn a_table_has_steps_in_a_cell() {
    let text = "# cpus = 1\nname,period,steps\na,9ms,run 1ms; lock bus;run 2ms; unlock bus\nb,9ms,\nc,8ms,lock x; run 1us; unlock x\n";
    let report = csv(text).unwrap_err();
    assert_eq!((first(&report).0.as_str(), first(&report).1), ("4:1", "task `b` has no wcet"));
    let system = csv(&text.replace("b,9ms,\n", "")).unwrap().system;
    let names: Vec<&str> = system.resources.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["bus", "x"]);
    assert_eq!(system.tasks[TaskId(0)].own_wcet(), Service::from_ms(3));
    assert_eq!(system.tasks[TaskId(1)].steps()[0], Step::Lock(ResourceId(1)));
    for (cell, message) in [
        ("run 1ms; lok bus", "`lok` is nothing that a job does"),
        ("run 1ms; suspend 2", "a time needs a unit"),
        ("run 1ms;", "a step is empty"),
        ("run 1ms; lock bus", "a job of `a` ends holding `bus`"),
        ("run 1ms; unlock bus", "`a` unlocks `bus`, which is not what it locked last"),
    ] {
        let report = csv(&format!("# cpus = 1\nname,period,steps\na,9ms,{cell}\n")).unwrap_err();
        assert_eq!(
            (first(&report).0.as_str(), report.problems.len()),
            ("3:7", 1),
            "{}",
            report.plain()
        );
        assert!(first(&report).1.starts_with(message), "{}", report.plain());
    }
}

#[test]
fn what_a_format_cannot_say_is_told() {
    let mut system = toml(&file(&format!("steps = {STEPS}"))).unwrap().system;
    system.resources.push(Resource { name: "spare".to_owned(), home: None });
    let lost = |lost: Vec<layland_config::Problem>| -> Vec<String> {
        lost.into_iter().map(|problem| problem.message).collect()
    };
    assert_eq!(
        lost(to_csv(&system).1),
        ["the home of `bus` is lost", "the resource `spare`, which no task uses, is lost"]
    );
    assert_eq!(
        lost(to_rt_app(&system, RtAppPolicy::Deadline).1),
        ["the home of `bus` is lost", "the resource `spare` is lost: no task uses it"]
    );
    let said = lost(to_simso(&system).1);
    let steps = "what the jobs of `a` lock, and when they suspend, is lost";
    assert!(said.iter().any(|one| one == steps), "{said:?}");
    assert!(said.iter().any(|one| one == "3 resources are lost"), "{said:?}");
    let said = lost(to_schedcat(&system).1);
    for message in [
        "that `a` suspends itself is lost",
        "the critical sections of `a` are lost",
        "the home of `bus` is lost",
        "the name of the resource `bus` is lost",
    ] {
        assert!(said.iter().any(|one| one == message), "{message}: {said:?}");
    }
    assert!(to_toml(&system).contains("steps = [\"run 1ms\", \"lock bus\", \"run 2ms\","));
    assert!(to_csv(&system).0.contains("run 1ms; lock bus; run 2ms; lock buffer;"));
}
