//! The bounds of this module by the names under which they are printed.

use super::citations::{DAVARE, DUERR, GUENZEL};
use crate::{Citation, TestKind};

/// A bound on the latencies of chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainAnalysis {
    /// A short name, for tables.
    pub name: &'static str,
    /// The title, in one line.
    pub title: &'static str,
    /// [`TestKind::Exact`] if the bound is reached.
    pub kind: TestKind,
    /// The bound and its conditions, in sentences.
    pub text: &'static str,
    /// The publications to cite.
    pub citations: &'static [&'static Citation],
}

impl ChainAnalysis {
    /// [`let_exact`](super::let_exact).
    pub const LET: ChainAnalysis = ChainAnalysis {
        name: "LET",
        title: "latencies of chains under logical execution time, over a hyperperiod",
        kind: TestKind::Exact,
        text: "Jobs read when they are released and write after their `let_interval`, so that the instants alone decide. \
               It follows the data of every job in a hyperperiod of the chain, up to a million jobs. Assumes: (1) \
               periodic tasks for ever, (2) jobs are released when they arrive, (3) every job ends before it writes.",
        citations: &[&GUENZEL],
    };

    /// [`let_bound`](super::let_bound).
    pub const LET_WAITS: ChainAnalysis = ChainAnalysis {
        name: "LET waits",
        title: "latencies of chains under logical execution time, without a hyperperiod",
        kind: TestKind::Sufficient,
        text: "The sum of the longest times from each write until the next task reads the data. The wait of \
               each pair is exact, but the longest ones need not come together. It is asked where a hyperperiod has \
               more than a million jobs, and assumes what LET does.",
        citations: &[],
    };

    /// [`davare`](super::davare).
    pub const DAVARE: ChainAnalysis = ChainAnalysis {
        name: "Davare",
        title: "latencies of chains: the sum of periods and response bounds",
        kind: TestKind::Sufficient,
        text: "Each task adds its period, as data may just have missed it, and its response bound. It is for implicit \
               communication: a job reads when it starts and writes when it ends. Assumes: (1) periodic tasks for \
               ever, (2) every job ends within a response bound that is no longer than its period.",
        citations: &[&DAVARE],
    };

    /// [`implicit_bound`](super::implicit_bound).
    pub const DUERR: ChainAnalysis = ChainAnalysis {
        name: "Duerr",
        title: "latencies of chains, where a writer lets no reader start before it ends",
        kind: TestKind::Sufficient,
        text: "As Davare, without the response bound of a writer that has a higher fixed priority than its reader on the \
               same CPU: there no reader starts while the writer is pending. It is named where that makes the bound \
               smaller. The proof is in `crates/layland-analysis/src/chains/implicit.rs`.",
        citations: &[&DUERR, &DAVARE],
    };

    /// All analyses of chains.
    pub const ALL: [ChainAnalysis; 4] =
        [ChainAnalysis::LET, ChainAnalysis::LET_WAITS, ChainAnalysis::DAVARE, ChainAnalysis::DUERR];
}
