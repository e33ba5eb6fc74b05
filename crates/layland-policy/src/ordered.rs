//! Scheduling by an order of jobs: by deadline (**EDF**), by period (**RM**), by relative deadline (**DM**)
//! or by given priorities (**FP**), each global, clustered and partitioned.
//!
//! Liu and Layland 1973 for EDF and rate-monotonic priorities on one CPU; Leung and Whitehead 1982 for
//! deadline-monotonic priorities; Dhall and Liu 1978 for the global and the partitioned form; Calandrino,
//! Anderson and Baumberger 2007 for the clustered one. The schedule is that of [`HighestFirst`]: see there
//! for ties and placement.

use crate::registry::{Citation, Options};
use crate::shell::{Grouped, Scope};
use crate::{HighestFirst, Refusal};
use layland_model::{Algorithm, Form, Order, System};

/// Dhall and Liu 1978.
pub const DHALL_LIU: Citation = Citation {
    key: "dhall1978real",
    text: "S. K. Dhall and C. L. Liu. On a real-time scheduling problem. Operations Research \
           26(1):127-140, 1978.",
    bibtex: "@article{dhall1978real,
  author  = {Sudarshan K. Dhall and C. L. Liu},
  title   = {On a Real-Time Scheduling Problem},
  journal = {Operations Research}, volume = {26}, number = {1}, pages = {127--140}, year = {1978}
}",
};

/// Calandrino, Anderson and Baumberger 2007.
pub const CALANDRINO: Citation = Citation {
    key: "calandrino2007hybrid",
    text: "J. M. Calandrino, J. H. Anderson and D. P. Baumberger. A hybrid real-time scheduling approach \
           for large-scale multicore platforms. ECRTS 2007, pages 247-258.",
    bibtex: "@inproceedings{calandrino2007hybrid,
  author    = {John M. Calandrino and James H. Anderson and Dan P. Baumberger},
  title     = {A Hybrid Real-Time Scheduling Approach for Large-Scale Multicore Platforms},
  booktitle = {19th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {247--258}, year = {2007}
}",
};

/// Leung and Whitehead 1982.
pub const LEUNG_WHITEHEAD: Citation = Citation {
    key: "leung1982complexity",
    text: "J. Y.-T. Leung and J. Whitehead. On the complexity of fixed-priority scheduling of periodic, \
           real-time tasks. Performance Evaluation 2(4):237-250, 1982.",
    bibtex: "@article{leung1982complexity,
  author  = {Joseph Y.-T. Leung and Jennifer Whitehead},
  title   = {On the Complexity of Fixed-Priority Scheduling of Periodic, Real-Time Tasks},
  journal = {Performance Evaluation}, volume = {2}, number = {4}, pages = {237--250}, year = {1982}
}",
};

/// The `m` ready jobs that come first run, on any CPU.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or a priority is missing.
pub fn global(
    order: Order,
    system: &System,
    options: &Options,
) -> Result<Grouped<HighestFirst>, Refusal> {
    let name = Algorithm::Ordered(Form::Global, order).to_string();
    Grouped::new(name, Scope::Global, order, system, options, HighestFirst::default())
}

/// Global within each cluster.
///
/// # Errors
/// If a task may not use every CPU of its cluster, `size` splits the CPUs into clusters that the
/// tasks do not fit, or a priority is missing.
pub fn clustered(
    order: Order,
    system: &System,
    options: &Options,
) -> Result<Grouped<HighestFirst>, Refusal> {
    let name = Algorithm::Ordered(Form::Clustered, order).to_string();
    Grouped::new(name, Scope::Clustered, order, system, options, HighestFirst::default())
}

/// Uniprocessor scheduling on each CPU; tasks are assigned before the start and never migrate.
///
/// # Errors
/// If the tasks cannot be packed, or a priority is missing.
pub fn partitioned(
    order: Order,
    system: &System,
    options: &Options,
) -> Result<Grouped<HighestFirst>, Refusal> {
    let name = Algorithm::Ordered(Form::Partitioned, order).to_string();
    Grouped::new(name, Scope::Partitioned, order, system, options, HighestFirst::default())
}
