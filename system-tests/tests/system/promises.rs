//! Tests the guarantees of `layland exec` with the kernel's own classes, on several kernels:
//! ordinary loops compete for every CPU, and there are threads of SCHED_FIFO and SCHED_RR that were
//! not admitted. An admitted program is never late; a later competitor ends the guarantee with a
//! message.
//!
//! The emulator executes one CPU at a time, so programs reserve a multiple of their requirements.

use crate::{Ready, ready};

/// On the second of three CPUs. Everything else is on the first one.
const POLICIES: [(&str, &str); 5] = [
    ("dl", "-p dl --dl 8ms/40ms"),
    ("p-edf", "-p p-edf --dl 8ms/40ms"),
    ("p-dm", "-p p-dm --on-cpus 1 --dl 8ms/40ms"),
    ("p-rm", "-p p-rm --on-cpus 1 --dl 8ms/40ms"),
    ("p-fp", "-p p-fp --on-cpus 1 own.toml"),
];

const OWN: &str = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"own\"\nthread = \"main\"\n\
                   priority = 5\nwcet = \"8ms\"\nperiod = \"40ms\"\n";

/// A loop on the second CPU, with a class and a priority, for 4 seconds.
fn stranger(class: &str) -> String {
    format!("(taskset 2 workload {class} workload periodic 400 40000 100 40000 >/dev/null)")
}

fn commands() -> Vec<(&'static str, String)> {
    let exec = |options: &str, jobs: u32| {
        format!(
            "layland exec -q --strict {options} -- workload periodic 1000 40000 {jobs} 8000 2>&1"
        )
    };
    let mut commands = vec![(
        "hogs",
        "for mask in 1 2 4; do taskset $mask workload hog 900000 >/dev/null & done".to_owned(),
    )];
    for (name, options) in POLICIES {
        let of = |class: &str| {
            format!(
                "{} & sleep 0.5; {}; code=$?; wait $!; exit $code",
                stranger(class),
                exec(options, 60)
            )
        };
        commands.push((name, exec(options, 60)));
        match name {
            "p-dm" => commands.push(("p-dm beside FIFO", of("fifo 97"))),
            "p-rm" => commands.push(("p-rm beside RR", of("rr 97"))),
            _ => {}
        }
    }
    let full = "taskset 2 workload fifo 97 workload hog 6000 >/dev/null";
    commands.extend([
        // A request that exceeds the capacity is rejected, with the name of the other program.
        (
            "refused",
            format!(
                "({full}) & sleep 0.5; {}; code=$?; wait $!; exit $code",
                exec("-p p-dm --on-cpus 1 --dl 8ms/40ms", 10)
            ),
        ),
        // The competitor arrives after the guarantee was given.
        (
            "withdrawn",
            format!(
                "(sleep 3; {full}) & {}; code=$?; wait $!; exit $code",
                exec("-p p-dm --on-cpus 1 --dl 8ms/40ms", 200)
            ),
        ),
        // A deadline below the period, and a program that meets it.
        ("constrained", exec("-p dl --dl 8ms/40ms --deadline 20ms", 100)),
        ("left", "ls /run/layland; ls /sys/fs/cgroup | grep layland".to_owned()),
    ]);
    commands
}

#[test]
fn promises_of_exec_on_other_kernels() {
    let Some(Ready { guest, layland }) = ready() else { return };
    for kernel in guest.chosen(&["7.3"], &["6.12", "6.18", "7.2", "7.3"]) {
        eprintln!("{}: {}", kernel.label, kernel.package);
        let commands = commands();
        let commands: Vec<(&str, &str)> =
            commands.iter().map(|(name, line)| (*name, line.as_str())).collect();
        let booted =
            guest.boot(kernel, 3, layland, &[("own.toml", OWN)], &commands).expect("QEMU runs");
        for ran in &booted.ran {
            eprintln!("{ran}");
        }
        let label = &kernel.label;
        let kept = [
            "dl",
            "p-edf",
            "p-dm",
            "p-rm",
            "p-fp",
            "p-dm beside FIFO",
            "p-rm beside RR",
            "constrained",
        ];
        for name in kept {
            let ran = booted.ran(name);
            assert_eq!(ran.code, Some(0), "{label}: {ran}");
            assert!(ran.output.contains("late 0 of "), "{label}: {ran}");
        }
        let refused = booted.ran("refused");
        assert_eq!(refused.code, Some(1), "{label}: {refused}");
        assert!(refused.output.contains("SCHED_FIFO 97, used "), "{label}: {refused}");
        let withdrawn = booted.ran("withdrawn");
        assert_eq!(withdrawn.code, Some(1), "{label}: {withdrawn}");
        let is_said = withdrawn.output.contains("no longer holds: ")
            && withdrawn.output.contains("SCHED_FIFO 97, used ");
        assert!(is_said, "{label}: {withdrawn}");
        assert_eq!(booted.ran("left").output.trim(), "", "{label}");
    }
}
