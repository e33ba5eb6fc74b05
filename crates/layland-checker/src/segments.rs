//! The segments of a trace: their form, overlaps on a CPU, and their agreement with their jobs
//! (items 1, 2, 3, 5, 6).

use super::{Checker, Demand, Sound, Violation};
use layland_model::{CpuId, CpuMap, Duration, JobId, Rate, Speed, Step, Time};
use layland_trace::{JobRecord, MarkKind, Segment};

/// The most that a job is taken to execute more for each preemption. A switch and the reload of
/// caches take less on the machines that were measured.
const SWITCH: Duration = Duration::from_us(100);

impl Checker<'_> {
    /// Returns the tolerance of the execution of a job in nanoseconds: the latency for each of its
    /// segments, or once, if the demand comes from the world.
    ///
    /// In a record the times of switches are those of the kernel, so that a preemption adds no latency
    /// to the execution of a job. It adds a switch, and the reload of caches.
    pub(super) fn slack_of(&self, id: JobId) -> i64 {
        let count = self.segment_counts.get(&id).copied().unwrap_or(1);
        let of_more = match self.demand {
            Demand::Drawn => self.latency,
            Demand::Bounded => self.latency.min(SWITCH),
        };
        self.latency.ns().saturating_add(of_more.ns().saturating_mul((count - 1).max(0)))
    }

    /// Checks items 1, 3 and 5.
    pub(super) fn check_segments(&mut self) {
        let trace = self.trace;
        for pair in trace.segments.windows(2) {
            if (pair[0].end, pair[0].cpu) > (pair[1].end, pair[1].cpu) {
                let Segment { job, cpu, end, .. } = pair[1];
                self.violated(|this| Violation::SegmentOrder { job: this.name(job), cpu, end });
            }
        }
        for &Segment { job: id, cpu, start, end, overhead } in &trace.segments {
            if end <= start {
                self.violated(|this| Violation::EmptySegment {
                    job: this.name(id),
                    cpu,
                    start,
                    end,
                });
                continue;
            }
            if start < Time::ZERO || end > trace.over {
                let over = trace.over;
                self.violated(|this| {
                    let job = this.name(id);
                    Violation::OutsideRun { job, cpu, start, end, over }
                });
                continue;
            }
            let length = end - start;
            if overhead < Duration::ZERO || overhead > length {
                self.violated(|this| {
                    let job = this.name(id);
                    Violation::Overhead { job, cpu, at: start, overhead, length }
                });
            }
            let Some(job) = self.find(id) else {
                self.violated(|this| Violation::UnknownJob { job: this.name(id), cpu, at: start });
                continue;
            };
            let Some(switches) = self.switches.get(cpu) else {
                self.violated(|this| Violation::UnknownCpu { job: this.name(id), cpu, at: start });
                continue;
            };
            // A CPU is offline from each switch with an even index to the next one.
            let before = switches.partition_point(|&at| at <= start);
            let offline_at = if before.is_multiple_of(2) {
                switches.get(before).copied().filter(|&at| at < end)
            } else {
                Some(start)
            };
            if let Some(at) = offline_at {
                self.violated(|this| Violation::Offline { job: this.name(id), cpu, at });
            }
            if self.allowed.get(id.task).is_some_and(|allowed| !allowed.contains(cpu)) {
                self.violated(|this| Violation::Affinity {
                    job: this.name(id),
                    cpu,
                    at: start,
                    allowed: this.allowed[id.task].clone(),
                });
            }
            self.check_life(job, cpu, start, end);
            self.sound.push(Sound { job, cpu, start, end, overhead });
        }
    }

    fn check_life(&mut self, index: usize, cpu: CpuId, start: Time, end: Time) {
        let record = &self.trace.jobs[index];
        let release = record.job.release;
        if let Some(&Some(end)) = self.followed.get(index)
            && start < end
        {
            self.violated(|this| Violation::BeforeFollowed {
                job: this.name_at(index),
                cpu,
                at: start,
                end,
            });
        } else if start < release {
            self.violated(|this| Violation::BeforeRelease {
                job: this.name_at(index),
                cpu,
                at: start,
                release,
            });
        }
        if let (_, Some(predecessor_end)) = self.ready[index]
            && start < predecessor_end
        {
            self.violated(|this| Violation::BeforePredecessor {
                job: this.name_at(index),
                cpu,
                at: start,
                predecessor_end,
            });
        }
        if let Some((job_end, _)) = record.end
            && end > job_end
        {
            self.violated(|this| Violation::AfterEnd {
                job: this.name_at(index),
                cpu,
                at: end,
                end: job_end,
            });
        }
    }

    /// Checks item 2 for CPUs.
    pub(super) fn check_cpus(&mut self) {
        let mut by_cpu = self.sound.clone();
        by_cpu.sort_by_key(|segment| (segment.cpu, segment.start, segment.end));
        let mut latest: Option<Sound> = None;
        for segment in by_cpu {
            let same_cpu = latest.filter(|latest| latest.cpu == segment.cpu);
            if let Some(other) = same_cpu
                && other.end > segment.start
                && other.job != segment.job
            {
                self.violated(|this| Violation::CpuShared {
                    cpu: segment.cpu,
                    first: this.name_at(other.job),
                    second: this.name_at(segment.job),
                    at: segment.start,
                });
            }
            // The next segment may overlap the one that ends later.
            latest = Some(match same_cpu {
                Some(other) if other.end > segment.end => other,
                Some(_) | None => segment,
            });
        }
    }

    /// Checks item 2 for jobs, the rest of item 1, and item 6.
    pub(super) fn check_jobs_against_segments(&mut self) {
        let mut by_job = self.sound.clone();
        by_job.sort_by_key(|segment| (segment.job, segment.start, segment.end));
        // The speed changes of each CPU.
        let mut speeds: CpuMap<Vec<(Time, Speed)>> = self
            .system
            .platform
            .speeds
            .values()
            .map(|&speed| vec![(Time::from_ns(i64::MIN), speed)])
            .collect();
        for mark in &self.trace.marks {
            if let MarkKind::Speed(cpu, speed) = mark.kind
                && let Some(speeds) = speeds.get_mut(cpu)
            {
                speeds.push((mark.at, speed));
            }
        }
        // Count work in units of the least common denominator, so that the comparison is exact.
        let every = speeds.values().flatten().map(|(_, speed)| speed);
        let common = every.fold(1i128, |common, speed| {
            let denominator = i128::from(speed.denominator());
            common / gcd(common, denominator) * denominator
        });
        let mut rest = by_job.as_slice();
        for index in 0..self.trace.jobs.len() {
            let count = rest.iter().take_while(|segment| segment.job == index).count();
            let (segments, others) = rest.split_at(count);
            rest = others;
            let mut latest: Option<Sound> = None;
            // In units of 1 / `common` nanoseconds of work.
            let (mut supplied, mut slack, mut is_vague) = (0i128, 0i128, false);
            for &segment in segments {
                if let Some(other) = latest {
                    if other.end > segment.start {
                        self.violated(|this| Violation::JobInParallel {
                            job: this.name_at(index),
                            first: other.cpu,
                            second: segment.cpu,
                            at: segment.start,
                        });
                    } else if other.end == segment.start && other.cpu == segment.cpu {
                        self.violated(|this| Violation::NotMerged {
                            job: this.name_at(index),
                            cpu: segment.cpu,
                            at: segment.start,
                        });
                    }
                }
                let speeds = &speeds[segment.cpu];
                let per_ns = |speed: Speed| {
                    i128::from(speed.numerator()) * (common / i128::from(speed.denominator()))
                };
                // The initial speed is at the earliest possible time, so an entry precedes every
                // segment.
                let first = speeds.partition_point(|&(at, _)| at <= segment.start) - 1;
                for (at, &(from, speed)) in speeds.iter().enumerate().skip(first) {
                    if from >= segment.end {
                        break;
                    }
                    let until = speeds.get(at + 1).map_or(segment.end, |&(next, _)| next);
                    let (from, until) = (from.max(segment.start), until.min(segment.end));
                    // The trace does not show which part of a segment was spent on overheads.
                    is_vague |= until < segment.end && segment.overhead > Duration::ZERO;
                    let overhead = if at == first { segment.overhead.ns() } else { 0 };
                    let length = (until - from).ns();
                    supplied += (i128::from(length) - i128::from(overhead)) * per_ns(speed);
                    slack += if speed == Speed::UNIT { 0 } else { per_ns(speed).max(common) };
                }
                latest = Some(match latest {
                    Some(other) if other.end > segment.end => other,
                    Some(_) | None => segment,
                });
            }
            // Each piece of work between two steps is rounded up to a whole nanosecond.
            let task = self.system.tasks.get(self.trace.jobs[index].job.id.task);
            slack *= 1 + task.map_or(0, |task| task.steps().len()) as i128;
            // A thread can end a job that has lost its CPU, and an overhead can come before the end.
            if let (Some(at), Some(last)) = (self.trace.jobs[index].completion(), latest)
                && last.end < at
                && !self.is_real
                && self.system.platform.overheads.is_zero()
                && self.ends_by_executing(&self.trace.jobs[index])
            {
                let (cpu, until) = (last.cpu, last.end);
                let job = self.name_at(index);
                self.violated(|_| Violation::EndsLater { job, at, cpu, until });
            }
            let executed = self.trace.jobs[index].executed;
            let surplus = supplied - i128::from(executed.ns()) * common;
            let latency = i128::from(self.latency.ns()) * segments.len().max(1) as i128 * common;
            let is_near = latency > 0 && surplus.abs() <= latency;
            if !is_vague && surplus != 0 && !is_near && !(0..slack).contains(&surplus) {
                self.violated(|this| Violation::Executed {
                    job: this.name_at(index),
                    executed,
                    supplied_ns: rate(supplied, common),
                });
            }
        }
    }

    /// Returns true if a job certainly executes until its end. A job that waits for a lock or
    /// suspends itself last may end right afterwards without executing.
    pub(super) fn ends_by_executing(&self, record: &JobRecord) -> bool {
        let Some(task) = self.system.tasks.get(record.job.id.task) else { return true };
        if task.steps.is_some() && record.executed < task.own_wcet() {
            // The last step may be so short that its scaled length is zero.
            return false;
        }
        let after = task.steps().iter().rev().take_while(|step| !matches!(step, Step::Run(_)));
        !after.into_iter().any(|step| matches!(step, Step::Lock(_) | Step::Suspend(_)))
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Returns `numerator / denominator`, rounded towards zero to a whole number if it does not fit.
fn rate(numerator: i128, denominator: i128) -> Rate {
    let divisor = gcd(numerator.abs(), denominator).max(1);
    let pair = (i64::try_from(numerator / divisor), i64::try_from(denominator / divisor));
    match pair {
        (Ok(numerator), Ok(denominator)) => Rate::new(numerator, denominator),
        _ => Rate::whole(i64::try_from(numerator / denominator).unwrap_or(i64::MAX)),
    }
}
