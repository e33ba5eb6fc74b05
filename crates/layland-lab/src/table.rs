//! Formats tables and claims.

use crate::claim::{Judged, Judgement, Method, Sampled, short};
use crate::curve::{at_cell, curves};
use crate::experiment::{Experiment, Figure, Table};
use crate::results::Results;
use layland_model::counted;

/// The maximum number of disagreements that are listed per claim.
const LISTED: usize = 5;

/// Formats every claim with its judgement and the evidence.
pub fn claims_text(experiment: &Experiment, results: &Results, judged: &[Judged<'_>]) -> String {
    let mut out = format!("{}\n{}\n", experiment.title, experiment.provenance());
    if !results.is_complete() {
        out += &format!("incomplete: {} of {} units are measured\n", results.done, results.units);
    }
    for (series, reason) in results.without_values() {
        let label = &experiment.series[series].label;
        out += &format!("no value of {label}, which is left out: {reason}\n");
    }
    out.push('\n');
    out + &claims_list(experiment, judged)
}

/// Formats the claims without the heading.
pub(crate) fn claims_list(experiment: &Experiment, judged: &[Judged<'_>]) -> String {
    let mut out = String::new();
    let count = |judgement| judged.iter().filter(|judged| judged.judgement == judgement).count();
    let all = [
        Judgement::Holds,
        Judgement::Partly,
        Judgement::Fails,
        Judgement::NotShown,
        Judgement::Undecided,
    ];
    let each = all.map(|judgement| (count(judgement), judgement.name()));
    let each: Vec<String> = each
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    out += &format!(
        "claims: {}\n\n",
        if each.is_empty() { "none".to_owned() } else { each.join(", ") }
    );
    let heading = ["claim", "here", "agree", "99 %", "statement"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for judged in judged {
        let Judged { claim, agree, of, sampled, .. } = judged;
        let interval = sampled.map(|sampled| format!("{}..{}", sampled.low, sampled.high));
        rows.push(vec![
            claim.name.clone(),
            judged.judgement.name().to_owned(),
            format!("{agree}/{of}"),
            interval.unwrap_or("-".to_owned()),
            claim.text.clone(),
        ]);
    }
    out += &aligned(&rows, &[false, false, true, true, false]);
    for judged in judged {
        let Judged { claim, agree, of, even, compared, against, sampled, points, .. } = judged;
        let figures: Vec<&str> =
            claim.figures.iter().map(|&at| experiment.figures[at].name.as_str()).collect();
        out += &format!("\n{}: {}\n", claim.name, judged.here());
        out += &format!("  {}\n", claim.text);
        if claim.ours {
            out += &match claim.source.as_str() {
                "" => "  ours: the source does not say it\n".to_owned(),
                source => format!("  ours: the source does not say it ({source})\n"),
            };
        } else if !claim.source.is_empty() {
            out += &format!("  source: {}\n", claim.source);
        }
        out += &format!("  decided by {}", figures.join(", "));
        match (claim.range.from, claim.range.to) {
            (None, None) => {}
            (Some(from), None) => out += &format!(" from {}", short(from)),
            (None, Some(to)) => out += &format!(" up to {}", short(to)),
            (Some(from), Some(to)) => out += &format!(" from {} to {}", short(from), short(to)),
        }
        out += &format!(": {compared}, {agree} of {of}\n");
        if *even > 0 {
            out += &format!("  could not have failed at {even} more, where both sides are alike\n");
        }
        if let Some(sampled) = sampled {
            out += &sampled_text(sampled, *of);
        }
        let open =
            points.iter().filter(|point| point.interval.is_some() && point.is_open()).count();
        if open > 0 {
            out += &format!("  open at {open} of them: other systems could give the opposite\n");
        }
        for text in against.iter().take(LISTED) {
            out += &format!("  not: {text}\n");
        }
        if against.len() > LISTED {
            out += &format!("  not: {} more\n", against.len() - LISTED);
        }
    }
    out
}

/// Formats the interval of a claim.
pub(crate) fn sampled_text(sampled: &Sampled, of: usize) -> String {
    let Sampled { method, low, high, sets, .. } = sampled;
    let how = match method {
        Method::Bootstrap => format!("paired bootstrap over {sets} sets a point"),
        Method::Binomial => {
            format!(
                "exact binomial over points, since {} a point are too few to draw from",
                counted(*sets, "set")
            )
        }
    };
    let mut out = format!("  99 %: {low} to {high} of {of} ({how})\n");
    match (sampled.judgement, sampled.decides) {
        (Judgement::Undecided, Some(decides)) => {
            out += &format!("  about {decides} sets a point would decide\n");
        }
        (Judgement::Undecided, None) => out += "  64 times as many sets would not decide\n",
        _ => {}
    }
    if let Some(rest) = sampled.rest {
        let percent = short(rest * 100.0);
        out +=
            &format!("  none is against it, so that at most {percent} % are at a point (99 %)\n");
    }
    out
}

/// Formats a table of the experiment.
pub fn table_text(experiment: &Experiment, results: &Results, table: &Table) -> String {
    let grid = &experiment.grids[table.grid];
    let axes = grid.axes.iter().map(|(axis, _)| axis.clone());
    let headings = table.columns.iter().map(|(_, _, heading)| heading.clone());
    let mut rows: Vec<Vec<String>> =
        vec![axes.chain(["series".to_owned()]).chain(headings).collect()];
    for cell in results.cells(table.grid) {
        for &series in &table.series {
            let mut row = cell.values.clone();
            row.push(experiment.series[series].label.clone());
            row.extend(table.columns.iter().map(|(metric, statistic, _)| {
                at_cell(grid, cell, series, metric, *statistic).map_or("-".to_owned(), short)
            }));
            rows.push(row);
        }
    }
    let words = grid.axes.len() + 1;
    let right: Vec<bool> = (0..words + table.columns.len()).map(|at| at + 1 != words).collect();
    let title = if table.title.is_empty() { &table.name } else { &table.title };
    format!("{title}\n{}", aligned(&rows, &right))
}

/// The numbers of a figure, as CSV.
pub fn figure_text(experiment: &Experiment, results: &Results, figure: &Figure) -> String {
    let mut out = "series,x,y,count\n".to_owned();
    for curve in curves(experiment, results, figure) {
        for point in &curve.points {
            let y = point.y.map_or(String::new(), |y| y.to_string());
            let name = &experiment.series[curve.series].name;
            out += &format!("{name},{},{y},{}\n", point.x, point.count);
        }
    }
    out
}

/// Aligns rows of equal length in columns; the first row is the heading.
pub(crate) fn aligned(rows: &[Vec<String>], right: &[bool]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> =
        (0..columns).map(|at| rows.iter().map(|row| length(&row[at])).max().unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let gap = " ".repeat(widths[at] - length(cell));
            let between = if at == 0 { "" } else { "  " };
            line += between;
            line += &if right[at] { gap + cell } else { cell.clone() + &gap };
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}
