//! The invariants of weak and strong scheduling with affinities (Bonifaci et al. 2016, Definitions
//! II.1 and II.2), at every instant of a trace.
//!
//! The check sweeps over the instants at which something changes. Waiting jobs whose tasks have the
//! same affinity reach the same CPUs, so the check looks at only the first waiting job of each
//! affinity.

use super::{Checker, Key, Move, Violation};
use layland_model::{
    Change, CpuId, CpuMap, CpuSet, InLevel, Index, JobOrder, RequestKind, TaskId, TaskMap, Time,
};
use std::collections::BTreeSet;

/// The CPUs from which a waiting job may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The CPUs that the job may use.
    Weak,
    /// Also the CPUs to which the jobs on those CPUs could move.
    Strong,
}

/// A change at an instant. Jobs are indices into `Trace::jobs`.
#[derive(Clone, Copy)]
enum AffinityEdge {
    Ready(usize),
    Done(usize),
    Start(usize, CpuId),
    Stop(usize, CpuId),
    Online(CpuId),
    Offline(CpuId),
    /// The affinity of a task changes. The number is an index into the masks.
    Mask(TaskId, usize),
}

/// The distinct affinities of the tasks.
#[derive(Default)]
struct Masks(Vec<CpuSet>);

impl Masks {
    fn index(&mut self, mask: CpuSet) -> usize {
        self.0.iter().position(|known| *known == mask).unwrap_or_else(|| {
            self.0.push(mask);
            self.0.len() - 1
        })
    }
}

/// The state between two instants. It also works for a trace with several jobs on one CPU.
struct AffinityState {
    mask_of: TaskMap<usize>,
    is_ready: Vec<bool>,
    /// The number of CPUs that each job holds.
    held: Vec<i64>,
    /// For each mask, the ready jobs that hold no CPU.
    waiting: Vec<BTreeSet<Key>>,
    /// The jobs on each CPU.
    on: CpuMap<BTreeSet<Key>>,
    online: CpuSet,
}

impl AffinityState {
    fn apply(&mut self, edge: AffinityEdge, keys: &[Key]) {
        match edge {
            AffinityEdge::Ready(job) => {
                self.is_ready[job] = true;
                self.place(keys[job]);
            }
            AffinityEdge::Done(job) => {
                self.is_ready[job] = false;
                self.place(keys[job]);
            }
            AffinityEdge::Start(job, cpu) => {
                self.held[job] += 1;
                self.on[cpu].insert(keys[job]);
                self.place(keys[job]);
            }
            AffinityEdge::Stop(job, cpu) => {
                self.held[job] -= 1;
                self.on[cpu].remove(&keys[job]);
                self.place(keys[job]);
            }
            AffinityEdge::Online(cpu) => {
                self.online.insert(cpu);
            }
            AffinityEdge::Offline(cpu) => {
                self.online.remove(cpu);
            }
            AffinityEdge::Mask(task, mask) => {
                let old = std::mem::replace(&mut self.mask_of[task], mask);
                let moved: Vec<Key> =
                    self.waiting[old].iter().copied().filter(|key| key.task == task).collect();
                for key in moved {
                    self.waiting[old].remove(&key);
                    self.waiting[mask].insert(key);
                }
            }
        }
    }

    fn place(&mut self, key: Key) {
        let waiting = &mut self.waiting[self.mask_of[key.task]];
        if self.is_ready[key.job] && self.held[key.job] <= 0 {
            waiting.insert(key);
        } else {
            waiting.remove(&key);
        }
    }

    /// Returns the reason why the first job that waits for a mask should run: the CPUs from its own
    /// mask to one that is idle or runs a job that comes after it. With `in_any`, jobs with equal
    /// numbers come in any order.
    fn path(&self, first: Key, in_any: bool, masks: &[CpuSet], reach: Reach) -> Option<Vec<CpuId>> {
        let mut unseen = self.online.clone();
        let mut frontier: Vec<CpuId> = Vec::new();
        // For each CPU, the CPU whose job led the search to it. `None` for the CPUs of the waiting
        // job.
        let mut from: CpuMap<Option<CpuId>> = CpuMap::filled(None, self.on.len());
        let (mut opener, mut mask, mut next) = (None, self.mask_of[first.task], 0);
        let mut end: Option<(Option<Key>, CpuId)> = None;
        'search: loop {
            for cpu in masks[mask].intersection(&unseen).iter() {
                unseen.remove(cpu);
                from[cpu] = opener;
                frontier.push(cpu);
                match self.on[cpu].last() {
                    None => {
                        end = Some((None, cpu));
                        break 'search;
                    }
                    Some(&key) if key > first && !(in_any && key.first == first.first) => {
                        if end.is_none_or(|(last, _)| Some(key) > last) {
                            end = Some((Some(key), cpu));
                        }
                    }
                    Some(_) => {}
                }
            }
            let Some(&cpu) = frontier.get(next).filter(|_| reach == Reach::Strong) else { break };
            next += 1;
            opener = Some(cpu);
            mask = self.mask_of[self.on[cpu].last().expect("an idle CPU ends the search").task];
        }
        let mut path = vec![end?.1];
        while let Some(cpu) = from[path[path.len() - 1]] {
            path.push(cpu);
        }
        path.reverse();
        Some(path)
    }
}

impl Checker<'_> {
    /// Checks the weak or the strong rule.
    pub(super) fn check_affinities(&mut self, order: &JobOrder, reach: Reach) {
        let cpu_count = self.system.platform.cpu_count();
        let mut masks = Masks::default();
        let mut edges: Vec<(Time, AffinityEdge)> = Vec::new();
        let mask_of = self.masks_over_time(&mut masks, &mut edges);
        for (index, record) in self.trace.jobs.iter().enumerate() {
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            let (from, _) = self.ready[index];
            if record.job.id.task.index() < self.system.tasks.len() {
                for (from, to) in self.ready_within(index, from, end) {
                    edges.push((from, AffinityEdge::Ready(index)));
                    edges.push((to, AffinityEdge::Done(index)));
                }
            }
        }
        for segment in &self.sound {
            if self.trace.jobs[segment.job].job.id.task.index() < self.system.tasks.len() {
                edges.push((segment.start, AffinityEdge::Start(segment.job, segment.cpu)));
                edges.push((segment.end, AffinityEdge::Stop(segment.job, segment.cpu)));
            }
        }
        for (cpu, switches) in self.switches.iter() {
            edges.extend(switches.iter().enumerate().map(|(index, &at)| {
                (
                    at,
                    if index.is_multiple_of(2) {
                        AffinityEdge::Offline(cpu)
                    } else {
                        AffinityEdge::Online(cpu)
                    },
                )
            }));
        }
        // A stable sort. All edges of one instant are applied before the state is examined.
        edges.sort_by_key(|&(at, edge)| (at, !matches!(edge, AffinityEdge::Stop(..))));
        let is_known =
            matches!(order, JobOrder::Deadline | JobOrder::Fixed(_) | JobOrder::Levels { .. });
        let in_any = matches!(order, JobOrder::Levels { in_level: InLevel::Any, .. });
        assert!(is_known, "no rule with affinities counts laxity, or who runs");
        let keys = self.keys(order);
        let mut state = AffinityState {
            mask_of,
            is_ready: vec![false; self.trace.jobs.len()],
            held: vec![0; self.trace.jobs.len()],
            waiting: vec![BTreeSet::new(); masks.0.len()],
            on: CpuMap::filled(BTreeSet::new(), cpu_count),
            online: self.system.platform.all_cpus(),
        };
        let mut reported: Vec<Option<(usize, Vec<CpuId>)>> = vec![None; masks.0.len()];
        let mut edges = edges.into_iter().peekable();
        while let Some((now, edge)) = edges.next() {
            state.apply(edge, &keys);
            while let Some((_, edge)) = edges.next_if(|&(at, _)| at == now) {
                state.apply(edge, &keys);
            }
            if now >= self.trace.over {
                break;
            }
            for (mask, last) in reported.iter_mut().enumerate() {
                let first = state.waiting[mask].first().copied();
                let found = first.and_then(|first| {
                    Some((first.job, state.path(first, in_any, &masks.0, reach)?))
                });
                // Do not report a finding again for as long as it lasts.
                if let Some((waiting, path)) = &found
                    && *last != found
                {
                    let until = edges.peek().map_or(self.trace.over, |&(at, _)| at);
                    let violation = self.kept_waiting(&state, *waiting, path, (now, until));
                    self.report.blame(&violation);
                    self.violated(|_| violation);
                }
                *last = found;
            }
        }
    }

    fn kept_waiting(
        &self,
        state: &AffinityState,
        waiting: usize,
        path: &[CpuId],
        (at, until): (Time, Time),
    ) -> Violation {
        let job_on = |cpu: CpuId| state.on[cpu].last().map(|key| self.name_at(key.job));
        let (cpu, end) = (path[0], path[path.len() - 1]);
        if let ([_], None) = (path, job_on(end)) {
            return self.unused(waiting, cpu, (at, until));
        }
        let waiting = self.name_at(waiting);
        match (path, job_on(end)) {
            ([_], Some(running)) => Violation::Overtaken { waiting, running, cpu, at },
            (_, displaced) => {
                let moves = path.windows(2).filter_map(|pair| {
                    Some(Move { job: job_on(pair[0])?, from: pair[0], to: pair[1] })
                });
                Violation::NotShifted { waiting, cpu, at, moves: moves.collect(), displaced }
            }
        }
    }

    /// Returns the initial mask of each task, and adds an edge for each instant at which a mask
    /// changes.
    fn masks_over_time(
        &self,
        masks: &mut Masks,
        edges: &mut Vec<(Time, AffinityEdge)>,
    ) -> TaskMap<usize> {
        let system = self.system;
        let mut clusters = system.platform.clusters.clone();
        let mut own: TaskMap<(Option<CpuSet>, usize)> =
            system.tasks.values().map(|task| (task.affinity.clone(), task.cluster)).collect();
        let mask = |allowed: &(Option<CpuSet>, usize), clusters: &[CpuSet]| -> CpuSet {
            let cluster = clusters.get(allowed.1).cloned().unwrap_or_default();
            let common = allowed.0.as_ref().map(|own| own.intersection(&cluster));
            common.filter(|cpus| !cpus.is_empty()).unwrap_or(cluster)
        };
        let first: TaskMap<usize> =
            own.values().map(|allowed| masks.index(mask(allowed, &clusters))).collect();
        let mut current = first.clone();
        for request in &system.requests {
            let text = system.describe(&request.kind);
            let is_refused = self.trace.answers.iter().any(|answer| {
                answer.at == request.at && answer.refused.is_some() && answer.request == text
            });
            match &request.kind {
                _ if is_refused => continue,
                RequestKind::Reconfigure(task, Change::Affinity(cpus)) => {
                    own.get_mut(*task)
                        .into_iter()
                        .for_each(|allowed| allowed.0 = Some(cpus.clone()));
                }
                RequestKind::Reconfigure(task, Change::Cluster(cluster)) => {
                    own.get_mut(*task).into_iter().for_each(|allowed| *allowed = (None, *cluster));
                }
                RequestKind::SetClusterCpus { cluster, cpus } => {
                    clusters.get_mut(*cluster).into_iter().for_each(|of| *of = cpus.clone());
                }
                RequestKind::Reconfigure(_, Change::Parameters { .. })
                | RequestKind::Leave(_)
                | RequestKind::CpuOnline(_)
                | RequestKind::CpuOffline(_) => continue,
            }
            for (task, allowed) in own.iter() {
                let mask = masks.index(mask(allowed, &clusters));
                if std::mem::replace(&mut current[task], mask) != mask {
                    edges.push((request.at, AffinityEdge::Mask(task, mask)));
                }
            }
        }
        first
    }
}
