//! Federated scheduling (Li, Chen, Agrawal, Lu, Gill and Saifullah 2014): the assignment of CPUs to
//! tasks.
//!
//! A task is heavy iff `C > D`. In the order of the tasks a heavy one gets the next `n` CPUs, numbered upwards from 0:
//!
//! - `li`, the formula of the paper: `n = ceil((C - L) / (D - L))`, and none if `L >= D`;
//! - any other kind: the smallest `n` whose [bound](Dag::bound) is at most `D`, and none if
//!   `L > D`. As times are whole, this is never more than with `li`, and with `graham` sometimes
//!   less.
//!
//! The light tasks go to the other CPUs by decreasing density `C / D`, ties by index: first fit while the sum of the
//! densities of a CPU is at most 1. Assumptions: (1) `D <= T`; (2) a task without edges is one node.
//!
//! In the paper, `D = T`, and a task is heavy if its utilization is above 1 (in some texts: at
//! least 1).

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
    /// `T`, the minimum time between two releases; positive.
    pub period: i64,
    /// `D`, the relative deadline; positive.
    pub deadline: i64,
}

impl Recurrent {
    /// Returns a graph of a system with the WCETs and ranks of its tasks, and the period and
    /// deadline of the first task.
    ///
    /// # Errors
    /// Returns the reason if no task has work, or the total work exceeds 64 bits.
    pub fn of(system: &System, graph: &Graph) -> Result<Recurrent, NotADag> {
        let tasks = || graph.tasks.iter().map(|&id| &system.tasks[id]);
        let work: Vec<i64> = tasks().map(|task| task.own_wcet().ns()).collect();
        let ranks: Vec<i64> = tasks().map(|task| task.rank).collect();
        let dag = Dag::new(&work, &graph.edges)?.with_ranks(&ranks);
        let first = &system.tasks[graph.tasks[0]];
        Ok(Recurrent { dag, period: first.period.ns(), deadline: first.deadline.ns() })
    }

    /// Returns true if the task needs more than one CPU: `C > D`.
    pub fn is_heavy(&self) -> bool {
        self.dag.volume() > self.deadline
    }
}

/// The method that finds the number of CPUs of a heavy task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The formula of Li et al. 2014.
    Li,
    /// The smallest number with a bound of this kind within the deadline.
    Bound(BoundKind),
}

impl Allocation {
    /// Every method.
    pub const ALL: [Allocation; 7] = [
        Allocation::Li,
        Allocation::Bound(BoundKind::Graham),
        Allocation::Bound(BoundKind::Long),
        Allocation::Bound(BoundKind::Path),
        Allocation::Bound(BoundKind::Order),
        Allocation::Bound(BoundKind::Chains),
        Allocation::Bound(BoundKind::OrderChains),
    ];

    /// Returns the name that options use.
    pub const fn name(self) -> &'static str {
        match self {
            Allocation::Li => "li",
            Allocation::Bound(kind) => kind.name(),
        }
    }

    /// Returns the method with this name.
    pub fn by_name(name: &str) -> Option<Allocation> {
        Allocation::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The reason why a task gets no CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its longest path is too long for its deadline, on any number of CPUs.
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
    /// The reason.
    pub why: Why,
}

/// Returns the CPUs of each task, ascending, out of `cpus` CPUs. Light tasks may share a CPU; heavy
/// tasks do not.
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
/// Returns the first task that gets no CPUs; heavy tasks are tried first.
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

/// Returns the number of CPUs that a heavy task needs, out of the remaining ones.
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
