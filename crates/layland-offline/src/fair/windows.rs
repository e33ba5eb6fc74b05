//! Pfair: tasks in slots of one quantum, and the windows of their subtasks (Anderson and Srinivasan 2001, 2004).
//!
//! | paper | here |
//! |-------|------|
//! | quantum | [`Slots::quantum`] |
//! | weight `w = e / p` | [`Weight`]: `execution` slots in every `window` slots |
//! | pseudo-release `r(T_i)`, pseudo-deadline `d(T_i)` | [`Weight::release`], [`Weight::deadline`] |
//! | b-bit `b(T_i)` | [`Weight::overlaps`] |
//! | group deadline `D(T_i)` | [`Weight::group_deadline`] |
//!
//! A job of a task of weight `e / p` consists of subtasks of one slot each, `1, 2, .. e`. Counted
//! from the slot of its release, subtask `i` may run in the slots from `floor((i-1) p / e)` on and
//! before `ceil(i p / e)`. Windows of one job overlap by at most one slot, and the last one ends at
//! the deadline of the job. So each job can be treated separately, and `e / p` need not be in
//! lowest terms.
//!
//! A task needs `e = ceil(C / q)` slots, and its window is `p = floor(min(D, T) / q)` slots if it
//! is released at the beginning of a slot. A job that is released later waits for the next slot,
//! and could be late by less than a quantum. With `p = floor((min(D, T) - q + 1) / q)` it is in
//! time ([`Releases::Anywhere`]; times are whole nanoseconds).

use super::grid::{known_releases, releases_are_known};
use layland_model::{Behaviour, Duration, Releases, System, Task, TaskId, TaskMap};
use num_integer::{Integer, div_ceil, div_floor};

/// The weight of a task: a number of slots in every window of a number of slots.
///
/// ```
/// use layland_offline::Weight;
/// let weight = Weight { execution: 8, window: 11 };
/// let deadlines: Vec<i64> = (1..=8).map(|i| weight.deadline(i)).collect();
/// let groups: Vec<i64> = (1..=8).map(|i| weight.group_deadline(i)).collect();
/// assert_eq!(deadlines, [2, 3, 5, 6, 7, 9, 10, 11]);
/// assert_eq!(groups, [4, 4, 8, 8, 8, 11, 11, 11]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// `e`, at least 1 and at most the window.
    pub execution: i64,
    /// `p`.
    pub window: i64,
}

impl Weight {
    /// The first slot in which subtask `i` may run, counted from the release of its job. Subtasks
    /// count from 1, and continue beyond the last one of a job, for jobs that exceed their WCET.
    #[inline]
    pub fn release(self, i: i64) -> i64 {
        scaled(i - 1, self.window, self.execution, div_floor)
    }

    /// The slot before which subtask `i` must run.
    #[inline]
    pub fn deadline(self, i: i64) -> i64 {
        scaled(i, self.window, self.execution, div_ceil)
    }

    /// The b-bit: true if the next window begins before that of subtask `i` ends.
    #[inline]
    pub fn overlaps(self, i: i64) -> bool {
        i128::from(i) * i128::from(self.window) % i128::from(self.execution) != 0
    }

    /// Returns true if `e / p` is at least 1/2. Only such tasks have windows of two slots.
    #[inline]
    pub fn is_heavy(self) -> bool {
        self.execution >= self.window - self.execution
    }

    /// The group deadline of subtask `i`: the slot before which a cascade ends. In a cascade, each
    /// subtask that runs in the last slot of its window of two slots forces the next one into the
    /// last slot of its own window. The group deadline of a light task is 0.
    #[inline]
    pub fn group_deadline(self, i: i64) -> i64 {
        let Weight { execution: e, window: p } = self;
        match p - e {
            _ if !self.is_heavy() => 0,
            0 => self.deadline(i),
            rest => scaled(scaled(self.deadline(i), rest, p, div_ceil), p, rest, div_ceil),
        }
    }
}

/// `a b / c`, rounded.
#[inline]
fn scaled(a: i64, b: i64, c: i64, rounded: fn(i128, i128) -> i128) -> i64 {
    // Slot numbers beyond 64 bits are never reached.
    rounded(i128::from(a) * i128::from(b), i128::from(c)).try_into().unwrap_or(i64::MAX)
}

/// The tasks of a system in slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slots {
    /// The length of a slot.
    pub quantum: Duration,
    /// The weight of each task.
    pub weights: TaskMap<Weight>,
}

/// The reason why a system does not fit into slots.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSlots {
    /// A task needs more slots than its window has.
    #[error(
        "it needs {execution} slots of {quantum} in a window of {window}: a shorter quantum rounds less"
    )]
    TooHeavy {
        /// The task.
        task: TaskId,
        /// The number of slots that it needs.
        execution: i64,
        /// The number of slots of its window.
        window: i64,
        /// The length of a slot.
        quantum: Duration,
    },
    /// No slot length can be derived.
    #[error(
        "the times of the tasks have no common divisor that could be a slot: give a quantum, as in quantum=1ms"
    )]
    NoDivisor,
}

/// A derived slot length is at least this fraction of the shortest window.
const SHORTEST: i64 = 1000;
/// If execution times are rounded up to slots, it is at most this fraction of the shortest window.
const LONGEST: i64 = 100;

impl Slots {
    /// Converts the tasks to slots of this length. Without a length, takes the longest slots for
    /// which nothing is rounded. If the shortest window would have more than 1000 of these, WCETs
    /// are rounded up: to the longest slots that divide all periods, deadlines and releases, and of
    /// which the shortest window has at least 100.
    ///
    /// ```
    /// use layland_model::{Duration, Releases, Service, System, Task};
    /// use layland_offline::{Slots, Weight};
    /// let task = |c, t| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t));
    /// let system = System::new(2, vec![task(4, 6), task(4, 12), task(10, 12)]);
    /// let slots = Slots::of(&system, None, Releases::OnBoundaries).unwrap();
    /// assert_eq!(slots.quantum, Duration::from_ms(2));
    /// let weights: Vec<Weight> = slots.weights.values().copied().collect();
    /// let weight = |execution, window| Weight { execution, window };
    /// assert_eq!(weights, [weight(2, 3), weight(2, 6), weight(5, 6)]);
    /// ```
    ///
    /// # Errors
    /// Returns the reason if a task needs more slots than its window has, or no length can be
    /// derived.
    pub fn of(
        system: &System,
        quantum: Option<Duration>,
        releases: Releases,
    ) -> Result<Slots, NoSlots> {
        let quantum = match quantum {
            Some(quantum) => quantum,
            None => longest(system).ok_or(NoSlots::NoDivisor)?,
        };
        let q = quantum.ns();
        let weight = |(id, task): (TaskId, &Task)| {
            let window = task.deadline.min(task.period).ns();
            let window = match releases {
                // A job that is released just after a boundary waits for its first slot, up to q - 1 ns.
                Releases::Anywhere if !begins_slots(task, q) => (window - q + 1).div_euclid(q),
                Releases::Anywhere | Releases::OnBoundaries => window / q,
            };
            let execution = div_ceil(task.own_wcet().ns(), q).max(1);
            if execution <= window {
                Ok(Weight { execution, window })
            } else {
                Err(NoSlots::TooHeavy { task: id, execution, window: window.max(0), quantum })
            }
        };
        let weights: Result<Vec<Weight>, NoSlots> = system.tasks.iter().map(weight).collect();
        Ok(Slots { quantum, weights: weights?.into() })
    }

    /// Returns true if every job of a task is released at the beginning of a slot.
    pub fn begins_slots(&self, task: &Task) -> bool {
        begins_slots(task, self.quantum.ns())
    }
}

fn begins_slots(task: &Task, q: i64) -> bool {
    let is_listed = matches!(task.behaviour, Behaviour::Explicit(_));
    releases_are_known(task)
        && task.jitter == Duration::ZERO
        && (is_listed || task.period.ns() % q == 0)
        && known_releases(task).all(|at| at % q == 0)
}

/// Derives the length of a slot.
fn longest(system: &System) -> Option<Duration> {
    let gcd = |all: i64, one: i64| all.gcd(&one);
    let times = system.tasks.values().fold(0, |all, task| {
        let fixed = [task.deadline.ns(), task.period.ns()].into_iter().fold(all, gcd);
        known_releases(task).fold(fixed, gcd)
    });
    let all = system.tasks.values().map(|task| task.own_wcet().ns()).fold(times, gcd);
    let windows = system.tasks.values().map(|task| task.deadline.min(task.period).ns());
    let shortest = windows.min().unwrap_or(1);
    let enough = div_ceil(shortest, SHORTEST);
    let divisor = || {
        let most = shortest / LONGEST;
        let parts = div_ceil(times, most.max(1)).max(1)..=times / enough;
        // Fewer parts are longer slots, so the first divisor gives the longest one.
        parts.into_iter().find(|parts| times % parts == 0).map(|parts| times / parts)
    };
    let length = if all >= enough { Some(all) } else { divisor() };
    length
        .filter(|&length| length > 0 || system.tasks.is_empty())
        .map(|length| Duration::from_ns(length.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    /// Compares the windows with fractions, and the group deadline with its definition: the first
    /// slot boundary from the deadline on that ends a window which overlaps no other, or is the
    /// last but one of a window of three slots.
    #[test]
    fn closed_forms_are_the_definitions() {
        let mut subtasks = 0;
        for p in 1i64..=40 {
            for e in 1..=p {
                let weight = Weight { execution: e, window: p };
                let windows: Vec<(i64, i64, bool)> = (1..=2 * e)
                    .map(|i| {
                        let release = (0..).take_while(|t| t * e <= (i - 1) * p).count() as i64 - 1;
                        let deadline = (0..).find(|t| t * e >= i * p).expect("it is finite");
                        (release, deadline, deadline * e != i * p)
                    })
                    .collect();
                for i in 1..=e {
                    let (release, deadline, overlaps) = windows[i as usize - 1];
                    let group = (deadline..)
                        .find(|&t| {
                            windows[i as usize - 1..].iter().any(|&(from, to, overlaps)| {
                                (t == to && !overlaps) || (t == to - 1 && to - from == 3)
                            })
                        })
                        .expect("the last window overlaps no other");
                    assert_eq!(weight.release(i), release, "{weight:?} {i}");
                    assert_eq!(weight.deadline(i), deadline, "{weight:?} {i}");
                    assert_eq!(weight.overlaps(i), overlaps, "{weight:?} {i}");
                    let expected = if 2 * e < p { 0 } else { group };
                    assert_eq!(weight.group_deadline(i), expected, "{weight:?} {i}");
                    subtasks += 1;
                }
            }
        }
        assert_eq!(subtasks, 11_480);
    }

    #[test]
    fn windows_of_large_numbers_do_not_overflow() {
        let weight = Weight { execution: i64::MAX / 2 - 1, window: i64::MAX / 2 };
        assert_eq!(weight.deadline(weight.execution), weight.window);
        assert_eq!(weight.group_deadline(1), weight.window);
    }

    fn task(c: i64, t: i64) -> Task {
        Task::implicit("t", Service::from_ns(c), Duration::from_ns(t))
    }

    #[test]
    fn slots_that_nobody_gives_divide_what_they_can() {
        let slots =
            |tasks: Vec<Task>| Slots::of(&System::new(2, tasks), None, Releases::OnBoundaries);
        let quantum = |tasks| slots(tasks).map(|slots| slots.quantum.ns());
        assert_eq!(quantum(vec![task(2, 6), task(4, 8)]), Ok(2));
        // An offset counts. WCETs are rounded up only if no finer slot is possible.
        let mut late = task(4, 8);
        late.offset = Duration::from_ns(1);
        assert_eq!(quantum(vec![task(2, 6), late]), Ok(1));
        assert_eq!(quantum(vec![task(999_999, 3_000_000), task(1, 2_000_000)]), Ok(20_000));
        assert_eq!(quantum(vec![task(1, 1_000_003), task(1, 1_000_033)]), Err(NoSlots::NoDivisor));
    }

    #[test]
    fn windows_are_shorter_for_releases_anywhere() {
        let system = System::new(1, vec![task(7, 20), task(7, 21)]);
        let weights = |releases| {
            let slots = Slots::of(&system, Some(Duration::from_ns(5)), releases).unwrap();
            slots
                .weights
                .values()
                .map(|weight| (weight.execution, weight.window))
                .collect::<Vec<_>>()
        };
        assert_eq!(weights(Releases::OnBoundaries), [(2, 4), (2, 4)]);
        assert_eq!(weights(Releases::Anywhere), [(2, 4), (2, 3)]);
        let heavy = Slots::of(
            &System::new(1, vec![task(7, 8)]),
            Some(Duration::from_ns(3)),
            Releases::OnBoundaries,
        );
        let error = heavy.unwrap_err();
        assert_eq!(
            error.to_string(),
            "it needs 3 slots of 3ns in a window of 2: a shorter quantum rounds less"
        );
    }
}
