//! [`Positions`]: the tasks by their position among the arrivals, which is their place in the order of ranks.

use layland_model::{Index, System, TaskId, TaskMap};

pub(crate) struct Positions {
    tasks: Vec<TaskId>,
    /// Whether each has its id as its position: then nobody looks, which with a million tasks is a page less.
    are_ids: bool,
}

impl Positions {
    /// Those of a system, and that of each task.
    pub(crate) fn of(system: &System) -> (Positions, TaskMap<u32>) {
        let tasks = system.by_rank();
        let mut of_task = TaskMap::filled(0, tasks.len());
        for (position, &task) in tasks.iter().enumerate() {
            of_task[task] = position as u32;
        }
        let are_ids = tasks.iter().enumerate().all(|(position, id)| id.index() == position);
        (Positions { tasks, are_ids }, of_task)
    }

    /// The task at a position.
    #[inline]
    pub(crate) fn task(&self, position: usize) -> TaskId {
        if self.are_ids { TaskId::from_index(position) } else { self.tasks[position] }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The next position is that of the task whose id is the number of those before it.
    pub(crate) fn push(&mut self) -> TaskId {
        let id = TaskId::from_index(self.tasks.len());
        self.tasks.push(id);
        id
    }

    /// The tasks in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.tasks.iter().copied()
    }
}
