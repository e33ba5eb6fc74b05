//! Entries that have a list of their own: policies, bundled sets, experiments.

use super::Entry;
use crate::ui::exit::Failure;
use layland_model::nearest;
use layland_policy::{PolicyInfo, Registry};

/// The last lines of the list.
pub(super) const ALSO: &str = "also explained: policies (`layland policies` lists them), bundled task sets \
                               (`layland demos`) and packaged experiments (`layland lab list`)";

pub(super) fn entries(registry: &Registry) -> Vec<Entry> {
    let mut entries: Vec<Entry> = registry.iter().map(policy).collect();
    entries.extend(layland_config::demos().iter().map(|demo| Entry {
        code: demo.name.to_owned(),
        sort: "bundled task set",
        title: demo.title.to_owned(),
        text: vec![format!(
            "`layland demos {0}` prints it; commands take it as demo:{0}.",
            demo.name
        )],
        citations: Vec::new(),
    }));
    #[cfg(feature = "lab")]
    entries.extend(layland_lab::packaged::ALL.iter().map(|packaged| {
        let experiment = packaged.experiment();
        let figures: Vec<&str> =
            experiment.figures.iter().map(|figure| figure.name.as_str()).collect();
        Entry {
            code: packaged.name.to_owned(),
            sort: "experiment",
            title: experiment.title,
            text: vec![
                experiment.source,
                format!("Figures: {}.", figures.join(", ")),
                format!("`layland lab run {}` runs it.", packaged.name),
            ],
            citations: Vec::new(),
        }
    }));
    entries
}

fn policy(info: &PolicyInfo) -> Entry {
    let mut text = vec![format!("{}.", info.summary)];
    if !info.refuses.is_empty() {
        text.push(format!("Refuses {}.", info.refuses.join("; ")));
    }
    let options: Vec<&str> = info.options.iter().map(|option| option.name.as_ref()).collect();
    if !options.is_empty() {
        text.push(format!(
            "Options: {}; `layland policies {}` explains them.",
            options.join(", "),
            info.name
        ));
    }
    Entry {
        code: info.name.to_string(),
        sort: "policy",
        title: info.title.to_string(),
        text,
        citations: info.citations.clone(),
    }
}

/// Reports an unknown name. If it is another notation for a policy or a family of policies, the
/// message says so.
pub(super) fn unknown<'a>(
    registry: &Registry,
    code: &str,
    entries: impl Iterator<Item = &'a Entry>,
) -> Failure {
    if let Err(error) = registry.named(code)
        && !matches!(error, layland_policy::BuildError::UnknownPolicy { .. })
    {
        return layland_answers::unknown_policy(&error).into();
    }
    let near = nearest(code, entries.map(|entry| entry.code.as_str()));
    let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
    Failure::usage(format!("there is nothing called `{code}` to explain{near}"))
        .help("`layland explain` lists what there is; `layland policies` lists the policies")
}
