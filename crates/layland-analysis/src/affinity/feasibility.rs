//! Feasibility with processor affinities (Baruah and Brandenburg 2013; Voronov and Anderson 2018;
//! Tang, Anderson, Abeni 2021, Lemma 9). **Exact**, about all schedulers: *yes* means that some
//! scheduler meets every deadline, *no* that no scheduler keeps tardiness bounded.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i = T_i`,
//! (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) nothing changes while
//! the system runs.
//!
//! The condition: `u_i <= 1` for every task, and (Hall) for every set `S` of CPUs the utilizations
//! of the tasks whose affinity `alpha_i` lies within `S` sum to at most `|S|`.
//!
//! - If the affinities are laminar (any two nested or disjoint), only the affinities themselves
//!   need to be examined, [`by_hall`].
//! - Otherwise a flow carries each utilization to CPUs that it may use, [`by_flow`]: the set is
//!   feasible if and only if all of it arrives. Otherwise, the CPUs that a minimum cut reaches are
//!   an `S` that fails.
//!
//! Capacities are integers over the common multiple of the periods, of 128 bits or of as many bits
//! as needed: the result is exact in both cases.

use crate::Assumption::*;
use crate::group::exact_in_the_long_run;
use crate::necessary::certainly_fits;
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Subject,
    TestKind, Verdict,
};
use layland_model::{Confined, CpuSet, Index, Rate, RateSum, System};
use num_bigint::BigInt;
use num_integer::Integer;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Add, Sub};

/// Baruah and Brandenburg 2013.
pub const BARUAH_BRANDENBURG: Citation = Citation {
    key: "baruah2013multiprocessor",
    text: "S. Baruah and B. Brandenburg. Multiprocessor feasibility analysis of recurrent task systems \
           with specified processor affinities. RTSS 2013, pages 160-169.",
    bibtex: "@inproceedings{baruah2013multiprocessor,
  author    = {Sanjoy Baruah and Bj{\\\"o}rn Brandenburg},
  title     = {Multiprocessor Feasibility Analysis of Recurrent Task Systems with Specified Processor Affinities},
  booktitle = {34th IEEE Real-Time Systems Symposium (RTSS)}, pages = {160--169}, year = {2013},
  doi       = {10.1109/RTSS.2013.24}
}",
};

/// Voronov and Anderson 2018.
pub const VORONOV_ANDERSON: Citation = Citation {
    key: "voronov2018optimal",
    text: "S. Voronov and J. H. Anderson. An optimal semi-partitioned scheduler assuming arbitrary \
           affinity masks. RTSS 2018, pages 408-420.",
    bibtex: "@inproceedings{voronov2018optimal,
  author    = {Sergey Voronov and James H. Anderson},
  title     = {An Optimal Semi-Partitioned Scheduler Assuming Arbitrary Affinity Masks},
  booktitle = {39th IEEE Real-Time Systems Symposium (RTSS)}, pages = {408--420}, year = {2018},
  doi       = {10.1109/RTSS.2018.00055}
}",
};

/// Feasibility: by Hall's condition if the affinities are laminar, otherwise by a flow.
///
/// ```
/// use layland_analysis::{Verdict, affinity::feasibility};
/// use layland_model::{Duration, Service, System, Task};
/// // Two CPUs could do the sum of 1.8, but the first two tasks share CPU 0.
/// let tasks = [(6, "0"), (6, "0"), (6, "0-1")].map(|(c, cpus)| {
///     let mut task = Task::implicit(format!("{c} on {cpus}"), Service::from_ms(c), Duration::from_ms(10));
///     task.affinity = cpus.parse().ok();
///     task
/// });
/// let system = System::new(2, tasks.to_vec());
/// let finding = feasibility::TEST.run(&system).unwrap();
/// assert_eq!(finding.verdict, Verdict::No);
/// assert_eq!(
///     finding.reasons[0].describe(&system),
///     "the utilization of the tasks confined to these CPUs on CPU 0 is 1.2, not within 1",
/// );
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "AFFINITY",
    title: "feasibility with affinities (Hall's condition, or a flow)",
    subject: Subject::SomeScheduler,
    kind: TestKind::Exact,
    assumptions: &[
        SporadicReleases,
        NoJitter,
        ImplicitDeadlines,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
    ],
    citations: &[&BARUAH_BRANDENBURG, &VORONOV_ANDERSON, &Citation::TANG],
    certify: Certify::By(|_| Err("that some scheduler can do it says nothing of a policy")),
    decide: Decide::by(|system| by_hall(system).unwrap_or_else(|| by_flow(system))).or_sooner(
        |system| {
            if may_use_all(system) && certainly_fits(system) {
                Verdict::Yes
            } else {
                by_hall(system).unwrap_or_else(|| by_flow(system)).verdict
            }
        },
    ),
};

/// Returns true if every task may use every CPU.
fn may_use_all(system: &System) -> bool {
    let cpus = system.platform.cpu_count();
    let is_all = |cluster: &CpuSet| cluster.len() == cpus;
    system.platform.clusters.iter().all(is_all)
        && system.tasks.values().all(|task| task.affinity.as_ref().is_none_or(is_all))
}

/// Tests Hall's condition for laminar affinities of a system that keeps the assumptions. Returns
/// `None` if they are not laminar.
pub fn by_hall(system: &System) -> Option<Finding> {
    let Confined { cpus, utilization, fits } = system.hall()?;
    Some(finding(system, &cpus, Quantity::Sum(utilization), fits))
}

/// Sends the utilizations to CPUs by a maximum flow (Dinic 1970), for a system that keeps the
/// assumptions.
pub fn by_flow(system: &System) -> Finding {
    let masks = system.affinities();
    let sums: Vec<Rate> = masks.iter().map(|(_, sum)| sum.exact()).collect();
    let cut = match scale(system, &masks) {
        Some((demands, unit)) => unsent(&masks, &demands, unit, 0, system),
        None => {
            // Fractions would be reduced at every step of the flow; whole numbers of any size are
            // only added.
            let (demands, unit) = over_common_multiple(system, &masks);
            unsent(&masks, &demands, unit, BigInt::ZERO, system)
        }
    };
    let all = system.platform.all_cpus();
    let total = |within: &CpuSet| {
        let inside = masks.iter().zip(&sums).filter(|((mask, _), _)| mask.is_subset(within));
        Quantity::Number(inside.fold(Rate::ZERO, |total, (_, sum)| &total + sum))
    };
    match cut {
        Some(cpus) => finding(system, &cpus, total(&cpus), false),
        None => finding(system, &all, total(&all), true),
    }
}

fn finding(system: &System, cpus: &CpuSet, value: Quantity, hall: bool) -> Finding {
    // A single task can exceed a CPU, whatever its affinity.
    let heavy = system.tasks.iter().find(|(_, task)| task.own_wcet().at_unit_speed() > task.period);
    if let Some((id, task)) = heavy {
        let (value, bound) = (Quantity::Number(task.utilization()), Quantity::Number(Rate::ONE));
        let scope = Scope { task: Some(id), ..Scope::default() };
        let reason = Reason::compared("the utilization", scope, value, bound, false);
        return exact_in_the_long_run(system, false, reason);
    }
    let bound = Quantity::Number(Rate::whole(cpus.len() as i64));
    let what = "the utilization of the tasks confined to these CPUs";
    let reason = Reason::compared(what, Scope::cpus(cpus), value, bound, hall);
    exact_in_the_long_run(system, hall, reason)
}

/// The sums as integers over the common multiple of the periods, and that multiple. `None` if it or
/// the total of the sums overflows.
fn scale(system: &System, masks: &[(CpuSet, RateSum)]) -> Option<(Vec<i128>, i128)> {
    let mut common = 1i128;
    for task in system.tasks.values() {
        let period = i128::from(task.period.ns());
        common = common.checked_mul(period / common.gcd(&period))?;
    }
    let mut demands = vec![0i128; masks.len()];
    let mut total = 0i128;
    for (id, task) in system.tasks.iter() {
        let allowed = system.allowed_cpus(id);
        let at = masks.iter().position(|(mask, _)| *mask == allowed)?;
        let share = common / i128::from(task.period.ns());
        let demand = share.checked_mul(i128::from(task.own_wcet().ns()))?;
        demands[at] = demands[at].checked_add(demand)?;
        total = total.checked_add(demand)?;
    }
    common.checked_mul(system.platform.cpu_count() as i128)?;
    Some((demands, common))
}

/// The sums as integers over the common multiple of the periods, and that multiple, of any size.
fn over_common_multiple(system: &System, masks: &[(CpuSet, RateSum)]) -> (Vec<BigInt>, BigInt) {
    let mut common = BigInt::from(1);
    for task in system.tasks.values() {
        let period = BigInt::from(task.period.ns());
        let rest = &common % &period;
        if rest != BigInt::ZERO {
            common *= &period / rest.gcd(&period);
        }
    }
    let at: BTreeMap<&CpuSet, usize> =
        masks.iter().enumerate().map(|(at, (mask, _))| (mask, at)).collect();
    let mut demands = vec![BigInt::ZERO; masks.len()];
    for (id, task) in system.tasks.iter() {
        let share = &common / task.period.ns();
        demands[at[&system.allowed_cpus(id)]] += share * task.own_wcet().ns();
    }
    (demands, common)
}

/// Sends the demand of each mask to its CPUs, each of which takes `unit`. If not all of it arrives,
/// returns the CPUs on the source's side of a minimum cut.
fn unsent<T>(
    masks: &[(CpuSet, RateSum)],
    demands: &[T],
    unit: T,
    zero: T,
    system: &System,
) -> Option<CpuSet>
where
    T: Clone + Ord,
    for<'a> &'a T: Add<&'a T, Output = T> + Sub<&'a T, Output = T>,
{
    let cpus = system.platform.cpu_count();
    let (source, sink) = (0, 1);
    let (mask_node, cpu_node) = (|at: usize| 2 + at, |cpu: usize| 2 + masks.len() + cpu);
    let mut network = Network::new(2 + masks.len() + cpus, zero.clone());
    let mut total = zero;
    for (at, ((mask, _), demand)) in masks.iter().zip(demands).enumerate() {
        network.add(source, mask_node(at), demand.clone());
        total = &total + demand;
        for cpu in mask.iter() {
            // The edge is never the bottleneck: no more than the demand flows.
            network.add(mask_node(at), cpu_node(cpu.index()), demand.clone());
        }
    }
    (0..cpus).for_each(|cpu| network.add(cpu_node(cpu), sink, unit.clone()));
    let sent = network.maximum(source, sink, &total);
    if sent == total {
        return None;
    }
    // The last search from the source did not reach the sink. The nodes that it reached are one side of a
    // minimum cut.
    let reached = |cpu: &layland_model::CpuId| network.level[cpu_node(cpu.index())].is_some();
    Some(system.platform.cpus().filter(reached).collect())
}

/// A network with exact capacities.
struct Network<T> {
    /// Target and remaining capacity; an edge and its reverse are neighbours, 2k and 2k + 1.
    edges: Vec<(usize, T)>,
    from: Vec<Vec<usize>>,
    level: Vec<Option<usize>>,
    zero: T,
}

impl<T> Network<T>
where
    T: Clone + Ord,
    for<'a> &'a T: Add<&'a T, Output = T> + Sub<&'a T, Output = T>,
{
    fn new(nodes: usize, zero: T) -> Network<T> {
        Network { edges: Vec::new(), from: vec![Vec::new(); nodes], level: vec![None; nodes], zero }
    }

    fn add(&mut self, from: usize, to: usize, capacity: T) {
        self.from[from].push(self.edges.len());
        self.edges.push((to, capacity));
        self.from[to].push(self.edges.len());
        self.edges.push((from, self.zero.clone()));
    }

    fn maximum(&mut self, source: usize, sink: usize, limit: &T) -> T {
        let mut sent = self.zero.clone();
        while self.search(source, sink) {
            let mut next = vec![0; self.from.len()];
            loop {
                let more = self.push(source, sink, &(limit - &sent), &mut next);
                if more == self.zero {
                    break;
                }
                sent = &sent + &more;
            }
        }
        sent
    }

    /// Computes the distance of every node from the source. Returns true if the sink is reached.
    fn search(&mut self, source: usize, sink: usize) -> bool {
        self.level.fill(None);
        self.level[source] = Some(0);
        let mut queue = VecDeque::from([(source, 0)]);
        while let Some((node, distance)) = queue.pop_front() {
            for &edge in &self.from[node] {
                let (to, capacity) = &self.edges[edge];
                if self.level[*to].is_none() && *capacity > self.zero {
                    self.level[*to] = Some(distance + 1);
                    queue.push_back((*to, distance + 1));
                }
            }
        }
        self.level[sink].is_some()
    }

    /// Sends up to `most` along one shortest path; `next` skips edges that are of no more use.
    fn push(&mut self, node: usize, sink: usize, most: &T, next: &mut [usize]) -> T {
        if node == sink {
            return most.clone();
        }
        while let Some(&edge) = self.from[node].get(next[node]) {
            let (to, capacity) = self.edges[edge].clone();
            let farther = self.level[to] == self.level[node].map(|level| level + 1);
            if farther && capacity > self.zero {
                let sent = self.push(to, sink, most.min(&capacity), next);
                if sent > self.zero {
                    self.edges[edge].1 = &capacity - &sent;
                    self.edges[edge ^ 1].1 = &self.edges[edge ^ 1].1 + &sent;
                    return sent;
                }
            }
            next[node] += 1;
        }
        self.zero.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use layland_model::{Duration, Service, Task};

    /// Tasks whose periods have no common divisor, on all four CPUs, the first two, or one of
    /// these.
    fn of_unlike_periods(count: usize, percent: i64) -> System {
        let masks = ["0-3", "0-1", "0", "1", "2-3"];
        let primes = (1_000_003i64..).filter(|n| (2..=1001).all(|d| n % d != 0));
        let tasks = primes.take(count).enumerate().map(|(at, period)| {
            let wcet = period * percent / 100 + at as i64;
            let mut task =
                Task::implicit(at.to_string(), Service::from_ns(wcet), Duration::from_ns(period));
            task.affinity = masks[at % masks.len()].parse().ok();
            task
        });
        System::new(4, tasks.collect())
    }

    #[test]
    fn beyond_128_bits_the_flow_agrees_with_hall() {
        let mut seen = Vec::new();
        for percent in 8..=24 {
            let system = of_unlike_periods(20, percent);
            assert!(scale(&system, &system.affinities()).is_none(), "128 bits must not suffice");
            let (hall, flow) = (by_hall(&system).expect("they are laminar"), by_flow(&system));
            assert_eq!(hall.verdict, flow.verdict, "{percent} %");
            seen.push(flow.verdict);
        }
        assert!(seen.contains(&Verdict::Yes) && seen.contains(&Verdict::No));
    }
}
