//! Reclaiming (GRUB): the bundled example of its defect with several CPUs in a domain, its
//! guarantees on CPUs that lend their own bandwidth, and on CPUs that lend in parallel (M-GRUB).
//!
//! Long because it has a separate twin, a simulator of servers that moves a unit of time at a time.

use layland_analysis::Verdict;
use layland_checker::check;
use layland_config::{Format, Host, demo, read};
use layland_guarantee::{AssessOptions, assess};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Rate, ScheduleRule, Service, System, Task,
    TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{MarkKind, Trace};
use proptest::prelude::*;

fn reclaim_defect() -> System {
    let demo = demo("reclaim-defect").expect("a bundled task set");
    let loaded = read("reclaim-defect", demo.text.as_bytes(), Format::Toml, &Host::default());
    loaded.unwrap_or_else(|report| panic!("{}", report.plain())).system
}

fn run(system: &System, spec: &str, until: Time) -> Trace {
    let policy = registry().build(spec, system).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(until)).unwrap();
    let report = check(&trace, system, &ScheduleRule::None, 5);
    assert!(report.is_clean(), "{spec}: {report}");
    trace
}

fn verdict(spec: &str, system: &System) -> (Verdict, String) {
    let found = assess(registry(), spec, system, &AssessOptions::by_tests()).unwrap();
    (found.verdict, found.reasons.join("\n"))
}

/// Returns the tardiness of the first job of a task.
fn first_tardiness(trace: &Trace, task: u32) -> i64 {
    let first = trace.jobs.iter().find(|record| record.job.id.task == TaskId(task));
    let record = first.expect("it is released");
    record.job.tardiness(record.completion().expect("it ends")).ns()
}

#[test]
fn an_admitted_thread_is_late_where_cpus_lend_what_is_not_theirs() {
    let system = reclaim_defect();
    let until = Time::from_ms(40);
    let plain = run(&system, "dl-sp", until);
    assert!(plain.answers.is_empty(), "all are admitted");
    assert!(plain.jobs.iter().all(|record| !record.missed(plain.over)));
    // Price (0.95 - 0.3) / 0.95: the 4 ms of `tau1` last for 76/13 ms, and `tau2` needs 5 more.
    let exact = run(&system, "dl-sp:grub=on", until);
    assert!(exact.answers.is_empty());
    assert_eq!(first_tardiness(&exact, 1), 846_154);
    // In units of 2^-20: Umax 996147, 1/Umax 269/256, extra 996147 - 209715 - 262144 - 209715 = 314573, price
    // (996147 - 314573) * 269 / 256 = 716185.
    let kernel = run(&system, "dl-sp:grub=on:arith=kernel", until);
    // There is one charge until `tau3` ends, at 4 ms, and the rest is the next one; both are rounded down.
    let rest = 4_000_000_u64 - ((4_000_000 * 716_185) >> 20);
    let lasts = 4_000_000 + (rest << 20).div_ceil(716_185) as i64;
    assert_eq!(first_tardiness(&kernel, 1), lasts + 5_000_000 - 10_000_000);
    // The two tasks need more than the CPU has, for ever.
    let latest = |until: Time| {
        let trace = run(&system, "dl-sp:grub=on", until);
        let late = trace
            .jobs
            .iter()
            .filter_map(|record| record.completion().map(|end| record.job.tardiness(end).ns()));
        late.max().expect("jobs end")
    };
    assert!(latest(Time::from_ms(10_000)) > 8 * latest(Time::from_ms(1000)));
    // Linux rejects nothing if admission control is off.
    assert_eq!(first_tardiness(&run(&system, "dl:grub=on", until), 1), 1_153_847);
    for spec in ["dl:grub=on", "dl-sp:grub=on", "dl-sp:grub=on:arith=kernel"] {
        let (verdict, reasons) = verdict(spec, &system);
        assert_eq!(verdict, Verdict::Unknown, "{spec}");
        assert!(reasons.contains("reclaim"), "{spec}: {reasons}");
    }
}

#[test]
fn each_cpu_keeps_deadlines_if_it_lends_its_own() {
    let system = reclaim_defect();
    let mut alone = system.clone();
    alone.platform.clusters = [0, 1].map(|cpu| CpuSet::single(CpuId(cpu))).to_vec();
    alone.tasks[TaskId(2)].cluster = 1;
    for (spec, system) in [("dl-sp:grub=on:lend=cpu", &system), ("dl-sp:grub=on", &alone)] {
        let (verdict, reasons) = verdict(spec, system);
        assert_eq!(verdict, Verdict::Yes, "{spec}: {reasons}");
        let trace = run(system, spec, Time::from_ms(1000));
        assert!(trace.jobs.iter().all(|record| !record.missed(trace.over)), "{spec}");
        // `tau1` gets more than it reserved: the part of 0.95 that `tau2` leaves.
        let got: i64 = trace
            .jobs
            .iter()
            .filter(|record| record.job.id.task == TaskId(0))
            .map(|record| record.executed.ns())
            .sum();
        assert!(got > 400_000_000, "{got}");
    }
    // Without a nanosecond of slack nothing is promised, nor with the kernel's roundings.
    for spec in ["dl:grub=on", "dl-sp:grub=on:umax=1", "dl-sp:grub=on:arith=kernel"] {
        let (verdict, reasons) = verdict(spec, &alone);
        assert_eq!(verdict, Verdict::Unknown, "{spec}: {reasons}");
    }
    // No task reclaims, so the theory without reclaiming holds.
    let mut nobody = system;
    nobody.tasks.values_mut().for_each(|task| task.reclaim = false);
    assert_eq!(verdict("dl:grub=on", &nobody).0, Verdict::Yes);
}

#[test]
fn a_soft_reservation_and_theorems_about_hard_ones() {
    let system =
        System::new(1, vec![Task::implicit("a", Service::from_ms(1), Duration::from_ms(5))]);
    assert_eq!(verdict("dl", &system).0, Verdict::Yes);
    let (verdict, reasons) = verdict("dl:exhaust=postpone", &system);
    assert_eq!(verdict, Verdict::Unknown);
    assert!(reasons.contains("beyond their budgets"), "{reasons}");
    let bounds = |spec: &str, system: &System| {
        let found = assess(registry(), spec, system, &AssessOptions::by_tests()).unwrap();
        found.bounds.values().filter(|bound| **bound != layland_guarantee::Bound::Unknown).count()
    };
    // The tardiness bound of Tang et al. 2021 assumes budgets at unit price and CPUs at full speed.
    let mut tied = reclaim_defect();
    tied.tasks[TaskId(2)].affinity = None;
    assert_eq!(bounds("dl-sp", &tied), 3);
    for spec in ["dl-sp:grub=on", "dl-sp:grub_pa=on", "dl-sp:exhaust=postpone"] {
        assert_eq!(bounds(spec, &tied), 0, "{spec}");
    }
}

/// Draws tasks on one CPU with a total bandwidth of at most `umax`.
fn on_one_cpu(umax: Rate) -> impl Strategy<Value = System> {
    on_cpus(1, umax)
}

/// Draws tasks on `m` CPUs with a total bandwidth of at most `m umax`, less `m - 1` times the largest.
fn on_cpus(m: usize, umax: Rate) -> impl Strategy<Value = System> {
    let task = (2i64..14, 1i64..9, 0i64..12, any::<bool>(), any::<bool>(), 1i64..101);
    prop::collection::vec(task, 1..4 + 2 * m).prop_map(move |tasks| {
        let (mut total, mut widest, mut kept) = (Rate::ZERO, Rate::ZERO, Vec::new());
        let (all, others) = (&Rate::whole(m as i64) * &umax, Rate::whole(m as i64 - 1));
        for (at, (period, budget, offset, is_hog, reclaims, percent)) in
            tasks.into_iter().enumerate()
        {
            let (period, budget) = (period * 1000, budget.min(period) * 1000);
            let mut task = Task::implicit(
                format!("t{at}"),
                Service::from_ns(budget),
                Duration::from_ns(period),
            );
            task.offset = Duration::from_ns(offset * 700);
            (task.reclaim, task.rank) = (reclaims, at as i64);
            if is_hog {
                task.behaviour = Behaviour::Hog;
            } else {
                let least = Service::from_ns((budget * percent / 100).max(1));
                task.execution = ExecutionModel::Uniform { min: least, max: task.own_wcet() };
            }
            let more = &total + &task.utilization();
            let wider = widest.clone().max(task.utilization());
            if &more + &(&others * &wider) <= all {
                (total, widest) = (more, wider);
                kept.push(task);
            }
        }
        if kept.is_empty() {
            kept.push(Task::implicit("t", Service::from_ns(1000), Duration::from_ns(2000)));
        }
        System::new(m, kept)
    })
}

/// Draws hogs and jobs that end early on two to four CPUs, which reclaim in parallel.
fn in_parallel() -> impl Strategy<Value = System> {
    let any = (2usize..5).prop_flat_map(|m| on_cpus(m, Rate::new(19, 20)));
    prop_oneof![any, beside_hogs()]
}

/// Draws the worst known case: hogs that reclaim go first, and one thread needs all bandwidth that
/// they leave. The condition with `umax=19/20` just allows the bandwidths.
fn beside_hogs() -> impl Strategy<Value = System> {
    (2i64..5, 3_000i64..8_000, 0i64..4).prop_map(|(m, wide, more)| {
        let period = Duration::from_ns(10_000);
        let others = m * (9_500 - wide);
        let count = (others + wide - 1) / wide + more;
        let hogs = (0..count).map(|at| {
            let budget = Service::from_ns((others / count).max(1));
            let mut hog = Task::implicit(format!("hog{at}"), budget, period);
            (hog.behaviour, hog.reclaim, hog.rank) = (Behaviour::Hog, true, at);
            hog
        });
        let mut last = Task::implicit("last", Service::from_ns(wide), period);
        last.rank = count;
        System::new(m as usize, hogs.chain([last]).collect())
    })
}

#[test]
fn global_edf_lends_what_it_can_spare() {
    // Two hogs with half a CPU each, and three threads that mostly sleep: m - (m - 1) umax is 3/2.
    let ms = Service::from_ms;
    let task =
        |name: &str, budget, period| Task::implicit(name, ms(budget), Duration::from_ms(period));
    let mut tasks: Vec<Task> = ["a", "b"].map(|name| task(name, 4, 10)).into();
    for hog in &mut tasks {
        (hog.behaviour, hog.reclaim) = (Behaviour::Hog, true);
    }
    tasks.extend([task("c", 2, 5), task("d", 1, 9), task("e", 1, 9)]);
    for sleeper in &mut tasks[2..] {
        sleeper.execution = ExecutionModel::List(vec![Service::from_us(100)]);
    }
    let system = System::new(2, tasks);
    for policy in ["dl", "dl-sp"] {
        let spec = format!("{policy}:grub=on:umax=19/20:lend=parallel");
        let (answer, reasons) = verdict(&spec, &system);
        assert_eq!(answer, Verdict::Yes, "{spec}: {reasons}");
        let trace = run(&system, &spec, Time::from_ms(1000));
        assert!(trace.jobs.iter().all(|record| !record.missed(trace.over)), "{spec}");
        // If all threads except the hogs sleep, a nanosecond costs (8/10 + 4/10) / 2 / (19/20) =
        // 12/19: more than 0.6 of a CPU.
        let got = trace.jobs.iter().filter(|record| record.job.id.task == TaskId(0));
        let got: i64 = got.map(|record| record.executed.ns()).sum();
        assert!(got > 560_000_000, "{spec}: {got}");
    }
    let silent = [
        ("dl:grub=on:umax=19/20", "demo:reclaim-defect"),
        ("dl:grub=on:umax=19/20:lend=cpu", "say lend=parallel"),
        ("dl:grub=on:umax=17/20:lend=parallel", "more of m CPUs than global EDF can lend"),
        ("dl:grub=on:umax=19/20:lend=parallel:arith=kernel", "by roundings"),
        ("dl:grub=on:umax=1:lend=parallel", "budgets end at whole nanoseconds"),
    ];
    for (spec, part) in silent {
        let (answer, reasons) = verdict(spec, &system);
        assert_eq!(answer, Verdict::Unknown, "{spec}");
        assert!(reasons.contains(part), "{spec}: {reasons}");
    }
    let mut tied = system;
    for (at, task) in tied.tasks.values_mut().enumerate() {
        task.affinity = Some(CpuSet::single(CpuId(at as u32 % 2)));
    }
    let (answer, reasons) = verdict("dl:grub=on:umax=19/20:lend=parallel", &tied);
    assert_eq!(answer, Verdict::Unknown);
    assert!(reasons.contains("tied to one cannot follow"), "{reasons}");
    let (answer, reasons) = verdict("dl:grub=on:umax=19/20:lend=cpu", &tied);
    assert_eq!(answer, Verdict::Yes, "{reasons}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Under the condition no server is late, and no thread gets less than without reclaiming.
    #[test]
    fn in_parallel_no_server_is_late(system in in_parallel(), seed in any::<u64>(), repaired in any::<bool>()) {
        let policy = if repaired { "dl-sp:ac=off" } else { "dl" };
        let spec = format!("{policy}:grub=on:umax=19/20:lend=parallel");
        let (answer, reasons) = verdict(&spec, &system);
        prop_assert_eq!(answer, Verdict::Yes, "{}", reasons);
        let until = Time::from_ns(200_000);
        let mut trace = Trace::default();
        let options = SimOptions { seed, ..SimOptions::until(until) };
        simulate(&system, registry().build(&spec, &system).unwrap(), &mut trace, &options).unwrap();
        prop_assert!(trace.jobs.iter().all(|record| !record.missed(trace.over)));
        for (id, hog) in system.tasks.iter().filter(|(_, task)| task.behaviour == Behaviour::Hog) {
            let own = trace.jobs.iter().filter(|record| record.job.id.task == id);
            let got: i64 = own.map(|record| record.executed.ns()).sum();
            let periods = (until - Time::ZERO - hog.offset).ns() / hog.period.ns();
            prop_assert!(got >= periods * hog.own_wcet().ns(), "{id:?} got {got}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// With slack for the rounding no job is late. Without it, no job is late by more than `n` over
    /// the least bandwidth.
    #[test]
    fn on_one_cpu_no_server_is_late(system in on_one_cpu(Rate::new(19, 20)), seed in any::<u64>()) {
        let until = Time::from_ns(200_000);
        let (answer, reasons) = verdict("dl:grub=on:umax=19/20", &system);
        prop_assert_eq!(answer, Verdict::Yes, "{}", reasons);
        let options = SimOptions { seed, ..SimOptions::until(until) };
        let of = |spec: &str| {
            let mut trace = Trace::default();
            simulate(&system, registry().build(spec, &system).unwrap(), &mut trace, &options).unwrap();
            trace
        };
        let room = of("dl:grub=on:umax=19/20");
        prop_assert!(room.jobs.iter().all(|record| !record.missed(room.over)));
        let tight = of("dl:grub=on");
        let least = system.tasks.values().map(Task::utilization).min().unwrap();
        let bound = &Rate::whole(system.tasks.len() as i64) / &least;
        for record in &tight.jobs {
            let late = record.completion().map_or(0, |end| record.job.tardiness(end).ns());
            prop_assert!(Rate::whole(late) <= bound, "{} ns late", late);
        }
    }

    /// With the kernel's arithmetic no deadlines are promised; the roundings make jobs slightly late.
    #[test]
    fn the_kernel_s_roundings_cost_little_on_one_cpu(system in on_one_cpu(Rate::new(19, 20))) {
        let trace = run(&system, "dl:grub=on:arith=kernel:umax=19/20", Time::from_ns(200_000));
        let least = system.tasks.values().map(Task::utilization).min().unwrap();
        let bound = &Rate::whole(10 * system.tasks.len() as i64) / &least;
        for record in &trace.jobs {
            let late = record.completion().map_or(0, |end| record.job.tardiness(end).ns());
            prop_assert!(Rate::whole(late) <= bound, "{} ns late", late);
        }
    }
}

// --- A twin that moves a unit of time at a time ---------------------------------------------------

/// A thread of the twin, with the state of its server.
struct Slow {
    budget: i64,
    period: i64,
    deadline: i64,
    u: Rate,
    reclaims: bool,
    is_hog: bool,
    /// The arrivals and work of the jobs, and the number of the next job.
    jobs: Vec<(i64, i64)>,
    arrived: usize,
    /// The work of the jobs that have arrived and have not ended.
    pending: Vec<i64>,
    q: Rate,
    d: i64,
    has_entered: bool,
    throttled_until: Option<i64>,
    /// The zero-lag time, while the thread sleeps and it is in the future.
    zero_lag: Option<Rate>,
    is_active: bool,
}

impl Slow {
    fn of(task: &Task) -> Slow {
        let (is_hog, jobs) = match (&task.behaviour, &task.execution) {
            (Behaviour::Explicit(times), ExecutionModel::List(works)) => {
                let jobs = times.iter().zip(works.iter().cycle());
                (false, jobs.map(|(at, work)| (at.ns(), work.ns())).collect())
            }
            _ => (true, vec![(task.offset.ns(), i64::MAX)]),
        };
        Slow {
            budget: task.reservation().ns(),
            period: task.period.ns(),
            deadline: task.deadline.ns(),
            u: Rate::new(task.reservation().ns(), task.period.ns()),
            reclaims: task.reclaim,
            is_hog,
            jobs,
            arrived: 0,
            pending: Vec::new(),
            q: Rate::ZERO,
            d: 0,
            has_entered: false,
            throttled_until: None,
            zero_lag: None,
            is_active: false,
        }
    }

    fn is_ready(&self) -> bool {
        !self.pending.is_empty() && self.throttled_until.is_none()
    }

    /// Returns true if the budget is used up. A remainder below one counts only for threads that
    /// pay less than one per unit.
    fn is_used_up(&self) -> bool {
        if self.reclaims { self.q <= Rate::ZERO } else { self.q < Rate::ONE }
    }

    fn new_period(&mut self, t: i64) {
        (self.q, self.d) = (Rate::whole(self.budget), t + self.deadline);
    }

    fn replenish(&mut self) {
        loop {
            self.d += self.period;
            self.q = &self.q + &Rate::whole(self.budget);
            if !self.is_used_up() {
                return;
            }
        }
    }

    fn arrive(&mut self, t: i64) -> bool {
        let next = self.jobs.get(self.arrived).filter(|&&(at, _)| at == t);
        let work = next.map(|&(_, work)| work);
        self.arrived += usize::from(work.is_some());
        self.pending.extend(work);
        work.is_some()
    }

    /// Handles the end of a unit of time in which the thread ran.
    fn ran_until(&mut self, t: i64) {
        if !self.is_hog && self.pending[0] == 0 {
            self.pending.remove(0);
            // A thread whose next job arrives at this very instant does not block.
            self.arrive(t);
            if self.pending.is_empty() {
                let rest = &self.q * &Rate::new(self.period, self.budget);
                let zero_lag = &Rate::whole(self.d) - &rest;
                if zero_lag > Rate::whole(t) {
                    self.zero_lag = Some(zero_lag);
                } else {
                    self.is_active = false;
                }
                return;
            }
        }
        if self.is_used_up() {
            let next = self.d - self.deadline + self.period;
            if t >= next { self.replenish() } else { self.throttled_until = Some(next) }
        }
    }

    fn wake(&mut self, t: i64) {
        (self.is_active, self.zero_lag) = (true, None);
        let next = self.d - self.deadline + self.period;
        let is_implicit = self.deadline == self.period;
        if !self.has_entered || t >= next || is_implicit && t >= self.d {
            self.has_entered = true;
            self.new_period(t);
        } else if t >= self.d {
            self.q = Rate::ZERO;
            self.throttled_until = Some(next);
        } else if self.is_used_up() {
            self.throttled_until = Some(next);
        } else {
            let share = &Rate::new(self.d - t, self.deadline) * &Rate::whole(self.budget);
            if self.q > share && is_implicit {
                self.new_period(t);
            } else if self.q > share {
                self.q = share;
                if self.is_used_up() {
                    self.throttled_until = Some(next);
                }
            }
        }
    }
}

/// Runs the servers for `horizon` units of time. `pick` returns the threads that run in the unit
/// that begins at a time.
fn run_servers(
    system: &System,
    umax: &Rate,
    horizon: i64,
    mut pick: impl FnMut(i64, &[Slow]) -> Result<Vec<usize>, TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut threads: Vec<Slow> = system.tasks.values().map(Slow::of).collect();
    let m = system.platform.cpu_count();
    let whole = |number: usize| Rate::whole(number as i64);
    let mut running: Vec<usize> = Vec::new();
    for t in 0..horizon {
        for &p in &running {
            threads[p].ran_until(t);
        }
        for thread in &mut threads {
            if thread.throttled_until == Some(t) {
                thread.throttled_until = None;
                thread.replenish();
            }
        }
        for thread in &mut threads {
            if thread.zero_lag.as_ref().is_some_and(|zero_lag| *zero_lag <= Rate::whole(t)) {
                (thread.zero_lag, thread.is_active) = (None, false);
            }
        }
        for thread in &mut threads {
            if thread.arrive(t) && thread.pending.len() == 1 {
                thread.wake(t);
            }
        }
        running = pick(t, &threads)?;
        let active: Rate =
            threads.iter().filter(|thread| thread.is_active).map(|thread| thread.u.clone()).sum();
        let entered = threads.iter().filter(|thread| thread.has_entered);
        let widest = entered.map(|thread| thread.u.clone()).max().unwrap_or(Rate::ZERO);
        let kept = &(&active + &(&whole(m - 1) * &widest)) / &whole(m);
        for &p in &running {
            let thread = &mut threads[p];
            let price = if !thread.reclaims {
                Rate::ONE
            } else if m == 1 {
                &active.clone().max(thread.u.clone()) / umax
            } else {
                &kept.clone().min(umax.clone()).max(thread.u.clone()) / umax
            };
            thread.q = &thread.q - &price;
            if !thread.is_hog {
                thread.pending[0] -= 1;
            }
        }
    }
    Ok(())
}

/// Draws threads with hogs, jobs of any length, early wake-ups and short deadlines, on CPUs that
/// may be overloaded.
fn any_on(m: usize) -> impl Strategy<Value = System> {
    let jobs = prop::collection::btree_map(0i64..60, 1i64..7, 1..8);
    let task = (2i64..13, 1i64..8, 0i64..4, any::<bool>(), 0u32..4, jobs);
    prop::collection::vec(task, 1..4 + m).prop_map(move |tasks| {
        let mut system = System::new(m, Vec::new());
        for (at, (period, budget, less, reclaims, kind, jobs)) in tasks.into_iter().enumerate() {
            let deadline = (period - less).max(1);
            let budget = Service::from_ns(i64::min(budget, deadline));
            let mut task = Task::implicit(format!("t{at}"), budget, Duration::from_ns(period));
            task.deadline = Duration::from_ns(deadline);
            (task.budget, task.reclaim, task.rank) = (Some(budget), reclaims, at as i64);
            if kind == 0 {
                task.behaviour = Behaviour::Hog;
                task.offset = Duration::from_ns(jobs.keys().next().copied().unwrap_or(0));
            } else {
                task.wcet = vec![Service::from_ns(6)].into();
                task.behaviour =
                    Behaviour::Explicit(jobs.keys().map(|&at| Time::from_ns(at)).collect());
                let works = jobs.values().map(|&work| Service::from_ns(work)).collect();
                task.execution = ExecutionModel::List(works);
            }
            system.tasks.push(task);
        }
        system
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Threads run by deadlines and ranks.
    #[test]
    fn schedules_are_those_of_the_twin(system in any_on(1), umax in 0usize..3) {
        let (umax, found) = units(&system, "dl:tie=rank:grub=on", umax);
        run_servers(&system, &umax, 120, |t, threads| {
            let ready = (0..threads.len()).filter(|&p| threads[p].is_ready());
            let first: Vec<usize> = ready.min_by_key(|&p| (threads[p].d, p)).into_iter().collect();
            prop_assert_eq!(&found[t as usize], &first, "at {}", t);
            Ok(first)
        })?;
    }

    /// Threads run by deadlines; the order of equal deadlines depends on queues. Uses `dl-sp`,
    /// because `dl` replenishes in place a server that is used up after its deadline, and lets it
    /// run on.
    #[test]
    fn servers_in_parallel_are_those_of_the_twin(
        system in (2usize..4).prop_flat_map(any_on),
        umax in 0usize..3,
    ) {
        let m = system.platform.cpu_count();
        let (umax, found) = units(&system, "dl-sp:ac=off:grub=on:lend=parallel", umax);
        run_servers(&system, &umax, 120, |t, threads| {
            let running = &found[t as usize];
            let (ready, not_ready): (Vec<usize>, Vec<usize>) =
                (0..threads.len()).partition(|&p| threads[p].is_ready());
            prop_assert!(!running.iter().any(|p| not_ready.contains(p)), "at {}: {:?} run", t, running);
            prop_assert_eq!(running.len(), m.min(ready.len()), "at {}", t);
            let latest = running.iter().map(|&p| threads[p].d).max();
            let waits = |p: &&usize| !running.contains(p);
            let earliest = ready.iter().filter(waits).map(|&p| threads[p].d).min();
            prop_assert!(earliest.is_none() || latest <= earliest, "at {}: {:?} run", t, running);
            Ok(running.clone())
        })?;
    }
}

/// Returns the share that may be reclaimed, and the running threads in each unit of time.
fn units(system: &System, spec: &str, umax: usize) -> (Rate, Vec<Vec<usize>>) {
    let (umax, text) =
        [(Rate::ONE, "1"), (Rate::new(19, 20), "19/20"), (Rate::new(3, 4), "3/4")][umax].clone();
    let trace = run(system, &format!("{spec}:umax={text}"), Time::from_ns(120));
    let mut found: Vec<Vec<usize>> = vec![Vec::new(); 120];
    for segment in &trace.segments {
        for unit in segment.start.ns()..segment.end.ns() {
            found[unit as usize].push(segment.job.task.0 as usize);
        }
    }
    (umax, found)
}

/// With `grub_pa=on` the bandwidth of a thread that sleeps stays active until its zero-lag time.
#[test]
fn a_cpu_keeps_its_speed_until_the_zero_lag_time() {
    let ms = Service::from_ms;
    let mut sleeper = Task::implicit("sleeper", ms(5), Duration::from_ms(10));
    sleeper.execution = ExecutionModel::List(vec![ms(1)]);
    let mut hog = Task::implicit("hog", ms(5), Duration::from_ms(10));
    (hog.behaviour, hog.rank) = (Behaviour::Hog, 1);
    let trace = run(&System::new(1, vec![sleeper, hog]), "dl:grub_pa=on", Time::from_ms(10));
    let speeds: Vec<(Time, Rate)> = trace
        .marks
        .iter()
        .filter_map(|mark| match mark.kind {
            MarkKind::Speed(_, speed) => Some((mark.at, speed.rate())),
            _ => None,
        })
        .collect();
    // The sleeper sleeps at 1 with 4 of 5 left, due at 10: its zero-lag time is 10 - 4 * 10 / 5 = 2.
    assert_eq!(speeds.first(), Some(&(Time::from_ms(2), Rate::new(1, 2))), "{speeds:?}");
    assert!(speeds.iter().all(|(at, _)| *at != Time::from_ms(1)), "{speeds:?}");
    // It does work of 1 from 1 to 2, and the other 4 at half the speed.
    let done = trace.segments.iter().filter(|segment| segment.job.task == TaskId(1));
    let done: Vec<(i64, i64)> = done
        .map(|segment| (segment.start.ns() / 1_000_000, segment.end.ns() / 1_000_000))
        .collect();
    assert_eq!((done[0].0, done.last().map(|piece| piece.1)), (1, Some(10)));
}
