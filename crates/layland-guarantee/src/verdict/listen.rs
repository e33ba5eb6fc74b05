//! The effect of a test's finding on an assessment.

use crate::assessment::{Assessment, Said};
use crate::options::{AssessOptions, Findings};
use crate::stated::Stated;
use layland_analysis::{Assumption, Finding, SchedulabilityTest, Subject, Verdict};
use layland_model::{OnMiss, System, Task};
use std::sync::Arc;

impl Assessment {
    pub(super) fn listen(
        &mut self,
        test: &'static SchedulabilityTest,
        finding: Arc<Stated>,
        system: &System,
        options: &AssessOptions,
    ) {
        let (wanted, digits) = (options.wanted.findings, options.digits);
        let tells = wanted != Findings::Verdict;
        let admission = matches!(test.subject, Subject::Admission(_));
        let about_any = test.subject == Subject::SomeScheduler;
        match &**finding {
            // On a set without graphs, a test for graphs is not worth mentioning, not even as not
            // applicable.
            Err(refusal)
                if matches!(
                    refusal.assumption,
                    Assumption::Graphs | Assumption::GraphsTogether
                ) && !system.has_followers() =>
            {
                return;
            }
            // A claim of a paper that does not hold decides nothing.
            _ if matches!(test.subject, Subject::Unsound(..)) => {}
            // Neither the feasibility of a set under some scheduler nor its admission guarantees a
            // deadline.
            Ok(Finding { verdict: Verdict::Yes, .. }) if admission || about_any => {}
            Ok(Finding { verdict: Verdict::Yes, .. }) if may_skip_in_time(system) => {
                if self.verdict == Verdict::Unknown && tells {
                    self.reasons
                        .push(format!("{} counts on jobs that would be skipped", test.name));
                }
            }
            Ok(Finding { verdict, .. }) => {
                let text = |sentence: &String| {
                    let what = if admission { "not admitted: " } else { "" };
                    format!("{what}{sentence}")
                };
                // A *yes* and a *no* do not contradict each other; the first one stands.
                if *verdict != Verdict::Unknown && self.verdict == Verdict::Unknown {
                    self.verdict = *verdict;
                    self.decided_by = Some(test.name);
                    let told = if tells { finding.sentences(system, digits) } else { &[] };
                    self.reasons = told.iter().map(text).collect();
                } else if self.verdict == Verdict::Unknown && !about_any && tells {
                    let first =
                        finding.sentences(system, digits).first().map(text).unwrap_or_default();
                    self.reasons.push(format!("{}: {first}", test.name));
                }
            }
            Err(refusal) if self.verdict == Verdict::Unknown && !about_any && tells => {
                self.reasons.push(format!("{} does not apply: {refusal}", test.name));
            }
            Err(_) => {}
        }
        self.said.push(Said { test, finding });
    }
}

pub(crate) const SKIPS_IN_TIME: &str =
    "a job may come while the one before it has time left, and be skipped";

/// Returns true if a job may be skipped although no job is late: one that arrives while the job
/// before it, whose deadline is after its period, still runs. Analyses let the new job wait, but a
/// skipped job is a miss.
pub(crate) fn may_skip_in_time(system: &System) -> bool {
    let skips = |task: &Task| task.on_miss == OnMiss::Skip && task.deadline > task.period;
    system.tasks.values().any(skips)
}
