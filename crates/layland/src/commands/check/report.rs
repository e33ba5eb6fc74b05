//! `layland check -o FILE.html`: all policies side by side in one report.

use super::{chains, sensitivity, text};
use crate::pages::assigned::AssignedTable;
use crate::pages::playground;
use layland_analysis::{Subject, TestKind, Verdict};
use layland_answers::Checked;
use layland_config::to_toml;
use layland_guarantee::{Assessment, Bound, Said, search};
use layland_model::shown::{self, DIGITS, Digits};
use layland_model::{Duration, Rate, System};
use layland_policy::Registry;
use layland_report::playground::Start;
use layland_report::{
    Answer, Growth, Guarantee, GuaranteedTask, Guarantees, Line, Report, Run, Severity, Table,
    TaskBound, TestResult,
};
use layland_trace::Labels;

/// Returns the report of one set. `are_named` is true if the user named the policies.
pub(super) fn report(registry: &Registry, checked: &Checked, are_named: bool) -> Report {
    let system = &checked.set.system;
    let tasks = system.tasks.values().map(|task| GuaranteedTask {
        name: task.name.to_string(),
        wcet: task.own_wcet().at_unit_speed(),
        period: task.period,
        deadline: task.deadline,
    });
    let guarantees = Guarantees {
        tasks: tasks.collect(),
        policies: checked.policies.iter().map(|policy| guarantee(policy, checked)).collect(),
        any_policy: (checked.any_policy.iter())
            .map(|said| test(said, system, checked.digits))
            .collect(),
        are_named,
    };
    let title = format!("{}: guarantees", checked.set.name);
    let mut report = Report::new(title, Labels::of(system));
    report.lines = impossible(&checked.any_policy, system);
    report.lines.extend(guarantees.headline());
    report.lines.push(Line::new(Severity::Note, text::about(checked)));
    if let Some(words) = text::seen_in_words(checked) {
        report.lines.push(Line::new(Severity::Note, words));
    }
    for line in text::reserved_lines(checked) {
        report.lines.push(Line::new(Severity::Note, line));
    }
    for line in text::affinity_lines(checked) {
        report.lines.push(Line::new(Severity::Note, line));
    }
    report.guarantees = Some(guarantees);
    report.runs = runs_that_miss(registry, checked, are_named);
    report.tables.extend(chains::report(checked));
    report.tables.extend(sensitivity::tables(checked));
    report.tables.extend(checked.policies.iter().filter_map(|policy| levels(policy, system)));
    report.tables.extend(
        checked
            .policies
            .iter()
            .filter_map(|policy| overheads(policy, checked.system(&policy.spec))),
    );
    report.tables.extend(assignment(checked));
    report.tables.extend(out_of_place(checked));
    report.playground = playground::link(&checked.set, || Start {
        set: to_toml(system),
        policies: checked.policies.iter().take(3).map(|policy| policy.spec.clone()).collect(),
        ..Start::default()
    });
    report.provenance = format!(
        "layland {}: check of {} ({} tasks, {} CPUs, utilization {:.3}){} under {}",
        env!("CARGO_PKG_VERSION"),
        checked.set.name,
        system.tasks.len(),
        system.platform.cpu_count(),
        system.utilization().to_f64(),
        match &checked.reserved {
            None => String::new(),
            Some(reserved) => format!(", as a run with a margin of {} reserves,", reserved.margin),
        },
        match &checked.policies[..] {
            [] => "no policy".to_owned(),
            policies => {
                let specs: Vec<&str> = policies.iter().map(|policy| policy.spec.as_str()).collect();
                specs.join(", ")
            }
        },
    );
    report
}

/// Returns the runs that miss. If the user has named no policies, equal runs are shown once.
fn runs_that_miss(registry: &Registry, checked: &Checked, are_named: bool) -> Vec<Run> {
    let system = &checked.set.system;
    let found = checked.policies.iter();
    let mut found: Vec<(&str, &search::Witness)> = found
        .filter_map(|policy| Some((policy.spec.as_str(), policy.witness.as_deref()?)))
        .collect();
    if !are_named {
        // The best-known policy stands for others with the same run.
        found.sort_by_key(|&(spec, _)| spec != "g-edf");
    }
    let mut runs: Vec<(Run, Vec<&str>)> = Vec::new();
    for (spec, witness) in found {
        let from = witness.shown_from();
        let Ok(built) = registry.build(spec, checked.system(spec)) else { continue };
        let Some(trace) = witness.trace(built, from) else { continue };
        let same = runs.iter_mut().find(|(run, _)| {
            let (one, other) = (&run.trace, &trace);
            !are_named && one.segments == other.segments && one.jobs == other.jobs
        });
        if let Some((_, others)) = same {
            others.push(spec);
            continue;
        }
        let note = format!("a run that misses: {}", witness.describe(system));
        let shown = Some((from, witness.over));
        runs.push((Run { shown, note: Some(note), ..Run::new(spec, trace) }, Vec::new()));
    }
    let told = runs.into_iter().map(|(mut run, others)| {
        if !others.is_empty() {
            let note = run.note.take().unwrap_or_default();
            run.note = Some(format!("{note}; the same under {}", others.join(", ")));
        }
        run
    });
    told.collect()
}

/// Returns the proofs that no scheduler can meet the deadlines.
fn impossible(whatever: &[Said], system: &System) -> Vec<Line> {
    let about_all = whatever.iter().filter(|said| said.test.subject == Subject::SomeScheduler);
    about_all
        .filter_map(|said| {
            let finding = (*said.finding).as_ref().ok()?;
            let why = finding.reasons.first()?.describe(system);
            let text = format!("No scheduler can keep every deadline: {why} ({}).", said.test.name);
            (finding.verdict == Verdict::No).then(|| Line::new(Severity::Bad, text))
        })
        .collect()
}

fn answer(verdict: Verdict) -> Answer {
    match verdict {
        Verdict::Yes => Answer::Yes,
        Verdict::No => Answer::No,
        Verdict::Unknown => Answer::Unknown,
    }
}

fn guarantee(policy: &Assessment, checked: &Checked) -> Guarantee {
    let system = checked.system(&policy.spec);
    let mut tests: Vec<TestResult> = {
        let of = policy.said.iter().map(|said| test(said, system, checked.digits));
        of.collect()
    };
    tests.extend(policy.witness.as_deref().map(|witness| TestResult {
        name: search::WITNESS.to_owned(),
        title: search::WITNESS_TITLE.to_owned(),
        kind: TestKind::Necessary.name().to_owned(),
        answer: Answer::No,
        reasons: vec![witness.describe(system)],
        sources: Vec::new(),
    }));
    let searches = [
        (search::STATES, search::STATES_TITLE, TestKind::Exact),
        (search::INFLATED, search::INFLATED_TITLE, TestKind::Sufficient),
        (search::CYCLE, search::CYCLE_TITLE, TestKind::Exact),
    ];
    let deciding = searches.into_iter().filter(|(name, ..)| policy.decided_by == Some(*name));
    for (name, title, kind) in deciding {
        tests.push(TestResult {
            name: name.to_owned(),
            title: title.to_owned(),
            kind: kind.name().to_owned(),
            answer: Answer::Yes,
            reasons: policy.reasons.clone(),
            sources: search::states::CITATIONS
                .iter()
                .map(|citation| citation.text.to_owned())
                .collect(),
        });
    }
    let decided_by =
        policy.decided_by.and_then(|name| tests.iter().position(|test| test.name == name));
    Guarantee {
        policy: policy.spec.clone(),
        answer: match policy.refused {
            Some(_) => Answer::Refused,
            None => answer(policy.verdict),
        },
        // Of the reasons of a yes, a reader needs the closest one.
        reasons: match &policy.tightest {
            Some(tightest) => vec![tightest.clone()],
            None => policy.reasons.clone(),
        },
        decided_by,
        margin: policy.margin.as_ref().map(|margin| Growth {
            thousandths: margin.thousandths,
            stopped_by: margin.stopped_by.as_ref().and_then(|stop| text::place(stop, system)),
            decided_anew: margin.decided_anew,
        }),
        bounds: policy.bounds.values().map(bound).collect(),
        tests,
    }
}

fn bound(bound: &Bound) -> TaskBound {
    match bound {
        Bound::Unknown => TaskBound::Unknown,
        Bound::Response { within, by, kind, .. } => TaskBound::Response {
            within: *within,
            exact: *kind == TestKind::Exact,
            by: (*by).to_owned(),
        },
        Bound::Tardiness { within, by } => TaskBound::Tardiness {
            within: within.ceil().map(Duration::from_ns),
            by: (*by).to_owned(),
        },
    }
}

fn test(said: &Said, system: &System, Digits(digits): Digits) -> TestResult {
    let (answer, reasons) = match &**said.finding {
        Ok(finding) => (
            answer(finding.verdict),
            finding.reasons.iter().map(|reason| reason.describe_with(system, digits)).collect(),
        ),
        Err(refusal) => (Answer::DoesNotApply, vec![format!("{refusal}: {}", refusal.help)]),
    };
    TestResult {
        name: said.test.name.to_owned(),
        title: said.test.title.to_owned(),
        kind: said.test.kind.name().to_owned(),
        answer,
        reasons,
        sources: said.test.citations.iter().map(|citation| citation.text.to_owned()).collect(),
    }
}

/// Returns the bounds that depend on the level of the run.
fn levels(policy: &Assessment, system: &System) -> Option<Table> {
    let (headings, rows) = text::levels(policy, system)?;
    let title = format!("Bounds on response times under {} in runs of each level", policy.spec);
    Some(Table { title, headings, rows, ..Table::default() })
}

/// Returns what overheads add to the WCETs.
fn overheads(policy: &Assessment, system: &System) -> Option<Table> {
    let inflation = policy.inflation.as_ref()?;
    let rows = inflation.iter().map(|(id, task)| {
        let terms: Vec<String> =
            task.terms.iter().map(|(name, length)| format!("{name} {length:#}")).collect();
        let divided =
            if task.left == Rate::ONE { "-".to_owned() } else { shown::number(&task.left, DIGITS) };
        let (wcet, with) = text::grown(system.tasks[id].own_wcet(), task.wcet);
        vec![system.tasks[id].name.to_string(), wcet, with, terms.join(" + "), divided]
    });
    Some(Table {
        title: format!("WCETs with overheads under {}", policy.spec),
        headings: ["task", "WCET", "with overheads", "terms", "divided by"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
        ..Table::default()
    })
}

/// Returns the CPU of each task.
fn assignment(checked: &Checked) -> Option<Table> {
    let of = text::assignments(&checked.policies);
    AssignedTable::of(&of, &checked.set.system).map(AssignedTable::on_page)
}

/// Returns the policies without an answer, with the reasons.
fn out_of_place(checked: &Checked) -> Option<Table> {
    let rows = checked.not_assessed().map(|(spec, why)| vec![spec, why]);
    checked.not_assessed().next().is_some().then(|| Table {
        title: "Policies that are not for this set".to_owned(),
        headings: ["policy", "why"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
        ..Table::default()
    })
}
