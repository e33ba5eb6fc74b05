//! The outcome of a run, and the reasons to doubt it.

use crate::fifo::guard::WatchdogClass;
use crate::log::{Log, trace};
use crate::machine::disturbance::{self, Disturbance};
use crate::machine::throttling::{self, Throttling};
use crate::manager::overheads::Measured;
use layland_model::{CpuId, Duration, Index, Request, RequestKind, System, Time};
use layland_trace::{Mark, MarkKind, Trace};

/// The outcome of a run.
pub struct Outcome {
    /// The record of everything that happened.
    pub log: Log,
    /// The overheads that the run measured itself.
    pub measured: Measured,
    /// The time at which it ended.
    pub end: Time,
    /// True if it ended early.
    pub interrupted: bool,
    /// The number of events that the policy received.
    pub events: u64,
    /// The number of decisions that the policy made.
    pub decisions: u64,
    /// The CPU of the platform that the manager shared.
    pub manager: Option<CpuId>,
    /// The causes that took CPUs from the run, by name.
    pub disturbance: Disturbance,
    /// The kernel's limits on the processor time of real-time threads.
    pub throttling: Vec<Throttling>,
    /// The reasons to doubt the figures; empty if they are reliable.
    pub doubts: Vec<String>,
    /// Irregularities that do not affect the figures.
    pub remarks: Vec<String>,
    /// The class of the watchdog.
    pub watchdog: WatchdogClass,
    /// The CPUs of the machine that came or went, as requests of the set. Only the engine `ext`
    /// detects them.
    pub cpu_changes: Vec<Request>,
    /// The additional counters of the engine `ext`.
    #[cfg(feature = "ext")]
    pub ext: Option<crate::ext::ExtFigures>,
}

impl Outcome {
    /// Returns the reason, if any, why missed deadlines say more about this machine than about the
    /// policy: the machine paused, or was kept from its CPUs, for longer than the least slack of a
    /// task.
    pub fn pause(&self, system: &System) -> Option<String> {
        let latencies = [
            &self.measured.release,
            &self.measured.timer,
            &self.measured.completion,
            &self.measured.switch,
            &self.measured.migration,
        ];
        let late = latencies.into_iter().map(|times| times.max()).max().unwrap_or(0);
        let trace = self.trace(system, trace::View::Measured);
        // Consider jobs that had a CPU but not the time, which a manager on another CPU cannot see.
        // On a CPU that the manager shares, its own time is not a disturbance. Twice its mean
        // serves as an estimate.
        let invocation = self.measured.invocation.figures();
        let own = invocation.map_or(0.0, |own| own.mean_ns * own.count as f64);
        let share = 2.0 * own / self.end.ns().max(1) as f64;
        let kept = trace.segments.iter().map(|segment| {
            let length = (segment.end - segment.start).ns() as f64;
            let own = if self.manager == Some(segment.cpu) { share * length } else { 0.0 };
            Duration::from_ns((segment.overhead.ns() - own as i64).max(0))
        });
        let kept = kept.max().unwrap_or_default();
        let pause = Duration::from_ns(late).max(kept);
        let throttled = throttling::cause(&self.throttling, pause, |window| {
            busiest(&trace, system.platform.cpu_count(), window)
        });
        let throttled = throttled.map(|throttled| throttled.to_string());
        let slack = crate::fifo::prepare::least_slack(system)?;
        disturbance::excuse(pause, &self.disturbance, throttled.as_deref(), slack)
    }

    /// Returns the system as run, including CPUs of the machine that came or went, which the set
    /// cannot know.
    pub fn system(&self, system: &System) -> System {
        let mut system = system.clone();
        if !self.cpu_changes.is_empty() {
            let marks = self.trace(&system, trace::View::Decided).marks;
            system.requests.extend(as_notified(&self.cpu_changes, &marks));
            system.requests.sort_by_key(|request| request.at);
        }
        system
    }

    /// Returns the run as a trace.
    pub fn trace(&self, system: &System, view: trace::View) -> Trace {
        trace::trace(&self.log, system, view)
    }
}

/// Returns changes of CPUs at the times at which the policy was notified, where those are earlier. An
/// instant of the policy begins before the manager reads what the kernel reports, so that the kernel
/// may date a change later than the policy does.
fn as_notified(changes: &[Request], marks: &[Mark]) -> Vec<Request> {
    let mut notified: Vec<(Time, RequestKind)> = marks
        .iter()
        .filter_map(|mark| match mark.kind {
            MarkKind::CpuOnline(cpu) => Some((mark.at, RequestKind::CpuOnline(cpu))),
            MarkKind::CpuOffline(cpu) => Some((mark.at, RequestKind::CpuOffline(cpu))),
            MarkKind::BudgetExhausted(..)
            | MarkKind::Speed(..)
            | MarkKind::Lock(..)
            | MarkKind::Suspended(_)
            | MarkKind::Resumed(_)
            | MarkKind::Note(_) => None,
        })
        .collect();
    let dated = |change: &Request| {
        let mut change = change.clone();
        if let Some(place) = notified.iter().position(|(_, kind)| *kind == change.kind) {
            change.at = change.at.min(notified.remove(place).0);
        }
        change
    };
    changes.iter().map(dated).collect()
}

/// Returns the longest time that a CPU was busy within a window of this length.
fn busiest(trace: &Trace, cpus: usize, window: Duration) -> Duration {
    let of_cpu = |index: usize| {
        let cpu = CpuId::from_index(index);
        let own: Vec<_> = trace.segments.iter().filter(|segment| segment.cpu == cpu).collect();
        let (mut most, mut sum, mut first) = (Duration::ZERO, Duration::ZERO, 0);
        for segment in &own {
            sum += segment.end - segment.start - segment.overhead;
            while segment.end - own[first].end > window {
                sum -= own[first].end - own[first].start - own[first].overhead;
                first += 1;
            }
            most = most.max(sum);
        }
        most
    };
    (0..cpus).map(of_cpu).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{JobId, TaskId};
    use layland_trace::Segment;

    #[test]
    fn a_window_is_as_busy_as_its_jobs() {
        let ms = |ms| Time::from_ms(ms);
        let segment = |cpu, start, end, kept| Segment {
            job: JobId { task: TaskId(0), seq: 0 },
            cpu: CpuId(cpu),
            start: ms(start),
            end: ms(end),
            overhead: Duration::from_ms(kept),
        };
        let segments = vec![
            segment(0, 0, 400, 0),
            segment(1, 0, 100, 0),
            segment(0, 500, 1_000, 50),
            segment(0, 1_100, 1_400, 0),
        ];
        let trace = Trace { segments, ..Trace::default() };
        assert_eq!(busiest(&trace, 2, Duration::from_ms(1_000)), Duration::from_ms(1_150));
        assert_eq!(busiest(&trace, 2, Duration::from_ms(300)), Duration::from_ms(450));
        assert_eq!(busiest(&Trace::default(), 2, Duration::from_ms(300)), Duration::ZERO);
    }

    #[test]
    fn a_change_is_no_later_than_its_notification() {
        let (off, on) = (RequestKind::CpuOffline(CpuId(2)), RequestKind::CpuOnline(CpuId(2)));
        let change = |at, kind: &RequestKind| Request { at: Time::from_us(at), kind: kind.clone() };
        let mark = |at, kind| Mark { at: Time::from_us(at), kind };
        let changes = [change(101, &off), change(200, &on), change(305, &off), change(400, &on)];
        let marks = [
            mark(100, MarkKind::CpuOffline(CpuId(2))),
            mark(150, MarkKind::CpuOnline(CpuId(1))),
            mark(250, MarkKind::CpuOnline(CpuId(2))),
            mark(300, MarkKind::CpuOffline(CpuId(2))),
        ];
        let dated = as_notified(&changes, &marks);
        let at: Vec<Time> = dated.iter().map(|change| change.at).collect();
        assert_eq!(at, [100, 200, 300, 400].map(Time::from_us));
    }
}
