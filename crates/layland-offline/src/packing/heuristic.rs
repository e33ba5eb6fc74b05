//! The classic bin-packing heuristics (Johnson 1973; for multiprocessors Lopez et al. 2004), and
//! "evenly fit" (Compagnin, Mezzetti, Vardanega 2015).
//!
//! | name | the item goes to |
//! |------|------------------|
//! | FF   | the first bin where it fits |
//! | BF   | the fullest bin where it fits |
//! | WF   | the emptiest bin where it fits |
//! | NF   | the current bin, or else the next one where it fits; no going back |
//! | EF   | the first bin where it fits at or after a cursor that walks cyclically over the bins; then the cursor is the bin after |
//!
//! Ties go to the lowest bin. Items come in the given order, or with a final D in the name in a
//! *stable* sort by decreasing size. An item does not fit a bin that it may not use.
//!
//! "Evenly fit" is described by its authors only as iterating over the bins; the cyclic cursor is
//! Layland's reading. With EFD, the first K items open the K bins, and the others go round the bins
//! in turn.

use Heuristic::{Bf, Bfd, Ef, Efd, Ff, Ffd, Nf, Nfd, Wf, Wfd};
use layland_model::Rate;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A bin-packing rule.
///
/// ```
/// use layland_offline::Heuristic;
/// let heuristic: Heuristic = "ffd".parse().unwrap();
/// assert_eq!(heuristic, Heuristic::Ffd);
/// assert_eq!(heuristic.to_string(), "ffd");
/// assert!("xyz".parse::<Heuristic>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Heuristic {
    /// First fit: the first bin where the item fits.
    Ff,
    /// First fit, by decreasing size.
    Ffd,
    /// Best fit: the fullest bin where the item fits.
    Bf,
    /// Best fit, by decreasing size.
    Bfd,
    /// Worst fit: the emptiest bin where the item fits.
    Wf,
    /// Worst fit, by decreasing size.
    Wfd,
    /// Next fit: the current bin, or the next one; never a bin before it.
    Nf,
    /// Next fit, by decreasing size.
    Nfd,
    /// Evenly fit: the next bin in cyclic order where the item fits.
    Ef,
    /// Evenly fit, by decreasing size.
    Efd,
}

impl Heuristic {
    /// Every heuristic.
    pub const ALL: [Heuristic; 10] = [Ff, Ffd, Bf, Bfd, Wf, Wfd, Nf, Nfd, Ef, Efd];

    /// Returns its short name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Ff => "ff",
            Ffd => "ffd",
            Bf => "bf",
            Bfd => "bfd",
            Wf => "wf",
            Wfd => "wfd",
            Nf => "nf",
            Nfd => "nfd",
            Ef => "ef",
            Efd => "efd",
        }
    }

    /// Returns true if the items come in the order of decreasing size.
    pub const fn is_decreasing(self) -> bool {
        match self {
            Ffd | Bfd | Wfd | Nfd | Efd => true,
            Ff | Bf | Wf | Nf | Ef => false,
        }
    }

    /// Returns true if the heuristic compares the loads of bins.
    pub(crate) const fn compares_loads(self) -> bool {
        match self {
            Bf | Bfd | Wf | Wfd => true,
            Ff | Ffd | Nf | Nfd | Ef | Efd => false,
        }
    }

    /// Returns true if the heuristic uses a new bin only if the item fits no bin before it, so that
    /// additional bins never change the placement of an item.
    pub(crate) const fn opens_on_demand(self) -> bool {
        match self {
            Ff | Ffd | Bf | Bfd | Nf | Nfd => true,
            Wf | Wfd | Ef | Efd => false,
        }
    }

    /// Returns the order in which the items are placed, as indices.
    ///
    /// ```
    /// use layland_model::Rate;
    /// use layland_offline::Heuristic;
    /// let items = [Rate::new(1, 5), Rate::new(1, 2), Rate::new(1, 5)];
    /// assert_eq!(Heuristic::Ff.order(&items), [0, 1, 2]);
    /// assert_eq!(Heuristic::Ffd.order(&items), [1, 0, 2]);
    /// ```
    pub fn order(self, items: &[Rate]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        if self.is_decreasing() {
            // Most rates differ in the leading digits, so one comparison of integers decides.
            let sizes: Vec<u128> = items.iter().map(Rate::scaled_floor).collect();
            order.sort_by(|&a, &b| sizes[b].cmp(&sizes[a]).then_with(|| items[b].cmp(&items[a])));
        }
        order
    }
}

impl fmt::Display for Heuristic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An error: the text does not name a heuristic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a packing heuristic: use ff, bf, wf, nf or ef, with a final d for \
     decreasing order (ffd)"
)]
pub struct ParseHeuristicError(pub String);

impl FromStr for Heuristic {
    type Err = ParseHeuristicError;
    fn from_str(text: &str) -> Result<Heuristic, ParseHeuristicError> {
        Heuristic::ALL
            .into_iter()
            .find(|heuristic| heuristic.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| ParseHeuristicError(text.to_owned()))
    }
}

/// Bins that are being filled. The implementation decides what fits: a sum of rates, or a
/// response-time test.
pub trait Bins {
    /// Returns the number of bins.
    fn count(&self) -> usize;
    /// Returns true if the bin may take the item in addition to its contents.
    fn fits(&self, bin: usize, item: usize) -> bool;
    /// Compares the loads of two bins (`Greater`: the first one is fuller).
    fn compare_load(&self, a: usize, b: usize) -> Ordering;
    /// Puts the item into the bin.
    fn put(&mut self, bin: usize, item: usize);
    /// Returns the first of these bins that may take the item.
    fn first_fit(&self, mut bins: Range<usize>, item: usize) -> Option<usize> {
        bins.find(|&bin| self.fits(bin, item))
    }
    /// Returns the emptiest of the bins that may take the item; of equal ones, the lowest.
    fn emptiest_fit(&self, item: usize) -> Option<usize> {
        let mut best = None;
        for bin in 0..self.count() {
            let better = best.is_none_or(|best| self.compare_load(bin, best) == Ordering::Less);
            if better && self.fits(bin, item) {
                best = Some(bin);
            }
        }
        best
    }
}

/// An item that no bin can take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("item {item} fits into no bin")]
pub struct NoRoom {
    /// The item.
    pub item: usize,
    /// The bin of each item that was placed before this one.
    pub placed: Vec<Option<usize>>,
}

/// Places the items `0..order.len()` in the given order, and returns the bin of each item.
///
/// ```
/// use layland_offline::{Bins, Heuristic, place};
/// use std::cmp::Ordering;
///
/// /// At most two items per bin.
/// struct Pairs(Vec<usize>);
/// impl Bins for Pairs {
///     fn count(&self) -> usize { self.0.len() }
///     fn fits(&self, bin: usize, _item: usize) -> bool { self.0[bin] < 2 }
///     fn compare_load(&self, a: usize, b: usize) -> Ordering { self.0[a].cmp(&self.0[b]) }
///     fn put(&mut self, bin: usize, _item: usize) { self.0[bin] += 1 }
/// }
/// assert_eq!(place(&mut Pairs(vec![0; 2]), &[0, 1, 2], Heuristic::Wf).unwrap(), [0, 1, 0]);
/// assert_eq!(place(&mut Pairs(vec![0; 1]), &[0, 1, 2], Heuristic::Wf).unwrap_err().item, 2);
/// ```
pub fn place(
    bins: &mut impl Bins,
    order: &[usize],
    heuristic: Heuristic,
) -> Result<Vec<usize>, NoRoom> {
    let mut placed = vec![None; order.len()];
    let mut chooser = Chooser::new(heuristic);
    for &item in order {
        let Some(bin) = chooser.choose(bins, item) else { return Err(NoRoom { item, placed }) };
        bins.put(bin, item);
        placed[item] = Some(bin);
    }
    Ok(placed.into_iter().map(|bin| bin.expect("the order names every item")).collect())
}

/// A heuristic with the bin that it remembers from one item to the next.
pub(crate) struct Chooser {
    heuristic: Heuristic,
    /// NF: the current bin. EF: the position at which the walk continues. An item that fits no bin
    /// does not move it.
    cursor: usize,
}

impl Chooser {
    pub(crate) fn new(heuristic: Heuristic) -> Chooser {
        Chooser { heuristic, cursor: 0 }
    }

    /// Returns the bin for the next item, if it fits any.
    pub(crate) fn choose(&mut self, bins: &impl Bins, item: usize) -> Option<usize> {
        let count = bins.count();
        match self.heuristic {
            Ff | Ffd => bins.first_fit(0..count, item),
            Bf | Bfd => fullest_fit(bins, item),
            Wf | Wfd => bins.emptiest_fit(item),
            Nf | Nfd => {
                let bin = bins.first_fit(self.cursor..count, item)?;
                self.cursor = bin;
                Some(bin)
            }
            Ef | Efd => {
                let bin = bins
                    .first_fit(self.cursor..count, item)
                    .or_else(|| bins.first_fit(0..self.cursor, item))?;
                self.cursor = (bin + 1) % count;
                Some(bin)
            }
        }
    }
}

/// Returns the fullest of the bins that may take the item; of equal ones, the lowest. Loads are
/// compared first, because this comparison is the cheaper one.
fn fullest_fit(bins: &impl Bins, item: usize) -> Option<usize> {
    let mut best = None;
    for bin in 0..bins.count() {
        let better = best.is_none_or(|best| bins.compare_load(bin, best) == Ordering::Greater);
        if better && bins.fits(bin, item) {
            best = Some(bin);
        }
    }
    best
}
