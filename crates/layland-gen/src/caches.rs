//! Cache blocks that are drawn.
//!
//! The evaluation of Altmeyer, Davis and Maiza (2012; RTSS 2011) has these parameters and these defaults: 256 sets, a
//! cache utilization of 10 that UUniFast parts, a share of useful blocks up to a reuse factor of 0.3, and 8 us to
//! reload a block. The evicting blocks of a task begin in a random set.

use crate::parameters::{Reader, Writer};
use crate::rounding::{to_rate, uniform_rate};
use crate::{GenError, Random, UUniFast};
use layland_model::{CacheSets, CacheUse, Duration, Rate, System, TIME_LIMIT};
use std::sync::Arc;

/// How cache blocks are drawn.
///
/// UUniFast parts the cache utilization. A task with the part `u` has `b = max(1, floor(u sets))` blocks. They lie in
/// sets one after the other, from a uniform one; after the last set comes the first one. Of more blocks than sets each
/// set has one at least, and all sets are evicting.
///
/// With `e` evicting sets, `floor(x e)` of them are useful. These lie one after the other as well, from a place among
/// the evicting ones that is uniform.
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
    /// How many sets a cache has: 1 to 65536.
    pub sets: u32,
    /// The blocks of all tasks, over the sets: above 0, up to 1000.
    pub utilization: Rate,
    /// `x`: the share of the evicting sets of a task that is useful; uniform, 0 to 1.
    pub reuse: (Rate, Rate),
    /// How long a block takes to reload.
    pub block_reload_time: Duration,
}

impl Caches {
    /// So many sets, a cache utilization of 10, a reuse from 0 to 0.3, and 8 us to reload a block.
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

    /// Gives every task its sets, and the platform the time to reload a block.
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
