//! Machines with more CPUs than a word has bits. There, policies maintain state to find a CPU
//! without a scan. They do not build it for small machines, which other tests draw.

use layland_checker::check;
use layland_gen::{Affinities, Periods, Recipe, Utilizations};
use layland_model::{Algorithm, Duration, Rate, System, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Trace;

fn system(cpus: usize, percent: i64, affinities: Affinities, seed: u64) -> System {
    let total = Rate::new(cpus as i64 * percent, 100);
    let utilizations =
        Utilizations::RandFixedSum { tasks: 4 * cpus, total, min: Rate::ZERO, max: Rate::ONE };
    let mut recipe = Recipe::new(cpus, utilizations, seed);
    recipe.affinities = affinities;
    recipe.periods = Periods::LogUniform {
        min: Duration::from_ms(5),
        max: Duration::from_ms(20),
        granularity: Duration::from_ms(1),
    };
    recipe.generator().and_then(|generator| generator.generate(0)).expect("the recipe is feasible")
}

/// Checks every policy that accepts a system, and returns the number of policies. Mixed-criticality
/// policies are excluded, because each of their CPUs has its own tasks.
fn keep_their_rules(system: &System) -> usize {
    let mut kept = 0;
    for info in registry().iter() {
        let (info, given) = registry().parse(&info.name).expect("it is a name");
        if let Algorithm::MixedCriticality(_) = info.algorithm(&given) {
            continue;
        }
        let Ok(policy) = registry().build(&info.name, system) else { continue };
        let (rule, mut trace) = (policy.rule(), Trace::default());
        simulate(system, policy, &mut trace, &SimOptions::until(Time::from_ms(15)))
            .expect("in range");
        let report = check(&trace, system, &rule, 5);
        assert!(report.is_clean(), "{}: {report}", info.name);
        kept += 1;
    }
    kept
}

#[test]
fn rules_hold_on_large_machines() {
    for (cpus, percent, seed) in [(70, 80, 1), (130, 99, 3)] {
        let kept = keep_their_rules(&system(cpus, percent, Affinities::Global, seed));
        assert!(kept >= 20, "{kept} policies with {cpus} CPUs");
    }
}

#[test]
fn rules_hold_on_large_machines_with_affinities() {
    for (cpus, percent, seed) in [(72, 70, 4), (128, 85, 5)] {
        let affinities = Affinities::Levels { sockets: 2 };
        let kept = keep_their_rules(&system(cpus, percent, affinities, seed));
        assert!(kept >= 8, "{kept} policies with {cpus} CPUs");
    }
}
