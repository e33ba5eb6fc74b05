//! Memory stays flat while programs come and go: the short form of the campaign `soak`. It is a
//! separate test binary, because the peak memory of a process includes that of all of its tests.

use layland_model::{Duration, Service, System, Task, TaskId, Time};
use layland_policy::Registry;
use layland_sim::{SimOptions, simulate_with};
use layland_testkit::programs::{Churn, peak_memory_kib};
use layland_trace::NoRecord;

#[test]
fn memory_stays_flat_while_programs_come_and_go() {
    let resident = Task::implicit("resident", Service::from_us(100), Duration::from_ms(10));
    let system = System::new(2, vec![resident]);
    let run = |programs: i64| {
        let policy = Registry::standard().build("g-edf", &system).unwrap();
        let until = Time::ZERO + Churn::GAP * programs;
        let mut churn = Churn::new(1, 24);
        simulate_with(&system, policy, &mut NoRecord, &SimOptions::until(until), &mut churn)
            .unwrap();
        assert!(churn.asked as i64 > programs / 2, "{}", churn.asked);
        assert!(churn.highest <= TaskId(26), "{}", churn.highest);
    };
    run(10_000);
    let Some(before) = peak_memory_kib() else {
        eprintln!("skipped: needs /proc");
        return;
    };
    run(100_000);
    let after = peak_memory_kib().expect("it was there before");
    // Ten times the programs must need no more memory, except for the noise of the allocator.
    assert!(after - before < 2048, "{before} KiB became {after} KiB");
}
