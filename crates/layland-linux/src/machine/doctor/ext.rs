//! Findings about the requirements of the sched_ext engine.
//!
//! A kernel without sched_ext, or an old one, is only a fact, because most kernels are like that.
//! On any newer kernel, an obstacle is a failure.

use super::{Finding, State};
use crate::machine::ext::{ExtSupport, Obstacle, support};

pub(super) fn findings() -> Vec<Finding> {
    of(&support())
}

const KERNEL: &str = "sched_ext";

fn of(support: &ExtSupport) -> Vec<Finding> {
    let lacks: Vec<&Obstacle> =
        support.obstacles.iter().filter(|one| one.is_of_the_kernel()).collect();
    if let Some(first) = lacks.iter().find(|one| is_a_fact(one)) {
        return vec![Finding::new(KERNEL, State::Info, first.to_string()).fix(first.fix())];
    }
    let kernel = match lacks.first() {
        None => Finding::new(KERNEL, State::Ok, "the kernel has all that the engine needs"),
        Some(first) => {
            let said: Vec<String> = lacks.iter().map(ToString::to_string).collect();
            Finding::new(KERNEL, State::Missing, said.join("; ")).fix(first.fix())
        }
    };
    let timers = if support.has_timers {
        "timers of BPF end them"
    } else {
        "PREEMPT_RT has no timers in BPF: the manager alone ends them"
    };
    let found = |name: &'static str, none: &str, is_it: fn(&Obstacle) -> Option<State>| {
        let mut found =
            support.obstacles.iter().filter_map(|one| is_it(one).map(|state| (one, state)));
        match found.next() {
            Some((one, state)) => Finding::new(name, state, one.to_string()).fix(one.fix()),
            None => Finding::new(name, State::Ok, none),
        }
    };
    let loaded = |one: &Obstacle| matches!(one, Obstacle::Loaded(_)).then_some(State::Missing);
    let isolated = |one: &Obstacle| matches!(one, Obstacle::Isolated(_)).then_some(State::Missing);
    let refused =
        |one: &Obstacle| matches!(one, Obstacle::Privileges(_)).then_some(State::NeedsPrivilege);
    vec![
        kernel,
        found("sched_ext scheduler", "none is loaded", loaded),
        found("sched_ext domains", "no isolcpus= that forbids a scheduler", isolated),
        found("sched_ext privileges", "a scheduler may be loaded", refused),
        Finding::new("sched_ext budgets", State::Info, timers),
    ]
}

/// Returns true if the obstacle is the kernel's version or configuration, not a defect.
fn is_a_fact(one: &Obstacle) -> bool {
    matches!(one, Obstacle::Old(_) | Obstacle::NoSchedExt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::ext::Defect;

    fn found(obstacles: &[Obstacle]) -> Vec<Finding> {
        of(&ExtSupport { obstacles: obstacles.to_vec(), has_timers: true })
    }

    fn shows(name: &'static str) -> Obstacle {
        Obstacle::Function { name, defect: Defect::Shows("aux".into()) }
    }

    #[test]
    fn a_kernel_that_is_too_old_is_a_fact_and_the_only_one() {
        let findings = found(&[
            Obstacle::Old("6.18.15".into()),
            shows("scx_bpf_kick_cpu"),
            Obstacle::Privileges(vec!["CAP_BPF"]),
        ]);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.name, finding.state), ("sched_ext", State::Info));
        assert_eq!(finding.detail, "Linux 6.18.15: the engine needs 7.2 or later");
        assert_eq!(found(&[Obstacle::NoSchedExt])[0].state, State::Info);
    }

    #[test]
    fn every_obstacle_has_its_finding_and_a_fix() {
        for (obstacle, name, state) in [
            (shows("scx_bpf_kick_cpu"), "sched_ext", State::Missing),
            (Obstacle::NoBtf("no such file".into()), "sched_ext", State::Missing),
            (Obstacle::Member("dequeue"), "sched_ext", State::Missing),
            (Obstacle::Flag("SCX_OPS_TID_TO_TASK"), "sched_ext", State::Missing),
            (Obstacle::Loaded("rusty".into()), "sched_ext scheduler", State::Missing),
            (Obstacle::Isolated("isolcpus=1".into()), "sched_ext domains", State::Missing),
            (Obstacle::Privileges(vec!["CAP_BPF"]), "sched_ext privileges", State::NeedsPrivilege),
        ] {
            let findings = found(std::slice::from_ref(&obstacle));
            assert_eq!(findings.len(), 5, "{obstacle}");
            for finding in &findings {
                if finding.name == name {
                    assert_eq!((finding.state, &finding.detail), (state, &obstacle.to_string()));
                    assert_eq!(finding.fix.as_deref(), Some(obstacle.fix()));
                } else {
                    assert!(matches!(finding.state, State::Ok | State::Info), "{finding:?}");
                }
            }
        }
    }

    #[test]
    fn all_that_a_kernel_lacks_is_in_one_finding() {
        let findings = found(&[shows("scx_bpf_kick_cpu"), shows("scx_bpf_error_bstr")]);
        for name in ["scx_bpf_kick_cpu()", "scx_bpf_error_bstr()"] {
            assert!(findings[0].detail.contains(name), "{:?}", findings[0]);
        }
    }
}
