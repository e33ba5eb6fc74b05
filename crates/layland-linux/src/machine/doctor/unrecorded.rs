//! A probe of tracefs for missing switches. Some virtual machines never record a switch *from*
//! certain threads, such as the idle thread of a CPU, and report no loss.

use crate::kernel::sys;
use crate::kernel::tracefs::Instance;
use layland_interchange::kernel::never_left;

/// The length of the recording, during which this thread sleeps and wakes up on each CPU in turn.
const PROBE_NS: i64 = 100_000_000;
/// The length of each sleep.
const NAP_NS: i64 = 1_000_000;
/// The largest number of threads that are named.
const MOST_NAMED: usize = 5;

/// The switches that an instance records on this machine.
pub(super) enum RecordedSwitches {
    /// The recording cannot be read, for this reason.
    Nothing(String),
    /// Every switch, as far as the probe shows.
    All,
    /// Every switch but those from these threads.
    AllButFrom(String),
}

/// Records for a moment, and looks for threads that come to a CPU but never leave it.
pub(super) fn probe(instance: Instance) -> RecordedSwitches {
    nap();
    let mut bytes = Vec::new();
    if let Err(error) = instance.finish(&mut bytes) {
        return RecordedSwitches::Nothing(format!("its recording cannot be read: {error}"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let silent = never_left(&text).unwrap_or_default();
    if silent.is_empty() {
        return RecordedSwitches::All;
    }
    let named: Vec<String> = silent
        .iter()
        .take(MOST_NAMED)
        .map(|(cpu, comm, pid)| format!("`{comm}` ({pid}) on CPU {cpu}"))
        .collect();
    let more = if silent.len() > MOST_NAMED { " and others" } else { "" };
    RecordedSwitches::AllButFrom(named.join(", ") + more)
}

/// Sleeps and wakes up on each CPU in turn, so that each switches from its idle thread to this one
/// and back.
fn nap() {
    let cpus = sys::allowed_cpus().unwrap_or_default();
    let naps = move || {
        let each = PROBE_NS / i64::try_from(cpus.len().max(1)).unwrap_or(1);
        for cpu in cpus {
            // If it may not be tied to the CPU, it naps on its present one.
            let _ = sys::set_affinity(sys::Tid::own(), [cpu]);
            let begin = sys::monotonic_ns();
            let mut at = begin;
            while at - begin < each {
                at = at.max(sys::monotonic_ns()) + NAP_NS;
                sys::sleep_until(at);
            }
        }
    };
    // If the thread cannot be started, the recording has the switches of other threads.
    let napping = std::thread::Builder::new().name("doctor".to_owned()).spawn(naps);
    if let Ok(napping) = napping {
        let _ = napping.join();
    }
}
