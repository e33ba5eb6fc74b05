//! Reads the column `steps`: `run 1ms; lock bus; run 2ms; unlock bus`.
//!
//! A table has no rows for resources: they are the ones
//! that steps name, in the order of their first use.

use super::TableReader;
use super::cells::{self, BETWEEN};
use super::rows::Cell;
use crate::keys::Of;
use crate::problem::Span;
use crate::steps::{Fault, MAX_STEPS, parse, used};
use layland_model::{Index, Resource, ResourceId, Step, System};
use std::collections::BTreeMap;

/// The resources that have been named so far.
#[derive(Default)]
pub(super) struct Named {
    pub resources: Vec<Resource>,
    /// The span of the first cell that names each resource.
    pub spans: Vec<Span>,
    ids: BTreeMap<String, ResourceId>,
}

impl Named {
    fn id(&mut self, name: &str, span: &Span) -> ResourceId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = ResourceId::from_index(self.resources.len());
        self.ids.insert(name.to_owned(), id);
        self.resources.push(Resource { name: name.to_owned(), home: None });
        self.spans.push(span.clone());
        id
    }
}

impl TableReader<'_> {
    /// Returns the steps of a row, if it has a cell for them.
    pub(super) fn steps(&mut self, cell: Option<&Cell<'_>>, ok: &mut bool) -> Option<Vec<Step>> {
        let cell = cell?;
        let code = "layland::csv::steps";
        let mut steps = Vec::new();
        for part in cell.text.split(BETWEEN) {
            if steps.len() == MAX_STEPS {
                let message = format!("a job has more than {MAX_STEPS} steps");
                let help = "make one `run` of what it executes in a row";
                self.error(code, cell.span.clone(), message, help);
                *ok = false;
                return None;
            }
            let time = |text: &str| self.host.time(text);
            let named = &mut self.named;
            let step = parse(part, time, |name| Some(named.id(name, &cell.span)));
            let (message, help) = match step {
                Ok(step) => {
                    steps.push(step);
                    continue;
                }
                Err(Fault::Time(fault)) => (fault.to_string(), fault.help().replace('"', "")),
                Err(Fault::Other { message, help }) => (message, help.replace('"', "")),
                // Every name creates a resource, so none is unlisted.
                Err(Fault::Unlisted(_)) => continue,
            };
            self.error(code, cell.span.clone(), message, &help);
            *ok = false;
            return None;
        }
        Some(steps)
    }
}

/// Reports the properties of resources that a table cannot express.
pub(super) fn lost(system: &System, lose: &mut impl FnMut(bool, String)) {
    let resources = &system.resources;
    let used = used(system);
    for (index, resource) in resources.iter().enumerate() {
        let name = &resource.name;
        let is_used = used.contains(&ResourceId::from_index(index));
        lose(!is_used, format!("the resource `{name}`, which no task uses, is"));
        lose(is_used && resource.home.is_some(), format!("the home of `{name}` is"));
    }
    lose(!used.is_sorted(), "the order of the resources is".to_owned());
    for of in Of::each(system).filter(|of| !of.task.steps().is_empty()) {
        let unwritten = cells::steps(of).is_empty();
        let name = &of.task.name;
        let what = format!("as the name of a resource has a semicolon, the steps of `{name}` are");
        lose(unwritten, what);
    }
}
