//! Checks of the promises of optimal policies: random systems that fully use their CPUs ([`draw`])
//! are simulated and checked ([`Claim`]). The slow twins are [`slow_run`] and [`slow_qps`], which
//! evaluate the whole tree with exact fractions at every decision, [`slow_pd2`], which applies the
//! definitions slot by slot, and [`slow_wrap`], [`slow_planes`] and [`slow_lanes`], which work
//! nanosecond by nanosecond.

pub mod draw;
mod slow;
pub mod slow_lanes;
pub mod slow_pd2;
pub mod slow_planes;
pub mod slow_qps;
pub mod slow_run;
pub mod slow_wrap;

use crate::registry;
use draw::Drawn;
use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{System, Time};
use layland_policy::fair::run;
use layland_sim::{SimOptions, simulate};
use layland_trace::{Both, Counters, Trace};
use rayon::prelude::*;

/// A claim: a policy never misses a deadline of the systems that it accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name.
    pub name: &'static str,
    /// The policy.
    pub policy: &'static str,
    /// The systems.
    pub about: SystemKind,
}

/// A kind of systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemKind {
    /// Periodic tasks.
    Periodic,
    /// Sporadic tasks.
    Sporadic,
    /// Periodic tasks whose times are a few slots of a nanosecond each.
    PeriodicSlots,
    /// Sporadic tasks whose times are a few slots of a nanosecond each.
    SporadicSlots,
}

/// All claims.
pub const CLAIMS: [Claim; 15] = [
    Claim { name: "run", policy: "run", about: SystemKind::Periodic },
    Claim { name: "stay", policy: "qps:master=stay", about: SystemKind::Periodic },
    Claim { name: "edf", policy: "qps:master=edf", about: SystemKind::Periodic },
    Claim { name: "sporadic-stay", policy: "qps:master=stay", about: SystemKind::Sporadic },
    Claim { name: "sporadic-edf", policy: "qps:master=edf", about: SystemKind::Sporadic },
    Claim { name: "dp-wrap", policy: "dp-wrap", about: SystemKind::Periodic },
    Claim { name: "dp-wrap-plain", policy: "dp-wrap:mirror=off", about: SystemKind::Periodic },
    Claim { name: "lre-tl", policy: "lre-tl", about: SystemKind::Periodic },
    Claim { name: "sporadic-lre-tl", policy: "lre-tl", about: SystemKind::Sporadic },
    Claim { name: "u-edf", policy: "u-edf", about: SystemKind::Periodic },
    Claim { name: "sporadic-u-edf", policy: "u-edf", about: SystemKind::Sporadic },
    Claim { name: "pd2", policy: "pd2:quantum=1ns", about: SystemKind::PeriodicSlots },
    Claim { name: "er-pd2", policy: "er-pd2:quantum=1ns", about: SystemKind::PeriodicSlots },
    Claim { name: "sporadic-pd2", policy: "pd2:quantum=1ns", about: SystemKind::SporadicSlots },
    Claim {
        name: "sporadic-er-pd2",
        policy: "er-pd2:quantum=1ns",
        about: SystemKind::SporadicSlots,
    },
];

/// The results of one system, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCounts {
    /// The number of systems.
    pub systems: u64,
    /// The number of systems whose rates, as rounded by the policy, sum to exactly the number of CPUs.
    pub full: u64,
    /// The number of jobs.
    pub jobs: u64,
    /// The number of preemptions of these jobs.
    pub preemptions: u64,
    /// The number of migrations of these jobs.
    pub migrations: u64,
}

impl SystemCounts {
    fn and(self, other: SystemCounts) -> SystemCounts {
        SystemCounts {
            systems: self.systems + other.systems,
            full: self.full + other.full,
            jobs: self.jobs + other.jobs,
            preemptions: self.preemptions + other.preemptions,
            migrations: self.migrations + other.migrations,
        }
    }
}

/// The first system that breaks a claim.
#[derive(Clone, Debug)]
pub struct BrokenSystem {
    /// A description of the error.
    pub how: String,
    /// The system.
    pub system: System,
    /// The end of the simulation.
    pub until: Time,
    /// The seed of the simulation.
    pub seed: u64,
}

impl Claim {
    /// Checks the claim on one system.
    ///
    /// # Errors
    /// A description of the error.
    pub fn check(&self, system: &System, until: Time, seed: u64) -> Result<SystemCounts, String> {
        let policy = registry().build(self.policy, system).map_err(|error| error.to_string())?;
        let rule = policy.rule();
        let counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let mut both = Both(Trace::default(), counters);
        let options = SimOptions { seed, ..SimOptions::until(until) };
        simulate(system, policy, &mut both, &options).map_err(|error| error.to_string())?;
        let Both(trace, counters) = both;
        let report = check(&trace, system, &rule, 3);
        if !report.is_clean() {
            return Err(report.to_string());
        }
        let total = counters.total();
        if total.missed > 0 {
            return Err(format!("{} deadlines are missed", total.missed));
        }
        let cpus = system.platform.cpu_count() as i64;
        let total_rate = match self.about {
            SystemKind::Periodic | SystemKind::Sporadic => {
                layland_offline::RateGrid::of(system).expect("the policy was built").total()
            }
            SystemKind::PeriodicSlots | SystemKind::SporadicSlots => {
                system.tasks.values().map(layland_model::Task::utilization).sum()
            }
        };
        let seen = SystemCounts {
            systems: 1,
            full: u64::from(total_rate == layland_model::Rate::whole(cpus)),
            jobs: total.released,
            preemptions: total.preemptions,
            migrations: total.migrations_within_jobs,
        };
        if self.policy == "run" && draw::is_synchronous(system) {
            let (_, options) = registry().parse(self.policy).expect("it was built");
            let (_, tree) = run::tree(system, &options).expect("it was built");
            if total.preemptions > tree.preemption_bound() as u64 * total.released {
                return Err(format!(
                    "{} preemptions of {} jobs with {} reductions",
                    total.preemptions,
                    total.released,
                    tree.reductions()
                ));
            }
        }
        if draw::is_full(system) {
            let busy: i64 =
                trace.segments.iter().map(|segment| (segment.end - segment.start).ns()).sum();
            if busy != cpus * until.ns() {
                return Err(format!("the CPUs are busy for {busy} ns of {cpus} x {}", until.ns()));
            }
        }
        Ok(seen)
    }

    /// Draws the system of a seed and a number.
    pub fn draw(&self, seed: u64, index: u64) -> Drawn {
        let mut random = Random::new(seed, index, Aspect::Utilizations);
        match self.about {
            SystemKind::Periodic => draw::periodic(&mut random),
            SystemKind::Sporadic => draw::sporadic(&mut random),
            SystemKind::PeriodicSlots => draw::in_slots(&mut random, false),
            SystemKind::SporadicSlots => draw::in_slots(&mut random, true),
        }
    }

    /// Checks the claim on many systems. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// The first system that breaks the claim.
    pub fn explore(
        &self,
        cases: u64,
        seed: u64,
        progress: impl Fn(u64),
    ) -> Result<SystemCounts, Box<BrokenSystem>> {
        const BATCH: u64 = 500;
        let mut seen = SystemCounts::default();
        for first in (0..cases).step_by(BATCH as usize) {
            let batch: Vec<Result<SystemCounts, Box<BrokenSystem>>> = (first
                ..cases.min(first + BATCH))
                .into_par_iter()
                .map(|index| {
                    let Drawn { system, until } = self.draw(seed, index);
                    self.check(&system, until, index)
                        .map_err(|how| Box::new(BrokenSystem { how, system, until, seed: index }))
                })
                .collect();
            for one in batch {
                seen = seen.and(one?);
            }
            progress(seen.systems);
        }
        Ok(seen)
    }
}
