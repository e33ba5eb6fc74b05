//! [`Refusal`]: why a policy does not do what it was asked.

/// Why a policy refuses a system or a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Refusal {
    /// Which answer a kernel would give.
    pub kind: RefusalKind,
    /// The reason, for the user.
    pub reason: String,
}

/// The answers that a kernel gives to what it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum RefusalKind {
    /// `EBUSY`: admission control says no.
    Busy,
    /// `EPERM`: the policy does not permit this.
    NotPermitted,
    /// `EINVAL`: the parameters make no sense to this policy.
    Invalid,
}

impl Refusal {
    /// Admission control says no.
    pub fn busy(reason: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Busy, reason: reason.into() }
    }
    /// The policy does not permit this.
    pub fn not_permitted(reason: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::NotPermitted, reason: reason.into() }
    }
    /// The parameters make no sense to this policy.
    pub fn invalid(reason: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Invalid, reason: reason.into() }
    }
}
