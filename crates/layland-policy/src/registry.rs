//! Policies by name.
//!
//! A policy is named with its options as `name:option=value:option=value`, as in `p-edf:fit=wfd`.
//! Names ignore case, and a few other spellings are accepted (`spoken.rs`).

use crate::info::{PolicyInfo, PolicyOptions, SystemRefusal, Text, Values};
use crate::spoken::{self, Spoken};
use crate::{
    Policy, adaptive, affinity, criticality, deadline, edzl, efdf, fair, fair_lateness, federated,
    least_laxity, ordered, served, split, task_groups, top_first,
};
use layland_model::{Algorithm, System, TaskId};

/// A list of policies, in the order in which lists show them.
///
/// ```
/// use layland_model::{Duration, Service, System, Task};
/// use layland_policy::Registry;
/// let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(5));
/// let policy = Registry::standard().build("p-edf:fit=wfd", &System::new(2, vec![task]));
/// assert!(policy.is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    policies: Vec<PolicyInfo>,
}

impl Registry {
    /// Returns the policies of this crate.
    pub fn standard() -> Registry {
        let families = [
            ordered::policies(),
            vec![edzl::policy()],
            vec![efdf::policy()],
            fair_lateness::policies(),
            top_first::policies(),
            least_laxity::policies().to_vec(),
            served::policies(),
            vec![federated::policy()],
            affinity::policies(),
            deadline::policies(),
            adaptive::policies(),
            split::policies(),
            vec![task_groups::policy()],
            fair::policies(),
            criticality::policies(),
        ];
        Registry { policies: families.into_iter().flatten().collect() }
    }

    /// Adds a policy.
    ///
    /// # Errors
    /// If there is a policy with this name, or the name cannot be used in a policy string.
    pub fn with(mut self, info: PolicyInfo) -> Result<Registry, RegisterError> {
        if info.name.is_empty()
            || info.name.contains([':', ',', '='])
            || info.name.trim() != info.name
        {
            return Err(RegisterError::Unwritable(info.name));
        }
        if self.find(&info.name).is_some() {
            return Err(RegisterError::Taken(info.name));
        }
        self.policies.push(info);
        Ok(self)
    }

    /// Returns the policies, in the order of the list.
    pub fn iter(&self) -> std::slice::Iter<'_, PolicyInfo> {
        self.policies.iter()
    }

    /// Returns the policy with exactly this name.
    pub fn find(&self, name: &str) -> Option<&PolicyInfo> {
        self.iter().find(|info| info.name == name)
    }

    /// Returns the policies that implement one of these algorithms by default, without options, in
    /// the order of the algorithms.
    pub fn implementing(&self, algorithms: &[Algorithm]) -> Vec<&PolicyInfo> {
        let of = |algorithm: Algorithm| {
            self.iter().filter(move |info| info.algorithm(&PolicyOptions::default()) == algorithm)
        };
        algorithms.iter().flat_map(|&algorithm| of(algorithm)).collect()
    }

    /// Returns the policy that a common name means: `G-EDF`, `gedf` and `global-edf` are `g-edf`.
    ///
    /// # Errors
    /// If the name means no policy, or one of several.
    pub fn named(&self, name: &str) -> Result<&PolicyInfo, BuildError> {
        if let Some(info) = self.find(name) {
            return Ok(info);
        }
        let names = || self.iter().map(|info| info.name.as_ref());
        match spoken::meant(name, names()) {
            Spoken::Policy(meant) => {
                self.find(meant).ok_or_else(|| BuildError::unknown(name, names()))
            }
            Spoken::Family { what, policies } => Err(BuildError::Family {
                name: name.to_owned(),
                what: what.to_owned(),
                policies: policies.into_iter().map(str::to_owned).collect(),
            }),
            Spoken::Nothing => Err(BuildError::unknown(name, names())),
        }
    }

    /// Returns a policy string for outputs, with the name that the registry has for the policy.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn canonical(&self, spec: &str) -> Result<String, BuildError> {
        let (info, _) = self.parse(spec)?;
        let options = spec.find(':').map_or("", |at| &spec[at..]);
        Ok(format!("{}{}", info.name, options.trim_end()))
    }

    /// Splits `name:option=value` into the policy and its options.
    ///
    /// # Errors
    /// If the policy or an option does not exist, or the value of an option is invalid.
    pub fn parse(&self, spec: &str) -> Result<(&PolicyInfo, PolicyOptions), BuildError> {
        let mut parts = spec.split(':');
        let info = self.named(parts.next().unwrap_or_default().trim())?;
        let name = info.name.as_ref();
        let mut options = PolicyOptions::default();
        for part in parts {
            let (option, value) = part.split_once('=').unwrap_or((part, "true"));
            let Some(known) = info.options.iter().find(|known| known.name == option) else {
                return Err(BuildError::UnknownOption {
                    policy: name.to_owned(),
                    option: option.to_owned(),
                    known: info.options.iter().map(|option| option.name.clone()).collect(),
                });
            };
            if !known.values.accepts(value) {
                return Err(BuildError::BadValue {
                    policy: name.to_owned(),
                    option: known.name.clone(),
                    value: value.to_owned(),
                    known: known.values.clone(),
                });
            }
            options.give(option, value);
        }
        Ok((info, options))
    }

    /// Builds the policy `name:option=value:..` for a system, which must be valid.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), or if the policy cannot schedule this system.
    pub fn build(&self, spec: &str, system: &System) -> Result<Box<dyn Policy>, BuildError> {
        let (info, options) = self.parse(spec)?;
        Ok(info.build(system, &options)?)
    }
}

impl<'a> IntoIterator for &'a Registry {
    type Item = &'a PolicyInfo;
    type IntoIter = std::slice::Iter<'a, PolicyInfo>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The reason why a policy cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// There is already a policy with this name.
    #[error("there is a policy `{0}` already")]
    Taken(Text),
    /// The name is empty, contains a character that separates names, options and values, or has
    /// blanks around it.
    #[error("`{0}` cannot name a policy: a name has no `:`, `,` or `=`, and no blanks around it")]
    Unwritable(Text),
}

/// The reason why a policy cannot be built.
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
    /// The name is that of a family, or of something that does not exist here.
    #[error("{what}: {}", did_you_mean_one(.policies))]
    Family {
        /// The name as written.
        name: String,
        /// The meaning of the name.
        what: String,
        /// The policies that could be meant, or the nearest ones.
        policies: Vec<String>,
    },
    /// The policy has no such option.
    #[error("policy `{policy}` has no option `{option}`: it has {}", listed(.known))]
    UnknownOption {
        /// The policy.
        policy: String,
        /// The option as written.
        option: String,
        /// The options that it has.
        known: Vec<Text>,
    },
    /// The value of the option is invalid.
    #[error("option `{option}` of policy `{policy}` cannot be `{value}`: use {known}")]
    BadValue {
        /// The policy.
        policy: String,
        /// The option.
        option: Text,
        /// The value as written.
        value: String,
        /// The permitted values.
        known: Values,
    },
    /// The policy cannot schedule this system.
    #[error(transparent)]
    Refused(#[from] SystemRefusal),
}

impl BuildError {
    fn unknown<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> BuildError {
        let nearest = spoken::nearest_name(name, names).map(str::to_owned);
        BuildError::UnknownPolicy { name: name.to_owned(), nearest }
    }

    /// Returns true if the error is that no policy has this name.
    pub fn is_about_the_name(&self) -> bool {
        matches!(self, BuildError::UnknownPolicy { .. } | BuildError::Family { .. })
    }

    /// Returns the task because of which the policy refuses the system, if there is one.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            BuildError::Refused(refusal) => refusal.task,
            BuildError::UnknownPolicy { .. }
            | BuildError::Family { .. }
            | BuildError::UnknownOption { .. }
            | BuildError::BadValue { .. } => None,
        }
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(": did you mean `{name}`?"))
}

/// Formats `did you mean g-edf, c-edf or p-edf?`
fn did_you_mean_one(policies: &[String]) -> String {
    match policies {
        [] => String::new(),
        [one] => format!("did you mean `{one}`?"),
        [rest @ .., last] => format!("did you mean `{}` or `{last}`?", rest.join("`, `")),
    }
}

fn listed(known: &[Text]) -> String {
    if known.is_empty() { "none".to_owned() } else { known.join(", ") }
}
