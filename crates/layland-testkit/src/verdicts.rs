//! Judgements of claims under several seeds: none may turn into its opposite.
//!
//! A claim that *holds* under one seed and *does not hold* under another had too short an interval.
//! *Partly* and *undecided* are allowed beside both.

use layland_lab::{Experiment, Judgement, LabError, Runner, judge};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// The judgements of an experiment under several seeds.
#[derive(Debug, Default)]
pub struct Verdicts {
    /// The judgements of each claim, in the order of the seeds.
    pub of: BTreeMap<String, Vec<Judgement>>,
}

impl Verdicts {
    /// The claims that hold under one seed and do not under another.
    pub fn flips(&self) -> Vec<&str> {
        let both = |judged: &Vec<Judgement>| {
            judged.contains(&Judgement::Holds) && judged.contains(&Judgement::Fails)
        };
        let flips = self.of.iter().filter(|(_, judged)| both(judged));
        flips.map(|(name, _)| name.as_str()).collect()
    }

    /// The number of judgements that are no *undecided*.
    pub fn decided(&self) -> usize {
        let all = self.of.values().flatten();
        all.filter(|&&judgement| judgement != Judgement::Undecided).count()
    }
}

/// Measures an experiment under each seed, in folders of its own.
///
/// # Errors
/// If it cannot be measured.
pub fn verdicts(
    experiment: &Experiment,
    seeds: Range<u64>,
    folder: &Path,
) -> Result<Verdicts, LabError> {
    let mut found = Verdicts::default();
    for seed in seeds {
        let experiment = Experiment { seed, ..experiment.clone() };
        let own = folder.join(format!("{}-{seed}", experiment.name));
        let runner = Runner {
            experiment: &experiment,
            registry: super::registry(),
            code: None,
            folder: &own,
            interrupt: None,
            progress: None,
            damaged: None,
        };
        let results = runner.run(&runner.plan(&[])?)?;
        for judged in judge(&experiment, &results) {
            found.of.entry(judged.claim.name.clone()).or_default().push(judged.judgement);
        }
    }
    Ok(found)
}
