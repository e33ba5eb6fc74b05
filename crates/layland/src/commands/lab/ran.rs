//! The JSON document about an experiment that was run.

use crate::ui::exit::Exit;
use layland_lab::{Experiment, Judged, Results};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The answer of `layland lab run --json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct RanDocument<'a> {
    /// Its name.
    experiment: &'a str,
    /// The provenance.
    provenance: String,
    /// True if every unit was done.
    complete: bool,
    /// The number of units of work.
    units: usize,
    /// The number of units that are done.
    done: usize,
    /// Each claim.
    claims: Vec<JudgedClaim<'a>>,
    /// The folder.
    folder: Cow<'a, str>,
    /// The files that were written.
    files: Vec<Cow<'a, str>>,
    /// The result of the command.
    exit: Exit,
}

/// A claim of the paper.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct JudgedClaim<'a> {
    /// Its name.
    name: &'a str,
    /// Its statement.
    text: &'a str,
    /// Its place in the paper.
    source: &'a str,
    /// True if the paper does not make it.
    ours: bool,
    /// The figures that show it.
    figures: Vec<&'a str>,
    /// Its judgement.
    #[schemars(extend("enum" = ["holds", "partly", "does not hold", "not shown", "undecided"]))]
    here: &'static str,
    /// The quantities that were compared.
    compared: &'a str,
    /// The number of points, or pairs of points, at which it agrees.
    agree: usize,
    /// The number of them at which it could have failed.
    of: usize,
    /// The number of further ones at which it could not have failed: both sides are alike.
    even: usize,
    /// The interval of the number of points that agree, with 99 % confidence; null if there is no point.
    interval: Option<[usize; 2]>,
    /// The number of task sets at the point with the fewest; null if there is no point.
    sets: Option<u64>,
    /// The number of task sets that would decide; null if it is decided, or if none is known.
    would_decide: Option<u64>,
    /// The points that disagree.
    against: &'a [String],
}

impl<'a> RanDocument<'a> {
    pub(super) fn of(
        experiment: &'a Experiment,
        results: &Results,
        judged: &'a [Judged<'_>],
        folder: &'a Path,
        written: &'a [PathBuf],
        exit: Exit,
    ) -> RanDocument<'a> {
        let claims = judged.iter().map(|judged| JudgedClaim {
            name: &judged.claim.name,
            text: &judged.claim.text,
            source: &judged.claim.source,
            ours: judged.claim.ours,
            figures: judged
                .claim
                .figures
                .iter()
                .map(|&at| experiment.figures[at].name.as_str())
                .collect(),
            here: judged.judgement.name(),
            compared: &judged.compared,
            agree: judged.agree,
            of: judged.of,
            even: judged.even,
            interval: judged.sampled.map(|sampled| [sampled.low, sampled.high]),
            sets: judged.sampled.map(|sampled| sampled.sets),
            would_decide: judged.sampled.and_then(|sampled| sampled.decides),
            against: &judged.against,
        });
        RanDocument {
            experiment: &experiment.name,
            provenance: experiment.provenance(),
            complete: results.is_complete(),
            units: results.units,
            done: results.done,
            claims: claims.collect(),
            folder: folder.to_string_lossy(),
            files: written.iter().map(|path| path.to_string_lossy()).collect(),
            exit,
        }
    }
}
