//! **PD2** and **ER-PD2**: Pfair scheduling in slots (Anderson and Srinivasan 2001, 2004; for
//! sporadic tasks: Srinivasan and Anderson 2002, 2006).
//!
//! | paper | here |
//! |-------|------|
//! | slot `t`, quantum | [`Slots::quantum`]: slot `t` begins at `t` times the quantum |
//! | weight `e / p`, windows, b-bit, group deadline | [`Weight`] |
//! | subtask `T_i` | the `i`-th slot of a job, which has received `given = i - 1` slots before |
//! | release `theta` of a job | `anchor` |
//!
//! Time is cut into slots, the same on all CPUs, and a task gets whole slots. By time `t`, a
//! perfectly fair schedule would have given a task of weight `w` exactly `w t` slots; a Pfair
//! schedule is always less than one slot ahead of or behind that. To achieve this, every slot of a
//! job, its *subtask*, has a window, and each subtask is scheduled by the deadline of its window.
//! At the beginning of each slot:
//!
//! 1. A ready job is *eligible* if the window of its next subtask has begun; with early releases
//!    (ER-PD2) as soon as its own first window has begun.
//! 2. The first eligible jobs run in the slot, in the order of
//!    - the earlier deadline of the subtask;
//!    - then a window that overlaps the next one (b-bit 1) before one that does not;
//!    - then, if both do, the later group deadline, which is 0 for weights below 1/2;
//!    - then rank and id of the task.
//!
//! Both rules for ties are necessary from three CPUs on. No job is late if the sum of the weights
//! is at most the number of CPUs, for periodic and for sporadic tasks, and with `D < T` for weights
//! based on `D`: [`Slots`] has the weights, and the rules of rounding.
//!
//! There are no decisions within a slot. A job that is released within a slot waits for the next
//! one. A job that ends within a slot leaves its CPU idle until the next one, and its other
//! subtasks vanish. `placing.rs` assigns jobs to CPUs.
//!
//! Cases that the papers leave out:
//! - A job that executes more than its WCET continues with the windows of subtasks `e + 1, e + 2,
//!   ..`. The anchor of the next job is not earlier than `ceil(n p / e)` slots after its own, where
//!   `n` slots were given. So a task never gets more than its rate, and an overrun harms only the
//!   task itself.
//! - An offline CPU gets no job.
//! - On a machine that is late, a slot begins when the policy receives its timer. The time of
//!   context switches is part of the slots, and must be part of the WCETs.

use super::parts::{FairPart, Frame, NEVER, Parts, PlannedTime, policy_of_parts};
use super::placing::{Placing, Seat, Seated};
use super::preparation::{Deadlines, Releases, SPORADIC, takes, takes_unit_speeds};
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::{Count, Refusal, State};
use layland_model::{Algorithm, Citation, Group, JobId, ScheduleRule, System, Time};
use layland_model::{CpuId, Releases as Anchors};
use layland_offline::{NoSlots, Slots, Weight};
use std::cmp::Reverse;

/// Returns the descriptions of both policies.
pub(super) fn policies() -> [PolicyInfo; 2] {
    let quantum = OptionInfo::new(
        "quantum",
        "the length of a slot; by default the longest in which nothing is rounded, or only WCETs if those would be too \
         short",
        Values::Duration,
    );
    let releases = OptionInfo::new(
        "releases",
        "the points at which jobs are released: slots (default), or anywhere: then windows are a slot shorter for \
         tasks that may be released within slots, so that none of their jobs is late",
        Values::one_of(["slots", "anywhere"]),
    );
    let of = |name: &'static str, title: &'static str, summary: &'static str, early: bool| {
        let algorithm = if early { Algorithm::ErPd2 } else { Algorithm::Pd2 };
        PolicyInfo::new(name, title, summary, move |system, options| {
            Ok(Box::new(pd2(system, options, early)?))
        })
        .implementing(algorithm)
        .refusing([ONE_CLUSTER, SPORADIC, HEAVY, UNIT_SPEED])
        .breaking_ties(
            "among equal deadlines of subtasks a window that overlaps the next one goes first, then the later group \
             deadline, then the smaller rank, then the task that comes first",
        )
        .with_options([quantum.clone(), releases.clone()])
        .citing([Citation::ANDERSON_PFAIR, Citation::SRINIVASAN_PFAIR])
    };
    [
        of(
            "pd2",
            "PD2, proportionate fairness",
            "optimal: in each slot the earliest deadlines of subtasks run, each in its window",
            false,
        ),
        of(
            "er-pd2",
            "ER-PD2, proportionate fairness with early releases",
            "as pd2, but a job need not wait for the windows of its subtasks: no CPU idles for them",
            true,
        ),
    ]
}

const HEAVY: &str = "tasks that need more slots than their deadlines or periods have";

/// Returns the slots of a system with these options.
///
/// # Errors
/// If PD2 (`early` false) or ER-PD2 cannot schedule it.
pub fn slots(
    system: &System,
    options: &PolicyOptions,
    early: bool,
) -> Result<(Slots, Anchors), SystemRefusal> {
    let name = if early { "er-pd2" } else { "pd2" };
    takes_unit_speeds(name, system)?;
    takes(name, system, Releases::Separated, Deadlines::Any)?;
    let anchors = [("slots", Anchors::OnBoundaries), ("anywhere", Anchors::Anywhere)];
    let anchors = options.one_of("releases", &anchors)?.unwrap_or_default();
    let slots = Slots::of(system, options.duration("quantum")?, anchors);
    let slots = slots.map_err(|error| match error {
        NoSlots::TooHeavy { task, .. } => {
            Refusal::busy(format!("task `{}`: {error}", system.tasks[task].name)).about(task)
        }
        NoSlots::NoDivisor => Refusal::invalid(error.to_string()).into(),
    })?;
    Ok((slots, anchors))
}

/// Returns **PD2**, or with `early` **ER-PD2**, for a valid system.
///
/// # Errors
/// As [`slots`].
pub fn pd2(system: &System, options: &PolicyOptions, early: bool) -> Result<Pd2, SystemRefusal> {
    let (slots, anchors) = slots(system, options, early)?;
    let order = system.by_rank();
    let member = |&task: &_| Pd2Task {
        job: JobId { task, seq: 0 },
        weight: slots.weights[task],
        relative_deadline: system.tasks[task].deadline.ns(),
        ready: false,
        anchor: i64::MIN,
        given: 0,
        seat: Seat::NOWHERE,
    };
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    let quantum = slots.quantum.ns();
    let schedule = Schedule {
        placing: Placing::new(cpus.len()),
        frame: Frame::new(quantum, cpus),
        members: order.iter().map(member).collect(),
        early,
        anchors,
        slot: -1,
        account: PlannedTime::default(),
        eligible: Vec::with_capacity(order.len()),
        chosen: Vec::with_capacity(order.len()),
    };
    let name = if early { "er-pd2" } else { "pd2" };
    Ok(Pd2(Parts::of_all(name, schedule, &order)))
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct Pd2(Parts<Schedule>);

impl Pd2 {
    fn counted(&self) -> Vec<Count> {
        vec![Count { name: "updates", count: self.0.updates() }]
    }
}

policy_of_parts!(Pd2);

/// A task, and its ready job.
#[derive(Clone, Debug)]
struct Pd2Task {
    job: JobId,
    weight: Weight,
    relative_deadline: i64,
    ready: bool,
    /// The slot from which the windows of its last job count; before all slots if it had none.
    anchor: i64,
    /// The number of slots that the job has been given, without the present one.
    given: i64,
    seat: Seat,
}

impl Seated for Pd2Task {
    fn seat(&mut self) -> &mut Seat {
        &mut self.seat
    }
}

/// The priority of a job: see the file header. The smaller key runs.
type Pd2Key = (i64, Reverse<bool>, Reverse<i64>, u32);

impl Pd2Task {
    /// Returns the number of the next subtask of its job.
    fn subtask(&self) -> i64 {
        self.given + 1
    }

    /// Returns the first slot in which its job may run.
    fn eligible_from(&self, early: bool) -> i64 {
        if early {
            self.anchor
        } else {
            self.anchor.saturating_add(self.weight.release(self.subtask()))
        }
    }

    fn key(&self, rank: u32) -> Pd2Key {
        let (weight, i) = (self.weight, self.subtask());
        let overlaps = weight.overlaps(i);
        let group =
            if overlaps && weight.is_heavy() { self.anchor + weight.group_deadline(i) } else { 0 };
        (self.anchor.saturating_add(weight.deadline(i)), Reverse(overlaps), Reverse(group), rank)
    }

    /// Returns the first slot in which its next job may begin, whenever that job is released.
    fn next_anchor(&self) -> i64 {
        match self.anchor {
            i64::MIN => i64::MIN,
            anchor => {
                anchor.saturating_add(self.weight.deadline(self.given.max(self.weight.execution)))
            }
        }
    }
}

/// One part: all CPUs, all tasks, by rank.
#[derive(Clone, Debug)]
struct Schedule {
    frame: Frame,
    members: Vec<Pd2Task>,
    placing: Placing,
    early: bool,
    anchors: Anchors,
    /// The slot of the last decision.
    slot: i64,
    /// Unused, since slots alone count; the trait requires it.
    account: PlannedTime,
    /// Scratch.
    eligible: Vec<Pd2Key>,
    chosen: Vec<u32>,
}

impl Schedule {
    /// Stops a member, which has had the slot of the last decision or a part of it.
    fn stop(&mut self, member: usize) {
        let Self { frame, members, placing, slot, .. } = self;
        let member = &mut members[member];
        if member.seat.runs() {
            member.given += i64::from(frame.now > *slot * frame.unit);
            placing.stop(&mut member.seat, frame.now);
        }
    }

    /// Handles the beginning of a slot, perhaps repeatedly.
    fn begin(&mut self, slot: i64) {
        let Self { frame, members, placing, early, eligible, chosen, .. } = self;
        if slot > self.slot {
            placing.running().for_each(|member| members[member as usize].given += 1);
        }
        self.slot = slot;
        eligible.clear();
        for (rank, member) in members.iter().enumerate() {
            if member.ready && member.eligible_from(*early) <= slot {
                eligible.push(member.key(rank as u32));
            }
        }
        let cpus = frame.online.iter().filter(|&&is_online| is_online).count();
        if eligible.len() > cpus {
            if let Some(last) = cpus.checked_sub(1) {
                eligible.select_nth_unstable(last);
            }
            eligible.truncate(cpus);
        }
        eligible.sort_unstable();
        chosen.clear();
        chosen.extend(eligible.iter().map(|&(.., rank)| rank));
        placing.place(members, chosen, &frame.online, frame.now);
    }
}

impl FairPart for Schedule {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn has_job(&self, member: usize, _release: i64) -> bool {
        self.members[member].ready
    }

    fn release(&mut self, member: usize, job: JobId, deadline: i64) {
        self.stop(member);
        let member = &mut self.members[member];
        let release = deadline - member.relative_deadline;
        let first = num_integer::div_ceil(release, self.frame.unit);
        member.anchor = first.max(member.next_anchor());
        (member.job, member.ready, member.given) = (job, true, 0);
    }

    fn grant(&mut self, _member: usize) {}

    fn end(&mut self, member: usize, job: Option<JobId>) {
        if job.is_none_or(|job| job == self.members[member].job) {
            self.stop(member);
            self.members[member].ready = false;
        }
    }

    fn advance(&mut self, _past: i64) {}

    fn accounts(&mut self) -> impl Iterator<Item = (&mut PlannedTime, &mut i64)> {
        std::iter::empty()
    }

    fn account(&mut self, member: usize) -> (&mut PlannedTime, Option<JobId>) {
        let member = &self.members[member];
        (&mut self.account, member.ready.then_some(member.job))
    }

    fn select(&mut self) -> i64 {
        let (now, unit) = (self.frame.now, self.frame.unit);
        let slot = now.div_euclid(unit);
        if now == slot * unit {
            self.begin(slot);
        }
        let next = match self.placing.running().next() {
            Some(_) => slot + 1,
            None => {
                let ready = self.members.iter().filter(|member| member.ready);
                let from = ready.map(|member| member.eligible_from(self.early)).min();
                from.map_or(NEVER, |from| from.max(slot + 1))
            }
        };
        next.saturating_mul(unit)
    }

    fn selected(&self, cpu: usize) -> Option<JobId> {
        self.members.get(self.placing.on(cpu) as usize).map(|member| member.job)
    }

    fn save(&self, now: Time, state: &mut State) {
        let (now, unit) = (now.ns(), self.frame.unit);
        state.number(now.rem_euclid(unit));
        // True if the slot has begun with the running jobs: otherwise its decision is due, or
        // nothing runs in it.
        state.number(i64::from(self.slot.saturating_mul(unit) == now));
        let from_now = |slot: i64| slot.saturating_mul(unit).saturating_sub(now);
        for member in &self.members {
            state.number(i64::from(member.ready));
            if member.ready {
                state.number(from_now(member.anchor));
                state.number(member.given);
            } else {
                // An anchor in the past does not delay a job that has yet to be released.
                state.number(from_now(member.next_anchor()).max(0));
            }
        }
        Placing::save(self.members.iter().map(|member| &member.seat), state);
    }

    fn rule(parts: &[Schedule], groups: Vec<Group>) -> ScheduleRule {
        parts.first().map_or(ScheduleRule::None, |part| ScheduleRule::Pfair {
            groups,
            quantum: layland_model::Duration::from_ns(part.frame.unit),
            releases: part.anchors,
            early: part.early,
        })
    }
}
