//! The highest-first policies, compared with their slow twin and with a simulator that moves tick
//! by tick. Properties of every policy are in `every_policy.rs`; the campaign `differential` covers
//! more of both.

use layland_config::{Format, Host, read};
use layland_testkit::differential::{
    campaign, promises, sorted_lists, unit_by_unit, with_cpus_that_change,
};
use layland_testkit::strategies::periodic_system;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn twins_make_the_same_schedule(system in periodic_system()) {
        prop_assert!(sorted_lists(&system).map_err(TestCaseError::fail)? >= 8);
    }

    #[test]
    fn ticks_finish_the_same_jobs(system in periodic_system()) {
        prop_assert!(unit_by_unit(&system).map_err(TestCaseError::fail)? >= 8);
    }

    #[test]
    fn twins_agree_while_cpus_come_and_go(
        system in periodic_system(),
        changes in prop::collection::vec((0i64..100, 0u32..4, any::<bool>()), 1..8),
    ) {
        let system = with_cpus_that_change(system, &changes);
        prop_assert!(sorted_lists(&system).map_err(TestCaseError::fail)? >= 8);
    }
}

/// A short form of the campaign `differential`.
#[test]
fn references_agree() {
    for tally in campaign(30, 1) {
        assert!(tally.agreed >= 30, "{tally:?}");
        assert!(tally.differing.is_empty(), "{}", tally.differing[0]);
    }
}

/// The checker once mistook the deadline of a server for that of its task, and a job without demand
/// that waits for a late one for a job that runs on.
#[test]
fn late_jobs_are_given_up_by_the_deadlines_of_the_set() {
    let sleeper = "[[task]]\nname = \"a\"\nperiod = \"11ns\"\ndeadline = \"7ns\"\nwcet = \"3ns\"\njitter = \"1ns\"\n\
                   on_miss = \"abort\"\nrelease = { kind = \"self-suspending\", gap = \"1ns\" }\n";
    let nothing = "[[task]]\nname = \"a\"\nperiod = \"1ns\"\nwcet = \"1ns\"\njitter = \"3ns\"\non_miss = \"abort\"\n\
                   exec = { model = \"uniform\", min = \"0ns\", max = \"1ns\" }\n";
    for task in [sleeper, nothing] {
        let text =
            format!("layland = 1\n[platform]\ncpus = 3\nspeed = {{ \"1\" = \"1/2\" }}\n{task}");
        let read = read("set.toml", text.as_bytes(), Format::Toml, &Host::default());
        let system = read.expect("it is a set").system;
        for seed in 0..20 {
            assert!(promises(&system, seed).unwrap_or_else(|how| panic!("{seed}: {how}")) >= 8);
        }
    }
}
