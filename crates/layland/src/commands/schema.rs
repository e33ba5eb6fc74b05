//! `layland schema`: the JSON Schema of task-set files.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::terminal;

pub(crate) fn run() -> Outcome {
    terminal::result(&format!("{:#}\n", layland_config::schema()))?;
    Ok(Exit::Yes)
}
