//! Adaptive partitioning: EDF on each CPU, with threads that move to another CPU only while theirs
//! is overloaded.
//!
//! [`apedf`] places threads at the arrivals of their jobs; [`a2pedf`] also lets a CPU that runs out of
//! work take a waiting one.

pub mod a2pedf;
pub mod apedf;

use crate::registry::{Citation, OptionInfo, Values};

/// Stevanato et al. 2021.
pub const STEVANATO: Citation = Citation {
    key: "stevanato2021adaptive",
    text: "A. Stevanato, T. Cucinotta, L. Abeni and D. Bristot de Oliveira. An evaluation of adaptive \
           partitioning of real-time workloads on Linux. ISORC 2021, pages 53-61.",
    bibtex: "@inproceedings{stevanato2021adaptive,
  author    = {Andrea Stevanato and Tommaso Cucinotta and Luca Abeni and Daniel {Bristot de Oliveira}},
  title     = {An Evaluation of Adaptive Partitioning of Real-Time Workloads on {Linux}},
  booktitle = {24th IEEE International Symposium on Real-Time Distributed Computing (ISORC)},
  pages     = {53--61}, year = {2021}
}",
};

pub(crate) const FALLBACK: OptionInfo = OptionInfo {
    name: "fallback",
    help: "on (default): a job that fits on no CPU preempts the latest deadline; off: it stays where it is",
    values: Values::Switch,
};
