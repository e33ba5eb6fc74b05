//! The scheduling policy of a thread.

use super::{Importer, Reservation, Thread};
use crate::problem::Span;

impl Importer<'_> {
    /// Interprets the policy and the priority of a thread; returns the priority of its task.
    pub(super) fn policy(
        &mut self,
        thread: &mut Thread,
        policy: &str,
        span: &Span,
        priority: Option<(i64, Span)>,
    ) -> Option<i64> {
        let name = thread.name.clone();
        let deadline = policy == "SCHED_DEADLINE";
        match policy {
            "SCHED_FIFO" | "SCHED_RR" => {
                let (number, span) = priority.unwrap_or((10, span.clone()));
                self.has_round_robin |= policy == "SCHED_RR";
                self.negated.push((name.clone(), span));
                self.reservation_unused(thread, policy);
                return Some(-number);
            }
            "SCHED_DEADLINE" => {
                if thread.reservation.runtime.is_none() {
                    let message = format!("`{name}` is SCHED_DEADLINE without `dl-runtime`");
                    let help = "it has no budget of its own then: its execution time counts";
                    self.warn("layland::rtapp::no_budget", span, message, help);
                }
            }
            "SCHED_OTHER" | "SCHED_IDLE" | "SCHED_BATCH" => {}
            _ => {
                let message = format!("`{name}` has the unknown policy `{policy}`");
                let help = "write SCHED_OTHER, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE";
                self.warn("layland::rtapp::unknown_policy", span, message, help);
            }
        }
        if let Some((_, span)) = priority.filter(|_| !deadline) {
            self.nice.push((name, span));
        }
        if !deadline {
            self.reservation_unused(thread, policy);
        }
        None
    }

    /// Warns that a reservation has no effect, and drops it.
    fn reservation_unused(&mut self, thread: &mut Thread, policy: &str) {
        if let Some(span) = thread.reservation.span.take() {
            let message =
                format!("`{}` is {policy}: its `dl-` parameters do not count", thread.name);
            let help = "write \"policy\" : \"SCHED_DEADLINE\"";
            self.warn("layland::rtapp::not_modelled", &span, message, help);
            thread.reservation = Reservation::default();
        }
    }
}
