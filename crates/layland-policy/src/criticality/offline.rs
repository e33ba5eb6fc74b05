//! The offline stage of the mechanisms: the parameters that each mechanism needs for the tasks of a
//! CPU. `placing.rs` assigns the tasks to CPUs.

use super::PerCpu;
use super::amc::Adaptive;
use super::indicator::OwnOverrun;
use super::mechanism::{Mechanism, Member};
use super::ocbp::{Recomputed, Releases};
use super::placing::{Accepts, Fits, Known, Placed, Timed, place};
use super::plrs::ListReuse;
use super::pt::Transformed;
use super::smc::FixedPriority;
use super::zss::{Late, ZeroSlack};
use crate::info::{PolicyOptions, SystemRefusal};
use crate::{Policy, Refusal};
use layland_model::{
    AdaptiveOrder, Behaviour, CpuId, CpuSet, CutOffOrder, Duration, Index, System, TaskId,
};
use layland_offline::criticality::growing::{self, CutOff, Growing};
use layland_offline::criticality::period_transformation::Cut;
use layland_offline::criticality::zero_slack::Instants;
use layland_offline::criticality::{
    Answer, Assignment, MixedError, MixedSet, amc_ia, amc_max, amc_rt, criticality_monotonic,
    fixed, fjp, fjp::Rescan, period_transformation, rate_monotonic, zero_slack,
};

/// The values of `order` for SMC, the default first.
pub(super) const SMC_ORDERS: [(&str, CutOffOrder); 3] = [
    ("audsley", CutOffOrder::Audsley),
    ("rm", CutOffOrder::RateMonotonic),
    ("cm", CutOffOrder::CriticalityMonotonic),
];
/// The values of `order` for AMC, the default first.
pub(super) const AMC_ORDERS: [(&str, AdaptiveOrder); 5] = [
    ("amc-rt", AdaptiveOrder::AmcRt),
    ("amc-max", AdaptiveOrder::AmcMax),
    ("amc-ia", AdaptiveOrder::AmcIa),
    ("amc-ia-paper", AdaptiveOrder::AmcIaPaper),
    ("rm", AdaptiveOrder::RateMonotonic),
];

/// Returns the order that the options select.
pub(super) fn order<T: Copy>(options: &PolicyOptions, words: &[(&str, T)]) -> Result<T, Refusal> {
    Ok(options.one_of("order", words)?.unwrap_or(words[0].1))
}

/// The mechanism for the tasks of a CPU, with the result of its analysis.
pub(super) struct MechanismPlan<M> {
    pub(super) mechanism: M,
    /// True if the analysis accepts the tasks.
    pub(super) accepted: bool,
    /// True if acceptance is a guarantee.
    pub(super) sound: bool,
}

fn accepts<M>(plan: Result<MechanismPlan<M>, String>) -> bool {
    plan.is_ok_and(|plan| plan.accepted)
}

fn as_order(order: &[TaskId]) -> Vec<usize> {
    order.iter().map(|task| task.index()).collect()
}

/// Returns the order that was found, or the reason why there is none.
fn found<R>(assignment: Assignment<R>, test: &str) -> Result<Vec<usize>, String> {
    match assignment {
        Assignment::Found(assigned) => Ok(as_order(&assigned.order)),
        Assignment::NoneCanBeLowest(_) => {
            Err(format!("no order of priorities passes the test {test}"))
        }
        Assignment::GaveUp(_) => Err(format!("the test {test} stopped: it takes too long")),
    }
}

/// Returns SMC with the order that the options select.
///
/// # Errors
/// If no order passes, or a task fits on no CPU.
pub fn smc(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let plan = match order(options, &SMC_ORDERS)? {
        CutOffOrder::RateMonotonic => rate_monotonic_with_cut_off,
        CutOffOrder::CriticalityMonotonic => criticality_monotonic_with_cut_off,
        CutOffOrder::Audsley => |set: &MixedSet| {
            let order = found(fixed::order(set), "ftp_smc")?;
            let mechanism = FixedPriority::new(&order, true);
            Ok(MechanismPlan { mechanism, accepted: true, sound: true })
        },
    };
    let cut_off = match order(options, &SMC_ORDERS)? {
        CutOffOrder::RateMonotonic => CutOff::rate_monotonic,
        CutOffOrder::CriticalityMonotonic => CutOff::criticality_monotonic,
        CutOffOrder::Audsley => CutOff::best,
    };
    let fits = Fits::growing(move || Growing::new(cut_off())).and_by_level(true);
    build("smc", system, options, &FixedPriority::new(&[], true), fits, plan)
}

fn rate_monotonic_with_cut_off(set: &MixedSet) -> Result<MechanismPlan<FixedPriority>, String> {
    let mechanism = FixedPriority::new(&as_order(&rate_monotonic(set)), true);
    Ok(MechanismPlan { mechanism, accepted: fixed::rms(set).answer().is_yes(), sound: true })
}

fn criticality_monotonic_with_cut_off(
    set: &MixedSet,
) -> Result<MechanismPlan<FixedPriority>, String> {
    let mechanism = FixedPriority::new(&as_order(&criticality_monotonic(set)), true);
    Ok(MechanismPlan { mechanism, accepted: fixed::cms(set).answer().is_yes(), sound: true })
}

/// Returns rate-monotonic priorities with the cut-off of SMC.
///
/// # Errors
/// If a task fits on no CPU.
pub fn rms(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let fits = Fits::growing(|| Growing::new(CutOff::rate_monotonic())).and_by_level(true);
    let idle = FixedPriority::new(&[], true);
    build("rms", system, options, &idle, fits, rate_monotonic_with_cut_off)
}

/// Returns criticality-monotonic priorities with the cut-off of SMC.
///
/// # Errors
/// If a task fits on no CPU.
pub fn cms(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let fits = Fits::growing(|| Growing::new(CutOff::criticality_monotonic())).and_by_level(true);
    let idle = FixedPriority::new(&[], true);
    build("cms", system, options, &idle, fits, criticality_monotonic_with_cut_off)
}

fn own_overrun(options: &PolicyOptions) -> Result<OwnOverrun, Refusal> {
    let values = [("raise", OwnOverrun::Raise), ("cut", OwnOverrun::Cut)];
    Ok(options.one_of("own_overrun", &values)?.unwrap_or_default())
}

/// Returns AMC with the order that the options select.
///
/// # Errors
/// If no order passes, or a task fits on no CPU.
pub fn amc(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let (own, levels) = (own_overrun(options)?, system.levels.count());
    let order = order(options, &AMC_ORDERS)?;
    let plan = |set: &MixedSet| {
        let (order, accepted, sound) = match order {
            AdaptiveOrder::RateMonotonic => {
                let order = rate_monotonic(set);
                let accepted = amc_rt::under(set, &order).answer().is_yes();
                (as_order(&order), accepted, true)
            }
            AdaptiveOrder::AmcMax => {
                let assignment = amc_max::amc_max(set).map_err(|error| error.to_string())?;
                (found(assignment, "amc_max")?, true, true)
            }
            AdaptiveOrder::AmcIa => {
                let assignment = amc_ia::safe_order(set, amc_ia::FIXED_POINTS);
                (found(assignment, "amc_ia_safe")?, true, true)
            }
            AdaptiveOrder::AmcIaPaper => {
                let assignment = amc_ia::paper_order(set, amc_ia::FIXED_POINTS);
                (found(assignment, "amc_ia_paper")?, true, false)
            }
            AdaptiveOrder::AmcRt => (found(amc_rt::order(set), "amc_rt")?, true, true),
        };
        Ok(MechanismPlan { mechanism: Adaptive::new(&order, levels, own), accepted, sound })
    };
    // The test as printed in the paper is unsound, and may accept anything.
    let by_level = order != AdaptiveOrder::AmcIaPaper;
    let idle = Adaptive::new(&[], levels, own);
    if order == AdaptiveOrder::AmcRt {
        let fits = Fits::growing(|| Growing::new(growing::Adaptive)).and_by_level(true);
        return build("amc", system, options, &idle, fits, plan);
    }
    let fits =
        Fits::at_any_level(|set| accepts(plan(set))).and_by_level(by_level).and_sound(by_level);
    build("amc", system, options, &idle, fits, plan)
}

/// Returns zero-slack scheduling.
///
/// # Errors
/// If a task has no zero-slack instant, or fits on no CPU.
pub fn zss(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let values = [("suspend", Late::Suspend), ("demote", Late::Demote)];
    let late = options.one_of("late", &values)?.unwrap_or_default();
    let paper = options.text("instants") == Some("paper");
    let plan = |set: &MixedSet| {
        let found = if paper { zero_slack::paper(set) } else { zero_slack::safe(set) };
        if found.answer == Answer::GaveUp {
            return Err("the search for zero-slack instants stopped: it takes too long".to_owned());
        }
        if let Some(without) = set.ids().find(|&task| found.zero_slack[task].is_none()) {
            let which = format!("task {} of its CPU, by rank", without.index());
            return Err(format!("there is no zero-slack instant for {which}"));
        }
        let instants: Vec<Option<i64>> =
            found.zero_slack.values().map(|instant| instant.map(Duration::ns)).collect();
        let mechanism = ZeroSlack::new(&as_order(&found.order), &instants, late);
        Ok(MechanismPlan { mechanism, accepted: found.answer.is_yes(), sound: !paper })
    };
    // A task of low priority that completes before its zero-slack instant delays no task, so levels
    // may be overfull.
    let idle = ZeroSlack::new(&[], &[], late);
    if paper {
        let fits = Fits::at_any_level(|set| accepts(plan(set))).and_sound(false);
        return build("zss", system, options, &idle, fits, plan);
    }
    build("zss", system, options, &idle, Fits::growing(Instants::default), plan)
}

/// Returns period transformation, in whole nanoseconds.
///
/// # Errors
/// If a slice is shorter than a nanosecond, or a task fits on no CPU.
pub fn pt(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let plan = |set: &MixedSet| {
        let found = period_transformation::safe(set, 1);
        if found.slices.values().any(|slices| slices.length <= 0) {
            return Err("a slice is shorter than a nanosecond".to_owned());
        }
        let slices = found.slices.values().copied().collect();
        let mechanism = Transformed::new(&as_order(&found.order), slices);
        Ok(MechanismPlan { mechanism, accepted: found.answer.is_yes(), sound: true })
    };
    let fits = Fits::growing(|| Growing::new(Cut::default())).and_by_level(true);
    build("pt", system, options, &Transformed::new(&[], Vec::new()), fits, plan)
}

/// The lists of job priorities that the options select, and the scan that made them.
struct JobLists {
    lists: Vec<Vec<i64>>,
    rescan: Rescan,
    /// True if acceptance by the analysis is a guarantee.
    sound: bool,
}

fn job_lists(set: &MixedSet, options: &PolicyOptions) -> Result<JobLists, String> {
    let of_pattern = |found: fjp::Pattern| {
        let counts = found.counts.unwrap_or_default();
        (found.answer, found.priorities, Rescan::pattern(set.clone(), counts), false)
    };
    let of_jobs = |found: fjp::Jobs, rescan: Rescan| (found.answer, found.priorities, rescan, true);
    let (answer, lists, rescan, sound) = match options.text("lists") {
        Some("lb") => of_jobs(fjp::load_based(set, fjp::JOBS), Rescan::totals(set.clone())),
        Some("ija") => of_pattern(fjp::ija_paper(set, fjp::JOBS)),
        Some("ija-floor") => of_pattern(fjp::ija_floor(set, fjp::JOBS)),
        _ => of_jobs(fjp::safe(set, fjp::JOBS), Rescan::delays(set.clone())),
    };
    let Some(lists) = lists else {
        return Err(match answer {
            Answer::GaveUp => "the analysis of its jobs stopped: there are too many".to_owned(),
            Answer::Schedulable | Answer::NotSchedulable => {
                "there are no job priorities that its analysis accepts".to_owned()
            }
        });
    };
    let list = |list: &Vec<u32>| list.iter().map(|&priority| i64::from(priority)).collect();
    Ok(JobLists { lists: lists.values().map(list).collect(), rescan, sound })
}

/// Tests whether there are lists. For `safe` it does not build them.
fn fits_with_lists(options: &PolicyOptions) -> Fits<impl Accepts> {
    let safe = !matches!(options.text("lists"), Some("lb" | "ija" | "ija-floor"));
    let accepts = move |set: &MixedSet, before: &mut Known| {
        if safe {
            fjp::accepts_unless(set, fjp::JOBS, &mut before.stuck)
        } else {
            job_lists(set, options).is_ok()
        }
    };
    Fits::with_memory(accepts).and_by_level(safe).and_sound(safe)
}

/// Returns priority list reuse scheduling.
///
/// # Errors
/// If there are no lists, or a task fits on no CPU.
pub fn plrs(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let (own, levels) = (own_overrun(options)?, system.levels.count());
    let plan = |set: &MixedSet| {
        let JobLists { lists, sound, .. } = job_lists(set, options)?;
        let mechanism = ListReuse::new(lists, true, levels, own);
        Ok(MechanismPlan { mechanism, accepted: true, sound })
    };
    let idle = ListReuse::new(Vec::new(), true, levels, own);
    build("plrs", system, options, &idle, fits_with_lists(options), plan)
}

/// Returns own criticality-based priorities, recomputed at run time.
///
/// # Errors
/// If there are no priorities, or a task fits on no CPU.
pub fn ocbp(system: &System, options: &PolicyOptions) -> Result<Box<dyn Policy>, SystemRefusal> {
    let (own, levels) = (own_overrun(options)?, system.levels.count());
    let values = [("possible", Releases::Possible), ("together", Releases::Together)];
    let releases = options.one_of("releases", &values)?.unwrap_or_default();
    let plan = |set: &MixedSet| {
        let JobLists { lists, rescan, sound } = job_lists(set, options)?;
        let mechanism = Recomputed::new(lists, Some(rescan), releases, levels, own);
        Ok(MechanismPlan { mechanism, accepted: true, sound })
    };
    let idle = Recomputed::new(Vec::new(), None, releases, levels, own);
    build("ocbp", system, options, &idle, fits_with_lists(options), plan)
}

fn invalid(name: &str, error: &MixedError) -> Refusal {
    Refusal::invalid(format!("{name}: {error}"))
}

/// Places the tasks and plans every CPU. `idle` is for a CPU without tasks.
pub(super) fn build<M: Mechanism>(
    name: &'static str,
    system: &System,
    options: &PolicyOptions,
    idle: &M,
    fits: Fits<impl Accepts>,
    plan: impl Fn(&MixedSet) -> Result<MechanismPlan<M>, String>,
) -> Result<Box<dyn Policy>, SystemRefusal> {
    // An invalid task is invalid on every CPU, so check all tasks at once.
    let set_of = |tasks: &System| -> Result<Option<MixedSet>, SystemRefusal> {
        if tasks.tasks.is_empty() {
            return Ok(None);
        }
        let set = MixedSet::of_system(tasks).map_err(|error| {
            let task = match &error {
                MixedError::Task { task, .. } => Some(*task),
                MixedError::NoTask | MixedError::Levels(_) | MixedError::TwoLevelsOnly(_) => None,
            };
            SystemRefusal { task, ..invalid(name, &error).into() }
        })?;
        Ok(Some(set))
    };
    let timed = Timed::of(name, system, set_of)?;
    let Placed { cpu_of, accepted } = place(name, system, options, &timed, &fits)?;
    // The placement implies acceptance, and the rule contains nothing else.
    let needs_no_plan = options.is_for_its_rule() && accepted && fits.is_sound();
    let mut guaranteed = CpuSet::new();
    let mut cpus = system.platform.cpus();
    let make = |tasks: &[TaskId]| {
        let cpu = cpus.next().expect("one call for each CPU");
        if tasks.is_empty() {
            guaranteed.insert(cpu);
            return Ok(idle.clone());
        }
        let sporadic = tasks.iter().all(|&task| keeps_its_period(system, task));
        if needs_no_plan {
            if sporadic {
                guaranteed.insert(cpu);
            }
            return Ok(idle.clone());
        }
        let set =
            MixedSet::of_tasks(timed.on(cpu), tasks).map_err(|error| invalid(name, &error))?;
        let plan = plan(&set).map_err(|why| {
            Refusal::busy(format!("{name} cannot schedule the tasks of CPU {cpu}: {why}"))
        })?;
        if plan.accepted && plan.sound && sporadic {
            guaranteed.insert(cpu);
        }
        Ok(plan.mechanism)
    };
    let member = |cpu: CpuId, task: TaskId| Member::of(timed.on(cpu), task);
    let mut policy = PerCpu::with_members(name, system, &cpu_of, member, make)?;
    policy.guarantee(guaranteed);
    Ok(Box::new(policy))
}

/// Returns true if releases are at least a period apart, and coincide with the arrivals.
fn keeps_its_period(system: &System, task: TaskId) -> bool {
    let task = &system.tasks[task];
    let separate = match &task.behaviour {
        Behaviour::Periodic | Behaviour::Hog | Behaviour::Yield | Behaviour::Sporadic(_) => true,
        Behaviour::Explicit(releases) => {
            releases.windows(2).all(|pair| pair[1] - pair[0] >= task.period)
        }
        Behaviour::Curve(_) => task.bursts().is_none(),
        Behaviour::SelfSuspending { .. } => false,
    };
    separate && task.jitter == Duration::ZERO
}
