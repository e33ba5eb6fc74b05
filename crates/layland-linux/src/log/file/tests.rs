//! Tests that documented, written and read logs agree.

mod every;

use super::*;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn file(log: Log) -> LogFile {
    let set = "layland = 1\n\n[[task]]\nname = \"a\"\nperiod = \"10ms\"\nwcet = \"6ms\"\n";
    LogFile { policy: "dl-sp:limit=1/2".to_owned(), seed: u64::MAX, set: set.to_owned(), log }
}

fn written(file: &LogFile) -> String {
    let mut bytes = Vec::new();
    file.write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Returns numbers that are the same in each run.
fn numbers() -> impl FnMut() -> u64 {
    let mut number = 37;
    move || {
        number = number * 5 % 997;
        number
    }
}

/// Returns a log with three entries of each kind.
fn of_every_kind() -> LogFile {
    file(every::log(numbers(), 3))
}

/// Returns the lines of the module's header.
fn documentation() -> impl Iterator<Item = &'static str> {
    include_str!("../file.rs").lines().filter_map(|line| line.strip_prefix("//! "))
}

/// Returns the names in a cell of a table.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_kind_is_documented_and_written_with_its_members() {
    let mut documented = BTreeMap::new();
    for row in documentation().filter(|line| line.starts_with("| ") && line.contains("| `")) {
        let cells: Vec<_> = row.split(" | ").collect();
        documented.extend(names(cells[1]).into_iter().map(|kind| (kind, names(cells[2]))));
    }
    let mut found: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for line in written(&of_every_kind()).lines().skip(1) {
        let Value::Object(mut members) = serde_json::from_str(line).unwrap() else {
            panic!("{line}")
        };
        members.remove("at");
        let Some(Value::String(kind)) = members.remove("what") else { panic!("{line}") };
        if kind == "note" {
            // The other members are details, by which the kind of note describes itself.
            members.retain(|name, _| name == "kind");
        }
        found.entry(kind).or_default().extend(members.keys().cloned());
    }
    assert_eq!(found, documented);
    // The list of the error message has every kind, including new ones.
    let unknown = read_line::<Record>(2, r#"{"at":0,"what":"?"}"#).unwrap_err().message;
    let known = names(unknown.split_once("expected").unwrap().1);
    assert_eq!(known, documented.into_keys().collect());
}

#[test]
fn the_example_of_the_documentation_is_what_is_written() {
    let from = documentation().skip_while(|line| *line != "```json").skip(1);
    let text: String =
        from.take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
    assert_eq!(written(&LogFile::read(&text).unwrap()), text);
}

proptest! {
    #[test]
    fn any_log_reads_back(numbers in prop::collection::vec(any::<u64>(), 1..500), times in 0usize..4) {
        let mut numbers = numbers.iter().copied().cycle();
        let file = file(every::log(|| numbers.next().unwrap(), times));
        let text = written(&file);
        prop_assert_eq!(text.lines().count(), 1 + file.log.records.len());
        prop_assert_eq!(LogFile::read(&text), Ok(file));
    }
}

#[test]
fn a_log_that_is_cut_off_says_where() {
    let text = written(&of_every_kind());
    let whole = LogFile::read(&text).unwrap().log.records;
    for length in 0..text.len() {
        let cut = &text[..length];
        let line = cut.lines().count();
        match LogFile::read(cut) {
            // The string is cut off between two lines.
            Ok(read) => assert_eq!(read.log.records, whole[..line - 1]),
            Err(error) if line > 1 => assert_eq!(error, wrong(line, "the line is cut off")),
            Err(error) => assert!(error.line == 1 && error.message.contains("begins"), "{error}"),
        }
    }
}

#[test]
fn wrong_logs_are_refused_with_their_line() {
    let text = written(&of_every_kind());
    for (from, to, line, message) in [
        ("run log 2", "run log 3", 1, "`run log 3` is not understood: `run log 2` is"),
        (
            "{\"layland\":\"run log 2\"",
            "{\"layland\":\"0.1.0\"",
            1,
            "a log begins with `{\"layland\"",
        ),
        ("{\"layland\"", "layland = 1", 1, "a log begins with `{\"layland\""),
        ("\"seed\"", "\"seat\"", 1, "unknown field `seat`"),
        ("\"kind\":\"busy\"", "\"kind\":\"tired\"", 1, "unknown variant `tired`"),
        (
            "\"what\":\"online\"",
            "\"what\":\"on_line\"",
            2,
            "unknown variant `on_line`, expected one of",
        ),
        ("\"what\":\"online\"", "\"with\":\"online\"", 2, "missing field `what`"),
        ("\"what\":\"offline\",", "\"what\":\"offline\",\"how\":1,", 3, "unknown field `how`"),
        ("\"what\":\"offline\",\"cpu\":", "\"what\":\"offline\",\"cpu\":-", 3, "expected u32"),
        ("\"what\":\"offline\",\"cpu\":", "\"what\":\"offline\",\"cpu\":0.", 3, "expected u32"),
        ("\"what\":\"offline\",\"cpu\"", "\"what\":\"offline\",\"gpu\"", 3, "unknown field `gpu`"),
        ("\"speed\":\"", "\"speed\":\"-", 21, "a `speed` is a positive fraction"),
        ("\"kind\":\"moved\"", "\"kind\":\"danced\"", 22, "no note is called `danced`"),
        ("\"why\":\"", "\"how\":\"", 22, "a note of kind `moved` has a `why`"),
        ("\"reason\":0", "\"reason\":3", 27, "the first line has no refusal 3"),
        ("\n{", "\n\n{", 2, "the line is cut off"),
        ("\n{", "\nthen {", 2, "expected"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = LogFile::read(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.line == line && error.message.contains(message), "{message}: {error}");
        assert!(!error.message.contains("column"), "{error}");
    }
}
