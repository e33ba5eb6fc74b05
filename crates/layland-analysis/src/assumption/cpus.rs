//! Assumptions of tests about CPUs, and about the CPUs that tasks may use.

use super::Assumption::{
    self, FewPairs, OneCluster, OneCpuEach, SemiPartitioned, TwoLevels, UnitSpeeds, WholeClusters,
};
use super::{PAIRS, Refusal, masks, pairs};
use layland_model::{CpuSet, Field, Rate, System, SystemPart};

impl Assumption {
    /// Checks that a valid system keeps an assumption about CPUs; every system keeps the other
    /// assumptions.
    #[expect(clippy::wildcard_enum_match_arm, reason = "`check` names every assumption")]
    pub(super) fn check_cpus(self, system: &System) -> Result<(), Refusal> {
        match self {
            UnitSpeeds => {
                match system.platform.speeds.iter().find(|(_, s)| s.rate() != Rate::ONE) {
                    None => Ok(()),
                    Some((cpu, speed)) => self.refuse(
                        SystemPart::Speed(cpu),
                        format!("CPU {cpu} has speed {speed}"),
                        "give every CPU speed 1 and scale the WCETs",
                    ),
                }
            }
            WholeClusters => self.each_task(
                system,
                Field::Affinity,
                &|id, _| {
                    let (allowed, cluster) = masks(system, id);
                    (allowed != cluster)
                        .then(|| format!("may use {allowed:#} of its cluster {cluster}"))
                },
                "leave out `affinity`, make it a cluster, or use the test for affinities",
            ),
            OneCluster => match &system.platform.clusters[..] {
                [only] if *only == system.platform.all_cpus() => Ok(()),
                _ => self.refuse(
                    SystemPart::Cluster(0),
                    "the platform is divided into clusters".to_owned(),
                    "leave out `clusters`, or analyse each one as a system",
                ),
            },
            OneCpuEach => self.each_task(
                system,
                Field::Affinity,
                &|id, _| {
                    let (allowed, _) = masks(system, id);
                    (allowed.len() != 1).then(|| format!("may use {allowed:#}"))
                },
                "give it an affinity to one CPU, or use a test for several CPUs",
            ),
            SemiPartitioned => self.each_task(
                system,
                Field::Affinity,
                &|id, _| {
                    let (allowed, cluster) = masks(system, id);
                    (allowed.len() != 1 && allowed != cluster)
                        .then(|| format!("may use {allowed:#} of its cluster {cluster}"))
                },
                "give it one CPU, or leave out `affinity`",
            ),
            FewPairs => match pairs(system) {
                ..=PAIRS => Ok(()),
                more => self.refuse(
                    SystemPart::Set,
                    format!(
                        "{more} pairs of tasks share CPUs, and the test compares up to {PAIRS}"
                    ),
                    "use a test that looks at each task alone (GFB, QPA, AC), or fewer tasks",
                ),
            },
            TwoLevels => {
                let all = system.platform.all_cpus();
                let small: Vec<CpuSet> = (system.tasks.ids())
                    .map(|task| system.allowed_cpus(task))
                    .filter(|mask| *mask != all)
                    .collect();
                let overlaps =
                    |mask: &CpuSet| small.iter().any(|s| s != mask && !s.is_disjoint(mask));
                self.each_task(
                    system,
                    Field::Affinity,
                    &|id, _| {
                        let mask = system.allowed_cpus(id);
                        (mask != all && overlaps(&mask))
                            .then(|| format!("may use {mask:#}, which another affinity shares"))
                    },
                    "use disjoint sets of CPUs, or all CPUs",
                )
            }
            _ => Ok(()),
        }
    }
}
