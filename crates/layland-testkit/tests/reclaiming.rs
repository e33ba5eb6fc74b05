//! Reclaiming (GRUB): the bundled example of what it does wrong with several CPUs in a domain, and what it keeps on
//! CPUs that lend what is their own.

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
use layland_trace::Trace;
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
    let found = assess(&registry(), spec, system, &AssessOptions::default()).unwrap();
    (found.verdict, found.reasons.join("\n"))
}

/// How late the first job of a task is.
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
    // Until `tau3` ends, at 4 ms, one charge, and the rest is the next one; both are rounded down.
    let rest = 4_000_000_u64 - (4_000_000 * 716_185 >> 20);
    let lasts = 4_000_000 + (rest << 20).div_ceil(716_185) as i64;
    assert_eq!(first_tardiness(&kernel, 1), lasts + 5_000_000 - 10_000_000);
    // Linux asks nobody if admission control is off.
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
        // `tau1` gets more than it reserved: all that `tau2` leaves of 0.95.
        let got: i64 = trace
            .jobs
            .iter()
            .filter(|record| record.job.id.task == TaskId(0))
            .map(|record| record.executed.ns())
            .sum();
        assert!(got > 400_000_000, "{got}");
    }
    // Without a nanosecond of room nothing is promised, nor with the kernel's roundings.
    for spec in ["dl:grub=on", "dl-sp:grub=on:umax=1", "dl-sp:grub=on:arith=kernel"] {
        let (verdict, reasons) = verdict(spec, &alone);
        assert_eq!(verdict, Verdict::Unknown, "{spec}: {reasons}");
    }
    // Nobody reclaims: the theory without reclaiming holds.
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
        let found = assess(&registry(), spec, system, &AssessOptions::default()).unwrap();
        found.bounds.values().filter(|bound| **bound != layland_guarantee::Bound::Unknown).count()
    };
    // The tardiness bound of Tang et al. 2021 is about budgets at unit price and CPUs at full speed.
    let mut tied = reclaim_defect();
    tied.tasks[TaskId(2)].affinity = None;
    assert_eq!(bounds("dl-sp", &tied), 3);
    for spec in ["dl-sp:grub=on", "dl-sp:grub_pa=on", "dl-sp:exhaust=postpone"] {
        assert_eq!(bounds(spec, &tied), 0, "{spec}");
    }
}

/// Tasks on one CPU with bandwidths of at most `umax` together.
fn on_one_cpu(umax: Rate) -> impl Strategy<Value = System> {
    let task = (2i64..14, 1i64..9, 0i64..12, any::<bool>(), any::<bool>(), 1i64..101);
    prop::collection::vec(task, 1..6).prop_map(move |tasks| {
        let (mut total, mut kept) = (Rate::ZERO, Vec::new());
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
            let all = &total + &task.utilization();
            if all <= umax {
                total = all;
                kept.push(task);
            }
        }
        if kept.is_empty() {
            kept.push(Task::implicit("t", Service::from_ns(1000), Duration::from_ns(2000)));
        }
        System::new(1, kept)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// With room for the rounding no job is late; without it none by more than `n` over the least bandwidth. Who
    /// reclaims gets no less than without reclaiming.
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

    /// The kernel's arithmetic keeps deadlines here too, though nobody promises it.
    #[test]
    fn the_kernel_s_roundings_cost_no_deadline_on_one_cpu(system in on_one_cpu(Rate::new(19, 20))) {
        let trace = run(&system, "dl:grub=on:arith=kernel:umax=19/20", Time::from_ns(200_000));
        let least = system.tasks.values().map(Task::utilization).min().unwrap();
        let bound = &Rate::whole(10 * system.tasks.len() as i64) / &least;
        for record in &trace.jobs {
            let late = record.completion().map_or(0, |end| record.job.tardiness(end).ns());
            prop_assert!(Rate::whole(late) <= bound, "{} ns late", late);
        }
    }
}
