//! Sets of CPUs as a person writes them: `0-3`, `l3:0`, `!7`, `all`, or a list of these.

use layland_model::CpuSet;
use layland_model::nearest;
use std::collections::BTreeMap;

/// What is wrong with such a set, and what to do.
pub(crate) type Fault = (String, String);

/// A choice of CPUs before it is known which there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    plus: CpuSet,
    minus: CpuSet,
    /// Whether `all` was written.
    all: bool,
    /// Whether anything but exclusions was written.
    includes: bool,
}

impl Choice {
    /// Adds what `text` names, with the names of `topology`.
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

    /// Whether it means something else for every set of CPUs that it chooses from.
    pub(crate) fn is_relative(&self) -> bool {
        self.all || !self.includes
    }

    /// The CPUs that it takes away.
    pub(crate) fn excluded(&self) -> &CpuSet {
        &self.minus
    }

    /// The CPUs that it chooses from `base`; none means all of them, whatever they are.
    pub(crate) fn of(&self, base: &CpuSet) -> Option<CpuSet> {
        if self.is_relative() {
            (!self.minus.is_empty()).then(|| base.difference(&self.minus))
        } else {
            Some(self.plus.difference(&self.minus))
        }
    }
}

/// A list of CPUs, or a name of the topology.
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

/// Why a name cannot be one of the topology: it would read as something else.
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
