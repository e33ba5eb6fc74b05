//! A thread that empties the kernel's trace buffer while something else goes on.

use crate::kernel::sys;
use crate::kernel::tracefs::Instance;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// How often the buffer is emptied.
const EVERY_NS: i64 = 50_000_000;

/// Writes what an [`Instance`] records. Its thread is ordinary, and so gets what real-time threads leave.
#[derive(Debug)]
pub struct Recorder<W> {
    thread: JoinHandle<io::Result<(W, u64)>>,
    is_over: Arc<AtomicBool>,
}

impl<W: Write + Send + 'static> Recorder<W> {
    /// Starts the thread.
    ///
    /// # Errors
    /// If there can be no thread.
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

    /// Ends the recording. Returns how many events were lost.
    ///
    /// # Errors
    /// If something could not be read or written.
    pub fn finish(self) -> io::Result<(W, u64)> {
        self.is_over.store(true, Ordering::Release);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the recorder panicked")))
    }
}
