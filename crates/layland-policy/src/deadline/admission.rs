//! Admission control by bandwidth: the sums of `Q / T` per cluster and per CPU, and their limit.
//!
//! (1) The threads of a cluster have at most `limit` times the number of its CPUs (the sum of their
//!     speeds, if a policy takes these into account). (2) The threads that may use one CPU only
//!     have at most `limit` on each CPU. Equality is accepted. The bandwidth that a CPU has reserved for
//!     ordinary threads (`fair`) counts in both. Sums are exact; where the speeds count with the
//!     kernel's arithmetic, (1) is in its integers ([`layland_model::capacity`]).
//!
//! (3) With `slack=on`, a thread that migrates leaves more of its period than a forced throttle
//!     costs: `Q + throttle_cost < T`, with the time of `Q` on the fastest CPU that the thread may
//!     use. If it is late, each of its jobs makes up for `T - Q`, less that cost.

use super::options::KernelOptions;
use super::price::Arith;
use super::runqueues::RunQueues;
use crate::Refusal;
use crate::info::{OptionInfo, PolicyOptions, Values};
use layland_model::capacity::{self, beside_fair};
use layland_model::{CpuId, CpuMap, CpuSet, Duration, Rate, RateSum, TaskId};

pub(crate) fn limit() -> OptionInfo {
    OptionInfo::new(
        "limit",
        "the bandwidth that admission control grants per CPU (default 19/20)",
        Values::Rate,
    )
}

/// The bandwidth per CPU that admission control grants.
pub(super) fn limit_of(options: &PolicyOptions) -> Result<Rate, Refusal> {
    let Some(text) = options.text("limit") else { return Ok(Rate::new(19, 20)) };
    let limit: Option<Rate> = text.parse().ok();
    limit
        .filter(|limit| *limit > Rate::ZERO)
        .ok_or_else(|| Refusal::invalid(format!("limit=`{text}` is not a bandwidth, as 19/20 is")))
}

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    /// The limit per CPU; `None` while admission control is off.
    limit: Option<Rate>,
    /// True if condition (2) is enforced.
    per_cpu: bool,
    /// The bandwidth of each CPU that is reserved for ordinary threads.
    fair: Rate,
    /// The cost of a forced throttle, if condition (3) is enforced.
    slack: Option<Duration>,
    clusters: Vec<RateSum>,
    partitioned: CpuMap<RateSum>,
    /// The sums of the clusters in units of the kernel, where these decide.
    in_units: Option<Vec<u64>>,
}

impl Admission {
    pub(crate) fn new(rq: &RunQueues, options: &KernelOptions, per_cpu: bool) -> Admission {
        Admission {
            limit: options.limit.clone(),
            per_cpu,
            fair: options.fair.clone(),
            slack: options.needs_slack.then_some(options.throttle_cost),
            clusters: vec![RateSum::default(); rq.clusters.len()],
            partitioned: CpuMap::filled(RateSum::default(), rq.curr.len()),
            in_units: (rq.knows_speeds() && rq.arith() == Arith::Kernel)
                .then(|| vec![0; rq.clusters.len()]),
        }
    }

    /// Returns true if the threads of a cluster and this much more are within the limit on these CPUs.
    fn are_within(
        &self,
        rq: &RunQueues,
        limit: &Rate,
        cluster: usize,
        more: &Rate,
        cpus: &CpuSet,
    ) -> bool {
        match &self.in_units {
            Some(totals) => {
                let speed = |cpu| capacity::of_speed(rq.speed_of(cpu));
                let capacity = cpus.iter().map(speed).sum();
                let [more, limit, fair] = [more, limit, &self.fair].map(capacity::units);
                let bound = beside_fair(limit, fair, cpus.len(), capacity);
                totals[cluster].saturating_add(more) <= bound
            }
            None => self.clusters[cluster].fits(more, &self.bound(rq, limit, cpus)),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.limit.is_some()
    }

    /// Returns the bandwidth on some CPUs that threads may have.
    fn bound(&self, rq: &RunQueues, limit: &Rate, cpus: &CpuSet) -> Rate {
        let fair = &self.fair * &Rate::whole(cpus.len() as i64);
        (&(limit * &rq.capacity(cpus)) - &fair).max(Rate::ZERO)
    }

    /// Returns the end of a sentence about a limit.
    fn less_fair(&self) -> &'static str {
        if self.fair == Rate::ZERO { "" } else { ", less what ordinary threads have reserved" }
    }

    fn cluster_fits(&self, rq: &RunQueues, cluster: usize, u: &Rate) -> Result<(), Refusal> {
        let Some(limit) = &self.limit else { return Ok(()) };
        let cpus = &rq.clusters[cluster];
        if self.are_within(rq, limit, cluster, u, cpus) {
            return Ok(());
        }
        Err(Refusal::busy(format!(
            "admission control, condition (1): the tasks of cluster {cluster} have a utilization of {:.3} and \
             may have {:.3}, the limit times its CPUs{}; {:.3} more do not fit",
            self.clusters[cluster].to_f64(),
            self.bound(rq, limit, cpus).to_f64(),
            self.less_fair(),
            u.to_f64(),
        )))
    }

    fn cpu_fits(&self, cpu: CpuId, u: &Rate) -> Result<(), Refusal> {
        let Some(limit) = self.limit.as_ref().filter(|_| self.per_cpu) else { return Ok(()) };
        let bound = (limit - &self.fair).max(Rate::ZERO);
        if self.partitioned[cpu].fits(u, &bound) {
            return Ok(());
        }
        Err(Refusal::busy(format!(
            "admission control, condition (2): the tasks partitioned on CPU {cpu} have a utilization of {:.3} \
             and may have {:.3}{}; {:.3} more do not fit",
            self.partitioned[cpu].to_f64(),
            bound.to_f64(),
            self.less_fair(),
            u.to_f64(),
        )))
    }

    fn catches_up(&self, rq: &RunQueues, p: TaskId) -> Result<(), Refusal> {
        let Some(cost) = self.slack.filter(|_| self.limit.is_some()) else { return Ok(()) };
        let thread = &rq.threads[p];
        let (budget, period, _) = thread.server.parameters();
        let takes = thread.mask.iter().map(|cpu| rq.speed_of(cpu).time_for(budget)).min();
        // A slow CPU may need longer than a period.
        let left = (period - takes.unwrap_or(budget.at_unit_speed())).max(Duration::ZERO);
        if !thread.migrates || left > cost {
            return Ok(());
        }
        Err(Refusal::busy(format!(
            "admission control, condition (3): the task migrates and leaves {left:#} of its period, and a forced \
             throttle costs {cost:#}: it would not catch up once it is late"
        )))
    }

    /// Admits a thread that asks to enter, or refuses it.
    pub(crate) fn enter(&mut self, rq: &RunQueues, p: TaskId) -> Result<(), Refusal> {
        let thread = &rq.threads[p];
        self.cluster_fits(rq, thread.cluster, &thread.u)?;
        if let (false, Some(cpu)) = (thread.migrates, thread.mask.lowest()) {
            self.cpu_fits(cpu, &thread.u)?;
        }
        self.catches_up(rq, p)?;
        self.add(rq, p);
        Ok(())
    }

    /// Grants or refuses another bandwidth of a thread in the system.
    pub(crate) fn change(&mut self, rq: &RunQueues, p: TaskId, u: &Rate) -> Result<(), Refusal> {
        self.remove(rq, p);
        let verdict = self.cluster_fits(rq, rq.threads[p].cluster, u);
        self.add(rq, p);
        verdict
    }

    /// Grants or refuses the move of a thread in the system to another cluster.
    pub(crate) fn attach(&self, rq: &RunQueues, p: TaskId, cluster: usize) -> Result<(), Refusal> {
        if rq.threads[p].cluster == cluster {
            return Ok(());
        }
        self.cluster_fits(rq, cluster, &rq.threads[p].u)
    }

    /// Grants or refuses other CPUs for a cluster.
    pub(crate) fn resize(
        &self,
        rq: &RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal> {
        let Some(limit) = &self.limit else { return Ok(()) };
        if self.are_within(rq, limit, cluster, &Rate::ZERO, cpus) {
            return Ok(());
        }
        let cpus = cpus.len();
        Err(Refusal::busy(format!(
            "admission control, condition (1): the tasks of cluster {cluster} have a utilization of {:.3}, too \
             much for {cpus} CPUs",
            self.clusters[cluster].to_f64()
        )))
    }

    /// Counts a thread in its current state.
    pub(crate) fn add(&mut self, rq: &RunQueues, p: TaskId) {
        let thread = &rq.threads[p];
        self.clusters[thread.cluster].add(&thread.u);
        if let Some(totals) = &mut self.in_units {
            totals[thread.cluster] += capacity::units(&thread.u);
        }
        if let (false, Some(cpu)) = (thread.migrates, thread.mask.lowest()) {
            self.partitioned[cpu].add(&thread.u);
        }
    }

    /// Removes a thread from the sums; it must be in the state in which it was counted.
    pub(crate) fn remove(&mut self, rq: &RunQueues, p: TaskId) {
        let thread = &rq.threads[p];
        self.clusters[thread.cluster].remove(&thread.u);
        if let Some(totals) = &mut self.in_units {
            totals[thread.cluster] -= capacity::units(&thread.u);
        }
        if let (false, Some(cpu)) = (thread.migrates, thread.mask.lowest()) {
            self.partitioned[cpu].remove(&thread.u);
        }
    }

    /// Returns true if the sums are those of the threads in the system.
    pub(crate) fn agrees(&self, rq: &RunQueues) -> bool {
        let sum = |of: &dyn Fn(TaskId) -> bool| -> Rate {
            rq.threads.ids().filter(|&p| of(p)).map(|p| rq.threads[p].u.clone()).sum()
        };
        let counted = |p: TaskId| rq.threads[p].admitted;
        let clusters = self.clusters.iter().enumerate().all(|(cluster, total)| {
            total.exact() == sum(&|p| counted(p) && rq.threads[p].cluster == cluster)
        });
        clusters
            && self.partitioned.iter().all(|(cpu, total)| {
                let here = |p: TaskId| {
                    counted(p) && !rq.threads[p].migrates && rq.threads[p].mask.contains(cpu)
                };
                total.exact() == sum(&here)
            })
    }
}
