//! Circles: files of a crate that need each other, so that none of them can be understood alone.
//!
//! File `a` needs file `b` if a path in `a` (`crate::..`, `super::..`, `self::..`) leads to `b`. A
//! name that a `mod.rs` or `lib.rs` only re-exports is resolved to its file. Declaring a module and
//! re-exporting a name do not count as a need.

use super::{assert_none, files_below};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of files in a circle.
const LARGEST: usize = 3;

type Module = Vec<String>;

/// The modules of a crate: its files, with the paths that each names and re-exports.
struct Crate {
    files: BTreeMap<Module, Parsed>,
}

#[derive(Default)]
struct Parsed {
    path: String,
    /// The paths that the file names, from the root of the crate.
    names: Vec<Module>,
    /// The re-exports, by their public names; `*` for everything in a module.
    passed_on: Vec<(String, Module)>,
}

/// Returns the module of a file in `src`.
fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut module: Module = path.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    module
}

/// Adds the paths of a use tree, each ending with the name by which it is known.
fn expand(prefix: &[String], tree: &str, found: &mut Vec<Module>) {
    let tree = tree.trim();
    let (mut depth, mut start) = (0, 0);
    let mut parts = Vec::new();
    for (at, letter) in tree.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[start..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        let (path, rest) = match part.split_once('{') {
            Some((path, rest)) => (path, rest.strip_suffix('}')),
            None => (part.split(" as ").next().unwrap_or(part), None),
        };
        let mut module = prefix.to_vec();
        let steps = path.split("::").map(str::trim);
        module.extend(steps.filter(|step| !step.is_empty()).map(str::to_owned));
        match rest {
            Some(rest) => expand(&module, rest, found),
            None => found.push(module),
        }
    }
}

/// Returns a path from the root of the crate, or `None` if it leads out of the crate.
fn from_root(path: &Module, file: &Module) -> Option<Module> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" => file.clone(),
        "super" => file[..file.len().checked_sub(1)?].to_vec(),
        _ => return None,
    };
    for step in &path[1..] {
        match step.as_str() {
            "super" => {
                base.pop()?;
            }
            "self" => {}
            other => base.push(other.to_owned()),
        }
    }
    Some(base)
}

impl Crate {
    fn read(folder: &str) -> Crate {
        let uses = Regex::new(r"(?ms)^\s*(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);").expect("valid");
        let path = Regex::new(r"\b(?:crate|super|self)(?:::\w+)+").expect("valid");
        let comment = Regex::new(r"(?m)//.*$").expect("valid");
        let files = files_below(folder);
        let files = files.iter().filter(|file| file.has_ending("rs"));
        let src = format!("{folder}/");
        let mut parsed = BTreeMap::new();
        for file in files {
            let module = module_of(file.path.strip_prefix(&src).expect("it is in the folder"));
            // Ignore the tests of a file, because their needs are not those of the file.
            let code = file.text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code = comment.replace_all(code, "");
            let mut this = Parsed { path: file.path.clone(), ..Parsed::default() };
            for found in uses.captures_iter(&code) {
                let mut paths = Vec::new();
                expand(&[], &found[2], &mut paths);
                for path in paths {
                    // In a parent, the path of a child may begin with the child's name.
                    let absolute = from_root(&path, &module)
                        .or_else(|| found.get(1).map(|_| [module.clone(), path.clone()].concat()));
                    let Some(absolute) = absolute else { continue };
                    match found.get(1) {
                        Some(_) => {
                            let name = absolute.last().cloned().unwrap_or_default();
                            this.passed_on.push((name, absolute));
                        }
                        None => this.names.push(absolute),
                    }
                }
            }
            let rest = uses.replace_all(&code, "");
            for found in path.find_iter(&rest) {
                let steps: Module = found.as_str().split("::").map(str::to_owned).collect();
                this.names.extend(from_root(&steps, &module));
            }
            parsed.insert(module, this);
        }
        // Children that a parent names without `self`.
        let modules: BTreeSet<Module> = parsed.keys().cloned().collect();
        let bare = Regex::new(r"\b([a-z_]\w*)::\w").expect("valid");
        for (module, this) in &mut parsed {
            let text = std::fs::read_to_string(super::root().join(&this.path)).unwrap_or_default();
            let code = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let code = comment.replace_all(code, "");
            let code = uses.replace_all(&code, |found: &regex::Captures<'_>| match found.get(1) {
                Some(_) => String::new(),
                None => found[0].to_owned(),
            });
            for found in bare.captures_iter(&code) {
                let child = [module.as_slice(), &[found[1].to_owned()]].concat();
                if modules.contains(&child) {
                    this.names.push(child);
                }
            }
        }
        Crate { files: parsed }
    }

    /// Returns the file to which a path leads.
    fn lead(&self, path: &[String], depth: usize) -> Option<&Module> {
        let longest =
            (0..=path.len()).rev().find(|&count| self.files.contains_key(&path[..count]))?;
        let (module, parsed) = self.files.get_key_value(&path[..longest])?;
        let Some(name) = path.get(longest) else { return Some(module) };
        let passed_on = parsed.passed_on.iter().find(|(known, _)| known == name);
        match passed_on {
            Some((_, target)) if depth < 8 => self.lead(target, depth + 1),
            Some(_) | None => Some(module),
        }
    }

    /// Returns the files that each file needs.
    fn needs(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let needs = self.files.iter().map(|(module, parsed)| {
            let needed = parsed.names.iter().filter_map(|path| self.lead(path, 0));
            (module, needed.filter(|&other| other != module).collect())
        });
        needs.collect()
    }

    /// Returns the files that need each other, directly or not: each circle once, the largest first.
    fn circles(&self) -> Vec<Vec<&str>> {
        let needs = self.needs();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = needs
            .keys()
            .map(|&start| {
                let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
                while let Some(module) = open.pop() {
                    for &next in &needs[module] {
                        if seen.insert(next) {
                            open.push(next);
                        }
                    }
                }
                (start, seen)
            })
            .collect();
        let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
        for (&module, seen) in &reached {
            let circle = seen.iter().filter(|&&other| reached[other].contains(module));
            let circle: Vec<&str> = circle.map(|&other| self.files[other].path.as_str()).collect();
            if !circle.is_empty() {
                circles.insert(circle);
            }
        }
        let mut circles: Vec<_> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }
}

#[test]
fn no_circle_is_larger_than_three_files() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(super::root().join("crates")).expect("the crates are there") {
        let name = entry.expect("it can be read").file_name().to_string_lossy().into_owned();
        let folder = format!("crates/{name}/src");
        // One crate consists only of tests.
        if !super::root().join(&folder).exists() {
            continue;
        }
        let sources = Crate::read(&folder);
        for circle in sources.circles().iter().filter(|circle| circle.len() > LARGEST) {
            found.push(format!("{}: {}", circle.len(), circle.join(" ")));
        }
    }
    assert_none(&found, "circles");
}
