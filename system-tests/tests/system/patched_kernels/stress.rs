//! Stress on a kernel that checks its locks and objects.
#![expect(clippy::print_stderr, reason = "a test reports which kernels it used, and what it saw")]

use super::{boot, kernel, ready, total_of};
use layland_system_tests::{Booted, Checks, Kernel, Skipped, past_the_harness};

/// The first sums of a line of the stress, and its counts.
fn judge(kernel: &Kernel, booted: &Booted, names: &[&str], before: i64) {
    let label = &kernel.label;
    for name in names {
        let ran = booted.ran(name);
        assert_eq!(ran.code, Some(0), "{label}: {ran}");
        eprintln!("{label}: {name}: {}", ran.output.replace('\n', "; "));
        assert!(ran.output.contains("outside=0"), "{label}: {ran}");
        assert_eq!(total_of(ran), before, "{label}: {ran}");
        let tied = ran.output.lines().find_map(|line| line.strip_prefix("tied_bw="));
        let tied = tied.unwrap_or_else(|| panic!("{label}: no sums of CPUs: {ran}"));
        assert!(tied.split(',').all(|sum| sum == "0"), "{label}: {ran}");
    }
    let complaints = ["WARNING", "BUG", "INFO:", "stall", "possible", "Oops", "divide error"];
    let said =
        booted.console.lines().find(|line| complaints.iter().any(|word| line.contains(word)));
    assert_eq!(said, None, "{label}: the kernel complained:\n{}", booted.console);
}

/// Threads of all kinds, hotplug, affinities, cpusets, forks and inherited deadlines on a kernel that
/// checks its locks and objects: it does not complain, and the sums are as before.
#[test]
fn stress_on_other_kernels() {
    let run = || -> Result<(), Skipped> {
        let (guest, spend) = ready()?;
        let kernel = kernel(Checks::Many, spend)?;
        let names = [
            "7,hotplug",
            "15,hotplug,leavers",
            "15,hotplug,leavers,placement",
            "7,hotplug,cpusets,switches,leavers,placement",
        ];
        let mut commands = vec![
            ("setup", "echo +cpuset >$CG/cgroup.subtree_control; mkdir $CG/rt; echo 1-3 >$CG/rt/cpuset.cpus; echo HRTICK_DL >$SCHED/features".to_owned()),
            ("before", "sums".to_owned()),
        ];
        for name in names {
            let (bits, words) = name.split_once(',').expect("there are words");
            let words = words.replace(',', " ");
            commands.push((
                name,
                format!(
                    "echo {bits} >$K/sched_dl_semi_partitioned; dl_stress 15 {bits} {words}; \
                     echo 0 >$K/sched_dl_semi_partitioned; echo 0 >$K/sched_dl_placement; sleep 3; sums"
                ),
            ));
        }
        let booted = boot(&guest, &kernel, 4, &commands);
        let before = total_of(booted.ran("before"));
        judge(&kernel, &booted, &names, before);
        Ok(())
    };
    run().unwrap_or_else(|skipped| past_the_harness(&skipped.0));
}
