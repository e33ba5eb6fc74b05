//! Cause-effect chains in task-set files and lines: their meaning,
//! the positions of faults, and the formats that lose them.

use crate::common::toml;
use layland_config::{
    Format, Host, RtAppPolicy, read, to_csv, to_line, to_rt_app, to_schedcat, to_simso, to_toml,
};
use layland_model::*;

const TASKS: &str = "layland = 1\n[platform]\ncpus = 1\n\
    [[task]]\nname = \"camera\"\nperiod = \"10ms\"\nwcet = \"1ms\"\nlet_interval = \"4ms\"\n\
    [[task]]\nname = \"brake\"\nperiod = \"15ms\"\nwcet = \"1ms\"\n";

#[test]
fn chains_are_read_and_written() {
    // A chain may precede its tasks.
    let text = format!(
        "{}[[chain]]\nname = \"stop\"\ntasks = [\"camera\", \"brake\"]\ncommunication = \"let\"\n\
         max_reaction = \"50ms\"\nmax_age = \"1.5ms\"\n{}\
         [[chain]]\nname = \"back\"\ntasks = [\"brake\", \"camera\", \"brake\"]\n",
        &TASKS[..TASKS.find("[[task").unwrap()],
        &TASKS[TASKS.find("[[task").unwrap()..],
    );
    let system = toml(&text).unwrap_or_else(|report| panic!("{}", report.plain())).system;
    let (camera, brake) = (TaskId(0), TaskId(1));
    assert_eq!(
        system.chains,
        [
            Chain {
                max_reaction: Some(Duration::from_ms(50)),
                max_age: Some(Duration::from_us(1_500)),
                ..Chain::new("stop", [camera, brake], Communication::Let)
            },
            Chain::new("back", [brake, camera, brake], Communication::Implicit),
        ]
    );
    let writes = [camera, brake].map(|task| system.tasks[task].write_after());
    assert_eq!(writes, [4, 15].map(Duration::from_ms));
    assert_eq!(toml(&to_toml(&system)).unwrap().system, system);
    let line = read("set.jsonl", to_line(&system).as_bytes(), Format::Lines, &Host::default());
    assert_eq!(line.unwrap().system, system);
}

/// Reads the tasks with a chain at the end. Returns the
/// text at the first fault, its message and its help.
fn fault(chain: &str) -> (String, String, String) {
    let text = format!("{TASKS}{chain}\n");
    let report = toml(&text).expect_err("it has a fault");
    let problem = &report.problems[0];
    let place = problem.span.clone().map_or(String::new(), |span| text[span].to_owned());
    (place, problem.message.clone(), problem.help.clone().unwrap_or_default())
}

#[test]
fn faults_are_told_at_their_place() {
    let told = |chain: &str, place: &str, message: &str, help: &str| {
        assert_eq!(fault(chain), (place.to_owned(), message.to_owned(), help.to_owned()));
    };
    let unknown = "[[chain]]\nname = \"stop\"\ntasks = [\"camera\", \"brke\"]";
    told(unknown, "\"brke\"", "there is no task `brke`", "did you mean `brake`?");
    let twice = "[[chain]]\nname = \"stop\"\ntasks = [\"camera\", \"camera\"]";
    let help = "name it once: data that a job reads from its own task is its state";
    let message = "the chain `stop` has `camera` twice in a row";
    told(twice, "[\"camera\", \"camera\"]", message, help);
    let empty = "[[chain]]\nname = \"stop\"\ntasks = []";
    told(empty, "[]", "the chain `stop` has no task", "name its tasks in order");
    for key in ["max_reaction", "max_age"] {
        let never = format!("[[chain]]\nname = \"stop\"\ntasks = [\"camera\"]\n{key} = \"0ms\"");
        let help = "allow more than 0s, or leave the constraint out";
        told(&never, "[\"camera\"]", "the chain `stop` allows a latency of 0ns", help);
    }
    let way = "[[chain]]\nname = \"stop\"\ntasks = [\"camera\"]\ncommunication = \"lett\"";
    let (place, message, _) = fault(way);
    assert_eq!(place, "\"lett\"");
    assert!(message.contains("lett"), "{message}");
    let same = "[[chain]]\nname = \"stop\"\ntasks = [\"camera\"]\n[[chain]]\nname = \"stop\"\ntasks = [\"brake\"]";
    let message = "the name `stop` is taken by chain 1";
    told(same, "[\"brake\"]", message, "give every chain a name of its own");
    let none = "[[chain]]\ntasks = [\"camera\"]";
    assert!(fault(none).1.contains("`name`"), "{none}");
    let none = "[[chain]]\nname = \"stop\"";
    assert!(fault(none).1.contains("`tasks`"), "{none}");
    let number = "[[chain]]\nname = \"stop\"\ntasks = [1]";
    assert_eq!(fault(number).0, "1");
    for wrong in ["0ms", "16ms"] {
        let interval = format!("let_interval = \"{wrong}\"");
        let (place, message, _) = fault(&interval);
        assert_eq!(place, format!("\"{wrong}\""));
        assert_eq!(
            message,
            format!(
                "`brake` writes {} after its release",
                if wrong == "0ms" { "0ns" } else { wrong }
            )
        );
    }
}

#[test]
fn what_other_formats_lose_is_told() {
    let text = format!("{TASKS}[[chain]]\nname = \"stop\"\ntasks = [\"camera\", \"brake\"]\n");
    let system = toml(&text).unwrap().system;
    for (format, lost) in [
        ("csv", to_csv(&system).1),
        ("simso", to_simso(&system).1),
        ("schedcat", to_schedcat(&system).1),
        ("rt-app", to_rt_app(&system, RtAppPolicy::Deadline).1),
    ] {
        let told = |what: &str| lost.iter().any(|problem| problem.message.contains(what));
        assert!(told("chain"), "{format}: {lost:?}");
        assert!(told("when `camera` writes"), "{format}: {lost:?}");
    }
}
