//! Bounds on the response time of one instance of a DAG task on `m` CPUs of its own.
//!
//! Assumptions: (1) no CPU idles while a node is ready; (2) preemptions, if any, and all ends are
//! at whole times; (3) nodes execute for whole times between 0 and their WCETs; (4) instances do
//! not overlap: the bound is at most the period. `order` and `order-chains` also assume: (5) the
//! ready nodes that run are the first ones by (rank, index), preemptively. All are sufficient.
//!
//! Proof: from the last node to end, go back to the predecessor that ended last, and so on to a
//! source. Whenever a node of this path `p` is ready and does not run, all `m` CPUs run nodes that
//! come neither before nor after it. If `X` is the total time of this waiting, the response time is
//! at most `len(p) + X`, and `m X` is at most the work `I(p)` of such nodes.
//!
//! | kind | bound |
//! |---|---|
//! | `graham` | `L + floor((C - L) / m)` (Graham 1969) |
//! | `path` | the largest `len(p) + floor(vol(I(p)) / m)` of all paths `p` from a source to a sink |
//! | `order` | as `path`, but `I(v)` has only nodes that precede `v` in the order (as He et al. 2019) |
//! | `chains` | `len(p) + X`, where a chain of [`Dag::long_chains`] takes one CPU at a time: `X` is the largest with `m X <= sum over the chains c of min(X, vol(c and I(p)))` |
//! | `order-chains` | `order` and `chains` together |
//! | `long` | the least `L + floor((C - len(c_0) - .. - len(c_j)) / (m - j))`, `j < m` (He et al. 2022) |
//!
//! The bounds use floors because times are whole. `long` is not monotone in the WCETs; the others
//! are.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::Dag;
use layland_model::Citation;

/// He, Guan, Lv, Jiang and Chang 2022.
pub const HE: Citation = Citation {
    key: "he2022bounding",
    text: "Q. He, N. Guan, M. Lv, X. Jiang and W. Chang. Bounding the response time of DAG tasks using long paths. RTSS \
           2022, pages 474-486.",
    bibtex: "@inproceedings{he2022bounding,
  author    = {Qingqiang He and Nan Guan and Mingsong Lv and Xu Jiang and Wanli Chang},
  title     = {Bounding the Response Time of {DAG} Tasks Using Long Paths},
  booktitle = {43rd IEEE Real-Time Systems Symposium (RTSS)}, pages = {474--486}, year = {2022}
}",
};

/// The maximum number of paths that are followed. A DAG with more paths has no bound of the kinds
/// that follow them.
pub const PATHS: u64 = 200_000;

/// A way to bound the response time of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoundKind {
    /// Graham 1969.
    Graham,
    /// He et al. 2022: several long chains.
    Long,
    /// Every path, with the nodes that may delay it.
    Path,
    /// Every path, with the nodes that may delay it by their order.
    Order,
    /// Every path, where each chain takes one CPU.
    Chains,
    /// `Order` and `Chains` together.
    OrderChains,
}

impl BoundKind {
    /// Every kind.
    pub const ALL: [BoundKind; 6] = [
        BoundKind::Graham,
        BoundKind::Long,
        BoundKind::Path,
        BoundKind::Order,
        BoundKind::Chains,
        BoundKind::OrderChains,
    ];

    /// Returns the name that options use.
    pub const fn name(self) -> &'static str {
        match self {
            BoundKind::Graham => "graham",
            BoundKind::Long => "long",
            BoundKind::Path => "path",
            BoundKind::Order => "order",
            BoundKind::Chains => "chains",
            BoundKind::OrderChains => "order-chains",
        }
    }

    const fn is_ordered(self) -> bool {
        matches!(self, BoundKind::Order | BoundKind::OrderChains)
    }

    const fn has_chains(self) -> bool {
        matches!(self, BoundKind::Chains | BoundKind::OrderChains)
    }
}

impl Dag {
    /// Returns a bound on the time from the release of an instance to the end of its last node on
    /// `cpus` CPUs of its own, or `None` if the kind follows paths and there are more than
    /// [`PATHS`].
    ///
    /// ```
    /// use layland_offline::graph::{BoundKind, Dag};
    /// let dag = Dag::new(&[1, 4, 3, 3, 1], &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]).unwrap();
    /// assert_eq!(dag.bound(BoundKind::Graham, 2), Some(9));
    /// assert_eq!(dag.bound(BoundKind::Order, 2), Some(8));
    /// ```
    ///
    /// # Panics
    /// Panics if `cpus` is 0.
    pub fn bound(&self, kind: BoundKind, cpus: usize) -> Option<i64> {
        assert!(cpus > 0, "something has to run it");
        let (m, C, L) = (cpus as i64, self.volume(), self.length());
        match kind {
            BoundKind::Graham => Some(L + (C - L) / m),
            BoundKind::Long => {
                let mut rest = C;
                let chains = self.long_chains();
                let each = chains.iter().zip(0..m).map(|(chain, j)| {
                    rest -= chain.iter().map(|&v| self.work[v]).sum::<i64>();
                    L + rest / (m - j)
                });
                each.min()
            }
            BoundKind::Path | BoundKind::Order | BoundKind::Chains | BoundKind::OrderChains => {
                (self.paths() <= PATHS).then(|| Walk::new(self, kind, m).largest())
            }
        }
    }

    /// Returns the number of paths from a source to a sink, saturating.
    fn paths(&self) -> u64 {
        let mut from = vec![0u64; self.work.len()];
        for &v in self.topo.iter().rev() {
            from[v] = self.after[v].iter().fold(0u64, |sum, &w| sum.saturating_add(from[w]));
            from[v] = from[v].max(1);
        }
        let sources = (0..from.len()).filter(|&v| self.is_source[v]);
        sources.fold(0u64, |sum, v| sum.saturating_add(from[v]))
    }
}

/// A traversal of every path.
struct Walk<'a> {
    dag: &'a Dag,
    m: i64,
    /// `I(v)` of each node.
    delaying: Vec<Vec<usize>>,
    /// The chain of each node, if chains matter; nodes without work do not matter.
    chain: Vec<usize>,
    /// For each node, the number of nodes of the path that it may delay.
    delays: Vec<usize>,
    /// `vol(c and I(p))` of each chain, or only `vol(I(p))`.
    volumes: Vec<i64>,
    has_chains: bool,
}

impl<'a> Walk<'a> {
    fn new(dag: &'a Dag, kind: BoundKind, m: i64) -> Walk<'a> {
        let n = dag.work.len();
        let goes_first = |u: usize, v: usize| (dag.rank[u], u) < (dag.rank[v], v);
        let may_delay =
            |u: usize, v: usize| dag.are_parallel(u, v) && (!kind.is_ordered() || goes_first(u, v));
        let delaying = (0..n).map(|v| (0..n).filter(|&u| may_delay(u, v)).collect()).collect();
        let (mut chain, mut chains) = (vec![0; n], 1);
        if kind.has_chains() {
            let all = dag.long_chains();
            chains = all.len();
            for (at, nodes) in all.iter().enumerate() {
                nodes.iter().for_each(|&v| chain[v] = at);
            }
        }
        let (delays, volumes) = (vec![0; n], vec![0; chains]);
        Walk { dag, m, delaying, chain, delays, volumes, has_chains: kind.has_chains() }
    }

    /// Returns the largest bound of a path. A path may contain every node, so the traversal is not
    /// recursive.
    fn largest(mut self) -> i64 {
        let mut most = 0;
        let dag = self.dag;
        for source in (0..dag.work.len()).filter(|&v| dag.is_source[v]) {
            // The nodes of the path, each with the number of followers that have been tried.
            let mut path = vec![(source, 0)];
            let mut length = dag.work[source];
            self.enter(source);
            while let Some((v, tried)) = path.last_mut() {
                let v = *v;
                let next = dag.after[v].get(*tried).copied();
                *tried += 1;
                if let Some(w) = next {
                    path.push((w, 0));
                    length += dag.work[w];
                    self.enter(w);
                    continue;
                }
                if dag.after[v].is_empty() {
                    most = most.max(length + self.waiting());
                }
                path.pop();
                length -= dag.work[v];
                self.leave(v);
            }
        }
        most
    }

    fn enter(&mut self, v: usize) {
        for &u in &self.delaying[v] {
            if self.delays[u] == 0 {
                self.volumes[self.chain[u]] += self.dag.work[u];
            }
            self.delays[u] += 1;
        }
    }

    fn leave(&mut self, v: usize) {
        for &u in &self.delaying[v] {
            self.delays[u] -= 1;
            if self.delays[u] == 0 {
                self.volumes[self.chain[u]] -= self.dag.work[u];
            }
        }
    }

    /// Computes `X` from above, so that the first stable value is the largest.
    fn waiting(&self) -> i64 {
        let mut X = self.volumes.iter().sum::<i64>() / self.m;
        if !self.has_chains {
            return X;
        }
        loop {
            let less = self.volumes.iter().map(|&volume| volume.min(X)).sum::<i64>() / self.m;
            if less == X {
                return X;
            }
            X = less;
        }
    }
}
