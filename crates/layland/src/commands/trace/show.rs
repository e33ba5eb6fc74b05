//! `layland trace view`, `check`, `stats`, `convert` and `diff`.

use super::args::{DiffArgs, StatsArgs, TraceCheckArgs, TraceConvertArgs, TraceFormat, ViewArgs};
use super::document::{
    CheckDocument, DiffDocument, FirstDifference, Latencies, Source, StatsDocument,
};
use super::load::{self, Loaded};
use super::numbers::{elsewhere, tie_to_cpus};
use super::{loops, reserved};
use crate::pages::figures;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::Set;
use crate::ui::output::{FileKind, Output};
use crate::ui::recorded::{self, Recorded};
use crate::ui::table;
use crate::ui::{chart, document, files, names, terminal};
use layland_answers::simulate::{ObservedConstraint, observed_constraints};
use layland_checker::{Demand, as_the_set_says, check_with};
use layland_interchange::kernel::NO_DEADLINE;
use layland_model::shown::with_blanks;
use layland_model::{Duration, InLevel, Index, Observance, ScheduleRule, System, counted};
use layland_policy::Registry;
use layland_report::{Line, Severity};
use layland_trace::diff::{Comparison, context, diff as compare};
use layland_trace::json::write_json_recorded;
use layland_trace::{JobRecord, Outcomes, Summary, Trace};
use std::borrow::Cow;
use std::path::Path;

/// The largest number of violations that are shown.
const MOST_SHOWN: usize = 20;

/// The additional output formats of traces.
const KINDS: [FileKind; 1] = [FileKind::Csv];

pub(super) fn view(args: &ViewArgs) -> Outcome {
    let set = load::set(&args.input)?;
    let loaded = load::load(&args.file, &args.input, set.as_ref())?;
    loaded.tell();
    let outputs = Output::all(&args.output, &KINDS)?;
    let recorded = Recorded {
        title: args.file.clone(),
        name: args.file.clone(),
        labels: loaded.labels.clone(),
        system: set.as_ref().map(|set| &set.system),
        trace: &loaded.trace,
        how: loaded.recorded(),
        summary: summary(&loaded),
        lines: doubts(&loaded),
        provenance: format!("layland {}: trace view of {}", env!("CARGO_PKG_VERSION"), args.file),
        seed: None,
        window: args.window,
        ascii: args.ascii,
    };
    chart::tell_if_idle(args.window, &loaded.trace, &args.file);
    for output in &outputs {
        recorded.write(output, false)?;
    }
    if let Some(rows) = args.chart.rows() {
        terminal::result(&recorded.chart(rows))?;
    }
    Ok(loaded.exit(Exit::Yes))
}

/// Writes the times of violations as other times are written. They stay exact.
pub(super) fn for_people(violations: &str) -> String {
    violations.lines().map(with_blanks).collect::<Vec<String>>().join("\n")
}

/// Returns doubts about a trace, for a report.
fn doubts(loaded: &Loaded) -> Vec<Line> {
    let inferred = "The trace has no marks: where jobs begin and end is inferred from sleeps.";
    let remarks = loaded.remarks.iter().cloned();
    let remarks = remarks.chain(loaded.is_inferred.then(|| inferred.to_owned()));
    remarks.map(|text| Line::new(Severity::Warning, text)).collect()
}

/// Returns the rule of a policy, on the CPUs on which the trace shows the tasks where neither the set
/// nor a mark names them.
fn rule(
    registry: &Registry,
    spec: &str,
    system: &System,
    loaded: &Loaded,
) -> Result<ScheduleRule, Failure> {
    let failed = |error: String| Failure::usage(error);
    let (info, options) = registry.parse(spec).map_err(|error| failed(error.to_string()))?;
    // The kernel has one queue per CPU, so the order of equal threads on different CPUs is
    // unknown.
    let mut system = system.clone();
    let is_of_kernel = loaded.dialect.is_some() && loaded.decisions.is_empty();
    if is_of_kernel && system.in_level == Some(InLevel::Fifo) {
        system.in_level = Some(InLevel::Any);
    }
    let build = |system: &System| {
        let built = info.build(system, &options.for_its_rule());
        built.map(|policy| policy.rule()).map_err(|error| failed(error.to_string()))
    };
    let rule = build(&system)?;
    // A set that was inferred says nothing of CPUs, so that a partition that a policy
    // chooses for it is not a promise: what counts is the one that the threads had.
    let is_partition = rule.assignment(&system).is_some();
    if is_partition && system.observed.is_some() && tie_to_cpus(&mut system, &loaded.trace) {
        terminal::talk("each task is held to the CPU on which the trace shows it");
        build(&system)
    } else if is_of_kernel && loaded.is_inferred {
        // Nor does a program that writes no marks know the partition.
        let elsewhere = elsewhere(spec, &system, &loaded.trace, &rule);
        elsewhere.iter().for_each(|words| terminal::warn(words, None));
        let is_elsewhere = !elsewhere.is_empty();
        if is_elsewhere && tie_to_cpus(&mut system, &loaded.trace) {
            build(&system)
        } else {
            Ok(rule)
        }
    } else {
        Ok(rule)
    }
}

/// The latency that is allowed to a machine if none is asked for.
const USUAL_LATENCY: Duration = Duration::from_us(100);

pub(super) fn check(registry: &Registry, args: &TraceCheckArgs) -> Outcome {
    let Some(set) = load::set(&args.input)? else {
        return Err(Failure::usage("which task set is it a trace of?").help("--set FILE"));
    };
    if args.latency.is_some_and(|latency| latency < Duration::ZERO) {
        return Err(Failure::usage("a latency is not negative"));
    }
    if let Some(log) = load::log(&args.file)? {
        return loops::check(args, &set, &log);
    }
    let mut loaded = load::to_judge(&args.file, &args.input, Some(&set))?;
    loaded.tell();
    if let Some(words) = loaded.number_cpus_as(&set.system) {
        terminal::talk(&words);
    }
    // The observed WCETs are upper bounds, also for the trace of a simulation.
    if set.system.observed.is_some() {
        loaded.demand = Demand::Bounded;
    }
    // A machine takes some time to do what a policy promises at once.
    let usual = if loaded.is_of_kernel { USUAL_LATENCY } else { Duration::ZERO };
    let latency = args.latency.unwrap_or(usual);
    let spec = args.policy.as_ref().map(|spec| names::one(registry, spec)).transpose()?;
    let is_deadline = spec.as_ref().is_some_and(|spec| spec.split(':').next() == Some("dl"));
    let rule = match &spec {
        None => ScheduleRule::None,
        Some(spec) => rule(registry, spec, &set.system, &loaded)?,
    };
    let reservations = |loaded: &Loaded| {
        is_deadline.then(|| reserved::judge(loaded, &set.system, latency)).flatten()
    };
    let judged = reservations(&loaded);
    if is_deadline && judged.is_none() {
        terminal::warn("no thread of the set is under SCHED_DEADLINE in this trace", None);
    } else if args.policy.is_some() && !is_deadline && rule == ScheduleRule::None {
        let policy = args.policy.as_deref().unwrap_or_default();
        terminal::warn(
            &format!("{policy} gives no ordering rule that a trace could be checked against"),
            Some("try another policy, as in -p g-edf"),
        );
    }
    if let Some(doubts) = judged.as_ref().and_then(reserved::Judged::doubts) {
        let help = "a period is certain after a sleep of a whole deadline, or a replenishment";
        terminal::warn(&doubts, Some(help));
    }
    let evidence = loaded.evidence(latency);
    let report = check_with(&loaded.trace, &set.system, &rule, MOST_SHOWN, &evidence);
    let is_usual = loaded.is_of_kernel && args.latency.is_none();
    if let Some([.., longest]) = latencies(&loaded).filter(|_| is_usual && report.count > 0) {
        terminal::talk(&format!(
            "no --latency is given, so that {latency:#} are allowed: it took up to {longest:#} from a wake-up to the CPU"
        ));
    }
    let as_set = as_the_set_says(&loaded.trace, &set.system, &rule, &evidence);
    let missed = missed(&as_set);
    let observed = ObservedConstraint::all(&set.system, &Outcomes::of_trace(&as_set), None);
    let is_kept =
        |observed: &[ObservedConstraint]| observed.iter().all(|of| of.observance != Observance::No);
    let verdict = |is_clean: bool, judged: Option<&reserved::Judged>| {
        let of_set = if is_clean { Exit::Yes } else { Exit::No };
        Exit::worst([of_set].into_iter().chain(judged.map(reserved::Judged::exit)))
    };
    let exit = verdict(report.is_clean() && is_kept(&observed), judged.as_ref());
    let exit = loaded.exit_with(exit, |extreme| {
        let evidence = extreme.evidence(latency);
        let report = check_with(&extreme.trace, &set.system, &rule, 0, &evidence);
        let as_set = as_the_set_says(&extreme.trace, &set.system, &rule, &evidence);
        let outcomes = Outcomes::of_trace(&as_set);
        let is_kept = is_kept(&ObservedConstraint::all(&set.system, &outcomes, None));
        verdict(report.is_clean() && is_kept, reservations(extreme).as_ref())
    });
    let beyond =
        if latency > Duration::ZERO { format!(" beyond {latency:#}") } else { String::new() };
    if args.json {
        document::print(&CheckDocument {
            layland: env!("CARGO_PKG_VERSION"),
            command: "trace check",
            trace: &args.file,
            policy: args.policy.as_deref(),
            latency_ns: latency.ns(),
            violations: report.violations.iter().map(ToString::to_string).collect(),
            count: report.count,
            caused_by_others: &report.foreign,
            missed,
            how_often: observed_constraints(&set.system, &observed),
            reservations: judged.as_ref().map(reserved::Judged::document),
            source: Source::of(&loaded),
            exit,
        })?;
    } else {
        let verdict = match exit {
            Exit::Untrusted => "no verdict: the trace is not trustworthy; seen in it: ",
            _ => "",
        };
        let found = for_people(&report.to_string());
        let (first, rest) = match found.split_once('\n') {
            Some((first, rest)) => (first.to_owned(), format!("\n{rest}")),
            None => (found.clone(), String::new()),
        };
        let missed = if missed > 0 {
            format!("{} missed by the set's deadlines\n", counted(missed, "job"))
        } else {
            String::new()
        };
        terminal::result(&format!("{}: {verdict}{first}{beyond}{rest}\n{missed}", args.file))?;
        for of in &observed {
            terminal::result(&(of.in_words(&set.system) + "\n"))?;
        }
        if let Some(judged) = &judged {
            terminal::result(&judged.text(false, &beyond))?;
        }
    }
    Ok(exit)
}

fn missed(trace: &Trace) -> u64 {
    trace.jobs.iter().filter(|record| record.missed(trace.over)).count() as u64
}

/// Applies the settings of the set to the trace, with a warning if the trace contradicts them.
fn held_to(set: Option<&Set>, mut loaded: Loaded, warns: bool) -> Loaded {
    let Some(set) = set else { return loaded };
    let evidence = loaded.evidence(Duration::ZERO);
    let (trace, rule) = (&loaded.trace, ScheduleRule::None);
    if let Cow::Owned(corrected) = as_the_set_says(trace, &set.system, &rule, &evidence) {
        let differs = |(own, said): (&JobRecord, &JobRecord)| own.job != said.job;
        if warns && trace.jobs.iter().zip(&corrected.jobs).any(differs) {
            terminal::warn(
                "the trace contradicts the set, whose deadlines count here",
                Some("layland trace check says where"),
            );
        }
        loaded.trace = corrected;
    }
    loaded
}

/// Returns the figures. Deadline figures are left out for a task none of whose jobs has a deadline.
fn summary(loaded: &Loaded) -> Summary {
    let mut summary = recorded::summary(&loaded.trace, &loaded.labels);
    for task in &mut summary.tasks {
        task.has_deadlines = task.released == 0;
    }
    summary.total.has_deadlines = summary.total.released == 0;
    for record in loaded.trace.jobs.iter().filter(|record| record.job.deadline != NO_DEADLINE) {
        if let Some(task) = summary.tasks.get_mut(record.job.id.task.index()) {
            task.has_deadlines = true;
        }
        summary.total.has_deadlines = true;
    }
    summary
}

/// Returns the minimum, the median, the 99th percentile and the maximum of the latencies.
fn latencies(loaded: &Loaded) -> Option<[Duration; 4]> {
    let mut all: Vec<Duration> = loaded.wakes.iter().map(|wake| wake.latency).collect();
    all.sort_unstable();
    let last = all.len().checked_sub(1)?;
    Some([all[0], all[last / 2], all[last * 99 / 100], all[last]])
}

pub(super) fn stats(args: &StatsArgs) -> Outcome {
    if let Some(log) = load::log(&args.file)? {
        if args.input.set.is_some() {
            return Err(Failure::usage("a log of rt-app has the deadlines of its timers")
                .help("leave --set out: `layland trace check` compares the log with a set"));
        }
        return loops::stats(args, &log);
    }
    let set = load::set(&args.input)?;
    let mut loaded = load::to_judge(&args.file, &args.input, set.as_ref())?;
    loaded.tell();
    let extremes = std::mem::take(&mut loaded.extremes);
    let held = extremes.into_iter().map(|extreme| held_to(set.as_ref(), extreme, false));
    let extremes = held.collect();
    let loaded = Loaded { extremes, ..held_to(set.as_ref(), loaded, true) };
    if args.json {
        let summary = summary(&loaded);
        let latencies = latencies(&loaded).map(|all| all.map(Duration::ns));
        let exit = verdict(&loaded, &summary);
        let count = loaded.wakes.len();
        document::print(&StatsDocument {
            layland: env!("CARGO_PKG_VERSION"),
            command: "trace stats",
            trace: &args.file,
            summary,
            wake_latency_ns: latencies.map(|[min, p50, p99, max]| Latencies {
                min,
                p50,
                p99,
                max,
                count,
            }),
            source: Source::of(&loaded),
            exit,
        })?;
        return Ok(exit);
    }
    figures_of(&loaded, args.ascii)
}

/// Prints the figures of a trace.
pub(super) fn figures_of(loaded: &Loaded, ascii: bool) -> Outcome {
    let summary = summary(loaded);
    let style = table::Style { ascii, colours: terminal::colours() };
    let all = summary.tasks.iter().map(|task| (task.name.clone(), Some(task)));
    let rows = figures::rows(all.chain([("all".to_owned(), Some(&summary.total))]));
    let mut text = format!("{}\n", table::tasks(&rows, style));
    if let Some([min, median, p99, max]) = latencies(loaded) {
        text += &format!(
            "wake-up to running, {} times: least {min:#}, median {median:#}, 99 % {p99:#}, most {max:#}\n",
            loaded.wakes.len()
        );
    }
    if loaded.trace.jobs.iter().any(|record| record.job.deadline == NO_DEADLINE) {
        text += "no deadlines are known: --set says which task set this is\n";
    }
    if let Some(dialect) = &loaded.dialect {
        text += &format!(
            "{dialect}, {} events lost, {} decisions{}\n",
            loaded.lost,
            loaded.decisions.len(),
            match loaded.unrecorded_switches {
                0 => String::new(),
                1 => ", 1 switch not recorded".to_owned(),
                count => format!(", {count} switches not recorded"),
            }
        );
    }
    terminal::result(&text)?;
    Ok(verdict(loaded, &summary))
}

fn verdict(loaded: &Loaded, summary: &Summary) -> Exit {
    let of = |missed: u64| if missed == 0 { Exit::Yes } else { Exit::No };
    loaded.exit_with(of(summary.total.missed), |extreme| of(missed(&extreme.trace)))
}

pub(super) fn convert(args: &TraceConvertArgs) -> Outcome {
    let set = load::set(&args.input)?;
    let loaded = load::load(&args.file, &args.input, set.as_ref())?;
    loaded.tell();
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let ending = output.extension().and_then(|ending| ending.to_str());
    let format = args.to.unwrap_or(match ending {
        Some("csv") => TraceFormat::Csv,
        Some("txt" | "trace") => TraceFormat::Tracefs,
        Some(_) | None => TraceFormat::Json,
    });
    files::write(output, &bytes(&loaded, format)?)?;
    Ok(loaded.exit(Exit::Yes))
}

fn bytes(loaded: &Loaded, format: TraceFormat) -> Result<Vec<u8>, Failure> {
    let (trace, labels) = (&loaded.trace, &loaded.labels);
    let mut bytes = Vec::new();
    let written = match format {
        TraceFormat::Json => {
            let (summary, recorded) = (summary(loaded), loaded.recorded());
            write_json_recorded(&mut bytes, trace, labels, Some(&summary), recorded.as_ref())
        }
        TraceFormat::Csv => layland_trace::csv::write(&mut bytes, trace, labels),
        TraceFormat::Tracefs => {
            bytes =
                layland_interchange::kernel::write(trace, labels, loaded.origin_ns).into_bytes();
            Ok(())
        }
    };
    written.map_err(|error| Failure::refused(error.to_string()))?;
    Ok(bytes)
}

pub(super) fn diff(args: &DiffArgs) -> Outcome {
    let set = load::set(&args.input)?;
    let a = load::load(&args.a, &args.input, set.as_ref())?;
    let b = load::load(&args.b, &args.input, set.as_ref())?;
    a.tell();
    b.tell();
    if a.labels.tasks != b.labels.tasks {
        let names = |loaded: &Loaded| loaded.labels.tasks.as_slice().join(", ");
        return Err(Failure::input(format!(
            "A has the tasks {}, and B has {}: they are not of one set",
            names(&a),
            names(&b)
        ))
        .help("name the set: --set FILE"));
    }
    let comparison = compare(&a.trace, &b.trace, args.latency);
    let exit = if comparison.first.is_some() { Exit::No } else { Exit::Yes };
    let exit = a.exit(b.exit(exit));
    let Comparison { first, until, jitters, longest_jitter, total_jitter } = comparison;
    let shown = first.map(|first| {
        let context = context(&a.trace, &b.trace, &a.labels, first.at, args.context);
        (first.explain(&a.labels), context)
    });
    // The last decision that the run recorded before the difference.
    let decided = first.and_then(|first| {
        [&a, &b].into_iter().find_map(|loaded| {
            let before = |decision: &&layland_interchange::kernel::Decision| {
                decision.cpu == first.cpu && decision.at <= first.at + first.length
            };
            let last = loaded.decisions.iter().rfind(before)?;
            let run = last.run.map_or_else(
                || "nothing".to_owned(),
                |job| format!("{}#{}", loaded.labels.task(job.task), job.number()),
            );
            Some(format!("the last decision for CPU {} is of {:#}: {run}", first.cpu, last.at))
        })
    });
    if args.json {
        document::print(&DiffDocument {
            layland: env!("CARGO_PKG_VERSION"),
            command: "trace diff",
            a: &args.a,
            b: &args.b,
            compared_until_ns: until.ns(),
            first: first.map(|first| FirstDifference {
                at_ns: first.at.ns(),
                length_ns: first.length.ns(),
                cpu: first.cpu.0,
                why: first.explain(&a.labels),
                decided,
            }),
            jitters,
            longest_jitter_ns: longest_jitter.ns(),
            total_jitter_ns: total_jitter.ns(),
            exit,
        })?;
        return Ok(exit);
    }
    let mut text = format!("A is {}\nB is {}\n", args.a, args.b);
    match shown {
        None => text += &format!("they agree up to {until:#}\n"),
        Some((why, context)) => {
            text += &terminal::wrap(&why, "");
            text += &format!("\n{context}");
            if let Some(decided) = decided {
                text += &format!("{decided}\n");
            }
        }
    }
    if jitters > 0 {
        text += &format!(
            "jitter: {jitters} times for at most {longest_jitter:#}, {total_jitter:#} together\n"
        );
    }
    terminal::result(&text)?;
    Ok(exit)
}
