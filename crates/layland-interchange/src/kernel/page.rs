//! The pages of systrace.

/// A web page of systrace, which has the text of a trace in one of its scripts.
pub(super) struct Page {
    /// The bytes of the text.
    trace: std::ops::Range<usize>,
}

impl Page {
    pub(super) fn of(text: &str) -> Option<Page> {
        let start = text.trim_start().get(..14)?.to_ascii_lowercase();
        if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
            return None;
        }
        let from = text.find("# tracer:")?;
        let length = text[from..].find("</script>").unwrap_or(text.len() - from);
        Some(Page { trace: from..from + length })
    }

    /// Returns a line of the trace, without the tag that ends it. In older pages the text is a string
    /// of a script, whose lines end with `\n\`.
    pub(super) fn line<'t>(&self, text: &str, line: &'t str) -> Option<&'t str> {
        let at = line.as_ptr() as usize - text.as_ptr() as usize;
        let own = self.trace.end.checked_sub(at).filter(|_| self.trace.contains(&at))?;
        let line = line.get(..own).unwrap_or(line).trim_end();
        Some(
            line.strip_suffix("\";").unwrap_or(line).trim_end_matches('\\').trim_end_matches("\\n"),
        )
    }
}
