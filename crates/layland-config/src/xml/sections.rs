//! The resources of a SchedCAT task set: how often at
//! most a job uses each, and for how long at a time.
//!
//! ```text
//! <task period="10000" wcet="2000"><resources>
//!   <requirement res_id="0" max_writes="2" max_write_length="50" max_reads="0" max_read_length="0"/>
//! </resources></task>
//! ```
//!
//! The defaults are those of `schedcat/model/serialize.py`: resource 0, one write, of length 1. Of
//! two requirements for one resource the last one counts. The format does not specify when a job
//! uses a resource: here its critical sections come first, one after the other, each of maximum
//! length. Analyses depend only on numbers and lengths; for a simulation this is one of many
//! possible jobs. Reads exclude each other here, as writes do. Sections of length 0 are omitted.

use super::tree::{Attributes, Element, in_units};
use crate::steps::MAX_STEPS;
use layland_model::{Index, Resource, ResourceId, Service, Step, System, Task};
use std::collections::BTreeMap;

const LOST: &str = "layland::schedcat::lost";
const US: i32 = 3;
/// The maximum number of steps of all tasks together.
const ALL_STEPS: u64 = 1_000_000;

/// The resources that have been named so far.
#[derive(Default)]
pub(super) struct Sections {
    pub resources: Vec<Resource>,
    ids: BTreeMap<String, ResourceId>,
    /// The number of steps of all tasks.
    steps: u64,
    /// True if the unknown positions of the sections have been reported.
    told: bool,
}

impl Sections {
    /// Returns the steps of a task with this WCET, if it uses resources.
    pub(super) fn of(
        &mut self,
        attributes: &mut Attributes<'_>,
        task: &Element,
        (name, wcet): (&str, i64),
    ) -> Option<Vec<Step>> {
        let model = task.all("resources").find(|model| !model.children.is_empty())?;
        // The sections of each resource: writes and reads, each as a number and a length.
        let mut sections: Vec<(ResourceId, [(i64, i64); 2])> = Vec::new();
        let mut places: BTreeMap<ResourceId, usize> = BTreeMap::new();
        for requirement in model.all("requirement") {
            let id = self.resource(requirement);
            let mut kind = |count: &str, length: &str, default: (i64, i64)| {
                let count = match requirement.attribute(count) {
                    Some(attribute) => attributes.whole(attribute)?,
                    None => default.0,
                };
                let length = match requirement.attribute(length) {
                    Some(attribute) => attributes.time(attribute, US, "microseconds")?,
                    None => default.1,
                };
                if count < 0 || length < 0 {
                    let message = format!("a requirement of `{name}` is negative");
                    let help = "numbers and lengths of requests are 0 or more";
                    let span = requirement.span.clone();
                    attributes.error("layland::schedcat::sections", span, message, help);
                    return None;
                }
                Some((count, length))
            };
            let writes = kind("max_writes", "max_write_length", (1, 1000))?;
            let reads = kind("max_reads", "max_read_length", (0, 0))?;
            if reads.0 > 0 {
                let message = format!("the reads of `{name}` are taken as writes");
                let help = "one job at a time holds a resource, whatever it does with it";
                attributes.warn(LOST, requirement.span.clone(), message, help);
            }
            let both = [writes, reads];
            let at = *places.entry(id).or_insert(sections.len());
            match sections.get_mut(at) {
                Some((_, before)) => *before = both,
                None => sections.push((id, both)),
            }
        }
        let all = || {
            let each = sections.iter().flat_map(|(id, kinds)| kinds.map(|kind| (*id, kind)));
            each.filter(|(_, (_, length))| *length > 0)
        };
        let empty = |&(count, length): &(i64, i64)| count > 0 && length == 0;
        if sections.iter().any(|(_, kinds)| kinds.iter().any(empty)) {
            let message = format!("the critical sections of `{name}` of length 0 are left out");
            attributes.warn(LOST, model.span.clone(), message, "nothing is executed in them");
        }
        let count: i128 = all().map(|(_, (count, _))| i128::from(count)).sum();
        let length: i128 =
            all().map(|(_, (count, length))| i128::from(count) * i128::from(length)).sum();
        let span = model.span.clone();
        let rest = i128::from(wcet) - length;
        if count == 0 || wcet <= 0 {
            return None;
        }
        let Some(rest) = i64::try_from(rest).ok().filter(|&rest| rest >= 0) else {
            let message = format!(
                "the critical sections of `{name}` are lost: they are longer than its WCET"
            );
            attributes.warn(LOST, span, message, "the WCET has what is executed in them");
            return None;
        };
        // Each section has three steps: lock, run, unlock.
        let more = u64::try_from(3 * count).unwrap_or(u64::MAX);
        self.steps = self.steps.saturating_add(more);
        if more >= MAX_STEPS as u64 || self.steps > ALL_STEPS {
            let message = format!("the critical sections of `{name}` are lost: there are too many");
            let help =
                format!("at most {MAX_STEPS} steps of a job, and {ALL_STEPS} of all, are read");
            attributes.warn(LOST, span, message, &help);
            return None;
        }
        if !self.told {
            self.told = true;
            let message = "where in a job its critical sections are is not known";
            let help =
                "they come first, one after the other: bounds do not depend on it, simulations do";
            attributes.warn("layland::schedcat::sections", span, message.to_owned(), help);
        }
        let mut steps = Vec::new();
        for (id, (count, length)) in all() {
            for _ in 0..count {
                let run = Step::Run(Service::from_ns(length));
                steps.extend([Step::Lock(id), run, Step::Unlock(id)]);
            }
        }
        steps.extend((rest > 0).then(|| Step::Run(Service::from_ns(rest))));
        Some(steps)
    }

    fn resource(&mut self, requirement: &Element) -> ResourceId {
        let id = requirement.attribute("res_id").map_or("0", |attribute| attribute.value.trim());
        let name = format!("R{}", id.split_whitespace().collect::<Vec<_>>().join("_"));
        let new = ResourceId::from_index(self.resources.len());
        *self.ids.entry(name).or_insert_with_key(|name| {
            self.resources.push(Resource { name: name.clone(), home: None });
            new
        })
    }
}

/// Formats the resource requirements of a task, and reports the losses in its steps.
pub(super) fn text(
    task: &Task,
    system: &System,
    lose: &mut impl FnMut(bool, String, &str),
) -> String {
    let name = &task.name;
    let sections = task.sections();
    if sections.iter().any(|section| section.within.is_some()) {
        let message = format!("the critical sections of `{name}` are lost");
        lose(true, message, "they are nested, and the format has no place for that");
        return "<resources/>".to_owned();
    }
    let mut uses: BTreeMap<ResourceId, (u64, Service)> = BTreeMap::new();
    for section in &sections {
        let (count, longest) = uses.entry(section.resource).or_default();
        *count += 1;
        *longest = section.length.max(*longest);
    }
    let mut out = "<resources>".to_owned();
    for (resource, (count, longest)) in uses {
        // SchedCAT reads whole numbers here.
        let us = longest.ns().div_euclid(1000) + i64::from(longest.ns().rem_euclid(1000) != 0);
        let is_whole = longest.ns() == us.saturating_mul(1000);
        let listed = system.resources.get(resource.index());
        let of = listed.map_or(String::new(), |resource| resource.name.clone());
        let exact = in_units(longest.ns(), 3);
        let message = format!("sections of `{name}` on `{of}` of {exact}us are written as {us}us");
        lose(!is_whole, message, "the format counts their lengths in whole microseconds");
        out += &format!(
            "<requirement res_id=\"{resource}\" max_reads=\"0\" max_writes=\"{count}\" \
             max_read_length=\"0\" max_write_length=\"{us}\"/>"
        );
    }
    if out == "<resources>" { "<resources/>".to_owned() } else { out + "</resources>" }
}

/// Reports the losses in the resources of a system.
pub(super) fn lost(system: &System, lose: &mut impl FnMut(bool, String, &str)) {
    for (index, resource) in system.resources.iter().enumerate() {
        let name = &resource.name;
        let renamed = *name != format!("R{index}");
        lose(
            renamed,
            format!("the name of the resource `{name}` is lost"),
            "resources have numbers there",
        );
        let homed = resource.home.is_some();
        lose(homed, format!("the home of `{name}` is lost"), "the format has no place for it");
    }
    for task in system.tasks.values() {
        let (suspension, _) = task.suspensions();
        let message = format!("that `{}` suspends itself is lost", task.name);
        lose(suspension.ns() > 0, message, "the format has no place for it");
    }
    let locks = system.tasks.values().any(|task| !task.sections().is_empty());
    let message = "where in a job its critical sections are is lost".to_owned();
    lose(locks, message, "the format has how many there are, and how long the longest is");
}
