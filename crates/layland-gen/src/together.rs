//! Checks that the parts of a recipe can be combined.

use crate::{Arrivals, Caches, GenError, Recipe, Regions, Sections, Suspensions};
use layland_model::{Duration, Service};

impl Recipe {
    /// Checks graphs and steps, and their combination with the other parts.
    pub(crate) fn check_structure(&self) -> Result<(), GenError> {
        let levels = self.criticalities.is_some() || self.two_budgets.is_some();
        if let Some(graphs) = &self.graphs {
            graphs.check()?;
            if levels {
                return refuse(
                    "levels",
                    "nodes of graphs have one WCET: leave levels or graphs out",
                );
            }
            if self.min_wcet > Service::ZERO {
                return refuse("min_wcet", "nodes share a volume: leave it or graphs out");
            }
        }
        let steps = [
            ("sections", self.sections.as_ref().map(Sections::check)),
            ("suspensions", self.suspensions.as_ref().map(Suspensions::check)),
        ];
        for (name, checked) in steps {
            let Some(checked) = checked else { continue };
            checked?;
            if self.graphs.is_some() {
                return refuse(name, "nodes of graphs only execute: leave them or graphs out");
            }
            if levels {
                return refuse(name, "jobs with steps have one WCET: leave them or levels out");
            }
        }
        Ok(())
    }

    /// Checks regions and cache blocks, and their combination with the other parts.
    pub(crate) fn check_preemption(&self) -> Result<(), GenError> {
        let parts = [
            ("regions", self.regions.as_ref().map(Regions::check)),
            ("cache_sets", self.caches.as_ref().map(Caches::check)),
        ];
        for (name, checked) in parts {
            let Some(checked) = checked else { continue };
            checked?;
            if self.sections.is_some() || self.suspensions.is_some() {
                return refuse(
                    name,
                    "jobs with steps have none: leave out this, or sections and suspensions",
                );
            }
        }
        Ok(())
    }

    /// Checks bursts, and their combination with the other parts.
    pub(crate) fn check_bursts(&self, longest: Duration) -> Result<(), GenError> {
        let Some(bursts) = &self.bursts else { return Ok(()) };
        bursts.check(longest)?;
        if self.arrivals != Arrivals::Periodic {
            return refuse("bursts", "they say when jobs arrive: leave them or `arrivals` out");
        }
        if self.graphs.is_some() {
            return refuse("bursts", "graphs arrive without bursts: leave these or graphs out");
        }
        Ok(())
    }
}

/// Rejects a part of a recipe that cannot be combined with another one.
fn refuse(what: &'static str, help: &'static str) -> Result<(), GenError> {
    Err(GenError::parameter(what, "given", help))
}
