//! The questions of the commands about task sets in memory, and their answers, for programs without
//! a command line: the Python package and the playground in a browser.
//!
//! [`layland_answers`] has the questions and answers. Here are the pages, charts and files that the
//! command makes of them.

#[cfg(feature = "command")]
use crate::commands;
use crate::pages::simulation::View;
#[cfg(feature = "command")]
use crate::ui::exit::{Failure, Message};
#[cfg(feature = "command")]
use layland_policy::Registry;
use layland_report::Report;
#[cfg(feature = "command")]
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

pub use crate::pages::ChartSpan;
pub use layland_answers::{
    CheckQuestion, Checked, DesignQuestion, Exit, Limit, Policies, Set, SimulateQuestion,
    Simulated, Structure, Unanswered, UsualPolicy, check, convert, design, limits, simulate,
    usual_end, values,
};

#[cfg(feature = "command")]
impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Unanswered {
        let (message, help) = match failure.message {
            Message::Plain(message, help) => (message, help),
            Message::Drawn(message) => (message, None),
        };
        Unanswered { message, help, exit: failure.exit, report: None }
    }
}

/// Returns the page that `layland check -o FILE.html` writes.
///
/// # Errors
/// Fails as [`CheckQuestion::ask`] does.
#[cfg(feature = "command")]
pub fn check_page(
    registry: &Registry,
    question: &CheckQuestion,
    set: Set,
) -> Result<String, Unanswered> {
    Ok(commands::check::page(registry, question.clone(), set)?)
}

/// Returns the report that `layland sim -o FILE.html` writes as a page; `None` if it was
/// interrupted.
///
/// # Errors
/// Fails if a simulation cannot be repeated.
pub fn simulation_report(
    simulated: &Simulated,
    shown: ChartSpan,
    interrupt: &AtomicBool,
) -> Result<Option<Report>, Unanswered> {
    View { simulated, shown, interrupt }.report()
}

/// Returns the chart that `layland sim -o FILE.svg` writes, for each policy that accepts the set.
///
/// # Errors
/// Fails if a simulation cannot be repeated.
pub fn simulation_charts(
    simulated: &Simulated,
    shown: ChartSpan,
    interrupt: &AtomicBool,
) -> Result<Vec<(String, String)>, Unanswered> {
    View { simulated, shown, interrupt }.charts()
}

/// Writes the files that `layland sim -o FILE` writes. Warnings of the command are printed to
/// standard error.
///
/// # Errors
/// Fails as [`SimulateQuestion::ask`] does, and if a file cannot be written.
#[cfg(feature = "command")]
pub fn write_simulation(
    registry: &Registry,
    question: &SimulateQuestion,
    set: Set,
    shown: ChartSpan,
    paths: &[PathBuf],
    interrupt: &AtomicBool,
) -> Result<(), Unanswered> {
    Ok(commands::simulate::write_files(registry, question, set, shown, paths, interrupt)?)
}
