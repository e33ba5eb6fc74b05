//! RUN's offline phase: the reduction tree (Regnier, Lima, Massa, Levin, Brandt 2011; Compagnin,
//! Mezzetti, Vardanega 2015, Section III).
//!
//! | paper | here |
//! |-------|------|
//! | server `S`, rate `mu(S)` | [`Server`], its `rate` |
//! | `PACK` | [`pack_min`], or an explicit packing |
//! | `DUAL` | the rate `1 - mu(S)`, with the deadlines of `S` |
//! | proper subsystem | [`Subsystem`] |
//!
//! Level 0 packs the tasks. The remaining capacity of the processors becomes padding, which servers
//! receive by decreasing rate. Every server of rate 1 is the root of a proper subsystem; the duals
//! of the others are packed into the servers of the next level, until none is left. The rates of a
//! level sum to a whole number, from which the packing of the next level starts.
//!
//! Subsystems never interact. A subsystem whose root is at level `p` has `p` reductions. It owns as
//! many processors as the sum of the rates of its level-0 servers, numbered in the order of the
//! roots. Processors that the padding cannot fill never execute anything.

use crate::{Heuristic, pack_min};
use layland_model::Rate;
use std::cmp::Reverse;
use std::ops::Range;

/// The servers that receive padding first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Fill {
    /// The servers of the largest rate.
    #[default]
    Largest,
    /// The servers that were created first.
    Order,
}

/// The rules for building the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReductionRules {
    /// Packs the tasks.
    pub fit: Heuristic,
    /// In place of `fit`: the tasks of each level-0 server.
    pub packing: Option<Vec<Vec<usize>>>,
    /// Packs the duals.
    pub dual_fit: Heuristic,
    /// In place of `dual_fit` at level 1: the level-0 servers whose duals make each server.
    pub dual_packing: Option<Vec<Vec<usize>>>,
    /// The servers that receive padding first.
    pub fill: Fill,
}

impl ReductionRules {
    /// Uses one heuristic for tasks and duals.
    pub fn fit(heuristic: Heuristic) -> ReductionRules {
        ReductionRules {
            fit: heuristic,
            packing: None,
            dual_fit: heuristic,
            dual_packing: None,
            fill: Fill::default(),
        }
    }
}

/// The clients of a server, in the order of packing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// Tasks: a server of level 0.
    Tasks(Vec<usize>),
    /// The duals of these servers of the level below.
    Duals(Vec<usize>),
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The number of duals between the server and its tasks.
    pub level: usize,
    /// The sum of the rates of its clients, and of the padding.
    pub rate: Rate,
    /// The padding that is part of its rate.
    pub idle: Rate,
    /// Its clients.
    pub clients: Clients,
}

/// A server of rate 1, and all servers below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subsystem {
    /// The server of rate 1.
    pub root: usize,
    /// The level of the root.
    pub reductions: usize,
    /// Its processors.
    pub processors: Range<usize>,
    /// Its tasks, ascending.
    pub tasks: Vec<usize>,
}

/// The reduction tree of a task set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// Every server, in the order of creation: level by level.
    pub servers: Vec<Server>,
    /// The proper subsystems, in the order of their roots.
    pub subsystems: Vec<Subsystem>,
    /// The number of servers of each level.
    pub level_sizes: Vec<usize>,
    /// Processors that never execute anything.
    pub unused_processors: usize,
}

impl Reduction {
    /// Returns the largest number of reductions of a subsystem; 0 if everything is partitioned.
    pub fn reductions(&self) -> usize {
        self.subsystems.iter().map(|subsystem| subsystem.reductions).max().unwrap_or(0)
    }

    /// Returns the maximum number of preemptions of a job, on average over the jobs of a subsystem:
    /// `ceil((3p + 1) / 2)` with `p` reductions (Regnier et al. 2011).
    pub fn preemption_bound(&self) -> usize {
        (3 * self.reductions() + 1).div_ceil(2)
    }
}

/// The reason why rates cannot be scheduled optimally on this number of processors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Infeasible {
    /// A rate is above 1.
    #[error("item {item} has rate {rate}, which is above 1")]
    RateAboveOne {
        /// Its index.
        item: usize,
        /// Its rate.
        rate: Rate,
    },
    /// The sum of the rates is above the number of processors.
    #[error("the rates sum to {total}, on {processors} processors")]
    Overload {
        /// The sum of the rates.
        total: Rate,
        /// The number of processors.
        processors: usize,
    },
    /// An explicit packing does not hold each item once, or fills a bin beyond 1.
    #[error("{0}")]
    Packing(String),
    /// A bin has an excess that is not below the rate of each of its clients, or has a rate of 2 or
    /// more.
    #[error("not a quasi-partition: {0}")]
    NotAQuasiPartition(String),
    /// The heuristic does not take the items by decreasing rate, as QPS requires.
    #[error("{0} does not take the items by decreasing rate: use ffd, bfd, wfd, nfd or efd")]
    NotDecreasing(Heuristic),
}

/// Checks that each rate is at most 1, and their sum at most the number of processors.
pub(crate) fn feasible(rates: &[Rate], processors: usize) -> Result<Rate, Infeasible> {
    if let Some(item) = rates.iter().position(|rate| *rate > Rate::ONE) {
        return Err(Infeasible::RateAboveOne { item, rate: rates[item].clone() });
    }
    let total: Rate = rates.iter().cloned().sum();
    if total > Rate::whole(processors as i64) {
        return Err(Infeasible::Overload { total, processors });
    }
    Ok(total)
}

/// Builds the reduction tree of tasks with these positive rates on this number of processors.
/// Exact.
///
/// # Errors
/// Returns the reason if a rate is above 1, the rates sum to more than the number of processors, or
/// an explicit packing is invalid.
///
/// ```
/// use layland_model::Rate;
/// use layland_offline::{Heuristic, ReductionRules, reduce};
/// // Three tasks of 2/3 on two processors: the duals, 1/3 each, make one server of rate 1.
/// let tree = reduce(&[2, 2, 2].map(|n| Rate::new(n, 3)), 2, &ReductionRules::fit(Heuristic::Ffd)).unwrap();
/// assert_eq!(tree.level_sizes, [3, 1]);
/// assert_eq!(tree.reductions(), 1);
/// assert_eq!(tree.subsystems[0].processors, 0..2);
/// ```
pub fn reduce(
    rates: &[Rate],
    processors: usize,
    rules: &ReductionRules,
) -> Result<Reduction, Infeasible> {
    let total = feasible(rates, processors)?;
    let bins = match &rules.packing {
        Some(bins) => checked_bins("tasks", bins, rates, &(0..rates.len()).collect::<Vec<_>>())?,
        None => pack(rates, processors.min(rates.len()), rules.fit),
    };
    let mut tree = Reduction {
        servers: Vec::new(),
        subsystems: Vec::new(),
        level_sizes: Vec::new(),
        unused_processors: 0,
    };
    for bin in bins {
        let rate = bin.iter().map(|&task| rates[task].clone()).sum();
        let clients = Clients::Tasks(bin);
        tree.servers.push(Server { level: 0, rate, idle: Rate::ZERO, clients });
    }
    // The padded rates sum to a whole number, and so do the duals of every level; `whole` relies on
    // this.
    let slack = tree.pad(&Rate::whole(processors as i64) - &total, rules.fill);
    tree.unused_processors = whole(&slack);
    let mut level: Vec<usize> = (0..tree.servers.len()).collect();
    for number in 0.. {
        tree.level_sizes.push(level.len());
        let (roots, rest): (Vec<usize>, Vec<usize>) =
            level.iter().partition(|&&server| tree.servers[server].rate == Rate::ONE);
        roots.into_iter().for_each(|root| tree.split_off(root));
        if rest.is_empty() {
            break;
        }
        let duals: Vec<Rate> =
            rest.iter().map(|&server| &Rate::ONE - &tree.servers[server].rate).collect();
        let groups = match &rules.dual_packing {
            Some(groups) if number == 0 => checked_bins("servers", groups, &duals, &rest)?
                .into_iter()
                .map(|group| group.iter().filter_map(|id| rest.binary_search(id).ok()).collect())
                .collect(),
            _ => pack(&duals, whole(&duals.iter().cloned().sum()), rules.dual_fit),
        };
        level = (tree.servers.len()..tree.servers.len() + groups.len()).collect();
        for group in groups {
            tree.servers.push(Server {
                level: number + 1,
                rate: group.iter().map(|&item| duals[item].clone()).sum(),
                idle: Rate::ZERO,
                clients: Clients::Duals(group.iter().map(|&item| rest[item]).collect()),
            });
        }
    }
    Ok(tree)
}

impl Reduction {
    /// Distributes the slack to the servers, and returns the remaining slack.
    fn pad(&mut self, mut slack: Rate, fill: Fill) -> Rate {
        let mut order: Vec<usize> = (0..self.servers.len()).collect();
        if fill == Fill::Largest {
            order.sort_by_key(|&server| Reverse(self.servers[server].rate.clone()));
        }
        for server in order {
            let server = &mut self.servers[server];
            server.idle = (&Rate::ONE - &server.rate).min(slack.clone());
            server.rate = &server.rate + &server.idle;
            slack = &slack - &server.idle;
        }
        slack
    }

    /// Makes a server of rate 1 the root of a subsystem.
    fn split_off(&mut self, root: usize) {
        let mut tasks = Vec::new();
        let mut held = Rate::ZERO;
        let mut below = vec![root];
        while let Some(server) = below.pop() {
            let server = &self.servers[server];
            match &server.clients {
                // A subsystem has as many processors as the rates of its level-0 servers sum to.
                Clients::Tasks(mine) => {
                    tasks.extend(mine);
                    held = &held + &server.rate;
                }
                Clients::Duals(servers) => below.extend(servers),
            }
        }
        tasks.sort_unstable();
        let first = self.subsystems.last().map_or(0, |last| last.processors.end);
        self.subsystems.push(Subsystem {
            root,
            reductions: self.servers[root].level,
            processors: first..first + whole(&held),
            tasks,
        });
    }
}

fn pack(rates: &[Rate], at_least: usize, heuristic: Heuristic) -> Vec<Vec<usize>> {
    pack_min(rates, at_least, heuristic).expect("no rate is above 1")
}

/// Converts a rate that is a whole number.
fn whole(rate: &Rate) -> usize {
    let floor = rate.floor().filter(|&floor| Rate::whole(floor) == *rate);
    floor
        .and_then(|floor| usize::try_from(floor).ok())
        .expect("the rates of a level sum to a whole")
}

/// Checks an explicit packing of `items` with these rates: each item occurs once, and no bin is
/// empty or above 1.
fn checked_bins(
    what: &str,
    bins: &[Vec<usize>],
    rates: &[Rate],
    items: &[usize],
) -> Result<Vec<Vec<usize>>, Infeasible> {
    let wrong = |text: String| Err(Infeasible::Packing(text));
    let mut held: Vec<usize> = bins.iter().flatten().copied().collect();
    held.sort_unstable();
    if held != items {
        return wrong(format!("the packing must hold each of the {what} {items:?} once"));
    }
    for bin in bins {
        let rate: Rate = bin
            .iter()
            .filter_map(|item| Some(rates[items.binary_search(item).ok()?].clone()))
            .sum();
        if bin.is_empty() {
            return wrong("the packing has an empty bin".to_owned());
        }
        if rate > Rate::ONE {
            return wrong(format!(
                "the bin of the {what} {bin:?} has rate {rate}, which is above 1"
            ));
        }
    }
    Ok(bins.to_vec())
}
