//! The checker accepts no trace that contradicts its set. A longer run: the campaign `traces`.

use layland_testkit::traces::{campaign, mutate};

#[test]
fn no_trace_that_lies_is_accepted() {
    let found = campaign(3_000, 11);
    assert_eq!(found.total().wrong, 0, "{}", found.wrong.join("\n"));
    // Every kind occurred and was found to be a lie. Some mutations change nothing and are accepted.
    for name in mutate::OF_TRACES.map(|(name, _)| name).iter().chain(&mutate::OF_TEXTS) {
        let tally = &found.tallies[name];
        assert!(tally.refused + tally.unreadable > 10, "{name}: {tally:?}");
    }
    assert!(found.total().accepted > 50, "{:?}", found.total());
}
