//! The table of the claims of the five papers, compared with the experiments that repeat them.

use super::{assert_none, root};
use regex::Regex;
use std::collections::BTreeSet;

/// The experiments of each paper.
const PAPERS: [&[&str]; 5] = [
    &["tang2021"],
    &["stevanato2021", "stevanato2021-kernel"],
    &["bonifaci2016"],
    &["compagnin2015"],
    &["huang2014"],
];

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Readers of the table would miss a claim that is tested but has no row.
#[test]
fn every_claim_of_a_paper_has_a_row() {
    let claim = Regex::new(r#"\[\[claim\]\]\nname = "([^"]+)""#).expect("a valid expression");
    let named = Regex::new(r"`([a-z0-9-]+)`").expect("a valid expression");
    let document = read("docs/papers.md");
    let sections: Vec<&str> = document.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), PAPERS.len(), "a section for each paper");
    let mut wrong = Vec::new();
    for (section, experiments) in sections.iter().zip(PAPERS) {
        let paper = experiments[0];
        let texts = experiments
            .iter()
            .map(|name| read(&format!("crates/layland-lab/experiments/{name}.toml")));
        let experiment = texts.collect::<Vec<String>>().join("\n");
        let claims: BTreeSet<&str> =
            claim.captures_iter(&experiment).map(|found| found.extract::<1>().1[0]).collect();
        assert!(!claims.is_empty(), "{paper} claims nothing");
        let is_lab = |line: &&str| line.starts_with('|') && line.contains("| lab");
        let rows = section.lines().filter(is_lab).filter_map(|line| line.split('|').nth(2));
        let told: BTreeSet<&str> = rows
            .flat_map(|cell| named.captures_iter(cell).map(|found| found.extract::<1>().1[0]))
            .collect();
        wrong.extend(claims.difference(&told).map(|claim| format!("{paper}: {claim} has no row")));
        wrong.extend(told.difference(&claims).filter(|name| !is_other(name)).map(|name| {
            format!("{paper}: {name} has a row, and the experiment does not claim it")
        }));
    }
    assert_none(&wrong, "rows of docs/papers.md");
}

/// Returns true for names beside claims: a flag, and programs of the test kit.
fn is_other(name: &str) -> bool {
    ["--real-threads", "bounds", "optimal"].contains(&name)
}
