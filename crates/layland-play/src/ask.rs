//! The questions of a page, and the functions that answer them.

use crate::about;
use crate::problem::{Refused, problems};
use crate::set::{self, About, File};
use layland::answers::{self, CheckQuestion};
use layland::guarantee::BoundsBy;
use layland_config::{Format, RtAppPolicy, to_toml};
use layland_policy::Registry;
use layland_report::playground::{Start, fragment};
use serde::Deserialize;
use serde_json::{Value, json};

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
    /// A randomly generated set.
    Gen(Generate),
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
    /// Further arguments of the command.
    #[serde(default)]
    arguments: Vec<String>,
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
pub(crate) struct Generate {
    arguments: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Link {
    start: Start,
}

fn yes() -> bool {
    true
}

/// Formats an option with its value, if it has one.
fn option(name: &str, value: Option<impl ToString>) -> Option<String> {
    value.map(|value| format!("--{name}={}", value.to_string()))
}

/// Formats a list as the value of an option; none if it is empty.
fn list(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| values.join(","))
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
            Ask::Gen(asked) => asked.generate(),
            Ask::Link(Link { start }) => Ok(json!({ "fragment": fragment(&start) })),
        }
    }
}

impl Simulation {
    fn arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = [
            option("policy", list(&self.policies)),
            option("until", self.until.as_ref()),
            option("seed", self.seed),
            option("explore", self.explore),
            option("segments", self.segments),
            option("window", self.window.as_ref()),
        ]
        .into_iter()
        .flatten()
        .collect();
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    fn simulate(&self, registry: &Registry) -> Result<Value, Refused> {
        let set = self.about.open()?;
        let (text, exit, report) = set.simulate(registry, &self.arguments(), self.report)?;
        let report = report.map(|report| raw(report.parts()));
        let warnings = set::warnings(&set, &self.about.set);
        Ok(json!({ "json": text, "exit": exit, "report": report, "warnings": warnings }))
    }

    fn charts(&self, registry: &Registry) -> Result<Value, Refused> {
        let charts = self.about.open()?.charts(registry, &self.arguments())?;
        let charts =
            charts.into_iter().map(|(policy, svg)| json!({ "policy": policy, "svg": svg }));
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
        let (set, question) = (self.about.open()?, self.question());
        let checked = set.check(registry, &question)?;
        let certificate = match self.certificate {
            true => Some(set.certificate(registry, &question)?),
            false => None,
        };
        let exit = checked.exit.code();
        Ok(json!({ "json": checked.json(), "exit": exit, "certificate": certificate }))
    }
}

impl Export {
    fn export(&self) -> Result<Value, Refused> {
        let format: Format = self.to.parse().map_err(Refused::usage)?;
        if format == Format::Plain {
            return Err(Refused::usage("lines of times are not written")
                .help("they keep too little of a set: choose csv"));
        }
        let set = self.about.open()?;
        let (text, lost) = answers::convert(set.system(), format, RtAppPolicy::OfTasks)?;
        let mut all = layland_config::Problems::default();
        lost.into_iter().for_each(|problem| all.push(problem));
        let lost = problems(&layland_config::Report::new("", "", all), None);
        Ok(json!({ "text": text, "extension": about::extension(format), "lost": lost }))
    }
}

impl Explain {
    fn explain(&self, registry: &Registry) -> Result<Value, Refused> {
        let found = self.about.open()?.structure(registry, &self.policy)?;
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

impl Generate {
    fn generate(&self) -> Result<Value, Refused> {
        let systems = answers::generate(&self.arguments)?;
        match &systems[..] {
            [system] => Ok(json!({ "toml": to_toml(system) })),
            several => {
                Err(Refused::usage(format!("a page has one set, and not {}", several.len()))
                    .help("leave --sets out"))
            }
        }
    }
}
