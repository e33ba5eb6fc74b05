//! `SCHED_DEADLINE`: who is admitted ([`admission`]), and how late it can get ([`tardiness`]).

pub mod admission;
pub mod tardiness;

use crate::Citation;

/// Tang, Anderson and Abeni 2021.
pub const TANG: Citation = Citation {
    key: "tang2021defectiveness",
    text: "S. Tang, J. H. Anderson and L. Abeni. On the defectiveness of SCHED_DEADLINE w.r.t. \
           tardiness and affinities, and a partial fix. RTNS 2021.",
    bibtex: "@inproceedings{tang2021defectiveness,
  author    = {Stephen Tang and James H. Anderson and Luca Abeni},
  title     = {On the Defectiveness of {SCHED\\_DEADLINE} w.r.t. Tardiness and Affinities, and a Partial Fix},
  booktitle = {29th International Conference on Real-Time Networks and Systems (RTNS)}, year = {2021}
}",
};
