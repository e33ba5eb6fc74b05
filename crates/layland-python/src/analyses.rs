//! The analyses, one by one.

use layland_analysis::{Citation, Refusal, ResponseBound, Tardiness, TardinessBound, catalogue};
use layland_model::{Algorithm, System, TaskId};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// The description of an analysis: its name, its title, the meaning of its answer, the algorithms
/// that it is about, and its sources as BibTeX.
type Known = (&'static str, &'static str, &'static str, Vec<String>, Vec<&'static str>);

/// An answer: the verdict and its reasons; bounds on response times and tardiness in nanoseconds,
/// by task; or the assumption that the set breaks, how it breaks it, and what to do.
#[derive(Default, IntoPyObject)]
pub(crate) struct Answer {
    verdict: Option<&'static str>,
    reasons: Vec<String>,
    responses: Option<BTreeMap<String, Option<i64>>>,
    /// Exact bounds, as fractions of a nanosecond.
    tardiness: Option<BTreeMap<String, String>>,
    refused: Option<(&'static str, String, &'static str)>,
}

fn bibtex(citations: &[&'static Citation]) -> Vec<&'static str> {
    citations.iter().map(|citation| citation.bibtex).collect()
}

/// Every schedulability test, and every bound of tardiness.
#[pyfunction]
pub(crate) fn analyses() -> Vec<Known> {
    let names = |algorithms: &[Algorithm]| algorithms.iter().map(ToString::to_string).collect();
    let tests = catalogue::TESTS.iter().map(|test| {
        let about = names(test.subject.algorithms());
        (test.name, test.title, test.kind.name(), about, bibtex(test.citations))
    });
    let bounds = catalogue::BOUNDS.iter().map(|bound| {
        (bound.name, bound.title, "bound", names(bound.algorithms), bibtex(bound.citations))
    });
    tests.chain(bounds).collect()
}

/// Runs the analysis of this name; none if it does not exist.
pub(crate) fn run(name: &str, system: &System) -> Option<Answer> {
    if let Some(bound) = catalogue::bound(name) {
        return Some(match bound.run(system) {
            Ok(Tardiness::Bounded(bounds)) => {
                let of = |(_, bound): (TaskId, &TardinessBound)| {
                    (system.tasks[bound.task].name.to_string(), bound.tardiness.to_string())
                };
                let tardiness = Some(bounds.iter().map(of).collect());
                Answer { tardiness, ..Answer::default() }
            }
            Ok(Tardiness::Unknown(reasons)) => {
                let reasons = reasons.iter().map(|reason| reason.describe(system)).collect();
                Answer { reasons, ..Answer::default() }
            }
            Err(refusal) => refused(refusal),
        });
    }
    let test = catalogue::test(name)?;
    let finding = match test.run(system) {
        Ok(finding) => finding,
        Err(refusal) => return Some(refused(refusal)),
    };
    let responses = catalogue::RESPONSES.iter().find(|responses| responses.name == name);
    let responses = responses.and_then(|responses| responses.run(system).ok()).map(|bounds| {
        let of = |(task, bound): (TaskId, &Option<ResponseBound>)| {
            let response = bound.as_ref().map(|bound| bound.response.ns());
            (system.tasks[task].name.to_string(), response)
        };
        bounds.iter().map(of).collect()
    });
    Some(Answer {
        verdict: Some(finding.verdict.name()),
        reasons: finding.reasons.iter().map(|reason| reason.describe(system)).collect(),
        responses,
        ..Answer::default()
    })
}

fn refused(refusal: Refusal) -> Answer {
    let refused = Some((refusal.assumption.code(), refusal.message, refusal.help));
    Answer { refused, ..Answer::default() }
}
