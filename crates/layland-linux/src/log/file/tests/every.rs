//! Logs with every kind of entry, made of numbers.

use crate::log::{Entry, Log, Record};
use layland_model::{
    CpuId, Criticality, JobId, MoveReason, Note, Rate, Service, Speed, TaskId, Time,
};
use layland_policy::{AfterJob, Refusal, RequestId, TimerId};

/// One entry of each kind. The numbers in it are drawn one by one; `reason` is the place of a refusal.
pub fn entries(draw: &mut impl FnMut() -> u64, reason: u32) -> Vec<Entry> {
    // Each use is another number.
    macro_rules! draw {
        (u32) => {
            draw() as u32
        };
        (bool) => {
            draw() % 2 == 0
        };
        (CpuId) => {
            CpuId(draw!(u32))
        };
        (TaskId) => {
            TaskId(draw!(u32))
        };
        (JobId) => {
            JobId { task: draw!(TaskId), seq: draw() }
        };
        (RequestId) => {
            RequestId(draw!(u32))
        };
        (TimerId) => {
            TimerId(draw!(u32))
        };
        (Time) => {
            Time::from_ns(draw() as i64)
        };
        (Service) => {
            Service::from_ns(draw() as i64)
        };
        (Option) => {
            draw!(bool).then(|| draw!(Service))
        };
    }
    let small = 1_000_000;
    let [numerator, denominator] = [(); 2].map(|()| 1 + (draw() % small) as i64);
    let speed = Speed::new(&Rate::new(numerator, denominator)).unwrap();
    let then = [AfterJob::Blocks, AfterJob::Continues, AfterJob::Yields][draw() as usize % 3];
    let why = MoveReason::ALL[draw() as usize % MoveReason::ALL.len()];
    let level = Criticality(draw() as u8);
    vec![
        Entry::Online { cpu: draw!(CpuId) },
        Entry::Offline { cpu: draw!(CpuId) },
        Entry::Join { task: draw!(TaskId), request: draw!(RequestId) },
        Entry::Leave { task: draw!(TaskId) },
        Entry::Asks { index: draw!(u32), request: draw!(RequestId) },
        Entry::Arrival { job: draw!(JobId), release: draw!(Time), deadline: draw!(Time) },
        Entry::Release { job: draw!(JobId), release: draw!(Time), deadline: draw!(Time) },
        Entry::Completion { job: draw!(JobId), cpu: draw!(CpuId), then },
        Entry::Budget { job: draw!(JobId), cpu: draw!(CpuId) },
        Entry::Timer { id: draw!(TimerId) },
        Entry::Measured { job: draw!(JobId), executed: draw!(Service) },
        Entry::Decide { actions: draw!(u32), cost_ns: draw!(u32) },
        Entry::Run { cpu: draw!(CpuId), job: draw!(JobId), budget: draw!(Option) },
        Entry::Idle { cpu: draw!(CpuId) },
        Entry::SetTimer { id: draw!(TimerId), at: draw!(Time) },
        Entry::ClearTimer { id: draw!(TimerId) },
        Entry::Abort { job: draw!(JobId) },
        Entry::EndJob { job: draw!(JobId) },
        Entry::SetDates { job: draw!(JobId), release: draw!(Time), deadline: draw!(Time) },
        Entry::SetSpeed { cpu: draw!(CpuId), speed },
        Entry::Note(Note::Moved { task: draw!(TaskId), from: draw!(CpuId), to: draw!(CpuId), why }),
        Entry::Note(Note::Throttled { task: draw!(TaskId) }),
        Entry::Note(Note::Replenished { task: draw!(TaskId), deadline: draw!(Time) }),
        Entry::Note(Note::Indicator { cpu: draw!(CpuId), level }),
        Entry::Note(Note::Unlisted { task: draw!(TaskId) }),
        Entry::Refuse { request: draw!(RequestId), reason },
        Entry::Asked { job: draw!(JobId), arrival: draw!(Time), demand: draw!(Option) },
        Entry::On { cpu: draw!(CpuId), job: draw!(JobId), since: draw!(Time) },
        Entry::Off {
            cpu: draw!(CpuId),
            job: draw!(JobId),
            used: draw!(Service),
            until: draw!(Time),
        },
        Entry::Leaked { job: draw!(JobId), got: draw!(Service) },
        Entry::Done { job: draw!(JobId), end: draw!(Time), used: draw!(Service) },
        Entry::Dropped { job: draw!(JobId), aborted: draw!(bool) },
        Entry::Granted { index: draw!(u32) },
        Entry::Refused { index: draw!(u32), reason },
        Entry::TurnedAway { task: draw!(TaskId), reason },
        Entry::NeverReady {
            job: draw!(JobId),
            arrival: draw!(Time),
            release: draw!(Time),
            deadline: draw!(Time),
        },
        Entry::Over { interrupted: draw!(bool) },
    ]
}

/// A log of so many entries of each kind.
pub fn log(mut draw: impl FnMut() -> u64, times: usize) -> Log {
    let mut log = Log::default();
    for time in 0..times {
        let reason = format!("too\nmuch \\ \"here\" for {time}");
        let refusal = [Refusal::busy, Refusal::not_permitted, Refusal::invalid][time % 3](reason);
        let reason = log.refusal(&refusal);
        for entry in entries(&mut draw, reason) {
            log.records.push(Record { at: Time::from_ns(draw() as i64), entry });
        }
    }
    log
}
