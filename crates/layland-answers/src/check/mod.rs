//! Can it be guaranteed? Every analysis that applies, for each policy ([`CheckQuestion`]).

mod ask;
#[cfg(test)]
mod blocking;
mod certificate;
mod chains;
mod checked;
mod citations;
mod document;
mod question;
mod reserved;
mod short;

pub use certificate::Certificate;
pub use chains::OfChain;
pub use checked::{Checked, LeftOut};
pub use citations::Cited;
pub use document::{Document, by_level};
pub use question::CheckQuestion;
pub use reserved::{IN_GENERAL, OfPolicy, Reserved};
pub use short::Short;
