//! What commands answer about task sets in memory, for programs that are no command line: the Python package, the
//! playground in a browser.
//!
//! Arguments are those of the commands, so that an answer is the one that the command prints. Nothing is read, and
//! nothing is printed; what is written is said by the arguments.

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

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The exit code of the command.
    pub code: u8,
    /// What is wrong with the text of the set, if that is why.
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
        // What follows is about the command line: its usage, and where there is help.
        let text = error.to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
        Unanswered { message, help: None, code: Exit::Usage.code(), report: None }
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
    Ok(check::document(registry, args, Set::in_memory(name, system.clone()), BoundsBy::All)?.0)
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

/// A task set with what its file says beside the system: names and places are those of the command.
pub struct Opened {
    set: Set,
    /// What the text has that does not count as written.
    pub warnings: Report,
}

impl Opened {
    /// Reads a set as a command reads the file of this name; the arguments are those about the set, as `--cpus`.
    ///
    /// # Errors
    /// If the arguments are wrong, or the text is no valid set; then with a report.
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

    /// The system. Valid.
    pub fn system(&self) -> &System {
        &self.set.system
    }

    /// How long the file asks to run.
    pub fn until(&self) -> Option<Duration> {
        self.set.until
    }

    /// The policy that the file asks for.
    pub fn policy(&self) -> Option<&'static str> {
        self.set.policy
    }

    /// What is valid and hardly meant, and what to do about each.
    pub fn doubts(&self) -> Vec<(String, &'static str)> {
        sense::doubts(&self.set)
    }

    /// What `layland check --json` prints, and what it exits with. Without `bounds` there are none: of many tasks they
    /// take longer than all verdicts, and who drags a number waits for it.
    ///
    /// # Errors
    /// As of [`check`].
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

    /// What `layland check --certificate` writes.
    ///
    /// # Errors
    /// As of [`certificate`].
    pub fn certificate(
        self,
        registry: &Registry,
        arguments: &[String],
    ) -> Result<String, Unanswered> {
        let wanted = [arguments, &["--certificate=-".to_owned()]].concat();
        Ok(check::proven(registry, parse(&wanted)?, self.set)?)
    }

    /// What `layland sim --json` prints, what it exits with, and the report that `-o FILE.html` writes, if it is
    /// wanted.
    ///
    /// # Errors
    /// As of [`simulation_page`].
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

    /// What `layland sim -o FILE.svg` writes, for each policy that runs the set.
    ///
    /// # Errors
    /// As of [`simulation_page`].
    pub fn charts(
        &self,
        registry: &Registry,
        arguments: &[String],
    ) -> Result<Vec<(String, String)>, Unanswered> {
        let never = AtomicBool::new(false);
        Ok(simulate::charts(registry, parse(arguments)?, &self.set, &never)?)
    }

    /// What `layland explain --policy` draws: as text, as SVG, as DOT, and as JSON with the same trees.
    ///
    /// # Errors
    /// If there is no such policy, it has no structure, or it refuses the set.
    pub fn structure(&self, registry: &Registry, spec: &str) -> Result<Structure, Unanswered> {
        let forest = structure::structure(registry, &self.set.system, spec)?;
        let json = serde_json::to_string(&forest).unwrap_or_default();
        Ok(Structure { text: forest.text(), svg: forest.svg(), dot: forest.dot(), json })
    }
}

/// What an optimal policy makes of a set before the first release.
pub struct Structure {
    /// In lines.
    pub text: String,
    /// As a picture.
    pub svg: String,
    /// For Graphviz.
    pub dot: String,
    /// `heading`, lines; `trees`, each with `title`, `lines` and `children`.
    pub json: String,
}

/// What `layland convert --to` writes, and what is lost.
///
/// # Errors
/// If the format cannot have the set at all.
pub fn convert(system: &System, format: Format) -> Result<(String, Vec<Problem>), Unanswered> {
    Ok(formats::written_as(system, format, RtAppPolicy::OfTasks)?)
}

/// What `layland policies --json` prints.
pub fn policies(registry: &Registry) -> String {
    format!("{:#}\n", policies::document(&registry.iter().collect::<Vec<_>>()))
}
