//! Compares the recorder with data that is passed on tick by tick.

use super::*;
use crate::Trace;
use crate::testing::naive;
use layland_model::JobId;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The contents of a register: the instant at which the data was sampled.
#[derive(Clone, Copy)]
struct Datum {
    /// The read of the job of the first task.
    sampled: Time,
}

/// Follows the data of a chain through a trace, tick by tick. At each tick, writes come before
/// reads.
fn tick_by_tick(system: &System, trace: &Trace, chain: &Chain, from: Time, until: Time) -> Latency {
    let first_start = |job: JobId| {
        let own = trace.segments.iter().filter(|segment| segment.job == job);
        own.map(|segment| segment.start).min()
    };
    // For each place in the chain, the jobs that read and that write at a tick.
    let places = chain.tasks.len();
    let (mut reads, mut writes) = (BTreeMap::new(), BTreeMap::new());
    for record in &trace.jobs {
        let job = record.job;
        for place in (0..places).filter(|&place| chain.tasks[place] == job.id.task) {
            let (read, write) = match chain.communication {
                Communication::Implicit => {
                    let Some(end) = record.completion() else { continue };
                    (first_start(job.id).unwrap_or(end), end)
                }
                Communication::Let => {
                    (job.release, job.release + system.tasks[job.id.task].write_after())
                }
            };
            reads.entry(read).or_insert_with(Vec::new).push((place, job.id));
            writes.entry(write).or_insert_with(Vec::new).push((place, job.id));
        }
    }
    let mut registers: Vec<Option<Datum>> = vec![None; places];
    let mut held: BTreeMap<(usize, JobId), Option<Datum>> = BTreeMap::new();
    // Events that wait for a response: the reads of the first task, each with the previous read.
    let (mut before, mut previous) = (None, BTreeMap::new());
    let mut answered: BTreeMap<Time, Time> = BTreeMap::new();
    let mut samples: Vec<Time> = Vec::new();
    let mut latency = Latency::default();
    let mut last_source: Option<Time> = None;
    for now in 0..=trace.over.ns() {
        let now = Time::from_ns(now);
        for &(place, job) in writes.get(&now).into_iter().flatten() {
            let datum = held.remove(&(place, job)).flatten();
            registers[place] = datum.or(registers[place]);
            if place + 1 < places {
                continue;
            }
            let raise = |value: &mut Option<Duration>, from_read: Time| {
                if from_read >= from && now <= until {
                    *value = (*value).max(Some(now - from_read));
                }
            };
            if let Some(source) = last_source {
                raise(&mut latency.age, source);
            }
            last_source = datum.map(|datum| datum.sampled);
            let Some(datum) = datum else { continue };
            raise(&mut latency.reduced_age, datum.sampled);
            // This write responds to all earlier samples that have no response yet.
            for &sample in samples.iter().filter(|&&sample| sample <= datum.sampled) {
                if answered.insert(sample, now).is_none() {
                    raise(&mut latency.reduced_reaction, sample);
                    if let Some(Some(missed)) = previous.get(&sample) {
                        raise(&mut latency.reaction, *missed);
                    }
                }
            }
            samples.retain(|&sample| sample > datum.sampled);
        }
        for &(place, job) in reads.get(&now).into_iter().flatten() {
            let datum = match place {
                0 => {
                    samples.push(now);
                    previous.insert(now, before.replace(now));
                    Some(Datum { sampled: now })
                }
                _ => registers[place - 1],
            };
            held.insert((place, job), datum);
        }
    }
    latency
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Runs global EDF on one or two CPUs, for any chain, both kinds of communication, and any part
    /// of the run.
    #[test]
    fn latencies_are_those_of_the_data(
        tasks in prop::collection::vec((1i64..4, 4i64..12, 1i64..12), 1..5),
        order in prop::collection::vec(0usize..5, 1..5),
        cpus in 1usize..3,
        is_let in any::<bool>(),
        (from, until) in (0i64..40, 60i64..140),
    ) {
        let shape: Vec<(i64, i64)> = tasks.iter().map(|&(c, t, _)| (c.min(t), t)).collect();
        let (mut system, trace) = naive(cpus, &shape, 120);
        for (task, &(_, period, interval)) in system.tasks.values_mut().zip(&tasks) {
            task.let_interval = Some(Duration::from_ns(interval.min(period)));
        }
        let mut order: Vec<TaskId> =
            order.iter().map(|&task| TaskId::from_index(task % shape.len())).collect();
        order.dedup();
        let communication = Communication::ALL[usize::from(is_let)];
        let chain = Chain::new("c", order, communication);
        system.chains.push(chain.clone());
        let (from, until) = (Time::from_ns(from), Time::from_ns(until));
        let mut chained = Chained::new(&system).within(from, until);
        trace.replay(&mut chained);
        let found = chained.figures(&system)[0];
        let until = until.min(trace.over);
        prop_assert_eq!(found.latency, tick_by_tick(&system, &trace, &chain, from, until));
        let late = trace.jobs.iter().filter(|record| {
            let task = record.job.id.task;
            let write = record.job.release + system.tasks[task].write_after();
            let ended = record.completion();
            is_let && chain.tasks.contains(&task)
                && ended.map_or(write <= trace.over, |end| end > write)
        });
        prop_assert_eq!(found.late, late.count() as u64);
    }
}

/// An engine may report the end of a job before its last segment: the simulator does.
#[test]
fn a_segment_may_be_told_after_the_end_of_its_job() {
    use crate::testing::{at, id, segment, task};
    use crate::{Job, JobEnd};
    let mut system = System::new(1, vec![task("camera", 2, 9)]);
    system.chains.push(Chain::new("see", [TaskId(0)], Communication::Implicit));
    let mut chained = Chained::new(&system);
    for seq in 0..2 {
        let (arrival, begin) = (at(9 * seq), 9 * seq + 2);
        let job =
            Job { id: id(0, seq as u64), arrival, release: arrival, deadline: at(9 * seq + 9) };
        // The first job is interrupted, and the second is not.
        if seq == 0 {
            chained.executed(&segment(job.id, 0, begin, begin + 1));
        }
        chained.ended(&job, at(begin + 4), JobEnd::Completed, layland_model::Service::from_ns(2));
        chained.executed(&segment(job.id, 0, begin + 3 * (1 - seq), begin + 4));
    }
    chained.over(at(18), false);
    let latency = chained.figures(&system)[0].latency;
    assert_eq!(latency.reduced_reaction, Some(Duration::from_ns(4)));
    assert_eq!(latency.reaction, Some(Duration::from_ns(13)));
}
