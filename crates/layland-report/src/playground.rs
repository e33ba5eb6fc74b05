//! What the page of the playground begins with: in a link to it, or in a copy of it.

use crate::page::script_json;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// A page takes no more tasks.
pub const MOST_TASKS: usize = 5_000;

/// Where the page has what it begins with; the bytes stand in it once.
const PLACE: &str = "<script type=\"application/json\" id=\"start\">null</script>";

/// What the page begins with.
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
/// use layland_report::playground::{Start, fragment};
/// let start = Start { set: "layland = 1\n".to_owned(), ..Start::default() };
/// assert!(fragment(&start).strip_prefix("#s=").is_some_and(|rest| !rest.contains(['+', '/', '=', ' '])));
/// ```
pub fn fragment(start: &Start) -> String {
    let json = serde_json::to_vec(start).expect("texts and numbers can be written as JSON");
    format!("#s={}", URL_SAFE_NO_PAD.encode(miniz_oxide::deflate::compress_to_vec(&json, 9)))
}

/// A copy of the page that begins with that; none if it is no page of the playground.
///
/// ```
/// use layland_report::playground::{Start, begin};
/// let page = "<script type=\"application/json\" id=\"start\">null</script>";
/// let start = Start { set: "# </script>\n".to_owned(), ..Start::default() };
/// assert_eq!(begin(page, &start).unwrap().matches("</script>").count(), 1);
/// assert_eq!(begin("another page", &start), None);
/// ```
pub fn begin(page: &str, start: &Start) -> Option<String> {
    let (before, after) = page.split_once(PLACE)?;
    let (open, close) = PLACE.split_once("null").expect("it is in it");
    Some([before, open, &script_json(start), close, after].concat())
}
