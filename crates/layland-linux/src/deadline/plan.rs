//! The reservations and root domains that a set needs, and whether the kernel would accept them.
//!
//! Long because the kernel as it is, with the repair, and with root domains share their refusals.

use crate::kernel::sys;
use crate::machine::limit::Limit;
use crate::machine::register::Register;
use crate::machine::repair::Repair;
use crate::machine::rules::{Broken, Rules};
use layland_engine::reserves::Margin;
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, Group, JobOrder, OnMiss, Piece, Rate, RateSum, RequestKind,
    ScheduleRule, Service, System, TaskId, TaskMap,
};
use std::borrow::Cow;

/// The name of the real-time limit among shared settings.
pub(super) const ADMISSION_SETTING: &str = "sched_rt_runtime_us";

/// The kernel's enforcement and limit of budgets, as far as they can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The length of a tick.
    pub tick: Duration,
    /// True if budgets are enforced precisely instead of by the tick; `None` if that is unknown.
    pub has_hrtick: Option<bool>,
    /// The share of each CPU that may be reserved, in thousandths.
    pub limit_thousandths: i64,
    /// The rules for threads that are tied to a CPU, if the kernel has the repair of SCHED_DEADLINE.
    pub repair: Option<Repair>,
}

impl Facts {
    /// Reads the facts of this machine. A value that cannot be read counts as its worse
    /// alternative.
    pub fn read() -> Facts {
        let number = |path: &str| {
            std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<i64>().ok())
        };
        let features = std::fs::read_to_string("/sys/kernel/debug/sched/features").ok();
        let has_hrtick =
            features.map(|text| text.split_whitespace().any(|word| word == "HRTICK_DL"));
        let period = Limit::get().period_us.unwrap_or(1_000_000).max(1);
        // A run that switched admission control off will switch it on again when it ends. The
        // kernel refuses that if more than the earlier limit is reserved by then, so the earlier
        // limit counts here.
        let before = Register::open().ok().and_then(|register| register.before(ADMISSION_SETTING));
        let runtime = before.and_then(|text| text.trim().parse().ok());
        let runtime = runtime.or_else(|| Limit::get().runtime_us);
        let runtime = runtime.unwrap_or(950_000);
        // The fair server reserves 50 ms in every second.
        let fair = match number("/sys/kernel/debug/sched/fair_server/cpu0/runtime") {
            Some(0) => 0,
            Some(_) | None => 50,
        };
        // A runtime of -1 means that admission control is off.
        let limit_thousandths =
            if runtime < 0 { 1000 } else { (runtime * 1000 / period - fair).max(0) };
        let tick = Duration::from_ns(sys::tick_ns());
        Facts { tick, has_hrtick, limit_thousandths, repair: Repair::read() }
    }

    /// Returns the longest delay until the kernel notices that a budget is exhausted.
    pub fn granularity(&self) -> Duration {
        if self.has_hrtick == Some(true) { Duration::ZERO } else { self.tick }
    }
}

pub use crate::kernel::sys::Reservation;

/// A root domain: CPUs (numbers of the platform) and the tasks that share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// The CPUs.
    pub cpus: CpuSet,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// Returns each CPU with the tasks that run entirely on it.
fn unsplit(system: &System, pieces: &TaskMap<Vec<Piece>>) -> Result<Vec<Group>, Refusal> {
    if let Some((id, own)) = pieces.iter().find(|(_, own)| own.len() > 1) {
        return Err(Refusal::Split { task: system.tasks[id].name.to_string(), count: own.len() });
    }
    let on =
        |cpu: CpuId| pieces.iter().filter(move |(_, own)| own.iter().any(|piece| piece.cpu == cpu));
    let group = |cpu: CpuId| Group {
        cpus: CpuSet::single(cpu),
        tasks: on(cpu).map(|(id, _)| id).collect(),
    };
    Ok(system.platform.cpus().map(group).collect())
}

/// The reservations and domains to set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The reservation of each task.
    pub reservations: TaskMap<Reservation>,
    /// The root domains that have tasks.
    pub domains: Vec<Domain>,
    /// The CPUs that each task may use, if the kernel is used as it is, without root domains and with
    /// admission control off; or, with the repair, in a root domain and admitted by its rules.
    pub affinities: Option<TaskMap<CpuSet>>,
    /// The rules that are on during the run, if the run needs the repair of the kernel.
    pub repair: Option<Repair>,
    /// The clusters that requests may name.
    pub clusters: Vec<CpuSet>,
    /// By task: the delay of its first release after its offset, so that ties are settled.
    pub settle: TaskMap<Duration>,
    /// True if a task issues its own requests while it runs; otherwise the engine issues them on
    /// time.
    pub asks_itself: bool,
    /// The minimum time that threads sleep in SCHED_DEADLINE before time 0.
    pub lead: Duration,
    /// Warnings for the user.
    pub caveats: Vec<String>,
}

/// The reason why the kernel cannot run a set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are named in the message of each kind")]
pub enum Refusal {
    /// The policy does not order jobs by deadlines, or has no groups.
    #[error(
        "SCHED_DEADLINE cannot express this policy: it is earliest deadline first in disjoint groups of CPUs, and nothing else"
    )]
    NotEdf,
    /// A task is split onto several CPUs.
    #[error(
        "task `{task}` is split onto {count} CPUs: a SCHED_DEADLINE thread has one reservation and one root domain, \
         and can change neither within a job"
    )]
    Split { task: String, count: usize },
    /// A task may not use every CPU of its group.
    #[error(
        "task `{task}` may only use {allowed:#} of its group {group}: a SCHED_DEADLINE thread needs the whole root domain"
    )]
    Affinity { task: String, allowed: CpuSet, group: CpuSet },
    /// The kernel does not have the repair.
    #[error(
        "SCHED_DEADLINE of this kernel is not repaired for threads that are tied to a CPU: it has no \
         kernel.sched_dl_semi_partitioned"
    )]
    NotRepaired,
    /// A task may use several CPUs of its cluster, but not all.
    #[error(
        "task `{task}` may only use {allowed:#} of its cluster {cluster}: with the repair a SCHED_DEADLINE thread has \
         one CPU or all of its root domain"
    )]
    NeitherOneNorAll { task: String, allowed: CpuSet, cluster: CpuSet },
    /// Requests change the system while it runs.
    #[error(
        "the set changes while it runs, and parameters of a live SCHED_DEADLINE thread must not change"
    )]
    Requests,
    /// A request that no system call carries out.
    #[error("{request}: this engine changes tasks only")]
    Request { request: String },
    /// A CPU has a speed other than 1.
    #[error("the platform has CPUs of different speeds, which real ones are not")]
    Speeds,
    /// An execution time is too short for enforcement by the tick.
    #[error(
        "task `{task}` executes {wcet}, less than two ticks of {tick}, and budgets are enforced by the tick on this kernel"
    )]
    ShorterThanTicks { task: String, wcet: Duration, tick: Duration },
    /// The margin does not fit before the deadline.
    #[error(
        "task `{task}` needs {runtime} (execution time and margin), more than its deadline of {deadline}"
    )]
    NoRoom { task: String, runtime: Duration, deadline: Duration },
    /// A task aborts or skips late jobs.
    #[error(
        "task `{task}` does not let late jobs run on, and the kernel neither aborts nor skips jobs"
    )]
    OnMiss { task: String },
    /// The kernel does not accept the reservation of a task.
    #[error("task `{task}`: {broken}")]
    Rule { task: String, broken: Broken },
    /// A domain asks for more than may be reserved.
    #[error(
        "{cpus:#} would be asked for a load of {sum:.3}, and at most {limit:.3} may be reserved"
    )]
    TooMuch { cpus: CpuSet, sum: f64, limit: f64 },
}

impl Refusal {
    /// Returns the name of the task that caused the refusal, if there is one.
    pub fn task(&self) -> Option<&str> {
        match self {
            Refusal::Split { task, .. }
            | Refusal::Affinity { task, .. }
            | Refusal::NeitherOneNorAll { task, .. }
            | Refusal::ShorterThanTicks { task, .. }
            | Refusal::NoRoom { task, .. }
            | Refusal::OnMiss { task }
            | Refusal::Rule { task, .. } => Some(task),
            Refusal::NotEdf
            | Refusal::NotRepaired
            | Refusal::Requests
            | Refusal::Request { .. }
            | Refusal::Speeds
            | Refusal::TooMuch { .. } => None,
        }
    }

    /// Returns advice for the user.
    pub fn help(&self) -> &'static str {
        match self {
            Refusal::NotEdf
            | Refusal::Split { .. }
            | Refusal::Affinity { .. }
            | Refusal::NeitherOneNorAll { .. }
            | Refusal::Requests
            | Refusal::Request { .. } => "the dispatcher runs every policy: --engine fifo",
            Refusal::NotRepaired => {
                "the dispatcher runs every policy: --engine fifo; patches of Linux are in kernel/ of Layland's sources"
            }
            Refusal::OnMiss { .. } => {
                "say on_miss = \"continue\", or let the dispatcher run it: --engine fifo"
            }
            // The kernel counts budgets in the work of the fastest CPU.
            Refusal::Speeds => {
                "leave the speeds out; for a thread that is tied to a CPU of capacity k (of 1024), declare a time that \
                 was measured there as ceil(C k / 1024), or it reserves 1024 / k times as much as it needs"
            }
            Refusal::ShorterThanTicks { .. } => {
                "stretch the times of the set, enable HRTICK_DL, or say --force"
            }
            Refusal::NoRoom { .. } => "choose a smaller --reserve",
            Refusal::Rule { .. } => "stretch or shrink the times of the set",
            Refusal::TooMuch { .. } => "choose a smaller --reserve, or fewer tasks",
        }
    }
}

impl Plan {
    /// Computes what a set needs under a policy that promises `rule`. The margin is added to each
    /// WCET. By default it is 5 % of the WCET, at least [`Facts::granularity`], as far as the
    /// deadline allows. An explicit fraction has no minimum.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot express or would not accept the set.
    pub fn new(
        system: &System,
        rule: &ScheduleRule,
        facts: &Facts,
        margin: Option<&Margin>,
        is_forced: bool,
    ) -> Result<Plan, Refusal> {
        // Both orders are accepted, because the kernel breaks ties in its own way.
        let groups = if let ScheduleRule::HighestFirst {
            groups,
            order: JobOrder::Deadline | JobOrder::DeadlineThenRunning,
            ..
        } = rule
        {
            Cow::Borrowed(groups)
        } else if let ScheduleRule::Split { pieces } = rule {
            Cow::Owned(unsplit(system, pieces)?)
        } else {
            return Err(Refusal::NotEdf);
        };
        if !system.requests.is_empty() {
            return Err(Refusal::Requests);
        }
        if !system.platform.is_unit_speed() {
            return Err(Refusal::Speeds);
        }
        let mut plan = Plan {
            reservations: TaskMap::filled(Reservation::default(), system.tasks.len()),
            domains: Vec::new(),
            affinities: None,
            repair: None,
            clusters: Vec::new(),
            settle: TaskMap::filled(Duration::ZERO, system.tasks.len()),
            asks_itself: false,
            lead: Duration::ZERO,
            caveats: Vec::new(),
        };
        for group in groups.iter().filter(|group| !group.tasks.is_empty()) {
            for &id in &group.tasks {
                let task = &system.tasks[id];
                let allowed = system.allowed_cpus(id).intersection(&group.cpus);
                if allowed != group.cpus {
                    let (task, group) = (task.name.clone(), group.cpus.clone());
                    return Err(Refusal::Affinity { task: task.to_string(), allowed, group });
                }
                plan.reservations[id] = reservation(system, id, facts, margin, is_forced)?;
                if task.deadline > task.period {
                    plan.caveats.push(format!(
                        "task `{}`: its deadline is after its period, and the kernel reserves by the period",
                        task.name
                    ));
                }
            }
            let domain = Domain { cpus: group.cpus.clone(), tasks: group.tasks.clone() };
            plan.admit(&domain, facts)?;
            if domain.cpus.len() > 1 {
                plan.caveats.push(format!(
                    "{:#}: global EDF of the kernel bounds tardiness, it does not promise deadlines",
                    domain.cpus
                ));
            }
            plan.domains.push(domain);
        }
        if matches!(rule, ScheduleRule::Split { .. }) {
            plan.caveats.push(
                "a job that needs more than it has reserved goes on in its next period: the kernel aborts no job"
                    .to_owned(),
            );
        }
        if facts.has_hrtick != Some(true) {
            plan.caveats
                .push(format!("budgets are enforced by the tick: up to {} late", facts.tick));
        }
        Ok(plan)
    }

    /// Computes what a set needs on the kernel as it is: any affinities, hogs, requests; no
    /// admission control. A task tied to one CPU would win a tie against a task of the same offset
    /// that is not tied. It is therefore released later than its offset by `settle`, or by default
    /// by a fortieth of the shortest period. Hogs get exactly their reservation, other tasks a
    /// margin in addition.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot express the set.
    pub fn of_kernel(
        system: &System,
        facts: &Facts,
        margin: Option<&Margin>,
        is_forced: bool,
        settle: Option<Duration>,
        asks_itself: bool,
    ) -> Result<Plan, Refusal> {
        let reservations = reservations(system, facts, margin, is_forced)?;
        let affinities: TaskMap<CpuSet> =
            system.tasks.ids().map(|id| system.allowed_cpus(id)).collect();
        let periods = || system.tasks.values().map(|task| task.period);
        let shortest = periods().min().unwrap_or_default();
        let settle = settle.unwrap_or(Duration::from_ns(shortest.ns() / 40));
        let is_tied = |id: TaskId| affinities[id].len() == 1;
        let wins = |id: TaskId| {
            let own = system.tasks[id].offset;
            is_tied(id)
                && system.tasks.iter().any(|(other, task)| task.offset == own && !is_tied(other))
        };
        let settle: TaskMap<Duration> =
            (system.tasks.ids()).map(|id| if wins(id) { settle } else { Duration::ZERO }).collect();
        let mut caveats = vec![
            "admission control is off during the run: nothing keeps these threads from taking all of \
             the CPUs"
                .to_owned(),
        ];
        let all = system.platform.all_cpus();
        if affinities.values().any(|allowed| *allowed != all) {
            caveats.push(
                "affinities: SCHED_DEADLINE has unbounded tardiness and priority inversions with them \
                 on every kernel tested; the engine fifo has policies without"
                    .to_owned(),
            );
        }
        if !system.requests.is_empty() {
            caveats.push(
                "parameters and affinities of live SCHED_DEADLINE threads change: depending on its \
                 version the kernel starts their servers again then"
                    .to_owned(),
            );
        }
        if facts.has_hrtick != Some(true) {
            caveats.push(format!("budgets are enforced by the tick: up to {} late", facts.tick));
        }
        let lead = periods().max().unwrap_or_default() + shortest * 2;
        let clusters = system.platform.clusters.clone();
        let affinities = Some(affinities);
        let domains = Vec::new();
        let repair = None;
        Ok(Plan {
            reservations,
            domains,
            affinities,
            repair,
            clusters,
            settle,
            asks_itself,
            lead,
            caveats,
        })
    }

    /// Computes what a set needs on a kernel with the repair of SCHED_DEADLINE, under the rules of
    /// `repair`: a root domain for each cluster, whose threads use all of it or one CPU, and admission
    /// control by both conditions. Requests are carried out by system calls; the kernel refuses those
    /// for other parameters or another affinity. Hogs get exactly their reservation, other tasks a
    /// margin in addition.
    ///
    /// # Errors
    /// Returns an error if the kernel does not have the repair, cannot express the set, or would not
    /// admit it.
    pub fn of_repaired(
        system: &System,
        facts: &Facts,
        repair: Repair,
        margin: Option<&Margin>,
        is_forced: bool,
        asks_itself: bool,
    ) -> Result<Plan, Refusal> {
        if facts.repair.is_none() {
            return Err(Refusal::NotRepaired);
        }
        let reservations = reservations(system, facts, margin, is_forced)?;
        let affinities: TaskMap<CpuSet> =
            system.tasks.ids().map(|id| system.allowed_cpus(id)).collect();
        let mut plan = Plan {
            reservations,
            domains: Vec::new(),
            affinities: Some(affinities.clone()),
            repair: Some(repair),
            clusters: system.platform.clusters.clone(),
            settle: TaskMap::filled(Duration::ZERO, system.tasks.len()),
            asks_itself,
            lead: Duration::ZERO,
            caveats: Vec::new(),
        };
        for (index, cluster) in system.platform.clusters.iter().enumerate() {
            let inside = system.tasks.iter().filter(|(_, task)| task.cluster == index);
            let tasks: Vec<TaskId> = inside.map(|(id, _)| id).collect();
            if tasks.is_empty() {
                continue;
            }
            for &id in &tasks {
                let allowed = affinities[id].clone();
                if allowed.len() > 1 && allowed != *cluster {
                    let task = system.tasks[id].name.to_string();
                    let cluster = cluster.clone();
                    return Err(Refusal::NeitherOneNorAll { task, allowed, cluster });
                }
            }
            // Condition (2), and then (1).
            for cpu in cluster.iter().filter(|_| cluster.len() > 1) {
                let cpus = CpuSet::single(cpu);
                let tied = tasks.iter().copied().filter(|&id| affinities[id] == cpus).collect();
                plan.admit(&Domain { cpus, tasks: tied }, facts)?;
            }
            let domain = Domain { cpus: cluster.clone(), tasks };
            plan.admit(&domain, facts)?;
            plan.domains.push(domain);
        }
        let is_late_for_ever = |&(id, _): &(TaskId, &Reservation)| {
            let Reservation { runtime, period, .. } = plan.reservations[id];
            affinities[id].len() > 1 && runtime >= period
        };
        if let Some((id, _)) = plan.reservations.iter().find(is_late_for_ever) {
            plan.caveats.push(format!(
                "task `{}` migrates and reserves all of its periods: it never gets back what the kernel's work takes \
                 from it",
                system.tasks[id].name
            ));
        }
        if facts.has_hrtick != Some(true) {
            plan.caveats
                .push(format!("budgets are enforced by the tick: up to {} late", facts.tick));
        }
        Ok(plan)
    }

    /// Returns the system with the budget of each task set to the runtime that is reserved for it.
    pub fn reserved(&self, system: &System) -> System {
        let mut system = system.clone();
        for (id, reservation) in self.reservations.iter() {
            system.tasks[id].budget = Some(Service::from_ns(reservation.runtime.ns()));
        }
        system
    }

    /// Applies the kernel's own test to a domain: the sum of `runtime / period`.
    fn admit(&self, domain: &Domain, facts: &Facts) -> Result<(), Refusal> {
        let rate = |id: &TaskId| {
            let Reservation { runtime, period, .. } = self.reservations[*id];
            Rate::new(runtime.ns(), period.ns())
        };
        let mut sum = RateSum::default();
        domain.tasks.iter().for_each(|id| sum.add(&rate(id)));
        let limit = Rate::new(facts.limit_thousandths * domain.cpus.len() as i64, 1000);
        if sum.exact() <= limit {
            return Ok(());
        }
        Err(Refusal::TooMuch {
            cpus: domain.cpus.clone(),
            sum: sum.to_f64(),
            limit: limit.to_f64(),
        })
    }

    /// Returns the sum of `runtime / period` in a domain, for display.
    pub fn load(&self, domain: &Domain) -> f64 {
        let share = |id: &TaskId| {
            let Reservation { runtime, period, .. } = self.reservations[*id];
            runtime.ns() as f64 / period.ns() as f64
        };
        domain.tasks.iter().map(share).sum()
    }

    /// Returns the position of the domain that contains a task.
    pub fn domain_of(&self, task: TaskId) -> Option<usize> {
        self.domains.iter().position(|domain| domain.tasks.contains(&task))
    }
}

/// Returns the reservations of a set that may have hogs and requests about tasks.
fn reservations(
    system: &System,
    facts: &Facts,
    margin: Option<&Margin>,
    is_forced: bool,
) -> Result<TaskMap<Reservation>, Refusal> {
    if !system.platform.is_unit_speed() {
        return Err(Refusal::Speeds);
    }
    for request in &system.requests {
        match request.kind {
            RequestKind::Leave(_) | RequestKind::Reconfigure(..) => {}
            RequestKind::SetClusterCpus { .. }
            | RequestKind::CpuOnline(_)
            | RequestKind::CpuOffline(_) => {
                return Err(Refusal::Request { request: system.describe(&request.kind) });
            }
        }
    }
    let mut reservations = TaskMap::filled(Reservation::default(), system.tasks.len());
    let none = Margin::Time(Duration::ZERO);
    for (id, task) in system.tasks.iter() {
        let is_hog = matches!(task.behaviour, Behaviour::Hog);
        let is_whole = task.reservation().at_unit_speed() >= task.period;
        let margin = if is_hog { Some(&none) } else { margin };
        let is_forced = is_forced || is_hog && is_whole;
        reservations[id] = reservation(system, id, facts, margin, is_forced)?;
    }
    Ok(reservations)
}

fn reservation(
    system: &System,
    id: TaskId,
    facts: &Facts,
    margin: Option<&Margin>,
    is_forced: bool,
) -> Result<Reservation, Refusal> {
    let task = &system.tasks[id];
    let name = || task.name.to_string();
    let period = task.period;
    let rules = Rules::read();
    let rule = |broken| Refusal::Rule { task: name(), broken };
    rules.check(Rules::SHORTEST_RUNTIME, period).map_err(rule)?;
    if task.on_miss != OnMiss::Continue {
        return Err(Refusal::OnMiss { task: name() });
    }
    let wcet = task.reservation().at_unit_speed();
    let is_coarse = facts.has_hrtick != Some(true) && wcet < facts.tick * 2;
    if is_coarse && !is_forced {
        return Err(Refusal::ShorterThanTicks { task: name(), wcet, tick: facts.tick });
    }
    let usual = Duration::from_ns(wcet.ns() / 20).max(facts.granularity());
    let deadline = task.deadline.min(period);
    // A default margin shrinks to the available time; an explicit one that does not fit is refused.
    let runtime = match margin {
        Some(Margin::Time(margin)) => wcet + *margin,
        Some(Margin::Fraction(fraction)) => {
            let more = fraction * &Rate::whole(wcet.ns());
            wcet + Duration::from_ns(more.ceil().unwrap_or(i64::MAX))
        }
        None => (wcet + usual).min(deadline).max(wcet),
    };
    if runtime > deadline {
        return Err(Refusal::NoRoom { task: name(), runtime, deadline });
    }
    rules.check(runtime, period).map_err(rule)?;
    Ok(Reservation { runtime, deadline, period })
}

#[cfg(test)]
mod tests;
