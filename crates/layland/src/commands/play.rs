//! `layland play`: opens the playground in a browser, with a task set.

use crate::pages::playground;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::{self, Set, SetArgs};
use crate::ui::{files, terminal};
use clap::Args;
use layland_answers::UsualPolicy;
use layland_answers::values::length_of;
use layland_config::{Format, to_toml};
use layland_model::{Duration, System, counted};
use layland_policy::Registry;
use layland_report::playground::{MOST_TASKS, Start, begin};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use twox_hash::XxHash3_128;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland play demo:dhall --policy g-edf,p-edf
      change a number, and watch the schedule and the verdicts change
  layland play robot.toml -o robot.html
      a page to keep or to send: it has the set and all of the playground, and works offline
  layland play
      with a bundled set

The page is a file, which packaging/play.sh of the sources builds once. Nothing is sent anywhere.";

#[derive(Args)]
pub(crate) struct PlayArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The policies, separated by commas. By default one that fits the set, or those with which the page begins
    #[arg(short, long, value_name = "P,..", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// End at this time, as in 2s
    #[arg(long, value_name = "TIME", value_parser = length_of, allow_hyphen_values = true)]
    pub until: Option<Duration>,
    /// Write to this file. The page is not opened
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the path of the page instead of opening a browser
    #[arg(long, conflicts_with = "output")]
    pub print: bool,
    /// The page of the playground. By default play.html beside the program, or in ../share/layland
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

pub(crate) fn run(registry: &Registry, args: &PlayArgs) -> Outcome {
    let policies = layland_answers::distinct_policies(registry, &args.policy)?;
    let page = read_page(args.page.as_deref())?;
    let text = match start(registry, args, policies)? {
        Some(start) => begin(&page, &start)
            .ok_or_else(|| Failure::input("the page is none of the playground").help(how()))?,
        None => page,
    };
    if let Some(path) = &args.output {
        files::write(path, text.as_bytes())?;
        terminal::talk(&format!("wrote {} (opens offline)", path.display()));
        return Ok(Exit::Yes);
    }
    let name = format!("layland-play-{:032x}.html", XxHash3_128::oneshot(text.as_bytes()));
    let path = folder().join(name);
    files::write(&path, text.as_bytes())?;
    terminal::result(&format!("{}\n", path.display()))?;
    if !args.print && !open(&path) {
        terminal::warn("no browser could be started", Some("open the file in one"));
    }
    Ok(Exit::Yes)
}

/// Returns the policy for a set that needs one in particular; the page has its own for others.
fn usual(registry: &Registry, set: &Set) -> Vec<String> {
    let usual = UsualPolicy::of(registry, set);
    if usual.is_for_any_set {
        return Vec::new();
    }
    terminal::talk(&usual.describe());
    vec![usual.spec]
}

/// Returns advice on how to get the page.
fn how() -> String {
    let own = playground::own().map(|path| format!(" {}", path.display())).unwrap_or_default();
    format!(
        "build it once, in the sources (some minutes): packaging/play.sh{own}; or download \
         layland-VERSION-play.html of the release, and name it with --page"
    )
}

fn read_page(asked: Option<&Path>) -> Result<String, Failure> {
    let path = match asked {
        Some(path) => path.to_owned(),
        None => playground::page().ok_or_else(|| {
            let places = playground::places();
            let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            let message = format!(
                "the page of the playground is not there; looked for {}",
                places.join(", ")
            );
            Failure::refused(message).help(how())
        })?,
    };
    std::fs::read_to_string(&path).map_err(|error| {
        Failure::refused(format!("failed to read {}: {error}", path.display())).help(how())
    })
}

/// Returns the initial contents of the page; `None` for the page's own defaults.
fn start(
    registry: &Registry,
    args: &PlayArgs,
    policies: Vec<String>,
) -> Result<Option<Start>, Failure> {
    let until = args.until;
    let start = |set: String, name: &str, policies, until: Option<Duration>| Start {
        set,
        name: Some(name.to_owned()),
        policies,
        until: until.map(|until| until.to_string()),
        ..Start::default()
    };
    if args.set.set.is_none() && args.set.task.is_empty() {
        if policies.is_empty() && until.is_none() {
            return Ok(None);
        }
        let failure = Failure::usage("which task set?");
        return Err(
            failure.help("name a file, or a bundled set (demo:dhall), or leave the rest out, too")
        );
    }
    let set = input::load(&args.set)?;
    if set.system.tasks.len() > MOST_TASKS {
        let tasks = counted(set.system.tasks.len(), "task");
        let message =
            format!("{} has {tasks}, and the playground takes {MOST_TASKS} at most", set.name);
        return Err(Failure::usage(message).help("use `layland check` and `layland sim`"));
    }
    let policies = if policies.is_empty() { usual(registry, &set) } else { policies };
    let text = as_written(&args.set, &set.system).unwrap_or_else(|| to_toml(&set.system));
    let name = Path::new(&set.name)
        .file_name()
        .map_or(set.name.as_str().into(), |name| name.to_string_lossy());
    Ok(Some(start(text, &name, policies, until.or(set.until))))
}

/// Returns the text of a task-set file with its comments, if it describes this system.
fn as_written(args: &SetArgs, system: &System) -> Option<String> {
    let name = args.set.as_deref().filter(|name| *name != "-")?;
    let (bytes, format) = input::bytes(name).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let format = args
        .from
        .or(format)
        .or_else(|| Format::detect(name, text.as_bytes(), &args.host()).ok())?;
    let read = layland_config::read(name, text.as_bytes(), Format::Toml, &args.host());
    // With further tasks, another number of CPUs or `cpus = "host"` the system differs from the
    // file.
    let same = format == Format::Toml && read.is_ok_and(|read| read.system == *system);
    (same && !text.contains("\"host\"")).then_some(text)
}

/// Returns a folder for a temporary page: in memory if possible.
fn folder() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    folder.filter(|folder| folder.is_dir()).unwrap_or_else(std::env::temp_dir)
}

/// Opens a file in the user's browser. Returns true if an opener accepted it.
#[expect(
    clippy::disallowed_methods,
    reason = "a user waits, and says in the environment which browser"
)]
fn open(path: &Path) -> bool {
    // Try the browser first: the desktop's default program for pages may be an editor.
    let browser =
        std::env::var("BROWSER").ok().filter(|browser| !browser.contains([':', '%', ' ']));
    let openers = if cfg!(target_os = "macos") { ["open", "open"] } else { ["xdg-open", "gio"] };
    let browser = browser.map(|browser| (browser, Vec::new()));
    let others = openers.map(|name| {
        let arguments = if name == "gio" { vec!["open"] } else { Vec::new() };
        (name.to_owned(), arguments)
    });
    browser.into_iter().chain(others).any(|(name, arguments)| {
        let mut opener = Command::new(name);
        opener.args(arguments).arg(path);
        opener.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A new browser process runs for as long as it is used, and an opener ends at once.
        match opener.spawn() {
            Ok(mut child) => {
                std::thread::sleep(WAIT);
                !matches!(child.try_wait(), Ok(Some(status)) if !status.success())
            }
            Err(_) => false,
        }
    })
}

/// The time after which an opener that has not failed counts as successful.
const WAIT: std::time::Duration = std::time::Duration::from_millis(700);
