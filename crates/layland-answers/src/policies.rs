//! The policies of a registry, described for front ends.

use layland_policy::{PolicyInfo, Text};
use serde::Serialize;

/// The document that `layland policies --json` prints.
#[derive(Serialize)]
pub struct Policies<'a> {
    /// The policies, in the order in which lists show them.
    pub policies: Vec<Policy<'a>>,
}

/// A policy, as users know it.
#[derive(Serialize)]
pub struct Policy<'a> {
    name: &'a str,
    title: &'a str,
    summary: &'a str,
    refuses: &'a [Text],
    options: Vec<PolicyOption<'a>>,
    ties: &'a str,
    citations: Vec<Source>,
}

#[derive(Serialize)]
struct PolicyOption<'a> {
    name: &'a str,
    help: &'a str,
}

#[derive(Serialize)]
struct Source {
    key: &'static str,
    text: &'static str,
    bibtex: &'static str,
}

impl<'a> Policies<'a> {
    /// Describes these policies, as in `Policies::of(registry.iter())`.
    pub fn of(chosen: impl IntoIterator<Item = &'a PolicyInfo>) -> Policies<'a> {
        Policies { policies: chosen.into_iter().map(Policy::of).collect() }
    }

    /// Returns the document as indented JSON.
    pub fn json(&self) -> String {
        // Serialization cannot fail: all keys are names.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl<'a> Policy<'a> {
    fn of(info: &'a PolicyInfo) -> Policy<'a> {
        let options = info.options.iter();
        let citations = info.citations.iter();
        Policy {
            name: &info.name,
            title: &info.title,
            summary: &info.summary,
            refuses: &info.refuses,
            options: options
                .map(|option| PolicyOption { name: &option.name, help: &option.help })
                .collect(),
            ties: &info.ties,
            citations: citations
                .map(|citation| Source {
                    key: citation.key,
                    text: citation.text,
                    bibtex: citation.bibtex,
                })
                .collect(),
        }
    }
}
