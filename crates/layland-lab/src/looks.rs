//! The look of each series: its colour, its marker, its dashes.
//!
//! Series with one label have one look, in every figure of an experiment: a policy that is simulated
//! and analysed is one policy. Labels that share a figure have different colours as long as the
//! figures of the experiment allow that, and different markers beyond that. Well-known policies have
//! colours of their own, so that they look alike in different experiments, too.
//!
//! The colours are the scheme *muted* of Paul Tol ("Colour Schemes", SRON/EPS/TN/09-002, issue 3.2,
//! 2021), which readers with any type of colour blindness can distinguish.

use crate::experiment::Experiment;
use layland_chart::plot::Colour;
use std::collections::{BTreeMap, BTreeSet};

/// The number of colours.
const COLOURS: usize = 9;
/// The number of markers.
pub(crate) const MARKERS: usize = 5;

const PALETTE: [Colour; COLOURS] = [
    [51, 34, 136],
    [204, 102, 119],
    [17, 119, 51],
    [136, 204, 238],
    [153, 153, 51],
    [136, 34, 85],
    [68, 170, 153],
    [170, 68, 153],
    [221, 204, 119],
];

const DASHES: [&[f64]; 4] = [&[], &[4.0, 1.5], &[1.5, 1.5], &[4.0, 1.5, 1.0, 1.5]];

/// The labels, in letters and digits, of policies with a colour of their own.
const KNOWN: [&[&str]; COLOURS] = [
    &["gedf"],
    &["pedf"],
    &["run"],
    &["qps"],
    &["dl"],
    &["dlsp"],
    &["apedf"],
    &["a2pedf"],
    &["pdm", "prm"],
];

/// The look of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The index of its colour.
    colour: usize,
    /// The number of labels before it that have the same colour.
    turn: usize,
}

impl Look {
    /// Its colour.
    pub fn colour(self) -> Colour {
        PALETTE[self.colour]
    }

    /// The lengths of dashes and gaps in turn; empty for a solid line.
    pub fn dashes(self) -> &'static [f64] {
        DASHES[(self.colour + self.turn) % DASHES.len()]
    }

    /// Its marker: a circle, a square, a triangle, a diamond, or a triangle on its head, from 0 to
    /// 4. Those of labels with one colour differ for five labels.
    pub fn marker(self) -> usize {
        (self.colour + self.turn) % MARKERS
    }

    /// Returns true if its marker is drawn as an outline, so that another one below it is seen.
    pub fn is_hollow(self) -> bool {
        self.colour % 2 == 1
    }
}

/// Returns the look of each series of an experiment.
///
/// Labels are the vertices of a graph whose edges join those that share a figure. The next label to
/// get a colour is the one whose neighbours have most different ones (DSATUR: Brélaz, "New methods
/// to color the vertices of a graph", 1979).
pub fn looks(experiment: &Experiment) -> Vec<Look> {
    let mut labels: Vec<&str> = Vec::new();
    let mut label_of = Vec::new();
    for series in &experiment.series {
        let found = labels.iter().position(|label| *label == series.label);
        label_of.push(found.unwrap_or(labels.len()));
        if found.is_none() {
            labels.push(&series.label);
        }
    }
    // Of each label: those in one of its figures, with the number of labels in the smallest.
    let mut beside = vec![BTreeMap::new(); labels.len()];
    for figure in &experiment.figures {
        let shown: BTreeSet<usize> = figure.series.iter().map(|&at| label_of[at]).collect();
        for &label in &shown {
            for &other in shown.iter().filter(|&&other| other != label) {
                let size = beside[label].entry(other).or_insert(shown.len());
                *size = shown.len().min(*size);
            }
        }
    }
    let mut chosen: Vec<Option<Look>> = vec![None; labels.len()];
    loop {
        // The colours of the labels beside one, with the size of the smallest figure.
        let taken = |label: usize| {
            let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
            for (&other, &size) in &beside[label] {
                if let Some(look) = chosen[other] {
                    let least = taken.entry(look.colour).or_insert(size);
                    *least = size.min(*least);
                }
            }
            taken
        };
        let open = (0..labels.len()).filter(|&label| chosen[label].is_none());
        // Known labels come first, so that no other label takes their colours.
        let urgency = |&label: &usize| {
            let is_known = known(labels[label]).is_some();
            (is_known, taken(label).len(), beside[label].len(), std::cmp::Reverse(label))
        };
        let Some(label) = open.max_by_key(urgency) else { break };
        let look = |colour: usize| {
            let turn = chosen.iter().flatten().filter(|look| look.colour == colour).count();
            Look { colour, turn }
        };
        let taken = taken(label);
        let own = known(labels[label]).filter(|colour| !taken.contains_key(colour));
        // If every colour is taken, the one that is least seen beside this label is used again: in
        // the largest figure.
        let cost = |&colour: &usize| {
            let size = taken.get(&colour).map_or(usize::MAX, |&size| size);
            (std::cmp::Reverse(size), look(colour).turn, colour)
        };
        let colour = own.or_else(|| (0..COLOURS).min_by_key(cost)).unwrap_or(0);
        chosen[label] = Some(look(colour));
    }
    let look = |label: usize| chosen[label].unwrap_or(Look { colour: 0, turn: 0 });
    label_of.into_iter().map(look).collect()
}

/// Returns the colour that belongs to a label.
fn known(label: &str) -> Option<usize> {
    let plain = label.replace('²', "2");
    let plain: String =
        plain.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    KNOWN.iter().position(|labels| labels.contains(&plain.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packaged::{ALL, Packaged};

    #[test]
    fn labels_that_share_a_figure_look_different() {
        let mut seen = 0;
        for experiment in ALL.iter().map(Packaged::experiment) {
            let looks = looks(&experiment);
            for figure in &experiment.figures {
                let labels: BTreeMap<&str, Look> = (figure.series.iter())
                    .map(|&series| (experiment.series[series].label.as_str(), looks[series]))
                    .collect();
                let colours: BTreeSet<usize> = labels.values().map(|look| look.colour).collect();
                let of = format!("{}: {}", experiment.name, figure.name);
                // Figures of one experiment may leave no colour for each of nine labels.
                let least = labels.len().min(COLOURS - 1);
                assert!(colours.len() >= least, "{of}: {labels:?}");
                let signs: BTreeSet<(usize, usize)> =
                    labels.values().map(|look| (look.colour, look.marker())).collect();
                assert_eq!(signs.len(), labels.len(), "{of}: {labels:?}");
                seen += labels.len();
            }
        }
        assert!(seen > 100, "{seen} curves");
    }

    #[test]
    fn a_known_policy_has_one_colour_in_all_experiments() {
        let mut of: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for experiment in ALL.iter().map(Packaged::experiment) {
            for (series, look) in experiment.series.iter().zip(looks(&experiment)) {
                if known(&series.label).is_some() {
                    of.entry(series.label.replace('²', "2")).or_default().insert(look.colour);
                }
            }
        }
        assert!(of.len() > 6, "{of:?}");
        let several: Vec<_> = of.iter().filter(|(_, colours)| colours.len() > 1).collect();
        assert!(several.is_empty(), "{several:?}");
    }
}
