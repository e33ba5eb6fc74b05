//! The widths of Helvetica, from Adobe's font metrics.

/// The widths of the characters from the space to the tilde, in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Returns the width of a text, in the unit of its
/// size. Other characters have the width of a digit.
pub fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| {
        let at = (c as usize).checked_sub(32);
        f64::from(at.and_then(|at| WIDTHS.get(at)).copied().unwrap_or(556))
    };
    text.chars().map(of).sum::<f64>() * size / 1000.0
}
