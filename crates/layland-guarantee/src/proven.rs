//! The proof of an answer about a policy: the system that was analysed in its place, and the proof
//! of the test that decided.

use crate::seen::Seen;
use layland_analysis::{Finding, Proof, SchedulabilityTest, Verdict};
use layland_model::{AdaptiveOrder, Algorithm, Protection, System};

/// A system that was analysed, and how it differs from the policy's system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysed {
    /// Tasks on the clusters that the policy gives them, with overheads as part of their WCETs.
    pub system: System,
    /// The other changes: sentences without a full stop, separated by semicolons, empty if there are
    /// none.
    pub tells: String,
}

impl Analysed {
    fn of(seen: &Seen<'_>) -> Analysed {
        Analysed { system: seen.known.system().clone(), tells: seen.tells.join("; ") }
    }
}

/// The analysed system with the proof of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// The analysed system; if nothing was decided, the system that the policy runs.
    pub analysed: Analysed,
    /// The proof, or the reason why there is none.
    pub proof: Result<Proof, &'static str>,
}

impl Proven {
    /// Creates the state before any decision.
    pub(crate) fn open(seen: &Seen<'_>) -> Proven {
        Proven { analysed: Analysed::of(seen), proof: Err("nothing is decided") }
    }

    /// Creates the proof from the finding of a test about a view, or about the system as it is.
    pub(crate) fn by(
        test: &SchedulabilityTest,
        finding: &Finding,
        seen: Option<&Seen<'_>>,
        system: &System,
        algorithm: Algorithm,
    ) -> Proven {
        let as_given = || Analysed { system: system.clone(), tells: String::new() };
        let analysed = seen.map_or_else(as_given, Analysed::of);
        // A response time per level is one under the priorities that the analysis finds itself.
        let has_other_order = matches!(
            algorithm,
            Algorithm::MixedCriticality(Protection::Adaptive(order)) if order != AdaptiveOrder::AmcRt
        );
        let has_classes = matches!(algorithm, Algorithm::TopFirst(_));
        let may_be_split = matches!(algorithm, Algorithm::Split(..));
        let proof = if finding.verdict == Verdict::Yes && may_be_split {
            Err("the verifier does not know pieces of tasks")
        } else if finding.verdict == Verdict::Yes && has_classes {
            Err("the verifier does not know which tasks come first")
        } else if finding.verdict == Verdict::Yes && has_other_order {
            Err("the policy runs with other priorities than those that the analysis finds")
        } else {
            test.prove(&analysed.system, finding)
        };
        Proven { analysed, proof }
    }
}
