//! QPS's offline phase: quasi-partition, major and minor execution sets, hierarchy of processors
//! (Massa, Lima, Regnier, Levin, Brandt 2014; Compagnin, Mezzetti, Vardanega 2015, Section III).
//!
//! | paper | here |
//! |-------|------|
//! | major, minor execution set | [`ExecutionSet`] with a master, without one |
//! | excess `x` | [`Master::excess`] |
//! | dedicated and shared processor | the index of a set, [`Master::host`] |
//! | bi-partition `A`, `B` | the first [`Master::split`] clients, and the others |
//!
//! The items come by decreasing rate into as many bins as there are processors left, and an item
//! that fits no bin overfills the emptiest one. Each bin above 1 becomes a major set with a
//! processor of its own. In the next round, its master, with the excess as its rate, comes before
//! the contents of the other bins. When no bin is above 1, the bins are the minor sets of the
//! remaining processors.
//!
//! Because the items come by decreasing rate, the item that overfills a bin is the smallest in it,
//! and its rate is above the excess. This makes the result a quasi-partition. An explicit one is
//! checked.

use super::reduction::{Infeasible, feasible};
use crate::{Heuristic, pack_over};
use layland_model::Rate;
use std::fmt;
use std::str::FromStr;

/// A client of a processor: a task, or the master of a major set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Client {
    /// A task.
    Task(usize),
    /// The master of the major set of the processor with this index.
    Master(usize),
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Client::Task(task) => write!(f, "t{task}"),
            Client::Master(processor) => write!(f, "m{processor}"),
        }
    }
}

impl FromStr for Client {
    type Err = String;
    /// Parses `t4`, `4` or `m0`.
    fn from_str(text: &str) -> Result<Client, String> {
        let wrong = |_| format!("`{text}` is neither a task, such as 4, nor a master, such as m0");
        match text.strip_prefix('m') {
            Some(number) => number.parse().map(Client::Master).map_err(wrong),
            None => text.strip_prefix('t').unwrap_or(text).parse().map(Client::Task).map_err(wrong),
        }
    }
}

/// The bins of each round of a quasi-partition.
pub type Rounds = Vec<Vec<Vec<Client>>>;

/// Parses `0+1/2//m0+2`: rounds, bins, clients.
///
/// # Errors
/// Returns a message if a client is neither a task nor a master.
pub fn parse_rounds(text: &str) -> Result<Rounds, String> {
    let bin = |bin: &str| bin.split('+').map(str::parse::<Client>).collect();
    text.split("//").map(|round| round.split('/').map(bin).collect()).collect()
}

/// The rule by which the sets are built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuasiRule {
    /// By a heuristic that takes the items by decreasing rate.
    Fit(Heuristic),
    /// By these rounds.
    Explicit(Rounds),
}

/// The part of a major set that another processor executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Master {
    /// The rate of the set minus 1, which is the rate of its master and of its slave.
    pub excess: Rate,
    /// The processor whose set has the master as a client.
    pub host: usize,
    /// The number of clients, from the first on, that form side A of the static bi-partition: the
    /// smallest number with at least half of the rate of the set.
    pub split: usize,
}

/// The set of clients that one processor executes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutionSet {
    /// Its clients, in the order of packing.
    pub clients: Vec<Client>,
    /// The sum of their rates.
    pub rate: Rate,
    /// A major set has a master; a minor set has a rate of at most 1.
    pub master: Option<Master>,
}

/// The sets of all processors, and their dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// The set of each processor. A master is a client on a processor with a larger index.
    pub sets: Vec<ExecutionSet>,
    /// The bins of each round, empty ones included.
    pub rounds: Rounds,
}

impl Hierarchy {
    /// Returns the number of processors between this one and the minor set in which its excess ends
    /// up.
    pub fn level(&self, processor: usize) -> usize {
        std::iter::successors(self.sets[processor].master.as_ref(), |master| {
            self.sets[master.host].master.as_ref()
        })
        .count()
    }

    /// Returns the number of levels of the deepest hierarchy: 1 if everything is partitioned.
    pub fn levels(&self) -> usize {
        1 + (0..self.sets.len()).map(|processor| self.level(processor)).max().unwrap_or(0)
    }

    /// Returns the processors of each hierarchy, ascending, in the order of the processors of their
    /// minor sets.
    pub fn clusters(&self) -> Vec<Vec<usize>> {
        let root = |processor: usize| {
            std::iter::successors(Some(processor), |&at| Some(self.sets[at].master.as_ref()?.host))
                .last()
        };
        let mut clusters = vec![Vec::new(); self.sets.len()];
        for processor in 0..self.sets.len() {
            clusters[root(processor).expect("a processor is its own first ancestor")]
                .push(processor);
        }
        clusters.retain(|cluster| !cluster.is_empty());
        clusters
    }
}

/// Builds the hierarchy of tasks with these positive rates on this number of processors. Exact.
///
/// # Errors
/// Returns the reason if a rate is above 1, the rates sum to more than the number of processors,
/// the heuristic does not take the items by decreasing rate, or explicit rounds are not
/// quasi-partitions.
///
/// ```
/// use layland_model::Rate;
/// use layland_offline::{Heuristic, QuasiRule, quasi_partition};
/// // Three tasks of 2/3 on two processors: two of them exceed the first one by 1/3.
/// let rates = [2, 2, 2].map(|n| Rate::new(n, 3));
/// let hierarchy = quasi_partition(&rates, 2, &QuasiRule::Fit(Heuristic::Ffd)).unwrap();
/// let master = hierarchy.sets[0].master.as_ref().unwrap();
/// assert_eq!((&master.excess, master.host), (&Rate::new(1, 3), 1));
/// assert_eq!(hierarchy.levels(), 2);
/// ```
pub fn quasi_partition(
    rates: &[Rate],
    processors: usize,
    rule: &QuasiRule,
) -> Result<Hierarchy, Infeasible> {
    feasible(rates, processors)?;
    let mut hierarchy = Hierarchy { sets: Vec::new(), rounds: Vec::new() };
    let mut pool: Vec<Client> = (0..rates.len()).map(Client::Task).collect();
    loop {
        let first = hierarchy.sets.len();
        let rate = |client: &Client| match *client {
            Client::Task(task) => rates[task].clone(),
            Client::Master(processor) => &hierarchy.sets[processor].rate - &Rate::ONE,
        };
        let bins = match rule {
            QuasiRule::Fit(heuristic) if !heuristic.is_decreasing() => {
                return Err(Infeasible::NotDecreasing(*heuristic));
            }
            QuasiRule::Fit(heuristic) => {
                let items: Vec<Rate> = pool.iter().map(rate).collect();
                pack_over(&items, processors - first, *heuristic)
                    .into_iter()
                    .map(|bin| bin.into_iter().map(|item| pool[item]).collect())
                    .collect()
            }
            QuasiRule::Explicit(rounds) => {
                checked_round(rounds, hierarchy.rounds.len(), &pool, processors - first)?
            }
        };
        let mut sets: Vec<ExecutionSet> = Vec::with_capacity(bins.len());
        for clients in &bins {
            let sum: Rate = clients.iter().map(rate).sum();
            let excess = &sum - &Rate::ONE;
            let master = (excess > Rate::ZERO).then(|| {
                let half = &sum / &Rate::whole(2);
                let mut prefix = Rate::ZERO;
                let below = clients.iter().take_while(|client| {
                    prefix = &prefix + &rate(client);
                    prefix < half
                });
                Master { excess: excess.clone(), host: 0, split: below.count() + 1 }
            });
            // If a client were no larger than the excess, the rest would still fill the processor.
            if master.is_some() && clients.iter().any(|client| rate(client) <= excess) {
                let names: Vec<String> = clients.iter().map(Client::to_string).collect();
                return Err(Infeasible::NotAQuasiPartition(format!(
                    "the bin {} has an excess of {excess}, which is not below the rate of each of its \
                     clients",
                    names.join("+")
                )));
            }
            sets.push(ExecutionSet { clients: clients.clone(), rate: sum, master });
        }
        hierarchy.rounds.push(bins);
        if sets.iter().all(|set| set.master.is_none()) {
            hierarchy.sets.extend(sets);
            break;
        }
        // The masters must come first, as the order of the pool breaks ties in the next round.
        pool.clear();
        let (major, rest): (Vec<_>, Vec<_>) =
            sets.into_iter().partition(|set| set.master.is_some());
        pool.extend((first..first + major.len()).map(Client::Master));
        pool.extend(rest.into_iter().flat_map(|set| set.clients));
        hierarchy.sets.extend(major);
    }
    // A master is packed one or more rounds after its set was built, so its host is known only now.
    for host in 0..hierarchy.sets.len() {
        for client in hierarchy.sets[host].clients.clone() {
            if let Client::Master(processor) = client
                && let Some(master) = &mut hierarchy.sets[processor].master
            {
                master.host = host;
            }
        }
    }
    Ok(hierarchy)
}

/// Returns the bins of an explicit round, and checks that they hold each client of the pool once.
fn checked_round(
    rounds: &Rounds,
    number: usize,
    pool: &[Client],
    processors: usize,
) -> Result<Vec<Vec<Client>>, Infeasible> {
    let list =
        |clients: &[Client]| clients.iter().map(Client::to_string).collect::<Vec<_>>().join(", ");
    let Some(bins) = rounds.get(number) else {
        return Err(Infeasible::Packing(format!(
            "bins above 1 are left after round {number}: add one with {}",
            list(pool)
        )));
    };
    let mut held: Vec<Client> = bins.concat();
    held.sort_unstable();
    let mut wanted = pool.to_vec();
    wanted.sort_unstable();
    if held != wanted {
        let text = format!("round {} must hold each of {} once", number + 1, list(&wanted));
        return Err(Infeasible::Packing(text));
    }
    if bins.len() > processors {
        return Err(Infeasible::Packing(format!(
            "round {} has {} bins for the {processors} processors that are left",
            number + 1,
            bins.len(),
        )));
    }
    let mut bins = bins.clone();
    bins.resize(processors, Vec::new());
    Ok(bins)
}
