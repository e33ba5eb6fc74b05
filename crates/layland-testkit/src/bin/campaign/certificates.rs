//! Does the verifier accept the certificates of random sets, and reject false ones?
//! `cargo run --release -p layland-testkit -- certificates [SETS] [SEED] [PROGRAM]`
//!
//! 10,000 sets by default, which have some 100,000 proofs. PROGRAM is the `layland` under test, by
//! default the one beside this program. Run it at the root of the repository; it needs python3,
//! 3.11 or later. Fails with the first proof that the verifier rejects, or the first false one that
//! it accepts.
use crate::amount_and_seed;
use layland_testkit::certificates::{NEEDS, has_python, verify};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    if !has_python() {
        eprintln!("skipped: needs {NEEDS}");
        return ExitCode::from(2);
    }
    let beside = || {
        let own = std::env::current_exe().ok()?;
        Some(own.with_file_name("layland"))
    };
    let given = words.get(2).map(PathBuf::from);
    let program = given.or_else(beside).unwrap_or_else(|| PathBuf::from("layland"));
    let folder = std::env::temp_dir().join(format!("layland-certificates-{}", std::process::id()));
    let verifier = Path::new("tools/verify_certificate.py");
    let found = amount_and_seed(words, 10_000)
        .and_then(|(sets, seed)| verify(&program, verifier, &folder, sets, seed));
    let _ = std::fs::remove_dir_all(&folder);
    match found {
        Ok(found) => {
            println!("{} sets, {} proofs are valid: {:#?}", found.sets, found.proofs(), found);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
