//! What a thread of another program has reserved: what a policy is told when it enters.

use layland_model::{Behaviour, CpuSet, Duration, Service, Task};
use serde::{Deserialize, Serialize};

/// A reservation of a thread whose jobs last from its wake-ups to its sleeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// Processor time in each period.
    pub runtime: Service,
    /// How long after it has woken it is to have had that.
    pub deadline: Duration,
    /// The period.
    pub period: Duration,
    /// The CPUs of the platform that it may use, as in `0-1,3`, if these are not all of its cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
}

impl Program {
    /// What a task has reserved.
    pub(super) fn of(task: &Task) -> Program {
        Program {
            name: task.name.to_string(),
            runtime: task.reservation(),
            deadline: task.deadline,
            period: task.period,
            cpus: task.affinity.as_ref().map(CpuSet::to_string),
        }
    }

    /// The task that a policy is told of. It suspends itself, so that its jobs are due when its server is, and its
    /// stream releases no job: its thread does.
    ///
    /// # Errors
    /// If the CPUs are no CPUs.
    pub fn task(&self) -> Result<Task, String> {
        let mut task = Task::implicit(self.name.clone(), self.runtime, self.period);
        task.deadline = self.deadline;
        let parsed = self
            .cpus
            .as_deref()
            .map(|cpus| cpus.parse::<CpuSet>().map_err(|_| format!("`{cpus}` is no list of CPUs")));
        task.affinity = parsed.transpose()?;
        task.behaviour = Behaviour::SelfSuspending { gap: Duration::ZERO };
        task.jobs = Some(0);
        Ok(task)
    }
}
