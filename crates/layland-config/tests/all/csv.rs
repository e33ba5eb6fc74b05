//! Tables: reading, writing, faults.

use crate::common::{csv, system};
use layland_config::{Format, Host, Severity, Unit, read, to_csv};
use layland_model::*;
use proptest::prelude::*;

#[test]
fn columns_have_the_meaning_of_keys() {
    let text = "\u{feff}# a set\n# cpus = 4\n# levels = LO HI\r\nname\tperiod_ms\tdeadline\twcet.HI_us\twcet.LO\tcriticality\taffinity\trank\n\
                brake\t10.5\t\t2500\t1ms\tHI\t\"0,2\"\t7\r\n\nradio\t20\t8ms\t\t4ms\t\t!0\t\n";
    let system = csv(text).unwrap_or_else(|report| panic!("{}", report.plain())).system;
    let [brake, radio] = system.tasks.as_slice() else { panic!("two tasks") };
    assert_eq!(brake.period, Duration::from_us(10_500));
    assert_eq!(brake.deadline, brake.period);
    assert_eq!(brake.wcet, [Service::from_ms(1), Service::from_us(2500)].into());
    assert_eq!((brake.criticality, brake.rank), (Criticality(1), 7));
    assert_eq!(brake.affinity.as_ref().unwrap().to_string(), "0,2");
    assert_eq!(radio.affinity.as_ref().unwrap().to_string(), "1-3");
    assert_eq!((radio.rank, radio.wcet[1]), (1, Service::from_ms(4)));
}

/// Importance alone changes nothing: it does not count, unless there are levels that it can be.
#[test]
fn a_criticality_needs_levels() {
    let table = "# cpus = 1\nTask,Criticality,Period_ms,C_ms\na,HIGH,6,2\nb,LOW,12,3\n";
    let found = csv(table).unwrap_or_else(|report| panic!("{}", report.plain()));
    assert!(found.system.tasks.values().all(|task| task.criticality == Criticality::default()));
    let warnings = found.warnings.plain();
    assert!(warnings.contains("the column `Criticality` does not count"), "{warnings}");
    let levels = csv(&format!("# levels = LO HI\n{table}"))
        .unwrap_or_else(|report| panic!("{}", report.plain()));
    assert_eq!(levels.system.tasks[TaskId(0)].criticality, Criticality(1));
    let wrong = csv("# cpus = 1\nname,criticality,period_ms,wcet.LO_ms,wcet.HI_ms\na,MID,6,2,3\n")
        .unwrap_err();
    assert_eq!(wrong.problems[0].message, "`MID` is not a criticality level");
}

#[test]
fn faults_have_places() {
    for (text, at, message) in [
        ("name,period,wcet\na,5,1ms\nb,5,1\n", "2:3", "`period`: a time needs a unit"),
        (
            "name,period_ms,wcet\na,5ms,1ms\n",
            "2:3",
            "`5ms` has a unit, and the column `period_ms` has one too",
        ),
        ("name,period_h,wcet\na,5,1ms\n", "1:6", "unknown column `period_h`"),
        ("name,period,period_ms,wcet\n", "1:13", "the column `period_ms` appears twice"),
        ("name,period\na,5ms\n", "1:1", "the table has no column `wcet`"),
        ("name,period,wcet\na,5ms,\n", "2:1", "task `a` has no wcet"),
        ("name,period,wcet\na,5ms,1ms,3\n", "2:11", "the row has 4 cells, the header 3"),
        ("name,period,wcet\n\"a,5ms,1ms\n", "2:1", "the quote is not closed"),
        ("name,period,wcet,reclaim\na,5ms,1ms,yes\n", "2:11", "`yes` is neither true nor false"),
        ("name,period,wcet,nonpreemptive\na,5ms,1ms,yes\n", "2:11", "`yes` is not a time"),
        (
            "name,period,wcet,nonpreemptive,segments\na,5ms,1ms,true,1ms\n",
            "2:16",
            "a task has either `nonpreemptive` or `segments`",
        ),
        (
            "# cpus = 1\nname,period,wcet,segments\na,5ms,3ms,1ms 1ms\n",
            "3:11",
            "the segments of `a` sum to 2ms, and its wcet is 3ms",
        ),
        ("# cpus = many\nname,period,wcet\na,5ms,1ms\n", "1:1", "`many` is not a number of CPUs"),
        (
            "# cpus = 1\nname,period,wcet\na,5ms,1ms\na,5ms,1ms\n",
            "4:1",
            "the name `a` is taken by task 1",
        ),
    ] {
        let report = csv(text).unwrap_err();
        assert_eq!(report.problems[0].message, message);
        assert_eq!(report.problems[0].position.unwrap().to_string(), at, "{text}");
    }
}

/// Tables as in courses and as printed by generators.
#[test]
fn columns_have_other_names_and_no_units() {
    let read_with = |text: &str, unit| {
        let host = Host { unit, ..Host::default() };
        let host = Host { default_cpus: Some(2), ..host };
        let format = Format::detect("<stdin>", text.as_bytes(), &host)?;
        assert_eq!(format, Format::Csv, "{text}");
        read("set.csv", text.as_bytes(), format, &host)
    };
    let course = "Task,BCET,WCET,Period,Deadline,Priority\nT1,1,2,10,9,1\nT2,1,3,20,20,2\n";
    let loaded = read_with(course, Some(Unit::Ms)).unwrap();
    let tasks = loaded.system.tasks.as_slice();
    assert_eq!((tasks[0].name.as_str(), tasks[0].priority), ("T1", Some(1)));
    assert_eq!(tasks[0].own_wcet(), Service::from_ms(2));
    assert_eq!((tasks[0].period, tasks[0].deadline), (Duration::from_ms(10), Duration::from_ms(9)));
    let warning = "warning: the column `BCET` does not count";
    assert!(loaded.warnings.plain().contains(warning), "{}", loaded.warnings.plain());
    // Without the unit there is one error, not one per cell.
    let report = read_with(course, None).unwrap_err();
    let errors = report.problems.iter().filter(|problem| problem.severity == Severity::Error);
    let messages: Vec<&str> = errors.map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["`WCET`: a time needs a unit"]);
    let help = report
        .problems
        .iter()
        .find_map(|problem| problem.help.clone().filter(|help| help.contains("--unit")));
    assert_eq!(
        help.unwrap(),
        "say it for all columns with --unit, in the title, as in wcet_ms, or after each number"
    );
    // Units in the titles take precedence over the unit of the user.
    let titled = "task_name;C (us);Period [ms];wcet.HI_us\n";
    let format = Format::detect("<stdin>", titled.as_bytes(), &Host::default());
    assert_eq!(format.unwrap(), Format::Csv);
    let text = "task_name;C (us);Period [ms];jitter\na;1500;10;2\n";
    let loaded = read_with(text, Some(Unit::Ns)).unwrap();
    let task = &loaded.system.tasks.as_slice()[0];
    assert_eq!((task.own_wcet(), task.period), (Service::from_us(1500), Duration::from_ms(10)));
    assert_eq!(task.jitter, Duration::from_ns(2));
}

/// Lines as printed by `taskgen` and similar tools.
#[test]
fn plain_lines_are_tasks() {
    let host = Host { default_cpus: Some(2), unit: Some(Unit::Us), ..Host::default() };
    let text = "# C T\n319056 1150000\n\n29434 100000 # short\n45334us 0.91s 900ms\n";
    assert_eq!(Format::detect("ts.txt", text.as_bytes(), &host).unwrap(), Format::Plain);
    let loaded = read("ts.txt", text.as_bytes(), Format::Plain, &host).unwrap();
    let tasks = loaded.system.tasks.as_slice();
    assert_eq!(tasks.len(), 3);
    assert_eq!((tasks[0].name.as_str(), tasks[0].own_wcet()), ("t0", Service::from_us(319_056)));
    assert_eq!((tasks[1].period, tasks[1].rank), (Duration::from_ms(100), 1));
    assert_eq!(tasks[2].deadline, Duration::from_ms(900));
    assert_eq!(loaded.places[1].to_string(), "4:1");
    for (text, at, message) in [
        ("1 2\n3 4 5 6\n", "2:1", "a task is two or three times, and here are 4"),
        ("1us 2us\n1us x\n", "2:5", "`x` is not a time"),
        ("1us 0us\n", "1:5", "period of `t0` is 0ns"),
    ] {
        let report = read("ts.txt", text.as_bytes(), Format::Plain, &host).unwrap_err();
        assert_eq!(report.problems[0].message, message);
        assert_eq!(report.problems[0].position.unwrap().to_string(), at, "{text}");
    }
    let without = Host { unit: None, ..host };
    let report = read("ts.txt", b"1 2\n3 4\n", Format::Plain, &without).unwrap_err();
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].message, "the numbers have no unit");
}

/// Returns the system with only the resources that a table keeps: those that are locked, in the
/// order of their first use, without homes, and with names without semicolons.
fn with_resources_of_steps(system: &System) -> System {
    let mut used: Vec<ResourceId> = Vec::new();
    let mut system = system.clone();
    for task in system.tasks.values_mut() {
        let Some(steps) = &task.steps else { continue };
        let mut id = |old: ResourceId| {
            let at = used.iter().position(|&other| other == old).unwrap_or(used.len());
            if at == used.len() {
                used.push(old);
            }
            ResourceId::from_index(at)
        };
        let steps = steps.iter().map(|step| match *step {
            Step::Lock(resource) => Step::Lock(id(resource)),
            Step::Unlock(resource) => Step::Unlock(id(resource)),
            Step::Run(_) | Step::Suspend(_) => *step,
        });
        task.steps = Some(steps.collect());
    }
    let resource = |old: ResourceId| Resource {
        name: system.resources[old.index()].name.replace(';', "_"),
        home: None,
    };
    system.resources = used.into_iter().map(resource).collect();
    system
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    /// The losses of resources in a table are reported, and all other resources read back.
    #[test]
    fn resources_that_do_not_come_back_are_told(system in system()) {
        let named = |system: &System| System { resources: system.resources.clone(), ..System::new(1, Vec::new()) };
        let mut plain = system.clone();
        for task in plain.tasks.values_mut() {
            (task.behaviour, task.execution) = (Behaviour::Periodic, ExecutionModel::Wcet);
            task.let_interval = None;
            task.cache = None;
            task.group = None;
        }
        plain.chains.clear();
        plain.groups.clear();
        plain.platform = Platform::identical(system.platform.cpu_count());
        (plain.requests, plain.provenance, plain.observed) = (Vec::new(), None, None);
        plain.in_level = None;
        let (_, lost) = to_csv(&plain);
        let kept = with_resources_of_steps(&plain);
        let same = named(&kept) == named(&plain)
            && kept.tasks.values().zip(plain.tasks.values()).all(|(a, b)| a.steps == b.steps);
        prop_assert_eq!(lost.is_empty(), same, "{:?}", lost);
    }

    #[test]
    fn what_is_written_reads_back(mut system in system()) {
        // Remove the fields that a table has no column
        // for, and names that a comment cannot contain.
        for task in system.tasks.values_mut() {
            (task.behaviour, task.execution) = (Behaviour::Periodic, ExecutionModel::Wcet);
            task.let_interval = None;
            task.cache = None;
            task.group = None;
            task.name = task.name.trim().replace(|c: char| c.is_control(), "_").into();
        }
        system.groups.clear();
        if system.levels.is_mixed() {
            let count = system.levels.count();
            system.levels = Levels::new((0..count).map(|level| format!("L{level}")).collect());
        }
        let count = system.platform.cpu_count();
        let clusters = system.platform.clusters.clone();
        system.platform = Platform { clusters, ..Platform::identical(count) };
        system.requests.clear();
        system.chains.clear();
        (system.provenance, system.observed) = (None, None);
        system = with_resources_of_steps(&system);
        // A column of ranks states that ranks decide.
        system.in_level = None;
        let (text, lost) = to_csv(&system);
        prop_assert!(lost.is_empty());
        let loaded = csv(&text).map_err(|r| TestCaseError::fail(format!("{}\n{text}", r.plain())))?;
        prop_assert_eq!(loaded.system, system, "{}", text);
    }
}

/// A document may have several tables, of which the first is read, and not in silence.
#[test]
fn another_table_is_named() {
    let markdown = "| Task | C | T |\n|---|---|---|\n| a | 1 | 4 |\n";
    let latex = "\\begin{tabular}{lll}\nTask & C & T \\\\\na & 1 & 4 \\\\\n\\end{tabular}\n";
    for (table, line) in [(markdown, "6:1"), (latex, "7:1")] {
        for (text, expected) in
            [(table.to_owned(), None), (format!("{table}\nAnd:\n{table}"), Some(line))]
        {
            let host = Host { default_cpus: Some(1), unit: Some(Unit::Ms), ..Host::default() };
            let loaded = read("set.md", text.as_bytes(), Format::Table, &host);
            let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.plain()));
            assert_eq!(loaded.system.tasks.len(), 1, "{text}");
            let problems = &loaded.warnings.problems;
            let places: Vec<String> =
                problems.iter().filter_map(|p| Some(p.position?.to_string())).collect();
            assert_eq!(
                places,
                expected.iter().map(|at| (*at).to_owned()).collect::<Vec<_>>(),
                "{text}"
            );
        }
    }
}
