//! What commands answer about task sets in memory, for programs that are no command line: the Python package.
//!
//! Arguments are those of the commands, so that an answer is the one that the command prints. Nothing is read, and
//! nothing is printed; what is written is said by the arguments.

use crate::commands::{check, generate, simulate};
use crate::ui::exit::{Failure, Message};
use crate::ui::input::Set;
use crate::ui::jobs;
use clap::{Args, Parser};
use layland_model::{System, Time};
use layland_policy::Registry;
use std::sync::atomic::AtomicBool;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Unanswered {
        match failure.message {
            Message::Plain(message, help) => Unanswered { message, help },
            Message::Drawn(message) => Unanswered { message, help: None },
        }
    }
}

/// The arguments of a command by themselves.
#[derive(Parser)]
struct Alone<A: Args> {
    #[command(flatten)]
    args: A,
}

fn parse<A: Args>(arguments: &[String]) -> Result<A, Unanswered> {
    let all = std::iter::once("layland").chain(arguments.iter().map(String::as_str));
    let wrong = |error: clap::Error| {
        // What follows is about the command line: its usage, and where there is help.
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
        Unanswered { message, help: None }
    };
    Ok(Alone::<A>::try_parse_from(all).map_err(wrong)?.args)
}

/// What `layland check --json` prints about a valid system.
///
/// # Errors
/// If the arguments are wrong, or name a policy or a test that is not there.
///
/// ```
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
/// let system = System::new(1, vec![task]);
/// let registry = layland_policy::Registry::standard();
/// let arguments = ["--policy".to_owned(), "p-edf".to_owned()];
/// let answer = layland::answers::check(&registry, "mine", &system, &arguments).unwrap();
/// assert!(answer.contains("\"verdict\": \"yes\""));
/// ```
pub fn check(
    registry: &Registry,
    name: &str,
    system: &System,
    arguments: &[String],
) -> Result<String, Unanswered> {
    let args = parse(arguments)?;
    Ok(check::document(registry, args, Set::in_memory(name, system.clone()))?)
}

/// The page that `layland check -o FILE.html` writes about a valid system.
///
/// # Errors
/// As of [`check`].
pub fn check_page(
    registry: &Registry,
    name: &str,
    system: &System,
    arguments: &[String],
) -> Result<String, Unanswered> {
    let args = parse(arguments)?;
    Ok(check::page(registry, args, Set::in_memory(name, system.clone()))?)
}

/// What `layland check --certificate` writes about a valid system.
///
/// # Errors
/// As of [`check`]; and with `--margin`, of which there are no proofs.
///
/// ```
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
/// let system = System::new(1, vec![task]);
/// let registry = layland_policy::Registry::standard();
/// let arguments = ["--policy".to_owned(), "p-edf".to_owned()];
/// let proven = layland::answers::certificate(&registry, "mine", &system, &arguments).unwrap();
/// assert!(proven.contains("\"decided_by\": \"QPA\""));
/// ```
pub fn certificate(
    registry: &Registry,
    name: &str,
    system: &System,
    arguments: &[String],
) -> Result<String, Unanswered> {
    let wanted = [arguments, &["--certificate=-".to_owned()]].concat();
    let args = parse(&wanted)?;
    Ok(check::proven(registry, args, Set::in_memory(name, system.clone()))?)
}

/// The page that `layland sim -o FILE.html` writes about a valid system; none if it was interrupted.
///
/// # Errors
/// If the arguments are wrong, name a policy that is not there, or a simulation cannot start.
pub fn simulation_page(
    registry: &Registry,
    name: &str,
    system: &System,
    arguments: &[String],
    interrupt: &AtomicBool,
) -> Result<Option<String>, Unanswered> {
    let args = parse(arguments)?;
    Ok(simulate::page(registry, args, &Set::in_memory(name, system.clone()), interrupt)?)
}

/// Writes the files that `layland sim -o FILE` writes about a valid system. What the command warns of is told on
/// standard error.
///
/// # Errors
/// As of [`simulation_page`]; and if a file cannot be written.
pub fn write_simulation(
    registry: &Registry,
    name: &str,
    system: &System,
    arguments: &[String],
    interrupt: &AtomicBool,
) -> Result<(), Unanswered> {
    let args = parse(arguments)?;
    Ok(simulate::write(registry, args, &Set::in_memory(name, system.clone()), interrupt)?)
}

/// The sets that `layland gen` makes.
///
/// # Errors
/// If the arguments are wrong, or there are no such sets.
pub fn generate(arguments: &[String]) -> Result<Vec<System>, Unanswered> {
    Ok(generate::systems(&parse(arguments)?)?)
}

/// Up to when `layland sim` simulates a system if nobody says: two hyperperiods, and at most ten seconds.
pub fn usual_end(system: &System) -> Time {
    simulate::usual_end(system)
}

/// How many jobs arrive up to some time, about: what a schedule takes that is in memory as a whole.
pub fn arrivals(system: &System, end: Time) -> i128 {
    jobs::arrivals(system, end)
}
