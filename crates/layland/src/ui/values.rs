//! Values on the command line.

use layland_model::{ParseTimeError, Time};

/// A time with its unit; what is wrong with it comes with what to write.
pub(crate) fn time_of<T: std::str::FromStr<Err = ParseTimeError>>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|error: ParseTimeError| format!("{error}: {}", error.help()))
}

/// A part of time, as in `10ms..50ms`.
pub(crate) fn parse_window(text: &str) -> Result<(Time, Time), String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO, as in 10ms..50ms")?;
    let (from, to) = (time_of::<Time>(from)?, time_of::<Time>(to)?);
    if from < Time::ZERO || from >= to {
        return Err("a window starts at 0s or later, and before it ends".to_owned());
    }
    Ok((from, to))
}
