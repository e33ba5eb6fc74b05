//! Foreign strings cannot control a terminal, regardless of their source and of the output.

use crate::process::{folder, layland};
use std::path::Path;

/// An escape sequence that is not one of our styles, one that writes the clipboard, a bidi
/// override, a zero-width character, and the beginning of a sequence on an eight-bit terminal.
const EVIL: &str = "x\u{1b}[95;9mred\u{1b}]52;c;aGk=\u{7}\u{202e}\u{200b}\u{9b}31m";
/// The characters of it that are allowed in the name of a task.
const NAME: &str = "x\u{202e}\u{200b}\u{2066}y";

/// Returns the sources of the string: the name and the contents of a file, and the command that
/// reads it.
fn inputs() -> Vec<(&'static str, String, Vec<&'static str>)> {
    let set = |rest: &str| format!("layland = 1\n[platform]\ncpus = 1\n{rest}");
    let named = |name: &str| {
        set(&format!("[[task]]\nname = \"{name}\"\nperiod = \"10ms\"\nwcet = \"2ms\"\n"))
    };
    let trace: String = (0..40)
        .flat_map(|index| {
            let (at, end) = (f64::from(index) * 0.01 + 1.0, f64::from(index) * 0.01 + 1.002);
            let idle = "prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R";
            let to = format!("next_comm={EVIL} next_pid=77 next_prio=49").replace('\n', "");
            let from = format!("prev_comm={EVIL} prev_pid=77 prev_prio=49 prev_state=S");
            [
                format!(
                    "          <idle>-0     [000] d..2. {at:.6}: sched_switch: {idle} ==> {to}\n"
                ),
                format!(
                    "          {EVIL}-77    [000] d..2. {end:.6}: sched_switch: {from} ==> \
                     next_comm=swapper/0 next_pid=0 next_prio=120\n"
                ),
            ]
        })
        .collect();
    let json = |name: &str| {
        let name: String = name.chars().map(|char| format!("\\u{:04x}", u32::from(char))).collect();
        format!(
            "{{\"version\": 1, \"tasks\": [\"{name}\"], \"cpus\": 1, \"levels\": [], \"jobs\": [], \
             \"segments\": [], \"marks\": [], \"answers\": [], \"over\": 10, \"interrupted\": false}}"
        )
    };
    vec![
        ("comment.toml", set(&format!("# {EVIL}\n[[task]]\nname = 1 # {EVIL}\n")), vec!["check"]),
        ("key.toml", set(&format!("\"{EVIL}\" = 1\n").replace('\u{1b}', "\\u001b")), vec!["check"]),
        ("value.toml", named("a").replace("2ms", "2 \u{202e}sm"), vec!["check"]),
        (
            "refused.toml",
            named(&EVIL.replace('\u{1b}', "\\u001b").replace('\u{7}', "")),
            vec!["check"],
        ),
        ("named.toml", named(NAME), vec!["check", "--bounds"]),
        ("missed.toml", named(NAME).replace("2ms", "11ms"), vec!["sim"]),
        ("table.csv", format!("name,period,wcet\n{EVIL},5ms,{EVIL}\n"), vec!["check"]),
        ("lines.jsonl", format!("{{\"tasks\":[{{\"name\":\"{EVIL}\"}}]}}\n"), vec!["check"]),
        ("app.json", format!("{{\"tasks\":{{\"{NAME}\":{{\"{NAME}\":1}}}}}}"), vec!["check"]),
        ("simso.xml", format!("<simulation {EVIL}>"), vec!["check"]),
        ("kernel.txt", trace.clone(), vec!["trace", "infer"]),
        ("switches.txt", trace.clone(), vec!["trace", "stats"]),
        ("broken.txt", format!("{trace}{EVIL}\nno event {EVIL}\n"), vec!["trace", "check"]),
        ("trace.json", json(EVIL), vec!["trace", "stats"]),
        ("damaged.json", format!("{{\"{EVIL}\": 1}}"), vec!["trace", "stats"]),
    ]
}

/// Finds characters that would control a terminal. Our own styles are numbers of colours and
/// attributes that do not occur in [`EVIL`].
fn acts(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let sequence: String = rest[at..].chars().take(8).collect();
        let is_style = rest[at + 1..].strip_prefix('[').is_some_and(|numbers| {
            numbers
                .trim_start_matches(|char: char| matches!(char, '0'..='9' | ';'))
                .starts_with('m')
        });
        if !is_style || sequence.starts_with("\u{1b}[95") {
            return Some(format!("{sequence:?} in {text:?}"));
        }
        rest = &rest[at + 1..];
    }
    let bad = |char: &char| {
        let other = char.is_control() && !matches!(char, '\n' | '\u{1b}' | '\t');
        other
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().find(bad).map(|char| format!("{char:?} in {text:?}"))
}

fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = layland(&["--color", "always"])
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("it starts");
    assert_ne!(output.status.code(), Some(70), "{arguments:?}");
    String::from_utf8([output.stdout, output.stderr].concat()).expect("the output is UTF-8")
}

#[test]
fn nothing_of_others_acts_on_a_terminal() {
    let folder = folder("foreign");
    let mut quoted = 0;
    for (name, text, command) in inputs() {
        // The name of a file is as foreign as its contents.
        for name in [name.to_owned(), format!("{EVIL}{name}")] {
            std::fs::write(folder.join(&name), &text).expect("the folder takes files");
            let mut arguments = command.clone();
            arguments.push(&name);
            let said = said(&folder, &arguments);
            assert!(!said.is_empty(), "{name:?} says nothing");
            if let Some(acting) = acts(&said) {
                panic!("{arguments:?}: {acting}");
            }
            quoted += usize::from(said.contains("\\u{"));
        }
    }
    // Escaped characters show that the foreign strings were printed at all.
    assert!(quoted >= 20, "only {quoted} outputs quote what others wrote");
}

#[test]
fn nothing_of_a_command_line_acts_on_a_terminal() {
    let folder = folder("foreign-arguments");
    for arguments in [
        &["check", "demo:dhall", "--policy", EVIL][..],
        &["check", EVIL],
        &["sim", "demo:dhall", "--until", EVIL],
        &["explain", EVIL],
        &["demos", EVIL],
        &["check", "-t", EVIL],
        &[EVIL],
        &["gen", "-n", EVIL],
    ] {
        let said = said(&folder, arguments);
        assert!(!said.is_empty(), "{arguments:?} says nothing");
        if let Some(acting) = acts(&said) {
            panic!("{arguments:?}: {acting}");
        }
    }
}

#[test]
fn a_table_runs_nothing_in_a_spreadsheet_and_keeps_its_names() {
    let folder = folder("formulas");
    let names = ["=cmd|' /C calc'!A0", "+1", "@SUM(1)", "-2", "'=1", "plain"];
    let tasks: String = names
        .iter()
        .map(|name| format!("[[task]]\nname = \"{name}\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n"))
        .collect();
    let set = format!("layland = 1\n[platform]\ncpus = 2\n{tasks}");
    std::fs::write(folder.join("set.toml"), set).expect("the folder takes files");
    let run = |arguments: &[&str]| {
        let output = layland(arguments).current_dir(&folder).output().expect("it starts");
        String::from_utf8(output.stdout).expect("the output is UTF-8")
    };
    run(&["convert", "set.toml", "-o", "set.csv"]);
    run(&["sim", "set.toml", "--policy", "p-edf", "--until", "20ms", "-o", "trace.json"]);
    run(&["trace", "convert", "trace.json", "-o", "trace.csv"]);
    for file in ["set.csv", "trace.csv"] {
        let text = std::fs::read_to_string(folder.join(file)).expect("it was written");
        let mut seen = 0;
        for cell in text.lines().flat_map(|line| line.split(',')) {
            let inside = cell.trim_start_matches('"');
            assert!(!inside.starts_with(['=', '+', '@', '-']), "{file}: {cell}");
            seen += usize::from(inside.starts_with('\''));
        }
        assert!(seen >= 5, "{file} has the names");
    }
    let back = run(&["convert", "set.csv", "--to", "toml", "-o", "-"]);
    for name in names {
        assert!(back.contains(&format!("name = \"{name}\"")), "{name} is not in {back}");
    }
}
