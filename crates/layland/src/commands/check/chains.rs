//! The guarantees for cause-effect chains, as a table and in JSON.

use super::args::CheckArgs;
use super::text;
use comfy_table::{Cell, CellAlignment};
use layland_analysis::TestKind;
use layland_answers::Checked;
use layland_guarantee::{Assessment, ChainBound};
use layland_model::System;
use layland_report::Table;

const HEADINGS: [&str; 6] = ["chain", "policy", "reaction time", "data age", "by", "why not"];

/// Returns the bound, its analysis, and the reason if there is no bound.
fn told(system: &System, bound: &ChainBound) -> (String, &'static str, String) {
    match bound.within {
        Ok(within) if bound.kind == TestKind::Exact => {
            (format!("= {within:#}"), bound.by, String::new())
        }
        Ok(within) => (format!("<= {within:#}"), bound.by, String::new()),
        Err(why) => ("-".to_owned(), "-", why.text(system)),
    }
}

/// Returns the same rows as a table of the report.
pub(super) fn report(checked: &Checked) -> Option<Table> {
    let system = &checked.set.system;
    let mut rows = Vec::new();
    for policy in &checked.policies {
        let Some(found) = checked.chains.get(&policy.spec) else { continue };
        for (chain, bound) in system.chains.iter().zip(found) {
            let (within, by, why) = told(system, bound);
            let name = format!("{} ({})", chain.name, chain.communication.name());
            let by = by.to_owned();
            rows.push(vec![name, policy.spec.clone(), within.clone(), within, by, why]);
        }
    }
    let notes = vec![
        "No event waits longer for an answer that reflects it (reaction time), and no answer is made of older data \
         (data age); = is reached, <= is a bound."
            .to_owned(),
    ];
    (!rows.is_empty()).then(|| Table {
        title: "Cause-effect chains".to_owned(),
        headings: HEADINGS.map(str::to_owned).to_vec(),
        rows,
        notes,
        ..Table::default()
    })
}

/// Returns a row for each policy and chain; nothing for a set without chains.
pub(super) fn table<'a>(
    checked: &Checked,
    policies: impl Iterator<Item = &'a Assessment>,
    args: &CheckArgs,
) -> String {
    let system = &checked.set.system;
    let mut rows = text::table(args);
    rows.set_header(HEADINGS);
    for policy in policies {
        let Some(found) = checked.chains.get(&policy.spec) else { continue };
        for (chain, bound) in system.chains.iter().zip(found) {
            let (within, by, why) = told(system, bound);
            let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
            let name = Cell::new(format!("{} ({})", chain.name, chain.communication.name()));
            rows.add_row([
                name,
                Cell::new(&policy.spec),
                right(&within),
                right(&within),
                Cell::new(by),
                Cell::new(why),
            ]);
        }
    }
    if rows.is_empty() { String::new() } else { format!("cause-effect chains\n{rows}\n\n") }
}
