//! Task-set files: round trips, the meaning of every key, the demos, the schema.

use crate::common::{system, toml};
use layland_config::{Format, Host, demos, read, schema, to_toml};
use layland_model::*;
use proptest::prelude::*;
use serde_json::Value;

proptest! {
    #[test]
    fn what_is_written_reads_back(system in system()) {
        prop_assert_eq!(system.validate(), []);
        let text = to_toml(&system);
        let loaded = toml(&text).map_err(|report| {
            TestCaseError::fail(format!("{}\n{text}", report.plain()))
        })?;
        prop_assert_eq!(&loaded.system, &system, "{}", text);
        prop_assert_eq!(to_toml(&loaded.system), text);
    }
}

#[test]
fn what_decides_between_equal_priorities_is_read_or_follows_from_ranks() {
    let task = |name: &str, keys: &str| {
        format!("[[task]]\nname = \"{name}\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n{keys}")
    };
    let read = |defaults: &str, keys: [&str; 2]| {
        let tasks = [task("a", keys[0]), task("b", keys[1])].concat();
        toml(&format!("layland = 1\n[platform]\ncpus = 1\n{defaults}{tasks}"))
    };
    let (plain, ranked) = ("priority = 3\n", "priority = 3\nrank = 1\n");
    for (defaults, keys, in_level) in [
        ("", [plain, plain], Some(InLevel::Fifo)),
        ("", [plain, ranked], Some(InLevel::Fifo)),
        ("", [ranked, ranked], None),
        // No tasks share a priority, so the ranks are for other policies.
        ("", [plain, "priority = 4\n"], None),
        ("[defaults]\ntie = \"any\"\n", [plain, "priority = 4\n"], None),
        ("[defaults]\ntie = \"fifo\"\n", [ranked, ranked], Some(InLevel::Fifo)),
        ("[defaults]\ntie = \"any\"\n", [plain, plain], Some(InLevel::Any)),
        ("[defaults]\ntie = \"rank\"\n", [plain, plain], None),
    ] {
        let system =
            read(defaults, keys).unwrap_or_else(|report| panic!("{}", report.plain())).system;
        assert_eq!(system.in_level, in_level, "{defaults} {keys:?}");
        assert_eq!(toml(&to_toml(&system)).unwrap().system, system, "{defaults} {keys:?}");
    }
    for wrong in ["[defaults]\ntie = \"lifo\"\n", "[defaults]\ntie = 3\n"] {
        assert!(read(wrong, [plain, plain]).is_err(), "{wrong}");
    }
    // The key belongs to the set, and not to a task.
    assert!(read("", ["tie = \"any\"\n", plain]).is_err());
}

#[test]
fn every_demo_is_valid_says_what_it_shows_and_fits_the_schema() {
    let schema = schema();
    for demo in demos() {
        let loaded = toml(demo.text).unwrap_or_else(|report| panic!("{}", report.plain()));
        assert!(loaded.warnings.is_empty(), "{}", demo.name);
        assert!(demo.text.starts_with("# "), "{}", demo.name);
        let json = serde_json::to_value(demo.text.parse::<toml::Table>().unwrap()).unwrap();
        assert_eq!(fits(&json, &schema, &schema), Ok(()), "{}", demo.name);
        let again = toml(&to_toml(&loaded.system)).unwrap();
        assert_eq!(again.system, loaded.system);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_written_fits_the_schema(mut system in system()) {
        // The general TOML reader does not accept numbers of more than 63 bits.
        for task in system.tasks.values_mut() {
            task.jobs = task.jobs.map(|jobs| jobs >> 1);
        }
        let schema = schema();
        let table = to_toml(&system).parse::<toml::Table>().unwrap();
        prop_assert_eq!(fits(&serde_json::to_value(table).unwrap(), &schema, &schema), Ok(()));
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let schema = schema();
    for text in [
        "layland = 2",
        "layland = 1\nplatfrom = {}",
        "layland = 1\n[[task]]\nname = \"a\"\nperiod = \"5ms\"",
        "layland = 1\n[[task]]\nname = \"a\"\nperiod = 5\nwcet = \"1ms\"",
        "layland = 1\n[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\nexec = \"list\"",
        "layland = 1\n[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\nexec = { model = \"list\" }",
    ] {
        let json = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        assert!(fits(&json, &schema, &schema).is_err(), "{text}");
        assert!(toml(text).is_err(), "{text}");
    }
}

/// Checks that a value fits a schema, for the keywords of JSON Schema that ours uses.
fn fits(value: &Value, schema: &Value, root: &Value) -> Result<(), String> {
    let Some(schema) = schema.as_object() else {
        return if schema == &Value::Bool(false) { Err("forbidden".into()) } else { Ok(()) };
    };
    for (word, rule) in schema {
        match word.as_str() {
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                fits(value, &root["$defs"][name], root)?;
            }
            "anyOf" | "oneOf" => {
                let rules = rule.as_array().unwrap();
                let fitting = rules.iter().filter(|rule| fits(value, rule, root).is_ok()).count();
                if fitting == 0 || (word == "oneOf" && fitting > 1) {
                    return Err(format!("{value} fits {fitting} of {word}"));
                }
            }
            "type" => {
                let is = |name: &str| match name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    other => panic!("type {other}"),
                };
                let ok = match rule {
                    Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
                    name => is(name.as_str().unwrap()),
                };
                if !ok {
                    return Err(format!("{value} is not {rule}"));
                }
            }
            "const" if value != rule => return Err(format!("{value} is not {rule}")),
            "enum" if !rule.as_array().unwrap().contains(value) => {
                return Err(format!("{value} is not in {rule}"));
            }
            "required" => {
                for key in rule.as_array().unwrap() {
                    if value.is_object() && value.get(key.as_str().unwrap()).is_none() {
                        return Err(format!("{key} is missing"));
                    }
                }
            }
            "properties" => {
                for (key, rule) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(key) {
                        fits(value, rule, root).map_err(|error| format!("{key}: {error}"))?;
                    }
                }
            }
            "additionalProperties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    if schema.get("properties").is_none_or(|known| known.get(key).is_none()) {
                        fits(value, rule, root).map_err(|error| format!("{key}: {error}"))?;
                    }
                }
            }
            "items" => {
                for value in value.as_array().into_iter().flatten() {
                    fits(value, rule, root)?;
                }
            }
            "minimum" if value.as_f64() < rule.as_f64() => return Err(format!("{value} is small")),
            "maximum" if value.as_f64() > rule.as_f64() => return Err(format!("{value} is large")),
            "const" | "enum" | "minimum" | "maximum" | "minLength" | "minItems" | "maxItems"
            | "pattern" | "$schema" | "$defs" | "title" | "description" | "default" | "format" => {}
            other => panic!("the schema uses `{other}`"),
        }
    }
    Ok(())
}

#[test]
fn every_key_has_its_meaning() {
    let system = toml(
        r#"
        layland = 1
        [platform]
        cpus = "0-7"
        clusters = ["0-3", [4, 5, "6-7"]]
        topology = { l3 = ["0-1", "2-3"], big = "4-7" }
        speed = { "4-5" = "0.5", "big,!4-5" = "3/2" }
        [platform.overhead]
        context_switch = "2us"
        tick = "1us"
        tick_period = "4ms"
        [criticality]
        levels = ["LO", "MID", "HI"]
        [defaults]
        jitter = "10us"
        cluster = 0
        [[task]]
        name = "a"
        count = 2
        period = "5ms"
        deadline = "4ms"
        wcet = { LO = "1ms", MID = "2ms" }
        criticality = "MID"
        affinity = "l3:1"
        [[task]]
        name = "b"
        period = "10/2ms"
        wcet = "1ms"
        cluster = 1
        affinity = ["4", 5]
        jitter = "0s"
        rank = -3
        priority = 7
        jobs = 12
        on_miss = "abort"
        reclaim = true
        exec = { model = "list", values = ["1ms", "200us x 4", "300us"] }
        [[task]]
        name = "c"
        period = "8ms"
        wcet = "1ms"
        affinity = "!2"
        [[request]]
        at = "20ms"
        task = "a.1"
        leave = true
        [[request]]
        at = "10ms"
        task = "c"
        wcet = "2ms"
        period = "16ms"
        [[request]]
        at = "10ms"
        cluster = 1
        cpus = "big"
        [provenance]
        generator = "by hand"
        seed = "18446744073709551615"
        parameters = { n = "3" }
        "#,
    )
    .unwrap_or_else(|report| panic!("{}", report.plain()))
    .system;
    let set = |text: &str| text.parse::<CpuSet>().unwrap();
    let names: Vec<&str> = system.tasks.values().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["a.0", "a.1", "b", "c"]);
    let [a, a1, b, c] = system.tasks.as_slice() else { panic!("four tasks") };
    assert_eq!(a.wcet, [1, 2, 2].map(Service::from_ms).into());
    assert_eq!(a.jitter, Duration::from_us(10));
    assert_eq!((a.rank, a1.rank, b.rank, c.rank), (0, 1, -3, 3));
    assert_eq!((&a.affinity, a.cluster), (&Some(set("2-3")), 0));
    assert_eq!((&b.affinity, b.cluster), (&Some(set("4-5")), 1));
    assert_eq!((b.jitter, b.period), (Duration::ZERO, Duration::from_ms(5)));
    assert_eq!((b.priority, b.jobs), (Some(7), Some(12)));
    assert_eq!((a.on_miss, b.on_miss), (OnMiss::Continue, OnMiss::Abort));
    assert_eq!((a.reclaim, b.reclaim), (false, true));
    let times = [1000, 200, 200, 200, 200, 300].map(Service::from_us);
    assert_eq!(b.execution, ExecutionModel::List(times.to_vec()));
    assert_eq!(c.affinity, Some(set("0-1,3")));
    let speeds: Vec<String> = system.platform.speeds.values().map(Speed::to_string).collect();
    assert_eq!(speeds.join(" "), "1 1 1 1 1/2 1/2 3/2 3/2");
    let requests: Vec<_> = system.requests.iter().map(|request| &request.kind).collect();
    assert!(matches!(
        requests[..],
        [
            RequestKind::Reconfigure(TaskId(3), Change::Parameters { .. }),
            RequestKind::SetClusterCpus { cluster: 1, .. },
            RequestKind::Leave(TaskId(1)),
        ]
    ));
    assert_eq!(system.provenance.unwrap().seed, u64::MAX);
}

#[test]
fn ways_to_treat_late_jobs_are_known_by_name() {
    let file = |value: &str| {
        format!(
            "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n{value}\n"
        )
    };
    let way = toml(&file("on_miss = \"skip\"")).map(|l| l.system.tasks[TaskId(0)].on_miss);
    assert_eq!(way, Ok(OnMiss::Skip));
    let report = toml(&file("on_miss = \"kill\"")).unwrap_err().plain();
    assert!(
        report.contains("set.toml:8:11: error: there is no way to treat late jobs `kill`"),
        "{report}"
    );
    assert!(report.contains("help: there is continue, abort, skip"), "{report}");
    let report = toml(&file("reclaim = \"yes\"")).unwrap_err().plain();
    assert!(report.contains("set.toml:8:11: error: "), "{report}");
    assert!(report.contains("write reclaim = true"), "{report}");
    let report = toml(&file("exec = { model = \"list\", values = [\"1ms x 0\"] }")).unwrap_err();
    assert!(report.plain().contains("`1ms x 0` is not a repeated time"), "{}", report.plain());
}

#[test]
fn regions_are_read_and_faults_point_at_them() {
    let file = |keys: &str| {
        format!(
            "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"3ms\"\n{keys}\n"
        )
    };
    let read = |keys: &str| toml(&file(keys)).map(|l| l.system.tasks[TaskId(0)].preemption.clone());
    let ms = [1, 2].map(Service::from_ms);
    for (keys, expected) in [
        ("", Preemption::Anywhere),
        ("nonpreemptive = false", Preemption::Anywhere),
        ("nonpreemptive = true", Preemption::Never),
        ("nonpreemptive = \"2ms\"", Preemption::Delayed(Duration::from_ms(2))),
        ("segments = [\"1ms\", \"2ms\"]", Preemption::Between(ms.into())),
        ("[defaults]\nnonpreemptive = true", Preemption::Never),
    ] {
        assert_eq!(read(keys), Ok(expected), "{keys}");
    }
    let own = "segments = [\"1ms\", \"2ms\"]\n[defaults]\nnonpreemptive = true";
    assert_eq!(read(own), Ok(Preemption::Between(ms.into())));
    for (keys, at, message, help) in [
        (
            "nonpreemptive = true\nsegments = [\"3ms\"]",
            "9:1",
            "a task has either `nonpreemptive` or `segments`",
            "leave `nonpreemptive` out",
        ),
        (
            "segments = [\"1ms\", \"1ms\"]",
            "8:12",
            "the segments of `a` sum to 2ms, and its wcet is 3ms",
            "their sum is the wcet",
        ),
        (
            "segments = [\"3ms\", \"0ms\"]",
            "8:12",
            "a segment of `a` is not longer than zero",
            "leave it out",
        ),
        ("segments = []", "8:12", "`segments` is empty", "list their lengths"),
        ("segments = \"3ms\"", "8:12", "`segments` is a list, not a string", "write segments = "),
        ("nonpreemptive = \"0ms\"", "8:17", "nonpreemptive of `a` is 0ns", "longer than zero"),
        ("nonpreemptive = 2", "8:17", "`nonpreemptive`: a time needs a unit", "add ns"),
        (
            "nonpreemptive = [\"2ms\"]",
            "8:17",
            "`nonpreemptive` is true, false or a time, not a list",
            "write true for the whole job",
        ),
    ] {
        let report = toml(&file(keys)).unwrap_err().plain();
        assert!(report.contains(&format!("set.toml:{at}: error: {message}")), "{keys}: {report}");
        assert!(report.contains(help), "{keys}: {report}");
    }
}

/// The common mistake of single brackets is one fault, and not a further one for every key.
#[test]
fn single_brackets_are_explained() {
    let task =
        |name: &str| format!("[task]\nname = \"{name}\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n");
    let text = format!("layland = 1\n[platform]\ncpus = 1\n{}{}", task("a"), task("b"));
    let report = toml(&text).unwrap_err();
    let messages: Vec<&str> = report.problems.iter().map(|p| p.message.as_str()).collect();
    assert_eq!(messages, ["two tables are called `task`"], "{}", report.plain());
    let help = report.problems[0].help.as_deref();
    assert_eq!(help, Some("write [[task]], with two brackets, before each task"));
}

#[test]
fn the_cluster_follows_from_the_affinity_or_is_asked_for() {
    let file = |task: &str| {
        format!(
            "layland = 1\n[platform]\ncpus = 4\nclusters = [\"0-1\", \"2-3\"]\n\
             [[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n{task}"
        )
    };
    let cluster = |task: &str| toml(&file(task)).map(|l| l.system.tasks[TaskId(0)].cluster);
    assert_eq!(cluster("affinity = [3]"), Ok(1));
    assert_eq!(cluster("cluster = 1"), Ok(1));
    let report = cluster("").unwrap_err();
    assert_eq!(report.problems[0].message, "task `a` has no `cluster`");
}

#[test]
fn the_host_and_the_default_number_of_cpus_come_from_the_caller() {
    let task = "[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n";
    let count = |text: &str, host: &Host| {
        let text = format!("layland = 1\n{text}{task}");
        read("x", text.as_bytes(), Format::Toml, host).map(|l| l.system.platform.cpu_count())
    };
    let host = Host { cpus: Some(6), default_cpus: None, ..Host::default() };
    let asked = Host { cpus: None, default_cpus: Some(3), ..Host::default() };
    assert_eq!(count("platform = { cpus = \"host\" }\n", &host), Ok(6));
    assert!(count("platform = { cpus = \"host\" }\n", &Host::default()).is_err());
    assert_eq!(count("", &asked), Ok(3));
    assert_eq!(count("platform = { cpus = 2 }\n", &asked), Ok(2));
    assert!(count("", &host).is_err());
    assert!(
        count("", &Host { cpus: None, default_cpus: Some(usize::MAX), ..Host::default() }).is_err()
    );
}

/// The word says that jobs are at least a period apart, and no time is added.
#[test]
fn sporadic_by_name_adds_no_time() {
    let head = "layland = 1\nplatform = { cpus = 1 }\n";
    let task = "[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n";
    let right = Behaviour::Sporadic(Separation::Uniform { max: Duration::ZERO });
    for release in ["\"sporadic\"", "{ kind = \"sporadic\" }"] {
        for text in [
            format!("{head}{task}release = {release}\n"),
            format!("{head}[defaults]\nrelease = {release}\n{task}"),
        ] {
            let system = toml(&text).unwrap_or_else(|report| panic!("{}", report.plain())).system;
            assert_eq!(system.tasks[TaskId(0)].behaviour, right, "{text}");
            crate::common::is_read_again(&system);
        }
    }
}
