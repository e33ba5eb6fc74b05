//! Resolves names on the command line: of policies, bundled sets and experiments. Unknown names get
//! suggestions.

use super::exit::Failure;
#[cfg(target_os = "linux")]
use layland_answers::unknown_policy;
use layland_model::nearest;
use layland_policy::Registry;
use std::sync::OnceLock;

static POLICIES: OnceLock<Vec<String>> = OnceLock::new();

/// Stores the names of the policies, so that every message recognizes them.
pub(crate) fn keep(registry: &Registry) {
    // A process keeps its first registry and ignores later ones.
    let _ = POLICIES.set(registry.iter().map(|info| info.name.to_string()).collect());
}

/// Returns true if a word is the name of a policy, with or without options.
pub(crate) fn is_policy(word: &str) -> bool {
    let name = word.split(':').next().unwrap_or(word);
    POLICIES.get().is_some_and(|names| names.iter().any(|known| known == name))
}

/// Returns the only policy of an argument. A comma is accepted only within options.
#[cfg(target_os = "linux")]
pub(crate) fn one(registry: &Registry, spec: &str) -> Result<String, Failure> {
    match (registry.canonical(spec.trim()), spec.split_once(',')) {
        (Err(error), Some((first, _))) if error.is_about_the_name() => {
            Err(Failure::usage(format!("`{spec}` names several policies, and a run has one"))
                .help(format!("run each by itself: --policy {first}")))
        }
        (result, _) => result.map_err(|error| unknown_policy(&error).into()),
    }
}

/// Reports an unknown bundled task set.
pub(crate) fn no_demo(name: &str) -> Failure {
    let demos = layland_config::demos().iter().map(|demo| demo.name);
    no_such("bundled task set", name, nearest(name, demos), "demo:", "`layland demos` lists them")
}

/// Reports an unknown packaged experiment.
#[cfg(feature = "lab")]
pub(crate) fn no_experiment(name: &str) -> Failure {
    let all = layland_lab::packaged::ALL.iter().map(|packaged| packaged.name);
    let list = "`layland lab list` lists them; a file ends in .toml";
    no_such("packaged experiment", name, nearest(name, all), "", list)
}

/// Reports an unknown name, always in the same words and with the same exit code.
fn no_such(what: &str, name: &str, near: Option<&str>, prefix: &str, list: &str) -> Failure {
    let near = near.map(|near| format!(": did you mean `{prefix}{near}`?")).unwrap_or_default();
    Failure::usage(format!("there is no {what} `{name}`{near}")).help(list)
}
