//! The answers of the commands about task sets in memory, for programs without a command line: the
//! Python package and the playground in a browser.
//!
//! The question of `check` is a type ([`CheckQuestion`]). The other functions take the arguments of
//! their commands, so that each answer equals the output of the command. No function reads files or
//! prints; they write only the files that the arguments name.

use crate::commands::{check, generate, simulate};
use crate::ui::exit::{Failure, Message};
use clap::{Args, Parser};
use layland_config::{Format, Host, Report};
use layland_model::{Duration, System, Time};
use layland_policy::Registry;
use std::sync::atomic::AtomicBool;

pub use layland_answers::check::Document;
pub use layland_answers::{
    CheckQuestion, Checked, Exit, Policies, Set, Structure, Unanswered, convert,
};

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Unanswered {
        let (message, help) = match failure.message {
            Message::Plain(message, help) => (message, help),
            Message::Drawn(message) => (message, None),
        };
        Unanswered { message, help, exit: failure.exit, report: None }
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
        // The rest of the message is about the command line: its usage, and where to find help.
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
        Unanswered::usage(message)
    };
    Ok(Alone::<A>::try_parse_from(all).map_err(wrong)?.args)
}

/// Returns the page that `layland check -o FILE.html` writes.
///
/// # Errors
/// Fails as [`CheckQuestion::ask`] does.
pub fn check_page(
    registry: &Registry,
    question: &CheckQuestion,
    set: Set,
) -> Result<String, Unanswered> {
    Ok(check::page(registry, question.clone(), set)?)
}

/// Returns the file that `layland check --certificate` writes.
///
/// # Errors
/// Fails as [`CheckQuestion::ask`] does, and for a question with a margin, because there are no
/// proofs for margins.
///
/// ```
/// use layland::answers::{CheckQuestion, Set, certificate};
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
/// let set = Set::in_memory("mine", System::new(1, vec![task]));
/// let registry = layland_policy::Registry::standard();
/// let question = CheckQuestion { policies: vec!["p-edf".to_owned()], ..CheckQuestion::default() };
/// let proven = certificate(&registry, &question, set).unwrap();
/// assert!(proven.contains("\"decided_by\": \"QPA\""));
/// ```
pub fn certificate(
    registry: &Registry,
    question: &CheckQuestion,
    set: Set,
) -> Result<String, Unanswered> {
    let checked = question.clone().with_proofs()?.ask(registry, set)?;
    Ok(check::certificate_text(registry, &checked))
}

/// Returns the page that `layland sim -o FILE.html` writes for a valid system; `None` if it was
/// interrupted.
///
/// # Errors
/// Fails if the arguments are wrong or name an unknown policy, or if a simulation cannot start.
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

/// Writes the files that `layland sim -o FILE` writes for a valid system. Warnings of the command
/// are printed to standard error.
///
/// # Errors
/// Fails as [`simulation_page`] does, and if a file cannot be written.
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

/// Returns the task sets that `layland gen` generates.
///
/// # Errors
/// Fails if the arguments are wrong or no such task sets exist.
pub fn generate(arguments: &[String]) -> Result<Vec<System>, Unanswered> {
    Ok(generate::systems(&parse(arguments)?)?)
}

/// Returns the default end of a simulation by `layland sim`: two hyperperiods, and at most ten
/// seconds.
pub fn usual_end(system: &System) -> Time {
    simulate::usual_end(system)
}

/// A task set with the other settings of its file. Names and positions are those of the command.
pub struct Opened {
    set: Set,
    /// Warnings about settings in the file that are ignored.
    pub warnings: Report,
}

impl Opened {
    /// Reads a task set as a command reads the file of this name, with another number of CPUs if
    /// `cpus` is given.
    ///
    /// # Errors
    /// Fails if the file is not a valid set; then with a report.
    ///
    /// ```
    /// use layland::answers::Opened;
    /// use layland::config::{Format, Host};
    /// let wrong = b"layland = 1\nplatfrom = 4\n";
    /// let wrong = Opened::read("a.toml", wrong, Format::Toml, &Host::default(), None).err().unwrap();
    /// assert_eq!(wrong.report.unwrap().problems[0].position.unwrap().line, 2);
    /// ```
    pub fn read(
        name: &str,
        bytes: &[u8],
        format: Format,
        host: &Host,
        cpus: Option<usize>,
    ) -> Result<Opened, Unanswered> {
        let (mut set, warnings) = Set::read(name, bytes, format, host)?;
        if let Some(cpus) = cpus {
            set.change_cpus(cpus)?;
        }
        Ok(Opened { set, warnings })
    }

    /// Returns the system, which is valid.
    pub fn system(&self) -> &System {
        &self.set.system
    }

    /// Returns the length of a run that the file asks for.
    pub fn until(&self) -> Option<Duration> {
        self.set.until
    }

    /// Returns the policy that the file asks for.
    pub fn policy(&self) -> Option<&'static str> {
        self.set.policy
    }

    /// Returns the valid settings that are probably mistakes, each with advice.
    pub fn doubts(&self) -> Vec<(String, &'static str)> {
        self.set.doubts()
    }

    /// Answers a question about the set.
    ///
    /// # Errors
    /// Fails as [`CheckQuestion::ask`] does.
    pub fn check(
        &self,
        registry: &Registry,
        question: &CheckQuestion,
    ) -> Result<Checked, Unanswered> {
        question.ask(registry, self.set.clone())
    }

    /// Returns the file that `layland check --certificate` writes.
    ///
    /// # Errors
    /// Fails as [`certificate`] does.
    pub fn certificate(
        &self,
        registry: &Registry,
        question: &CheckQuestion,
    ) -> Result<String, Unanswered> {
        certificate(registry, question, self.set.clone())
    }

    /// Returns the output of `layland sim --json`, its exit code, and, if it is wanted, the report
    /// that `-o FILE.html` writes.
    ///
    /// # Errors
    /// Fails as [`simulation_page`] does.
    pub fn simulate(
        &self,
        registry: &Registry,
        arguments: &[String],
        with_report: bool,
    ) -> Result<(String, u8, Option<layland_report::Report>), Unanswered> {
        let args = parse(arguments)?;
        let never = AtomicBool::new(false);
        let (text, exit, report) =
            simulate::document(registry, args, &self.set, with_report, &never)?;
        Ok((text, exit.code(), report))
    }

    /// Returns the chart that `layland sim -o FILE.svg` writes, for each policy that accepts the
    /// set.
    ///
    /// # Errors
    /// Fails as [`simulation_page`] does.
    pub fn charts(
        &self,
        registry: &Registry,
        arguments: &[String],
    ) -> Result<Vec<(String, String)>, Unanswered> {
        let never = AtomicBool::new(false);
        Ok(simulate::charts(registry, parse(arguments)?, &self.set, &never)?)
    }

    /// Returns the structure that `layland explain --policy` draws.
    ///
    /// # Errors
    /// Fails if the policy is unknown, has no structure, or rejects the set.
    pub fn structure(&self, registry: &Registry, spec: &str) -> Result<Structure, Unanswered> {
        Structure::of(registry, &self.set.system, spec)
    }
}
