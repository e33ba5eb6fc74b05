//! [`assess`]: assesses one policy, or several on the same system.

use crate::affinities;
use crate::assessment::{Assessment, Said};
use crate::margin::margin;
use crate::memo::{Known, Memo};
use crate::options::AssessOptions;
use crate::search;
use crate::sensitivity::sensitivity;
use crate::stated::Stated;
use crate::ticks;
use crate::timed::in_time;
use crate::verdict::{Asked, SKIPS_IN_TIME, may_skip_in_time, verdict};
use layland_analysis::{Finding, Reason, Subject, Verdict, catalogue, necessary};
use layland_model::{Order, System};
use layland_policy::{BuildError, Registry};
use std::borrow::Cow;
use std::sync::Arc;

/// Assesses a policy of the registry, given as `name:option=value`, on a valid system.
///
/// # Errors
/// If the policy or an option does not exist. If the policy refuses the system, the result is an
/// assessment, not an error.
pub fn assess(
    registry: &Registry,
    spec: &str,
    system: &System,
    options: &AssessOptions,
) -> Result<Assessment, BuildError> {
    Assessor::new(registry, system, options).assess(spec)
}

/// One system on which several policies are assessed: if several of them lead to the same system,
/// each analysis of it runs once.
pub struct Assessor<'a> {
    registry: &'a Registry,
    system: &'a System,
    options: &'a AssessOptions,
    pub(crate) memo: Memo<'a>,
}

impl<'a> Assessor<'a> {
    /// Creates an assessor for policies of this registry on a valid system.
    pub fn new(
        registry: &'a Registry,
        system: &'a System,
        options: &'a AssessOptions,
    ) -> Assessor<'a> {
        Assessor { registry, system, options, memo: Memo::default() }
    }

    /// Assesses a policy as [`assess`] does.
    ///
    /// # Errors
    /// As [`assess`].
    pub fn assess(&self, spec: &str) -> Result<Assessment, BuildError> {
        let Assessor { registry, system, options, memo } = self;
        let (info, policy_options) = registry.parse(spec)?;
        let policy = Asked { spec, info, options: policy_options, memo };
        let mut found = verdict(&policy, Cow::Borrowed(*system), options, None);
        if options.wanted.more.has_margin() && found.refused.is_none() {
            found.margin = margin(&policy, system, options, found.verdict);
        }
        if options.wanted.limits && found.refused.is_none() {
            found.sensitivity = sensitivity(registry, &policy, system, options, found.verdict);
        }
        if found.refused.is_none() {
            found.without_affinities = affinities::verdict_without(&policy, system, options);
        }
        if let Some(tick) = options.tick {
            ticks::only(&mut found, system, tick);
        }
        search::decide(registry, options, system, &mut found);
        Ok(found)
    }

    /// Returns the findings that hold for every policy: what some scheduler, some partition or some
    /// priorities can do.
    pub fn whatever_the_policy(&self) -> Vec<Said> {
        self.said_about(|subject| match subject {
            Subject::SomeScheduler | Subject::SomePartition | Subject::SomePriorities => true,
            Subject::Algorithms(_)
            | Subject::Covered(_)
            | Subject::Unsound(..)
            | Subject::SomePartitionUnder(_)
            | Subject::Admission(_) => false,
        })
    }

    /// Returns the finding on partitions of the system under fixed priorities in this order: a slow
    /// search.
    pub fn some_partition_under(&self, order: Order) -> Vec<Said> {
        self.said_about(|subject| *subject == Subject::SomePartitionUnder(order))
    }

    /// Returns the part of [`whatever_the_policy`](Self::whatever_the_policy) that rules out every
    /// scheduler.
    pub fn whatever_the_scheduler(&self) -> Vec<Said> {
        self.said_about(|subject| *subject == Subject::SomeScheduler)
    }

    fn said_about(&self, is_meant: impl Fn(&Subject) -> bool) -> Vec<Said> {
        let known = self.memo.of(in_time(self.system));
        (catalogue::TESTS.iter().enumerate())
            .filter(|(_, test)| is_meant(&test.subject) && self.options.has(test.name))
            .map(|(at, test)| Said { test, finding: self.believed(self.of_all(&known, at)) })
            .collect()
    }

    /// Returns the finding of a test that holds for every policy, even one that drops jobs.
    fn of_all(&self, known: &Known<'_>, at: usize) -> Arc<Stated> {
        let test = &catalogue::TESTS[at];
        if test.subject == Subject::SomeScheduler && self.system.levels.is_mixed() {
            Arc::new(Stated::new(necessary::of_what_none_may_drop(test, known.system())))
        } else {
            known.test(at)
        }
    }

    fn believed(&self, finding: Arc<Stated>) -> Arc<Stated> {
        let is_yes = (*finding).as_ref().is_ok_and(|finding| finding.verdict == Verdict::Yes);
        if is_yes && may_skip_in_time(self.system) {
            let reason = Reason::Holds(SKIPS_IN_TIME);
            Arc::new(Stated::new(Ok(Finding::new(Verdict::Unknown, reason))))
        } else {
            finding
        }
    }
}
