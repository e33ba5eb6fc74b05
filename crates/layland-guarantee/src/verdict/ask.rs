//! Runs the tests that are about a policy in turn, until one decides.

use super::admission::admission;
use super::plan::{Plan, of_split, pieces_of};
use crate::about::{ABOUT_SOME_SCHEDULER, ADMISSIONS, OF_CACHES, Places};
use crate::assessment::Assessment;
use crate::kept::Kept;
use crate::memo::Known;
use crate::options::{AssessOptions, Findings};
use crate::proven::Proven;
use crate::seen::Seen;
use crate::stated::Stated;
use crate::views::Answers;
use layland_analysis::{Finding, Reason, Subject, Verdict, catalogue, mixed, semi_partitioned};
use layland_model::{Algorithm, System};
use std::sync::{Arc, LazyLock};

/// Runs the tests and enters their findings in the assessment.
pub(super) fn ask(
    plan: &Plan<'_>,
    system: &System,
    options: &AssessOptions,
    kept: Option<&Kept<'_>>,
    found: &mut Assessment,
) {
    let about_some =
        plan.views.iter().map(|seen| seen.about.tests).fold(Places::default(), Places::union);
    let of_split = of_split(plan.algorithm);
    let all = about_some.union(of_split).union(*ABOUT_SOME_SCHEDULER).without(*ADMISSIONS);
    let others = if plan.counts_reloads { all } else { all.without(*OF_CACHES) };
    let tells = options.tells();
    let orders = kept.and_then(|kept| kept.orders.as_ref());
    let kept_pieces = kept.and_then(|_| pieces_of(&plan.rule));
    // Admission comes first: rejected tasks do not run, whatever the other tests say.
    for at in ADMISSIONS.iter().chain(others.iter()) {
        let test = &catalogue::TESTS[at];
        let mut by = None;
        let finding = match test.subject {
            Subject::SomeScheduler if !plan.is_covered_alone && options.has(test.name) => {
                said(&plan.known, at, tells)
            }
            Subject::Covered(_) if orders.is_some() => match orders {
                Some(orders) if test.name == orders.test() && options.has(test.name) => {
                    Arc::new(Stated::new(mixed::under(plan.views[0].known.system(), orders)))
                }
                Some(_) | None => continue,
            },
            Subject::Covered(_) if plan.is_uncovered => continue,
            // Tasks that are split already are analysed in their pieces instead of being split
            // anew.
            Subject::Algorithms(_) if of_split.has(at) && kept_pieces.is_some() => {
                match kept_pieces {
                    Some(pieces) if options.has(test.name) => {
                        Arc::new(Stated::new(semi_partitioned::in_pieces(system, pieces)))
                    }
                    Some(_) | None => continue,
                }
            }
            Subject::Algorithms(_) | Subject::Covered(_) | Subject::Unsound(..)
                if about_some.has(at) && options.has(test.name) =>
            {
                match on_views(at, &plan.views, tells) {
                    Some((finding, seen)) => {
                        by = Some(seen);
                        finding
                    }
                    None => continue,
                }
            }
            // The tests of splitting assume the default order; run them in the order of the policy.
            Subject::Algorithms(_) if of_split.has(at) && options.has(test.name) => {
                let Algorithm::Split(splitting, order) = plan.algorithm else { continue };
                Arc::new(Stated::new(semi_partitioned::in_order(system, splitting, order)))
            }
            Subject::Admission(about)
                if about.contains(&plan.algorithm) && options.has(test.name) =>
            {
                let Some(threads) = &plan.threads else { continue };
                Arc::new(Stated::new(admission(plan.algorithm, system, threads)))
            }
            Subject::SomeScheduler
            | Subject::Algorithms(_)
            | Subject::Covered(_)
            | Subject::Unsound(..)
            | Subject::Admission(_)
            | Subject::SomePartition
            | Subject::SomePartitionUnder(_)
            | Subject::SomePriorities => continue,
        };
        let was_open = found.verdict == Verdict::Unknown;
        found.listen(test, finding, system, options);
        let decided = found.said.last().and_then(|said| (*said.finding).as_ref().ok());
        if let (true, true, Some(finding)) = (options.wanted.more.has_proof(), was_open, decided)
            && found.verdict != Verdict::Unknown
        {
            found.proven = Some(Proven::by(test, finding, by, system, plan.algorithm));
        }
        if found.verdict != Verdict::Unknown && options.wanted.findings != Findings::All {
            break;
        }
    }
}

/// Returns the finding of a test about a system; without reasons, if they are not needed.
fn said(known: &Known<'_>, test: usize, tells: bool) -> Arc<Stated> {
    if tells {
        known.test(test)
    } else {
        match known.verdict(test) {
            Ok(verdict) => Arc::clone(&BARE[verdict as usize]),
            Err(refusal) => Arc::new(Stated::new(Err(refusal))),
        }
    }
}

/// Findings without reasons.
static BARE: LazyLock<[Arc<Stated>; 3]> = LazyLock::new(|| {
    [Verdict::Yes, Verdict::No, Verdict::Unknown]
        .map(|verdict| Arc::new(Stated::new(Ok(Finding { verdict, reasons: Vec::new() }))))
});

/// Returns the finding of a test on the views that it is about, with the view: the first answer
/// that decides and holds for the policy, otherwise the first that does not, otherwise the first
/// refusal. None if it is about no view.
fn on_views<'s, 'a>(
    test: usize,
    views: &'s [Seen<'a>],
    tells: bool,
) -> Option<(Arc<Stated>, &'s Seen<'a>)> {
    let mut first: Option<(Arc<Stated>, &Seen<'_>)> = None;
    let speaks = |seen: &&Seen<'_>| seen.about.tests.has(test) && seen.answers != Answers::None;
    for seen in views.iter().filter(speaks) {
        let mut finding = said(&seen.known, test, tells);
        let holds = |finding: &Finding| match finding.verdict {
            Verdict::Yes => matches!(seen.answers, Answers::All | Answers::Yes),
            Verdict::No => matches!(seen.answers, Answers::All | Answers::No),
            Verdict::Unknown => true,
        };
        let is_told = tells && !seen.tells.is_empty();
        if (*finding).as_ref().is_ok_and(|finding| is_told || !holds(finding))
            && let Ok(finding) = Arc::make_mut(&mut finding).finding_mut()
        {
            if !holds(finding) {
                finding.verdict = Verdict::Unknown;
            }
            if is_told {
                finding.reasons.extend(seen.tells.iter().map(|&what| Reason::Holds(what)));
            }
        }
        if (*finding).as_ref().is_ok_and(|finding| finding.verdict != Verdict::Unknown) {
            return Some((finding, seen));
        }
        match (first.as_ref().map(|(first, _)| first.is_err()), finding.is_ok()) {
            (None, _) | (Some(true), true) => first = Some((finding, seen)),
            (Some(_), _) => {}
        }
    }
    first
}
