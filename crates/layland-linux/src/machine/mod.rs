//! The machine that runs take place on: its properties, and the changes that runs make to it.
//!
//! ```text
//!   changes    the front door: whatever a run changes, and takes back
//!   register   what runs know of each other: who is there, and what shared settings were
//!   admitted   what `layland exec` has reserved, a part of the register
//!   guardian   the process that takes everything back when a run is killed
//!   undo       how that is done
//!   cpuset     root domains
//!   threads    threads of programs that were given another class, and what they were
//!   rules      what the kernel takes, and what it wants of whoever asks
//!   accounting the kernel's sum of what is reserved, and its faults
//!   limit      how much the kernel lets be reserved
//!   repair     the repair of SCHED_DEADLINE, where the kernel has it
//!   left       what was left behind all the same
//!   doctor     what works here
//!   ext, btf   whether sched_ext does, and what the kernel says of its functions
//!   throttling, disturbance
//!              what takes CPUs from a run
//! ```

pub(crate) mod accounting;
pub mod admitted;
pub(crate) mod btf;
pub mod changes;
pub(crate) mod cpuset;
pub mod disturbance;
pub mod doctor;
pub(crate) mod ended;
pub mod ext;
pub(crate) mod guardian;
mod left;
pub(crate) mod limit;
pub mod register;
pub(crate) mod repair;
pub mod rules;
pub(crate) mod threads;
pub mod throttling;
pub(crate) mod undo;

use schemars::JsonSchema;
use serde::Serialize;

/// Keeps every CPU from sleeping deeply for as long as it lives. The file is held open; the kernel
/// drops the request when the file is closed, for any reason.
#[derive(Debug)]
pub(crate) struct Awake(#[expect(dead_code, reason = "held open")] Option<std::fs::File>);

impl Awake {
    /// Sends the request to the kernel. If the kernel refuses, latencies are longer; nothing else
    /// changes.
    pub fn keep() -> Awake {
        use std::io::Write;
        let file = std::fs::OpenOptions::new().write(true).open("/dev/cpu_dma_latency");
        let wish = file.and_then(|mut file| {
            file.write_all(&0i32.to_ne_bytes())?;
            Ok(file)
        });
        Awake(wish.ok())
    }
}

/// The properties of a machine that affect its latencies, as far as it reports them.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "machine")]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// The preemption of kernel code: `none`, `voluntary`, `full`, `lazy`, `rt`, or null if it is
    /// not known.
    pub preemption: Option<String>,
    /// True if the machine is a guest of a hypervisor.
    pub virtual_machine: bool,
    /// The clock source; null if it is not known.
    pub clocksource: Option<String>,
    /// Processor time of real-time threads per period, in microseconds; -1 is unlimited,
    /// and null if it is not known.
    pub rt_runtime_us: Option<i64>,
}

fn first_line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

impl Machine {
    /// Reads the properties of this machine.
    pub fn probe() -> Machine {
        let version = first_line("/proc/version").unwrap_or_default();
        let dynamic = first_line("/sys/kernel/debug/sched/preempt").and_then(|modes| {
            let (_, rest) = modes.split_once('(')?;
            rest.split_once(')').map(|(mode, _)| mode.to_owned())
        });
        let built = if version.contains("PREEMPT_RT") {
            Some("rt")
        } else if version.contains("PREEMPT_DYNAMIC") {
            None
        } else if version.contains("PREEMPT") {
            Some("full")
        } else {
            Some("none or voluntary")
        };
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            kernel: first_line("/proc/sys/kernel/osrelease")
                .unwrap_or_else(|| "unknown".to_owned()),
            preemption: built.map(str::to_owned).or(dynamic),
            virtual_machine: flags.split_whitespace().any(|flag| flag == "hypervisor"),
            clocksource: first_line(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            ),
            rt_runtime_us: limit::Limit::get().runtime_us,
        }
    }

    /// Returns warnings for readers of latencies, one sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        match self.preemption.as_deref() {
            Some("full" | "lazy" | "rt") => {}
            Some(mode) => caveats.push(format!(
                "kernel code is not preempted ({mode}): work of other programs in the kernel delays jobs"
            )),
            None => caveats.push(
                "the preemption mode of the kernel is not known: reading it needs debugfs".to_owned(),
            ),
        }
        if self.virtual_machine {
            caveats.push("latencies include the hypervisor".to_owned());
        }
        if let Some(source) = self.clocksource.as_deref().filter(|&source| {
            !matches!(
                source,
                "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page"
            )
        }) {
            caveats.push(format!("the clock `{source}` is slow to read"));
        }
        caveats
    }
}
