//! Long operations: they release the interpreter's lock, and Ctrl-C interrupts them.

use pyo3::exceptions::{PyKeyboardInterrupt, PyRecursionError, PyRuntimeError, PySystemExit};
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The interval between checks for signals.
const EVERY: Duration = Duration::from_millis(20);
/// The limit on the nesting of operations that call Python, which starts such operations again.
/// Each level needs some ten kilobytes of the stack, and the interpreter counts only its own
/// frames.
const DEEPEST: u32 = 16;

thread_local! {
    /// The nesting of the Python code that this thread runs.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// An operation that may still call Python.
struct Working {
    /// The process that runs it: a forked child has a copy of this list, but not the threads of its
    /// parent.
    process: u32,
    /// The thread that waits for it, by Python's identifier.
    thread: u64,
    stop: Weak<Stop>,
}

struct AllWork {
    /// True once the interpreter exits.
    is_over: bool,
    work: Vec<Working>,
}

/// Locked only by threads that hold the interpreter's lock, or that wait for the exit.
static WORK: Mutex<AllWork> = Mutex::new(AllWork { is_over: false, work: Vec::new() });

/// The reason to stop an operation early: an error of a Python function, or a signal.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    error: Mutex<Option<PyErr>>,
    /// True once there is an error.
    pub stopped: AtomicBool,
    /// The nesting of Python code that this operation calls.
    depth: u32,
}

impl Stop {
    /// Registers an operation that may call Python.
    ///
    /// # Errors
    /// `RecursionError`, if operations are nested too deeply; and `RuntimeError`, if the
    /// interpreter exits: a thread that it ends while frames of this library are on its stack would
    /// take the process with it.
    pub(crate) fn of_work(py: Python<'_>) -> PyResult<Arc<Stop>> {
        let depth = DEPTH.get() + 1;
        if depth > DEEPEST {
            let message =
                format!("a policy asks for simulations from within simulations, {DEEPEST} deep");
            return Err(PyRecursionError::new_err(message));
        }
        let thread = py.import("threading")?.getattr("get_ident")?.call0()?.extract()?;
        let stop = Arc::new(Stop { depth, ..Stop::default() });
        let mut all = WORK.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_over {
            return Err(PyRuntimeError::new_err("nothing is simulated while the interpreter ends"));
        }
        all.work.retain(|working| working.stop.strong_count() > 0);
        let (process, weak) = (std::process::id(), Arc::downgrade(&stop));
        all.work.push(Working { process, thread, stop: weak });
        Ok(stop)
    }

    /// Calls Python: operations that it starts are one level deeper.
    pub(crate) fn within<T>(&self, call: impl FnOnce() -> T) -> T {
        let before = DEPTH.replace(self.depth);
        let called = call();
        DEPTH.set(before);
        called
    }

    /// Stops the operation. The first error counts.
    pub(crate) fn with(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Returns true if the operation was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Raises the error that stopped the operation.
    pub(crate) fn raise(&self) -> PyResult<()> {
        match self.error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Stops all work that may call Python, before the interpreter ends: from now on there is none. Returns the threads
/// that wait for it, except this one.
#[pyfunction]
pub(crate) fn end_work() -> Vec<u64> {
    let mut all = WORK.lock().unwrap_or_else(PoisonError::into_inner);
    all.is_over = true;
    let mut threads = Vec::new();
    for working in all.work.iter().filter(|working| working.process == std::process::id()) {
        if let Some(stop) = working.stop.upgrade() {
            stop.with(PySystemExit::new_err(()));
            threads.push(working.thread);
        }
    }
    threads
}

/// Interrupts the work for which some threads wait, by Python's identifiers of these threads.
#[pyfunction]
pub(crate) fn stop_work(threads: Vec<u64>) {
    let all = WORK.lock().unwrap_or_else(PoisonError::into_inner);
    for working in all.work.iter().filter(|working| working.process == std::process::id()) {
        if threads.contains(&working.thread)
            && let Some(stop) = working.stop.upgrade()
        {
            stop.with(PyKeyboardInterrupt::new_err(()));
        }
    }
}

/// Waits until work that was stopped has ended, for at most this many milliseconds. Returns true if it has ended.
#[pyfunction]
pub(crate) fn work_has_ended(py: Python<'_>, milliseconds: u64) -> bool {
    let is_left = || {
        let all = WORK.lock().unwrap_or_else(PoisonError::into_inner);
        let own = |working: &&Working| working.process == std::process::id();
        all.work.iter().filter(own).any(|working| working.stop.strong_count() > 0)
    };
    let step = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    py.detach(|| {
        while is_left() {
            if waited >= Duration::from_millis(milliseconds) {
                return false;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "it waits for threads of its own process"
            )]
            std::thread::sleep(step);
            waited += step;
        }
        true
    })
}

/// Reports the progress of an operation at intervals, and checks for signals.
pub(crate) struct Watch<'a> {
    stop: &'a Stop,
    progress: Option<&'a Py<PyAny>>,
    #[expect(
        clippy::disallowed_types,
        reason = "how often the user is told is a matter of real time"
    )]
    last: Mutex<Option<std::time::Instant>>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(stop: &'a Stop, progress: Option<&'a Py<PyAny>>) -> Watch<'a> {
        Watch { stop, progress, last: Mutex::new(None) }
    }

    /// Notes that the operation has reached this point.
    #[expect(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        reason = "how often the user is told is a matter of real time"
    )]
    pub(crate) fn tell(&self, at: i64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < EVERY) {
            return;
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = self.progress else { return Ok(()) };
            self.stop.within(|| progress.call1(py, (at,)).map(|_| ()))
        });
        if let Err(error) = told {
            self.stop.with(error);
        }
        *last = Some(std::time::Instant::now());
    }
}

/// Runs an operation that cannot be stopped, in a thread of its own. After a signal the caller does
/// not wait for it.
pub(crate) fn in_background<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    interruptible(py, &Stop::default(), |_| Ok(()), work)
}

/// Runs an operation in a thread of its own, and reports its progress at intervals. A signal, or an
/// exception from the report, stops it if it can be stopped, and ends the wait in any case. Raises
/// the error that stopped it.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    tell: impl Fn(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, result) = channel();
    // The closure of `detach` must be `Send`, which a reference to a `Receiver` is not.
    let result = Mutex::new(result);
    #[expect(clippy::disallowed_methods, reason = "it ends with the work, which is bounded")]
    std::thread::spawn(move || {
        // The send fails if the caller no longer waits.
        let _ = done.send(work());
    });
    loop {
        let waited =
            py.detach(|| result.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(EVERY));
        match waited {
            Ok(result) => {
                stop.raise()?;
                tell(py)?;
                return Ok(result);
            }
            Err(RecvTimeoutError::Timeout) => {
                if stop.is_stopped() {
                    stop.raise()?;
                }
                if let Err(error) = py.check_signals().and_then(|()| tell(py)) {
                    stop.with(error);
                    stop.raise()?;
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "layland has a bug, reported on standard error: please report it with the task set",
                ));
            }
        }
    }
}
