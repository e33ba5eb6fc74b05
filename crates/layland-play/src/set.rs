//! The set of a question: reading it, inspecting it, and importing it from another format.

use crate::places::{Places, number};
use crate::problem::{Refused, doubt, problems};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use layland::answers::{Set, Unanswered, usual_end};
use layland_config::{Format, Host, Report, Unit, to_toml};
use layland_model::{CpuSet, Task, counted};
use layland_report::playground::MOST_TASKS;
use serde::Deserialize;
use serde_json::{Value, json};

/// The limit on the size of imported files: larger ones are not suited to a page.
const MOST_BYTES: usize = 8_000_000;

/// The largest number of CPUs, as in the command.
const MOST_CPUS: u32 = 4096;

/// A set with the warnings about settings in its file that are ignored.
pub(crate) struct Opened {
    pub set: Set,
    warnings: Report,
}

impl Opened {
    /// Reads a set, with another number of CPUs if the user names one.
    fn read(name: &str, bytes: &[u8], format: Format, host: &Host) -> Result<Opened, Unanswered> {
        let (mut set, warnings) = Set::read(name, bytes, format, host)?;
        if let Some(cpus) = host.default_cpus {
            set.change_cpus(cpus)?;
        }
        Ok(Opened { set, warnings })
    }
}

/// The set that a question is about.
#[derive(Deserialize)]
pub(crate) struct About {
    /// The task-set file.
    pub set: String,
    /// The name of the set in answers.
    #[serde(default = "unnamed")]
    pub name: String,
    /// The number of CPUs, as `--cpus`.
    pub cpus: Option<u32>,
}

fn unnamed() -> String {
    "set.toml".to_owned()
}

/// Returns the defaults of the user. A page knows no machine.
fn host(cpus: Option<u32>, unit: Option<Unit>) -> Result<Host, Refused> {
    if let Some(cpus) = cpus.filter(|cpus| !(1..=MOST_CPUS).contains(cpus)) {
        let message = format!("{cpus} CPUs: a set has 1 to {MOST_CPUS}");
        return Err(Refused::usage(message));
    }
    Ok(Host { default_cpus: cpus.map(|cpus| cpus as usize), unit, ..Host::default() })
}

impl About {
    /// Parses the set.
    pub(crate) fn open(&self) -> Result<Opened, Refused> {
        let host = host(self.cpus, None)?;
        let opened = Opened::read(&self.name, self.set.as_bytes(), Format::Toml, &host)
            .map_err(|error| Refused::from_text(error, Some(&self.set)))?;
        few(&opened)?;
        Ok(opened)
    }
}

/// An imported file.
#[derive(Deserialize)]
pub(crate) struct File {
    text: Option<String>,
    base64: Option<String>,
    name: String,
    from: Option<String>,
    unit: Option<String>,
    cpus: Option<u32>,
}

/// Checks that a page can show this many tasks.
fn few(opened: &Opened) -> Result<(), Refused> {
    match opened.set.system.tasks.len() {
        ..=MOST_TASKS => Ok(()),
        many => Err(Refused::usage(format!(
            "the set has {}, and the playground takes {MOST_TASKS} at most",
            counted(many, "task")
        ))
        .help("the command has no such limit: `layland check`, `layland sim`")),
    }
}

/// Returns the warnings about a set: settings that are ignored, and values that are probably
/// mistakes.
pub(crate) fn warnings(opened: &Opened, text: &str) -> Vec<Value> {
    let mut all = problems(&opened.warnings, Some(text));
    all.extend(opened.set.doubts().iter().map(|(message, help)| doubt(message, help)));
    all
}

/// Converts a file of any format to a task-set file.
pub(crate) fn load(file: &File) -> Result<Value, Refused> {
    let packed = |packed: &String| {
        STANDARD.decode(packed).map_err(|error| Refused::usage(format!("not base64: {error}")))
    };
    let bytes = match (&file.text, &file.base64) {
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(base64)) => packed(base64)?,
        _ => return Err(Refused::usage("a file is either `text` or `base64`")),
    };
    if bytes.len() > MOST_BYTES {
        return Err(Refused::usage(format!(
            "{} has {} MB, and the playground takes {} MB at most",
            file.name,
            bytes.len().div_ceil(1_000_000),
            MOST_BYTES / 1_000_000
        ))
        .help("the command has no such limit: `layland check`, `layland sim`"));
    }
    let text = file.text.as_deref();
    let format = match &file.from {
        Some(name) => name.parse().map_err(Refused::usage)?,
        None => Format::detect(&file.name, &bytes, &Host::default())
            .map_err(|report| Refused::from_text(report.into(), text))?,
    };
    let no_unit = |unit| Refused::usage(format!("`{unit}` is not a unit: use ns, us, ms or s"));
    let unit = file.unit.as_ref();
    let unit = unit.map(|unit| Unit::find(unit).ok_or_else(|| no_unit(unit))).transpose()?;
    let host = host(file.cpus, unit)?;
    let opened = Opened::read(&file.name, &bytes, format, &host)
        .map_err(|error| Refused::from_text(error, text))?;
    few(&opened)?;
    let toml = match format {
        // Keep the text, which has comments.
        Format::Toml => String::from_utf8_lossy(&bytes).into_owned(),
        _ => to_toml(&opened.set.system),
    };
    let mut notes = problems(&opened.warnings, text);
    notes.extend(opened.set.doubts().iter().map(|(message, help)| doubt(message, help)));
    Ok(json!({
        "toml": toml,
        "format": format.name(),
        "policy": opened.set.policy,
        "until": opened.set.until.map(|until| until.to_string()),
        "notes": notes,
    }))
}

/// Returns the rows of a table, with their places in the text.
pub(crate) fn inspect(about: &About) -> Result<Value, Refused> {
    let opened = about.open()?;
    let system = &opened.set.system;
    let places = Places::of(&about.set);
    let mut of_tasks = places.of_tasks();
    let row = |task: &Task| {
        let (places, count) = of_tasks.next().unwrap_or((&Value::Null, 1));
        json!({
            "name": task.name,
            "wcet_ns": task.wcet.iter().map(|wcet| number(wcet.ns())).collect::<Vec<_>>(),
            "period_ns": number(task.period.ns()),
            "deadline_ns": number(task.deadline.ns()),
            "offset_ns": number(task.offset.ns()),
            "criticality": system.levels.names().get(task.criticality.level()),
            "affinity": task.affinity.as_ref().map(CpuSet::to_string),
            "count": count,
            "places": places,
        })
    };
    let tasks: Vec<Value> = system.tasks.values().map(row).collect();
    Ok(json!({
        "cpus": system.platform.cpu_count(),
        "utilization": system.utilization().to_f64(),
        "hyperperiod_ns": system.hyperperiod().map(|length| number(length.ns())),
        "levels": system.levels.names(),
        "until_ns": number(usual_end(system).ns()),
        "tasks": tasks,
        "warnings": warnings(&opened, &about.set),
        "header": { "cpus": places.cpus },
    }))
}
