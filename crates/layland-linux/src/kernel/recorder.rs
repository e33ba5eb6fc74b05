//! A thread that drains the kernel's trace buffer in the background.

use crate::kernel::sys;
use crate::kernel::tracefs::Instance;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The interval at which the buffer is drained.
const EVERY_NS: i64 = 50_000_000;

/// Writes the records of an [`Instance`]. Its thread is ordinary, so it runs after real-time
/// threads.
#[derive(Debug)]
pub struct Recorder<W> {
    thread: JoinHandle<io::Result<(W, u64)>>,
    is_over: Arc<AtomicBool>,
}

impl<W: Write + Send + 'static> Recorder<W> {
    /// Starts the thread.
    ///
    /// # Errors
    /// Returns an error if the thread cannot be started.
    pub fn start(mut instance: Instance, mut out: W) -> io::Result<Recorder<W>> {
        let is_over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_over);
        let name = "layland-record".to_owned();
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            while !own.load(Ordering::Acquire) {
                instance.drain(&mut out)?;
                sys::sleep_until(sys::monotonic_ns() + EVERY_NS);
            }
            let lost = instance.finish(&mut out)?;
            Ok((out, lost))
        })?;
        Ok(Recorder { thread, is_over })
    }

    /// Ends the recording. Returns the number of lost events.
    ///
    /// # Errors
    /// Returns an error if reading or writing failed.
    pub fn finish(self) -> io::Result<(W, u64)> {
        self.is_over.store(true, Ordering::Release);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the recorder panicked")))
    }
}
