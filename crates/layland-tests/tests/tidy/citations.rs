//! The entries that the sources cite, compared with the table of where each was checked.

use super::{assert_none, files_below, root};
use regex::Regex;
use std::collections::BTreeMap;

/// Returns the entries of the sources: key, and DOI if it has one.
fn entries() -> BTreeMap<String, Option<String>> {
    let entry = Regex::new(r#"(?s)bibtex: "@\w+\{(\w+),(.*?)\n\}""#).expect("a valid expression");
    let doi = Regex::new(r"doi\s*= \{([^}]+)\}").expect("a valid expression");
    let mut found = BTreeMap::new();
    for file in files_below("crates").iter().filter(|file| file.has_ending("rs")) {
        for entry in entry.captures_iter(&file.text) {
            let doi = doi.captures(&entry[2]).map(|doi| doi[1].to_owned());
            let former = found.insert(entry[1].to_owned(), doi);
            assert!(
                former.is_none(),
                "{} is defined twice, the second time in {}",
                &entry[1],
                file.path
            );
        }
    }
    found
}

/// Returns the rows of the table: key, finding, DOI, and place.
fn rows() -> Vec<[String; 4]> {
    let document = root().join("docs/citations.md");
    let text = std::fs::read_to_string(document).expect("the table is there");
    let table = text.lines().skip_while(|line| !line.starts_with("| entry |")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<_> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        <[String; 4]>::try_from(cells).unwrap_or_else(|cells| panic!("not four cells: {cells:?}"))
    });
    rows.collect()
}

#[test]
fn the_rows_are_counted() {
    let found: Vec<String> = rows().into_iter().map(|[_, found, ..]| found).collect();
    let count = |what| found.iter().filter(|found| *found == what).count();
    let (all, none) = (count("all"), count("not found"));
    let (entries, some) = (found.len(), found.len() - all - none);
    let counted = format!(
        "Of {entries} entries, {all} were found with all fields, {some} with some, and {none} were not found."
    );
    let text =
        std::fs::read_to_string(root().join("docs/citations.md")).expect("the table is there");
    let said = text.lines().find(|line| line.starts_with("Of ")).unwrap_or_default();
    assert_eq!(said, counted, "docs/citations.md counts its rows otherwise");
}

#[test]
fn every_citation_says_where_it_was_checked() {
    let mut entries = entries();
    assert!(entries.len() > 40, "only {} entries: the sources look different now", entries.len());
    let mut wrong = Vec::new();
    for [key, found, doi, place] in rows() {
        match entries.remove(&key) {
            None => wrong.push(format!("{key}: no source has it, or it has two rows")),
            Some(of_entry) if of_entry.as_deref().unwrap_or("-") != doi => {
                wrong.push(format!("{key}: the row has the DOI {doi}, the source {of_entry:?}"));
            }
            Some(_) if found.is_empty() || place.is_empty() => {
                wrong.push(format!("{key}: the row does not say what was found, and where"));
            }
            Some(_) => {}
        }
    }
    wrong.extend(entries.keys().map(|key| format!("{key}: docs/citations.md has no row")));
    assert_none(&wrong, "citations that nobody checked");
}
