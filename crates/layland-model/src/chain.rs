//! Cause-effect chains: tasks that hand data on through registers (Davare et al. 2007; Günzel et al. 2023).
//!
//! Each task of a chain writes a register that the next one reads. A register holds the last write, and reading
//! does not consume it. A job reads once and writes once; **a write at an instant is seen by a read at it**. So data
//! may be overwritten unread, and read again and again, and a chain says nothing of when jobs are ready: for jobs
//! that wait for each other there is [`Task::follows`](crate::Task::follows).

use crate::{Duration, TaskId};

/// When the jobs of a chain read and write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Communication {
    /// A job reads when it first executes, and writes when it ends.
    #[default]
    Implicit,
    /// Logical execution time: a job reads at its release and writes its
    /// [`let_interval`](crate::Task::write_after) later, whenever it executes in between.
    Let,
}

impl Communication {
    /// Every way, in the order of the type.
    pub const ALL: [Communication; 2] = [Communication::Implicit, Communication::Let];

    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Communication::Implicit => "implicit",
            Communication::Let => "let",
        }
    }

    /// The one with this name.
    ///
    /// ```
    /// use layland_model::Communication;
    /// assert_eq!(Communication::find("let"), Some(Communication::Let));
    /// assert_eq!(Communication::find("dbp"), None);
    /// ```
    pub fn find(name: &str) -> Option<Communication> {
        Communication::ALL.into_iter().find(|way| way.name() == name)
    }
}

/// A cause-effect chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Unique among the chains of its set.
    pub name: String,
    /// Its tasks, from the one that samples an event to the one that answers it. A valid chain has at least one, and
    /// none twice in a row.
    pub tasks: Box<[TaskId]>,
    /// How they hand data on.
    pub communication: Communication,
}

impl Chain {
    /// Its tasks with their successors.
    ///
    /// ```
    /// use layland_model::{Chain, Communication, TaskId};
    /// let tasks = [0, 2, 1].map(TaskId).into();
    /// let chain = Chain { name: "brake".to_owned(), tasks, communication: Communication::Implicit };
    /// assert!(chain.pairs().eq([(TaskId(0), TaskId(2)), (TaskId(2), TaskId(1))]));
    /// ```
    pub fn pairs(&self) -> impl Iterator<Item = (TaskId, TaskId)> + '_ {
        self.tasks.windows(2).map(|pair| (pair[0], pair[1]))
    }
}

/// How long data takes through a chain, at most. None where no chain was complete.
///
/// *Forward* from a job of the first task goes always to the first job of the next task that reads at or after the
/// write; *backward* from a job of the last task always to the last job of the task before that wrote at or before the
/// read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Maximum reaction time: from the read of a job of the first task, which an event has just missed, to the write
    /// that ends the forward chain of its next job.
    pub reaction: Option<Duration>,
    /// From the read of a job to the write that ends its own forward chain.
    pub reduced_reaction: Option<Duration>,
    /// Maximum data age: from the read that begins the backward chain of a job of the last task to the write of its
    /// next job, up to which the answer is in use.
    pub age: Option<Duration>,
    /// The same to the write of the job itself.
    pub reduced_age: Option<Duration>,
}
