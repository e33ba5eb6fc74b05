//! The shares of a machine that its users may have.
//!
//! 1. The admitted threads of one user have at most a share of the CPUs.
//! 2. All users leave a fifth of the CPUs to root, unless the share of one user is more than the
//!    rest.
//!
//! Root is exempt, which its caller decides.

use layland_model::Rate;

/// The share of one user.
#[derive(Clone, Copy, Debug)]
pub struct Share<'a> {
    /// The part of all CPUs that one user may have: 1 is everything.
    pub of_one: &'a Rate,
    /// The number of CPUs.
    pub cpus: usize,
}

/// An admitted utilization, in CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Has {
    /// The utilization of the user who asks.
    pub own: Rate,
    /// The utilization of all users but root.
    pub users: Rate,
}

/// The users whose share is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The user who asks.
    OfOne,
    /// All users but root.
    OfAll,
}

/// A utilization that is more than a share. All rates are in CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeyondShare {
    /// The users.
    pub whose: Whose,
    /// The utilization that they have.
    pub has: Rate,
    /// The most that they may have.
    pub most: Rate,
}

impl Share<'_> {
    /// Checks that a user may have this utilization, in CPUs, in addition to what it has.
    ///
    /// # Errors
    /// The share that is too small.
    pub fn allows(&self, has: &Has, asks: &Rate) -> Result<(), BeyondShare> {
        let all = Rate::new(i64::try_from(self.cpus).unwrap_or(i64::MAX), 1);
        let of_one = self.of_one * &all;
        let of_all = &all * self.of_one.max(&Rate::new(4, 5));
        let shares = [(Whose::OfOne, &has.own, of_one), (Whose::OfAll, &has.users, of_all)];
        for (whose, has, most) in shares {
            if has + asks > most {
                return Err(BeyondShare { whose, has: has.clone(), most });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for `asks` of two CPUs.
    fn whose(of_one: Rate, own: Rate, users: Rate, asks: Rate) -> Option<Whose> {
        let share = Share { of_one: &of_one, cpus: 2 };
        share.allows(&Has { own, users }, &asks).err().map(|beyond| beyond.whose)
    }

    #[test]
    fn a_user_has_a_share() {
        let of_one = |own: Rate, asks| whose(Rate::new(1, 5), own.clone(), own, asks);
        // A fifth of two CPUs, exactly.
        assert_eq!(of_one(Rate::ZERO, Rate::new(2, 5)), None);
        assert_eq!(of_one(Rate::new(1, 5), Rate::new(1, 5)), None);
        assert_eq!(of_one(Rate::new(1, 5), Rate::new(200_001, 1_000_000)), Some(Whose::OfOne));
    }

    #[test]
    fn all_users_leave_a_part_to_root() {
        let of_all = |share, users| whose(share, Rate::ZERO, users, Rate::new(1, 10));
        assert_eq!(of_all(Rate::new(1, 5), Rate::new(3, 2)), None);
        assert_eq!(of_all(Rate::new(1, 5), Rate::new(151, 100)), Some(Whose::OfAll));
        // The fifth is not kept if root has given a user everything.
        assert_eq!(of_all(Rate::ONE, Rate::new(19, 10)), None);
        assert_eq!(of_all(Rate::ONE, Rate::new(191, 100)), Some(Whose::OfAll));
    }
}
