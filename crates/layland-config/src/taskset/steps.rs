//! The `[[resource]]` tables, and the steps of tasks.

use super::{Broken, Decoder};
use crate::document::{KeyValue, value_of};
use crate::steps::{Fault, MAX_STEPS, RESOURCE, Resources, parse};
use layland_model::{CpuId, CpuSet, Index, Platform, Resource, ResourceId, Step, nearest};
use toml::de::{DeTable, DeValue};

impl Decoder<'_, '_> {
    /// Reads every `[[resource]]`.
    pub(super) fn resources<'t>(
        &mut self,
        top: &'t DeTable<'t>,
        platform: &Platform,
        broken: &Broken,
    ) -> Resources {
        let mut resources = Resources { complete: true, ..Resources::default() };
        let Some(section) = value_of(top, "resource") else { return resources };
        if let DeValue::Table(_) = section.value {
            let help = "write [[resource]], with two brackets, before each resource";
            self.reader.wrong_type(&section, "a list of tables", help);
            resources.complete = false;
            return resources;
        }
        let all = platform.all_cpus();
        for element in self.reader.list(&section, "[]").unwrap_or_default() {
            let table = self.reader.table(&element, "[[resource]] before each resource");
            let Some(table) = table else {
                resources.complete = false;
                continue;
            };
            self.reader.only(table, RESOURCE, "a resource");
            let home = value_of(table, "home").and_then(|entry| {
                let cpu = self.reader.integer(&entry, 0..=CpuSet::MAX_CPUS as i128 - 1)?;
                let home = CpuId(cpu);
                // The CPUs of a platform that could not be read are unknown.
                let known = !broken.platform;
                (known && self.reader.exist(&entry, &CpuSet::single(home), &all)).then_some(home)
            });
            let Some(entry) = value_of(table, "name") else {
                let help = "name it: name = \"bus\"";
                self.reader.missing(element.span.clone(), "a resource", "name", help);
                resources.complete = false;
                continue;
            };
            let Some(name) = self.reader.text(&entry, "bus") else {
                resources.complete = false;
                continue;
            };
            let id = ResourceId::from_index(resources.listed.len());
            resources.names.entry(name.to_owned()).or_insert(id);
            resources.listed.push(Resource { name: name.to_owned(), home });
            resources.spans.push(entry.span);
        }
        resources
    }

    /// Reads the steps of a task, if it has the key.
    pub(super) fn steps(
        &mut self,
        entry: &KeyValue<'_>,
        resources: &Resources,
    ) -> Option<Vec<Step>> {
        let code = "layland::taskset::steps";
        let elements = self.reader.list(entry, "[\"run 1ms\", \"suspend 3ms\", \"run 1ms\"]")?;
        if elements.is_empty() {
            let message = "`steps` is empty".to_owned();
            let help = "leave it out for jobs that only execute";
            self.reader.error(code, entry.span.clone(), message, "empty", help);
            return None;
        }
        if elements.len() > MAX_STEPS {
            let message = format!("a job has more than {MAX_STEPS} steps");
            let help = "make one `run` of what it executes in a row";
            self.reader.error(code, entry.span.clone(), message, "too many", help);
            return None;
        }
        let mut steps = Some(Vec::with_capacity(elements.len()));
        for element in &elements {
            let text = match element.value {
                DeValue::String(text) => text,
                DeValue::Integer(_)
                | DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => {
                    let help = "write each step as a string, as in \"run 1ms\" or \"lock bus\"";
                    self.reader.wrong_type(element, "a list of strings", help);
                    steps = None;
                    continue;
                }
            };
            let id = |name: &str| resources.names.get(name).copied();
            let fault = match parse(text, str::parse, id) {
                Ok(step) => {
                    steps.iter_mut().for_each(|steps| steps.push(step));
                    continue;
                }
                Err(fault) => fault,
            };
            steps = None;
            match fault {
                Fault::Time(fault) => self.reader.time_fault(&fault, element),
                Fault::Other { message, help } => {
                    self.reader.error(code, element.span.clone(), message, "here", help);
                }
                // The resource may be one that could not be read.
                Fault::Unlisted(_) if !resources.complete => {}
                Fault::Unlisted(name) => {
                    let message = format!("there is no resource `{name}`");
                    // The search is slow, and a file can have millions of unknown names.
                    let near = if self.reader.problems.is_full() {
                        None
                    } else {
                        nearest(&name, resources.names.keys().map(String::as_str))
                    };
                    let help = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("list it: [[resource]] with name = \"{name}\""),
                    };
                    let span = element.span.clone();
                    self.reader.error(code, span, message, "unknown resource", help);
                }
            }
        }
        steps
    }
}
