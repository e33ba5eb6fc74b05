//! [`Positions`]: the position of each task among the arrivals, which is its place in the order of
//! ranks.

use layland_model::{Index, System, TaskId, TaskMap};

pub(crate) struct Positions {
    tasks: Vec<TaskId>,
    /// True if the position of each task is its id. A lookup then skips the table, which saves
    /// access to another page in a set of a million tasks.
    are_ids: bool,
}

impl Positions {
    /// Returns the positions of a system, and the position of each task.
    pub(crate) fn of(system: &System) -> (Positions, TaskMap<u32>) {
        let tasks = system.by_rank();
        let mut of_task = TaskMap::filled(0, tasks.len());
        for (position, &task) in tasks.iter().enumerate() {
            of_task[task] = position as u32;
        }
        let are_ids = tasks.iter().enumerate().all(|(position, id)| id.index() == position);
        (Positions { tasks, are_ids }, of_task)
    }

    /// Returns the task at a position.
    #[inline]
    pub(crate) fn task(&self, position: usize) -> TaskId {
        if self.are_ids { TaskId::from_index(position) } else { self.tasks[position] }
    }

    /// Returns the number of tasks.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Appends a position for a new task, whose id is the number of tasks before it.
    pub(crate) fn push(&mut self) -> TaskId {
        let id = TaskId::from_index(self.tasks.len());
        self.tasks.push(id);
        id
    }

    /// Returns the tasks in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks.iter().copied()
    }
}
