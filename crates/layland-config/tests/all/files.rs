//! The files that people have, one small file of each kind: recognized by its content whatever its
//! name, and read as the expected set or refused with the expected message.
//!
//! Long because the expectation about every file is here.

use layland_config::{Columns, Foreign, Format, Host, Kind, Unit, read};
use layland_model::*;
use std::collections::BTreeSet;
use std::path::Path;

/// The expectation about a file.
enum Is {
    /// The two tasks of this test, by these names.
    TheSet(Format, [&'static str; 2]),
    /// The two tasks, if the user names the columns.
    Named(Format, &'static str, [&'static str; 2]),
    /// A set of this format with an error of its own: the place and the message.
    Wrong(Format, &'static str, &'static str),
    /// Not a task set.
    Other(Foreign),
}

use Is::{Named, Other, TheSet, Wrong};

const NAMES: [&str; 2] = ["pump", "fan"];
const NUMBERED: [&str; 2] = ["t0", "t1"];

const FILES: &[(&str, Is)] = &[
    ("commas.csv", TheSet(Format::Csv, NAMES)),
    ("semicolons.csv", TheSet(Format::Csv, NAMES)),
    ("tabs.txt", TheSet(Format::Csv, NAMES)),
    ("commas-named-toml.toml", TheSet(Format::Csv, NAMES)),
    ("columns.txt", TheSet(Format::Table, NAMES)),
    ("columns-of-two-words.txt", TheSet(Format::Table, NAMES)),
    ("markdown.md", TheSet(Format::Table, NAMES)),
    ("prose.txt", TheSet(Format::Table, NAMES)),
    ("report.txt", TheSet(Format::Csv, NAMES)),
    ("titles-in-a-comment.dat", TheSet(Format::Table, NAMES)),
    ("sections.json", TheSet(Format::Objects, NAMES)),
    ("jobs-of-tasks.json", TheSet(Format::Objects, NAMES)),
    ("drawn.txt", TheSet(Format::Table, NAMES)),
    ("database.txt", TheSet(Format::Table, NAMES)),
    ("table.tex", TheSet(Format::Table, NAMES)),
    ("rows.tex", TheSet(Format::Table, NAMES)),
    ("list.json", TheSet(Format::Objects, NAMES)),
    ("tasks.json", TheSet(Format::Objects, NAMES)),
    ("taskset.json", TheSet(Format::Objects, NAMES)),
    ("by-name.json", TheSet(Format::Objects, NAMES)),
    ("columns.json", TheSet(Format::Objects, NAMES)),
    ("rows.json", TheSet(Format::Objects, NAMES)),
    ("own-line.json", TheSet(Format::Lines, NAMES)),
    ("own-lines.txt", TheSet(Format::Lines, NAMES)),
    ("own.txt", TheSet(Format::Toml, NAMES)),
    ("items.yaml", TheSet(Format::Yaml, NAMES)),
    ("tasks.yml", TheSet(Format::Yaml, NAMES)),
    ("flow.yaml", TheSet(Format::Yaml, NAMES)),
    ("flow-of-numbers.yaml", TheSet(Format::Yaml, NAMES)),
    ("words.txt", TheSet(Format::Plain, NAMES)),
    ("words-in-brackets.txt", TheSet(Format::Plain, NAMES)),
    ("tuples.txt", TheSet(Format::Plain, NUMBERED)),
    ("named-tuples.txt", TheSet(Format::Plain, NAMES)),
    ("times.txt", TheSet(Format::Plain, NUMBERED)),
    ("times-in-another-order.txt", TheSet(Format::Plain, NUMBERED)),
    ("offset-c-d-t.csv", Named(Format::Csv, "O,C,D,T", NUMBERED)),
    ("name-c-t-d.txt", Named(Format::Table, "Task,C,T,D", NAMES)),
    ("rt-app.txt", TheSet(Format::RtApp, NAMES)),
    ("simso.txt", TheSet(Format::Simso, NAMES)),
    ("schedsim.xml", TheSet(Format::Schedsim, NAMES)),
    (
        "schedsim-of-unknown-type.xml",
        Wrong(Format::Schedsim, "2:32", "`eventual` is not a type of task in schedsim"),
    ),
    ("letters.csv", TheSet(Format::Csv, NAMES)),
    ("schedcat.txt", TheSet(Format::Schedcat, ["T1", "T2"])),
    ("jobs.csv", TheSet(Format::Sag, ["T1", "T2"])),
    ("poet.txt", TheSet(Format::Poet, ["tsk01", "tsk02"])),
    ("poet-without-priority.yaml", Wrong(Format::Poet, "9:3", "task 2 has no priority")),
    (
        "locks-beside.json",
        Wrong(Format::Objects, "4:4", "`mutexes` is not read, and tasks may be delayed by it"),
    ),
    (
        "servers-beside.yaml",
        Wrong(Format::Yaml, "4:1", "`servers` is not read, and tasks may be delayed by it"),
    ),
    ("no-titles.csv", Wrong(Format::Csv, "1:1", "the table has no titles")),
    ("unclear-title.csv", Wrong(Format::Csv, "1:10", "the column `P` has several meanings")),
    (
        "groups.csv",
        Wrong(Format::Csv, "1:21", "the column `component_id` groups tasks under a reservation"),
    ),
    (
        "chances.csv",
        Wrong(
            Format::Csv,
            "1:18",
            "the column `Probability` is a probability, and deadlines are guaranteed for all jobs or not at all",
        ),
    ),
    ("thousands.csv", Wrong(Format::Csv, "2:6", "`1,500` is 1.500 or 1500")),
    ("no-unit.md", Wrong(Format::Table, "3:10", "`C`: a time needs a unit")),
    ("aperiodic.csv", Wrong(Format::Csv, "3:1", "`A` is not a way to release jobs")),
    (
        "anchors.yaml",
        Wrong(
            Format::Yaml,
            "2:5",
            "not read as YAML: anchors, tags and strings of several lines have no place in a list of tasks",
        ),
    ),
    (
        "simso-of-unknown-type.xml",
        Wrong(Format::Simso, "3:46", "`Eventual` is not a type of task in SimSo"),
    ),
    (
        "simso-aperiodic.xml",
        Wrong(Format::Simso, "3:46", "an aperiodic task needs one that releases it"),
    ),
    ("amalthea.xml", Other(Foreign::Amalthea)),
    ("cheddar.xml", Other(Foreign::Cheddar)),
    ("mast.txt", Other(Foreign::Mast)),
    ("mast.xml", Other(Foreign::Mast)),
    ("graph.tgff", Other(Foreign::Tgff)),
    ("model.aadl", Other(Foreign::Aadl)),
    ("graph.graphml", Other(Foreign::GraphMl)),
    ("other.xml", Other(Foreign::OtherXml)),
    ("other.json", Other(Foreign::OtherJson)),
    ("other.yaml", Other(Foreign::OtherYaml)),
    ("chrome.json", Other(Foreign::ChromeTrace)),
    ("chrome-list.json", Other(Foreign::ChromeTrace)),
    ("kernel.txt", Other(Foreign::KernelTrace)),
    ("lttng.txt", Other(Foreign::LttngTrace)),
    ("latency.txt", Other(Foreign::KernelTrace)),
    ("counted.txt", Other(Foreign::CountedTrace)),
    ("perf.json", Other(Foreign::PerfJson)),
    ("precedence.csv", Other(Foreign::SagOther)),
    ("rt-app.log", Other(Foreign::RtAppLog)),
    ("trace.json", Other(Foreign::LaylandTrace)),
    ("run.log", Other(Foreign::RunLog)),
    ("answer.json", Other(Foreign::Answer)),
    ("experiment.toml", Other(Foreign::Experiment)),
    ("callbacks.toml", Other(Foreign::Callbacks)),
    ("picture.svg", Other(Foreign::Image)),
    ("script.sh", Other(Foreign::Script)),
    ("robot.c", Other(Foreign::CSource)),
    ("robot.py", Other(Foreign::PythonSource)),
    ("robot.rs", Other(Foreign::RustSource)),
    ("page.html", Other(Foreign::Html)),
    ("letter.txt", Other(Foreign::Text)),
    ("rows-in-text.tst", Other(Foreign::Text)),
    ("lttng-ros.txt", Other(Foreign::LttngTrace)),
    ("mast-resources.txt", Other(Foreign::Mast)),
    ("partsim.yml", Other(Foreign::PartSim)),
    ("partsim-tasks.yml", Other(Foreign::PartSim)),
];

/// The starts of files that are not text.
const BYTES: &[(&[u8], Foreign)] = &[
    (b"\x7fELF\x02\x01\x01\0\0\0", Foreign::Program),
    (b"MZ\x90\0\x03\0\0\0", Foreign::Program),
    (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Foreign::Image),
    (b"\xff\xd8\xff\xe0\0\x10JFIF\0", Foreign::Image),
    (b"GIF89a\x01\0\x01\0", Foreign::Image),
    (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", Foreign::Pdf),
    (b"%PDF-1.4\n1 0 obj\n", Foreign::Pdf),
    (b"\x17\x08\x44tracing6\0", Foreign::TraceCmd),
    (b"PERFILE2h\0\0\0\0\0\0\0", Foreign::PerfData),
    (b"PAR1\x15\x04\x15\0", Foreign::Parquet),
    (b"SQLite format 3\0\x10\0", Foreign::Database),
    (b"PK\x03\x04\x14\0\0\0xl/workbook.xml", Foreign::Spreadsheet),
    (
        b"PK\x03\x04\x14\0\0\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
        Foreign::Spreadsheet,
    ),
    (b"PK\x03\x04\x14\0\0\0word/document.xml", Foreign::Document),
    (b"PK\x03\x04\x14\0\0\0set.csv", Foreign::Archive),
    (b"\x1f\x8b\x08\0\0\0\0\0", Foreign::Archive),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", Foreign::Document),
    (b"\xff\xfeT\0a\0s\0k\0", Foreign::Utf16),
    (b"\x80\0\x01\0\x02", Foreign::Binary),
    // Two packets of Perfetto, and a record of LITMUS^RT.
    (b"\x0a\x03\x50\x01\x00\x0a\x02\x50\x02", Foreign::PerfettoTrace),
    (b"\x01\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", Foreign::LitmusTrace),
];

fn host(columns: Option<&str>) -> Host {
    let columns = columns.map(|columns| columns.parse::<Columns>().expect("titles"));
    Host { default_cpus: Some(1), unit: Some(Unit::Ms), columns, ..Host::default() }
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/files")
}

/// The parameters of a task that all formats have.
fn parameters(task: &Task) -> (String, i64, i64, i64, i64) {
    let ms = |ns: i64| ns / 1_000_000;
    let (wcet, offset) = (task.own_wcet().ns(), task.offset.ns());
    (task.name.to_string(), ms(offset), ms(wcet), ms(task.period.ns()), ms(task.deadline.ns()))
}

fn is_the_set(file: &str, bytes: &[u8], format: Format, host: &Host, names: [&str; 2]) {
    let loaded = read(file, bytes, format, host);
    let loaded = loaded.unwrap_or_else(|report| panic!("{file}: {}", report.plain()));
    let tasks: Vec<_> = loaded.system.tasks.values().map(parameters).collect();
    let right = [(names[0].to_owned(), 0, 3, 9, 8), (names[1].to_owned(), 0, 2, 12, 12)];
    assert_eq!(tasks, right, "{file}");
    assert_eq!(loaded.system.platform.cpu_count(), 1, "{file}");
    assert_eq!(loaded.places.len(), if format == Format::Lines { loaded.places.len() } else { 2 });
}

#[test]
fn each_file_is_recognized_by_its_content_and_read() {
    let (mut formats, mut others) = (BTreeSet::new(), BTreeSet::new());
    for (file, is) in FILES {
        let bytes = std::fs::read(folder().join(file)).expect(file);
        // The name does not decide: not that of the file, and not one of another format.
        for name in [*file, "<stdin>", "a.toml.bak", "x.xml", "x.json"] {
            let host = host(match is {
                Named(_, columns, _) => Some(columns),
                TheSet(..) | Wrong(..) | Other(_) => None,
            });
            let kind = Kind::of(name, &bytes, &host);
            match is {
                TheSet(format, _) | Named(format, ..) | Wrong(format, ..) => {
                    assert_eq!(kind, Kind::Set(*format), "{file} as {name}");
                    formats.insert(format.name());
                }
                Other(foreign) => {
                    assert_eq!(kind, Kind::Foreign(*foreign), "{file} as {name}");
                    others.insert(foreign.to_string());
                }
            }
        }
        match is {
            TheSet(format, names) => is_the_set(file, &bytes, *format, &host(None), *names),
            Named(format, columns, names) => {
                is_the_set(file, &bytes, *format, &host(Some(columns)), *names);
            }
            Wrong(format, at, message) => {
                let unit = (*file != "no-unit.md").then_some(Unit::Ms);
                let report = read(file, &bytes, *format, &Host { unit, ..host(None) }).unwrap_err();
                let errors: Vec<_> = report
                    .problems
                    .iter()
                    .filter(|problem| problem.severity == layland_config::Severity::Error)
                    .collect();
                assert_eq!(errors.len(), 1, "{file}: {}", report.plain());
                assert_eq!(errors[0].message, *message, "{file}");
                assert_eq!(errors[0].position.expect("a place").to_string(), *at, "{file}");
            }
            Other(foreign) => is_named_once(file, &bytes, *foreign),
        }
    }
    for (bytes, foreign) in BYTES {
        assert_eq!(Kind::of("set.csv", bytes, &host(None)), Kind::Foreign(*foreign), "{bytes:?}");
        is_named_once("set.csv", bytes, *foreign);
        others.insert(foreign.to_string());
    }
    // Graphs have their own test, since the tasks of one graph have one period.
    formats.insert(Format::Dot.name());
    assert_eq!(formats, Format::ALL.map(Format::name).into());
    assert_eq!(others, Foreign::ALL.map(|foreign| foreign.to_string()).into());
}

/// A file that is not a set has one message, which names it and says what to do.
fn is_named_once(file: &str, bytes: &[u8], foreign: Foreign) {
    let report = Format::detect(file, bytes, &host(None)).unwrap_err();
    let [problem] = &*report.problems else { panic!("{file}: {}", report.plain()) };
    assert_eq!(problem.message, format!("this is {foreign}, and not a task set"));
    let help = problem.help.as_deref().expect("what to do");
    assert!(help.len() > 20 && !help.ends_with('.'), "{file}: {help}");
}

#[test]
fn columns_of_numbers_in_a_text_are_pointed_at() {
    for (file, at, label) in [
        ("rows-in-text.tst", "4:1", "columns of numbers begin here"),
        ("letter.txt", "1:1", "it begins here"),
    ] {
        let bytes = std::fs::read(folder().join(file)).expect(file);
        let report = Format::detect(file, &bytes, &host(None)).unwrap_err();
        let [problem] = &*report.problems else { panic!("{file}: {}", report.plain()) };
        assert_eq!(problem.position.expect("a place").to_string(), at, "{file}");
        assert_eq!(problem.label, label, "{file}");
    }
}

#[test]
fn sections_are_steps_and_hold_their_resources() {
    let bytes = std::fs::read(folder().join("sections.json")).expect("the file");
    let loaded = read("a.json", &bytes, Format::Objects, &host(None)).expect("a set");
    let steps: Vec<usize> = loaded.system.tasks.values().map(|task| task.steps().len()).collect();
    assert_eq!((steps, loaded.system.resources.len()), (vec![4, 3], 1));
    assert!(loaded.warnings.plain().contains("`sections` is read as steps"));
}

#[test]
fn two_times_in_a_cell_are_those_of_two_levels() {
    let rows = [
        ("csv", "task,criticality,period,wcet\na,high,20,\"{3, 5}\"\nb,low,40,\"{2, 2}\"\n"),
        ("csv", "task;criticality;T (ms);C (ms)\na;HI;20;[3, 5]\nb;LO;40;(2, 2)\n"),
        (
            "json",
            "[{\"task\":\"a\",\"criticality\":\"high\",\"T\":20,\"C\":[3,5]},\
             {\"task\":\"b\",\"criticality\":\"low\",\"T\":40,\"C\":[2,2]}]",
        ),
    ];
    for (ending, text) in rows {
        let name = format!("a.{ending}");
        let format = Format::detect(&name, text.as_bytes(), &host(None)).expect("a format");
        let loaded = read(&name, text.as_bytes(), format, &host(None));
        let system = loaded.unwrap_or_else(|report| panic!("{text}: {}", report.plain())).system;
        assert_eq!(system.levels.count(), 2, "{text}");
        let tasks: Vec<_> = system
            .tasks
            .values()
            .map(|task| {
                (task.criticality.level(), task.wcet.iter().map(|wcet| wcet.ns()).collect())
            })
            .collect();
        let ms = |times: [i64; 2]| times.map(|time| time * 1_000_000).to_vec();
        assert_eq!(tasks, [(1, ms([3, 5])), (0, ms([2, 2]))], "{text}");
    }
}

#[test]
fn a_row_without_a_period_is_a_single_job() {
    let table = std::fs::read_to_string(folder().join("once.csv")).expect("the file");
    let schedsim = "<simulation><time start='0' end='700'/><software><tasks>\
        <task real-time='true' type='periodic' id='pump' period='9' deadline='8' wcet='3'/>\
        <task real-time='true' type='periodic' id='fan' period='12' deadline='12' wcet='2'/>\
        <task real-time='true' type='sporadic' id='alarm' activation='5' deadline='4' wcet='1'/>\
        <task real-time='false' type='sporadic' id='log' activation='7' wcet='2'/></tasks>\
        <noises><noise task-id='pump' type='uniform' low_end='1' high_end='3'/></noises>\
        <scheduler algorithm='PEDF'/></software>\
        <hardware><cpus><pe id='0' speed='1'/><pe id='1' speed='1.25'/></cpus></hardware></simulation>";
    for (text, format, warnings) in [
        (
            &*table,
            Format::Csv,
            &["`log` is left out: it has no deadline", "`idle` is left out: it never executes"][..],
        ),
        (
            schedsim,
            Format::Schedsim,
            &["`p-edf` assigns CPUs by utilization", "noises", "1 task left out"][..],
        ),
    ] {
        assert_eq!(Kind::of("a", text.as_bytes(), &host(None)), Kind::Set(format));
        let loaded = read("a", text.as_bytes(), format, &host(None));
        let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.plain()));
        let tasks: Vec<_> =
            loaded.system.tasks.values().map(|task| (parameters(task), task.jobs)).collect();
        let of = |name: &str, offset, wcet, period, deadline, jobs| {
            ((name.to_owned(), offset, wcet, period, deadline), jobs)
        };
        // The hyperperiod of the others is 36 ms.
        let right = [
            of("pump", 0, 3, 9, 8, None),
            of("fan", 0, 2, 12, 12, None),
            of("alarm", 5, 1, 3_600, 4, Some(1)),
        ];
        assert_eq!(tasks, right, "{format}");
        for warning in warnings {
            assert!(loaded.warnings.plain().contains(warning), "{}", loaded.warnings.plain());
        }
    }
    let loaded = read("a", schedsim.as_bytes(), Format::Schedsim, &host(None)).expect("a set");
    assert_eq!((loaded.until, loaded.policy), (Some(Duration::from_ms(700)), Some("p-edf")));
    assert_eq!(
        loaded.system.platform.speeds.values().nth(1).map(|speed| speed.numerator()),
        Some(5)
    );
    let no_unit = Host { unit: None, ..host(None) };
    let report = read("a", schedsim.as_bytes(), Format::Schedsim, &no_unit).unwrap_err();
    assert!(report.plain().contains("the times of schedsim have no unit"), "{}", report.plain());
}

#[test]
fn lines_of_kinds_are_tasks_and_a_server() {
    let bytes = std::fs::read(folder().join("kinds-of-lines.txt")).expect("the file");
    for name in ["a.txt", "x.toml.bak", "<stdin>"] {
        assert_eq!(Kind::of(name, &bytes, &host(None)), Kind::Set(Format::Plain), "{name}");
    }
    let loaded = read("a", &bytes, Format::Plain, &host(None));
    let system = loaded.unwrap_or_else(|report| panic!("{}", report.plain())).system;
    let tasks: Vec<_> = system.tasks.values().map(parameters).collect();
    let of = |name: &str, offset, wcet, period, deadline| {
        (name.to_owned(), offset, wcet, period, deadline)
    };
    // The jobs of the server need two budgets after 8 ms: 2 (8 + (6 / 5 + 2) 20) is 136.
    let right = [of("T1", 0, 3, 9, 8), of("server", 0, 4, 20, 136), of("T2", 0, 1, 30, 25)];
    assert_eq!(tasks, right);
    let server = &system.tasks.as_slice()[1];
    assert_eq!(server.budget, Some(Service::from_ms(5)));
    assert_eq!(
        server.behaviour,
        Behaviour::Explicit(vec![Time::from_ns(2_000_000), Time::from_ns(8_000_000)])
    );
    assert_eq!(
        server.execution,
        ExecutionModel::List(vec![Service::from_ms(2), Service::from_ms(4)])
    );
    // Without a server the jobs give way to the others.
    let alone = read("a", b"P 0 3 9\nA 2 4\n", Format::Plain, &host(None)).expect("a set");
    let tasks: Vec<_> = alone.system.tasks.values().map(parameters).collect();
    assert_eq!(tasks, [of("T1", 0, 3, 9, 9)]);
    assert!(alone.warnings.plain().contains("aperiodic jobs are left out"));
    for (text, message) in [
        (
            "P 0 3 9\nS 1 5\nS 1 5\n",
            "there are two servers, and a job does not say which one serves it",
        ),
        ("P 0 3 9\nS 1 5\nP 0 3x 9\n", "unknown time unit `x`"),
        ("P 0 3 9\nS 1 5\nP 0 9\n", "the line has 2 times"),
        ("P 0 3 9\nS 1 5\nP 0 3 9 8 7\n", "the line has 5 times"),
    ] {
        let report = read("a", text.as_bytes(), Format::Plain, &host(None)).unwrap_err();
        assert_eq!(report.problems[0].message, message, "{text}");
    }
    // Names of one letter are names.
    for text in ["P 3 9 8\nD 2 12 12\n", "P 3 9\nQ 2 12\n"] {
        let kind = Kind::of("a.txt", text.as_bytes(), &host(None));
        assert_eq!(kind, Kind::Set(Format::Table), "{text}");
    }
}

#[test]
fn a_printed_double_is_taken_as_it_was_meant() {
    let text = "[{\"name\":\"a\",\"wcet\":0.30000000000000004,\"period\":16.300000000000001}]";
    let loaded = read("a.json", text.as_bytes(), Format::Objects, &host(None)).expect("a set");
    let task = &loaded.system.tasks.as_slice()[0];
    assert_eq!((task.own_wcet(), task.period), (Service::from_us(300), Duration::from_us(16_300)));
    // Digits that are finer than a nanosecond are rounded to more work and less time, and one warning says so.
    let text = "[{\"name\":\"a\",\"wcet\":0.12345678901,\"period\":20.333333333333332}]";
    let loaded = read("a.json", text.as_bytes(), Format::Objects, &host(None)).expect("a set");
    let task = &loaded.system.tasks.as_slice()[0];
    assert_eq!((task.own_wcet().ns(), task.period.ns()), (123_457, 20_333_333));
    let rounded =
        loaded.warnings.problems.iter().filter(|found| found.code == "layland::csv::rounded");
    assert_eq!(rounded.count(), 1);
    // A person who wrote so few digits meant them.
    let text = "name,wcet,period\na,1.5ns,16ms\n";
    assert!(read("a.csv", text.as_bytes(), Format::Csv, &host(None)).is_err());
}

#[test]
fn shares_stand_for_execution_times_where_no_column_has_them() {
    for (text, wcet) in [
        ("name,u,period\na,0.25,10ms\n", 2_500_000),
        ("name;Utilization;period\na;33.3 %;10ms\n", 3_330_000),
        ("name,U,period\na,1/3,10ms\n", 3_333_334),
        // A share beside execution times does not count.
        ("name,U,wcet,period\na,1/3,1ms,10ms\n", 1_000_000),
    ] {
        let loaded = read("a.csv", text.as_bytes(), Format::Csv, &host(None)).expect("a set");
        assert_eq!(loaded.system.tasks.as_slice()[0].own_wcet().ns(), wcet, "{text}");
        assert_eq!(loaded.warnings.problems.len(), 1, "{text}");
    }
    for text in [
        "name,u,period\na,x,10ms\n",
        "name,u,period\na,-1,10ms\n",
        "name,u\na,0.1\n",
        "name,u,period\na,0.1,\nb,0.2,5ms\n",
    ] {
        assert!(read("a.csv", text.as_bytes(), Format::Csv, &host(None)).is_err(), "{text}");
    }
}

#[test]
fn lists_of_numbers_are_plain_lines() {
    let plain =
        read("a.txt", b"1ms 4ms\n2ms 6ms 5ms\n", Format::Plain, &host(None)).expect("a set");
    let times = |of: &System| {
        let of = of.tasks.values().map(|task| (task.own_wcet(), task.period, task.deadline));
        of.collect::<Vec<_>>()
    };
    for text in [
        "[[1, 4], [2, 6, 5]]",
        "[(1, 4), (2, 6, 5)]\n",
        " [ (1, 4,), (2, 6, 5) ]",
        "[(\"a(\", 1, 4), ('b)', 2, 6, 5)]",
    ] {
        let host = Host { unit: Some(Unit::Ms), ..host(None) };
        let kind = Kind::of("a.py", text.as_bytes(), &host);
        assert_eq!(kind, Kind::Set(Format::Objects), "{text}");
        let loaded = read("a.py", text.as_bytes(), Format::Objects, &host);
        let loaded = loaded.unwrap_or_else(|report| panic!("{text}: {}", report.plain()));
        assert_eq!(times(&loaded.system), times(&plain.system), "{text}");
    }
    for text in ["[[1], [2, 6]]", "[[1, 2, 3, 4, 5]]", "[[\"a\", 1, 4], [2, 6]]", "[(1, 4), (2"] {
        assert!(read("a.py", text.as_bytes(), Format::Objects, &host(None)).is_err(), "{text}");
    }
}

#[test]
fn the_folder_has_no_other_file() {
    let files = std::fs::read_dir(folder()).expect("the folder");
    let mut found: BTreeSet<String> = files
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    assert!(["graph.dot", "once.csv", "kinds-of-lines.txt"].iter().all(|file| found.remove(*file)));
    assert_eq!(found, FILES.iter().map(|(file, _)| (*file).to_owned()).collect());
}

#[test]
fn a_graph_has_the_tasks_that_follow() {
    let bytes = std::fs::read(folder().join("graph.dot")).expect("the file");
    let format = Format::detect("graph.txt", &bytes, &host(None)).expect("a format");
    let loaded = read("graph.dot", &bytes, format, &host(None));
    let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.plain()));
    let follows = |task: &Task| task.follows.iter().map(|id| id.index()).collect::<Vec<_>>();
    let tasks: Vec<_> = loaded.system.tasks.values().collect();
    let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["split", "left", "right", "merge"]);
    assert_eq!(
        tasks.iter().map(|task| follows(task)).collect::<Vec<_>>(),
        [vec![], vec![0], vec![0], vec![1, 2]]
    );
    assert!(tasks.iter().all(|task| task.period == Duration::from_ms(12)));
    assert_eq!(tasks[2].own_wcet(), Service::from_ms(4));
    for (text, message) in [
        ("graph { a -- b }", "not read as a graph: the graph is not directed"),
        ("digraph { a -> b", "not read as a graph: the graph does not end"),
        ("digraph { a [wcet] }", "not read as a graph: `=` is missing"),
        ("digraph { a [wcet = 1] }", "the table has no column `period`"),
        ("digraph { period = 9; a [wcet = 1, deadlin = 8] }", "unknown column `deadlin`"),
        (
            "digraph { subgraph x { a } }",
            "not read as a graph: parts of graphs have no meaning for tasks",
        ),
    ] {
        let report = read("a.dot", text.as_bytes(), Format::Dot, &host(None)).unwrap_err();
        assert_eq!(report.problems[0].message, message, "{text}");
    }
}

/// The arrival curves and priorities of POET count as they do there, and are written as they were.
#[test]
fn problems_of_poet_read_back() {
    let text = "scheduling policy: FP\npreemption model: NP\ntask set:\n\
        - id: 1\n  worst-case execution time: 5\n  arrival curve: [220, [[1, 1], [105, 2]]]\n  \
        deadline: 100\n  priority: 2\n\
        - id: 2\n  worst-case execution time: 1\n  arrival curve: [50, [[1, 3], [11, 4]]]\n  \
        deadline: 100\n  priority: 3\n\
        - id: 3\n  worst-case execution time: 2\n  min interarrival: 30\n  \
        deadline: 90\n  priority: 1\n";
    let host = Host { unit: Some(Unit::Us), ..Host::default() };
    let loaded = read("a", text.as_bytes(), Format::Poet, &host);
    let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.plain()));
    assert_eq!(loaded.policy, Some("p-fp"));
    let system = loaded.system;
    assert_eq!(system.platform.cpu_count(), 1);
    let tasks: Vec<&Task> = system.tasks.values().collect();
    assert_eq!([0, 1, 2].map(|at: usize| tasks[at].priority), [Some(2), Some(1), Some(3)]);
    assert!(tasks.iter().all(|task| task.preemption == Preemption::Never));
    let us = |task: &Task| -> Vec<i64> {
        let curve = task.bursts().expect("a curve");
        (1..=5).map(|steps| curve.distance(steps).ns() / 1000).collect()
    };
    // Two jobs are in an interval of length 105 if they arrive 104 apart.
    assert_eq!(us(tasks[0]), [104, 220, 324, 440, 544]);
    assert_eq!(us(tasks[1]), [0, 0, 10, 50, 50]);
    let (written, _) = layland_config::to_poet(&system);
    assert_eq!(written, text);

    let wrong = [
        ("[[1, 1], [105, 1]]", "[[1, 1], [105, 2]]", "this is not an arrival curve of POET"),
        ("[[2, 1]]", "[[1, 1], [105, 2]]", "this is not an arrival curve of POET"),
        ("[[1, 1], [220, 2]]", "[[1, 1], [105, 2]]", "this is not an arrival curve of POET"),
        ("[[220], [[1, 1]", "[220, [[1, 1]", "this is a list, and not a time"),
        ("policy: RM", "policy: FP", "`scheduling policy` is missing or not known"),
        ("id: 2", "id: 3", "there is another task 2"),
        (
            "period: 3\n  min",
            "min",
            "the task has 2 of `period`, `min interarrival`, `arrival curve`",
        ),
        ("offset: 3\n  min", "min", "`offset` is not known"),
        ("priority: high", "priority: 1", "the priority is not a whole number"),
    ];
    for (new, old, message) in wrong {
        assert!(text.contains(old), "{old}");
        let changed = text.replace(old, new);
        let report = read("a", changed.as_bytes(), Format::Poet, &host).unwrap_err();
        assert_eq!(report.problems[0].message, message, "{changed}");
    }
    let report = read("a", text.as_bytes(), Format::Poet, &Host::default()).unwrap_err();
    assert_eq!(report.problems[0].message, "the numbers have no unit");
}

/// Jobs of one task that differ become tasks, and the others stay together.
#[test]
fn jobs_that_differ_become_tasks() {
    let text = "Task ID,Job ID,Arrival min,Arrival max,Cost min,Cost max,Deadline,Priority\n\
        1,1,0,0,3,3,8,8\n2,1,0,1,2,2,12,12\n1,2,9,9,4,4,17,17\n2,2,12,13,1,2,24,24\n";
    let loaded = read("a", text.as_bytes(), Format::Sag, &host(None));
    let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.plain()));
    let tasks: Vec<String> = loaded.system.tasks.values().map(ToString::to_string).collect();
    assert_eq!(tasks, ["T1.1=3ms/8ms", "T1.2=4ms/8ms", "T2=2ms/12ms"]);
    let second = &loaded.system.tasks[TaskId(1)];
    assert_eq!((second.offset, second.jobs), (Duration::from_ms(9), Some(1)));
    let message = "a job of task 1 has another largest cost than the first";
    assert!(loaded.warnings.problems.iter().any(|problem| problem.message == message));
    for (own, other, what) in [
        ("9,9,4,4,17,17", "9,9,3,3,18,18", "relative deadline"),
        ("9,9,4,4,17,17", "9,10,3,3,17,17", "release interval"),
        ("9,9,4,4,17,17", "9,9,3,3,17,5", "priority"),
    ] {
        let changed = text.replace(own, other);
        let loaded = read("a", changed.as_bytes(), Format::Sag, &host(None)).expect("a job set");
        let message = format!("a job of task 1 has another {what} than the first");
        let is_said = loaded.warnings.problems.iter().any(|problem| problem.message == message);
        assert!(is_said && loaded.system.tasks.len() >= 3, "{}", loaded.warnings.plain());
    }
}

/// A job set that was written reads back, and a set with too many jobs is refused.
#[test]
fn job_sets_read_back() {
    let task = |name: &str, wcet, period| Task {
        preemption: Preemption::Never,
        ..Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
    };
    let mut first = task("T1", 3, 9);
    (first.deadline, first.jitter) = (Duration::from_ms(8), Duration::from_us(500));
    first.execution =
        ExecutionModel::Uniform { min: Service::from_ms(1), max: Service::from_ms(3) };
    let mut second = task("T2", 2, 12);
    (second.offset, second.rank) = (Duration::from_ms(1), 1);
    let mut third = task("T3", 1, 4);
    third.behaviour = Behaviour::Explicit([0, 7, 11].map(Time::from_ms).to_vec());
    third.rank = 2;
    let mut system = System::new(1, vec![first, second, third]);
    for priorities in [[None; 3], [Some(2), Some(1), Some(3)]] {
        for (task, priority) in system.tasks.values_mut().zip(priorities) {
            task.priority = priority;
        }
        let (text, lost) = layland_config::to_sag(&system);
        // One unit serves all times.
        assert!(
            lost.iter().any(|problem| problem.message == "SAG has no units: the times are in us"),
            "{lost:?}"
        );
        let host = Host { default_cpus: Some(1), unit: Some(Unit::Us), ..Host::default() };
        let format = Format::detect("jobs", text.as_bytes(), &host).expect("a format");
        let again = read("jobs", text.as_bytes(), format, &host);
        let again = again.unwrap_or_else(|report| panic!("{}\n{text}", report.plain())).system;
        let mut right = system.clone();
        for (task, jobs) in right.tasks.values_mut().zip([Some(5), Some(3), None]) {
            task.jobs = jobs;
        }
        assert_eq!(again, right, "{text}");
    }
    let long = System::new(1, vec![task("a", 1, 999_983), task("b", 1, 1_000_003)]);
    let (text, lost) = layland_config::to_sag(&long);
    assert!(text.is_empty() && lost[0].severity == layland_config::Severity::Error);
}
