//! The exact shares of DP-WRAP on a trace (Levin et al. 2010). What they are says
//! [`ScheduleRule::Shares`](layland_model::ScheduleRule::Shares).
//!
//! Slices follow from the set alone. In each of them a job that can run from its beginning to its end gets the rate of
//! its task times the length, to the nanosecond, whatever it needs in the end. So at every deadline of any task every
//! job is where the fluid schedule is.

use super::{Checker, Violation};
use layland_model::{Duration, Group, Task, Time};

impl Checker<'_> {
    pub(super) fn check_shares(&mut self, groups: &[Group], unit: Duration) {
        let is_ideal = self.system.platform.overheads.is_zero()
            && self.system.requests.is_empty()
            && !self.is_real
            && unit > Duration::ZERO;
        let mut found = Vec::new();
        if is_ideal {
            let borders = self.borders(unit.ns());
            let mut segments = vec![Vec::new(); self.trace.jobs.len()];
            for segment in &self.sound {
                segments[segment.job].push((segment.start.ns(), segment.end.ns()));
            }
            for (index, segments) in segments.iter().enumerate() {
                self.find_other_shares(index, segments, unit.ns(), &borders, &mut found);
            }
        }
        self.check_optimal(groups);
        for violation in found {
            self.violated(|_| violation);
        }
    }

    /// Where slices begin and end, up to the end of the run: at the deadlines and first releases of the tasks, which
    /// are cut to the grid.
    fn borders(&self, unit: i64) -> Vec<i64> {
        let over = self.trace.over.ns();
        let mut borders = vec![0];
        for task in self.system.tasks.values() {
            let mut at = task.offset.ns();
            while at - unit <= over && task.period > Duration::ZERO {
                let cut = at.div_euclid(unit) * unit;
                borders.push(cut);
                if cut < at {
                    borders.push(cut + unit);
                }
                at += task.period.ns();
            }
        }
        borders.sort_unstable();
        borders.dedup();
        borders
    }

    /// The slices in which a job gets another share.
    fn find_other_shares(
        &self,
        index: usize,
        segments: &[(i64, i64)],
        unit: i64,
        borders: &[i64],
        found: &mut Vec<Violation>,
    ) {
        let record = &self.trace.jobs[index];
        let Some(task) = self.system.tasks.get(record.job.id.task) else { return };
        let ready = self.ready[index].0.ns();
        let ended = record.end.map_or(self.trace.over.ns() + 1, |(at, _)| at.ns());
        let rate = i128::from(numerator(task, unit));
        let first = borders.partition_point(|&border| border < ready);
        let mut next = 0;
        for slice in borders[first..].windows(2) {
            let (from, to) = (slice[0], slice[1]);
            // A job that ends at the end of a slice may have needed less than its share.
            if to >= ended {
                break;
            }
            // Segments of one job follow each other, as slices do.
            let past = segments[next..].iter().take_while(|&&(_, end)| end <= from).count();
            next += past;
            let here = segments[next..].iter().take_while(|&&(start, _)| start < to);
            let got: i64 = here.map(|&(start, end)| (end.min(to) - start.max(from)).max(0)).sum();
            let share = rate * i128::from((to - from) / unit);
            if i128::from(got) != share {
                found.push(Violation::OtherShare {
                    job: self.name_at(index),
                    from: Time::from_ns(from),
                    to: Time::from_ns(to),
                    got: Duration::from_ns(got),
                    share: Duration::from_ns(i64::try_from(share).unwrap_or(i64::MAX)),
                });
            }
        }
    }
}

/// The rate of a task in units of the grid: `ceil(C Q / W)`, where `W` is the shortest window that lies on the grid.
fn numerator(task: &Task, unit: i64) -> i64 {
    let (period, wcet) = (task.period.ns(), task.own_wcet().ns());
    let is_regular = period % unit == 0 && task.offset.ns() % unit == 0;
    let window = if is_regular { period } else { (period / unit - 1) * unit };
    let product = i128::from(wcet) * i128::from(unit);
    let rate = -(-product).div_euclid(i128::from(window.max(1)));
    i64::try_from(rate).unwrap_or(i64::MAX)
}
