//! How much of what all share one user may have, and what is kept for root.

use super::rules::ROOT;

/// How many of something there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Of one user who is not root.
    pub(super) of_one: usize,
    /// Of all users but root. The rest is kept for root.
    pub(super) of_users: usize,
    /// In all.
    pub(super) most: usize,
}

/// Connections.
pub(super) const CONNECTIONS: Limit = Limit { of_one: 64, of_users: 224, most: 256 };
/// Threads that are admitted. The mechanism has numbers for 500.
pub(super) const THREADS: Limit = Limit { of_one: 64, of_users: 400, most: 500 };
/// Questions about which polkit is asked at a time. It is not asked about root.
pub(super) const OF_POLKIT: Limit = Limit { of_one: 4, of_users: 32, most: 32 };
/// The longest line. A connection has as much waiting here; what it says besides waits in the kernel.
pub(super) const LONGEST: usize = super::talk::LONGEST;
/// After so long without a question a connection is closed that has no thread.
pub(super) const IDLE_NS: i64 = 60_000_000_000;
/// How long polkit may take.
pub(super) const PATIENCE_NS: i64 = 5_000_000_000;

impl Limit {
    /// Whether a user may have one more, where those of `users` have one each.
    pub(super) fn has_room(self, user: u32, users: impl Iterator<Item = u32>) -> bool {
        let (mut own, mut of_users, mut all) = (0, 0, 0);
        for other in users {
            own += usize::from(other == user);
            of_users += usize::from(other != ROOT);
            all += 1;
        }
        all < self.most && (user == ROOT || own < self.of_one && of_users < self.of_users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_limit_and_root_has_a_part() {
        for limit in [CONNECTIONS, THREADS] {
            let Limit { of_one, of_users, most } = limit;
            assert!(limit.has_room(7, std::iter::repeat_n(7, of_one - 1)));
            assert!(!limit.has_room(7, std::iter::repeat_n(7, of_one)));
            assert!(limit.has_room(8, std::iter::repeat_n(7, of_one)));
            // However many users there are, root has what is left.
            let crowd = |count: usize| (0..count).map(|place| 1000 + place as u32);
            assert!(!limit.has_room(7, crowd(of_users)) && limit.has_room(0, crowd(of_users)));
            let with_root = crowd(of_users).chain(std::iter::repeat_n(0, most - of_users - 1));
            assert!(limit.has_room(0, with_root.clone()));
            assert!(!limit.has_room(0, with_root.chain([0])));
        }
    }
}
