//! Work that takes long: the interpreter's lock is released, and Ctrl-C is heard.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked at.
const EVERY: Duration = Duration::from_millis(20);

/// What stops work early, and why: an error of a Python function, or a signal.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    error: Mutex<Option<PyErr>>,
    /// Whether there is an error.
    pub stopped: AtomicBool,
}

impl Stop {
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
            self.progress.map_or(Ok(()), |progress| progress.call1(py, (at,)).map(|_| ()))
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
