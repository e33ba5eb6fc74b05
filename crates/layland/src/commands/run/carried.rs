//! The engines that a manager drives, and the additional counts of the engine `ext`. A build
//! without `ext` reports that.

use super::args::{Engine, RunArgs};
use super::request::failure;
use crate::ui::exit::Failure;
use layland_linux::FifoOptions;
use layland_model::System;
use layland_policy::Policy;

/// Runs the set on the requested engine.
pub(super) fn carry_out(
    args: &RunArgs,
    system: &System,
    policy: Box<dyn Policy>,
    options: FifoOptions<'_>,
) -> Result<layland_linux::Outcome, Failure> {
    match args.engine {
        Engine::Fifo | Engine::Deadline => {
            layland_linux::run(system, policy, &options).map_err(failure)
        }
        #[cfg(feature = "ext")]
        Engine::Ext => {
            let options = layland_linux::ext::ExtOptions {
                fifo: options,
                looks_ahead: !args.no_lookahead && !args.in_kernel_reference,
                is_reference: args.in_kernel_reference,
            };
            layland_linux::ext::run(system, policy, &options).map_err(failure)
        }
        #[cfg(not(feature = "ext"))]
        Engine::Ext => {
            drop(options);
            Err(Failure::refused("this layland was built without the engine ext")
                .help("build it with libelf and zlib: cargo install layland --features ext"))
        }
    }
}

/// Describes what CPUs did without the manager.
#[cfg(feature = "ext")]
pub(super) fn ahead(outcome: &layland_linux::Outcome) -> Option<String> {
    let ext = outcome.ext?;
    Some(format!(
        "CPUs acted before the manager {} times ({} right, {} of them with another budget, {} wrong): {} after an end, \
         {} at a wake-up; {} commits, {} stale; {} threads could not run at once",
        ext.right + ext.wrong,
        ext.right,
        ext.adjusted,
        ext.wrong,
        ext.followed,
        ext.woken,
        ext.commits,
        ext.stale,
        ext.bounced,
    ))
}

#[cfg(not(feature = "ext"))]
pub(super) fn ahead(_outcome: &layland_linux::Outcome) -> Option<String> {
    None
}

/// Returns the counts of the engine `ext`, if it ran.
#[cfg(feature = "ext")]
pub(super) fn ext_figures(
    outcome: &layland_linux::Outcome,
) -> Option<layland_linux::ext::ExtFigures> {
    outcome.ext
}

#[cfg(not(feature = "ext"))]
pub(super) fn ext_figures(_outcome: &layland_linux::Outcome) -> Option<()> {
    None
}
