//! Tests of priorities that were found for some execution times with other execution times.
//!
//! A policy assigns priorities before the start, from the given execution times. The amount by
//! which these may grow under the same priorities is a different question from the priorities that
//! larger ones would get.

use super::{Cpu, PER_CPU, cpus, each_cpu};
use crate::{Assumption, Finding, Reason, Refusal, Verdict};
use layland_model::{AdaptiveOrder, Algorithm, CutOffOrder, Protection, System, TaskId};
use layland_offline::criticality::{Answer, MixedSet, Responses, amc_ia, amc_max, amc_rt, fixed};

/// The priorities of the tasks of each CPU, as found by a search, and the analysis that found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orders {
    by: By,
    /// The tasks of each CPU, the highest priority first.
    orders: Vec<Vec<TaskId>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Smc,
    AmcRt,
    AmcMax,
    AmcIa,
}

impl By {
    fn of(algorithm: Algorithm) -> Option<By> {
        let Algorithm::MixedCriticality(protection) = algorithm else { return None };
        match protection {
            Protection::CutOff(CutOffOrder::Audsley) => Some(By::Smc),
            Protection::Adaptive(AdaptiveOrder::AmcRt) => Some(By::AmcRt),
            Protection::Adaptive(AdaptiveOrder::AmcMax) => Some(By::AmcMax),
            Protection::Adaptive(AdaptiveOrder::AmcIa) => Some(By::AmcIa),
            // The first two orders do not depend on execution times, and the AMC-IA of the paper
            // decides nothing.
            Protection::CutOff(CutOffOrder::RateMonotonic | CutOffOrder::CriticalityMonotonic)
            | Protection::Adaptive(AdaptiveOrder::RateMonotonic | AdaptiveOrder::AmcIaPaper)
            | Protection::ZeroSlack
            | Protection::PeriodTransformation
            | Protection::PriorityLists
            | Protection::RecomputedPriorities
            | Protection::VirtualDeadlines(_) => None,
        }
    }

    fn found(self, set: &MixedSet) -> Option<Vec<TaskId>> {
        match self {
            By::Smc => fixed::order(set).found().map(|found| found.order),
            By::AmcRt => amc_rt::order(set).found().map(|found| found.order),
            By::AmcMax => Some(amc_max::amc_max(set).ok()?.found()?.order),
            By::AmcIa => {
                amc_ia::safe_order(set, amc_ia::FIXED_POINTS).found().map(|found| found.order)
            }
        }
    }

    /// Returns the answer under an order, and a task without a bound.
    fn under(self, set: &MixedSet, order: &[TaskId]) -> (Answer, Option<TaskId>) {
        fn of<R>(found: &Responses<R>) -> (Answer, Option<TaskId>) {
            let late =
                found.response.iter().find_map(|(task, bound)| bound.is_err().then_some(task));
            (found.answer(), late)
        }
        match self {
            By::Smc => of(&fixed::under(set, order)),
            By::AmcRt => of(&amc_rt::under(set, order)),
            By::AmcMax => match amc_max::under(set, order) {
                Ok(found) => of(&found),
                Err(_) => (Answer::GaveUp, None),
            },
            By::AmcIa => of(&amc_ia::safe_under(set, order, amc_ia::FIXED_POINTS)),
        }
    }
}

/// Returns the priorities that an algorithm finds for a system in which every task may use one CPU
/// only, or `None` if it finds none or its priorities do not depend on execution times.
pub fn orders(system: &System, algorithm: Algorithm) -> Option<Orders> {
    let by = By::of(algorithm)?;
    Assumption::check_all(PER_CPU, system).ok()?;
    let order = |cpu: Cpu| Some(cpu.named(&by.found(&cpu.set)?));
    Some(Orders { by, orders: cpus(system).map(order).collect::<Option<_>>()? })
}

impl Orders {
    /// The name of the test that found the priorities.
    pub fn test(&self) -> &'static str {
        match self.by {
            By::Smc => super::FTP_SMC.name,
            By::AmcRt => super::AMC_RT.name,
            By::AmcMax => super::AMC_MAX.name,
            By::AmcIa => super::AMC_IA.name,
        }
    }
}

/// Tests these priorities on a system with the same tasks on the same CPUs.
///
/// # Errors
/// Returns a refusal if the system breaks an assumption.
pub fn under(system: &System, orders: &Orders) -> Result<Finding, Refusal> {
    Assumption::check_all(PER_CPU, system)?;
    Assumption::NoBlocking.check(system)?;
    Ok(each_cpu(system, |cpu| {
        let is_of_cpu = |order: &&Vec<TaskId>| order.iter().all(|task| cpu.tasks.contains(task));
        let Some(order) = orders.orders.iter().find(is_of_cpu) else {
            return Finding::new(Verdict::Unknown, Reason::Holds("the tasks of a CPU are others"));
        };
        let place = |task: &TaskId| cpu.tasks.iter().position(|own| own == task);
        let by_place: Vec<TaskId> =
            order.iter().filter_map(place).map(|place| TaskId(place as u32)).collect();
        let (answer, late) = orders.by.under(&cpu.set, &by_place);
        match late {
            Some(late) => cpu.finding(answer, Reason::MayBeLate(cpu.tasks[late.0 as usize])),
            None => cpu.finding(answer, Reason::PriorityOrder(order.clone())),
        }
    }))
}
