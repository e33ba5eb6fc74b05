//! [`State`]: the state that future decisions depend on.

use layland_model::Time;

/// The state of a policy or an engine as a list of numbers, used to find out whether it recurs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct State(Vec<i64>);

impl State {
    /// Writes a number.
    pub fn number(&mut self, number: i64) {
        self.0.push(number);
    }
    /// Writes a string.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as i64);
        self.0.extend(text.bytes().map(i64::from));
    }
    /// Writes a point in time, relative to now.
    pub fn time(&mut self, at: Time, now: Time) {
        self.0.push(if at == Time::NEVER { i64::MAX } else { (at - now).ns() });
    }
}
