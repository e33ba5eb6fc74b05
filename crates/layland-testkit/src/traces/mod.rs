//! Traces that lie. True traces of random sets are mutated, as traces, as JSON and as kernel
//! traces. The traces that the checker accepts are compared with an oracle, which computes the
//! schedule from the set.
//!
//! An accepted trace that is not the schedule of its set is a *wrong accept*. A rejected true trace
//! is only counted, because the form of a trace (the order of its segments) is checked, too.

pub mod mutate;
pub mod oracle;

use layland_checker::{Evidence, Origin, check_with};
use layland_gen::Random;
use layland_interchange::kernel::{self, ReadOptions, Threads};
use layland_model::{Duration, Order, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_trace::{Labels, Trace, json};
use std::collections::BTreeMap;

/// The outcomes of mutations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MutationTally {
    /// No reader accepts the trace, or it cannot support a verdict.
    pub unreadable: u64,
    /// The trace lies, and the checker reports it.
    pub refused: u64,
    /// The trace lies, and the checker accepts it.
    pub wrong: u64,
    /// The trace is true, and the checker accepts it.
    pub accepted: u64,
    /// The trace is true, and the checker rejects it for its form.
    pub strict: u64,
}

/// The results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct TraceResults {
    /// The outcomes for each kind of mutation.
    pub tallies: BTreeMap<&'static str, MutationTally>,
    /// Descriptions of the first wrong accepts.
    pub wrong: Vec<String>,
}

impl TraceResults {
    /// Returns the total of all kinds.
    pub fn total(&self) -> MutationTally {
        self.tallies.values().fold(MutationTally::default(), |sum, one| MutationTally {
            unreadable: sum.unreadable + one.unreadable,
            refused: sum.refused + one.refused,
            wrong: sum.wrong + one.wrong,
            accepted: sum.accepted + one.accepted,
            strict: sum.strict + one.strict,
        })
    }
}

/// A set, a schedule of it, and the policy against which it is checked.
struct Base {
    system: System,
    trace: Trace,
    spec: &'static str,
    order: Order,
}

/// The maximum number of wrong accepts that are described.
const MOST_TOLD: usize = 5;
/// The number of mutations of one base.
const OF_EACH_BASE: u64 = 100;

/// Draws two to five tasks on one to three CPUs, and up to 400 ns of their schedule; one in four is
/// of another policy.
fn base(random: &mut Random) -> Base {
    let cpus = random.between(1, 3) as usize;
    let count = random.between(2, 5);
    let tasks = (0..count).map(|index| {
        let period = random.between(3, 30);
        let wcet = random.between(1, (period * 2 / 3).max(1));
        let mut task = Task::implicit(
            char::from(b'a' + index as u8).to_string(),
            Service::from_ns(wcet),
            Duration::from_ns(period),
        );
        match random.below(4) {
            0 => task.deadline = Duration::from_ns(random.between(wcet, period)),
            1 => task.deadline = Duration::from_ns(random.between(period, 2 * period)),
            2 => task.offset = Duration::from_ns(random.between(1, 20)),
            _ => {}
        }
        task
    });
    let system = System::new(cpus, tasks.collect());
    let (spec, order) = match random.below(2) {
        0 => ("g-edf", Order::Deadline),
        _ => ("g-rm", Order::RateMonotonic),
    };
    let really = match random.below(8) {
        0 => ["g-rm", "g-dm"][random.below(2) as usize],
        1 => ["g-edf", "g-dm"][random.below(2) as usize],
        _ => spec,
    };
    let policy = crate::registry().build(really, &system).expect("global policies take it");
    let mut trace = Trace::default();
    let until = Time::from_ns(random.between(60, 400));
    let seed = random.bits();
    let _ = simulate(&system, policy, &mut trace, &SimOptions { seed, ..SimOptions::until(until) })
        .expect("it is short");
    Base { system, trace, spec, order }
}

/// Performs this number of mutations.
pub fn campaign(mutations: u64, seed: u64) -> TraceResults {
    let mut found = TraceResults::default();
    for number in 0..mutations.div_ceil(OF_EACH_BASE) {
        let mut random = Random::of_task(seed, number);
        let base = base(&mut random);
        let labels = Labels::of(&base.system);
        for _ in 0..OF_EACH_BASE.min(mutations - number * OF_EACH_BASE) {
            let mut trace = base.trace.clone();
            let kind = random.below(4);
            let (name, read) = if kind < 2 {
                let kinds = mutate::OF_TRACES;
                let (name, how) = kinds[random.below(kinds.len() as u64) as usize];
                how(&mut trace, &base.system, &mut random);
                // Sometimes sort the segments, and sometimes apply the mutation twice.
                if random.below(2) == 0 {
                    trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
                }
                if random.below(4) == 0 {
                    how(&mut trace, &base.system, &mut random);
                }
                (name, Some((trace, Evidence::default())))
            } else {
                let of_kernel = kind == 3;
                let mut bytes = if of_kernel {
                    kernel::write(&trace, &labels, START_NS).into_bytes()
                } else {
                    let mut bytes = Vec::new();
                    json::write_json(&mut bytes, &trace, &labels, None).expect("memory is enough");
                    bytes
                };
                let which = random.below(mutate::OF_TEXTS.len() as u64) as usize;
                mutate::text(which, &mut bytes, &mut random);
                let read = if of_kernel {
                    of_kernel_text(&bytes, &base.system)
                } else {
                    of_json(&bytes, &labels)
                };
                (mutate::OF_TEXTS[which], read)
            };
            let tally = found.tallies.entry(name).or_default();
            let Some((trace, evidence)) = read else {
                tally.unreadable += 1;
                continue;
            };
            let policy = crate::registry().build(base.spec, &base.system).expect("it takes it");
            let report = check_with(&trace, &base.system, &policy.rule(), 3, &evidence);
            let hides_waiting = evidence.hides_waiting;
            let is_true = oracle::is_true(&trace, &base.system, base.order, hides_waiting);
            match (is_true, report.is_clean()) {
                (true, true) => tally.accepted += 1,
                (true, false) => tally.strict += 1,
                (false, false) => tally.refused += 1,
                (false, true) => {
                    tally.wrong += 1;
                    if found.wrong.len() < MOST_TOLD {
                        let set = layland_config::to_toml(&base.system);
                        let mut text = Vec::new();
                        let _ = json::write_json(&mut text, &trace, &labels, None);
                        let text = String::from_utf8_lossy(&text);
                        let spec = base.spec;
                        found.wrong.push(format!("{name}, held to {spec}\n{set}\n{text}"));
                    }
                }
            }
        }
    }
    found
}

/// The value of a kernel's clock at the beginning of the run.
const START_NS: i64 = 5_000_000_000;

fn of_json(bytes: &[u8], labels: &Labels) -> Option<(Trace, Evidence<'static>)> {
    let (trace, own) = json::read_json(bytes).ok()?;
    (own.tasks == labels.tasks).then(|| (trace, Evidence::default()))
}

fn of_kernel_text(bytes: &[u8], system: &System) -> Option<(Trace, Evidence<'static>)> {
    let text = String::from_utf8_lossy(bytes);
    let options = ReadOptions { threads: Threads::Of(system), ..ReadOptions::default() };
    let import = kernel::read(&text, &options).ok().filter(kernel::Import::is_trustworthy)?;
    let origin = import.since.map_or(Origin::Unknown, |since| Origin::Known { since });
    let is_inferred = import.is_inferred;
    let evidence = Evidence { origin, is_inferred, hides_waiting: true, ..Evidence::default() };
    Some((import.trace, evidence))
}
