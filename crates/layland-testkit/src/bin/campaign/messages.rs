//! Does the daemon answer right, with five honest and dishonest users at once and a flood by one of
//! them? `cargo run -p layland-testkit -- messages PROGRAM [MESSAGES] [SEED]`
//!
//! PROGRAM is the `layland` under test, with the engine ext. Run it as root, or all users are the
//! same. 200,000 messages by default. Prints the results, the delay of a user's questions while
//! another user floods the daemon over 64 connections, and the time that the daemon takes to end
//! meanwhile. Exits with 1 if an answer is wrong or missing, or if the daemon grows.

#[cfg(target_os = "linux")]
pub(crate) fn run(words: &[String]) -> std::process::ExitCode {
    use std::process::ExitCode;
    let Some(program) = words.first() else {
        eprintln!("usage: messages PROGRAM [MESSAGES] [SEED]");
        return ExitCode::from(2);
    };
    let (count, seed) = match super::amount_and_seed(&words[1..], 200_000) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match campaign(program, count, seed) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(target_os = "linux")]
fn campaign(program: &str, count: u64, seed: u64) -> std::io::Result<bool> {
    use layland_testkit::messages::{Daemon, flood, messages};
    let folder = std::env::temp_dir().join("layland-messages");
    let daemon = Daemon::start(program.as_ref(), &folder, &[])?;
    // Warm up first, so that memory that is allocated only once is not counted as growth.
    messages(&daemon, &[2001, 2002, 2003, 2004, 2005], 2_000, seed)?;
    let before = daemon.size()?;
    let told = messages(&daemon, &[2001, 2002, 2003, 2004, 2005], count, seed + 1)?;
    let after = daemon.size()?;
    println!(
        "{} messages of five users, {} answers, {} connections ended, the slowest answer after {:?}",
        told.sent, told.answers, told.ended, told.slowest
    );
    println!(
        "memory {} to {} KiB, files {} to {}",
        before.memory, after.memory, before.files, after.files
    );
    told.wrong.iter().for_each(|wrong| println!("WRONG: {wrong}"));
    let delays = flood(&daemon, 64, 200)?;
    let at = |part: usize| delays.of_other[(delays.of_other.len() - 1) * part / 100];
    println!(
        "while 64 connections flood ({} answers): another's question takes {:?}, 99 of 100 {:?}, the longest {:?}",
        delays.flooded,
        at(50),
        at(99),
        at(100)
    );
    println!("it ends within {:?}", daemon.end()?);
    std::fs::remove_dir_all(folder)?;
    Ok(told.wrong.is_empty()
        && after.memory < before.memory + 4_096
        && after.files <= before.files + 8)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &[String]) -> std::process::ExitCode {
    eprintln!("skipped: needs Linux");
    std::process::ExitCode::SUCCESS
}
