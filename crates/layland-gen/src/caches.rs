//! Random cache blocks.
//!
//! The parameters and the defaults are those of the evaluation of Altmeyer,
//! Davis and Maiza (2012; RTSS 2011): 256 sets, a cache utilization of 10 that
//! UUniFast divides, a share of useful blocks up to a reuse factor of 0.3, and
//! 8 us to reload a block. The evicting blocks of a task begin in a random set.

use crate::parameters::{Reader, Writer};
use crate::rounding::{to_rate, uniform_rate};
use crate::{GenError, Random, UUniFast};
use layland_model::{CacheSets, CacheUse, Duration, Rate, System, TIME_LIMIT};
use std::sync::Arc;

/// A distribution of cache blocks.
///
/// UUniFast divides the cache utilization. A task with the part `u` has `b = max(1, floor(u sets))`
/// blocks. They lie in consecutive sets from a uniformly drawn one; the first set follows the last
/// one. If there are more blocks than sets, each set has at least one, and all sets are evicting.
///
/// With `e` evicting sets, `floor(x e)` of them are useful. These are consecutive as well, from a
/// uniformly drawn position among the evicting ones.
///
/// ```
/// use layland_gen::{Caches, Recipe, Utilizations};
/// use layland_model::Rate;
/// let caches = Some(Caches::new(256));
/// let utilizations = Utilizations::UUniFast { tasks: 10, total: Rate::new(1, 2) };
/// let system = Recipe { caches, ..Recipe::new(1, utilizations, 7) }.generate(0).unwrap();
/// assert_eq!(system.validate(), []);
/// for task in system.tasks.values() {
///     let cache = task.cache.as_ref().unwrap();
///     assert!(cache.ucb.len() <= cache.ecb.len() * 3 / 10);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caches {
    /// The number of sets of a cache: 1 to 65536.
    pub sets: u32,
    /// The number of blocks of all tasks, divided by that of the sets: above 0, up to 1000.
    pub utilization: Rate,
    /// The share `x` of the evicting sets of a task that are useful; uniform, 0 to 1.
    pub reuse: (Rate, Rate),
    /// The time to reload a block.
    pub block_reload_time: Duration,
}

impl Caches {
    /// Returns a cache utilization of 10, a reuse from 0 to 0.3, and 8 us to reload a block.
    pub fn new(sets: u32) -> Caches {
        Caches {
            sets,
            utilization: Rate::whole(10),
            reuse: (Rate::ZERO, Rate::new(3, 10)),
            block_reload_time: Duration::from_us(8),
        }
    }

    pub(crate) fn check(&self) -> Result<(), GenError> {
        if !(1..=CacheSets::MAX).contains(&(self.sets as usize)) {
            let help = "a cache has 1 to 65536 sets";
            return Err(GenError::parameter("cache_sets", self.sets, help));
        }
        if self.utilization <= Rate::ZERO || self.utilization > Rate::whole(1000) {
            let help = "blocks over sets are above 0, and at most 1000";
            return Err(GenError::parameter("cache_utilization", &self.utilization, help));
        }
        let (min, max) = &self.reuse;
        if *min < Rate::ZERO || min > max || *max > Rate::ONE {
            let help = "shares of the evicting sets are between 0 and 1, and in order";
            return Err(GenError::parameter("reuse", format!("{min}..{max}"), help));
        }
        if !(0..=TIME_LIMIT).contains(&self.block_reload_time.ns()) {
            let help = "it is 0s or longer, and at most about 36 years";
            return Err(GenError::parameter("block_reload", self.block_reload_time, help));
        }
        Ok(())
    }

    /// Draws the sets of every task, and sets the reload time of the platform.
    pub(crate) fn draw(&self, system: &mut System, random: &mut Random) {
        let sets = i64::from(self.sets);
        let of = |x: &Rate, whole: i64| (x * &Rate::whole(whole)).floor().expect("both are small");
        let parts = UUniFast::new(system.tasks.len(), self.utilization.to_f64()).sample(random);
        for (task, part) in system.tasks.values_mut().zip(parts) {
            let blocks = of(&to_rate(part), sets).max(1);
            let evicting = blocks.min(sets);
            let first = random.between(0, sets - 1);
            let useful = of(&uniform_rate(&self.reuse.0, &self.reuse.1, random), evicting);
            let first_useful = first + random.between(0, evicting - useful);
            let run = |first: i64, length: i64| -> CacheSets {
                (first..first + length).map(|set| (set % sets) as usize).collect()
            };
            let (ucb, ecb) = (run(first_useful, useful), run(first, evicting));
            task.cache = Some(Arc::new(CacheUse { ucb, ecb }));
        }
        system.platform.overheads.block_reload_time = self.block_reload_time;
    }

    pub(crate) fn write(&self, to: &mut Writer) {
        to.put("caches.sets", self.sets);
        to.put("caches.utilization", &self.utilization);
        to.put_list("caches.reuse", &[&self.reuse.0, &self.reuse.1]);
        to.put("caches.block_reload_time", self.block_reload_time);
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Option<Caches>, GenError> {
        if from.find::<String>("caches.sets")?.is_none() {
            return Ok(None);
        }
        let mut from = from.part("caches");
        Ok(Some(Caches {
            sets: from.get("sets")?,
            utilization: from.get("utilization")?,
            reuse: from.pair("reuse")?,
            block_reload_time: from.get("block_reload_time")?,
        }))
    }
}
