//! The first commands of new users: names in various notations, answers that fit a screen, safe
//! files, and errors for nonsense.
//!
//! Long because each finding of a first hour is a test.
#![cfg(target_os = "linux")]

use crate::common;
use crate::process::{folder, layland, name, run};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the exit code, standard output and standard error.
fn said(args: &[&str]) -> (i32, String, String) {
    let Output { status, stdout, stderr } = run(args);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
    (status.code().expect("no signal ends it"), text(stdout), text(stderr))
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

// Names.

#[test]
fn a_name_that_is_not_there_is_the_same_mistake_everywhere() {
    for (args, message) in [
        (&["sim", "demo:dahll"][..], "bundled task set `dahll`: did you mean `demo:dhall`?"),
        (&["check", "demo:dahll"], "bundled task set `dahll`: did you mean `demo:dhall`?"),
        (&["demos", "dahll"], "bundled task set `dahll`: did you mean `demo:dhall`?"),
        (&["lab", "run", "tang2012"], "packaged experiment `tang2012`: did you mean `tang2021`?"),
        (&["lab", "show", "tang2012"], "packaged experiment `tang2012`: did you mean `tang2021`?"),
        (&["policies", "apdef"], "policy `apdef`: did you mean `apedf`?"),
        (&["explain", "robto"], "nothing called `robto` to explain: did you mean `robot`?"),
        (&["sim", "demo:dhall", "-p", "xyz"], "there is no policy `xyz`"),
    ] {
        let (code, out, err) = said(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(message), "{args:?}: {err}");
        assert!(err.contains("help: `layland "), "where the list is: {args:?}: {err}");
    }
}

#[test]
fn policies_have_the_names_that_people_say() {
    let (_, out, _) = said(&["sim", "demo:dhall", "-p", "gEDF,Partitioned-EDF", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let policy = |at: usize| document["results"][at]["policy"].as_str().map(str::to_owned);
    assert_eq!([policy(0), policy(1)], ["g-edf", "p-edf"].map(|name| Some(name.to_owned())));
    for command in [
        &["sim", "demo:dhall", "-p"][..],
        &["check", "demo:dhall", "-p"],
        &["run", "demo:dhall", "-p"],
        &["policies"],
        &["explain"],
        &["explain", "demo:dhall", "-p"],
    ] {
        let (code, _, err) = said(&[command, &["edf"]].concat());
        let family =
            "`edf` is global, clustered or partitioned: did you mean `g-edf`, `c-edf` or `p-edf`?";
        assert_eq!(code, 2, "{command:?}: {err}");
        assert!(err.contains(family), "{command:?}: {err}");
        assert!(err.contains("`layland policies` lists them"), "{command:?}: {err}");
    }
    let (code, _, err) = said(&["sim", "demo:dhall", "-p", "g-edf,G-EDF"]);
    assert_eq!(code, 2);
    assert!(err.contains("policy `g-edf` is named twice"), "{err}");
    let (code, _, err) = said(&["run", "demo:dhall", "-p", "a,b"]);
    assert_eq!(code, 2);
    assert!(err.contains("names several policies, and a run has one"), "{err}");
}

#[test]
fn explain_knows_policies_sets_and_experiments() {
    for (what, texts) in [
        ("GEDF", &["g-edf (policy)", "global EDF"][..]),
        ("robot", &["robot (bundled task set)", "demo:robot"]),
        ("tang2021", &["tang2021 (experiment)", "layland lab run tang2021"]),
        ("zss", &["ZSS (test)", "zss (policy)"]),
    ] {
        let (code, out, _) = said(&["explain", what]);
        assert_eq!(code, 0, "{what}");
        texts.iter().for_each(|text| assert!(out.contains(text), "{what}: {out}"));
    }
}

/// Returns the completions that a shell offers for a line whose last word is incomplete.
fn bash_completes(script: &Path, line: &str) -> Vec<String> {
    // Call the function as readline does: the words are split at the word breaks, and the line is
    // complete.
    let program = r#"
        source "$1"; COMP_LINE="$2"; COMP_POINT=${#COMP_LINE}
        function split() { local IFS=$' \t\n'; COMP_WORDS=($COMP_LINE); }
        split; [[ "$COMP_LINE" == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]}-1))
        $(complete -p layland | sed 's/.*-F \([^ ]*\).*/\1/') layland "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", program, "-", name(script), line])
        .current_dir(script.parent().expect("it is in a folder"))
        .output()
        .expect("bash starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_names() {
    if Command::new("bash").arg("--version").output().is_err() {
        return common::skipped("bash");
    }
    let script = folder("complete-bash").join("layland.bash");
    std::fs::write(&script, said(&["completions", "bash"]).1).expect("written");
    std::fs::write(script.with_file_name("dmine.toml"), "").expect("written");
    for (line, expected) in [
        ("layland sim demo:dhall --policy g-e", &["g-edf"][..]),
        ("layland sim demo:dhall -p g-edf,p-e", &["g-edf,p-edf"]),
        ("layland sim demo:dhall --policy=xyz", &[]),
        ("layland sim demo:dhall --policy=ape", &["apedf"]),
        ("layland check -p hpa-e", &["hpa-edf"]),
        ("layland run demo:dhall -p a2", &["a2pedf"]),
        ("layland policies dl-", &["dl-sp"]),
        ("layland demos rob", &["robot"]),
        ("layland lab run tan", &["tang2021"]),
        ("layland lab show hua", &["huang2014"]),
        ("layland explain stevan", &["stevanato2021", "stevanato2021-kernel"]),
        // Bash replaces only the part after the colon.
        ("layland sim demo:rob", &["robot"]),
        ("layland --color never check demo:rob", &["robot"]),
        ("layland sim --hyperp", &["--hyperperiods"]),
        ("layland poli", &["policies"]),
    ] {
        assert_eq!(bash_completes(&script, line), expected, "{line}");
    }
    let sets = bash_completes(&script, "layland sim d");
    assert!(sets.contains(&"demo:robot".to_owned()), "{sets:?}");
    assert!(sets.contains(&"dmine.toml".to_owned()), "{sets:?}");
}

#[test]
fn zsh_completes_names() {
    if Command::new("zsh").arg("--version").output().is_err() {
        return common::skipped("zsh");
    }
    let made = folder("complete-zsh");
    std::fs::write(made.join("_layland"), said(&["completions", "zsh"]).1).expect("written");
    // Start a separate zsh behind a pseudoterminal, and type the line and a tab into it.
    let program = r#"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell "PS1=; LISTMAX=1000; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; cd $1; echo re""ady"
        sleep 1
        zpty -w -n shell "$2"$'\t'
        sleep 2
        while zpty -r -t shell more; do seen+=$more; done
        print -r -- "$seen"
    "#;
    for (line, expected) in [
        ("layland sim --policy a2p", "a2pedf"),
        ("layland sim -p g-edf,a2p", "g-edf,a2pedf"),
        ("layland check demo:rob", "demo:robot"),
        ("layland demos rob", "robot"),
        ("layland lab run tan", "tang2021"),
        ("layland policies dl-", "dl-sp"),
    ] {
        let output = Command::new("zsh")
            .args(["-f", "-c", program, "-", name(&made), line])
            .output()
            .expect("zsh starts");
        let seen = String::from_utf8_lossy(&output.stdout).replace("\\:", ":");
        assert!(seen.contains(expected), "{line}: {seen:?} {output:?}");
    }
}

#[test]
fn fish_completes_names() {
    if Command::new("fish").arg("--version").output().is_err() {
        return common::skipped("fish");
    }
    let made = folder("complete-fish");
    let script = made.join("layland.fish");
    std::fs::write(&script, said(&["completions", "fish"]).1).expect("written");
    for (line, expected) in [
        ("layland sim --policy a2p", "a2pedf"),
        ("layland sim -p g-edf,a2p", "g-edf,a2pedf"),
        ("layland check demo:rob", "demo:robot"),
        ("layland demos rob", "robot"),
        ("layland lab run tan", "tang2021"),
        ("layland policies dl-", "dl-sp"),
    ] {
        let output = Command::new("fish")
            .args(["--no-config", "-c", "source $argv[1]; complete -C $argv[2]"])
            .args([name(&script), line])
            .current_dir(&made)
            .env("HOME", &made)
            .output()
            .expect("fish starts");
        let text = String::from_utf8_lossy(&output.stdout);
        let offered: Vec<&str> = text.lines().filter_map(|line| line.split('\t').next()).collect();
        assert!(offered.contains(&expected), "{line}: {offered:?} {output:?}");
    }
}

// An answer that fits a screen.

#[test]
fn a_check_fits_a_screen() {
    for demo in layland_config::demos() {
        let (_, out, _) = said(&["check", &format!("demo:{}", demo.name)]);
        let lines = out.lines().count();
        assert!(lines <= 38, "{}: {lines} lines:\n{out}", demo.name);
        assert!(!out.contains("bounds on response times"), "{out}");
    }
    let (code, out, _) = said(&["check", "-t", "a=4ms/10ms", "-t", "b=5ms/11ms", "--cpus", "1"]);
    assert_eq!(code, 0);
    assert!(out.lines().count() <= 30, "{out}");
    assert!(out.contains("also guaranteed: c-edf, p-edf"), "{out}");
    // The set has neither affinities nor criticalities, and one sentence names who is for these.
    let (first, others) = out.split_once("for features that the set lacks").expect("the sentence");
    for policy in ["weak-", "strong-", "hpa-", "smc", "amc", "zss", "plrs", "ocbp", "edf-vd"] {
        assert!(!first.contains(policy), "{policy}: {out}");
        assert!(others.contains(policy), "{policy}: {out}");
    }
    // The best policy is first: no factor is larger than the one above it.
    let factors: Vec<f64> = (out.lines())
        .filter(|line| line.contains(" yes "))
        .filter_map(|line| line.split_whitespace().nth(4)?.parse().ok())
        .collect();
    assert!(factors.len() >= 3, "{out}");
    assert!(factors.windows(2).all(|pair| pair[0] >= pair[1]), "{factors:?}");
}

#[test]
fn a_check_names_every_policy_that_its_document_has() {
    for name in bundled() {
        let (_, out, _) = said(&["check", &name, "--no-margin"]);
        let words: std::collections::BTreeSet<&str> =
            out.split(|c: char| c.is_whitespace() || c == ',').collect();
        let document = document(&["check", &name, "--no-margin", "--json"]);
        let policies = document["policies"].as_array().expect("a list");
        assert!(!policies.is_empty(), "{name}");
        for policy in policies {
            let spec = policy["policy"].as_str().expect("a name");
            assert!(words.contains(spec), "{name}: {spec}:\n{out}");
        }
    }
}

#[test]
fn of_many_sets_the_rows_that_need_attention_and_the_counts_are_shown() {
    let sets = folder("many-sets").join("sets.jsonl");
    let (code, out, err) =
        said(&["gen", "-n", "5", "--cpus", "2", "-u", "1.7", "--sets", "60", "--to", "jsonl"]);
    assert_eq!(code, 0, "{err}");
    std::fs::write(&sets, out).expect("written");
    for args in [
        &["check", name(&sets), "-p", "g-edf,p-edf,g-rm"][..],
        &["sim", name(&sets), "-p", "g-edf,p-edf,g-rm", "--until", "300ms"],
    ] {
        let (_, out, _) = said(args);
        assert!(out.lines().count() <= 30, "{args:?}:\n{out}");
        assert!(out.contains(" of 180 rows are left out; --json has a line for each set"), "{out}");
        // The counts are the end, one line for each policy.
        let last: Vec<&str> = out.lines().rev().take(3).collect();
        assert!(last.iter().all(|line| line.contains("of 60")), "{args:?}:\n{out}");
        let verdicts = out.lines().filter(|line| line.contains("jsonl:"));
        assert!(verdicts.clone().all(|line| !line.contains(" yes ")), "{out}");
        assert!(verdicts.count() <= 20, "{out}");
    }
    // A few sets have all of their rows.
    let (_, out, _) = said(&["check", "demo:dhall", "demo:robot", "-p", "p-edf"]);
    assert!(out.contains("robot") && !out.contains("left out"), "{out}");
}

#[test]
fn digits_are_as_many_as_asked_for() {
    let sim = ["sim", "demo:dhall", "-p", "g-edf", "--quiet"];
    let (_, usual, _) = said(&sim);
    let (_, three, _) = said(&[&sim[..], &["--digits", "3"]].concat());
    let (_, six, _) = said(&[&sim[..], &["--digits", "6"]].concat());
    assert_eq!(usual, three);
    assert!(usual.contains("4.00 ms") && usual.contains("0.104"), "{usual}");
    assert!(six.contains("4.00179 ms") && six.contains("0.104478"), "{six}");
}

#[test]
fn json_of_rt_app_is_named_where_the_extension_chose_it() {
    let folder = folder("converted");
    for (file, options, is_told) in
        [("a.json", &[][..], true), ("b.json", &["--to", "jsonl"], false), ("c.csv", &[], false)]
    {
        let file = folder.join(file);
        let (code, _, err) =
            said(&[&["convert", "demo:dhall", "-o", name(&file)][..], options].concat());
        assert_eq!(code, 0, "{err}");
        assert_eq!(err.contains("is JSON of rt-app; --to jsonl"), is_told, "{err}");
    }
}

#[test]
fn the_commands_in_bundled_sets_are_right() {
    let mut seen = 0;
    for demo in layland_config::demos() {
        for line in demo.text.lines().filter_map(|line| line.strip_prefix("#   layland ")) {
            let (code, _, err) = said(&line.split_whitespace().collect::<Vec<_>>());
            assert!(code == 0 || code == 1, "{}: {line}: {err}", demo.name);
            seen += 1;
        }
    }
    assert!(seen >= 4, "{seen} commands");
}

#[test]
fn more_is_shown_on_request() {
    let set = ["check", "-t", "slow=4ms/20ms", "-t", "quick=1ms/5ms", "--cpus", "1"];
    let with = |more: &[&str]| said(&[&set[..], more].concat()).1;
    for more in [&["--bounds"][..], &["--all"], &["-p", "p-rm"]] {
        let out = with(more);
        let title = out.matches("bounds on response times").count();
        assert_eq!(title, 1, "{more:?}: the title is there once: {out}");
        let (quick, slow) = (out.rfind("│ quick"), out.rfind("│ slow"));
        assert!(quick < slow, "the most urgent task is first: {out}");
    }
    assert!(with(&["--all"]).contains("weak-edf"));
    assert!(!with(&["-p", "p-rm"]).contains("--bounds shows"));
}

// Files.

/// A folder on a separate disk with a capacity in KiB, if mounting is permitted.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(test: &str, kib: u32) -> Option<SmallDisk> {
        let path = folder(test);
        let size = format!("size={kib}k");
        let mount = ["-t", "tmpfs", "-o", &size, "tmpfs", name(&path)];
        let mounted = Command::new("mount").args(mount).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(SmallDisk(path))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A failing test may still hold an open file there.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

/// Writes a file that must not be lost. The kernel may count the pages of a removed file for a
/// moment longer.
#[expect(clippy::disallowed_methods, reason = "nobody tells when the kernel has counted them")]
fn write_once_there_is_room(path: &Path) {
    let written = (0..100).any(|_| {
        let written = std::fs::write(path, "precious").is_ok();
        if !written {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        written
    });
    assert!(written, "{}: there is room", path.display());
}

/// Fills the disk so that nothing longer than a page fits, even after the kernel has released the
/// pages of removed files. Returns the open file that fills it.
#[expect(clippy::disallowed_methods, reason = "nobody tells when the kernel has counted them")]
fn fill(disk: &SmallDisk) -> std::fs::File {
    let mut filling = std::fs::File::create(disk.0.join("filler")).expect("there is room");
    let mut full = 0;
    while full < 5 {
        match filling.write_all(&[1; 4096]) {
            Ok(()) => full = 0,
            Err(_) => {
                full += 1;
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
    filling
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let Some(disk) = SmallDisk::mount("small-disk", 64) else {
        return common::skipped("the right to mount a tmpfs");
    };
    for ending in ["json", "svg", "html", "tex", "txt", "parquet", "pftrace", "bin"] {
        let file = disk.0.join(format!("keep.{ending}"));
        let there = match ending {
            "parquet" => disk.0.join("keep.jobs.parquet"),
            _ => file.clone(),
        };
        write_once_there_is_room(&there);
        let _filling = fill(&disk);
        let args = ["sim", "demo:robot", "-p", "p-edf", "--until", "3s", "-q", "-o", name(&file)];
        let (code, _, err) = said(&args);
        assert_eq!(code, 5, "{ending}: {err}");
        assert!(err.contains("No space left"), "{ending}: {err}");
        assert_eq!(std::fs::read(&there).expect("it is there"), b"precious", "{ending}");
        std::fs::remove_file(disk.0.join("filler")).expect("it is there");
        std::fs::remove_file(there).expect("it is there");
        assert_eq!(files(&disk.0), [""; 0], "{ending}: something is left behind");
    }
    for args in [
        &["gen", "-n", "2000", "-u", "7", "--cpus", "8", "-o"][..],
        &["check", "demo:robot", "-o"],
        &["convert", "demo:robot", "-o"],
    ] {
        let ending = if args[0] == "check" { "html" } else { "toml" };
        let file = disk.0.join(format!("keep.{ending}"));
        write_once_there_is_room(&file);
        let _filling = fill(&disk);
        let (code, _, err) = said(&[args, &[name(&file)]].concat());
        assert_eq!(code, 5, "{args:?}: {err}");
        assert_eq!(std::fs::read(&file).expect("it is there"), b"precious", "{args:?}");
        std::fs::remove_file(disk.0.join("filler")).expect("it is there");
        std::fs::remove_file(&file).expect("it is there");
        assert_eq!(files(&disk.0), [""; 0], "{args:?}: something is left behind");
    }
}

#[test]
fn pipes_links_and_devices_are_written_as_before() {
    let made = folder("places");
    let (real, link) = (made.join("real.svg"), made.join("link.svg"));
    std::fs::write(&real, "old").expect("written");
    std::os::unix::fs::symlink("real.svg", &link).expect("made");
    let quiet = ["sim", "demo:dhall", "--chart", "none", "-q", "-o"];
    let (code, ..) = said(&[&quiet[..], &[name(&link)]].concat());
    assert_eq!(code, 1);
    assert!(std::fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(std::fs::read_to_string(&real).expect("there").starts_with("<svg"));
    assert_eq!(files(&made), ["link.svg", "real.svg"]);
    let to_stdout = said(&["convert", "demo:dhall", "--to", "csv", "-o", "/dev/stdout"]);
    assert_eq!(to_stdout, said(&["convert", "demo:dhall", "--to", "csv"]));
    let (code, _, err) = said(&["convert", "demo:dhall", "-o", "/dev/full"]);
    assert_eq!(code, 5, "{err}");
}

#[test]
fn one_file_is_written_once() {
    let file = folder("twice").join("y.svg");
    let (code, _, err) = said(&["sim", "demo:dhall", "-o", name(&file), "-o", name(&file)]);
    assert_eq!(code, 2);
    assert!(err.contains("is given twice"), "{err}");
    assert!(!file.exists());
}

#[test]
fn a_file_converted_into_itself_tells_what_it_loses() {
    let file = folder("itself").join("mine.toml");
    let text = "# Two comments.\nlayland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a#1\" # the other\nwcet = \"1ms\"\nperiod = \"5ms\"\n";
    std::fs::write(&file, text).expect("written");
    let (code, _, err) = said(&["convert", name(&file), "-o", name(&file)]);
    assert_eq!(code, 0);
    assert!(err.contains("loses 2 comments"), "{err}");
    let (code, _, err) = said(&["convert", name(&file), "-o", name(&file)]);
    assert_eq!((code, err.as_str()), (0, ""));
}

// Nonsense.

#[test]
fn nonsense_is_told() {
    let warned = |args: &[&str], message: &str| {
        let (_, _, err) = said(args);
        assert!(err.contains(message), "{args:?}: {err}");
    };
    let sim = |more: &[&'static str]| [&["sim", "--chart", "none"][..], more].concat();
    warned(&sim(&["-t", "a=5ms/1ms"]), "the WCET of a is longer than the deadline: a takes 5 ms");
    warned(&sim(&["-t", "a=5ms/9ms/2ms"]), "the WCET of a is longer than the deadline");
    warned(&sim(&["-t", "a=5ms/2ms/9ms"]), "the WCET of a is longer than the period");
    let file = folder("overrun").join("exec.toml");
    let text = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nwcet = \"2ms\"\nperiod = \"9ms\"\n\
                exec = { model = \"uniform\", min = \"1ms\", max = \"3ms\" }\n";
    std::fs::write(&file, text).expect("written");
    warned(&["sim", name(&file)], "a may execute for longer than the WCET: a up to 3 ms");
    for (args, message) in [
        (&["--until", "0s"][..], "0ns is not longer than zero"),
        (&["--until", "-1s"], "-1s is not longer than zero"),
        (&["--seed", "abc"], "a seed is a whole number from 0 to"),
        (&["--window", "1000s..1001s"], "the window begins at 1000s, and the simulation ends at"),
    ] {
        let (code, out, err) = said(&[&["sim", "-t", "a=1ms/5ms"][..], args].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(err.contains(message), "{args:?}: {err}");
    }
    let (code, _, err) = said(&["sim", "-t", "a\nb=1ms/5ms"]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("has the character"), "{err}");
    let idle = ["sim", "-t", "a=1ms/5ms", "--cpus", "1", "--until", "20ms", "--window", "2ms..4ms"];
    warned(&idle, "g-edf: no job runs from 2 ms to 4 ms");
    // Whole traces must not fill the memory.
    let long = ["sim", "-t", "a=1ms/5ms", "--until", "100000000s", "--check"];
    let (code, _, err) = said(&long);
    assert_eq!(code, 2);
    assert!(err.contains("--check needs all 20000000001 jobs"), "{err}");
    assert!(err.contains("in memory, and at most 5000000 are kept"), "{err}");
    // A sensible set causes no warning.
    assert_eq!(said(&["sim", "-t", "a=1ms/5ms", "-p", "g-edf", "--chart", "none"]).2, "");
}

#[test]
fn cpus_ask_what_if() {
    let set = ["sim", "demo:dhall", "-p", "g-edf", "--chart", "none", "--cpus"];
    let misses = |cpus: &str| said(&[&set[..], &[cpus]].concat());
    let (code, out, err) = misses("3");
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("3 tasks on 3 CPUs"), "{out}");
    assert!(err.contains("--cpus 3 overrides the 2 CPUs of demo:dhall"), "{err}");
    assert_eq!(misses("2").2, "");
    let (code, _, err) = said(&["sim", "demo:robot", "--cpus", "2"]);
    assert_eq!(code, 3);
    assert!(err.contains("names CPUs beyond these"), "{err}");
    assert_eq!(said(&["check", "demo:robot", "--cpus", "8"]).0, 0);
}

/// Values of the machine that complete a file are reported once, and are part of every answer.
#[test]
fn assumptions_are_told_once_and_recorded() {
    let folder = folder("assumed");
    let files = ["a.csv", "b.csv", "c.csv"].map(|file| folder.join(file));
    for file in &files {
        std::fs::write(file, "name,wcet,period\na,1ms,10ms\n").expect("written");
    }
    let files = files.iter().map(|file| name(file));
    let args: Vec<&str> = ["check", "-p", "g-edf", "--json"].into_iter().chain(files).collect();
    let (code, out, err) = said(&args);
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("does not say how many CPUs there are").count(), 1, "{err}");
    for line in out.lines() {
        let document: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let assumed = document["set"]["assumed"][0].as_str().expect("an assumption");
        let cpus = document["set"]["cpus"].as_u64().expect("a number");
        assert!(assumed.contains(&format!("taken as {cpus}, as this machine has")), "{assumed}");
    }
    assert_eq!(out.lines().count(), 3);
    // If the number of CPUs is given, nothing is assumed.
    let (_, out, err) = said(&[&args[..], &["--cpus", "1"]].concat());
    assert!(out.contains("\"assumed\":[]"), "{out}");
    assert_eq!(err, "");
}

/// Verdicts that are exact with a tick, and inexact without one.
#[test]
fn states_decide_where_jobs_arrive_at_ticks() {
    let file = folder("states").join("four.toml");
    let task = |name: &str, [c, d, t]: [i32; 3]| {
        format!(
            "[[task]]\nname = \"{name}\"\nwcet = \"{c}ms\"\ndeadline = \"{d}ms\"\nperiod = \"{t}ms\"\n"
        )
    };
    let parameters = [("a", [2, 6, 6]), ("b", [1, 2, 2]), ("c", [3, 3, 4]), ("d", [1, 4, 7])];
    let tasks: String = parameters.into_iter().map(|(name, numbers)| task(name, numbers)).collect();
    std::fs::write(&file, format!("layland = 1\n[platform]\ncpus = 2\n{tasks}")).expect("written");
    let check = |more: &[&str]| {
        let (code, out, err) =
            said(&[&["check", name(&file), "-p", "g-rm", "--json"], more].concat());
        let found: serde_json::Value = serde_json::from_str(&out).expect(&err);
        (code, found["policies"][0].clone())
    };
    let (code, at_ticks) = check(&["--tick", "1ms"]);
    assert_eq!((code, &at_ticks["decided_by"]), (0, &serde_json::json!("STATES")));
    let bound = &at_ticks["bounds"][3];
    assert_eq!((&bound["ns"], &bound["worth"]), (&4_000_000.into(), &serde_json::json!("exact")));
    // If arrivals are not restricted to ticks, jobs may arrive half-way between them, and one is
    // late. The search finds this by itself, and so it does with a finer tick.
    let (code, found) = check(&["--tick", "500us"]);
    assert_eq!((code, &found["witness"]["found_by"]), (1, &serde_json::json!("states")));
    assert_eq!(found["witness"]["deadline_ns"], 4_000_000);
    let (code, found) = check(&[]);
    assert_eq!((code, &found["witness"]["found_by"]), (1, &serde_json::json!("states")));
    // With little effort, only the states at whole milliseconds are known.
    let (code, found) = check(&["--effort", "60"]);
    assert_eq!(code, 4);
    let why = found["reasons"].to_string();
    assert!(why.contains("as long as jobs arrive at whole multiples of 1 ms"), "{why}");
    assert_eq!(said(&["check", name(&file), "--tick", "0ms"]).0, 2);
    let (_, out, _) = said(&["check", name(&file), "-p", "g-rm"]);
    assert!(out.contains("✗ missed"), "the chart shows the run that misses: {out}");
    let (_, out, _) = said(&["check", name(&file), "-p", "g-rm", "--chart", "none"]);
    assert!(!out.contains("✗ missed"), "{out}");
}

/// If no test refutes a set, a run that misses does, and the simulator shows the same run.
#[test]
fn a_run_that_misses_is_a_no() {
    let json = |args: &[&str]| -> (i32, serde_json::Value) {
        let (code, out, err) = said(args);
        (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}")))
    };
    let check = ["check", "demo:dhall", "-p", "g-edf,dl", "--json"];
    let (code, found) = json(&check);
    assert_eq!(code, 1);
    for policy in found["policies"].as_array().expect("a list") {
        let witness = &policy["witness"];
        assert_eq!(
            (&policy["verdict"], &policy["decided_by"]),
            (&serde_json::json!("no"), &serde_json::json!("WITNESS"))
        );
        let spec = policy["policy"].as_str().expect("a name");
        let (_, ran) = json(&["sim", "demo:dhall", "-p", spec, "--json"]);
        let first = &ran["results"][0]["first_missed_deadline_ns"];
        assert_eq!(
            (&witness["task"], &witness["deadline_ns"]),
            (&serde_json::json!("heavy"), first)
        );
        assert!(witness["end_ns"].as_i64() > first.as_i64(), "{witness}");
    }
    // Without a search nothing is known, and a requested test is the only one.
    for more in [&["--effort", "0"][..], &["--test", "GFB"]] {
        let (code, found) = json(&[&check[..], more].concat());
        assert_eq!(code, 4);
        assert!(found["policies"][0]["witness"].is_null());
    }
    // All deadlines are met if all tasks arrive at once: `b` has to arrive while `a` runs, which
    // its jitter permits.
    let file = folder("witness").join("jitter.toml");
    let text = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nwcet = \"2ms\"\nperiod = \"4ms\"\n\
                [[task]]\nname = \"b\"\nwcet = \"2ms\"\nperiod = \"8ms\"\noffset = \"2ms\"\njitter = \"3ms\"\n\
                deadline = \"4ms\"\n";
    std::fs::write(&file, text).expect("written");
    let (code, found) = json(&["check", name(&file), "-p", "g-edf", "--json", "--no-margin"]);
    let policy = &found["policies"][0];
    assert_eq!((code, &policy["verdict"]), (1, &serde_json::json!("no")), "{policy:#}");
}

// Causes of misses.

#[test]
fn the_terminal_tells_who_was_in_the_way() {
    let (code, out, _) = said(&["sim", "demo:dhall", "-p", "g-edf,g-rm,p-edf"]);
    assert_eq!(code, 1);
    let out = out.replace("\n  ", " ");
    for policy in ["g-edf", "g-rm"] {
        let why = format!("First miss under {policy}: heavy, job 1, due at 11 ms");
        assert!(out.contains(&why), "{out}");
    }
    assert!(!out.contains("First miss under p-edf"), "{out}");
    assert!(out.contains("the CPUs were held by light-1 for 2 ms and light-2 for 2 ms"), "{out}");
}

#[test]
fn a_chart_says_that_the_miss_is_elsewhere() {
    // Both policies have their first miss at another time.
    let set = ["sim", "demo:overload", "-p", "g-edf,g-rm", "--window", "0ms..1ms"];
    let (code, out, _) = said(&set);
    assert_eq!(code, 1, "{out}");
    assert_eq!(out.matches("is outside this window").count(), 2, "{out}");
    let html = folder("elsewhere").join("both.html");
    said(&["sim", "demo:overload", "-p", "g-edf,g-rm", "--chart", "none", "-o", name(&html)]);
    let page = std::fs::read_to_string(html).expect("written");
    for policy in ["g-edf", "g-rm"] {
        assert!(page.contains(&format!("First miss under {policy}: ")), "{policy}");
    }
}

// Times.

/// A long time is printed in hours, and no figure is printed twice with different rounding.
#[test]
fn times_are_readable() {
    let set = ["check", "-t", "a=9ms/10ms", "-t", "b=989us/10ms", "--cpus", "1", "--bounds"];
    let (_, out, _) = said(&set);
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).count();
    for line in out.lines().filter(|line| line.contains("late ")) {
        for word in
            line.split_whitespace().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        {
            assert!(digits(word) <= 4, "{word}: {line}");
        }
    }
    let (_, out, _) = said(&["sim", "-t", "a=1ms/7ms", "--until", "36000s", "--chart", "none"]);
    assert!(out.contains("simulated up to 10 h"), "{out}");
}

// For continuous integration.

#[test]
fn a_limit_decides_what_fails() {
    let sim = ["sim", "demo:dhall", "-p", "g-edf,p-edf", "--chart", "none", "-q"];
    let with = |limits: &[&str]| said(&[&sim[..], limits].concat());
    // g-edf misses 4 of 67 deadlines by up to 1 ms; p-edf misses none.
    assert_eq!(with(&[]).0, 1);
    for (limit, code) in [
        ("misses>3", 1),
        ("misses>4", 0),
        ("misses>5.9%", 1),
        ("misses>6%", 0),
        ("tardiness>999us", 1),
        ("tardiness>1ms", 0),
        ("response>11ms", 1),
        ("heavy:response.p50>1s", 0),
        ("light-1:misses>0", 0),
        ("heavy:misses>3", 1),
        // Tardiness is bounded, and stays within the bound.
        ("response>bound", 0),
    ] {
        let (found, _, err) = with(&["--fail-on", limit]);
        assert_eq!(found, code, "{limit}: {err}");
        assert_eq!(err.contains(&format!("g-edf fails on {limit}: ")), code == 1, "{err}");
        assert!(!err.contains("p-edf fails"), "{err}");
    }
    let both = with(&["--fail-on", "misses>9", "--fail-on", "tardiness>1us"]);
    assert_eq!(both.0, 1, "one of two");
    let (code, _, err) = with(&["--fail-on", "nobody:misses>0"]);
    assert_eq!(code, 2);
    assert!(err.contains("there is no task `nobody`"), "{err}");
    assert_eq!(with(&["--fail-on", "latency>1ms"]).0, 2);
    // A limit that could never fail is an error: global EDF guarantees nothing for a set that
    // overloads its CPUs.
    let overloaded = ["sim", "-t", "a=9ms/5ms", "--cpus", "1", "-p", "g-edf", "--until", "50ms"];
    let (code, _, err) = said(&[&overloaded[..], &["--fail-on", "a:response>bound"]].concat());
    assert_eq!(code, 2);
    assert!(err.contains("no response time of `a` is guaranteed under g-edf"), "{err}");
    // Tasks without a limit need no bound.
    let half = ["sim", "-t", "a=2ms/5ms", "-t", "b=7ms/10ms", "--cpus", "1", "-p", "g-rm"];
    let limits = ["--until", "50ms", "--fail-on", "a:response>bound", "--fail-on", "misses>9"];
    let (code, _, err) = said(&[&half[..], &limits].concat());
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = said(&[&half[..], &limits, &["--fail-on", "b:response>bound"]].concat());
    assert_eq!(code, 2);
    assert!(err.contains("no response time of `b` is guaranteed"), "{err}");
    // A policy that rejects the set fails regardless of the limits.
    let refused = ["sim", "demo:robot", "-p", "g-edf", "--fail-on", "misses>9", "--chart", "none"];
    assert_eq!(said(&refused).0, 1);
}

#[test]
fn a_junit_file_has_a_test_for_each_task_and_limit() {
    let file = folder("junit").join("result.xml");
    let sim = ["sim", "demo:dhall", "-p", "g-edf,p-edf", "--chart", "none", "--junit", name(&file)];
    assert_eq!(said(&sim).0, 1);
    let xml = std::fs::read_to_string(&file).expect("written");
    assert!(xml.contains("<testsuite name=\"demo:dhall under g-edf\" tests=\"3\" failures=\"1\""));
    assert!(xml.contains("<testsuite name=\"demo:dhall under p-edf\" tests=\"3\" failures=\"0\""));
    assert!(xml.contains("name=\"heavy meets its deadlines\"><failure message=\"4 of 21"), "{xml}");
    assert_eq!(xml.matches("<failure").count(), 1);
    let limited =
        [&sim[..], &["--fail-on", "heavy:tardiness>10us", "--fail-on", "misses>9"]].concat();
    assert_eq!(said(&limited).0, 1);
    let xml = std::fs::read_to_string(&file).expect("written");
    assert!(xml.contains("tests=\"5\" failures=\"1\""), "{xml}");
    assert!(
        xml.contains("name=\"not heavy:tardiness&gt;10us\"><failure message=\"1 ms\"/>"),
        "{xml}"
    );
    // The file is valid XML for all names.
    let odd = ["sim", "-t", "a<&\">'=1ms/5ms", "--chart", "none", "--junit", name(&file)];
    assert_eq!(said(&odd).0, 0);
    let xml = std::fs::read_to_string(&file).expect("written");
    assert!(xml.contains("name=\"a&lt;&amp;&quot;&gt;' meets its deadlines\"/>"), "{xml}");
}

/// A long command without a terminal prints a line every few seconds, with the remaining time.
#[test]
fn a_pipe_hears_how_far_it_is() {
    let mut child = layland(&["sim", "demo:robot", "-p", "p-edf", "--until", "100000000s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut lines = std::io::BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).expect("UTF-8");
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    assert!(line.starts_with("simulated up to ") && line.contains(" left"), "{line}");
}

#[test]
fn manual_pages_are_of_commands_and_name_their_version() {
    let made = folder("manual");
    assert_eq!(said(&["man", "-o", name(&made)]).0, 0);
    let pages = files(&made);
    assert!(pages.iter().all(|page| !page.contains("help")), "{pages:?}");
    assert!(pages.len() > 15 && pages.contains(&"layland-lab-run.1".to_owned()), "{pages:?}");
    for page in &pages {
        let text = std::fs::read_to_string(made.join(page)).expect("written");
        let title = text.lines().find(|line| line.starts_with(".TH")).expect("a title");
        let command = page.strip_suffix(".1").expect("section 1");
        assert!(title.contains(&format!(".TH {command} 1")), "{title}");
        assert!(title.contains(concat!("layland ", env!("CARGO_PKG_VERSION"))), "{title}");
    }
    // The synopsis is one line, as in the help, not a list of every option without its value.
    let page = std::fs::read_to_string(made.join("layland-sim.1")).expect("written");
    assert!(page.contains(".SH SYNOPSIS\nlayland sim [OPTIONS]"), "{page}");
    let (code, _, err) = said(&["man", "pages"]);
    assert_eq!(code, 2);
    assert!(err.contains("-o FOLDER writes every page"), "{err}");
}

/// A chart for a paper has one page, and embeds every font.
#[test]
fn a_schedule_can_be_a_pdf() {
    let made = folder("pdf");
    for demo in ["dhall", "mixed-overrun", "push-defect", "robot"] {
        let file = made.join(format!("{demo}.pdf"));
        let set = format!("demo:{demo}");
        let args = ["sim", &set, "-p", "dl", "--chart", "none", "-q", "-o", name(&file)];
        let (code, _, err) = said(&args);
        assert!(code < 2, "{demo}: {err}");
        let bytes = std::fs::read(&file).expect("written");
        assert!(bytes.starts_with(b"%PDF-"), "{demo}");
        said(&args);
        assert_eq!(std::fs::read(&file).expect("written"), bytes, "the same bytes every time");
    }
    let file = made.join("dhall.pdf");
    let Ok(fonts) = Command::new("pdffonts").arg(&file).output() else {
        return common::skipped("pdffonts (poppler-utils)");
    };
    let fonts = String::from_utf8_lossy(&fonts.stdout).into_owned();
    let rows: Vec<&str> = fonts.lines().skip(2).collect();
    assert!(rows.len() == 1 && rows[0].contains("LiberationSans"), "{fonts}");
    assert_eq!(rows[0].split_whitespace().filter(|&word| word == "yes").count(), 3, "{fonts}");
    let text = Command::new("pdftotext").args([name(&file), "-"]).output().expect("it is there");
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    for part in ["demo:dhall under dl", "CPU 1", "heavy", "time in ms", "deadline miss"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_kernel_is_not_given_tasks_that_reclaim() {
    for policy in ["dl:grub=on", "dl:exhaust=postpone"] {
        let args = ["run", "demo:reclaim-defect", "--engine", "deadline", "--policy", policy];
        let (code, out, err) = said(&[&args[..], &["--until", "1s"]].concat());
        assert_eq!((code, out.as_str()), (5, ""), "{policy}");
        assert!(
            err.contains("starts no thread that reclaims") && err.contains("--engine fifo"),
            "{err}"
        );
    }
}

fn answered(args: &[&str]) -> (i32, serde_json::Value) {
    let (code, out, err) = said(args);
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {err}")))
}

#[test]
fn offsets_are_used_where_every_release_is_known() {
    let set = |offset: &str, release: &str| {
        let file = folder("cycle").join("offsets.toml");
        let text = format!(
            "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nwcet = \"2ms\"\nperiod = \"4ms\"\n\
             deadline = \"2ms\"\n[[task]]\nname = \"b\"\nwcet = \"2ms\"\nperiod = \"4ms\"\ndeadline = \"2ms\"\n\
             offset = \"{offset}\"\n{release}"
        );
        std::fs::write(&file, text).expect("written");
        let check = ["check", name(&file), "-p", "p-edf,g-rm,edzl", "--json", "--no-margin"];
        let (_, found) = answered(&check);
        [0, 1, 2].map(|at: usize| found["policies"][at].clone())
    };
    let verdict = |answer: &serde_json::Value| answer["verdict"].as_str().unwrap_or("").to_owned();
    let [edf, rm, edzl] = set("2ms", "");
    for known in [&edf, &rm] {
        assert_eq!((verdict(known).as_str(), &known["decided_by"]), ("yes", &"CYCLE".into()));
        let reason = known["reasons"][0].as_str().unwrap_or("");
        assert!(reason.starts_with("for these offsets"), "{reason}");
        assert_eq!(known["bounds"][1]["ns"], 2_000_000);
    }
    // A job may end later if another executes for a shorter time.
    assert_eq!(verdict(&edzl), "unknown");
    let sporadic = "release = { kind = \"sporadic\", extra = \"1ms\" }\n";
    assert_ne!(verdict(&set("2ms", sporadic)[0]), "yes");
    // A miss in the schedule itself proves the verdict no.
    assert_eq!(verdict(&set("1ms", "")[0]), "no");
}

// Defaults.

/// Returns the document that a command prints.
fn document(args: &[&str]) -> serde_json::Value {
    let (_, out, err) = said(args);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {err}"))
}

fn bundled() -> Vec<String> {
    let (_, out, _) = said(&["demos", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let names = all["demos"].as_array().expect("a list").iter();
    names.map(|demo| demo["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn no_bundled_set_is_refused_without_options() {
    let names = bundled();
    assert!(names.len() >= 25, "{names:?}");
    for name in &names {
        let set = name.clone();
        let (code, out, err) = said(&["sim", &set]);
        assert!(code <= 1, "sim {set}: {code}: {err}");
        assert!(!out.contains("refused"), "sim {set}: {out}");
        assert_eq!(err.matches("because").count(), 1, "sim {set} says why: {err}");
        let (code, _, err) = said(&["check", &set]);
        assert!(code <= 1 || code == 4, "check {set}: {code}: {err}");
        let checked = document(&["check", &set, "--json"]);
        let policies = checked["policies"].as_array().expect("a list");
        assert!(policies.iter().any(|policy| policy["refused"].is_null()), "check {set}");
        let (code, out, err) = said(&["explain", &set]);
        assert_eq!(code, 0, "explain {set}: {err}");
        assert!(!out.is_empty(), "explain {set}");
    }
}

#[test]
fn the_assignment_is_the_same_at_each_door() {
    let (mut compared, mut with_priorities) = (0, 0);
    for name in bundled() {
        let set = name.clone();
        for policy in ["p-edf", "p-dm", "p-rm:fit=ffd", "g-edf"] {
            let of = |command: &str, list: &str| {
                let found = document(&[command, &set, "-p", policy, "--json"]);
                found[list][0]["assignment"].clone()
            };
            let (checked, ran) = (of("check", "policies"), of("sim", "results"));
            // A policy that refuses the set assigns nothing.
            if ran.is_null() || checked.is_null() {
                assert_eq!(ran.is_null(), checked.is_null(), "{set} {policy}");
                continue;
            }
            assert_eq!(checked, ran, "{set} {policy}");
            let (_, text, _) = said(&["check", &set, "-p", policy]);
            let tasks = checked.as_array().expect("a list");
            let has_priorities = tasks.iter().any(|task| !task["priority"].is_null());
            let cpus = document(&["check", &set, "-p", policy, "--json"])["set"]["cpus"].clone();
            if tasks.len() <= 20 && (has_priorities || cpus != 1) {
                assert!(text.contains("the CPU of each task under"), "{set} {policy}: {text}");
            }
            compared += 1;
            with_priorities += usize::from(has_priorities);
        }
    }
    assert!(compared > 40 && with_priorities > 20, "{compared}, {with_priorities}");
}

#[test]
fn the_tightest_cpu_is_named() {
    let set = ["-t", "a=3ms/10ms", "-t", "b=9ms/10ms", "-t", "c=4ms/10ms", "--cpus", "2"];
    let (code, out, err) = said(&[&["check"][..], &set, &["-p", "p-edf", "--json"]].concat());
    assert_eq!(code, 0, "{err}");
    let found: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let tightest = found["policies"][0]["tightest"].as_str().expect("it is guaranteed");
    assert!(tightest.starts_with("CPU 0 is fullest: utilization 0.9 of 1"), "{tightest}");
    let (_, out, _) = said(&[&["check"][..], &set, &["-p", "p-dm", "--json"]].concat());
    let found: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let tightest = found["policies"][0]["tightest"].as_str().expect("it is guaranteed");
    assert_eq!(tightest, "`b` has the least slack: 1 ms of 10 ms");
}
