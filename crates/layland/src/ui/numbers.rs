//! Parses whole numbers on the command line. Each option says within which limits, and an error
//! names them in words.

/// Parses a whole number from `MIN` to `MAX`.
///
/// # Errors
/// Fails with what to write instead.
pub(crate) fn whole_u64<const MIN: u64, const MAX: u64>(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (MIN..=MAX).contains(number));
    number.ok_or_else(|| match MAX {
        u64::MAX => format!("write a whole number, at least {MIN}"),
        _ => format!("write a whole number from {MIN} to {MAX}"),
    })
}

/// As [`whole_u64`], for smaller numbers.
///
/// # Errors
/// Fails with what to write instead.
pub(crate) fn whole<const MIN: u64, const MAX: u64>(text: &str) -> Result<u32, String> {
    let number = whole_u64::<MIN, MAX>(text)?;
    u32::try_from(number).map_err(|_| format!("write a whole number up to {}", u32::MAX))
}

/// As [`whole_u64`], for smaller numbers.
///
/// # Errors
/// Fails with what to write instead.
pub(crate) fn whole_u8<const MIN: u64, const MAX: u64>(text: &str) -> Result<u8, String> {
    let number = whole_u64::<MIN, MAX>(text)?;
    u8::try_from(number).map_err(|_| format!("write a whole number up to {}", u8::MAX))
}

/// Parses the id of a process.
///
/// # Errors
/// Fails with what to write instead.
#[cfg(target_os = "linux")]
pub(crate) fn process(text: &str) -> Result<i32, String> {
    let id = text.parse().ok().filter(|id| *id > 0);
    id.ok_or_else(|| "write the id of a process, a whole number above 0".to_owned())
}

/// Parses a number of things.
///
/// # Errors
/// Fails with what to write instead.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    let number = whole_u64::<0, { u64::MAX }>(text)?;
    usize::try_from(number).map_err(|_| format!("write a whole number up to {}", usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_names_the_limits_in_words() {
        assert_eq!(whole::<1, 4096>("2"), Ok(2));
        assert_eq!(whole_u8::<1, 255>("255"), Ok(255));
        let said = "write a whole number from 1 to 4096".to_owned();
        for text in ["0", "4097", "-1", "1.5", "two", ""] {
            assert_eq!(whole::<1, 4096>(text), Err(said.clone()), "{text}");
        }
        let open = whole_u64::<1, { u64::MAX }>("0").expect_err("0 is too small");
        assert!(!open.contains(".."), "{open}");
    }
}
