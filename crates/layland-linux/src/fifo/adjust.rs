//! The costs of preempting a thread, changing the priorities of others, and returning: the parts of
//! every invocation of a manager.
//!
//! Source: H.-M. Huang, C. Gill, C. Lu. Implementation and evaluation of mixed-criticality scheduling
//! approaches for sporadic tasks. ACM TECS 13(4s), 2014, Section 5.3, Fig. 6.
//!
//! One thread spins on a CPU and publishes the clock; others are ready behind it. In every period a
//! manager wakes up on that CPU, lowers or raises the others one after the other, and sleeps again.
//! Every thread rests for half of each period, so that real-time threads never take the whole CPU.

use crate::RunError;
use crate::fifo::guard;
use crate::kernel::sys::{self, RUN, Tid, WAIT};
use crate::machine::Awake;
use crate::manager::overheads::Distribution;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

const PERIOD_NS: i64 = 2_000_000;
/// Offsets within a period: the threads spin until the first one, and the manager wakes at the
/// second.
const SPIN_NS: i64 = 1_000_000;
const MANAGE_NS: i64 = 400_000;
/// The largest number of threads that are moved at once.
pub const MOST_MOVED: usize = 64;

/// The cost of an invocation that changes the priorities of `threads` threads.
#[derive(Clone, Debug, Default)]
pub struct Adjustment {
    /// The number of threads.
    pub threads: usize,
    /// The time from the last instruction of the preempted thread to the first one of the manager.
    pub preemption: Distribution,
    /// The time of the first change of a priority in an invocation.
    pub first: Distribution,
    /// The time of each further change.
    pub further: Distribution,
    /// The time from the manager's last instruction to the next one of the preempted thread.
    pub back: Distribution,
}

struct Stage {
    tids: Vec<AtomicI32>,
    /// The last clock reading of the spinning thread.
    seen_ns: AtomicI64,
    /// The last clock reading of the manager, and the spinning thread's first reading after it.
    left_ns: AtomicI64,
    back_ns: AtomicI64,
    start_ns: AtomicI64,
    quit: AtomicBool,
}

/// Measures `rounds` invocations on one CPU of the machine, for each number of threads from 1 to
/// `most`.
///
/// # Errors
/// Returns an error if the kernel refuses real-time priorities or threads, or for more than
/// [`MOST_MOVED`] threads.
pub fn adjustments(cpu: usize, most: usize, rounds: u32) -> Result<Vec<Adjustment>, RunError> {
    if most > MOST_MOVED {
        let reason = format!("{most} threads are too many to move at once: at most {MOST_MOVED}");
        return Err(RunError::unsupported(reason));
    }
    (1..=most).map(|threads| adjust(cpu, threads, rounds)).collect()
}

fn adjust(cpu: usize, threads: usize, rounds: u32) -> Result<Adjustment, RunError> {
    let _awake = Awake::keep();
    let stage = Arc::new(Stage {
        tids: (0..=threads).map(|_| AtomicI32::new(0)).collect(),
        seen_ns: AtomicI64::new(0),
        left_ns: AtomicI64::new(0),
        back_ns: AtomicI64::new(0),
        start_ns: AtomicI64::new(0),
        quit: AtomicBool::new(false),
    });
    let until_ns =
        sys::monotonic_ns() + i64::from(rounds) * PERIOD_NS + 100_000_000 + guard::GRACE_NS;
    let result = std::thread::scope(|scope| {
        for index in 0..=threads {
            let stage = Arc::clone(&stage);
            scope.spawn(move || spin(&stage, index, until_ns));
        }
        let manager = scope.spawn(|| {
            let result = manage(&stage, cpu, rounds);
            stage.quit.store(true, Ordering::Release);
            for tid in &stage.tids {
                let _ = sys::set_ordinary(Tid(tid.load(Ordering::Acquire)));
            }
            result
        });
        manager.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    result.map_err(|error| {
        let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
        RunError::refused("failed to measure changes of priorities", &error, help)
    })
}

/// Runs a thread: the first one is preempted, the others change their priorities.
fn spin(stage: &Stage, index: usize, until_ns: i64) {
    sys::precise_timers();
    stage.tids[index].store(Tid::own().0, Ordering::Release);
    let mut left = 0;
    loop {
        let now = sys::monotonic_ns();
        if stage.quit.load(Ordering::Relaxed) || now > until_ns {
            return;
        }
        let start = stage.start_ns.load(Ordering::Acquire);
        if start == 0 {
            sys::sleep_until(now + PERIOD_NS);
            continue;
        }
        let phase = (now - start).rem_euclid(PERIOD_NS);
        if phase >= SPIN_NS {
            sys::sleep_until(now - phase + PERIOD_NS);
        } else if index == 0 {
            let last = stage.left_ns.load(Ordering::Acquire);
            if last != left {
                left = last;
                stage.back_ns.store(now, Ordering::Release);
            }
            stage.seen_ns.store(now, Ordering::Release);
        }
    }
}

fn manage(stage: &Stage, cpu: usize, rounds: u32) -> std::io::Result<Adjustment> {
    sys::name_thread("layland-adjust");
    sys::precise_timers();
    let tids: Vec<Tid> = loop {
        let tids: Vec<i32> = stage.tids.iter().map(|tid| tid.load(Ordering::Acquire)).collect();
        if tids.iter().all(|&tid| tid != 0) {
            break tids.into_iter().map(Tid).collect();
        }
        sys::sleep_until(sys::monotonic_ns() + 100_000);
    };
    let mut measured = Adjustment { threads: tids.len() - 1, ..Adjustment::default() };
    sys::pin(Tid::own(), cpu)?;
    for (index, &tid) in tids.iter().enumerate() {
        sys::pin(tid, cpu)?;
        sys::set_fifo(tid, if index == 0 { RUN } else { WAIT })?;
    }
    sys::set_fifo(Tid::own(), sys::MANAGER)?;
    let start = sys::monotonic_ns() + 10 * PERIOD_NS;
    stage.start_ns.store(start, Ordering::Release);
    let mut left = 0;
    for round in 0..i64::from(rounds) {
        let due = start + round * PERIOD_NS + MANAGE_NS;
        sys::sleep_until(due);
        let awake = sys::monotonic_ns();
        let seen = stage.seen_ns.load(Ordering::Acquire);
        if left != 0 && stage.back_ns.load(Ordering::Acquire) > left {
            measured.back.record(stage.back_ns.load(Ordering::Acquire) - left);
        }
        // The preemption counts only if the thread was running just before.
        if (due - PERIOD_NS / 10..=awake).contains(&seen) {
            measured.preemption.record(awake - seen);
        }
        let priority = if round % 2 == 0 { RUN - 1 } else { WAIT };
        let mut before = sys::monotonic_ns();
        for (index, &tid) in tids[1..].iter().enumerate() {
            sys::set_fifo(tid, priority)?;
            let after = sys::monotonic_ns();
            let which = if index == 0 { &mut measured.first } else { &mut measured.further };
            which.record(after - before);
            before = after;
        }
        left = before;
        stage.left_ns.store(left, Ordering::Release);
    }
    sys::set_ordinary(Tid::own())?;
    Ok(measured)
}
