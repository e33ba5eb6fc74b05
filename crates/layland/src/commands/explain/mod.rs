//! `layland explain`: explains a test, a bound, an assumption, an error code, an exit code, a
//! policy, a bundled set or an experiment.
//!
//! Long because the texts of the explanations are here, beside what they explain.

mod codes;
mod draw;
mod named;

use crate::ui::exit::{Exit, Outcome};
use crate::ui::numbers::whole;
use crate::ui::{document, terminal};
use clap::Args;
use codes::{ERRORS, EXITS};
use layland_analysis::chains::ChainAnalysis;
use layland_analysis::{Assumption, Citation, Subject, TestKind, catalogue, overheads};
use layland_guarantee::search::{
    CYCLE, CYCLE_TITLE, INFLATED, INFLATED_TITLE, STATES, STATES_TITLE, WITNESS, WITNESS_TITLE,
    states,
};
use layland_model::{Algorithm, Form, Order};
use layland_policy::{Registry, Values};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// The entry to explain, as in GFB, no-jitter, layland::taskset::missing, 4, p-edf or robot
    #[arg(value_name = "CODE|SET")]
    pub code: Option<String>,
    /// The policy. Its structure for the task set SET is drawn: run, qps, cd and edf-wm build one; amc, plrs and
    /// ocbp have the numbers of their analyses
    #[arg(short, long, value_name = "P", requires = "code", conflicts_with = "json")]
    #[arg(help_heading = "Structure")]
    pub policy: Option<String>,
    /// Write to this file. The drawing: .svg, .dot or .txt
    #[arg(short, long, value_name = "FILE", requires = "policy", help_heading = "Structure")]
    pub output: Option<PathBuf>,
    /// The number of CPUs. Overrides the number in the set
    #[arg(long, value_name = "N", requires = "policy", help_heading = "Structure")]
    #[arg(value_parser = whole::<1, 4096>)]
    pub cpus: Option<u32>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// An entry of the explanations.
struct Entry {
    code: String,
    /// The kind of the entry.
    sort: &'static str,
    /// One line.
    title: String,
    /// The paragraphs of the explanation.
    text: Vec<String>,
    citations: Vec<Citation>,
}

/// The answer of `layland explain --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct ExplainDocument<'a> {
    /// Each of them.
    codes: Vec<Code<'a>>,
}

/// An entry.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct Code<'a> {
    /// Its name.
    code: &'a str,
    /// Its kind: a test, a diagnostic, a policy ..
    sort: &'static str,
    /// In a sentence.
    title: &'a str,
    /// Paragraphs.
    text: &'a [String],
    /// The keys of its sources.
    cite: Vec<&'static str>,
}

pub(crate) fn run(registry: &Registry, args: &ExplainArgs) -> Outcome {
    if let (Some(policy), Some(set)) = (&args.policy, &args.code) {
        return draw::draw(registry, args, set, policy);
    }
    let entries = entries(registry);
    let Some(code) = &args.code else {
        if args.json {
            document::print(&ExplainDocument { codes: entries.iter().map(Code::of).collect() })?;
        } else {
            terminal::result(&format!(
                "{}\n{}\n",
                list(&entries),
                terminal::wrap(named::ALSO, "")
            ))?;
        }
        return Ok(Exit::Yes);
    };
    let named = named::entries(registry);
    let code = code.strip_prefix("demo:").unwrap_or(code);
    let policy = registry.named(code).map(|info| info.name.as_ref());
    let meant: Vec<&str> = std::iter::once(code).chain(policy.ok()).collect();
    // A test and a policy may have the same name: both are explained.
    let found: Vec<&Entry> = (entries.iter().chain(&named))
        .filter(|entry| meant.iter().any(|meant| entry.code.eq_ignore_ascii_case(meant)))
        .collect();
    if found.is_empty() {
        return Err(named::unknown(registry, code, entries.iter().chain(&named)));
    }
    if args.json {
        document::print(&ExplainDocument { codes: found.into_iter().map(Code::of).collect() })?;
    } else {
        terminal::result(&found.into_iter().map(explain).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Yes)
}

fn list(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut sort = "";
    for entry in entries {
        if entry.sort != sort {
            let gap = if sort.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{}s\n", entry.sort);
            sort = entry.sort;
        }
        let alike = entries.iter().filter(|other| other.sort == sort);
        let width = alike.map(|entry| entry.code.len()).max().unwrap_or(0);
        text += &terminal::entry(&format!("  {:width$}  ", entry.code), &entry.title);
    }
    text
}

fn explain(entry: &Entry) -> String {
    let line = |text: &str| format!("{}\n", terminal::wrap(text, "  "));
    let mut text = format!("{} ({})\n", entry.code, entry.sort) + &line(&entry.title);
    entry.text.iter().for_each(|paragraph| text += &line(paragraph));
    if !entry.citations.is_empty() {
        text += "\nReferences\n";
        entry.citations.iter().for_each(|citation| text += &line(citation.text));
    }
    text
}

impl Code<'_> {
    fn of(entry: &Entry) -> Code<'_> {
        Code {
            code: &entry.code,
            sort: entry.sort,
            title: &entry.title,
            text: &entry.text,
            cite: entry.citations.iter().map(|citation| citation.key).collect(),
        }
    }
}

/// Returns the policies that implement one of these algorithms when they are given an option, with
/// that option.
fn with_an_option(registry: &Registry, algorithms: &[Algorithm]) -> Vec<String> {
    let mut specs = Vec::new();
    for info in registry.iter() {
        for option in &info.options {
            match &option.values {
                Values::OneOf(words) => {
                    let of = |word| format!("{}:{}={word}", info.name, option.name);
                    specs.extend(words.iter().map(of));
                }
                Values::Switch => specs.push(format!("{}:{}", info.name, option.name)),
                Values::Number | Values::Rate | Values::Duration | Values::Cpus | Values::Bins => {}
            }
        }
    }
    specs.retain(|spec| {
        let parsed = registry.parse(spec);
        parsed.is_ok_and(|(info, options)| algorithms.contains(&info.algorithm(&options)))
    });
    specs
}

/// Returns all entries, in the order of the list.
fn entries(registry: &Registry) -> Vec<Entry> {
    let mut entries = of_tests(registry);
    entries.extend(of_searches());
    entries.extend(of_bounds(registry));
    entries.extend(of_overheads());
    entries.extend(of_chains());
    entries.extend(of_executors());
    entries.extend(of_assumptions());
    let plain = |sort| {
        move |&(code, title, text): &(&str, &str, &str)| Entry {
            code: code.to_owned(),
            sort,
            title: title.to_owned(),
            text: vec![text.to_owned()],
            citations: Vec::new(),
        }
    };
    entries.extend(ERRORS.iter().map(plain("error code")));
    entries.extend(EXITS.iter().map(plain("exit code")));
    entries
}

/// Returns the names of the policies that implement one of these algorithms.
fn policies(registry: &Registry, algorithms: &[Algorithm]) -> String {
    let algorithms = &with_the_fastest(algorithms)[..];
    let names = registry.implementing(algorithms).into_iter().map(|info| info.name.to_string());
    let names: Vec<String> = names.collect();
    if names.is_empty() { with_an_option(registry, algorithms) } else { names }.join(", ")
}

/// Returns these algorithms, with those that put jobs on the fastest CPUs where CPUs differ.
fn with_the_fastest(algorithms: &[Algorithm]) -> Vec<Algorithm> {
    let mut all = algorithms.to_vec();
    for algorithm in algorithms {
        if let Algorithm::FastestFirst(order) = *algorithm {
            all.extend([Form::Global, Form::Clustered].map(|form| Algorithm::Ordered(form, order)));
            all.extend((order == Order::Deadline).then_some(Algorithm::Efdf));
        }
    }
    all
}

/// Says what the answer of a test is about.
fn subject(registry: &Registry, subject: Subject) -> String {
    let policies = |algorithms: &[Algorithm]| policies(registry, algorithms);
    match subject {
        Subject::Algorithms(algorithms) => {
            format!("A yes guarantees every deadline under {}.", policies(algorithms))
        }
        Subject::Covered(algorithms) => format!(
            "A yes guarantees the deadlines of covered jobs under {}: if no job of a task of \
             criticality l or above executes for longer than its WCET at level l, the jobs of these \
             tasks are covered, whatever the others do.",
            policies(algorithms)
        ),
        Subject::Unsound(algorithms, why) => format!(
            "It reproduces the claim of the paper about {}, and `layland check` never decides by it. {why}",
            policies(algorithms)
        ),
        Subject::SomeScheduler => "It covers any scheduler.".to_owned(),
        Subject::SomePartition => {
            "It covers EDF on each CPU, for any partition of the tasks.".to_owned()
        }
        Subject::SomePartitionUnder(_) => {
            "It covers these fixed priorities on each CPU, for any partition of the tasks, and is used where a \
             partitioned policy with them is named and not guaranteed."
                .to_owned()
        }
        Subject::SomePriorities => "It covers any fixed priorities on each CPU.".to_owned(),
        Subject::Admission(algorithms) => format!(
            "It says whether {} admits the tasks, and not whether they meet their deadlines.",
            policies(algorithms)
        ),
    }
}

/// Returns the schedulability tests.
fn of_tests(registry: &Registry) -> Vec<Entry> {
    let mut entries = Vec::new();
    for test in catalogue::TESTS.iter() {
        let about = subject(registry, test.subject);
        entries.push(Entry {
            code: test.name.to_owned(),
            sort: "test",
            title: test.title.to_owned(),
            text: match test.subject {
                Subject::Unsound(..) => vec![about, assumed(test.assumptions)],
                Subject::Algorithms(_)
                | Subject::Covered(_)
                | Subject::SomeScheduler
                | Subject::SomePartition
                | Subject::SomePartitionUnder(_)
                | Subject::SomePriorities
                | Subject::Admission(_) => vec![worth(test.kind), about, assumed(test.assumptions)],
            },
            citations: test.citations.iter().copied().copied().collect(),
        });
    }
    entries
}

/// Returns the searches that come after the tests.
fn of_searches() -> [Entry; 4] {
    [
        Entry {
            code: WITNESS.to_owned(),
            sort: "test",
            title: WITNESS_TITLE.to_owned(),
            text: vec![
                "Where no test decides, `layland check` looks for a legal run that misses: jobs at least a period apart that \
                 execute for up to their WCETs. It tries the densest run, runs with separations and jitter that are \
                 drawn, every state that the tasks can reach (`layland explain STATES`), and first arrivals \
                 that hurt one \
                 task most. It simulates every run that it finds. A miss is a no, with the job that misses, \
                 and the chart \
                 shows the schedule; if it finds none, that proves nothing."
                    .to_owned(),
                "It simulates up to `--effort` jobs, and leaves sets with several criticality levels out: there the run \
                 itself decides which jobs have to meet their deadlines."
                    .to_owned(),
            ],
            citations: Vec::new(),
        },
        Entry {
            code: STATES.to_owned(),
            sort: "test",
            title: STATES_TITLE.to_owned(),
            text: vec![
                "Exact for jobs that arrive at whole multiples of a tick: where the search ends, either a pattern of \
                 releases misses, or no job that arrives at ticks is ever late. Responses are exact where a second \
                 search ends, and bounds elsewhere. A pattern that misses is a no. A yes needs `--tick`, which vouches \
                 that jobs arrive at ticks: four tasks on two CPUs, (C, D, T) = (1, 2, 2), (3, 3, 4), (2, 6, 6), \
                 (1, 4, 7), keep every deadline under global rate-monotonic priorities with releases at whole times, \
                 and miss one with releases at halves. Whole times suffice, and the yes is about all arrivals, on one \
                 CPU, and under global fixed priorities for the first m + 1 tasks on m CPUs."
                    .to_owned(),
                "Without `--tick` it looks for misses at whole multiples of the unit of all times, and of its \
                 half, third and quarter."
                    .to_owned(),
                "It covers global, clustered and partitioned EDF and fixed priorities, the same with strong \
                 affinities, and EDZL, and looks at up to `--effort` states. Under global fixed priorities it judges \
                 task by task, and looks at those states alone in which a job of that task may still be late."
                    .to_owned(),
                assumed(&states::ASSUMES),
            ],
            citations: states::CITATIONS.iter().map(|&citation| *citation).collect(),
        },
        Entry {
            code: INFLATED.to_owned(),
            sort: "test",
            title: INFLATED_TITLE.to_owned(),
            text: vec![
                "Sufficient, for all arrivals. Deadlines and periods are multiples of a tick d. If no job with the WCET \
                 (ceil(C / d) + 1) d is late on ticks, no job of the set is late, whenever it arrives: moved down to \
                 the tick, its release keeps all separations and the order of jobs, and a job that executes for longer \
                 by what it was moved completes no earlier. Deadlines that are equal on ticks are broken in every way."
                    .to_owned(),
                "It covers what STATES covers, but for EDZL and, under EDF, affinities. It comes after all tests, with ticks \
                 down to an eighth of the unit of deadlines and periods, as far as half of `--effort` allows."
                    .to_owned(),
                assumed(&states::ASSUMES),
            ],
            citations: states::CITATIONS.iter().map(|&citation| *citation).collect(),
        },
        Entry {
            code: CYCLE.to_owned(),
            sort: "test",
            title: CYCLE_TITLE.to_owned(),
            text: vec![
                "Where no test decides, every task is periodic without jitter, and some have offsets, every release is known. \
                 The schedule in which each job executes for its WCET is followed until it repeats itself. A \
                 job that is \
                 late in it is a no. Otherwise the answer is a yes, for these offsets alone: nothing is said \
                 of jobs that \
                 come more than a period apart."
                    .to_owned(),
                "A yes needs a policy under which no job ends later for shorter executions: preemptive scheduling by fixed \
                 priorities of jobs (EDF, fixed priorities and what is built of them) on CPUs of unit speed, without \
                 overheads, steps, regions and tasks that follow others. Under other policies the answer stays \
                 unknown. \
                 The schedule is followed for up to `--effort` jobs."
                    .to_owned(),
            ],
            citations: vec![states::HA_LIU],
        },
    ]
}

/// Returns the bounds on tardiness.
fn of_bounds(registry: &Registry) -> Vec<Entry> {
    let mut entries = Vec::new();
    for bound in catalogue::BOUNDS {
        entries.push(Entry {
            code: bound.name.to_owned(),
            sort: "bound",
            title: bound.title.to_owned(),
            text: vec![
                format!(
                    "No job under {} finishes later after its deadline than this.",
                    policies(registry, bound.algorithms)
                ),
                assumed(bound.assumptions),
            ],
            citations: bound.citations.iter().copied().copied().collect(),
        });
    }
    entries
}

/// Returns what is said about overheads.
fn of_overheads() -> [Entry; 2] {
    [
        Entry {
            code: "OVERHEADS".to_owned(),
            sort: "bound",
            title: "overheads of the platform as part of the WCETs".to_owned(),
            text: vec![
                "Every WCET grows by the time that the machine may spend on a job: releases and ticks that come \
                 meanwhile, three scheduling decisions, two context switches, two interrupts and a \
                 migration; the sum is divided by the share that releases and ticks leave of a CPU. A \
                 guarantee for the larger WCETs holds on the machine."
                    .to_owned(),
            ],
            citations: vec![overheads::BRANDENBURG],
        },
        Entry {
            code: "OVERHEADS-OPTIMAL".to_owned(),
            sort: "bound",
            title: "overheads of RUN and QPS as part of the WCETs".to_owned(),
            text: vec![
                "Every WCET grows by a release, a dispatch and a tick, and k times by a dispatch, a migration \
                 and, for RUN, an update of its tree: k = ceil((3p+1)/2) for RUN with p reductions, and \
                 ceil(m/2) for QPS on m CPUs."
                    .to_owned(),
                "It guarantees nothing: the first is a bound on the average over the jobs of a subsystem, the \
                 second a rule of thumb that random sets exceed. `layland check` does not use it; `layland sim` \
                 counts what happens."
                    .to_owned(),
            ],
            citations: vec![Citation::COMPAGNIN],
        },
    ]
}

/// Returns the assumptions of the tests.
fn of_assumptions() -> Vec<Entry> {
    let mut entries = Vec::new();
    for assumption in Assumption::ALL {
        let who: Vec<&str> = (catalogue::TESTS.iter())
            .filter(|test| test.assumptions.contains(&assumption))
            .map(|test| test.name)
            .collect();
        let who = match who.len() {
            _ if assumption == Assumption::Preemptible => {
                "Every test assumes it that is neither about non-preemptive regions (NP-QPA, NP-EDF-RTA, NP-RTA) nor \
                 necessary."
                    .to_owned()
            }
            _ if assumption == Assumption::OnlyExecutes => {
                "Every test assumes it that is neither about locks and self-suspension (LOCK-RTA, PIP-RTA, PCP-RTA, SRP, \
                 SUSP-UNIFIED, MPCP, FMLP+, DPCP, MSRP and their like) nor necessary."
                    .to_owned()
            }
            _ if assumption == Assumption::Independent => {
                "Every test assumes it that is neither about graphs (GRAPH-EDF, GRAPH-FP, GRAPH-RM, GRAPH-DM) nor \
                 necessary."
                    .to_owned()
            }
            _ if assumption == Assumption::NoCacheDelay => {
                "Every test assumes it that is neither about caches (CRPD-COMBINED and the others of that name) nor \
                 necessary."
                    .to_owned()
            }
            _ if assumption == Assumption::Explained => {
                "Every test assumes it: observations of the trace that the set does not explain are in its file, as \
                 `unexplained`."
                    .to_owned()
            }
            0 => "No test assumes it; the speed of hierarchical EDF does.".to_owned(),
            _ => format!("Assumed by {}.", who.join(", ")),
        };
        entries.push(Entry {
            code: assumption.code().to_owned(),
            sort: "assumption",
            title: assumption.text().to_owned(),
            text: vec![
                "A test refuses a system that breaks one of its assumptions, and says where, and how to \
                 fix it."
                    .to_owned(),
                who,
            ],
            citations: Vec::new(),
        });
    }
    entries
}

/// Returns the bounds on latencies of chains.
fn of_chains() -> impl Iterator<Item = Entry> {
    ChainAnalysis::ALL.into_iter().map(|bound| Entry {
        code: bound.name.to_owned(),
        sort: "chain bound",
        title: bound.title.to_owned(),
        text: vec![
            "No reaction time and no data age of the chain is longer.".to_owned(),
            match bound.kind {
                TestKind::Exact => "Exact: both are reached.",
                TestKind::Sufficient | TestKind::Necessary => "A bound: it need not be reached.",
            }
            .to_owned(),
            bound.text.to_owned(),
        ],
        citations: bound.citations.iter().copied().copied().collect(),
    })
}

/// Returns the bounds of `layland ros2`.
fn of_executors() -> impl Iterator<Item = Entry> {
    layland_ros::bounds::Analysis::ALL.into_iter().map(|bound| Entry {
        code: bound.name().to_owned(),
        sort: "ROS 2 bound",
        title: bound.title().to_owned(),
        text: vec![
            "No job of the callback takes longer from its activation to its end.".to_owned(),
            bound.text().to_owned(),
        ],
        citations: bound.citations().iter().copied().copied().collect(),
    })
}

fn worth(kind: TestKind) -> String {
    match kind {
        TestKind::Exact => {
            "Exact: yes and no are both true. Where offsets may keep the worst case away, or \
                        a search stops at its limit, it says unknown."
        }
        TestKind::Sufficient => "Sufficient: a yes is true; where it fails the answer is unknown.",
        TestKind::Necessary => "Necessary: a no is true; where it passes the answer is unknown.",
    }
    .to_owned()
}

fn assumed(assumptions: &[Assumption]) -> String {
    let each: Vec<String> = assumptions
        .iter()
        .enumerate()
        .map(|(at, assumption)| format!("({}) {}", at + 1, assumption.text()))
        .collect();
    format!("Assumes: {}.", each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Collects the codes between quotation marks in the sources of a reader.
    fn codes_in(folder: &std::path::Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                codes_in(&path, found);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                let codes =
                    text.split("\"layland::").skip(1).filter_map(|rest| rest.split('"').next());
                found.extend(codes.map(|code| format!("layland::{code}")));
            }
        }
    }

    #[test]
    fn every_code_is_explained_once() {
        let entries = entries(&Registry::standard());
        let mut codes = BTreeSet::new();
        for entry in &entries {
            assert!(codes.insert(entry.code.to_lowercase()), "{} twice", entry.code);
            assert!(!entry.title.is_empty() && entry.text.iter().all(|text| !text.is_empty()));
        }
        let mut used = BTreeSet::new();
        for reader in ["layland-config/src", "layland-lab/src", "layland/src/commands/ros2"] {
            let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent();
            codes_in(&crates.expect("there are other crates").join(reader), &mut used);
        }
        assert!(used.len() > 40, "only {used:?}");
        for code in &used {
            assert!(codes.contains(code), "{code} is not explained");
        }
        for (code, ..) in ERRORS {
            assert!(used.contains(*code), "{code} is explained, and nobody says it");
        }
    }

    #[test]
    fn every_response_bound_has_a_test_of_its_name() {
        for bound in catalogue::RESPONSES.iter() {
            assert!(catalogue::test(bound.name).is_some(), "{}", bound.name);
        }
    }
}
