//! The answers of the commands about task sets in memory, for programs without a command line: the
//! Python package and the playground in a browser.
//!
//! The arguments are those of the commands, so that each answer equals the output of the command.
//! These functions read no files and print nothing; they write only the files that the arguments
//! name.

use crate::commands::explain::structure;
use crate::commands::{check, generate, policies, simulate};
use crate::ui::exit::{Exit, Failure, Message};
use crate::ui::input::{self, Set, SetArgs};
use crate::ui::{formats, sense};
use clap::{Args, Parser};
use layland_config::{Format, Problem, Report, RtAppPolicy};
use layland_guarantee::BoundsBy;
use layland_model::{Duration, System, Time};
use layland_policy::Registry;
use std::sync::atomic::AtomicBool;

/// The reason for a missing answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The error message.
    pub message: String,
    /// Advice on how to correct the error.
    pub help: Option<String>,
    /// The exit code of the command.
    pub code: u8,
    /// The problems in the task set's source, if they are the reason.
    pub report: Option<Box<Report>>,
}

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Unanswered {
        let (message, help) = match failure.message {
            Message::Plain(message, help) => (message, help),
            Message::Drawn(message) => (message, None),
        };
        Unanswered { message, help, code: failure.exit.code(), report: None }
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
        Unanswered { message, help: None, code: Exit::Usage.code(), report: None }
    };
    Ok(Alone::<A>::try_parse_from(all).map_err(wrong)?.args)
}

/// Returns the output of `layland check --json` for a valid system.
///
/// # Errors
/// Fails if the arguments are wrong or name an unknown policy or test.
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
    Ok(check::document(registry, args, Set::in_memory(name, system.clone()), BoundsBy::All)?.0)
}

/// Returns the page that `layland check -o FILE.html` writes for a valid system.
///
/// # Errors
/// Fails as [`check`] does.
pub fn check_page(
    registry: &Registry,
    name: &str,
    system: &System,
    arguments: &[String],
) -> Result<String, Unanswered> {
    let args = parse(arguments)?;
    Ok(check::page(registry, args, Set::in_memory(name, system.clone()))?)
}

/// Returns the file that `layland check --certificate` writes for a valid system.
///
/// # Errors
/// Fails as [`check`] does, and with `--margin`, because there are no proofs for margins.
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
    /// Reads a task set as a command reads the file of this name; `arguments` are those about the
    /// set, such as `--cpus`.
    ///
    /// # Errors
    /// Fails if the arguments are wrong, or with a report if the file is not a valid set.
    ///
    /// ```
    /// use layland::answers::Opened;
    /// let wrong = Opened::read("a.toml", b"layland = 1\nplatfrom = 4\n", &[]).err().unwrap();
    /// assert_eq!(wrong.report.unwrap().problems[0].position.unwrap().line, 2);
    /// ```
    pub fn read(name: &str, bytes: &[u8], arguments: &[String]) -> Result<Opened, Unanswered> {
        let args: SetArgs = parse(arguments)?;
        let format = args.from.unwrap_or_else(|| Format::detect(name, bytes));
        let (mut set, warnings) =
            input::open(name, bytes, format, &args.host())?.map_err(|report| Unanswered {
                message: report.to_string(),
                help: None,
                code: Exit::BadInput.code(),
                report: Some(Box::new(report)),
            })?;
        input::complete(&mut set, &args)?;
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
        sense::doubts(&self.set)
    }

    /// Returns the output of `layland check --json` and its exit code. If `bounds` is false, no
    /// bounds are computed: for many tasks they take longer than all verdicts, and a user who drags
    /// a number waits for the answer.
    ///
    /// # Errors
    /// Fails as [`check`] does.
    pub fn check(
        self,
        registry: &Registry,
        arguments: &[String],
        bounds: bool,
    ) -> Result<(String, u8), Unanswered> {
        let by = if bounds { BoundsBy::All } else { BoundsBy::Nobody };
        let (text, exit) = check::document(registry, parse(arguments)?, self.set, by)?;
        Ok((text, exit.code()))
    }

    /// Returns the file that `layland check --certificate` writes.
    ///
    /// # Errors
    /// Fails as [`certificate`] does.
    pub fn certificate(
        self,
        registry: &Registry,
        arguments: &[String],
    ) -> Result<String, Unanswered> {
        let wanted = [arguments, &["--certificate=-".to_owned()]].concat();
        Ok(check::proven(registry, parse(&wanted)?, self.set)?)
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

    /// Returns the structure that `layland explain --policy` draws: as text, SVG, DOT, and JSON
    /// with the same trees.
    ///
    /// # Errors
    /// Fails if the policy is unknown, has no structure, or rejects the set.
    pub fn structure(&self, registry: &Registry, spec: &str) -> Result<Structure, Unanswered> {
        let forest = structure::structure(registry, &self.set.system, spec)?;
        let json = serde_json::to_string(&forest).unwrap_or_default();
        Ok(Structure { text: forest.text(), svg: forest.svg(), dot: forest.dot(), json })
    }
}

/// The structure that an optimal policy derives from a set before the first release.
pub struct Structure {
    /// The structure as lines of text.
    pub text: String,
    /// The structure as an SVG picture.
    pub svg: String,
    /// The structure for Graphviz.
    pub dot: String,
    /// An object with `heading`, a list of lines, and `trees`, each with `title`, `lines` and
    /// `children`.
    pub json: String,
}

/// Returns the output of `layland convert --to`, and what is lost in the conversion.
///
/// # Errors
/// Fails if the format cannot represent the set at all.
pub fn convert(system: &System, format: Format) -> Result<(String, Vec<Problem>), Unanswered> {
    Ok(formats::written_as(system, format, RtAppPolicy::OfTasks)?)
}

/// Returns the output of `layland policies --json`.
pub fn policies(registry: &Registry) -> String {
    format!("{:#}\n", policies::document(&registry.iter().collect::<Vec<_>>()))
}
