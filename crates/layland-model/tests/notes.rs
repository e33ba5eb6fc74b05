//! A new kind of note changes the model and the policies that emit it, and no other file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Any code that matches every kind of note has to name this one, which no engine, format or chart
/// treats specially.
const KIND: &str = concat!("Note::", "Unlisted");

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn only_the_model_matches_every_kind_of_note() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&crates).expect("the crates can be listed") {
        let source = entry.expect("its entries can be read").path().join("src");
        if source.is_dir() {
            sources(&source, &mut found);
        }
    }
    // Tests may name a kind to have one of each, but do not have to.
    let is_test =
        |path: &Path| path.ends_with("tests.rs") || path.iter().any(|part| part == "tests");
    found.retain(|path| !is_test(path.strip_prefix(&crates).expect("it is in a crate")));
    found.retain(|path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(KIND)));
    let names: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(&crates).expect("it is in a crate").display().to_string())
        .collect();
    let (notes, others): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| name.starts_with("layland-policy"));
    assert_eq!(others, ["layland-model/src/note.rs"]);
    // The files that emit the note, and the headers that describe it.
    let expected = ["indicator.rs", "ocbp.rs", "plrs.rs"];
    let expected = expected.map(|file| format!("layland-policy/src/criticality/{file}"));
    assert_eq!(BTreeSet::from_iter(notes), BTreeSet::from(expected));
}
