//! Cause-effect chains: tasks that pass data through registers (Davare et al. 2007; Günzel et al.
//! 2023).
//!
//! Each task of a chain writes a register that the next one reads. A register holds the last write,
//! and reading does not consume it. A job reads once and writes once; **a read sees a write at the
//! same instant**. So data may be overwritten before it is read, and may be read several times. A
//! chain does not restrict when jobs are ready: use [`Task::follows`](crate::Task::follows) for
//! jobs that wait for each other.

use crate::{Duration, TaskId};

/// The times at which the jobs of a chain read and write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Communication {
    /// A job reads when it first executes, and writes when it completes.
    #[default]
    Implicit,
    /// Logical execution time: a job reads at its release and writes its
    /// [`let_interval`](crate::Task::write_after) later, regardless of when it executes in between.
    Let,
}

impl Communication {
    /// All kinds, in the order of the type.
    pub const ALL: [Communication; 2] = [Communication::Implicit, Communication::Let];

    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Communication::Implicit => "implicit",
            Communication::Let => "let",
        }
    }

    /// The kind of communication with this name.
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
    /// Its tasks, from the one that samples an event to the one that responds to it. A valid chain
    /// has at least one, and never the same task twice in a row.
    pub tasks: Box<[TaskId]>,
    /// When its jobs read and write.
    pub communication: Communication,
    /// The constraint on its [`Latency::reaction`], more than 0. `None` without one.
    pub max_reaction: Option<Duration>,
    /// The constraint on its [`Latency::age`], more than 0. `None` without one.
    pub max_age: Option<Duration>,
}

impl Chain {
    /// Creates a chain without constraints.
    pub fn new(
        name: impl Into<String>,
        tasks: impl Into<Box<[TaskId]>>,
        communication: Communication,
    ) -> Chain {
        let (name, tasks) = (name.into(), tasks.into());
        Chain { name, tasks, communication, max_reaction: None, max_age: None }
    }

    /// Its constraints.
    pub fn constraints(&self) -> impl Iterator<Item = Duration> + use<> {
        [self.max_reaction, self.max_age].into_iter().flatten()
    }

    /// Pairs each task with its successor.
    ///
    /// ```
    /// use layland_model::{Chain, Communication, TaskId};
    /// let chain = Chain::new("brake", [0, 2, 1].map(TaskId), Communication::Implicit);
    /// assert!(chain.pairs().eq([(TaskId(0), TaskId(2)), (TaskId(2), TaskId(1))]));
    /// ```
    pub fn pairs(&self) -> impl Iterator<Item = (TaskId, TaskId)> + '_ {
        self.tasks.windows(2).map(|pair| (pair[0], pair[1]))
    }
}

/// The maximum time that data takes through a chain. `None` where no chain was complete.
///
/// A *forward* chain goes from a job of the first task to the first job of the next task that reads
/// at or after the write, and so on. A *backward* chain goes from a job of the last task to the
/// last job of the task before that wrote at or before the read, and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Maximum reaction time: from the read of a job of the first task, which an event has just missed, to the write
    /// that ends the forward chain of its next job.
    pub reaction: Option<Duration>,
    /// Reduced reaction time: from the read of a job to the write that ends its own forward chain.
    pub reduced_reaction: Option<Duration>,
    /// Maximum data age: from the read that begins the backward chain of a job of the last task to
    /// the write of its next job, until which the response is in use.
    pub age: Option<Duration>,
    /// Reduced data age: like `age`, but to the write of the job itself.
    pub reduced_age: Option<Duration>,
}

impl Latency {
    /// Pairs the constraints of the chain on reaction time and data age with these values.
    ///
    /// ```
    /// use layland_model::{Chain, Communication, Duration, Latency, TaskId};
    /// let chain = Chain {
    ///     max_age: Some(Duration::from_ms(40)),
    ///     ..Chain::new("brake", [TaskId(0)], Communication::Let)
    /// };
    /// let measured = Latency { age: Some(Duration::from_ms(41)), ..Latency::default() };
    /// let [reaction, age] = measured.constrained_by(&chain);
    /// assert_eq!(reaction, None);
    /// assert_eq!(age.and_then(|age| age.exceeding()), Some(Duration::from_ms(41)));
    /// ```
    pub fn constrained_by(&self, chain: &Chain) -> [Option<Constrained>; 2] {
        let of = |latency, value, within: Option<Duration>| {
            within.map(|within| Constrained { latency, value, within })
        };
        [
            of("reaction time", self.reaction, chain.max_reaction),
            of("data age", self.age, chain.max_age),
        ]
    }
}

/// A latency of a chain that has a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constrained {
    /// The name of the latency.
    pub latency: &'static str,
    /// Its value. `None` where no chain was complete.
    pub value: Option<Duration>,
    /// The constraint: the largest value that keeps it.
    pub within: Duration,
}

impl Constrained {
    /// Returns the value if it exceeds the constraint.
    pub fn exceeding(&self) -> Option<Duration> {
        self.value.filter(|&value| value > self.within)
    }
}
