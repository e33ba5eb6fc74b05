//! [`Guard`]: a policy behind the register of admission. Each request goes to [`admit`] first, and
//! only granted requests reach the policy.

use crate::registry;
use layland_guarantee::Effort;
use layland_guarantee::admission::{
    Admission, AdmitOptions, Admitted, Ask, CarryOut, Grant, Guarantee, Left, Overruns,
    Reservation, Rule, Suggest, admit,
};
use layland_model::{
    Algorithm, Change, CpuSet, Duration, Form, Platform, ScheduleRule, Task, TaskId, Time,
};
use layland_policy::{Action, AfterJob, Count, Event, Needs, Policy, Refusal, RequestId, State};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rules for departed tasks in the register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Follows the rules of [`Admitted`].
    Careful,
    /// Forgets departed tasks at once, like admission control without transitions.
    AtOnce,
    /// Forgets a departed task at the end of its last job's window, whatever test admitted it.
    AtDeadlines,
}

/// The register's parameters in a sequence.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The rules for departed tasks.
    pub keeping: Keeping,
    /// True if the register is notified of quiet instants.
    pub tells_quiet: bool,
    /// True if the register is notified of the last job of a leaving task.
    pub tells_releases: bool,
    /// The effort of the tests.
    pub effort: Effort,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// The possible overruns of tasks, if the policy isolates tasks.
    pub overruns: Overruns,
}

/// The numbers of requests and grants, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTally {
    /// Tasks that requested to enter, and tasks that entered.
    pub joins: [u64; 2],
    /// Changes of parameters.
    pub changes: [u64; 2],
    /// Changes of CPUs.
    pub moves: [u64; 2],
    /// Clusters that should lose CPUs.
    pub losses: [u64; 2],
    /// Tasks that left.
    pub leaves: u64,
    /// Grants that needed the quiet rule.
    pub quiet: u64,
}

impl RequestTally {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: RequestTally) -> RequestTally {
        let both = |a: [u64; 2], b: [u64; 2]| [a[0] + b[0], a[1] + b[1]];
        RequestTally {
            joins: both(self.joins, other.joins),
            changes: both(self.changes, other.changes),
            moves: both(self.moves, other.moves),
            losses: both(self.losses, other.losses),
            leaves: self.leaves + other.leaves,
            quiet: self.quiet + other.quiet,
        }
    }
}

/// A task that was admitted.
#[derive(Clone, Debug)]
struct AdmittedTask {
    name: String,
    is_pending: bool,
    last_release: Option<Time>,
}

/// A policy behind the register of admission.
#[derive(Clone)]
pub struct Guard {
    policy: Box<dyn Policy>,
    is_partitioned: bool,
    /// True if tasks may use a part of their cluster.
    takes_affinities: bool,
    /// The register.
    pub admitted: Admitted,
    manner: Manner,
    members: BTreeMap<TaskId, AdmittedTask>,
    refusals: Vec<(RequestId, String)>,
    /// The requests and grants so far.
    pub tally: RequestTally,
    /// The requests and answers, one per line, if they are recorded.
    pub story: Option<Vec<String>>,
    /// The policy's refusal of a granted request, with the reason.
    pub contradiction: Option<String>,
}

impl Guard {
    /// Puts the guard before a policy that has no tasks yet.
    pub fn new(policy: Box<dyn Policy>, platform: Platform, spec: &str, manner: Manner) -> Guard {
        let (info, options) = registry().parse(spec).expect("it is a policy");
        let algorithm = info.algorithm(&options);
        let overruns = manner.overruns;
        Guard {
            policy,
            is_partitioned: matches!(algorithm, Algorithm::Ordered(Form::Partitioned, _)),
            takes_affinities: !matches!(algorithm, Algorithm::Ordered(Form::Clustered, _)),
            admitted: Admitted { overruns, ..Admitted::new(platform, spec) },
            manner,
            members: BTreeMap::new(),
            refusals: Vec::new(),
            tally: RequestTally::default(),
            story: None,
            contradiction: None,
        }
    }

    fn ask(&mut self, now: Time, ask: &Ask<'_>) -> Option<Grant> {
        match self.manner.keeping {
            Keeping::Careful => {}
            Keeping::AtOnce => self.admitted.holdings.retain(|holding| holding.left.is_none()),
            Keeping::AtDeadlines => {
                let in_use = |left: Left| left.until > now;
                self.admitted.holdings.retain(|holding| holding.left.is_none_or(in_use));
                self.admitted.exceeded = CpuSet::new();
            }
        }
        let effort = self.manner.effort;
        let options = AdmitOptions { effort, suggest: Suggest::Nothing, policies: Vec::new() };
        let answer = admit(registry(), &self.admitted, now, ask, &options);
        if let (Some(story), Ok(answer)) = (&mut self.story, &answer) {
            let told = match answer {
                Admission::Granted(grant) => {
                    let cpus = grant.holding.as_ref().map(|holding| holding.cpus.to_string());
                    format!("granted by {:?}, {:?}, CPUs {cpus:?}", grant.rule, grant.decided_by)
                }
                Admission::Refused(refused) => format!("refused: {refused}"),
            };
            story.push(format!("{now}: {ask:?}: {told}"));
        }
        match answer {
            Ok(Admission::Granted(grant)) => Some(*grant),
            Ok(Admission::Refused(_)) => None,
            Err(error) => panic!("{ask:?} cannot be answered: {error}"),
        }
    }

    fn accept(&mut self, grant: Grant) {
        self.tally.quiet += u64::from(grant.rule == Rule::Quiet);
        self.admitted = grant.after;
    }

    fn refuse(&mut self, request: RequestId) {
        self.refusals.push((request, "not admitted".to_owned()));
    }

    fn reservation(&self, task: &Task) -> Reservation {
        Reservation {
            name: task.name.to_string(),
            runtime: task.reservation(),
            deadline: task.deadline,
            period: task.period,
            cpus: task.affinity.clone(),
            priority: task.priority,
            rank: task.rank,
            guarantee: self.manner.guarantee,
        }
    }

    /// Returns the cluster of some CPUs, and the affinity that represents them.
    fn place(&self, cpus: &CpuSet) -> (usize, Option<CpuSet>) {
        let platform = &self.admitted.platform;
        let lowest = cpus.lowest().expect("a holding has CPUs");
        let cluster = platform.cluster_of(lowest).expect("they are in a cluster");
        let whole = platform.clusters[cluster] == *cpus;
        (cluster, (!whole || cpus.len() == 1).then(|| cpus.clone()))
    }

    fn join(&mut self, now: Time, id: TaskId, task: &Task, request: RequestId) {
        self.tally.joins[0] += 1;
        let reservation = self.reservation(task);
        let Some(grant) = self.ask(now, &Ask::Enter(&reservation)) else {
            return self.refuse(request);
        };
        let cpus = grant.holding.as_ref().expect("a task has entered").cpus.clone();
        let (cluster, affinity) = self.place(&cpus);
        self.accept(grant);
        self.tally.joins[1] += 1;
        let name = task.name.clone();
        self.members.insert(
            id,
            AdmittedTask { name: name.to_string(), is_pending: false, last_release: None },
        );
        let parameters = Arc::new(Task { cluster, affinity, ..task.clone() });
        self.policy.on_event(now, Event::Join { task: id, parameters, request });
    }

    fn leave(&mut self, now: Time, id: TaskId, window: impl Fn(&Reservation) -> Duration) {
        let Some(member) = self.members.remove(&id) else { return };
        self.tally.leaves += 1;
        if let Some(story) = &mut self.story {
            story.push(format!("{now}: `{}` leaves", member.name));
        }
        let task = &self.admitted.find(&member.name).expect("it is admitted").task;
        let until = match member.last_release {
            _ if !self.manner.tells_releases => now + window(task),
            Some(release) => (release + window(task)).max(now),
            None => now,
        };
        assert!(self.admitted.leave_knowing(&member.name, now, until), "it is admitted");
        self.policy.on_event(now, Event::Leave { task: id });
    }

    fn reconfigure(&mut self, now: Time, id: TaskId, change: Change, request: RequestId) {
        let Some(member) = self.members.get(&id).cloned() else { return self.refuse(request) };
        let own = self.admitted.find(&member.name).expect("it is admitted").task.clone();
        match change {
            Change::Parameters { wcet, period, deadline } => {
                self.tally.changes[0] += 1;
                let new = Reservation { runtime: wcet, period, deadline, ..own };
                let Some(grant) = self.ask(now, &Ask::Change(&new)) else {
                    return self.refuse(request);
                };
                self.accept(grant);
                self.tally.changes[1] += 1;
                let change = Change::Parameters { wcet, period, deadline };
                self.policy.on_event(now, Event::Reconfigure { task: id, change, request });
            }
            Change::Affinity(cpus) => self.move_to(now, (id, &member), own, cpus, request),
            Change::Cluster(cluster) => {
                let cpus = self.admitted.platform.clusters[cluster].clone();
                self.move_to(now, (id, &member), own, cpus, request);
            }
        }
    }

    fn move_to(
        &mut self,
        now: Time,
        (id, member): (TaskId, &AdmittedTask),
        own: Reservation,
        cpus: CpuSet,
        request: RequestId,
    ) {
        self.tally.moves[0] += 1;
        let from = self.admitted.find(&member.name).expect("it is admitted").cpus.clone();
        let new = Reservation { cpus: Some(cpus), ..own };
        let Some(grant) = self.ask(now, &Ask::Change(&new)) else { return self.refuse(request) };
        if grant.carry_out == CarryOut::BetweenJobs && member.is_pending {
            return self.refuse(request);
        }
        let to = grant.holding.as_ref().expect("it is admitted").cpus.clone();
        let (old, _) = self.place(&from);
        let (cluster, affinity) = self.place(&to);
        self.accept(grant);
        self.tally.moves[1] += 1;
        if from == to {
            return;
        }
        // A change of the cluster grants all of its CPUs. Partitioned policies have no clusters.
        let enters = old != cluster && !self.is_partitioned;
        let changes = [
            enters.then_some(Change::Cluster(cluster)),
            affinity.filter(|_| !enters || self.takes_affinities).map(Change::Affinity),
        ];
        for change in changes.into_iter().flatten() {
            self.policy.on_event(now, Event::Reconfigure { task: id, change, request });
        }
        if !enters && from != to && self.place(&to).1.is_none() {
            let change = Change::Affinity(to);
            self.policy.on_event(now, Event::Reconfigure { task: id, change, request });
        }
    }

    fn set_cluster_cpus(&mut self, now: Time, cluster: usize, cpus: CpuSet, request: RequestId) {
        self.tally.losses[0] += 1;
        let lost = self.admitted.platform.clusters[cluster].difference(&cpus);
        let Some(grant) = self.ask(now, &Ask::Lose(&lost)) else { return self.refuse(request) };
        self.accept(grant);
        self.tally.losses[1] += 1;
        if self.is_partitioned {
            // The CPU has no tasks, and the register will place none on it, so the policy need not be notified.
            return;
        }
        let cpus = self.admitted.platform.clusters[cluster].clone();
        self.policy.on_event(now, Event::SetClusterCpus { cluster, cpus, request });
    }

    fn ended(&mut self, task: TaskId, continues: bool) {
        if let Some(member) = self.members.get_mut(&task) {
            member.is_pending = continues;
        }
    }

    /// Returns the CPUs whose admitted tasks, and all tasks connected with them, have no pending job.
    fn quiet_cpus(&self) -> CpuSet {
        let mut busy = CpuSet::new();
        for member in self.members.values().filter(|member| member.is_pending) {
            busy = busy.union(&self.admitted.find(&member.name).expect("it is admitted").cpus);
        }
        loop {
            let before = busy.len();
            for holding in &self.admitted.holdings {
                if !holding.cpus.is_disjoint(&busy) {
                    busy = busy.union(&holding.cpus);
                }
            }
            if busy.len() == before {
                return self.admitted.platform.all_cpus().difference(&busy);
            }
        }
    }

    fn knows(&self, task: TaskId) -> bool {
        self.members.contains_key(&task)
    }
}

impl Policy for Guard {
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Join { task, parameters, request } => self.join(now, task, &parameters, request),
            Event::Leave { task } => self.leave(now, task, Reservation::window),
            Event::Reconfigure { task, change, request } => {
                self.reconfigure(now, task, change, request);
            }
            Event::SetClusterCpus { cluster, cpus, request } => {
                self.set_cluster_cpus(now, cluster, cpus, request);
            }
            Event::Release { job, release, deadline } => {
                let Some(member) = self.members.get_mut(&job.task) else { return };
                member.is_pending = true;
                member.last_release = Some(now);
                self.policy.on_event(now, Event::Release { job, release, deadline });
            }
            Event::Completion { job, cpu, then } => {
                let continues = match then {
                    AfterJob::Blocks => false,
                    AfterJob::Continues | AfterJob::Yields => true,
                };
                self.ended(job.task, continues);
                self.policy.on_event(now, Event::Completion { job, cpu, then });
            }
            Event::Ended { job } => {
                self.ended(job.task, false);
                self.policy.on_event(now, Event::Ended { job });
            }
            Event::Arrival { job, .. } | Event::Measured { job, .. } if !self.knows(job.task) => {}
            Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::BudgetExhausted { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. }
            | Event::CpuOffline { .. } => self.policy.on_event(now, event),
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        let from = actions.len();
        self.policy.decide(now, actions);
        for action in &actions[from..] {
            if let Action::Refuse { reason, .. } = action {
                self.contradiction.get_or_insert(format!("at {now}: {}", reason.reason));
            }
        }
        for (request, reason) in self.refusals.drain(..) {
            actions.push(Action::Refuse { request, reason: Refusal::busy(reason) });
        }
        if self.manner.tells_quiet {
            let cpus = self.quiet_cpus();
            if !cpus.is_empty() {
                self.admitted.quiet(&cpus);
            }
        }
    }

    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.policy.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.policy.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
}
