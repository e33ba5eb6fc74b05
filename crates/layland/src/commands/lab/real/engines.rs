//! Runs the same systems in the simulator and on every engine of this machine. The header of
//! `crates/layland-lab/src/engines/mod.rs` says what is compared.

use super::{OnThreads, times};
use layland_lab::{
    Ahead, Did, Engine, EngineRun, EngineRuns, Engines, Experiment, LabError, Measured, Systems,
    Times,
};
use layland_linux::deadline::{DeadlineOptions, Facts, Plan, run as run_plan};
use layland_linux::reserves::Reserves;
use layland_linux::trace::View;
use layland_linux::{
    Changes, Distribution, FifoOptions, Hosts, Machine, ManagerPlace, Margin, Outcome, replay,
    usable_cpus,
};
use layland_model::{CpuId, Duration, JobId, JobOrder, ScheduleRule, System, Time};
use layland_policy::{Policy, Registry};
use layland_sim::{SimError, SimOptions, simulate};
use layland_trace::{Counters, JobEnd, Segment, Trace};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shorter gaps in the execution of a thread of SCHED_DEADLINE are caused by the machine.
const GAP: Duration = Duration::from_ms(2);

pub(super) fn measure(
    experiment: &Experiment,
    registry: &Registry,
    engines: &Engines,
    interrupt: &AtomicBool,
    tell: &dyn Fn(usize, usize),
) -> Result<OnThreads<EngineRuns>, LabError> {
    let bench = Bench { experiment, registry, engines, interrupt };
    let grid = &experiment.grids[engines.grid];
    let cells = grid.cells();
    let total = cells.len() * grid.series.len() * engines.sets as usize * Engine::ALL.len();
    let mut found = EngineRuns {
        machine: format!("kernel {}", Machine::probe().kernel),
        runs: Vec::new(),
        remarks: Vec::new(),
    };
    // The remarks about each engine, with the policies that they concern.
    let mut remarks: BTreeMap<(Engine, String), Vec<&str>> = BTreeMap::new();
    let mut remark = |engine, text: String, series: usize| {
        let label = experiment.series[series].label.as_str();
        let of = remarks.entry((engine, text)).or_default();
        if !of.contains(&label) {
            of.push(label);
        }
    };
    let mut done = 0;
    for cell in &cells {
        let systems = Systems::new(experiment, grid, cell)?;
        for &series in &grid.series {
            for set in 0..engines.sets {
                let Measured::Policy(spec) = &experiment.series[series].measured else { continue };
                let system = systems.draw(set)?;
                let system = experiment.series[series].seen(&system).unwrap_or(system);
                let subject = match bench.subject(spec, system) {
                    Ok(subject) => subject,
                    Err(refusal) => {
                        remark(Engine::Simulator, format!("skipped: {refusal}"), series);
                        continue;
                    }
                };
                let expected = bench.simulated(&subject);
                let expected = expected.map_err(|error| systems.not_simulated(error))?;
                for engine in Engine::ALL {
                    match bench.one(engine, &subject, &expected) {
                        Ok(Some((did, remarks))) => {
                            let values = cell.values.clone();
                            found.runs.push(EngineRun { values, set, series, engine, did });
                            remarks.into_iter().for_each(|text| remark(engine, text, series));
                        }
                        Ok(None) => {}
                        Err(Skipped(why)) => remark(engine, format!("skipped: {why}"), series),
                    }
                    if interrupt.load(Ordering::SeqCst) {
                        return Ok(OnThreads::Interrupted);
                    }
                    done += 1;
                    tell(done, total);
                }
            }
        }
    }
    let told = remarks
        .iter()
        .map(|((engine, text), of)| format!("{engine} under {}: {text}", of.join(", ")));
    found.remarks = told.collect();
    Ok(OnThreads::Measured(found))
}

/// The reason why an engine did not run.
struct Skipped(String);

impl Skipped {
    fn because(error: &impl Display, help: &str) -> Skipped {
        Skipped(format!("{error} ({help})"))
    }
}

/// The subject of a run: a system, and a policy that was built for it.
struct Subject {
    /// The system without the margins, which are not executed.
    asked: System,
    system: System,
    policy: Box<dyn Policy>,
}

/// The result of the simulator.
struct Expected {
    trace: Trace,
    decisions: u64,
}

struct Bench<'a> {
    experiment: &'a Experiment,
    registry: &'a Registry,
    engines: &'a Engines,
    interrupt: &'a AtomicBool,
}

impl Bench<'_> {
    /// Builds a subject, with margins if the policy grants budgets.
    fn subject(&self, spec: &str, asked: System) -> Result<Subject, String> {
        let build = |system: &System| {
            self.registry.build(spec, system).map_err(|refusal| refusal.to_string())
        };
        let (policy, margin) = (build(&asked)?, Margin::Time(self.engines.margin));
        let system = Reserves::of(&*policy).larger(&asked, &margin).into_owned();
        Ok(Subject { policy: build(&system)?, asked, system })
    }

    fn simulated(&self, subject: &Subject) -> Result<Expected, SimError> {
        let mut trace = Trace::default();
        let end = Time::ZERO + self.engines.duration;
        let options = SimOptions { seed: self.experiment.seed, ..SimOptions::until(end) };
        let outcome = simulate(&subject.system, subject.policy.clone(), &mut trace, &options)?;
        Ok(Expected { trace, decisions: outcome.decisions })
    }

    /// Runs the subject on an engine. Returns the result and remarks, or `None` if the engine does
    /// not support the policy.
    fn one(
        &self,
        engine: Engine,
        subject: &Subject,
        expected: &Expected,
    ) -> Result<Option<(Did, Vec<String>)>, Skipped> {
        let did = |trace: &Trace| did(trace, &expected.trace, &subject.system);
        match engine {
            Engine::Simulator => {
                let decisions = Some(expected.decisions);
                Ok(Some((Did { decisions, ..did(&expected.trace) }, Vec::new())))
            }
            Engine::Deadline => {
                let (trace, remarks) = self.reserved(subject)?;
                let (release, next) = latencies(&trace, &expected.trace);
                Ok(Some((Did { release, next, ..did(&trace) }, remarks)))
            }
            Engine::InKernel if !is_global_edf(&subject.policy.rule()) => Ok(None),
            Engine::Fifo | Engine::ExtAsked | Engine::Ext | Engine::InKernel => {
                let outcome = self.managed(engine, subject)?;
                let mut fresh = subject.policy.clone();
                let ran = outcome.system(&subject.system);
                let mut remarks = outcome.doubts.clone();
                match replay(&outcome.log, &ran, &mut *fresh) {
                    Ok(replayed) => remarks.extend(replayed.divergence.map(|divergence| {
                        format!("a fresh policy decides otherwise at {:#}", divergence.at)
                    })),
                    Err(error) => remarks.push(format!("its log cannot be replayed: {error}")),
                }
                let trace = outcome.trace(&subject.system, View::Measured);
                let total = did(&trace);
                if total.missed > 0 {
                    remarks.extend(outcome.pause(&subject.system));
                }
                let measured = &outcome.measured;
                let did = Did {
                    decisions: Some(outcome.decisions),
                    release: times(&measured.dispatch),
                    next: times(&measured.end_to_next),
                    wake: times(&measured.wake_to_run),
                    ahead: ahead(&outcome),
                    ..total
                };
                Ok(Some((did, remarks)))
            }
        }
    }

    /// Runs the subject under the kernel's SCHED_DEADLINE.
    fn reserved(&self, subject: &Subject) -> Result<(Trace, Vec<String>), Skipped> {
        let (system, duration) = (&subject.asked, self.engines.duration);
        let facts = Facts::read();
        let margin = Margin::Time(self.engines.margin);
        let plan = Plan::new(system, &subject.policy.rule(), &facts, Some(&margin), false)
            .map_err(|refusal| Skipped::because(&refusal, refusal.help()))?;
        let most = duration + plan.lead + Duration::from_secs(60);
        let mut changes = begin(most)?;
        let hosts = hosts(&mut changes, system, &[ManagerPlace::Shared])?;
        let cpus: Vec<usize> = hosts.of.values().copied().collect();
        let options = DeadlineOptions {
            until: duration,
            seed: self.experiment.seed,
            cpus: &cpus,
            markers: None,
            interrupt: Some(self.interrupt),
        };
        let limit = facts.limit_thousandths as f64 / 1000.0;
        let ran = run_plan(system, &plan, limit, &options, &mut changes);
        let left = changes.end();
        let mut ran = ran.map_err(|error| Skipped::because(&error, &error.help()))?;
        join(&mut ran.trace);
        let mut remarks = plan.caveats.clone();
        remarks.extend(ran.excuse(system));
        remarks.extend(left.iter().map(ToString::to_string));
        Ok((ran.trace, remarks))
    }

    /// Runs the subject with a manager.
    fn managed(&self, engine: Engine, subject: &Subject) -> Result<Outcome, Skipped> {
        let mut changes = begin(Duration::MAX)?;
        // Use a dedicated CPU for the manager, if there is one.
        let places = [ManagerPlace::Dedicated, ManagerPlace::Shared];
        let hosts = hosts(&mut changes, &subject.system, &places)?;
        let options = FifoOptions {
            seed: self.experiment.seed,
            interrupt: Some(self.interrupt),
            ..FifoOptions::new(self.engines.duration, hosts)
        };
        let policy = subject.policy.clone();
        let outcome = carry_out(engine, &subject.system, policy, options);
        let left = changes.end();
        let mut outcome = outcome?;
        outcome.doubts.extend(left.iter().map(ToString::to_string));
        Ok(outcome)
    }
}

/// Reserves the CPUs of a run for as long as the changes last, at the first of these places that is
/// available.
fn hosts(
    changes: &mut Changes,
    system: &System,
    places: &[ManagerPlace],
) -> Result<Hosts, Skipped> {
    let usable = usable_cpus().map_err(|error| Skipped(error.to_string()))?;
    let cpus = system.platform.cpu_count();
    let mut refused = Skipped(String::new());
    for &place in places {
        match Hosts::claim(changes, cpus, &usable, place) {
            Ok((hosts, _)) => return Ok(hosts),
            Err(error) => refused = Skipped::because(&error, &error.help()),
        }
    }
    Err(refused)
}

fn begin(most: Duration) -> Result<Changes, Skipped> {
    Changes::begin("layland lab run", most).map_err(|error| {
        let error = layland_linux::RunError::from(error);
        Skipped::because(&error, &error.help())
    })
}

#[cfg(feature = "ext")]
fn carry_out(
    engine: Engine,
    system: &System,
    policy: Box<dyn Policy>,
    options: FifoOptions<'_>,
) -> Result<Outcome, Skipped> {
    let outcome = match engine {
        Engine::ExtAsked | Engine::Ext | Engine::InKernel => {
            let options = layland_linux::ext::ExtOptions {
                fifo: options,
                looks_ahead: engine == Engine::Ext,
                is_reference: engine == Engine::InKernel,
            };
            layland_linux::ext::run(system, policy, &options)
        }
        Engine::Simulator | Engine::Fifo | Engine::Deadline => {
            layland_linux::run(system, policy, &options)
        }
    };
    outcome.map_err(|error| Skipped::because(&error, &error.help()))
}

#[cfg(not(feature = "ext"))]
fn carry_out(
    engine: Engine,
    system: &System,
    policy: Box<dyn Policy>,
    options: FifoOptions<'_>,
) -> Result<Outcome, Skipped> {
    match engine {
        Engine::ExtAsked | Engine::Ext | Engine::InKernel => {
            let help = "cargo install layland --features ext, with libelf and zlib";
            Err(Skipped(format!("needs a layland with the engine ext ({help})")))
        }
        Engine::Simulator | Engine::Fifo | Engine::Deadline => {
            layland_linux::run(system, policy, &options)
                .map_err(|error| Skipped::because(&error, &error.help()))
        }
    }
}

#[cfg(feature = "ext")]
fn ahead(outcome: &Outcome) -> Option<Ahead> {
    let ext = outcome.ext?;
    Some(Ahead { right: ext.right, wrong: ext.wrong, commits: ext.commits })
}

#[cfg(not(feature = "ext"))]
fn ahead(_outcome: &Outcome) -> Option<Ahead> {
    None
}

/// Returns true if the kernel alone implements the rule: one group, ordered by deadlines.
fn is_global_edf(rule: &ScheduleRule) -> bool {
    matches!(
        rule,
        ScheduleRule::HighestFirst {
            groups,
            order: JobOrder::Deadline | JobOrder::DeadlineThenRunning,
            ..
        } if groups.len() == 1
    )
}

fn did(trace: &Trace, expected: &Trace, system: &System) -> Did {
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    trace.replay(&mut counters);
    let total = counters.total();
    Did {
        jobs: total.completed,
        missed: total.missed,
        preemptions: total.preemptions,
        migrations: total.migrations,
        alike: alike(expected, trace),
        ..Did::default()
    }
}

/// The intervals in which each job executed, in order.
type Executions = BTreeMap<JobId, Vec<(Time, Time)>>;

fn executions(trace: &Trace) -> Executions {
    let mut all = Executions::new();
    for segment in &trace.segments {
        all.entry(segment.job).or_default().push((segment.start, segment.end));
    }
    all.values_mut().for_each(|own| own.sort_unstable());
    all
}

/// The share of the execution in the first trace that happened at the same time in the second.
fn alike(expected: &Trace, other: &Trace) -> Option<f64> {
    let (expected, other) = (executions(expected), executions(other));
    let (mut common, mut all) = (0, 0);
    for (job, segments) in &expected {
        let theirs = other.get(job).map_or(&[][..], Vec::as_slice);
        for &(start, end) in segments {
            all += (end - start).ns();
            // A job has few segments.
            common += theirs
                .iter()
                .map(|&(from, to)| (to.min(end) - from.max(start)).ns().max(0))
                .sum::<i64>();
        }
    }
    (all > 0).then(|| common as f64 / all as f64)
}

/// Joins segments that only the machine separated: by a gap on one CPU in which no other job had
/// it.
fn join(trace: &mut Trace) {
    trace.segments.sort_by_key(|segment| (segment.cpu, segment.start));
    let mut joined: Vec<Segment> = Vec::new();
    for segment in trace.segments.drain(..) {
        match joined.last_mut() {
            Some(last)
                if (last.cpu, last.job) == (segment.cpu, segment.job)
                    && segment.start - last.end < GAP =>
            {
                last.end = segment.end;
            }
            _ => joined.push(segment),
        }
    }
    joined.sort_by_key(|segment| (segment.start, segment.cpu));
    trace.segments = joined;
}

/// The latencies in a trace: from the release of a job that starts at once in the simulation, and
/// from the end of a job to the start of the next job that waited for the CPU.
fn latencies(trace: &Trace, expected: &Trace) -> (Times, Times) {
    let first = |trace: &Trace| {
        let mut first: BTreeMap<JobId, Time> = BTreeMap::new();
        for segment in &trace.segments {
            let start = first.entry(segment.job).or_insert(segment.start);
            *start = segment.start.min(*start);
        }
        first
    };
    let (here, there) = (first(trace), first(expected));
    let (mut release, mut next) = (Distribution::default(), Distribution::default());
    let mut released = BTreeMap::new();
    let mut ends = BTreeMap::new();
    for record in &trace.jobs {
        let job = &record.job;
        released.insert(job.id, job.release);
        if let Some((end, JobEnd::Completed)) = record.end {
            ends.insert(job.id, end);
        }
        if let (Some(&start), true) = (here.get(&job.id), there.get(&job.id) == Some(&job.release))
        {
            release.record((start - job.release).ns());
        }
    }
    let mut by_cpu: BTreeMap<CpuId, Vec<(Time, Time, JobId)>> = BTreeMap::new();
    for segment in &trace.segments {
        by_cpu.entry(segment.cpu).or_default().push((segment.start, segment.end, segment.job));
    }
    for segments in by_cpu.values_mut() {
        segments.sort_unstable();
        for pair in segments.windows(2) {
            let [(.., before), (start, _, job)] = *pair else { continue };
            if let (Some(&end), Some(&release)) = (ends.get(&before), released.get(&job))
                && before != job
                && release < end
                && end <= start
            {
                next.record((start - end).ns());
            }
        }
    }
    (times(&release), times(&next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::TaskId;

    fn trace(segments: &[(u64, u32, i64, i64)]) -> Trace {
        let segment = |&(seq, cpu, start, end)| Segment {
            job: JobId { task: TaskId(0), seq },
            cpu: CpuId(cpu),
            start: Time::from_ns(start),
            end: Time::from_ns(end),
            overhead: Duration::ZERO,
        };
        Trace { segments: segments.iter().map(segment).collect(), ..Trace::default() }
    }

    #[test]
    fn what_executes_at_the_same_time_is_alike() {
        let expected = trace(&[(0, 0, 0, 10), (1, 0, 20, 30)]);
        assert_eq!(alike(&expected, &expected), Some(1.0));
        // Half of one job, on another CPU, and nothing of the other job, whose time the first job
        // uses.
        let other = trace(&[(0, 1, 5, 15), (0, 0, 20, 30)]);
        assert_eq!(alike(&expected, &other), Some(0.25));
        assert_eq!(alike(&trace(&[]), &expected), None);
    }
}
