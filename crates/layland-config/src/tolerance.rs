//! The misses that a task tolerates, in every format: `mk` and `miss`.

use layland_model::{MissProbability, MissTolerance, WeaklyHard};
use std::sync::Arc;

/// The message and the advice for a text without a meaning.
pub(crate) type Misread = (String, String);

/// Returns a constraint.
pub(crate) fn constraint(text: &str) -> Result<WeaklyHard, Misread> {
    text.parse()
        .map_err(|fault: layland_model::ParseWeaklyHardError| (fault.to_string(), fault.help()))
}

/// Returns a probability.
pub(crate) fn probability(text: &str) -> Result<MissProbability, Misread> {
    text.parse().map_err(|fault: layland_model::ParseMissProbabilityError| {
        (fault.to_string(), fault.help())
    })
}

/// Returns the tolerance of a task; `None` for a hard one.
pub(crate) fn of(
    constraints: Vec<WeaklyHard>,
    probability: Option<MissProbability>,
) -> Option<Arc<MissTolerance>> {
    let is_hard = constraints.is_empty() && probability.is_none();
    (!is_hard).then(|| Arc::new(MissTolerance { constraints, probability }))
}
