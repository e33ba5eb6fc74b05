//! Random sequences of requests for admission.

use super::guard::{Keeping, Manner};
use crate::registry;
use layland_gen::Random;
use layland_guarantee::Effort;
use layland_guarantee::admission::{Guarantee, Overruns};
use layland_model::{
    Algorithm, Behaviour, Change, CpuId, CpuSet, Duration, ExecutionModel, Form, Platform, Rate,
    Request, RequestKind, Separation, Service, System, Task, TaskId, Time,
};
use layland_policy::deadline::KernelOptions;

/// The parameters of one simulation.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// The policy.
    pub spec: String,
    /// The tasks, which request to enter when their first jobs arrive, and their later requests.
    pub system: System,
    /// The rules for the register.
    pub manner: Manner,
    /// Tasks that need more than they have reserved.
    pub strays: Vec<TaskId>,
    /// The end of the simulation.
    pub until: Time,
    /// The seed for the order of simultaneous events.
    pub explore: Option<u64>,
}

/// No task enters after this time. Periods and requests end by twice this time.
const ENTRY: i64 = 60;
const UNTIL: Time = Time::from_ms(150);
const PERIODS: [i64; 8] = [4, 5, 6, 8, 10, 12, 15, 20];

impl Sequence {
    /// Draws the sequence of a seed.
    pub fn draw(spec: &str, seed: u64, keeping: Keeping) -> Sequence {
        let (info, options) = registry().parse(spec).expect("it is a policy");
        let algorithm = info.algorithm(&options);
        // A stream of random numbers that no task uses.
        let random = Random::of_task(seed, u64::MAX - 3);
        let admits_whole =
            KernelOptions::of(algorithm, &options).is_ok_and(|options| options.limit.is_some());
        let overruns = Overruns::Possible;
        Draw { algorithm, random, admits_whole, overruns }.sequence(spec, seed, keeping)
    }
}

struct Draw {
    algorithm: Algorithm,
    random: Random,
    /// True if the policy accepts only threads that use whole clusters.
    admits_whole: bool,
    overruns: Overruns,
}

impl Draw {
    fn chance(&mut self, of_eight: u64) -> bool {
        self.random.below(8) < of_eight
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.random.below(list.len() as u64) as usize]
    }

    fn has_servers(&self) -> bool {
        self.algorithm.schedules_threads()
    }

    fn platform(&mut self) -> Platform {
        let cpus = self.of(&[1, 2, 2, 3, 4]);
        let mut platform = Platform::identical(cpus);
        let is_global = matches!(
            self.algorithm,
            Algorithm::Ordered(Form::Global, _) | Algorithm::Edzl | Algorithm::Efdf
        );
        if is_global || self.algorithm == Algorithm::Other || cpus == 1 {
            return platform;
        }
        let single = |cpu| CpuSet::single(CpuId(cpu));
        match self.random.below(4) {
            0 => platform.clusters = (0..cpus as u32).map(single).collect(),
            1 => {
                let first = 1 + self.random.below(cpus as u64 - 1) as usize;
                let cut = CpuSet::first(first);
                platform.clusters = vec![cut.clone(), platform.all_cpus().difference(&cut)];
            }
            _ => {}
        }
        platform
    }

    /// Draws runtime, period and deadline. Half of the runtimes are eighths of the period, so that
    /// sums are whole.
    fn parameters(&mut self) -> (Service, Duration, Duration) {
        let period = self.of(&PERIODS) * 1000;
        let most = self.of(&[2, 3, 5, 8]);
        let runtime = if self.chance(4) {
            period * self.random.between(1, most) / 8
        } else {
            self.random.between(1, period * most / 800) * 100
        };
        let runtime = runtime.clamp(100, period);
        let deadline = match self.random.below(8) {
            0..4 => period,
            4..7 => self.random.between(runtime, period),
            _ if self.has_servers() => period,
            _ => self.random.between(period, 2 * period),
        };
        (Service::from_us(runtime), Duration::from_us(period), Duration::from_us(deadline))
    }

    fn affinity(&mut self, platform: &Platform) -> Option<CpuSet> {
        let cluster = self.random.below(platform.clusters.len() as u64) as usize;
        let cluster = &platform.clusters[cluster];
        let some = |draw: &mut Draw| -> CpuSet {
            let cpus = cluster.iter().filter(|_| draw.random.below(2) == 0).collect::<Vec<_>>();
            let chosen: CpuSet = cpus.into_iter().collect();
            if chosen.is_empty() { cluster.clone() } else { chosen }
        };
        let single = |draw: &mut Draw| {
            let nth = draw.random.below(cluster.len() as u64) as usize;
            cluster.iter().nth(nth).map(CpuSet::single)
        };
        match self.algorithm {
            Algorithm::Ordered(Form::Global, _)
            | Algorithm::Edzl
            | Algorithm::Efdf
            | Algorithm::FairLateness
            | Algorithm::FastestFirst(_)
            | Algorithm::TopFirst(_)
            | Algorithm::Federated
            | Algorithm::Other => None,
            Algorithm::Ordered(Form::Clustered, _) | Algorithm::AdaptivePartitioning => {
                self.chance(4).then(|| cluster.clone())
            }
            Algorithm::SchedDeadline if self.admits_whole => {
                self.chance(4).then(|| cluster.clone())
            }
            Algorithm::Ordered(Form::Partitioned, _)
            | Algorithm::SchedDeadline
            | Algorithm::SemiPartitionedDeadline => match self.random.below(4) {
                0 => single(self),
                1 => Some(cluster.clone()),
                _ => None,
            },
            _ => match self.random.below(4) {
                0 => single(self),
                1 | 2 => Some(some(self)),
                _ => None,
            },
        }
    }

    fn task(&mut self, at: usize, entry: Time, platform: &Platform) -> (Task, bool) {
        let (runtime, period, deadline) = self.parameters();
        let mut task = Task::implicit(format!("t{at}"), runtime, period);
        task.deadline = deadline;
        task.offset = entry.since_start();
        task.priority = Some(self.random.between(1, 9));
        task.affinity = self.affinity(platform);
        if self.chance(4) {
            let max = Duration::from_us(self.random.between(1, period.ns() / 2000));
            task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
        }
        let strays = self.overruns == Overruns::Possible && self.has_servers() && self.chance(2);
        task.execution = match self.random.below(8) {
            _ if strays => ExecutionModel::Fraction(Rate::new(self.of(&[5, 6, 12]), 4)),
            0 => ExecutionModel::Fraction(Rate::new(1, 2)),
            1 => ExecutionModel::Fraction(Rate::new(self.random.between(1, 7), 8)),
            _ => ExecutionModel::Wcet,
        };
        (task, strays)
    }

    fn sequence(mut self, spec: &str, seed: u64, keeping: Keeping) -> Sequence {
        if self.chance(2) {
            self.overruns = Overruns::Excluded;
        }
        let platform = self.platform();
        let count = self.random.between(3, 12) as usize;
        let mut slots: Vec<i64> = (0..ENTRY).collect();
        self.random.shuffle(&mut slots);
        let mut entries: Vec<Time> = slots[..count].iter().map(|&ms| Time::from_ms(ms)).collect();
        entries[0] = Time::ZERO;
        entries.sort();
        entries.dedup();
        let mut tasks: Vec<Task> = Vec::new();
        let mut strays = Vec::new();
        let mut requests = Vec::new();
        let mut back: Option<(Time, Task, bool)> = None;
        let mut waiting = entries.into_iter().peekable();
        loop {
            // The next task is one that left and comes back at once, or the next new one.
            let comes_back =
                back.as_ref().is_some_and(|(at, ..)| waiting.peek().is_none_or(|next| at < next));
            let (entry, (mut task, stray)) = if comes_back {
                let (at, task, stray) = back.take().expect("it comes back");
                (at, (task, stray))
            } else if let Some(entry) = waiting.next() {
                (entry, self.task(tasks.len(), entry, &platform))
            } else {
                break;
            };
            let id = TaskId(tasks.len() as u32);
            task.name = format!("t{}", tasks.len()).into();
            task.offset = entry.since_start();
            if tasks.iter().any(|other| other.offset == task.offset) {
                task.offset += Duration::from_ns(1);
            }
            if stray {
                strays.push(id);
            }
            let last = self.changes(id, &task, &platform, &mut requests);
            if self.chance(5) {
                let at = last + self.stay(&task);
                requests.push(Request { at, kind: RequestKind::Leave(id) });
                if back.is_none() && self.chance(4) && tasks.len() < 14 {
                    let later = Duration::from_ns(self.of(&[0, 1, 1000]));
                    back = Some((at + later, task.clone(), stray));
                }
            }
            tasks.push(task);
        }
        self.losses(&platform, &mut requests);
        requests.sort_by_key(|request| request.at);
        // Ids are in the order in which the tasks enter.
        let is_sorted = tasks.is_sorted_by_key(|task| task.offset);
        let mut ranks: Vec<i64> = (0..tasks.len() as i64).collect();
        self.random.shuffle(&mut ranks);
        let mut system = System::new(platform.cpu_count(), tasks);
        system.tasks.values_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
        system.platform = platform;
        system.requests = requests;
        debug_assert!(is_sorted, "seed {seed}");
        let guarantee = match self.random.below(8) {
            0 => Guarantee::Tardiness(Duration::from_ms(self.of(&[5, 20, 60]))),
            _ => Guarantee::Deadlines,
        };
        let manner = Manner {
            keeping,
            tells_quiet: self.chance(5),
            tells_releases: self.chance(4) && strays.is_empty(),
            effort: if self.chance(1) { Effort::Tests } else { Effort::Quick },
            guarantee,
            overruns: self.overruns,
        };
        let explore = self.chance(2).then_some(seed);
        Sequence { spec: spec.to_owned(), system, manner, strays, until: UNTIL, explore }
    }

    /// Draws how long a task stays: half of the tasks leave at the end of a period, or a nanosecond
    /// before or after it.
    fn stay(&mut self, task: &Task) -> Duration {
        match self.random.below(4) {
            0 => task.period * self.random.between(1, 4),
            1 => task.period * self.random.between(1, 3) + Duration::from_ns(self.of(&[-1, 1])),
            _ => Duration::from_us(self.random.between(1, 40_000)),
        }
    }

    /// Draws the requests of a task while it is present, and returns the time of the last one.
    fn changes(
        &mut self,
        id: TaskId,
        task: &Task,
        platform: &Platform,
        requests: &mut Vec<Request>,
    ) -> Time {
        let mut at = Time::ZERO + task.offset;
        let mut ask = |at: Time, change: Change| {
            requests.push(Request { at, kind: RequestKind::Reconfigure(id, change) });
        };
        if !self.chance(3) {
            return at;
        }
        for _ in 0..self.random.between(1, 4) {
            at += self.stay(task).min(Duration::from_ms(15));
            let change = match self.random.below(4) {
                0 => match self.affinity(platform) {
                    Some(cpus) => Change::Affinity(cpus),
                    None => continue,
                },
                1 => {
                    let (period, deadline) = (task.period, task.deadline);
                    Change::Parameters { wcet: task.own_wcet(), period, deadline }
                }
                2 => {
                    let wcet = Service::from_ns((task.own_wcet().ns() / 8).max(1000));
                    Change::Parameters { wcet, period: task.period, deadline: task.deadline }
                }
                _ => {
                    let (wcet, period, deadline) = self.parameters();
                    Change::Parameters { wcet, period, deadline }
                }
            };
            ask(at, change);
        }
        at
    }

    fn losses(&mut self, platform: &Platform, requests: &mut Vec<Request>) {
        if !self.chance(2) {
            return;
        }
        let cluster = self.random.below(platform.clusters.len() as u64) as usize;
        let cpus = &platform.clusters[cluster];
        if cpus.len() < 2 {
            return;
        }
        let at = Time::from_us(self.random.between(1, 100_000));
        let last = cpus.highest().expect("a cluster has CPUs");
        let cpus = cpus.difference(&CpuSet::single(last));
        requests.push(Request { at, kind: RequestKind::SetClusterCpus { cluster, cpus } });
    }
}
