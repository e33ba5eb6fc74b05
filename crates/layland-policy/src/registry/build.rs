//! From `name:option=value` to a policy.

use super::{Options, POLICIES, PolicyInfo, Values};
use crate::{Policy, Refusal};
use layland_model::{System, nearest};

/// Why a policy cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No policy has this name.
    #[error("there is no policy `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownPolicy {
        /// The name as written.
        name: String,
        /// The nearest name that exists.
        nearest: Option<String>,
    },
    /// The policy has no such option.
    #[error("policy `{policy}` has no option `{option}`{}", known_options(.policy))]
    UnknownOption {
        /// The policy.
        policy: String,
        /// The option as written.
        option: String,
    },
    /// The option cannot have this value.
    #[error("option `{option}` of policy `{policy}` cannot be `{value}`: use {known}")]
    BadValue {
        /// The policy.
        policy: String,
        /// The option.
        option: &'static str,
        /// The value as written.
        value: String,
        /// What it can be.
        known: Values,
    },
    /// The policy cannot schedule this system.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(": did you mean `{name}`?"))
}

fn known_options(policy: &str) -> String {
    let names: Vec<&str> = find(policy)
        .map_or_else(Vec::new, |info| info.options.iter().map(|option| option.name).collect());
    if names.is_empty() {
        ": it has none".to_owned()
    } else {
        format!(": it has {}", names.join(", "))
    }
}

/// The policy of this name.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|info| info.name == name)
}

/// Splits `name:option=value` into the policy and its options.
///
/// # Errors
/// If the policy or an option does not exist, or an option cannot have its value.
pub fn parse(spec: &str) -> Result<(&'static PolicyInfo, Options), BuildError> {
    let mut parts = spec.split(':');
    let name = parts.next().unwrap_or_default().trim();
    let info = find(name).ok_or_else(|| BuildError::UnknownPolicy {
        name: name.to_owned(),
        nearest: nearest(name, POLICIES.iter().map(|info| info.name)).map(str::to_owned),
    })?;
    let mut options = Options::default();
    for part in parts {
        let (option, value) = part.split_once('=').unwrap_or((part, "true"));
        let Some(known) = info.options.iter().find(|known| known.name == option) else {
            return Err(BuildError::UnknownOption {
                policy: name.to_owned(),
                option: option.to_owned(),
            });
        };
        if !known.values.accepts(value) {
            return Err(BuildError::BadValue {
                policy: name.to_owned(),
                option: known.name,
                value: value.to_owned(),
                known: known.values,
            });
        }
        options.0.push((option.to_owned(), value.to_owned()));
    }
    Ok((info, options))
}

impl PolicyInfo {
    /// Builds the policy for a system.
    ///
    /// # Errors
    /// If the policy cannot schedule it.
    pub fn build(&self, system: &System, options: &Options) -> Result<Box<dyn Policy>, Refusal> {
        (self.build)(system, options)
    }
}

/// Builds the policy `name:option=value:..` for a system, which must be valid.
///
/// # Errors
/// As [`parse`], or if the policy cannot schedule this system.
pub fn build(spec: &str, system: &System) -> Result<Box<dyn Policy>, BuildError> {
    let (info, options) = parse(spec)?;
    Ok(info.build(system, &options)?)
}
