//! A series: a policy or an analysis that is measured on each system and compared with others.

use layland_model::{Overheads, Preemption, System};

/// A policy or analysis under comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The name in the file.
    pub name: String,
    /// The name in figures.
    pub label: String,
    /// The subject of the measurement.
    pub measured: Measured,
    /// The bound with which a simulation is compared.
    pub bound: Option<SeriesBound>,
    /// True if the drawn affinities are ignored, so that every task may use every CPU of its
    /// cluster.
    pub ignores_affinities: bool,
    /// True if the drawn regions are ignored, so that every job may be preempted anywhere.
    pub ignores_regions: bool,
    /// The overheads that replace those of the systems; `None` keeps those of the systems.
    pub overheads: Option<Overheads>,
}

/// The subject of the measurement of a series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measured {
    /// A policy `name:option=value`, simulated.
    Policy(String),
    /// A schedulability test of the catalogue, by name.
    Test(String),
    /// The verdict of `layland check` on a policy.
    Guarantee(String),
    /// The trees or hierarchies that RUN or QPS builds before the start, without a simulation.
    Structure(String),
}

/// The bound with which a simulation is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesBound {
    /// The tardiness bound of this name.
    Tardiness(String),
    /// The response-time bounds of `layland check`.
    Check,
}

impl SeriesBound {
    /// Its name in the file.
    pub fn name(&self) -> &str {
        match self {
            SeriesBound::Tardiness(name) => name,
            SeriesBound::Check => "check",
        }
    }
}

impl Series {
    /// The system as the series uses it, if it differs: without affinities or regions, or with
    /// other overheads.
    pub fn seen(&self, system: &System) -> Option<System> {
        let is_other = self.ignores_affinities || self.ignores_regions || self.overheads.is_some();
        is_other.then(|| {
            let mut seen = system.clone();
            if self.ignores_affinities {
                seen.tasks.values_mut().for_each(|task| task.affinity = None);
            }
            if self.ignores_regions {
                let anywhere = Preemption::Anywhere;
                seen.tasks.values_mut().for_each(|task| task.preemption = anywhere.clone());
            }
            if let Some(overheads) = &self.overheads {
                seen.platform.overheads = overheads.clone();
            }
            seen
        })
    }
}
