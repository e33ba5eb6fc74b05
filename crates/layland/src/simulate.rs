//! `layland sim`: a task set under one or more policies, side by side.
//!
//! Each policy is simulated once with streaming statistics, so that memory does not grow with
//! simulated time; what charts and files show is simulated again, which gives the same schedule.

use crate::args::{Chart, SimArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::export::Files;
use crate::input::{self, Set};
use crate::output::{Kind, Output};
use crate::table::{self, figures};
use crate::{interrupt, terminal};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use layland_chart::gantt::{Charset, Colours, Lanes, SvgOptions, TextOptions, TikzOptions, View};
use layland_checker::check;
use layland_model::{Duration, System, Time, counted};
use layland_policy::Policy;
use layland_policy::registry;
use layland_sim::{Horizon, Options, SimError, simulate, with_random_ranks};
use layland_trace::json::write_json;
use layland_trace::{Both, Errno, FirstMiss, Labels, Refusals, Statistics, Summary, Trace, Window};
use rayon::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

mod report;

/// By default at most this much time is simulated.
const DEFAULT_LIMIT: Duration = Duration::from_secs(10);
/// About this many jobs and preemptions fit into a chart.
const CHART_SEGMENTS: i128 = 160;

/// What became of one policy.
struct Entry {
    spec: String,
    result: Result<Ran, String>,
}

struct Ran {
    policy: Box<dyn Policy>,
    outcome: layland_sim::Outcome,
    summary: Summary,
    first_miss: Option<Time>,
    refusals: Refusals,
    /// What the checker found, if it was asked.
    checked: Option<Vec<String>>,
}

pub fn run(args: &SimArgs) -> Outcome {
    let outputs = Output::all(&args.output, &[])?;
    let specs = specs(&args.policy)?;
    let mut set = input::load(&args.set)?;
    if let Some(seed) = args.explore {
        set.system = with_random_ranks(&set.system, seed);
    }
    let horizon = horizon(args, &set);
    let interrupt = interrupt::listen();
    let run_all = || simulate_all(args, &specs, &set, horizon, interrupt);
    let entries = match args.threads {
        None => run_all(),
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads as usize)
            .build()
            .map_err(|error| {
                Failure::refused(format!("failed to start {threads} threads: {error}"))
            })?
            .install(run_all),
    }?;
    // What was simulated up to an interrupt is drawn and written: the second one ends that.
    let cut = interrupt.load(Ordering::SeqCst);
    if cut && !outputs.is_empty() {
        terminal::talk("interrupted: writing what there is; once more ends at once");
    }
    let context = Context { args, set: &set, horizon, cut, interrupt };
    let write = || outputs.iter().try_for_each(|output| context.write(output, &entries));
    let exit = || verdict(&entries, interrupt.load(Ordering::SeqCst));
    if args.json {
        let written = write();
        let code = written.as_ref().map_or_else(|failure| failure.exit, |()| exit());
        terminal::result(&format!("{:#}\n", context.as_json(&entries, code)))?;
        written?;
    } else {
        terminal::result(&context.as_text(&entries)?)?;
        write()?;
    }
    Ok(exit())
}

/// The policies that are asked for. Each exists, and each is there once.
fn specs(asked: &[String]) -> Result<Vec<String>, Failure> {
    let mut specs: Vec<String> = Vec::new();
    for spec in asked.iter().map(|spec| spec.trim()) {
        if spec.is_empty() {
            return Err(Failure::usage("a policy in the list has no name")
                .help("separate policies by one comma, as in g-edf,p-edf"));
        }
        registry::parse(spec).map_err(|error| Failure::usage(error.to_string()))?;
        if specs.iter().any(|known| known == spec) {
            return Err(Failure::usage(format!("policy `{spec}` is named twice"))
                .help("name each policy once"));
        }
        specs.push(spec.to_owned());
    }
    Ok(specs)
}

/// No, if a policy refused the set or one of its tasks, missed a deadline or broke a rule.
fn verdict(entries: &[Entry], interrupted: bool) -> Exit {
    let broken = entries.iter().any(|entry| {
        matches!(&entry.result, Ok(ran) if ran.checked.as_ref().is_some_and(|found| !found.is_empty()))
    });
    let all_met = entries
        .iter()
        .all(|entry| matches!(&entry.result, Ok(ran) if ran.summary.total.missed == 0 && ran.refusals.entries == 0));
    if broken {
        Exit::Bug
    } else if interrupted {
        Exit::Interrupted
    } else if all_met {
        Exit::Yes
    } else {
        Exit::No
    }
}

fn horizon(args: &SimArgs, set: &Set) -> Horizon {
    if let Some(until) = args.until {
        Horizon::At(Time::ZERO + until)
    } else if let Some(count) = args.hyperperiods {
        Horizon::Hyperperiods(count)
    } else if let Some(at_most) = args.cycle {
        Horizon::Recurrence { at_most: Time::ZERO + at_most }
    } else if let Some(until) = set.until {
        Horizon::At(Time::ZERO + until)
    } else {
        let end = after_hyperperiods(&set.system, 2).filter(|&end| end <= DEFAULT_LIMIT);
        Horizon::At(Time::ZERO + end.unwrap_or(DEFAULT_LIMIT))
    }
}

/// When this many hyperperiods after the last offset are over, if there is a hyperperiod.
fn after_hyperperiods(system: &System, count: u32) -> Option<Duration> {
    let last_offset = system.tasks.values().map(|task| task.offset).max().unwrap_or_default();
    let length = system.hyperperiod()?.checked_mul(count.into())?;
    last_offset.checked_add(length)
}

/// Why a simulation cannot start, and what to do.
fn cannot_start(error: SimError) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        SimError::NoHyperperiod | SimError::NeverRecurs { .. } => {
            failure.help("use --until TIME, as in --until 10s")
        }
        SimError::OutOfRange { .. } => failure.help("choose a time within that range"),
    }
}

fn simulate_all(
    args: &SimArgs,
    specs: &[String],
    set: &Set,
    horizon: Horizon,
    interrupt: &AtomicBool,
) -> Result<Vec<Entry>, Failure> {
    let system = &set.system;
    let bar = progress_bar(args, system, horizon);
    let reached: Vec<AtomicU64> = specs.iter().map(|_| AtomicU64::new(0)).collect();
    let entries = specs.par_iter().enumerate().map(|(index, spec)| {
        let show = |now: Time| {
            reached[index].store(now.ns() as u64, Ordering::Relaxed);
            let sum: u64 = reached.iter().map(|at| at.load(Ordering::Relaxed)).sum();
            bar.set_position(sum / reached.len() as u64);
        };
        let policy = match registry::build(spec, system) {
            Ok(policy) => policy,
            Err(error) => {
                let reason = set.located(error.to_string());
                return Ok(Entry { spec: spec.clone(), result: Err(reason) });
            }
        };
        let options = Options {
            horizon,
            seed: args.seed,
            explore: args.explore,
            interrupt: Some(interrupt),
            progress: Some(&show),
        };
        let statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
        let mut recorder = Both(statistics, Both(FirstMiss::default(), Refusals::default()));
        let outcome =
            simulate(system, policy.clone(), &mut recorder, &options).map_err(cannot_start)?;
        let mut checked = None;
        if args.check && !outcome.interrupted {
            let mut trace = Trace::default();
            let options = Options { horizon: Horizon::At(outcome.end), progress: None, ..options };
            let again =
                simulate(system, policy.clone(), &mut trace, &options).map_err(cannot_start)?;
            if !again.interrupted {
                let report = check(&trace, system, &policy.rule(), 20);
                let found = if report.is_clean() {
                    Vec::new()
                } else {
                    report.to_string().lines().map(str::to_owned).collect()
                };
                checked = Some(found);
            }
        }
        let Both(statistics, Both(FirstMiss(first_miss), refusals)) = recorder;
        let summary = statistics.summary(&Labels::of(system));
        let ran = Ran { policy, outcome, summary, first_miss, refusals, checked };
        Ok(Entry { spec: spec.clone(), result: Ok(ran) })
    });
    let entries = entries.collect();
    bar.finish_and_clear();
    entries
}

/// A bar on standard error, if that is a terminal.
fn progress_bar(args: &SimArgs, system: &System, horizon: Horizon) -> ProgressBar {
    let length = match horizon {
        Horizon::At(at) | Horizon::Recurrence { at_most: at } => Some(at.ns() as u64),
        Horizon::Hyperperiods(count) => {
            after_hyperperiods(system, count).map(|end| end.ns() as u64)
        }
    };
    if args.quiet {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("simulating {wide_bar} {percent} %  {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(if args.ascii { style.progress_chars("#>-") } else { style });
    bar
}

/// What the parts of the answer have in common.
struct Context<'a> {
    args: &'a SimArgs,
    set: &'a Set,
    horizon: Horizon,
    /// Whether the simulation was interrupted.
    cut: bool,
    interrupt: &'a AtomicBool,
}

impl Context<'_> {
    /// Simulates again up to some time, recording a window of it or all. Says whether that was
    /// interrupted.
    fn record<R: layland_trace::Recorder>(
        &self,
        ran: &Ran,
        until: Time,
        recorder: &mut R,
    ) -> Result<bool, Failure> {
        let options = Options {
            horizon: Horizon::At(until),
            seed: self.args.seed,
            explore: self.args.explore,
            interrupt: (!self.cut).then_some(self.interrupt),
            progress: None,
        };
        simulate(&self.set.system, ran.policy.clone(), recorder, &options)
            .map(|outcome| outcome.interrupted)
            .map_err(cannot_start)
    }

    /// The part of time that charts show: the same for every policy.
    fn window(&self, entries: &[Entry]) -> (Time, Time) {
        if let Some(window) = self.args.window {
            return window;
        }
        let ran = || entries.iter().filter_map(|entry| entry.result.as_ref().ok());
        let end = ran()
            .map(|ran| ran.outcome.end)
            .max()
            .unwrap_or(Time::from_ms(1))
            .max(Time::from_ns(1));
        let longest =
            self.set.system.tasks.values().map(|task| task.period.max(task.deadline)).max();
        let span = longest.and_then(|longest| longest.checked_mul(3)).unwrap_or(end.since_start());
        let per_segment = ran()
            .map(|ran| {
                let segments = ran.summary.total.released + ran.summary.total.preemptions;
                i128::from(ran.outcome.end.ns()) / i128::from(segments.max(1))
            })
            .min()
            .unwrap_or_default();
        let few = i64::try_from(per_segment * CHART_SEGMENTS).unwrap_or(i64::MAX);
        let span = span.ns().min(few).clamp(1, end.ns());
        let step = step(span);
        let span = Duration::from_ns(span / step * step);
        // After an interrupt nobody wants to wait until the first miss is found again.
        let focus = ran().filter_map(|ran| ran.first_miss).min().filter(|_| !self.cut);
        let from = focus
            .map_or(Time::ZERO, |miss| Time::ZERO.max(miss - Duration::from_ns(span.ns() / 3 * 2)));
        let from = Time::from_ns(from.min(end - span).ns() / step * step);
        (from, from + span)
    }

    /// What a chart of a window shows; nothing if drawing it was interrupted.
    fn chart_trace(&self, ran: &Ran, (from, to): (Time, Time)) -> Result<Option<Trace>, Failure> {
        let mut window = Window::new(from, to);
        // One period more, so that the ends of the jobs in the window are known.
        let longest =
            self.set.system.tasks.values().map(|task| task.period.max(task.deadline)).max();
        let until = to.saturating_add(longest.unwrap_or_default()).min(ran.outcome.end);
        let interrupted = self.record(ran, until, &mut window)?;
        Ok((!interrupted).then_some(window.trace))
    }

    fn write(&self, output: &Output, entries: &[Entry]) -> Result<(), Failure> {
        if output.kind == Kind::Html {
            return self.write_report(&output.path, entries);
        }
        let several = entries.len() > 1;
        for entry in entries {
            let Ok(ran) = &entry.result else { continue };
            let path = named(&output.path, several.then_some(entry.spec.as_str()));
            let Some(files) = self.files_of(output, &path, entry, ran, self.window(entries))?
            else {
                terminal::warn(&format!("interrupted: {} is not written", path.display()), None);
                continue;
            };
            for (path, bytes) in files {
                terminal::write_file(&path, &bytes)?;
                if !self.args.quiet {
                    let partial =
                        if ran.outcome.interrupted { ", interrupted: partial" } else { "" };
                    terminal::talk(&format!("wrote {}{partial}", path.display()));
                }
            }
        }
        Ok(())
    }

    /// The files of an output and their bytes; none if making them was interrupted.
    fn files_of(
        &self,
        output: &Output,
        path: &Path,
        entry: &Entry,
        ran: &Ran,
        window: (Time, Time),
    ) -> Result<Option<Files>, Failure> {
        let labels = Labels::of(&self.set.system);
        let title = format!("{} under {}", self.set.name, entry.spec);
        if let Kind::Json | Kind::Export(_) = output.kind {
            let mut trace = Trace::default();
            if self.record(ran, ran.outcome.end, &mut trace)? {
                return Ok(None);
            }
            trace.interrupted = ran.outcome.interrupted;
            if let Kind::Export(export) = output.kind {
                return export.files(path, &trace, &labels, &title).map(Some);
            }
            let mut bytes = Vec::new();
            write_json(&mut bytes, &trace, &labels, Some(&ran.summary))
                .map_err(|error| Failure::refused(error.to_string()))?;
            return Ok(Some(vec![(path.to_owned(), bytes)]));
        }
        let Some(trace) = self.chart_trace(ran, window)? else { return Ok(None) };
        let view = View::new(&trace, &labels).window(window.0, window.1);
        let text = match output.kind {
            Kind::Svg => view.svg(&SvgOptions { title: Some(title), ..SvgOptions::default() }),
            Kind::Tikz => view.tikz(&TikzOptions { title: Some(title), ..TikzOptions::default() }),
            Kind::Html | Kind::Text | Kind::Json | Kind::Csv | Kind::Export(_) | Kind::Kernel => {
                view.text(&self.text_options(Lanes::Both, Colours::Never))
            }
        };
        Ok(Some(vec![(path.to_owned(), text.into_bytes())]))
    }

    fn text_options(&self, lanes: Lanes, colours: Colours) -> TextOptions {
        TextOptions {
            width: terminal::width(),
            lanes,
            charset: if self.args.ascii { Charset::Ascii } else { Charset::Unicode },
            colours,
            ..TextOptions::default()
        }
    }

    fn as_text(&self, entries: &[Entry]) -> Result<String, Failure> {
        let system = &self.set.system;
        let (tasks, cpus) = (system.tasks.len(), system.platform.cpu_count());
        let head = format!(
            "{}: {} on {}, utilization {:.3}{}",
            self.set.name,
            counted(tasks, "task"),
            counted(cpus, "CPU"),
            system.utilization().to_f64(),
            self.simulated(entries),
        );
        let mut text = terminal::wrap(&head, "") + "\n";
        let lanes = match self.args.chart {
            Chart::Tasks => Some(Lanes::Tasks),
            Chart::Cpus => Some(Lanes::Cpus),
            Chart::Both => Some(Lanes::Both),
            Chart::None => None,
        };
        let window = self.window(entries);
        let labels = Labels::of(system);
        let style = table::Style { ascii: self.args.ascii, colours: terminal::colours() };
        for entry in entries {
            let Ok(ran) = &entry.result else { continue };
            if let Some(lanes) = lanes {
                match self.chart_trace(ran, window)? {
                    Some(trace) => {
                        let colours = if style.colours { Colours::Ansi } else { Colours::Never };
                        let options = self.text_options(lanes, colours);
                        let view = View::new(&trace, &labels).window(window.0, window.1);
                        text += &format!("\n{}  {}", entry.spec, view.text(&options));
                    }
                    None => text += &format!("\n{}  INTERRUPTED: no chart\n", entry.spec),
                }
            }
            if self.args.tasks {
                let rows: Vec<table::Row> = (ran.summary.tasks.iter())
                    .map(|task| (task.name.clone(), Some(figures(task))))
                    .collect();
                text += &format!("\n{}\n{}\n", entry.spec, table::tasks(&rows, style));
            }
        }
        let rows: Vec<table::Row> = entries
            .iter()
            .map(|entry| {
                let ran = entry.result.as_ref().ok();
                (entry.spec.clone(), ran.map(|ran| figures(&ran.summary.total)))
            })
            .collect();
        text += &format!("\n{}\n", table::policies(&rows, style));
        for remark in entries.iter().flat_map(|entry| self.remarks(entry)) {
            text += &terminal::wrap(&remark, "");
            text.push('\n');
        }
        Ok(text)
    }

    /// How long was simulated, where that is the same for all.
    fn simulated(&self, entries: &[Entry]) -> String {
        let mut ends = entries
            .iter()
            .filter_map(|entry| entry.result.as_ref().ok())
            .map(|ran| ran.outcome.end);
        match ends.next() {
            Some(end) if ends.all(|other| other == end) => format!(", simulated up to {end}"),
            Some(_) | None => String::new(),
        }
    }

    /// What the table does not say.
    fn remarks(&self, entry: &Entry) -> Vec<String> {
        let spec = &entry.spec;
        let ran = match &entry.result {
            Ok(ran) => ran,
            Err(reason) => return vec![format!("{spec} refused: {reason}")],
        };
        let mut remarks = Vec::new();
        let end = ran.outcome.end;
        if ran.outcome.interrupted {
            remarks.push(format!("{spec}: INTERRUPTED at {end}: the figures are partial"));
        }
        for answer in &ran.refusals.first {
            let how = match answer.errno {
                Some(Errno::Busy) => "EBUSY",
                Some(Errno::NotPermitted) => "EPERM",
                Some(Errno::Invalid) | None => "EINVAL",
            };
            let (at, request) = (answer.at, &answer.request);
            let reason = answer.refused.as_deref().unwrap_or_default();
            remarks.push(format!("{spec}: at {at} refused ({how}): {request}: {reason}"));
        }
        let more = ran.refusals.count - ran.refusals.first.len() as u64;
        if more > 0 {
            remarks.push(format!("{spec}: refused requests that are not shown: {more}"));
        }
        match (self.horizon, ran.outcome.cycle) {
            (_, Some(cycle)) => remarks.push(format!(
                "{spec}: the state at {} recurs every {}: the schedule is known for ever",
                cycle.from, cycle.length
            )),
            (Horizon::Recurrence { .. }, None) => {
                remarks.push(format!("{spec}: the state did not recur up to {end}"));
            }
            (Horizon::At(_) | Horizon::Hyperperiods(_), None) => {}
        }
        match &ran.checked {
            Some(found) if found.is_empty() => {
                remarks.push(format!("{spec}: checked, every rule holds"));
            }
            Some(found) => {
                remarks.push(format!("{spec}: BROKEN RULES, a bug of layland:"));
                remarks.extend(found.iter().cloned());
            }
            None if self.args.check => remarks.push(format!("{spec}: INTERRUPTED: not checked")),
            None => {}
        }
        remarks
    }

    fn as_json(&self, entries: &[Entry], exit: Exit) -> serde_json::Value {
        let results: Vec<serde_json::Value> = entries
            .iter()
            .map(|entry| match &entry.result {
                Err(reason) => json!({ "policy": entry.spec, "refused": reason }),
                Ok(ran) => json!({
                    "policy": entry.spec,
                    "end_ns": ran.outcome.end.ns(),
                    "interrupted": ran.outcome.interrupted,
                    "cycle": ran.outcome.cycle.map(|cycle| json!({
                        "from_ns": cycle.from.ns(), "length_ns": cycle.length.ns(),
                    })),
                    "events": ran.outcome.events,
                    "decisions": ran.outcome.decisions,
                    "first_missed_deadline_ns": ran.first_miss.map(Time::ns),
                    "refused_requests": ran.refusals.count,
                    "refused_entries": ran.refusals.entries,
                    "broken_rules": ran.checked,
                    "summary": ran.summary,
                }),
            })
            .collect();
        json!({
            "layland": env!("CARGO_PKG_VERSION"),
            "command": "sim",
            "set": {
                "name": self.set.name,
                "tasks": self.set.system.tasks.len(),
                "cpus": self.set.system.platform.cpu_count(),
                "utilization": self.set.system.utilization().to_f64(),
            },
            "seed": self.args.seed,
            "explore": self.args.explore,
            "results": results,
            "exit": exit,
        })
    }
}

/// The unit of the third digit of a number: charts begin and end at multiples of it.
pub fn step(length: i64) -> i64 {
    let mut step = 1;
    while length / step >= 1000 {
        step *= 10;
    }
    step
}

/// `dir/name.ending` with the policy before the ending.
fn named(path: &Path, policy: Option<&str>) -> PathBuf {
    let Some(policy) = policy else { return path.to_owned() };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let ending = path.extension().map(|ending| ending.to_string_lossy()).unwrap_or_default();
    path.with_file_name(format!("{stem}.{}.{ending}", policy.replace([':', '='], "-")))
}
