//! Tests policies, programs and the doctor on other kernels. A single program, so that only two
//! machines are emulated at a time.
//!
//! Requires Debian's apt-get, and root to install QEMU; otherwise it reports the requirement. It
//! builds a static `layland`, or uses the one that `LAYLAND_STATIC` names.
//!
//! The short form boots the fewest kernels that show every defect and every engine. With
//! `LAYLAND_KERNELS=all`, each test boots all of its kernels, also with more CPUs.

mod crowd;
mod daemon;
mod doctor;
mod ext;
mod kernels;
mod overheads;
mod patched_kernels;
mod promises;
mod walk;

use layland_system_tests::{
    Guest, Profile, carries_ext, past_the_harness, static_layland, static_workload,
};
use std::path::Path;
use std::sync::OnceLock;

/// The inputs of every boot.
struct Ready {
    /// The available kernels. `workload` is also on the path.
    guest: Guest,
    /// The program, built like tests: with assertions.
    layland: Vec<u8>,
}

/// Fetches and builds once for all tests. If that is impossible, each test reports the reason.
fn ready() -> Option<&'static Ready> {
    static READY: OnceLock<Result<Ready, String>> = OnceLock::new();
    let ready = READY.get_or_init(|| {
        let target =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target folder");
        let folder = target.join("tmp/kernels");
        // Run both concurrently: one waits for the network, the other for the CPUs.
        let (guest, program) = std::thread::scope(|scope| {
            let program = scope.spawn(|| static_layland(target, Profile::Dev));
            (Guest::fetch(&folder), program.join().expect("the program was built"))
        });
        let mut guest = guest.map_err(|skipped| skipped.0)?;
        guest.programs.push(("workload".to_owned(), static_workload(&folder)));
        // The tests judge decisions, not times: machines of half the speed suffice.
        guest.shift = 2;
        Ok(Ready { guest, layland: std::fs::read(program).expect("the program was built") })
    });
    ready.as_ref().map_err(|skipped| past_the_harness(skipped)).ok()
}

/// Like [`ready`], if the program has the engine `ext`.
fn ready_for_ext() -> Option<&'static Ready> {
    if !carries_ext() {
        past_the_harness("skipped: needs the headers of libelf and zlib (libelf-dev, zlib1g-dev)");
        return None;
    }
    ready()
}

/// Waits in a guest until a scheduler is loaded, or until none is, and prints an error if that
/// never happens. A slow machine needs several seconds to load one.
fn until(state: &str) -> String {
    format!(
        "i=0; while [ $(cat /sys/kernel/sched_ext/state) != {state} ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done; \
         [ $(cat /sys/kernel/sched_ext/state) = {state} ] || echo NOT-{state}"
    )
}
