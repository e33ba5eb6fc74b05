//! Compares the fast way of reading a file with the slow one.

use super::{read_document, short};
use crate::host::Host;
use crate::problem::{Problems, Span};
use layland_model::{
    CpuId, CpuSet, Duration, Overheads, Platform, Provenance, Rate, Service, Speed, System, Task,
};
use proptest::prelude::*;

fn short_way(text: &str, host: &Host) -> Option<(System, Vec<Span>)> {
    short::read(text, |rest, problems| read_document(rest, host, problems))
}

fn long(text: &str, host: &Host) -> (Option<(System, Vec<Span>)>, Problems) {
    let mut problems = Problems::default();
    let found = read_document(text, host, &mut problems);
    (found, problems)
}

proptest! {
    #[test]
    fn both_ways_agree_on_what_is_written(
        tasks in prop::collection::vec((1i64..50, 0i64..60, 0i64..3, -5i64..5), 1..12),
        (cpus, speed, overhead, seed) in (1usize..5, any::<bool>(), 0i64..2, any::<u64>()),
    ) {
        let tasks = tasks.into_iter().enumerate().map(|(at, (period, wcet, offset, deadline))| {
            let mut task = Task::implicit(
                format!("t{at}"), Service::from_us(wcet), Duration::from_ms(period),
            );
            task.offset = Duration::from_us(offset);
            task.deadline = Duration::from_ms((period + deadline).max(0));
            task
        });
        let mut system = System::new(cpus, tasks.collect());
        if speed {
            system.platform.speeds[CpuId(0)] = Speed::new(&Rate::new(1, 2)).unwrap();
        }
        system.platform.overheads =
            Overheads { release: Duration::from_ns(overhead), ..Overheads::default() };
        system.provenance = Some(Provenance {
            generator: "some".to_owned(), seed, parameters: [("a.b".into(), "1".into())].into(),
        });
        let text = super::to_toml(&system);
        let host = Host::default();
        let (expected, problems) = long(&text, &host);
        let found = short_way(&text, &host);
        if problems.is_empty() {
            prop_assert!(found.is_some(), "{}", text);
            prop_assert_eq!(found, expected);
        } else {
            // The slow way reports the faults.
            prop_assert_eq!(found, None);
        }
    }
}

#[test]
fn what_is_not_plain_takes_the_long_way() {
    let host = Host::default();
    let task = "[[task]]\nname = \"a\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n";
    let head = "layland = 1\n[platform]\ncpus = 2\n";
    let plain = format!("{head}{task}");
    assert_eq!(short_way(&plain, &host), long(&plain, &host).0);
    assert!(short_way(&plain, &host).is_some());
    for text in [
        format!("{head}{task}# why\n"),
        format!("{head}{task}rank = 3\n"),
        format!("{head}{task}period = \"6ms\"\n"),
        format!("{head}{task}jitter = \"6ms\"\n"),
        format!("{head}[defaults]\nwcet = \"2ms\"\n{task}"),
        format!("{head}[defaults]\njitter = \"2ms\"\n{task}"),
        format!("{head}[criticality]\nlevels = [\"LO\", \"HI\"]\n{task}"),
        format!("{head}{task}[task.execution]\nfraction = 0.5\n"),
        format!("{head}{task}{task}"),
        format!("{head}{task}[[request]]\nat = \"1s\"\nkind = \"leave\"\ntask = \"a\"\n"),
        format!("{task}{head}"),
        format!("unknown = 2\n{head}{task}"),
        head.to_owned(),
    ] {
        assert_eq!(short_way(&text, &host), None, "{text}");
    }
    // With several clusters, each task names its own.
    let first = CpuSet::first(1);
    let mut platform = Platform::identical(2);
    platform.clusters = vec![first.clone(), platform.all_cpus().difference(&first)];
    let mut system = short_way(&plain, &host).unwrap().0;
    system.platform = platform;
    assert_eq!(short_way(&super::to_toml(&system), &host), None);
}
