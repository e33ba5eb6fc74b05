//! Random joins, leaves and changes in a simulation, each first submitted to the admission of
//! `layland-guarantee`.
//!
//! The claim: under every policy that admits tasks at run time, no admitted task that keeps to its
//! reservation is late (or later than promised). This holds for all joins and leaves, and whatever
//! other tasks do, if the policy isolates them.
//!
//! A [`Sequence`] is drawn from one seed. Its tasks request to enter at some time, leave, come back
//! at once, and request other parameters and other CPUs; and clusters lose CPUs. There are few
//! distinct times, so many things coincide. [`Guard`] stands before the policy, and [`Keeping`]
//! selects the rules of its register. The careless rules are there to show that the campaign finds
//! the errors that they cause.

mod beside;
mod draw;
mod guard;

pub use beside::{BrokenBeside, SeenBeside, campaign_beside, check_beside};
pub use draw::Sequence;
pub use guard::{Guard, Keeping, Manner, RequestTally};

use crate::registry;
use layland_guarantee::admission::{Guarantee, can_admit};
use layland_model::{Algorithm, Duration, Platform, Service, TaskId, Time};
use layland_policy::{PolicyInfo, PolicyOptions};
use layland_sim::{SimOptions, simulate};
use layland_trace::{Job, JobEnd, Recorder};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// The results of one sequence, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceCounts {
    /// The requests and grants.
    pub tally: RequestTally,
    /// Jobs of admitted tasks that ended.
    pub jobs: u64,
}

/// A sequence in which the claim does not hold.
#[derive(Clone, Debug)]
pub struct BrokenSequence {
    /// The policy.
    pub spec: String,
    /// The seed, which determines the whole sequence.
    pub seed: u64,
    /// A description of the late job, or of the policy's refusal.
    pub how: String,
    /// The requests and answers before.
    pub story: Vec<String>,
    /// The sequence.
    pub sequence: Box<Sequence>,
}

/// Returns the policies of the registry that admit tasks at run time and that have a test, with some
/// options that change their behaviour.
pub fn specs() -> Vec<String> {
    let machine = Platform::identical(2);
    let takes = |info: &&PolicyInfo| can_admit(registry(), &info.name, &machine).is_ok();
    let is_analysed =
        |info: &&PolicyInfo| info.algorithm(&PolicyOptions::default()) != Algorithm::Other;
    let names = registry().iter().filter(takes).filter(is_analysed);
    let names = names.map(|info| info.name.to_string());
    let options = [
        "dl:ac=on",
        "dl:ac=on:tie=fifo:kernel=6.12",
        "p-edf:fit=wf",
        "p-edf:fit=bf:tie=running",
        "g-edf:tie=running",
    ];
    names.chain(options.map(str::to_owned)).collect()
}

/// Checks the claim in one sequence.
///
/// # Errors
/// If the claim does not hold.
pub fn check(spec: &str, seed: u64, keeping: Keeping) -> Result<SequenceCounts, BrokenSequence> {
    let sequence = Sequence::draw(spec, seed, keeping);
    run(&sequence).map_err(|how| {
        let (_, story) = tell(&sequence, Some(Vec::new()));
        BrokenSequence { spec: spec.to_owned(), seed, how, story, sequence: Box::new(sequence) }
    })
}

/// Checks the claim in this number of sequences, with the seeds from `seed` on.
///
/// # Errors
/// The first sequence, by its seed, in which the claim does not hold.
pub fn campaign(
    spec: &str,
    sequences: u64,
    seed: u64,
    keeping: Keeping,
) -> Result<SequenceCounts, BrokenSequence> {
    let plus = |a: SequenceCounts, b: SequenceCounts| SequenceCounts {
        tally: a.tally.plus(b.tally),
        jobs: a.jobs + b.jobs,
    };
    let seeds = (seed..seed.saturating_add(sequences)).into_par_iter();
    let first = |a: Result<SequenceCounts, BrokenSequence>,
                 b: Result<SequenceCounts, BrokenSequence>| match (a, b) {
        (Ok(a), Ok(b)) => Ok(plus(a, b)),
        (Err(a), Err(b)) => Err(if a.seed <= b.seed { a } else { b }),
        (Err(broken), Ok(_)) | (Ok(_), Err(broken)) => Err(broken),
    };
    seeds.map(|seed| check(spec, seed, keeping)).reduce(|| Ok(SequenceCounts::default()), first)
}

/// Simulates a sequence.
///
/// # Errors
/// If an admitted task that keeps to its reservation is late, or the policy refuses a granted request.
pub fn run(sequence: &Sequence) -> Result<SequenceCounts, String> {
    tell(sequence, None).0
}

/// Simulates a sequence, and continues the story if there is one.
fn tell(
    sequence: &Sequence,
    story: Option<Vec<String>>,
) -> (Result<SequenceCounts, String>, Vec<String>) {
    let Sequence { spec, system, manner, strays, until, explore } = sequence;
    let mut empty = system.clone();
    empty.tasks = Vec::new().into();
    empty.requests = Vec::new();
    let policy = registry().build(spec, &empty).expect("it takes a machine without tasks");
    let mut guard = Guard::new(policy, system.platform.clone(), spec, manner.clone());
    guard.story = story;
    let allowed = match manner.guarantee {
        Guarantee::Deadlines => Duration::ZERO,
        Guarantee::Tardiness(allowed) => allowed,
    };
    let mut late = LateFinder { allowed, strays, jobs: 0, first: None };
    let options = SimOptions { explore: *explore, ..SimOptions::until(*until) };
    let outcome = simulate(system, guard, &mut late, &options).expect("the horizon is in range");
    let mut guard = outcome.policy;
    let story = guard.story.take().unwrap_or_default();
    if let Some((job, at)) = late.first {
        let name = &system.tasks[job.id.task].name;
        let Job { arrival, deadline, .. } = job;
        let how = format!(
            "job {} of `{name}` came at {arrival}, is due at {deadline}, and had not ended before {at}",
            job.id.seq
        );
        return (Err(how), story);
    }
    let found = match guard.contradiction {
        Some(why) => Err(format!("the policy refuses what was granted: {why}")),
        None => Ok(SequenceCounts { tally: guard.tally, jobs: late.jobs }),
    };
    (found, story)
}

/// A recorder that finds the first job that is later than promised.
struct LateFinder<'a> {
    allowed: Duration,
    /// Tasks that do not keep to their reservations.
    strays: &'a [TaskId],
    jobs: u64,
    first: Option<(Job, Time)>,
}

impl LateFinder<'_> {
    fn hold_to_promise(&mut self, job: &Job, at: Time, is_late: bool) {
        if is_late && !self.strays.contains(&job.id.task) && self.first.is_none() {
            self.first = Some((*job, at));
        }
    }
}

impl Recorder for LateFinder<'_> {
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, _executed: Service) {
        match end {
            JobEnd::Completed => {
                self.jobs += 1;
                self.hold_to_promise(job, at, at > job.deadline + self.allowed);
            }
            JobEnd::Aborted => self.hold_to_promise(job, at, true),
            // A job that leaves has no deadline to keep, unless the deadline has already passed.
            JobEnd::Left => self.hold_to_promise(job, at, at > job.deadline + self.allowed),
        }
    }

    fn pending(&mut self, job: &Job, at: Time, _executed: Service) {
        self.hold_to_promise(job, at, job.deadline + self.allowed <= at);
    }
}
