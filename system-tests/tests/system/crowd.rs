//! Many threads with short budgets that wake together and end: none of them gets more than its
//! reservation, all of them end, and other threads get what they have reserved.
//!
//! A thread that ends must be scheduled up to its last instruction. By default, the kernel runs a
//! thread that is about to end without notifying the scheduler: a thread that had no right to its
//! CPU was sent away there and returned at once, forever, and no other thread got that CPU any
//! more.
//!
//! In the same boot: a thread has one reservation, and loses it when its program gains the rights
//! of another user.

use crate::{Ready, ready_for_ext, until};

const SOCKET: &str = "/tmp/ext.socket";

fn commands() -> Vec<(&'static str, String)> {
    let start = format!(
        "layland daemon --socket {SOCKET} --on-cpus 1-2 >/tmp/daemon.out 2>&1 & \
         while ! grep -q CPU /tmp/daemon.out; do sleep 0.1; done"
    );
    // Ordinary threads come before those of sched_ext: keep everything else on the first CPU.
    let crowd = format!(
        "(taskset 1 workload as 2001 workload crowd {SOCKET} 1 16 15000 >/tmp/crowd 2>&1) & \
         {}; sleep 5; taskset 1 layland exec --socket {SOCKET} --engine ext -q --on-cpus 1 --dl 40ms/100ms \
         --name ctl -- \
         workload periodic 4000 100000 150 40000; code=$?; \
         i=0; while ! grep -q left /tmp/crowd && [ $i -lt 200 ]; do sleep 0.1; i=$((i + 1)); done; \
         cat /tmp/crowd; exit $code",
        until("enabled"),
    );
    vec![
        ("start", start),
        ("crowd", crowd),
        ("idle", until("disabled")),
        ("twice", format!("taskset 1 workload as 2001 workload twice {SOCKET} 1 2")),
        ("again", format!("taskset 1 workload as 2001 workload twice {SOCKET} 1 2")),
        // Like the files of a user who becomes another one.
        (
            "gains",
            format!(
                "busybox cp /bin/workload /tmp/other; busybox chmod 4755 /tmp/other; \
                 taskset 1 workload as 2001 workload gains {SOCKET} 1 /tmp/other"
            ),
        ),
        ("stays", format!("taskset 1 workload as 2001 workload gains {SOCKET} 1 /bin/workload")),
        ("empty", until("disabled")),
        ("said", "cat /tmp/daemon.out; dmesg 2>/dev/null | grep sched_ext".to_owned()),
    ]
}

#[test]
fn threads_that_end_together_take_no_more_than_they_reserved() {
    let Some(Ready { guest, layland }) = ready_for_ext() else { return };
    let mut guest = guest.clone();
    guest.shift = 1;
    for kernel in guest.chosen(&["7.3"], &["7.3"]) {
        eprintln!("{}: {}", kernel.label, kernel.package);
        let commands = commands();
        let commands: Vec<(&str, &str)> =
            commands.iter().map(|(name, line)| (*name, line.as_str())).collect();
        let booted = guest.boot(kernel, 3, layland, &[], &commands).expect("QEMU runs");
        for ran in &booted.ran {
            eprintln!("{ran}");
        }
        let label = &kernel.label;
        let crowd = booted.ran("crowd");
        assert_eq!(crowd.code, Some(0), "{label}: {crowd}");
        assert!(crowd.output.contains("admitted 16 early true left 0 got 0"), "{label}: {crowd}");
        let line = crowd.output.lines().find(|line| line.starts_with("late "));
        assert!(line.is_some_and(|line| line.starts_with("late 0 of 150")), "{label}: {crowd}");
        for name in ["idle", "empty"] {
            let idle = booted.ran(name);
            assert!(!idle.output.contains("NOT-"), "{label}: {idle}");
        }
        // The thread is admitted once, regardless of the connection and the CPU of the request; and
        // again after the reservation was returned.
        for name in ["twice", "again"] {
            let twice = booted.ran(name);
            let admitted = twice.output.matches("\"answer\":\"admitted\"").count();
            let refused = twice.output.matches("has a reservation").count();
            assert_eq!((admitted, refused), (1, 4), "{label}: {twice}");
        }
        let gains = booted.ran("gains");
        assert!(gains.output.contains("\"why\":\"rights\""), "{label}: {gains}");
        let stays = booted.ran("stays");
        assert!(stays.output.contains("\"admitted\""), "{label}: {stays}");
        assert!(!stays.output.contains("\"gone\""), "{label}: {stays}");
        let said = booted.ran("said");
        assert!(!said.output.contains("the scheduler has ended"), "{label}: {said}");
    }
}
