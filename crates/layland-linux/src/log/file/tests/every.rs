//! Logs with every kind of entry, built from numbers.

use crate::log::{Entry, Log, Record};
use layland_model::{
    CpuId, CpuSet, Criticality, Duration, JobId, MoveReason, Note, Rate, Service, Speed, Task,
    TaskId, Time,
};
use layland_policy::{AfterJob, Refusal, RequestId, TimerId};

// Each use draws another number from the closure.
macro_rules! draw {
    ($draw:ident, u32) => {
        $draw() as u32
    };
    ($draw:ident, bool) => {
        $draw() % 2 == 0
    };
    ($draw:ident, CpuId) => {
        CpuId(draw!($draw, u32))
    };
    ($draw:ident, TaskId) => {
        TaskId(draw!($draw, u32))
    };
    ($draw:ident, JobId) => {
        JobId { task: draw!($draw, TaskId), seq: $draw() }
    };
    ($draw:ident, RequestId) => {
        RequestId(draw!($draw, u32))
    };
    ($draw:ident, TimerId) => {
        TimerId(draw!($draw, u32))
    };
    ($draw:ident, Time) => {
        Time::from_ns($draw() as i64)
    };
    ($draw:ident, Service) => {
        Service::from_ns($draw() as i64)
    };
    ($draw:ident, Budget) => {
        draw!($draw, bool).then(|| Duration::from_ns($draw() as i64))
    };
    ($draw:ident, Option) => {
        draw!($draw, bool).then(|| draw!($draw, Service))
    };
}

/// Returns one entry of each kind but `enter`. The numbers in it are drawn one by one; `reason` is the
/// position of a refusal.
fn entries(draw: &mut impl FnMut() -> u64, reason: u32) -> Vec<Entry> {
    let small = 1_000_000;
    let [numerator, denominator] = [(); 2].map(|()| 1 + (draw() % small) as i64);
    let speed = Speed::new(&Rate::new(numerator, denominator)).unwrap();
    let then = [AfterJob::Blocks, AfterJob::Continues, AfterJob::Yields][draw() as usize % 3];
    let why = MoveReason::ALL[draw() as usize % MoveReason::ALL.len()];
    let level = Criticality(draw() as u8);
    vec![
        Entry::Online { cpu: draw!(draw, CpuId) },
        Entry::Offline { cpu: draw!(draw, CpuId) },
        Entry::Join { task: draw!(draw, TaskId), request: draw!(draw, RequestId) },
        Entry::Leave { task: draw!(draw, TaskId) },
        Entry::Asks { index: draw!(draw, u32), request: draw!(draw, RequestId) },
        Entry::Arrival {
            job: draw!(draw, JobId),
            release: draw!(draw, Time),
            deadline: draw!(draw, Time),
        },
        Entry::Release {
            job: draw!(draw, JobId),
            release: draw!(draw, Time),
            deadline: draw!(draw, Time),
        },
        Entry::Completion { job: draw!(draw, JobId), cpu: draw!(draw, CpuId), then },
        Entry::Budget { job: draw!(draw, JobId), cpu: draw!(draw, CpuId) },
        Entry::Timer { id: draw!(draw, TimerId) },
        Entry::Measured { job: draw!(draw, JobId), executed: draw!(draw, Service) },
        Entry::Decide { actions: draw!(draw, u32), cost_ns: draw!(draw, u32) },
        Entry::Run {
            cpu: draw!(draw, CpuId),
            job: draw!(draw, JobId),
            budget: draw!(draw, Budget),
        },
        Entry::Idle { cpu: draw!(draw, CpuId) },
        Entry::SetTimer { id: draw!(draw, TimerId), at: draw!(draw, Time) },
        Entry::ClearTimer { id: draw!(draw, TimerId) },
        Entry::Abort { job: draw!(draw, JobId) },
        Entry::EndJob { job: draw!(draw, JobId), used_up: true },
        Entry::SetDates {
            job: draw!(draw, JobId),
            release: draw!(draw, Time),
            deadline: draw!(draw, Time),
        },
        Entry::SetSpeed { cpu: draw!(draw, CpuId), speed },
        Entry::Note(Note::Moved {
            task: draw!(draw, TaskId),
            from: draw!(draw, CpuId),
            to: draw!(draw, CpuId),
            why,
        }),
        Entry::Note(Note::Throttled { task: draw!(draw, TaskId) }),
        Entry::Note(Note::Replenished { task: draw!(draw, TaskId), deadline: draw!(draw, Time) }),
        Entry::Note(Note::Indicator { cpu: draw!(draw, CpuId), level }),
        Entry::Note(Note::Unlisted { task: draw!(draw, TaskId) }),
        Entry::Refuse { request: draw!(draw, RequestId), reason },
        Entry::Asked {
            job: draw!(draw, JobId),
            arrival: draw!(draw, Time),
            demand: draw!(draw, Option),
        },
        Entry::On { cpu: draw!(draw, CpuId), job: draw!(draw, JobId), since: draw!(draw, Time) },
        Entry::Off {
            cpu: draw!(draw, CpuId),
            job: draw!(draw, JobId),
            used: draw!(draw, Service),
            until: draw!(draw, Time),
        },
        Entry::Leaked { job: draw!(draw, JobId), got: draw!(draw, Service) },
        Entry::Done { job: draw!(draw, JobId), end: draw!(draw, Time), used: draw!(draw, Service) },
        Entry::Dropped { job: draw!(draw, JobId), aborted: draw!(draw, bool) },
        Entry::Granted { index: draw!(draw, u32) },
        Entry::Refused { index: draw!(draw, u32), reason },
        Entry::TurnedAway { task: draw!(draw, TaskId), reason },
        Entry::NeverReady {
            job: draw!(draw, JobId),
            arrival: draw!(draw, Time),
            release: draw!(draw, Time),
            deadline: draw!(draw, Time),
        },
        Entry::Over { interrupted: draw!(draw, bool) },
        Entry::Ended { job: draw!(draw, JobId) },
        Entry::Skipped {
            job: draw!(draw, JobId),
            arrival: draw!(draw, Time),
            release: draw!(draw, Time),
            deadline: draw!(draw, Time),
        },
        Entry::EndJob { job: draw!(draw, JobId), used_up: false },
    ]
}

/// Returns a log with `times` entries of each kind.
pub fn log(mut draw: impl FnMut() -> u64, times: usize) -> Log {
    let mut log = Log::default();
    for time in 0..times {
        let reason = format!("too\nmuch \\ \"here\" for {time}");
        let refusal = [Refusal::busy, Refusal::not_permitted, Refusal::invalid][time % 3](reason);
        let reason = log.refusal(&refusal);
        let mut task =
            Task::implicit(format!("p{time}"), draw!(draw, Service), Duration::from_ms(9));
        task.affinity = (time % 2 == 0).then(|| CpuSet::first(1 + time));
        let program = log.program(&task);
        let entries = entries(&mut draw, reason);
        let (task, request) = (draw!(draw, TaskId), draw!(draw, RequestId));
        for entry in entries.into_iter().chain([Entry::Enter { task, request, program }]) {
            log.records.push(Record { at: Time::from_ns(draw() as i64), entry });
        }
    }
    log
}
