//! The states that a search keeps: an antichain of the relation *covers*.

#![expect(
    clippy::disallowed_types,
    reason = "states are looked up, and never listed in the order of the map"
)]

use super::model::{Keys, Model};
use super::state::{TickState, Word, first};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The way to a state: the state before it, and the tasks that released there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) before: u32,
    pub(super) released: u64,
}

/// States that have the same remaining work.
struct Alike<W, const N: usize> {
    left: [W; N],
    /// Waits and number of each state. None of them covers another.
    states: Vec<([W; N], u32)>,
}

/// The properties that states share if they are compared: the active tasks, and waits of some of
/// them.
type Alikeness<W, const N: usize> = (u64, [W; N]);

/// The states that were reached, each with its origin. A state that another one *covers* is
/// dropped: that one has at least as much work left for each task, and each task may release at
/// least as soon. Unless priorities are fixed by task, the jobs that are active in the covered
/// state have the same release in both, so that deadlines and keys agree. A job that
/// is late after the covered state is then late after the covering one; see the module of the search.
///
/// Only states with the same active tasks are compared. This costs nothing but some of the saving.
pub(super) struct Antichain<W, const N: usize> {
    states: Vec<TickState<W, N>>,
    origins: Vec<Reach>,
    is_covered: Vec<bool>,
    index: HashMap<Alikeness<W, N>, Vec<Alike<W, N>>, BuildHasherDefault<Mixer>>,
    /// The active tasks whose waits are part of the key.
    in_key: u64,
}

impl<W: Word, const N: usize> Antichain<W, N> {
    /// Keeps the state in which every task may release.
    pub(super) fn new(model: &Model) -> Antichain<W, N> {
        // Jobs of different release are never compared unless priorities are fixed. Even then
        // those of the first tasks are never delayed on identical CPUs: with a later release they
        // have more work left, so neither state covers the other.
        let in_key = match model.keys {
            Keys::Fixed if model.is_whole => first(model.cpus),
            Keys::Fixed => 0,
            Keys::Points | Keys::PointsAnyTies | Keys::ZeroLaxity => u64::MAX,
        };
        let mut kept = Antichain {
            states: Vec::new(),
            origins: Vec::new(),
            is_covered: Vec::new(),
            index: HashMap::default(),
            in_key,
        };
        kept.add(&TickState::start(), Reach { before: 0, released: 0 });
        kept
    }

    /// The memory that a state takes, in bytes, with its share of the index and of the queue.
    pub(super) const BYTES: usize = 3 * size_of::<[W; N]>() + size_of::<Reach>() + 32;

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    pub(super) fn get(&self, number: u32) -> &TickState<W, N> {
        &self.states[number as usize]
    }

    /// Returns true if a state that was added later covers this one.
    pub(super) fn is_covered(&self, number: u32) -> bool {
        self.is_covered[number as usize]
    }

    /// The states that no other one covers, in the order in which they were found.
    pub(super) fn antichain(&self) -> impl Iterator<Item = &TickState<W, N>> {
        self.states.iter().zip(&self.is_covered).filter(|(_, covered)| !**covered).map(|(s, _)| s)
    }

    /// Adds a state, unless a known state covers it.
    pub(super) fn add(&mut self, state: &TickState<W, N>, origin: Reach) -> Option<u32> {
        let active = state.active();
        let mut waits = [W::default(); N];
        for (i, wait) in waits.iter_mut().enumerate() {
            if active & self.in_key & (1 << i) != 0 {
                *wait = state.wait[i];
            }
        }
        let groups = self.index.entry((active, waits)).or_default();
        let mut own = None;
        for (at, group) in groups.iter().enumerate() {
            if is_at_most(&state.left, &group.left) {
                if group.states.iter().any(|(wait, _)| is_at_most(wait, &state.wait)) {
                    return None;
                }
                if group.left == state.left {
                    own = Some(at);
                }
            }
        }
        let is_covered = &mut self.is_covered;
        for group in groups.iter_mut() {
            if is_at_most(&group.left, &state.left) {
                group.states.retain(|&(wait, known)| {
                    let stays = !is_at_most(&state.wait, &wait);
                    is_covered[known as usize] |= !stays;
                    stays
                });
            }
        }
        let number = u32::try_from(self.states.len()).expect("states are limited");
        match own {
            Some(at) => groups[at].states.push((state.wait, number)),
            None => {
                groups.retain(|group| !group.states.is_empty());
                groups.push(Alike { left: state.left, states: vec![(state.wait, number)] });
            }
        }
        self.states.push(*state);
        self.origins.push(origin);
        self.is_covered.push(false);
        Some(number)
    }

    /// The choices that lead to a state, from the first on, and then a last one there.
    pub(super) fn choices(&self, number: u32, last: u64) -> Vec<u64> {
        let (mut choices, mut at) = (vec![last], number);
        while at > 0 {
            let Reach { before, released } = self.origins[at as usize];
            choices.push(released);
            at = before;
        }
        choices.reverse();
        choices
    }
}

/// Returns true if each word is at most its counterpart.
#[inline]
fn is_at_most<W: Word, const N: usize>(these: &[W; N], those: &[W; N]) -> bool {
    let mut holds = true;
    for i in 0..N {
        holds &= these[i] <= those[i];
    }
    holds
}

/// A fast hash for the keys of states. Collisions cost time alone.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }
    fn write_u16(&mut self, word: u16) {
        self.write_u64(u64::from(word));
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
