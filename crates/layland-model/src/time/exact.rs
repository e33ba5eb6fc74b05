//! Formats times for files: exactly, and as short as possible.

/// A buffer that is large enough for any formatted time.
pub(super) type Buffer = [u8; 32];

/// Nanoseconds in the largest unit that keeps them exact with at most three decimals.
pub(super) fn text(ns: i64, buffer: &mut Buffer) -> &str {
    std::str::from_utf8(ascii(ns, buffer)).unwrap_or_default()
}

/// Like [`text`], but as ASCII bytes.
pub(super) fn ascii(ns: i64, text: &mut Buffer) -> &[u8] {
    if ns == i64::MAX {
        return b"never";
    }
    // Three decimals of a unit are an integer in the unit after next.
    let (unit, thousandths) = match ns.unsigned_abs() {
        ns if ns >= 1_000_000_000 && ns.is_multiple_of(1_000_000) => ("s", ns / 1_000_000),
        ns if ns >= 1_000_000 && ns.is_multiple_of(1_000) => ("ms", ns / 1_000),
        ns if ns >= 1_000 => ("us", ns),
        ns => ("ns", ns * 1_000),
    };
    let (mut whole, mut thousandths) = (thousandths / 1_000, thousandths % 1_000);
    // Write from the last digit backwards.
    let mut at = text.len() - unit.len();
    text[at..].copy_from_slice(unit.as_bytes());
    let mut put = |digit: u8| {
        at -= 1;
        text[at] = digit;
    };
    if thousandths > 0 {
        let mut places = 3;
        while thousandths % 10 == 0 {
            (thousandths, places) = (thousandths / 10, places - 1);
        }
        for _ in 0..places {
            put(b'0' + (thousandths % 10) as u8);
            thousandths /= 10;
        }
        put(b'.');
    }
    put(b'0' + (whole % 10) as u8);
    while whole > 9 {
        whole /= 10;
        put(b'0' + (whole % 10) as u8);
    }
    if ns < 0 {
        put(b'-');
    }
    &text[at..]
}
