//! The remaining list of PLRS as a list, by the rule: the slow twin of
//! [`Lists`](layland_policy::criticality::plrs::Lists).

/// An offline list, and its remaining entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    offline: Vec<i64>,
    remaining: Vec<i64>,
}

impl Literal {
    /// Creates the list from an offline list of decreasing priorities, all of which remain.
    pub fn new(offline: Vec<i64>) -> Literal {
        Literal { remaining: offline.clone(), offline }
    }

    /// Resets the list at the end of a busy period: all entries remain.
    pub fn reset(&mut self) {
        self.remaining.clone_from(&self.offline);
    }

    /// Replaces the entries above `y` by the same number of entries from the front of the offline list.
    pub fn reuse(&mut self, y: i64) {
        let above = self.remaining.iter().filter(|&&priority| priority > y).count();
        let kept: Vec<i64> = self.remaining.iter().copied().filter(|&p| p <= y).collect();
        self.remaining = self.offline[..above].to_vec();
        self.remaining.extend(kept);
    }

    /// Takes the highest remaining entry.
    pub fn take(&mut self) -> Option<i64> {
        (!self.remaining.is_empty()).then(|| self.remaining.remove(0))
    }

    /// Returns the remaining entries, highest first.
    pub fn remaining(&self) -> &[i64] {
        &self.remaining
    }
}
