//! What the engine asks of the kernel, one safe function per call. Nothing here decides anything.
//!
//! Threads are named by their kernel id (`gettid`). A thread that has ended gives an error (`ESRCH`)
//! from every call on it, which callers that only tidy up ignore.

use layland_model::Duration;
use rustix::thread::futex;
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The priority of the manager, of a thread that is to run, and of one that is to wait.
pub const MANAGER: i32 = 99;
/// See [`MANAGER`].
pub const RUN: i32 = 60;
/// See [`MANAGER`].
pub const WAIT: i32 = 1;

/// A thread of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tid(pub i32);

impl Tid {
    /// The calling thread.
    pub fn own() -> Tid {
        Tid(rustix::thread::gettid().as_raw_nonzero().get())
    }
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> i64 {
    ns(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

/// The processor time of the calling thread in nanoseconds.
#[inline]
pub fn own_cpu_ns() -> i64 {
    ns(rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime))
}

fn ns(time: rustix::time::Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The processor time of any thread of this process in nanoseconds.
#[inline]
pub fn cpu_ns(thread: Tid) -> io::Result<i64> {
    // The kernel's MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED).
    let clock = (!thread.0 << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Safety: `time` is valid for writing.
    checked(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// Sets the class and the priority of a thread by the kernel's own call: musl's `sched_setscheduler` refuses, since
/// POSIX means a process where Linux means a thread, and its `sched_param` has more members than the kernel's.
#[inline]
fn set_scheduler(thread: Tid, class: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let call = libc::SYS_sched_setscheduler;
    // Safety: the kernel's sched_param is one number, the priority, which outlives the call.
    let result = unsafe { libc::syscall(call, thread.0, class, &raw const priority) };
    checked(result as libc::c_int)
}

/// Makes a thread `SCHED_FIFO` at a priority. What it starts is ordinary again.
#[inline]
pub fn set_fifo(thread: Tid, priority: i32) -> io::Result<()> {
    set_scheduler(thread, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
}

/// Makes a thread ordinary.
pub fn set_ordinary(thread: Tid) -> io::Result<()> {
    set_scheduler(thread, libc::SCHED_OTHER, 0)
}

/// What a `SCHED_DEADLINE` thread asks the kernel for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// Processor time per period.
    pub runtime: Duration,
    /// Relative deadline.
    pub deadline: Duration,
    /// Period.
    pub period: Duration,
}

/// Makes a thread `SCHED_DEADLINE`, or changes what it asks for. What it starts is ordinary. With
/// `overruns`, the kernel sends `SIGXCPU` when the budget is overrun.
pub fn set_deadline(thread: Tid, reservation: Reservation, overruns: bool) -> io::Result<()> {
    const DL_OVERRUN: u64 = 4;
    set_attributes(
        thread,
        &libc::sched_attr {
            sched_policy: libc::SCHED_DEADLINE as u32,
            sched_flags: if overruns { RESET_ON_FORK | DL_OVERRUN } else { RESET_ON_FORK },
            sched_runtime: reservation.runtime.ns() as u64,
            sched_deadline: reservation.deadline.ns() as u64,
            sched_period: reservation.period.ns() as u64,
            ..NO_ATTRIBUTES
        },
    )
}

/// With this period, the shortest runtime that the kernel takes is less than the unit in which it counts what is
/// reserved.
pub const UNCOUNTED_PERIOD: Duration = Duration::from_ms(1100);
const SHORTEST_RUNTIME_NS: u64 = 1024;

/// To be called before a thread of `SCHED_DEADLINE`, of whatever process, gets another class: the kernel counts nothing
/// for it from now on. Otherwise one that sleeps stays in the kernel's sum for ever, and of one that runs the
/// reservation is subtracted later, from whatever sum there is then. Allocates nothing.
///
/// # Errors
/// If there is no such thread, or the kernel refuses.
pub fn empty_reservation(thread: Tid) -> io::Result<()> {
    let now = attributes(thread)?;
    if now.sched_policy != libc::SCHED_DEADLINE as u32 {
        return Ok(());
    }
    let long = UNCOUNTED_PERIOD.ns().unsigned_abs();
    let least = libc::sched_attr {
        sched_runtime: SHORTEST_RUNTIME_NS,
        sched_deadline: long,
        sched_period: long,
        ..now
    };
    match set_attributes(thread, &least) {
        // Root has made the longest period shorter: of its own, next to nothing is counted.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            set_attributes(thread, &libc::sched_attr { sched_runtime: SHORTEST_RUNTIME_NS, ..now })
        }
        answer => answer,
    }
}

/// What a thread with this flag starts is ordinary.
pub const RESET_ON_FORK: u64 = 1;

/// The attributes of an ordinary thread.
pub const NO_ATTRIBUTES: libc::sched_attr = libc::sched_attr {
    size: size_of::<libc::sched_attr>() as u32,
    sched_policy: libc::SCHED_OTHER as u32,
    sched_flags: 0,
    sched_nice: 0,
    sched_priority: 0,
    sched_runtime: 0,
    sched_deadline: 0,
    sched_period: 0,
};

/// How the kernel schedules a thread, of whatever process.
pub fn attributes(thread: Tid) -> io::Result<libc::sched_attr> {
    let mut attributes = NO_ATTRIBUTES;
    let (call, size) = (libc::SYS_sched_getattr, size_of::<libc::sched_attr>());
    // Safety: `attributes` is valid for writing, and as long as it says.
    let result = unsafe { libc::syscall(call, thread.0, &raw mut attributes, size, 0) };
    checked(result as libc::c_int)?;
    Ok(attributes)
}

/// Sets how the kernel schedules a thread.
pub fn set_attributes(thread: Tid, attributes: &libc::sched_attr) -> io::Result<()> {
    let call = libc::SYS_sched_setattr;
    // Safety: `attributes` is a whole sched_attr and outlives the call.
    let result = unsafe { libc::syscall(call, thread.0, &raw const *attributes, 0) };
    checked(result as libc::c_int)
}

/// Lets a thread run on one CPU only.
#[inline]
pub fn pin(thread: Tid, cpu: usize) -> io::Result<()> {
    set_affinity(thread, std::iter::once(cpu))
}

/// Lets a thread run on these CPUs only.
#[inline]
pub fn set_affinity(thread: Tid, cpus: impl IntoIterator<Item = usize>) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    cpus.into_iter().for_each(|cpu| set.set(cpu));
    let thread = rustix::thread::Pid::from_raw(thread.0);
    Ok(rustix::thread::sched_setaffinity(thread, &set)?)
}

/// The CPUs that a thread may use, of whatever process.
pub fn affinity_of(thread: Tid) -> io::Result<rustix::thread::CpuSet> {
    Ok(rustix::thread::sched_getaffinity(rustix::thread::Pid::from_raw(thread.0))?)
}

/// The CPU that the calling thread is on.
#[inline]
pub fn cpu() -> usize {
    // Safety: takes nothing and gives a number.
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).unwrap_or(0)
}

/// Ends the period of a `SCHED_DEADLINE` thread: it goes on with its next budget.
pub fn yield_now() {
    rustix::thread::sched_yield();
}

/// The length of a tick, in nanoseconds: what the coarse clock advances by.
pub fn tick_ns() -> i64 {
    ns(rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse))
}

/// The CPUs that the calling thread may use.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Sends a thread of this process a signal.
pub fn signal(thread: Tid, number: i32) -> io::Result<()> {
    let process = std::process::id() as libc::pid_t;
    // Safety: takes no pointers.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, process, thread.0, number) };
    checked(result as libc::c_int)
}

/// Handles a signal by a function that may do what a signal handler may.
pub fn handle(number: i32, handler: extern "C" fn(i32)) -> io::Result<()> {
    // Safety: zero is a valid sigaction, and every field that matters is set.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // Safety: the handler is a function of the right type and lives for ever.
    checked(unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) })
}

/// Waits until a word differs from a value, is woken, or for no reason.
#[inline]
pub fn wait_while(word: &AtomicU32, value: u32) {
    // Each error (it changed, a signal came) is a reason to look again, as is a wake-up.
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

/// The same, at most until a point of the monotonic clock.
#[inline]
pub fn wait_while_until(word: &AtomicU32, value: u32, at_ns: i64) {
    let at = rustix::time::Timespec {
        tv_sec: at_ns.max(0) / 1_000_000_000,
        tv_nsec: at_ns.max(0) % 1_000_000_000,
    };
    let _ = futex::wait_bitset(word, futex::Flags::PRIVATE, value, Some(&at), NonZeroU32::MAX);
}

/// Wakes who waits on a word.
#[inline]
pub fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// As [`wait_while_until`], on a word that several processes see; for ever without a time.
#[cfg(feature = "ext")]
pub fn wait_while_shared(word: &AtomicU32, value: u32, at_ns: Option<i64>) {
    let at = at_ns.map(|at_ns| rustix::time::Timespec {
        tv_sec: at_ns.max(0) / 1_000_000_000,
        tv_nsec: at_ns.max(0) % 1_000_000_000,
    });
    let _ = futex::wait_bitset(word, futex::Flags::empty(), value, at.as_ref(), NonZeroU32::MAX);
}

/// As [`wake`], on a word that several processes see.
#[cfg(feature = "ext")]
pub fn wake_shared(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// The number of the class `SCHED_EXT`.
pub const SCHED_EXT: u32 = 7;

/// Makes a thread `SCHED_EXT`, at a nice value, which means nothing there. What it starts is ordinary, if it resets.
pub fn set_ext(thread: Tid, nice: i32, resets: bool) -> io::Result<()> {
    let sched_flags = if resets { RESET_ON_FORK } else { 0 };
    let attributes = libc::sched_attr {
        sched_policy: SCHED_EXT,
        sched_nice: nice,
        sched_flags,
        ..NO_ATTRIBUTES
    };
    set_attributes(thread, &attributes)
}

/// Sleeps until a point of the monotonic clock.
pub fn sleep_until(at_ns: i64) {
    let never = AtomicU32::new(0);
    while monotonic_ns() < at_ns {
        wait_while_until(&never, 0, at_ns);
    }
}

/// Keeps all memory of the process, now and later, in RAM.
pub fn lock_memory() -> io::Result<()> {
    use rustix::mm::MlockAllFlags;
    Ok(rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Undoes [`lock_memory`].
pub fn unlock_memory() {
    let _ = rustix::mm::munlockall();
}

/// Lets the timers of the calling thread expire as precisely as they can.
pub fn precise_timers() {
    // Safety: this option takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Names the calling thread, for `ps` and traces; at most 15 bytes are kept.
pub fn name_thread(name: &str) {
    let mut bytes = [0u8; 16];
    let kept = name.len().min(15);
    bytes[..kept].copy_from_slice(&name.as_bytes()[..kept]);
    // Safety: `bytes` ends with a zero.
    unsafe { libc::prctl(libc::PR_SET_NAME, bytes.as_ptr()) };
}

/// The limit of processor time that a real-time thread may use without blocking, in microseconds:
/// what is in force, and the most that may be.
pub fn real_time_limit() -> io::Result<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // Safety: `limit` is valid for writing.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut limit) })?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Sets that limit.
pub fn set_real_time_limit((now, most): (u64, u64)) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: now.min(most), rlim_max: most };
    // Safety: `limit` outlives the call.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) })
}

/// The soft limit of the real-time priority of an ordinary user.
pub fn priority_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // Safety: `limit` is valid for writing.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &raw mut limit) };
    if result == 0 { limit.rlim_cur } else { 0 }
}

static OVERRUNS: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_overrun(_signal: i32) {
    OVERRUNS.fetch_add(1, Ordering::Relaxed);
}

/// Counts `SIGXCPU` from now on instead of dying of it.
pub fn count_overruns() -> io::Result<()> {
    handle(libc::SIGXCPU, count_overrun)
}

/// How many budget overruns the kernel has reported to this process.
pub fn overruns() -> u64 {
    OVERRUNS.load(Ordering::Relaxed)
}

/// `CAP_SYS_ADMIN`.
pub const CAP_SYS_ADMIN: u32 = 21;
/// `CAP_SYS_NICE`.
pub const CAP_SYS_NICE: u32 = 23;
/// `CAP_PERFMON`.
pub const CAP_PERFMON: u32 = 38;
/// `CAP_BPF`.
pub const CAP_BPF: u32 = 39;

/// Whether the calling thread has an effective capability, by its number.
pub fn has_capability(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    bits >> number & 1 == 1
}

/// Whether capabilities are those of a user namespace, and count there alone.
pub fn is_in_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let fields: Vec<&str> = map.split_ascii_whitespace().collect();
    !fields.is_empty() && fields != ["0", "0", "4294967295"]
}

/// When a process of this PID namespace started, in ticks since the start of the machine, which together with its
/// number names it for ever; `None` if there is none, or a zombie alone.
pub fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may have any characters.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let is_zombie = matches!(fields.first(), Some(&("Z" | "X")));
    if is_zombie { None } else { fields.get(19)?.parse().ok() }
}

/// Whether the calling thread is `SCHED_DEADLINE`.
pub fn is_deadline() -> bool {
    // musl's `sched_getscheduler` refuses, too.
    // Safety: takes numbers alone.
    let class = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    class & !libc::c_long::from(libc::SCHED_RESET_ON_FORK)
        == libc::c_long::from(libc::SCHED_DEADLINE)
}

/// The time for which a hypervisor ran something else while these CPUs had work, since the start of the
/// machine. Zero where the kernel cannot know.
pub fn stolen(cpus: &[usize]) -> Duration {
    stolen_in(&std::fs::read_to_string("/proc/stat").unwrap_or_default(), cpus)
}

fn stolen_in(statistics: &str, cpus: &[usize]) -> Duration {
    // cpuN user nice system idle iowait irq softirq steal ..: in units of USER_HZ, always 100 here.
    const TICK: Duration = Duration::from_ms(10);
    let of_line = |line: &str| {
        // The first line has the sum of all, and no number behind the word.
        let numbered = line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' '))?;
        let mut fields = numbered.split_ascii_whitespace();
        let cpu: usize = fields.next()?.parse().ok()?;
        let ticks: i64 = fields.nth(7)?.parse().ok()?;
        cpus.contains(&cpu).then_some(TICK * ticks)
    };
    statistics.lines().filter_map(of_line).fold(Duration::ZERO, |sum, stolen| sum + stolen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stolen_is_that_of_the_cpus_asked_for() {
        let statistics = "cpu  90 8 70 60 5 4 3 21 0 0\ncpu0 40 4 30 30 2 2 1 9 0 0\n\
                          cpu1 50 4 40 30 3 2 2 12 0 0\nintr 7 8 9\n";
        let stolen = |cpus: &[usize]| stolen_in(statistics, cpus);
        assert_eq!(stolen(&[]), Duration::ZERO);
        assert_eq!(
            stolen(&[90]),
            Duration::ZERO,
            "what all have been busy for is no number of a CPU"
        );
        assert_eq!(stolen(&[1]), Duration::from_ms(120));
        assert_eq!(stolen(&[0, 1, 2]), Duration::from_ms(210));
    }
}
