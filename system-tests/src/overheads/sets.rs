//! The measured task sets: those of Section 6.1 of Tang, Anderson and Abeni 2021, and their
//! Examples 5 and 6.
//!
//! Eight CPUs, a total utilization of 7.52, and 16 or 40 tasks, packed by worst fit onto CPUs of
//! capacity 0.95; tasks that do not fit migrate. Periods are drawn as in the experiment `tang2021`.
//! The tasks of the paper come from rt-app; here they are threads that never block, so that each
//! job uses the whole budget.

use layland_config::{Format, Host, demo, read, to_toml};
use layland_gen::{GenError, Periods, Recipe, Utilizations};
use layland_model::{Behaviour, CpuSet, Duration, Rate, System};
use layland_offline::{Heuristic, semi_partition};

/// The CPUs of the paper's cluster.
pub const CPUS: u32 = 8;

/// The divisors of 3.6 s between 20 and 200 ms, in milliseconds.
const PERIODS_MS: [i64; 20] =
    [20, 24, 25, 30, 36, 40, 45, 48, 50, 60, 72, 75, 80, 90, 100, 120, 144, 150, 180, 200];
const SEED: u64 = 2021;

/// System `index` with this number of tasks, on `cpus` CPUs of which 94 % are used.
///
/// # Errors
///
/// Returns an error if this number of tasks cannot have that utilization.
pub fn drawn(cpus: u32, tasks: usize, index: u64) -> Result<System, GenError> {
    // 7.52 of 8 CPUs.
    let total = Rate::new(i64::from(cpus) * 47, 50);
    let utilizations = Utilizations::RandFixedSum { tasks, total, min: Rate::ZERO, max: Rate::ONE };
    let mut recipe = Recipe::new(cpus as usize, utilizations, SEED);
    recipe.periods = Periods::Choice(PERIODS_MS.map(Duration::from_ms).to_vec());
    let mut system = recipe.generate(index)?;
    let cpu_of = semi_partition(&system, Heuristic::Wfd, &Rate::new(19, 20));
    for (id, cpu) in cpu_of.iter() {
        let task = &mut system.tasks[id];
        task.affinity = cpu.map(CpuSet::single);
        task.behaviour = Behaviour::Hog;
    }
    Ok(system)
}

/// The tasks that may migrate.
#[must_use]
pub fn migrating(system: &System) -> usize {
    system.tasks.values().filter(|task| task.affinity.is_none()).count()
}

/// Formats a system as a task-set file.
#[must_use]
pub fn file(system: &System) -> String {
    to_toml(system)
}

/// A task set that comes with the program.
///
/// # Panics
///
/// Panics if there is no set with this name.
#[must_use]
pub fn bundled(name: &str) -> System {
    let text = demo(name).expect("a bundled task set").text;
    let loaded = read(name, text.as_bytes(), Format::Toml, &Host::default());
    loaded.unwrap_or_else(|report| panic!("{}", report.plain())).system
}
