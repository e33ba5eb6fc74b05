//! A line on standard error that says that a command works: from the first second on until the command prints
//! something. Where standard error is no terminal there is none.
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

/// Commands that are done sooner show nothing.
const SOON: Duration = Duration::from_millis(800);
/// So often the line changes.
const EVERY: Duration = Duration::from_millis(100);

/// The line, while there is one.
static SHOWN: Mutex<Option<Working>> = Mutex::new(None);

struct Working {
    /// The line ends when this is dropped.
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
        // Nothing may be printed while the line is still there.
        let _ = self.shows.take().map(JoinHandle::join);
    }
}

fn shown() -> MutexGuard<'static, Option<Working>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says from now on that the command works, if it takes long enough and standard error is a terminal.
pub(crate) fn begin(what: &'static str) {
    if std::io::stderr().is_terminal() {
        *shown() = Some(Working::new(what));
    }
}

/// Takes the line away: something is printed, or the command is done.
pub(crate) fn end() {
    let working = shown().take();
    drop(working);
}
