//! The options for non-preemptive regions and cache blocks.

use crate::ui::numbers::whole;
use clap::Args;
use layland_answers::values::time_of;
use layland_gen::{Caches, Regions, text};
use layland_model::{Duration, Rate};

#[derive(Args)]
pub(crate) struct PreemptionArgs {
    /// The points at which jobs are preempted: only between segments:MIN..MAX, only after floating:MIN..MAX (a
    /// share of the WCET), or nowhere (whole)
    #[arg(long, value_name = "REGIONS", value_parser = text::regions)]
    #[arg(help_heading = "Preemption", conflicts_with_all = ["resources", "suspensions"])]
    #[arg(hide_short_help = true)]
    pub regions: Option<Regions>,
    /// The number of sets of a cache: jobs reload blocks that others evict (Altmeyer, Davis and Maiza 2012)
    #[arg(long, value_name = "N", help_heading = "Preemption")]
    #[arg(conflicts_with_all = ["resources", "suspensions"])]
    #[arg(hide_short_help = true, value_parser = whole::<0, { u32::MAX as u64 }>)]
    pub cache_sets: Option<u32>,
    /// The number of blocks that all tasks use together, divided by the number of sets
    #[arg(long, value_name = "CU", default_value = "10", requires = "cache_sets")]
    #[arg(help_heading = "Preemption")]
    #[arg(hide_short_help = true)]
    pub cache_utilization: Rate,
    /// The fraction of a task's sets that have useful blocks
    #[arg(long, value_name = "MIN..MAX", value_parser = text::rates, default_value = "0..0.3")]
    #[arg(help_heading = "Preemption", requires = "cache_sets")]
    #[arg(hide_short_help = true)]
    pub reuse: (Rate, Rate),
    /// The time to reload a block
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>, default_value = "8us")]
    #[arg(help_heading = "Preemption", requires = "cache_sets")]
    #[arg(hide_short_help = true)]
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
