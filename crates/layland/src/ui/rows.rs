//! A table that is printed row by row while its rows are computed, and counts of the results of
//! each policy.

use super::terminal;
use clap::builder::styling::Style;

/// A table whose column widths are determined by the first rows.
pub(crate) struct Rows<const N: usize> {
    headings: [&'static str; N],
    widths: [usize; N],
    /// True for columns that are aligned right, such as numbers.
    right: [bool; N],
    style: &'static Borders,
    colours: bool,
}

/// The left, middle and right character of each border, and the sides.
struct Borders {
    top: [char; 3],
    header: [char; 3],
    bottom: [char; 3],
    side: char,
    gap: &'static str,
}

const BOX: Borders = Borders {
    top: ['┌', '─', '┐'],
    header: ['╞', '═', '╡'],
    bottom: ['└', '─', '┘'],
    side: '│',
    gap: "   ",
};
const ASCII: Borders = Borders {
    top: ['+', '-', '+'],
    header: ['+', '=', '+'],
    bottom: ['+', '-', '+'],
    side: '|',
    gap: "   ",
};

impl<const N: usize> Rows<N> {
    pub(crate) fn new(headings: [&'static str; N], ascii: bool) -> Rows<N> {
        let widths = headings.map(|heading| heading.chars().count());
        let (style, colours) = (if ascii { &ASCII } else { &BOX }, terminal::colours());
        Rows { headings, widths, right: [false; N], style, colours }
    }

    /// Aligns the columns from this one on to the right.
    pub(crate) fn right_from(mut self, column: usize) -> Rows<N> {
        self.right[column..].fill(true);
        self
    }

    /// Makes each column wide enough for these cells.
    pub(crate) fn widen(&mut self, cells: [&str; N]) {
        for (width, cell) in self.widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }

    pub(crate) fn top(&self, out: &mut String) {
        self.border(self.style.top, out);
        self.row(self.headings, None, out);
        self.border(self.style.header, out);
    }

    /// Appends a row. One cell may have a colour, if colours are shown.
    pub(crate) fn row(&self, cells: [&str; N], coloured: Option<(usize, Style)>, out: &mut String) {
        let coloured = coloured.filter(|_| self.colours);
        out.push(self.style.side);
        out.push(' ');
        for (at, cell) in cells.into_iter().enumerate() {
            if at > 0 {
                *out += self.style.gap;
            }
            let blanks = self.widths[at].saturating_sub(cell.chars().count());
            if self.right[at] {
                out.extend(std::iter::repeat_n(' ', blanks));
            }
            match coloured.filter(|(column, _)| *column == at) {
                Some((_, style)) => *out += &format!("{style}{cell}{style:#}"),
                None => *out += cell,
            }
            if !self.right[at] {
                out.extend(std::iter::repeat_n(' ', blanks));
            }
        }
        out.push(' ');
        out.push(self.style.side);
        out.push('\n');
    }

    pub(crate) fn bottom(&self, out: &mut String) {
        self.border(self.style.bottom, out);
    }

    fn border(&self, [left, line, right]: [char; 3], out: &mut String) {
        let gaps = (N - 1) * self.style.gap.len() + 2;
        out.push(left);
        out.extend(std::iter::repeat_n(line, self.widths.iter().sum::<usize>() + gaps));
        out.push(right);
        out.push('\n');
    }
}

/// The largest number of sets of which every row is shown.
pub(crate) const FEW: usize = 16;

/// The largest number of rows of one need about many sets. More of them push the summary off the
/// screen.
pub(crate) const MOST_SHOWN: usize = 10;

/// The reason to read a row about one of many sets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing is wrong.
    None,
    /// There is no answer.
    Doubt,
    /// A deadline is missed.
    Alarm,
}

/// Chooses the rows of a table about many sets: the first ones of each need, so that doubts do not
/// hide alarms. The others are counted.
pub(crate) struct Selection {
    /// True if there are only a few sets, of which every row is shown.
    are_few: bool,
    doubts: usize,
    alarms: usize,
    shown: usize,
    left_out: usize,
}

impl Selection {
    pub(crate) fn new(are_few: bool) -> Selection {
        Selection { are_few, doubts: 0, alarms: 0, shown: 0, left_out: 0 }
    }

    /// Returns true if a row is shown, and counts it.
    pub(crate) fn takes(&mut self, need: Need) -> bool {
        let so_far = match need {
            Need::None => MOST_SHOWN,
            Need::Doubt => self.doubts,
            Need::Alarm => self.alarms,
        };
        let is_shown = self.are_few || so_far < MOST_SHOWN;
        self.doubts += usize::from(need == Need::Doubt);
        self.alarms += usize::from(need == Need::Alarm);
        *(if is_shown { &mut self.shown } else { &mut self.left_out }) += 1;
        is_shown
    }

    /// Returns true if a row was shown.
    pub(crate) fn has_rows(&self) -> bool {
        self.shown > 0
    }

    /// Says how many rows were left out, and where they are; `None` if there are none.
    pub(crate) fn in_words(&self) -> Option<String> {
        let (left_out, all) = (self.left_out, self.shown + self.left_out);
        let words =
            || format!("{left_out} of {all} rows are left out; --json has a line for each set");
        (left_out > 0).then(words)
    }
}

/// The number of times that each policy had each of `N` results. Policies are in the order of their
/// first results.
pub(crate) struct Counts<const N: usize>(Vec<(String, [usize; N])>);

impl<const N: usize> Default for Counts<N> {
    fn default() -> Counts<N> {
        Counts(Vec::new())
    }
}

impl<const N: usize> Counts<N> {
    /// Counts one more result.
    pub(crate) fn count(&mut self, policy: &str, end: usize) {
        let at = self.0.iter().position(|(known, _)| known == policy).unwrap_or_else(|| {
            self.0.push((policy.to_owned(), [0; N]));
            self.0.len() - 1
        });
        self.0[at].1[end] += 1;
    }

    pub(crate) fn of_each(&self) -> impl Iterator<Item = &(String, [usize; N])> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::builder::styling::AnsiColor;

    #[test]
    fn rows_are_as_wide_as_the_first_ones_and_later_ones_stay_whole() {
        let mut rows = Rows::new(["set", "jobs"], true).right_from(1);
        rows.widen(["first", "12"]);
        rows.colours = true;
        let mut text = String::new();
        rows.top(&mut text);
        rows.row(["first", "12"], Some((0, AnsiColor::Red.on_default())), &mut text);
        rows.row(["a", "123456"], None, &mut text);
        rows.bottom(&mut text);
        let expected = "\
+--------------+
| set     jobs |
+==============+
| \u{1b}[31mfirst\u{1b}[0m     12 |
| a       123456 |
+--------------+
";
        assert_eq!(text, expected);
    }

    #[test]
    fn of_many_rows_those_that_need_attention_are_shown_and_the_others_counted() {
        let mut few = Selection::new(true);
        assert!((0..100).all(|at| few.takes(if at == 0 { Need::None } else { Need::Alarm })));
        assert_eq!(few.in_words(), None);
        let mut many = Selection::new(false);
        let need = |at: usize| match at {
            0..50 if at.is_multiple_of(2) => Need::Doubt,
            0..50 => Need::None,
            _ => Need::Alarm,
        };
        let shown: Vec<usize> = (0..100).filter(|&at| many.takes(need(at))).collect();
        let expected = (0..MOST_SHOWN).map(|at| 2 * at).chain(50..50 + MOST_SHOWN);
        assert_eq!(shown, expected.collect::<Vec<_>>());
        let words = many.in_words().expect("rows were left out");
        assert!(words.starts_with("80 of 100 rows are left out"), "{words}");
        let mut good = Selection::new(false);
        assert!(!(0..9).any(|_| good.takes(Need::None)) && !good.has_rows());
    }

    #[test]
    fn policies_are_counted_in_the_order_in_which_they_came() {
        let mut counts = Counts::<2>::default();
        for (policy, end) in [("b", 0), ("a", 1), ("b", 1), ("b", 1)] {
            counts.count(policy, end);
        }
        let found: Vec<_> = counts.of_each().cloned().collect();
        assert_eq!(found, [("b".to_owned(), [1, 2]), ("a".to_owned(), [0, 1])]);
    }
}
