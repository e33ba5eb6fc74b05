//! The claims of papers under several seeds. The short form of
//! `cargo run --release -p layland-testkit -- verdicts`.

use layland_lab::{packaged, parse_horizon};
use layland_testkit::verdicts::{Verdicts, verdicts};
use std::path::Path;

/// Judges a packaged experiment with few sets, at every other point, under three seeds.
fn short(name: &str, horizon: &str, sets: u64) -> Verdicts {
    let mut experiment = packaged::find(name).expect("it is packaged").experiment();
    experiment.sets = sets;
    experiment.block = 1;
    experiment.horizon = parse_horizon(horizon).expect("it is a time");
    for grid in &mut experiment.grids {
        for (_, values) in grid.axes.iter_mut().filter(|(_, values)| values.len() > 6) {
            *values = values.iter().step_by(3).cloned().collect();
        }
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verdicts").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    verdicts(&experiment, 1..4, &folder).expect("it can be measured")
}

#[test]
fn no_claim_turns_into_its_opposite_under_another_seed() {
    for (name, horizon, sets) in [
        ("tang2021", "2s", 6),
        ("stevanato2021", "1s", 6),
        ("bonifaci2016", "200ms", 6),
        ("compagnin2015", "500ms", 6),
        ("huang2014", "200ms", 6),
    ] {
        let found = short(name, horizon, sets);
        assert_eq!(found.flips(), [""; 0], "{name}: {found:?}");
        assert!(found.decided() > 5, "{name}: {found:?}");
    }
}
