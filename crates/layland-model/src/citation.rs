//! Whom to cite.

/// Whom to cite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Citation {
    /// BibTeX key.
    pub key: &'static str,
    /// As a line of text.
    pub text: &'static str,
    /// As a BibTeX entry.
    pub bibtex: &'static str,
}
