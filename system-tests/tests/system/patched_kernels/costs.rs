//! The price of the repair: a thread that needs all of a CPU loses in the kernel what it loses in the
//! simulator under the costs that the kernel's tracepoint measures.
#![expect(clippy::print_stderr, reason = "a test reports which kernels it used, and what it saw")]

use super::{Figures, boot, kernel, ready};
use layland_model::{Behaviour, CpuId, CpuSet, Duration, Service, System, Task, TaskId, Time};
use layland_policy::Registry;
use layland_sim::{SimOptions, simulate};
use layland_system_tests::{Booted, Checks, Kernel, Skipped, past_the_harness};
use layland_trace::Trace;

const HOGS: [&str; 2] = ["tau2", "tau4"];
const UNITS: i64 = 500;
/// The jobs of a migrating thread: 2 of every 2 units.
const JOBS: i64 = UNITS / 2;

/// Returns Example 5 as `kernel/guest/examples.sh` has it: a unit is 10 ms, and jobs of threads that are
/// tied execute for 97 % of their budgets.
fn example_5() -> System {
    let unit = |count: i64| Duration::from_ms(10 * count);
    let hog = |name: &str| Task {
        behaviour: Behaviour::Hog,
        ..Task::implicit(name.to_owned(), Service::from_ms(20), unit(2))
    };
    let tied = |name: &str, budget: i64, cpu: u32| Task {
        affinity: Some(CpuSet::single(CpuId(cpu))),
        budget: Some(Service::from_ms(10 * budget)),
        ..Task::implicit(name.to_owned(), Service::from_us(9_700 * budget), unit(6))
    };
    let tasks =
        vec![hog("tau2"), hog("tau4"), tied("tau1", 2, 0), tied("tau3", 1, 1), tied("tau5", 2, 2)];
    System::new(3, tasks)
}

/// Returns by how many microseconds `tau2` and `tau4` fall behind in the simulator.
fn simulated(spec: &str) -> [i64; 2] {
    let system = example_5();
    let policy = Registry::standard().build(spec, &system).expect("the policy takes the example");
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ms(10 * UNITS));
    simulate(&system, policy, &mut trace, &options).expect("the horizon is in range");
    [0, 1].map(|task| {
        let own = trace.segments.iter().filter(|segment| segment.job.task == TaskId(task));
        let got: i64 = own.map(|segment| (segment.end - segment.start).ns()).sum();
        10_000 * UNITS - got / 1_000
    })
}

fn judge(kernel: &Kernel, booted: &Booted) {
    let label = &kernel.label;
    let lag = |name: &str| {
        let figures = Figures::of(booted.ran(name));
        HOGS.map(|hog| figures.number(hog, "lag_us"))
    };
    // The threads pay for interrupts, too, which the model does not have.
    let alone = Figures::of(booted.ran("light-alone"));
    assert_eq!(alone.number("forced", "count"), 0, "{label}: nobody waits");
    let without = lag("light-alone");
    for (rules, spec) in [("paper", "dl-sp"), ("light", "dl-sp:throttle=waiting")] {
        let name = format!("{rules}-5");
        let figures = Figures::of(booted.ran(&name));
        let [count, away] = ["count", "away_us"].map(|figure| figures.number("forced", figure));
        let cost = away * 1_000 / count.max(1);
        let lost = lag(&name);
        let predicted = simulated(&format!("{spec}:throttle_cost={cost}ns"));
        eprintln!(
            "{label}: {rules}: {count} forced throttles of {cost} ns; lost {lost:?} us, {without:?} of them \
             without throttles; simulated {predicted:?} us"
        );
        let [kernel, model]: [i64; 2] = [
            lost.iter().zip(without).map(|(lost, without)| lost - without).sum(),
            predicted.iter().sum(),
        ];
        match rules {
            // Once late, a thread is throttled at the end of each budget ..
            "paper" => {
                assert!((2 * JOBS * 9 / 10..=2 * JOBS + 20).contains(&count), "{label}: {count}");
            }
            // .. or only if it is in the way.
            _ => assert!(count < 2 * JOBS * 19 / 20, "{label}: {count} forced throttles"),
        }
        let is_close = 2 * model < 3 * kernel && 2 * kernel < 3 * model;
        assert!(is_close, "{label}: {rules}: {kernel} us in the kernel, {model} us in the model");
    }
}

/// Loses per job what the simulator predicts.
#[test]
fn costs_of_the_repair_on_other_kernels() {
    let run = || -> Result<(), Skipped> {
        let (guest, spend) = ready()?;
        let kernel = kernel(Checks::Few, spend)?;
        let example = format!("forced example5 {UNITS}");
        let commands = [
            ("setup", "setup".to_owned()),
            ("light", "light".to_owned()),
            ("light-alone", format!("forced example5_alone {UNITS}")),
            ("light-5", example.clone()),
            ("paper", "paper".to_owned()),
            ("paper-5", example),
        ];
        judge(&kernel, &boot(&guest, &kernel, 4, &commands));
        Ok(())
    };
    run().unwrap_or_else(|skipped| past_the_harness(&skipped.0));
}
