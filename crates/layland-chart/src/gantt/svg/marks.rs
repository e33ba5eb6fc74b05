//! The marks of single events: arrows, crosses, diamonds, each with a tooltip.

use super::style::{Escaped, INK, Px, RED};
use std::fmt::{self, Write};

/// A number of hundredths as a decimal.
pub(super) struct Hundredths(pub(super) i64);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Px(self.0).fmt(f)
    }
}

/// An arrow from one height to another.
pub(super) struct Arrow<'a> {
    pub(super) x: Px,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) tooltip: &'a str,
}

impl fmt::Display for Arrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Arrow { x, from, to, tooltip } = *self;
        let back = if to < from { 5 } else { -5 };
        write!(
            f,
            "<path d=\"M{x} {from}V{to}m-3 {back}l3 {}l3 {back}\" fill=\"none\" stroke=\"{INK}\" \
             stroke-width=\"1.3\">{}</path>",
            -back,
            Tooltip(tooltip),
        )
    }
}

pub(super) struct Tooltip<'a>(pub(super) &'a str);

impl fmt::Display for Tooltip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "<title>{}</title>", Escaped(self.0))
    }
}

/// A missed deadline: a thick arrow down with a cross in a disc at its top.
pub(super) fn miss_mark(out: &mut String, x: Px, top: i64, baseline: i64, tooltip: &str) {
    let _ = writeln!(
        out,
        "<g stroke=\"{RED}\" stroke-width=\"2\" fill=\"none\"><path d=\"M{x} {top}V{baseline}m-4 \
         -6l4 6l4 -6\"/><circle cx=\"{x}\" cy=\"{}\" r=\"5\" fill=\"#fff\" stroke-width=\"1.2\"/>\
         <path d=\"M{x} {}m-2.6 -2.6l5.2 5.2m0 -5.2l-5.2 5.2\"/>{}</g>",
        top + 2,
        top + 2,
        Tooltip(tooltip),
    );
}

/// A late completion.
pub(super) fn diamond(out: &mut String, x: Px, y: i64, tooltip: &str) {
    let _ = writeln!(
        out,
        "<path d=\"M{x} {y}m-5 0l5 -5l5 5l-5 5z\" fill=\"{RED}\" stroke=\"#fff\" \
         stroke-width=\".8\">{}</path>",
        Tooltip(tooltip),
    );
}

/// A job that was given up.
pub(super) fn aborted(out: &mut String, x: Px, y: i64, tooltip: &str) {
    let _ = writeln!(
        out,
        "<g stroke=\"{RED}\" stroke-width=\"2\"><circle cx=\"{x}\" cy=\"{y}\" r=\"5\" \
         fill=\"#fff\"/><path d=\"M{x} {y}m-3.5 3.5l7 -7\"/>{}</g>",
        Tooltip(tooltip),
    );
}
