//! The page: the values for its template, and its scripts.

use crate::distribution::Series;
use crate::encode::{self, COLUMNS, Layout};
use crate::guarantee::Guarantees;
use crate::line::{Line, Severity};
use crate::report::{Report, Table};
use crate::run::Run;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use layland_model::shown::with_micro;
use layland_model::{CpuId, Criticality, Duration, Index, TaskId, Time, counted};
use layland_trace::{Job, JobEnd, JobRecord, Labels, Summary, Trace, level_stretches, raised};
use minijinja::{Environment, HtmlEscape, Value, context, escape_formatter};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The scripts of the page, in their order; each begins with its purpose. The playground uses all
/// but the last, which starts the page of a report.
const SCRIPTS: [&str; 15] = [
    include_str!("../assets/js/10-time.js"),
    include_str!("../assets/js/20-decode.js"),
    include_str!("../assets/js/30-lanes.js"),
    include_str!("../assets/js/35-steps.js"),
    include_str!("../assets/js/40-look.js"),
    include_str!("../assets/js/45-raster.js"),
    include_str!("../assets/js/50-draw.js"),
    include_str!("../assets/js/52-levels.js"),
    include_str!("../assets/js/55-panel.js"),
    include_str!("../assets/js/60-story.js"),
    include_str!("../assets/js/70-charts.js"),
    include_str!("../assets/js/75-overview.js"),
    include_str!("../assets/js/80-app.js"),
    include_str!("../assets/js/85-input.js"),
    include_str!("../assets/js/90-start.js"),
];

/// The template of the page, and a part of it.
const TEMPLATES: [(&str, &str); 2] = [
    ("report.html", include_str!("../assets/report.html")),
    ("guarantees.html", include_str!("../assets/guarantees.html")),
];

/// The maximum number of stretches of a raised criticality level that are listed.
const LISTED_LEVELS: usize = 10;
/// The maximum number of misses of one run that are listed.
const LISTED: usize = 100;

/// The input of the scripts.
#[derive(Serialize)]
struct Data<'a> {
    names: Vec<String>,
    levels: &'a [String],
    cpus: usize,
    columns: [&'static str; COLUMNS.len()],
    /// The start and the end in nanoseconds after the base, as digits.
    window: (String, String),
    range: (String, String),
    runs: Vec<DataRun<'a>>,
    distributions: Vec<DataDistribution<'a>>,
}

#[derive(Serialize)]
struct DataRun<'a> {
    name: &'a str,
    over: String,
    layout: Layout,
}

#[derive(Serialize)]
struct DataDistribution<'a> {
    title: &'a str,
    series: &'a [Series],
}

impl Report {
    /// Returns the page. Equal reports give equal bytes.
    pub fn html(&self) -> String {
        render(self)
    }

    /// Returns the contents of the page as JSON, for another page with the same scripts.
    pub fn parts(&self) -> String {
        let labels = whole_labels(self);
        let parts = serde_json::to_string(&parts(self, &labels))
            .expect("names and numbers can be written as JSON");
        with_micro(&parts).into_owned()
    }
}

/// The contents of a page other than its template, for pages that draw reports on their own. The
/// members are the input of the template and the scripts.
#[derive(Serialize)]
struct Parts<'a> {
    title: &'a str,
    provenance: &'a str,
    /// The input of the scripts.
    data: Data<'a>,
    /// For each run the input of `20-decode.js`.
    packed: Vec<String>,
    panels: Vec<Value>,
    lines: Vec<Value>,
    words: Vec<Vec<String>>,
    tables: Vec<Value>,
    misses: Vec<Value>,
}

fn parts<'a>(report: &'a Report, labels: &'a Labels) -> Parts<'a> {
    let extent = encode::extent(report.runs.iter().map(|run| &run.trace));
    let base = i128::from(extent.0.ns());
    let after = |at: Time| (i128::from(at.ns()) - base).to_string();
    let (mut packed, mut runs) = (Vec::new(), Vec::new());
    for run in &report.runs {
        let encoded = encode::encode(&run.trace, labels.cpus, extent);
        packed.push(STANDARD.encode(&encoded.bytes));
        runs.push(DataRun { name: &run.name, over: after(run.trace.over), layout: encoded.layout });
    }
    let range = range(report);
    let window = report.window.unwrap_or_else(|| window(report, range));
    let data = Data {
        names: labels.tasks.values().cloned().collect(),
        levels: &labels.levels,
        cpus: labels.cpus,
        columns: COLUMNS,
        window: (after(window.0), after(window.1)),
        range: (after(range.0), after(range.1)),
        runs,
        distributions: (report.distributions.iter())
            .map(|d| DataDistribution { title: &d.title, series: &d.series })
            .collect(),
    };
    let figures: Vec<Summary> = report.runs.iter().map(|run| run.figures(labels)).collect();
    let mut lines: Vec<_> = report.lines.iter().collect();
    // The sort is stable: lines of equal severity keep their order. Good news and notes come last.
    lines.sort_by_key(|line| std::cmp::Reverse(line.severity));
    let line = |line: &&Line| {
        let (sign, word) = line.severity.sign();
        context! { severity => line.severity.class(), sign, word, text => line.text.clone() }
    };
    let panels = report.runs.iter().zip(&figures).map(|(run, figures)| panel(run, figures));
    let misses = report.runs.iter().filter_map(|run| miss_table(run, labels));
    Parts {
        title: &report.title,
        provenance: &report.provenance,
        data,
        packed,
        panels: panels.collect(),
        lines: lines.iter().map(line).collect(),
        words: all_words(report, labels, &figures),
        tables: report.tables.iter().map(table).collect(),
        misses: misses.map(|found| table(&found)).collect(),
    }
}

/// Marks up a message of the program: what it writes between backticks is code. Everything in it is
/// escaped first, and a backtick without a second one stays.
fn code(text: &str) -> Value {
    let escaped = HtmlEscape(&with_micro(text)).to_string();
    let mut marked = String::with_capacity(escaped.len());
    let mut rest = escaped.as_str();
    while let Some((before, inside, after)) = rest.split_once('`').and_then(|(before, after)| {
        let (inside, after) = after.split_once('`')?;
        Some((before, inside, after))
    }) {
        marked += &format!("{before}<code>{inside}</code>");
        rest = after;
    }
    Value::from_safe_string(marked + rest)
}

fn render(report: &Report) -> String {
    let labels = whole_labels(report);
    let Parts { data, packed, panels, lines, words, tables, misses, .. } = parts(report, &labels);
    // The library is included only if it draws something.
    let charts = !(report.runs.is_empty() && report.distributions.is_empty());
    let inline = Inline::of(charts);
    let mut environment = Environment::new();
    environment.add_filter("code", code);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => {
            escape_formatter(out, state, &Value::from(with_micro(text).into_owned()))
        }
        Some(_) | None => escape_formatter(out, state, value),
    });
    for (name, text) in TEMPLATES {
        environment.add_template(name, text).expect("the template is valid");
    }
    let filled = |name: &str, values: Value| {
        let template = environment.get_template(name).expect("it was just added");
        template.render(values).expect("the template names only what it is given")
    };
    let guarantees = report.guarantees.as_ref().map(Guarantees::context);
    let sources = guarantees.as_ref().and_then(|found| found.get_attr("sources").ok());
    let guarantees = guarantees.map(|guarantees| {
        let margins = report.guarantees.iter().flat_map(|found| &found.policies);
        let margins = margins.clone().any(|policy| policy.margin.is_some());
        let values = context! { guarantees, margins, panels => !report.runs.is_empty() };
        Value::from_safe_string(filled("guarantees.html", values))
    });
    filled(
        "report.html",
        context! {
            title => report.title.clone(),
            provenance => report.provenance.clone(),
            playground => report.playground.clone(),
            lines,
            panels,
            tables,
            misses,
            distributions => report.distributions.iter().map(|d| d.title.clone()).collect::<Vec<_>>(),
            guarantees => guarantees.unwrap_or_else(|| Value::from_safe_string(String::new())),
            sources => sources.unwrap_or_else(|| Value::from(Vec::<String>::new())),
            policy => Value::from_safe_string(inline.policy()),
            words,
            names => data.names.clone(),
            packed => packed.into_iter().map(Value::from_safe_string).collect::<Vec<_>>(),
            data => Value::from_safe_string(script_json(&data)),
            styles => inline.styles.iter().map(|style| safe(style)).collect::<Vec<_>>(),
            scripts => inline.scripts.iter().map(|script| safe(script)).collect::<Vec<_>>(),
            charts,
            uplot_licence => include_str!("../assets/vendor/uPlot-LICENSE"),
        },
    )
}

/// The scripts and the styles of a page: the text of each element, to the byte.
struct Inline {
    styles: Vec<String>,
    scripts: Vec<String>,
}

impl Inline {
    fn of(charts: bool) -> Inline {
        let of_charts = |text: &str| charts.then(|| text.to_owned());
        let own = format!("\n(() => {{\n\"use strict\";\n{}\n}})();\n", SCRIPTS.concat());
        let own_style = include_str!("../assets/report.css").to_owned();
        let uplot_style = of_charts(include_str!("../assets/vendor/uPlot.min.css"));
        let uplot = of_charts(include_str!("../assets/vendor/uPlot.iife.min.js"));
        let inline = Inline {
            styles: uplot_style.into_iter().chain([own_style]).collect(),
            scripts: uplot.into_iter().chain([own]).collect(),
        };
        debug_assert!(
            inline.scripts.iter().all(|script| !script.contains("</script")),
            "a script must not end itself"
        );
        inline
    }

    /// Returns the content security policy of the page: it allows these scripts
    /// and styles, by their hashes, and neither loads nor sends anything. A
    /// foreign script, style attribute, base or form has no effect.
    fn policy(&self) -> String {
        let (scripts, styles) = (hashes(&self.scripts), hashes(&self.styles));
        format!(
            "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; base-uri 'none'; \
             form-action 'none'"
        )
    }
}

/// Returns the hashes by which a policy allows these elements.
fn hashes(texts: &[String]) -> String {
    let hash = |text: &String| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    texts.iter().map(hash).collect::<Vec<_>>().join(" ")
}

fn safe(text: &str) -> Value {
    Value::from_safe_string(text.to_owned())
}

/// Returns the labels, with names for all tasks and levels that occur, and with all CPUs.
fn whole_labels(report: &Report) -> Labels {
    let mut labels = report.labels.clone();
    for run in &report.runs {
        let numbered = Labels::numbered(&run.trace);
        labels.cpus = labels.cpus.max(numbered.cpus);
        for index in labels.tasks.len()..numbered.tasks.len() {
            labels.tasks.push(labels.task(TaskId::from_index(index)));
        }
        for mark in &run.trace.marks {
            let Some(highest) = mark.kind.describe().level() else { continue };
            for level in labels.levels.len()..=highest.level() {
                let level = u8::try_from(level).expect("it is at most that of a mark");
                labels.levels.push(labels.level(Criticality(level)));
            }
        }
    }
    labels
}

/// Returns JSON for a script element: it contains
/// nothing that ends the element or begins a comment.
pub(crate) fn script_json(data: &impl Serialize) -> String {
    let text = serde_json::to_string(data).expect("names and numbers can be written as JSON");
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Returns the range of time that the runs cover.
fn range(report: &Report) -> (Time, Time) {
    let shown = || report.runs.iter().map(Run::shown);
    let from = shown().map(|(from, _)| from).min().unwrap_or_default();
    let to = shown().map(|(_, to)| to).max().unwrap_or_default();
    (from, to.max(from.saturating_add(Duration::from_ns(1))))
}

/// Returns about three times the longest relative deadline, around the first miss or from the
/// start; less if there are too many segments.
fn window(report: &Report, (from, to): (Time, Time)) -> (Time, Time) {
    let all = to - from;
    let first = report.runs.iter().filter_map(first_miss).min();
    let longest = report.runs.iter().flat_map(|run| &run.trace.jobs).map(|record| {
        let Job { arrival, deadline, .. } = record.job;
        if deadline.ns() == i64::MAX { Duration::ZERO } else { deadline - arrival }
    });
    let span = longest
        .max()
        .filter(|span| *span > Duration::ZERO)
        .map_or(all.ns(), |span| span.ns().saturating_mul(3));
    let crowd = report.runs.iter().map(|run| run.trace.segments.len()).max().unwrap_or(0);
    let few = i128::from(all.ns()) * 400 / (crowd.max(1) as i128);
    let span = span.min(i64::try_from(few).unwrap_or(i64::MAX)).clamp(1, all.ns().max(1));
    let Some(first) = first else { return (from, from + Duration::from_ns(span)) };
    if all.ns() <= span.saturating_mul(3) / 2 {
        return (from, to);
    }
    // Centre the miss unless less than half of the space before it would be used.
    let half = Duration::from_ns(span / 2);
    let half = half.min((first - from).max(Duration::from_ns(span / 4)));
    ((first - half).max(from), first + half)
}

fn first_miss(run: &Run) -> Option<Time> {
    let missed = run.trace.jobs.iter().filter(|record| record.missed(run.trace.over));
    missed.map(|record| record.job.deadline).min()
}

fn panel(run: &Run, figures: &Summary) -> Value {
    let total = &figures.total;
    let worst = Duration::from_ns(total.max_tardiness_ns.max(total.overdue_ns));
    // An aborted job is missed, and never late.
    let late =
        if worst == Duration::ZERO { String::new() } else { format!(", up to {worst:#} late") };
    let (sign, severity, verdict) = match total.missed {
        0 => ("✓", Severity::Good, "no miss".to_owned()),
        1 => ("✗", Severity::Bad, format!("1 miss{late}")),
        misses => ("✗", Severity::Bad, format!("{misses} misses{late}")),
    };
    context! {
        name => run.name.clone(),
        note => run.note.clone(),
        sign,
        severity => severity.class(),
        verdict,
        figures => format!(
            "{}, {}, {}",
            counted(total.released, "job"),
            counted(total.preemptions, "preemption"),
            counted(total.migrations, "migration")
        ),
    }
}

/// Describes everything that is drawn, in words.
fn all_words(report: &Report, labels: &Labels, figures: &[Summary]) -> Vec<Vec<String>> {
    let runs = figures.iter().zip(&report.runs).map(|(figures, run)| words(run, labels, figures));
    let guarantees = report
        .guarantees
        .iter()
        .flat_map(|found| found.policies.iter().map(|policy| policy.words(&found.tasks)));
    runs.chain(guarantees).collect()
}

/// Describes a run in words, for readers who cannot see a chart.
fn words(run: &Run, labels: &Labels, figures: &Summary) -> Vec<String> {
    let total = &figures.total;
    let mut words = vec![format!(
        "Under {}: {} up to {:#}, {} completed, {}, {}, {}.",
        run.name,
        counted(total.released, "job"),
        Time::from_ns(figures.over_ns),
        total.completed,
        match total.missed {
            0 => "no deadline missed".to_owned(),
            1 => "1 deadline missed".to_owned(),
            misses => format!("{misses} deadlines missed"),
        },
        counted(total.preemptions, "preemption"),
        counted(total.migrations, "migration"),
    )];
    for task in figures.tasks.iter().filter(|task| task.missed > 0).take(LISTED) {
        words.push(format!(
            "{} misses {} of {}, by at most {:#}.",
            task.name,
            task.missed,
            counted(task.released, "deadline"),
            Duration::from_ns(task.max_tardiness_ns.max(task.overdue_ns))
        ));
    }
    for cpu in &figures.cpus {
        words.push(format!(
            "CPU {} is busy for {:.1} % of the time.",
            cpu.cpu,
            cpu.busy_ratio * 100.0
        ));
    }
    words.extend(
        (0..labels.cpus).map(CpuId::from_index).filter_map(|cpu| level_words(run, labels, cpu)),
    );
    words
}

/// Lists the times at which the criticality level of a CPU is raised; `None` if it never is.
fn level_words(run: &Run, labels: &Labels, cpu: CpuId) -> Option<String> {
    let stretches = level_stretches(&run.trace, cpu);
    let (from, to) = run.shown();
    let subject = format!("The criticality level of CPU {cpu}");
    let (times, length) = raised(&stretches, from, to);
    if stretches.is_empty() {
        return None;
    }
    if times == 0 {
        return Some(format!("{subject} is not raised."));
    }
    let shown = stretches.iter().filter(|stretch| stretch.from < to && stretch.to > from);
    let mut listed: Vec<String> = shown
        .filter(|stretch| stretch.level.level() > 0)
        .map(|stretch| {
            format!("{} from {:#} to {:#}", labels.level(stretch.level), stretch.from, stretch.to)
        })
        .collect();
    if let Some(more @ 1..) = listed.len().checked_sub(LISTED_LEVELS) {
        listed.truncate(LISTED_LEVELS);
        listed.push(format!("and {} more", counted(more as u64, "time")));
    }
    let times = counted(times as u64, "time");
    Some(format!("{subject} is raised {times}, for {length:#} in all: {}.", listed.join(", ")))
}

fn miss_table(run: &Run, labels: &Labels) -> Option<Table> {
    let Trace { over, ref jobs, .. } = run.trace;
    let mut missed: Vec<&JobRecord> = jobs.iter().filter(|record| record.missed(over)).collect();
    missed.sort_by_key(|record| (record.job.deadline, record.job.id));
    let row = |record: &&JobRecord| {
        let (end, late) = match record.end {
            Some((at, JobEnd::Completed)) => {
                (format!("{at:#}"), format!("{:#}", record.job.tardiness(at)))
            }
            Some((at, JobEnd::Aborted | JobEnd::Left)) => {
                (format!("aborted at {at:#}"), "-".to_owned())
            }
            None => ("pending".to_owned(), format!("at least {:#}", record.job.tardiness(over))),
        };
        let job = record.job;
        vec![
            format!("{} #{}", labels.task(job.id.task), job.id.number()),
            format!("{:#}", job.arrival),
            format!("{:#}", job.deadline),
            end,
            late,
        ]
    };
    let mut notes = Vec::new();
    if missed.len() > LISTED {
        notes.push(format!("The first {LISTED} of {} misses in the trace.", missed.len()));
    }
    (!missed.is_empty()).then(|| Table {
        title: format!("Deadline misses under {}", run.name),
        headings: ["job", "arrival", "deadline", "completion", "tardiness"]
            .map(str::to_owned)
            .to_vec(),
        rows: missed.iter().take(LISTED).map(row).collect(),
        marked: Vec::new(),
        notes,
    })
}

fn table(table: &Table) -> Value {
    let rows = table.rows.iter().enumerate().map(|(position, cells)| {
        let mark = table.marked.iter().find(|(marked, _)| *marked == position);
        context! { cells => cells.clone(), severity => mark.map(|(_, severity)| severity.class()) }
    });
    context! {
        title => table.title.clone(),
        headings => table.headings.clone(),
        rows => rows.collect::<Vec<_>>(),
        notes => table.notes.clone(),
    }
}
