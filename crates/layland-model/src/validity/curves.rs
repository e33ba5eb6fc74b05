//! The rules for arrivals by a curve. The curve itself is valid by construction.

use crate::{
    Change, CurveArrivals, Duration, Field, Request, RequestKind, Separation, System, SystemPart,
    Task, TaskId,
};

impl System {
    pub(super) fn validate_curve(
        &self,
        id: TaskId,
        task: &Task,
        wrong: &mut impl FnMut(SystemPart, String, &str),
    ) {
        let Some(CurveArrivals { curve, extra }) = task.curve_arrivals() else { return };
        let name = &task.name;
        let separation = curve.separation();
        if task.period != separation {
            let period = task.period;
            let message = format!(
                "the arrivals of `{name}` are {separation} apart in the long run, and its period is {period}"
            );
            let help = format!("write period = \"{separation}\"");
            wrong(SystemPart::Task(id, Field::Period), message, &help);
        }
        let is_later = match extra {
            None => true,
            Some(Separation::Uniform { max }) => *max >= Duration::ZERO,
            Some(Separation::Exponential { mean, max }) => {
                *max >= Duration::ZERO && *mean > Duration::ZERO
            }
        };
        if !is_later {
            let message = format!("`{name}` comes earlier than its curve permits");
            let help = "`extra` is 0s or longer, and its mean longer than zero";
            wrong(SystemPart::Task(id, Field::Behaviour), message, help);
        }
    }

    /// Rejects requests for other parameters of a task with a curve, because its period is not an
    /// independent parameter.
    pub(super) fn validate_curve_request(
        &self,
        request: &Request,
        here: &mut impl FnMut(String, &str),
    ) {
        let RequestKind::Reconfigure(id, Change::Parameters { .. }) = &request.kind else { return };
        if let Some(task) = self.tasks.get(*id).filter(|task| task.curve_arrivals().is_some()) {
            let message =
                format!("`{}` arrives by a curve, and cannot get another period", task.name);
            here(message, "let it leave, and another task enter");
        }
    }
}
