//! Federated scheduling (Li, Chen, Agrawal, Lu, Gill and Saifullah 2014): which CPUs each task gets.
//!
//! A task is heavy iff `C > D`. In the order of the tasks a heavy one gets the next `n` CPUs, numbered upwards from 0:
//!
//! - `li`, the formula of the paper: `n = ceil((C - L) / (D - L))`, and none if `L >= D`;
//! - any other kind: the smallest `n` whose [bound](Dag::bound) is at most `D`, and none if `L > D`. As times are
//!   whole, that is never more than `li` asks for, and with `graham` sometimes less.
//!
//! The light tasks go to the other CPUs by decreasing density `C / D`, ties by index: first fit while the sum of the
//! densities of a CPU is at most 1. Assumptions: (1) `D <= T`; (2) a task without edges is one node.
//!
//! The paper has `D = T` and says heavy of a utilization above 1 (some texts: at least 1).

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{BoundKind, Dag, NotADag};
use layland_model::{Citation, Graph, Rate, RateSum, System};

/// Li, Chen, Agrawal, Lu, Gill and Saifullah 2014.
pub const LI: Citation = Citation {
    key: "li2014analysis",
    text: "J. Li, J.-J. Chen, K. Agrawal, C. Lu, C. Gill and A. Saifullah. Analysis of federated and global scheduling \
           for parallel real-time tasks. ECRTS 2014, pages 85-96.",
    bibtex: "@inproceedings{li2014analysis,
  author    = {Jing Li and Jian-Jia Chen and Kunal Agrawal and Chenyang Lu and Chris Gill and Abusayeed Saifullah},
  title     = {Analysis of Federated and Global Scheduling for Parallel Real-Time Tasks},
  booktitle = {26th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {85--96}, year = {2014}
}",
};

/// A DAG task with its relative deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrent {
    /// Its nodes and edges.
    pub dag: Dag,
    /// `T`: the least time between two releases; positive.
    pub period: i64,
    /// `D`: positive.
    pub deadline: i64,
}

impl Recurrent {
    /// A graph of a system with the WCETs and ranks of its tasks, and the period and deadline of the first.
    ///
    /// # Errors
    /// If no task has work, or all work is beyond 64 bits.
    pub fn of(system: &System, graph: &Graph) -> Result<Recurrent, NotADag> {
        let tasks = || graph.tasks.iter().map(|&id| &system.tasks[id]);
        let work: Vec<i64> = tasks().map(|task| task.own_wcet().ns()).collect();
        let ranks: Vec<i64> = tasks().map(|task| task.rank).collect();
        let dag = Dag::new(&work, &graph.edges)?.with_ranks(&ranks);
        let first = &system.tasks[graph.tasks[0]];
        Ok(Recurrent { dag, period: first.period.ns(), deadline: first.deadline.ns() })
    }

    /// Whether it needs more than one CPU: `C > D`.
    pub fn is_heavy(&self) -> bool {
        self.dag.volume() > self.deadline
    }
}

/// How the number of CPUs of a heavy task is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The formula of Li et al. 2014.
    Li,
    /// The smallest number with a bound of this kind within the deadline.
    Bound(BoundKind),
}

impl Allocation {
    /// Every way.
    pub const ALL: [Allocation; 7] = [
        Allocation::Li,
        Allocation::Bound(BoundKind::Graham),
        Allocation::Bound(BoundKind::Long),
        Allocation::Bound(BoundKind::Path),
        Allocation::Bound(BoundKind::Order),
        Allocation::Bound(BoundKind::Chains),
        Allocation::Bound(BoundKind::OrderChains),
    ];

    /// Its name, as in options.
    pub const fn name(self) -> &'static str {
        match self {
            Allocation::Li => "li",
            Allocation::Bound(kind) => kind.name(),
        }
    }

    /// The one with this name.
    pub fn by_name(name: &str) -> Option<Allocation> {
        Allocation::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Why a task gets no CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its longest path is too long for its deadline, on however many CPUs.
    Length,
    /// There are not enough CPUs.
    Cpus,
    /// It has more than [`PATHS`](super::PATHS) paths, and the kind follows them.
    Paths,
}

/// The first task that gets no CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its position.
    pub task: usize,
    /// What is missing.
    pub why: Why,
}

/// The CPUs of each task, of `cpus` in all, ascending. Light tasks may share one; a heavy one shares none.
///
/// ```
/// use layland_offline::graph::{Allocation, BoundKind, Dag, Recurrent, federated};
/// // C - L = 7, D - L = 3: the formula asks for a CPU more than is needed.
/// let wide = Recurrent { dag: Dag::new(&[3, 3, 3, 1], &[]).unwrap(), period: 6, deadline: 6 };
/// let cpus = |kind| federated::allocate(&[wide.clone()], 4, kind).unwrap()[0].len();
/// assert_eq!(cpus(Allocation::Li), 3);
/// assert_eq!(cpus(Allocation::Bound(BoundKind::Graham)), 2);
/// ```
///
/// # Errors
/// The first task that gets none: heavy ones are tried first.
pub fn allocate(
    tasks: &[Recurrent],
    cpus: usize,
    kind: Allocation,
) -> Result<Vec<Vec<usize>>, Misfit> {
    let (mut of, mut next) = (vec![Vec::new(); tasks.len()], 0);
    for (at, task) in tasks.iter().enumerate().filter(|(_, task)| task.is_heavy()) {
        let count = cpus_needed(task, cpus - next, kind).map_err(|why| Misfit { task: at, why })?;
        of[at] = (next..next + count).collect();
        next += count;
    }
    let mut light: Vec<(Rate, usize)> = Vec::new();
    for (at, task) in tasks.iter().enumerate().filter(|(_, task)| !task.is_heavy()) {
        light.push((Rate::new(task.dag.volume(), task.deadline), at));
    }
    light.sort_by(|(a, i), (b, j)| b.cmp(a).then(i.cmp(j)));
    let mut densities = vec![RateSum::default(); cpus - next];
    for (density, at) in light {
        let fits = densities.iter().position(|sum| sum.fits(&density, &Rate::whole(1)));
        let cpu = fits.ok_or(Misfit { task: at, why: Why::Cpus })?;
        densities[cpu].add(&density);
        of[at] = vec![next + cpu];
    }
    Ok(of)
}

/// How many CPUs a heavy task needs, of those that are left.
fn cpus_needed(task: &Recurrent, left: usize, kind: Allocation) -> Result<usize, Why> {
    let Recurrent { dag, deadline, .. } = task;
    let (D, C, L) = (*deadline, dag.volume(), dag.length());
    match kind {
        Allocation::Li if L >= D => Err(Why::Length),
        Allocation::Bound(_) if L > D => Err(Why::Length),
        Allocation::Li => {
            let n = (C - L - 1) / (D - L) + 1;
            usize::try_from(n).ok().filter(|&n| n <= left).ok_or(Why::Cpus)
        }
        Allocation::Bound(kind) => {
            for n in 1..=left {
                if dag.bound(kind, n).ok_or(Why::Paths)? <= D {
                    return Ok(n);
                }
            }
            Err(Why::Cpus)
        }
    }
}
