//! The order of ready jobs, in one number.

/// The priority of a ready job: strict, so that no two jobs have the same.
///
/// The job with the smaller key comes first: with the earlier deadline, or the smaller fixed number. Ties
/// go to the smaller rank, then to the smaller id of the task. Where jobs of one level queue, the smaller level comes
/// before all that, and the key is the instant at which the job became ready. A job that is
/// [urgent](Priority::urgent) comes before all that are not.
///
/// `Ord` has the higher priority first: smaller means *before*. Where it matters, say
/// [`is_higher_than`](Self::is_higher_than).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u128);

/// From high to low: not urgent, the level, the key plus one, the seat of the task.
const NOT_URGENT: u128 = 1 << 127;
/// The level begins here. It has 30 bits, and there are no more tasks than that.
const LEVEL: u32 = 97;

impl Priority {
    /// Before every job: what a CPU has that runs nothing, so that it is never the one to preempt.
    pub(super) const IDLE: Priority = Priority(0);

    #[inline]
    pub(crate) fn new(key: i64, seat: u32) -> Priority {
        // Signed keys in unsigned order, and one more so that IDLE is before all.
        let key = u128::from(key as u64 ^ 1 << 63) + 1;
        Priority(NOT_URGENT | key << 32 | u128::from(seat))
    }

    /// The priority of a job that became ready at an instant, in a level: the position of that among all.
    #[inline]
    pub(crate) fn in_level(level: usize, ready: i64, seat: u32) -> Priority {
        Priority(Priority::new(ready, seat).0 | (level as u128) << LEVEL)
    }

    /// The same with another seat.
    pub(super) fn with_seat(self, seat: u32) -> Priority {
        Priority(self.0 >> 32 << 32 | u128::from(seat))
    }

    /// The key: the smaller, the higher.
    pub(super) fn key(self) -> i64 {
        ((self.0 & ((1 << LEVEL) - 1)) >> 32).wrapping_sub(1) as u64 as i64 ^ i64::MIN
    }

    /// The same job with another key.
    pub(super) fn with_key(self, key: i64) -> Priority {
        Priority::new(key, self.seat() as u32)
    }

    /// Where its task is in the order of rank and id.
    #[inline]
    pub(crate) fn seat(self) -> usize {
        self.0 as u32 as usize
    }

    /// Whether its job runs before the job of the other.
    #[inline]
    pub fn is_higher_than(self, other: Priority) -> bool {
        self < other
    }

    /// Whether its job runs before the job of the other, whatever breaks ties.
    #[inline]
    pub fn has_smaller_key(self, other: Priority) -> bool {
        self.0 >> 32 < other.0 >> 32
    }

    /// Whether its job is of a level before that of the other.
    #[inline]
    pub(crate) fn has_smaller_level(self, other: Priority) -> bool {
        self.0 >> LEVEL < other.0 >> LEVEL
    }

    /// The two words of its number, the one that counts more first.
    #[inline]
    pub(super) fn words(self) -> (u64, u64) {
        ((self.0 >> 64) as u64, self.0 as u64)
    }

    /// The same job, before all that are not urgent. The order of urgent jobs is the same as before.
    #[must_use]
    pub fn urgent(self) -> Priority {
        Priority(self.0 & !NOT_URGENT)
    }

    /// Whether its job comes before all that are not urgent.
    pub fn is_urgent(self) -> bool {
        self.0 & NOT_URGENT == 0
    }
}
