//! Chooses the question that is answered next. Root comes first; otherwise each user has a turn,
//! and within it each connection of that user.

use super::rules::ROOT;
use std::collections::BTreeMap;

/// The user and the connections that were answered last.
#[derive(Debug, Default)]
pub(super) struct Turns {
    user: u32,
    /// The last connection of each user.
    connections: BTreeMap<u32, u64>,
}

impl Turns {
    /// Returns the connection that is answered next. `asks` yields the user and the connection of
    /// each question.
    pub(super) fn next(&mut self, asks: impl Iterator<Item = (u32, u64)>) -> Option<u64> {
        let mut of_users: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        asks.for_each(|(user, connection)| of_users.entry(user).or_default().push(connection));
        let user =
            if of_users.contains_key(&ROOT) { ROOT } else { *after(of_users.keys(), &self.user)? };
        let last = self.connections.get(&user).copied().unwrap_or(0);
        let mut own = of_users.remove(&user).unwrap_or_default();
        own.sort_unstable();
        let connection = *after(own.iter(), &last)?;
        // Answers to root do not use up the turn of a user.
        if user != ROOT {
            self.user = user;
        }
        self.connections.insert(user, connection);
        Some(connection)
    }

    /// Removes a user that has no connection left.
    pub(super) fn forget(&mut self, user: u32) {
        self.connections.remove(&user);
    }
}

/// Returns the first element after `last`, or else the first of all.
fn after<'a, T: Ord>(of: impl Iterator<Item = &'a T> + Clone, last: &T) -> Option<&'a T> {
    let mut again = of.clone();
    of.into_iter().find(|&one| one > last).or_else(|| again.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_user_has_a_turn_however_many_connections_another_has() {
        let mut turns = Turns::default();
        let flood: Vec<(u32, u64)> = (1..=64).map(|connection| (2001, connection)).collect();
        let asks = |others: &[(u32, u64)]| flood.iter().chain(others).copied().collect::<Vec<_>>();
        for round in 0..200 {
            assert_eq!(turns.next(asks(&[]).into_iter()), Some(round % 64 + 1));
        }
        // A new user is next. The other users then have a turn before it has another.
        assert_eq!(turns.next(asks(&[(1000, 70), (3000, 71)]).into_iter()), Some(71));
        assert_eq!(turns.next(asks(&[(1000, 70), (3000, 72)]).into_iter()), Some(70));
        assert_eq!(turns.next(asks(&[(1000, 70), (3000, 72)]).into_iter()), Some(9));
        assert_eq!(turns.next(asks(&[(1000, 70), (3000, 72)]).into_iter()), Some(72));
        // Root waits for no other user, and takes no turn of theirs.
        assert_eq!(turns.next(asks(&[(0, 99), (1000, 70)]).into_iter()), Some(99));
        assert_eq!(turns.next(asks(&[(1000, 70)]).into_iter()), Some(70));
        assert_eq!(turns.next(std::iter::empty()), None);
    }

    #[test]
    fn a_user_who_has_gone_is_forgotten() {
        let mut turns = Turns::default();
        turns.next([(1000, 5)].into_iter());
        turns.forget(1000);
        assert!(turns.connections.is_empty());
    }
}
