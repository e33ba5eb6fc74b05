//! Whether tracefs records every switch. Some virtual machines never record one *from* certain threads, such as the
//! idle thread of a CPU, and report no loss.

use super::{Finding, State};
use crate::kernel::sys;
use crate::kernel::tracefs::Instance;
use layland_interchange::kernel::never_left;

/// So long it is recorded, while this thread sleeps and wakes up on each CPU in turn.
const PROBE_NS: i64 = 100_000_000;
/// So long it sleeps at a time.
const NAP_NS: i64 = 1_000_000;
/// So many threads are named.
const MOST_NAMED: usize = 5;

/// What an instance records of the switches of this machine.
pub(super) fn finding(name: &'static str, instance: Instance) -> Finding {
    let finding = |state, detail: String| Finding::new(name, state, detail);
    let works = "an instance of our own records";
    nap();
    let mut bytes = Vec::new();
    if let Err(error) = instance.finish(&mut bytes) {
        return finding(State::Missing, format!("what it records cannot be read: {error}"));
    }
    let text = String::from_utf8_lossy(&bytes);
    let Ok(silent) = never_left(&text) else {
        return finding(State::Ok, works.to_owned());
    };
    if silent.is_empty() {
        return finding(State::Ok, works.to_owned());
    }
    let named: Vec<String> = silent
        .iter()
        .take(MOST_NAMED)
        .map(|(cpu, comm, pid)| format!("`{comm}` ({pid}) on CPU {cpu}"))
        .collect();
    let more = if silent.len() > MOST_NAMED { " and others" } else { "" };
    let detail = format!("{works}, but no switch from {}{more}", named.join(", "));
    finding(State::Warning, detail).fix(
        "nothing: the trace commands take the start of a thread after these as an interval, and say so",
    )
}

/// Sleeps and wakes up on each CPU in turn: every one of them goes from its idle thread to this one, and back.
fn nap() {
    let cpus = sys::allowed_cpus().unwrap_or_default();
    // A thread that cannot be started leaves what others do.
    let _ = super::on_a_thread(move || {
        let each = PROBE_NS / i64::try_from(cpus.len().max(1)).unwrap_or(1);
        for cpu in cpus {
            // Where it may not be tied, it naps where it is.
            let _ = sys::set_affinity(sys::Tid::own(), [cpu]);
            let begin = sys::monotonic_ns();
            let mut at = begin;
            while at - begin < each {
                at = at.max(sys::monotonic_ns()) + NAP_NS;
                sys::sleep_until(at);
            }
        }
    });
}
