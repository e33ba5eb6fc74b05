//! The test vectors that this project ships all pass, and none is left out.

use layland_testkit::vectors::{Report, run_folder};
use std::path::Path;

#[test]
fn every_shipped_vector_passes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors");
    let mut report = Report::default();
    run_folder(&root.join("edf-affinity"), &mut report).unwrap();
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    assert_eq!(report.not_supported.values().sum::<usize>(), 0, "{}", report.summary());
    assert_eq!(report.passed, 77);
}

#[test]
fn a_wrong_expectation_fails() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/edf-affinity/dhall.json");
    let text = std::fs::read_to_string(path).unwrap();
    for (right, wrong) in [
        ("[3, 0, 2, 32]", "[3, 1, 2, 32]"),
        ("\"3\": 1\n", "\"3\": 2\n"),
        ("[1, 0, 0, 10, 2]", "[1, 0, 0, 10, 3]"),
    ] {
        assert!(text.contains(right), "{right}");
        let vector = serde_json::from_str(&text.replacen(right, wrong, 1)).unwrap();
        let verdict = layland_testkit::vectors::run(&vector);
        assert!(matches!(verdict, layland_testkit::vectors::Verdict::Failed(_)), "{right}");
    }
}
