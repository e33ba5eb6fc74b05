//! A report about a paper for its authors: every figure drawn again, each claim with its interval
//! and its command, and what we found in the paper. One page of HTML, and the same as PDF and as
//! Markdown.
//!
//! All are made from one list of [`Item`]s, so that they say the same.

mod html;
mod item;
mod markdown;
mod sheets;

use crate::claim::{Judged, judge, judge_of};
use crate::experiment::{Experiment, Figure};
use crate::metric::Origin;
use crate::output::{Written, drawn};
use crate::results::Results;
use crate::run::LabError;
use crate::shard::replace;
use crate::table::sampled_text;
use crate::timing::{JudgedTimes, Timings};
use item::Item;
use layland_sim::Horizon;
use std::path::{Path, PathBuf};

/// The maximum number of points of a claim whose values are listed.
const LISTED: usize = 6;

/// The measurements that a report shows.
struct Measurements<'a> {
    experiment: &'a Experiment,
    results: &'a Results,
    timings: Option<&'a Timings>,
}

impl Measurements<'_> {
    /// The results that a figure shows; `None` if they were not measured.
    fn of(&self, figure: &Figure) -> Option<&Results> {
        let results = match figure.origin() {
            Origin::Computed => Some(self.results),
            Origin::Timed => self.timings.map(|timings| &timings.rows),
            Origin::Threads => None,
        };
        results.filter(|results| results.grids.iter().any(|rows| rows.grid == figure.grid))
    }

    fn items(&self) -> Vec<Item> {
        let experiment = self.experiment;
        let mut judged = judge(experiment, self.results);
        if let Some(timings) = self.timings {
            judged.extend(judge_of(experiment, &timings.rows, Origin::Timed));
        }
        let mut items = vec![
            Item::Heading(1, experiment.title.clone()),
            Item::Text(experiment.source.clone()),
            Item::Text(experiment.provenance()),
            Item::Command(format!("layland lab paper {}{}", experiment.name, self.options())),
            Item::Text(experiment.notes.trim().replace('\n', " ")),
        ];
        items.extend(self.errata());
        for (at, figure) in experiment.figures.iter().enumerate() {
            let Some(results) = self.of(figure) else { continue };
            let (picture, about) = drawn(experiment, results, figure);
            let heading = match figure.title.as_str() {
                "" => figure.name.clone(),
                title => format!("{}: {title}", figure.name),
            };
            items.push(Item::Heading(2, heading));
            let (name, picture) = (figure.name.clone(), Box::new(picture));
            items.push(Item::Figure { name, picture, about });
            items.push(Item::Command(self.command(figure)));
            // A claim of several figures stands below the first that is drawn.
            let is_first = |judged: &&Judged<'_>| {
                let shown = |&at: &usize| self.of(&experiment.figures[at]).is_some();
                judged.claim.figures.iter().copied().find(shown) == Some(at)
            };
            judged.iter().filter(is_first).for_each(|judged| items.extend(claim(judged)));
        }
        if let (Some(timings), Some(timing)) = (self.timings, &experiment.timing)
            && !timing.claims.is_empty()
        {
            items.push(Item::Heading(2, "Times of decisions".to_owned()));
            timings.judge(timing).iter().for_each(|judged| items.extend(times(judged)));
        }
        let is_missing = |figure: &&Figure| self.of(figure).is_none();
        let missing: Vec<&str> = experiment
            .figures
            .iter()
            .filter(is_missing)
            .map(|figure| figure.name.as_str())
            .collect();
        if !missing.is_empty() {
            items.push(Item::Heading(2, "Figures that were not measured".to_owned()));
            items.push(Item::Text(missing.join(", ")));
            items
                .push(Item::Command(format!("layland lab run {} --real-threads", experiment.name)));
        }
        items
    }

    fn errata(&self) -> Vec<Item> {
        if self.experiment.errata.is_empty() {
            return Vec::new();
        }
        let mut items = vec![Item::Heading(2, "What does not hold as written".to_owned())];
        for erratum in &self.experiment.errata {
            items.push(Item::Text(format!("{}: {}", erratum.source, erratum.text)));
            items.extend(erratum.commands.iter().cloned().map(Item::Command));
        }
        items
    }

    fn command(&self, figure: &Figure) -> String {
        let (name, options) = (&self.experiment.name, self.options());
        match figure.origin() {
            Origin::Timed => format!("layland lab run {name}{options}"),
            _ => format!("layland lab run {name} --only {}{options}", figure.name),
        }
    }

    /// The options that give the numbers of this page again.
    fn options(&self) -> String {
        let Experiment { sets, seed, horizon, .. } = self.experiment;
        let horizon = match horizon {
            Horizon::At(at) => format!(" --horizon {}", at.since_start()),
            Horizon::Hyperperiods(count) => format!(" --horizon \"{count} hyperperiods\""),
            // No option names it: it is that of the description.
            Horizon::Recurrence { .. } => String::new(),
        };
        format!(" --sets {sets} --seed {seed}{horizon}")
    }
}

fn claim(judged: &Judged<'_>) -> Vec<Item> {
    let Judged { claim, agree, of, even, compared, .. } = judged;
    let source = match (claim.ours, claim.source.as_str()) {
        (true, "") => "ours".to_owned(),
        (true, source) => format!("ours, {source}"),
        (false, source) => source.to_owned(),
    };
    let text = format!("{} ({source})", claim.text);
    let mut items = vec![Item::Claim { text, here: judged.here() }];
    let mut line = format!("{}: {compared}, {agree} of {of}", claim.name);
    if *even > 0 {
        line += &format!("; {even} more could not fail");
    }
    items.push(Item::Detail(line));
    if let Some(sampled) = &judged.sampled {
        let text = sampled_text(sampled, *of);
        items.extend(text.lines().map(|line| Item::Detail(line.trim().to_owned())));
    }
    // The points that are nearest to the opposite say the most.
    let mut points: Vec<_> = judged.points.iter().collect();
    points.sort_by(|a, b| (a.agrees, a.gap).partial_cmp(&(b.agrees, b.gap)).expect("no NaN"));
    let listed = points.iter().take(LISTED).map(|point| {
        let agrees = if point.agrees { "agrees" } else { "does not" };
        let open = if point.is_open() { ", open" } else { "" };
        format!("{}: {agrees}{open}", point.what)
    });
    let mut listed: Vec<String> = listed.collect();
    if points.len() > LISTED {
        listed.push(format!("and {} more points", points.len() - LISTED));
    }
    if !listed.is_empty() {
        items.push(Item::Detail(listed.join("; ")));
    }
    items
}

fn times(judged: &JudgedTimes<'_>) -> Vec<Item> {
    let text = format!("{} ({})", judged.claim.text, judged.claim.source);
    let mut items = vec![Item::Claim { text, here: judged.here.to_owned() }];
    for one in &judged.statistics {
        let interval = one
            .interval
            .map_or(String::new(), |(low, high)| format!(" (99 %: {low:.2} to {high:.2})"));
        items.push(Item::Detail(format!(
            "{}: {:.2} and {:.2} us, {:.2} times{interval}",
            one.statistic,
            one.slower,
            one.faster,
            one.ratio()
        )));
    }
    items
}

/// Writes the report as HTML, PDF and Markdown, the last with its pictures in a folder of the name of
/// the experiment. Returns the names of the three files.
///
/// # Errors
/// Returns an error if a file cannot be written.
pub fn write_paper(
    experiment: &Experiment,
    results: &Results,
    timings: Option<&Timings>,
    folder: &Path,
) -> Result<Written, LabError> {
    let items = Measurements { experiment, results, timings }.items();
    let html = html::page(&experiment.title, &items);
    let pdf = sheets::pdf(&experiment.title, &items);
    let (markdown, pictures) = markdown::page(&experiment.name, &items);
    let beside = folder.join(&experiment.name);
    std::fs::create_dir_all(&beside)
        .map_err(|error| LabError::Write { path: beside.clone(), error })?;
    for (file, svg) in pictures {
        replace(&beside.join(file), svg.as_bytes())?;
    }
    let mut written = Vec::new();
    for (ending, bytes) in
        [("html", html.into_bytes()), ("pdf", pdf), ("md", markdown.into_bytes())]
    {
        let file = PathBuf::from(format!("{}.{ending}", experiment.name));
        replace(&folder.join(&file), &bytes)?;
        written.push(file);
    }
    Ok(written)
}
