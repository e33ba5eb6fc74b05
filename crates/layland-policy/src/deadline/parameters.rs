//! The permitted parameters of a server. Linux and the papers require `Q <= D <= T`.

use crate::Refusal;
use layland_model::Task;

/// The refusal of other parameters, as policies list it.
pub(crate) const CONSTRAINED: &str =
    "deadlines after the period, and budgets longer than the deadline";

pub(crate) fn check_parameters(task: &Task) -> Result<(), Refusal> {
    check_reservation(task.reservation().ns(), task.period.ns(), task.deadline.ns())
        .map_err(|reason| Refusal::invalid(format!("task `{}`: {reason}", task.name)))
}

pub(crate) fn check_reservation(budget: i64, period: i64, deadline: i64) -> Result<(), Refusal> {
    if budget > deadline {
        return Err(Refusal::invalid("a server's budget is at most its deadline"));
    }
    if deadline > period {
        return Err(Refusal::invalid("a server's deadline is at most its period"));
    }
    Ok(())
}
