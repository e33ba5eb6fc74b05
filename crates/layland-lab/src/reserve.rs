//! Room for the overheads of a kernel in the WCETs of drawn systems, as in Compagnin, Mezzetti,
//! Vardanega 2015, Section V-B.
//!
//! The paper adds `max(OH_RUN, OH_QPS)` to the WCETs of tasks, and its utilizations are those of the
//! inflated tasks: up to 100 %. So a drawn WCET is an inflated one, `C' = C + max(OH_RUN, OH_QPS)`, and
//! jobs execute for `C`. The formulas are in `layland_analysis::optimal::overhead`.

use layland_analysis::optimal::overhead::{Costs, Heuristic, room};
use layland_model::{Duration, ExecutionModel, Rate, System};

/// Returns one of the costs, to set it.
type Place = fn(&mut Costs) -> &mut Duration;

/// The costs of the formulas, by the names that they have there.
const COSTS: [(&str, Place); 8] = [
    ("REL", |costs| &mut costs.release),
    ("SCHED", |costs| &mut costs.scheduling),
    ("CSW", |costs| &mut costs.context_switch),
    ("LAT", |costs| &mut costs.interrupt),
    ("CLK", |costs| &mut costs.tick),
    ("TUP", |costs| &mut costs.tree_update),
    ("PRE", |costs| &mut costs.preemption),
    ("MIG", |costs| &mut costs.migration),
];

/// Reads costs as `REL:2us,SCHED:3us`; those that are left out are zero.
pub(crate) fn costs(text: &str) -> Result<Costs, String> {
    let mut costs = Costs::default();
    let mut named: Vec<&str> = Vec::new();
    for part in text.split(',') {
        let names = || COSTS.map(|(name, _)| name).join(", ");
        let (name, length) = part
            .trim()
            .split_once(':')
            .ok_or_else(|| format!("`{part}` is not a cost: write it as REL:2us"))?;
        let Some((name, of)) = COSTS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("`{name}` is not a cost: the costs are {}", names()));
        };
        if named.contains(name) {
            return Err(format!("{name} is there twice"));
        }
        named.push(name);
        let length: Duration = length.parse().map_err(|error| format!("{name}: {error}"))?;
        if length < Duration::ZERO {
            return Err(format!("{name} is negative"));
        }
        *of(&mut costs) = length;
    }
    Ok(costs)
}

/// Lets jobs execute for the WCETs of their tasks without the overheads that these have room for.
///
/// # Errors
/// Returns the reason if RUN cannot schedule the system, or a WCET is no longer than the overheads.
pub(crate) fn reserve(system: &mut System, costs: &Costs) -> Result<(), String> {
    let reserved = room(system, costs, Heuristic::Ffd).map_err(|refusal| refusal.to_string())?;
    for task in system.tasks.values_mut() {
        let budget = task.own_wcet().ns();
        // A fraction of the WCET is rounded up, so that this one is exact.
        let share = Rate::new(budget - reserved.added.ns(), budget);
        task.execution = ExecutionModel::Fraction(share);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Service, Task};

    /// Four tasks of 3/5 on three CPUs make a tree with one reduction (k_RUN = 2), and k_QPS = 2.
    /// SCHED^ = 3 + 5 + 7 = 15; OH_RUN = 2 + 15 + 1 + 2 (4 + 15 + 11) = 78; OH_QPS = 18 + 2 (15 + 11) = 70.
    #[test]
    fn jobs_execute_for_their_wcets_without_the_room() {
        let text = "REL:2us, SCHED:3us,CSW:5us,LAT:7us,CLK:1us,TUP:4us,PRE:6us,MIG:11us";
        let costs = costs(text).expect("these are costs");
        let task = |name| Task::implicit(name, Service::from_us(6_000), Duration::from_ms(10));
        let mut system = System::new(3, ["a", "b", "c", "d"].map(task).to_vec());
        reserve(&mut system, &costs).expect("they fit");
        for task in system.tasks.values() {
            let ExecutionModel::Fraction(share) = &task.execution else { panic!("{task:?}") };
            assert_eq!(*share, Rate::new(6_000 - 78, 6_000));
            assert_eq!(task.own_wcet(), Service::from_us(6_000));
        }
        let short = |name| Task::implicit(name, Service::from_us(78), Duration::from_ms(10));
        let mut system = System::new(3, ["a", "b"].map(short).to_vec());
        // Without a reduction OH_RUN = 18 + 30 = 48, and OH_QPS = 70.
        reserve(&mut system, &costs).expect("70 us are less than 78");
        let mut system = System::new(
            3,
            [("a", 70)]
                .map(|(name, us)| Task::implicit(name, Service::from_us(us), Duration::from_ms(10)))
                .to_vec(),
        );
        let refusal = reserve(&mut system, &costs).unwrap_err();
        assert!(refusal.contains("task `a`"), "{refusal}");
    }

    #[test]
    fn mistakes_are_said() {
        for (text, message) in [
            ("", "`` is not a cost"),
            ("REL", "`REL` is not a cost"),
            ("TREE:1us", "`TREE` is not a cost: the costs are REL, SCHED"),
            ("REL:1us,REL:2us", "REL is there twice"),
            ("REL:-1us", "REL"),
            ("REL:soon", "REL: "),
        ] {
            let error = costs(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
