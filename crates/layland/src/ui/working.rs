//! A progress line on standard error: from the first second on until the command prints something.
//! It is shown only if standard error is a terminal.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a user waits in real time, and nothing depends on what is said"
)]

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A command that ends sooner shows no line.
const SOON: Duration = Duration::from_millis(800);
/// The interval between two updates of the line.
const EVERY: Duration = Duration::from_millis(100);

/// The line, while there is one.
static SHOWN: Mutex<Option<Working>> = Mutex::new(None);

struct Working {
    /// Dropping the sender ends the line.
    ends: Option<Sender<()>>,
    shows: Option<JoinHandle<()>>,
}

impl Working {
    fn new(what: &'static str) -> Working {
        let (ends, ended) = channel::<()>();
        let start = Instant::now();
        let shows = std::thread::spawn(move || {
            let goes_on = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if !goes_on(SOON) {
                return;
            }
            let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{spinner} {msg}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            line.set_style(style.tick_chars("|/-\\ "));
            loop {
                line.set_message(format!("{what}, {} s", start.elapsed().as_secs()));
                line.tick();
                if !goes_on(EVERY) {
                    break;
                }
            }
            line.finish_and_clear();
        });
        Working { ends: Some(ends), shows: Some(shows) }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.ends = None;
        // Wait until the line is removed before anything is printed.
        let _ = self.shows.take().map(JoinHandle::join);
    }
}

fn shown() -> MutexGuard<'static, Option<Working>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the progress line, which appears if the command takes long enough and standard error is a
/// terminal.
pub(crate) fn begin(what: &'static str) {
    if std::io::stderr().is_terminal() {
        *shown() = Some(Working::new(what));
    }
}

/// Removes the progress line before output, or when the command is done.
pub(crate) fn end() {
    let working = shown().take();
    drop(working);
}
