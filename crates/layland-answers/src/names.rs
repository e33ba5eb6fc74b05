//! Resolves names of policies.

use crate::Unanswered;
use layland_policy::{BuildError, Registry};

/// Returns the policy with its options in the notation of the output.
///
/// # Errors
/// If there is no such policy, or it has no such option.
pub fn canonical_policy(registry: &Registry, spec: &str) -> Result<String, Unanswered> {
    registry.canonical(spec.trim()).map_err(|error| unknown_policy(&error))
}

/// Returns several policies in the notation of the output.
///
/// # Errors
/// As of [`canonical_policy`]; and if a policy is named twice, or a name is empty.
pub fn distinct_policies(registry: &Registry, asked: &[String]) -> Result<Vec<String>, Unanswered> {
    let mut specs: Vec<String> = Vec::new();
    for spec in asked {
        if spec.trim().is_empty() {
            return Err(Unanswered::usage("a policy in the list has no name")
                .help("separate policies by one comma, as in g-edf,p-edf"));
        }
        let spec = canonical_policy(registry, spec)?;
        if specs.contains(&spec) {
            return Err(Unanswered::usage(format!("policy `{spec}` is named twice"))
                .help("name each policy once"));
        }
        specs.push(spec);
    }
    Ok(specs)
}

/// Reports an unknown policy.
pub fn unknown_policy(error: &BuildError) -> Unanswered {
    let failure = Unanswered::usage(error.to_string());
    if error.is_about_the_name() { failure.help("`layland policies` lists them") } else { failure }
}
