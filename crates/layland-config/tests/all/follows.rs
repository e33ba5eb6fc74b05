//! Tasks that follow others, in task-set files and lines: their meaning, the positions of faults,
//! and the formats that lose them.

use crate::common::{csv, is_read_again, toml};
use layland_config::{RtAppPolicy, to_csv, to_rt_app, to_schedcat, to_simso, to_toml};
use layland_model::TaskId;

/// Two tasks, the second with these additional keys.
fn second(keys: &str) -> String {
    format!(
        "layland = 1\n[platform]\ncpus = 2\n\
         [[task]]\nname = \"a\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n\
         [[task]]\nname = \"b\"\nwcet = \"1ms\"\n{keys}\n"
    )
}

#[test]
fn they_may_come_later_and_copies_follow_copies() {
    let text = "layland = 1\n[platform]\ncpus = 2\n\
        [[task]]\nname = \"merge\"\nperiod = \"9ms\"\nwcet = \"1ms\"\nfollows = [\"part.0\", \"part.1\"]\n\
        [[task]]\nname = \"part\"\ncount = 2\nperiod = \"9ms\"\nwcet = \"1ms\"\nfollows = [\"cut\"]\n\
        [[task]]\nname = \"cut\"\ncount = 2\nperiod = \"9ms\"\nwcet = \"1ms\"\n";
    let system = toml(text).unwrap_or_else(|report| panic!("{}", report.plain())).system;
    let follows = |task: u32| system.tasks[TaskId(task)].follows.to_vec();
    assert_eq!(follows(0), [TaskId(1), TaskId(2)]);
    assert_eq!((follows(1), follows(2)), (vec![TaskId(3)], vec![TaskId(4)]));
    assert_eq!(system.graphs().len(), 1);
    is_read_again(&system);
}

#[test]
fn faults_are_told_where_they_are() {
    let same = "period = \"10ms\"\n";
    for (keys, line, message) in [
        ("follows = [\"c\"]", 12, "there is no task `c`"),
        ("follows = [\"a\", \"a\"]", 12, "`b` follows `a` twice"),
        ("follows = [\"b\"]", 12, "`b` follows itself"),
        ("follows = \"a\"", 12, "`follows` is a list, not a string"),
        ("follows = [\"a\"]\noffset = \"1ms\"", 13, "`b` has another offset than `a`"),
        (
            "follows = [\"a\"]\nrelease = \"hog\"",
            13,
            "`b` has another pattern of arrivals than `a`",
        ),
        ("follows = [\"a\"]\non_miss = \"skip\"", 12, "late jobs of `b` are aborted"),
        ("follows = [\"a\"]\nsteps = [\"run 1ms\"]", 12, "`b` has `steps`"),
    ] {
        let report = toml(&second(&format!("{same}{keys}"))).unwrap_err().plain();
        assert!(report.contains(message), "{keys}: {report}");
        assert!(report.contains(&format!(":{line}:")), "{keys}: {report}");
    }
    let report = toml(&second("period = \"20ms\"\nfollows = [\"a\"]")).unwrap_err().plain();
    assert!(
        report.contains("`b` has another period than `a`") && report.contains(":11:"),
        "{report}"
    );
    let cycle = second(&format!("{same}follows = [\"a\"]"))
        .replace("[[task]]\nname = \"b\"", "follows = [\"b\"]\n[[task]]\nname = \"b\"");
    let report = toml(&cycle).unwrap_err().plain();
    assert!(report.contains("`a` follows itself through others"), "{report}");
    let leaves = "follows = [\"a\"]\n[[request]]\nat = \"1s\"\ntask = \"b\"\nleave = true";
    let report = toml(&second(&format!("{same}{leaves}"))).unwrap_err().plain();
    assert!(report.contains("`b` leaves, and follows or is followed"), "{report}");
}

#[test]
fn what_other_formats_lose_is_told() {
    let system = toml(&second("period = \"10ms\"\nfollows = [\"a\"]")).unwrap().system;
    for (format, lost) in [
        ("simso", to_simso(&system).1),
        ("schedcat", to_schedcat(&system).1),
        ("rt-app", to_rt_app(&system, RtAppPolicy::Deadline).1),
    ] {
        let told = lost.iter().any(|problem| problem.message.contains("what `b` follows"));
        assert!(told, "{format}: {lost:?}");
    }
}

#[test]
fn tables_have_a_column_for_it() {
    let text = "# cpus = 2\nname,period,wcet,follows\n\
                merge,9ms,1ms,right ; left\nleft,9ms,1ms,cut\nright,9ms,1ms,cut\ncut,9ms,1ms,\n";
    let system = csv(text).unwrap_or_else(|report| panic!("{}", report.plain())).system;
    let follows = |task: u32| system.tasks[TaskId(task)].follows.to_vec();
    assert_eq!((follows(0), follows(1)), (vec![TaskId(2), TaskId(1)], vec![TaskId(3)]));
    let (written, lost) = to_csv(&system);
    assert!(lost.is_empty(), "{lost:?}");
    assert!(written.contains("\nmerge,9ms,1ms,\"right; left\"\n"), "{written}");
    assert_eq!(csv(&written).unwrap().system, system);
    // A task-set file gives the same system.
    assert_eq!(toml(&to_toml(&system)).unwrap().system, system);
}

#[test]
fn faults_of_a_table_are_told_where_they_are() {
    let table = |cells: [&str; 3]| {
        let [a, b, more] = cells;
        format!(
            "# cpus = 1\nname,period,wcet,follows,steps\na,10ms,1ms,{a},\nb,10ms,1ms,{b},{more}\n"
        )
    };
    for (cells, place, message) in [
        (["", "c", ""], "4:12", "there is no task `c`"),
        (["", "aa", ""], "4:12", "there is no task `aa`"),
        (["", "a;", ""], "4:12", "a name is missing"),
        (["", "a;a", ""], "4:12", "`b` follows `a` twice"),
        (["", "b", ""], "4:12", "`b` follows itself"),
        (["b", "a", ""], "3:12", "`a` follows itself through others"),
        (["", "a", "run 1ms"], "4:12", "`b` has `steps`"),
    ] {
        let report = csv(&table(cells)).unwrap_err().plain();
        assert!(report.contains(message), "{cells:?}: {report}");
        assert!(report.contains(&format!(":{place}:")), "{cells:?}: {report}");
    }
    let other = "# cpus = 1\nname,period,wcet,offset,follows\na,10ms,1ms,,\nb,10ms,1ms,1ms,a\n";
    let report = csv(other).unwrap_err().plain();
    assert!(
        report.contains("`b` has another offset than `a`") && report.contains(":4:12:"),
        "{report}"
    );
}

/// A task follows one whose name contains the separator.
#[test]
fn a_name_that_a_table_cannot_list_is_told() {
    let mut system = toml(&second("period = \"10ms\"\nfollows = [\"a\"]")).unwrap().system;
    system.tasks[TaskId(0)].name = "a; b".into();
    let (text, lost) = to_csv(&system);
    assert!(lost.iter().any(|problem| problem.message.contains("what `b` follows")), "{lost:?}");
    let again = csv(&text).unwrap().system;
    assert!(again.tasks[TaskId(1)].follows.is_empty());
}
