//! The claims, and their checks by simulation.

use super::draw::{self, Shape};
use super::{Case, Finding, Near};
use crate::inversions;
use crate::{registry, specs_of};
use layland_analysis::Assumption;
use layland_analysis::partitioned::lopez;
use layland_analysis::{BoundTest, Tardiness, Verdict, catalogue};
use layland_gen::Random;
use layland_model::{Algorithm, CpuId, Duration, Note, Rate, System, TaskMap, Time};
use layland_sim::{SimOptions, simulate};
use layland_trace::{Counters, MarkKind, Recorder, Trace};

/// The adaptive partitioners.
const ADAPTIVE: [&str; 4] = ["apedf", "apedf:fallback=off", "a2pedf", "a2pedf:fallback=off"];

/// A limit that no schedule exceeds.
#[derive(Clone, Copy)]
pub enum Claim {
    /// No job is later than its tardiness bound.
    Bound(&'static BoundTest),
    /// Partitioned EDF with first fit and adaptive partitioning miss no deadline if the load is
    /// within the bound of Lopez et al.
    Lopez,
    /// Adaptive partitioning misses no deadline once it has found a partition and the late jobs
    /// from before are done.
    Converged,
    /// Under `dl-sp`, a thread may wait for a migrating one on its only CPU while another CPU is
    /// free or runs a later deadline, but for no longer than the longest job.
    Inversion,
}

/// Returns every claim.
pub fn claims() -> Vec<Claim> {
    let bounds = catalogue::BOUNDS.iter().map(Claim::Bound);
    bounds.chain([Claim::Lopez, Claim::Converged, Claim::Inversion]).collect()
}

impl Claim {
    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            Claim::Bound(test) => test.name,
            Claim::Lopez => "LOPEZ",
            Claim::Converged => "CONVERGED",
            Claim::Inversion => "INVERSION",
        }
    }

    /// Returns a description of one line.
    pub fn title(&self) -> &'static str {
        match self {
            Claim::Bound(test) => test.title,
            Claim::Lopez => {
                "within the bound of Lopez et al. p-edf:fit=ff, apedf and a2pedf miss nothing"
            }
            Claim::Converged => "apedf and a2pedf miss nothing once they have converged",
            Claim::Inversion => "inversions under dl-sp are no longer than the longest job",
        }
    }

    fn shape(&self) -> Shape {
        let plain = Shape {
            constrained: false,
            pinned: false,
            masks: false,
            clusters: false,
            threads: false,
            varies: true,
            load: 100,
        };
        match self {
            Claim::Bound(test) => {
                let assumes = |assumption| test.assumptions.contains(&assumption);
                Shape {
                    constrained: !assumes(Assumption::ImplicitDeadlines),
                    pinned: !assumes(Assumption::WholeClusters),
                    masks: !assumes(Assumption::WholeClusters)
                        && !assumes(Assumption::SemiPartitioned),
                    clusters: true,
                    threads: test.algorithms.contains(&Algorithm::SemiPartitionedDeadline),
                    ..plain
                }
            }
            Claim::Lopez => Shape { threads: true, ..plain },
            Claim::Converged => Shape { threads: true, ..plain },
            Claim::Inversion => {
                Shape { pinned: true, threads: true, varies: false, clusters: false, ..plain }
            }
        }
    }

    /// Draws a random case.
    pub fn draw(&self, random: &mut Random) -> Case {
        let mut shape = self.shape();
        if let Claim::Lopez = self {
            // The bound depends on the heaviest task, and is at half of the CPUs or above.
            shape.load = random.between(50, 90);
        } else if let Claim::Converged = self {
            shape.load = random.between(60, 99);
        }
        let mut case = draw::case(&shape, random);
        if let Claim::Lopez = self {
            fill_up_to_the_bound(&mut case.system);
        }
        case
    }

    /// Returns a case with a small change.
    pub fn change(&self, case: &Case, random: &mut Random) -> Case {
        draw::changed(case, &self.shape(), random)
    }

    /// Simulates a case.
    pub fn check(&self, case: &Case) -> Finding {
        match self {
            Claim::Bound(test) => within(test, case),
            Claim::Lopez => lopez(case),
            Claim::Converged => converged(case),
            Claim::Inversion => inversion(case),
        }
    }
}

fn simulated<R: Recorder>(case: &Case, policy: &str, until: Time, recorder: &mut R) -> bool {
    // The threshold is 1 instead of the default, because the claims are about the full capacity of the CPUs.
    let spec = if policy == "dl-sp" { "dl-sp:limit=1" } else { policy };
    let Ok(policy) = registry().build(spec, &case.system) else { return false };
    let options = SimOptions { seed: case.seed, ..SimOptions::until(until) };
    simulate(&case.system, policy, recorder, &options).expect("the horizon is in range");
    true
}

fn counters(case: &Case, policy: &str, until: Time) -> Option<Counters> {
    let system = &case.system;
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    simulated(case, policy, until, &mut counters).then_some(counters)
}

fn within(test: &BoundTest, case: &Case) -> Finding {
    let Ok(Tardiness::Bounded(bounds)) = test.run(&case.system) else { return Finding::Silent };
    let mut nearest: Option<Near> = None;
    for policy in &specs_of(test.algorithms) {
        let Some(counters) = counters(case, policy, draw::horizon(&case.system)) else { continue };
        for bound in bounds.values() {
            let seen = counters.task(bound.task);
            let late = Rate::whole(seen.max_tardiness.max(seen.overdue).ns());
            let name = &case.system.tasks[bound.task].name;
            if late > bound.tardiness {
                let bound = &bound.tardiness;
                return Finding::Broken(format!(
                    "{policy}: {name} is late by {late}, bound {bound}"
                ));
            }
            let ratio = if late == Rate::ZERO { Rate::ZERO } else { &late / &bound.tardiness };
            if nearest.as_ref().is_none_or(|near| ratio > near.ratio) {
                let place = format!(
                    "{policy}: {name} is late by {late} of {:.1}",
                    bound.tardiness.to_f64()
                );
                nearest = Some(Near { ratio, place });
            }
        }
    }
    nearest.map_or(Finding::Silent, Finding::Holds)
}

/// Shortens or adds tasks until the load is at the bound of Lopez et al., or just below it.
fn fill_up_to_the_bound(system: &mut System) {
    let cpus = system.platform.cpu_count();
    let mut tasks: Vec<_> = system.tasks.values().cloned().collect();
    let bound = |tasks: &[layland_model::Task]| {
        let u_max = tasks.iter().map(|task| task.utilization()).max().unwrap_or(Rate::ONE);
        let sum: Rate = tasks.iter().map(|task| task.utilization()).sum();
        (&lopez::utilization_bound(cpus, &u_max) - &sum, u_max)
    };
    while tasks.len() > 1 && bound(&tasks).0 < Rate::ZERO {
        tasks.pop();
    }
    loop {
        let (left, u_max) = bound(&tasks);
        let u = left.min(u_max);
        let wcet = (&u * &Rate::whole(draw::HYPERPERIOD)).floor().unwrap_or(0);
        if wcet < 1 || tasks.len() > 40 {
            break;
        }
        tasks.push(layland_model::Task {
            wcet: vec![layland_model::Service::from_ns(wcet)].into(),
            period: Duration::from_ns(draw::HYPERPERIOD),
            deadline: Duration::from_ns(draw::HYPERPERIOD),
            execution: layland_model::ExecutionModel::Wcet,
            name: format!("t{}", tasks.len()).into(),
            rank: tasks.len() as i64,
            ..tasks[0].clone()
        });
    }
    system.tasks = tasks.into();
}

fn lopez(case: &Case) -> Finding {
    let Ok(finding) = lopez::TEST.run(&case.system) else { return Finding::Silent };
    if finding.verdict != Verdict::Yes {
        return Finding::Silent;
    }
    let until = draw::horizon(&case.system);
    for policy in std::iter::once("p-edf:fit=ff").chain(ADAPTIVE) {
        let Some(counters) = counters(case, policy, until) else {
            return Finding::Broken(format!("{policy} refuses it"));
        };
        let missed = counters.total().missed;
        if missed > 0 {
            return Finding::Broken(format!("{policy}: {missed} misses"));
        }
    }
    let u_max = case.system.tasks.values().map(|task| task.utilization()).max();
    let bound =
        lopez::utilization_bound(case.system.platform.cpu_count(), &u_max.unwrap_or(Rate::ONE));
    let load = case.system.utilization().exact();
    let place = format!("load {:.3} of {:.3}, no miss", load.to_f64(), bound.to_f64());
    Finding::Holds(Near { ratio: &load / &bound, place })
}

/// Returns the time from which the actions of an adaptive partitioner before it found a partition
/// have no effect any more, if it found one. After the last move, the CPUs have to catch up.
fn settled(system: &System, trace: &Trace) -> Option<Time> {
    let mut at: TaskMap<CpuId> = TaskMap::filled(CpuId(0), system.tasks.len());
    let mut last = Time::ZERO;
    for mark in &trace.marks {
        if let MarkKind::Note(Note::Moved { task, to, .. }) = mark.kind {
            at[task] = to;
            last = mark.at;
        }
    }
    last = system.tasks.values().fold(last, |last, task| last.max(Time::ZERO + task.offset));
    let mut clean = last;
    for cpu in system.platform.cpus() {
        let here: Vec<_> =
            system.tasks.iter().filter(|(id, _)| at[*id] == cpu).map(|(_, task)| task).collect();
        let load: Rate = here.iter().map(|task| task.utilization()).sum();
        if load >= Rate::ONE {
            return None;
        }
        // The work that can have arrived until then, plus one job of each task, at the remaining rate.
        let work = here.iter().map(|task| {
            let jobs = last.since_start().div_floor(task.period) + 2;
            jobs * task.own_wcet().ns()
        });
        let work = Rate::whole(work.sum());
        let drain = (&work / &(&Rate::ONE - &load)).ceil()?;
        clean = clean.max(last + Duration::from_ns(drain));
    }
    Some(clean)
}

fn converged(case: &Case) -> Finding {
    let until = Time::from_ns(12 * draw::HYPERPERIOD);
    let mut nearest: Option<Near> = None;
    for policy in ADAPTIVE {
        let mut trace = Trace::default();
        if !simulated(case, policy, until, &mut trace) {
            continue;
        }
        let Some(clean) = settled(&case.system, &trace).filter(|&clean| clean < until) else {
            continue;
        };
        let late = trace
            .jobs
            .iter()
            .find(|record| record.job.release >= clean && record.missed(trace.over));
        if let Some(record) = late {
            let job = record.job.id;
            return Finding::Broken(format!(
                "{policy}: job {} of t{} misses after {clean}",
                job.seq, job.task.0
            ));
        }
        let any = trace.jobs.iter().any(|record| record.missed(trace.over));
        // A late convergence counts as near, because more can go wrong before it.
        let ratio = Rate::new(clean.ns(), until.ns());
        if nearest.as_ref().is_none_or(|near| ratio > near.ratio) {
            let before = if any { ", after misses" } else { "" };
            nearest = Some(Near { ratio, place: format!("{policy}: from {clean} on{before}") });
        }
    }
    nearest.map_or(Finding::Silent, Finding::Holds)
}

fn inversion(case: &Case) -> Finding {
    let c_max = case.system.tasks.values().map(|task| task.own_wcet().ns()).max().unwrap_or(1);
    let admitted = layland_analysis::deadline::admission::semi_partitioned(
        &case.system,
        &layland_analysis::deadline::admission::Limit::Share(Rate::ONE),
    );
    if !admitted.is_ok_and(|finding| finding.verdict == Verdict::Yes) {
        return Finding::Silent;
    }
    let mut trace = Trace::default();
    if !simulated(case, "dl-sp", draw::horizon(&case.system), &mut trace) {
        return Finding::Silent;
    }
    let Some(longest) = inversions::longest(&case.system, &trace) else { return Finding::Silent };
    let place = format!("{}", longest);
    if longest.length.ns() > c_max {
        return Finding::Broken(format!("{place}, C_max is {c_max}"));
    }
    Finding::Holds(Near { ratio: Rate::new(longest.length.ns(), c_max), place })
}
