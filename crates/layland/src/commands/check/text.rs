//! The answer as text: a table of the policies, the bounds of the tasks, and the reasons.
//!
//! Long because every part of the answer has its lines here, in the order in which they are
//! printed.

use super::args::CheckArgs;
use super::{chains, sensitivity};
use crate::pages::assigned::{AssignedTable, OfPolicy, in_short};
use crate::pages::window;
use crate::ui::chart::{self, Chart};
use crate::ui::terminal;
use crate::ui::tint::{self, Tint, tinted};
use clap::builder::styling::{AnsiColor, Style};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use layland_analysis::{Finding, Reason, Subject, Verdict};
use layland_answers::check::{Short, by_level};
use layland_answers::{Checked, Structure};
use layland_chart::gantt::{Colours, View};
use layland_engine::reserves::{LEAST_MARGIN, Margin, Reserves};
use layland_guarantee::{Assessment, Bound, Said, Stop, in_level};
use layland_model::shown::{self, DIGITS, Digits, Unit};
use layland_model::{
    CpuSet, Duration, Order, Rate, Service, System, Task, TaskId, Tasks, Time, counted,
};
use layland_policy::Registry;
use layland_trace::Labels;

pub(super) fn table(args: &CheckArgs) -> Table {
    let mut table = Table::new();
    table.load_style(if args.ascii {
        presets::ASCII_BORDERS_ONLY_CONDENSED
    } else {
        presets::UTF8_BORDERS_ONLY
    });
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(terminal::width() as u16);
    tint::show(&mut table, terminal::colours());
    table
}

/// A sentence, whose lines end between words and not between a number and its unit.
pub(super) fn reason(text: &str) -> Cell {
    Cell::new(terminal::with_units_kept(text))
}

/// Returns the table as text.
pub(super) fn drawn(table: &Table) -> String {
    terminal::in_lines(&table.to_string())
}

pub(super) fn word(verdict: Verdict) -> Cell {
    let tint = match verdict {
        Verdict::Yes => Tint::Good,
        Verdict::No => Tint::Bad,
        Verdict::Unknown => Tint::Doubtful,
    };
    tinted(Cell::new(verdict.name()), tint)
}

/// The colour of a verdict.
pub(super) fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Yes => AnsiColor::Green.on_default(),
        Verdict::No => AnsiColor::Red.on_default().bold(),
        Verdict::Unknown => AnsiColor::Yellow.on_default(),
    }
}

/// Describes what is checked, in one line.
pub(super) fn about(checked: &Checked) -> String {
    let system = &checked.set.system;
    format!(
        "{}: {} on {}, utilization {:.*}{}",
        checked.set.name,
        counted(system.tasks.len(), "task"),
        counted(system.platform.cpu_count(), "CPU"),
        checked.digits.0 as usize,
        system.utilization().to_f64(),
        system.hyperperiod().map_or(String::new(), |length| format!(", hyperperiod {length:#}")),
    )
}

/// Notes that the set contains only what a trace shows.
pub(super) fn seen_in_words(checked: &Checked) -> Option<String> {
    let observed = checked.set.system.observed.as_ref()?;
    let length = observed.length.map_or_else(String::new, |length| format!(" of {length:#}"));
    Some(format!("inferred from a trace{length}: a longer trace may show longer jobs"))
}

fn seen(checked: &Checked) -> String {
    seen_in_words(checked).map_or_else(String::new, |words| line(&words))
}

/// Returns the requested answer about one set, or a short one that fits a screen if the user asked
/// for nothing.
pub(super) fn report(registry: &Registry, checked: &Checked, args: &CheckArgs) -> String {
    if is_short(args) {
        shortly(registry, &Short::of(registry, checked), checked, args)
    } else {
        in_full(registry, checked, args)
    }
}

/// Returns a table with a line for each policy.
fn verdicts<'a>(
    policies: impl IntoIterator<Item = &'a Assessment>,
    why: impl Fn(&Assessment) -> String,
    args: &CheckArgs,
) -> String {
    let mut verdicts = table(args);
    verdicts.set_header(["policy", "guaranteed", "by", "WCETs x", "why"]);
    for policy in policies {
        verdicts.add_row([
            Cell::new(&policy.spec),
            word(policy.verdict),
            Cell::new(policy.decided_by.unwrap_or("-")),
            Cell::new(factor(policy)).set_alignment(CellAlignment::Right),
            reason(&why(policy)),
        ]);
    }
    if verdicts.is_empty() { String::new() } else { drawn(&verdicts) + "\n" }
}

/// Returns the policies whose answers differ, best first, and the names of the others.
fn shortly(registry: &Registry, short: &Short<'_>, checked: &Checked, args: &CheckArgs) -> String {
    let mut text = line(&about(checked)) + &seen(checked) + "\n";
    let first = |policy: &Assessment| {
        policy.tightest.clone().or_else(|| policy.reasons.first().cloned()).unwrap_or_default()
    };
    text += &verdicts(short.shown.iter().copied(), first, args);
    for (verdict, names) in &short.also {
        let what = match verdict {
            Verdict::Yes => "also guaranteed",
            Verdict::Unknown => "also unknown",
            Verdict::No => "also not guaranteed",
        };
        text += &line(&format!("{what}: {}", names.join(", ")));
    }
    let is_for_use =
        |policy: &&&Assessment| policy.assignment.is_some() && policy.verdict != Verdict::No;
    if let Some(policy) = short.shown.iter().find(is_for_use).copied() {
        text += &assigned_lines(policy, &checked.set.system);
    }
    text += &chains::table(checked, short.shown.iter().copied(), args);
    text += &sensitivity::table(checked, short.shown.iter().copied(), args);
    text.extend(shared_levels(registry, checked).iter().map(|text| line(text)));
    text.extend(reserved_lines(checked).iter().map(|text| line(text)));
    // The policies that refuse affinities are already among those without an answer.
    let affinities = affinity_lines(checked).into_iter();
    let told = affinities.filter(|text| !text.starts_with(REFUSED));
    text.extend(told.map(|text| line(&text)));
    text.extend(checked.any_policy.iter().map(|said| remark(said, checked)));
    if short.shown.iter().any(|policy| policy.inflation.is_some()) {
        text += &line("the WCETs include the overheads of the platform");
    }
    if !short.for_others.is_empty() {
        let names = short.for_others.join(", ");
        text += &line(&format!("for features that the set lacks (--all shows them): {names}"));
    }
    text += &without_test(checked);
    text += &left_out(checked);
    text += &legend(checked);
    text += &stops(short.shown.iter().copied(), &checked.set.system);
    text + &line(
        "--bounds shows how long each task can take, --policy NAME one policy, --all every policy and test",
    )
}

/// Returns the whole answer, or the part that the arguments name.
fn in_full(registry: &Registry, checked: &Checked, args: &CheckArgs) -> String {
    let system = &checked.set.system;
    let mut text = line(&about(checked)) + &seen(checked) + "\n";
    text += &verdicts(&checked.policies, why, args);
    let (charts, bounds) = (charts(registry, checked, args), bounds(checked, args));
    let gap = if charts.is_empty() || bounds.starts_with('\n') { "" } else { "\n" };
    text += &[&charts, gap, &bounds].concat();
    let assigned = assigned_table(&checked.policies, checked, args);
    text += if text.ends_with("\n\n") { assigned.trim_start_matches('\n') } else { &assigned };
    text += &chains::table(checked, checked.policies.iter(), args);
    text += &sensitivity::table(checked, checked.policies.iter(), args);
    text.extend(shared_levels(registry, checked).iter().map(|text| line(text)));
    text.extend(reserved_lines(checked).iter().map(|text| line(text)));
    text.extend(reserved_tasks(checked).iter().map(|text| line(text)));
    text.extend(affinity_lines(checked).iter().map(|text| line(text)));
    for said in &checked.any_policy {
        text += &remark(said, checked);
    }
    for policy in &checked.policies {
        text += &overheads(policy, checked.system(&policy.spec));
    }
    if args.all {
        for policy in checked.policies.iter().filter(|policy| !policy.said.is_empty()) {
            text += &findings(policy, checked, args);
            // Some decide nothing, but a reader looks for what the papers print.
            let numbers = Structure::numbers(registry, checked.system(&policy.spec), &policy.spec);
            text.extend(numbers.map(|numbers| format!("\n{}", numbers.text())));
        }
    }
    if !checked.out_of_place.is_empty() {
        if args.all {
            for (spec, why) in &checked.out_of_place {
                text += &line(&format!("{spec} does not apply: {why}"));
            }
        } else {
            text += &without_test(checked);
        }
    }
    text += &left_out(checked);
    text += &legend(checked);
    text + &stops(&checked.policies, system)
}

/// Names the policies that no test is about.
fn without_test(checked: &Checked) -> String {
    let names: Vec<&str> = checked.out_of_place.iter().map(|(spec, _)| spec.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    let names = names.join(", ");
    line(&format!("no test applies to {names} (--all or --policy NAME says why)"))
}

/// Notes that tasks share a priority, and what this means for the first policy that uses
/// priorities.
fn shared_levels(registry: &Registry, checked: &Checked) -> Option<String> {
    let system = &checked.set.system;
    let words = |policy: &Assessment| {
        let in_level = in_level(registry, &policy.spec, system)?;
        system.shared_levels_in_words(Some(in_level))
    };
    checked.policies.iter().find_map(words)
}

/// The number of rows that fit a screen.
const FEW_TASKS: usize = 20;

/// Returns charts of the schedules that miss, each around its miss.
fn charts(registry: &Registry, checked: &Checked, args: &CheckArgs) -> String {
    let system = &checked.set.system;
    let usual = if args.policy.is_empty() || system.tasks.len() > FEW_TASKS {
        Chart::None
    } else {
        Chart::Tasks
    };
    let Some(rows) = args.chart.unwrap_or(usual).rows() else { return String::new() };
    let labels = Labels::of(system);
    let longest = system.tasks.values().map(|task| task.period.max(task.deadline)).max();
    let span = longest.unwrap_or_default().ns().saturating_mul(3);
    let mut text = String::new();
    for (spec, witness) in checked.witnesses() {
        let end = witness.over.max(Time::from_ns(1));
        // The run ends with the late job, which whole periods would cut off.
        let (from, to) = window::around(span, end, Some(witness.record.job.deadline), None);
        let Ok(policy) = registry.build(spec, checked.system(spec)) else { continue };
        let Some(trace) = witness.trace(policy, from) else { continue };
        let colours = if terminal::colours() { Colours::Ansi } else { Colours::Never };
        let options = chart::text_options(rows, chart::charset(args.ascii), colours);
        let view = View::new(&trace, &labels).window(from, to);
        text += &format!("\n{spec}  {}", view.text(&options));
    }
    text
}

/// Names the analyses for which the set was too large, and how to request them.
pub(super) fn left_out(checked: &Checked) -> String {
    let Some(left_out) = &checked.left_out else { return String::new() };
    let factors = if left_out.margins { ", the factors of WCETs" } else { "" };
    line(&format!(
        "left out, as {}: {}{factors}, runs that miss; --policy NAME asks for one",
        left_out.why(),
        left_out.policies.join(", ")
    ))
}

/// Explains the column of factors, if it has any.
fn legend(checked: &Checked) -> String {
    let margin = |policy: &Assessment| policy.margin.clone();
    let known = |policy: &Assessment| margin(policy).is_some_and(|margin| margin.thousandths > 0);
    if !checked.policies.iter().any(known) {
        return String::new();
    }
    let also = if checked.reserved.is_some() { "; it scales what is reserved" } else { "" };
    // The page about the output says more; this line stands below every answer.
    line(&format!(
        "WCETs x: how far all WCETs can grow, tasks keeping their CPUs and priorities{also}"
    ))
}

pub(super) fn line(text: &str) -> String {
    terminal::wrap(text, "") + "\n"
}

/// Returns the obstacles to further growth of the WCETs, and the factors of policies that would
/// decide anew.
fn stops<'a>(policies: impl IntoIterator<Item = &'a Assessment>, system: &System) -> String {
    let mut ends: Vec<(String, Vec<&str>)> = Vec::new();
    let mut anew = Vec::new();
    for policy in policies {
        let Some(margin) = &policy.margin else { continue };
        if let Some(at) = margin.stopped_by.as_ref().and_then(|stop| place(stop, system)) {
            // Many policies are stopped at one place, which is named once.
            match ends.iter_mut().find(|(known, _)| *known == at) {
                Some((_, policies)) => policies.push(&policy.spec),
                None => ends.push((at, vec![&policy.spec])),
            }
        }
        if let Some(factor) = margin.factor_anew() {
            anew.push(format!("{:.3} ({})", factor.to_f64(), policy.spec));
        }
    }
    let mut text = String::new();
    if !ends.is_empty() {
        let of = |(at, policies): (String, Vec<&str>)| format!("{at} ({})", policies.join(", "));
        let ends: Vec<String> = ends.into_iter().map(of).collect();
        text += &line(&format!("their growth stops at {}", ends.join(", ")));
    }
    if !anew.is_empty() {
        text += &line(&format!(
            "WCETs x, if the policy could assign other CPUs, pieces or priorities to larger WCETs: {}",
            anew.join(", ")
        ));
    }
    text
}

/// Returns the task and the CPUs that stop the growth, as far as they are known.
pub(super) fn place(stop: &Stop, system: &System) -> Option<String> {
    let on = |cpus: &CpuSet| format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" });
    let name = |task: TaskId| format!("`{}`", system.tasks[task].name);
    match (stop.task, &stop.cpus) {
        (Some(task), Some(cpus)) => Some(format!("{} on {}", name(task), on(cpus))),
        (Some(task), None) => Some(name(task)),
        (None, Some(cpus)) => Some(on(cpus)),
        (None, None) => None,
    }
}

fn factor(policy: &Assessment) -> String {
    match &policy.margin {
        None => "-".to_owned(),
        Some(margin) if margin.thousandths == 0 => "-".to_owned(),
        Some(margin) => format!("{:.3}", margin.factor().to_f64()),
    }
}

/// Returns the tightest place, or else at most three reasons and the number of the others.
fn why(policy: &Assessment) -> String {
    if let Some(tightest) = &policy.tightest {
        return tightest.clone();
    }
    let shown = if policy.verdict == Verdict::Unknown { 3 } else { 1 };
    let mut text = policy.reasons.iter().take(shown).cloned().collect::<Vec<_>>().join("; ");
    if policy.reasons.len() > shown {
        text += &format!("; and {} more", policy.reasons.len() - shown);
    }
    text
}

/// A column of bounds: those of one policy.
struct Column<'a> {
    policy: &'a Assessment,
    unit: Unit,
    digits: u32,
}

impl<'a> Column<'a> {
    fn of(policy: &'a Assessment, tasks: &Tasks, digits: u32) -> Column<'a> {
        let lengths = policy.bounds.iter().filter_map(|(id, bound)| length(bound, &tasks[id]));
        Column { policy, unit: Unit::of(lengths), digits }
    }

    /// Formats the bound of a task in a few characters. As on the page, a bound beyond the deadline
    /// is only a doubt if no test decides.
    fn cell(&self, id: TaskId, task: &Task) -> Cell {
        let late = match self.policy.verdict {
            Verdict::Unknown => Tint::Doubtful,
            Verdict::Yes | Verdict::No => Tint::Bad,
        };
        let bound = self.policy.bounds.get(id);
        let length = bound.and_then(|bound| length(bound, task));
        let cell = match (bound, length) {
            (None | Some(Bound::Unknown), _) => Cell::new("-"),
            (Some(bound), _) if bound.is_useless(task) => {
                tinted(Cell::new(format!("> {} T late", Bound::USEFUL_PERIODS)), late)
            }
            (Some(Bound::Response { .. }), Some(within)) => {
                let text = self.unit.show_beside(within, task.deadline, self.digits);
                let cell = Cell::new(text);
                if within > task.deadline { tinted(cell, late) } else { cell }
            }
            (Some(Bound::Tardiness { .. }), Some(Duration::ZERO)) => Cell::new("not late"),
            (Some(Bound::Tardiness { .. }), Some(within)) => {
                tinted(Cell::new(format!("<= {} late", self.unit.show(within, self.digits))), late)
            }
            (Some(Bound::Response { .. } | Bound::Tardiness { .. }), None) => {
                tinted(Cell::new("<= centuries late"), late)
            }
        };
        cell.set_alignment(CellAlignment::Right)
    }
}

/// Returns a bound that is of use, rounded up to a nanosecond.
fn length(bound: &Bound, task: &Task) -> Option<Duration> {
    match bound {
        bound if bound.is_useless(task) => None,
        Bound::Unknown => None,
        Bound::Response { within, .. } => Some(*within),
        Bound::Tardiness { within, .. } => within.ceil().map(Duration::from_ns),
    }
}

fn bounds(checked: &Checked, args: &CheckArgs) -> String {
    let known = |policy: &&Assessment| policy.bounds.values().any(|bound| *bound != Bound::Unknown);
    let policies: Vec<&Assessment> = checked.policies.iter().filter(known).collect();
    if policies.is_empty() {
        return String::new();
    }
    // As many columns as fit the width of the terminal.
    let columns = (terminal::width().saturating_sub(30) / 14).max(1);
    let mut tasks: Vec<TaskId> = checked.set.system.tasks.ids().collect();
    // Sort the tasks by deadline, the shortest first.
    tasks.sort_by_key(|&id| checked.set.system.tasks[id].deadline);
    let mut text = "\nbounds on response times (late: on tardiness)\n".to_owned();
    for chunk in policies.chunks(columns) {
        let mut rows = table(args);
        let head = ["task".to_owned(), "deadline".to_owned()].into_iter();
        rows.set_header(head.chain(chunk.iter().map(|policy| policy.spec.clone())));
        let all = &checked.set.system.tasks;
        let columns: Vec<Column<'_>> =
            chunk.iter().map(|policy| Column::of(policy, all, args.digits)).collect();
        let deadlines = Unit::of(all.values().map(|task| task.deadline));
        for &id in &tasks {
            let task = &all[id];
            let responses = chunk.iter().filter_map(|policy| match policy.bounds.get(id) {
                Some(Bound::Response { within, .. }) => Some(*within),
                Some(Bound::Tardiness { .. } | Bound::Unknown) | None => None,
            });
            let responses: Vec<Duration> = responses.collect();
            let deadline = deadlines.show_limit(task.deadline, &responses, args.digits);
            let deadline = Cell::new(deadline).set_alignment(CellAlignment::Right);
            let cells = columns.iter().map(|column| column.cell(id, task));
            rows.add_row([Cell::new(&task.name), deadline].into_iter().chain(cells));
        }
        text += &format!("{rows}\n");
    }
    text.extend(policies.iter().map(|policy| level_table(policy, &checked.set.system, args)));
    let sources: std::collections::BTreeSet<&str> = policies
        .iter()
        .flat_map(|policy| policy.bounds.values())
        .filter_map(|bound| match bound {
            Bound::Unknown => None,
            Bound::Response { by, .. } | Bound::Tardiness { by, .. } => Some(*by),
        })
        .collect();
    let sources: Vec<&str> = sources.into_iter().collect();
    let useless = policies.iter().flat_map(|policy| policy.bounds.iter());
    let any =
        useless.into_iter().any(|(id, bound)| bound.is_useless(&checked.set.system.tasks[id]));
    if any {
        text += &line(&format!(
            "> {} T late: the bound is more than so many periods, and says no more than that the task falls behind \
             no further; --json has it",
            Bound::USEFUL_PERIODS
        ));
    }
    text + &line(&format!("bounds by {}; `layland explain NAME` explains each", sources.join(", ")))
        + "\n"
}

/// Returns the policies that assign each task to a CPU, with their assignments.
pub(super) fn assignments<'a>(
    policies: impl IntoIterator<Item = &'a Assessment>,
) -> Vec<OfPolicy<'a>> {
    let of = |policy: &'a Assessment| Some((policy.spec.as_str(), policy.assignment.clone()?));
    policies.into_iter().filter_map(of).collect()
}

/// Returns the tasks of each CPU under a policy, unless there is only one CPU.
fn assigned_lines(policy: &Assessment, system: &System) -> String {
    let is_few = (2..=FEW_TASKS).contains(&system.platform.cpu_count());
    let of = assignments([policy]).pop().filter(|_| is_few && system.tasks.len() <= FEW_TASKS);
    let lines = of.map_or_else(Vec::new, |of| in_short(&of, system));
    let indent = |at: usize| if at == 0 { "" } else { "  " };
    let wrapped = |(at, text): (usize, &String)| terminal::wrap(text, indent(at)) + "\n";
    lines.iter().enumerate().map(wrapped).collect()
}

/// Returns a table with the CPU of each task under these policies, as far as they assign each task to
/// one.
fn assigned_table<'a>(
    policies: impl IntoIterator<Item = &'a Assessment>,
    checked: &Checked,
    args: &CheckArgs,
) -> String {
    let of = assignments(policies);
    let system = &checked.set.system;
    if of.is_empty() || system.tasks.len() > FEW_TASKS {
        return String::new();
    }
    let mut text = String::new();
    // As many policies as fit the width of the terminal.
    let columns = (terminal::width().saturating_sub(20) / 30).max(1);
    for chunk in of.chunks(columns) {
        let Some(found) = AssignedTable::of(chunk, system) else { continue };
        let mut drawn = table(args);
        drawn.set_header(found.headings);
        for row in found.rows {
            drawn.add_row(row.into_iter().enumerate().map(|(at, text)| {
                let cell = Cell::new(text);
                if at == 0 { cell } else { cell.set_alignment(CellAlignment::Right) }
            }));
        }
        text += &format!("\n{}{drawn}\n", line(&found.title));
    }
    text
}

/// Returns true if the answer is short, because the user asked for nothing by name.
fn is_short(args: &CheckArgs) -> bool {
    !args.all && !args.bounds && args.policy.is_empty() && args.test.is_empty()
}

/// Returns the bounds of a policy that depend on the level of the run: a row for each task that has
/// such bounds, a column for each level.
pub(super) fn levels(
    policy: &Assessment,
    system: &System,
) -> Option<(Vec<String>, Vec<Vec<String>>)> {
    let count = system.levels.count();
    let rows = policy.bounds.iter().filter_map(|(id, bound)| match bound {
        Bound::Response { per_level, .. } if !per_level.is_empty() => {
            let mut row: Vec<Option<Duration>> =
                by_level(per_level, system).map(|(_, within)| Some(within)).collect();
            row.resize(count, None);
            Some((system.tasks[id].name.to_string(), row))
        }
        Bound::Response { .. } | Bound::Tardiness { .. } | Bound::Unknown => None,
    });
    let rows: Vec<(String, Vec<Option<Duration>>)> = rows.collect();
    let units: Vec<Unit> =
        (0..count).map(|level| Unit::of(rows.iter().filter_map(|(_, row)| row[level]))).collect();
    let text = |(unit, time): (&Unit, Option<Duration>)| {
        time.map_or_else(|| "-".to_owned(), |time| unit.show(time, DIGITS))
    };
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, row)| std::iter::once(name).chain(units.iter().zip(row).map(text)).collect())
        .collect();
    let levels = system.levels.names().iter().cloned();
    (!rows.is_empty()).then(|| (std::iter::once("task".to_owned()).chain(levels).collect(), rows))
}

fn level_table(policy: &Assessment, system: &System, args: &CheckArgs) -> String {
    let Some((head, rows)) = levels(policy, system) else { return String::new() };
    let mut tasks = table(args);
    tasks.set_header(head);
    for row in rows {
        tasks.add_row(row.into_iter().enumerate().map(|(at, text)| {
            let cell = Cell::new(text);
            if at == 0 { cell } else { cell.set_alignment(CellAlignment::Right) }
        }));
    }
    format!("\n{}: bounds on response times in runs of each level\n{tasks}\n", policy.spec)
}

/// The beginning of a line that names the policies that refuse affinities.
const REFUSED: &str = "affinities are refused by";

/// Describes what was analysed in place of the set, and which policies lose a guarantee by that.
pub(super) fn reserved_lines(checked: &Checked) -> Vec<String> {
    let Some(reserved) = &checked.reserved else { return Vec::new() };
    let mut lines = vec![analysed(&reserved.margin, &reserved.describe())];
    let short = reserved.without_room(&checked.set.system);
    if !short.is_empty() {
        lines.push(format!(
            "no room for the whole margin before the deadline: {}",
            short.join(", ")
        ));
    }
    let verdicts = checked.policies.iter().map(|policy| (policy.spec.as_str(), policy.verdict));
    lines.extend(reserved.lost(verdicts));
    lines
}

/// Notes that an answer is about what runs reserve.
pub(super) fn analysed(margin: &Margin, what: &str) -> String {
    let least = match margin {
        Margin::Fraction(_) => format!(", at least {}", LEAST_MARGIN.at_unit_speed()),
        Margin::Time(_) => String::new(),
    };
    format!("analysed is what a run reserves with a margin of {margin}{least}: {what}")
}

/// Describes the values of tasks that replace those of the set.
pub(super) fn reserved_tasks(checked: &Checked) -> Vec<String> {
    let Some(reserved) = &checked.reserved else { return Vec::new() };
    let kinds = [Reserves::Budgets, Reserves::Wcets].into_iter();
    kinds.filter_map(|kind| reserved.tasks(&checked.set.system, kind, FEW_TASKS)).collect()
}

/// Names the policies that respect the affinities, and their cost.
pub(super) fn affinity_lines(checked: &Checked) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(found) = &checked.affinities {
        lines.push(format!("affinities are kept by {}", found.kept_by.join(", ")));
        for (why, policies) in &found.refused_by {
            lines.push(format!("{REFUSED} {}: {why}", policies.join(", ")));
        }
    }
    let changes = |from: Verdict, to: Verdict| -> Vec<&str> {
        let changed = checked
            .policies
            .iter()
            .filter(|policy| policy.without_affinities == Some(from) && policy.verdict == to);
        changed.map(|policy| policy.spec.as_str()).collect()
    };
    for (from, to, what) in [
        (Verdict::Yes, Verdict::No, "guaranteed without the affinities, and not with them"),
        (Verdict::Yes, Verdict::Unknown, "guaranteed without the affinities, unknown with them"),
        (Verdict::No, Verdict::Yes, "guaranteed with the affinities, and not without them"),
        (Verdict::Unknown, Verdict::Yes, "guaranteed with the affinities, unknown without them"),
    ] {
        let policies = changes(from, to);
        if !policies.is_empty() {
            lines.push(format!("{what}: {}", policies.join(", ")));
        }
    }
    lines
}

fn is_partition(reasons: &[Reason]) -> bool {
    reasons.iter().any(|reason| matches!(reason, Reason::Partition(_)))
}

fn remark(said: &Said, checked: &Checked) -> String {
    let (system, Digits(digits)) = (&checked.set.system, checked.digits);
    let who = match said.test.subject {
        Subject::SomeScheduler => "any scheduler",
        Subject::SomePartition => "EDF on some partition",
        Subject::SomePartitionUnder(order) => match order {
            Order::RateMonotonic => "RM on some partition",
            Order::DeadlineMonotonic => "DM on some partition",
            Order::Given => "the given priorities on some partition",
            Order::Deadline => "EDF on some partition",
        },
        Subject::SomePriorities => "some fixed priorities",
        Subject::Algorithms(_)
        | Subject::Covered(_)
        | Subject::Unsound(..)
        | Subject::Admission(_) => return String::new(),
    };
    match &**said.finding {
        // The partition that is found need not be that of any policy above.
        Ok(Finding { verdict: Verdict::Yes, reasons }) if is_partition(reasons) => {
            line(&format!("{who}: yes ({} finds one; --json has it)", said.test.name))
        }
        Ok(finding) if finding.verdict != Verdict::Unknown => {
            let why = finding.reasons.first().map(|reason| reason.describe_with(system, digits));
            let (verdict, why) = (finding.verdict.name(), why.unwrap_or_default());
            line(&format!("{who}: {verdict} ({}: {why})", said.test.name))
        }
        Ok(_) | Err(_) => String::new(),
    }
}

/// Writes an amount of work and the larger one that replaces it.
pub(super) fn grown(own: Service, with: Service) -> (String, String) {
    shown::times((&Rate::whole(own.ns()), &Rate::whole(with.ns())), DIGITS)
}

fn overheads(policy: &Assessment, system: &System) -> String {
    let Some(inflation) = &policy.inflation else { return String::new() };
    let mut text = line(&format!("{}: WCETs with overheads", policy.spec));
    for (id, task) in inflation.iter() {
        let terms: Vec<String> =
            task.terms.iter().map(|(name, length)| format!("{name} {length:#}")).collect();
        let divided = if task.left == Rate::ONE {
            String::new()
        } else {
            format!(", divided by {}", shown::number(&task.left, DIGITS))
        };
        let (own, with) = grown(system.tasks[id].own_wcet(), task.wcet);
        let (name, terms) = (&system.tasks[id].name, terms.join(" + "));
        text +=
            &(terminal::wrap(&format!("{name} {own} -> {with} ({terms}{divided})"), "  ") + "\n");
    }
    text
}

fn findings(policy: &Assessment, checked: &Checked, args: &CheckArgs) -> String {
    let (system, Digits(digits)) = (&checked.set.system, checked.digits);
    let mut all = table(args);
    all.set_header(["test", "kind", "says", "why"]);
    for said in &policy.said {
        let (says, why) = match &**said.finding {
            Ok(finding) => {
                let why =
                    finding.reasons.first().map(|reason| reason.describe_with(system, digits));
                (word(finding.verdict), why.unwrap_or_default())
            }
            Err(refusal) => (Cell::new("-"), format!("{refusal}: {}", refusal.help)),
        };
        let kind = Cell::new(said.test.kind.name());
        all.add_row([Cell::new(said.test.name), kind, says, reason(&why)]);
    }
    format!("\n{}\n{}\n", policy.spec, drawn(&all))
}
