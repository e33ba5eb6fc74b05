//! From a program to a guarantee, with an interrupt thread that preempts it: two threads of
//! SCHED_FIFO that share a mutex are recorded, a set is inferred and checked, and the threads run
//! with that guarantee.

use crate::{Ready, ready};

/// The port has an interrupt while it is open, which then moves to the CPU of the program.
const INTERRUPTS: &str = "workload log /dev/ttyS1 30 >/dev/null 2>&1 & sleep 1; \
    echo 2 >/proc/irq/3/smp_affinity; sleep 1; grep ttyS /proc/interrupts";

const RECORD: &str = "taskset 2 workload arm 6 & sleep 1; \
    layland trace record -o arm.txt --until 4s; code=$?; wait $!; exit $code";

#[test]
fn a_program_beside_an_interrupt_thread_is_recorded_and_guaranteed() {
    let Some(Ready { guest, layland }) = ready() else { return };
    // The port behaves differently on other kernels: on 6.12 its interrupts come in bursts, from
    // which nothing useful is inferred, and on 7.2 hardly any reach the CPU of the program.
    for kernel in guest.labelled(&["6.18"]) {
        eprintln!("{}: {}", kernel.label, kernel.package);
        // By itself, a thread of the kernel becomes a task if it holds a CPU for 50 us or more, and
        // this one holds it for about as long as that.
        let infer = "layland trace infer arm.txt --thread 'control|planner|irq/3-ttyS1' -o arm.toml 2>&1 \
                     && cat arm.toml";
        let check = "layland check arm.toml -p p-fp --bounds 2>&1";
        let exec = "layland exec --strict arm.toml -p p-fp --on-cpus 1 -- workload arm 4 2>&1";
        let commands = [
            ("interrupts", INTERRUPTS),
            ("record", RECORD),
            ("infer", infer),
            ("check", check),
            ("exec", exec),
        ];
        let booted = guest.boot_with(kernel, 3, "threadirqs", layland, &[], &commands);
        let booted = booted.expect("QEMU runs");
        for ran in &booted.ran {
            eprintln!("{ran}");
        }
        let label = &kernel.label;
        for ran in &booted.ran {
            assert_eq!(ran.code, Some(0), "{label}: {ran}");
        }
        let infer = booted.ran("infer");
        for task in ["name = \"control\"", "name = \"planner\"", "name = \"irq/3-ttyS1\""] {
            assert!(infer.output.contains(task), "{label}: {infer}");
        }
        assert!(!infer.output.contains("unexplained"), "{label}: {infer}");
        let check = booted.ran("check");
        assert!(check.output.contains("│ p-fp     yes "), "{label}: {check}");
        let exec = booted.ran("exec");
        let said = "`irq/3-ttyS1` is a thread of the kernel (SCHED_FIFO 50 ";
        assert!(exec.output.contains(said), "{label}: {exec}");
        for (thread, least) in [("workload/control", 50), ("workload/planner", 12)] {
            let rows = exec.output.lines().filter(|line| line.contains(&format!("│ {thread} ")));
            let figures = rows.filter_map(|row| {
                let words = row.split_whitespace().filter_map(|word| word.parse::<u32>().ok());
                let [jobs, late, _] = words.collect::<Vec<u32>>()[..] else { return None };
                Some((jobs, late))
            });
            let figures: Vec<(u32, u32)> = figures.collect();
            let is_kept = matches!(figures[..], [(jobs, 0)] if jobs >= least);
            assert!(is_kept, "{label}: {thread}: {exec}");
        }
    }
}
