//! SCHED_DEADLINE with the patches of `kernel/`: the examples of Tang, Anderson and Abeni (RTNS 2021)
//! under the stock rules and repaired, the price of the repair, admission, the sums by which the kernel
//! admits, stress, and the placement of Stevanato et al. (ISORC 2021).
//!
//! The short form uses the kernel only if it has been built (`kernel/build.sh`). With
//! `LAYLAND_KERNELS=all`, it is built, runs are longer, and a second kernel, which checks locks and
//! objects, has the stress.
#![expect(clippy::print_stderr, reason = "a test reports which kernels it used, and what it saw")]

mod admission;
mod costs;
mod examples;
mod faults;
mod placement;
mod programs;
mod stress;

use layland_system_tests::{
    Booted, Checks, CommandRun, Guest, Kernel, Skipped, Spend, kernel_functions, kernel_programs,
    past_the_harness, patched_kernel,
};
use std::collections::BTreeMap;
use std::path::Path;

/// A machine with the programs of `kernel/guest/`, and how much the tests may spend.
fn ready() -> Result<(Guest, Spend), Skipped> {
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target folder");
    let spend = if std::env::var_os("LAYLAND_KERNELS").is_some_and(|value| value == "all") {
        Spend::Minutes
    } else {
        Spend::Nothing
    };
    // Ask before anything is fetched.
    patched_kernel(&target.join("kernel"), Checks::Few, spend)?;
    let folder = target.join("tmp/kernels");
    let mut guest = Guest::fetch(&folder)?;
    guest.programs = kernel_programs(&folder)?;
    Ok((guest, spend))
}

fn kernel(checks: Checks, spend: Spend) -> Result<Kernel, Skipped> {
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target folder");
    let label = match checks {
        Checks::Few => "6.12-patched",
        Checks::Many => "6.12-patched-checks",
    };
    Ok(Kernel::built(label, patched_kernel(&target.join("kernel"), checks, spend)?))
}

/// Runs functions of `kernel/guest/`, each as a command of its own name.
fn boot(guest: &Guest, kernel: &Kernel, cpus: u32, commands: &[(&str, String)]) -> Booted {
    eprintln!("{}: {}", kernel.label, kernel.package);
    let functions = kernel_functions();
    let sourced: String = functions.iter().map(|(name, _)| format!(". ./{name}; ")).collect();
    let lines: Vec<(&str, String)> =
        commands.iter().map(|(name, line)| (*name, format!("{sourced}{line}"))).collect();
    let lines: Vec<(&str, &str)> = lines.iter().map(|(name, line)| (*name, &**line)).collect();
    let files = functions.each_ref().map(|(name, content)| (*name, &**content));
    guest.boot(kernel, cpus, &[], &files, &lines).expect("QEMU runs")
}

/// The figures of a run: `figures["tau2"]["lag_us"]`.
struct Figures<'a>(BTreeMap<&'a str, BTreeMap<&'a str, &'a str>>, &'a CommandRun);

impl<'a> Figures<'a> {
    fn of(ran: &'a CommandRun) -> Self {
        assert_eq!(ran.code, Some(0), "{ran}");
        let lines = ran.output.lines().filter_map(|line| {
            let (name, rest) = line.split_once(' ')?;
            let figures = rest.split(' ').filter_map(|word| word.split_once('='));
            Some((name, figures.collect()))
        });
        Figures(lines.collect(), ran)
    }

    fn text(&self, thread: &str, figure: &str) -> &'a str {
        let found = self.0.get(thread).and_then(|figures| figures.get(figure));
        found.unwrap_or_else(|| panic!("no {figure} of {thread} in {}", self.1))
    }

    fn number(&self, thread: &str, figure: &str) -> i64 {
        self.text(thread, figure).parse().expect("the figure is a number")
    }

    fn list(&self, thread: &str, figure: &str) -> Vec<i64> {
        let numbers = self.text(thread, figure).split(',');
        numbers.map(|number| number.parse().expect("the figure is a list of numbers")).collect()
    }

    /// The greatest value of a figure among threads.
    fn worst(&self, threads: &[&str], figure: &str) -> i64 {
        let values = threads.iter().map(|thread| self.number(thread, figure));
        values.max().expect("there are threads")
    }
}

/// Every CPU's sum of tied bandwidth is zero, and that of its domain is `total`.
fn judge_sums(kernel: &Kernel, ran: &CommandRun, total: i64) {
    for line in ran.output.lines() {
        let (sum, values) = line.split_once('=').expect("a line is a sum and its values");
        let expected = if sum == "tied_bw" { 0 } else { total };
        assert!(
            values.split(',').all(|value| value.parse() == Ok(expected)),
            "{}: expected {sum} {expected}: {ran}",
            kernel.label
        );
    }
}

fn total_of(ran: &CommandRun) -> i64 {
    let line = ran.output.lines().find_map(|line| line.strip_prefix("total_bw="));
    let first = line.and_then(|values| values.split(',').next());
    let total = first.and_then(|value| value.parse().ok());
    total.unwrap_or_else(|| panic!("no sum of bandwidth: {ran}"))
}

#[test]
fn repaired_examples_on_other_kernels() {
    let run = || -> Result<(), Skipped> {
        let (guest, spend) = ready()?;
        let kernel = kernel(Checks::Few, spend)?;
        let (units, count) = match spend {
            Spend::Nothing => (300, 40),
            Spend::Minutes => (1_000, 200),
        };
        let systems = admission::systems(count);
        let mut commands = faults::commands();
        commands.push(("requests", admission::REQUESTS.into()));
        let examples = examples::commands(units);
        commands.extend(examples.iter().map(|(name, line)| (&**name, line.clone())));
        commands.push(("admission", format!("rules 7 950000; {}", admission::command(&systems))));
        commands.push(("sums-again", "sleep 3; sums".into()));
        let booted = boot(&guest, &kernel, 4, &commands);
        faults::judge(&kernel, &booted, true);
        admission::judge_requests(&kernel, booted.ran("requests"));
        examples::judge(&kernel, &booted, units);
        admission::judge(&kernel, booted.ran("admission"), &systems);
        judge_sums(&kernel, booted.ran("sums-again"), 0);
        Ok(())
    };
    run().unwrap_or_else(|skipped| past_the_harness(&skipped.0));
}
