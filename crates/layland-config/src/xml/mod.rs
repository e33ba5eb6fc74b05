//! Parses XML into a tree of elements with their spans, for the XML formats: SimSo,
//! SchedCAT and schedsim.

mod schedcat;
mod schedsim;
mod sections;
mod simso;
mod tree;

pub(crate) use schedcat::read as read_schedcat;
pub use schedcat::to_schedcat;
pub(crate) use schedsim::read as read_schedsim;
pub(crate) use simso::read as read_simso;
pub use simso::{
    Agreement, SIMSO_SCHEDULERS, SimsoIdentifiers, SimsoScheduler, simso_identifiers, to_simso,
};

/// Returns the name of the first element of a text, as far as it is visible without parsing.
pub(crate) fn root(text: &str) -> Option<&str> {
    text.split('<').skip(1).find(|tag| !tag.starts_with(['?', '!'])).map(|tag| {
        let end = tag.find(|c: char| c.is_whitespace() || c == '>' || c == '/');
        &tag[..end.unwrap_or(tag.len())]
    })
}
