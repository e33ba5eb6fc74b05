//! The guarantees for a run. The analyses apply to what it reserves, not to the set as it is.

use super::request::Request;
use crate::ui::exit::Failure;
use crate::ui::terminal;
use layland_analysis::Verdict;
use layland_answers::limits::{self, Bounds};
use layland_engine::reserves::Margin;
use layland_guarantee::{AssessOptions, BoundsBy, Effort, Findings, Wanted, assess};
use layland_model::System;

/// The promise of a run.
pub(super) struct Promise {
    /// The bounds that the limits need.
    pub bounds: Bounds,
    /// A message if the margin loses a guarantee of the set as it is; it has been printed.
    pub lost: Option<String>,
}

/// Returns the promise of a run that reserves this. Without a margin of the user, the engine's
/// margin applies.
///
/// # Errors
/// Fails if a limit needs a bound that does not exist.
pub(super) fn promise(
    request: &Request<'_>,
    reserved: &System,
    margin: Option<&Margin>,
) -> Result<Promise, Failure> {
    let Request { registry, args, asked, .. } = request;
    let spec = &args.policy;
    let how = margin.map_or_else(String::new, |margin| format!(" --reserve {margin}"));
    let bounds = limits::bounds(&args.fail_on, registry, spec, reserved, &how)?;
    let wanted =
        Wanted { findings: Findings::Verdict, bounds: BoundsBy::Nobody, ..Wanted::default() };
    let options = AssessOptions { wanted, effort: Effort::Quick, ..AssessOptions::default() };
    let verdict = |system: &System| assess(registry, spec, system, &options).map(|it| it.verdict);
    let is_larger = reserved.tasks != asked.tasks;
    if !is_larger || verdict(asked).ok() != Some(Verdict::Yes) {
        return Ok(Promise { bounds, lost: None });
    }
    let is_it = match verdict(reserved) {
        Ok(Verdict::Yes) | Err(_) => return Ok(Promise { bounds, lost: None }),
        Ok(Verdict::No) => "they are not",
        Ok(Verdict::Unknown) => "that is unknown",
    };
    let of = margin.map_or_else(String::new, |margin| format!(" of {margin}"));
    let lost = format!(
        "all deadlines are guaranteed without the margin{of} that the run reserves, and with it {is_it}"
    );
    let help = format!("a smaller --reserve; layland check --policy {spec}{how} says why");
    terminal::warn(&lost, Some(&help));
    Ok(Promise { bounds, lost: Some(lost) })
}
