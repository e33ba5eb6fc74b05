//! Does `layland exec` keep its promises on this kernel?
//! `cargo run -p layland-testkit -- promises PROGRAM [SETS] [SEED]`
//!
//! PROGRAM is the `layland` under test. Run it as root, with python3, chrt and taskset, on an
//! otherwise idle machine. 200 sets by default, in about 25 minutes. Prints the results for each
//! policy, and fails if a promise was broken and not withdrawn.
#[cfg(target_os = "linux")]
pub(crate) fn run(words: &[String]) -> std::process::ExitCode {
    use layland_testkit::promises::{Campaign, PolicyResults};
    use std::process::ExitCode;
    let Some((program, rest)) = words.split_first() else {
        eprintln!("usage: promises PROGRAM [SETS] [SEED]");
        return ExitCode::from(2);
    };
    let (sets, seed) = match crate::amount_and_seed(rest, 200) {
        Ok(given) => given,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::from(2);
        }
    };
    let mut campaign = Campaign::new(program.as_ref(), seed);
    for set in 1..=sets {
        if let Err(error) = campaign.set() {
            eprintln!("set {set}: {error}");
            return ExitCode::from(2);
        }
        if set % 20 == 0 {
            println!("{set} sets, {} broken", campaign.found().broken.len());
        }
    }
    let found = campaign.found();
    println!(
        "{:<8} {:>6} {:>9} {:>7} {:>6} {:>7} {:>10}",
        "", "asked", "admitted", "jobs", "late", "beyond", "withdrawn"
    );
    for (policy, row) in &found.rows {
        let PolicyResults { asked, admitted, jobs, late, beyond, withdrawn } = row;
        println!(
            "{policy:<8} {asked:>6} {admitted:>9} {jobs:>7} {late:>6} {beyond:>7} {withdrawn:>10}"
        );
    }
    println!("the machine itself takes up to {:?}", found.machine);
    println!("strangers that the kernel refused: {}", found.kept_out);
    found.disturbed.iter().for_each(|once| println!("once, and not again: {once}"));
    found.broken.iter().for_each(|broken| println!("BROKEN: {broken}"));
    if found.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &[String]) -> std::process::ExitCode {
    eprintln!("skipped: needs Linux");
    std::process::ExitCode::SUCCESS
}
