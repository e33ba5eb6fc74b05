//! The options for non-preemptive regions and cache blocks.

use crate::ui::values::time_of;
use clap::Args;
use layland_gen::{Caches, Regions, text};
use layland_model::{Duration, Rate};

#[derive(Args)]
pub(crate) struct PreemptionArgs {
    /// Where jobs are preempted: between segments:MIN..MAX alone, only after floating:MIN..MAX (a share of the
    /// WCET), or nowhere (whole)
    #[arg(long, value_name = "REGIONS", value_parser = text::regions)]
    #[arg(help_heading = "Preemption", conflicts_with_all = ["resources", "suspensions"])]
    pub regions: Option<Regions>,
    /// Tasks use a cache of so many sets: their jobs reload what others evict (Altmeyer, Davis and Maiza 2012)
    #[arg(long, value_name = "N", help_heading = "Preemption")]
    #[arg(conflicts_with_all = ["resources", "suspensions"])]
    pub cache_sets: Option<u32>,
    /// How many blocks all tasks use together, over the sets
    #[arg(long, value_name = "CU", default_value = "10", requires = "cache_sets")]
    #[arg(help_heading = "Preemption")]
    pub cache_utilization: Rate,
    /// Which share of the sets that a task uses has useful blocks
    #[arg(long, value_name = "MIN..MAX", value_parser = text::rates, default_value = "0..0.3")]
    #[arg(help_heading = "Preemption", requires = "cache_sets")]
    pub reuse: (Rate, Rate),
    /// How long a block takes to reload
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>, default_value = "8us")]
    #[arg(help_heading = "Preemption", requires = "cache_sets")]
    pub block_reload: Duration,
}

impl PreemptionArgs {
    pub(crate) fn caches(&self) -> Option<Caches> {
        self.cache_sets.map(|sets| Caches {
            sets,
            utilization: self.cache_utilization.clone(),
            reuse: self.reuse.clone(),
            block_reload_time: self.block_reload,
        })
    }
}
