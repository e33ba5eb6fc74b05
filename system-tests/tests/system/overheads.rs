//! The short form of `overheads`: the traces of Figure 6 and the counts and times of Figures 9 and
//! 10 of Tang, Anderson and Abeni 2021, on other kernels. Times are those of an emulator: the test
//! judges decisions, counts, and which of two functions of one run executes more code.
#![expect(
    clippy::print_stderr,
    reason = "a test says which kernels it used, and why it was skipped"
)]

use crate::{Ready, ready};
use layland_model::{Duration, TaskId};
use layland_system_tests::WITH_DEADLINE;
use layland_system_tests::overheads::{
    Amount, Dispatched, Measured, OverheadSystems, Traces, imported, sets, waits,
};

/// The latency of the decisions of an emulated machine.
const LATENCY: Duration = Duration::from_ms(2);

#[test]
fn figures_6_9_and_10_on_other_kernels() {
    let Some(Ready { guest, layland }) = ready() else { return };
    // One kernel only: the long form uses all.
    let kernels = guest.labelled(&WITH_DEADLINE);
    let Some(newest) = kernels.last() else { return };
    eprintln!("{}: {}", newest.label, newest.package);
    // As many tasks for each CPU as in the paper, but fewer CPUs: all CPUs of a guest share one of
    // this machine.
    let costs = OverheadSystems { cpus: 3, tasks: &[6], amount: Amount { systems: 1, seconds: 1 } };
    let (traces, measured) = costs.measure_after_traces(guest, newest, layland).expect("QEMU runs");
    judge_traces(&newest.label, &traces);
    judge_costs(&newest.label, &measured);
}

fn judge_traces(label: &str, traces: &Traces) {
    // Example 5: without the repair a migrating task continues with its next jobs while a tied task
    // waits; with it the tied task waits for one job at most (Example 8).
    let five = sets::bundled("affinity-defect");
    let [before, after] = traces.five.each_ref().map(|text| {
        let trace = imported(text, &five).trace;
        let longest = waits::waits(&trace, &five, LATENCY).first().copied();
        let told = longest.map(|wait| (wait.length(), wait.went_on));
        (told.unwrap_or_default(), waits::longest_job(&trace, &five) + LATENCY)
    });
    eprintln!("{label}: example 5: inversions of up to {:#} and {:#}", before.0.0, after.0.0);
    let ((length, went_on), job) = before;
    assert!(length > job && went_on >= 1, "{label}: {before:?}");
    let ((length, _), job) = after;
    assert!(length <= job, "{label}: {after:?}");
    // Example 6: without the repair the task with the earlier deadline is preempted, and with it
    // the other task.
    let six = sets::bundled("push-defect");
    let completed = traces.six.each_ref().map(|text| {
        let trace = imported(text, &six).trace;
        [0, 1].map(|task| waits::completed(&trace, TaskId(task)))
    });
    assert_eq!(completed, [[1, 0], [0, 1]], "{label}: jobs of tau1 and tau2 that completed");
}

fn judge_costs(label: &str, measured: &Measured) {
    let traced = &measured.traced[0];
    let [moved, stayed] = [true, false].map(|moved| traced.pushes(moved));
    eprintln!(
        "{label}: calls of push_dl_task that moved a thread: {moved:?}, that did not: {stayed:?}"
    );
    let (moved, stayed) =
        (moved.expect("threads are pushed"), stayed.expect("not every call finds one"));
    assert!(moved.median > stayed.median, "{label}: {moved:?}, {stayed:?}");
    for function in ["dequeue_task_dl", "enqueue_task_dl", "dl_task_timer"] {
        let calls = traced.calls(function).unwrap_or_else(|| panic!("{label}: no {function}"));
        assert!(calls.min > 0 && calls.min <= calls.median, "{label}: {function}: {calls:?}");
    }
    let dispatched = |policy| -> &Dispatched {
        let all = measured.dispatched.iter();
        all.clone().find(|one| one.policy == policy).expect("both were measured")
    };
    let (dl, dl_sp) = (dispatched("dl"), dispatched("dl-sp"));
    for one in [dl, dl_sp] {
        let [pushes, throttles, forced] =
            ["pushes", "throttles", "forced_throttles"].map(|what| one.count(what));
        eprintln!(
            "{label}: dispatcher, {}: {pushes} pushes, {throttles} throttles, {forced} of them forced",
            one.policy
        );
        assert!(one.jobs() > 10 && throttles > 0 && pushes > 0, "{label}: {}", one.policy);
    }
    // The unmodified scheduler lets a thread continue whose deadline has passed; only the repair
    // throttles it.
    assert_eq!(dl.count("forced_throttles"), 0, "{label}");
    assert!(dl_sp.count("forced_throttles") > 0, "{label}");
}
