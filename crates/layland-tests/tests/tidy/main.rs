//! Checks of the tree itself: statements of documents about it are true, files have a readable
//! size, and no two parts need each other.

mod circles;
mod citations;
mod doors;
mod kinds;
mod licences;
mod manifests;
mod names;
mod papers;
mod text;
mod words;

use std::path::{Path, PathBuf};

/// Returns the root of the repository.
fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A file of the repository, with its path from the root, and its text.
struct File {
    path: String,
    text: String,
}

impl File {
    fn has_ending(&self, ending: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == ending)
    }
}

/// Returns every handwritten text file below a folder, by path.
fn files_below(folder: &str) -> Vec<File> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
            let path: PathBuf = entry.expect("the folder can be read").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // In a work tree `.git` is a file.
            if ["target", ".git", "node_modules", "Cargo.lock"].contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let path = path.strip_prefix(root()).expect("it is below the root");
                found.push(File { path: path.to_string_lossy().replace("/./", "/"), text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "nothing below {folder}");
    found
}

/// Fails with the list of findings.
fn assert_none(found: &[String], what: &str) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}
