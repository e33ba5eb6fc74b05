//! Parses sets of CPUs as users write them: `0-3`, `l3:0`, `!7`, `all`, or a list of these.

use layland_model::CpuSet;
use layland_model::nearest;
use std::collections::BTreeMap;

/// A fault in such a set: the message and the help.
pub(crate) type Fault = (String, String);

/// A selection of CPUs, before the set to select from is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    plus: CpuSet,
    minus: CpuSet,
    /// True if the text contains `all`.
    all: bool,
    /// True if the text contains anything other than exclusions.
    includes: bool,
}

impl Choice {
    /// Adds the CPUs in `text`, which may contain names from `topology`.
    pub(crate) fn add(
        &mut self,
        text: &str,
        topology: &BTreeMap<String, Vec<CpuSet>>,
    ) -> Result<(), Fault> {
        for part in text.split(',').map(str::trim) {
            match part.strip_prefix('!') {
                Some(rest) => self.minus = self.minus.union(&named(rest.trim(), topology)?),
                None if part == "all" => (self.all, self.includes) = (true, true),
                None => {
                    self.plus = self.plus.union(&named(part, topology)?);
                    self.includes = true;
                }
            }
        }
        Ok(())
    }

    /// Adds one CPU.
    pub(crate) fn add_cpu(&mut self, cpu: CpuSet) {
        self.plus = self.plus.union(&cpu);
        self.includes = true;
    }

    /// Returns true if the selection depends on the set of CPUs to select from.
    pub(crate) fn is_relative(&self) -> bool {
        self.all || !self.includes
    }

    /// The CPUs that it excludes.
    pub(crate) fn excluded(&self) -> &CpuSet {
        &self.minus
    }

    /// Returns the CPUs that it selects from `base`; `None` for all of them.
    pub(crate) fn of(&self, base: &CpuSet) -> Option<CpuSet> {
        if self.is_relative() {
            (!self.minus.is_empty()).then(|| base.difference(&self.minus))
        } else {
            Some(self.plus.difference(&self.minus))
        }
    }
}

/// Parses a list of CPUs, or a name from the topology.
fn named(text: &str, topology: &BTreeMap<String, Vec<CpuSet>>) -> Result<CpuSet, Fault> {
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return text.parse().map_err(|error| (format!("{error}"), CPU_HELP.to_owned()));
    }
    let (name, index) = match text.split_once(':') {
        Some((name, index)) => (name, Some(index)),
        None => (text, None),
    };
    let Some(sets) = topology.get(name) else {
        let message = format!("`{text}` is not a CPU, a range of CPUs or a name of the topology");
        let names = topology.keys().map(String::as_str);
        let help = match nearest(name, names.chain(["all"])) {
            Some(near) => format!("did you mean `{near}`? {CPU_HELP}"),
            None => CPU_HELP.to_owned(),
        };
        return Err((message, help));
    };
    let which = || match sets.len() {
        0 | 1 => format!("write \"{name}:0\""),
        count => format!("write \"{name}:0\" to \"{name}:{}\"", count - 1),
    };
    match index {
        None if sets.len() == 1 => Ok(sets[0].clone()),
        None => Err((format!("`{name}` is {} sets of CPUs", sets.len()), which())),
        Some(index) => index
            .parse::<usize>()
            .ok()
            .and_then(|index| sets.get(index))
            .cloned()
            .ok_or_else(|| (format!("there is no `{text}`"), which())),
    }
}

const CPU_HELP: &str = "write \"0-3\", \"0,2\", \"!7\" (all but 7), \"all\" or a topology name";

/// Returns the reason why a name is not allowed in the topology, where it could be misread.
pub(crate) fn topology_name_fault(name: &str) -> Option<&'static str> {
    let starts_well = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let reads_well =
        name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
    if name == "all" {
        Some("`all` already means every CPU of the cluster")
    } else if !starts_well || !reads_well || name.trim() != name {
        Some("a name starts with a letter and has letters, digits, `_`, `-` and `.`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_read_as_they_are_meant() {
        let set = |text: &str| text.parse::<CpuSet>().unwrap();
        let topology = BTreeMap::from([
            ("l3".to_owned(), vec![set("0-1"), set("2-3")]),
            ("big".to_owned(), vec![set("3")]),
        ]);
        let base = set("0-3");
        for (text, chosen) in [
            ("0-3", Some("0-3")),
            ("l3:1", Some("2-3")),
            ("big,0", Some("0,3")),
            ("all", None),
            ("!2", Some("0-1,3")),
            ("all,!l3:0", Some("2-3")),
            ("0-2,!1", Some("0,2")),
        ] {
            let mut choice = Choice::default();
            choice.add(text, &topology).unwrap();
            assert_eq!(choice.of(&base), chosen.map(set), "{text}");
        }
        for text in ["", "l3", "l3:2", "l3:x", "l2:0", "3-1", "!", "5000", "0x1", "all!"] {
            assert!(Choice::default().add(text, &topology).is_err(), "{text}");
        }
    }
}
