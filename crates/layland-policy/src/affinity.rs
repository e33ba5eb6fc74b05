//! Scheduling with processor affinities: each task has a set of CPUs (its *mask*) on which it may
//! run, and a priority, from its deadline or fixed.
//!
//! - [`weak`]: a task that waits finds every CPU of its mask busy with something more important.
//!   What push and pull between run queues gives;
//! - [`strong`]: the same for every CPU that could be freed for it by *shifting* others within
//!   their masks. For any masks;
//! - [`hierarchical`]: strong scheduling of masks that are nested or disjoint (*laminar*), in less time.
//!
//! All three are one policy (`affine.rs`) around a rule that matches tasks to CPUs (`matcher.rs`). In
//! the order of (key, rank, task) no two jobs are equal, so the *set* of tasks that strong scheduling
//! runs is unique: taken in that order, every task that can still be matched to a CPU along with those
//! taken before. Where they run is decided by the rules of each file.

mod affine;
mod backlog;
mod bits;
mod ground;
pub mod hierarchical;
mod hierarchy;
mod laminar;
mod matcher;
pub mod strong;
pub mod weak;

use crate::registry::{Citation, OptionInfo, Values};

/// Cerqueira, Gujarati and Brandenburg 2014.
pub const CERQUEIRA: Citation = Citation {
    key: "cerqueira2014linux",
    text: "F. Cerqueira, A. Gujarati and B. Brandenburg. Linux's processor affinity API, refined: \
           shifting real-time tasks towards higher schedulability. RTSS 2014, pages 249-259.",
    bibtex: "@inproceedings{cerqueira2014linux,
  author    = {Felipe Cerqueira and Arpan Gujarati and Bj{\\\"o}rn B. Brandenburg},
  title     = {Linux's Processor Affinity {API}, Refined: Shifting Real-Time Tasks Towards Higher Schedulability},
  booktitle = {35th IEEE Real-Time Systems Symposium (RTSS)}, pages = {249--259}, year = {2014}
}",
};

pub(crate) const ASSIGN: OptionInfo = OptionInfo {
    name: "assign",
    help: "where the tasks that are chosen run: local (default), where they ran last if possible; plain, \
           on the lowest CPUs",
    values: Values::OneOf(&["local", "plain"]),
};
