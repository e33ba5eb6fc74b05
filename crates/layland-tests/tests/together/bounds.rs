//! No bound is exceeded: a reduced number of the systems that
//! `cargo run --release -p layland-testkit -- bounds` checks.

use layland_analysis::catalogue;
use layland_config::{Format, Host, read, to_toml};
use layland_model::{Algorithm, Form, InLevel, Rate};
use layland_testkit::bounds::{Claim, claims, explore};
use layland_testkit::specs_of;

/// The number is small because the run queues check their invariants here.
const CASES: usize = 16;

#[test]
fn no_schedule_goes_beyond_what_is_claimed() {
    for claim in claims() {
        let report = explore(&claim, CASES, 7);
        if let Some((how, case)) = report.broken {
            let (name, toml) = (claim.name(), to_toml(&case.system));
            panic!("{name}: {how}; simulation seed {}\n{toml}", case.seed);
        }
        assert!(report.checked >= CASES);
        let (near, case) = report.nearest.expect("a claim that says something");
        // The printed system can be read again, with an equal result.
        let bytes = to_toml(&case.system).into_bytes();
        let again =
            read("nearest", &bytes, Format::Toml, &Host::default()).expect("a valid system");
        assert_eq!(again.system, case.system, "{}", claim.name());
        assert!(near.ratio <= Rate::ONE);
        // Some job is late, so a bound of zero would be noticed.
        assert!(near.ratio > Rate::ZERO, "{}", claim.name());
    }
}

#[test]
fn explorations_repeat() {
    let find = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let report = pool.install(|| explore(&Claim::Inversion, 12, 3));
        let (near, case) = report.nearest.expect("an inversion");
        (report.checked, near.place, to_toml(&case.system))
    };
    assert_eq!(find(1), find(3));
}

#[test]
fn every_analysis_is_about_a_policy() {
    let of_tests = catalogue::TESTS.iter().flat_map(|test| test.subject.algorithms());
    let of_bounds = catalogue::BOUNDS.iter().flat_map(|bound| bound.algorithms);
    let of_responses = catalogue::RESPONSES.iter().flat_map(|test| test.algorithms);
    for algorithm in of_tests.chain(of_bounds).chain(of_responses) {
        // A policy with an unknown order within a level is analysed, but never runs.
        if matches!(algorithm, Algorithm::Levels(_, InLevel::Any)) {
            continue;
        }
        // The placement of global policies shows only on CPUs of different speeds.
        let of_policy = match *algorithm {
            Algorithm::FastestFirst(order) => Algorithm::Ordered(Form::Global, order),
            algorithm => algorithm,
        };
        assert!(!specs_of(&[of_policy]).is_empty(), "no policy implements {algorithm:?}");
    }
}
