//! Policies, programs and the doctor on other kernels. One program, so that two machines are emulated at a time.
//!
//! Needs Debian's apt-get, and root to install QEMU; otherwise it says what it needs. It builds a static `layland`, or
//! takes the one that `LAYLAND_STATIC` names.
//!
//! The short form boots the fewest kernels on which every defect and every engine is seen; `LAYLAND_KERNELS=all` makes
//! each test boot all that it knows of, with more CPUs, too.

mod crowd;
mod daemon;
mod doctor;
mod ext;
mod kernels;
mod overheads;
mod promises;
mod walk;

use layland_system_tests::{
    Guest, Profile, carries_ext, past_the_harness, static_layland, static_workload,
};
use std::path::Path;
use std::sync::OnceLock;

/// What every test boots.
struct Ready {
    /// The kernels that could be had. `workload` is on the path, too.
    guest: Guest,
    /// The program, as tests are built: with assertions.
    layland: Vec<u8>,
}

/// Fetched and built once for all tests. Where it cannot be, each test says why.
fn ready() -> Option<&'static Ready> {
    static READY: OnceLock<Result<Ready, String>> = OnceLock::new();
    let ready = READY.get_or_init(|| {
        let target =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target folder");
        let folder = target.join("tmp/kernels");
        // One waits for a network, the other for the CPUs.
        let (guest, program) = std::thread::scope(|scope| {
            let program = scope.spawn(|| static_layland(target, Profile::Dev));
            (Guest::fetch(&folder), program.join().expect("the program was built"))
        });
        let mut guest = guest.map_err(|skipped| skipped.0)?;
        guest.programs.push(("workload".to_owned(), static_workload(&folder)));
        // What is judged here are decisions, and no times: machines half as fast will do.
        guest.shift = 2;
        Ok(Ready { guest, layland: std::fs::read(program).expect("the program was built") })
    });
    ready.as_ref().map_err(|skipped| past_the_harness(skipped)).ok()
}

/// The same, where the program has the engine `ext`.
fn ready_for_ext() -> Option<&'static Ready> {
    if !carries_ext() {
        past_the_harness("skipped: needs the headers of libelf and zlib (libelf-dev, zlib1g-dev)");
        return None;
    }
    ready()
}

/// Waits in a guest until a scheduler is loaded, or none is, and says so where that never comes. A slow machine needs
/// several seconds to load one.
fn until(state: &str) -> String {
    format!(
        "i=0; while [ $(cat /sys/kernel/sched_ext/state) != {state} ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done; \
         [ $(cat /sys/kernel/sched_ext/state) = {state} ] || echo NOT-{state}"
    )
}
