//! Random criticality levels.

use crate::parameters::{Reader, Writer};
use crate::rounding::{share, uniform_rate};
use crate::{GenError, Random};
use layland_model::{Criticality, Duration, Rate, Service, Task};

/// A distribution of criticality levels and their execution times.
///
/// The drawn utilization is that of the lowest level, `C_0 / T`. A task of level `l` has
/// `C_k = floor(f C_{k-1})` for `k` from 1 to `l`, rounded down to a granule, with a factor `f`
/// drawn for each; above its own level it keeps the execution time of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criticalities {
    /// The names of the levels, low to high: two or more.
    pub levels: Vec<String>,
    /// The probability of each level, in the same order; they sum to 1.
    pub probabilities: Vec<Rate>,
    /// The least factor, at least 1.
    pub min_factor: Rate,
    /// The largest factor; `f` is uniform on `[min_factor, max_factor]`.
    pub max_factor: Rate,
    /// True if execution times are limited to the period, rounded
    /// down to a granule, but not below the time of the level before.
    pub capped: bool,
}

impl Criticalities {
    /// Returns two levels, LO and HI: a task is HI with the given probability, and then has
    /// `factor` times the execution time; not capped.
    pub fn dual(probability: Rate, factor: Rate) -> Criticalities {
        Criticalities {
            levels: vec!["LO".to_owned(), "HI".to_owned()],
            probabilities: vec![&Rate::ONE - &probability, probability],
            min_factor: factor.clone(),
            max_factor: factor,
            capped: false,
        }
    }

    pub(crate) fn check(&self) -> Result<(), GenError> {
        let names_ok =
            self.levels.iter().all(|name| !name.is_empty() && !name.contains(char::is_whitespace));
        if !(2..=255).contains(&self.levels.len()) || !names_ok {
            let help = "name two levels or more, without spaces, low to high";
            return Err(GenError::parameter("levels", self.levels.join(" "), help));
        }
        let sum: Rate = self.probabilities.iter().cloned().sum();
        let negative = self.probabilities.iter().any(|p| *p < Rate::ZERO);
        if self.probabilities.len() != self.levels.len() || negative || sum != Rate::ONE {
            let help = "give one probability per level; they sum to 1";
            return Err(GenError::parameter("probabilities", sum, help));
        }
        if self.min_factor < Rate::ONE
            || self.min_factor > self.max_factor
            || self.max_factor > Rate::whole(1000)
        {
            let value = format!("{} to {}", self.min_factor, self.max_factor);
            let help = "factors are 1 at least, 1000 at most, and in order";
            return Err(GenError::parameter("factor", value, help));
        }
        Ok(())
    }

    /// Draws the level of a task with the execution time of the lowest level, and its other times.
    pub(crate) fn draw(&self, task: &mut Task, granule: Duration, random: &mut Random) {
        let drawn = uniform_rate(&Rate::ZERO, &Rate::ONE, random);
        let mut sum = Rate::ZERO;
        let mut level = 0;
        for (at, probability) in self.probabilities.iter().enumerate() {
            sum = &sum + probability;
            // `drawn` may equal 1. The last possible level
            // is then taken, and never one of probability 0.
            if *probability > Rate::ZERO {
                level = at;
                if drawn < sum {
                    break;
                }
            }
        }
        for at in 1..self.levels.len() {
            let below = task.wcet[at - 1];
            let factor = uniform_rate(&self.min_factor, &self.max_factor, random);
            task.wcet.push(if at > level {
                below
            } else {
                let grown = share(&factor, below.at_unit_speed(), granule).at_unit_speed();
                let whole = share(&Rate::ONE, task.period, granule).at_unit_speed();
                let cap = if self.capped { whole } else { Service::MAX };
                grown.min(cap).max(below)
            });
        }
        task.criticality = Criticality(level as u8);
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.put_list("criticality.levels", &self.levels);
        to.put_list("criticality.probabilities", &self.probabilities);
        to.put("criticality.min_factor", &self.min_factor);
        to.put("criticality.max_factor", &self.max_factor);
        to.put("criticality.capped", self.capped);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Option<Criticalities>, GenError> {
        if from.find::<String>("criticality.levels")?.is_none() {
            return Ok(None);
        }
        let mut from = from.part("criticality");
        Ok(Some(Criticalities {
            levels: from.list("levels")?,
            probabilities: from.list("probabilities")?,
            min_factor: from.get("min_factor")?,
            max_factor: from.get("max_factor")?,
            capped: from.get("capped")?,
        }))
    }
}
