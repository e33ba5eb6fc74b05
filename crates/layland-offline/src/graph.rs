//! DAG tasks: bounds on the response time of one instance on CPUs of its own, and the number of
//! CPUs that a task needs.
//!
//! A DAG task has nodes with WCETs and edges between them; a node is ready when all nodes before it
//! have completed.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | `C`, `vol` | [`Dag::volume`] | the sum of the WCETs |
//! | `L`, `len` | [`Dag::length`] | the largest sum of WCETs on a path |
//! | width | [`Dag::width`] | the maximum number of nodes of which none comes before another one |
//!
//! - [`bounds`] bounds the response time of an instance on `n` CPUs of its own, in six ways ([`BoundKind`]);
//! - [`federated`] assigns heavy tasks CPUs of their own and packs the light ones (Li et al. 2014);
//! - [`augmentation`] is the capacity augmentation test of federated scheduling, global EDF and global RM.
//!
//! All times are whole numbers of one unit, and indices break ties.

pub mod augmentation;
pub mod bounds;
pub mod federated;

pub use bounds::{BoundKind, HE, PATHS};
pub use federated::{Allocation, LI, Misfit, Recurrent, Why};

use layland_model::{Graph, System, TaskMap};

/// Returns the graphs of a system in the order of their first tasks. A task that is in no graph
/// forms a graph of one node.
///
/// ```
/// use layland_model::{Duration, Service, System, Task, TaskId};
/// let task = |name| Task::implicit(name, Service::from_ms(1), Duration::from_ms(9));
/// let mut system = System::new(2, vec![task("camera"), task("other"), task("plan")]);
/// system.tasks[TaskId(2)].follows = [TaskId(0)].into();
/// let graphs = layland_offline::graph::all(&system);
/// assert_eq!(graphs[0].tasks, [0, 2].map(TaskId));
/// assert_eq!(graphs[1].tasks, [TaskId(1)]);
/// ```
pub fn all(system: &System) -> Vec<Graph> {
    let mut graphs = system.graphs();
    let mut is_node: TaskMap<bool> = system.tasks.values().map(|_| false).collect();
    for &id in graphs.iter().flat_map(|graph| &graph.tasks) {
        is_node[id] = true;
    }
    let alone = is_node.iter().filter(|&(_, &is)| !is);
    graphs.extend(alone.map(|(id, _)| Graph { tasks: vec![id], edges: Vec::new() }));
    graphs.sort_by_key(|graph| graph.tasks[0]);
    graphs
}

/// The reason why something is not a DAG task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotADag {
    /// There are no nodes, or no node has work.
    #[error("no node has work")]
    NoWork,
    /// This node has a negative WCET.
    #[error("the WCET of node {0} is negative")]
    Negative(usize),
    /// The sum of the WCETs is beyond 64 bits.
    #[error("the sum of the WCETs is beyond 64 bits")]
    TooMuch,
    /// This edge begins or ends at a node that does not exist.
    #[error("there is no such node as the edge from {0} to {1} has")]
    NoSuchNode(usize, usize),
    /// This edge occurs twice.
    #[error("the edge from {0} to {1} is there twice")]
    Twice(usize, usize),
    /// This node is on a cycle, or behind one.
    #[error("node {0} is on a cycle of edges, or behind one")]
    Cycle(usize),
}

/// A DAG task without its timing: nodes with WCETs and ranks, and edges between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dag {
    work: Vec<i64>,
    rank: Vec<i64>,
    after: Vec<Vec<usize>>,
    topo: Vec<usize>,
    is_source: Vec<bool>,
    /// `is_before[u][v]`: there is a path from `u` to `v`.
    is_before: Vec<Vec<bool>>,
}

impl Dag {
    /// Builds a DAG from nodes with these WCETs, all of rank 0, and these edges.
    ///
    /// ```
    /// use layland_offline::graph::Dag;
    /// // Three nodes between a first and a last one.
    /// let dag = Dag::new(&[1, 4, 3, 3, 1], &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]).unwrap();
    /// assert_eq!((dag.volume(), dag.length(), dag.width()), (12, 6, 3));
    /// assert_eq!(dag.longest_path(), [0, 1, 4]);
    /// assert_eq!(dag.long_chains(), [vec![0, 1, 4], vec![2], vec![3]]);
    /// ```
    ///
    /// # Errors
    /// Returns the first reason if the result is not a DAG, or has no work.
    pub fn new(work: &[i64], edges: &[(usize, usize)]) -> Result<Dag, NotADag> {
        let n = work.len();
        if let Some(node) = work.iter().position(|&work| work < 0) {
            return Err(NotADag::Negative(node));
        }
        match work.iter().try_fold(0i64, |sum, &work| sum.checked_add(work)) {
            None => return Err(NotADag::TooMuch),
            Some(0) => return Err(NotADag::NoWork),
            Some(_) => {}
        }
        let mut after = vec![Vec::new(); n];
        let mut open = vec![0usize; n];
        for &(from, to) in edges {
            if from.max(to) >= n {
                return Err(NotADag::NoSuchNode(from, to));
            }
            if after[from].contains(&to) {
                return Err(NotADag::Twice(from, to));
            }
            after[from].push(to);
            open[to] += 1;
        }
        after.iter_mut().for_each(|next| next.sort_unstable());
        let is_source: Vec<bool> = open.iter().map(|&open| open == 0).collect();
        let mut ready: std::collections::BTreeSet<usize> =
            (0..n).filter(|&v| is_source[v]).collect();
        let mut topo = Vec::with_capacity(n);
        while let Some(v) = ready.pop_first() {
            topo.push(v);
            for &w in &after[v] {
                open[w] -= 1;
                if open[w] == 0 {
                    ready.insert(w);
                }
            }
        }
        if let Some(node) = open.iter().position(|&open| open > 0) {
            return Err(NotADag::Cycle(node));
        }
        let mut is_before = vec![vec![false; n]; n];
        for &u in topo.iter().rev() {
            let mut behind = vec![false; n];
            for &v in &after[u] {
                behind[v] = true;
                behind.iter_mut().zip(&is_before[v]).for_each(|(all, &one)| *all |= one);
            }
            is_before[u] = behind;
        }
        Ok(Dag { work: work.to_vec(), rank: vec![0; n], after, topo, is_source, is_before })
    }

    /// Returns this DAG with these ranks. Of two ready nodes, the one of the smaller rank goes
    /// first, then the one of the smaller index.
    ///
    /// # Panics
    /// Panics unless there are as many ranks as nodes.
    #[must_use]
    pub fn with_ranks(mut self, rank: &[i64]) -> Dag {
        assert_eq!(rank.len(), self.work.len(), "every node has a rank");
        self.rank = rank.to_vec();
        self
    }

    /// Returns the WCETs of the nodes.
    pub fn work(&self) -> &[i64] {
        &self.work
    }

    /// Returns `C`, the sum of the WCETs.
    pub fn volume(&self) -> i64 {
        self.work.iter().sum()
    }

    /// Returns `L`, the largest sum of WCETs on a path.
    pub fn length(&self) -> i64 {
        self.tails(&self.work).into_iter().max().unwrap_or(0)
    }

    /// Returns the nodes in a topological order: repeatedly the smallest node whose predecessors
    /// have all been taken.
    pub fn topological(&self) -> &[usize] {
        &self.topo
    }

    /// Returns the lexicographically smallest path of length `L` from a source to a sink.
    pub fn longest_path(&self) -> Vec<usize> {
        self.longest(&self.work)
    }

    /// Returns disjoint chains that cover all work. Each one comes from
    /// [the longest path](Self::longest_path) with the nodes taken so far at weight 0; the chain
    /// consists of the path's nodes of positive weight. Its nodes are totally ordered, but need not
    /// be a path.
    pub fn long_chains(&self) -> Vec<Vec<usize>> {
        let mut weight = self.work.clone();
        let mut chains = Vec::new();
        loop {
            let path = self.longest(&weight);
            let chain: Vec<usize> = path.into_iter().filter(|&v| weight[v] > 0).collect();
            if chain.is_empty() {
                return chains;
            }
            chain.iter().for_each(|&v| weight[v] = 0);
            chains.push(chain);
        }
    }

    /// Returns the maximum number of nodes of which none comes before another one; nodes without
    /// work count. By Dilworth's theorem, it is the number of nodes less the size of a largest
    /// matching of the ordered pairs.
    pub fn width(&self) -> usize {
        fn try_match(
            u: usize,
            is_before: &[Vec<bool>],
            seen: &mut [bool],
            of: &mut [Option<usize>],
        ) -> bool {
            for v in 0..of.len() {
                if is_before[u][v] && !std::mem::replace(&mut seen[v], true) {
                    let is_free = of[v].is_none_or(|other| try_match(other, is_before, seen, of));
                    if is_free {
                        of[v] = Some(u);
                        return true;
                    }
                }
            }
            false
        }
        let n = self.work.len();
        let mut of = vec![None; n];
        let matched =
            (0..n).filter(|&u| try_match(u, &self.is_before, &mut vec![false; n], &mut of)).count();
        n - matched
    }

    /// Returns true if neither of two nodes comes before the other one.
    fn are_parallel(&self, u: usize, v: usize) -> bool {
        u != v && !self.is_before[u][v] && !self.is_before[v][u]
    }

    /// For each node, returns the largest weight of a path from it to a sink, including the node
    /// itself.
    fn tails(&self, weight: &[i64]) -> Vec<i64> {
        let mut tail = weight.to_vec();
        for &v in self.topo.iter().rev() {
            tail[v] += self.after[v].iter().map(|&w| tail[w]).max().unwrap_or(0);
        }
        tail
    }

    fn longest(&self, weight: &[i64]) -> Vec<usize> {
        let tail = self.tails(weight);
        let most = tail.iter().copied().max().unwrap_or(0);
        // With weights of 0, an inner node may have the same tail; the path must begin at a source
        // anyway.
        let mut at = (0..tail.len()).find(|&v| self.is_source[v] && tail[v] == most);
        let mut path = Vec::new();
        while let Some(v) = at {
            path.push(v);
            at = self.after[v].iter().copied().find(|&w| tail[w] == tail[v] - weight[v]);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_dag_is_refused() {
        let refusal = |work: &[i64], edges: &[(usize, usize)]| Dag::new(work, edges).unwrap_err();
        assert_eq!(refusal(&[], &[]), NotADag::NoWork);
        assert_eq!(refusal(&[0, 0], &[]), NotADag::NoWork);
        assert_eq!(refusal(&[1, -1], &[]), NotADag::Negative(1));
        assert_eq!(refusal(&[i64::MAX, 1], &[]), NotADag::TooMuch);
        assert_eq!(refusal(&[1, 1], &[(0, 2)]), NotADag::NoSuchNode(0, 2));
        assert_eq!(refusal(&[1, 1], &[(0, 1), (0, 1)]), NotADag::Twice(0, 1));
        assert_eq!(refusal(&[1], &[(0, 0)]), NotADag::Cycle(0));
        assert_eq!(refusal(&[1, 1, 1], &[(1, 2), (2, 1)]), NotADag::Cycle(1));
    }

    #[test]
    fn a_graph_with_too_many_paths_has_no_bound_that_follows_them() {
        // Eighteen diamonds in a row have 2^18 paths, too many. Seventeen have 2^17, and all are
        // followed.
        let diamonds = |count: usize| {
            let edges = (0..count).flat_map(|at| {
                let first = 3 * at;
                [(0, 1), (0, 2), (1, 3), (2, 3)].map(|(u, v)| (first + u, first + v))
            });
            Dag::new(&vec![1; 3 * count + 1], &edges.collect::<Vec<_>>()).unwrap()
        };
        assert_eq!(diamonds(18).bound(BoundKind::Path, 2), None);
        assert_eq!(diamonds(18).bound(BoundKind::Graham, 2), Some(37 + 9));
        assert_eq!(diamonds(17).bound(BoundKind::Path, 2), Some(35 + 8));
        let task = Recurrent { dag: diamonds(18), period: 46, deadline: 46 };
        let kind = |kind| federated::allocate(std::slice::from_ref(&task), 4, kind);
        let paths = Misfit { task: 0, why: Why::Paths };
        assert_eq!(kind(Allocation::Bound(BoundKind::Path)), Err(paths));
        assert_eq!(kind(Allocation::Bound(BoundKind::Graham)), Ok(vec![vec![0, 1]]));
    }
}
