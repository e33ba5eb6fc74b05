//! The answer as one line of JSON, for streams of sets. The output equals that of serde for a
//! [`Document`], byte for byte.
//!
//! If all policies are analysed, most of a line consists of the answers of tests, which many
//! policies share, and of the bounds of tasks, one for each task and policy. The text of an answer
//! is written once and then copied. Bounds of the same form are written without a serializer. Serde
//! writes everything else.

use super::{Document, OfTask, Policy, Test};
use layland_guarantee::{Bound, Stated};
use layland_model::Task;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The part of a line that has been written.
#[derive(Default)]
pub(super) struct Line {
    text: Vec<u8>,
    /// The positions of the texts of tests, by the name of the test and the address of its answer.
    said: BTreeMap<(*const u8, *const Stated), Range<usize>>,
}

impl Line {
    /// Returns the whole line, with its newline.
    pub(super) fn of(document: &Document<'_>) -> Vec<u8> {
        let mut line = Line::default();
        line.document(document);
        line.text.push(b'\n');
        line.text
    }

    fn document(&mut self, document: &Document<'_>) {
        let Document {
            layland,
            command,
            set,
            run_margin,
            policies,
            any_policy,
            not_applicable,
            affinities,
            exit,
        } = document;
        self.text.push(b'{');
        self.entry("layland", layland);
        self.entry("command", command);
        self.entry("set", set);
        if run_margin.is_some() {
            self.entry("run_margin", run_margin);
        }
        self.list("policies", policies, Line::policy);
        self.list("any_policy", any_policy, Line::test);
        self.entry("not_applicable", not_applicable);
        self.entry("affinities", affinities);
        self.entry("exit", exit);
        self.text.push(b'}');
    }

    fn policy(&mut self, policy: &Policy<'_>) {
        let Policy {
            policy,
            verdict,
            decided_by,
            verdict_without_affinities,
            reasons,
            tightest,
            assignment,
            refused,
            reserved,
            margin,
            sensitivity,
            bounds,
            overheads,
            tests,
            witness,
            chains,
            numbers,
        } = policy;
        self.text.push(b'{');
        self.entry("policy", policy);
        self.entry("verdict", verdict);
        self.entry("decided_by", decided_by);
        self.entry("verdict_without_affinities", verdict_without_affinities);
        self.entry("reasons", reasons);
        self.entry("tightest", tightest);
        self.entry("assignment", assignment);
        self.entry("refused", refused);
        if reserved.is_some() {
            self.entry("reserved", reserved);
        }
        self.entry("margin", margin);
        if sensitivity.is_some() {
            self.entry("sensitivity", sensitivity);
        }
        self.list("bounds", bounds, Line::bound);
        self.entry("overheads", overheads);
        self.list("tests", tests, Line::test);
        self.entry("witness", witness);
        if !chains.is_empty() {
            self.entry("chains", chains);
        }
        if numbers.is_some() {
            self.entry("numbers", numbers);
        }
        self.text.push(b'}');
    }

    fn test(&mut self, test: &Test<'_>) {
        let key = (test.said.test.name.as_ptr(), Arc::as_ptr(&test.said.finding));
        if let Some(known) = self.said.get(&key) {
            self.text.extend_from_within(known.clone());
            return;
        }
        let start = self.text.len();
        self.value(test);
        self.said.insert(key, start..self.text.len());
    }

    fn bound(&mut self, of: &OfTask<'_>) {
        let task: &Task = &of.system.tasks[of.task];
        match of.bound {
            Bound::Response { within, by, kind, per_level }
                if per_level.is_empty() && !of.bound.is_useless(task) =>
            {
                self.raw("{\"kind\":\"response\",\"ns\":");
                self.value(&within.ns());
                // Our own names contain nothing to escape.
                self.raw(",\"by\":\"");
                self.raw(by);
                self.raw("\",\"worth\":\"");
                self.raw(kind.name());
                self.raw("\",\"task\":");
                self.string(&task.name);
                self.text.push(b'}');
            }
            Bound::Response { .. } | Bound::Tardiness { .. } | Bound::Unknown => self.value(of),
        }
    }

    fn list<T>(&mut self, key: &str, items: &[T], each: impl Fn(&mut Line, &T)) {
        self.key(key);
        self.text.push(b'[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text.push(b',');
            }
            each(self, item);
        }
        self.text.push(b']');
    }

    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) {
        self.key(key);
        self.value(value);
    }

    /// Writes a key of ours, which contains nothing to escape.
    fn key(&mut self, key: &str) {
        if self.text.last() != Some(&b'{') {
            self.text.push(b',');
        }
        self.text.push(b'"');
        self.raw(key);
        self.raw("\":");
    }

    fn string(&mut self, text: &str) {
        let is_plain = |byte: u8| !matches!(byte, b'"' | b'\\' | ..=0x1f);
        // The loop inspects all bytes, so that it has no branch.
        if text.bytes().fold(true, |all, byte| all & is_plain(byte)) {
            self.text.push(b'"');
            self.raw(text);
            self.text.push(b'"');
        } else {
            self.value(text)
        }
    }

    fn raw(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) {
        // Serialization cannot fail: all keys are names, and a `Vec` grows as needed.
        let _ = serde_json::to_writer(&mut self.text, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CheckQuestion, Set};
    use layland_analysis::Verdict;
    use layland_config::{Format, Host};
    use layland_engine::reserves::Margin;
    use layland_guarantee::{Effort, Findings, More};
    use layland_model::{Duration, Rate, Service, System};
    use layland_policy::Registry;

    /// Asserts that a line equals the output of serde for the same document. Returns how often the
    /// text of a test was written and copied.
    fn agrees(set: Set, question: &CheckQuestion) -> (usize, usize) {
        let checked = question.ask(&Registry::standard(), set).expect("the policies exist");
        assert!(checked.policies.iter().any(|found| found.verdict != Verdict::Unknown));
        let document = checked.document();
        let mut line = Line::default();
        line.document(&document);
        let expected = serde_json::to_string(&document).unwrap();
        assert_eq!(String::from_utf8(line.text).unwrap(), expected);
        let tests = document.policies.iter().map(|policy| policy.tests.len()).sum::<usize>();
        (line.said.len(), tests)
    }

    /// A question without searches and factors.
    fn quick() -> CheckQuestion {
        let mut question = CheckQuestion::default();
        question.options.effort = Effort::Jobs(0);
        question.options.wanted.more = More::Nothing;
        question
    }

    #[test]
    fn a_line_is_what_serde_writes() {
        let mut every = quick();
        every.every_policy = true;
        every.options.wanted.findings = Findings::All;
        let mut with_margin = quick();
        with_margin.margin = Some(Margin::Fraction(Rate::new(1, 10)));
        with_margin.options.wanted.more = More::Margin;
        let with_limits = quick().with_limits(true);
        let questions = [quick(), every, with_margin, with_limits];
        let (mut written, mut all) = (0, 0);
        let demos =
            ["dhall", "robot", "constrained", "mixed", "crowded-socket", "virtual-clusters"];
        for demo in demos {
            for question in &questions {
                let text = layland_config::demo(demo).expect("it is bundled").text.as_bytes();
                let set = Set::read(demo, text, Format::Toml, &Host::default());
                let (some, of) = agrees(set.expect("it is valid").0, question);
                (written, all) = (written + some, all + of);
            }
        }
        assert!(written > 300 && all > written, "{written} of {all}");
    }

    #[test]
    fn names_are_escaped() {
        let policies = ["g-edf", "p-rm"].map(str::to_owned).to_vec();
        let question = CheckQuestion { policies, ..quick() };
        for name in ["plain", "é", "\"", "\\", "\u{1}\n", "\u{7f}"] {
            let task = |name: &str| Task::implicit(name, Service::from_ms(1), Duration::from_ms(4));
            let system = System::new(2, vec![task(name), task("b")]);
            agrees(Set::in_memory(name, system), &question);
        }
    }
}
