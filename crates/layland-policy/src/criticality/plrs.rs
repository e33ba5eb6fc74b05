//! Priority list reuse scheduling (**PLRS**): fixed job priorities from offline lists, and a criticality
//! indicator (Guan, Ekberg, Stigge and Yi 2011; Huang, Gill, Lu 2014, Section 2.4).
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `Omega_i` | `offline` | the priorities of the jobs of a task in a busy period, decreasing |
//! | remaining list | [`Lists`] | the priorities of its next jobs |
//! | `Gamma` | [`Indicator`] | only jobs of at least this criticality run |
//!
//! Larger numbers are higher priorities. The paper only states that lists are reused; this file
//! uses the following rule. When jobs arrive at `t`, let `y` be the highest priority among the jobs
//! that were pending before: the entries of every remaining list above `y` are replaced by as many
//! from the front of its offline list, since the busy period has no pending job above `y`. Then
//! each job takes the head of its list. Without reuse, jobs of a long busy period get priorities
//! that are too low.
//!
//! A job with an empty list gets priority -1, below all others, and a note records it
//! ([`Note::Unlisted`](crate::Note::Unlisted)). With lists of `fjp_safe` this requires releases
//! that are too close together; with those of the paper's pattern it happens in legal runs. Equal
//! priorities, which only such jobs have, go to the lower index. The jobs of a task run in the
//! order of their releases, each at its own priority.
//!
//! # Jobs that need nothing below their own level
//!
//! A job with `C_i(l) = 0` adds nothing to the busy period of level `l`, which the analysis lets
//! end while that job still waits for its turn. But the idle check counts the job as pending, so
//! jobs that arrive at that instant would use the lists and the indicator of a finished busy
//! period: the lists may be empty, or their entries too low. The order of events (step 5
//! of [`mechanism`](super::mechanism)) repairs this: if such a job is next, it gets the CPU before
//! any arrival. It completes, and lists and indicator are reset for the arrivals of this instant;
//! or it overruns, and the arrivals meet the level that it raised.

use super::indicator::{Indicator, OwnOverrun};
use super::mechanism::{Choice, Jobs, Mechanism, Pending};
use crate::State;
use layland_model::Time;
use std::ops::Range;

/// The remaining list of a task as ranges of its offline list: in order, disjoint and not empty.
///
/// Replacing the entries above a priority merges ranges, and taking the head shortens the first
/// one, so the number of ranges rarely exceeds the number of pending jobs.
///
/// ```
/// use layland_policy::criticality::plrs::Lists;
/// let mut list = Lists::new(vec![9, 7, 4, 2]);
/// assert_eq!([list.take(), list.take()], [Some(9), Some(7)]);
/// // The busy period goes on with a job of priority 3: one entry above it is left, and 9 is reused.
/// list.reuse(3);
/// assert_eq!([list.take(), list.take(), list.take()], [Some(9), Some(2), None]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists {
    offline: Vec<i64>,
    ranges: Vec<Range<usize>>,
}

impl Lists {
    /// Returns the lists for an offline list of decreasing priorities, all of which remain.
    pub fn new(offline: Vec<i64>) -> Lists {
        let mut list = Lists { offline, ranges: Vec::new() };
        list.reset();
        list
    }

    /// Handles the end of a busy period: all entries remain.
    pub fn reset(&mut self) {
        self.ranges.clear();
        if !self.offline.is_empty() {
            self.ranges.push(0..self.offline.len());
        }
    }

    /// Replaces the entries above `y` by as many from the front of the offline list.
    pub fn reuse(&mut self, y: i64) {
        // Entries of the offline list above `y` come before this index.
        let end = self.offline.partition_point(|&priority| priority > y);
        let above = |range: &Range<usize>| range.end.min(end).saturating_sub(range.start);
        let count: usize = self.ranges.iter().map(above).sum();
        if count == 0 {
            return;
        }
        let mut merged = 0..count;
        let first = self.ranges.partition_point(|range| range.end <= end);
        if let Some(range) = self.ranges.get_mut(first) {
            range.start = range.start.max(end);
            if range.start == count {
                merged.end = range.end;
                self.ranges.remove(first);
            }
        }
        self.ranges.splice(..first, [merged]);
    }

    /// Takes the highest remaining entry.
    pub fn take(&mut self) -> Option<i64> {
        let first = self.ranges.first_mut()?;
        let priority = self.offline[first.start];
        first.start += 1;
        if first.start == first.end {
            self.ranges.remove(0);
        }
        Some(priority)
    }

    /// Returns the remaining entries, highest first.
    pub fn remaining(&self) -> impl Iterator<Item = i64> + '_ {
        self.ranges.iter().flat_map(|range| self.offline[range.clone()].iter().copied())
    }
}

/// Fixed job priorities with an indicator.
#[derive(Clone, Debug)]
pub struct ListReuse {
    lists: Vec<Lists>,
    reuse: bool,
    /// The time of the last reuse, which happens once per instant.
    reused_at: Time,
    indicator: Indicator,
}

impl ListReuse {
    /// Returns the mechanism with the list of each task. `reuse` is off only to demonstrate the
    /// resulting errors.
    pub fn new(
        lists: Vec<Vec<i64>>,
        reuse: bool,
        levels: usize,
        own_overrun: OwnOverrun,
    ) -> ListReuse {
        ListReuse {
            lists: lists.into_iter().map(Lists::new).collect(),
            reuse,
            reused_at: Time::from_ns(i64::MIN),
            indicator: Indicator::new(levels, own_overrun),
        }
    }
}

impl Mechanism for ListReuse {
    fn exhausted(&mut self, jobs: &mut Jobs, member: usize) {
        self.indicator.overrun(jobs, member);
    }

    fn idle(&mut self, jobs: &mut Jobs) {
        self.indicator.idle(jobs);
        self.lists.iter_mut().for_each(Lists::reset);
    }

    fn arrive(&mut self, jobs: &mut Jobs, now: Time, arrivals: &[(usize, Pending)]) {
        if self.reuse && self.reused_at != now {
            self.reused_at = now;
            let before = jobs.all().filter(|(_, job)| job.heard < now);
            let y = before.map(|(_, job)| job.priority).max().unwrap_or(-1);
            self.lists.iter_mut().for_each(|list| list.reuse(y));
        }
        for &(member, job) in arrivals {
            self.indicator.arrive(jobs, member, job, || self.lists[member].take());
        }
    }

    fn select(&mut self, jobs: &Jobs, _now: Time) -> Option<Choice> {
        self.indicator.highest(jobs)
    }

    fn save(&self, _now: Time, state: &mut State) {
        state.number(self.indicator.level() as i64);
        for list in &self.lists {
            state.number(list.ranges.len() as i64);
            for range in &list.ranges {
                state.number(range.start as i64);
                state.number(range.end as i64);
            }
        }
    }
}
