//! What a link to the playground carries, and what a page of its own begins with.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// What a page begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The task-set file.
    pub set: String,
    /// What to call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The policies to compare, with their options; without any the page chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// Up to when to simulate, as in 2s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether the page is in a frame of another one, so that it shows less around the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedded: Option<bool>,
    /// The guided example to begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// The end of a link that carries all of it: `#s=` and JSON, deflated, in the alphabet of addresses.
///
/// ```
/// use layland_play::{Start, fragment};
/// let start = Start { set: "layland = 1\n".to_owned(), ..Start::default() };
/// let fragment = fragment(&start);
/// assert!(fragment.starts_with("#s=") && !fragment.contains(['+', '/', '=', ' ']) || fragment.matches('=').count() == 1);
/// ```
pub fn fragment(start: &Start) -> String {
    let json = serde_json::to_vec(start).expect("texts and numbers can be written as JSON");
    format!("#s={}", URL_SAFE_NO_PAD.encode(miniz_oxide::deflate::compress_to_vec(&json, 9)))
}
