//! The structures that RUN and QPS build from a system before the start: the sizes of trees and
//! hierarchies.

use layland_model::{Algorithm, System};
use layland_policy::Registry;
use layland_policy::fair::{qps, run};

/// The trees of RUN, or the processor hierarchies of QPS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Structure {
    /// The number of levels of each: 1 if it is partitioned.
    pub levels: Vec<usize>,
}

impl Structure {
    /// The number of levels of the largest.
    pub(crate) fn largest(&self) -> usize {
        self.levels.iter().copied().max().unwrap_or(1)
    }

    /// The mean number of levels.
    pub(crate) fn mean(&self) -> f64 {
        let sum: usize = self.levels.iter().sum();
        sum as f64 / self.levels.len().max(1) as f64
    }
}

/// Returns true if an algorithm builds trees or hierarchies before the start.
pub(crate) fn has_structure(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::Run | Algorithm::Qps)
}

/// The structure that a policy, as `name:option=value`, builds from a valid system; `None` if it is
/// neither RUN nor QPS.
///
/// # Errors
/// Returns the reason if the policy refuses the system.
pub(crate) fn structure(
    registry: &Registry,
    spec: &str,
    system: &System,
) -> Result<Option<Structure>, String> {
    let (info, options) = registry.parse(spec).map_err(|error| error.to_string())?;
    let algorithm = info.algorithm(&options);
    let levels = if algorithm == Algorithm::Run {
        let (_, tree) = run::tree(system, &options).map_err(|error| error.to_string())?;
        let trees = tree.subsystems.iter().map(|subsystem| subsystem.reductions + 1);
        trees.chain(std::iter::repeat_n(1, tree.unused_processors)).collect()
    } else if algorithm == Algorithm::Qps {
        let (_, sets) = qps::sets(system, &options).map_err(|error| error.to_string())?;
        let levels = |cpus: &Vec<usize>| {
            1 + cpus.iter().map(|&cpu| sets.level(cpu)).max().unwrap_or_default()
        };
        sets.clusters().iter().map(levels).collect()
    } else {
        return Ok(None);
    };
    Ok(Some(Structure { levels }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service, Task};

    #[test]
    fn sizes_are_those_of_the_partitions() {
        let registry = Registry::standard();
        let task = |c| Task::implicit("t", Service::from_ms(c), Duration::from_ms(6));
        let system = System::new(4, vec![task(4), task(4), task(4), task(6), task(6)]);
        // Three tasks of 2/3 on two CPUs, and one CPU for each of the others.
        for policy in ["run", "qps"] {
            let found = structure(&registry, policy, &system).unwrap().unwrap();
            assert_eq!((found.largest(), found.levels.len()), (2, 3), "{policy}: {found:?}");
            assert!((found.mean() - 4.0 / 3.0).abs() < 1e-12);
        }
        // A CPU for each task, and one that stays idle.
        let system = System::new(4, vec![task(4), task(4), task(6)]);
        for policy in ["run", "qps"] {
            let found = structure(&registry, policy, &system).unwrap().unwrap();
            assert_eq!(found.levels, [1, 1, 1, 1], "{policy}");
        }
        assert_eq!(structure(&registry, "g-edf", &system), Ok(None));
    }
}
