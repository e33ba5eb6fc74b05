//! Measures the costs of SCHED_DEADLINE, and prints the tables of `docs/overheads.md`.
//!
//! `overheads [SYSTEMS] [SECONDS] [FOLDER] [PLACE..]`: the number of systems of each kind (10) and
//! the seconds that each runs (10); the folder (`overheads`) for the traces and charts of Examples
//! 5 and 6, and the tables of each place. Places are `host` and the labels of kernels (`6.18`); by
//! default the host and those of [`WITH_DEADLINE`]. A kernel takes some minutes for each system.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use layland_model::{Duration, TaskId};
use layland_system_tests::overheads::{
    Amount, Measured, OverheadSystems, TASKS, Traces, imported, markdown, on_host, sets, waits,
};
use layland_system_tests::{Guest, Kernel, Profile, WITH_DEADLINE, static_layland};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The header of the table of Fig. 6, to which each kernel adds two rows.
const HEAD: &str = "| kernel | policy | longest inversion | longest job | jobs that went on | preempted in Example 6 |\n|---|---|---|---|---|---|";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let amount = Amount { systems: number(10)?, seconds: number(10)? };
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "overheads".to_owned()));
    let mut places: Vec<String> = arguments.collect();
    if places.is_empty() {
        places = ["host"].into_iter().chain(WITH_DEADLINE).map(str::to_owned).collect();
    }
    let is_wanted = |place: &str| places.iter().any(|other| other == place);
    std::fs::create_dir_all(&folder)?;
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let kernels = target.join("tmp/kernels");
    std::fs::create_dir_all(&kernels)?;
    let program = static_layland(&target, Profile::Dist);
    let mut all = Vec::new();
    let mut add = |label: &str, measured: Measured| -> Result<(), Box<dyn Error>> {
        let doubts = measured.dispatched.iter().flat_map(|one| &one.runs);
        for doubt in doubts.filter_map(|run| run["doubts"].as_array()).flatten() {
            eprintln!("{}: {doubt}", measured.place);
        }
        std::fs::write(folder.join(format!("{label}.md")), markdown([&measured]))?;
        all.push(measured);
        Ok(())
    };
    if is_wanted("host") {
        match on_host(&program, &folder, amount) {
            Ok(measured) => add("host", measured)?,
            Err(why) => eprintln!("{why}"),
        }
    }
    println!("{HEAD}");
    match Guest::fetch(&kernels) {
        Err(skipped) => eprintln!("{}", skipped.0),
        Ok(guest) => {
            let layland = std::fs::read(&program)?;
            for kernel in guest.kernels.iter().filter(|kernel| is_wanted(&kernel.label)) {
                eprintln!("{}: {}", kernel.label, kernel.package);
                figure_6(&guest, kernel, &program, &layland, &folder)?;
                let costs = OverheadSystems { cpus: sets::CPUS, tasks: &TASKS, amount };
                add(&kernel.label, costs.measure(&guest, kernel, &layland)?)?;
            }
        }
    }
    println!("\n{}", markdown(&all));
    Ok(())
}

/// Fig. 6: how long the tied tasks of Example 5 wait, and which task is preempted in Example 6;
/// with traces and charts.
fn figure_6(
    guest: &Guest,
    kernel: &Kernel,
    program: &Path,
    layland: &[u8],
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    let traces = Traces::record(guest, kernel, layland)?;
    for (which, policy) in ["dl", "dl-sp"].into_iter().enumerate() {
        let sets = [("demo:affinity-defect", &traces.five), ("demo:push-defect", &traces.six)];
        for (set, texts) in sets {
            let name = format!("{}-{policy}-{}", set.trim_start_matches("demo:"), kernel.label);
            let file = folder.join(format!("{name}.trace"));
            std::fs::write(&file, &texts[which])?;
            let chart = folder.join(format!("{name}.svg"));
            let drawn = Command::new(program)
                .args(["trace", "view", "--set", set, "--chart", "none", "--window"])
                .arg(if set.contains("affinity") { "0ms..240ms" } else { "0ms..190ms" })
                .arg("-o")
                .arg(&chart)
                .arg(&file)
                .output()?;
            if !drawn.status.success() {
                return Err(String::from_utf8_lossy(&drawn.stderr).into());
            }
        }
        let five = sets::bundled("affinity-defect");
        let trace = imported(&traces.five[which], &five).trace;
        let longest = waits::waits(&trace, &five, LATENCY).first().copied();
        let [length, job] = [
            longest.map_or(Duration::ZERO, |wait| wait.length()),
            waits::longest_job(&trace, &five),
        ];
        let went_on = longest.map_or(0, |wait| wait.went_on);
        let six = sets::bundled("push-defect");
        let trace = imported(&traces.six[which], &six).trace;
        let [tau1, tau2] = [0, 1].map(|at| waits::completed(&trace, TaskId(at)));
        println!(
            "| {} | `{policy}` | {length:#} | {job:#} | {went_on} | {} |",
            kernel.label,
            if tau1 > tau2 { "`tau2`, due earlier" } else { "`tau1`, due later" },
        );
    }
    Ok(())
}

/// The latency of the decisions of an emulated machine.
const LATENCY: Duration = Duration::from_ms(2);
