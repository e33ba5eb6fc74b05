//! **DP-WRAP** (Levin, Funk, Sadowski, Pye and Brandt 2010): the fluid schedule at every deadline, wrapped around the
//! CPUs in between.
//!
//! | paper | here |
//! |-------|------|
//! | deadlines of all tasks `t_0, t_1, ..` | `Slice`: from one of them to the next |
//! | rate `rho_i` | `numerator`, in units of the grid |
//! | local execution requirement in slice `j` | `numerator` times the length of the slice |
//! | McNaughton's wrap around | `Wrap::lay_out` |
//!
//! Time is cut into *slices* at the deadlines and first releases of all tasks. In each slice every
//! task with a job gets exactly its rate times the length of the slice. These shares are laid end
//! to end on a line, by rank, and the line is cut into pieces as long as the slice, one for each
//! CPU. A task that is cut runs at the end of one CPU and at the start of the next, and never on
//! both at once, because no share is longer than the slice. At the end of every slice each job has
//! received exactly the work of the fluid schedule, and so no job is late, up to a load of 100 %.
//!
//! Every other slice is mirrored (`mirror=on`, as the paper proposes): the task that ends a slice
//! on a CPU begins the next one there, which saves at least a third of the migrations. At most `m -
//! 1` tasks migrate in a slice.
//!
//! **Shares are whole nanoseconds**: slices begin at multiples of the unit of a
//! [`RateGrid`](layland_offline::RateGrid), on which rates are rounded up. The windows of a task
//! whose releases are not on the grid are cut to the grid.
//!
//! Cases that the paper leaves out:
//! - A job that ends early leaves its place empty.
//! - A job that needs more than its WCET continues in the shares of its task in later slices. If
//!   its successor has arrived when it ends, the successor takes the rest of the share.
//! - Work planned for an offline CPU waits.
//! - Sporadic tasks are refused: mirrored slices idle first, so the time before an arrival may
//!   already be lost. `lre_tl.rs` accepts them.
//! - On a machine that is late, the layout stays in its place on the ideal time line. The time of
//!   context switches is lost, and must be part of the WCETs.

use super::parts::{FairPart, Frame, NEVER, Parts, PlannedTime, policy_of_parts};
use super::preparation::{IMPLICIT, OVERLOAD, PERIODIC, Prepared, Releases, prepare};
use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups::{ONE_CLUSTER, UNIT_SPEED};
use crate::{Count, State};
use layland_model::{
    Algorithm, Citation, CpuId, Duration, Group, JobId, ScheduleRule, Slices, System, Time,
};

/// Returns the description of the policy.
pub(super) fn policy() -> PolicyInfo {
    PolicyInfo::new(
        "dp-wrap",
        "DP-WRAP, deadline partitioning with wrap around",
        "optimal: between any two deadlines each task gets its rate, laid around the CPUs",
        |system, options| Ok(Box::new(dp_wrap(system, options)?)),
    )
    .implementing(Algorithm::DpWrap)
    .refusing([ONE_CLUSTER, IMPLICIT, PERIODIC, OVERLOAD, UNIT_SPEED])
    .breaking_ties("nothing competes: the tasks are laid out by rank, then in their order")
    .with_options([OptionInfo::new(
        "mirror",
        "every other slice runs backwards, so that tasks stay where they are: on (default) or off",
        Values::Switch,
    )])
    .citing([Citation::LEVIN])
}

/// Returns **DP-WRAP** for a valid system.
///
/// # Errors
/// If DP-WRAP cannot schedule the system.
pub fn dp_wrap(system: &System, options: &PolicyOptions) -> Result<DpWrap, SystemRefusal> {
    let Prepared { order, grid, .. } = prepare("dp-wrap", system, Releases::Known)?;
    let member = |&task: &_| WrappedTask {
        job: JobId { task, seq: 0 },
        ready: false,
        served: false,
        numerator: grid.tasks[task].numerator,
        offset: system.tasks[task].offset.ns(),
        period: system.tasks[task].period.ns(),
    };
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    let wrap = Wrap {
        layout: vec![Vec::new(); cpus.len()],
        frame: Frame::new(grid.unit.ns(), cpus),
        members: order.iter().map(member).collect(),
        mirror: options.switch("mirror", true)?,
        slice: Slice { start: 0, end: 0, is_odd: true },
        slices: 0,
        account: PlannedTime::default(),
    };
    Ok(DpWrap(Parts::of_all("dp-wrap", wrap, &order)))
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct DpWrap(Parts<Wrap>);

impl DpWrap {
    fn counted(&self) -> Vec<Count> {
        let slices = self.0.parts().iter().map(|part| part.slices).sum();
        vec![
            Count { name: "slices", count: slices },
            Count { name: "updates", count: self.0.updates() },
        ]
    }
}

policy_of_parts!(DpWrap);

/// A task, and its ready job.
#[derive(Clone, Debug)]
struct WrappedTask {
    job: JobId,
    ready: bool,
    /// True if the share of this slice is for its job.
    served: bool,
    /// Its rate, in units of the grid.
    numerator: i64,
    offset: i64,
    period: i64,
}

impl WrappedTask {
    /// Returns the first deadline or release after `t`.
    fn next_release(&self, t: i64) -> i64 {
        if t < self.offset {
            self.offset
        } else {
            self.offset + ((t - self.offset) / self.period + 1) * self.period
        }
    }
}

/// The interval from one deadline of any task to the next. The initial slice is empty, and ends at
/// once.
#[derive(Clone, Copy, Debug)]
struct Slice {
    start: i64,
    end: i64,
    is_odd: bool,
}

/// The place of a share, or of a part of it, on one CPU.
#[derive(Clone, Copy, Debug)]
struct Piece {
    member: u32,
    from: i64,
    to: i64,
}

/// One part: all CPUs, all tasks, by rank.
#[derive(Clone, Debug)]
struct Wrap {
    frame: Frame,
    members: Vec<WrappedTask>,
    mirror: bool,
    slice: Slice,
    /// The pieces of each CPU in this slice, unordered.
    layout: Vec<Vec<Piece>>,
    /// The number of slices that have begun.
    slices: u64,
    /// Unused, since the layout alone decides; the trait requires it.
    account: PlannedTime,
}

impl Wrap {
    /// Begins the next slice.
    fn begin(&mut self) {
        let Self { frame, members, slice, .. } = self;
        let unit = frame.unit;
        let start = slice.end;
        // A window of a task off the grid ends at the last multiple of the unit, and the next one
        // begins at the first multiple.
        let border = |member: &WrappedTask| {
            let release = member.next_release(start);
            num_integer::div_floor(release, unit).saturating_mul(unit).max(start + unit)
        };
        let end = members.iter().map(border).min().unwrap_or(NEVER);
        *slice = Slice { start, end, is_odd: !slice.is_odd };
        self.slices += 1;
        self.lay_out();
    }

    /// Lays out the shares, end to end around the CPUs.
    fn lay_out(&mut self) {
        let Self { frame, members, slice, layout, mirror, .. } = self;
        let length = slice.end - slice.start;
        layout.iter_mut().for_each(Vec::clear);
        let (mut cpu, mut at) = (0, 0);
        for (index, member) in members.iter_mut().enumerate() {
            member.served = member.ready;
            let mut share = if member.ready { member.numerator * (length / frame.unit) } else { 0 };
            while share > 0 {
                if at == length {
                    (cpu, at) = (cpu + 1, 0);
                }
                let part = share.min(length - at);
                let (from, to) = if *mirror && slice.is_odd {
                    (slice.end - at - part, slice.end - at)
                } else {
                    (slice.start + at, slice.start + at + part)
                };
                layout[cpu].push(Piece { member: index as u32, from, to });
                at += part;
                share -= part;
            }
        }
    }
}

impl FairPart for Wrap {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn has_job(&self, member: usize, _release: i64) -> bool {
        self.members[member].ready
    }

    fn release(&mut self, member: usize, job: JobId, _deadline: i64) {
        let member = &mut self.members[member];
        // If its predecessor ends only now, the job inherits the remaining share.
        member.served &= member.ready;
        (member.job, member.ready) = (job, true);
    }

    fn grant(&mut self, _member: usize) {}

    fn end(&mut self, member: usize, job: Option<JobId>) {
        let member = &mut self.members[member];
        member.ready &= job.is_some_and(|job| job != member.job);
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
        let now = self.frame.now;
        if now == self.slice.end && !self.members.is_empty() {
            self.begin();
        } else if now == self.slice.start {
            // This is another round of the instant in which the slice began.
            self.lay_out();
        }
        let pieces = self.layout.iter().flatten();
        let borders = pieces.flat_map(|piece| [piece.from, piece.to]);
        borders.filter(|&border| border > now).min().unwrap_or(NEVER).min(self.slice.end)
    }

    fn selected(&self, cpu: usize) -> Option<JobId> {
        let now = self.frame.now;
        let piece = self.layout[cpu].iter().find(|piece| piece.from <= now && now < piece.to)?;
        let member = &self.members[piece.member as usize];
        (member.ready && member.served).then_some(member.job)
    }

    fn save(&self, now: Time, state: &mut State) {
        let now = now.ns();
        state.number(self.slice.start - now);
        state.number(self.slice.end - now);
        state.number(i64::from(self.slice.is_odd));
        for member in &self.members {
            state.number(member.next_release(now) - now);
            state.number(i64::from(member.ready) << 1 | i64::from(member.served));
        }
        for pieces in &self.layout {
            state.number(pieces.len() as i64);
            for piece in pieces {
                state.number(i64::from(piece.member));
                state.number(piece.from - now);
                state.number(piece.to - now);
            }
        }
    }

    fn rule(parts: &[Wrap], groups: Vec<Group>) -> ScheduleRule {
        parts.first().map_or(ScheduleRule::None, |part| ScheduleRule::Shares {
            groups,
            unit: Duration::from_ns(part.frame.unit),
            slices: Slices::Deadlines,
        })
    }
}
