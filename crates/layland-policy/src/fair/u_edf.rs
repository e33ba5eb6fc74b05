//! **U-EDF**: an unfair but optimal EDF (Nelissen, Berten, Nelis, Goossens and Milojevic 2012). On
//! one CPU it is EDF. On several CPUs it fills one CPU after the other in the order of deadlines;
//! no task gets shares from deadline to deadline.
//!
//! | paper | here |
//! |-------|------|
//! | active task, `d_i(t)` | a task whose window is not over, and the end of its window; for any other task `d_i(t)` is `t` |
//! | higher priority, `hp_i(t)` | the tasks before it in `Lanes::order`: by `d_i(t)`, then by rank |
//! | remaining execution `ret_i(t)` | the sum of `LaneTask::allotted` and `LaneTask::unplaced` |
//! | allotment `al_{i,j}` | `LaneTask::allotted`, by lane |
//! | reservation `res_{i,j}(t1, t2)` | the sums of `Lane` |
//! | processor `pi_j` | a *lane*, whose CPU can change: see below |
//!
//! 1. **Reservation.** The utilizations of all tasks are laid end to end on a line, in the order of
//!    priority, and the line is cut into pieces of length 1: piece `j` is lane `j`. The part of a
//!    task in that piece is its share `u_{i,j}` of the lane. After the end of its window, until
//!    `t2`, a task has the reservation `(t2 - d_i) u_{i,j}` for jobs that may arrive.
//! 2. **Allotment.** Whenever a window begins, the remaining work of every active task is allotted
//!    anew, in the order of priority, from lane to lane. Lane `j` takes at most `(d_i - t) - sum
//!    over hp_i (al_{x,j} + res_{x,j}(d_x, d_i)) - sum over y < j al_{i,y}`: before `d_i` it has to
//!    execute all of this first, and the job must not run on two lanes at once.
//! 3. **EDF with delays** (EDF-D). At any time lane 1 runs the first task in the order of priority
//!    that has something left on it; lane 2 the first of those that lane 1 does not run; and so on.
//!    The choice changes when an allotment is used up, when a job ends, and when allotments are
//!    made.
//!
//! The paper proves that no job is late if the sum of the utilizations is at most the number of
//! CPUs, whatever the arrivals, as long as they are at least a period apart. Every job then has
//! room for all that it needs.
//!
//! **Sources.** The abstract of the paper was available, but not its text. The rules are those of
//! the scheduler U_EDF of SimSo 0.8.5, described independently, except for tasks without a job:
//! SimSo counts their reservations from their last deadline. Such a task can release a job at any
//! moment, so this policy counts them from now. For periodic tasks without offsets the result is
//! the same.
//!
//! **Allotments are whole nanoseconds**: windows begin and end at multiples of the unit of a
//! [`RateGrid`](layland_offline::RateGrid), on which rates are rounded up. So every reservation is
//! a whole number, and allotments are made only at multiples of the unit. A job with another
//! release waits for the next multiple. A window gives a job the rate of its task times the length,
//! which is the WCET or slightly more.
//!
//! `placing.rs` assigns jobs to CPUs, in the order of lanes. A job that changes lanes stays on its
//! CPU.
//!
//! Cases that the sources leave open:
//! - Ties of deadlines go to the smaller rank, then to the task that comes first. An inactive task
//!   comes before all active ones.
//! - A job that ends early gives up its allotment. Until its window is over, nothing more is
//!   reserved for it.
//! - A job that needs more than its WCET gets another window as if the next job had arrived at the
//!   end of the last window. If the next job arrives within that window, it inherits the rest.
//! - With fewer CPUs online, the last lanes do nothing, and the next allotment is for the others.
//!   Work without room there is part of the next window of its task. Without trouble all work has
//!   room.
//! - Refinements that migrate less (clusters of tasks that fit on a CPU, work that is done ahead on
//!   idle CPUs) are not implemented.

use super::parts::{FairPart, Frame, NEVER, Parts, PlannedTime, policy_of_parts};
use super::placing::{Placing, Seat, Seated};
use super::preparation::{IMPLICIT, OVERLOAD, Prepared, Releases, SPORADIC, prepare};
use crate::info::{PolicyInfo, SystemRefusal};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::{Count, State};
use layland_model::{
    Algorithm, Citation, CpuId, Duration, Group, JobId, ScheduleRule, System, Time,
};
use num_integer::{div_ceil, div_floor};

/// Returns the description of the policy.
pub(super) fn policy() -> PolicyInfo {
    PolicyInfo::new(
        "u-edf",
        "U-EDF, unfair EDF",
        "optimal: CPU after CPU is filled in the order of deadlines, with room for jobs that may come",
        |system, _| Ok(Box::new(u_edf(system)?)),
    )
    .implementing(Algorithm::UEdf)
    .refusing([ONE_CLUSTER, IMPLICIT, SPORADIC, OVERLOAD, UNIT_SPEED])
    .breaking_ties(
        "among equal deadlines the smaller rank goes first, then the task that comes first; tasks that may release a \
         job at any time have room before all others",
    )
    .citing([Citation::NELISSEN])
}

/// Returns **U-EDF** for a valid system.
///
/// # Errors
/// If U-EDF cannot schedule the system.
pub fn u_edf(system: &System) -> Result<UEdf, SystemRefusal> {
    let Prepared { order, grid, .. } = prepare("u-edf", system, Releases::Separated)?;
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    let member = |&task: &_| LaneTask {
        job: JobId { task, seq: 0 },
        rate: grid.tasks[task].numerator,
        window: grid.tasks[task].window.ns(),
        ready: false,
        from: 0,
        until: 0,
        deadline: 0,
        allotted: vec![0; cpus.len()],
        unplaced: 0,
        ended: -1,
        lane: 0,
        seat: Seat::NOWHERE,
        account: PlannedTime::default(),
    };
    let lanes = Lanes {
        members: order.iter().map(member).collect(),
        order: (0..order.len() as u32).collect(),
        placing: Placing::new(cpus.len()),
        sums: vec![Lane::default(); cpus.len()],
        chosen: Vec::with_capacity(cpus.len()),
        allotments: 0,
        allotted: -1,
        frame: Frame::new(grid.unit.ns(), cpus),
    };
    Ok(UEdf(Parts::of_all("u-edf", lanes, &order)))
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct UEdf(Parts<Lanes>);

impl UEdf {
    fn counted(&self) -> Vec<Count> {
        let allotments = self.0.parts().iter().map(|part| part.allotments).sum();
        vec![
            Count { name: "allotments", count: allotments },
            Count { name: "updates", count: self.0.updates() },
        ]
    }
}

policy_of_parts!(UEdf);

/// A task, and its ready job.
#[derive(Clone, Debug)]
struct LaneTask {
    job: JobId,
    /// The rate, in units of the grid.
    rate: i64,
    /// The shortest window of a job.
    window: i64,
    ready: bool,
    /// The begin of the window of its job: the first multiple of the unit after its release.
    from: i64,
    /// The end of that window: the last multiple before its deadline.
    until: i64,
    /// The end of the last window that has begun.
    deadline: i64,
    /// The work that its job may still execute on each lane; or the rest of its last job, for one
    /// that follows at once.
    allotted: Vec<i64>,
    /// The work without room on the lanes: only after trouble.
    unplaced: i64,
    /// The time at which its last job ended.
    ended: i64,
    /// The lane that ran it last.
    lane: usize,
    seat: Seat,
    account: PlannedTime,
}

impl LaneTask {
    /// Returns true if a window begins now: that of a released job, or another one of a job that is
    /// not complete.
    fn opens(&self, now: i64) -> bool {
        self.ready && self.from <= now && self.deadline <= now
    }

    /// Discards the remaining allotments.
    fn clear(&mut self) {
        self.unplaced = 0;
        self.allotted.iter_mut().for_each(|allotted| *allotted = 0);
    }
}

impl Seated for LaneTask {
    fn seat(&mut self) -> &mut Seat {
        &mut self.seat
    }
}

/// The time of a lane that tasks of higher priority use before a point in time `d`: `fixed + (d -
/// t) / Q * rate`, where the allotments are made at `t`, and `Q` is the unit.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    fixed: i64,
    rate: i64,
}

/// One part: all CPUs, all tasks, by rank.
#[derive(Clone, Debug)]
struct Lanes {
    frame: Frame,
    members: Vec<LaneTask>,
    placing: Placing,
    /// The tasks in the order of priority, as of the last allotment.
    order: Vec<u32>,
    /// The number of instants at which allotments were made, and the last of them.
    allotments: u64,
    allotted: i64,
    /// Scratch.
    sums: Vec<Lane>,
    chosen: Vec<u32>,
}

impl Lanes {
    fn online(&self) -> usize {
        self.frame.online.iter().filter(|&&is_online| is_online).count()
    }

    /// Begins the windows that begin now. Returns true if there are any.
    fn open(&mut self) -> bool {
        let Frame { now, unit, .. } = self.frame;
        let mut any = false;
        for member in self.members.iter_mut().filter(|member| member.opens(now)) {
            member.deadline = if member.until > now { member.until } else { now + member.window };
            member.unplaced += member.rate * ((member.deadline - now) / unit);
            any = true;
        }
        any
    }

    /// Applies rules 1 and 2.
    fn allot(&mut self) {
        let lanes = self.online();
        let Self { frame, members, order, sums, .. } = self;
        let Frame { now, unit, .. } = *frame;
        order.sort_unstable_by_key(|&rank| (members[rank as usize].deadline.max(now), rank));
        sums.iter_mut().for_each(|lane| *lane = Lane::default());
        // The used length of the line, in units of the grid.
        let mut taken = 0;
        for &rank in &*order {
            let member = &mut members[rank as usize];
            let window = (member.deadline - now).max(0);
            let units = window / unit;
            if member.ready {
                let mut needs = member.unplaced + member.allotted.iter().sum::<i64>();
                let mut on_lower_lanes = 0;
                for (j, allotted) in member.allotted.iter_mut().enumerate() {
                    let Lane { fixed, rate } = sums[j];
                    let room = window - (fixed + units * rate) - on_lower_lanes;
                    *allotted = if j < lanes { room.clamp(0, needs) } else { 0 };
                    sums[j].fixed += *allotted;
                    needs -= *allotted;
                    on_lower_lanes += *allotted;
                }
                member.unplaced = needs;
            }
            // Its reservations count from the end of its window on.
            let (from, to) = (taken, taken + member.rate);
            for (j, lane) in (0..).zip(sums.iter_mut()) {
                let share = (to - j * unit).clamp(0, unit) - (from - j * unit).clamp(0, unit);
                lane.rate += share;
                lane.fixed -= units * share;
            }
            taken = to;
        }
        self.allotments += u64::from(self.allotted != now);
        self.allotted = now;
    }

    /// Rule 3: chooses the tasks that run from now on, by lane.
    fn choose(&mut self) {
        let lanes = self.online();
        let Self { members, order, chosen, .. } = self;
        chosen.clear();
        for j in 0..lanes {
            let has_some = |rank: u32| {
                let member = &members[rank as usize];
                member.ready && member.allotted[j] > 0
            };
            let mut waiting = order.iter().copied().filter(|rank| !chosen.contains(rank));
            if let Some(rank) = waiting.find(|&rank| has_some(rank)) {
                members[rank as usize].lane = j;
                chosen.push(rank);
            }
        }
    }

    /// Returns the time of the next event.
    fn next_event(&self) -> i64 {
        let now = self.frame.now;
        let due = self.members.iter().filter(|member| member.ready).map(|member| {
            let opens = member.from.max(member.deadline);
            if member.seat.runs() { opens.min(now + member.allotted[member.lane]) } else { opens }
        });
        due.filter(|&due| due > now).min().unwrap_or(NEVER)
    }
}

impl FairPart for Lanes {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn has_job(&self, member: usize, release: i64) -> bool {
        let Self { frame, members, .. } = self;
        let member = &members[member];
        // If the policy learns late that a job ended by its deadline and that the next one came
        // then, both count as on time.
        let follows_at_once = div_floor(release, frame.unit) * frame.unit == member.deadline;
        member.ready && !(follows_at_once && frame.now < release)
    }

    fn release(&mut self, member: usize, job: JobId, deadline: i64) {
        let Self { frame, members, placing, .. } = self;
        let (now, unit) = (frame.now, frame.unit);
        let member = &mut members[member];
        placing.stop(&mut member.seat, now);
        // If its predecessor ends only now, within its own window, the job inherits the rest of
        // that window.
        let follows = member.ready || member.ended == now;
        if !(follows && member.deadline > now) {
            member.from = div_ceil(now, unit).saturating_mul(unit);
            member.clear();
        }
        member.until = div_floor(deadline, unit) * unit;
        (member.job, member.ready) = (job, true);
        (member.account.planned, member.account.got) = (0, 0);
    }

    fn grant(&mut self, _member: usize) {}

    fn end(&mut self, member: usize, job: Option<JobId>) {
        let Self { frame, members, placing, .. } = self;
        let member = &mut members[member];
        if job.is_none_or(|job| job == member.job) {
            placing.stop(&mut member.seat, frame.now);
            (member.ready, member.ended) = (false, frame.now);
        }
    }

    fn advance(&mut self, past: i64) {
        let Self { members, placing, .. } = self;
        for member in placing.running() {
            let member = &mut members[member as usize];
            member.allotted[member.lane] -= past;
            member.account.planned += past;
        }
    }

    /// Returns the accounts. Work that a job did not receive stays on the lane that ran it last.
    fn accounts(&mut self) -> impl Iterator<Item = (&mut PlannedTime, &mut i64)> {
        let ready = self.members.iter_mut().filter(|member| member.ready);
        ready.map(|member| (&mut member.account, &mut member.allotted[member.lane]))
    }

    fn account(&mut self, member: usize) -> (&mut PlannedTime, Option<JobId>) {
        let member = &mut self.members[member];
        (&mut member.account, member.ready.then_some(member.job))
    }

    fn select(&mut self) -> i64 {
        // Also in another round of the instant: a job that ended in it no longer needs its
        // allotment.
        if self.open() || self.allotted == self.frame.now {
            self.allot();
        }
        self.choose();
        let Self { frame, members, placing, chosen, .. } = self;
        placing.place(members, chosen, &frame.online, frame.now);
        self.next_event()
    }

    fn selected(&self, cpu: usize) -> Option<JobId> {
        self.members.get(self.placing.on(cpu) as usize).map(|member| member.job)
    }

    fn save(&self, now: Time, state: &mut State) {
        let now = now.ns();
        state.number(i64::from(self.allotted == now));
        for member in &self.members {
            let follows = member.ready || member.ended == now;
            state.number(i64::from(member.ready) << 1 | i64::from(follows));
            let left = member.allotted.iter().chain([&member.unplaced]);
            left.for_each(|&left| state.number(if follows { left } else { 0 }));
            // Times in the past have no influence.
            for at in [member.from, member.until, member.deadline] {
                state.number((at - now).max(0));
            }
        }
        Placing::save(self.members.iter().map(|member| &member.seat), state);
    }

    fn rule(parts: &[Lanes], groups: Vec<Group>) -> ScheduleRule {
        parts.first().map_or(ScheduleRule::None, |part| ScheduleRule::Allotted {
            groups,
            unit: Duration::from_ns(part.frame.unit),
        })
    }
}
