//! The bare mechanism of the engine, measured by itself: one thread preempts another by a change of
//! two priorities. Any additional time of the engine is its own cost.
//!
//! Two threads spin on one CPU. Every period, a manager sleeps until an absolute time, publishes
//! the index of the next thread, lowers the other one and raises this one. The raised thread reads
//! the clock in the first iteration of its loop after that. Both threads nap for a fifth of each
//! period, so that real-time threads never take the whole CPU.

use crate::RunError;
use crate::fifo::guard;
use crate::kernel::sys::{self, RUN, Tid, WAIT};
use crate::machine::Awake;
use crate::machine::changes::no_process;
use crate::manager::overheads::Distribution;
use layland_model::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, Ordering};

const PERIOD_NS: i64 = 1_000_000;
/// The nap, within each period.
const NAP_NS: std::ops::Range<i64> = 550_000..750_000;
/// The longest measurement.
const LONGEST: Duration = Duration::from_secs(60);

/// The latencies of the bare mechanism.
#[derive(Clone, Debug, Default)]
pub struct RawMechanism {
    /// The time from the expiry of the timer to the manager's clock.
    pub timer: Distribution,
    /// The time from the expiry of the timer to the first instruction of the raised thread.
    pub dispatch: Distribution,
    /// The time of the two calls.
    pub calls: Distribution,
    /// The number of periods in which the raised thread did not run before the next period.
    pub lost: u64,
}

#[derive(Default)]
struct Spinner {
    tid: AtomicI32,
    seen: AtomicU32,
    seen_ns: AtomicI64,
}

#[derive(Default)]
struct Stage {
    spinners: [Spinner; 2],
    turn: AtomicU32,
    start_ns: AtomicI64,
    quit: AtomicBool,
}

/// Measures the bare mechanism on one CPU of the machine, with the manager on another or the same.
///
/// # Errors
/// Returns an error if the kernel refuses real-time priorities or threads.
pub fn measure(
    cpu: usize,
    manager_cpu: usize,
    duration: Duration,
) -> Result<RawMechanism, RunError> {
    let duration = duration.min(LONGEST);
    let _awake = Awake::keep();
    let stage = Arc::new(Stage::default());
    let refused = |error: &std::io::Error| {
        let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
        RunError::refused("failed to measure the mechanism", error, help)
    };
    let until_ns = sys::monotonic_ns() + duration.ns() + guard::GRACE_NS;
    std::thread::scope(|scope| {
        let no_thread = |error: std::io::Error| {
            stage.quit.store(true, Ordering::Release);
            RunError::refused("failed to start a thread", &error, no_process(&error))
        };
        for index in 0..2 {
            let stage = Arc::clone(&stage);
            let spinner = std::thread::Builder::new();
            spinner
                .spawn_scoped(scope, move || spin(&stage, index, until_ns))
                .map_err(no_thread)?;
        }
        let direct = std::thread::Builder::new().spawn_scoped(scope, || {
            let result = direct(&stage, cpu, manager_cpu, duration);
            stage.quit.store(true, Ordering::Release);
            for spinner in &stage.spinners {
                let _ = sys::set_ordinary(Tid(spinner.tid.load(Ordering::Acquire)));
            }
            result
        });
        match direct.map_err(no_thread)?.join() {
            Ok(result) => result.map_err(|error| refused(&error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn spin(stage: &Stage, index: u32, until_ns: i64) {
    let spinner = &stage.spinners[index as usize];
    sys::precise_timers();
    spinner.tid.store(Tid::own().0, Ordering::Release);
    let mut seen = 0;
    while !stage.quit.load(Ordering::Relaxed) {
        let turn = stage.turn.load(Ordering::Acquire);
        let now = sys::monotonic_ns();
        if turn != seen && turn % 2 == index {
            seen = turn;
            // Read the clock again, because the first reading may precede the change of the turn.
            spinner.seen_ns.store(sys::monotonic_ns(), Ordering::Relaxed);
            spinner.seen.store(turn, Ordering::Release);
        }
        let start = stage.start_ns.load(Ordering::Relaxed);
        if start == 0 {
            sys::sleep_until(now + PERIOD_NS);
            continue;
        }
        let phase = (now - start).rem_euclid(PERIOD_NS);
        if NAP_NS.contains(&phase) {
            sys::sleep_until(now - phase + NAP_NS.end);
        }
        if now > until_ns {
            return;
        }
    }
}

fn direct(
    stage: &Stage,
    cpu: usize,
    manager_cpu: usize,
    duration: Duration,
) -> std::io::Result<RawMechanism> {
    sys::name_thread("layland-raw");
    sys::precise_timers();
    let tids = loop {
        let tids: Vec<i32> =
            stage.spinners.iter().map(|spinner| spinner.tid.load(Ordering::Acquire)).collect();
        if tids.iter().all(|&tid| tid != 0) {
            break tids;
        }
        sys::sleep_until(sys::monotonic_ns() + 100_000);
    };
    let mut measured = RawMechanism::default();
    sys::pin(Tid::own(), manager_cpu)?;
    for &tid in &tids {
        sys::pin(Tid(tid), cpu)?;
        sys::set_fifo(Tid(tid), WAIT)?;
    }
    sys::set_fifo(Tid::own(), sys::MANAGER)?;
    let start = sys::monotonic_ns() + 10 * PERIOD_NS;
    stage.start_ns.store(start, Ordering::Relaxed);
    let slots = duration.ns() / PERIOD_NS;
    let mut slot = 0;
    let mut before: Option<(u32, i64)> = None;
    while slot < slots {
        let due = start + slot * PERIOD_NS;
        sys::sleep_until(due);
        let awake = sys::monotonic_ns();
        measured.timer.record(awake - due);
        let turn = stage.turn.load(Ordering::Relaxed).wrapping_add(1);
        let (next, other) = ((turn % 2) as usize, (turn.wrapping_add(1) % 2) as usize);
        stage.turn.store(turn, Ordering::Release);
        sys::set_fifo(Tid(tids[other]), WAIT)?;
        sys::set_fifo(Tid(tids[next]), RUN)?;
        measured.calls.record(sys::monotonic_ns() - awake);
        // The previous thread has had a whole period, so reading its result causes no delay now.
        if let Some((turn, due)) = before.replace((turn, due)) {
            let spinner = &stage.spinners[other];
            if spinner.seen.load(Ordering::Acquire) == turn {
                measured.dispatch.record(spinner.seen_ns.load(Ordering::Relaxed) - due);
            } else {
                measured.lost += 1;
            }
        }
        let now = sys::monotonic_ns();
        slot = (slot + 1).max((now - start) / PERIOD_NS + 1);
    }
    sys::set_ordinary(Tid::own())?;
    Ok(measured)
}

/// Measures interruptions of a thread of the highest class, in particular by the timer tick.
/// Returns the lengths of the interruptions and the distances between them.
///
/// # Errors
/// Returns an error if the kernel refuses a real-time priority.
pub fn interruptions(cpu: usize) -> Result<(Distribution, Distribution), RunError> {
    const LENGTH_NS: i64 = 300_000_000;
    /// Longer than any reading of the clock.
    const SHORTEST_NS: i64 = 1_000;
    let spin = move || -> std::io::Result<(Distribution, Distribution)> {
        sys::pin(Tid::own(), cpu)?;
        let (mut lengths, mut distances) = (Distribution::default(), Distribution::default());
        sys::set_fifo(Tid::own(), RUN)?;
        let begin = sys::monotonic_ns();
        let (mut last, mut previous) = (begin, None);
        while last - begin < LENGTH_NS {
            let now = sys::monotonic_ns();
            if now - last >= SHORTEST_NS {
                lengths.record(now - last);
                if let Some(previous) = previous.replace(last) {
                    distances.record(last - previous);
                }
            }
            last = now;
        }
        sys::set_ordinary(Tid::own())?;
        Ok((lengths, distances))
    };
    let refused = |error: std::io::Error| {
        let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
        RunError::refused("failed to measure interruptions", &error, help)
    };
    let thread = std::thread::Builder::new().spawn(spin);
    let thread = thread.map_err(|error| {
        RunError::refused("failed to start a thread", &error, no_process(&error))
    })?;
    match thread.join() {
        Ok(result) => result.map_err(refused),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
