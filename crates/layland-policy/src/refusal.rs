//! [`Refusal`]: the reason why a policy refuses a system or a request.

/// The refusal of a system or a request by a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Refusal {
    /// The corresponding answer of a kernel.
    pub kind: RefusalKind,
    /// The reason, for the user.
    pub reason: String,
}

/// The answers of a kernel to requests that it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum RefusalKind {
    /// `EBUSY`: admission control refuses the request.
    Busy,
    /// `EPERM`: the policy does not permit this.
    NotPermitted,
    /// `EINVAL`: the parameters make no sense to this policy.
    Invalid,
}

impl Refusal {
    /// Returns a refusal by admission control.
    pub fn busy(reason: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Busy, reason: reason.into() }
    }
    /// Returns a refusal because the policy does not permit the request.
    pub fn not_permitted(reason: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::NotPermitted, reason: reason.into() }
    }
    /// Returns a refusal because the parameters make no sense to the policy.
    pub fn invalid(reason: impl Into<String>) -> Refusal {
        Refusal { kind: RefusalKind::Invalid, reason: reason.into() }
    }
}
