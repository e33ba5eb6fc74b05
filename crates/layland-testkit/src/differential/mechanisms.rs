//! The mechanisms of mixed criticality, with arbitrary parameters, against their rules.

use super::Agreement;
use crate::mixed::anew::Anew;
use crate::mixed::ticks::{self, Ended, Rules};
use crate::mixed::{describe, draw_run, draw_set};
use layland_checker::check;
use layland_gen::{Aspect, Random};
use layland_model::{
    Criticality, ExecutionModel, JobId, Rate, ScheduleRule, Service, System, Task, TaskId, Time,
};
use layland_offline::criticality::virtual_deadlines::Modes;
use layland_offline::criticality::{MixedSet, fjp};
use layland_policy::Policy;
use layland_policy::criticality::PerCpu;
use layland_policy::criticality::amc::Adaptive;
use layland_policy::criticality::edf_vd::EdfVd;
use layland_policy::criticality::indicator::OwnOverrun;
use layland_policy::criticality::mechanism::Mechanism;
use layland_policy::criticality::ocbp::{Recomputed, Releases};
use layland_policy::criticality::plrs::ListReuse;
use layland_policy::criticality::pt::{Slices, Transformed};
use layland_policy::criticality::smc::FixedPriority;
use layland_policy::criticality::zss::{Late, ZeroSlack};
use layland_sim::SimOptions;
use layland_trace::JobEnd;

fn one_cpu<M: Mechanism>(system: &System, mechanism: M) -> PerCpu<M> {
    PerCpu::on_one_cpu("given", system, mechanism)
}

/// Returns the policy for the rules.
fn policy(system: &System, rules: &Rules) -> Box<dyn Policy> {
    let own = |raise: bool| if raise { OwnOverrun::Raise } else { OwnOverrun::Cut };
    let levels = system.levels.count();
    match rules.clone() {
        Rules::Fixed { order } => Box::new(one_cpu(system, FixedPriority::new(&order, true))),
        Rules::Adaptive { order, raise_own } => {
            Box::new(one_cpu(system, Adaptive::new(&order, levels, own(raise_own))))
        }
        Rules::ZeroSlack { order, zero_slack, suspend } => {
            let late = if suspend { Late::Suspend } else { Late::Demote };
            Box::new(one_cpu(system, ZeroSlack::new(&order, &zero_slack, late)))
        }
        Rules::Transformed { order, slices } => {
            let slices = slices
                .iter()
                .map(|&(count, length, budget)| Slices { count, length, budget })
                .collect();
            Box::new(one_cpu(system, Transformed::new(&order, slices)))
        }
        Rules::Lists { lists, raise_own } => {
            Box::new(one_cpu(system, ListReuse::new(lists, true, levels, own(raise_own))))
        }
        Rules::Recomputed { lists, anew, raise_own } => {
            let set = MixedSet::of_system(system).expect("a drawn set is of the model");
            let releases = if anew.together { Releases::Together } else { Releases::Possible };
            let rescan =
                if anew.summed { fjp::Rescan::totals(set) } else { fjp::Rescan::delays(set) };
            let own = own(raise_own);
            let mechanism = Recomputed::new(lists, Some(rescan), releases, levels, own);
            Box::new(one_cpu(system, mechanism))
        }
        Rules::VirtualDeadlines { cut: None, .. } => Box::new(one_cpu(system, EdfVd::plain())),
        Rules::VirtualDeadlines { cut: Some(cut), deadlines } => {
            let each = deadlines.iter().map(|&(n, d)| Rate::new(n, d));
            let deadline = each.collect::<Vec<Rate>>().into();
            let modes = Modes { cut: Criticality(cut as u8), deadline };
            Box::new(one_cpu(system, EdfVd::new(&modes)))
        }
    }
}

/// Returns the lists of the offline stage.
fn offline(system: &System, summed: bool) -> Option<Vec<Vec<i64>>> {
    let set = MixedSet::of_system(system).expect("a drawn set is of the model");
    let found = if summed { fjp::load_based(&set, 200) } else { fjp::safe(&set, 200) };
    let wide = |list: &Vec<u32>| list.iter().map(|&priority| priority.into()).collect();
    Some(found.priorities?.values().map(wide).collect())
}

/// Draws arbitrary parameters, sensible or not.
fn draw_rules(random: &mut Random, system: &System, kind: i64) -> Rules {
    let mut below = |n: i64| random.below(n.max(1) as u64) as i64;
    let count = system.tasks.len();
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, below(last as i64 + 1) as usize);
    }
    match kind {
        0 => Rules::Fixed { order },
        1 => Rules::Adaptive { order, raise_own: below(2) == 0 },
        2 => {
            let instant = |task: &Task, below: &mut dyn FnMut(i64) -> i64| {
                (below(4) > 0).then(|| below(task.deadline.ns() + 1))
            };
            let zero_slack = system.tasks.values().map(|task| instant(task, &mut below)).collect();
            Rules::ZeroSlack { order, zero_slack, suspend: below(2) == 0 }
        }
        3 => {
            let slices = system.tasks.values().map(|task| {
                let (period, own) = (task.period.ns(), task.own_wcet().ns());
                let count = 1 + below(period.min(4));
                (count, period / count, (own + count - 1) / count)
            });
            Rules::Transformed { slices: slices.collect(), order }
        }
        6 => {
            let levels = system.levels.count() as i64;
            let cut = (below(6) > 0).then(|| below(levels - 1) as usize);
            // Using few denominators makes virtual deadlines equal at times.
            let scale = 1 + below(4);
            let virtual_deadline = |task: &Task| {
                let (deadline, z) = (task.deadline.ns(), task.criticality.level());
                match cut {
                    Some(cut) if z > cut => (below(deadline * scale + 1), scale),
                    _ => (deadline, 1),
                }
            };
            Rules::VirtualDeadlines {
                cut,
                deadlines: system.tasks.values().map(virtual_deadline).collect(),
            }
        }
        _ => {
            // Distinct priorities, assigned at random.
            let jobs = 3 * count as i64 + below(20);
            let mut lists = vec![Vec::new(); count];
            (0..jobs).rev().for_each(|priority| lists[below(count as i64) as usize].push(priority));
            let raise_own = below(2) == 0;
            if kind == 4 {
                return Rules::Lists { lists, raise_own };
            }
            let anew = Anew { summed: below(4) == 0, together: below(3) == 0 };
            // Use the lists of the offline stage if they exist, because then a scan never fails.
            let lists = offline(system, anew.summed).unwrap_or(lists);
            Rules::Recomputed { lists, anew, raise_own }
        }
    }
}

/// Compares the mechanism that the index selects, with random parameters, in a random run of a random set.
///
/// # Errors
/// The first job that ends differently, and the set.
pub fn mechanism(seed: u64, index: u64) -> Agreement {
    agree(seed, index, (index % 7) as i64).map(|_| 1)
}

/// Compares recomputed priorities in a random run of a random set, and returns how often they were recomputed.
///
/// # Errors
/// As [`mechanism`].
pub fn recomputation(seed: u64, index: u64) -> Agreement {
    agree(seed, index, 5)
}

fn agree(seed: u64, index: u64, kind: i64) -> Agreement {
    let mut random = Random::new(seed, index, Aspect::Criticalities);
    let system = draw_set(&mut random);
    let rules = draw_rules(&mut random, &system, kind);
    let until = 120;
    let (mut system, _) = draw_run(&mut random, &system, until);
    for task in system.tasks.values_mut() {
        if let ExecutionModel::List(demands) = &mut task.execution {
            demands.iter_mut().for_each(|demand| *demand = (*demand).max(Service::from_ns(1)));
        } else {
            task.execution = ExecutionModel::List(vec![Service::from_ns(1)]);
        }
    }
    let policy = policy(&system, &rules);
    let trace = super::run(&system, policy, &SimOptions::until(Time::from_ns(until)));
    let report = check(&trace, &system, &ScheduleRule::None, 5);
    if !report.is_clean() {
        return Err(format!("{report}\n{rules:?}\n{}", describe(&system)));
    }
    let (expected, (scans, failed)) = ticks::simulate_and_count(&system, &rules, until);
    for (task, jobs) in expected.iter().enumerate() {
        for (seq, &wanted) in jobs.iter().enumerate() {
            let id = JobId { task: TaskId(task as u32), seq: seq as u64 };
            let record = trace.jobs.iter().find(|record| record.job.id == id);
            let found = match record.and_then(|record| record.end) {
                Some((at, JobEnd::Completed)) => Ended::Completed(at.ns()),
                Some((at, JobEnd::Aborted)) => Ended::Aborted(at.ns()),
                Some((_, JobEnd::Left)) | None => Ended::Pending,
            };
            if found != wanted {
                return Err(format!(
                    "{id:?} ends as {found:?}, and by the rules as {wanted:?}: {rules:?}\n{}",
                    describe(&system)
                ));
            }
        }
    }
    if let Rules::Recomputed { lists, anew, .. } = &rules
        && failed > 0
        && offline(&system, anew.summed).is_some_and(|found| found == *lists)
    {
        return Err(format!("{failed} scans fail: {rules:?}\n{}", describe(&system)));
    }
    Ok(scans)
}
