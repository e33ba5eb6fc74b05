//! The policies that schedule threads by servers in per-CPU run queues, on random systems: compared
//! with the independent checker, with copies of themselves, and with the promises of their papers.
//! The invariants of the run queues are assertions inside the policies, which stay enabled in these
//! runs.
//!
//! Long because all promises of these policies are about the same systems.

use layland_checker::check;
use layland_model::{
    Behaviour, Change, CpuId, CpuSet, Duration, Index, JobId, Rate, Request, RequestKind, Service,
    System, Task, TaskId, Time,
};
use layland_policy::{Action, AfterJob, Event, Note, RequestId, TimerId};
use layland_sim::{SimOptions, simulate, with_random_ranks};
use layland_testkit::logged::{Logged, Step, first_divergence};
use layland_testkit::registry;
use layland_testkit::strategies::{clustered, threads};
use layland_trace::{MarkKind, Segment, Trace};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const SPECS: &[&str] = &[
    "dl",
    "dl:tie=rank",
    "dl:tie=fifo:lag_reset=on",
    "dl:ac=on",
    "dl:kernel=6.12",
    "dl:grub_pa=on",
    "dl:grub=on",
    "dl:grub=on:arith=kernel:umax=19/20",
    "dl:grub=on:grub_pa=on:exhaust=postpone",
    "dl:grub_pa=on:arith=kernel",
    "dl-sp",
    "dl-sp:ac=off:grub_pa=on",
    "dl-sp:ac=off",
    "dl-sp:ac=off:grub=on:umax=3/4",
    "dl-sp:ac=off:grub=on:lend=cpu",
    "dl-sp:ac=off:tie=fifo",
    "dl-sp:ac=off:throttle=waiting",
    "dl-sp:ac=off:throttle=waiting:throttle_cost=2ns:lag_reset=on",
    "dl-sp:throttle_cost=1ns:fair=1/20:slack=on",
    "apedf",
    "apedf:fallback=off",
    "a2pedf",
    "a2pedf:fallback=off:tie=fifo",
    "apedf:limit=19/20:place=waiting",
    "apedf:place=kernel:fit=worst",
    "a2pedf:limit=19/20:place=kernel",
    "a2pedf:limit=19/20:place=pulling",
    // Its pulls take threads of CPUs that are not overloaded, so that it never rests.
    "a2pedf:limit=19/20:place=kernel:fit=worst",
];

const HORIZON: Time = Time::from_ns(150);

/// Draws a semi-partitioned system of implicit threads that admission control admits as a whole.
fn semi_partitioned() -> impl Strategy<Value = System> {
    let task = (2i64..14, 1i64..9, 0i64..12, any::<bool>(), 0u32..8);
    (1usize..5, prop::collection::vec(task, 1..12), any::<u64>()).prop_map(|(cpus, tasks, seed)| {
        let mut per_cpu = vec![Rate::ZERO; cpus];
        let mut total = Rate::ZERO;
        let mut kept = Vec::new();
        for (at, (period, budget, offset, migrates, cpu)) in tasks.into_iter().enumerate() {
            let mut task = Task::implicit(
                format!("t{at}"),
                Service::from_ns(budget.min(period)),
                Duration::from_ns(period),
            );
            task.offset = Duration::from_ns(offset);
            task.behaviour = Behaviour::Hog;
            let cpu = cpu as usize % cpus;
            let u = task.utilization();
            let own = &per_cpu[cpu] + &u;
            let all = &total + &u;
            if all > Rate::whole(cpus as i64) || (!migrates && own > Rate::ONE) {
                continue;
            }
            if !migrates {
                task.affinity = Some(CpuSet::single(CpuId(cpu as u32)));
                per_cpu[cpu] = own;
            }
            total = all;
            kept.push(task);
        }
        if kept.is_empty() {
            kept.push(Task::implicit("t", Service::from_ns(1), Duration::from_ns(2)));
        }
        with_random_ranks(&System::new(cpus, kept), seed)
    })
}

fn run(system: &System, spec: &str, options: &SimOptions<'_>) -> Trace {
    let policy = registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, options).expect("the horizon is in range");
    trace
}

fn assert_clean(trace: &Trace, system: &System, what: &str) {
    let report = check(trace, system, &layland_model::ScheduleRule::None, 5);
    assert!(report.is_clean(), "{what}: {report}\n{system:#?}");
}

/// Draws requests at random times for random tasks.
fn requests(system: &System, drawn: &[(i64, usize, u32, i64)]) -> Vec<Request> {
    let cpus = system.platform.cpu_count() as u32;
    let mut requests: Vec<Request> = drawn
        .iter()
        .map(|&(at, what, which, number)| {
            let task = TaskId(which % system.tasks.len() as u32);
            let cpu = CpuId(number as u32 % cpus);
            let some: CpuSet = (0..=cpu.0).map(CpuId).collect();
            let kind = match what {
                0 => RequestKind::Leave(task),
                1 => RequestKind::Reconfigure(task, Change::Affinity(CpuSet::single(cpu))),
                2 => RequestKind::Reconfigure(task, Change::Affinity(some)),
                3 | 4 => {
                    let [wcet, period, deadline] = [number, number + 4, number + 2];
                    RequestKind::Reconfigure(
                        task,
                        Change::Parameters {
                            wcet: Service::from_ns(wcet),
                            period: Duration::from_ns(period),
                            deadline: Duration::from_ns(deadline),
                        },
                    )
                }
                5 => RequestKind::CpuOffline(cpu),
                6 => RequestKind::CpuOnline(cpu),
                7 => RequestKind::SetClusterCpus { cluster: 0, cpus: some },
                _ => {
                    let clusters = system.platform.clusters.len();
                    RequestKind::Reconfigure(task, Change::Cluster(number as usize % clusters))
                }
            };
            Request { at: Time::from_ns(at), kind }
        })
        .collect();
    requests.sort_by_key(|request| request.at);
    requests
}

/// Returns a log in which the policy also receives the measured execution of jobs, computed from
/// the log alone: just before they end or use up their budgets, and before the next decision after
/// they lost their CPUs.
fn with_measured(log: &[Step]) -> Vec<Step> {
    /// The running job of each CPU since a time, and the execution of each job, or of each hog
    /// since it entered.
    #[derive(Default)]
    struct Got {
        running: BTreeMap<CpuId, (JobId, Time)>,
        got: BTreeMap<TaskId, Duration>,
    }
    impl Got {
        fn until(&mut self, now: Time) {
            for (job, since) in self.running.values_mut() {
                *self.got.entry(job.task).or_insert(Duration::ZERO) += now - *since;
                *since = now;
            }
        }
        fn of(&self, job: JobId) -> Event {
            let got = self.got.get(&job.task).map_or(0, |got| got.ns());
            Event::Measured { job, executed: Service::from_ns(got) }
        }
    }
    let mut all = Got::default();
    let mut lost: Vec<JobId> = Vec::new();
    let step = |step: &Step| {
        let Step { now, events, actions } = step;
        all.until(*now);
        let mut told = Vec::new();
        for event in events {
            match *event {
                Event::Completion { job, cpu, .. } => {
                    told.push(all.of(job));
                    all.running.remove(&cpu);
                    lost.retain(|&other| other != job);
                }
                Event::BudgetExhausted { job, .. } => told.push(all.of(job)),
                // A hog is released only once.
                Event::Release { job, .. } => {
                    all.got.insert(job.task, Duration::ZERO);
                }
                _ => {}
            }
            told.push(event.clone());
        }
        told.extend(lost.drain(..).map(|job| all.of(job)));
        for action in actions {
            match *action {
                Action::Run { cpu, job, .. } => {
                    let from: Vec<CpuId> = (all.running.iter())
                        .filter(|&(_, (other, _))| other.task == job.task)
                        .map(|(&cpu, _)| cpu)
                        .collect();
                    for cpu in &from {
                        all.running.remove(cpu);
                    }
                    lost.extend(all.running.insert(cpu, (job, *now)).map(|(other, _)| other));
                    if !from.is_empty() && !from.contains(&cpu) {
                        lost.push(job);
                    }
                }
                Action::Idle { cpu } => lost.extend(all.running.remove(&cpu).map(|(job, _)| job)),
                Action::EndJob { job, .. } => {
                    for (other, _) in all.running.values_mut().filter(|(other, _)| *other == job) {
                        other.seq += 1;
                    }
                }
                _ => {}
            }
        }
        Step { now: *now, events: told, actions: actions.clone() }
    };
    log.iter().map(step).collect()
}

/// A thread on a real machine that does not get all of the time in which it holds its CPU.
#[test]
fn a_pause_of_the_machine_throttles_nobody() {
    let ms = Time::from_ms;
    let tasks = [("a", 5, 50), ("b", 2, 10)].map(|(name, wcet, period)| {
        Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
    });
    let system = System::new(1, tasks.to_vec());
    for spec in ["dl", "dl-sp", "apedf", "a2pedf"] {
        let mut policy = registry().build(spec, &system).unwrap();
        let (cpu, [a, b]) = (CpuId(0), [0, 1].map(|task| JobId { task: TaskId(task), seq: 0 }));
        let mut tell = |now: Time, events: Vec<Event>| {
            events.into_iter().for_each(|event| policy.on_event(now, event));
            let mut actions = Vec::new();
            policy.decide(now, &mut actions);
            actions
        };
        let run = |job, budget_us| {
            let budget = Some(Duration::from_us(budget_us));
            Action::Run { cpu, job, budget }
        };
        let measured = |job, us| Event::Measured { job, executed: Service::from_us(us) };
        let join = |job: JobId| Event::Join {
            task: job.task,
            parameters: Arc::new(system.tasks[job.task].clone()),
            request: RequestId(job.task.0),
        };
        let release =
            |job, now: Time, period| Event::Release { job, release: now, deadline: now + period };
        let (long, short) = (Duration::from_ms(50), Duration::from_ms(10));
        let began = tell(
            Time::ZERO,
            vec![Event::CpuOnline { cpu }, join(a), join(b), release(a, Time::ZERO, long)],
        );
        assert!(began.contains(&run(a, 5_000)), "{spec}: {began:?}");
        // `a` got 1 ms of the first four, is preempted, and has 4 ms left.
        let preempted = tell(ms(4), vec![release(b, ms(4), short)]);
        assert!(preempted.contains(&run(b, 2_000)), "{spec}: {preempted:?}");
        let ended = Event::Completion { job: b, cpu, then: AfterJob::Blocks };
        let resumed = tell(ms(6), vec![measured(b, 1_900), ended, measured(a, 1_000)]);
        assert!(resumed.contains(&run(a, 4_000)), "{spec}: {resumed:?}");
        // The machine stalls until long after the budget of `a`, which has 1 ms left, and keeps the CPU.
        assert_eq!(tell(ms(30), vec![measured(a, 4_000)]), [], "{spec}");
        let exhausted = vec![measured(a, 5_000), Event::BudgetExhausted { job: a, cpu }];
        let throttled = tell(ms(31), exhausted);
        let note = Action::Note { note: Note::Throttled { task: a.task } };
        assert!(throttled.contains(&note), "{spec}: {throttled:?}");
        let timer = Action::SetTimer { id: TimerId(0), at: ms(50) };
        assert!(throttled.contains(&timer), "{spec}: {throttled:?}");
    }
}

/// A thread may use CPUs 0 and 1 of three, is given this affinity again, and then gets all three.
/// It has only one entry in its queue, whatever other threads come and go. A second entry would be
/// found long after the thread had moved, and be pushed for ever.
#[test]
fn a_queued_thread_may_be_given_its_affinity_again() {
    let [few, all] = [2, 3].map(CpuSet::first);
    let tasks = [(4, 10), (3, 12), (5, 15), (6, 14), (2, 8), (7, 20)];
    let tasks = tasks.into_iter().enumerate().map(|(at, (wcet, period))| {
        let (wcet, period) = (Service::from_ns(wcet), Duration::from_ns(period));
        let mut task = Task::implicit(format!("t{at}"), wcet, period);
        task.affinity = Some(few.clone());
        task
    });
    let mut system = System::new(3, tasks.collect());
    let masks = [&few, &few, &all, &all, &few];
    system.requests = (0..20)
        .flat_map(|at| system.tasks.ids().map(move |task| (at, task)))
        .map(|(at, task)| Request {
            at: Time::from_ns(1 + 3 * at),
            kind: RequestKind::Reconfigure(
                task,
                Change::Affinity(masks[(at as usize + task.index()) % masks.len()].clone()),
            ),
        })
        .collect();
    for spec in SPECS {
        assert_clean(&run(&system, spec, &SimOptions::until(HORIZON)), &system, spec);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn schedules_are_clean_and_repeat(system in threads(), seed in any::<u64>()) {
        for spec in SPECS {
            let policy = registry().build(spec, &system).unwrap();
            let logged = Logged::new(policy.clone());
            let log = logged.log();
            let mut trace = Trace::default();
            simulate(&system, logged, &mut trace, &SimOptions::until(HORIZON)).unwrap();
            assert_clean(&trace, &system, spec);
            let log = log.lock().unwrap();
            let mut copy = policy.clone();
            let (first, rest) = log.split_at(log.len() / 2);
            prop_assert_eq!(first_divergence(&mut copy, first), None);
            let mut other = copy.clone();
            prop_assert_eq!(first_divergence(&mut copy, rest), None);
            prop_assert_eq!(first_divergence(&mut other, rest), None);
            // The charged execution equals the actual execution of the threads.
            prop_assert_eq!(first_divergence(&mut policy.clone(), &with_measured(&log)), None);
            // Other orders of simultaneous events.
            let explored = SimOptions { explore: Some(seed), ..SimOptions::until(HORIZON) };
            assert_clean(&run(&system, spec, &explored), &system, spec);
        }
    }

    #[test]
    fn schedules_are_clean_while_everything_changes(
        system in threads(),
        split in any::<bool>(),
        drawn in prop::collection::vec((0i64..120, 0usize..9, 0u32..8, 1i64..9), 1..12),
    ) {
        let mut system = system;
        if split {
            system.tasks.values_mut().for_each(|task| task.affinity = None);
            system = clustered(system, 2);
        }
        system.requests = requests(&system, &drawn);
        for spec in SPECS.iter().chain(&["dl:kernel=6.12", "dl:kernel=6.18", "dl:kernel=7.2"]) {
            assert_clean(&run(&system, spec, &SimOptions::until(HORIZON)), &system, spec);
        }
    }

    #[test]
    fn overheads_never_break_a_rule(system in threads(), costs in prop::array::uniform5(0i64..3)) {
        let mut system = system;
        let [release, scheduling, context_switch, migration, interrupt] = costs.map(Duration::from_ns);
        system.platform.overheads = layland_model::Overheads {
            release, scheduling, context_switch, migration, interrupt,
            ..layland_model::Overheads::default()
        };
        for spec in SPECS {
            assert_clean(&run(&system, spec, &SimOptions::until(HORIZON)), &system, spec);
        }
    }

    /// A ready thread that is tied to a CPU may wait while that CPU runs a migrating thread, and
    /// another CPU is free or runs a later deadline, but never longer than the longest job.
    #[test]
    fn inversions_under_dl_sp_last_one_job(system in semi_partitioned()) {
        for spec in ["dl-sp:limit=1", "dl-sp:limit=1:throttle=waiting"] {
            let trace = run(&system, spec, &SimOptions::until(Time::from_ns(400)));
            assert_clean(&trace, &system, spec);
            prop_assert!(trace.answers.is_empty());
            let longest = system.tasks.values().map(|task| task.own_wcet().ns()).max().unwrap();
            let inverted = inversions(&system, &trace);
            prop_assert!(inverted <= longest, "{spec}: {} > {}\n{:?}", inverted, longest, system);
            let found = layland_testkit::inversions::longest(&system, &trace);
            prop_assert_eq!(found.map_or(0, |found| found.length.ns()), inverted);
        }
    }

    /// A ready migrating thread waits only while every CPU runs a thread that is due as early: the
    /// second promise of `docs/analyses/lag.md`. With `throttle=waiting` fewer servers are throttled.
    #[test]
    fn migrating_threads_wait_for_earlier_ones_alone(system in semi_partitioned()) {
        let mut throttled = Vec::new();
        for spec in ["dl-sp:limit=1", "dl-sp:limit=1:throttle=waiting"] {
            let trace = run(&system, spec, &SimOptions::until(Time::from_ns(400)));
            let wrong = waits_in_vain(&system, &trace);
            prop_assert!(wrong.is_none(), "{spec}: {:?}\n{:?}", wrong, system);
            throttled.push(throttles(&trace));
        }
        prop_assert!(throttled[1] <= throttled[0], "{:?}\n{:?}", throttled, system);
    }

    /// The theorem of Section 9.4, for all variants: no deadline is missed if U <= (M + 1) / 2.
    #[test]
    fn adaptive_partitioning_meets_its_bound(system in semi_partitioned(), periodic in any::<bool>()) {
        let mut system = system;
        for task in system.tasks.values_mut() {
            task.affinity = None;
            if periodic {
                task.behaviour = Behaviour::Periodic;
            }
        }
        let bound = Rate::new(system.platform.cpu_count() as i64 + 1, 2);
        let mut total = Rate::ZERO;
        let mut kept = system.tasks.values().cloned().collect::<Vec<Task>>();
        kept.retain(|task| {
            let with = &total + &task.utilization();
            let fits = with <= bound;
            if fits {
                total = with;
            }
            fits
        });
        system.tasks = kept.into();
        let bounded = |spec: &&&str| spec.starts_with('a') && !spec.contains("limit");
        for spec in SPECS.iter().filter(bounded) {
            let trace = run(&system, spec, &SimOptions::until(Time::from_ns(400)));
            prop_assert!(trace.jobs.iter().all(|record| !record.missed(trace.over)), "{}", spec);
        }
    }

    /// Without fall-back, no task ever leaves a CPU from 1 on that is not overloaded. The placement
    /// ends like first fit over those CPUs in the order of first arrivals, with CPU 0 as the last
    /// bin.
    #[test]
    fn apedf_without_fallback_is_first_fit(system in semi_partitioned()) {
        let mut system = system;
        system.tasks.values_mut().for_each(|task| task.affinity = None);
        let trace = run(&system, "apedf:fallback=off", &SimOptions::until(Time::from_ns(400)));
        let mut at = vec![CpuId(0); system.tasks.len()];
        for mark in &trace.marks {
            if let MarkKind::Note(Note::Moved { task, to, .. }) = mark.kind {
                at[task.0 as usize] = to;
            }
        }
        let cpus = system.platform.cpu_count();
        let load = |at: &[CpuId], cpu: CpuId| -> Rate {
            let here = system.tasks.iter().filter(|(id, _)| at[id.0 as usize] == cpu);
            here.map(|(_, task)| task.utilization()).sum()
        };
        let converged = (0..cpus as u32).all(|cpu| load(&at, CpuId(cpu)) <= Rate::ONE);
        let mut order: Vec<TaskId> = system.tasks.ids().collect();
        order.sort_by_key(|&id| (system.tasks[id].offset, system.tasks[id].rank));
        let mut bins = vec![Rate::ZERO; cpus];
        let mut last = Rate::ZERO;
        for id in order {
            let u = system.tasks[id].utilization();
            match (1..cpus).find(|&bin| &bins[bin] + &u <= Rate::ONE) {
                Some(bin) => bins[bin] = &bins[bin] + &u,
                None => last = &last + &u,
            }
        }
        // CPU 0 keeps every task that fits, so it may hold more than the remainder of first fit.
        prop_assert_eq!(converged, last <= Rate::ONE);
    }

    /// Once no CPU is overloaded, no task moves any more.
    #[test]
    fn adaptive_partitioning_rests_once_it_fits(system in semi_partitioned()) {
        let mut system = system;
        system.tasks.values_mut().for_each(|task| task.affinity = None);
        let bounded = |spec: &&&str| spec.starts_with('a') && !spec.contains("limit");
        for spec in SPECS.iter().filter(bounded) {
            let trace = run(&system, spec, &SimOptions::until(HORIZON));
            let mut at = vec![CpuId(0); system.tasks.len()];
            for mark in &trace.marks {
                let MarkKind::Note(Note::Moved { task, to, .. }) = mark.kind else { continue };
                // First arrivals are placed even if no CPU is overloaded.
                let everybody_is_in = mark.at > Time::from_ns(12);
                let loads = (0..system.platform.cpu_count() as u32).map(|cpu| {
                    let here = system.tasks.iter().filter(|(id, _)| at[id.0 as usize] == CpuId(cpu));
                    here.map(|(_, task)| task.utilization()).sum::<Rate>()
                });
                let overloaded = loads.into_iter().any(|load| load > Rate::ONE);
                prop_assert!(overloaded || !everybody_is_in, "{}: {:?}", spec, mark);
                at[task.0 as usize] = to;
            }
        }
    }
}

/// Returns the number of times that a server was throttled.
fn throttles(trace: &Trace) -> usize {
    let is_throttled = |kind: &MarkKind| matches!(kind, MarkKind::Note(Note::Throttled { .. }));
    trace.marks.iter().filter(|mark| is_throttled(&mark.kind)).count()
}

/// Returns a ready job of a migrating thread, and a time at which it waits while a CPU runs nothing or
/// a later deadline. It checks one unit of time after the other.
fn waits_in_vain(system: &System, trace: &Trace) -> Option<(JobId, Time)> {
    let deadlines: BTreeMap<JobId, Time> =
        trace.jobs.iter().map(|record| (record.job.id, record.job.deadline)).collect();
    (0..trace.over.ns()).map(Time::from_ns).find_map(|at| {
        let now = |segment: &&Segment| segment.start <= at && at < segment.end;
        let runs: BTreeMap<CpuId, JobId> =
            trace.segments.iter().filter(now).map(|segment| (segment.cpu, segment.job)).collect();
        trace.jobs.iter().find_map(|record| {
            let (id, deadline) = (record.job.id, record.job.deadline);
            let migrates = system.tasks[id.task].affinity.is_none();
            let ready = record.job.release <= at && record.end.is_none_or(|(end, _)| at < end);
            if !migrates || !ready || runs.values().any(|other| other.task == id.task) {
                return None;
            }
            let is_later = |cpu: CpuId| runs.get(&cpu).is_none_or(|job| deadline < deadlines[job]);
            system.platform.cpus().any(is_later).then_some((id, at))
        })
    })
}

/// Returns the longest time for which some thread that is tied to a CPU waits for one job of a
/// migrating thread while another CPU is free or runs a later deadline. It checks one unit of time
/// after the other.
fn inversions(system: &System, trace: &Trace) -> i64 {
    let mut longest = 0;
    let mut since: Vec<Option<(JobId, i64)>> = vec![None; system.tasks.len()];
    for now in 0..trace.over.ns() {
        let at = Time::from_ns(now);
        let runs: Vec<Option<(JobId, Time)>> = system
            .platform
            .cpus()
            .map(|cpu| {
                let here = trace.segments.iter().find(|segment| {
                    segment.cpu == cpu && segment.start <= at && at < segment.end
                })?;
                let job = trace.jobs.iter().find(|record| record.job.id == here.job)?;
                Some((here.job, job.job.deadline))
            })
            .collect();
        for (id, task) in system.tasks.iter() {
            let only = task.affinity.as_ref().and_then(CpuSet::lowest);
            let ready = trace.jobs.iter().any(|record| {
                record.job.id.task == id
                    && record.job.release <= at
                    && record.end.is_none_or(|(end, _)| at < end)
            });
            let running = runs.iter().flatten().any(|&(other, _)| other.task == id);
            let inverted_by = only.filter(|_| ready && !running).and_then(|cpu| {
                let (job, d) = runs[cpu.0 as usize]?;
                let elsewhere = runs
                    .iter()
                    .enumerate()
                    .any(|(c, run)| c != cpu.0 as usize && run.is_none_or(|(_, key)| d < key));
                (system.tasks[job.task].affinity.is_none() && elsewhere).then_some(job)
            });
            let since = &mut since[id.0 as usize];
            *since = inverted_by.map(|job| match *since {
                Some((before, length)) if before == job => (job, length + 1),
                Some(_) | None => (job, 1),
            });
            longest = longest.max(since.map_or(0, |(_, length)| length));
        }
    }
    longest
}
