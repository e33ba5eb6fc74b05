//! The initial state of the playground: in a link to the page, or in a copy of it.

use crate::page::script_json;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// The maximum number of tasks in the page.
pub const MOST_TASKS: usize = 5_000;

/// The position of the initial state in the page; these bytes occur in it once.
const PLACE: &str = "<script type=\"application/json\" id=\"start\">null</script>";

/// The initial state of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The task-set file.
    pub set: String,
    /// The name of the set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The policies to compare, with their options; if empty, the page chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// The end of the simulation, as in 2s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// True if the page is in a frame of another one, so that it shows less around the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedded: Option<bool>,
    /// The guided example to begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// Returns the end of a link that contains the state:
/// `#s=` and JSON, deflated, in the URL alphabet.
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

/// Returns a copy of the page that begins with this state; `None` if it is not a playground page.
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
