//! The task sets of SimSo and SchedCAT: their meaning, the losses, and the positions of faults.

use layland_config::{
    Agreement, Format, Host, Loaded, Report, SIMSO_SCHEDULERS, read, to_schedcat, to_simso,
};
use layland_model::*;

fn simso(text: &str) -> Result<Loaded, Report> {
    read(
        "set.xml",
        text.as_bytes(),
        Format::detect("set.xml", text.as_bytes(), &Host::default())?,
        &Host::default(),
    )
}

fn schedcat(text: &str) -> Result<Loaded, Report> {
    let host = Host { cpus: None, default_cpus: Some(2), ..Host::default() };
    read("set.xml", text.as_bytes(), Format::detect("<stdin>", text.as_bytes(), &host)?, &host)
}

/// A file as written by the graphical editor of SimSo, shortened.
const SIMSO: &str = r#"<?xml version="1.0" ?>
<simulation cycles_per_ms="1000000" duration="100000000" etm="acet">
	<sched class="simso.schedulers.P_EDF" overhead="7" overhead_activate="0" overhead_terminate="0"/>
	<caches memory_access_time="100"/>
	<processors>
		<processor cl_overhead="20" cs_overhead="5" id="1" name="CPU 1" speed="1.0"/>
		<processor cl_overhead="20" cs_overhead="5" id="2" name="CPU 2" speed="0.5"/>
	</processors>
	<tasks>
		<task ACET="0.0" WCET="2.5" abort_on_miss="no" activationDate="1.0" base_cpi="1.0"
			deadline="8.0" et_stddev="0.0" id="1" instructions="0" list_activation_dates="" mix="0.5"
			name="control &amp; brake" period="1e1" preemption_cost="0" task_type="Periodic"/>
		<task WCET="1" abort_on_miss="yes" deadline="5" id="2" list_activation_dates="9.5, 2"
			name="alarm" period="0" task_type="Sporadic"/>
	</tasks>
</simulation>
"#;

#[test]
fn a_configuration_of_simso_is_read() {
    let loaded = simso(SIMSO).unwrap();
    let system = &loaded.system;
    let places: Vec<String> = loaded.places.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["10:3", "13:3"]);
    assert_eq!(loaded.until, Some(Duration::from_ms(100)));
    let tasks = system.tasks.as_slice();
    assert_eq!(tasks[0].name, "control & brake");
    assert_eq!((tasks[0].period, tasks[0].deadline), (Duration::from_ms(10), Duration::from_ms(8)));
    assert_eq!((tasks[0].wcet[0], tasks[0].offset), (Service::from_us(2500), Duration::from_ms(1)));
    let dates = vec![Time::from_ms(2), Time::from_us(9500)];
    assert_eq!(tasks[1].behaviour, Behaviour::Explicit(dates));
    let speeds: Vec<Rate> = system.platform.speeds.values().map(|speed| speed.rate()).collect();
    assert_eq!(speeds, [Rate::new(1, 1), Rate::new(1, 2)]);
    assert_eq!(system.platform.overheads.context_switch, Duration::from_ns(25));
    assert_eq!(system.platform.overheads.scheduling, Duration::from_ns(7));
    assert_eq!(loaded.policy, Some("p-edf:fit=ffd"));
    assert_eq!((tasks[0].on_miss, tasks[1].on_miss), (OnMiss::Continue, OnMiss::Abort));
    let warnings = loaded.warnings.plain();
    let part = format!("set.xml:{}: warning: the execution times `acet` are", place(SIMSO, "acet"));
    assert!(warnings.contains(&part), "{part}: {warnings}");
}

/// A scheduler with an equivalent policy is read without a warning. One with a different policy or
/// without a policy causes a warning.
#[test]
fn every_scheduler_of_simso_is_known() {
    let names: Vec<&str> = SIMSO_SCHEDULERS.iter().map(|one| one.class).collect();
    assert!(names.is_sorted(), "{names:?}");
    for one in &SIMSO_SCHEDULERS {
        let text = SIMSO.replace("P_EDF", one.class).replace("acet", "wcet");
        let loaded = simso(&text).unwrap();
        assert_eq!(loaded.policy, one.policy, "{}", one.class);
        let said = loaded.warnings.plain();
        let at = place(&text, &format!("simso.schedulers.{}\"", one.class));
        let begins = match (one.policy, one.agreement) {
            (None, agreement) => {
                assert_eq!(agreement, Agreement::Absent);
                format!("no policy is the scheduler `simso.schedulers.{}`: {}", one.class, one.note)
            }
            (Some(policy), Agreement::Differs) => {
                format!(
                    "`{policy}` makes other schedules than `simso.schedulers.{}`: {}",
                    one.class, one.note
                )
            }
            (Some(_), Agreement::Same | Agreement::ButTies) => {
                assert_eq!(said, "", "{}", one.class);
                continue;
            }
            (Some(_), Agreement::Absent) => panic!("{}: there is a policy", one.class),
        };
        assert!(!one.note.is_empty(), "{}: the reason is missing", one.class);
        assert!(said.starts_with(&format!("set.xml:{at}: warning: {begins}")), "{said}");
    }
    let unknown = simso(&SIMSO.replace("P_EDF", "Mine")).unwrap();
    assert_eq!(unknown.policy, None);
    let said = unknown.warnings.plain();
    assert!(said.contains("no policy is the scheduler `simso.schedulers.Mine`"), "{said}");
}

/// Attributes of tasks that only FP and Fixed_PEDF use.
#[test]
fn priorities_and_cpus_of_simso_are_read() {
    let with = |class: &str| {
        let more = "name=\"alarm\" priority=\"7\" cpu=\"2\"";
        SIMSO.replace("P_EDF", class).replace("name=\"alarm\"", more)
    };
    let of = |class: &str| {
        let loaded = simso(&with(class)).unwrap();
        let tasks = loaded.system.tasks.as_slice();
        assert_eq!((tasks[0].priority, &tasks[0].affinity), (None, &None));
        (tasks[1].priority, tasks[1].affinity.clone())
    };
    assert_eq!(of("FP"), (Some(-7), None));
    assert_eq!(of("Fixed_PEDF"), (None, Some(CpuSet::single(CpuId(1)))));
    assert_eq!(of("P_EDF"), (None, None));
    for (class, from, to, message) in [
        ("FP", "priority=\"7\"", "priority=\"7.5\"", "`priority` is not a whole number"),
        ("Fixed_PEDF", "cpu=\"2\"", "cpu=\"3\"", "no processor has the id `3`"),
    ] {
        let text = with(class).replace(from, to);
        let said = simso(&text).unwrap_err().plain();
        let at = place(&text, &to[to.find('"').unwrap() + 1..]);
        assert!(said.contains(&format!("set.xml:{at}: error: {message}")), "{said}");
    }
}

/// Returns the line and the column of the first occurrence of a part of a text.
fn place(text: &str, part: &str) -> String {
    let before = &text[..text.find(part).unwrap()];
    let line = before.rsplit('\n').next().unwrap();
    format!("{}:{}", before.matches('\n').count() + 1, line.chars().count() + 1)
}

#[test]
fn errors_of_xml_point_at_the_value() {
    // The replaced part, its replacement, the position of the error, and its message.
    for (from, to, at, message) in [
        ("\"2.5\"", "\"2,5\"", "2,5", "`WCET` is not a number: `2,5`"),
        ("WCET=\"2.5\"", "", "<task ACET", "<task> has no `WCET`"),
        ("\"2.5\"", "\"-1.5\"", "-1.5", "wcet of `control & brake`"),
        ("speed=\"0.5\"", "speed=\"-0.5\"", "-0.5", "`-0.5` is not a speed"),
        ("Sporadic", "APeriodic", "APeriodic", "an aperiodic task needs"),
        ("id=\"2\" list", "followed_by=\"77\" list", "77", "a task that releases another"),
        ("alarm", "control &amp;\tbrake", "control &amp;\tbrake", "the name `control & brake`"),
        ("10000", "zero0", "zero0", "`cycles_per_ms` is not a whole number"),
        ("<tasks>", "<taskz>", "<taskz>", "this is not XML"),
    ] {
        let text = SIMSO.replacen(from, to, 1);
        assert_ne!(text, SIMSO, "{from}");
        let report = simso(&text).unwrap_err().plain();
        let expected = format!("error: {message}");
        if message == "this is not XML" {
            assert!(report.contains(&expected), "{expected}: {report}");
            continue;
        }
        let expected = format!("set.xml:{}: {expected}", place(&text, at));
        assert!(report.contains(&expected), "{expected}: {report}");
    }
}

#[test]
fn what_simso_can_say_reads_back() {
    let mut system = System::new(
        2,
        vec![
            Task::implicit("a <b> \"c\"", Service::from_ns(1_234_567), Duration::from_ms(5)),
            Task {
                deadline: Duration::from_ns(7_000_001),
                offset: Duration::from_us(3),
                on_miss: OnMiss::Abort,
                ..Task::implicit("d", Service::from_ms(1), Duration::from_ms(10))
            },
        ],
    );
    system.platform.overheads.context_switch = Duration::from_ns(11);
    system.platform.overheads.migration = Duration::from_ns(13);
    let (text, lost) = to_simso(&system);
    assert_eq!(lost, []);
    let again = simso(&text).unwrap();
    assert_eq!(again.system, system);
    assert_eq!(again.until, Some(Duration::from_ns(20_003_000)));
}

#[test]
fn task_sets_of_schedcat_are_read() {
    let set = "<taskset><properties count=\"2\"/>\n<task id=\"4\" period=\"10000\" wcet=\"2500.5\" \
               partition=\"1\" wss=\"9\"/>\n<task period=\"20000\" wcet=\"1\" deadline=\"15000\"/></taskset>";
    let loaded = schedcat(set).unwrap();
    let places: Vec<String> = loaded.places.iter().map(ToString::to_string).collect();
    assert_eq!(places, ["2:1", "3:1"]);
    let tasks = loaded.system.tasks.as_slice();
    assert_eq!((tasks[0].name.as_str(), tasks[1].name.as_str()), ("T4", "T2"));
    assert_eq!(tasks[0].wcet[0], Service::from_ns(2_500_500));
    assert_eq!(tasks[1].deadline, Duration::from_ms(15));
    let one: CpuSet = "1".parse().unwrap();
    assert_eq!((&tasks[0].affinity, &tasks[1].affinity), (&Some(one), &None));
    let wss = format!("set.xml:{}: warning: the working set is lost", place(set, "9\"/"));
    assert!(loaded.warnings.plain().contains(&wss), "{wss}: {}", loaded.warnings.plain());
    let point = format!("<testpoint><config ucap=\"2\"/>{set}</testpoint>");
    assert_eq!(schedcat(&point).unwrap().system, loaded.system);
    let twice = format!("<testpoint>{set}{set}</testpoint>");
    assert!(schedcat(&twice).unwrap_err().plain().contains("the file has 2 task sets"));
    let wrong = set.replace("\"1\" wss", "\"-1\" wss");
    let error = format!("set.xml:{}: error: `-1` is not a CPU", place(&wrong, "-1\" wss"));
    let report = schedcat(&wrong).unwrap_err().plain();
    assert!(report.contains(&error), "{error}: {report}");
}

#[test]
fn what_schedcat_can_say_reads_back() {
    let mut system = System::new(
        2,
        vec![
            Task::implicit("T1", Service::from_ns(1_234_567), Duration::from_ms(5)),
            Task {
                deadline: Duration::from_us(7),
                ..Task::implicit("T2", Service::from_us(1), Duration::from_ms(10))
            },
        ],
    );
    system.tasks.values_mut().for_each(|task| task.affinity = Some("1".parse().unwrap()));
    let (text, lost) = to_schedcat(&system);
    assert_eq!(lost.len(), 1);
    assert_eq!(schedcat(&text).unwrap().system, system);
}

/// A file as written by `schedcat.model.serialize`, and one that relies on its defaults.
#[test]
fn resources_of_schedcat_are_sections() {
    let set = "<taskset>\n<task id=\"1\" period=\"10000\" wcet=\"2000\"><resources>\n\
               <requirement res_id=\"7\" max_reads=\"0\" max_writes=\"2\" max_read_length=\"0\" max_write_length=\"50\" />\n\
               <requirement res_id=\"3\" max_writes=\"0\" max_reads=\"1\" max_read_length=\"900\" />\n\
               </resources></task>\n\
               <task id=\"2\" period=\"20000\" wcet=\"1\"><resources><requirement /></resources></task>\n\
               <task id=\"3\" period=\"20000\" wcet=\"1\"><resources /></task></taskset>";
    let loaded = schedcat(set).unwrap();
    let names: Vec<&str> = loaded.system.resources.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["R7", "R3", "R0"]);
    let us = |us: i64| Step::Run(Service::from_us(us));
    let [r7, r3, r0] = [0, 1, 2].map(ResourceId);
    let tasks = loaded.system.tasks.as_slice();
    let section = |resource, length| [Step::Lock(resource), us(length), Step::Unlock(resource)];
    let steps = [&section(r7, 50)[..], &section(r7, 50), &section(r3, 900), &[us(1000)]].concat();
    assert_eq!(tasks[0].steps(), steps);
    assert_eq!(tasks[1].steps(), section(r0, 1));
    assert_eq!(tasks[2].steps, None);
    let said = loaded.warnings.plain();
    assert!(said.contains("set.xml:4:1: warning: the reads of `T1` are taken as writes"), "{said}");
    assert_eq!(said.matches("where in a job its critical sections are is not known").count(), 1);
    let long = set.replace("\"900\"", "\"1900.001\"");
    let loaded = schedcat(&long).unwrap();
    assert_eq!(loaded.system.tasks[TaskId(0)].steps, None);
    let lost = "set.xml:2:41: warning: the critical sections of `T1` are lost: they are longer than its WCET";
    let said = loaded.warnings.plain();
    assert!(said.contains(lost), "{said}");
    let many = set
        .replace("wcet=\"2000\"", "wcet=\"9000000\"")
        .replace("\"2\" max_read", "\"400000\" max_read");
    let many = many.replace("\"50\"", "\"1\"");
    let said = schedcat(&many).unwrap().warnings.plain();
    assert!(said.contains("the critical sections of `T1` are lost: there are too many"), "{said}");
    let loaded = schedcat(&set.replace("\"50\"", "\"0\"")).unwrap();
    // A resource that no task locks is dropped.
    let steps = [&section(r7, 900)[..], &[us(1100)]].concat();
    assert_eq!(loaded.system.tasks[TaskId(0)].steps(), steps);
    let said = loaded.warnings.plain();
    let dropped = "set.xml:2:41: warning: the critical sections of `T1` of length 0 are left out";
    assert!(said.contains(dropped), "{said}");
    for (from, to, at, message) in [
        ("max_writes=\"2\"", "max_writes=\"-2\"", "3:1", "a requirement of `T1` is negative"),
        ("max_writes=\"2\"", "max_writes=\"two\"", "3:51", "`max_writes` is not a whole number"),
        ("=\"50\"", "=\"long\"", "3:92", "`max_write_length` is not a number"),
    ] {
        let report = schedcat(&set.replace(from, to)).unwrap_err().plain();
        let error = format!("set.xml:{at}: error: {message}");
        assert!(report.contains(&error), "{error}: {report}");
    }
}

#[test]
fn sections_of_schedcat_read_back() {
    let (r0, r1) = (ResourceId(0), ResourceId(1));
    let us = |us: i64| Step::Run(Service::from_us(us));
    let section = |resource, step| vec![Step::Lock(resource), step, Step::Unlock(resource)];
    let mut first = Task::implicit("T1", Service::from_us(1000), Duration::from_ms(5));
    first.steps = Some([section(r0, us(300)), section(r1, us(200)), vec![us(500)]].concat().into());
    let mut second = Task::implicit("T2", Service::from_us(8), Duration::from_ms(10));
    second.steps = Some([section(r1, us(4)), section(r1, us(4))].concat().into());
    let third = Task::implicit("T3", Service::from_us(8), Duration::from_ms(10));
    let mut tasks = vec![first, second, third];
    for (rank, task) in tasks.iter_mut().enumerate() {
        (task.affinity, task.rank) = (Some("1".parse().unwrap()), rank as i64);
    }
    let mut system = System::new(2, tasks);
    system.resources =
        ["R0", "R1"].map(|name| Resource { name: name.to_owned(), home: None }).into();
    assert_eq!(system.validate(), []);
    let (text, lost) = to_schedcat(&system);
    let lost: Vec<String> = lost.into_iter().skip(1).map(|problem| problem.message).collect();
    assert_eq!(lost, ["where in a job its critical sections are is lost"]);
    assert!(text.contains("<resources/></task>"), "{text}");
    assert_eq!(schedcat(&text).unwrap().system, system);
    // Only the longest section of each resource is kept, in whole microseconds.
    let mut steps = system.tasks[TaskId(1)].steps().to_vec();
    (steps[1], steps[4]) = (Step::Run(Service::from_ns(3_999)), Step::Run(Service::from_ns(4_001)));
    system.tasks[TaskId(1)].steps = Some(steps.into());
    let (text, lost) = to_schedcat(&system);
    assert!(
        text.contains("max_writes=\"2\" max_read_length=\"0\" max_write_length=\"5\""),
        "{text}"
    );
    let told = "sections of `T2` on `R1` of 4.001us are written as 5us";
    assert!(lost.iter().any(|problem| problem.message == told), "{lost:?}");
}
