//! What is analysed in place of a system under a policy: one view where the policy is its rule, and several for
//! threads with reservations.
//!
//! **Threads with reservations** (`dl`, `dl-sp`, `apedf`, `a2pedf`) run in constant-bandwidth servers `(Q, D, T)`
//! ordered by the deadlines of the servers, and the kernel pushes and pulls them between the queues of its CPUs.
//! What of EDF holds for them, in a cluster of one CPU or with threads that are tied to one CPU each, and in
//! a cluster
//! whose threads may use all of it, rests on the following. Assumed: releases at least a period apart, no jitter, no
//! self-suspension, no overheads, unit speeds (`grub_pa=off`), and no requests: nobody changes parameters,
//! affinities,
//! clusters or CPUs meanwhile, so that the versions of the kernel make no difference. That leaves out Defects 1
//! (tasks that change), 2 (DVFS) and 3 (CPUs of different capacity) of Tang, Anderson and Abeni 2021.
//!
//! 1. **A server is as good as a job.** While no job is late, each job finds its thread blocked and the deadline of
//!    its server past: it gets `Q` and its own deadline. A job that ends *at* its deadline when the next one is there
//!    finds the thread running: it goes on with what is left of `Q` and with the old deadline. So cut the time of
//!    the thread into pieces, one for each deadline of the server: pieces of at most `Q`, at least `T`
//!    apart, with work at each instant until they end. A job ends in the piece of its own deadline or in an
//!    earlier one.
//!    EDF with *C = Q* of the pieces therefore bounds the jobs, for any jobs of at most `Q`: late ones, too.
//! 2. **One CPU.** There is nothing to push or pull: the earliest deadline runs. Point 1 makes every test and
//!    response bound for EDF on one CPU one for the threads, with *C = Q*. A *no* holds where budgets are WCETs.
//! 3. **Several CPUs, all of them allowed.** After each event the kernel pushes from a CPU with a waiting thread as
//!    long as a CPU is free or runs a later deadline, and pulls for a CPU whose thread has left. With one
//!    affinity for
//!    all its single candidate (the latest CPU) is the right one. So no thread waits while a CPU is
//!    free or runs a later deadline: that is all that the tests for global EDF use, whatever ties do. `dl` has one
//!    exception, the **bypass** (Tang et al. 2021, Examples 5 and 8): a server that is used up at or after
//!    its deadline gets its next deadline in place, with no push or pull. It needs a job that ends at its deadline or
//!    later. With all deadlines **a nanosecond earlier** the order of EDF is the same, and a test that accepts
//!    those shows that each job ends before its deadline: by induction over time there is no bypass. Under `dl-sp`
//!    there is none anyway: point 1 makes tests and tardiness bounds ones for its threads. Under `dl` nothing is
//!    known once a job is late.
//! 4. **WCETs below the budgets.** Where every job ends before its deadline, each server starts anew with each job,
//!    and what is left of its budget is lost: *C* may be the WCET, if deadlines are a nanosecond earlier (as in
//!    point 3, also on one CPU: otherwise the rest of a budget runs with the old deadline). Such an answer needs
//!    threads that keep their WCETs; the answers with *C = Q* do not. A thread that never blocks uses its budget.
//! 5. **Anything else is unknown**: threads that are tied to a CPU beside others that migrate may wait for them while
//!    other CPUs are free (Tang et al., Examples 5 to 8), and with affinities of several kinds the only
//!    candidate may be the wrong one.
//!
//! **Reclaiming** (`grub=on` and a task that says `reclaim`). A thread that reclaims may run for longer than its
//! budget, so response times of EDF do not hold, and on one of several CPUs of a cluster nothing does: what is
//! reserved on all of them is lent on each (`demo:reclaim-defect`). Alone in its cluster, or with threads that are
//! tied to it and `lend=cpu`, a CPU keeps deadlines, with *D = T* and bandwidths that are at most `Umax` together
//! (Lipari and Baruah 2000). Suppose that a job is pending a nanosecond before its deadline `d`, in a stretch from
//! `t0` on in which the CPU runs threads due by `d` alone. What runs pays at least `running / Umax` for each
//! nanosecond, and the integral of `running` is what the servers are entitled to by `d - 1 ns`. Each of `n` servers
//! has paid at most its entitlement, and less than a nanosecond more, because budgets end at whole nanoseconds; the
//! server of the job at least `Q - C` less. So the job ends in time if `(Q - C) + (1 / Umax - 1) Q >= n + 1`
//! nanoseconds: budgets of microseconds have that room with any `Umax` clearly below 1, and others with a WCET
//! below. With the kernel's arithmetic every charge is rounded down, as often as something happens, and nothing is
//! promised.
//!
//! Options: `exhaust=postpone` lets a thread go on beyond its budget: nothing is promised. `lag_reset=on` starts
//! late servers anew, so that bounds on late jobs are not used. Ties, `start`, `ac`, `limit` and `kernel` change
//! nothing of the above.

use layland_analysis::longest_execution;
use layland_model::{
    Algorithm, Behaviour, CpuSet, Duration, ExecutionModel, Form, Order, Rate, RateSum, Service,
    System,
};
use layland_policy::PolicyOptions;
use std::borrow::Cow;

/// Which answers of a test about a view hold for the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// *Yes* and *no*.
    All,
    /// *Yes*.
    Yes,
    /// *No*.
    No,
}

/// Which bounds for a view hold for the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// Response times, reached where the analysis says so, and tardiness.
    All,
    /// Response times and tardiness, from above.
    Above,
    /// Response times, if all are within the deadlines of the view.
    InTime,
    /// None.
    None,
}

/// A system that is analysed in place of another.
pub(crate) struct View<'a> {
    /// What the policy implements, for this view.
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) system: Cow<'a, System>,
    pub(crate) answers: Answers,
    pub(crate) bounds: Bounds,
    /// What was made of the system: a sentence without a full stop, empty if nothing.
    pub(crate) tells: &'static str,
}

impl<'a> View<'a> {
    /// The system as the policy has it.
    pub(crate) fn plain(algorithms: Vec<Algorithm>, system: Cow<'a, System>) -> View<'a> {
        let (answers, bounds) = (Answers::All, Bounds::All);
        View { algorithms, system, answers, bounds, tells: "" }
    }
}

const RECLAIMING: &str = "the budgets count as execution times; with reclaiming each job still ends by its deadline, \
     though response times do not hold";
const BUDGETS: &str = "the budgets count as execution times";
const EARLIER: &str =
    "deadlines count as a nanosecond earlier, so that no server is replenished in place";
const BUDGETS_EARLIER: &str = "the budgets count as execution times, and deadlines as a nanosecond earlier, so that \
     no server is replenished in place";
const WCETS_EARLIER: &str = "the WCETs count, which are below the budgets, and deadlines as a nanosecond earlier, so \
     that each job finds a new budget";

/// Whether the options make threads something else than the theory of their policy is about: they reclaim, their
/// budgets do not end, or CPUs change their speeds.
pub(crate) fn is_another_theory(system: &System, options: &PolicyOptions) -> bool {
    let on = |name: &str| options.switch(name, false).unwrap_or(true);
    on("grub_pa") || reclaims(system, options) || options.text("exhaust") == Some("postpone")
}

fn reclaims(system: &System, options: &PolicyOptions) -> bool {
    options.switch("grub", false).unwrap_or(true) && system.tasks.values().any(|task| task.reclaim)
}

/// What can be analysed where threads reclaim, each on a CPU that is alone in its cluster; `is_admitted` by admission
/// control.
fn of_reclaiming(
    placed: &System,
    budgets: &System,
    options: &PolicyOptions,
    is_admitted: bool,
) -> Result<System, &'static str> {
    if options.text("arith") == Some("kernel") {
        return Err(
            "with the kernel's arithmetic threads that reclaim pay less than they should, by roundings",
        );
    }
    let given = |name: &str| options.text(name).and_then(|text| text.parse::<Rate>().ok());
    let limit = || given("limit").unwrap_or_else(|| Rate::new(19, 20)).min(Rate::ONE);
    let umax = given("umax").unwrap_or_else(|| if is_admitted { limit() } else { Rate::ONE });
    let mut bandwidths = vec![(0, RateSum::default()); placed.platform.clusters.len()];
    for task in budgets.tasks.values() {
        if task.deadline != task.period {
            return Err(
                "threads reclaim, and what is known of that needs deadlines at the ends of periods",
            );
        }
        let (count, sum) = &mut bandwidths[task.cluster];
        *count += 1;
        sum.add(&task.utilization());
    }
    if bandwidths.iter().any(|(_, sum)| !sum.fits(&Rate::ZERO, &umax)) {
        return Err("threads reclaim, and reserve more of a CPU than they may reclaim (umax)");
    }
    for (task, with_budget) in placed.tasks.values().zip(budgets.tasks.values()) {
        let budget = with_budget.own_wcet();
        let is_hog = task.behaviour == Behaviour::Hog;
        let longest = if is_hog { budget } else { longest_execution(task).min(budget) };
        let more = &(&Rate::ONE / &umax) - &Rate::ONE;
        let room = &Rate::whole((budget - longest).ns()) + &(&more * &Rate::whole(budget.ns()));
        if room < Rate::whole(bandwidths[task.cluster].0 + 1) {
            return Err(
                "threads reclaim, and budgets end at whole nanoseconds, which may be nanoseconds too late: \
                        say umax=19/20, or give budgets above the WCETs",
            );
        }
    }
    Ok(budgets.clone())
}

/// What can be analysed of threads with reservations, besides what is said of the algorithm itself; or why nothing can.
pub(crate) fn of_threads(
    algorithm: Algorithm,
    system: &System,
    options: &PolicyOptions,
) -> Result<Vec<View<'static>>, &'static str> {
    let on = |name: &str| options.switch(name, false).unwrap_or(true);
    if on("grub_pa") {
        return Err(
            "with grub_pa the CPUs change their speeds, which no test covers (Defect 2 of Tang et al. 2021)",
        );
    }
    if options.text("exhaust") == Some("postpone") {
        return Err(
            "with exhaust=postpone threads go on beyond their budgets, which no test covers",
        );
    }
    let placed = divided(system)?;
    let one_cpu_each = placed.platform.clusters.iter().all(|cluster| cluster.len() == 1);
    if algorithm == Algorithm::AdaptivePartitioning
        && system.platform.clusters.iter().any(|cluster| cluster.len() > 1)
    {
        // Where threads go is a matter of what arrives when: only its own test is about that.
        return Ok(Vec::new());
    }
    let algorithms = algorithms(Algorithm::Ordered(Form::Clustered, Order::Deadline), &placed);
    let budgets = with_budgets(&placed);
    if reclaims(system, options) {
        // Where threads are tied to CPUs, those are analysed alone; but what they lend is a matter of their cluster.
        let shares = system.platform.clusters.iter().any(|cluster| cluster.len() > 1);
        if !one_cpu_each || shares && options.text("lend") != Some("cpu") {
            return Err(
                "threads reclaim on CPUs that share a cluster: what is reserved on all of them is lent on each \
                        (demo:reclaim-defect)",
            );
        }
        let admitted = algorithm == Algorithm::SemiPartitionedDeadline;
        let is_admitted = options.switch("ac", admitted).unwrap_or(true);
        let system = Cow::Owned(of_reclaiming(&placed, &budgets, options, is_admitted)?);
        let (answers, bounds) = (Answers::Yes, Bounds::None);
        return Ok(vec![View { algorithms, system, answers, bounds, tells: RECLAIMING }]);
    }
    let above =
        budgets.tasks.iter().any(|(id, task)| task.own_wcet() != placed.tasks[id].own_wcet());
    let view = |system: System, answers, bounds, tells| {
        let (algorithms, system) = (algorithms.clone(), Cow::Owned(system));
        View { algorithms, system, answers, bounds, tells }
    };
    let mut views = Vec::new();
    // Points 1 to 3.
    let bypasses = algorithm == Algorithm::SchedDeadline && !one_cpu_each;
    match (bypasses, above) {
        (false, _) => {
            let exact = !above && one_cpu_each;
            let bounds = match on("lag_reset") {
                true => Bounds::InTime,
                false if exact => Bounds::All,
                false => Bounds::Above,
            };
            let answers = if exact { Answers::All } else { Answers::Yes };
            let tells = if above { BUDGETS } else { "" };
            views.push(view(budgets.clone(), answers, bounds, tells));
        }
        (true, _) => {
            let tells = if above { BUDGETS_EARLIER } else { EARLIER };
            let earlier = earlier(&budgets);
            views.extend(earlier.map(|earlier| view(earlier, Answers::Yes, Bounds::InTime, tells)));
        }
    }
    // Point 4.
    if above {
        let mut wcets = placed;
        for (task, with_budget) in wcets.tasks.values_mut().zip(budgets.tasks.values()) {
            if task.behaviour == Behaviour::Hog {
                task.wcet.clone_from(&with_budget.wcet);
            }
            task.budget = None;
        }
        let earlier = earlier(&wcets);
        views.extend(
            earlier.map(|earlier| view(earlier, Answers::Yes, Bounds::InTime, WCETS_EARLIER)),
        );
        if one_cpu_each {
            views.push(view(wcets, Answers::No, Bounds::None, ""));
        }
    }
    Ok(views)
}

/// The system with clusters of single CPUs where all threads are tied, and as it is where all may use the whole
/// cluster.
fn divided(system: &System) -> Result<System, &'static str> {
    let mut divided = system.clone();
    let mut clusters: Vec<CpuSet> = Vec::new();
    for (index, cluster) in system.platform.clusters.iter().enumerate() {
        let own = || system.tasks.iter().filter(|(_, task)| task.cluster == index);
        let first = clusters.len();
        if own().all(|(id, _)| system.allowed_cpus(id) == *cluster) {
            clusters.push(cluster.clone());
            own().for_each(|(id, _)| divided.tasks[id].cluster = first);
        } else if own().all(|(id, _)| system.allowed_cpus(id).len() == 1) {
            clusters.extend(cluster.iter().map(CpuSet::single));
            for (id, _) in own() {
                let cpu = system.allowed_cpus(id);
                let at = clusters[first..].iter().position(|single| *single == cpu);
                divided.tasks[id].cluster = first + at.expect("it is a CPU of the cluster");
            }
        } else if own().all(|(id, _)| {
            let allowed = system.allowed_cpus(id);
            allowed.len() == 1 || allowed == *cluster
        }) {
            return Err(
                "threads that are tied to a CPU share a cluster with threads that migrate, and may wait \
                        for them while other CPUs are free (Tang et al. 2021, Examples 5 to 8)",
            );
        } else {
            return Err(
                "threads may use several CPUs, but not their whole cluster: the one CPU that the \
                        kernel looks at before it pushes may be a wrong one",
            );
        }
    }
    divided.tasks.values_mut().for_each(|task| task.affinity = None);
    divided.platform.clusters = clusters;
    Ok(divided)
}

/// The system with budgets as WCETs. How long jobs execute at most stays.
fn with_budgets(system: &System) -> System {
    let mut budgets = system.clone();
    for task in budgets.tasks.values_mut() {
        let (longest, budget) = (longest_execution(task), task.reservation());
        task.execution = match longest > budget {
            true => ExecutionModel::Uniform { min: Service::from_ns(1), max: longest },
            false => ExecutionModel::Wcet,
        };
        task.wcet.iter_mut().for_each(|wcet| *wcet = budget);
        task.budget = None;
    }
    budgets
}

/// The system with all deadlines a nanosecond earlier. None if one is only a nanosecond.
fn earlier(system: &System) -> Option<System> {
    let mut earlier = system.clone();
    for task in earlier.tasks.values_mut() {
        task.deadline -= Duration::from_ns(1);
        if task.deadline <= Duration::ZERO {
            return None;
        }
    }
    Some(earlier)
}

/// What the policy implements, and the clustered and partitioned forms that are the same here:
/// - scheduling with affinities that are equal or disjoint is clustered scheduling: in a cluster the
///   weak invariant lets a job wait only while all of its CPUs run jobs before it;
/// - on CPUs each on its own every form is the partitioned form.
pub(crate) fn algorithms(algorithm: Algorithm, placed: &System) -> Vec<Algorithm> {
    let mut algorithms = vec![algorithm];
    let order = match algorithm {
        Algorithm::Ordered(Form::Weak | Form::Strong | Form::Hierarchical, order) => {
            let disjoint = placed.tasks.iter().all(|(id, task)| {
                placed.allowed_cpus(id) == placed.platform.clusters[task.cluster]
            });
            if !disjoint {
                return algorithms;
            }
            algorithms.push(Algorithm::Ordered(Form::Clustered, order));
            order
        }
        Algorithm::Ordered(Form::Global | Form::Clustered, order) => order,
        Algorithm::Ordered(Form::Partitioned, _)
        | Algorithm::SchedDeadline
        | Algorithm::SemiPartitionedDeadline
        | Algorithm::AdaptivePartitioning
        | Algorithm::Run
        | Algorithm::Qps
        | Algorithm::MixedCriticality(_)
        | Algorithm::Other => return algorithms,
    };
    if placed.platform.clusters.iter().all(|cluster| cluster.len() == 1) {
        algorithms.push(Algorithm::Ordered(Form::Partitioned, order));
    }
    algorithms
}
