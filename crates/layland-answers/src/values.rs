//! Parses values in the notation of users.

use layland_model::{Duration, ParseTimeError, Time};

/// Parses a time with its unit. Errors contain the correct notation.
pub fn time_of<T: std::str::FromStr<Err = ParseTimeError>>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|error: ParseTimeError| format!("{error}: {}", error.help()))
}

/// Parses a length of time above zero.
pub fn length_of(text: &str) -> Result<Duration, String> {
    match time_of::<Duration>(text)? {
        length if length <= Duration::ZERO => {
            Err(format!("{length} is not longer than zero: write a length such as 2s"))
        }
        length => Ok(length),
    }
}

/// Parses a seed.
pub fn seed_of(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// Parses a time window, such as `10ms..50ms`.
pub fn window_of(text: &str) -> Result<(Time, Time), String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO, as in 10ms..50ms")?;
    let (from, to) = (time_of::<Time>(from)?, time_of::<Time>(to)?);
    if from < Time::ZERO || from >= to {
        return Err("a window starts at 0s or later, and before it ends".to_owned());
    }
    Ok((from, to))
}
