//! What a job does besides executing: it enters critical sections, and suspends itself.

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

/// Something that one job at a time may hold: a bus, a buffer, a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Unique in its set.
    pub name: String,
    /// The CPU on which every section on it is executed, for protocols that have one (DPCP).
    pub home: Option<CpuId>,
}

/// One thing that a job does. Each job of a task does its steps once, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Executes for so long. A job that executes more or less than the WCET of its task has all of these longer or
    /// shorter in proportion.
    Run(Service),
    /// Enters a critical section: goes on once it holds the resource. Something is executed in every section.
    Lock(ResourceId),
    /// Leaves the section that it entered last.
    Unlock(ResourceId),
    /// Does without the CPU for so long. If nothing but unlocks and suspensions follows, the job goes on with them at
    /// once, and ends with its last step: it needs no processor time any more.
    Suspend(Duration),
}

/// A critical section of the jobs of a task: from a [`Lock`](Step::Lock) to its [`Unlock`](Step::Unlock).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it locks.
    pub resource: ResourceId,
    /// What a job that executes its WCET executes in it, sections within it included.
    pub length: Service,
    /// The section that it is within, by position in [`Task::sections`].
    pub within: Option<usize>,
}

impl Task {
    /// The critical sections of each job, in the order in which they are entered; of steps that are properly nested.
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

    /// What its jobs do; empty if they only execute.
    pub fn steps(&self) -> &[Step] {
        self.steps.as_deref().unwrap_or_default()
    }

    /// For how long each job suspends itself in all, and how often.
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

/// How jobs share resources: who gets a lock, and which priority comes with it.
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
    /// FMLP+: first in, first out, and holders are boosted in the order of their requests (Brandenburg 2011).
    FmlpPlus,
    /// MSRP: first in, first out, and jobs spin (Gai, Lipari and Di Natale 2001).
    Msrp,
}

impl Protocol {
    /// Every one.
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

    /// Whether tasks on several CPUs may share a resource.
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
