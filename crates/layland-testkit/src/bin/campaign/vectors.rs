//! Do the test vectors pass? `cargo run --release -p layland-testkit -- vectors DIR...`
//!
//! Prints a line per failing vector, then the summary; exits non-zero if any vector failed.
use layland_testkit::vectors::{VectorReport, run_folder};
use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let folders = words;
    if folders.is_empty() {
        eprintln!("usage: vectors DIR...");
        return ExitCode::from(2);
    }
    let mut report = VectorReport::default();
    for folder in folders {
        if let Err(error) = run_folder(Path::new(folder), &mut report) {
            eprintln!("{error}");
            return ExitCode::from(3);
        }
    }
    for (name, difference) in &report.failed {
        println!("{name}: {difference}");
    }
    println!("{}", report.summary());
    if report.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
