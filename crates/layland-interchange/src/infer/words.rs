//! Describes the inferred set and its reliability in words: the comments of the task-set file.

use super::arrivals::Pattern;
use super::bursts::within_a_period;
use super::chains::Chain;
use super::choose::Chosen;
use super::estimate::{EVERY, Estimate, Execution, StartUp, Suspensions, Taking};
use super::observation::{Class, Observation, Reserved, Thread, is_of_kernel};
use super::task::{begin, used};
use layland_model::{Duration, Rate, System, counted};
use std::collections::BTreeMap;

/// Comments for a task-set file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// Comments about the whole set.
    pub head: Vec<String>,
    /// Comments about each task, in the order of the set.
    pub tasks: Vec<TaskWords>,
}

/// Comments about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWords {
    /// Comments about the whole task; the first line has its thread and its reliability.
    pub above: Vec<String>,
    /// Comments about single keys of its table.
    pub keys: BTreeMap<&'static str, String>,
}

pub(super) fn words(
    seen: &Observation,
    chosen: &Chosen,
    chains: &[Chain],
    system: &System,
    taking: &Taking,
) -> Words {
    let mut head = vec![format!(
        "This is what was seen in {:#}, and no bound: a longer trace may show longer jobs.",
        seen.length
    )];
    if seen.lost > 0 || seen.unknown_lines > 0 {
        head.push(format!(
            "The trace is damaged: {}, {}. Do not trust this set.",
            match seen.lost {
                0 => "no event is known to be lost".to_owned(),
                lost => format!("{} lost", counted(lost, "event")),
            },
            match seen.unknown_lines {
                1 => "1 line is not an event".to_owned(),
                count => format!("{count} lines are not events"),
            },
        ));
    }
    if chosen.tasks.iter().any(|task| !seen.threads[task.thread].is_marked) {
        head.push("A job is what a thread does between a wake-up and its next sleep.".to_owned());
    }
    if seen.resolution > Duration::from_ns(1) {
        head.push(format!("The times of the trace are multiples of {:#}.", seen.resolution));
    }
    if chosen.tasks.iter().any(|task| task.deadline.is_none()) {
        head.push("Where it shows no deadline, the deadline is the end of the period.".to_owned());
    }
    if taking.more.used {
        let used: Vec<String> = used(seen, chosen).iter().map(ToString::to_string).collect();
        head.push(format!(
            "Of {} these threads used {} alone: here they are numbered from 0.",
            counted(seen.cpus as u64, "CPU"),
            used.join(", ")
        ));
    }
    if let Some(words) = system.shared_levels_in_words(system.in_level) {
        head.push(format!("{words}. If they are SCHED_RR, write [defaults] tie = \"any\"."));
    }
    if !seen.is_run
        && let Some(begin) = begin(chosen)
    {
        let at = seen.origin_ns.saturating_add(begin);
        let (seconds, rest) = (at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000));
        head.push(format!("Time 0 is {seconds}.{rest:09} s on the clock of the trace."));
    }
    let names: Vec<&str> = system.tasks.values().map(|task| task.name.as_str()).collect();
    let tasks = chosen.tasks.iter().map(|estimate| {
        let chain = chains.iter().find(|chain| chain.consumer == estimate.thread);
        let place = |thread| chosen.tasks.iter().position(|task| task.thread == thread);
        let producer = chain.map(|chain| match place(chain.producer) {
            Some(place) => names[place].to_owned(),
            None => seen.threads[chain.producer].name.clone(),
        });
        of_task(seen, estimate, chain.zip(producer), taking)
    });
    Words { head, tasks: tasks.collect() }
}

fn of_task(
    seen: &Observation,
    estimate: &Estimate,
    chain: Option<(&Chain, String)>,
    taking: &Taking,
) -> TaskWords {
    let thread = &seen.threads[estimate.thread];
    let mut words = TaskWords::default();
    words.above.push(format!("{}{}.", who(thread), sureness(estimate)));
    if let Some((chain, producer)) = chain {
        words.above.push(woken(chain, &producer));
    }
    period(estimate, taking, &mut words);
    let counts = taking.more.partial;
    let born = match thread.longest_unlike() {
        Some(longest) if longest > estimate.wcet => {
            format!("were its first or last, when a thread begins or ends, of up to {longest:#}")
        }
        Some(_) | None => "were its first or last, when a thread begins or ends".to_owned(),
    };
    for (count, why) in [
        (thread.beheaded, "began before the trace, but for what they executed in it"),
        (thread.torn, "lack switches that are missing in the trace"),
        (if counts { 0 } else { thread.unlike }, &born),
    ] {
        if count > 0 {
            words.above.push(format!("Left out: jobs that {why} ({count})."));
        }
    }
    if counts && thread.unlike > 0 {
        words.above.push("Its first and last jobs count: others waited for them.".to_owned());
    }
    if estimate.latency > Duration::ZERO {
        let where_to = match (estimate.in_wcet > Duration::ZERO, &estimate.suspensions) {
            (true, _) => "the WCET is as much longer, and the period shorter",
            (false, Suspensions::Steps(_)) => "the first step and the jitter have it",
            (false, _) => "the jitter has it",
        };
        words.above.push(format!(
            "Jobs began up to {:#} late while nothing as important had the CPU{}: {where_to}.",
            estimate.latency,
            less_important(seen, estimate)
        ));
    }
    if estimate.lost > Duration::ZERO {
        words.above.push(format!(
            "A job waited for {:#} while nothing as important had the CPU{}: this counts as execution.",
            estimate.lost,
            less_important(seen, estimate)
        ));
    }
    if let Some(StartUp { jobs, length, longest }) = estimate.start_up {
        words.above.push(format!(
            "Left out: its start, {} in the first {length:#}, of up to {longest:#}; they fit no period, or are far longer than the others.",
            counted(jobs as u64, "job")
        ));
    }
    if estimate.wcet.ns() > estimate.period.ns() {
        words.above.push(
            "Its longest job is longer than its period: jobs came in bursts, or one was far longer than the others."
                .to_owned(),
        );
    }
    match &estimate.suspensions {
        Suspensions::None => {}
        Suspensions::Steps(stretches) => {
            let suspensions = counted(stretches.len() as u64 - 1, "suspension");
            let state = if estimate.parts > 1 { "sleeps" } else { "state D" };
            words.above.push(format!(
                "Each of its jobs has {suspensions} of itself ({state}), each step is as long as the longest; a step \
                 counts from its wake-up, where nothing as important had the CPU."
            ));
        }
        Suspensions::Counted { jobs, longest } => words.above.push(format!(
            "Suspended itself (state D) within {}, for up to {longest:#} in one, and not alike in all: this counts as \
             execution.",
            counted(*jobs as u64, "job")
        )),
    }
    let pending = thread.jobs.iter().filter(|job| job.end.is_none()).count();
    if pending > 0 {
        words.above.push(format!(
            "Counted as far as it was seen: {}, without an end in the trace.",
            counted(pending, "job")
        ));
    }
    let of_wcet = match &estimate.suspensions {
        Suspensions::Steps(_) => "steps",
        Suspensions::None | Suspensions::Counted { .. } => "wcet",
    };
    words.keys.insert(of_wcet, wcet(&estimate.execution, taking));
    if let Some(cpus) = &estimate.affinity {
        let where_to = if cpus.len() == 1 { "this CPU alone" } else { "these CPUs" };
        let why = match thread.tied {
            0 => "the trace does not show its affinity".to_owned(),
            times => format!("waited for a CPU {times} times while another one was free"),
        };
        words.keys.insert("affinity", format!("seen on {where_to}; {why}"));
    } else {
        let cpus = if thread.cpus.len() == 1 { "CPU" } else { "CPUs" };
        words.above.push(format!("Seen on {cpus} {}.", thread.cpus));
    }
    if estimate.deadline.is_some() {
        let which = match estimate.reserved {
            Some(of) if Some(of.deadline) == estimate.deadline => "as it is reserved",
            Some(_) => "the period: a reservation has none that is longer",
            None => "the shortest in the trace",
        };
        words.keys.insert("deadline", which.to_owned());
    } else if is_of_kernel(&thread.name) && estimate.jitter > Duration::ZERO {
        let which = "a thread of the kernel has none: as far as its arrivals may be late";
        // That of bursts has its words already.
        words.keys.entry("deadline").or_insert_with(|| which.to_owned());
    }
    priority(thread, estimate.priority, &mut words);
    words
}

/// Describes the thread that is usually less important, and yet
/// had most of the CPU while the thread of an estimate waited.
fn less_important(seen: &Observation, estimate: &Estimate) -> String {
    let own = estimate.priority.unwrap_or(i32::MAX);
    let usual = |thread: usize| seen.threads[thread].priority().unwrap_or(i32::MAX);
    let taken = seen.taken.iter().filter(|taken| taken.from == estimate.thread);
    let most = taken.filter(|taken| usual(taken.by) > own).max_by_key(|taken| taken.longest);
    most.map_or_else(String::new, |most| {
        let by = &seen.threads[most.by];
        let (name, length) = (&by.name, most.longest);
        format!(" (`{name}`, usually {}, had it for up to {length:#})", usual(most.by))
    })
}

fn who(thread: &Thread) -> String {
    match thread.pid {
        Some(pid) => format!("Thread {pid}: "),
        None => String::new(),
    }
}

fn sureness(estimate: &Estimate) -> String {
    let jobs = counted(estimate.execution.jobs, "job");
    let word = estimate.sureness.word();
    let fitting = percent(estimate.arrivals.fitting);
    match &estimate.arrivals.pattern {
        Pattern::Periodic { .. } => {
            format!("{word}, by {jobs}; {fitting} of the gaps between arrivals fit the period")
        }
        Pattern::Sporadic { .. } => {
            format!("{word}, by {jobs}; it is not periodic")
        }
        Pattern::Bursts { .. } => format!("{word}, by {jobs}; it comes in bursts"),
    }
}

fn percent(per_mille: u32) -> String {
    match per_mille % 10 {
        0 => format!("{} %", per_mille / 10),
        tenth => format!("{}.{tenth} %", per_mille / 10),
    }
}

fn period(estimate: &Estimate, taking: &Taking, words: &mut TaskWords) {
    let [least, mean, most] = estimate.arrivals.gaps;
    match &estimate.arrivals.pattern {
        Pattern::Periodic { period, jitter, usual_jitter, run_on, empty, .. } => {
            let text = match (estimate.nominal, estimate.seen_period()) {
                (None, Some(seen)) => format!("as it is reserved; {seen:#} seen"),
                (None, None) => "as seen".to_owned(),
                (Some(nominal), _) => {
                    let rate =
                        nominal.hertz.map_or_else(String::new, |rate| format!(", {rate} Hz"));
                    format!("{period} seen{rate}")
                }
            };
            words.keys.insert("period", text);
            let late = format!("the latest arrival; 99 % are within {usual_jitter:#}");
            words.keys.insert("jitter", late);
            if *jitter > estimate.jitter {
                words.above.push(format!(
                    "Arrivals are up to {jitter:#} late: the period is shorter instead of jitter (at most {} %).",
                    &taking.tolerance * &Rate::whole(100)
                ));
            }
            let late: u64 = run_on.iter().map(|(_, more)| more).sum();
            if late > 0 {
                words.above.push(format!(
                    "{} late and ran on into the next periods ({} in all): each counts as one job.",
                    were(run_on.len(), "job"),
                    late
                ));
            }
            if *empty > 0 {
                let periods = counted(*empty, "period");
                words.above.push(format!("{periods} passed without an arrival."));
            }
        }
        Pattern::Sporadic { sleep, .. } => {
            let usual = estimate.arrivals.usual;
            let (which, rest) = if estimate.jitter > Duration::ZERO {
                ("what 95 % of the gaps are at least", format!("least {least:#}"))
            } else {
                ("the least gap", format!("95 % are at least {usual:#}"))
            };
            let which = match estimate.seen_period() {
                Some(seen) => format!("as it is reserved; seen was {seen:#}, {which}"),
                None => which.to_owned(),
            };
            words.keys.insert("period", format!("{which}; {rest}, mean {mean:#}, most {most:#}"));
            let jitter = "no jobs in a row come earlier than with this".to_owned();
            words.keys.insert("jitter", jitter);
            gaps_vary(estimate, *sleep, words);
        }
        Pattern::Bursts { period, jitter, sleep } => {
            let usual = estimate.arrivals.usual;
            words.above.push(format!(
                "Its bursts are jitter: jobs come one a period in the long run, and up to {} within one.",
                within_a_period(*period, *jitter)
            ));
            let gaps = format!("least {least:#}, 95 % are at least {usual:#}, most {most:#}");
            words.keys.insert("period", format!("of bursts, up to the mean gap, {mean:#}; {gaps}"));
            let jitter = "the least with which the period allows every burst";
            words.keys.insert("jitter", jitter.to_owned());
            if estimate.deadline.is_none() {
                let deadline = "a period and twice the jitter: it is kept as long as a burst is over before the next one may come";
                words.keys.insert("deadline", deadline.to_owned());
            }
            gaps_vary(estimate, *sleep, words);
        }
    }
}

/// Describes the properties of all threads that are not periodic.
fn gaps_vary(estimate: &Estimate, sleep: Option<Duration>, words: &mut TaskWords) {
    words.keys.insert("release", "gaps with the mean that was seen".to_owned());
    if let Some(sleep) = sleep {
        let release = format!("{{ kind = \"self-suspending\", gap = \"{sleep}\" }}");
        words.above.push(format!(
            "It sleeps for {sleep:#} after each job; release = {release} says that."
        ));
    }
    if estimate.wcet.at_unit_speed() > estimate.period {
        let text = "Its longest job takes longer than the period: it may be one that wakes up several times.";
        words.above.push(text.to_owned());
    }
}

/// `1 job was`, `2 jobs were`.
fn were(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "was" } else { "were" })
}

fn wcet(execution: &Execution, taking: &Taking) -> String {
    let [least, half, _, p99, _, most] = execution.quantiles;
    let which = match taking.quantile {
        EVERY => "the longest".to_owned(),
        part => format!("{} % of the jobs", Rate::new(part.into(), 1_000)),
    };
    let times = match &taking.margin {
        margin if *margin == Rate::ONE => String::new(),
        margin => format!(" times {margin}"),
    };
    format!("{which}{times}; least {least:#}, half {half:#}, 99 % {p99:#}, most {most:#}")
}

fn priority(thread: &Thread, taken: Option<i32>, words: &mut TaskWords) {
    let class = match Class::of(taken) {
        Class::Deadline => {
            words.above.push(match thread.reserved {
                Some(Reserved { runtime, deadline, period }) => format!(
                    "SCHED_DEADLINE: {runtime:#} of every {period:#} are reserved, within {deadline:#}."
                ),
                None => "SCHED_DEADLINE: events do not contain its runtime, deadline and period; --deadline-of does."
                    .to_owned(),
            });
            "SCHED_DEADLINE".to_owned()
        }
        Class::RealTime { priority } => format!("SCHED_FIFO or SCHED_RR {priority}"),
        Class::Other => "no real-time class".to_owned(),
        Class::Unknown => return,
    };
    // A priority that a thread had before it became real-time
    // is not worth a comment; one inherited through a lock is.
    let is_other = |priority: i32| Some(priority) != taken && priority < 100;
    let others = thread.priorities.iter().filter(|(priority, _)| is_other(*priority));
    let others: Vec<String> = others.map(|(priority, _)| priority.to_string()).collect();
    if !others.is_empty() {
        words.above.push(format!("The kernel also gave it the priorities {}.", others.join(", ")));
    }
    words.keys.insert("priority", format!("{class}; a smaller number is more important"));
}

fn woken(chain: &Chain, producer: &str) -> String {
    let Chain { times, of, is_certain, after, .. } = chain;
    let mut text = format!("Woken by `{producer}` {times} of {of} times");
    if let Some([least, median, most]) = after {
        text += &format!(", {median:#} after that one's job arrives ({least:#} to {most:#})");
    }
    if chain.at_end * 10 >= times * 9 {
        text += ", as its last act";
    }
    if !is_certain {
        text += "; an interrupt while it ran looks the same in this trace";
    }
    text + "."
}
