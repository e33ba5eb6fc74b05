//! Limits on the share of a user in common resources, and the part that is kept for root.

use super::rules::ROOT;

/// The largest numbers of some resource.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// The most for one user other than root.
    pub(super) of_one: usize,
    /// The most for all users but root. The rest is kept for root.
    pub(super) of_users: usize,
    /// The most in total.
    pub(super) most: usize,
}

/// The limits on connections.
pub(super) const CONNECTIONS: Limit = Limit { of_one: 64, of_users: 224, most: 256 };
/// The limits on admitted threads. The mechanism has numbers for 500.
pub(super) const THREADS: Limit = Limit { of_one: 64, of_users: 400, most: 500 };
/// The limits on questions that polkit considers at a time. It is not asked about root.
pub(super) const OF_POLKIT: Limit = Limit { of_one: 4, of_users: 32, most: 32 };
/// The length of the longest line. A connection buffers as many bytes here; the kernel buffers the
/// rest.
pub(super) const LONGEST: usize = super::talk::LONGEST;
/// A connection without a thread is closed after this time without a question.
pub(super) const IDLE_NS: i64 = 60_000_000_000;
/// The time after which an unanswered polkit request fails.
pub(super) const PATIENCE_NS: i64 = 5_000_000_000;

impl Limit {
    /// Returns true if a user may have one more, where each element of `users` is the owner of one.
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
            // Regardless of the number of users, the rest is left for root.
            let crowd = |count: usize| (0..count).map(|place| 1000 + place as u32);
            assert!(!limit.has_room(7, crowd(of_users)) && limit.has_room(0, crowd(of_users)));
            let with_root = crowd(of_users).chain(std::iter::repeat_n(0, most - of_users - 1));
            assert!(limit.has_room(0, with_root.clone()));
            assert!(!limit.has_room(0, with_root.chain([0])));
        }
    }
}
