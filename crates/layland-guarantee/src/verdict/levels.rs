//! The algorithm of a policy when tasks share a priority.

use layland_model::{Algorithm, Form, InLevel, JobOrder, Order, ScheduleRule, System};
use layland_policy::Registry;

/// Returns the algorithm of a policy with this rule: one with levels, if some tasks share a
/// priority and ranks do not decide. Tasks with steps have no locks then.
pub fn in_its_levels(rule: &ScheduleRule, algorithm: Algorithm) -> Algorithm {
    match (in_level_of(rule), algorithm) {
        (Some(in_level), Algorithm::Ordered(form, _) | Algorithm::Levels(form, _)) => {
            Algorithm::Levels(form, in_level)
        }
        (Some(in_level), Algorithm::Locking(..)) => Algorithm::Levels(Form::Partitioned, in_level),
        // No two tasks share a priority.
        (None, Algorithm::Levels(form, _)) => Algorithm::Ordered(form, Order::Given),
        (_, algorithm) => algorithm,
    }
}

/// Returns the order among jobs of tasks of one priority under a policy, if some share one and
/// ranks do not decide.
pub fn in_level(registry: &Registry, spec: &str, system: &System) -> Option<InLevel> {
    let (info, options) = registry.parse(spec).ok()?;
    in_level_of(&info.build(system, &options.for_its_rule()).ok()?.rule())
}

/// Returns the order among jobs of equal priority, if ranks do not decide.
fn in_level_of(rule: &ScheduleRule) -> Option<InLevel> {
    let JobOrder::Levels { in_level, .. } = rule.order()? else { return None };
    Some(*in_level)
}
