//! `layland check --design`: the least budget of a group.

use super::args::CheckArgs;
use super::text::{drawn, reason, table};
use crate::ui::exit::Outcome;
use crate::ui::input::Sets;
use crate::ui::{files, terminal, threads};
use comfy_table::{Cell, CellAlignment};
use layland_answers::design::{BudgetRow, DesignDocument};
use layland_answers::{DesignQuestion, Exit, Unanswered};
use layland_model::{Duration, Rate};
use std::path::Path;

/// Prints the budgets that were found.
pub(super) fn run(question: &DesignQuestion, args: &CheckArgs) -> Outcome {
    let set = Sets::new(&args.set, &[]).without_origin().next();
    let set = set.unwrap_or_else(|| Err(Unanswered::usage("there is no set").into()))?;
    let found = threads::on(args.workers, || question.ask(&set.name, &set.system))??;
    if args.certificate.as_deref() != Some(Path::new("-")) {
        if args.json {
            terminal::data(&found.text())?;
        } else {
            terminal::result(&text(&found, args))?;
        }
    }
    if let Some(path) = &args.certificate {
        files::write(path, found.text().as_bytes())?;
    }
    Ok(if found.choice.is_some() { Exit::Yes } else { Exit::Unknown })
}

fn text(found: &DesignDocument<'_>, args: &CheckArgs) -> String {
    let mut rows = table(args);
    rows.set_header(["CPUs", "period", "least budget", "bandwidth", ""]);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    for row in &found.table {
        let is_best = found.choice.as_ref() == Some(row);
        let mark = match (&row.why, is_best) {
            (Some(why), _) => why.as_str(),
            (None, true) => "the least bandwidth",
            (None, false) => "",
        };
        rows.add_row([
            right(row.cpus.to_string()),
            right(format!("{:#}", Duration::from_ns(row.period_ns))),
            right(row.budget_ns.map_or("-".to_owned(), |ns| Duration::from_ns(ns).to_string())),
            right(bandwidth(row, args.digits)),
            reason(mark),
        ]);
    }
    let mut text = drawn(&rows);
    match &found.choice {
        None => text.push_str("\nno budget is enough for these tests\n"),
        Some(row) => {
            let budget = Duration::from_ns(row.budget_ns.unwrap_or(0));
            let period = Duration::from_ns(row.period_ns);
            let on = layland_model::counted(row.cpus, "CPU");
            text.push_str(&format!(
                "\ngroup `{}`: budget = \"{budget}\", period = \"{period}\" on {on}; the tests do not accept 1 ns less\n",
                found.group
            ));
        }
    }
    text
}

/// The bandwidth as a decimal.
fn bandwidth(row: &BudgetRow, digits: u32) -> String {
    let rate = row.bandwidth.as_ref().and_then(|text| text.parse::<Rate>().ok());
    rate.map_or("-".to_owned(), |rate| format!("{:.*}", digits as usize, rate.to_f64()))
}
