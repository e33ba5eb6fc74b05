//! Policies that plan shares or pieces against their twins, one nanosecond at a time.

use super::{Agreement, clean, run};
use crate::optimal::draw::{self, Drawn};
use crate::optimal::{slow_lanes, slow_planes, slow_wrap};
use crate::{registry, split};
use layland_gen::{Aspect, Random};
use layland_model::{Index, JobId, ScheduleRule, System, Time};
use layland_sim::SimOptions;
use layland_trace::Trace;

/// The job on each CPU, for each nanosecond of each segment.
pub type Nanoseconds = Vec<(i64, usize, JobId)>;

/// Returns the nanoseconds of a trace, in order.
pub fn nanoseconds(trace: &Trace) -> Nanoseconds {
    let each = |segment: &layland_trace::Segment| {
        let (cpu, job) = (segment.cpu.index(), segment.job);
        (segment.start.ns()..segment.end.ns()).map(move |now| (now, cpu, job))
    };
    let mut all: Nanoseconds = trace.segments.iter().flat_map(each).collect();
    all.sort_unstable();
    all
}

/// Returns an error unless the schedule equals that of the twin and keeps its rule.
fn agrees(
    spec: &str,
    system: &System,
    until: Time,
    twin: impl Fn(&ScheduleRule, &Trace) -> Nanoseconds,
) -> Agreement {
    let Ok(policy) = registry().build(spec, system) else { return Ok(0) };
    let rule = policy.rule();
    let trace = run(system, policy, &SimOptions { seed: 7, ..SimOptions::until(until) });
    clean(&trace, system, &rule, spec)?;
    let (found, mut expected) = (nanoseconds(&trace), twin(&rule, &trace));
    expected.sort_unstable();
    if found == expected {
        return Ok(1);
    }
    let at = found.iter().zip(&expected).position(|(found, expected)| found != expected);
    let at = at.unwrap_or(found.len().min(expected.len()));
    let (found, expected) = (found.get(at), expected.get(at));
    Err(format!("{spec} has {found:?} and its twin {expected:?}: {system:#?}"))
}

/// Compares DP-WRAP, LRE-TL and U-EDF at full load, periodic or sporadic, depending on the index.
/// Policies that reject a system are skipped.
///
/// # Errors
/// A description of the difference between one and its twin.
pub fn shares(seed: u64, index: u64) -> Agreement {
    let mut random = Random::new(seed, index, Aspect::Utilizations);
    let Drawn { system, until } = match index % 2 {
        0 => draw::in_slots(&mut random, false),
        _ => draw::sporadic(&mut random),
    };
    let until = until.min(Time::from_ns(1_000));
    let mut agreed = 0;
    for (spec, mirror) in [("dp-wrap", true), ("dp-wrap:mirror=off", false)] {
        agreed +=
            agrees(spec, &system, until, |_, trace| slow_wrap::schedule(&system, mirror, trace))?;
    }
    agreed += agrees("lre-tl", &system, until, |_, trace| slow_planes::schedule(&system, trace))?;
    agreed += agrees("u-edf", &system, until, |_, trace| slow_lanes::schedule(&system, trace))?;
    Ok(agreed)
}

/// Compares C=D and EDF-WM, in an order that the index selects, with jobs that come late and need
/// less or more than their WCETs. Policies that find no place for a task are skipped.
///
/// # Errors
/// A description of the difference between one and its twin.
pub fn pieces(seed: u64, index: u64) -> Agreement {
    let mut random = Random::new(seed, index, Aspect::Utilizations);
    let system = split::draw(&mut random, index.is_multiple_of(2));
    let system = split::run(&mut random, &system, 100, index.is_multiple_of(3));
    let order = ["du", "dd", "id", "ip"][index as usize % 4];
    let mut agreed = 0;
    for name in ["cd", "cd:split=fail-worst", "cd:split=next-first", "cd:split=next-best", "edf-wm"]
    {
        let spec = format!("{name}:order={order}");
        agreed += agrees(&spec, &system, Time::from_ns(100), |rule, trace| match rule {
            ScheduleRule::Split { pieces } => split::schedule(&system, pieces, trace),
            _ => panic!("{spec} promises {rule:?}"),
        })?;
    }
    Ok(agreed)
}
