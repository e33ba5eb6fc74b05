//! A name says which type it is. If many types have it, a search for one finds all, and each use
//! has to be looked up.

use super::{assert_none, files_below};
use regex::Regex;
use std::collections::BTreeMap;

/// The maximum number of types with one name.
const MOST: usize = 4;

/// Names that more types have, and how many. These types are public, or answers and parts that
/// users read under these names; the numbers only fall.
const MORE: [(&str, usize); 4] = [("Answer", 11), ("Part", 6), ("Kept", 5), ("Reserved", 5)];

/// Matches a declaration of a type. An indented `type` is an associated one, whose trait names it.
fn declaration() -> Regex {
    let visible = r"(?:pub(?:\([^)]*\))? )?";
    let declaration =
        format!(r"(?m)^(?: *{visible}(?:struct|enum|trait)|{visible}type) ([A-Z]\w*)");
    Regex::new(&declaration).expect("a valid expression")
}

/// Returns the names of the types that a file declares outside its tests.
fn declared<'t>(text: &'t str, declaration: &Regex) -> Vec<&'t str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    declaration.captures_iter(code).map(|found| found.extract::<1>().1[0]).collect()
}

#[test]
fn few_types_have_one_name() {
    let files = files_below(".");
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("/tests.rs");
    let declaration = declaration();
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.has_ending("rs") && !is_test(&file.path)) {
        for name in declared(&file.text, &declaration) {
            places.entry(name).or_default().push(&file.path);
        }
    }
    assert!(places.len() > 1_000, "declarations are not recognized any more");
    let allowed: BTreeMap<&str, usize> = MORE.into_iter().collect();
    let mut found = Vec::new();
    for (name, places) in &places {
        let most = allowed.get(name).copied().unwrap_or(MOST);
        if places.len() > most {
            found.push(format!("{} types `{name}`: {}", places.len(), places.join(", ")));
        }
    }
    assert_none(&found, &format!("names that more than {MOST} types have"));
    let count = |name: &str| places.get(name).map_or(0, Vec::len);
    let few = MORE.iter().filter(|(name, _)| count(name) <= MOST);
    let few: Vec<String> = few.map(|(name, _)| (*name).to_owned()).collect();
    assert_none(&few, &format!("exceptions that at most {MOST} types need"));
}

#[test]
fn declarations_are_recognized() {
    let text = "pub struct A;\nenum B {}\n    pub(super) struct C<'a>(&'a ());\npub(crate) type D = u8;\n\
                impl T for A {\n    type E = u8;\n}\n#[cfg(test)]\nmod tests {\n    struct F;\n}\n";
    assert_eq!(declared(text, &declaration()), ["A", "B", "C", "D"]);
}
