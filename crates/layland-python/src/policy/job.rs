//! Tasks and jobs as a Python policy sees them.

use layland_model::{CpuId, JobId, Service, System, Task, TaskId, Time};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicI64, Ordering};

/// A task, as a policy sees it. Times are whole nanoseconds.
#[pyclass(frozen, name = "PolicyTask", module = "layland._layland")]
pub(crate) struct PolicyTask {
    task: Task,
    id: TaskId,
    /// The CPUs that it may use.
    cpus: Vec<u32>,
}

impl PolicyTask {
    pub(crate) fn new(system: &System, id: TaskId) -> PolicyTask {
        let cpus = system.allowed_cpus(id).iter().map(|cpu| cpu.0).collect();
        PolicyTask { task: system.tasks[id].clone(), id, cpus }
    }

    /// Returns true if its jobs may run on a CPU.
    pub(super) fn may_use(&self, cpu: CpuId) -> bool {
        self.cpus.contains(&cpu.0)
    }
}

#[pymethods]
impl PolicyTask {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.task.name
    }
    /// Its place in the set, from 0.
    #[getter]
    fn index(&self) -> u32 {
        self.id.0
    }
    /// The period, or the least time between two arrivals, in nanoseconds.
    #[getter]
    fn period(&self) -> i64 {
        self.task.period.ns()
    }
    /// The relative deadline in nanoseconds.
    #[getter]
    fn deadline(&self) -> i64 {
        self.task.deadline.ns()
    }
    /// The WCET at its own criticality level in nanoseconds.
    #[getter]
    fn wcet(&self) -> i64 {
        self.task.own_wcet().ns()
    }
    /// The processor time that is reserved per period in nanoseconds: the WCET, if the set does not say.
    #[getter]
    fn budget(&self) -> i64 {
        self.task.reservation().ns()
    }
    /// The criticality level, 0 is the lowest.
    #[getter]
    fn criticality(&self) -> u8 {
        self.task.criticality.0
    }
    /// Breaks ties: the smaller rank goes first.
    #[getter]
    fn rank(&self) -> i64 {
        self.task.rank
    }
    /// The fixed priority, if the set gives one; smaller is more important.
    #[getter]
    fn priority(&self) -> Option<i64> {
        self.task.priority
    }
    /// The CPUs that it may use.
    #[getter]
    fn cpus(&self) -> Vec<u32> {
        self.cpus.clone()
    }
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }
    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }
    fn __repr__(&self) -> String {
        format!("<task {}>", self.task)
    }
}

/// A ready job, as a policy sees it. Times are whole nanoseconds.
#[pyclass(frozen, name = "Job", module = "layland._layland")]
pub(crate) struct Job {
    pub(super) task: Py<PolicyTask>,
    pub(super) id: JobId,
    pub(super) release: Time,
    pub(super) deadline: Time,
    /// The time and the work of the job when a method of the policy was last called.
    pub(super) seen: JobState,
}

/// The part of a job that changes. Only a thread that holds the interpreter's lock writes it, before
/// it calls the policy.
#[derive(Default)]
pub(super) struct JobState {
    now: AtomicI64,
    executed: AtomicI64,
}

impl JobState {
    pub(super) fn at(now: Time) -> JobState {
        JobState { now: AtomicI64::new(now.ns()), executed: AtomicI64::new(0) }
    }

    /// Notes that a job has executed this much work by now.
    pub(super) fn set(&self, now: Time, executed: Service) {
        self.now.store(now.ns(), Ordering::Relaxed);
        self.executed.store(executed.ns(), Ordering::Relaxed);
    }
}

#[pymethods]
impl Job {
    /// Its task.
    #[getter]
    fn task(&self, py: Python<'_>) -> Py<PolicyTask> {
        self.task.clone_ref(py)
    }
    /// Which of the jobs of its task, from 0.
    #[getter]
    fn number(&self) -> u64 {
        self.id.seq
    }
    /// When it could have run first, in nanoseconds.
    #[getter]
    fn release(&self) -> i64 {
        self.release.ns()
    }
    /// The absolute deadline in nanoseconds.
    #[getter]
    fn deadline(&self) -> i64 {
        self.deadline.ns()
    }
    /// The work that it has done so far, in nanoseconds on a CPU of speed 1, rounded down: the time for which it held
    /// CPUs, times their speeds. Overheads count, as a policy does not see them.
    #[getter]
    fn executed(&self) -> i64 {
        self.seen.executed.load(Ordering::Relaxed)
    }
    /// The rest of the WCET of its task, in nanoseconds: what it may still need. 0 if it has done more.
    #[getter]
    fn remaining(&self) -> i64 {
        (self.task.get().task.own_wcet().ns() - self.executed()).max(0)
    }
    /// True if its deadline has passed.
    #[getter]
    fn exceeded_deadline(&self) -> bool {
        self.seen.now.load(Ordering::Relaxed) > self.deadline.ns()
    }
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }
    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }
    fn __repr__(&self) -> String {
        format!("<job {}#{}>", self.task.get().task.name, self.id.seq)
    }
}
