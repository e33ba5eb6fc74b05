//! The kernel's account of reserved bandwidth, compared with the threads that exist.
//!
//! Two faults of kernels corrupt the sum, and so their admission control (seen on 6.12, 6.18 and
//! 7.3):
//!
//! 1. If another thread changes the class of a sleeping `SCHED_DEADLINE` thread after its zero-lag
//!    time, the thread's bandwidth stays in the sum for ever. [`sys::empty_reservation`] precedes
//!    every such change of this crate.
//! 2. After a write to the limit or to a cpuset, the kernel recounts, without threads that have
//!    just ended. It still subtracts these when their zero-lag time comes. The sum may then be
//!    negative, and the kernel admits no reservation any more. This crate waits for that time
//!    before it writes either.

use crate::kernel::sys;
use layland_model::{CpuSet, Index};
use std::fs;
use std::path::Path;

/// The kernel's sum for a CPU's root domain, in units of 2^-20 of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account {
    cpu: usize,
    total: i64,
}

/// The reservation of a thread, in the same units, and the CPUs that it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Has {
    bandwidth: i64,
    cpus: CpuSet,
}

/// The unit of bandwidth.
const ONE: i64 = 1 << 20;
/// The kernel's reservation on each CPU for threads without a reservation: 50 ms of every second.
const SERVER: i64 = ONE / 20;

/// The state of the kernel's sum.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Standing {
    /// The sum cannot be read.
    Unknown,
    /// The sum matches the threads and the kernel's own servers; in CPUs.
    Right(f64),
    /// The sum is too large: the excess, in CPUs, and the CPU.
    Leaked(f64, usize),
    /// The sum is too small: the missing amount, in CPUs, and the CPU.
    Short(f64, usize),
    /// The sum is negative, and the kernel admits no reservation: its absolute value, in CPUs, and
    /// the CPU.
    Negative(f64, usize),
}

/// Returns the state of the kernel's sum. Waits for the zero-lag times of threads that have just
/// ended, which the kernel still counts.
pub(crate) fn standing() -> Standing {
    // The default limit of periods, and the interval between two readings.
    const LONGEST_NS: i64 = 4_500_000_000;
    const PAUSE_NS: i64 = 100_000_000;
    let until = sys::monotonic_ns() + LONGEST_NS;
    loop {
        let Ok(text) = fs::read_to_string("/sys/kernel/debug/sched/debug") else {
            return Standing::Unknown;
        };
        // One server is for ordinary threads, another on newer kernels for those of sched_ext.
        let has = |name: &str| Path::new("/sys/kernel/debug/sched").join(name).exists();
        let servers = ["fair_server", "ext_server"].into_iter().filter(|name| has(name)).count();
        let found = judge(&accounts_in(&text), &reserved(), servers);
        let is_settled = matches!(found, Standing::Right(_) | Standing::Unknown);
        if is_settled || sys::monotonic_ns() >= until {
            return found;
        }
        sys::sleep_until(sys::monotonic_ns() + PAUSE_NS);
    }
}

/// Returns the reservation of each `SCHED_DEADLINE` thread.
fn reserved() -> Vec<Has> {
    let all = crate::exec::foreign_deadline(&[]).into_iter();
    all.map(|(_, has, cpus)| Has {
        bandwidth: bandwidth(has.runtime.ns(), has.period.ns()),
        cpus: cpus.into_iter().map(Index::from_index).collect(),
    })
    .collect()
}

/// Computes a bandwidth in the kernel's units.
fn bandwidth(runtime_ns: i64, period_ns: i64) -> i64 {
    let ratio = i128::from(runtime_ns) * i128::from(ONE) / i128::from(period_ns.max(1));
    i64::try_from(ratio).unwrap_or(i64::MAX)
}

/// Parses the kernel's sums: the number of a CPU, and the sum of its root domain.
fn accounts_in(text: &str) -> Vec<Account> {
    let mut cpu = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("dl_rq[") {
            cpu = rest.split(']').next().and_then(|number| number.parse().ok());
        } else if let Some((_, value)) =
            line.split_once(':').filter(|(name, _)| name.trim() == ".dl_bw->total_bw")
            && let Some(cpu) = cpu
        {
            // Some kernels print it as an unsigned number.
            let value = value.trim();
            let total = value.parse::<i64>().ok();
            let total = total.or_else(|| value.parse::<u64>().ok().map(u64::cast_signed));
            found.extend(total.map(|total| Account { cpu, total }));
        }
    }
    found
}

/// Compares sums and reservations. `servers` is the number of the kernel's own servers on each CPU.
fn judge(accounts: &[Account], reserved: &[Has], servers: usize) -> Standing {
    let in_cpus = |bandwidth: i64| bandwidth as f64 / ONE as f64;
    let mut standing = Standing::Unknown;
    for &Account { cpu, total } in accounts {
        let here = reserved.iter().filter(|has| has.cpus.contains(Index::from_index(cpu)));
        let own: i64 = here.map(|has| has.bandwidth).sum();
        // Root domains have no names, but the CPUs of a root domain have the same sum.
        let size = accounts.iter().filter(|account| account.total == total).count();
        let most = SERVER * i64::try_from(size * servers).unwrap_or(1);
        // Each of the kernel's servers is either counted as a whole, or was forgotten at a recount.
        let rest = total - own;
        let is_right = (0..=most).contains(&rest) && rest % SERVER == 0;
        standing = match (is_right, standing) {
            (true, Standing::Right(known)) => Standing::Right(known.max(in_cpus(total))),
            (true, _) => Standing::Right(in_cpus(total)),
            (false, _) if total < 0 => return Standing::Negative(in_cpus(-total), cpu),
            (false, _) if rest > most => return Standing::Leaked(in_cpus(rest - most), cpu),
            (false, _) if rest < 0 => return Standing::Short(in_cpus(-rest), cpu),
            (false, _) => return Standing::Short(in_cpus(SERVER - rest % SERVER), cpu),
        };
    }
    standing
}

/// Returns advice to make the kernel recount.
pub(crate) fn way_out(standing: &Standing) -> &'static str {
    match standing {
        Standing::Negative(..) => {
            "the kernel refuses what would make it count again, but for this, with cpusets of version 1: \
             cd /sys/fs/cgroup/cpuset && echo 0 >cpuset.sched_relax_domain_level && \
             echo -1 >cpuset.sched_relax_domain_level; otherwise restart the machine"
        }
        Standing::Unknown | Standing::Right(_) | Standing::Leaked(..) | Standing::Short(..) => {
            "as root, when no thread of SCHED_DEADLINE has ended for 5 s: \
             cat /proc/sys/kernel/sched_rt_runtime_us | tee /proc/sys/kernel/sched_rt_runtime_us, which makes the \
             kernel count again"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the output of Linux 6.18 for two CPUs in one root domain.
    fn text(total: &str) -> String {
        let of = |cpu: usize| {
            format!(
                "dl_rq[{cpu}]:\n  .dl_nr_running                 : 0\n  .dl_bw->bw                     : 996147\n  \
                 .dl_bw->total_bw               : {total}\n\n"
            )
        };
        format!("cpu#0, 2000 MHz\n  .nr_running                    : 1\n{}{}", of(0), of(1))
    }

    fn at(total: &str, threads: &[(i64, i64)]) -> Standing {
        let has = |&(runtime, period): &(i64, i64)| Has {
            bandwidth: bandwidth(runtime, period),
            cpus: CpuSet::first(2),
        };
        judge(&accounts_in(&text(total)), &threads.iter().map(has).collect::<Vec<_>>(), 1)
    }

    #[test]
    fn the_sum_is_that_of_threads_and_servers() {
        let servers = "104856";
        assert!(matches!(at(servers, &[]), Standing::Right(cpus) if (0.09..0.11).contains(&cpus)));
        // These kernels have forgotten their servers, or have none.
        assert!(matches!(at("0", &[]), Standing::Right(_)));
        assert!(matches!(at("125827", &[(2_000_000, 100_000_000)]), Standing::Right(_)));
        // Two threads that have ended are still counted: 2 % each.
        assert!(
            matches!(at("146798", &[]), Standing::Leaked(cpus, 0) if (0.03..0.05).contains(&cpus))
        );
        // One thread was subtracted twice: 1 %.
        assert!(
            matches!(at("94371", &[]), Standing::Short(cpus, 0) if (0.005..0.015).contains(&cpus))
        );
        assert!(matches!(
            at("104856", &[(20_000_000, 100_000_000)]),
            Standing::Short(cpus, 0) if (0.05..0.2).contains(&cpus)
        ));
        for negative in ["-332048", "18446744073709219568"] {
            assert!(matches!(at(negative, &[]), Standing::Negative(cpus, 0) if cpus > 0.3));
        }
        assert_eq!(at("", &[]), Standing::Unknown);
    }

    #[test]
    fn a_partition_has_a_sum_of_its_own() {
        let accounts = [Account { cpu: 0, total: 52_428 }, Account { cpu: 1, total: 157_285 }];
        let has = Has { bandwidth: bandwidth(10, 100), cpus: CpuSet::single(Index::from_index(1)) };
        assert!(matches!(judge(&accounts, std::slice::from_ref(&has), 1), Standing::Right(_)));
        assert!(matches!(judge(&accounts, &[], 1), Standing::Leaked(_, 1)));
    }
}
