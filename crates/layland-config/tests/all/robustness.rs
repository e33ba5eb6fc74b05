//! Arbitrary and broken texts: every reader returns a system or a report, and every span lies
//! within the text. The seeds are fixed, so failures are reproducible.

use layland_config::{
    Format, Host, Report, RtAppPolicy, Unit, demos, parse_inline, read, to_csv, to_line, to_rt_app,
    to_schedcat, to_simso, to_toml,
};
use proptest::prelude::*;

/// Checks a report against its text.
fn check(report: &Report) {
    let text = &*report.text;
    for problem in &report.problems {
        let spans = problem.related.iter().map(|(span, _)| span).chain(&problem.span);
        for span in spans {
            assert!(
                text.get(span.clone()).is_some(),
                "{span:?} of {} bytes: {problem}",
                text.len()
            );
        }
        if let (Some(span), Some(position)) = (&problem.span, problem.position) {
            assert_eq!(position.line, text[..span.start].matches('\n').count() + 1);
        }
        assert!(!problem.message.is_empty() && problem.code.starts_with("layland::"));
        assert!(problem.help.as_ref().is_some_and(|help| !help.is_empty()), "{problem}");
    }
    assert!(!report.plain().is_empty() || report.problems.is_empty());
    report.graphical(80, false, true);
}

/// Reads a text in every format.
fn read_all(bytes: &[u8]) {
    let unit = bytes.len().is_multiple_of(2).then_some(Unit::Us);
    let host = Host { cpus: Some(4), unit, ..Host::default() };
    if let Err(report) = Format::detect("<stdin>", bytes, &host) {
        check(&report);
    }
    for format in Format::ALL {
        match read("x", bytes, format, &host) {
            Ok(loaded) => {
                check(&loaded.warnings);
                assert_eq!(loaded.system.validate(), []);
                let again = to_toml(&loaded.system);
                let again = read("again", again.as_bytes(), Format::Toml, &Host::default());
                assert_eq!(again.map(|again| again.system), Ok(loaded.system));
            }
            Err(report) => check(&report),
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Err(report) = parse_inline(text)
    {
        check(&report);
    }
}

/// A small generator of pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Valid texts of every format.
fn valid() -> Vec<String> {
    let mut texts: Vec<String> = demos().iter().map(|demo| demo.text.to_owned()).collect();
    for demo in demos() {
        let loaded = crate::common::toml(demo.text).unwrap();
        texts.push(to_csv(&loaded.system).0);
        texts.push(to_rt_app(&loaded.system, RtAppPolicy::OfTasks).0);
        texts.push(to_simso(&loaded.system).0);
        texts.push(to_schedcat(&loaded.system).0);
    }
    let steps = "layland = 1\n[platform]\ncpus = 2\n[[resource]]\nname = \"bus\"\nhome = 1\n[[task]]\nname = \"a\"\n\
                 period = \"5ms\"\nsteps = [\"run 1ms\", \"lock bus\", \"run 2us\", \"unlock bus\", \"suspend 3us\"]\n\
                 [[task]]\nname = \"b\"\nperiod = \"7ms\"\nsteps = [\"lock bus\", \"run 1ms\", \"unlock bus\"]\n";
    let system = crate::common::toml(steps).unwrap().system;
    texts.push(steps.to_owned());
    texts.push(to_line(&system));
    texts.push(to_csv(&system).0);
    texts.push(to_rt_app(&system, RtAppPolicy::OfTasks).0);
    texts.push(to_schedcat(&system).0);
    texts.push(include_str!("data/phases.json").to_owned());
    texts.extend(
        [
            include_str!("files/columns-of-two-words.txt"),
            include_str!("files/markdown.md"),
            include_str!("files/table.tex"),
            include_str!("files/taskset.json"),
            include_str!("files/by-name.json"),
            include_str!("files/columns.json"),
            include_str!("files/items.yaml"),
            include_str!("files/tasks.yml"),
            include_str!("files/words-in-brackets.txt"),
            include_str!("files/jobs.csv"),
            include_str!("files/graph.dot"),
        ]
        .map(str::to_owned),
    );
    texts.push("control=1ms/5ms/4ms@0-1".to_owned());
    texts
}

#[test]
fn mutated_texts() {
    const PIECES: &[&str] = &[
        "\"",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        "\n",
        "#",
        "0",
        "-1",
        "1e9",
        "99999999999999999999",
        "\"5ms\"",
        "ns",
        "s",
        "[[task]]\n",
        "[platform]\n",
        "count = 1000000\n",
        "µ",
        "\u{feff}",
        "\0",
        "\r",
        "\t",
        ";",
        "/*",
        "//",
        "\\u12",
        "'''",
        "\"\"\"",
        "all",
        "!",
        ":",
        ".",
        "true",
        "inf",
        "nan",
        "1979-05-27",
        "\"host\"",
        "wcet",
        "loop",
        "timer",
        "jobs = 0\n",
        "lock ",
        "unlock bus",
        "[[resource]]\n",
        "_",
    ];
    let texts = valid();
    let mut random = Random(7);
    for round in 0..3000 {
        let mut bytes = texts[round % texts.len()].clone().into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() + 1);
            let until = (at + random.below(12)).min(bytes.len());
            match random.below(5) {
                0 => drop(bytes.drain(at..until)),
                1 => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].bytes())),
                2 => drop(bytes.splice(at..until, PIECES[random.below(PIECES.len())].bytes())),
                3 => {
                    let copy = bytes[at..until].to_vec();
                    let to = random.below(bytes.len() + 1);
                    bytes.splice(to..to, copy);
                }
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = random.next() as u8;
                    }
                }
            }
        }
        read_all(&bytes);
    }
}

#[test]
fn truncated_texts() {
    for text in valid() {
        for end in (0..text.len()).step_by(23) {
            read_all(&text.as_bytes()[..end]);
        }
    }
}

#[test]
fn deep_nesting() {
    for open in ["[", "{", "{a=", "[[", "a.", "{\"a\":", "[{", "\"", "(", "/*", "a=[", "[a."] {
        // The largest depth would overflow the stack, however small the frames are.
        for depth in [70, 1000, 30_000] {
            let text = open.repeat(depth);
            for text in
                [text.clone(), format!("layland = 1\nx = {text}"), format!("{{\"tasks\":{text}")]
            {
                read_all(text.as_bytes());
            }
        }
    }
}

#[test]
fn deep_nesting_is_explained() {
    let text = format!("layland = 1\n[platform]\ncpus = {}1\n", "[".repeat(200));
    let report = read("set.toml", text.as_bytes(), Format::Toml, &Host::default()).unwrap_err();
    assert!(report.plain().contains("nested too deep"), "{}", report.plain());
}

#[test]
fn amplification_is_refused() {
    let head = "layland = 1\n[platform]\ncpus = 1\n";
    let many = "[[task]]\nname = \"t\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n";
    let list = format!("exec = {{ model = \"list\", values = [{}] }}\n", "\"1ms\",".repeat(1000));
    let suspends = "\"suspend 1ms\",";
    for text in [
        format!("{head}{many}count = 1000000000\n"),
        format!("{head}{many}count = 1000000\n{many}count = 1000000\n"),
        format!("{head}{many}{list}count = 1000000\n"),
        format!("{head}{many}steps = [{}\"run 1ms\"]\ncount = 100000\n", suspends.repeat(1000)),
        format!("{head}{many}steps = [{}\"run 1ms\"]\n", suspends.repeat(20_000)),
    ] {
        assert!(crate::common::toml(&text).is_err());
    }
    let text =
        "{ \"tasks\" : { \"a\" : { \"instance\" : 2000000000, \"run\" : 1, \"sleep\" : 1 } } }";
    assert!(crate::common::rt_app(text).is_err());
    // Loops are unrolled, and the limit of steps suffices for only a few of these threads.
    let section = "\"loop\" : 3000, \"lock\" : \"m\", \"run\" : 1, \"unlock\" : \"m\"";
    let thread =
        |at: usize| format!("\"t{at}\" : {{ \"phases\" : {{ \"p\" : {{ {section} }} }} }}");
    let threads: Vec<String> = (0..2000).map(thread).collect();
    let text = format!("{{ \"tasks\" : {{ {} }} }}", threads.join(", "));
    let system = crate::common::rt_app(&text).unwrap().system;
    let steps: usize = system.tasks.values().map(|task| task.steps().len()).sum();
    assert!((3_900_000..=4_000_000).contains(&steps), "{steps}");
}

#[test]
fn bytes_that_are_not_text() {
    for (bytes, at) in [(&b"layland = 1\n\xff"[..], 12), (b"\x7fELF\x80\x00", 4), (b"\xc3", 0)] {
        let report = read("x", bytes, Format::Toml, &Host::default()).unwrap_err();
        check(&report);
        assert_eq!(report.problems.len(), 1);
        assert!(report.problems[0].message.contains(&format!("byte {at}")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }
    #[test]
    fn arbitrary_texts(text in "\\PC{0,200}") {
        read_all(text.as_bytes());
    }
    #[test]
    fn texts_of_signs(text in "[\\[\\]{}=\",.#\\n a0-9msu:/*'_-]{0,120}") {
        read_all(text.as_bytes());
    }
}
