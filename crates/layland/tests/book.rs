//! Tests of the book (`docs`): commands print what the book shows, pictures are those that its
//! commands draw, links have targets, and every policy, analysis and key of a task-set file has its
//! place.
//!
//! `TRYCMD=overwrite cargo test -p layland --test book` updates the output of commands.
//! `LAYLAND_WRITE=1 cargo test -p layland --test book` updates what is generated from the program's
//! own data: pictures, and the parts of pages between `<!-- made: .. -->` and `<!-- end -->`. Run
//! one after the other: two tests would write the same page.
//!
//! Long because the program's description of itself is made into several kinds of tables, and all
//! of it is about the book.

use layland::config::SIMSO_SCHEDULERS;
use layland::policy::Registry;
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("the tree is there")
}

/// A page: its path relative to the root, and its text.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(root().join(path));
        Self { path: path.to_owned(), text: text.unwrap_or_else(|e| panic!("{path:?}: {e}")) }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the blocks of code with their language and text.
    fn blocks(&self) -> Vec<(String, String)> {
        let (mut blocks, mut open) = (Vec::new(), None::<(String, String)>);
        for line in self.text.lines() {
            match (&mut open, line.trim_start().strip_prefix("```")) {
                (None, Some(language)) => open = Some((language.to_owned(), String::new())),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some((_, text)), None) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, None) => {}
            }
        }
        blocks
    }

    /// Returns the lines outside of blocks of code.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut inside = false;
        self.text.lines().filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            !inside && !fence
        })
    }

    /// Returns the file that `{{#include ..}}` includes, if the page is another file.
    fn included(&self) -> Option<Self> {
        let path = self.text.lines().find_map(|line| {
            line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"))
        })?;
        Some(Self::read(&joined(&self.path, path)))
    }

    /// Returns the anchors of its headings, as mdBook and forges make them.
    fn anchors(&self) -> BTreeSet<String> {
        let mut counts = BTreeMap::<String, usize>::new();
        let mut anchors = BTreeSet::new();
        for line in self.prose().filter(|line| line.starts_with('#')) {
            let title = line.trim_start_matches('#').trim();
            let slug: String = title.chars().filter_map(in_anchor).collect();
            let count = counts.entry(slug.clone()).or_default();
            anchors.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
            *count += 1;
        }
        anchors.extend(self.included().iter().flat_map(Self::anchors));
        anchors
    }
}

fn in_anchor(character: char) -> Option<char> {
    match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        _ if character.is_alphanumeric() => Some(character.to_ascii_lowercase()),
        _ => None,
    }
}

/// Resolves a path relative to a page into one relative to the root.
fn joined(page: &Path, path: &str) -> PathBuf {
    let mut joined = page.parent().expect("a page is in a folder").to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                joined.pop();
            }
            Component::Normal(name) => joined.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    joined
}

/// Returns the files below a folder, sorted by their paths relative to the root.
fn files_below(folder: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(root()).expect("below the root").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Returns the pages of the book, without its table of contents.
fn pages() -> Vec<Page> {
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "md") && !path.ends_with("SUMMARY.md")
    };
    files_below("docs").iter().filter(|path| is_page(path)).map(|path| Page::read(path)).collect()
}

#[track_caller]
fn assert_none(wrong: &[String], what: &str) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}

/// Returns the output of the program, without line breaks.
fn printed(arguments: &[&str], input: &str, folder: &Path) -> (bool, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_layland"))
        .args(arguments)
        .env("COLUMNS", "20000")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn document(arguments: &[&str]) -> Value {
    let (_, out, err) = printed(arguments, "", &root());
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {err}"))
}

fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// Formats a string of the program for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace('*', "\\*")
}

#[test]
fn the_commands_print_what_the_pages_show() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .case("../../README.md")
        .case("../../docs/**/*.md");
}

/// trycmd runs every line behind a prompt.
#[test]
fn blocks_that_run_have_this_program_alone() {
    let mut wrong = Vec::new();
    for page in pages() {
        let blocks = page.blocks();
        let commands = blocks.iter().filter(|(language, _)| language == "console");
        for line in commands.flat_map(|(_, text)| text.lines()) {
            if line.starts_with("$ ") && !line.starts_with("$ layland ") {
                wrong.push(format!("{}: {line}", page.name()));
            }
        }
    }
    assert_none(
        &wrong,
        "console blocks are run: write ```text or ```sh for what the tests cannot do",
    );
}

/// The most lines of a file that a page has to show. Recordings of a kernel are longer.
const MOST_SHOWN: usize = 200;

/// Each page shows the files that its commands read.
#[test]
fn files_that_commands_read_are_shown() {
    let mut wrong = Vec::new();
    for page in pages() {
        let folder = page.path.with_extension("in");
        if !root().join(&folder).is_dir() {
            continue;
        }
        let blocks = page.blocks();
        for path in files_below(&folder.to_string_lossy()) {
            let file = fs::read_to_string(root().join(&path)).expect("it can be read");
            let is_long = file.lines().count() > MOST_SHOWN;
            if !is_long && !blocks.iter().any(|(_, text)| *text == file) {
                wrong.push(format!("{} does not show {}", page.name(), path.display()));
            }
        }
    }
    assert_none(&wrong, "files that no block of their page has");
}

/// Each picture has below it a line with the command that draws it.
#[test]
fn pictures_are_those_that_their_commands_draw() {
    let line = Regex::new(r"(?m)^`layland (.+) -o ([\w.-]+\.svg)`$").expect("a valid expression");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book-pictures");
    let (mut wrong, mut drawn) = (Vec::new(), BTreeSet::new());
    for page in pages() {
        for command in line.captures_iter(&page.text) {
            let [arguments, name] = command.extract().1;
            let picture = joined(&page.path, name);
            assert!(drawn.insert(picture.clone()), "{} is drawn twice", picture.display());
            fs::create_dir_all(&scratch).expect("a folder");
            let beside = root().join(page.path.with_extension("in"));
            let folder = if beside.is_dir() { beside } else { scratch.clone() };
            let file = scratch.join(name);
            let mut arguments: Vec<&str> = arguments.split(' ').collect();
            arguments.extend(["-q", "-o", file.to_str().expect("UTF-8")]);
            let (_, _, err) = printed(&arguments, "", &folder);
            let new = fs::read_to_string(&file)
                .unwrap_or_else(|e| panic!("{}: {}: {e}: {err}", page.name(), &command[0]));
            fs::remove_file(&file).expect("it is there");
            if !is_so(&picture, &new) {
                wrong.push(format!("{}: {}", page.name(), picture.display()));
            }
        }
    }
    let guide = ["docs/guide", "docs/policies", "docs/analyses"];
    for path in guide.iter().flat_map(|folder| files_below(folder)) {
        if path.extension().is_some_and(|ending| ending == "svg") && !drawn.contains(&path) {
            wrong.push(format!("{}: no page says how it is drawn", path.display()));
        }
    }
    assert_none(&wrong, "pictures that differ: LAYLAND_WRITE=1 writes them again");
}

/// Returns true if a file has this text. Writes the file if that is requested.
fn is_so(path: &Path, text: &str) -> bool {
    let path = root().join(path);
    let is_so = fs::read_to_string(&path).is_ok_and(|old| old == text);
    if !is_so && std::env::var_os("LAYLAND_WRITE").is_some() {
        fs::write(&path, text).expect("it can be written");
        return true;
    }
    is_so
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let contents = Page::read(Path::new("docs/SUMMARY.md"));
    let link = Regex::new(r"\]\(([^)]+)\)").expect("a valid expression");
    let mut listed = BTreeSet::new();
    let mut wrong = Vec::new();
    for found in link.captures_iter(&contents.text) {
        if !listed.insert(joined(&contents.path, &found[1])) {
            wrong.push(format!("{} is there twice", &found[1]));
        }
    }
    let there: BTreeSet<PathBuf> = pages().into_iter().map(|page| page.path).collect();
    wrong.extend(there.difference(&listed).map(|path| format!("{} is missing", path.display())));
    wrong.extend(listed.difference(&there).map(|path| format!("{} is not there", path.display())));
    assert_none(&wrong, "docs/SUMMARY.md");
}

#[test]
fn links_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a valid expression");
    let code = Regex::new(r"`[^`]*`").expect("a valid expression");
    let mut all = pages();
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"] {
        all.push(Page::read(Path::new(name)));
    }
    let anchors: BTreeMap<PathBuf, BTreeSet<String>> =
        all.iter().map(|page| (page.path.clone(), page.anchors())).collect();
    let mut wrong = Vec::new();
    for page in &all {
        for line in page.prose() {
            // A link may have code in its text; a span between two backquotes that contains a link
            // is not code.
            let line = code.replace_all(line, |span: &Captures<'_>| {
                if span[0].contains("](") { String::new() } else { span[0].to_owned() }
            });
            for found in link.captures_iter(&line) {
                let target = &found[1];
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path =
                    if path.is_empty() { page.path.clone() } else { joined(&page.path, path) };
                let is_in_book = !page.path.starts_with("docs") || path.starts_with("docs");
                let has_anchor = anchor.is_empty()
                    || anchors.get(&path).is_some_and(|anchors| anchors.contains(anchor));
                if !is_in_book || !root().join(&path).exists() || !has_anchor {
                    wrong.push(format!("{}: {target}", page.name()));
                }
            }
        }
    }
    assert_none(&wrong, "links that lead nowhere, or out of the book");
}

/// Every example of a task-set file is valid, once its omitted parts are filled in.
#[test]
fn examples_of_task_set_files_are_read() {
    let mut wrong = Vec::new();
    for page in pages() {
        let is_reference = page.path.ends_with("task-set-file.md");
        for (_, text) in page.blocks().iter().filter(|(language, _)| language == "toml") {
            if !is_reference && !text.contains("layland = 1") {
                continue;
            }
            let mut set = text.clone();
            if !set.contains("layland = 1") {
                set.insert_str(0, "layland = 1\n");
            }
            if !set.contains("[platform]") {
                set.push_str("[platform]\ncpus = 4\n");
            }
            if !set.contains("[[task]]") {
                set.push_str("[[task]]\nname = \"other\"\nperiod = \"10ms\"\nwcet = \"1ms\"\n");
            }
            let arguments = ["convert", "-", "--from", "toml", "--to", "toml"];
            let (is_read, _, err) = printed(&arguments, &set, &root());
            if !is_read {
                wrong.push(format!("{}: {err}{text}", page.name()));
            }
        }
    }
    assert_none(&wrong, "examples that are no task sets");
}

/// Every experiment that a page shows can be planned.
#[test]
fn examples_of_experiments_are_read() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book-experiments");
    fs::create_dir_all(&scratch).expect("a folder");
    let mut count = 0;
    for page in pages() {
        for (_, text) in page.blocks().iter().filter(|(_, text)| text.contains("lab = 1\n")) {
            count += 1;
            fs::write(scratch.join("mine.toml"), text).expect("it can be written");
            let (is_read, _, err) = printed(&["lab", "units", "mine.toml"], "", &scratch);
            assert!(is_read, "{}: {err}", page.name());
        }
    }
    assert!(count > 0, "no page shows an experiment");
}

/// The first page that users see fits a few screens, and contains the two most important commands.
#[test]
fn the_readme_is_short() {
    let readme = Page::read(Path::new("README.md"));
    let lines = readme.text.lines().count();
    assert!(lines < 150, "{lines} lines: what is more belongs into the book");
    for command in ["\ncargo layland check ", "\ncargo test --workspace\n"] {
        assert!(readme.text.contains(command), "{command}");
    }
}

/// The tables of a task-set file: their names in the page, and their definitions in the schema.
const TABLES: [(&str, &str); 13] = [
    ("root", ""),
    ("platform", "PlatformTable"),
    ("overhead", "OverheadTable"),
    ("criticality", "CriticalityTable"),
    ("resource", "ResourceTable"),
    ("group", "GroupTable"),
    ("task", "TaskTable"),
    ("release", "ReleaseTable"),
    ("exec", "ExecTable"),
    ("defaults", "DefaultsTable"),
    ("chain", "ChainTable"),
    ("request", "RequestTable"),
    ("provenance", "ProvenanceTable"),
];

fn definition<'a>(schema: &'a Value, name: &str) -> &'a Value {
    if name.is_empty() { schema } else { &schema["$defs"][name] }
}

#[test]
fn every_key_of_a_task_set_file_has_an_example() {
    let page = Page::read(Path::new("docs/guide/task-set-file.md"));
    let schema = document(&["schema"]);
    let heading = Regex::new(r"(?m)^### (.*)$").expect("a valid expression");
    let mut wrong = Vec::new();
    for (name, of) in TABLES.iter().filter(|(name, _)| *name != "defaults") {
        let start = format!("<!-- made: keys {name} -->");
        let Some((_, section)) = page.text.split_once(&start) else {
            wrong.push(format!("{name}: no `{start}`"));
            continue;
        };
        let section = section.split("\n## ").next().unwrap_or_default();
        let sections: Vec<&str> = section.split("\n### ").skip(1).collect();
        let definition = definition(&schema, of);
        let keys: Vec<String> = match &definition["properties"] {
            Value::Object(keys) => keys.keys().cloned().collect(),
            _ => list(definition, "oneOf").iter().map(|kind| form(kind).1).collect(),
        };
        for key in keys {
            let has_it = |section: &&&str| {
                let title = section.lines().next().unwrap_or_default();
                title.contains(&format!("`{key}`")) && section.contains("```toml")
            };
            if !sections.iter().any(|section| has_it(&section)) {
                wrong.push(format!("{name}: `{key}` has no `### ` with an example"));
            }
        }
    }
    assert!(heading.is_match(&page.text), "the page has sections");
    assert_none(&wrong, "keys of the schema");
}

/// Returns the key that distinguishes a form of a table, and its value.
fn form(kind: &Value) -> (String, String) {
    let Value::Object(keys) = &kind["properties"] else { panic!("{kind}: not a table") };
    let tells = keys.iter().find(|(_, key)| key["const"].is_string());
    let (key, value) = tells.unwrap_or_else(|| panic!("{kind}: nothing tells it from others"));
    (key.clone(), text(value, "const").to_owned())
}

/// The parts that are generated from the program's own data are up to date and complete.
#[test]
fn what_is_made_of_the_program_is_up_to_date() {
    let part = Regex::new(r"(?s)<!-- made: ([^>]+) -->\n.*?<!-- end -->").expect("valid");
    let facts = Facts::read();
    let (mut wrong, mut made) = (Vec::new(), BTreeSet::new());
    for page in pages() {
        let new = part.replace_all(&page.text, |found: &Captures<'_>| {
            let what = &found[1];
            let (kind, names) = what.split_once(' ').unwrap_or((what, ""));
            for name in names.split(' ') {
                let one = format!("{kind} {name}").trim().to_owned();
                assert!(made.insert(one), "{kind} {name} is made twice");
            }
            let text = facts.make(what, &page.path);
            format!("<!-- made: {what} -->\n\n{}\n\n<!-- end -->", text.trim())
        });
        if !is_so(&page.path, &new) {
            wrong.push(page.name());
        }
    }
    for what in facts.everything() {
        if !made.contains(&what) {
            wrong.push(format!("no page has `<!-- made: {what} -->`"));
        }
    }
    assert_none(&wrong, "made of the program: LAYLAND_WRITE=1 writes it again");
}

/// The program's description of itself.
struct Facts {
    policies: Value,
    codes: Value,
    demos: Value,
    schema: Value,
    /// The page that explains each policy and analysis.
    places: BTreeMap<String, PathBuf>,
}

impl Facts {
    fn read() -> Self {
        let named =
            Regex::new(r"<!-- made: (?:policy|analysis) ([^>]+) -->").expect("a valid expression");
        let mut places = BTreeMap::new();
        for page in pages() {
            for found in named.captures_iter(&page.text) {
                for name in found[1].split(' ') {
                    places.insert(name.to_owned(), page.path.clone());
                }
            }
        }
        Self {
            policies: document(&["policies", "--json"]),
            codes: document(&["explain", "--json"]),
            demos: document(&["demos", "--json"]),
            schema: document(&["schema"]),
            places,
        }
    }

    fn codes(&self, sorts: &[&str]) -> Vec<&Value> {
        let codes = list(&self.codes, "codes").iter();
        codes.filter(|code| sorts.contains(&text(code, "sort"))).collect()
    }

    /// Returns every part that some page has to contain.
    fn everything(&self) -> Vec<String> {
        let mut all: Vec<String> =
            ["policies", "analyses", "assumptions", "demos", "errors", "exits", "simso"]
                .map(str::to_owned)
                .to_vec();
        let names = list(&self.policies, "policies").iter().map(|policy| text(policy, "name"));
        all.extend(names.map(|name| format!("policy {name}")));
        let names = self.codes(&["test", "bound"]).into_iter().map(|code| text(code, "code"));
        all.extend(names.map(|name| format!("analysis {name}")));
        all.extend(TABLES.map(|(name, _)| format!("keys {name}")));
        all
    }

    fn make(&self, what: &str, page: &Path) -> String {
        match what.split_once(' ') {
            Some(("policy", name)) => self.policy(name, page),
            Some(("analysis", name)) => self.analysis(name),
            Some(("keys", name)) => self.keys(name),
            None if what == "policies" => {
                let all = list(&self.policies, "policies").iter();
                let rows = all.map(|policy| {
                    let link = self.link(text(policy, "name"), page);
                    format!(
                        "| {link} | {} | {} |\n",
                        cell(text(policy, "title")),
                        cell(text(policy, "summary"))
                    )
                });
                rows.fold("| name | policy | what it does |\n|---|---|---|\n".to_owned(), |a, b| {
                    a + &b
                })
            }
            None if what == "simso" => self.simso(page),
            None if what == "demos" => {
                let all = list(&self.demos, "demos").iter();
                let rows = all.map(|demo| {
                    format!("| `{}` | {} |\n", text(demo, "name"), cell(text(demo, "title")))
                });
                rows.fold("| set | what it shows |\n|---|---|\n".to_owned(), |a, b| a + &b)
            }
            None => {
                let (sorts, head): (&[&str], _) = match what {
                    "analyses" => {
                        (&["test", "bound"], "| name | what it is | answers |\n|---|---|---|\n")
                    }
                    "assumptions" => (&["assumption"], "| name | what has to hold |\n|---|---|\n"),
                    "errors" => (&["error code"], "| code | what is wrong |\n|---|---|\n"),
                    "exits" => (&["exit code"], "| code | | meaning |\n|---|---|---|\n"),
                    _ => panic!("nobody can make `{what}`"),
                };
                let rows = self.codes(sorts).into_iter().map(|code| {
                    let name = text(code, "code");
                    let title = cell(text(code, "title"));
                    match what {
                        "analyses" => {
                            format!("| {} | {title} | {} |\n", self.link(name, page), answers(code))
                        }
                        "exits" => {
                            let about = list(code, "text").iter().filter_map(Value::as_str);
                            format!("| {name} | {title} | {} |\n", cell(&about.collect::<String>()))
                        }
                        _ => format!("| `{name}` | {title} |\n"),
                    }
                });
                rows.fold(head.to_owned(), |a, b| a + &b)
            }
            Some(_) => panic!("nobody can make `{what}`"),
        }
    }

    /// Returns a table of the schedulers of SimSo and their policies here.
    fn simso(&self, page: &Path) -> String {
        let registry = Registry::standard();
        let mut out = "| SimSo | policy | schedule | |\n|---|---|---|---|\n".to_owned();
        for one in &SIMSO_SCHEDULERS {
            let policy = one.policy.map_or_else(
                || "none".to_owned(),
                |policy| {
                    let (info, _) = registry.parse(policy).unwrap_or_else(|e| panic!("{e}"));
                    let name = info.name.as_ref();
                    self.link(name, page).replace(&format!("`{name}`"), &format!("`{policy}`"))
                },
            );
            let _ = writeln!(
                out,
                "| `{}` | {policy} | {} | {} |",
                one.class,
                one.agreement.text(),
                cell(one.note)
            );
        }
        out
    }

    /// Returns a link from a name to its page.
    fn link(&self, name: &str, page: &Path) -> String {
        let Some(place) = self.places.get(name) else { return format!("`{name}`") };
        let up = page.components().count() - 2;
        let path = place.strip_prefix("docs").expect("pages are in docs").display();
        let of_page = Page::read(place);
        let heading = of_page.prose().find(|line| {
            line.starts_with("##")
                && line.trim_start_matches('#').trim().split(", ").any(|one| one == name)
        });
        let slug = |line: &str| {
            line.trim_start_matches('#').trim().chars().filter_map(in_anchor).collect::<String>()
        };
        let anchor = heading.map(|line| format!("#{}", slug(line))).unwrap_or_default();
        let path = if place == page { String::new() } else { "../".repeat(up) + &path.to_string() };
        match path + &anchor {
            target if target.is_empty() => format!("`{name}`"),
            target => format!("[`{name}`]({target})"),
        }
    }

    fn policy(&self, name: &str, page: &Path) -> String {
        let mut all = list(&self.policies, "policies").iter();
        let policy = all.find(|policy| text(policy, "name") == name);
        let policy = policy.unwrap_or_else(|| panic!("there is no policy `{name}`"));
        let mut out = String::new();
        let refuses: Vec<String> =
            list(policy, "refuses").iter().filter_map(Value::as_str).map(cell).collect();
        if !refuses.is_empty() {
            let _ = writeln!(out, "*`{name}` refuses* {}.\n", refuses.join("; "));
        }
        let _ = writeln!(out, "*Ties*: {}.\n", cell(text(policy, "ties")));
        let about =
            Regex::new(r"\bunder ([a-z0-9-]+(?:, [a-z0-9-]+)*)").expect("a valid expression");
        for (sort, label) in [("test", "Guaranteed by"), ("bound", "Lateness is bounded by")] {
            let is_about = |code: &&Value| {
                let lines = list(code, "text").iter().filter_map(Value::as_str);
                let mut lines =
                    lines.filter(|line| line.starts_with("A yes") || line.starts_with("No job"));
                lines.any(|line| {
                    let found = about.captures(line);
                    found.is_some_and(|found| found[1].split(", ").any(|one| one == name))
                })
            };
            let codes = self.codes(&[sort]).into_iter().filter(is_about);
            let links: Vec<String> =
                codes.map(|code| self.link(text(code, "code"), page)).collect();
            if !links.is_empty() {
                let _ = writeln!(out, "*{label}* {}.\n", links.join(", "));
            }
        }
        if !list(policy, "options").is_empty() {
            out.push_str("| option | meaning |\n|---|---|\n");
            for option in list(policy, "options") {
                let _ = writeln!(
                    out,
                    "| `{}` | {} |",
                    text(option, "name"),
                    cell(text(option, "help"))
                );
            }
            out.push('\n');
        }
        for citation in list(policy, "citations") {
            let _ = writeln!(out, "- {}", cell(text(citation, "text")));
        }
        out
    }

    /// Describes one analysis, or several that differ only in their policies.
    fn analysis(&self, names: &str) -> String {
        let mut out = String::new();
        let names: Vec<&str> = names.split(' ').collect();
        let (mut codes, is_one) = (Vec::new(), names.len() == 1);
        for name in &names {
            let mut all = self.codes(&["test", "bound"]).into_iter();
            let code = all.find(|code| text(code, "code") == *name);
            codes.push(code.unwrap_or_else(|| panic!("there is no analysis `{name}`")));
        }
        // Print the assumptions that all analyses share only once.
        let common = codes.iter().min_by_key(|code| assumed(code).len()).expect("one at least");
        for (name, code) in names.iter().zip(&codes) {
            let title = cell(text(code, "title"));
            if is_one {
                let _ = writeln!(out, "*{title}.*");
                continue;
            }
            let about = list(code, "text").iter().filter_map(Value::as_str).map(cell);
            let about = about.filter(|line| line.starts_with("A yes")).collect::<String>();
            let of_all = assumed(common);
            let more: Vec<&str> =
                assumed(code).into_iter().filter(|one| !of_all.contains(one)).collect();
            let more = if more.is_empty() {
                String::new()
            } else {
                format!(" It also assumes: {}.", more.join("; "))
            };
            let _ = writeln!(out, "- `{name}`: {title}. {about}{more}");
        }
        for line in list(common, "text").iter().filter_map(Value::as_str) {
            if is_one || !line.starts_with("A yes") {
                let _ = writeln!(out, "\n{}", cell(line));
            }
        }
        out.push('\n');
        let mut references = BTreeSet::new();
        for name in names {
            let (_, said, _) = printed(&["explain", name], "", &root());
            let said = said.split("\nReferences\n").nth(1).unwrap_or_default();
            let said = said.split("\n\n").next().unwrap_or_default();
            // A line with a deeper indent continues the reference before it.
            let said = said.replace("\n    ", " ");
            for line in said.lines().filter(|line| references.insert((*line).to_owned())) {
                let _ = writeln!(out, "- {}", cell(line));
            }
        }
        out
    }

    fn keys(&self, name: &str) -> String {
        let of = TABLES.iter().find(|(table, _)| *table == name);
        let (_, of) = of.unwrap_or_else(|| panic!("there is no table `{name}`"));
        let definition = definition(&self.schema, of);
        let needed =
            |table: &Value, key: &str| list(table, "required").iter().any(|name| name == key);
        let mut out = String::new();
        if let Value::Object(keys) = &definition["properties"] {
            out.push_str("| key | value | meaning |\n|---|---|---|\n");
            for (key, value) in keys {
                let star = if needed(definition, key) { ", required" } else { "" };
                let about = cell(text(value, "description"));
                let _ = writeln!(out, "| `{key}` | {}{star} | {about} |", kind(value));
            }
            return out;
        }
        let forms = list(definition, "oneOf");
        let tells = form(&forms[0]).0;
        let _ = writeln!(out, "| `{tells}` | with | meaning |\n|---|---|---|");
        for table in forms {
            let Value::Object(keys) = &table["properties"] else { panic!("{table}: not a table") };
            let others = keys.iter().filter(|(key, _)| **key != tells);
            let others: Vec<String> = others
                .map(|(key, value)| {
                    format!(
                        "`{key}`: {}",
                        cell(text(value, "description")).trim_end_matches('.').to_lowercase()
                    )
                })
                .collect();
            let about = cell(text(table, "description"));
            let _ = writeln!(out, "| `{}` | {} | {about} |", form(table).1, others.join("; "));
        }
        out
    }
}

/// Returns the assumptions of an analysis, without numbers.
fn assumed(code: &Value) -> Vec<&str> {
    let mut lines = list(code, "text").iter().filter_map(Value::as_str);
    let all = lines.find_map(|line| line.strip_prefix("Assumes: ")).unwrap_or_default();
    let all = all.trim_end_matches('.').split(", (");
    all.filter_map(|one| one.split_once(") ").map(|(_, what)| what)).collect()
}

/// Returns which answers of an analysis can be trusted.
fn answers(code: &Value) -> &'static str {
    let all: String = list(code, "text").iter().filter_map(Value::as_str).collect();
    match all.split([':', ' ']).next() {
        _ if text(code, "sort") == "bound" => "a bound",
        _ if all.contains("never decides by it") => "not safe: shown, never used",
        Some("Exact") => "exact",
        Some("Sufficient") => "sufficient",
        Some("Necessary") => "necessary",
        _ => "a search",
    }
}

/// Describes the kind of value of a key in a word or two.
fn kind(value: &Value) -> String {
    let of = |value: &Value| match text(value, "$ref").rsplit('/').next() {
        Some("TimeText") => Some("a time".to_owned()),
        Some("RateText") => Some("an exact number in quotes".to_owned()),
        Some("Constraints") => Some("a constraint, or a list".to_owned()),
        Some("MissText") => Some("a probability per job".to_owned()),
        Some("Cpus") => Some("CPUs".to_owned()),
        Some("CacheSets") => Some("sets of a cache".to_owned()),
        Some("CpuCount") => Some("a number of CPUs".to_owned()),
        Some("Wcet") => Some("a time, or one for each level".to_owned()),
        Some("Nonpreemptive") => Some("`true`, `false` or a time".to_owned()),
        Some("InnerName") => Some("one of six names".to_owned()),
        Some("OnMissName" | "ServerName" | "Tie") => Some("one of three names".to_owned()),
        Some("CommunicationName") => Some("one of two names".to_owned()),
        Some("Release" | "Exec") => Some("a name, or a table".to_owned()),
        Some("BudgetText") => Some("a time, or `design`".to_owned()),
        Some("Seed") => Some("a number or a string".to_owned()),
        Some(name) if name.ends_with("Table") => Some("a table".to_owned()),
        _ => None,
    };
    let types: Vec<&str> = match &value["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let inner = list(value, "anyOf").iter().find_map(of).or_else(|| of(value));
    inner.unwrap_or_else(|| match types.first() {
        Some(&"integer") => "a whole number".to_owned(),
        Some(&"string") => "a string".to_owned(),
        Some(&"boolean") => "`true` or `false`".to_owned(),
        Some(&"array") => "a list".to_owned(),
        Some(&"object") => "a table".to_owned(),
        other => panic!("{other:?}: a kind of value that nobody has a word for: {value}"),
    })
}

/// The skeleton of a program in C compiles without a warning and runs its jobs, and the lines that set
/// CPUs and priorities are those of the assignment that the page prints.
#[test]
fn the_program_in_c_compiles_and_runs() {
    let page = Page::read(Path::new("docs/guide/c-programs.md"));
    let set = ["-t", "control=1ms/5ms", "-t", "camera=6ms/20ms", "-t", "log=30ms/100ms"];
    let more = ["--cpus", "2", "--policy", "p-dm", "--json"];
    let checked = Command::new(env!("CARGO_BIN_EXE_layland"))
        .arg("check")
        .args(set)
        .args(more)
        .output()
        .expect("it runs");
    let document: Value = serde_json::from_slice(&checked.stdout).expect("JSON");
    let assigned = document["policies"][0]["assignment"].as_array().expect("it assigns");
    assert_eq!(assigned.len(), 3);
    let sources: Vec<String> =
        page.blocks().into_iter().filter(|(kind, _)| kind == "c").map(|(_, text)| text).collect();
    let [skeleton, reserve] = &sources[..] else { panic!("{} programs in C", sources.len()) };
    for task in assigned {
        let name = task["task"].as_str().expect("a name");
        let (cpu, place) = (&task["cpu"], task["priority"].as_i64().expect("it is fixed"));
        // A larger number is a higher priority of SCHED_FIFO.
        let priority = 81 - place;
        let row = format!(
            "| `{name}` | {cpu} | {priority} | `sudo taskset -cp {cpu} TID; sudo chrt -f -p {priority} TID` |"
        );
        assert!(page.text.contains(&row), "the page lacks {row}");
        let entry = skeleton.lines().find(|line| line.contains(&format!(".name = \"{name}\"")));
        let fields = format!(".cpu = {cpu}, .priority = {priority} ");
        assert!(entry.is_some_and(|entry| entry.contains(&fields)), "{name}: {fields}");
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    fs::create_dir_all(&folder).expect("a folder");
    let is_compiled = |name: &str, text: &str, arguments: &[&str]| {
        let source = folder.join(format!("{name}.c"));
        fs::write(&source, text).expect("a file");
        let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-pthread"];
        let compiled = Command::new("cc")
            .args(flags)
            .args(arguments)
            .arg("-o")
            .arg(folder.join(name))
            .arg(&source)
            .output();
        let Ok(compiled) = compiled else {
            println!("skipped: needs cc");
            return false;
        };
        let errors = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{name}: {errors}");
        true
    };
    if !is_compiled("robot", skeleton, &[]) {
        return;
    }
    assert!(is_compiled("reserve", reserve, &["-c"]));
    let ran = Command::new(folder.join("robot")).arg("0.3").output().expect("it runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let said = String::from_utf8(ran.stdout).expect("UTF-8");
    for jobs in ["control: 60 jobs", "camera: 15 jobs", "log: 3 jobs"] {
        assert!(said.contains(jobs), "{said}");
    }
}
