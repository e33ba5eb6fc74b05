//! The questions of a page, and the functions that answer them.

use crate::about;
use crate::problem::{Refused, problems};
use crate::set::{self, About, File};
use layland::answers::simulate::Watch;
use layland::answers::values::{length_of, window_of};
use layland::answers::{
    ChartSpan, CheckQuestion, Set, SimulateQuestion, Simulated, Structure, convert,
    simulation_charts, simulation_report,
};
use layland::guarantee::BoundsBy;
use layland::sim::Horizon;
use layland_config::{Format, RtAppPolicy};
use layland_model::Time;
use layland_policy::Registry;
use layland_report::playground::{Start, fragment};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// The page interrupts nothing: it starts another engine.
static NEVER: AtomicBool = AtomicBool::new(false);

/// A question.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub(crate) enum Ask {
    /// The data that a page needs once.
    About,
    /// Converts a file of any format to a task-set file.
    Load(File),
    /// The rows of a table, with their places in the text.
    Inspect(About),
    /// The answer of `layland sim`.
    Sim(Simulation),
    /// The answer of `layland check`.
    Check(Check),
    /// Charts.
    Svg(Simulation),
    /// A set in another format.
    Export(Export),
    /// The decisions of a policy about a set before the first release.
    Explain(Explain),
    /// A link.
    Link(Link),
}

#[derive(Deserialize)]
pub(crate) struct Simulation {
    #[serde(flatten)]
    about: About,
    #[serde(default)]
    policies: Vec<String>,
    until: Option<String>,
    seed: Option<u64>,
    explore: Option<u64>,
    segments: Option<u64>,
    window: Option<String>,
    /// True if the parts of a report are wanted.
    #[serde(default = "yes")]
    report: bool,
}

#[derive(Deserialize)]
pub(crate) struct Check {
    #[serde(flatten)]
    about: About,
    #[serde(default)]
    policies: Vec<String>,
    #[serde(default)]
    tests: Vec<String>,
    effort: Option<u64>,
    #[serde(default = "yes")]
    margins: bool,
    #[serde(default)]
    all: bool,
    /// True if bounds of all tasks are wanted. The command always has them.
    #[serde(default = "yes")]
    bounds: bool,
    #[serde(default)]
    certificate: bool,
}

#[derive(Deserialize)]
pub(crate) struct Export {
    #[serde(flatten)]
    about: About,
    to: String,
}

#[derive(Deserialize)]
pub(crate) struct Explain {
    #[serde(flatten)]
    about: About,
    policy: String,
    format: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Link {
    start: Start,
}

fn yes() -> bool {
    true
}

impl Ask {
    pub(crate) fn answer(self) -> Result<Value, Refused> {
        let registry = Registry::standard();
        match self {
            Ask::About => Ok(about::about(&registry)),
            Ask::Load(file) => set::load(&file),
            Ask::Inspect(about) => set::inspect(&about),
            Ask::Sim(asked) => asked.simulate(&registry),
            Ask::Check(asked) => asked.check(&registry),
            Ask::Svg(asked) => asked.charts(&registry),
            Ask::Export(asked) => asked.export(),
            Ask::Explain(asked) => asked.explain(&registry),
            Ask::Link(Link { start }) => Ok(json!({ "fragment": fragment(&start) })),
        }
    }
}

impl Simulation {
    /// Answers the question. Returns also what is shown of the answer.
    fn ask(&self, registry: &Registry, set: Set) -> Result<(Simulated, ChartSpan), Refused> {
        let wrong = |key: &'static str| move |error| Refused::usage(format!("{key}: {error}"));
        let until = self.until.as_deref().map(length_of).transpose().map_err(wrong("until"))?;
        let window = self.window.as_deref().map(window_of).transpose().map_err(wrong("window"))?;
        let question = SimulateQuestion {
            horizon: until.map(|until| Horizon::At(Time::ZERO + until)),
            seed: self.seed.unwrap_or_default(),
            explore: self.explore,
            ..SimulateQuestion::about(self.policies.clone())
        };
        let usual = ChartSpan::default();
        let shown = ChartSpan { window, segments: self.segments.unwrap_or(usual.segments) };
        shown.within(&question, &set)?;
        Ok((question.ask(registry, set, &Watch::default())?, shown))
    }

    fn simulate(&self, registry: &Registry) -> Result<Value, Refused> {
        let opened = self.about.open()?;
        let warnings = set::warnings(&opened, &self.about.set);
        let (simulated, shown) = self.ask(registry, opened.set)?;
        let report = if self.report { simulation_report(&simulated, shown, &NEVER)? } else { None };
        let report = report.map(|report| raw(report.parts()));
        let exit = simulated.exit.code();
        Ok(
            json!({ "json": simulated.json(), "exit": exit, "report": report, "warnings": warnings }),
        )
    }

    fn charts(&self, registry: &Registry) -> Result<Value, Refused> {
        let (simulated, shown) = self.ask(registry, self.about.open()?.set)?;
        let charts = simulation_charts(&simulated, shown, &NEVER)?.into_iter();
        let charts = charts.map(|(policy, svg)| json!({ "policy": policy, "svg": svg }));
        Ok(json!({ "charts": charts.collect::<Vec<_>>() }))
    }
}

/// Parses a text that was written as JSON.
fn raw(text: String) -> Value {
    serde_json::from_str(&text).expect("it was written as JSON")
}

impl Check {
    fn question(&self) -> CheckQuestion {
        let mut question = CheckQuestion::about(self.policies.clone())
            .with_every_test(self.all)
            .with_factor(self.margins)
            .with_effort(self.effort);
        question.options.tests.clone_from(&self.tests);
        if !self.bounds {
            question.options.wanted.bounds = BoundsBy::Nobody;
        }
        question
    }

    fn check(&self, registry: &Registry) -> Result<Value, Refused> {
        let (set, question) = (self.about.open()?.set, self.question());
        let checked = question.ask(registry, set.clone())?;
        let certificate = if self.certificate {
            Some(question.with_proofs()?.ask(registry, set)?.certificate_text(registry))
        } else {
            None
        };
        let exit = checked.exit.code();
        Ok(json!({ "json": checked.json(), "exit": exit, "certificate": certificate }))
    }
}

impl Export {
    fn export(&self) -> Result<Value, Refused> {
        let format: Format = self.to.parse().map_err(Refused::usage)?;
        if !format.is_written() {
            return Err(Refused::usage(format!("the format {format} is not written"))
                .help("it keeps too little of a set: choose csv"));
        }
        let set = self.about.open()?.set;
        let (text, lost) = convert(&set.system, format, RtAppPolicy::OfTasks)?;
        let mut all = layland_config::Problems::default();
        lost.into_iter().for_each(|problem| all.push(problem));
        let lost = problems(&layland_config::Report::new("", "", all), None);
        Ok(json!({ "text": text, "extension": format.extension(), "lost": lost }))
    }
}

impl Explain {
    fn explain(&self, registry: &Registry) -> Result<Value, Refused> {
        let found = Structure::of(registry, &self.about.open()?.set.system, &self.policy)?;
        let text = match self.format.as_deref() {
            None | Some("text") => found.text(),
            Some("svg") => found.svg(),
            Some("dot") => found.dot(),
            Some(other) => {
                return Err(Refused::usage(format!("`{other}` is not a format of a structure"))
                    .help("there are text, svg and dot"));
            }
        };
        Ok(json!({ "text": text, "trees": found }))
    }
}
