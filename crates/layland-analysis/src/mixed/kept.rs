//! Priorities that were found for some execution times, held against others.
//!
//! A policy assigns priorities before the start, by the execution times that it is given. How far those may grow under
//! the same priorities is another question than which priorities larger ones would get.

use super::{Cpu, PER_CPU, cpus, each_cpu};
use crate::{Assumption, Finding, Reason, Refusal, Verdict};
use layland_model::{AdaptiveOrder, Algorithm, CutOffOrder, Protection, System, TaskId};
use layland_offline::criticality::{Answer, MixedSet, Responses, amc_ia, amc_max, amc_rt, fixed};

/// The priorities of the tasks of each CPU, as a search found them, and the analysis that they were found by.
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
            // The orders of the first two do not depend on execution times, and the third decides nothing.
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

    /// The answer under an order, and a task without a bound.
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

/// The priorities that an algorithm finds for a system, each of whose tasks may use one CPU alone; none if it finds
/// none, or its priorities do not depend on execution times.
pub fn orders(system: &System, algorithm: Algorithm) -> Option<Orders> {
    let by = By::of(algorithm)?;
    Assumption::check_all(PER_CPU, system).ok()?;
    let order = |cpu: Cpu| Some(cpu.named(&by.found(&cpu.set)?));
    Some(Orders { by, orders: cpus(system).map(order).collect::<Option<_>>()? })
}

impl Orders {
    /// The test that the priorities were found by.
    pub fn test(&self) -> &'static str {
        match self.by {
            By::Smc => super::FTP_SMC.name,
            By::AmcRt => super::AMC_RT.name,
            By::AmcMax => super::AMC_MAX.name,
            By::AmcIa => super::AMC_IA.name,
        }
    }
}

/// The finding of the test of these priorities on a system with the same tasks on the same CPUs.
///
/// # Errors
/// If the system breaks an assumption.
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
