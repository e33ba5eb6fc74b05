//! Handles Ctrl-C, which ends a run early. The results so far are kept.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Installs the handler. The first interrupt sets the flag, and the second ends the program at
/// once.
pub(crate) fn listen() -> &'static AtomicBool {
    // This fails only if the handler is already installed, which needs no action.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::SeqCst) {
            #[expect(clippy::disallowed_methods, reason = "the user asked twice")]
            // 128 + SIGINT, as in a shell.
            std::process::exit(130);
        }
    });
    &INTERRUPTED
}
