//! `layland ros2`: simulates an executor of ROS 2, and bounds the response times of its callbacks.

mod read;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::{document, input, table, terminal};
use clap::Args;
use layland_answers::values::length_of;
use layland_model::{Duration, Time};
use layland_ros::bounds::{self, Bounds, NoBound};
use layland_ros::{Arrivals, Callback, CallbackKind, Executor, Overload, Record, run as simulate};
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland ros2 executor.toml
      the response times of each callback, and a bound that holds in every run
  layland ros2 executor.toml --until 10s --json

A file has [executor] with kind = \"default\", and a [[callback]] with name, kind, wcet and period for each callback. \
A callback with a deadline is judged: yes if its bound keeps it, no if it was seen late.";

/// The largest number of chains that are listed.
const MOST_CHAINS: usize = 200;

#[derive(Args)]
pub(crate) struct Ros2Args {
    /// The file of the executor, or - for standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// End at this time, as in 2s. By default after 100 of the longest periods
    #[arg(long, value_name = "TIME", value_parser = length_of, allow_hyphen_values = true)]
    pub until: Option<Duration>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
}

pub(crate) fn run(args: &Ros2Args) -> Outcome {
    let (bytes, _) = input::bytes(&args.file)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::input(format!("{} is not text in UTF-8", args.file)))?;
    let executor = read::read(&args.file, &text).map_err(|report| input::failure(&report))?;
    let until = args.until.unwrap_or_else(|| default_until(&executor));
    let record = simulate(&executor, until).map_err(|faults| {
        let first = faults.first();
        let message = first.map_or_else(String::new, |fault| fault.message.clone());
        Failure::usage(message).help(first.map_or_else(String::new, |fault| fault.help.clone()))
    })?;
    let answer = Answer::of(executor, record, until);
    let exit = answer.exit();
    if args.json {
        document::print(&answer.document(exit))?;
    } else {
        let style = table::Style { ascii: args.ascii, colours: terminal::colours() };
        terminal::result(&answer.text(style))?;
    }
    Ok(exit)
}

/// Returns a hundred times the longest period, or a time after the last listed activation.
fn default_until(executor: &Executor) -> Duration {
    let each = executor.callbacks.iter().filter_map(|one| match one.arrivals.as_ref()? {
        Arrivals::Periodic { period, offset, jitter } => {
            Some(period.checked_mul(100)?.checked_add(*offset)?.checked_add(*jitter)?)
        }
        Arrivals::Listed(all) => Some(all.last()?.since_start() + Duration::from_ns(1)),
    });
    each.max().unwrap_or(Duration::ZERO)
}

struct Chain {
    path: Vec<usize>,
    seen: Option<Duration>,
    bound: Result<Duration, NoBound>,
}

struct Answer {
    executor: Executor,
    record: Record,
    until: Duration,
    bounds: Vec<Bounds>,
    chains: Vec<Chain>,
}

impl Answer {
    fn of(executor: Executor, record: Record, until: Duration) -> Answer {
        // Overload has no finite bound, and longer response times are of no interest.
        let limit = default_until(&executor);
        let bounds = bounds::all(&executor, limit);
        let chains = executor.chains(MOST_CHAINS).into_iter().map(|path| {
            let ends = (path[0], path[path.len() - 1]);
            let seen = record.longest_latency(ends.0, ends.1);
            Chain { seen, bound: bounds::latency(&executor, &path, limit), path }
        });
        let chains = chains.collect();
        Answer { executor, record, until, bounds, chains }
    }

    /// Returns whether a callback keeps its deadline; `None` if it has none.
    fn verdict(&self, at: usize) -> Option<Exit> {
        let deadline = self.executor.callbacks[at].deadline?;
        let seen = self.record.longest_response(at);
        let cut = |job: &layland_ros::Job| job.callback == at && job.finish == Time::NEVER;
        let late = seen.is_some_and(|seen| seen > deadline) || self.record.jobs.iter().any(cut);
        let kept = self.bounds[at].best().is_some_and(|bound| bound.response <= deadline);
        Some(match (late, kept) {
            (true, _) => Exit::No,
            (false, true) => Exit::Yes,
            (false, false) => Exit::Unknown,
        })
    }

    fn exit(&self) -> Exit {
        let overload = self.executor.overload().map(|_| Exit::No);
        let verdicts = (0..self.bounds.len()).filter_map(|at| self.verdict(at));
        Exit::worst(verdicts.chain(overload))
    }

    fn path(&self, path: &[usize]) -> String {
        let names: Vec<&str> =
            path.iter().map(|&at| self.executor.callbacks[at].name.as_str()).collect();
        names.join(" > ")
    }

    fn text(&self, style: table::Style) -> String {
        let or_dash =
            |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), |time| time.to_string());
        let rows = self.executor.callbacks.iter().enumerate().map(|(at, callback)| {
            let best = self.bounds[at].best();
            [
                callback.name.clone(),
                callback.kind.name().to_owned(),
                callback.wcet.to_string(),
                activation(&self.executor, at),
                or_dash(self.record.longest_response(at)),
                or_dash(best.map(|bound| bound.response)),
                best.map_or("-", |bound| bound.analysis.name()).to_owned(),
                or_dash(callback.deadline),
                self.verdict(at).map_or("-", Exit::name).to_owned(),
            ]
        });
        let headings =
            ["callback", "kind", "WCET", "activation", "seen", "bound", "by", "deadline", "kept"];
        let mut text = table::plain(headings, rows, style);
        if !self.chains.is_empty() {
            let rows = self.chains.iter().map(|chain| {
                [self.path(&chain.path), or_dash(chain.seen), or_dash(chain.bound.ok())]
            });
            text += "\n";
            text += &table::plain(["chain", "latency seen", "bound"], rows, style);
        }
        let polls = match self.record.polls.len() {
            0 => String::new(),
            polls => format!(", {polls} polling points"),
        };
        let jobs = self.record.jobs.len();
        let kind = self.executor.kind.name();
        text += &format!("\n{kind}: activations before {}, {jobs} jobs{polls}\n", self.until);
        if let Some(Overload { callbacks, needs, gets, is_group }) = self.executor.overload() {
            let names =
                || callbacks.iter().map(|&at| format!("`{}`", self.executor.callbacks[at].name));
            let who = match callbacks.len() {
                _ if !is_group => "the callbacks need".to_owned(),
                1 => format!("{} needs", names().collect::<String>()),
                _ => {
                    let names: Vec<String> = names().collect();
                    format!("{}, which exclude each other, need", names.join(", "))
                }
            };
            text += &format!(
                "overload: {who} {:.3} CPUs and get {:.3}, so response times grow without bound\n",
                needs.to_f64(),
                gets.to_f64()
            );
        } else if let Some(none) = self.bounds.iter().find_map(|bounds| bounds.none) {
            text += &format!("no bound: {}\n", self.why(none));
        }
        let is_skipped = |&(at, callback): &(usize, &Callback)| match &callback.arrivals {
            Some(Arrivals::Periodic { period, .. }) if callback.kind == CallbackKind::Timer => {
                self.record.longest_response(at).is_some_and(|seen| seen > *period)
            }
            Some(_) | None => false,
        };
        for (_, timer) in self.executor.callbacks.iter().enumerate().filter(is_skipped) {
            text += &format!(
                "`{}` ends after its next activation: here each activation executes, and a timer of ROS skips those that \
                 it has missed\n",
                timer.name
            );
        }
        if self.record.waiting > 0 {
            text += &format!("{} activations wait when the supply ends\n", self.record.waiting);
        }
        text
    }

    fn why(&self, none: NoBound) -> String {
        match none {
            NoBound::SeveralThreads => "no analysis covers several threads".to_owned(),
            NoBound::ListedSupply => {
                "the supply is listed, and nothing says how it goes on; give it a period and a budget".to_owned()
            }
            NoBound::ListedActivations(at) => format!(
                "the activations of `{}` are listed, and nothing says how they go on; give it a period",
                self.executor.callbacks[at].name
            ),
            NoBound::AboveLimit => format!(
                "every analysis exceeds {}; there may be more work than supply",
                default_until(&self.executor)
            ),
        }
    }

    fn document(&self, exit: Exit) -> Ros2Document<'_> {
        let ns = |time: Option<Duration>| time.map(Duration::ns);
        let callbacks = self.executor.callbacks.iter().enumerate().map(|(at, callback)| {
            let bounds = self.bounds[at].found.iter().map(|bound| CallbackBound {
                analysis: bound.analysis.name(),
                bound_ns: bound.response.ns(),
            });
            CallbackTimes {
                name: &callback.name,
                kind: callback.kind.name(),
                wcet_ns: callback.wcet.ns(),
                seen_ns: ns(self.record.longest_response(at)),
                bound_ns: ns(self.bounds[at].best().map(|bound| bound.response)),
                bounds: bounds.collect(),
                deadline_ns: ns(callback.deadline),
                kept: self.verdict(at).map(Exit::name),
                no_bound: self.bounds[at].none.map(|none| self.why(none)),
            }
        });
        let name = |&at: &usize| self.executor.callbacks[at].name.as_str();
        let chains = self.chains.iter().map(|chain| ChainTimes {
            callbacks: chain.path.iter().map(name).collect(),
            seen_ns: ns(chain.seen),
            bound_ns: ns(chain.bound.ok()),
        });
        Ros2Document {
            layland: env!("CARGO_PKG_VERSION"),
            command: "ros2",
            executor: self.executor.kind.name(),
            until_ns: self.until.ns(),
            jobs: self.record.jobs.len(),
            polls: self.record.polls.len(),
            waiting: self.record.waiting,
            callbacks: callbacks.collect(),
            chains: chains.collect(),
            exit,
        }
    }
}

/// The answer of `layland ros2 --json`. Times are nanoseconds.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Ros2Document<'a> {
    /// The version of Layland.
    layland: &'static str,
    #[schemars(extend("const" = "ros2"))]
    command: &'static str,
    /// Its kind.
    executor: &'static str,
    /// All activations before this time were simulated.
    #[schemars(range(min = 0))]
    until_ns: i64,
    /// The number of jobs that began.
    jobs: usize,
    /// The number of polling points.
    polls: usize,
    /// Activations that wait when the supply ends.
    waiting: usize,
    /// In the order of the file.
    callbacks: Vec<CallbackTimes<'a>>,
    /// The paths along `next`.
    chains: Vec<ChainTimes<'a>>,
    /// The result of the command.
    exit: Exit,
}

/// A callback.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct CallbackTimes<'a> {
    /// Its name.
    name: &'a str,
    /// The source of its activations.
    kind: &'static str,
    /// The longest execution time.
    #[schemars(range(min = 0))]
    wcet_ns: i64,
    /// The longest response in the simulation; null if there was none.
    seen_ns: Option<i64>,
    /// The smallest bound; null if there is none.
    bound_ns: Option<i64>,
    /// Every bound.
    bounds: Vec<CallbackBound>,
    /// Relative to the activation; null if it has none.
    deadline_ns: Option<i64>,
    /// The verdict about the deadline, in words; null without one.
    kept: Option<&'static str>,
    /// The reason why there is no bound, or null.
    no_bound: Option<String>,
}

/// A bound.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct CallbackBound {
    /// The analysis that gives it.
    analysis: &'static str,
    /// A bound on response times.
    #[schemars(range(min = 0))]
    bound_ns: i64,
}

/// A chain.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct ChainTimes<'a> {
    /// Their names.
    callbacks: Vec<&'a str>,
    /// The longest latency in the simulation; null if there was none.
    seen_ns: Option<i64>,
    /// A bound on latencies; null if there is none.
    bound_ns: Option<i64>,
}

fn activation(executor: &Executor, at: usize) -> String {
    let own = match executor.callbacks[at].arrivals.as_ref() {
        Some(Arrivals::Periodic { period, jitter, .. }) if *jitter > Duration::ZERO => {
            Some(format!("every {period:#}, jitter {jitter:#}"))
        }
        Some(Arrivals::Periodic { period, .. }) => Some(format!("every {period:#}")),
        Some(Arrivals::Listed(all)) => Some(format!("{} times", all.len())),
        None => None,
    };
    let others = executor.callbacks.iter().filter(|one| one.next.contains(&at));
    let others: Vec<&str> = others.map(|one| one.name.as_str()).collect();
    let others = (!others.is_empty()).then(|| format!("by {}", others.join(", ")));
    own.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}
