//! Sets in lines of JSON: round trips, both ways to
//! read and to write one, and the faults of a line.

use crate::common::system;
use layland_config::{Format, Host, Loaded, Report, read, to_line, to_toml};
use layland_model::*;
use proptest::prelude::*;
use serde_json::Value;

fn line(text: &str) -> Result<Loaded, Report> {
    read("sets.jsonl", text.as_bytes(), Format::Lines, &Host::default())
}

/// A system with only the keys that generators write.
fn plain() -> impl Strategy<Value = System> {
    let task = (1i64..1_000_000, 1i64..3_000_000, 0i64..5_000, prop::option::of(1i64..4_000_000));
    let name = "[a-zA-Z0-9_ \"\\\\é\n.-]{1,8}";
    let provenance =
        prop::option::of((name, any::<u64>(), prop::collection::btree_map(name, name, 0..4)));
    type Times = (i64, i64, i64, Option<i64>);
    (1usize..70, prop::collection::vec((name, task), 0..6), provenance).prop_map(
        |(cpus, tasks, made)| {
            let of = |(at, (name, times)): (usize, (String, Times))| {
                let (wcet, period, offset, deadline) = times;
                let mut task = Task::implicit(
                    format!("{at}{name}"),
                    Service::from_ns(wcet),
                    Duration::from_ns(period),
                );
                task.offset = Duration::from_us(offset / 2);
                task.deadline = deadline.map_or(task.period, Duration::from_ns);
                task.rank = at as i64;
                task
            };
            let mut system = System::new(cpus, tasks.into_iter().enumerate().map(of).collect());
            system.provenance = made.map(|(generator, seed, parameters)| Provenance {
                generator,
                seed,
                parameters: parameters.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
            });
            system
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_back(system in prop_oneof![system().boxed(), plain().boxed()]) {
        prop_assume!(system.validate().is_empty());
        let text = to_line(&system);
        prop_assert_eq!(text.find('\n'), Some(text.len() - 1));
        let loaded = line(&text).map_err(|report| {
            TestCaseError::fail(format!("{}\n{text}", report.plain()))
        })?;
        prop_assert_eq!(&loaded.system, &system, "{}", text);
        prop_assert_eq!(to_line(&loaded.system), text);
    }

    #[test]
    fn both_ways_agree(system in plain()) {
        let text = to_line(&system);
        // A key that the fast way does not support.
        let long = text.trim_end().strip_suffix('}').map(|text| format!("{text},\"defaults\":{{}}}}"));
        let [short, long] = [text.clone(), long.unwrap()].map(|text| line(&text));
        match (short, long) {
            (Ok(short), Ok(long)) => {
                prop_assert_eq!(&short.system, &long.system);
                prop_assert_eq!(short.warnings, long.warnings);
                let table: toml::Table = to_toml(&system).parse().unwrap();
                let written: Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(written, serde_json::to_value(table).unwrap());
            }
            (Err(short), Err(long)) => prop_assert_eq!(short.problems, long.problems),
            (short, long) => prop_assert!(false, "{short:?}\n{long:?}"),
        }
    }
}

#[test]
fn what_is_wrong_has_its_place() {
    let said = |text: &str| line(text).expect_err(text).plain();
    let task = r#"{"name":"a","period":"5ms","wcet":"1ms"}"#;
    let set = |task: &str| format!(r#"{{"layland":1,"platform":{{"cpus":1}},"task":[{task}]}}"#);
    assert!(line(&set(task)).is_ok());
    for (text, expected) in [
        (set(r#"{"name":"a","period":5,"wcet":"1ms"}"#), "sets.jsonl:1:65: error"),
        (set(r#"{"name":"a","preiod":"5ms","wcet":"1ms"}"#), "did you mean `period`?"),
        (set(r#"{"name":"a","period":null,"wcet":"1ms"}"#), "leave the key out"),
        (
            set(r#"{"name":"a","period":"5ms","period":"6ms","wcet":"1ms"}"#),
            "`period` is given twice",
        ),
        (
            set(r#"{"name":"a","period":"5ms","wcet":"1ms","rank":1.2.3}"#),
            "`1.2.3` is not a number",
        ),
        (set(&format!("{task},{task}")), "the name `a` is taken by task 1"),
        (set(r#"{"name":"a","period":"0ms","wcet":"1ms"}"#), "period of `a` is 0ns"),
        (
            format!("{}\n\n{}", set(task), set(task)),
            "sets.jsonl:3:1: error: there is more than one set",
        ),
        ("[]".to_owned(), "a set is an object, and this is a list"),
        ("{".to_owned(), "not JSON"),
        (r#"{"layland":2}"#.to_owned(), "format version 2 is not understood"),
    ] {
        assert!(said(&text).contains(expected), "{text}\n{}", said(&text));
    }
}

#[test]
fn a_line_may_be_of_rt_app() {
    let text = r#"{"tasks":{"a":{"run":4000,"timer":{"ref":"t","period":10000}}}}"#;
    let [lines, file] = [Format::Lines, Format::RtApp].map(|format| {
        let host = Host { default_cpus: Some(2), ..Host::default() };
        read("set", text.as_bytes(), format, &host).unwrap()
    });
    assert_eq!(lines, file);
}
