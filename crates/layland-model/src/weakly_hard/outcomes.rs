//! Words of outcomes, judged against constraints while they grow.

use super::WeaklyHard;
use std::collections::VecDeque;

/// The outcome of a job, by its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HitOrMiss {
    /// Completed at or before its absolute deadline.
    Hit,
    /// Pending at its deadline, aborted, skipped, or given up by the policy.
    Miss,
    /// Its deadline is after the end of the run, or its end was lost.
    Undecided,
}

impl HitOrMiss {
    /// Its letter in a word: `H`, `M` or `?`.
    pub const fn letter(self) -> char {
        match self {
            HitOrMiss::Hit => 'H',
            HitOrMiss::Miss => 'M',
            HitOrMiss::Undecided => '?',
        }
    }

    /// The outcomes of a word of these letters.
    pub fn word(letters: &str) -> Option<Vec<HitOrMiss>> {
        let of = |letter| match letter {
            'H' => Some(HitOrMiss::Hit),
            'M' => Some(HitOrMiss::Miss),
            '?' => Some(HitOrMiss::Undecided),
            _ => None,
        };
        letters.chars().map(of).collect()
    }
}

/// The number of misses in each window of some length, kept while outcomes arrive. Each outcome
/// takes a constant time; the window is in memory.
#[derive(Clone, Debug)]
pub struct Watch {
    window: usize,
    recent: VecDeque<HitOrMiss>,
    /// The misses and the undecided jobs in the window.
    now: [u32; 2],
    /// The most misses so far, with undecided jobs as hits and as misses.
    most: [u32; 2],
}

impl Watch {
    /// A window of this many jobs, at least 1.
    pub fn new(window: u32) -> Watch {
        let window = window.max(1) as usize;
        Watch { window, recent: VecDeque::new(), now: [0; 2], most: [0; 2] }
    }

    /// Takes the outcome of the next job.
    pub fn push(&mut self, outcome: HitOrMiss) {
        if self.recent.len() == self.window
            && let Some(oldest) = self.recent.pop_front()
        {
            self.count(oldest, |count| *count -= 1);
        }
        self.recent.push_back(outcome);
        self.count(outcome, |count| *count += 1);
        let [missed, undecided] = self.now;
        self.most = [self.most[0].max(missed), self.most[1].max(missed + undecided)];
    }

    fn count(&mut self, outcome: HitOrMiss, change: impl Fn(&mut u32)) {
        match outcome {
            HitOrMiss::Hit => {}
            HitOrMiss::Miss => change(&mut self.now[0]),
            HitOrMiss::Undecided => change(&mut self.now[1]),
        }
    }

    /// `B(k)`: the most misses in any window of at most this length, with undecided jobs as hits
    /// and with undecided jobs as misses.
    ///
    /// ```
    /// use layland_model::{HitOrMiss, Watch};
    /// let mut watch = Watch::new(3);
    /// HitOrMiss::word("M?HM").unwrap().into_iter().for_each(|outcome| watch.push(outcome));
    /// assert_eq!(watch.most_misses(), [1, 2]);
    /// ```
    pub fn most_misses(&self) -> [u32; 2] {
        self.most
    }
}

/// The first violation of a constraint: the jobs from `first` to `last`, both missed, have too many
/// misses. Jobs count from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The misses, oldest first: one more than any window may have.
    pub misses: Vec<u64>,
}

impl Violation {
    /// The first and the last job of the window.
    pub fn ends(&self) -> [u64; 2] {
        let end = |job: Option<&u64>| job.copied().unwrap_or_default();
        [end(self.misses.first()), end(self.misses.last())]
    }
}

/// The answer of a word to a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observance {
    /// The word satisfies it, whatever the undecided jobs turn out to be.
    Yes,
    /// The word violates it, even if all undecided jobs were in time.
    No,
    /// The undecided jobs decide.
    Open,
}

impl Observance {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Observance::Yes => "yes",
            Observance::No => "no",
            Observance::Open => "open",
        }
    }
}

/// One constraint, judged while the outcomes of a task arrive in the order of its jobs.
///
/// ```
/// use layland_model::{HitOrMiss, Observance, WeaklyHard, WeaklyHardJudge};
/// let mut judge = WeaklyHardJudge::new(WeaklyHard::new(9, 10).unwrap());
/// for outcome in HitOrMiss::word("HHHHMHHHMH").unwrap() {
///     judge.push(outcome);
/// }
/// assert_eq!(judge.observance(), Observance::No);
/// assert_eq!(judge.violation().unwrap().ends(), [4, 8]);
/// assert_eq!(judge.slack(), -1);
/// ```
#[derive(Clone, Debug)]
pub struct WeaklyHardJudge {
    constraint: WeaklyHard,
    watch: Watch,
    jobs: u64,
    /// The numbers of the last misses, at most one more than are allowed; none after a violation.
    misses: VecDeque<u64>,
    violation: Option<Violation>,
}

impl WeaklyHardJudge {
    /// A judge of this constraint, before the first job.
    pub fn new(constraint: WeaklyHard) -> WeaklyHardJudge {
        WeaklyHardJudge {
            constraint,
            watch: Watch::new(constraint.window()),
            jobs: 0,
            misses: VecDeque::new(),
            violation: None,
        }
    }

    /// Takes the outcome of the next job. Returns true if it is the one that first violates the
    /// constraint.
    pub fn push(&mut self, outcome: HitOrMiss) -> bool {
        let job = self.jobs;
        self.jobs += 1;
        self.watch.push(outcome);
        if outcome != HitOrMiss::Miss || self.violation.is_some() {
            return false;
        }
        let allowed = self.constraint.misses() as usize;
        if self.misses.len() > allowed {
            self.misses.pop_front();
        }
        self.misses.push_back(job);
        let is_full = self.misses.len() > allowed;
        let is_near = self
            .misses
            .front()
            .is_some_and(|first| job - first < u64::from(self.constraint.window()));
        if is_full && is_near {
            let misses = std::mem::take(&mut self.misses).into();
            self.violation = Some(Violation { misses });
            return true;
        }
        false
    }

    /// Takes jobs whose outcomes are not known, however many they are.
    pub fn lose(&mut self, jobs: u64) {
        // A whole window of them has forgotten what came before.
        let pushed = jobs.min(u64::from(self.constraint.window()));
        for _ in 0..pushed {
            self.push(HitOrMiss::Undecided);
        }
        self.jobs = self.jobs.saturating_add(jobs - pushed);
    }

    /// The constraint.
    pub fn constraint(&self) -> WeaklyHard {
        self.constraint
    }

    /// The answer so far.
    pub fn observance(&self) -> Observance {
        let [least, most] = self.watch.most_misses();
        let allowed = self.constraint.misses();
        if least > allowed {
            Observance::No
        } else if most <= allowed {
            Observance::Yes
        } else {
            Observance::Open
        }
    }

    /// The first violation, if there is one.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// The number of misses that every window could have had more, `(k - m) - B(k)`, with undecided
    /// jobs as misses: negative if one has too many.
    pub fn slack(&self) -> i64 {
        i64::from(self.constraint.misses()) - i64::from(self.watch.most_misses()[1])
    }

    /// `B(k)` of its own window, as [`Watch::most_misses`].
    pub fn most_misses(&self) -> [u32; 2] {
        self.watch.most_misses()
    }
}

/// The windows of a profile, in jobs.
pub const PROFILE: [u32; 7] = [1, 2, 5, 10, 20, 50, 100];

/// The most misses in windows of some lengths, and the longest runs of misses.
#[derive(Clone, Debug)]
pub struct Profile {
    watches: [Watch; PROFILE.len()],
    run: [u64; 2],
    longest: [u64; 2],
}

impl Default for Profile {
    fn default() -> Profile {
        Profile { watches: PROFILE.map(Watch::new), run: [0; 2], longest: [0; 2] }
    }
}

impl Profile {
    /// Takes the outcome of the next job.
    pub fn push(&mut self, outcome: HitOrMiss) {
        for watch in &mut self.watches {
            watch.push(outcome);
        }
        let grows = match outcome {
            HitOrMiss::Hit => [false, false],
            HitOrMiss::Miss => [true, true],
            HitOrMiss::Undecided => [false, true],
        };
        for (reading, grows) in grows.into_iter().enumerate() {
            self.run[reading] = if grows { self.run[reading] + 1 } else { 0 };
            self.longest[reading] = self.longest[reading].max(self.run[reading]);
        }
    }

    /// Takes jobs whose outcomes are not known, however many they are.
    pub fn lose(&mut self, jobs: u64) {
        let pushed = jobs.min(u64::from(PROFILE[PROFILE.len() - 1]));
        for _ in 0..pushed {
            self.push(HitOrMiss::Undecided);
        }
        if jobs > pushed {
            self.run[1] = self.run[1].saturating_add(jobs - pushed);
            self.longest[1] = self.longest[1].max(self.run[1]);
        }
    }

    /// The pairs of a window of [`PROFILE`] and the most misses in it, as [`Watch::most_misses`].
    pub fn most_misses(&self) -> [(u32, [u32; 2]); PROFILE.len()] {
        std::array::from_fn(|at| (PROFILE[at], self.watches[at].most_misses()))
    }

    /// The longest run of misses, with undecided jobs as hits and with undecided jobs as misses.
    ///
    /// ```
    /// use layland_model::{HitOrMiss, Profile};
    /// let mut profile = Profile::default();
    /// HitOrMiss::word("MM?MHM").unwrap().into_iter().for_each(|outcome| profile.push(outcome));
    /// assert_eq!(profile.longest_run(), [2, 4]);
    /// ```
    pub fn longest_run(&self) -> [u64; 2] {
        self.longest
    }
}

/// A finite word with every window of at most `window` jobs of the infinite word `u v v v ..`:
/// `u v^(ceil(k / |v|) + 1)`.
///
/// The outcomes of jobs that arrive in one turn of a cycle are `v`. To judge `u v` alone would miss
/// the windows across the seam.
///
/// ```
/// use layland_model::{HitOrMiss, word_forever};
/// let [prefix, cycle] = ["H", "MHM"].map(|letters| HitOrMiss::word(letters).unwrap());
/// let word: String = word_forever(&prefix, &cycle, 4).map(HitOrMiss::letter).collect();
/// assert_eq!(word, "HMHMMHMMHM");
/// ```
pub fn word_forever(
    prefix: &[HitOrMiss],
    cycle: &[HitOrMiss],
    window: u32,
) -> impl Iterator<Item = HitOrMiss> {
    let turns = if cycle.is_empty() { 0 } else { (window as usize).div_ceil(cycle.len()) + 1 };
    prefix.iter().copied().chain(cycle.iter().copied().cycle().take(turns * cycle.len()))
}
