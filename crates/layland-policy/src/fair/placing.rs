//! Where jobs run that a global policy of this family has chosen: the locality rule of the [shell](crate::shell).
//!
//! 1. A job that goes on running stays where it is.
//! 2. The jobs that start now are taken in the order of the policy. A free CPU *prefers*, among those of them whose
//!    tasks ran last on it, the one that stopped most recently, among equals the first in the order.
//! 3. A preferred job takes its CPU; any other, in the order of the policy, the lowest free CPU that is left.

use super::parts::NONE;
use crate::State;

/// Where a task runs, and where it ran last. CPUs by their index in the part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// The CPU on which its job runs, or [`NONE`].
    pub cpu: u32,
    /// The CPU on which it ran last, or [`NONE`], and when it stopped.
    last: u32,
    stopped: i64,
}

impl Seat {
    pub(super) const NOWHERE: Seat = Seat { cpu: NONE, last: NONE, stopped: 0 };

    pub(super) fn runs(&self) -> bool {
        self.cpu != NONE
    }
}

/// Who has a seat.
pub(super) trait Seated {
    fn seat(&mut self) -> &mut Seat;
}

/// The CPUs of a part, each with the member that it runs.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    on: Vec<u32>,
    /// Scratch, by CPU: whom it prefers.
    preferred: Vec<u32>,
}

impl Placing {
    pub(super) fn new(cpus: usize) -> Placing {
        Placing { on: vec![NONE; cpus], preferred: vec![NONE; cpus] }
    }

    /// The member that a CPU runs, or [`NONE`].
    pub(super) fn on(&self, cpu: usize) -> u32 {
        self.on[cpu]
    }

    /// The members that run.
    pub(super) fn running(&self) -> impl Iterator<Item = u32> + '_ {
        self.on.iter().copied().filter(|&member| member != NONE)
    }

    /// A member no longer runs.
    pub(super) fn stop(&mut self, seat: &mut Seat, now: i64) {
        if seat.runs() {
            self.on[seat.cpu as usize] = NONE;
            *seat = Seat { cpu: NONE, last: seat.cpu, stopped: now };
        }
    }

    /// These members run from now on, and no others. They are in the order of the policy, and at most as many as there
    /// are CPUs that are online.
    pub(super) fn place(
        &mut self,
        members: &mut [impl Seated],
        chosen: &[u32],
        online: &[bool],
        now: i64,
    ) {
        for (cpu, &is_online) in online.iter().enumerate() {
            let member = self.on[cpu];
            if member != NONE && !(is_online && chosen.contains(&member)) {
                self.stop(members[member as usize].seat(), now);
            }
        }
        let starts = |members: &mut [_], member: u32| {
            let seat: &mut Seat = Seated::seat(&mut members[member as usize]);
            (!seat.runs()).then_some(*seat)
        };
        for &member in chosen {
            let Some(Seat { last, stopped, .. }) = starts(members, member) else { continue };
            if last == NONE || self.on[last as usize] != NONE || !online[last as usize] {
                continue;
            }
            let rival = self.preferred[last as usize];
            if rival == NONE || stopped > members[rival as usize].seat().stopped {
                self.preferred[last as usize] = member;
            }
        }
        // The CPUs that prefer somebody are all different, so these can start first.
        for cpu in 0..self.on.len() {
            let member = std::mem::replace(&mut self.preferred[cpu], NONE);
            if member != NONE {
                self.start(member, members[member as usize].seat(), cpu);
            }
        }
        let mut free = 0;
        for &member in chosen {
            if starts(members, member).is_some() {
                while self.on[free] != NONE || !online[free] {
                    free += 1;
                }
                self.start(member, members[member as usize].seat(), free);
            }
        }
    }

    fn start(&mut self, member: u32, seat: &mut Seat, cpu: usize) {
        self.on[cpu] = member;
        seat.cpu = cpu as u32;
    }

    /// Writes where the members run and ran last. How recently matters only against others that ran last on the same
    /// CPU.
    pub(super) fn save<'a>(seats: impl Iterator<Item = &'a Seat> + Clone, state: &mut State) {
        for seat in seats.clone() {
            state.number(i64::from(seat.cpu));
            state.number(i64::from(seat.last));
            let more_recent = seats
                .clone()
                .filter(|other| other.last == seat.last && other.stopped > seat.stopped);
            state.number(if seat.last == NONE { 0 } else { more_recent.count() as i64 });
        }
    }
}
