//! The experiments that come with Layland.

use crate::{Experiment, read};
use layland_policy::Registry;

/// An experiment that comes with Layland.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packaged {
    /// Its name.
    pub name: &'static str,
    /// The contents of its file.
    pub text: &'static str,
}

impl Packaged {
    /// Parses the experiment. It uses policies of the standard registry.
    pub fn experiment(&self) -> Experiment {
        read(self.name, self.name, self.text.as_bytes(), &Registry::standard())
            .expect("packaged experiments are right")
    }
}

/// The names of those that repeat the evaluation of a paper.
pub const PAPERS: [&str; 6] = [
    "tang2021",
    "stevanato2021",
    "stevanato2021-kernel",
    "bonifaci2016",
    "compagnin2015",
    "huang2014",
];

/// Every packaged experiment.
pub const ALL: &[Packaged] = &[
    Packaged { name: "atlas", text: include_str!("../experiments/atlas.toml") },
    Packaged { name: "bonifaci2016", text: include_str!("../experiments/bonifaci2016.toml") },
    Packaged { name: "compagnin2015", text: include_str!("../experiments/compagnin2015.toml") },
    Packaged { name: "comparison", text: include_str!("../experiments/comparison.toml") },
    Packaged { name: "comparison-more", text: include_str!("../experiments/comparison-more.toml") },
    Packaged {
        name: "comparison-one-cpu",
        text: include_str!("../experiments/comparison-one-cpu.toml"),
    },
    Packaged { name: "engines", text: include_str!("../experiments/engines.toml") },
    Packaged { name: "huang2014", text: include_str!("../experiments/huang2014.toml") },
    Packaged { name: "stevanato2021", text: include_str!("../experiments/stevanato2021.toml") },
    Packaged {
        name: "stevanato2021-kernel",
        text: include_str!("../experiments/stevanato2021-kernel.toml"),
    },
    Packaged { name: "tang2021", text: include_str!("../experiments/tang2021.toml") },
];

/// The packaged experiment with this name.
///
/// ```
/// let packaged = layland_lab::packaged::find("tang2021").unwrap();
/// assert_eq!(packaged.experiment().grids.len(), 3);
/// ```
pub fn find(name: &str) -> Option<&'static Packaged> {
    ALL.iter().find(|packaged| packaged.name == name)
}
