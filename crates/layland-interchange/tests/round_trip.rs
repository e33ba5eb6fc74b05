//! A written LITMUS^RT scheduling trace reads back as the same schedule.

use layland_interchange::st_trace;
use layland_model::{Duration, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_trace::{Labels, Trace};
use proptest::prelude::*;

fn simulated(system: &System, policy: &str) -> Trace {
    let policy = layland_policy::Registry::standard().build(policy, system).unwrap();
    let mut trace = Trace::default();
    let options = SimOptions::until(Time::from_ns(200));
    simulate(system, policy, &mut trace, &options).unwrap();
    trace
}

proptest! {
    #[test]
    fn a_schedule_reads_back(
        cpus in 1usize..4,
        tasks in prop::collection::vec((1i64..9, 5i64..20), 1..7),
    ) {
        let task = |(at, &(wcet, period)): (usize, &(i64, i64))| {
            let (wcet, period) = (Service::from_ns(wcet), Duration::from_ns(period));
            Task::implicit(format!("t{at}"), wcet, period)
        };
        let system = System::new(cpus, tasks.iter().enumerate().map(task).collect());
        let labels = Labels::of(&system);
        let trace = simulated(&system, "g-edf");
        let bytes = st_trace::write(&trace, &labels).unwrap();
        prop_assert!(st_trace::looks_like(&bytes));
        let (again, names) = st_trace::read(&bytes).unwrap();
        prop_assert_eq!(&names.tasks, &labels.tasks);
        prop_assert_eq!(&again.segments, &trace.segments);
        // In the file, jobs that end together are ordered by CPU.
        let sorted = |trace: &Trace| {
            let mut jobs = trace.jobs.clone();
            jobs.retain(|record| record.job.release <= again.over);
            jobs.sort_by_key(|record| record.job.id);
            jobs
        };
        prop_assert_eq!(sorted(&again), sorted(&trace));
        // Jobs without any event after their release are beyond the end of the trace that is read.
        if again.jobs.len() == trace.jobs.len() {
            prop_assert_eq!(st_trace::write(&again, &labels).unwrap(), bytes);
        }
    }
}
