//! Misses of deadlines, counted by the definitions: the slow twins of weakly hard constraints and of
//! `layland_analysis::how_often`.
//!
//! Times are whole units. Windows are looked at one by one, arrivals are enumerated, schedules are
//! made one unit after the other, and probabilities are exact rationals.

pub mod probability;
pub mod runs;
pub mod words;
