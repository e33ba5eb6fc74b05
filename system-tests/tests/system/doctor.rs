//! Checks what `layland doctor` reports about sched_ext on real kernels: everything is available,
//! or the broken parts are named.
#![expect(clippy::print_stderr, reason = "a test says which kernels it used, and what was found")]

use layland_system_tests::{Booted, Kernel, past_the_harness};
use serde_json::Value;

/// Known broken packages, with the functions whose hidden argument is visible. Every build has
/// others, and may have more of them.
const BROKEN: [(&str, &[&str]); 2] = [
    (
        "linux-binary-7.2.12+deb13-cloud-amd64",
        &["scx_bpf_create_dsq", "scx_bpf_kick_cpu", "scx_bpf_error_bstr"],
    ),
    ("linux-binary-7.2.11+deb13-cloud-amd64", &["scx_bpf_dsq_reenq"]),
];

/// Root, and a user who may load nothing. These commands run in the boots of other tests.
pub(crate) const COMMANDS: [(&str, &str); 2] = [
    ("root", "layland doctor --json --latency-for 0s 2>/dev/null"),
    (
        "nobody",
        "mkdir /etc; echo nobody::65534:65534::/tmp:/bin/sh >/etc/passwd; \
         busybox su nobody -c 'layland doctor --json --latency-for 0s 2>/dev/null'",
    ),
];

/// Judges the output of [`COMMANDS`].
pub(crate) fn judge(kernel: &Kernel, booted: &Booted) {
    let finding = Finding::of(kernel, booted, "root", "sched_ext");
    eprintln!("{}: {}: {}", kernel.label, kernel.package, finding.detail);
    match kernel.label.as_str() {
        "6.12" | "6.18" => judge_old(kernel, booted),
        "7.2" => judge_broken(kernel, booted),
        _ => judge_whole(kernel, booted),
    }
}

/// A finding of the doctor.
#[derive(Debug)]
struct Finding {
    state: String,
    detail: String,
    fix: Option<String>,
    exit: Option<i32>,
}

impl Finding {
    fn of(kernel: &Kernel, booted: &Booted, who: &str, name: &str) -> Finding {
        let ran = booted.ran(who);
        let document: Value = serde_json::from_str(&ran.output)
            .unwrap_or_else(|error| panic!("{}: {error}: {ran}", kernel.label));
        let findings = document["findings"].as_array().expect("there are findings");
        let found = findings.iter().find(|finding| finding["name"] == name);
        let found = found.unwrap_or_else(|| panic!("{}: no {name}: {ran}", kernel.label));
        let text = |key: &str| found[key].as_str().map(str::to_owned);
        let (state, detail) = (text("state").expect("a state"), text("detail").expect("a detail"));
        Finding { state, detail, fix: text("fix"), exit: ran.code }
    }
}

/// An older kernel is a fact, not a failure.
fn judge_old(kernel: &Kernel, booted: &Booted) {
    let found = Finding::of(kernel, booted, "root", "sched_ext");
    assert_eq!(found.state, "info", "{}: {found:?}", kernel.label);
    assert!(found.detail.contains("needs 7.2"), "{}: {found:?}", kernel.label);
}

fn judge_broken(kernel: &Kernel, booted: &Booted) {
    let Some((_, functions)) = BROKEN.iter().find(|(package, _)| *package == kernel.package) else {
        let packages = BROKEN.map(|(package, _)| package).join(" or ");
        return past_the_harness(&format!("skipped: needs {packages}"));
    };
    let found = Finding::of(kernel, booted, "root", "sched_ext");
    assert_eq!((found.state.as_str(), found.exit), ("missing", Some(1)), "{found:?}");
    assert!(found.fix.is_some(), "{found:?}");
    let named: Vec<&str> = found
        .detail
        .split("; ")
        .filter_map(|defect| {
            let (_, rest) = defect.split_once("the hidden argument `aux` of ")?;
            rest.split_once("()").map(|(name, _)| name)
        })
        .collect();
    assert!(functions.iter().all(|function| named.contains(function)), "{found:?}");
}

fn judge_whole(kernel: &Kernel, booted: &Booted) {
    let label = &kernel.label;
    for name in ["", " scheduler", " domains", " privileges"] {
        let found = Finding::of(kernel, booted, "root", &format!("sched_ext{name}"));
        assert_eq!(found.state, "ok", "{label}: {name}: {found:?}");
    }
    let budgets = Finding::of(kernel, booted, "root", "sched_ext budgets").detail;
    assert_eq!(budgets.contains("PREEMPT_RT"), label.ends_with("-rt"), "{label}: {budgets}");
    // The user `nobody` sees the same kernel, but has no privileges on it.
    assert_eq!(Finding::of(kernel, booted, "nobody", "sched_ext").state, "ok", "{label}");
    let refused = Finding::of(kernel, booted, "nobody", "sched_ext privileges");
    assert_eq!((refused.state.as_str(), refused.exit), ("needs_privilege", Some(5)), "{refused:?}");
    for capability in ["CAP_BPF", "CAP_PERFMON", "CAP_SYS_NICE"] {
        assert!(refused.detail.contains(capability), "{label}: {refused:?}");
    }
}
