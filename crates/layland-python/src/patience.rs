//! Work that takes long: the interpreter's lock is released, and Ctrl-C is heard.

use pyo3::exceptions::{PyRecursionError, PyRuntimeError, PySystemExit};
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// How often signals are looked at.
const EVERY: Duration = Duration::from_millis(20);
/// How deep work may nest that calls Python, which asks for such work again. Each level needs some ten kilobytes of
/// the stack, and the interpreter counts its own frames alone.
const DEEPEST: u32 = 16;

thread_local! {
    /// How deep the Python code is nested that this thread runs.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Work that may still call Python.
struct Working {
    /// The process that does it: a child that was forked off has this list, and not the threads of its parent.
    process: u32,
    /// The thread that waits for it, as Python counts threads.
    thread: u64,
    stop: Weak<Stop>,
}

struct AllWork {
    /// The interpreter ends.
    is_over: bool,
    work: Vec<Working>,
}

/// Is locked only by who holds the interpreter's lock, or waits for the end.
static WORK: Mutex<AllWork> = Mutex::new(AllWork { is_over: false, work: Vec::new() });

/// What stops work early, and why: an error of a Python function, or a signal.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    error: Mutex<Option<PyErr>>,
    /// Whether there is an error.
    pub stopped: AtomicBool,
    /// How deep what is called from this work is nested.
    depth: u32,
}

impl Stop {
    /// For work that may call Python.
    ///
    /// # Errors
    /// `RecursionError`, if it is asked for from such work, which was asked for from such work, and so on; and
    /// `RuntimeError`, if the interpreter ends: a thread that it ends while frames of this library are on its stack
    /// would take the process with it.
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

    /// Calls Python: what that asks for is one level deeper.
    pub(crate) fn within<T>(&self, call: impl FnOnce() -> T) -> T {
        let before = DEPTH.replace(self.depth);
        let called = call();
        DEPTH.set(before);
        called
    }

    /// Stops. The first error counts.
    pub(crate) fn with(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Whether it has stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Raises what stopped it.
    pub(crate) fn raise(&self) -> PyResult<()> {
        match self.error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Stops all work that may call Python, before the interpreter ends: from now on there is none. The threads that wait
/// for it, but for this one.
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

/// Waits until work that was stopped has ended, and at most for so many milliseconds. Whether it has.
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

/// Tells time and again how far some work is, and hears of signals.
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

    /// The work is at this point.
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

/// Does work that cannot be stopped in a thread of its own. After a signal nobody waits for it any longer.
pub(crate) fn in_background<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    interruptible(py, &Stop::default(), |_| Ok(()), work)
}

/// Does work in a thread of its own, and tells time and again how far it is. A signal, or what telling raises, stops
/// it, as far as it can be stopped; nobody waits for it then. Raises what stopped it.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    tell: impl Fn(Python<'_>) -> PyResult<()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (done, result) = channel();
    // Waiting without the interpreter's lock needs what can be shared.
    let result = Mutex::new(result);
    #[expect(clippy::disallowed_methods, reason = "it ends with the work, which is bounded")]
    std::thread::spawn(move || {
        // Nobody may be waiting any longer.
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
                    "layland has a bug, told on standard error: please report it with the task set",
                ));
            }
        }
    }
}
