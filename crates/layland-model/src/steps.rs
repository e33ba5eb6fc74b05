//! The steps of a job besides plain execution: it enters critical sections, and suspends itself.

use crate::{CpuId, Duration, Service, Task};
use std::fmt;

/// A resource of a system: its position in [`System::resources`](crate::System::resources).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResourceId(pub u32);

impl crate::Index for ResourceId {
    fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}
impl fmt::Debug for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "resource{}", self.0)
    }
}
impl fmt::Display for ResourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A resource that one job at a time may hold, such as a bus, a buffer or a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The name, unique in the set.
    pub name: String,
    /// The CPU on which every section on it is executed, for protocols that have one (DPCP).
    pub home: Option<CpuId>,
}

/// One step of a job. Each job of a task performs the steps of the task once, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Executes for this long. If a job executes more or less than the WCET of its task, all of its
    /// `Run` steps are scaled in proportion.
    Run(Service),
    /// Enters a critical section: continues once the job holds the resource. Every section contains
    /// execution.
    Lock(ResourceId),
    /// Leaves the section that was entered last.
    Unlock(ResourceId),
    /// Suspends itself for this long. If only unlocks and suspensions follow, the job performs them
    /// without a CPU and completes with its last step: it needs no more processor time.
    Suspend(Duration),
}

/// A critical section of the jobs of a task: from a [`Lock`](Step::Lock) to its [`Unlock`](Step::Unlock).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The resource that the section locks.
    pub resource: ResourceId,
    /// The execution within the section of a job that executes its WCET, including nested sections.
    pub length: Service,
    /// The enclosing section, by position in [`Task::sections`].
    pub within: Option<usize>,
}

impl Task {
    /// The critical sections of each job, in the order in which they are entered. The steps must be
    /// properly nested.
    ///
    /// ```
    /// use layland_model::{Duration, ResourceId, Service, Step, Task};
    /// let (a, b) = (ResourceId(0), ResourceId(1));
    /// let ms = Service::from_ms;
    /// let mut task = Task::implicit("frame", ms(6), Duration::from_ms(50));
    /// let steps = [
    ///     Step::Lock(a),
    ///     Step::Run(ms(1)),
    ///     Step::Lock(b),
    ///     Step::Run(ms(3)),
    ///     Step::Unlock(b),
    ///     Step::Unlock(a),
    ///     Step::Run(ms(2)),
    /// ];
    /// task.steps = Some(steps.into());
    /// let lengths: Vec<_> = task.sections().iter().map(|section| section.length).collect();
    /// assert_eq!(lengths, [ms(4), ms(3)]);
    /// assert_eq!(task.sections()[1].within, Some(0));
    /// ```
    pub fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for step in self.steps() {
            match *step {
                Step::Run(length) => {
                    open.iter().for_each(|&section| sections[section].length += length);
                }
                Step::Lock(resource) => {
                    let within = open.last().copied();
                    open.push(sections.len());
                    sections.push(Section { resource, length: Service::ZERO, within });
                }
                Step::Unlock(_) => {
                    open.pop();
                }
                Step::Suspend(_) => {}
            }
        }
        sections
    }

    /// The steps of its jobs; empty if they only execute.
    pub fn steps(&self) -> &[Step] {
        self.steps.as_deref().unwrap_or_default()
    }

    /// The total time for which each job suspends itself, and the number of suspensions.
    pub fn suspensions(&self) -> (Duration, u64) {
        let (mut length, mut count) = (Duration::ZERO, 0);
        for step in self.steps() {
            if let Step::Suspend(suspension) = *step
                && suspension > Duration::ZERO
            {
                length += suspension;
                count += 1;
            }
        }
        (length, count)
    }
}

/// The rule by which jobs share resources: which job gets a lock, and which priority a holder has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Plain locks.
    Plain,
    /// Priority inheritance, PIP (Sha, Rajkumar and Lehoczky 1990).
    Inheritance,
    /// Priority ceilings, PCP (Sha, Rajkumar and Lehoczky 1990).
    Ceiling,
    /// Immediate priority ceilings, also known as the ceiling locking protocol and `PTHREAD_PRIO_PROTECT`.
    ImmediateCeiling,
    /// Stack resource policy, SRP (Baker 1991), for EDF.
    Stack,
    /// MPCP: priorities in the queues, remote ceilings for holders (Rajkumar 1990).
    Mpcp,
    /// DPCP: sections on the home CPU of their resource (Rajkumar, Sha and Lehoczky 1988).
    Dpcp,
    /// FMLP+: FIFO queues; holders are boosted in the order of their requests (Brandenburg 2011).
    FmlpPlus,
    /// MSRP: FIFO queues; waiting jobs spin (Gai, Lipari and Di Natale 2001).
    Msrp,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Protocol; 9] = [
        Protocol::Plain,
        Protocol::Inheritance,
        Protocol::Ceiling,
        Protocol::ImmediateCeiling,
        Protocol::Stack,
        Protocol::Mpcp,
        Protocol::Dpcp,
        Protocol::FmlpPlus,
        Protocol::Msrp,
    ];

    /// The usual abbreviation, and the value of the option `locks`.
    pub const fn abbreviation(self) -> &'static str {
        match self {
            Protocol::Plain => "none",
            Protocol::Inheritance => "pip",
            Protocol::Ceiling => "pcp",
            Protocol::ImmediateCeiling => "ipcp",
            Protocol::Stack => "srp",
            Protocol::Mpcp => "mpcp",
            Protocol::Dpcp => "dpcp",
            Protocol::FmlpPlus => "fmlp+",
            Protocol::Msrp => "msrp",
        }
    }

    /// Returns true if tasks on several CPUs may share a resource.
    pub const fn is_between_cpus(self) -> bool {
        match self {
            Protocol::Plain
            | Protocol::Inheritance
            | Protocol::Ceiling
            | Protocol::ImmediateCeiling
            | Protocol::Stack => false,
            Protocol::Mpcp | Protocol::Dpcp | Protocol::FmlpPlus | Protocol::Msrp => true,
        }
    }
}
