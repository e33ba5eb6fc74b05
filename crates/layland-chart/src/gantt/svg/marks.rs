//! Draws the marks of single events: arrows, crosses, diamonds, each with a tooltip.

use super::style::{INK, Px, RED};
use crate::svg::Svg;

/// Draws an arrow from one height to another.
pub(super) fn arrow(out: &mut Svg, x: Px, from: i64, to: i64, tooltip: &str) {
    let back = if to < from { 5 } else { -5 };
    let up = -back;
    let path =
        out.element("path").attr("d", format_args!("M{x} {from}V{to}m-3 {back}l3 {up}l3 {back}"));
    path.attr("fill", "none").attr("stroke", INK).attr("stroke-width", 1.3).tooltip(tooltip);
}

/// Draws a missed deadline: a thick arrow down with a cross in a disc at its top.
pub(super) fn miss_mark(out: &mut Svg, x: Px, top: i64, baseline: i64, tooltip: &str) {
    let group = out.element("g").attr("stroke", RED).attr("stroke-width", 2).attr("fill", "none");
    let y = top + 2;
    group.children(|inside| {
        let arrow = format_args!("M{x} {top}V{baseline}m-4 -6l4 6l4 -6");
        inside.element("path").attr("d", arrow).empty();
        let disc = inside.element("circle").attr("cx", x).attr("cy", y).attr("r", 5);
        disc.attr("fill", "#fff").attr("stroke-width", 1.2).empty();
        let cross = format_args!("M{x} {y}m-2.6 -2.6l5.2 5.2m0 -5.2l-5.2 5.2");
        inside.element("path").attr("d", cross).empty();
        inside.tooltip(tooltip);
    });
}

/// Draws a bar for a resource that a job holds or waits for.
pub(super) fn lock_bar(out: &mut Svg, x: Px, y: i64, width: Px, holds: bool, tooltip: &str) {
    let bar = out.element("rect").attr("x", x).attr("y", y).attr("width", width).attr("height", 8);
    let bar = bar.attr("fill", if holds { INK } else { "#ffffff" }).attr("stroke", INK);
    let bar = bar.attr("stroke-width", ".8");
    if holds {
        bar.tooltip(tooltip)
    } else {
        bar.attr("stroke-dasharray", "2 1.5").tooltip(tooltip)
    }
}

/// Draws a late completion.
pub(super) fn diamond(out: &mut Svg, x: Px, y: i64, tooltip: &str) {
    let path = out.element("path").attr("d", format_args!("M{x} {y}m-5 0l5 -5l5 5l-5 5z"));
    path.attr("fill", RED).attr("stroke", "#fff").attr("stroke-width", ".8").tooltip(tooltip);
}

/// Draws an aborted job.
pub(super) fn aborted(out: &mut Svg, x: Px, y: i64, tooltip: &str) {
    out.element("g").attr("stroke", RED).attr("stroke-width", 2).children(|inside| {
        let disc = inside.element("circle").attr("cx", x).attr("cy", y).attr("r", 5);
        disc.attr("fill", "#fff").empty();
        let stroke = format_args!("M{x} {y}m-3.5 3.5l7 -7");
        inside.element("path").attr("d", stroke).empty();
        inside.tooltip(tooltip);
    });
}
