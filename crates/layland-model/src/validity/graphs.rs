//! The rules for tasks that follow others.

use super::{Field, SystemPart};
use crate::{
    Behaviour, Change, Graph, OnMiss, Request, RequestKind, System, Task, TaskId, TaskMap,
};

impl System {
    /// Checks that followed tasks exist, and that they form acyclic graphs whose jobs arrive
    /// together.
    pub(super) fn validate_graphs(&self, wrong: &mut impl FnMut(SystemPart, String, &str)) {
        if !self.has_followers() {
            return;
        }
        for (id, task) in self.tasks.iter() {
            let name = &task.name;
            let mut follows = |message: String, help: &str| {
                wrong(SystemPart::Task(id, Field::Follows), message, help);
            };
            for (at, &followed) in task.follows.iter().enumerate() {
                match self.tasks.get(followed) {
                    None => {
                        let message = format!("`{name}` follows a task that does not exist");
                        follows(message, "name a task of the set");
                    }
                    Some(_) if followed == id => {
                        follows(format!("`{name}` follows itself"), "leave it out");
                    }
                    Some(other) if task.follows[..at].contains(&followed) => {
                        let message = format!("`{name}` follows `{}` twice", other.name);
                        follows(message, "name it once");
                    }
                    Some(_) => {}
                }
            }
        }
        for graph in self.graphs() {
            if let Some(id) = self.on_a_cycle(&graph) {
                let message = format!("`{}` follows itself through others", self.tasks[id].name);
                let help = "no job of such a cycle could ever begin: leave one `follows` out";
                wrong(SystemPart::Task(id, Field::Follows), message, help);
            }
            let first = graph.tasks[0];
            for &id in &graph.tasks {
                self.validate_member(first, id, wrong);
            }
        }
    }

    /// Returns a task that precedes itself, if there is one. Tasks that follow no remaining task
    /// are removed repeatedly; the search starts at the smallest task that is left.
    fn on_a_cycle(&self, graph: &Graph) -> Option<TaskId> {
        let mut missing = vec![0usize; graph.tasks.len()];
        graph.edges.iter().for_each(|&(_, to)| missing[to] += 1);
        let mut free: Vec<usize> = (0..missing.len()).filter(|&node| missing[node] == 0).collect();
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); missing.len()];
        graph.edges.iter().for_each(|&(from, to)| followers[from].push(to));
        let mut out = vec![false; missing.len()];
        while let Some(node) = free.pop() {
            out[node] = true;
            for &to in &followers[node] {
                missing[to] -= 1;
                if missing[to] == 0 {
                    free.push(to);
                }
            }
        }
        // Tasks behind a cycle are left, too. From any remaining task, the tasks that it follows
        // lead back to the cycle.
        let mut at = out.iter().position(|&is_out| !is_out)?;
        let mut seen = vec![false; out.len()];
        while !std::mem::replace(&mut seen[at], true) {
            let before = |&&(from, to): &&(usize, usize)| to == at && !out[from];
            at = graph.edges.iter().find(before)?.0;
        }
        Some(graph.tasks[at])
    }

    /// Checks that the jobs of a task of a graph arrive with those of the first task, and that all
    /// of them complete.
    fn validate_member(
        &self,
        first: TaskId,
        id: TaskId,
        wrong: &mut impl FnMut(SystemPart, String, &str),
    ) {
        let (leader, task) = (&self.tasks[first], &self.tasks[id]);
        let name = &task.name;
        let mut field =
            |field, message: String, help: &str| wrong(SystemPart::Task(id, field), message, help);
        let same: [(Field, &str, bool); 5] = [
            (Field::Period, "period", task.period == leader.period),
            (Field::Offset, "offset", task.offset == leader.offset),
            (Field::Jitter, "jitter", task.jitter == leader.jitter),
            (Field::Behaviour, "pattern of arrivals", task.behaviour == leader.behaviour),
            (Field::Behaviour, "number of jobs", task.jobs == leader.jobs),
        ];
        for (which, what, is_same) in same {
            if !is_same {
                let message = format!("`{name}` has another {what} than `{}`", leader.name);
                field(
                    which,
                    message,
                    "tasks that follow each other have the same: their jobs arrive together",
                );
            }
        }
        match task.behaviour {
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Curve(_) => {}
            Behaviour::Hog | Behaviour::Yield | Behaviour::SelfSuspending { .. } => {
                let message = format!("the thread of `{name}` decides when its jobs come");
                let help = "tasks that follow each other are periodic, sporadic, or have a list of arrivals";
                field(Field::Behaviour, message, help);
            }
        }
        if task.on_miss != OnMiss::Continue {
            let message = format!("late jobs of `{name}` are aborted, and other jobs follow them");
            field(Field::Follows, message, "only `on_miss = \"continue\"` goes with `follows`");
        }
        if task.steps.is_some() {
            let message = format!("`{name}` has `steps`, and follows or is followed");
            field(
                Field::Follows,
                message,
                "a job with steps stands alone: leave out one of the two",
            );
        }
    }

    /// Checks that a request does not change any graph.
    pub(super) fn validate_graph_request(
        &self,
        in_graph: &TaskMap<bool>,
        request: &Request,
        wrong: &mut impl FnMut(String, &str),
    ) {
        let in_graph = |id: &TaskId| in_graph.get(*id).copied().unwrap_or_default();
        let name = |id: &TaskId| -> &Task { &self.tasks[*id] };
        match &request.kind {
            RequestKind::Leave(id) if in_graph(id) => {
                let message = format!("`{}` leaves, and follows or is followed", name(id).name);
                wrong(message, "the tasks of a graph stay for the whole run");
            }
            RequestKind::Reconfigure(id, Change::Parameters { .. }) if in_graph(id) => {
                let message = format!(
                    "`{}` gets other parameters, and follows or is followed",
                    name(id).name
                );
                wrong(message, "the tasks of a graph keep their parameters");
            }
            RequestKind::Leave(_)
            | RequestKind::Reconfigure(..)
            | RequestKind::SetClusterCpus { .. }
            | RequestKind::CpuOnline(_)
            | RequestKind::CpuOffline(_) => {}
        }
    }
}
