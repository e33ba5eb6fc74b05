//! Finds how the jobs of a thread arrive: periodically, or at least some time apart. `bursts.rs`
//! finds bursts.

use super::line::ArrivalLine;
use super::observation::{SeenJob, Stretch};
use layland_model::{Duration, Service};

/// A gap fits the period if it differs from a multiple of it by less than one part in this many.
const FITS: i64 = 20;
/// The number of arrivals per thousand that may share a period with another one.
const MOST_DOUBLES: usize = 50;

/// With a jitter of more than this many separations, the arrivals are bursts and not jobs.
const MOST_JITTER: i64 = 4;

/// The arrivals of the jobs of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// The pattern of the arrivals.
    pub pattern: Pattern,
    /// The number of arrivals from which the pattern was found.
    pub count: usize,
    /// The number of gaps per thousand that are whole periods, within a twentieth of a period.
    /// Without a period: the number that differ from the mean gap by less than a twentieth of it.
    pub fitting: u32,
    /// The shortest, the mean and the longest gap.
    pub gaps: [Duration; 3],
    /// A length that 95 % of the gaps reach.
    pub usual: Duration,
}

/// A pattern of arrivals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One arrival in each period, perhaps late.
    Periodic {
        /// The period, to the nearest nanosecond.
        period: Duration,
        /// The beginning of the first period that was seen, in nanoseconds of the trace.
        start: i64,
        /// The difference between the largest and the
        /// smallest delay since the beginning of a period.
        jitter: Duration,
        /// A bound on that difference for 99 % of the arrivals.
        usual_jitter: Duration,
        /// The periods without an arrival of their own, because the job before
        /// was late and its thread ran on without a sleep: the index of that
        /// arrival and the number of such periods, in ascending order.
        run_on: Vec<(usize, u64)>,
        /// The number of periods without any arrival or execution.
        empty: u64,
    },
    /// Arrivals at least some time apart.
    Sporadic {
        /// The distance between arrivals apart from the jitter:
        /// the shortest gap, or one that nearly all reach.
        separation: Duration,
        /// The jitter: `n` arrivals in a row span at least `n - 1` separations minus this.
        jitter: Duration,
        /// The time that the thread sleeps after each job, if that explains the gaps.
        sleep: Option<Duration>,
    },
    /// Bursts, for which a separation would make the task far too heavy.
    Bursts {
        /// The period, which is near the mean gap.
        period: Duration,
        /// The jitter: `n` arrivals in a row span at least `n - 1` periods minus this.
        jitter: Duration,
        /// The time that the thread sleeps after each job, if that explains the gaps.
        sleep: Option<Duration>,
    },
}

/// Returns the pattern of jobs in the order of their arrivals; `None` for fewer than three.
pub fn arrivals(jobs: &[SeenJob]) -> Option<Arrivals> {
    let at: Vec<i64> = jobs.iter().map(|job| job.arrival.ns()).collect();
    let mut gaps: Vec<i64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let in_order = gaps.clone();
    gaps.sort_unstable();
    let (&least, &most) = (gaps.first()?, gaps.last()?);
    if at.len() < 3 || most == 0 {
        return None;
    }
    let mean = (at[at.len() - 1] - at[0]) / gaps.len() as i64;
    let [least, mean, most] = [least, mean, most].map(Duration::from_ns);
    let gaps_seen = [least, mean, most];
    let usual = Duration::from_ns(gaps[(gaps.len() - 1) * 5 / 100]);
    if let Some(line) = line(&at, &gaps, mean.ns())
        && is_periodic(&line)
    {
        let period = line.period();
        let fitting = line.steps().filter(|step| step.abs() * FITS <= period).count();
        return Some(Arrivals {
            pattern: periodic(&line, jobs),
            count: at.len(),
            fitting: per_mille(fitting, in_order.len()),
            gaps: gaps_seen,
            usual,
        });
    }
    let fits = |gap: &&i64| (**gap - mean.ns()).abs() * FITS <= mean.ns();
    let fitting = in_order.iter().filter(fits).count();
    let (separation, jitter) = apart(&in_order, least, usual);
    Some(Arrivals {
        pattern: Pattern::Sporadic { separation, jitter, sleep: sleep(jobs, &gaps) },
        count: at.len(),
        fitting: per_mille(fitting, in_order.len()),
        gaps: gaps_seen,
        usual,
    })
}

/// Returns the most by which a run of arrivals gets ahead of a separation. With this jitter no run
/// of arrivals is shorter than the separation allows.
pub(super) fn ahead(jobs: &[SeenJob], separation: Duration) -> Duration {
    let (mut ahead, mut most) = (0i64, 0i64);
    for pair in jobs.windows(2) {
        let gap = (pair[1].arrival - pair[0].arrival).ns();
        ahead = ahead.saturating_add(separation.ns().saturating_sub(gap)).max(0);
        most = most.max(ahead);
    }
    Duration::from_ns(most)
}

/// Describes arrivals that are too few for a pattern. Their
/// separation is the one that was seen, or the length of the trace.
pub(super) fn few(jobs: &[SeenJob], length: Duration) -> Arrivals {
    let gaps = jobs.windows(2).map(|pair| pair[1].arrival - pair[0].arrival);
    let least = gaps.filter(|gap| *gap > Duration::ZERO).min().unwrap_or(length);
    Arrivals {
        pattern: Pattern::Sporadic { separation: least, jitter: ahead(jobs, least), sleep: None },
        count: jobs.len(),
        fitting: 0,
        gaps: [least; 3],
        usual: least,
    }
}

/// Jobs of a thread that also sleeps within its jobs.
pub(super) struct Merged {
    /// The number of wake-ups before the first whole job.
    pub(super) before: usize,
    /// The number of wake-ups in each job.
    pub(super) each: usize,
    /// The jobs, with their suspensions.
    pub(super) jobs: Vec<SeenJob>,
    /// The arrivals of these jobs.
    pub(super) arrivals: Arrivals,
}

/// The maximum number of wake-ups in a job.
const MOST_PARTS: usize = 8;
/// If wake-ups within jobs are mistaken for jobs, at least one arrival in this many is missing.
const MISSING: u64 = 5;
/// Jobs must number at least this many to be merged from several wake-ups each.
const FEWEST_MERGED: usize = 4;

/// Merges every few wake-ups in a row into one job, if
/// these jobs are periodic and the wake-ups are not.
pub(super) fn merged(jobs: &[SeenJob], parts: &Arrivals) -> Option<Merged> {
    // If nearly every period has an arrival, the wake-ups are jobs already.
    if let Pattern::Periodic { empty, run_on, .. } = &parts.pattern {
        let missing = run_on.iter().map(|(_, more)| more).sum::<u64>() + empty;
        if missing * MISSING < parts.count as u64 {
            return None;
        }
    }
    let gap = |at: usize| jobs[at].arrival - jobs[at - 1].arrival;
    for each in 2..=MOST_PARTS.min(jobs.len() / FEWEST_MERGED) {
        // The longest sleep is the one between jobs.
        let mean = |first: usize| -> i64 {
            let gaps = (first..jobs.len()).step_by(each).filter(|&at| at > 0);
            let count = gaps.clone().count().max(1) as i64;
            gaps.map(|at| gap(at).ns()).sum::<i64>() / count
        };
        let Some(before) = (0..each).max_by_key(|&first| mean(first)) else { continue };
        let groups: Vec<&[SeenJob]> = jobs[before..].chunks(each).collect();
        let all_end = |group: &&&[SeenJob]| {
            group.len() == each && group.iter().all(|part| part.end.is_some())
        };
        // The last one may continue after the end of the trace.
        let whole = groups.iter().take_while(all_end).count();
        if whole < FEWEST_MERGED || whole + 1 < groups.len() {
            continue;
        }
        // The sleep between jobs must be longer than any sleep within them.
        let sleep =
            |at: usize| jobs[at - 1].end.map_or(Duration::ZERO, |end| jobs[at].arrival - end);
        let (between, within): (Vec<usize>, Vec<usize>) =
            (before + 1..jobs.len()).partition(|at| (at - before) % each == 0);
        let shortest = between.into_iter().map(sleep).min();
        if within.into_iter().map(sleep).max() >= shortest {
            continue;
        }
        let merged: Vec<SeenJob> = groups.iter().map(|group| one(group, each)).collect();
        let Some(found) = arrivals(&merged) else { continue };
        let Pattern::Periodic { period, jitter, empty: 0, .. } = found.pattern else { continue };
        if found.fitting >= STEADY && jitter.ns() * FITS <= period.ns() {
            return Some(Merged { before, each, jobs: merged, arrivals: found });
        }
    }
    None
}

/// Merges several wake-ups into one job.
fn one(parts: &[SeenJob], each: usize) -> SeenJob {
    let mut whole = parts[0].clone();
    whole.stretches.clear();
    for (place, part) in parts.iter().enumerate() {
        let mut stretches = if part.stretches.is_empty() {
            vec![Stretch {
                executed: part.executed + Service::from_ns(part.lost.ns()),
                suspended: Duration::ZERO,
            }]
        } else {
            part.stretches.clone()
        };
        if place > 0 {
            whole.executed += part.executed;
            whole.lost += part.lost + part.delay;
            stretches[0].executed += Service::from_ns(part.delay.ns());
        }
        if let (Some(end), Some(next), Some(last)) =
            (part.end, parts.get(place + 1), stretches.last_mut())
        {
            last.suspended += (next.arrival - end).max(Duration::ZERO);
        }
        whole.stretches.extend(stretches);
    }
    whole.end = parts.last().and_then(|last| last.end).filter(|_| parts.len() == each);
    whole
}

/// Returns the number of first jobs that belong to the
/// start of a program, and the pattern of the others.
///
/// A program loads and initializes itself before it begins its regular work: the
/// trace has a few wake-ups at irregular times, and then one in each period. The
/// function first tries whether all jobs are periodic. If they are not, it omits
/// the jobs before the last gap of the first half that is too short for the
/// period of the second half, provided that the remaining jobs are many and fit.
pub fn steady(jobs: &[SeenJob]) -> Option<(usize, Arrivals)> {
    let whole = arrivals(jobs)?;
    if matches!(whole.pattern, Pattern::Periodic { .. }) {
        return Some((0, whole));
    }
    let later = start_up(jobs);
    let rest = arrivals(&jobs[later..]).filter(|rest| {
        later > 0
            && rest.count >= FEWEST_STEADY
            && matches!(rest.pattern, Pattern::Periodic { .. })
            && rest.fitting >= STEADY
    });
    Some(rest.map_or((0, whole), |rest| (later, rest)))
}

/// Returns the number of first jobs in which a program still loads itself, and the pattern of the
/// others; `None` if there are none. Such jobs take [`LONG_START`] times as long as any later one.
pub(super) fn after_long_start(jobs: &[SeenJob]) -> Option<(usize, Arrivals)> {
    let first = jobs.len().min(START_JOBS);
    let longest = jobs[first..].iter().map(|job| job.executed.ns()).max()?;
    let is_long = |job: &SeenJob| job.executed.ns() > longest.saturating_mul(LONG_START);
    let before = jobs[..first].iter().rposition(is_long)? + 1;
    let rest = arrivals(&jobs[before..])?;
    let is_regular = rest.count >= FEWEST_STEADY
        && matches!(rest.pattern, Pattern::Periodic { .. })
        && rest.fitting >= STEADY;
    is_regular.then_some((before, rest))
}

/// The maximum number of jobs that a start may have, if it is known by their length.
const START_JOBS: usize = 5;
/// See [`after_long_start`].
const LONG_START: i64 = 3;
/// The minimum number of remaining jobs for them to count as the regular work of a program.
const FEWEST_STEADY: usize = 20;
/// The number of gaps per thousand of the steady part that must fit the period.
const STEADY: u32 = 900;

/// Returns the index of the first job after the last gap of the first half that is shorter than
/// half of the usual gap of the second half.
fn start_up(jobs: &[SeenJob]) -> usize {
    let gaps: Vec<i64> =
        jobs.windows(2).map(|pair| (pair[1].arrival - pair[0].arrival).ns()).collect();
    let half = gaps.len() / 2;
    let mut second = gaps[half..].to_vec();
    second.sort_unstable();
    let Some(&usual) = second.get(second.len() / 2) else { return 0 };
    let Some(last) = gaps[..half].iter().rposition(|&gap| gap < usual / 2) else { return 0 };
    // The last job of the start may precede the steady part by some time.
    let fits = |gap: i64| (gap - usual).abs() * FITS <= usual;
    last + if fits(gaps[last + 1]) { 1 } else { 2 }
}

fn per_mille(part: usize, all: usize) -> u32 {
    (part * 1_000 / all.max(1)) as u32
}

/// Finds the best line. The guesses are quantiles of the gaps and their mean.
fn line(at: &[i64], sorted: &[i64], mean: i64) -> Option<ArrivalLine> {
    let last = sorted.len() - 1;
    let mut guesses = [10, 25, 50, 75].map(|percent| sorted[last * percent / 100]).to_vec();
    guesses.push(mean);
    guesses.sort_unstable();
    guesses.dedup();
    let lines = guesses.iter().filter_map(|&guess| ArrivalLine::follow(at, guess));
    // If arrivals share periods, the period is too
    // long. If most periods are empty, it is too short.
    let is_possible = |line: &ArrivalLine| {
        line.doubles() * 1_000 <= MOST_DOUBLES * at.len() && line.periods() <= 3 * at.len() as i64
    };
    // The line with the smallest spread relative to its
    // period; of equal lines the one with the longest.
    lines.filter(is_possible).max_by(|a, b| {
        let (a, b) = ((a.spread(25), a.period()), (b.spread(25), b.period()));
        let narrower =
            (i128::from(b.0) * i128::from(a.1)).cmp(&(i128::from(a.0) * i128::from(b.1)));
        narrower.then(a.1.cmp(&b.1))
    })
}

/// Returns true if a line is unlikely to fit by chance. A few arrivals are near some line in any
/// case, so the fewer they are, the nearer they must be.
fn is_periodic(line: &ArrivalLine) -> bool {
    let period = line.period();
    let count = line.index.len() as i64;
    let widest = match count {
        ..6 => period / 10,
        6..20 => period * 3 / 10,
        _ => period * 3 / 4 - period * 3 / count,
    };
    let spread = line.spread(25);
    spread <= widest && !(spread * 50 > period && line.drifts())
}

fn periodic(line: &ArrivalLine, jobs: &[SeenJob]) -> Pattern {
    let period = line.period();
    let earliest = line.residuals.iter().min().copied().unwrap_or(0);
    let latest = line.residuals.iter().max().copied().unwrap_or(0);
    let delay = jobs.iter().map(|job| job.delay).max().unwrap_or(Duration::ZERO);
    let mut sorted = line.residuals.clone();
    sorted.sort_unstable();
    let usual = sorted.get(sorted.len().saturating_sub(1) * 99 / 100).copied().unwrap_or(0);
    let (mut run_on, mut empty) = (Vec::new(), 0);
    for (number, pair) in line.index.windows(2).enumerate() {
        let skipped = (pair[1] - pair[0] - 1).max(0);
        let next = line.at(pair[0] + 1);
        // The job ran past the time at which the next one
        // was due, and did the next one without a sleep.
        let ran_into = (0..skipped)
            .take_while(|&more| {
                let due = next + more * period;
                jobs[number].end.is_some_and(|end| end.ns() >= due + earliest)
            })
            .count() as i64;
        if ran_into > 0 {
            run_on.push((number, ran_into as u64));
        }
        empty += (skipped - ran_into) as u64;
    }
    let first = line.index.first().map_or(0, |&k| line.at(k));
    Pattern::Periodic {
        period: Duration::from_ns(period),
        start: first + earliest,
        jitter: Duration::from_ns(latest - earliest) + delay,
        usual_jitter: Duration::from_ns(usual - earliest) + delay,
        run_on,
        empty,
    }
}

/// Returns the distance of arrivals and the jitter with which it holds for all of them.
///
/// One gap of a thousand may be a third of the others, because the arrival before it was late.
/// Taken as the separation, it would make the task three times as heavy as it is.
fn apart(gaps: &[i64], least: Duration, usual: Duration) -> (Duration, Duration) {
    let least = least.max(Duration::from_ns(1));
    // The most by which a run of arrivals gets ahead of the separation.
    let (mut ahead, mut most) = (0i64, 0i64);
    for &gap in gaps {
        ahead = ahead.saturating_add(usual.ns() - gap).max(0);
        most = most.max(ahead);
    }
    let is_rare = usual.ns() * 9 > least.ns() * 10 && most <= usual.ns() * MOST_JITTER;
    if is_rare { (usual, Duration::from_ns(most)) } else { (least, Duration::ZERO) }
}

/// Returns the time that a thread sleeps, if that varies much less than its gaps do.
fn sleep(jobs: &[SeenJob], sorted_gaps: &[i64]) -> Option<Duration> {
    let slept = jobs.windows(2).filter_map(|pair| Some((pair[1].arrival - pair[0].end?).ns()));
    let mut slept: Vec<i64> = slept.filter(|&length| length > 0).collect();
    if slept.len() < 10 || slept.len() + 2 < jobs.len() {
        return None;
    }
    slept.sort_unstable();
    let width = |sorted: &[i64]| sorted[sorted.len() * 19 / 20] - sorted[sorted.len() / 20];
    let is_explained = width(&slept) * 4 <= width(sorted_gaps);
    is_explained.then(|| Duration::from_ns(slept[slept.len() / 2]))
}
