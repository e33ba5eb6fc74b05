//! The policies of a registry, described for front ends.

use layland_policy::{PolicyInfo, Text};
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `layland policies --json`.
#[derive(JsonSchema, Serialize)]
pub struct Policies<'a> {
    /// Each policy, in the order of lists.
    pub policies: Vec<Policy<'a>>,
}

/// A policy, as users know it.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub struct Policy<'a> {
    /// Its name.
    name: &'a str,
    /// In a few words.
    title: &'a str,
    /// In a sentence.
    summary: &'a str,
    /// The sets that it refuses.
    refuses: &'a [Text],
    /// Its options.
    options: Vec<PolicyOption<'a>>,
    /// The rule between equal jobs; empty if it does not state one.
    ties: &'a str,
    /// Its sources.
    citations: Vec<Source>,
}

/// An option.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct PolicyOption<'a> {
    /// Its name.
    name: &'a str,
    /// Its effect.
    help: &'a str,
}

/// A source.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Source {
    /// Its BibTeX key.
    key: &'static str,
    /// As text.
    text: &'static str,
    /// As BibTeX.
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
