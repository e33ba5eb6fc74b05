//! [`Decisions`]: the number of instants at which the policy would decide.

/// Counts instants, each once, however many groups decide then.
///
/// Groups run one after the other, each for the same stretch of time. The instants of that stretch are
/// in a table of open addressing, which is small enough for a cache.
#[derive(Debug)]
pub(super) struct Decisions {
    pub count: u64,
    /// Instants since the beginning of the stretch, at places by their hash; zero is free. Empty if
    /// there is one group.
    slots: Vec<u32>,
    /// The number of instants in this stretch.
    known: usize,
    /// The time that zero stands for, plus one.
    begin: u64,
}

impl Decisions {
    /// The length of the longest stretch.
    pub(super) const LONGEST: u64 = u32::MAX as u64 - 1;

    /// Returns a count for one group, or for several with about this many instants in a stretch.
    pub(super) fn new(groups: usize, instants: usize) -> Decisions {
        let slots = if groups > 1 { (2 * instants).next_power_of_two().max(64) } else { 0 };
        Decisions { count: 0, slots: vec![0; slots], known: 0, begin: 0 }
    }

    /// Begins the stretch after this time.
    pub(super) fn begin_after(&mut self, time: u64) {
        self.begin = time + 1;
        self.known = 0;
        self.slots.fill(0);
    }

    #[inline(always)]
    pub(super) fn note(&mut self, now: u64) {
        let is_new = self.slots.is_empty() || self.insert((now + 1 - self.begin) as u32);
        self.count += u64::from(is_new);
    }

    /// Inserts an entry, and returns true if it is new.
    #[inline(always)]
    fn insert(&mut self, entry: u32) -> bool {
        let slots = self.slots.as_mut_slice();
        let last = slots.len() - 1;
        // The high bits of the product depend on all bits of the entry.
        let hash = entry.wrapping_mul(0x9e37_79b1);
        let mut place = ((u64::from(hash) * slots.len() as u64) >> 32) as usize;
        while slots[place] != 0 {
            if slots[place] == entry {
                return false;
            }
            place = (place + 1) & last;
        }
        slots[place] = entry;
        self.known += 1;
        if 4 * self.known > 3 * slots.len() {
            self.grow();
        }
        true
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let more = vec![0; 2 * self.slots.len()];
        let entries = std::mem::replace(&mut self.slots, more);
        self.known = 0;
        for entry in entries.into_iter().filter(|&entry| entry != 0) {
            self.insert(entry);
        }
    }
}
