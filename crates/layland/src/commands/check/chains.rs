//! The guarantees for cause-effect chains, as a table.

use super::args::CheckArgs;
use super::text;
use comfy_table::{Cell, CellAlignment};
use layland_analysis::{TestKind, Verdict};
use layland_answers::Checked;
use layland_guarantee::{Assessment, ChainBound};
use layland_model::shown::{self, DIGITS};
use layland_model::{Chain, Duration, Rate, System};
use layland_report::{Severity, Table};

/// The headings; the fifth one only for sets with constraints.
const HEADINGS: [&str; 7] =
    ["chain", "policy", "reaction time", "data age", "kept", "by", "why not"];

/// A chain under a policy.
struct Row<'a> {
    name: String,
    spec: &'a str,
    reaction: String,
    age: String,
    /// The verdict on the constraints of the chain, if it has any.
    kept: Option<Verdict>,
    by: &'static str,
    why: String,
}

impl<'a> Row<'a> {
    fn of(system: &System, spec: &'a str, chain: &Chain, bound: &ChainBound) -> Row<'a> {
        let (by, why) = match bound.within {
            Ok(_) => (bound.by, String::new()),
            Err(why) => ("-", why.text(system)),
        };
        let sign = if bound.kind == TestKind::Exact { "=" } else { "<=" };
        let of = |constraint: Option<Duration>| match (bound.within, constraint) {
            (Ok(within), Some(constraint)) => {
                let both = (&Rate::whole(within.ns()), &Rate::whole(constraint.ns()));
                let (within, constraint) = shown::times(both, DIGITS);
                format!("{sign} {within} of {constraint}")
            }
            (Ok(within), None) => format!("{sign} {within:#}"),
            (Err(_), Some(constraint)) => format!("- of {constraint:#}"),
            (Err(_), None) => "-".to_owned(),
        };
        Row {
            name: format!("{} ({})", chain.name, chain.communication.name()),
            spec,
            reaction: of(chain.max_reaction),
            age: of(chain.max_age),
            kept: bound.verdict(chain),
            by,
            why,
        }
    }
}

/// Returns a row for each policy and chain.
fn rows<'a>(checked: &Checked, policies: impl IntoIterator<Item = &'a Assessment>) -> Vec<Row<'a>> {
    let system = &checked.set.system;
    let of = |policy: &'a Assessment| {
        let chains = checked.bounded_chains(&policy.spec);
        chains.map(|(chain, bound)| Row::of(system, &policy.spec, chain, bound))
    };
    policies.into_iter().flat_map(of).collect()
}

/// Returns the headings, or the cells of a row, without the verdict if no chain has a constraint.
fn shown<T>(cells: [T; 7], rows: &[Row<'_>]) -> impl Iterator<Item = T> + use<T> {
    let is_constrained = rows.iter().any(|row| row.kept.is_some());
    let all = cells.into_iter().enumerate();
    all.filter(move |(at, _)| *at != 4 || is_constrained).map(|(_, cell)| cell)
}

/// Returns the guarantees as a table of the report.
pub(super) fn report(checked: &Checked) -> Option<Table> {
    let rows = rows(checked, &checked.policies);
    let mut table = Table {
        title: "Cause-effect chains".to_owned(),
        headings: shown(HEADINGS.map(str::to_owned), &rows).collect(),
        notes: vec![
            "No event waits longer for an answer that reflects it (reaction time), and no answer is made of older data \
             (data age); = is reached, <= is a bound."
                .to_owned(),
        ],
        ..Table::default()
    };
    for (at, row) in rows.iter().enumerate() {
        let Row { name, spec, reaction, age, kept, by, why } = row;
        if *kept == Some(Verdict::No) {
            table.marked.push((at, Severity::Bad));
        }
        let kept = kept.map_or("-", Verdict::name);
        let cells = [name, *spec, reaction, age, kept, by, why].map(str::to_owned);
        table.rows.push(shown(cells, &rows).collect());
    }
    (!rows.is_empty()).then_some(table)
}

/// Returns a row for each policy and chain; nothing for a set without chains.
pub(super) fn table<'a>(
    checked: &Checked,
    policies: impl Iterator<Item = &'a Assessment>,
    args: &CheckArgs,
) -> String {
    let rows = rows(checked, policies);
    let mut table = text::table(args);
    table.set_header(shown(HEADINGS, &rows));
    for row in &rows {
        let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
        let cells = [
            Cell::new(&row.name),
            Cell::new(row.spec),
            right(&row.reaction),
            right(&row.age),
            row.kept.map_or_else(|| Cell::new("-"), text::word),
            Cell::new(row.by),
            text::reason(&row.why),
        ];
        table.add_row(shown(cells, &rows));
    }
    if rows.is_empty() {
        String::new()
    } else {
        format!("cause-effect chains\n{}\n\n", text::drawn(&table))
    }
}
