use super::*;

#[test]
fn decisions_are_timed_and_told_beside_the_source() {
    let text = r#"
            lab = 1
            title = "t"
            sets = 1
            seed = 1
            horizon = "100ms"
            [timing]
            sets = 2
            horizon = "200ms"
            [[timing.reported]]
            series = "global"
            statistic = "q0.999"
            us = "5.79"
            [[timing.claim]]
            text = "slower"
            statistics = ["mean", "q0.999"]
            slower = "hpa"
            faster = "global"
            [generator]
            cpus = 4
            utilization = "2"
            periods = "list:10ms,20ms"
            affinity = "levels:2"
            feasible = true
            [[series]]
            name = "global"
            policy = "g-rm"
            affinities = "ignored"
            [[series]]
            name = "hpa"
            policy = "hpa-rm"
            [[grid]]
            name = "g"
            tasks = [8, 10]
            [[figure]]
            name = "per-job"
            grid = "g"
            x = "tasks"
            y = "overhead_us_per_job"
            statistic = "median"
            [[figure]]
            name = "all"
            kind = "bars"
            grid = "g"
            bars = ["release_us:median", "schedule_us", "decision_us:max"]
            bar_labels = ["REL", "SCHED", "most"]
            [[claim]]
            name = "takes-time"
            text = "Decisions take time"
            figures = ["per-job", "all"]
            left = "hpa"
            is = "above"
            right = 0
            [[claim]]
            name = "is-itself"
            text = "It takes as long as it takes"
            figures = ["per-job"]
            left = "hpa"
            is = "equal to"
            right = "hpa@per-job"
            [[claim]]
            name = "misses"
            text = "A claim about the results, which are not measured times"
            figures = ["per-job"]
            left = "hpa/missed@per-job"
            is = "at most"
            right = 0
        "#;
    let experiment = crate::read("t", "t.toml", text.as_bytes(), &Registry::standard()).unwrap();
    let timings = time(&experiment, &Registry::standard(), None, &|_, _| ()).unwrap().unwrap();
    assert_eq!(timings.points.len(), 4);
    // 8 tasks with periods of at most 20 ms are released 10 times in 200 ms at least.
    assert!(timings.points.iter().all(|point| point.costs.len() >= 20));
    let told = timings.text(&experiment);
    assert!(told.contains("global, in the source"), "{told}");
    assert!(told.contains("slower: "), "{told}");
    assert_eq!(timings.table(&experiment).rows(), 4);
    assert!(told.contains("g: tasks 10"), "{told}");
    let judged = judge_of(&experiment, &timings.rows, Origin::Timed);
    let agree: Vec<_> = judged.iter().map(|judged| (judged.agree, judged.of)).collect();
    // Two points and three bars; two points; nothing for a metric that is not measured.
    assert_eq!(agree, [(5, 5), (2, 2), (0, 0)], "{told}");
    assert!(told.contains("takes-time") && told.contains("5/5"), "{told}");
    // The parts add up to the whole.
    for row in timings.rows.grids.iter().flat_map(|grid| &grid.cells).flat_map(|cell| &cell.rows) {
        let of = |name| row.values[crate::metric::metric(name).unwrap()].unwrap();
        let sum = of("release_us_per_s") + of("schedule_us_per_s");
        assert!((sum - of("overhead_us_per_s")).abs() < 1e-6 * sum);
        let halves = of("release_update_us_per_s") + of("other_update_us_per_s");
        assert!((halves + of("selection_us_per_s") - sum).abs() < 1e-6 * sum);
        assert!(of("selection_max_us") >= of("selection_us") && of("selection_us") > 0.0);
        assert!(of("release_update_us") > 0.0 && of("release_update_us") <= of("release_us"));
        assert!(of("release_max_us") >= of("release_us"));
    }
    let stopped = AtomicBool::new(true);
    assert!(
        time(&experiment, &Registry::standard(), Some(&stopped), &|_, _| ()).unwrap().is_none()
    );
}

/// [`Timed`] must forward what a policy requires from its engine: a mixed-criticality policy that
/// is not notified of arrivals would decide a few times and run nothing.
#[test]
fn a_measured_policy_decides_as_often_as_an_unmeasured_one() {
    use layland_config::{Format, Host};
    let demo = layland_config::demo("mixed-overrun").unwrap();
    let read =
        layland_config::read(demo.name, demo.text.as_bytes(), Format::Toml, &Host::default());
    let mut system = read.unwrap().system;
    for (priority, task) in (0..).zip(system.tasks.values_mut()) {
        task.priority = Some(priority);
    }
    let simulated = |policy: Box<dyn Policy>| {
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let options = SimOptions::until(Time::from_ms(200));
        let outcome = simulate(&system, policy, &mut counters, &options).unwrap();
        (outcome.decisions, outcome.events, counters.total().completed)
    };
    let registry = Registry::standard();
    for info in &registry {
        let policy = registry.build(&info.name, &system).unwrap();
        let (timed, costs) = Timed::new(policy.clone());
        let (decisions, events, completed) = simulated(policy);
        assert!(completed > 0, "{} completes no job", info.name);
        assert_eq!(simulated(Box::new(timed)), (decisions, events, completed), "{}", info.name);
        assert_eq!(costs.lock().unwrap().all.len(), decisions, "{}", info.name);
    }
}

#[test]
fn long_decisions_are_counted_as_they_are() {
    let mut costs = histogram();
    for ns in [100, 200, 5_000_000] {
        costs.record(ns).unwrap();
    }
    // The values are exact to three digits, in microseconds.
    assert!((4995.0..=5005.0).contains(&of(Statistic::Max, &costs)));
    assert!((4995.0..=5005.0).contains(&of(Statistic::Quantile(0.999), &costs)));
    assert!((0.199..=0.201).contains(&of(Statistic::Median, &costs)));
    assert!((1660.0..=1670.0).contains(&of(Statistic::Mean, &costs)));
}

#[test]
fn mistakes_have_a_place() {
    let text = "lab = 1\ntitle = \"t\"\nsets = 1\nseed = 1\nhorizon = \"1s\"\n[timing]\nsets = 1\n\
         horizon = \"1s\"\n[[timing.reported]]\nseries = \"gfb\"\nstatistic = \"sum\"\nus = \"x\"\n\
         [[series]]\nname = \"gfb\"\ntest = \"GFB\"\naffinities = \"lost\"\n\
         [[grid]]\nname = \"g\"\ncpus = 1\ntasks = 1\nutilization = \"0.5\"\n";
    let report = crate::read("t", "t.toml", text.as_bytes(), &Registry::standard()).unwrap_err();
    for message in [
        "t.toml:10:10: error: `gfb` is a test, and makes no decisions",
        "t.toml:11:13: error: `sum` is not a statistic of times",
        "t.toml:12:6: error: `x` is not a time",
        "affinities are `kept` or `ignored`",
    ] {
        assert!(report.plain().contains(message), "{}", report.plain());
    }
}
