//! The order of ready jobs, encoded in one number.

/// The priority of a ready job. The order is strict: no two jobs have the same priority.
///
/// The job with the smaller key comes first: with the earlier deadline, or the smaller fixed
/// number. Ties go to the smaller rank, then to the smaller id of the task. If jobs of one level
/// queue, the smaller level decides before all that, and the key is the instant at which the job
/// became ready. An [urgent](Priority::urgent) job comes before all that are not.
///
/// `Ord` has the higher priority first: smaller means *before*. Prefer the unambiguous
/// [`is_higher_than`](Self::is_higher_than).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(u128);

/// The highest bit; set if the job is not urgent. The fields from high to low: not urgent, the
/// level, the key plus one, the seat of the task.
const NOT_URGENT: u128 = 1 << 127;
/// The lowest bit of the level. It has 30 bits, which is enough for one level per task.
const LEVEL: u32 = 97;

impl Priority {
    /// The priority of an idle CPU. It is before every job, so that a search for the lowest job
    /// never finds an idle CPU.
    pub(super) const IDLE: Priority = Priority(0);

    #[inline]
    pub(crate) fn new(key: i64, seat: u32) -> Priority {
        // Flip the sign bit so that signed keys sort as unsigned ones, and add one so that IDLE is
        // before all.
        let key = u128::from(key as u64 ^ 1 << 63) + 1;
        Priority(NOT_URGENT | key << 32 | u128::from(seat))
    }

    /// Returns the priority of a job that became ready at an instant, in a level, which is its
    /// position among all levels.
    #[inline]
    pub(crate) fn in_level(level: usize, ready: i64, seat: u32) -> Priority {
        Priority(Priority::new(ready, seat).0 | (level as u128) << LEVEL)
    }

    /// Returns the same priority with another seat.
    pub(super) fn with_seat(self, seat: u32) -> Priority {
        Priority(self.0 >> 32 << 32 | u128::from(seat))
    }

    /// Returns the key; a smaller key is a higher priority.
    pub(super) fn key(self) -> i64 {
        ((self.0 & ((1 << LEVEL) - 1)) >> 32).wrapping_sub(1) as u64 as i64 ^ i64::MIN
    }

    /// Returns the priority of the same job with another key.
    pub(super) fn with_key(self, key: i64) -> Priority {
        Priority::new(key, self.seat() as u32)
    }

    /// Returns the position of its task in the order of rank and id.
    #[inline]
    pub(crate) fn seat(self) -> usize {
        self.0 as u32 as usize
    }

    /// Returns true if its job runs before the other job.
    #[inline]
    pub fn is_higher_than(self, other: Priority) -> bool {
        self < other
    }

    /// Returns true if its job runs before the other job even without tie-breaks.
    #[inline]
    pub fn has_smaller_key(self, other: Priority) -> bool {
        self.0 >> 32 < other.0 >> 32
    }

    /// Returns true if its job has a level before that of the other job.
    #[inline]
    pub(crate) fn has_smaller_level(self, other: Priority) -> bool {
        self.0 >> LEVEL < other.0 >> LEVEL
    }

    /// Returns the two words of its number, the more significant one first.
    #[inline]
    pub(super) fn words(self) -> (u64, u64) {
        ((self.0 >> 64) as u64, self.0 as u64)
    }

    /// Returns the priority of the same job, before all jobs that are not urgent. The order among
    /// urgent jobs stays the same.
    #[must_use]
    pub fn urgent(self) -> Priority {
        Priority(self.0 & !NOT_URGENT)
    }

    /// Returns true if its job comes before all that are not urgent.
    pub fn is_urgent(self) -> bool {
        self.0 & NOT_URGENT == 0
    }
}
