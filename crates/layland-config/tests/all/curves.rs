//! Arrival curves in task-set files and lines: their meaning,
//! the positions of faults, and the formats that lose them.

use crate::common::{csv, is_read_again, toml};
use layland_config::{RtAppPolicy, to_csv, to_rt_app, to_schedcat, to_simso};
use layland_model::{Behaviour, Duration, Separation, System, TaskId};

/// A task with this period and release; the release is in line 7.
fn text(period: &str, release: &str) -> String {
    format!(
        "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nperiod = \"{period}\"\n\
         release = {release}\nwcet = \"1ms\"\ndeadline = \"9ms\"\n"
    )
}

fn system(period: &str, release: &str) -> System {
    toml(&text(period, release)).unwrap_or_else(|report| panic!("{}", report.plain())).system
}

const BURSTS: &str = "{ kind = \"curve\", delta_min = [\"1ms\", \"2ms\", \"21ms\"] }";
const DRAWN: &str = "{ kind = \"curve\", delta_min = [\"0s\", \"20ms\"], extra = { dist = \"exponential\", \
     mean = \"1ms\", max = \"5ms\" } }";

#[test]
fn they_are_read_and_written() {
    for (period, release, drawn) in [
        ("7ms", BURSTS, None),
        (
            "10ms",
            DRAWN,
            Some(Separation::Exponential { mean: Duration::from_ms(1), max: Duration::from_ms(5) }),
        ),
        // Distances that follow from the others may be omitted.
        ("5ms", "{ kind = \"curve\", delta_min = [\"5ms\", \"6ms\"] }", None),
    ] {
        let system = system(period, release);
        let Behaviour::Curve(arrivals) = &system.tasks[TaskId(0)].behaviour else {
            panic!("{system:#?}");
        };
        assert_eq!(arrivals.extra, drawn);
        is_read_again(&system);
    }
}

#[test]
fn faults_are_told_where_they_are() {
    for (period, release, place, message) in [
        ("7ms", "\"curve\"", ":7:", "has no `delta_min`"),
        ("7ms", "{ kind = \"curve\" }", ":7:", "has no `delta_min`"),
        ("7ms", "{ kind = \"curve\", delta_min = [] }", ":7:", "there is no distance"),
        (
            "7ms",
            "{ kind = \"curve\", delta_min = [\"0s\", \"0s\"] }",
            ":7:",
            "more jobs may arrive than one each nanosecond",
        ),
        (
            "7ms",
            "{ kind = \"curve\", delta_min = [\"1ms\", \"9ms\", \"8ms\"] }",
            ":7:56",
            "3 arrivals would take 9ms, and 4 only 8ms",
        ),
        (
            "20ms",
            BURSTS,
            ":6:",
            "the arrivals of `a` are 7ms apart in the long run, and its period is 20ms",
        ),
        (
            "7ms",
            "{ kind = \"curve\", delta_min = [\"7ms\"], extra = \"-1ms\" }",
            ":7:",
            "comes earlier than its curve permits",
        ),
    ] {
        let report = toml(&text(period, release)).unwrap_err().plain();
        assert!(report.contains(message), "{release}: {report}");
        assert!(report.contains(place), "{release}: {report}");
    }
    let changed = text("7ms", BURSTS)
        + "[[request]]\nat = \"1s\"\ntask = \"a\"\nperiod = \"8ms\"\nwcet = \"1ms\"\ndeadline = \"8ms\"\n";
    let report = toml(&changed).unwrap_err().plain();
    assert!(report.contains("`a` arrives by a curve"), "{report}");
}

#[test]
fn what_other_formats_lose_is_told() {
    let system = system("7ms", BURSTS);
    for (format, lost, words) in [
        ("simso", to_simso(&system).1, "`a` becomes periodic"),
        ("schedcat", to_schedcat(&system).1, "`a`"),
        ("rt-app", to_rt_app(&system, RtAppPolicy::Deadline).1, "the arrival curve of `a` is lost"),
        ("csv", to_csv(&system).1, "the release of `a` is"),
    ] {
        let told = lost.iter().any(|problem| problem.message.contains(words));
        assert!(told, "{format}: {lost:?}");
    }
    assert!(csv(&to_csv(&system).0).is_ok());
}
