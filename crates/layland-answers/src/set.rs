//! A task set, with the other contents of its file.

use crate::Unanswered;
use layland_config::{Format, Host, HowMade, Loaded, Position, Report};
use layland_model::{CpuSet, Duration, Index, Platform, System, Task, TaskId, counted};

/// The prefix of the names of bundled sets.
const DEMO: &str = "demo:";

/// The code of the warning about a file without a number of CPUs.
pub const CPUS_NOT_GIVEN: &str = "layland::platform::cpus_not_given";

/// Advice for users whose file contains no set.
pub const EMPTY: &str = "a task set is expected; `layland demos robot` prints one to start from";

/// A task set, with the other contents of its file.
#[derive(Clone)]
pub struct Set {
    /// The name of the set.
    pub name: String,
    /// The system, which is valid.
    pub system: System,
    /// The length of a run that the file asks for.
    pub until: Option<Duration>,
    /// The policy that the file asks for.
    pub policy: Option<&'static str>,
    /// The positions of the first tasks in the user's file; empty if they are not known.
    places: Vec<Position>,
    /// The name and the positions that apply if this is the only set of its file, which has one set
    /// per line.
    alone: Option<(String, Vec<Position>)>,
    /// Assumptions about values that the file does not contain, in sentences without full stops.
    pub assumed: Vec<String>,
}

impl Set {
    /// Parses the bytes of a task set. Returns the set with its warnings. Files have this name in
    /// messages.
    ///
    /// # Errors
    /// If the bytes are not a valid set; the error has a report, unless there are no bytes.
    ///
    /// ```
    /// use layland_answers::Set;
    /// use layland_config::{Format, Host};
    /// let wrong = b"layland = 1\nplatfrom = 4\n";
    /// let error = Set::read("a.toml", wrong, Format::Toml, &Host::default()).err().unwrap();
    /// assert_eq!(error.report.unwrap().problems[0].position.unwrap().line, 2);
    /// ```
    pub fn read(
        name: &str,
        bytes: &[u8],
        format: Format,
        host: &Host,
    ) -> Result<(Set, Report), Unanswered> {
        if bytes.trim_ascii().is_empty() {
            return Err(Unanswered::input(format!("{name} is empty")).help(EMPTY));
        }
        let Loaded { system, warnings, until, policy, mut places } =
            layland_config::read(name, bytes, format, host)?;
        if name.starts_with(DEMO) {
            places.clear();
        }
        let assumed = assumed(&warnings);
        let name = name.to_owned();
        Ok((Set { name, system, until, policy, places, alone: None, assumed }, warnings))
    }

    /// Parses a line of a file with one set per line. The name of the set consists of the file and
    /// the line, from 1.
    ///
    /// # Errors
    /// If the line is not a valid set; the error has a report.
    pub fn read_line(
        file: &str,
        line: usize,
        bytes: &[u8],
        host: &Host,
        made: HowMade,
    ) -> Result<(Set, Report), Unanswered> {
        let name = format!("{file}:{line}");
        // The name contains the number of the line.
        let Loaded { system, warnings, until, policy, places: mut in_file } =
            layland_config::read_with(&name, bytes, Format::Lines, host, made)?;
        let assumed = assumed(&warnings);
        in_file.iter_mut().for_each(|place| place.line += line - 1);
        let alone = Some((file.to_owned(), in_file));
        let set = Set { name, system, until, policy, places: Vec::new(), alone, assumed };
        Ok((set, warnings))
    }

    /// Wraps a valid system that is not from a file.
    pub fn in_memory(name: &str, system: System) -> Set {
        Set {
            name: name.to_owned(),
            system,
            until: None,
            policy: None,
            places: Vec::new(),
            alone: None,
            assumed: Vec::new(),
        }
    }

    /// Names the set after its file, and applies its positions, as for the only set of the file.
    #[must_use]
    pub fn alone(mut self) -> Set {
        if let Some((name, places)) = self.alone.take() {
            (self.name, self.places) = (name, places);
        }
        self
    }

    /// Adds to the reason of a refusal the position of the task that it is about, if any.
    pub fn located(&self, reason: String, task: Option<TaskId>) -> String {
        match task.and_then(|task| self.places.get(task.index())) {
            Some(place) => format!("{reason} ({}:{place})", self.name),
            None => reason,
        }
    }

    /// Adds the position of a task that an engine names.
    pub fn located_by_name(&self, reason: String, task: Option<&str>) -> String {
        let named = |(id, of): (TaskId, &Task)| (Some(of.name.as_str()) == task).then_some(id);
        self.located(reason, self.system.tasks.iter().find_map(named))
    }

    /// Adds tasks in the notation `NAME=WCET/PERIOD[/DEADLINE][@CPUS]`. After an error the set is
    /// unchanged.
    ///
    /// # Errors
    /// If a task is wrong, or does not fit the set.
    pub fn add_tasks(&mut self, tasks: &[String]) -> Result<(), Unanswered> {
        if tasks.is_empty() {
            return Ok(());
        }
        let mut system = self.system.clone();
        for text in tasks {
            let mut task = layland_config::parse_inline(text)?;
            task.rank = system.tasks.len() as i64;
            let level = system.levels.count();
            let wcet = task.wcet[0];
            task.wcet.resize(level, wcet);
            system.tasks.push(task);
        }
        let faults = system.validate();
        if faults.is_empty() {
            self.system = system;
            return Ok(());
        }
        let (messages, helps): (Vec<_>, Vec<_>) =
            faults.iter().map(|fault| (fault.to_string(), fault.help.to_string())).unzip();
        Err(Unanswered::input(messages.join("; ")).help(helps.join("; ")))
    }

    /// Moves the tasks to another number of CPUs. Returns a note if the number differs from that
    /// of the set. After an error the set is unchanged.
    ///
    /// # Errors
    /// If the set refers to CPUs, clusters or speeds that would not exist.
    pub fn change_cpus(&mut self, cpus: usize) -> Result<Option<String>, Unanswered> {
        if cpus == self.system.platform.cpu_count() {
            return Ok(None);
        }
        let has = self.system.platform.cpu_count();
        let said = format!("{} has {}, and --cpus says {cpus}", self.name, counted(has, "CPU"));
        let refused = |why: &str| {
            Err(Unanswered::input(format!("{said}: {why}"))
                .help("change `cpus` under [platform], or leave --cpus out"))
        };
        let platform = &self.system.platform;
        if platform.clusters.len() > 1 {
            return refused("its clusters are of those that it has");
        }
        if !platform.is_unit_speed() {
            return refused("its CPUs have speeds of their own");
        }
        let all = CpuSet::first(cpus);
        let tied = |task: &&Task| task.affinity.as_ref().is_some_and(|own| !own.is_subset(&all));
        if let Some(task) = self.system.tasks.values().find(tied) {
            return refused(&format!("task `{}` names CPUs beyond these", task.name));
        }
        // Names of CPU groups are kept if all of their CPUs remain.
        let mut topology = platform.topology.clone();
        topology.retain(|_, sets| sets.iter().all(|cpus| cpus.is_subset(&all)));
        let overheads = platform.overheads.clone();
        let mut system = self.system.clone();
        system.platform = Platform { overheads, topology, ..Platform::identical(cpus) };
        // Requests may refer to removed CPUs, too.
        if let Some(fault) = system.validate().first() {
            return refused(&fault.to_string());
        }
        self.system = system;
        let has = counted(has, "CPU");
        Ok(Some(format!("--cpus {cpus} overrides the {has} of {}", self.name)))
    }
}

/// Returns the assumptions about values that a file does not contain: the number of CPUs.
pub fn assumed(warnings: &Report) -> Vec<String> {
    let problems = warnings.problems.iter().filter(|problem| problem.code == CPUS_NOT_GIVEN);
    problems.map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{CpuId, Service};

    fn tied() -> Set {
        let mut task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(4));
        task.affinity = Some(CpuSet::single(CpuId(1)));
        Set::in_memory("set", System::new(2, vec![task]))
    }

    #[test]
    fn a_set_is_unchanged_after_an_error() {
        let mut set = tied();
        assert!(set.change_cpus(1).is_err());
        assert!(set.add_tasks(&["b=1ms/4ms".to_owned(), "c=1ms/4ms@7".to_owned()]).is_err());
        assert!(set.add_tasks(&["b=1ms/4ms".to_owned(), "c".to_owned()]).is_err());
        assert_eq!(set.system, tied().system);
    }

    #[test]
    fn other_cpus_and_tasks_are_those_asked_for() {
        let mut set = tied();
        assert_eq!(set.change_cpus(2), Ok(None));
        assert!(set.change_cpus(4).expect("the task keeps its CPU").is_some());
        set.add_tasks(&["b=1ms/4ms@3".to_owned()]).expect("CPU 3 exists now");
        assert_eq!((set.system.platform.cpu_count(), set.system.tasks.len()), (4, 2));
    }
}
