//! Recognizes files that are not text by their first bytes.

use super::Foreign;

/// The starts of files that are not task sets.
const STARTS: &[(&[u8], Foreign)] = &[
    (b"\x7fELF", Foreign::Program),
    (b"MZ", Foreign::Program),
    (b"\xcf\xfa\xed\xfe", Foreign::Program),
    (b"\xca\xfe\xba\xbe", Foreign::Program),
    (b"\0asm", Foreign::Program),
    (b"!<arch>\n", Foreign::Program),
    (b"%PDF-", Foreign::Pdf),
    (b"\x89PNG\r\n", Foreign::Image),
    (b"\xff\xd8\xff", Foreign::Image),
    (b"GIF8", Foreign::Image),
    (b"BM", Foreign::Image),
    (b"II*\0", Foreign::Image),
    (b"MM\0*", Foreign::Image),
    (b"\x17\x08\x44tracing", Foreign::TraceCmd),
    (b"PERFILE2", Foreign::PerfData),
    (b"PAR1", Foreign::Parquet),
    (b"SQLite format 3\0", Foreign::Database),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Foreign::Document),
    (b"\x1f\x8b", Foreign::Archive),
    (b"\xfd7zXZ\0", Foreign::Archive),
    (b"\x28\xb5\x2f\xfd", Foreign::Archive),
    (b"BZh", Foreign::Archive),
    (b"7z\xbc\xaf\x27\x1c", Foreign::Archive),
    (b"\xff\xfe", Foreign::Utf16),
    (b"\xfe\xff", Foreign::Utf16),
];

/// Returns what a file is if its first bytes say that it is not text.
pub(super) fn foreign(bytes: &[u8]) -> Option<Foreign> {
    let head = &bytes[..bytes.len().min(4096)];
    let has = |word: &[u8]| head.windows(word.len()).any(|part| part == word);
    if head.starts_with(b"PK\x03\x04") {
        return Some(if has(b"xl/") || has(b"opendocument.spreadsheet") {
            Foreign::Spreadsheet
        } else if has(b"word/") || has(b"opendocument.text") {
            Foreign::Document
        } else {
            Foreign::Archive
        });
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some(Foreign::Image);
    }
    let is_binary = head.contains(&0)
        || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some());
    // Words such as `MZ` and `BM` may also begin a text.
    let starts = STARTS.iter().find(|(start, _)| head.starts_with(start));
    if let Some(&(start, foreign)) = starts
        && (is_binary || start.len() > 4)
    {
        return Some(foreign);
    }
    if head.starts_with(b"%PDF-") {
        return Some(Foreign::Pdf);
    }
    // No text has characters that control something else than lines and columns.
    let is_binary = is_binary || head.iter().any(|&byte| byte < b'\t');
    if !is_binary {
        return None;
    }
    if is_perfetto(bytes) {
        return Some(Foreign::PerfettoTrace);
    }
    // A record of LITMUS^RT has 24 bytes, of which the first is its kind.
    let is_record = |record: &[u8]| matches!(record[0], 1..=13);
    if bytes.len().is_multiple_of(24) && bytes.chunks(24).all(is_record) {
        return Some(Foreign::LitmusTrace);
    }
    // A text in another encoding has no zeros, and its reader says where it stops being UTF-8.
    head.contains(&0).then_some(Foreign::Binary)
}

/// Returns true if the bytes consist entirely of Perfetto packets: field 1 of one message, each
/// with its length.
fn is_perfetto(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut packets = 0;
    while let [0x0a, after @ ..] = rest {
        let ends = after.iter().take(5).position(|&byte| byte < 0x80);
        let Some(last) = ends else { return false };
        let length = (after[..=last].iter().rev())
            .fold(0usize, |length, &byte| length << 7 | usize::from(byte & 0x7f));
        let Some(next) = after[last + 1..].get(length..) else { return false };
        (rest, packets) = (next, packets + 1);
    }
    packets > 0 && rest.is_empty()
}
