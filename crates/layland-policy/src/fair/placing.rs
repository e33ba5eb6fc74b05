//! The placement of the jobs that a global policy of this family has chosen: the locality rule of
//! the [shell](crate::shell).
//!
//! 1. A job that continues to run stays on its CPU.
//! 2. The starting jobs come in the order of the policy. A free CPU *prefers* one of the jobs whose
//!    tasks ran last on it: the one that stopped most recently, among equals the first in the
//!    order.
//! 3. A preferred job takes its CPU; any other job, in the order of the policy, takes the lowest
//!    remaining free CPU.

use super::parts::NONE;
use crate::State;

/// The current and the last CPU of a task. CPUs are numbered by their index in the part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// The CPU on which its job runs, or [`NONE`].
    pub cpu: u32,
    /// The CPU on which it ran last, or [`NONE`], and the time at which it stopped.
    last: u32,
    stopped: i64,
}

impl Seat {
    pub(super) const NOWHERE: Seat = Seat { cpu: NONE, last: NONE, stopped: 0 };

    pub(super) fn runs(&self) -> bool {
        self.cpu != NONE
    }
}

/// A member that has a current and a last CPU.
pub(super) trait Seated {
    fn seat(&mut self) -> &mut Seat;
}

/// The CPUs of a part, each with its running member.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    on: Vec<u32>,
    /// Scratch memory: the member that each CPU prefers.
    preferred: Vec<u32>,
}

impl Placing {
    pub(super) fn new(cpus: usize) -> Placing {
        Placing { on: vec![NONE; cpus], preferred: vec![NONE; cpus] }
    }

    /// Returns the member that a CPU runs, or [`NONE`].
    pub(super) fn on(&self, cpu: usize) -> u32 {
        self.on[cpu]
    }

    /// Returns the members that run.
    pub(super) fn running(&self) -> impl Iterator<Item = u32> + '_ {
        self.on.iter().copied().filter(|&member| member != NONE)
    }

    /// Takes a member off its CPU, if it has one.
    pub(super) fn stop(&mut self, seat: &mut Seat, now: i64) {
        if seat.runs() {
            self.on[seat.cpu as usize] = NONE;
            *seat = Seat { cpu: NONE, last: seat.cpu, stopped: now };
        }
    }

    /// Makes these members run from now on, and no others. They are in the order of the policy, and
    /// at most as many as there are online CPUs.
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
        // Each member is preferred by at most one CPU, so the preferred members can start first.
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

    /// Writes the current and last CPUs of the members. Recency is written only relative to members
    /// that ran last on the same CPU, since others do not compete.
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
