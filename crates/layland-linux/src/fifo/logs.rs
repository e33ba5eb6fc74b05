//! The memory for the log of a run: allocated before the run, for the most that it can need.

use crate::fifo::run::FifoOptions;
use crate::log::Log;
use layland_model::{Behaviour, System};

/// The largest number of records per job in the estimate of the log's size: a policy that divides a
/// period into dozens of slices writes several for each slice.
const RECORDS_PER_JOB: i64 = 256;
/// An upper bound for any run: a round of the manager takes about 10 us and writes about ten
/// records.
const RECORDS_PER_US: i64 = 1;
const MOST_RECORDS: i64 = 16 << 20;
/// The size in bytes above which a remark reports the size of the log.
const LARGE_LOG: usize = 256 << 20;

/// Allocates the log of a run, with the capacity that the run may need.
#[cfg(feature = "ext")]
pub(crate) fn log_for(
    system: &System,
    options: &FifoOptions<'_>,
    remarks: &mut Vec<String>,
) -> Log {
    let mut logs = logs_for(system, options, 1, remarks);
    logs.pop().unwrap_or_default()
}

/// Allocates a log for each domain, and at least one. A domain may have nearly all tasks, so that each
/// log has the capacity of the whole run.
pub(super) fn logs_for(
    system: &System,
    options: &FifoOptions<'_>,
    domains: usize,
    remarks: &mut Vec<String>,
) -> Vec<Log> {
    let records = log_records(system, options);
    let logs: Vec<Log> = (0..domains.max(1))
        .map(|_| Log::with_capacity(records, 4 * system.requests.len() + 1024))
        .collect();
    let capacity: usize = logs.iter().map(|log| log.records.capacity()).sum();
    let bytes = capacity * size_of::<crate::log::Record>();
    if bytes > LARGE_LOG {
        remarks.push(format!(
            "the log of the run was given {} MiB of memory: a shorter run needs less",
            bytes >> 20
        ));
    }
    logs
}

/// Returns the number of records that the log may need.
fn log_records(system: &System, options: &FifoOptions<'_>) -> usize {
    if let Some(records) = options.log_records {
        return records;
    }
    let ns = options.duration.ns();
    let jobs = |task: &layland_model::Task| match task.behaviour {
        Behaviour::SelfSuspending { gap } => ns / (task.own_wcet().ns() + gap.ns()).max(1) + 1,
        Behaviour::Curve(ref arrivals) => arrivals.curve.arrivals_within(options.duration) + 1,
        Behaviour::Periodic
        | Behaviour::Sporadic(_)
        | Behaviour::Explicit(_)
        | Behaviour::Hog
        | Behaviour::Yield => ns / task.period.ns() + 1,
    };
    let jobs: i64 = system.tasks.values().map(jobs).fold(0, i64::saturating_add);
    let most = (ns / 1000).saturating_mul(RECORDS_PER_US).min(MOST_RECORDS);
    let records = jobs.saturating_mul(RECORDS_PER_JOB).min(most).saturating_add(64 << 10);
    records as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fifo::hosts::Hosts;
    use crate::fifo::run::LONGEST;
    use layland_model::{Duration, Service, Task};

    #[test]
    fn the_log_is_no_larger_than_a_run_can_fill() {
        let records = |period_us, duration| {
            let period = Duration::from_us(period_us);
            let system = System::new(1, vec![Task::implicit("a", Service::from_ns(1), period)]);
            let hosts = Hosts::choose(1, &[0], crate::ManagerPlace::Auto).unwrap();
            let options = FifoOptions::new(duration, hosts);
            log_records(&system, &options)
        };
        let free = 64 << 10;
        assert_eq!(records(1, Duration::from_secs(1)), 1_000_000 + free);
        assert_eq!(records(10_000, Duration::from_secs(1)), 101 * 256 + free);
        assert_eq!(records(1, LONGEST), (16 << 20) + free);
    }
}
