//! Ctrl-C ends a run early; what was found so far is kept.

use std::sync::atomic::AtomicBool;
#[cfg(feature = "command")]
use std::sync::atomic::Ordering;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on the first interrupt sets the flag, and the second ends the program at once.
pub(crate) fn listen() -> &'static AtomicBool {
    // Fails only if a handler is installed already, and then there is nothing to do.
    #[cfg(feature = "command")]
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            #[expect(clippy::disallowed_methods, reason = "the user asked twice")]
            std::process::exit(130);
        }
    });
    &INTERRUPTED
}
