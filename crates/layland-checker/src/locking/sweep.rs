//! The sweep over the instants of a trace: which job runs on each CPU, and which job gets a lock.

use super::rounds::Rounds;
use super::{Live, LockingFacts};
use crate::{Checker, Sound, Violation};
use layland_model::{CpuId, Index, JobId, Protocol, Time};
use layland_trace::{Job, LockMark, MarkKind};
use std::collections::BTreeMap;

impl Checker<'_> {
    pub(super) fn sweep_locks(&mut self, shared: &LockingFacts<'_>, segments: &[Sound]) {
        let trace = self.trace;
        let mut times: Vec<Time> = trace.marks.iter().map(|mark| mark.at).collect();
        let mut starts: BTreeMap<Time, Vec<(CpuId, usize)>> = BTreeMap::new();
        let mut stops: BTreeMap<Time, Vec<(CpuId, usize)>> = BTreeMap::new();
        for segment in segments {
            starts.entry(segment.start).or_default().push((segment.cpu, segment.job));
            stops.entry(segment.end).or_default().push((segment.cpu, segment.job));
        }
        let mut ready: BTreeMap<Time, Vec<usize>> = BTreeMap::new();
        let mut done: BTreeMap<Time, Vec<usize>> = BTreeMap::new();
        for (index, record) in trace.jobs.iter().enumerate() {
            let end = record.end.map_or(Time::NEVER, |(at, _)| at);
            let (from, _) = self.ready[index];
            // A skipped job comes and goes at once, and never waits for a CPU.
            if from <= end && (from < end || record.completion().is_some()) {
                ready.entry(from).or_default().push(index);
                done.entry(end).or_default().push(index);
            }
        }
        times.extend(starts.keys().chain(stops.keys()).chain(ready.keys()).chain(done.keys()));
        times.sort_unstable();
        times.dedup();
        let needs = self.last_needs(segments);
        let mut all: Vec<Live> = Vec::new();
        let mut running: Vec<(CpuId, usize)> = Vec::new();
        let mut marks = trace.marks.iter().enumerate().peekable();
        let mut reported = None;
        for now in times.into_iter().take_while(|&at| at < trace.over) {
            let mut rounds = Rounds::new(now, running.iter().map(|&(_, job)| job).collect());
            for stop in stops.remove(&now).unwrap_or_default() {
                running.retain(|&other| other != stop);
            }
            for job in ready.remove(&now).unwrap_or_default() {
                let Job { id, release: ready, deadline, .. } = trace.jobs[job].job;
                let task = id.task;
                let (sleeps, begun, asked, held) = (false, false, None, Vec::new());
                all.push(Live { job, task, deadline, ready, sleeps, begun, asked, held });
            }
            while let Some((number, mark)) = marks.next_if(|(_, mark)| mark.at <= now) {
                let resumed =
                    if let MarkKind::Resumed(id) = mark.kind { self.find(id) } else { None };
                let needs_no_cpu = resumed.is_some_and(|job| {
                    let (executes, asks) = needs[job];
                    executes <= now && asks < number
                });
                let next = rounds.next(self, shared, &all, (&mark.kind, needs_no_cpu));
                if let Some((job, cpu)) = next {
                    let at = mark.at;
                    self.violated(|this| Violation::NotSelected {
                        job: this.name_at(job),
                        cpu,
                        at,
                    });
                }
                self.apply(shared, &mut all, number, mark.at, &mark.kind);
            }
            for job in done.remove(&now).unwrap_or_default() {
                all.retain(|live| live.job != job);
            }
            let started = starts.remove(&now).unwrap_or_default();
            for cpu in self.system.platform.cpus() {
                let on = started.iter().chain(&running).find(|(on, _)| *on == cpu);
                let on = on.map(|&(_, job)| job);
                let expected = shared.expected(cpu, &all);
                let is_due = expected.filter(|live| {
                    live.asked.is_some_and(|asked| {
                        shared.protocol != Protocol::Msrp || !shared.is_global(asked.0)
                    })
                });
                let expected_job = expected.map(|live| live.job);
                let is_it = match (expected, on) {
                    (Some(first), Some(on)) => shared.may_stand_for(first, on, &all),
                    (None, None) => true,
                    (Some(_), None) | (None, Some(_)) => false,
                };
                if is_it && is_due.is_none() || reported == Some((expected_job, on)) {
                    continue;
                }
                reported = Some((expected_job, on));
                let (due, job) = (is_due.is_some(), expected_job);
                self.violated(|this| match (job, on) {
                    (Some(waiting), _) if due => {
                        Violation::NotGranted { job: this.name_at(waiting), cpu, at: now }
                    }
                    (Some(waiting), None) => {
                        Violation::IdleWhileWaiting { job: this.name_at(waiting), cpu, at: now }
                    }
                    (Some(waiting), Some(running)) => Violation::Overtaken {
                        waiting: this.name_at(waiting),
                        running: this.name_at(running),
                        cpu,
                        at: now,
                    },
                    (None, on) => Violation::RunsWaiting {
                        job: this.name_at(on.unwrap_or_default()),
                        cpu,
                        at: now,
                    },
                });
            }
            running.extend(started);
            for &(_, job) in &running {
                all.iter_mut().filter(|live| live.job == job).for_each(|live| live.begun = true);
            }
        }
    }

    /// Returns, for each job, the end of its last segment and the index of the mark of its last
    /// request.
    fn last_needs(&self, segments: &[Sound]) -> Vec<(Time, usize)> {
        let mut needs = vec![(Time::ZERO, 0); self.trace.jobs.len()];
        for segment in segments {
            let (executes, _) = &mut needs[segment.job];
            *executes = segment.end.max(*executes);
        }
        for (number, mark) in self.trace.marks.iter().enumerate() {
            if let MarkKind::Lock(id, _, LockMark::Requested) = mark.kind
                && let Some(job) = self.find(id)
            {
                needs[job].1 = number;
            }
        }
        needs
    }

    /// Applies a mark, and checks it against the protocol.
    fn apply(
        &mut self,
        shared: &LockingFacts<'_>,
        all: &mut [Live],
        number: usize,
        at: Time,
        kind: &MarkKind,
    ) {
        let trace = self.trace;
        let find = |all: &[Live], id: JobId| {
            all.iter().position(|live| self.trace.jobs[live.job].job.id == id)
        };
        match *kind {
            MarkKind::Lock(id, resource, what) => {
                let Some(index) = find(all, id) else { return };
                all[index].begun = true;
                match what {
                    LockMark::Requested => all[index].asked = Some((resource, number)),
                    LockMark::Unlocked => all[index].held.retain(|held| held.0 != resource),
                    LockMark::Granted => {
                        let asked = all[index].asked.map_or(number, |asked| asked.1);
                        let is_held =
                            all.iter().any(|live| live.held.iter().any(|held| held.0 == resource));
                        let comes_first = |other: &Live| match shared.protocol {
                            // A request of the same instant may have come after the grant, although
                            // its mark precedes that of the grant.
                            Protocol::Mpcp => {
                                shared.place[other.task.index()] < shared.place[id.task.index()]
                                    && other.asked.is_some_and(|asked| trace.marks[asked.1].at < at)
                            }
                            Protocol::FmlpPlus | Protocol::Msrp => {
                                other.asked.is_some_and(|other| other.1 < asked)
                            }
                            Protocol::Plain
                            | Protocol::Inheritance
                            | Protocol::Ceiling
                            | Protocol::ImmediateCeiling
                            | Protocol::Stack
                            | Protocol::Dpcp => false,
                        };
                        let is_passed_over = shared.is_global(resource)
                            && all.iter().any(|other| {
                                other.asked.is_some_and(|asked| asked.0 == resource)
                                    && comes_first(other)
                            });
                        let below_ceiling = shared.protocol == Protocol::Ceiling
                            && shared.blocker(&all[index], all).is_some();
                        if is_held || is_passed_over || below_ceiling {
                            let name = self.system.resources[resource.index()].name.clone();
                            self.violated(|this| Violation::Granted {
                                job: this.name(id),
                                resource: name,
                                at,
                            });
                        }
                        let fifo = shared.protocol == Protocol::FmlpPlus;
                        let live = &mut all[index];
                        live.asked = None;
                        live.held.push((resource, if fifo { asked } else { number }));
                    }
                }
            }
            MarkKind::Suspended(id) | MarkKind::Resumed(id) => {
                let sleeps = matches!(kind, MarkKind::Suspended(_));
                if let Some(index) = find(all, id) {
                    (all[index].sleeps, all[index].begun) = (sleeps, sleeps);
                    if !sleeps {
                        all[index].ready = at;
                    }
                }
            }
            MarkKind::BudgetExhausted(..)
            | MarkKind::CpuOnline(_)
            | MarkKind::CpuOffline(_)
            | MarkKind::Speed(..)
            | MarkKind::Note(_) => {}
        }
    }
}
