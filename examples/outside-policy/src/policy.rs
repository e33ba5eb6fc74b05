//! Global EDF with an option that disables preemption: a policy in another crate, which uses only
//! the public interface of `layland::policy`.

use layland::model::{Algorithm, Citation, Form, Group, JobOrder, Order, ScheduleRule};
use layland::policy::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use layland::policy::{HighestFirst, OptionInfo, PolicyInfo, Values};

/// The name under which it is registered.
pub const NAME: &str = "outside-edf";

/// Whenever a CPU is idle, the waiting job with the earliest deadline starts and runs to its end.
#[derive(Clone, Debug, Default)]
struct NonPreemptive {
    /// The waiting jobs; the highest priority comes last.
    waiting: Vec<Priority>,
}

impl Scheduler for NonPreemptive {
    const PROGRESS: Progress = Progress::Ignored;

    fn wait(&mut self, job: Priority) {
        let at = self.waiting.partition_point(|&other| job.is_higher_than(other));
        self.waiting.insert(at, job);
    }
    fn forget(&mut self, job: Priority) {
        self.waiting.retain(|&other| other != job);
    }
    fn clear(&mut self) {
        self.waiting.clear();
    }
    fn decide(&mut self, turn: &mut Turn<'_>) {
        while turn.has_idle_cpu() {
            let Some(highest) = self.waiting.pop() else { return };
            turn.start(highest);
        }
    }
    fn rule(&self, _groups: Vec<Group>, _order: JobOrder) -> ScheduleRule {
        // The checker has no rule for schedules without preemption.
        ScheduleRule::None
    }
}

/// The description of the policy.
pub fn info() -> PolicyInfo {
    PolicyInfo::new(
        NAME,
        "global EDF from another crate",
        "the m earliest deadlines run, or, with preempt=off, a job that has started runs to its end",
        |system, options| {
            let (scope, order) = (Scope::Global, Order::Deadline);
            Ok(if options.switch("preempt", true)? {
                let edf = HighestFirst::default();
                Box::new(Grouped::new(NAME, scope, order, system, options, edf)?)
            } else {
                let edf = NonPreemptive::default();
                Box::new(Grouped::new(NAME, scope, order, system, options, edf)?)
            })
        },
    )
    // With preemption the algorithm is global EDF, and all results for global EDF apply.
    .implementing_by(|options| match options.switch("preempt", true) {
        Ok(true) => Algorithm::Ordered(Form::Global, Order::Deadline),
        Ok(false) | Err(_) => Algorithm::Other,
    })
    .refusing(["several clusters, and affinities to some CPUs only: it migrates over all CPUs"])
    .with_options([OptionInfo::new(
        "preempt",
        "on (default): an earlier deadline preempts; off: a job that has started runs to its end",
        Values::Switch,
    )])
    .citing([Citation::LIU_LAYLAND])
}
