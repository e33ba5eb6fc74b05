//! What is measured of each system: a policy or an analysis under comparison.

use layland_model::{Overheads, Preemption, System};

/// A policy or analysis under comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The name in the file.
    pub name: String,
    /// The name in figures.
    pub label: String,
    /// What is measured.
    pub measured: Measured,
    /// What a simulation is held against.
    pub bound: Option<SeriesBound>,
    /// Whether the drawn affinities are ignored, so that every task may use every CPU of its cluster.
    pub ignores_affinities: bool,
    /// Whether the drawn regions are ignored, so that every job may be preempted anywhere.
    pub ignores_regions: bool,
    /// What the machine spends besides the jobs, in place of what the systems say; nothing is replaced if none.
    pub overheads: Option<Overheads>,
}

/// What a series measures.
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

/// What a simulation is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesBound {
    /// The tardiness bound of this name.
    Tardiness(String),
    /// What `layland check` says of response times.
    Check,
}

impl SeriesBound {
    /// As the file says it.
    pub fn name(&self) -> &str {
        match self {
            SeriesBound::Tardiness(name) => name,
            SeriesBound::Check => "check",
        }
    }
}

impl Series {
    /// The system as the series sees it, if that is another one: without affinities or regions, with other overheads.
    pub(crate) fn seen(&self, system: &System) -> Option<System> {
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
