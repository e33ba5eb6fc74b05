//! States of a part, and what happens between two of them.
//!
//! States are small and many, so they have arrays of the narrowest words that hold the periods.
//! Loops over whole arrays have no early end: the compiler makes a few vector instructions of them.

use super::model::{Keys, Model};
use std::fmt::Debug;
use std::hash::Hash;

/// A time or an amount of work in a state, in units.
pub(super) trait Word: Copy + Ord + Default + Hash + Debug {
    fn new(value: u32) -> Self;
    fn value(self) -> u32;
    /// The difference, or 0 if it is negative.
    fn without(self, other: u32) -> Self;
}

macro_rules! words {
    ($($word:ty),*) => {$(
        impl Word for $word {
            #[inline]
            fn new(value: u32) -> $word {
                debug_assert!(<$word>::try_from(value).is_ok(), "the word is wide enough");
                value as $word
            }
            #[inline]
            fn value(self) -> u32 {
                u32::from(self)
            }
            #[inline]
            fn without(self, other: u32) -> $word {
                self.saturating_sub(<$word>::try_from(other).unwrap_or(<$word>::MAX))
            }
        }
    )*};
}
words!(u8, u16, u32);

/// A state at a tick, before the releases of that tick. Words behind the tasks of the model
/// are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TickState<W, const N: usize> {
    /// For each task, the time until it may release again. A task with work that may release again
    /// is late, since no deadline is longer than a period.
    pub(super) wait: [W; N],
    /// For each task, the work that its job has left.
    pub(super) left: [W; N],
}

impl<W: Word, const N: usize> TickState<W, N> {
    /// The state in which every task may release.
    pub(super) fn start() -> TickState<W, N> {
        TickState { wait: [W::default(); N], left: [W::default(); N] }
    }

    /// The tasks with work.
    #[inline]
    pub(super) fn active(&self) -> u64 {
        set_of(&self.left, |left| left > W::default())
    }

    /// The tasks among the first `count` that may release now.
    #[inline]
    pub(super) fn free(&self, count: usize) -> u64 {
        set_of(&self.wait, |wait| wait == W::default()) & !self.active() & first(count)
    }

    #[inline]
    pub(super) fn release(&mut self, i: usize, model: &Model) {
        self.wait[i] = W::new(model.tasks[i].period);
        self.left[i] = W::new(model.tasks[i].wcet);
    }

    /// The time that is left until the deadline of the job of a task.
    #[inline]
    pub(super) fn due(&self, i: usize, model: &Model) -> u32 {
        let task = &model.tasks[i];
        (task.deadline + self.wait[i].value()).saturating_sub(task.period)
    }

    /// The time until one of the first `count` tasks may release: a whole number of ticks, at least
    /// one.
    #[inline]
    pub(super) fn until_next_choice(&self, count: usize, tick: u32) -> u32 {
        let shortest = self.wait[..count].iter().copied().min().unwrap_or_default().value().max(1);
        if tick == 1 { shortest } else { shortest.div_ceil(tick).saturating_mul(tick) }
    }
}

#[inline]
fn set_of<W: Word, const N: usize>(words: &[W; N], is_in: impl Fn(W) -> bool) -> u64 {
    let mut set = 0;
    for (i, &word) in words.iter().enumerate() {
        set |= u64::from(is_in(word)) << i;
    }
    set
}

/// The set of the first `count` tasks.
#[inline]
pub(super) fn first(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The members of a set of tasks, in their order.
#[inline]
pub(super) fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        next
    })
}

/// The first `count` members of a set of tasks.
#[inline]
fn lowest(set: u64, count: usize) -> u64 {
    let mut rest = set;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    set & !rest
}

impl Model {
    #[inline]
    fn key<W: Word, const N: usize>(&self, state: &TickState<W, N>, i: usize) -> i64 {
        let task = &self.tasks[i];
        task.base + task.slope * i64::from(state.wait[i].value())
    }

    #[inline]
    fn has_laxity<W: Word, const N: usize>(&self, state: &TickState<W, N>, i: usize) -> bool {
        state.due(i, self) > state.left[i].value()
    }

    /// The active tasks in the order of their jobs.
    fn in_order<W: Word, const N: usize>(
        &self,
        state: &TickState<W, N>,
        active: u64,
        order: &mut [(bool, i64, u8); N],
    ) -> usize {
        let mut count = 0;
        for i in members(active) {
            let waits = self.keys == Keys::ZeroLaxity && self.has_laxity(state, i);
            order[count] = (waits, self.key(state, i), i as u8);
            count += 1;
        }
        order[..count].sort_unstable();
        count
    }

    /// The tasks that run. Ties are broken by the order of the model.
    #[inline]
    pub(super) fn running<W: Word, const N: usize>(&self, state: &TickState<W, N>) -> u64 {
        let active = state.active();
        if self.is_whole && active.count_ones() as usize <= self.cpus {
            return active;
        }
        if self.keys == Keys::Fixed {
            return if self.is_whole {
                lowest(active, self.cpus)
            } else {
                self.matched(members(active))
            };
        }
        let mut order = [(false, 0, 0); N];
        let count = self.in_order(state, active, &mut order);
        let order = order[..count].iter().map(|&(_, _, i)| usize::from(i));
        if self.is_whole {
            order.take(self.cpus).fold(0, |set, i| set | 1 << i)
        } else {
            self.matched(order)
        }
    }

    /// The tasks that run on identical CPUs, and those with equal keys of which some run: how
    /// many, if ties may be broken in every way.
    pub(super) fn running_with_ties<W: Word, const N: usize>(
        &self,
        state: &TickState<W, N>,
    ) -> (u64, u64, usize) {
        let active = state.active();
        if active.count_ones() as usize <= self.cpus {
            return (active, 0, 0);
        }
        let mut order = [(false, 0, 0); N];
        let count = self.in_order(state, active, &mut order);
        let (_, last, _) = order[self.cpus - 1];
        let having = |is: &dyn Fn(i64) -> bool| {
            let those = order[..count].iter().filter(|&&(_, key, _)| is(key));
            those.fold(0u64, |set, &(_, _, i)| set | 1 << i)
        };
        let (before, tied) = (having(&|key| key < last), having(&|key| key == last));
        let places = self.cpus - before.count_ones() as usize;
        if tied.count_ones() as usize == places {
            (before | tied, 0, 0)
        } else {
            (before, tied, places)
        }
    }

    /// Lets time pass without arrivals. The error is a task whose job will be late. Responses
    /// that end here are entered.
    #[inline]
    pub(super) fn advance<W: Word, const N: usize>(
        &self,
        state: &mut TickState<W, N>,
        mut step: u32,
        responses: &mut [u32; N],
    ) -> Result<(), usize> {
        while step > 0 {
            let running = self.running(state);
            let part = self.execute(state, running, step, responses)?;
            step -= part;
        }
        Ok(())
    }

    /// Lets these tasks run until one of them completes or another one loses its laxity, for at
    /// most this long. Returns the time that has passed.
    #[inline]
    pub(super) fn execute<W: Word, const N: usize>(
        &self,
        state: &mut TickState<W, N>,
        running: u64,
        step: u32,
        responses: &mut [u32; N],
    ) -> Result<u32, usize> {
        let mut part = step;
        for i in members(running) {
            part = part.min(state.left[i].value());
        }
        let waiting = state.active() & !running;
        if self.keys == Keys::ZeroLaxity {
            for i in members(waiting) {
                let laxity = state.due(i, self).saturating_sub(state.left[i].value());
                if laxity > 0 {
                    part = part.min(laxity);
                }
            }
        }
        for wait in &mut state.wait {
            *wait = wait.without(part);
        }
        for i in members(running) {
            state.left[i] = state.left[i].without(part);
            if state.left[i] == W::default() {
                responses[i] = responses[i].max(self.tasks[i].period - state.wait[i].value());
            }
        }
        // A job that runs keeps its laxity, so it suffices to look at those that wait. More work
        // than time means that the job will be late, whatever follows.
        for i in members(waiting) {
            if state.left[i].value() > state.due(i, self) {
                return Err(i);
            }
        }
        Ok(part)
    }
}
