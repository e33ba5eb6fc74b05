//! The effect of overheads on RUN and QPS: the accounting of Compagnin et al., which guarantees
//! nothing.

use layland_analysis::optimal::overhead::{Costs, inflate};
use layland_analysis::overheads::Inflation;
use layland_model::{Rate, System, TaskMap};
use layland_policy::PolicyOptions;
use layland_policy::fair::packing_heuristic;

/// Returns the growth of each task of a system with overheads, and a sentence about it. Even if the
/// set still fits, nothing is guaranteed: the number of preemptions is an average for RUN, and a
/// rule of thumb for QPS.
pub(crate) fn inflated(
    system: &System,
    options: &PolicyOptions,
) -> Result<(TaskMap<Inflation>, String), String> {
    let fit = packing_heuristic(options).map_err(|refusal| refusal.to_string())?;
    let costs = Costs::from(&system.platform.overheads);
    let inflated =
        inflate(system, &costs, fit).map_err(|refusal| format!("overheads: {refusal}"))?;
    let tasks = inflated.system.tasks.values().map(|task| Inflation {
        terms: inflated.terms.clone(),
        left: Rate::ONE,
        wcet: task.own_wcet(),
    });
    let [run, qps] = inflated.preemptions;
    let sentence = format!(
        "with overheads of {} per job (k_RUN = {run}, k_QPS = {qps}; Compagnin et al. 2015) the tasks still fit: \
         no guarantee, because single jobs are preempted more often than on average",
        inflated.added
    );
    Ok((tasks.collect(), sentence))
}

#[cfg(test)]
mod tests {
    use crate::{AssessOptions, assess};
    use layland_analysis::Verdict;
    use layland_model::{Duration, Overheads, Service, System, Task};
    use layland_policy::Registry;

    fn with_overheads(wcet_us: i64) -> System {
        let task = |name| Task::implicit(name, Service::from_us(wcet_us), Duration::from_ms(10));
        let mut system = System::new(2, ["a", "b", "c"].map(task).to_vec());
        let us = Duration::from_us;
        let overheads = Overheads { scheduling: us(10), migration: us(5), ..Overheads::default() };
        system.platform.overheads = overheads;
        system
    }

    #[test]
    fn overheads_are_named_and_guarantee_nothing() {
        let registry = Registry::standard();
        for spec in ["run", "qps"] {
            let found = assess(&registry, spec, &with_overheads(6_000), &AssessOptions::by_tests())
                .unwrap();
            assert_eq!(found.verdict, Verdict::Unknown, "{:?}", found.reasons);
            // 10 once, plus 10 + 5 for each of k_RUN = ceil(4 / 2) preemptions.
            let tasks = found.inflation.unwrap();
            for task in tasks.values() {
                let us = Duration::from_us;
                assert_eq!(task.terms, [("scheduling", us(10)), ("k_RUN preemptions", us(30))]);
                assert_eq!(task.wcet, Service::from_us(6_040));
            }
            let said = found.reasons.last().unwrap();
            assert!(
                said.starts_with("with overheads of 40us per job (k_RUN = 2, k_QPS = 1"),
                "{said}"
            );
            let full = assess(&registry, spec, &with_overheads(6_660), &AssessOptions::by_tests())
                .unwrap();
            assert!(full.inflation.is_none() && full.verdict == Verdict::Unknown);
            let said = full.reasons.last().unwrap();
            assert!(said.contains("the CPUs cannot do all"), "{said}");
        }
    }
}
