//! The named control groups, and the processes that were seen in them.

use crate::ui::exit::Failure;
use layland_linux::exec::{Group, Process, descendants, threads_of};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

pub(super) struct Groups {
    named: Vec<(String, Group)>,
    /// The named groups in which each process has been seen. A partition of version 2 removes a
    /// process from all of them.
    seen: BTreeMap<Process, Vec<String>>,
}

impl Groups {
    /// Finds the control groups with these names.
    pub(super) fn of(names: BTreeSet<&str>) -> Result<Groups, Failure> {
        let find = |name: &str| match Group::find(name) {
            Ok(group) => Ok((name.to_owned(), group)),
            Err(error) => {
                Err(Failure::usage(format!("there is no control group `{name}`: {error}"))
                    .help("write it as /proc/PID/cgroup does, as in system.slice/robot.service"))
            }
        };
        let named = names.into_iter().map(find).collect::<Result<_, Failure>>()?;
        Ok(Groups { named, seen: BTreeMap::new() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Returns the name for a member that is about these groups.
    pub(super) fn name(&self) -> Option<String> {
        let (first, _) = self.named.first()?;
        Some(Path::new(first).file_name()?.to_string_lossy().into_owned())
    }

    /// Updates the processes in the groups. Returns all that were ever seen, and their descendants.
    pub(super) fn look(&mut self) -> BTreeSet<Process> {
        self.seen.retain(|&process, _| !threads_of(process).is_empty());
        for (name, group) in &self.named {
            for process in group.processes() {
                let known = self.seen.entry(process).or_default();
                if !known.contains(name) {
                    known.push(name.clone());
                }
            }
        }
        self.seen.keys().copied().flat_map(descendants).collect()
    }

    /// Returns true if a process was seen in a group.
    pub(super) fn has(&self, group: &str, process: Process) -> bool {
        self.seen.get(&process).is_some_and(|groups| groups.iter().any(|name| name == group))
    }
}
