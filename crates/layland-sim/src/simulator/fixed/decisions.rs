//! [`Decisions`]: the number of instants at which the policy would decide.

/// Counts instants, each once, however many groups decide then.
///
/// Groups run one after the other, each for the same stretch of time. The instants of that stretch are
/// in a table of open addressing. It is never cleared, because an entry before the stretch is free.
#[derive(Debug)]
pub(super) struct Decisions {
    pub count: u64,
    /// Instants plus one, at places by their hash; empty if there is one group.
    slots: Vec<u64>,
    /// The number of instants in this stretch.
    known: usize,
    /// Entries up to this one are free.
    free: u64,
}

impl Decisions {
    /// Returns a count for one group, or for several with about this many instants in a stretch.
    pub(super) fn new(groups: usize, instants: usize) -> Decisions {
        let slots = if groups > 1 { (4 * instants).next_power_of_two().max(64) } else { 0 };
        Decisions { count: 0, slots: vec![0; slots], known: 0, free: 0 }
    }

    /// Begins the stretch after this time.
    pub(super) fn begin_after(&mut self, time: u64) {
        self.free = time + 1;
        self.known = 0;
    }

    #[inline(always)]
    pub(super) fn note(&mut self, now: u64) {
        if self.slots.is_empty() || self.insert(now + 1) {
            self.count += 1;
        }
    }

    /// Inserts an entry, and returns true if it is new.
    #[inline(always)]
    fn insert(&mut self, entry: u64) -> bool {
        let slots = self.slots.as_mut_slice();
        let last = slots.len() - 1;
        // The high bits of the product depend on all bits of the time.
        let hash = entry.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let mut place = hash as usize & last;
        while slots[place] > self.free {
            if slots[place] == entry {
                return false;
            }
            place = (place + 1) & last;
        }
        slots[place] = entry;
        self.known += 1;
        if 2 * self.known > slots.len() {
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
        let free = self.free;
        for entry in entries.into_iter().filter(|&entry| entry > free) {
            self.insert(entry);
        }
    }
}
