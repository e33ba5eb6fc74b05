//! Compares latencies under logical execution time with a simulation that passes data on tick by
//! tick.

use layland_analysis::chains::{Unbounded, let_bound, let_exact};
use layland_model::*;

/// Simulates the chain tick by tick: each register holds the time at which its datum was sampled.
/// Writes come before reads, and the end of the chain first.
fn tick_by_tick(system: &System, chain: &Chain) -> Latency {
    let tasks: Vec<&Task> = chain.tasks.iter().map(|&id| &system.tasks[id]).collect();
    let all = system.hyperperiod().unwrap().ns();
    let span: i64 = tasks.iter().map(|task| 4 * task.period.ns()).sum();
    let (begin, end) = (-2 * span - 2 * all, 3 * all + 2 * span);
    let mut registers: Vec<Option<i64>> = vec![None; tasks.len()];
    // Data that jobs have read but not written, oldest first; and samples without an answer, each
    // with the previous sample.
    let mut held = vec![std::collections::VecDeque::new(); tasks.len()];
    let (mut waiting, mut before) = (Vec::new(), None);
    let mut longest = [0i64; 4];
    let mut in_use = None;
    for now in begin..end {
        for (place, task) in tasks.iter().enumerate() {
            let due = now - task.write_after().ns() - task.offset.ns();
            if due.rem_euclid(task.period.ns()) != 0 {
                continue;
            }
            let Some(datum) = held[place].pop_front() else { continue };
            registers[place] = datum;
            if place + 1 < tasks.len() {
                continue;
            }
            let counts = now - 2 * span > begin;
            if let (Some(sample), true) = (std::mem::replace(&mut in_use, datum), counts) {
                longest[2] = longest[2].max(now - sample);
            }
            let Some(datum) = datum else { continue };
            waiting.retain(|&(sample, missed): &(i64, Option<i64>)| {
                if sample <= datum && counts {
                    longest[1] = longest[1].max(now - sample);
                    longest[0] = longest[0].max(missed.map_or(0, |missed| now - missed));
                }
                sample > datum
            });
            if counts {
                longest[3] = longest[3].max(now - datum);
            }
        }
        for (place, task) in tasks.iter().enumerate() {
            if (now - task.offset.ns()).rem_euclid(task.period.ns()) != 0 {
                continue;
            }
            let datum = match place {
                0 => {
                    waiting.push((now, before.replace(now)));
                    Some(now)
                }
                _ => registers[place - 1],
            };
            held[place].push_back(datum);
        }
    }
    let [reaction, reduced_reaction, age, reduced_age] =
        longest.map(|ns| Some(Duration::from_ns(ns)));
    Latency { reaction, reduced_reaction, age, reduced_age }
}

/// The next number below `end`, of a sequence that is always the same (SplitMix64).
fn draw(state: &mut u64, end: u64) -> i64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % end) as i64
}

#[test]
fn divisions_find_what_the_data_does() {
    const PERIODS: [i64; 7] = [2, 3, 4, 5, 6, 10, 12];
    for seed in 0..600u64 {
        let mut state = seed;
        let count = 1 + draw(&mut state, 4);
        let tasks = (0..count).map(|at| {
            let period = PERIODS[draw(&mut state, 7) as usize];
            let mut task =
                Task::implicit(at.to_string(), Service::from_ns(1), Duration::from_ns(period));
            task.offset = Duration::from_ns(draw(&mut state, 20));
            task.let_interval = Some(Duration::from_ns(1 + draw(&mut state, period as u64)));
            task
        });
        let mut system = System::new(4, tasks.collect());
        let ids: Vec<TaskId> = system.tasks.ids().collect();
        system.chains.push(Chain::new("c", ids, Communication::Let));
        assert_eq!(system.validate(), []);
        let chain = &system.chains[0];
        let found = let_exact(&system, chain).unwrap();
        assert_eq!(found, tick_by_tick(&system, chain), "seed {seed}");
        assert_eq!(found.reaction, found.age, "seed {seed}");
        let bound = let_bound(&system, chain).unwrap();
        assert!(found.reaction <= Some(bound), "seed {seed}");
        if chain.tasks.len() <= 2 {
            assert_eq!(found.reaction, Some(bound), "seed {seed}");
        }
    }
}

#[test]
fn assumptions_are_asked_for() {
    let task = |name: &str| Task::implicit(name, Service::from_ms(1), Duration::from_ms(10));
    let mut system = System::new(1, vec![task("a"), task("b")]);
    let chain = Chain::new("c", [0, 1].map(TaskId), Communication::Let);
    let second = TaskId(1);
    let max = Duration::from_ms(1);
    system.tasks[second].behaviour = Behaviour::Sporadic(Separation::Uniform { max });
    assert_eq!(let_exact(&system, &chain), Err(Unbounded::NotPeriodic(second)));
    system.tasks[second] = Task { jitter: max, ..task("b") };
    assert_eq!(let_bound(&system, &chain), Err(Unbounded::Released(second)));
    system.tasks[second] = Task { jobs: Some(3), ..task("b") };
    assert_eq!(let_bound(&system, &chain), Err(Unbounded::Ends(second)));
    let prime = Duration::from_ns(999_999_937);
    system.tasks[second] = Task::implicit("b", Service::from_ms(1), prime);
    assert_eq!(let_exact(&system, &chain), Err(Unbounded::ManyJobs));
    assert!(let_bound(&system, &chain).is_ok());
}
