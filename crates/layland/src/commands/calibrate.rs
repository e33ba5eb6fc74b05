//! `layland calibrate`: measures the cost of a switch on this machine, as the overheads of a
//! platform.

use super::run::{failure, rows};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::{files, table, terminal};
use clap::Args;
use layland_answers::values::time_of;
use layland_linux::{Calibration, Changes, Machine};
use layland_model::{CpuSet, Duration, Index, Overheads};
use serde_json::json;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland calibrate
      an [platform.overhead] section for a task-set file, from the medians
  layland calibrate --quantile 0.99 -o overhead.toml
  layland calibrate --compare
      the engine next to the bare mechanism that it is built of

Takes about five times the duration. Needs Linux and the right to real-time priorities.";

#[derive(Args)]
pub(crate) struct CalibrateArgs {
    /// The length of each measurement
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time_of::<Duration>)]
    pub duration: Duration,
    /// The quantile of each distribution to use, from 0 to 1
    #[arg(long, value_name = "Q", default_value = "0.5", value_parser = parse_quantile)]
    pub quantile: f64,
    /// The CPUs of this machine to use, as in 2-3 or 1,3. By default all that the process may use
    #[arg(long, value_name = "LIST")]
    pub on_cpus: Option<CpuSet>,
    /// Show the engine next to the bare mechanism
    #[arg(long)]
    pub compare: bool,
    /// Write to this file. The section is printed as well
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the result as JSON. It is one document
    #[arg(long)]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
}

fn parse_quantile(text: &str) -> Result<f64, String> {
    let quantile: f64 = text.parse().map_err(|_| "write a number, as in 0.99".to_owned())?;
    if (0.0..=1.0).contains(&quantile) {
        Ok(quantile)
    } else {
        Err("a quantile is between 0 and 1".to_owned())
    }
}

pub(crate) fn run(args: &CalibrateArgs) -> Outcome {
    if !(Duration::from_ms(100)..=Duration::from_secs(60)).contains(&args.duration) {
        return Err(Failure::usage(format!("measuring for {} makes no sense", args.duration))
            .help("choose between 100ms and 60s"));
    }
    let cpus: Vec<usize> = match &args.on_cpus {
        Some(set) => set.iter().map(Index::index).collect(),
        None => layland_linux::usable_cpus()
            .map_err(|error| Failure::refused(format!("failed to list the CPUs: {error}")))?,
    };
    // The measurement uses all CPUs, and would also measure another run.
    let mut changes = Changes::begin("layland calibrate", Duration::MAX)?;
    changes.claim(&cpus, |free| {
        if free == cpus {
            Ok(((), free.to_vec()))
        } else {
            Err(Failure::refused("another run has some of these CPUs"))
        }
    })?;
    let calibration =
        layland_linux::calibrate(Some(&cpus), args.duration, args.quantile).map_err(failure)?;
    drop(changes);
    let machine = Machine::probe();
    let section = section(&calibration.overheads, &machine, args.quantile);
    if let Some(path) = &args.output {
        files::write(path, section.as_bytes())?;
    }
    if args.json {
        terminal::data(&format!("{:#}\n", as_json(args, &calibration, &machine)))?;
        return Ok(Exit::Yes);
    }
    let mut text = String::new();
    if args.compare {
        text += &comparisons(args, &calibration);
    }
    text += &section;
    terminal::result(&text)?;
    Ok(Exit::Yes)
}

/// Returns the overheads as a section of a task-set file.
fn section(overheads: &Overheads, machine: &Machine, quantile: f64) -> String {
    let mut text = format!(
        "# Measured by layland {} on kernel {}: quantile {quantile}.\n",
        env!("CARGO_PKG_VERSION"),
        machine.kernel
    );
    for caveat in machine.caveats() {
        text += &format!("# {caveat}\n");
    }
    text += "[platform.overhead]\n";
    let costs = [
        ("release", overheads.release),
        ("scheduling", overheads.scheduling),
        ("context_switch", overheads.context_switch),
        ("migration", overheads.migration),
        ("interrupt", overheads.interrupt),
        ("tick", overheads.tick),
        ("tick_period", overheads.tick_period),
    ];
    for (name, cost) in costs {
        if cost > Duration::ZERO {
            text += &format!("{name} = \"{cost}\"\n");
        }
    }
    text
}

fn comparisons(args: &CalibrateArgs, calibration: &Calibration) -> String {
    let style = table::Style { ascii: args.ascii, colours: terminal::colours() };
    let mut text = String::new();
    for comparison in &calibration.comparisons {
        let place = if comparison.shared { "the CPU of the jobs" } else { "another CPU" };
        let raw = [
            ("bare: timer", &comparison.raw.timer),
            ("bare: two calls", &comparison.raw.calls),
            ("bare: dispatch", &comparison.raw.dispatch),
        ];
        let raw = raw.into_iter().filter_map(|(name, times)| Some((name, times.figures()?)));
        let figures: Vec<_> = raw.chain(comparison.engine.figures()).collect();
        text += &format!("manager on {place}\n{}\n", table::distributions(&rows(&figures), style));
        if let Some(ratio) = ratio(comparison) {
            text += &format!(
                "dispatch latency of the engine: {ratio:.2} times that of the bare mechanism (medians)\n\n"
            );
        }
    }
    text
}

/// The ratio of the engine's median dispatch latency to that of the bare mechanism.
fn ratio(comparison: &layland_linux::Comparison) -> Option<f64> {
    let raw = comparison.raw.dispatch.figures()?;
    let engine = comparison.engine.dispatch.figures()?;
    Some(engine.p50_ns as f64 / raw.p50_ns as f64)
}

fn as_json(
    args: &CalibrateArgs,
    calibration: &Calibration,
    machine: &Machine,
) -> serde_json::Value {
    let overheads = &calibration.overheads;
    let named = |measured: &layland_linux::Measured| -> serde_json::Value {
        let figures = measured.figures().into_iter();
        figures
            .map(|(name, figures)| (name.to_owned(), json!(figures)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let comparisons: Vec<serde_json::Value> = (calibration.comparisons.iter())
        .map(|comparison| {
            json!({
                "manager_shared": comparison.shared,
                "bare": {
                    "timer": comparison.raw.timer.figures(),
                    "calls": comparison.raw.calls.figures(),
                    "dispatch": comparison.raw.dispatch.figures(),
                    "lost": comparison.raw.lost,
                },
                "engine": named(&comparison.engine),
                "dispatch_ratio": ratio(comparison),
            })
        })
        .collect();
    json!({
        "layland": env!("CARGO_PKG_VERSION"),
        "command": "calibrate",
        "machine": machine,
        "quantile": args.quantile,
        "overhead_ns": {
            "release": overheads.release.ns(),
            "scheduling": overheads.scheduling.ns(),
            "context_switch": overheads.context_switch.ns(),
            "migration": overheads.migration.ns(),
            "interrupt": overheads.interrupt.ns(),
            "tick": overheads.tick.ns(),
            "tick_period": overheads.tick_period.ns(),
        },
        "comparisons": comparisons,
        "two_cpus": calibration.two_cpus.as_ref().map(named),
        "caveats": machine.caveats(),
        "exit": Exit::Yes,
    })
}
