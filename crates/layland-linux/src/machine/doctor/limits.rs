//! Findings about the kernel's limits on real-time threads.

use super::{Finding, State, read};
use crate::machine::register::Register;
use crate::machine::repair::Repair;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn rt_group() -> Finding {
    let name = "RT_GROUP_SCHED";
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == "cpu").then(|| path.to_owned())
    });
    let Some(own) = own else {
        return Finding::new(name, State::Ok, "no cpu cgroup of version 1: no budget of its own");
    };
    let path = format!("/sys/fs/cgroup/cpu{own}/cpu.rt_runtime_us");
    match read(&path) {
        Ok(budget) if budget == "0" => Finding::new(
            name,
            State::Missing,
            format!("{path} is 0: no SCHED_FIFO here, even for root"),
        )
        .fix("move to the root cpu cgroup: echo $$ > /sys/fs/cgroup/cpu/tasks"),
        Ok(budget) => {
            let detail = format!("cgroup {own} has {budget} us of real-time budget per period");
            Finding::new(name, State::Ok, detail)
        }
        Err(_) => Finding::new(name, State::Ok, "not in this kernel"),
    }
}

const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Returns true if a run that is alive has changed this file.
fn is_used(path: &str) -> bool {
    let used = Register::open().map(|register| register.used_settings()).unwrap_or_default();
    used.iter().any(|used| used.as_os_str() == path)
}

pub(super) fn throttling() -> Finding {
    let name = "real-time throttling";
    match (read(RT_RUNTIME), read("/proc/sys/kernel/sched_rt_period_us")) {
        (Ok(runtime), Ok(_)) if runtime == "-1" && is_used(RT_RUNTIME) => {
            let before = Register::open().ok().and_then(|register| {
                register.before("sched_rt_runtime_us").map(|before| before.trim().to_owned())
            });
            let before = before.unwrap_or_default();
            let detail = format!("off as long as a run needs that, and {before} us after it");
            Finding::new(name, State::Info, detail)
        }
        (Ok(runtime), Ok(_)) if runtime == "-1" => Finding::new(
            name,
            State::Warning,
            "off, and with it the admission control of SCHED_DEADLINE",
        )
        .fix("as root: sysctl kernel.sched_rt_runtime_us=950000"),
        (Ok(runtime), Ok(period)) => {
            Finding::new(name, State::Info, format!("{runtime} of {period} us"))
        }
        _ => Finding::new(name, State::Info, "cannot be read"),
    }
}

/// Returns the state of the repair of SCHED_DEADLINE, if the kernel has it.
pub(super) fn repair(sysctls: &Path) -> Option<Finding> {
    let name = "SCHED_DEADLINE repair";
    let repair = Repair::read_in(sysctls)?;
    let value = repair.value();
    let is_on = "threads may be tied to one CPU each, and dl-sp is the kernel's own policy";
    let finding = match (repair.is_whole(), value) {
        (true, _) => {
            return Some(Finding::new(name, State::Ok, format!("on ({value}): {is_on}")));
        }
        (false, 0) => Finding::new(name, State::Info, "this kernel has it, and it is off"),
        (false, _) => Finding::new(
            name,
            State::Warning,
            format!("only a part of its rules is on ({value}), and lateness has no bound"),
        ),
    };
    let on = Repair::LIGHT.value();
    Some(finding.fix(format!("as root: sysctl kernel.{}={on}", Repair::SETTING)))
}

pub(super) fn fair_server() -> Finding {
    let name = "fair server";
    let root = PathBuf::from("/sys/kernel/debug/sched/fair_server");
    let Ok(entries) = fs::read_dir(&root) else {
        return Finding::new(
            name,
            State::Info,
            "cannot be read (debugfs); kernels from 6.12 on give 5 % to ordinary threads",
        );
    };
    let mut runtimes: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| fs::read_to_string(entry.path().join("runtime")).ok())
        .map(|text| text.trim().to_owned())
        .collect();
    runtimes.sort();
    runtimes.dedup();
    match runtimes.as_slice() {
        [] => Finding::new(name, State::Info, "there, and its runtime cannot be read"),
        [zero] if zero == "0" => Finding::new(name, State::Ok, "off"),
        some => {
            let detail = format!("on: {} ns in every second for ordinary threads", some.join(", "));
            Finding::new(name, State::Info, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of settings with these rules of the repair.
    fn tree(name: &str, value: Option<&str>) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("layland-repair-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("kernel")).expect("it can be created");
        if let Some(value) = value {
            fs::write(root.join("kernel/sched_dl_semi_partitioned"), value).expect("it is there");
        }
        root
    }

    #[test]
    fn the_repair_is_recognized() {
        let state = |name: &str, value| {
            let root = tree(name, value);
            let found = repair(&root);
            fs::remove_dir_all(root).expect("it was created");
            found.map(|found| (found.state, found.fix.is_some()))
        };
        assert_eq!(state("none", None), None);
        assert_eq!(state("no-number", Some("on\n")), None);
        assert_eq!(state("off", Some("0\n")), Some((State::Info, true)));
        for part in ["1\n", "6\n", "8\n", "11\n"] {
            assert_eq!(state("part", Some(part)), Some((State::Warning, true)), "{part}");
        }
        for whole in ["7\n", "15\n"] {
            assert_eq!(state("whole", Some(whole)), Some((State::Ok, false)), "{whole}");
        }
    }
}
