//! The pages about papers in the book, beside the packaged experiments and the tables of docs/papers.md.

use layland_lab::packaged::{self, PAPERS};
use layland_lab::{Experiment, Origin};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn docs(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn experiment(name: &str) -> Experiment {
    packaged::find(name).expect("it is packaged").experiment()
}

/// The judgement of each claim on a page, as docs/papers.md writes it.
fn judged(page: &str) -> BTreeMap<String, String> {
    let page = page.replace("\n  ", " ");
    let mut lines = page.lines().peekable();
    let mut found = BTreeMap::new();
    while let Some(line) = lines.next() {
        let Some((here, _)) = line.strip_prefix("**").and_then(|line| line.split_once("**")) else {
            continue;
        };
        let details: Vec<&str> =
            std::iter::from_fn(|| lines.next_if(|line| !line.starts_with("**")))
                .filter_map(|line| line.strip_prefix("- "))
                .collect();
        let Some((name, rest)) = details.first().and_then(|line| line.split_once(": ")) else {
            continue;
        };
        let counts = rest.split("; ").next().unwrap_or(rest).rsplit(", ").next().unwrap_or(rest);
        let interval = details.iter().find_map(|line| line.strip_prefix("99 %: "));
        let interval = interval.and_then(|line| {
            let (low, rest) = line.split_once(" to ")?;
            let high = rest.split_whitespace().next()?;
            Some(format!(" [{low}, {high}]"))
        });
        let shown = match here {
            "not shown" => here.to_owned(),
            _ => {
                format!("{here}, {}{}", counts.replace(" of ", "/"), interval.unwrap_or_default())
            }
        };
        found.insert(name.to_owned(), shown);
    }
    found
}

#[test]
fn pages_have_the_claims_of_the_packaged_experiments() {
    for name in PAPERS {
        let (experiment, page) = (experiment(name), docs(&format!("results/papers/{name}.md")));
        let run = format!("{} sets per point", experiment.sets);
        let seed = format!("seed {}", experiment.seed);
        let unwrapped = page.replace('\n', " ");
        assert!(unwrapped.contains(&run) && unwrapped.contains(&seed), "{name}: not {run}, {seed}");
        let computed = experiment
            .claims
            .iter()
            .filter(|claim| claim.origin(&experiment) == Origin::Computed)
            .map(|claim| claim.name.clone());
        let on_page: BTreeSet<String> = judged(&page).into_keys().collect();
        assert_eq!(on_page, computed.collect(), "{name}: tools/make_results.py {name}");
    }
}

/// A row names its claims in its second cell, and says in its third how each was judged.
#[test]
fn the_tables_say_what_the_pages_say() {
    let judged: BTreeMap<String, String> = PAPERS
        .iter()
        .flat_map(|name| judged(&docs(&format!("results/papers/{name}.md"))))
        .collect();
    let mut seen = BTreeSet::new();
    let papers = docs("papers.md");
    for line in papers.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (Some(by), Some(here)) = (cells.get(2), cells.get(3)) else { continue };
        let names = by.split('`').filter(|part| judged.contains_key(*part));
        let names: Vec<&str> = names.collect();
        for &name in &names {
            let part = here.split("; ").find_map(|part| {
                let part = part.strip_prefix('`')?;
                part.split_once("` ").filter(|(of, _)| *of == name).map(|(_, part)| part)
            });
            let part = part.unwrap_or(here);
            assert_eq!(part, judged[name], "{name} in docs/papers.md");
            seen.insert(name.to_owned());
        }
    }
    let all: BTreeSet<String> = judged.into_keys().collect();
    assert_eq!(seen, all, "the claims that docs/papers.md names");
}
