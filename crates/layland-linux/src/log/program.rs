//! The reservation of a thread of another program, which its policy receives when the thread
//! enters.

use layland_model::{Behaviour, CpuSet, Duration, Service, Task};
use serde::{Deserialize, Serialize};

/// A reservation of a thread whose jobs last from its wake-ups to its sleeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name of the thread.
    pub name: String,
    /// Processor time in each period.
    pub runtime: Service,
    /// The relative deadline: the time from a wake-up until it must have received its runtime.
    pub deadline: Duration,
    /// The period.
    pub period: Duration,
    /// The CPUs of the platform that it may use, as in `0-1,3`, unless these are all of its
    /// cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
}

impl Program {
    /// Returns the reservation of a task.
    pub(super) fn of(task: &Task) -> Program {
        Program {
            name: task.name.to_string(),
            runtime: task.reservation(),
            deadline: task.deadline,
            period: task.period,
            cpus: task.affinity.as_ref().map(CpuSet::to_string),
        }
    }

    /// Returns the task that a policy receives. The task suspends itself, so that its jobs are due
    /// when its server is. Its stream releases no jobs, because its thread does.
    ///
    /// # Errors
    /// Returns an error if the list of CPUs is invalid.
    pub fn task(&self) -> Result<Task, String> {
        let mut task = Task::implicit(self.name.clone(), self.runtime, self.period);
        task.deadline = self.deadline;
        let parsed = self.cpus.as_deref().map(|cpus| {
            cpus.parse::<CpuSet>().map_err(|_| format!("`{cpus}` is not a list of CPUs"))
        });
        task.affinity = parsed.transpose()?;
        task.behaviour = Behaviour::SelfSuspending { gap: Duration::ZERO };
        task.jobs = Some(0);
        Ok(task)
    }
}
