//! [`Queue`]: the waiting jobs, with fast access to the highest priority.
//!
//! Most of the time few jobs wait. The highest ones are a short sorted list that ends with the
//! highest: removing it takes one step, and a job that waits only for an instant, or was preempted
//! a moment ago, goes to that end. Only the jobs that do not fit are in a heap, so that O(log w)
//! holds for any number of waiting jobs. A heap alone has an unpredictable comparison at every
//! level, and mispredicted branches cost more time than the list.

use crate::shell::Priority;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// See the file header.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// The highest jobs, from low to high.
    front: Vec<Priority>,
    /// The other jobs, each lower than all jobs in front. Empty if there is none in front.
    rest: BinaryHeap<Reverse<Priority>>,
}

impl Queue {
    /// The maximum number of jobs in front.
    const FRONT: usize = 64;

    /// Returns the highest job.
    #[inline]
    pub(crate) fn highest(&self) -> Option<Priority> {
        self.front.last().copied()
    }

    /// Adds a job.
    #[inline]
    pub(crate) fn push(&mut self, job: Priority) {
        // All jobs in front must be higher than those in the heap.
        if !self.rest.is_empty() && self.rest_has_higher_than(job) {
            self.rest.push(Reverse(job));
            return;
        }
        if self.highest().is_none_or(|highest| job.is_higher_than(highest)) {
            self.front.push(job);
        } else {
            let at = self.front.partition_point(|&other| job.is_higher_than(other));
            self.front.insert(at, job);
        }
        if self.front.len() > Queue::FRONT {
            self.make_room();
        }
    }

    /// Removes and returns the highest job.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Priority> {
        let highest = self.front.pop();
        if self.front.is_empty() && !self.rest.is_empty() {
            self.refill();
        }
        highest
    }

    /// Removes a job, if it is contained.
    pub(crate) fn remove(&mut self, job: Priority) {
        self.front.retain(|&other| other != job);
        self.rest.retain(|&Reverse(other)| other != job);
        if self.front.is_empty() {
            self.refill();
        }
    }

    /// Removes every job.
    pub(crate) fn clear(&mut self) {
        self.front.clear();
        self.rest.clear();
    }

    /// Returns the jobs, in any order.
    #[cfg(test)]
    fn iter(&self) -> impl Iterator<Item = Priority> + '_ {
        let rest = self.rest.iter().map(|&Reverse(job)| job);
        self.front.iter().copied().chain(rest)
    }

    #[cold]
    fn rest_has_higher_than(&self, job: Priority) -> bool {
        self.rest.peek().is_some_and(|&Reverse(highest)| highest.is_higher_than(job))
    }

    /// Moves half of the jobs in front to the heap, so that the next call is some time away.
    #[cold]
    fn make_room(&mut self) {
        self.rest.extend(self.front.drain(..Queue::FRONT / 2).map(Reverse));
    }

    #[cold]
    fn refill(&mut self) {
        let highest = std::iter::from_fn(|| self.rest.pop()).take(Queue::FRONT / 2);
        self.front.extend(highest.map(|Reverse(job)| job));
        self.front.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(i64),
        Pop,
        Remove(usize),
        Clear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            60 => (0i64..1000).prop_map(Step::Push),
            30 => Just(Step::Pop),
            5 => (0usize..100).prop_map(Step::Remove),
            1 => Just(Step::Clear),
        ]
    }

    proptest! {
        /// Compares with a list that is sorted anew at every step.
        #[test]
        fn the_highest_is_what_a_sorted_list_has(steps in prop::collection::vec(step(), 0..600)) {
            let (mut queue, mut list) = (Queue::default(), Vec::new());
            for (seat, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Push(key) => {
                        let job = Priority::new(key, seat as u32);
                        queue.push(job);
                        list.push(job);
                    }
                    Step::Pop => {
                        prop_assert_eq!(queue.pop(), (!list.is_empty()).then(|| list.remove(0)));
                    }
                    Step::Remove(at) => {
                        if at < list.len() {
                            queue.remove(list.remove(at));
                        }
                    }
                    Step::Clear => {
                        queue.clear();
                        list.clear();
                    }
                }
                list.sort_unstable();
                prop_assert_eq!(queue.highest(), list.first().copied());
                let mut all: Vec<Priority> = queue.iter().collect();
                all.sort_unstable();
                prop_assert_eq!(&all, &list);
            }
        }
    }
}
