//! The `layland` command with an additional policy from this crate. Without arguments the program
//! shows that the policy is treated like those of layland: it is simulated, checked, explained, run
//! on threads and used in an experiment. The program fails if one of these does not work.

mod policy;

use layland::prelude::*;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};

/// On one CPU, `long` makes `short` miss if it is not preempted.
const SET: [&str; 6] = ["-t", "long=6ms/20ms", "-t", "short=1ms/3ms", "--cpus", "1"];

fn main() -> ExitCode {
    let registry = Registry::standard().with(policy::info()).expect("the name is free");
    if std::env::args_os().len() > 1 {
        return layland::main_with(&registry);
    }
    match every_use(&registry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn every_use(registry: &Registry) -> Result<(), Box<dyn Error>> {
    let [on, off] = ["outside-edf", "outside-edf:preempt=off"];
    let folder = std::env::temp_dir().join(format!("outside-policy-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;

    let simulated = |policy, code| layland("sim", &["-p", policy, "--check", "-q"], &SET, &[code]);
    simulated(on, 0)?;
    simulated(off, 1)?;
    println!("simulated: deadlines are met with preemption, and missed without");

    // With preemption the policy is global EDF, so the analyses of global EDF cover it. Without
    // preemption no analysis covers it, but a run with a miss still proves that the answer is no.
    let task = |name, wcet, period| {
        Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
    };
    let system = System::new(1, vec![task("long", 6, 20), task("short", 1, 3)]);
    for (spec, verdict, by) in [(on, Verdict::Yes, "QPA"), (off, Verdict::No, "WITNESS")] {
        let found = assess(registry, spec, &system, &AssessOptions::default())?;
        if (found.verdict, found.decided_by) != (verdict, Some(by)) {
            return Err(format!("{spec}: {:?}", found.reasons).into());
        }
    }
    layland("check", &["-p", off], &SET, &[1])?;
    println!("checked: guaranteed with preemption, and a run that misses without");

    expect(&layland("explain", &["GFB"], &[], &[0])?.text, policy::NAME)?;
    expect(&layland("policies", &[policy::NAME], &[], &[0])?.text, "preempt=..")?;
    println!("explained: it is listed where global EDF is");

    let log = folder.join("log").display().to_string();
    let more = ["-p", off, "--duration", "300ms", "--log", &log];
    // 0 and 1: deadlines were met or missed; 5: no permission; 6: the machine was too busy.
    match layland("run", &more, &SET, &[0, 1, 5, 6])? {
        Done { code: 5, text } => {
            println!("run: skipped: needs real-time priority ({})", text.trim());
        }
        Done { .. } => {
            layland("run", &["--replay", &log], &[], &[0])?;
            println!("run on threads: every decision is repeated from the log");
        }
    }

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("experiment.toml").display().to_string();
    let out = folder.join("lab").display().to_string();
    let judged = layland("lab", &["run", &file, "--out", &out, "--quiet"], &[], &[0])?;
    for claim in ["preemption-helps", "guarantees-hold"] {
        let line = judged.text.lines().find(|line| line.contains(claim));
        expect(line.unwrap_or_default(), "holds")?;
    }
    println!("put in an experiment: both claims hold");
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The result of a command.
struct Done {
    code: i32,
    /// Its standard output, followed by its standard error.
    text: String,
}

/// Runs a command of this program, which must exit with one of these codes.
fn layland(
    command: &str,
    arguments: &[&str],
    set: &[&str],
    codes: &[i32],
) -> Result<Done, Box<dyn Error>> {
    let this = std::env::current_exe()?;
    let output = Command::new(this).arg(command).args(set).args(arguments).output()?;
    let text =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    let (text, code) = (text.concat(), output.status.code().unwrap_or(-1));
    if !codes.contains(&code) {
        let wanted = format!("{command} {arguments:?} ended with {code} and not {codes:?}");
        return Err(format!("{wanted}:\n{text}").into());
    }
    Ok(Done { code, text })
}

fn expect(text: &str, what: &str) -> Result<(), Box<dyn Error>> {
    if text.contains(what) { Ok(()) } else { Err(format!("no `{what}` in:\n{text}").into()) }
}
