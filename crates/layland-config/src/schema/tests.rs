//! Compares the schema with the reader.

use super::*;
use crate::taskset;
use serde_json::Value;
use std::collections::BTreeSet;

/// The keys of each structure of the schema are those that the reader accepts.
#[test]
fn schema_and_reader_know_the_same_keys() {
    let schema = schema();
    let keys = |of: &Value| -> BTreeSet<String> {
        of["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let known =
        |keys: &[&str]| -> BTreeSet<String> { keys.iter().map(|&key| key.to_owned()).collect() };
    assert_eq!(keys(&schema), known(taskset::TOP));
    for (name, of) in [
        ("PlatformTable", taskset::PLATFORM),
        ("OverheadTable", taskset::OVERHEAD),
        ("CriticalityTable", taskset::CRITICALITY),
        ("ResourceTable", crate::steps::RESOURCE),
        ("GroupTable", crate::taskset::GROUP),
        ("ChainTable", crate::taskset::CHAIN),
        ("RequestTable", taskset::REQUEST),
        ("ProvenanceTable", taskset::PROVENANCE),
    ] {
        assert_eq!(keys(&schema["$defs"][name]), known(of), "{name}");
    }
}
