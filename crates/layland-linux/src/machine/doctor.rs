//! The features that work on this machine, and the exact fix for each that does not ([`examine`]).
//!
//! Every reported feature was tested: policies on a short-lived thread, an instance of tracefs and
//! a cpuset that are removed again, a file that is opened and closed. No change remains. Without
//! privileges the tests still run, and are refused.
//!
//! Long because each test has its own fix.

mod ext;
mod limits;
mod unrecorded;

use crate::deadline::Facts;
use crate::kernel::sys::{self, Reservation, Tid};
use crate::kernel::tracefs;
use crate::machine::accounting::{self, Standing};
use crate::machine::changes::ChangeError;
use crate::machine::cpuset;
pub use crate::machine::left::{Leftover, heal, left_behind};
use crate::machine::left::{as_doctor, of_unknown_runs};
use crate::machine::register::Register;
use crate::machine::repair;
use crate::machine::rules::{Missing, enter_deadline};
use layland_model::{Duration, counted};
use schemars::JsonSchema;
use serde::Serialize;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use unrecorded::RecordedSwitches;

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(inline)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It works.
    Ok,
    /// A fact, neither good nor bad.
    Info,
    /// It works, but results will be worse because of it.
    Warning,
    /// A privilege is missing.
    NeedsPrivilege,
    /// It does not work.
    Missing,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(inline)]
pub struct Finding {
    /// The name of the test.
    pub name: &'static str,
    /// The result.
    pub state: State,
    /// The observation.
    pub detail: String,
    /// Advice for the user, if there is any.
    pub fix: Option<String>,
}

impl Finding {
    fn new(name: &'static str, state: State, detail: impl Into<String>) -> Finding {
        Finding { name, state, detail: detail.into(), fix: None }
    }
    fn fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = Some(fix.into());
        self
    }
}

/// Runs all tests. The latency of timers is measured for this long.
pub fn examine(latency_for_ns: i64) -> Vec<Finding> {
    let mut findings = vec![kernel(), preemption(), ticks(), clocksource(), virtualisation()];
    findings.extend([fifo(), deadline(), account(), limits::rt_group(), limits::throttling()]);
    findings.push(limits::fair_server());
    findings.extend(limits::repair(Path::new(repair::SYSCTLS)));
    findings.extend([latency(latency_for_ns), memory(), c_states(), governor(), isolation()]);
    findings.extend(ext::findings());
    findings.extend([tracing(), cpusets(), runs(), leftovers()]);
    findings
}

fn read(path: &str) -> io::Result<String> {
    fs::read_to_string(path).map(|text| text.trim().to_owned())
}

fn kernel() -> Finding {
    let version = read("/proc/sys/kernel/osrelease").unwrap_or_else(|error| error.to_string());
    let cpus = sys::allowed_cpus().map_or(0, |cpus| cpus.len());
    Finding::new("kernel", State::Info, format!("{version}, {} to use", counted(cpus, "CPU")))
}

fn preemption() -> Finding {
    let name = "preemption";
    let version = read("/proc/sys/kernel/version").unwrap_or_default();
    if version.contains("PREEMPT_RT") {
        return Finding::new(name, State::Ok, "PREEMPT_RT");
    }
    // The current mode is in parentheses: `none voluntary (full)`.
    let modes = read("/sys/kernel/debug/sched/preempt").unwrap_or_default();
    let mode =
        modes.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(mode, _)| mode);
    let configured = mode.is_none().then(configured_preemption).flatten();
    match mode.or(configured) {
        Some(mode @ ("full" | "lazy")) => Finding::new(name, State::Ok, mode),
        Some(mode) => {
            let detail =
                format!("{mode}: sections of the kernel of several ms delay real-time threads");
            Finding::new(name, State::Warning, detail).fix(
                "boot with preempt=full, or as root: echo full > /sys/kernel/debug/sched/preempt",
            )
        }
        None => Finding::new(name, State::Info, format!("not readable; kernel version {version}")),
    }
}

/// Returns the mode that the kernel was built for, if its configuration is readable.
fn configured_preemption() -> Option<&'static str> {
    let release = read("/proc/sys/kernel/osrelease").ok()?;
    let command_line = read("/proc/cmdline").unwrap_or_default();
    for mode in ["none", "voluntary", "full", "lazy"] {
        if command_line.split(' ').any(|word| word.strip_prefix("preempt=") == Some(mode)) {
            return Some(mode);
        }
    }
    let config = read(&format!("/boot/config-{release}")).ok()?;
    let has = |key: &str| config.lines().any(|line| line.strip_suffix("=y") == Some(key));
    let modes = [
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT", "full"),
    ];
    modes.into_iter().find(|&(key, _)| has(key)).map(|(_, mode)| mode)
}

fn ticks() -> Finding {
    let facts = Facts::read();
    let hz = 1_000_000_000 / facts.tick.ns().max(1);
    let (state, budgets) = match facts.has_hrtick {
        Some(true) => (State::Ok, "budgets of SCHED_DEADLINE are precise (HRTICK_DL)"),
        Some(false) => {
            (State::Warning, "budgets of SCHED_DEADLINE end with the tick (NO_HRTICK_DL)")
        }
        None => (State::Info, "the state of HRTICK_DL cannot be read"),
    };
    let finding = Finding::new("tick", state, format!("{} (HZ={hz}); {budgets}", facts.tick));
    if state == State::Warning {
        finding.fix("as root: echo HRTICK_DL > /sys/kernel/debug/sched/features")
    } else {
        finding
    }
}

fn clocksource() -> Finding {
    let name = "clocksource";
    match read("/sys/devices/system/clocksource/clocksource0/current_clocksource") {
        Ok(source) if matches!(source.as_str(), "tsc" | "arch_sys_counter") => {
            Finding::new(name, State::Ok, source)
        }
        Ok(source) => Finding::new(
            name,
            State::Warning,
            format!("{source}: reading the clock may be slow"),
        )
        .fix(
            "as root: echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        Err(error) => Finding::new(name, State::Info, format!("cannot be read: {error}")),
    }
}

fn virtualisation() -> Finding {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let stat = read("/proc/stat").unwrap_or_default();
    let numbers: Vec<u64> = (stat.lines().next().unwrap_or_default().split_whitespace().skip(1))
        .filter_map(|word| word.parse().ok())
        .collect();
    let total: u64 = numbers.iter().take(8).sum();
    let steal = numbers.get(7).copied().unwrap_or(0);
    if flags.split(' ').any(|flag| flag == "hypervisor") {
        let share = steal as f64 * 100.0 / total.max(1) as f64;
        let detail =
            format!("a virtual machine ({share:.1} % stolen): latencies include the hypervisor");
        Finding::new("virtualisation", State::Warning, detail).fix("measure on real hardware")
    } else {
        Finding::new("virtualisation", State::Ok, "none seen")
    }
}

/// Runs `act` on a short-lived thread.
fn on_a_thread<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    std::thread::Builder::new().name("doctor".to_owned()).spawn(act).ok()?.join().ok()
}

fn fifo() -> Finding {
    let name = "SCHED_FIFO";
    let answer = on_a_thread(|| sys::set_fifo(Tid::own(), 99));
    match answer {
        Some(Ok(())) => Finding::new(name, State::Ok, "priority 99 works"),
        Some(Err(error)) if error.raw_os_error() == Some(libc::EPERM) => {
            if sys::has_capability(sys::CAP_SYS_NICE) {
                let detail = "refused in spite of CAP_SYS_NICE: the cgroup has no real-time budget";
                return Finding::new(name, State::Missing, detail)
                    .fix("move to the root cpu cgroup: echo $$ > /sys/fs/cgroup/cpu/tasks");
            }
            let limit = rtprio_limit();
            let fix = match Missing::for_fifo(99) {
                Some(missing @ (Missing::Namespace | Missing::OfRoot)) => missing.help(),
                Some(Missing::OfUser) | None => {
                    "run as root, or give yourself priorities: \
                     echo \"$USER - rtprio 99\" | sudo tee /etc/security/limits.d/rt.conf, and log in again"
                }
            };
            Finding::new(name, State::NeedsPrivilege, format!("EPERM (RLIMIT_RTPRIO is {limit})"))
                .fix(fix)
        }
        Some(Err(error)) => Finding::new(name, State::Missing, error.to_string()),
        None => Finding::new(name, State::Missing, "no thread could be started"),
    }
}

fn rtprio_limit() -> String {
    let limits = read("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max realtime priority"));
    line.and_then(|line| line.split_whitespace().next()).unwrap_or("unknown").to_owned()
}

fn deadline() -> Finding {
    let name = "SCHED_DEADLINE";
    let period = Duration::from_ms(100);
    let least = Reservation { runtime: Duration::from_ms(1), deadline: period, period };
    // 1 ms every 100 ms is little enough to be admitted on any machine that is not full.
    let answer = on_a_thread(move || {
        let entered = enter_deadline(Tid::own(), least);
        entered.map_err(|error| (error, sys::allowed_cpus().unwrap_or_default()))
    });
    let limit = Facts::read().limit_thousandths as f64 / 1000.0;
    match answer {
        Some(Ok(())) => {
            let detail = format!(
                "works; at most {limit:.2} of each CPU can be reserved; sched_yield gives the rest of a budget away"
            );
            Finding::new(name, State::Ok, detail)
        }
        Some(Err((error, affinity))) => match error.raw_os_error() {
            Some(libc::EPERM) if sys::has_capability(sys::CAP_SYS_NICE) => {
                let detail =
                    format!("EPERM: the affinity {affinity:?} is smaller than the root domain");
                Finding::new(name, State::Missing, detail).fix("start it without taskset")
            }
            Some(libc::EPERM) => Finding::new(
                name,
                State::NeedsPrivilege,
                "EPERM: needs CAP_SYS_NICE; no rlimit and no rtkit can grant it",
            )
            .fix(Missing::for_deadline().map_or("run as root, e.g. with sudo", Missing::help)),
            Some(libc::EBUSY) => Finding::new(
                name,
                State::Missing,
                format!("EBUSY: all of {limit:.2} of each CPU is reserved already"),
            )
            .fix(
                "stop the other SCHED_DEADLINE threads: ps -eLo pid,cls,comm | grep DLN; or see `account` here",
            ),
            Some(_) | None => Finding::new(name, State::Missing, error.to_string()),
        },
        None => Finding::new(name, State::Missing, "no thread could be started"),
    }
}

/// Compares the kernel's account of reserved bandwidth with the threads.
fn account() -> Finding {
    let name = "account";
    let standing = accounting::standing();
    let way_out = accounting::way_out(&standing);
    let finding = |state, detail: String| Finding::new(name, state, detail);
    match standing {
        Standing::Unknown => finding(
            State::Info,
            "the bandwidth that the kernel counts as reserved cannot be read (debugfs, as root)".to_owned(),
        ),
        Standing::Right(sum) => finding(
            State::Ok,
            format!("the kernel counts {sum:.3} CPUs as reserved, which threads and its servers have"),
        ),
        Standing::Leaked(sum, cpu) => finding(
            State::Warning,
            format!(
                "the kernel counts {sum:.3} of a CPU as reserved on CPU {cpu} that no thread has: a SCHED_DEADLINE \
                 thread that slept was given another class from outside, as by chrt -o -p"
            ),
        )
        .fix(way_out),
        Standing::Short(sum, cpu) => finding(
            State::Warning,
            format!(
                "the kernel counts {sum:.3} of a CPU less than is reserved on CPU {cpu}: somebody wrote \
                 sched_rt_runtime_us or a cpuset while SCHED_DEADLINE threads had just ended"
            ),
        )
        .fix(way_out),
        Standing::Negative(sum, cpu) => finding(
            State::Missing,
            format!(
                "the kernel's sum of what is reserved on CPU {cpu} is {sum:.3} below zero, so that it refuses \
                 everything (EBUSY): somebody wrote sched_rt_runtime_us or a cpuset while SCHED_DEADLINE threads had \
                 just ended"
            ),
        )
        .fix(way_out),
    }
}

fn latency(for_ns: i64) -> Finding {
    let name = "timer latency";
    let measured = on_a_thread(move || {
        let is_fifo = sys::set_fifo(Tid::own(), 95).is_ok();
        let mut late: Vec<i64> = Vec::with_capacity(4096);
        let begin = sys::monotonic_ns();
        let mut at = begin;
        while at - begin < for_ns {
            at += 1_000_000;
            sys::sleep_until(at);
            let now = sys::monotonic_ns();
            late.push(now - at);
            // After a long pause, continue from the present time.
            at = at.max(now - 1_000_000);
        }
        late.sort_unstable();
        (is_fifo, late)
    });
    let Some((is_fifo, late)) = measured.filter(|(_, late)| !late.is_empty()) else {
        return Finding::new(name, State::Info, "not measured");
    };
    let quantile = |share: usize| late[(late.len() - 1) * share / 1000] / 1000;
    let (median, high, most) = (quantile(500), quantile(990), quantile(1000));
    let class = if is_fifo { "SCHED_FIFO 95" } else { "an ordinary thread" };
    let detail = format!(
        "{class}, {} times: median {median} us, 99 % {high} us, at most {most} us",
        late.len()
    );
    if high > 500 {
        Finding::new(name, State::Warning, detail)
            .fix("stop other load, use a kernel with preempt=full or PREEMPT_RT, isolate CPUs")
    } else {
        Finding::new(name, State::Ok, detail)
    }
}

fn memory() -> Finding {
    let name = "mlockall";
    match sys::lock_memory() {
        Ok(()) => {
            sys::unlock_memory();
            Finding::new(name, State::Ok, "works")
        }
        Err(error) => {
            Finding::new(name, State::NeedsPrivilege, format!("{error} (RLIMIT_MEMLOCK)")).fix(
                "run as root, or: echo \"$USER - memlock unlimited\" | \
                 sudo tee /etc/security/limits.d/memlock.conf",
            )
        }
    }
}

fn c_states() -> Finding {
    let name = "/dev/cpu_dma_latency";
    match OpenOptions::new().write(true).open("/dev/cpu_dma_latency") {
        Ok(_) => Finding::new(name, State::Ok, "can be held, so that CPUs stay awake"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Finding::new(name, State::Info, "not in this kernel")
        }
        Err(error) => Finding::new(name, State::NeedsPrivilege, error.to_string())
            .fix("run as root, or: sudo chmod a+w /dev/cpu_dma_latency"),
    }
}

fn governor() -> Finding {
    let name = "cpufreq governor";
    let mut governors: Vec<String> = (0..4096)
        .map_while(|cpu| {
            read(&format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")).ok()
        })
        .collect();
    governors.dedup();
    match governors.as_slice() {
        [] => Finding::new(name, State::Info, "none: the frequency is not ours to choose"),
        [one] if one == "performance" => Finding::new(name, State::Ok, "performance"),
        some => Finding::new(name, State::Warning, format!("{}: speeds change", some.join(", ")))
            .fix("as root: cpupower frequency-set -g performance"),
    }
}

fn isolation() -> Finding {
    let isolated = read("/sys/devices/system/cpu/isolated").unwrap_or_default();
    let no_tick = read("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let shown = |text: &str| {
        if text.is_empty() || text == "(null)" { "none".to_owned() } else { text.to_owned() }
    };
    let detail = format!("isolated CPUs: {}; without tick: {}", shown(&isolated), shown(&no_tick));
    Finding::new("isolation", State::Info, detail)
}

fn tracing() -> Finding {
    let name = "tracefs";
    let mut changes = match as_doctor() {
        Ok(changes) => changes,
        Err(error) => return unchangeable(name, &error),
    };
    match tracefs::Instance::start(Some(1024), &mut changes) {
        Ok(instance) => match instance.markers() {
            Ok(_) => {
                let works = "an instance of our own records";
                match unrecorded::probe(instance) {
                    RecordedSwitches::Nothing(why) => Finding::new(name, State::Missing, why),
                    RecordedSwitches::All => Finding::new(name, State::Ok, works),
                    RecordedSwitches::AllButFrom(threads) => {
                        let detail = format!("{works}, but no switch from {threads}");
                        Finding::new(name, State::Warning, detail).fix(
                            "nothing: the trace commands take the start of a thread after these as an interval, and \
                             say so",
                        )
                    }
                }
            }
            Err(error) => Finding::new(name, State::Missing, error.to_string()).fix(error.help()),
        },
        Err(error) => {
            let state = match &error {
                tracefs::TracefsError::NotMounted | tracefs::TracefsError::OtherNumbers => {
                    State::Missing
                }
                tracefs::TracefsError::Io { error, .. } => refused(error),
            };
            let help = error.help();
            Finding::new(name, state, error.to_string()).fix(help)
        }
    }
}

fn refused(error: &io::Error) -> State {
    if error.kind() == io::ErrorKind::PermissionDenied {
        State::NeedsPrivilege
    } else {
        State::Missing
    }
}

/// Returns the finding if changes are not possible, because they could not be reverted.
fn unchangeable(name: &'static str, error: &ChangeError) -> Finding {
    Finding::new(name, State::Missing, error.to_string()).fix(error.help())
}

fn cpusets() -> Finding {
    let name = "cpusets";
    let mut changes = match as_doctor() {
        Ok(changes) => changes,
        Err(error) => return unchangeable(name, &error),
    };
    match cpuset::try_cpuset(&mut changes) {
        Ok(version) => {
            Finding::new(name, State::Ok, format!("version {version}, one was made and removed"))
        }
        Err(error) => {
            let state = match &error {
                cpuset::CpusetError::Io { error, .. } => refused(error),
                cpuset::CpusetError::NotMounted | cpuset::CpusetError::NotAPartition { .. } => {
                    State::Missing
                }
            };
            let help = error.help();
            Finding::new(name, state, error.to_string()).fix(help)
        }
    }
}

fn leftovers() -> Finding {
    let name = "leftovers";
    let register = match Register::open() {
        Ok(register) => register,
        Err(error) => {
            let detail = format!("there can be no register of runs: {error}");
            return Finding::new(name, refused(&error), detail)
                .fix(ChangeError::Register(error).help());
        }
    };
    let left = left_behind(&register);
    let unknown = of_unknown_runs(&register);
    if left.is_empty() && unknown.is_empty() {
        return Finding::new(name, State::Ok, "none of earlier runs");
    }
    let mut said: Vec<String> = left.iter().map(Leftover::to_string).collect();
    said.extend(unknown.iter().map(|path| {
        format!("{} (of a run of another PID namespace, which may be alive)", path.display())
    }));
    let finding = |state| Finding::new(name, state, said.join(", "));
    if left.is_empty() {
        finding(State::Info)
    } else {
        finding(State::Warning).fix("as root: layland doctor --clean")
    }
}

/// Lists the present runs.
fn runs() -> Finding {
    let name = "runs";
    let Ok(register) = Register::open() else {
        return Finding::new(name, State::Info, "not known: there is no register");
    };
    let own = std::process::id();
    let runs: Vec<String> =
        register.runs().iter().filter(|run| run.pid != own).map(ToString::to_string).collect();
    let detail = if runs.is_empty() { "none now".to_owned() } else { runs.join(", ") };
    Finding::new(name, State::Info, detail)
}
