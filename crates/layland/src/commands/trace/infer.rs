//! `layland trace infer`.

use super::args::{AffinityArg, InferArgs};
use super::inferred::InferDocument;
use super::load::{self, Raw};
use super::record;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::{document, files, table, terminal};
use layland_analysis::EXPLAIN;
use layland_config::{Comments, TaskComments, to_toml_with};
use layland_guarantee::{Shown, unexplained};
use layland_interchange::infer::{
    Affinity, Choice, Class, Inferred, More, Observation, Pattern, Reserved, StartUp, Suspensions,
    Taking, Thread, Wanted, infer_held, of_trace,
};
use layland_interchange::{kernel, st_trace};
use layland_linux::exec::{Given, Tid};
use layland_model::shown::{DIGITS, Unit};
use layland_model::{Duration, Rate, Service, Task, TaskMap, counted};
use layland_policy::Registry;

pub(super) fn run(registry: &Registry, args: &InferArgs) -> Outcome {
    if args.factor <= Rate::ZERO {
        return Err(
            Failure::usage("the factor of the WCET is above 0").help("--factor 1.2 adds a fifth")
        );
    }
    let pattern = load::pattern(args.thread.as_deref())?;
    let (name, mut seen) = match (&args.file, args.live) {
        (Some(file), _) => (file.as_str(), observe(file)?),
        (None, length) => {
            let text = record::live(length.unwrap_or(Duration::from_secs(5)))?;
            let name = "running threads";
            (name, kernel::observe(&text).map_err(|error| load::unread(name, &error))?)
        }
    };
    reserve(&mut seen, args)?;
    let taking = Taking {
        quantile: args.wcet,
        margin: args.factor.clone(),
        tolerance: args.round.clone(),
        affinity: match args.affinity {
            AffinityArg::Pinned => Affinity::Pinned,
            AffinityArg::Seen => Affinity::Seen,
            AffinityArg::None => Affinity::None,
        },
        more: More::default(),
    };
    let is_wanted = |name: &str, pid: Option<u32>| {
        pid.is_some_and(|pid| args.tid.contains(&pid))
            || pattern.as_ref().is_some_and(|pattern| pattern.is_match(name))
    };
    let wanted = if pattern.is_some() || !args.tid.is_empty() {
        Wanted::Where(&is_wanted)
    } else {
        Wanted::RealTime
    };
    let inferred = infer_held(&seen, wanted, &taking, &|inferred| {
        let shown = inferred.responses.iter().map(|&response| Shown { response });
        let shown: TaskMap<Shown> = shown.collect::<Vec<Shown>>().into();
        unexplained(registry, &inferred.system, &shown, &inferred.policies)
    });
    if inferred.chosen.tasks.is_empty() {
        seen.remarks.iter().for_each(|remark| terminal::warn(remark, None));
        return Err(nothing(name, &seen, &inferred));
    }
    tell(&seen, &inferred);
    let is_trustworthy =
        seen.lost == 0 && seen.unknown_lines == 0 && torn(&seen, &inferred).next().is_none();
    let exit = if is_trustworthy { Exit::Yes } else { Exit::Untrusted };
    let text = to_toml_with(&inferred.system, &comments(name, &inferred));
    if let Some(output) = &args.output {
        files::write(output, text.as_bytes())?;
    }
    if args.json {
        document::print(&InferDocument::of(name, &seen, &inferred, exit))?;
    } else if args.output.is_some() {
        terminal::result(&summary(&inferred, args.ascii))?;
    } else {
        terminal::data(&text)?;
    }
    Ok(exit)
}

/// Adds the reservations of the threads of SCHED_DEADLINE, as far as a set or the kernel states
/// them.
fn reserve(seen: &mut Observation, args: &InferArgs) -> Result<(), Failure> {
    let mut known = Vec::new();
    if let Some(file) = &args.deadline_of {
        for task in load::named_set(file)?.system.tasks.values() {
            let pattern = task.thread.as_deref().unwrap_or(&task.name);
            let whole = regex::Regex::new(&format!("^(?:{pattern})$")).ok();
            // A name need not be a valid regular expression.
            let is_it = move |name: &str, own: &str| {
                name == own || whole.as_ref().is_some_and(|whole| whole.is_match(name))
            };
            let runtime = task.budget.unwrap_or(task.own_wcet());
            let reserved = Reserved { runtime, deadline: task.deadline, period: task.period };
            known.push((task.name.clone(), is_it, reserved));
        }
    }
    let threads = seen.threads.iter_mut().filter(|thread| thread.class() == Class::Deadline);
    for thread in threads {
        let named = known.iter().find(|(own, is_it, _)| is_it(&thread.name, own));
        thread.reserved = named.map(|&(.., reserved)| reserved);
        if let (None, Some(pid), true) = (thread.reserved, thread.pid, args.live.is_some()) {
            thread.reserved = of_kernel(pid);
        }
    }
    Ok(())
}

/// Returns the kernel's reservation of a thread that exists.
fn of_kernel(pid: u32) -> Option<Reserved> {
    let given = Given::of(Tid(i32::try_from(pid).ok()?)).ok()?;
    let ns = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    (given.period_ns > 0).then(|| Reserved {
        runtime: Service::from_ns(ns(given.runtime_ns)),
        deadline: Duration::from_ns(ns(given.deadline_ns)),
        period: Duration::from_ns(ns(given.period_ns)),
    })
}

fn observe(name: &str) -> Result<Observation, Failure> {
    let failed = |error: String| Failure::input(format!("{name}: {error}"));
    let (trace, labels, dialect) = match load::raw(name)? {
        Raw::Kernel(text) => {
            return kernel::observe(&text).map_err(|error| load::unread(name, &error));
        }
        Raw::Json(bytes) => {
            let read = layland_trace::json::read_json(bytes.as_slice());
            let (trace, labels) = read.map_err(|error| failed(error.to_string()))?;
            (trace, labels, None)
        }
        Raw::Litmus(bytes) => {
            let read = st_trace::read(&bytes).map_err(|error| failed(error.to_string()))?;
            (read.0, read.1, Some("LITMUS^RT"))
        }
    };
    Ok(Observation { dialect, ..of_trace(&trace, &labels) })
}

/// Returns the name of a thread in messages.
fn called(thread: &Thread) -> String {
    match thread.pid {
        Some(pid) => format!("`{}` ({pid})", thread.name),
        None => format!("`{}`", thread.name),
    }
}

fn nothing(name: &str, seen: &Observation, inferred: &Inferred) -> Failure {
    let chosen = &inferred.chosen;
    let others = chosen.left_out.iter().filter(|left_out| !left_out.is_of_kernel());
    let left_out: Vec<_> = others.collect();
    let why = match left_out.as_slice() {
        [] if chosen.by == Choice::Asked => "no thread has such a name or id".to_owned(),
        [] => "no thread is of a real-time class, and none looks periodic".to_owned(),
        [first, ..] => {
            let others = match left_out.len() - 1 {
                0 => String::new(),
                others => format!("; nor {}", counted(others, "other")),
            };
            format!("{} is none: {}{others}", called(&seen.threads[first.thread]), first.why)
        }
    };
    let mut busiest: Vec<&Thread> =
        seen.threads.iter().filter(|thread| thread.jobs.len() >= 3).collect();
    busiest.sort_by_key(|thread| std::cmp::Reverse(thread.jobs.len()));
    let busiest: Vec<String> = busiest.iter().take(5).map(|thread| called(thread)).collect();
    let help = match busiest.as_slice() {
        [] => {
            "record for longer, with sched_switch and sched_waking, as `layland trace record` does"
                .to_owned()
        }
        busiest => format!(
            "name threads: --thread REGEX or --tid N; these have most jobs: {}",
            busiest.join(", ")
        ),
    };
    Failure::input(format!("{name}: no thread becomes a task: {why}")).help(help)
}

/// Prints doubts and what was left out to standard error.
fn tell(seen: &Observation, inferred: &Inferred) {
    for remark in &seen.remarks {
        terminal::warn(remark, None);
    }
    if let Some(words) = inferred.system.shared_levels_in_words(inferred.system.in_level) {
        terminal::talk(&words);
    }
    for estimate in &inferred.chosen.tasks {
        let thread = called(&seen.threads[estimate.thread]);
        if let Suspensions::Counted { jobs, longest } = &estimate.suspensions {
            let jobs = counted(*jobs, "job");
            terminal::warn(
                &format!(
                    "{thread} suspends itself within {jobs}, for up to {longest:#}, and not alike in all"
                ),
                Some("its suspensions count as execution: more than it needs, and never less"),
            );
        }
        if let Some(seen) = estimate.seen_period() {
            let period = estimate.period;
            terminal::talk(&format!(
                "the period of {thread} is {period:#}, as reserved: {seen:#} was seen"
            ));
        }
        // Every thread is born; this is worth a word if it took as long as no job.
        let of = &seen.threads[estimate.thread];
        if let Some(longest) = of.longest_unlike().filter(|&longest| longest > estimate.wcet) {
            let jobs = counted(of.unlike, "job");
            let of = if of.unlike == 1 { "" } else { "up to " };
            terminal::warn(
                &format!("left out the birth and the end of {thread}: {jobs} of {of}{longest:#}"),
                None,
            );
        }
        if let Some(StartUp { jobs, length, longest }) = estimate.start_up {
            let jobs = counted(jobs, "job");
            terminal::warn(
                &format!(
                    "left out the start of {thread}: {jobs} in {length:#}, of up to {longest:#}"
                ),
                None,
            );
        }
    }
    for thread in torn(seen, inferred) {
        let jobs = counted(thread.torn, "job");
        let what = format!("switches of {} are missing: {jobs} left out", called(thread));
        terminal::warn(&what, None);
    }
    for what in inferred.system.unexplained() {
        terminal::warn(
            &format!("the trace shows what the set does not explain: {what}"),
            Some(EXPLAIN),
        );
    }
    let chosen = &inferred.chosen;
    if chosen.by == Choice::Periodic {
        terminal::warn("no thread is of a real-time class: these look periodic", None);
    }
    // There are many kernel threads, and users rarely need them.
    let mut others = chosen.others;
    for left_out in &chosen.left_out {
        if left_out.is_of_kernel() {
            others += 1;
        } else {
            let thread = called(&seen.threads[left_out.thread]);
            terminal::talk(&format!("left out {thread}: {}", left_out.why));
        }
    }
    if others > 0 {
        let why = match chosen.by {
            Choice::Asked => "not asked for",
            Choice::Marks => "without marks",
            Choice::RealTime => "of the kernel, or of no real-time class",
            Choice::Periodic => "of the kernel, or not periodic",
        };
        terminal::talk(&format!("left out {}: {why}", counted(others, "other thread")));
    }
}

/// Returns the threads that are tasks, or would be with more jobs, and whose switches are missing
/// in the trace.
fn torn<'a>(seen: &'a Observation, inferred: &'a Inferred) -> impl Iterator<Item = &'a Thread> {
    let chosen = &inferred.chosen;
    let left_out = chosen.left_out.iter().filter(|thread| !thread.is_of_kernel());
    let threads = chosen.tasks.iter().map(|task| task.thread);
    let threads = threads.chain(left_out.map(|thread| thread.thread));
    threads.map(|thread| &seen.threads[thread]).filter(|thread| thread.torn > 0)
}

fn comments(file: &str, inferred: &Inferred) -> Comments {
    let version = env!("CARGO_PKG_VERSION");
    let first = format!("Inferred from {file} by layland {version} (`layland trace infer`).");
    let words = &inferred.words;
    let of_task = |task: &layland_interchange::infer::TaskWords| TaskComments {
        above: task.above.clone(),
        keys: task.keys.clone(),
    };
    Comments {
        head: std::iter::once(first).chain(words.head.iter().cloned()).collect(),
        tasks: words.tasks.iter().map(of_task).collect(),
    }
}

/// Formats one line for each task, followed by the wake-ups between tasks and the bursts.
fn summary(inferred: &Inferred, ascii: bool) -> String {
    let style = table::Style { ascii, colours: terminal::colours() };
    let tasks: Vec<&Task> = inferred.system.tasks.values().collect();
    let estimates = &inferred.chosen.tasks;
    let periods = Unit::of(estimates.iter().map(|estimate| estimate.period));
    let wcets = Unit::of(estimates.iter().map(|estimate| estimate.wcet.at_unit_speed()));
    let rows = tasks.iter().zip(estimates).map(|(task, estimate)| {
        let kind = match estimate.arrivals.pattern {
            Pattern::Periodic { .. } => "",
            Pattern::Sporadic { .. } => ">= ",
            Pattern::Bursts { .. } => "~ ",
        };
        [
            task.name.to_string(),
            format!("{kind}{}", periods.show(estimate.period, DIGITS)),
            wcets.show(estimate.wcet.at_unit_speed(), DIGITS),
            format!("{:.3}", task.utilization().to_f64()),
            estimate.execution.jobs.to_string(),
            estimate.sureness.word().to_owned(),
        ]
    });
    let headings = ["task", "period", "wcet", "utilization", "jobs", "how sure"];
    let mut text = format!("{}\n", table::plain(headings, rows, style));
    for (task, words) in tasks.iter().zip(&inferred.words.tasks) {
        let is_shown =
            |line: &&String| ["Woken by", "Its bursts"].iter().any(|own| line.starts_with(own));
        for line in words.above.iter().filter(is_shown) {
            text += &terminal::wrap(&format!("{}: {line}", task.name), "  ");
            text.push('\n');
        }
    }
    text
}
