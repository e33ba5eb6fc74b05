//! The systems of a point of an experiment.

use crate::experiment::{Cell, Experiment, Grid};
use crate::parameters::Source;
use crate::run::LabError;
use crate::shard::cell_seed;
use layland_model::System;
use layland_sim::SimError;

/// The random systems of a point, by their numbers.
pub struct Systems<'a> {
    grid: &'a Grid,
    cell: &'a Cell,
    /// The seed of the point.
    pub(crate) seed: u64,
    source: Source,
}

impl<'a> Systems<'a> {
    /// The systems of a point of this grid.
    ///
    /// # Errors
    /// Returns an error if no system can be drawn from the parameters.
    pub fn new(
        experiment: &Experiment,
        grid: &'a Grid,
        cell: &'a Cell,
    ) -> Result<Systems<'a>, LabError> {
        let seed = cell_seed(experiment.seed, &cell.parameters.line());
        let source = cell.parameters.source(seed);
        let source = source.map_err(|(_, reason)| failed(grid, cell, reason))?;
        Ok(Systems { grid, cell, seed, source })
    }

    /// Draws the system with this number.
    ///
    /// # Errors
    /// Returns an error if it cannot be drawn.
    pub fn draw(&self, number: u64) -> Result<System, LabError> {
        self.source.system(number).map_err(|reason| self.failed(reason))
    }

    /// The seed of the simulations of the system with this number: the same for every series, so
    /// that all of them see the same random draws.
    pub(crate) fn run_seed(&self, number: u64) -> u64 {
        cell_seed(self.seed, &number.to_string())
    }

    /// The error that no suitable system can be drawn, with the reason.
    pub fn failed(&self, reason: String) -> LabError {
        failed(self.grid, self.cell, reason)
    }

    /// The error that a system of the point cannot be simulated.
    pub fn not_simulated(&self, error: SimError) -> LabError {
        let (grid, parameters) = (self.grid.name.clone(), self.cell.parameters.line());
        LabError::Simulate { grid, parameters, error }
    }
}

fn failed(grid: &Grid, cell: &Cell, reason: String) -> LabError {
    LabError::Draw { grid: grid.name.clone(), parameters: cell.parameters.line(), reason }
}
