//! Finds the page of the playground, and creates links to it.
//!
//! The page is a file beside the program, which would be a quarter larger if it contained the page.

use layland_answers::Set;
use layland_report::playground::{MOST_TASKS, Start, fragment};
use std::path::{Path, PathBuf};

/// The environment variable with the path of the page.
pub(crate) const VARIABLE: &str = "LAYLAND_PLAY";

/// The name of the page.
const NAME: &str = "play.html";

/// The length of the longest link that is created, because browsers have limits.
const LONGEST: usize = 500_000;

/// Returns the locations of an installed page. The first takes precedence.
fn installed() -> Vec<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    if let Some(named) = named {
        return vec![named];
    }
    let program = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let mut places = Vec::new();
    if let Some(folder) = program.as_deref().and_then(Path::parent) {
        // In a tarball, and in an installed package.
        places.push(folder.join(NAME));
        places.extend(folder.parent().map(|root| root.join("share/layland").join(NAME)));
    }
    places.extend(own());
    places
}

/// Returns the possible locations of the page. The last one is in the target folder of a checkout,
/// to which no report links, because it is soon gone.
pub(crate) fn places() -> Vec<PathBuf> {
    let mut places = installed();
    if std::env::var_os(VARIABLE).is_none() {
        let program = std::env::current_exe().and_then(std::fs::canonicalize).ok();
        let target = program.as_deref().and_then(|program| program.parent()?.parent());
        places.extend(target.map(|target| target.join("play/layland-play.html")));
    }
    places
}

/// Returns the location for the page of a user who installed the program alone.
pub(crate) fn own() -> Option<PathBuf> {
    // An empty or relative path counts as unset: the XDG Base Directory Specification says so.
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    Some(data?.join("layland").join(NAME))
}

/// Returns the location of the page, for a command that opens it at once.
pub(crate) fn page() -> Option<PathBuf> {
    places().into_iter().find(|place| place.is_file())
}

/// Returns a link that opens the page with a set, if the page exists and the set is not too large
/// for a link.
pub(crate) fn link(set: &Set, start: impl FnOnce() -> Start) -> Option<String> {
    if set.system.tasks.len() > MOST_TASKS {
        return None;
    }
    let page = installed().into_iter().find(|place| place.is_file())?;
    let fragment = fragment(&start());
    (fragment.len() <= LONGEST).then(|| address(&page) + &fragment)
}

/// Returns the URL of a file.
pub(crate) fn address(path: &Path) -> String {
    let mut address = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                address.push(char::from(*byte));
            }
            byte => address += &format!("%{byte:02X}"),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_sign_that_means_something_else() {
        let found = address(Path::new("/a b/#1?/100%/é.html"));
        assert_eq!(found, "file:///a%20b/%231%3F/100%25/%C3%A9.html");
    }
}
