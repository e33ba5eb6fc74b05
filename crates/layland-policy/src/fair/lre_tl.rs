//! **LRE-TL**: local remaining execution in T-L planes (Funk 2010), the simpler form of LLREF that
//! also supports sporadic tasks.
//!
//! | paper | here |
//! |-------|------|
//! | T-L plane | `Plane`: no deadline lies inside |
//! | local remaining execution `l_i` | `PlaneTask::left` |
//! | local utilization | `left` over the time to the end of the plane |
//! | event B | a running task has nothing left in this plane |
//! | event C | a waiting task has as much left as there is time in this plane |
//!
//! Time is cut into *planes*. A plane begins at the end of the previous one, the first at 0. It
//! ends at the first deadline of a current window of a task, or after the shortest period of any
//! task if that is earlier: so no task that arrives within a plane has its deadline in it.
//!
//! 1. **At the beginning of a plane** each task with a ready job gets a share, its rate times the
//!    length of the plane. Tasks whose share is the whole plane run first, then those that are
//!    already running, then the others, by rank.
//! 2. **A task that arrives within a plane** gets its rate times the remaining time of the plane. A
//!    task that has had a share in this plane gets no other.
//! 3. **Within a plane**, at arrivals, completions and the events B and C: running tasks with
//!    something left continue. Free CPUs take the waiting tasks with the most left, among equals by
//!    rank. Then each waiting task that has as much left as there is time takes the CPU of the
//!    running task with the least left, among equals the last by rank.
//!
//! While as many tasks run as CPUs and shares allow, the sum of the local utilizations does not
//! exceed that at the beginning of the plane, and an arrival adds at most its rate. So at the end
//! of a plane every task has received its share, every job has received exactly the work of the
//! fluid schedule, and none is late, up to a load of 100 %.
//!
//! **Shares are whole nanoseconds**: planes begin and end at multiples of the unit of a
//! [`RateGrid`](layland_offline::RateGrid), on which rates are rounded up. A job that arrives
//! between two multiples waits for the next one, and must complete by the last multiple before its
//! deadline. The rate is that of this shortened window. The shortest of these windows stands for
//! the shortest period.
//!
//! `placing.rs` assigns jobs to CPUs. Starting jobs come in the order of the rules above at the
//! beginning of a plane, and by rank within one.
//!
//! Cases that the paper leaves out:
//! - A job that ends early gives up the rest of its share: its CPU takes another task. If the next
//!   job of the task has waited for that end, it takes the rest.
//! - A job that needs more than its WCET continues with the shares of its task in later planes. The
//!   current window of a task is that of the job that became ready last.
//! - Work is left at the end of a plane only after trouble: a CPU went offline, or a machine
//!   provided less time than planned. It is added to the next share.
//! - While no job is ready, planes pass without an update; the next arrival accounts for them.

use super::parts::{FairPart, Frame, NEVER, Parts, PlannedTime, policy_of_parts};
use super::placing::{Placing, Seat, Seated};
use super::preparation::{IMPLICIT, OVERLOAD, Prepared, Releases, SPORADIC, prepare};
use crate::info::{PolicyInfo, SystemRefusal};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::{Count, State};
use layland_model::{
    Algorithm, Citation, CpuId, Duration, Group, JobId, ScheduleRule, Slices, System, Time,
};
use num_integer::{div_ceil, div_floor};
use std::cmp::Reverse;

/// Returns the description of the policy.
pub(super) fn policy() -> PolicyInfo {
    PolicyInfo::new(
        "lre-tl",
        "LRE-TL, local remaining execution in T-L planes",
        "optimal: shares from deadline to deadline as dp-wrap, given as jobs come: also to sporadic tasks",
        |system, _| Ok(Box::new(lre_tl(system)?)),
    )
    .implementing(Algorithm::LreTl)
    .refusing([ONE_CLUSTER, IMPLICIT, SPORADIC, OVERLOAD, UNIT_SPEED])
    .breaking_ties(
        "at the beginning of a plane tasks that run go first, then the smaller rank, then the task that comes first; \
         within one the smaller rank takes a CPU, and the larger one leaves it",
    )
    .citing([Citation::FUNK])
}

/// Returns **LRE-TL** for a valid system.
///
/// # Errors
/// If LRE-TL cannot schedule the system.
pub fn lre_tl(system: &System) -> Result<LreTl, SystemRefusal> {
    let Prepared { order, grid, .. } = prepare("lre-tl", system, Releases::Separated)?;
    let member = |&task: &_| PlaneTask {
        job: JobId { task, seq: 0 },
        rate: grid.tasks[task].numerator,
        ready: false,
        from: 0,
        deadline: 0,
        served: false,
        left: 0,
        seat: Seat::NOWHERE,
        account: PlannedTime::default(),
    };
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    let shortest = grid.tasks.values().map(|rate| rate.window.ns()).min();
    let planes = Planes {
        placing: Placing::new(cpus.len()),
        frame: Frame::new(grid.unit.ns(), cpus),
        members: order.iter().map(member).collect(),
        shortest: shortest.unwrap_or(NEVER),
        plane: Plane { start: -1, end: 0 },
        planes: 0,
        waiting: Vec::with_capacity(order.len()),
        chosen: Vec::with_capacity(order.len()),
    };
    Ok(LreTl(Parts::of_all("lre-tl", planes, &order)))
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct LreTl(Parts<Planes>);

impl LreTl {
    fn counted(&self) -> Vec<Count> {
        let planes = self.0.parts().iter().map(|part| part.planes).sum();
        vec![
            Count { name: "planes", count: planes },
            Count { name: "updates", count: self.0.updates() },
        ]
    }
}

policy_of_parts!(LreTl);

/// A task, and its ready job.
#[derive(Clone, Debug)]
struct PlaneTask {
    job: JobId,
    /// The rate, in units of the grid.
    rate: i64,
    ready: bool,
    /// The time from which its job may run: the first multiple of the unit after its release.
    from: i64,
    /// The end of the window of its last job, at a multiple of the unit.
    deadline: i64,
    /// True if it has had its share of this plane.
    served: bool,
    /// The time that it may still execute in this plane; 0 if it has no job.
    left: i64,
    seat: Seat,
    account: PlannedTime,
}

impl Seated for PlaneTask {
    fn seat(&mut self) -> &mut Seat {
        &mut self.seat
    }
}

/// A T-L plane. The initial plane is empty, and ends at once.
#[derive(Clone, Copy, Debug)]
struct Plane {
    start: i64,
    end: i64,
}

/// The key of a waiting task. The smallest takes a CPU first: see the file header.
type Waiting = (bool, Reverse<i64>, bool, u32);

/// One part: all CPUs, all tasks, by rank.
#[derive(Clone, Debug)]
struct Planes {
    frame: Frame,
    members: Vec<PlaneTask>,
    placing: Placing,
    /// The shortest window of a job.
    shortest: i64,
    plane: Plane,
    /// The number of planes in which a task had a share.
    planes: u64,
    /// Scratch.
    waiting: Vec<Waiting>,
    chosen: Vec<u32>,
}

impl Planes {
    /// Returns the first deadline after `t` of a current window of a task.
    fn next_deadline(&self, t: i64) -> i64 {
        let deadlines = self.members.iter().map(|member| member.deadline);
        deadlines.filter(|&deadline| deadline > t).min().unwrap_or(NEVER)
    }

    /// Skips the planes that have ended before now. There are such planes only while no job is
    /// ready.
    fn skip(&mut self) {
        let now = self.frame.now;
        if self.plane.end < now {
            self.members.iter_mut().for_each(|member| member.served = false);
        }
        while self.plane.end < now {
            let (start, shortest) = (self.plane.end, self.shortest);
            let deadline = self.next_deadline(start);
            // Skip as many whole planes at once as there are up to the next deadline.
            self.plane = match (deadline.min(now) - start) / shortest {
                0 => Plane { start, end: deadline.min(start.saturating_add(shortest)) },
                whole => {
                    let end = start + whole * shortest;
                    Plane { start: end - shortest, end }
                }
            };
        }
    }

    /// Begins the next plane, with the work that trouble has left in the last one.
    fn begin(&mut self) {
        let start = self.plane.end;
        let end = self.next_deadline(start).min(start.saturating_add(self.shortest));
        self.plane = Plane { start, end };
        self.members.iter_mut().for_each(|member| member.served = false);
    }

    /// Assigns shares to members with a job that have had none.
    fn serve(&mut self) {
        let Self { frame, members, plane, planes, .. } = self;
        let (now, unit) = (frame.now, frame.unit);
        let was_idle = !members.iter().any(|member| member.served);
        for member in members.iter_mut() {
            if member.ready && !member.served && member.from <= now {
                member.left += member.rate * ((plane.end - now) / unit);
                member.served = true;
            }
        }
        *planes += u64::from(was_idle && members.iter().any(|member| member.served));
    }

    /// Chooses the members that run from now on, in the order of the policy.
    fn choose(&mut self) {
        let Self { frame, members, plane, waiting, chosen, .. } = self;
        let (is_start, time) = (frame.now == plane.start, plane.end - frame.now);
        let cpus = frame.online.iter().filter(|&&is_online| is_online).count();
        chosen.clear();
        waiting.clear();
        for (rank, member) in (0..).zip(members.iter()).filter(|(_, member)| member.left > 0) {
            let runs = member.seat.runs();
            let urgent = member.left >= time;
            if is_start {
                // Rule 1: tasks whose share is the whole plane come first, then running tasks, then
                // by rank.
                waiting.push((!urgent, Reverse(0), !runs, rank));
            } else if runs && frame.online[member.seat.cpu as usize] {
                chosen.push(rank);
            } else {
                waiting.push((!urgent, Reverse(member.left), false, rank));
            }
        }
        waiting.sort_unstable();
        let mut waiting = waiting.iter().map(|&(not_urgent, .., rank)| (!not_urgent, rank));
        let free = cpus.saturating_sub(chosen.len());
        chosen.extend(waiting.by_ref().take(free).map(|(_, rank)| rank));
        if is_start {
            return;
        }
        for (_, rank) in waiting.take_while(|&(urgent, _)| urgent) {
            let left = |member: u32| members[member as usize].left;
            let least = (0..chosen.len()).min_by_key(|&at| (left(chosen[at]), Reverse(chosen[at])));
            match least {
                Some(at) if left(chosen[at]) < time => chosen[at] = rank,
                // After trouble the urgent tasks may outnumber the CPUs.
                Some(_) | None => break,
            }
        }
        chosen.sort_unstable();
    }

    /// Returns the time of the next event.
    fn next_event(&self) -> i64 {
        let Self { frame, members, plane, .. } = self;
        let due = members.iter().filter(|member| member.ready).map(|member| {
            let event = if member.from > frame.now {
                member.from
            } else if member.seat.runs() {
                frame.now + member.left
            } else {
                plane.end - member.left
            };
            if event > frame.now { event.min(plane.end) } else { plane.end }
        });
        due.min().unwrap_or(NEVER)
    }
}

impl FairPart for Planes {
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
        // If its predecessor ends only now, the job inherits the remaining share.
        let takes_the_rest = member.ready && member.served;
        member.from = if takes_the_rest { now } else { div_ceil(now, unit).saturating_mul(unit) };
        member.deadline = div_floor(deadline, unit) * unit;
        (member.job, member.ready) = (job, true);
        (member.account.planned, member.account.got) = (0, 0);
    }

    fn grant(&mut self, _member: usize) {}

    fn end(&mut self, member: usize, job: Option<JobId>) {
        let Self { frame, members, placing, .. } = self;
        let member = &mut members[member];
        if job.is_none_or(|job| job == member.job) {
            placing.stop(&mut member.seat, frame.now);
            (member.ready, member.left) = (false, 0);
        }
    }

    fn advance(&mut self, past: i64) {
        let Self { members, placing, .. } = self;
        for member in placing.running() {
            let member = &mut members[member as usize];
            member.left -= past;
            member.account.planned += past;
        }
        self.skip();
    }

    fn accounts(&mut self) -> impl Iterator<Item = (&mut PlannedTime, &mut i64)> {
        let ready = self.members.iter_mut().filter(|member| member.ready);
        ready.map(|member| (&mut member.account, &mut member.left))
    }

    fn account(&mut self, member: usize) -> (&mut PlannedTime, Option<JobId>) {
        let member = &mut self.members[member];
        (&mut member.account, member.ready.then_some(member.job))
    }

    fn select(&mut self) -> i64 {
        if self.frame.now == self.plane.end && !self.members.is_empty() {
            self.begin();
        }
        self.serve();
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
        state.number(i64::from(self.plane.start == now));
        state.number(self.plane.end - now);
        for member in &self.members {
            state.number(i64::from(member.ready) << 1 | i64::from(member.served));
            state.number(member.left);
            // Times in the past have no influence.
            state.number((member.from - now).max(0));
            state.number((member.deadline - now).max(0));
        }
        Placing::save(self.members.iter().map(|member| &member.seat), state);
    }

    fn rule(parts: &[Planes], groups: Vec<Group>) -> ScheduleRule {
        parts.first().map_or(ScheduleRule::None, |part| ScheduleRule::Shares {
            groups,
            unit: Duration::from_ns(part.frame.unit),
            slices: Slices::Planes,
        })
    }
}
