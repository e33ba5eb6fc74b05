//! The result for one set.

use super::reserved::Reserved;
use crate::structure::levels::CpuNumbers;
use crate::{Exit, Set};
use layland_analysis::{PAIRS, Verdict};
use layland_guarantee::search::Witness;
use layland_guarantee::{Affinities, Assessment, ChainBound, Said};
use layland_model::shown::Digits;
use layland_model::{Chain, System};
use std::collections::BTreeMap;

/// The complete result for one set.
pub struct Checked {
    /// The set.
    pub set: Set,
    /// The reservations of runs, if `--reserve` was given.
    pub reserved: Option<Reserved>,
    /// The findings that do not depend on the policy.
    pub any_policy: Vec<Said>,
    /// The policies that are shown.
    pub policies: Vec<Assessment>,
    /// The policies that are not made for such a set, with the reason; empty if the user named
    /// policies.
    pub out_of_place: Vec<(String, String)>,
    /// The analyses that were left out because the set is too large, if the user named no policy.
    pub left_out: Option<LeftOut>,
    /// Which policies respect the affinities, if the set has affinities and the user named no
    /// policy.
    pub affinities: Option<Affinities>,
    /// The guarantees for the chains of the set, by policy.
    pub chains: BTreeMap<String, Vec<ChainBound>>,
    /// The numbers of the analyses of mixed criticality, by policy, if every test was asked.
    pub(super) numbers: BTreeMap<String, Vec<CpuNumbers>>,
    /// True if the limits of each task and CPU were asked for.
    pub(super) has_limits: bool,
    /// The digits of rounded numbers that the question asks for.
    pub digits: Digits,
    /// The exit code of the command.
    pub exit: Exit,
}

impl Checked {
    /// Returns the verdict about the deadlines and the constraints on chains under a policy, and
    /// the analysis that decided it.
    pub fn verdict(&self, policy: &Assessment) -> (Verdict, Option<&'static str>) {
        let mut decided = (policy.verdict, policy.decided_by);
        for (chain, bound) in self.bounded_chains(&policy.spec) {
            let verdict = decided.0.both(bound.verdict(chain).unwrap_or(Verdict::Yes));
            if verdict != decided.0 {
                decided = (verdict, bound.within.is_ok().then_some(bound.by));
            }
        }
        decided
    }

    /// Pairs the chains of the set with their bounds under a policy, if it accepts the set.
    pub fn bounded_chains(
        &self,
        spec: &str,
    ) -> impl Iterator<Item = (&Chain, &ChainBound)> + Clone {
        let bounds = self.chains.get(spec).into_iter().flatten();
        self.set.system.chains.iter().zip(bounds)
    }

    /// Returns the system that was analysed under a policy.
    pub fn system(&self, spec: &str) -> &System {
        let reserved = self.reserved.as_ref().and_then(|reserved| reserved.under(spec));
        reserved.unwrap_or(&self.set.system)
    }

    /// Returns the witness run of each policy for which a run with a miss was found.
    pub fn witnesses(&self) -> BTreeMap<&str, &Witness> {
        let found = self.policies.iter();
        let missing = found.filter_map(|found| Some((&*found.spec, found.witness.as_deref()?)));
        missing.collect()
    }

    /// Returns the policies without an assessment, with the reason.
    pub fn not_assessed(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let left_out = self.left_out.iter();
        let left_out =
            left_out.flat_map(|left| left.policies.iter().map(|p| (p.clone(), left.why())));
        self.out_of_place.iter().cloned().chain(left_out)
    }
}

/// Analyses that take too long for a set with many tasks on the same CPUs, unless the user names
/// them.
pub struct LeftOut {
    /// Policies that compare every pair of tasks many times before the first release, to assign
    /// priorities or instants.
    pub policies: Vec<String>,
    /// True if the search for margins was left out.
    pub margins: bool,
    /// The number of pairs of tasks that share CPUs.
    pub pairs: u64,
}

impl LeftOut {
    /// Returns the reason, in the words of an analysis with too many pairs to compare.
    pub fn why(&self) -> String {
        format!("{} pairs of tasks share CPUs, and more than {PAIRS} take long", self.pairs)
    }
}
