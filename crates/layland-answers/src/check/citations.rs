//! The sources of an answer.

use super::checked::Checked;
use layland_analysis::chains::ChainAnalysis;
use layland_analysis::{BoundTest, Citation, ResponseTest, catalogue};
use layland_guarantee::Bound;
use layland_guarantee::search::{CYCLE, INFLATED, STATES, states};
use layland_model::Algorithm;
use layland_policy::Registry;
use std::collections::BTreeMap;

/// The references of the deciding tests, of the bounds, and of the policies.
#[derive(Default)]
pub struct Cited(BTreeMap<&'static str, &'static str>);

impl Cited {
    /// Adds the sources of an answer.
    pub fn add(&mut self, registry: &Registry, checked: &Checked) {
        let mut cite = |citation: &Citation| {
            self.0.insert(citation.key, citation.bibtex);
        };
        for policy in &checked.policies {
            if let Some(test) = policy.decided_by.and_then(catalogue::test) {
                test.citations.iter().copied().for_each(&mut cite);
            }
            if matches!(policy.decided_by, Some(STATES | INFLATED)) {
                states::CITATIONS.iter().copied().for_each(&mut cite);
            }
            if policy.decided_by == Some(CYCLE) {
                cite(&states::HA_LIU);
            }
            policy.bounds.values().flat_map(of_bound).for_each(&mut cite);
            let of_chains = checked.chains.get(&policy.spec).into_iter().flatten();
            for bound in of_chains.filter(|bound| bound.within.is_ok()) {
                let by = ChainAnalysis::ALL.into_iter().filter(|by| by.name == bound.by);
                by.flat_map(|by| by.citations).copied().for_each(&mut cite);
            }
            if let Ok((info, options)) = registry.parse(&policy.spec) {
                // RUN and QPS have an accounting of their own, which they cite.
                let is_optimal =
                    matches!(info.algorithm(&options), Algorithm::Run | Algorithm::Qps);
                if policy.inflation.is_some() && !is_optimal {
                    cite(&layland_analysis::overheads::BRANDENBURG);
                }
                info.citations.iter().for_each(&mut cite);
            }
        }
    }

    /// Returns the sources as BibTeX.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.0.values().copied().collect();
        format!("{}\n", texts.join("\n\n"))
    }
}

fn of_bound(bound: &Bound) -> Vec<&'static Citation> {
    let by = match bound {
        Bound::Unknown => return Vec::new(),
        Bound::Response { by, .. } | Bound::Tardiness { by, .. } => *by,
    };
    let responses = catalogue::RESPONSES.iter().find(|test: &&ResponseTest| test.name == by);
    let tardiness = catalogue::bound(by).map(|test: &BoundTest| test.citations);
    responses.map(|test| test.citations).or(tardiness).unwrap_or_default().to_vec()
}
