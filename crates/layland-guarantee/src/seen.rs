//! A view of a system, with the answers of analyses about it.

use crate::about::About;
use crate::memo::{Known, Memo};
use crate::views::{Answers, Bounds, View};
use std::sync::Arc;

/// A [view](View), with the known answers about its system.
pub(crate) struct Seen<'a> {
    pub(crate) about: About,
    pub(crate) answers: Answers,
    pub(crate) bounds: Bounds,
    pub(crate) tells: Vec<&'static str>,
    /// True if, of two jobs with the same deadline, the one with the smaller rank goes first.
    pub(crate) has_ties_by_rank: bool,
    pub(crate) known: Arc<Known<'a>>,
}

impl<'a> Seen<'a> {
    pub(crate) fn of(view: View<'a>, memo: &Memo<'a>) -> Seen<'a> {
        let View { algorithms, system, answers, bounds, tells } = view;
        Seen {
            about: About::of(&algorithms),
            answers,
            bounds,
            tells,
            has_ties_by_rank: false,
            known: memo.of(system),
        }
    }
}
