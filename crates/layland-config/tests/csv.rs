//! Tables: in, out, faults.

mod common;

use common::{csv, system};
use layland_config::to_csv;
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
    assert_eq!(brake.wcet, [Service::from_ms(1), Service::from_us(2500)]);
    assert_eq!((brake.criticality, brake.rank), (Criticality(1), 7));
    assert_eq!(brake.affinity.as_ref().unwrap().to_string(), "0,2");
    assert_eq!(radio.affinity.as_ref().unwrap().to_string(), "1-3");
    assert_eq!((radio.rank, radio.wcet[1]), (1, Service::from_ms(4)));
}

#[test]
fn faults_have_places() {
    for (text, at, message) in [
        ("name,period,wcet\na,5,1ms\n", "2:3", "`period`: a time needs a unit"),
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn what_is_written_reads_back(mut system in system()) {
        // What a table has no column for, and names that a comment cannot hold.
        for task in system.tasks.values_mut() {
            (task.behaviour, task.execution) = (Behaviour::Periodic, ExecutionModel::Wcet);
            task.name = task.name.trim().replace(|c: char| c.is_control(), "_");
        }
        if system.levels.is_mixed() {
            let count = system.levels.count();
            system.levels = Levels::new((0..count).map(|level| format!("L{level}")).collect());
        }
        let count = system.platform.cpu_count();
        let clusters = system.platform.clusters.clone();
        system.platform = Platform { clusters, ..Platform::identical(count) };
        system.requests.clear();
        system.provenance = None;
        let (text, lost) = to_csv(&system);
        prop_assert!(lost.is_empty());
        let loaded = csv(&text).map_err(|r| TestCaseError::fail(format!("{}\n{text}", r.plain())))?;
        prop_assert_eq!(loaded.system, system, "{}", text);
    }
}
