//! Does memory stay flat while programs come and go for a long time?
//! `cargo run --release -p layland-testkit -- soak [PROGRAMS] [POLICY] [SEED]`
//!
//! Simulates until this number of programs (10 million by default) have requested to enter under a
//! policy (`g-edf` by default), at most 24 of them at once on 4 CPUs. Prints the peak memory after
//! each tenth. Exits with 1 if it grew by more than 1 MiB after the first tenth, or if a new id was
//! assigned although an old one could be reused.
use layland_model::{Duration, Service, System, Task, Time};
use layland_policy::Registry;
use layland_sim::{SimOptions, simulate_with};
use layland_testkit::programs::{Churn, peak_memory_kib};
use layland_trace::NoRecord;
use std::process::ExitCode;

const USAGE: &str = "usage: soak [PROGRAMS] [POLICY] [SEED]";
const MOST: usize = 24;
const MOST_GROWTH_KIB: u64 = 1024;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let number = |at: usize, default: u64| {
        words.get(at).map_or(Some(default), |word| word.replace('_', "").parse().ok())
    };
    let (Some(programs), Some(seed)) = (number(0, 10_000_000), number(2, 1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let spec = words.get(1).map_or("g-edf", String::as_str);
    match soak(programs, spec, seed) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Returns true if memory and ids stayed within their bounds.
fn soak(programs: u64, spec: &str, seed: u64) -> Result<bool, String> {
    let resident = Task::implicit("resident", Service::from_us(100), Duration::from_ms(10));
    let system = System::new(4, vec![resident]);
    let policy = Registry::standard().build(spec, &system).map_err(|error| error.to_string())?;
    // A program enters every `GAP` on average, so twice that time is always enough.
    let tenth = Churn::GAP * (programs as i64 / 10).max(1);
    let tenths = std::sync::Mutex::new(Vec::new());
    let progress = |now: Time| {
        let peak = peak_memory_kib().unwrap_or(0);
        let mut tenths = tenths.lock().expect("nothing panics with it");
        if now.since_start() >= tenth * (tenths.len() as i64 + 1) {
            println!("simulated {now}: peak memory {peak} KiB");
            tenths.push(peak);
        }
    };
    let options = SimOptions {
        seed,
        progress: Some(&progress),
        ..SimOptions::until(Time::ZERO + tenth * 10)
    };
    let mut churn = Churn::new(seed, MOST);
    let outcome = simulate_with(&system, policy, &mut NoRecord, &options, &mut churn)
        .map_err(|error| error.to_string())?;
    let peak = peak_memory_kib().unwrap_or(0);
    let tenths = tenths.into_inner().expect("nothing panics with it");
    let growth = peak - tenths.first().copied().unwrap_or(peak);
    println!(
        "{spec}: {} programs asked, {} were refused, {} left; highest id {}; {} events; \
         peak memory {peak} KiB, {growth} KiB more than after the first tenth",
        churn.asked, churn.refused, churn.left, churn.highest, outcome.events
    );
    if churn.refused == churn.asked {
        return Err(format!("{spec} let no program enter: nothing is shown"));
    }
    Ok(growth <= MOST_GROWTH_KIB && churn.highest.0 as usize <= MOST)
}
