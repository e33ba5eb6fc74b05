//! Selects the threads that are tasks, and names the tasks.

use super::import::{ReadError, ReadOptions, Threads, comm};
use super::line::{Event, EventKind, NamedThread};
use super::marker::Marker;
use layland_model::{Index, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// The threads of tasks.
#[derive(Default)]
pub(super) struct Tasks {
    /// The names by task.
    pub names: Vec<String>,
    by_comm: BTreeMap<String, TaskId>,
    by_pid: BTreeMap<u32, TaskId>,
    /// Threads with the name of a task that already has a thread.
    pub doubles: BTreeSet<u32>,
}

impl Tasks {
    /// Returns the task of a thread.
    pub(super) fn of(&self, pid: u32) -> Option<TaskId> {
        self.by_pid.get(&pid).copied()
    }

    /// Returns the task that a mark names, given the thread that wrote it.
    pub(super) fn named(&self, name: &str, by: u32) -> Option<TaskId> {
        // Two tasks may share a name if a filter chose the threads.
        let own = self.of(by).filter(|&task| {
            self.names.get(task.index()).is_some_and(|own| own == name || comm(own) == comm(name))
        });
        own.or_else(|| self.by_comm.get(comm(name)).copied())
    }

    pub(super) fn find(events: &[Event], options: &ReadOptions) -> Result<Tasks, ReadError> {
        let mut tasks = match options.threads {
            Threads::Of(system) => {
                let names = system.tasks.values().map(|task| task.name.to_string()).collect();
                Tasks::called(names, events)?
            }
            Threads::Marked => {
                let mut names: Vec<String> = Vec::new();
                for name in events.iter().filter_map(marked) {
                    if !names.iter().any(|known| known == name) {
                        names.push(name.to_owned());
                    }
                }
                Tasks::called(names, &[])?
            }
            Threads::Where(is_task) => Tasks::chosen(events, is_task),
            Threads::Known(system, by_pid) => {
                let names = system.tasks.values().map(|task| task.name.to_string()).collect();
                return Ok(Tasks { names, by_pid: by_pid.clone(), ..Tasks::default() });
            }
        };
        let marking = marking_threads(events);
        for thread in seen(events) {
            let Some(&task) = tasks.by_comm.get(thread.comm) else { continue };
            if tasks.by_pid.contains_key(&thread.pid) || tasks.doubles.contains(&thread.pid) {
                continue;
            }
            // Of threads with the same name, prefer the one that writes the marks of the task.
            let writes = |pid| marking.get(&pid).is_some_and(|name| comm(name) == thread.comm);
            let other = tasks.by_pid.iter().find(|&(_, &of)| of == task).map(|(&pid, _)| pid);
            match other {
                Some(other) if writes(thread.pid) && !writes(other) => {
                    tasks.by_pid.remove(&other);
                    tasks.doubles.insert(other);
                    tasks.by_pid.insert(thread.pid, task);
                }
                Some(_) => {
                    tasks.doubles.insert(thread.pid);
                }
                None => {
                    tasks.by_pid.insert(thread.pid, task);
                }
            }
        }
        if tasks.by_pid.is_empty() {
            let wanted = tasks.names.iter().map(|name| format!("`{name}`")).collect();
            return Err(ReadError::NoTasks { candidates: candidates(events), wanted });
        }
        Ok(tasks)
    }

    /// Makes every thread a task of its own, from thread ids and names.
    pub(super) fn everybody<'a>(threads: impl Iterator<Item = (u32, &'a str)>) -> Tasks {
        let mut tasks = Tasks::default();
        for (index, (pid, name)) in threads.enumerate() {
            let task = TaskId::from_index(index);
            tasks.names.push(name.to_owned());
            tasks.by_comm.entry(name.to_owned()).or_insert(task);
            tasks.by_pid.insert(pid, task);
        }
        tasks
    }

    /// Names of the form `bash-2457` stand for the thread of this id, if it has this name: they are given to threads
    /// of one name.
    fn called(names: Vec<String>, events: &[Event]) -> Result<Tasks, ReadError> {
        let mut tasks = Tasks::default();
        let threads: BTreeSet<(u32, &str)> =
            seen(events).map(|thread| (thread.pid, thread.comm)).collect();
        for (index, name) in names.iter().enumerate() {
            let numbered =
                name.rsplit_once('-').and_then(|(name, id)| Some((id.parse().ok()?, name)));
            if let Some((pid, name)) = numbered
                && threads.contains(&(pid, comm(name)))
            {
                tasks.by_pid.insert(pid, TaskId::from_index(index));
                continue;
            }
            let short = comm(name).to_owned();
            let other = tasks.by_comm.insert(short.clone(), TaskId::from_index(index));
            if let Some(other) = other {
                let (first, second) = (names[other.index()].clone(), name.clone());
                return Err(ReadError::SameComm { first, second, comm: short });
            }
        }
        Ok(Tasks { names, ..tasks })
    }

    fn chosen(events: &[Event], is_task: &dyn Fn(&str, u32) -> bool) -> Tasks {
        let mut tasks = Tasks::default();
        // A thread has another name before its program begins. The last one is that of the program.
        let mut order: Vec<u32> = Vec::new();
        let mut names: BTreeMap<u32, (bool, &str)> = BTreeMap::new();
        for thread in seen(events) {
            let known = names.entry(thread.pid).or_insert_with(|| {
                order.push(thread.pid);
                (false, thread.comm)
            });
            if known.1 != thread.comm || !known.0 {
                *known = (known.0 || is_task(thread.comm, thread.pid), thread.comm);
            }
        }
        for pid in order {
            let Some(&(true, name)) = names.get(&pid) else { continue };
            let task = TaskId::from_index(tasks.names.len());
            let is_taken = tasks.by_comm.contains_key(name);
            tasks.names.push(if is_taken { format!("{name}-{pid}") } else { name.to_owned() });
            tasks.by_comm.entry(name.to_owned()).or_insert(task);
            tasks.by_pid.insert(pid, task);
        }
        // Threads that match only by name were not chosen.
        for thread in seen(events) {
            if !tasks.by_pid.contains_key(&thread.pid) && tasks.by_comm.contains_key(thread.comm) {
                tasks.doubles.insert(thread.pid);
            }
        }
        tasks
    }
}

/// Returns every thread that an event names, except for idle threads.
fn seen<'a>(events: &'a [Event<'a>]) -> impl Iterator<Item = NamedThread<'a>> {
    let of = |event: &Event<'a>| {
        let (first, second) = match event.kind {
            EventKind::Switch { prev, next, .. } => (Some(prev), Some(next)),
            EventKind::Wake { thread, .. } | EventKind::Migrate { thread, .. } => {
                (Some(thread), None)
            }
            EventKind::Mark(_) | EventKind::Other => (None, None),
        };
        [Some(event.thread), first, second]
    };
    events.iter().flat_map(of).flatten().filter(|thread| thread.pid != 0 && !thread.comm.is_empty())
}

/// Returns the task that the mark of an event names.
fn marked<'a>(event: &'a Event<'a>) -> Option<&'a str> {
    match &event.kind {
        EventKind::Mark(
            Marker::Release { task, .. }
            | Marker::Start { task, .. }
            | Marker::Complete { task, .. }
            | Marker::Abort { task, .. }
            | Marker::Overrun { task, .. },
        ) => Some(task),
        EventKind::Mark(Marker::Begin { .. } | Marker::End { .. } | Marker::Decision { .. })
        | EventKind::Switch { .. }
        | EventKind::Wake { .. }
        | EventKind::Migrate { .. }
        | EventKind::Other => None,
    }
}

/// Returns the threads that write the marks of one task only, with its name: workers, not managers.
fn marking_threads<'a>(events: &'a [Event<'a>]) -> BTreeMap<u32, &'a str> {
    let mut names: BTreeMap<u32, Option<&str>> = BTreeMap::new();
    for event in events {
        if let Some(name) = marked(event) {
            let known = names.entry(event.thread.pid).or_insert(Some(name));
            if *known != Some(name) {
                *known = None;
            }
        }
    }
    names.into_iter().filter_map(|(pid, name)| Some((pid, name?))).collect()
}

/// Returns the threads that left a CPU most often.
fn candidates(events: &[Event]) -> Vec<(String, u32)> {
    let mut counts: BTreeMap<u32, (u64, &str)> = BTreeMap::new();
    for event in events {
        if let EventKind::Switch { prev, .. } = &event.kind
            && prev.pid != 0
        {
            counts.entry(prev.pid).or_insert((0, prev.comm)).0 += 1;
        }
    }
    let mut counts: Vec<(u64, &str, u32)> =
        counts.into_iter().map(|(pid, (count, comm))| (count, comm, pid)).collect();
    counts.sort_by(|a, b| b.0.cmp(&a.0).then(a.2.cmp(&b.2)));
    counts.into_iter().take(5).map(|(_, comm, pid)| (comm.to_owned(), pid)).collect()
}
