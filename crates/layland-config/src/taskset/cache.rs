//! `ucb` and `ecb`: the sets of the cache that the jobs of a task use.

use super::Decoder;
use super::task::{Lookup, TaskTable};
use crate::document::{KeyValue, value_of};
use layland_model::{CacheSets, CacheUse};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

const CODE: &str = "layland::taskset::cache_sets";
const HELP: &str = "write \"0-39\", \"0-39,64\" or [3, 7, \"10-19\"]; sets count from 0";

impl Decoder<'_, '_> {
    /// Reads the cache use of a task; the inner `None` if it has none, the outer one after a fault.
    pub(super) fn cache(&mut self, lookup: &Lookup<'_>) -> Option<Option<Arc<CacheUse>>> {
        let (ucb, ecb) = (lookup.get("ucb"), lookup.get("ecb"));
        if ucb.is_none() && ecb.is_none() {
            return Some(None);
        }
        let Some(ecb) = ecb else {
            let at = ucb.map(|entry| entry.span).unwrap_or_default();
            let message = "`ucb` needs `ecb`, the sets that a job may load something into";
            self.reader.error(CODE, at, message, "here", "give both: ucb = \"0-3\", ecb = \"0-9\"");
            return None;
        };
        let ecb = self.cache_sets(&ecb);
        let ucb = match ucb {
            Some(entry) => self.cache_sets(&entry),
            None => Some(CacheSets::new()),
        };
        Some(Some(Arc::new(CacheUse { ucb: ucb?, ecb: ecb? })))
    }

    /// Reads a string with ranges, or a list of numbers and such strings.
    fn cache_sets(&mut self, entry: &KeyValue<'_>) -> Option<CacheSets> {
        let mut sets = CacheSets::new();
        let mut ok = true;
        for element in self.reader.one_or_more(entry) {
            if let DeValue::Integer(_) = element.value {
                let most = CacheSets::MAX as i128 - 1;
                match self.reader.integer::<usize>(&element, 0..=most) {
                    Some(set) => sets.insert(set),
                    None => ok = false,
                }
                continue;
            }
            let text = self.reader.text(&element, "0-39");
            match text.map(str::parse::<CacheSets>) {
                Some(Ok(some)) => sets.extend(&some),
                Some(Err(fault)) => {
                    let at = element.span;
                    self.reader.error(CODE, at, fault.to_string(), "not sets of a cache", HELP);
                    ok = false;
                }
                None => ok = false,
            }
        }
        ok.then_some(sets)
    }

    /// Reports cache blocks in a file without the time to reload one: they have no effect then.
    pub(super) fn has_reload_time(&mut self, top: &DeTable<'_>, tables: &[TaskTable<'_>]) {
        let of_task = |key| tables.iter().find_map(move |task| value_of(task.table, key));
        let Some(first) = of_task("ucb").or_else(|| of_task("ecb")) else { return };
        let platform = value_of(top, "platform");
        let overhead = within(&platform, "overhead");
        // Faults in these tables are reported elsewhere.
        let is_no_table = |entry: &Option<KeyValue<'_>>| {
            entry.as_ref().is_some_and(|entry| entry.value.as_table().is_none())
        };
        let is_said = within(&overhead, "block_reload_time").is_some();
        if !is_said && !is_no_table(&platform) && !is_no_table(&overhead) {
            let message =
                format!("`{}` is given, and not how long a cache block takes to reload", first.key);
            let help = "say it under [platform]: overhead = { block_reload_time = \"8us\" }; \"0s\" counts no reloads";
            self.reader.error(CODE, first.span, message, "here", help);
        }
    }
}

/// Returns a key of a table, if both exist.
fn within<'t>(entry: &Option<KeyValue<'t>>, key: &str) -> Option<KeyValue<'t>> {
    value_of(entry.as_ref()?.value.as_table()?, key)
}
