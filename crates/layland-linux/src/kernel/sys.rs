//! The engine's system calls, one safe function per call. Nothing here makes decisions.
//!
//! Threads are identified by their kernel id (`gettid`). Every call on a thread that has ended
//! returns an error (`ESRCH`), which callers that only clean up ignore.

use layland_model::Duration;
use rustix::thread::futex;
use std::io;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The priority of the manager, of a thread that runs, and of one that waits.
pub const MANAGER: i32 = 99;
/// See [`MANAGER`].
pub const RUN: i32 = 60;
/// See [`MANAGER`].
pub const WAIT: i32 = 1;

/// Where the kernel runs threads by the priorities of their tasks: the priority of a thread that gives
/// way to all others, that of the first task, and that of a thread while it changes the priorities of
/// others.
pub const YIELD: i32 = 2;
/// See [`YIELD`].
pub const FIRST: i32 = 97;
/// See [`YIELD`].
pub const CEILING: i32 = 98;
/// The number of different priorities of tasks.
pub const PLACES: usize = (FIRST - YIELD) as usize;

/// A thread of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tid(pub i32);

impl Tid {
    /// Returns the calling thread.
    pub fn own() -> Tid {
        Tid(rustix::thread::gettid().as_raw_nonzero().get())
    }
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the time of `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> i64 {
    ns(rustix::time::clock_gettime(rustix::time::ClockId::Monotonic))
}

/// Returns the processor time of the calling thread in nanoseconds.
#[inline]
pub fn own_cpu_ns() -> i64 {
    ns(rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime))
}

fn ns(time: rustix::time::Timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Returns the processor time of any thread of this process in nanoseconds.
#[inline]
pub fn cpu_ns(thread: Tid) -> io::Result<i64> {
    // This is the kernel's `MAKE_THREAD_CPUCLOCK(tid, CPUCLOCK_SCHED)`.
    let clock = (!thread.0 << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Safety: `time` is valid for writing.
    checked(unsafe { libc::clock_gettime(clock, &raw mut time) })?;
    Ok(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// Sets the class and the priority of a thread with the kernel's own call. musl's
/// `sched_setscheduler` refuses, because POSIX means a process where Linux means a thread; and its
/// `sched_param` has more members than the kernel's.
#[inline]
fn set_scheduler(thread: Tid, class: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let call = libc::SYS_sched_setscheduler;
    // Safety: the kernel's sched_param is one number, the priority, which outlives the call.
    let result = unsafe { libc::syscall(call, thread.0, class, &raw const priority) };
    checked(result as libc::c_int)
}

/// Makes a thread `SCHED_FIFO` at a priority. Its children are in the ordinary class.
#[inline]
pub fn set_fifo(thread: Tid, priority: i32) -> io::Result<()> {
    set_scheduler(thread, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority)
}

/// Makes a thread ordinary.
pub fn set_ordinary(thread: Tid) -> io::Result<()> {
    set_scheduler(thread, libc::SCHED_OTHER, 0)
}

/// The reservation of a `SCHED_DEADLINE` thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// Processor time per period.
    pub runtime: Duration,
    /// Relative deadline.
    pub deadline: Duration,
    /// Period.
    pub period: Duration,
}

/// Makes a thread `SCHED_DEADLINE`, or changes its reservation. Its children are in the ordinary
/// class. With `overruns`, the kernel sends `SIGXCPU` when the budget is overrun.
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

/// With this period, the bandwidth of the shortest runtime that the kernel accepts is below the
/// unit in which it counts bandwidth.
pub const UNCOUNTED_PERIOD: Duration = Duration::from_ms(1100);
const SHORTEST_RUNTIME_NS: u64 = 1024;

/// Makes the kernel count no bandwidth for a `SCHED_DEADLINE` thread of any process. To be called
/// before the thread gets another class. Otherwise a sleeping thread stays in the kernel's sum for
/// ever, and the reservation of a running one is subtracted later, from a sum that may have
/// changed. Allocates nothing.
///
/// # Errors
/// Returns an error if there is no such thread, or the kernel refuses.
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
        // Root has lowered the longest period: with its own period, the thread still counts next to
        // nothing.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            set_attributes(thread, &libc::sched_attr { sched_runtime: SHORTEST_RUNTIME_NS, ..now })
        }
        answer => answer,
    }
}

/// The flag of a thread whose children are in the ordinary class.
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

/// Returns the scheduling attributes of a thread of any process.
pub fn attributes(thread: Tid) -> io::Result<libc::sched_attr> {
    let mut attributes = NO_ATTRIBUTES;
    let (call, size) = (libc::SYS_sched_getattr, size_of::<libc::sched_attr>());
    // Safety: `attributes` is valid for writing, and has the stated size.
    let result = unsafe { libc::syscall(call, thread.0, &raw mut attributes, size, 0) };
    checked(result as libc::c_int)?;
    Ok(attributes)
}

/// Sets the scheduling attributes of a thread.
pub fn set_attributes(thread: Tid, attributes: &libc::sched_attr) -> io::Result<()> {
    let call = libc::SYS_sched_setattr;
    // Safety: `attributes` is a whole `sched_attr` and outlives the call.
    let result = unsafe { libc::syscall(call, thread.0, &raw const *attributes, 0) };
    checked(result as libc::c_int)
}

/// Ties a thread to one CPU.
#[inline]
pub fn pin(thread: Tid, cpu: usize) -> io::Result<()> {
    set_affinity(thread, std::iter::once(cpu))
}

/// Restricts a thread to these CPUs.
#[inline]
pub fn set_affinity(thread: Tid, cpus: impl IntoIterator<Item = usize>) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    cpus.into_iter().for_each(|cpu| set.set(cpu));
    let thread = rustix::thread::Pid::from_raw(thread.0);
    Ok(rustix::thread::sched_setaffinity(thread, &set)?)
}

/// Returns the CPUs that a thread of any process may use.
pub fn affinity_of(thread: Tid) -> io::Result<rustix::thread::CpuSet> {
    Ok(rustix::thread::sched_getaffinity(rustix::thread::Pid::from_raw(thread.0))?)
}

/// Returns the CPU that the calling thread is on.
#[inline]
pub fn cpu() -> usize {
    // Safety: the call takes no arguments and returns a number.
    let cpu = unsafe { libc::sched_getcpu() };
    usize::try_from(cpu).unwrap_or(0)
}

/// Ends the period of a `SCHED_DEADLINE` thread, which continues with its next budget.
pub fn yield_now() {
    rustix::thread::sched_yield();
}

/// Returns the length of a tick in nanoseconds, which is the resolution of the coarse clock.
pub fn tick_ns() -> i64 {
    ns(rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse))
}

/// Returns the CPUs that the calling thread may use.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Sends a signal to a thread of this process.
pub fn signal(thread: Tid, number: i32) -> io::Result<()> {
    let process = std::process::id() as libc::pid_t;
    // Safety: the call takes no pointers.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, process, thread.0, number) };
    checked(result as libc::c_int)
}

/// Installs a signal handler, which may only call async-signal-safe functions.
pub fn handle(number: i32, handler: extern "C" fn(i32)) -> io::Result<()> {
    // Safety: zero is a valid `sigaction`, and every relevant field is set.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // Safety: the handler is a function of the right type and lives for ever.
    checked(unsafe { libc::sigaction(number, &raw const action, std::ptr::null_mut()) })
}

/// Waits until a word differs from a value or is woken; may also return spuriously.
#[inline]
pub fn wait_while(word: &AtomicU32, value: u32) {
    // On any error (the word changed, a signal arrived), the caller checks again, as after a
    // wake-up.
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, None);
}

/// Like [`wait_while`], at most until a time of the monotonic clock.
#[inline]
pub fn wait_while_until(word: &AtomicU32, value: u32, at_ns: i64) {
    let at = rustix::time::Timespec {
        tv_sec: at_ns.max(0) / 1_000_000_000,
        tv_nsec: at_ns.max(0) % 1_000_000_000,
    };
    let _ = futex::wait_bitset(word, futex::Flags::PRIVATE, value, Some(&at), NonZeroU32::MAX);
}

/// Wakes one thread that waits on a word.
#[inline]
pub fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
}

/// Like [`wait_while_until`], on a word that several processes share; without a time, without
/// limit.
#[cfg(feature = "ext")]
pub fn wait_while_shared(word: &AtomicU32, value: u32, at_ns: Option<i64>) {
    let at = at_ns.map(|at_ns| rustix::time::Timespec {
        tv_sec: at_ns.max(0) / 1_000_000_000,
        tv_nsec: at_ns.max(0) % 1_000_000_000,
    });
    let _ = futex::wait_bitset(word, futex::Flags::empty(), value, at.as_ref(), NonZeroU32::MAX);
}

/// Like [`wake`], on a word that several processes share.
#[cfg(feature = "ext")]
pub fn wake_shared(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// The number of the class `SCHED_EXT`.
pub const SCHED_EXT: u32 = 7;

/// Makes a thread `SCHED_EXT` at a nice value, which has no effect there. With `resets`, its
/// children are in the ordinary class.
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

/// Sleeps until a time of the monotonic clock.
pub fn sleep_until(at_ns: i64) {
    let never = AtomicU32::new(0);
    while monotonic_ns() < at_ns {
        wait_while_until(&never, 0, at_ns);
    }
}

/// Locks all present and future memory of the process in RAM.
pub fn lock_memory() -> io::Result<()> {
    use rustix::mm::MlockAllFlags;
    Ok(rustix::mm::mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// Undoes [`lock_memory`].
pub fn unlock_memory() {
    let _ = rustix::mm::munlockall();
}

/// Sets the least timer slack for the calling thread.
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

/// Returns the soft and the hard limit of the processor time that a real-time thread may use
/// without blocking, in microseconds.
pub fn real_time_limit() -> io::Result<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // Safety: `limit` is valid for writing.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_RTTIME, &raw mut limit) })?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Sets the limit of [`real_time_limit`].
pub fn set_real_time_limit((now, most): (u64, u64)) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: now.min(most), rlim_max: most };
    // Safety: `limit` outlives the call.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) })
}

/// Returns the soft limit of the real-time priority of an ordinary user.
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

/// Counts `SIGXCPU` from now on, instead of being killed by it.
pub fn count_overruns() -> io::Result<()> {
    handle(libc::SIGXCPU, count_overrun)
}

/// Returns the number of budget overruns that the kernel has reported to this process.
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

/// Returns true if the calling thread has an effective capability, by its number.
pub fn has_capability(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    bits >> number & 1 == 1
}

/// Returns true if the capabilities are those of a user namespace, and apply only there.
pub fn is_in_user_namespace() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let fields: Vec<&str> = map.split_ascii_whitespace().collect();
    !fields.is_empty() && fields != ["0", "0", "4294967295"]
}

/// Returns the start time of a process of this PID namespace, in ticks since boot. Start time and
/// number together identify the process for ever. `None` if there is no process, or only a zombie.
pub fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before the fields may contain any character, also `)`.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let is_zombie = matches!(fields.first(), Some(&("Z" | "X")));
    if is_zombie { None } else { fields.get(19)?.parse().ok() }
}

/// Returns true if the calling thread is `SCHED_DEADLINE`.
pub fn is_deadline() -> bool {
    // musl's `sched_getscheduler` refuses, too.
    // Safety: the call takes only numbers.
    let class = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    class & !libc::c_long::from(libc::SCHED_RESET_ON_FORK)
        == libc::c_long::from(libc::SCHED_DEADLINE)
}

/// Returns the time since boot for which a hypervisor ran something else while these CPUs had work.
/// Zero if the kernel cannot measure it.
pub fn stolen(cpus: &[usize]) -> Duration {
    stolen_in(&std::fs::read_to_string("/proc/stat").unwrap_or_default(), cpus)
}

fn stolen_in(statistics: &str, cpus: &[usize]) -> Duration {
    // cpuN user nice system idle iowait irq softirq steal ..: in units of USER_HZ, always 100 here.
    const TICK: Duration = Duration::from_ms(10);
    let of_line = |line: &str| {
        // The first line, which has no number after `cpu`, is the sum of all.
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
