//! Faults of the stock kernel in the sums by which it admits: a leak, and an underflow.
#![expect(clippy::print_stderr, reason = "a test reports which kernels it used, and what it saw")]

use super::{boot, total_of};
use layland_system_tests::{Booted, Guest, Kernel, Skipped, kernel_programs, past_the_harness};
use std::path::Path;

/// The leak and the underflow, each between readings of the sums.
pub(super) fn commands() -> Vec<(&'static str, String)> {
    vec![
        ("before", "sums".into()),
        ("leave-soon", "dl_leave 20; sums".into()),
        ("leave-late", "dl_leave 1000; sums".into()),
        ("leave-twice", "dl_leave 1000; dl_leave 1000; sums".into()),
        ("forget", "dl_forget; sleep 2; sums".into()),
    ]
}

/// A tenth of a CPU, as the kernel counts it.
const TENTH: i64 = 104_857;

pub(super) fn judge(kernel: &Kernel, booted: &Booted, is_repaired: bool) {
    let label = &kernel.label;
    let [before, soon, late, twice, forgotten] =
        ["before", "leave-soon", "leave-late", "leave-twice", "forget"]
            .map(|name| total_of(booted.ran(name)));
    let forget = booted.ran("forget");
    eprintln!(
        "{label}: total_bw {before}, after leaving {soon}, {late}, {twice}, after the limit was written {forgotten}"
    );
    // A thread that leaves before its 0-lag time gives its bandwidth back everywhere.
    assert_eq!(soon, before, "{label}");
    let leaked = if is_repaired { 0 } else { TENTH };
    assert_eq!([late, twice], [before + leaked, before + 3 * leaked], "{label}");
    assert!(forget.output.contains("limit ok"), "{label}: {forget}");
    if is_repaired {
        assert_eq!(forgotten, before, "{label}: {forget}");
        assert!(forget.output.contains("enter ok"), "{label}: {forget}");
    } else {
        // 6.12 forgets the fair servers at the same time: then the sum is negative, and nothing enters.
        assert!([before, 0].map(|rest| rest - TENTH).contains(&forgotten), "{label}: {forget}");
        assert_eq!(forgotten < 0, forget.output.contains("enter EBUSY"), "{label}: {forget}");
    }
}

/// The same faults on a kernel of Debian, so that a repair there is noticed.
#[test]
fn faults_of_bandwidth_on_other_kernels() {
    let run = || -> Result<(), Skipped> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
        let mut guest = Guest::fetch(&folder)?;
        guest.programs = kernel_programs(&folder)?;
        guest.shift = 2;
        for kernel in guest.labelled(&["7.3"]) {
            judge(kernel, &boot(&guest, kernel, 4, &commands()), false);
        }
        Ok(())
    };
    run().unwrap_or_else(|skipped| past_the_harness(&skipped.0));
}
