//! Findings about the kernel's limits on real-time threads.

use super::{Finding, State, read};
use crate::machine::register::Register;
use std::fs;
use std::path::PathBuf;

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
