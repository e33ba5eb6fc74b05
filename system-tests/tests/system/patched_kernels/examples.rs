//! Examples 3 to 8 of Tang, Anderson and Abeni, and the adversary of Example 5.
#![expect(clippy::print_stderr, reason = "a test reports which kernels it used, and what it saw")]

use super::{Figures, boot, judge_sums, kernel, ready};
use layland_system_tests::{Booted, Checks, Kernel, Skipped, past_the_harness};

const HOGS: [&str; 2] = ["tau2", "tau4"];
const TIED: [&str; 3] = ["tau1", "tau3", "tau5"];

/// The rules of a run: the names of functions in `kernel/guest/examples.sh`.
const RULES: [&str; 3] = ["stock", "paper", "light"];

/// Under each of the rules, the examples.
pub(super) fn commands(units: u32) -> Vec<(String, String)> {
    let mut commands = vec![("setup".to_owned(), "setup".to_owned())];
    for rules in RULES {
        commands.push((rules.to_owned(), rules.to_owned()));
        let adversary = format!("example5_adversary {units}");
        for (name, line) in [
            ("5", "example5"),
            ("5-adversary", &adversary),
            ("6", "example6"),
            ("7", "example7"),
            ("8", "example8"),
        ] {
            commands.push((format!("{rules}-{name}"), line.to_owned()));
        }
    }
    commands.push(("light-5-slack".to_owned(), format!("example5_adversary {units} 1.96")));
    commands.push(("sums".to_owned(), "sleep 3; sums".to_owned()));
    commands
}

pub(super) fn judge(kernel: &Kernel, booted: &Booted, units: u32) {
    let label = &kernel.label;
    for name in ["setup", "stock", "paper", "light"] {
        let ran = booted.ran(name);
        assert_eq!((ran.code, &*ran.output), (Some(0), ""), "{label}");
    }
    let figures = |name: &str| Figures::of(booted.ran(name));
    for rules in RULES {
        let is_stock = rules == "stock";
        let run = |example: &str| figures(&format!("{rules}-{example}"));

        // Example 5: a hog loses 20 ms of its time, and most jobs of tied threads are late. Repaired,
        // hogs lose what the rules cost, and few jobs of tied threads are late.
        let (five, attacked) = (run("5"), run("5-adversary"));
        let lag = [&five, &attacked].map(|run| run.worst(&HOGS, "lag_us"));
        let [late, jobs] = ["late", "jobs"]
            .map(|figure| TIED.map(|thread| attacked.number(thread, figure)).iter().sum::<i64>());
        eprintln!("{label}: {rules}: example 5: lag {lag:?} us, {late} of {jobs} tied jobs late");
        assert_eq!(lag[0] > 15_000, is_stock, "{label}: {rules}: {lag:?}");
        assert!(jobs > 50, "{label}: {rules}: {jobs} jobs of tied threads");
        assert_eq!(2 * late > jobs, is_stock, "{label}: {rules}: {late} of {jobs} late");
        assert_eq!(5 * late > jobs, is_stock, "{label}: {rules}: {late} of {jobs} late");

        // Example 6: the third thread moves to a CPU where it preempts, or stays.
        let moves = run("6").number("tau3", "moves");
        // Example 7: every request is accepted, or refused.
        let seven = run("7");
        let [accepted, refused] =
            ["accepted", "refused"].map(|answer| seven.number("requests", answer));
        // Example 8: a thread that never blocks keeps the CPU of a tied one.
        let waits = run("8").number("tau1", "worst_us");
        eprintln!(
            "{label}: {rules}: example 6: {moves} moves; 7: {accepted} accepted, {refused} refused, \
             tau1 late by {} us; 8: tau1 late by {waits} us",
            seven.number("tau1", "worst_us")
        );
        assert_eq!((moves == 3, moves == 1), (is_stock, !is_stock), "{label}: {rules}");
        let expected = if is_stock { (19, 0) } else { (0, 19) };
        assert_eq!((accepted, refused), expected, "{label}: {rules}");
        if !is_stock {
            assert!(seven.number("tau1", "worst_us") <= 0, "{label}: {rules}: example 7");
        }
        assert_eq!(waits > 5_000, is_stock, "{label}: {rules}: example 8: {waits} us");
    }

    // Growth: under the stock rules lateness grows linearly for ever, and the repair costs a tenth of it.
    let lag = |name: &str| figures(name).worst(&HOGS, "lag_us");
    let [stock, paper, light] = RULES.map(|rules| lag(&format!("{rules}-5-adversary")));
    // An attack that fails spares one thread for a while, so that both count.
    let stock_figures = figures("stock-5-adversary");
    let [tau2, tau4] = HOGS.map(|hog| stock_figures.list(hog, "lags_us"));
    let stock_lags: Vec<i64> = tau2.iter().zip(&tau4).map(|(a, b)| a + b).collect();
    let (half, all) = (stock_lags[7], stock_lags[15]);
    eprintln!(
        "{label}: adversary, {units} units: lag {stock} us, {paper} us, {light} us; stock {stock_lags:?}"
    );
    assert!(stock > 5 * paper && paper >= light, "{label}: {stock} {paper} {light}");
    assert!(2 * all > 3 * half && half > 10_000, "{label}: no growth: {stock_lags:?}");
    // With a little slack, the cost of the rules is got back.
    let slack = figures("light-5-slack");
    let lags = HOGS.map(|hog| slack.list(hog, "lags_us"));
    assert!(lags.iter().flatten().all(|&lag| lag < 3_000), "{label}: slack: {lags:?}");
    // Work of the kernel delays a tied thread by some hundred microseconds, a job of 20 ms by much more.
    let tied = slack.worst(&TIED, "worst_us");
    assert!(tied <= 1_000, "{label}: slack: tied threads are late by {tied} us");
    judge_sums(kernel, booted.ran("sums"), 0);
}

/// Example 3: a thread takes its deadline along to another domain, which is late then; the patches refuse
/// that. Example 4: a thread that sleeps for 1 after each job of 63 gets them every 127 instead of every
/// 100, on both.
#[test]
fn moves_and_sleeps_on_other_kernels() {
    let run = || -> Result<(), Skipped> {
        let (guest, spend) = ready()?;
        let kernel = kernel(Checks::Few, spend)?;
        let commands = [
            ("setup", "setup"),
            ("stock", "rules 0 950000"),
            ("3-stock", "example3"),
            ("4-stock", "example4"),
            ("paper", "paper"),
            ("3-paper", "example3"),
            ("4-paper", "example4"),
        ];
        let commands = commands.map(|(name, line)| (name, line.to_owned()));
        let booted = boot(&guest, &kernel, 5, &commands);
        for rules in ["stock", "paper"] {
            let run = |example: u32| Figures::of(booted.ran(&format!("{example}-{rules}")));
            let (three, four) = (run(3), run(4));
            let label = &kernel.label;
            let moved = three.number("requests", "accepted");
            let [mover, resident] = ["tau4", "tau5"].map(|name| three.number(name, "worst_us"));
            let jobs = four.number("tau3", "jobs");
            eprintln!(
                "{label}: {rules}: example 3: {moved} moves, tau4 late by {mover} us, tau5 by {resident} us; \
                 4: {jobs} jobs"
            );
            let is_stock = rules == "stock";
            assert_eq!(moved, i64::from(is_stock), "{label}: {rules}");
            assert!((30_000..45_000).contains(&mover), "{label}: {rules}: {mover} us");
            assert_eq!(resident > 20_000, is_stock, "{label}: {rules}: {resident} us");
            assert!(is_stock || resident < 2_000, "{label}: {rules}: {resident} us");
            // Of 25 periods.
            assert!((20..22).contains(&jobs), "{label}: {rules}: {jobs} jobs");
        }
        Ok(())
    };
    run().unwrap_or_else(|skipped| past_the_harness(&skipped.0));
}
