//! The rules of the daemon about permissions, which need no kernel.
//!
//! 1. Only its owner or root may name a thread. The real, the effective and the saved user must all
//!    match, so that a user cannot name a program that has the rights of another. A thread whose
//!    program gains such rights later leaves.
//! 2. Every user but root has a [share](Share) of the CPUs.
//! 3. The admitted threads of a user leave at the request of that user or of root.

use super::talk::Wanted;
use crate::ui::exit::Failure;
use layland_guarantee::admission::{BeyondShare, Guarantee, Has, Reservation, Share, Whose};
use layland_linux::exec::Owner;
use layland_model::{CpuSet, Duration, Rate, Service};

/// The user who is exempt from the restrictions.
pub(super) const ROOT: u32 = 0;
/// The longest period. A thread that has used up its budget waits for the end of its period, and
/// the kernel removes a scheduler under which a thread waits for half a minute.
const LONGEST_NS: i64 = 10_000_000_000;
/// The length of the longest name. A longer name is probably a mistake.
const LONGEST_NAME: usize = 128;
/// The shortest runtime: the mechanism does not enforce budgets more precisely.
const SHORTEST_NS: i64 = 10_000;

/// Checks that a user may name a thread of this owner, if the thread exists.
pub(super) fn may_give(user: u32, thread: i32, owner: Option<Owner>) -> Result<(), Failure> {
    let Some(owner) = owner else {
        return Err(Failure::usage(format!("there is no thread {thread}")));
    };
    if user == ROOT || owner.is(user) {
        return Ok(());
    }
    let effective = owner.effective;
    let message = format!("thread {thread} belongs to user {effective}, and user {user} asks");
    Err(Failure::refused(message).help("only its owner or root may ask"))
}

/// Checks that a user may have this utilization, in CPUs, in addition to what it has.
pub(super) fn is_within_share(
    user: u32,
    share: &Share<'_>,
    has: &Has,
    asks: &Rate,
) -> Result<(), Failure> {
    if user == ROOT {
        return Ok(());
    }
    share.allows(has, asks).map_err(|BeyondShare { whose, has, most }| {
        let (who, whose) = match whose {
            Whose::OfOne => (format!("user {user} has"), "a user"),
            Whose::OfAll => ("all users have".to_owned(), "all users"),
        };
        let message = format!(
            "{who} {:.3} CPUs, and user {user} asks for {:.3} more: {whose} may have {:.3} of {}",
            has.to_f64(),
            asks.to_f64(),
            most.to_f64(),
            share.cpus,
        );
        Failure::no(message)
            .help("ask for less, or ask as root; `layland daemon --share` sets how much")
    })
}

/// Returns true if a user may end the reservations of another.
pub(super) fn may_end(user: u32, owner: u32) -> bool {
    user == ROOT || user == owner
}

/// Returns the requested reservation, if it is valid.
pub(super) fn reservation_of(wanted: &Wanted) -> Result<Reservation, Failure> {
    let Wanted { runtime_ns, deadline_ns, period_ns, .. } = *wanted;
    let is_in_order = runtime_ns >= SHORTEST_NS
        && runtime_ns <= deadline_ns
        && deadline_ns <= period_ns
        && period_ns <= LONGEST_NS;
    if !is_in_order {
        return Err(Failure::usage(format!(
            "{runtime_ns} ns within {deadline_ns} ns of every {period_ns} ns: a runtime is at least {}, at most the \
             deadline, and that at most the period, which is at most {}",
            Duration::from_ns(SHORTEST_NS),
            Duration::from_ns(LONGEST_NS),
        )));
    }
    let is_name = !wanted.name.is_empty()
        && wanted.name.len() <= LONGEST_NAME
        && !wanted.name.contains(char::is_control);
    if !is_name {
        return Err(Failure::usage("a name has 1 to 128 letters"));
    }
    let mut reservation = Reservation::implicit(
        wanted.name.clone(),
        Service::from_ns(runtime_ns),
        Duration::from_ns(period_ns),
    );
    reservation.deadline = Duration::from_ns(deadline_ns);
    reservation.cpus = match &wanted.cpus {
        None => None,
        Some(text) => match text.parse::<CpuSet>() {
            Ok(cpus) if !cpus.is_empty() => Some(cpus),
            Ok(_) | Err(_) => {
                return Err(Failure::usage(format!("`{text}` is not a list of CPUs")));
            }
        },
    };
    reservation.guarantee = match wanted.tardiness_ns {
        None => Guarantee::Deadlines,
        Some(most) if (0..=LONGEST_NS).contains(&most) => {
            Guarantee::Tardiness(Duration::from_ns(most))
        }
        Some(most) => return Err(Failure::usage(format!("{most} ns is not a tardiness"))),
    };
    Ok(reservation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::exit::{Exit, Message};

    fn owner(real: u32, effective: u32) -> Option<Owner> {
        Some(Owner { real, effective, saved: effective })
    }

    fn wanted() -> Wanted {
        Wanted {
            name: "ctl".to_owned(),
            thread: Some(1),
            runtime_ns: 2_000_000,
            deadline_ns: 8_000_000,
            period_ns: 10_000_000,
            tardiness_ns: None,
            cpus: Some("1-2".to_owned()),
            policy: "dl-sp".to_owned(),
        }
    }

    #[test]
    fn a_thread_is_given_by_its_owner_or_root() {
        let answer = |user, owner| may_give(user, 7, owner).map_err(|failure| failure.exit);
        assert_eq!(answer(1000, owner(1000, 1000)), Ok(()));
        assert_eq!(answer(0, owner(1000, 1000)), Ok(()));
        assert_eq!(answer(1001, owner(1000, 1000)), Err(Exit::Refused));
        // A program with the rights of another user, on either side.
        assert_eq!(answer(1000, owner(1000, 0)), Err(Exit::Refused));
        assert_eq!(answer(1000, owner(0, 1000)), Err(Exit::Refused));
        assert_eq!(
            answer(1000, Some(Owner { real: 1000, effective: 1000, saved: 0 })),
            Err(Exit::Refused)
        );
        assert_eq!(answer(0, None), Err(Exit::Usage));
    }

    #[test]
    fn a_user_has_a_share_and_root_has_none() {
        let share = Share { of_one: &Rate::new(1, 5), cpus: 2 };
        let answer = |user, own, users| {
            let has = Has { own, users };
            let answer = is_within_share(user, &share, &has, &Rate::new(1, 10));
            answer.map_err(|failure| match failure.message {
                Message::Plain(text, _) | Message::Drawn(text) => text,
            })
        };
        let (tenth, most) = (Rate::new(1, 10), Rate::new(3, 2));
        assert_eq!(answer(1000, tenth.clone(), most.clone()), Ok(()));
        assert_eq!(
            answer(1000, Rate::new(2, 5), most),
            Err("user 1000 has 0.400 CPUs, and user 1000 asks for 0.100 more: a user may have 0.400 of 2".to_owned())
        );
        let all = "all users have 1.600 CPUs, and user 1000 asks for 0.100 more: all users may have 1.600 of 2";
        assert_eq!(answer(1000, tenth.clone(), Rate::new(8, 5)), Err(all.to_owned()));
        assert_eq!(answer(0, Rate::ONE, Rate::new(2, 1)), Ok(()));
    }

    #[test]
    fn what_is_admitted_is_ended_by_its_user_or_root() {
        assert!(may_end(1000, 1000) && may_end(0, 1000));
        assert!(!may_end(1001, 1000) && !may_end(1000, 0));
    }

    #[test]
    fn what_makes_no_sense_is_wrong_usage() {
        let reservation = reservation_of(&wanted()).expect("it makes sense");
        assert_eq!(reservation.utilization(), Rate::new(1, 5));
        assert_eq!(reservation.cpus.map(|cpus| cpus.to_string()), Some("1-2".to_owned()));
        let wrong = [
            Wanted { runtime_ns: 9_000_000, ..wanted() },
            Wanted { deadline_ns: 11_000_000, ..wanted() },
            Wanted { runtime_ns: -1, ..wanted() },
            Wanted { runtime_ns: 1, ..wanted() },
            Wanted { period_ns: i64::MAX, ..wanted() },
            Wanted { name: String::new(), ..wanted() },
            Wanted { name: "a\nb".to_owned(), ..wanted() },
            Wanted { cpus: Some("x".to_owned()), ..wanted() },
            Wanted { cpus: Some(String::new()), ..wanted() },
            Wanted { tardiness_ns: Some(-1), ..wanted() },
        ];
        for wanted in wrong {
            let failure = reservation_of(&wanted).map_err(|failure| failure.exit);
            assert_eq!(failure.err(), Some(Exit::Usage), "{wanted:?}");
        }
    }
}
