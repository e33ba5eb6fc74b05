//! The `[[request]]` tables: requests that arrive while the system runs.

use super::Decoder;
use crate::document::{KeyValue, value_of};
use crate::problem::Span;
use layland_model::nearest;
use layland_model::{Change, CpuId, CpuSet, Index, Platform, Request, RequestKind, Task, TaskId};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

pub(crate) const REQUEST: &[&str] = &[
    "at", "task", "leave", "affinity", "wcet", "period", "deadline", "cluster", "cpus", "cpu",
    "online",
];

const FORMS: &str = "write one of: task with leave = true; task with affinity; task with wcet and \
                     period; task with cluster; cluster with cpus; cpu with online";

impl Decoder<'_, '_> {
    /// Reads the requests in the order of their times; also
    /// returns their spans, and true if all are valid.
    pub(super) fn requests<'t>(
        &mut self,
        top: &'t DeTable<'t>,
        platform: &Platform,
        tasks: &[Task],
    ) -> (Vec<Request>, Vec<Span>, bool) {
        let Some(section) = value_of(top, "request") else { return (Vec::new(), Vec::new(), true) };
        if let DeValue::Table(_) = section.value {
            let help = "write [[request]], with two brackets, before each request";
            self.reader.wrong_type(&section, "a list of tables", help);
            return (Vec::new(), Vec::new(), false);
        }
        let names: BTreeMap<&str, TaskId> = tasks
            .iter()
            .enumerate()
            .map(|(index, task)| (task.name.as_str(), TaskId::from_index(index)))
            .collect();
        let elements = self.reader.list(&section, "[]").unwrap_or_default();
        let mut found: Vec<(Request, Span)> = Vec::new();
        for element in &elements {
            if let Some(request) = self.request(element, platform, &names) {
                found.push((request, element.span.clone()));
            }
        }
        let complete = found.len() == elements.len();
        // The sort is stable: requests at the same time keep the order of the file.
        found.sort_by_key(|(request, _)| request.at);
        let (requests, spans) = found.into_iter().unzip();
        (requests, spans, complete)
    }

    fn request(
        &mut self,
        element: &KeyValue<'_>,
        platform: &Platform,
        names: &BTreeMap<&str, TaskId>,
    ) -> Option<Request> {
        let table = self.reader.table(element, "[[request]] before each request")?;
        self.reader.only(table, REQUEST, "a request");
        let at = match value_of(table, "at") {
            Some(entry) => self.reader.time(&entry),
            None => {
                let help = "say when: at = \"25ms\"";
                self.reader.missing(element.span.clone(), "a request", "at", help);
                None
            }
        };
        // The keys other than `at` and `task`, in the order of REQUEST, determine the request.
        let asked: Vec<KeyValue<'_>> = REQUEST
            .iter()
            .filter(|key| !matches!(**key, "at" | "task"))
            .filter_map(|key| value_of(table, key))
            .collect();
        let keys: Vec<&str> = asked.iter().map(|entry| entry.key).collect();
        let task = value_of(table, "task").map(|entry| self.named_task(&entry, names));
        let kind = match (task, &keys[..], &asked[..]) {
            (Some(task), ["leave"], [leave]) => {
                if !self.reader.boolean(leave)? {
                    let help = "write leave = true, or remove the request";
                    let code = "layland::taskset::request";
                    let message = "leave = false asks for nothing";
                    self.reader.error(code, leave.span.clone(), message, "false", help);
                    return None;
                }
                task.map(RequestKind::Leave)
            }
            (Some(task), ["affinity"], [cpus]) => {
                let cpus = self.requested_cpus(cpus, platform);
                Some(RequestKind::Reconfigure(task?, Change::Affinity(cpus?)))
            }
            (Some(task), ["wcet", "period"], [wcet, period]) => {
                let (wcet, period) = (self.reader.time(wcet), self.reader.time(period));
                let (wcet, period) = (wcet?, period?);
                let change = Change::Parameters { wcet, period, deadline: period };
                Some(RequestKind::Reconfigure(task?, change))
            }
            (Some(task), ["wcet", "period", "deadline"], [wcet, period, deadline]) => {
                let reader = &mut self.reader;
                let (wcet, period, deadline) =
                    (reader.time(wcet), reader.time(period), reader.time(deadline));
                let change =
                    Change::Parameters { wcet: wcet?, period: period?, deadline: deadline? };
                Some(RequestKind::Reconfigure(task?, change))
            }
            (Some(task), ["cluster"], [cluster]) => {
                let cluster = self.reader.integer(cluster, 0..=CpuSet::MAX_CPUS as i128);
                Some(RequestKind::Reconfigure(task?, Change::Cluster(cluster?)))
            }
            (None, ["cluster", "cpus"], [cluster, cpus]) => {
                let cluster = self.reader.integer(cluster, 0..=CpuSet::MAX_CPUS as i128);
                let cpus = self.requested_cpus(cpus, platform);
                Some(RequestKind::SetClusterCpus { cluster: cluster?, cpus: cpus? })
            }
            (None, ["cpu", "online"], [cpu, online]) => {
                let cpu = self.reader.integer(cpu, 0..=CpuSet::MAX_CPUS as i128 - 1);
                let (cpu, online) = (CpuId(cpu?), self.reader.boolean(online)?);
                Some(if online {
                    RequestKind::CpuOnline(cpu)
                } else {
                    RequestKind::CpuOffline(cpu)
                })
            }
            (task, _, _) => {
                let mut given: Vec<&str> = task.iter().map(|_| "task").collect();
                given.extend(&keys);
                let message = match given.len() {
                    0 => "a request that asks for nothing".to_owned(),
                    _ => format!("a request cannot be made of `{}`", given.join("`, `")),
                };
                let code = "layland::taskset::request";
                self.reader.error(code, element.span.clone(), message, "here", FORMS);
                None
            }
        };
        Some(Request { at: at?, kind: kind? })
    }

    fn named_task(
        &mut self,
        entry: &KeyValue<'_>,
        names: &BTreeMap<&str, TaskId>,
    ) -> Option<TaskId> {
        let name = self.reader.text(entry, "control")?;
        let task = names.get(name).copied();
        if task.is_none() {
            let copies = format!("{name}.0");
            let help = if names.contains_key(copies.as_str()) {
                format!("`{name}` has a count: name one copy, as in \"{copies}\"")
            } else {
                // Search only a part of the names: searching
                // those of a huge set would take too long.
                match nearest(name, names.keys().copied().take(1000)) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => "name a [[task]] of this file".to_owned(),
                }
            };
            let message = format!("there is no task `{name}`");
            let code = "layland::taskset::request";
            self.reader.error(code, entry.span.clone(), message, "unknown task", help);
        }
        task
    }

    /// Reads CPUs that exist; with several clusters, the list must be explicit.
    fn requested_cpus(&mut self, entry: &KeyValue<'_>, platform: &Platform) -> Option<CpuSet> {
        let all = platform.all_cpus();
        let choice = self.reader.cpus(entry, &platform.topology)?;
        if choice.is_relative() && platform.clusters.len() > 1 {
            let message = "with several clusters it is not clear what this leaves";
            let help = "write the CPUs out: \"0-3\"";
            let code = "layland::taskset::cpus";
            self.reader.error(code, entry.span.clone(), message, "not clear", help);
            return None;
        }
        let cpus = choice.of(&all).unwrap_or_else(|| all.clone());
        self.reader.exist(entry, &cpus.union(choice.excluded()), &all).then_some(cpus)
    }
}
