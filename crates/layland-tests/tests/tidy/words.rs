//! The words of comments and documents. Each pattern here is one that an editor would strike out: a clause that
//! stands for a noun, code that acts as a person, and a few turns of phrase that English does not have.
//!
//! A quotation, a question, and whatever stands between backticks is free.

use super::{File, assert_none, files_below};
use regex::Regex;
use std::sync::LazyLock;

/// A turn of phrase, and what to write in its place.
struct Pattern {
    expression: Regex,
    advice: &'static str,
}

impl Pattern {
    fn new(expression: &str, advice: &'static str) -> Self {
        Self { expression: Regex::new(expression).expect("a valid expression"), advice }
    }
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    vec![
        Pattern::new(
            r"^(What|Whatever|Whether|Who|Whoever|Whom|Whose|How|Why)\b[^?]*$",
            "begin with a noun or a verb (`Returns true if ..`, `The CPUs that ..`)",
        ),
        Pattern::new(
            r"(?i)\b(nobody|somebody|everybody|anybody|whoever|whomever)\b",
            "name the thing or the person (`no task`, `the caller`, `users who ..`)",
        ),
        Pattern::new(
            r"(?i)\b(tells?|told|hears?|heard)\b",
            "code reports, receives, passes, notifies",
        ),
        Pattern::new(
            r"^So (many|much|often|long|few|little)\b",
            "write `The number of ..`, `At most ..`",
        ),
        Pattern::new(
            r"^The same([.,;:]|$| (as|for|in|with|of|by|at|on|if|when|where|from|to)\b)",
            "say the same what",
        ),
        Pattern::new(
            r"^That (an?|the|it|they|he|no|not|each|every|one|two|there|its|both|all|nothing|none|only)\b",
            "do not begin with a clause that is the subject",
        ),
    ]
});

/// `is no server`: English says `is not a server`, but `there is no server` and `is no longer`.
static IS_NO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(\w*) ?\b(is|are|was|were|be) no (\w+)").expect("a valid expression")
});

/// The advice for a sentence, if it has one of the turns.
fn advice(sentence: &str) -> Option<&'static str> {
    let comparatives =
        ["longer", "more", "less", "fewer", "later", "earlier", "lower", "higher", "one"];
    let has_is_no = IS_NO.captures_iter(sentence).any(|found| {
        let is_of_there = ["there", "There"].contains(&&found[1]) && !found[1].is_empty();
        !is_of_there && !comparatives.contains(&&found[3]) && !found[3].ends_with("er")
    });
    let mut patterns = PATTERNS.iter();
    let found = patterns.find(|pattern| pattern.expression.is_match(sentence));
    found.map(|pattern| pattern.advice).or(has_is_no.then_some("write `is not a ..`"))
}

/// The sentences of a text, with the lines in which they begin.
fn sentences(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut paragraph: Vec<(usize, String)> = Vec::new();
    let is_code = file.has_ending("rs");
    let mut is_example = false;
    for (at, line) in file.text.lines().enumerate() {
        let said = if is_code { comment_of(line) } else { Some(line.trim_start()) };
        let Some(said) = said else {
            split(&mut paragraph, &mut found);
            continue;
        };
        let is_fence = said.starts_with("```");
        is_example ^= is_fence;
        // A list, a table, a heading and a quotation end the paragraph before them.
        let marks = ["* ", "- ", "| ", "|", "#", "> "];
        let mark = marks.iter().find(|mark| said.starts_with(**mark));
        if is_fence || is_example || said.is_empty() || mark.is_some() {
            split(&mut paragraph, &mut found);
        }
        let is_shown =
            is_fence || is_example || mark.is_some_and(|mark| mark.starts_with(['|', '>', '#']));
        if !is_shown {
            paragraph.push((at + 1, said.trim_start_matches(['*', '-', ' ']).to_owned()));
        }
    }
    split(&mut paragraph, &mut found);
    found
}

/// The text of a comment that has its line for itself.
fn comment_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let comment = ["//!", "///", "//"].iter().find_map(|mark| line.strip_prefix(mark));
    comment.map(str::trim_start)
}

/// Code, and words of others.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("`[^`]*`|\"[^\"]*\"").expect("a valid expression"));
static END: LazyLock<Regex> = LazyLock::new(|| Regex::new("[.:!;] ").expect("a valid expression"));

/// Ends a paragraph: its sentences, without code and quotations.
fn split(paragraph: &mut Vec<(usize, String)>, found: &mut Vec<(usize, String)>) {
    let mut text = String::new();
    let mut starts = Vec::new();
    for (line, said) in paragraph.drain(..) {
        if !text.is_empty() {
            text.push(' ');
        }
        starts.push((text.len(), line));
        text.push_str(&said);
    }
    // Quotations keep their length, so that a sentence can be found again.
    let text = QUOTED.replace_all(&text, |found: &regex::Captures<'_>| {
        let inner = found[0].len().saturating_sub(2);
        format!("`{}`", "_".repeat(inner))
    });
    let mut begin = 0;
    let mut ends: Vec<usize> = END.find_iter(&text).map(|at| at.end()).collect();
    ends.push(text.len());
    for end in ends {
        let sentence = text[begin..end].trim();
        let line =
            starts.iter().rev().find(|(start, _)| *start <= begin).map_or(0, |start| start.1);
        if !sentence.is_empty() {
            found.push((line, sentence.to_owned()));
        }
        begin = end;
    }
}

/// Returns true if the rule holds for a file already.
fn is_read(path: &str) -> bool {
    std::env::var("WORDS_OF").map_or(true, |of| path.starts_with(&of))
}

#[test]
fn comments_and_documents_have_no_turn_that_an_editor_strikes_out() {
    let mut found = Vec::new();
    for file in files_below(".") {
        if !["rs", "md"].iter().any(|ending| file.has_ending(ending)) || !is_read(&file.path) {
            continue;
        }
        for (line, sentence) in sentences(&file) {
            if let Some(advice) = advice(&sentence) {
                found.push(format!("{}:{line}: {sentence}: {advice}", file.path));
            }
        }
    }
    assert_none(&found, "words");
}
