//! The kernel's answers to SCHED_DEADLINE requests, which depend on the calling thread.

#[path = "common/said.rs"]
mod common;
#[path = "common/skipped.rs"]
mod skipped;

use layland_linux::Changes;
use layland_linux::deadline::{DeadlineOptions, Facts, Plan, RunError, run};
use layland_model::{Duration, Service, System, Task};
use layland_policy::Registry;
use std::process::Command;

/// Runs two tasks, each a tenth of a CPU, on two CPUs under global EDF on the whole machine.
fn ask() -> Result<(), RunError> {
    let task = |name| Task::implicit(name, Service::from_ms(10), Duration::from_ms(100));
    let system = System::new(2, ["a", "b"].map(task).to_vec());
    let policy = Registry::standard().build("g-edf", &system).expect("global EDF takes any set");
    let facts = Facts::read();
    let plan = Plan::new(&system, &policy.rule(), &facts, None, false).expect("it fits");
    let options = DeadlineOptions {
        until: Duration::from_ms(100),
        seed: 0,
        cpus: &[0, 1],
        markers: None,
        interrupt: None,
    };
    let mut changes = Changes::begin("a test", Duration::MAX).expect("a process can be forked");
    let ran = run(&system, &plan, 0.9, &options, &mut changes);
    assert_eq!(changes.end(), []);
    ran.map(|_| ())
}

#[test]
fn an_affinity_that_is_too_small_is_told_from_a_missing_capability() {
    let _alone = common::alone();
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    if online.trim() != "0-1" {
        return skipped::skipped("a machine of two CPUs");
    }
    match ask() {
        Ok(()) => {}
        Err(RunError::NotPermitted) => return skipped::skipped("CAP_SYS_NICE"),
        Err(error) => return skipped::skipped(&format!("SCHED_DEADLINE: {error}")),
    }
    // A separate thread drops a CPU, and its children inherit its affinity.
    let narrow = std::thread::spawn(|| {
        let own = std::fs::read_link("/proc/thread-self").expect("there is /proc");
        let tid = own.file_name().expect("it ends with the thread").to_owned();
        let taskset = Command::new("taskset").args(["-cp", "0"]).arg(tid).output();
        taskset.is_ok_and(|output| output.status.success()).then(ask)
    });
    let Some(answer) = narrow.join().expect("it does not panic") else {
        return skipped::skipped("taskset");
    };
    let error = answer.expect_err("the kernel demands the whole root domain");
    let RunError::Affinity { task, affinity } = &error else { panic!("{error}") };
    assert!(["a", "b"].contains(&task.as_str()) && *affinity == [0], "{error}");
    let said = error.to_string();
    assert!(said.contains("its affinity [0] is smaller than its root domain"), "{said}");
    assert!(!said.contains("EBUSY") && !said.contains("CAP_SYS_NICE"), "{said}");
    assert!(error.help().contains("taskset"), "{}", error.help());
}
