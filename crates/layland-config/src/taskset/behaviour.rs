//! The behaviour of a task: `release` for the arrivals
//! of its jobs, `exec` for their execution times.

use super::Decoder;
use super::task::Lookup;
use crate::document::{KeyValue, Reader, value_of};
use crate::problem::{Problem, Span};
use layland_model::{
    ArrivalCurve, Behaviour, CurveArrivals, CurveError, Duration, ExecutionModel, Levels,
    Preemption, Separation, Service, nearest,
};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The maximum number of times that a list of execution times represents.
const MAX_REPEATS: usize = 1_000_000;

impl Decoder<'_, '_> {
    /// Returns the places where jobs may be preempted.
    /// Segments of the task take precedence over defaults.
    pub(super) fn preemption(&mut self, lookup: &Lookup<'_>) -> Option<Preemption> {
        let (segments, own) =
            (value_of(lookup.table, "segments"), value_of(lookup.table, "nonpreemptive"));
        if let (Some(segments), Some(own)) = (&segments, &own) {
            let message = "a task has either `nonpreemptive` or `segments`".to_owned();
            let problem = Problem::error("layland::taskset::regions", message)
                .at(segments.key_span.clone(), "here")
                .and_at(own.key_span.clone(), "and here");
            let help = "leave `nonpreemptive` out: no job preempts another one within a segment";
            self.reader.problems.push(problem.help(help));
            return None;
        }
        if let Some(segments) = segments {
            let elements = self.reader.list(&segments, "[\"1ms\", \"2ms\"]")?;
            if elements.is_empty() {
                let message = "`segments` is empty".to_owned();
                let help =
                    "list their lengths, whose sum is the wcet: segments = [\"1ms\", \"2ms\"]";
                let code = "layland::taskset::regions";
                self.reader.error(code, segments.span.clone(), message, "empty", help);
                return None;
            }
            let times: Vec<Option<Service>> =
                elements.iter().map(|element| self.reader.time(element)).collect();
            let times: Option<Vec<Service>> = times.into_iter().collect();
            return Some(Preemption::Between(times?.into()));
        }
        let Some(entry) = lookup.get("nonpreemptive") else { return Some(Preemption::Anywhere) };
        match entry.value {
            DeValue::Boolean(false) => Some(Preemption::Anywhere),
            DeValue::Boolean(true) => Some(Preemption::Never),
            DeValue::String(_) | DeValue::Integer(_) | DeValue::Float(_) => {
                self.reader.time(&entry).map(Preemption::Delayed)
            }
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                let help = "write true for the whole job, or the longest region, as in \"2ms\"";
                self.reader.wrong_type(&entry, "true, false or a time", help);
                None
            }
        }
    }

    /// Reads `release`.
    pub(super) fn behaviour(&mut self, lookup: &Lookup<'_>) -> Option<Behaviour> {
        const KINDS: &[&str] =
            &["periodic", "sporadic", "curve", "explicit", "self-suspending", "hog", "yield"];
        const SPORADIC: &str = "write { kind = \"sporadic\", extra = \"4ms\" }: jobs come up to 4ms later than the period";
        const CURVE: &str = "write { kind = \"curve\", delta_min = [\"1ms\", \"2ms\", \"20ms\"] }: at least 1ms from one job to the \
             next, 2ms to the one after, 20ms to the third";
        let Some(release) = lookup.get("release") else { return Some(Behaviour::Periodic) };
        let reader = &mut self.reader;
        let missing = "write { kind = \"sporadic\", extra = \"4ms\" }";
        let wrong = "write \"periodic\", \"sporadic\", or { kind = \"sporadic\", extra = \"4ms\" }";
        let (kind, kind_span, table) =
            word_or_table(reader, &release, ("kind", "sporadic"), missing, wrong)?;
        let parameter = match kind {
            "periodic" | "hog" | "yield" => None,
            "sporadic" => Some(("extra", SPORADIC)),
            "curve" => Some(("delta_min", CURVE)),
            "explicit" => Some(("at", "write { kind = \"explicit\", at = [\"0s\", \"5ms\"] }")),
            "self-suspending" => {
                Some(("gap", "write { kind = \"self-suspending\", gap = \"1ms\" }"))
            }
            _ => {
                let help = match nearest(kind, KINDS.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("there are: {}", KINDS.join(", ")),
                };
                let message = format!("`{kind}` is not a way to release jobs");
                reader.error("layland::taskset::release", kind_span, message, "unknown", help);
                return None;
            }
        };
        let value = parameter.and_then(|(key, _)| value_of(table?, key));
        if let Some(table) = table {
            let known: &[&str] = match parameter {
                Some(("delta_min", _)) => &["kind", "delta_min", "extra"],
                Some((key, _)) => &["kind", key],
                None => &["kind"],
            };
            reader.only(table, known, "this release");
        }
        let Some((key, help)) = parameter else {
            return match kind {
                "hog" => Some(Behaviour::Hog),
                "yield" => Some(Behaviour::Yield),
                _ => Some(Behaviour::Periodic),
            };
        };
        let Some(value) = value else {
            // The word by itself says that jobs are at least a period apart, and no time is added.
            if kind == "sporadic" {
                return Some(Behaviour::Sporadic(Separation::Uniform { max: Duration::ZERO }));
            }
            reader.missing(release.span, &format!("the {kind} release"), key, help);
            return None;
        };
        match key {
            "delta_min" => self.curve(&value, table.and_then(|table| value_of(table, "extra"))),
            "gap" => reader.time(&value).map(|gap| Behaviour::SelfSuspending { gap }),
            "at" => {
                let times = reader.list(&value, "[\"0s\", \"5ms\"]")?;
                let read: Vec<_> = times.iter().map(|time| reader.time(time)).collect();
                read.into_iter().collect::<Option<Vec<_>>>().map(Behaviour::Explicit)
            }
            _ => self.separation(&value).map(Behaviour::Sporadic),
        }
    }

    /// Reads `delta_min` and the optional `extra` of arrivals by a curve.
    fn curve(&mut self, value: &KeyValue<'_>, extra: Option<KeyValue<'_>>) -> Option<Behaviour> {
        let entries = self.reader.list(value, "[\"1ms\", \"2ms\", \"20ms\"]")?;
        let read: Vec<Option<Duration>> =
            entries.iter().map(|entry| self.reader.time(entry)).collect();
        let extra = match extra {
            Some(extra) => self.separation(&extra).map(Some),
            None => Some(None),
        };
        let distances = read.into_iter().collect::<Option<Vec<Duration>>>()?;
        match ArrivalCurve::new(&distances) {
            Ok(curve) => Some(Behaviour::Curve(Arc::new(CurveArrivals { curve, extra: extra? }))),
            Err(error) => {
                // Point to the distance that is too short, instead of the whole list.
                let at = match &error {
                    CurveError::Falls { arrivals, .. } => arrivals - 1,
                    // Other errors concern the whole list.
                    CurveError::Empty
                    | CurveError::TooMany(_)
                    | CurveError::OutOfRange(_)
                    | CurveError::Unbounded => usize::MAX,
                };
                let span = entries.get(at).map_or(value.span.clone(), |entry| entry.span.clone());
                let message = format!("`delta_min` is not an arrival curve: {error}");
                let code = "layland::taskset::release";
                self.reader.error(code, span, message, "here", error.help());
                None
            }
        }
    }

    /// Reads `extra` of a sporadic release.
    fn separation(&mut self, value: &KeyValue<'_>) -> Option<Separation> {
        const EXPONENTIAL: &str = "{ dist = \"exponential\", mean = \"4ms\", max = \"20ms\" }";
        const UNIFORM: &str = "{ dist = \"uniform\", max = \"4ms\" }";
        let reader = &mut self.reader;
        let DeValue::Table(table) = value.value else {
            return reader.time(value).map(|max| Separation::Uniform { max });
        };
        let Some(dist) = value_of(table, "dist") else {
            reader.missing(value.span.clone(), "`extra`", "dist", format!("write {EXPONENTIAL}"));
            return None;
        };
        let name = reader.text(&dist, "exponential")?;
        let (keys, example): (&[&str], _) = match name {
            "exponential" => (&["dist", "mean", "max"], EXPONENTIAL),
            "uniform" => (&["dist", "max"], UNIFORM),
            _ => {
                let message = format!("`{name}` is not a distribution");
                let help = format!("write {EXPONENTIAL} or {UNIFORM}");
                let code = "layland::taskset::release";
                reader.error(code, dist.span, message, "unknown", help);
                return None;
            }
        };
        reader.only(table, keys, "`extra`");
        let mut time = |key: &str| match value_of(table, key) {
            Some(entry) => reader.time(&entry),
            None => {
                reader.missing(value.span.clone(), "`extra`", key, format!("write {example}"));
                None
            }
        };
        let max = time("max");
        match name {
            "exponential" => {
                let mean = time("mean");
                Some(Separation::Exponential { mean: mean?, max: max? })
            }
            _ => Some(Separation::Uniform { max: max? }),
        }
    }

    /// Reads `exec`.
    pub(super) fn execution(
        &mut self,
        lookup: &Lookup<'_>,
        levels: &Levels,
    ) -> Option<ExecutionModel> {
        const MODELS: &[(&str, &[&str], &str)] = &[
            ("wcet", &["model"], "\"wcet\""),
            ("level", &["model", "level"], "{ model = \"level\", level = \"HI\" }"),
            ("fraction", &["model", "of"], "{ model = \"fraction\", of = \"0.95\" }"),
            (
                "uniform",
                &["model", "min", "max"],
                "{ model = \"uniform\", min = \"1ms\", max = \"2ms\" }",
            ),
            (
                "discrete",
                &["model", "values", "weights"],
                "{ model = \"discrete\", values = [\"1ms\", \"2ms\"], weights = [9, 1] }",
            ),
            ("list", &["model", "values"], "{ model = \"list\", values = [\"1ms\", \"2ms\"] }"),
        ];
        let Some(exec) = lookup.get("exec") else { return Some(ExecutionModel::Wcet) };
        let reader = &mut self.reader;
        let (missing, wrong) =
            (format!("write {}", MODELS[3].2), format!("write exec = {}", MODELS[3].2));
        let (name, name_span, table) =
            word_or_table(reader, &exec, ("model", "uniform"), &missing, &wrong)?;
        let Some((_, keys, example)) = MODELS.iter().find(|(model, ..)| *model == name) else {
            let names = || MODELS.iter().map(|(model, ..)| *model);
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("there are: {}", names().collect::<Vec<_>>().join(", ")),
            };
            let message = format!("`{name}` is not an execution model");
            reader.error("layland::taskset::exec", name_span, message, "unknown", help);
            return None;
        };
        if let Some(table) = table {
            reader.only(table, keys, "this execution model");
        }
        let mut all_there = true;
        let found: Vec<KeyValue<'_>> = keys[1..]
            .iter()
            .filter_map(|key| {
                let value = table.and_then(|table| value_of(table, key));
                if value.is_none() {
                    let what = format!("the execution model `{name}`");
                    reader.missing(exec.span.clone(), &what, key, format!("write {example}"));
                    all_there = false;
                }
                value
            })
            .collect();
        if !all_there {
            return None;
        }
        match (name, &found[..]) {
            ("level", [level]) => self.level(level, levels).map(ExecutionModel::Level),
            ("fraction", [of]) => reader.rate(of).map(ExecutionModel::Fraction),
            ("uniform", [min, max]) => {
                let (min, max) = (reader.time(min), reader.time(max));
                Some(ExecutionModel::Uniform { min: min?, max: max? })
            }
            ("discrete", [values, weights]) => {
                let times = self.services(values);
                let reader = &mut self.reader;
                let list = reader.list(weights, "[9, 1]")?;
                let numbers: Vec<Option<u64>> =
                    list.iter().map(|weight| reader.integer(weight, 0..=1 << 59)).collect();
                let (times, numbers) = (times?, numbers.into_iter().collect::<Option<Vec<_>>>()?);
                if times.len() != numbers.len() {
                    let message =
                        format!("there are {} values and {} weights", times.len(), numbers.len());
                    let code = "layland::taskset::exec";
                    let problem = Problem::error(code, message)
                        .at(weights.span.clone(), "weights")
                        .and_at(values.span.clone(), "values")
                        .help("give one weight for each value");
                    reader.problems.push(problem);
                    return None;
                }
                Some(ExecutionModel::Discrete(times.into_iter().zip(numbers).collect()))
            }
            ("list", [values]) => self.services(values).map(ExecutionModel::List),
            _ => Some(ExecutionModel::Wcet),
        }
    }

    /// Reads a list of execution times; `"1ms x 300"` stands for 300 of them.
    fn services(&mut self, values: &KeyValue<'_>) -> Option<Vec<Service>> {
        let list = self.reader.list(values, "[\"1ms\", \"2ms\"]")?;
        let mut times = Vec::with_capacity(list.len());
        let mut all_read = true;
        for value in &list {
            let text = value.value.as_str().unwrap_or_default();
            let Some((time, count)) = text.split_once(" x ") else {
                match self.reader.time(value) {
                    Some(time) => times.push(time),
                    None => all_read = false,
                }
                continue;
            };
            let count = count.trim().parse().ok().filter(|count| (1..=MAX_REPEATS).contains(count));
            match (time.parse::<Service>(), count) {
                (Ok(time), Some(count)) if times.len() + count <= MAX_REPEATS => {
                    times.extend(std::iter::repeat_n(time, count));
                }
                (Ok(_) | Err(_), _) => {
                    let message = format!("`{text}` is not a repeated time");
                    let help = format!("write \"1ms x 300\": at most {MAX_REPEATS} times are read");
                    self.reader.invalid(value, message, help);
                    all_read = false;
                }
            }
        }
        all_read.then_some(times)
    }
}

/// Reads a word with its span; or a table that has the word under a
/// key, and returns the table, too. `missing` is the help if the table
/// lacks the key, `wrong` if the value is neither word nor table.
fn word_or_table<'t>(
    reader: &mut Reader<'_>,
    value: &KeyValue<'t>,
    (key, example): (&str, &str),
    missing: &str,
    wrong: &str,
) -> Option<(&'t str, Span, Option<&'t DeTable<'t>>)> {
    match value.value {
        DeValue::String(word) => Some((word, value.span.clone(), None)),
        DeValue::Table(table) => match value_of(table, key) {
            Some(entry) => Some((reader.text(&entry, example)?, entry.span, Some(table))),
            None => {
                reader.missing(value.span.clone(), &format!("`{}`", value.key), key, missing);
                None
            }
        },
        DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => {
            reader.wrong_type(value, "a string or a table", wrong);
            None
        }
    }
}
