//! What came out of a run, and whether it can be believed.

use crate::fifo::guard::WatchdogClass;
use crate::log::{Log, trace};
use crate::machine::disturbance::{self, Disturbance};
use crate::machine::throttling::{self, Throttling};
use crate::manager::overheads::Measured;
use layland_model::{CpuId, Duration, Index, Request, System, Time};
use layland_trace::Trace;

/// What came out of a run.
pub struct Outcome {
    /// Everything that happened.
    pub log: Log,
    /// What the run measured of itself.
    pub measured: Measured,
    /// When it ended.
    pub end: Time,
    /// Whether that was before its time was over.
    pub interrupted: bool,
    /// How many events the policy was told.
    pub events: u64,
    /// How many decisions it made.
    pub decisions: u64,
    /// The CPU of the platform that the manager shared.
    pub manager: Option<CpuId>,
    /// What took CPUs from the run, by name.
    pub disturbance: Disturbance,
    /// What the kernel keeps from real-time threads.
    pub throttling: Vec<Throttling>,
    /// Why the figures are not to be believed; empty if they are.
    pub doubts: Vec<String>,
    /// What was not as it should be, but does no harm to the figures.
    pub remarks: Vec<String>,
    /// The class of the watchdog.
    pub watchdog: WatchdogClass,
    /// The CPUs of the machine that came or went, as if the set had asked for it. Only the engine `ext` can tell.
    pub cpu_changes: Vec<Request>,
    /// What the engine `ext` counts besides.
    #[cfg(feature = "ext")]
    pub ext: Option<crate::ext::ExtFigures>,
}

impl Outcome {
    /// Why a verdict of missed deadlines says more about this machine than about the policy, if it
    /// does: the machine paused, or was kept from its CPUs, for longer than the least slack of a task.
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
        // A job that had its CPU, and did not get the time: what the manager on another CPU cannot see. What the
        // manager itself takes, where it shares the CPU, is no disturbance; twice its mean is taken for it.
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

    /// The system that ran: with the CPUs of the machine that came or went, which its set cannot know.
    pub fn system(&self, system: &System) -> System {
        let mut system = system.clone();
        system.requests.extend(self.cpu_changes.iter().cloned());
        system.requests.sort_by_key(|request| request.at);
        system
    }

    /// The run as a trace.
    pub fn trace(&self, system: &System, view: trace::View) -> Trace {
        trace::trace(&self.log, system, view)
    }
}

/// For how long a CPU was busy within some window of this length, at most.
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
}
