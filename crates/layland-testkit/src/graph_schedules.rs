//! The slow twins of the analyses of DAG tasks: every work-conserving schedule, and every set of nodes.

use layland_offline::graph::Dag;
use std::collections::BTreeMap;

/// A DAG by its numbers, as its twins represent it.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// The WCETs.
    pub work: Vec<i64>,
    /// The edges.
    pub edges: Vec<(usize, usize)>,
}

impl Nodes {
    /// Returns the DAG in the form of the product.
    pub fn dag(&self) -> Dag {
        Dag::new(&self.work, &self.edges).expect("edges ascend, and some node has work")
    }

    /// Returns the maximum length of a work-conserving schedule on `cpus` CPUs, over all schedules
    /// with preemptions at whole times. With `early`, also over all schedules in which nodes end
    /// before their WCET. With `order`, the first ready nodes by index run.
    pub fn longest_schedule(&self, cpus: usize, early: bool, order: bool) -> i64 {
        let search = ScheduleSearch { nodes: self, cpus, early, order };
        search.longest(&self.work, &mut BTreeMap::new())
    }

    /// Returns the maximum number of nodes without precedence among them, over all sets.
    pub fn width(&self) -> usize {
        let n = self.work.len();
        let mut is_before = vec![vec![false; n]; n];
        self.edges.iter().for_each(|&(u, v)| is_before[u][v] = true);
        for k in 0..n {
            for u in 0..n {
                for v in 0..n {
                    is_before[u][v] |= is_before[u][k] && is_before[k][v];
                }
            }
        }
        let is_antichain = |set: usize| {
            let has = |v: usize| set >> v & 1 == 1;
            (0..n).all(|u| (0..n).all(|v| !(has(u) && has(v) && is_before[u][v])))
        };
        let sets = (0..1usize << n).filter(|&set| is_antichain(set));
        sets.map(|set| set.count_ones() as usize).max().unwrap_or(0)
    }
}

struct ScheduleSearch<'a> {
    nodes: &'a Nodes,
    cpus: usize,
    early: bool,
    order: bool,
}

impl ScheduleSearch<'_> {
    /// Returns the maximum length of the schedule of the remaining work of each node.
    fn longest(&self, left: &[i64], known: &mut BTreeMap<Vec<i64>, i64>) -> i64 {
        if let Some(&longest) = known.get(left) {
            return longest;
        }
        let is_ready = |v: usize| {
            left[v] > 0
                && self.nodes.edges.iter().all(|&(u, w)| w != v || done(left, &self.nodes.edges, u))
        };
        let ready: Vec<usize> = (0..left.len()).filter(|&v| is_ready(v)).collect();
        let count = ready.len().min(self.cpus);
        let mut longest = 0;
        for set in 0..1usize << ready.len() {
            let first = (1usize << count) - 1;
            if set.count_ones() as usize != count || count == 0 || self.order && set != first {
                continue;
            }
            let running: Vec<usize> =
                (0..ready.len()).filter(|at| set >> at & 1 == 1).map(|at| ready[at]).collect();
            // Each running node may end with this unit of time, although work is left.
            let ends = if self.early { 1usize << running.len() } else { 1 };
            for end in 0..ends {
                let mut next = left.to_vec();
                for (at, &v) in running.iter().enumerate() {
                    next[v] = if end >> at & 1 == 1 { 0 } else { next[v] - 1 };
                }
                longest = longest.max(1 + self.longest(&next, known));
            }
        }
        known.insert(left.to_vec(), longest);
        longest
    }
}

/// Returns true if a node and its predecessors have ended. A node without work ends when its
/// predecessors have.
fn done(left: &[i64], edges: &[(usize, usize)], v: usize) -> bool {
    left[v] == 0 && edges.iter().all(|&(u, w)| w != v || done(left, edges, u))
}
