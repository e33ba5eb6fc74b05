//! Earliest deadline first on several CPUs: global (**G-EDF**), clustered (**C-EDF**), partitioned
//! (**P-EDF**).
//!
//! Liu and Layland 1973 for one CPU; Dhall and Liu 1978 for the global and the partitioned form;
//! Calandrino, Anderson and Baumberger 2007 for the clustered one. The schedule is that of
//! [`HighestFirst`] with the absolute deadline as the key: see there for ties and placement.

use crate::highest_first::{HighestFirst, Key, Scope};
use crate::registry::{Citation, Options};
use crate::{Refusal, groups};
use layland_model::System;

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

/// **G-EDF**: the `m` ready jobs with the earliest deadlines run, on any CPU.
///
/// # Errors
/// If the system has several clusters, or a task may not use every CPU.
pub fn global(system: &System, _options: &Options) -> Result<HighestFirst, Refusal> {
    Ok(HighestFirst::new(
        "g-edf",
        Scope::Global,
        Key::Deadline,
        system,
        &groups::global("g-edf", system)?,
    ))
}

/// **C-EDF**: G-EDF within each cluster.
///
/// # Errors
/// If a task may not use every CPU of its cluster, or `size` splits the CPUs into clusters that the
/// tasks do not fit.
pub fn clustered(system: &System, options: &Options) -> Result<HighestFirst, Refusal> {
    let groups = groups::clustered("c-edf", system, options)?;
    Ok(HighestFirst::new("c-edf", Scope::Clustered, Key::Deadline, system, &groups))
}

/// **P-EDF**: uniprocessor EDF on each CPU; tasks are assigned before the start and never migrate.
///
/// # Errors
/// If the tasks cannot be packed.
pub fn partitioned(system: &System, options: &Options) -> Result<HighestFirst, Refusal> {
    let groups = groups::partitioned("p-edf", system, options)?;
    Ok(HighestFirst::new("p-edf", Scope::Partitioned, Key::Deadline, system, &groups))
}
