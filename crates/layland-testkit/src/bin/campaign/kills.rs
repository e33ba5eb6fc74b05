//! Do runs that are killed or overlap at random leave the machine as it was?
//! `cargo run -p layland-testkit -- kills PROGRAM [KILLS] [OVERLAPS] [SEED] [exec]`
//!
//! PROGRAM is the `layland` under test. Run it as root, or most of it is skipped. 1,000 kills and
//! 100 overlaps by default, in about 20 minutes. Prints a table of the leftovers and of the repairs
//! of `layland doctor --clean`. Exits with 1 if something is left that the command does not repair,
//! or if anything is left although a guardian survived. With `exec`, all kills are of
//! `layland exec` with programs that leave its process group and session. No other `layland` may
//! run meanwhile, because it would keep these runs from the CPUs.
#[cfg(target_os = "linux")]
pub(crate) fn run(words: &[String]) -> std::process::ExitCode {
    use std::process::ExitCode;
    let number = |at: usize, default: u64| {
        words.get(at).map_or(Some(default), |word| word.replace('_', "").parse().ok())
    };
    let (Some(program), Some(kills), Some(overlaps), Some(seed)) =
        (words.first(), number(1, 1_000), number(2, 100), number(3, 1))
    else {
        eprintln!("usage: kills PROGRAM [KILLS] [OVERLAPS] [SEED] [exec]");
        return ExitCode::from(2);
    };
    let is_exec = match words.get(4).map(String::as_str) {
        None => false,
        Some("exec") => true,
        Some(other) => {
            eprintln!("`{other}` is no kind of runs: there is exec");
            return ExitCode::from(2);
        }
    };
    match campaign(program, kills, overlaps, seed, is_exec) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

#[cfg(target_os = "linux")]
fn campaign(
    program: &str,
    kills: u64,
    overlaps: u64,
    seed: u64,
    is_exec: bool,
) -> std::io::Result<bool> {
    use layland_testkit::kills::Campaign;
    let folder = std::env::temp_dir().join("layland-kills");
    let mut campaign = Campaign::new(program.as_ref(), &folder, seed)?;
    println!("this machine: {:?}", campaign.able());
    for index in 0..kills {
        if is_exec { campaign.kill_exec() } else { campaign.kill() }?;
        if (index + 1) % 100 == 0 {
            println!("{} kills, {} wrong", index + 1, campaign.found().wrong.len());
        }
    }
    for _ in 0..overlaps {
        campaign.overlap()?;
    }
    std::fs::remove_dir_all(folder)?;
    let found = campaign.found();
    println!("{}", found.table());
    found.wrong.iter().for_each(|wrong| println!("WRONG: {wrong}"));
    println!("{} of {} are wrong", found.wrong.len(), kills + overlaps);
    Ok(found.wrong.is_empty())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &[String]) -> std::process::ExitCode {
    eprintln!("skipped: needs Linux");
    std::process::ExitCode::SUCCESS
}
