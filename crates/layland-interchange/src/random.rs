//! Random systems and their runs, for tests.

use layland_model::{Duration, OnMiss, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_trace::{Both, Recorder, Trace};
use proptest::prelude::*;

/// Systems with and without overload, in which late jobs continue or are aborted; and a policy.
pub(crate) fn systems() -> impl Strategy<Value = (System, &'static str)> {
    let task = (1i64..9, 5i64..20, 0i64..3);
    let policies = vec!["g-edf", "p-edf:pack=worst-fit", "dl", "qps", "g-rm", "apedf"];
    let policy = prop::sample::select(policies);
    (1usize..4, prop::collection::vec(task, 1..7), any::<bool>(), policy).prop_map(
        |(cpus, tasks, gives_up, policy)| {
            let task = |(at, &(wcet, period, jitter)): (usize, &(i64, i64, i64))| {
                let (wcet, period) = (Service::from_ns(wcet), Duration::from_ns(period));
                let mut task = Task::implicit(format!("t{at}"), wcet, period);
                task.jitter = Duration::from_ns(jitter);
                if gives_up {
                    task.on_miss = OnMiss::Abort;
                }
                task
            };
            (System::new(cpus, tasks.iter().enumerate().map(task).collect()), policy)
        },
    )
}

/// Runs a system and returns the trace and the other recorder.
/// If the policy rejects the system, global EDF runs it.
pub(crate) fn simulated<R: Recorder>(system: &System, policy: &str, recorder: R) -> (Trace, R) {
    let registry = layland_policy::Registry::standard();
    let policy =
        registry.build(policy, system).or_else(|_| registry.build("g-edf", system)).unwrap();
    let options = SimOptions::until(Time::from_ns(200));
    let mut both = Both(Trace::default(), recorder);
    simulate(system, policy, &mut both, &options).unwrap();
    (both.0, both.1)
}
