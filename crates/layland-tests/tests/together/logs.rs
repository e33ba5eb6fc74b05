//! Damaged logs of runs reach no policy: `replay` reports the impossible record, or finds another decision.
//!
//! Logs are made from simulations of every policy, in the form in which an engine for threads
//! writes them. A longer run:
//! `CASES=100 cargo test --release -p layland-tests --test together logs`.

use layland_gen::Random;
use layland_linux::{Entry, Log, LogFile, Record, replay};
use layland_model::{OnMiss, Request, RequestKind, System};
use layland_policy::{Action, Event};
use layland_sim::{SimOptions, simulate};
use layland_testkit::logged::{Logged, Step};
use layland_testkit::mixed::draw_set;
use layland_testkit::preempted::Hasty;
use layland_testkit::registry;
use layland_testkit::strategies::{periodic_system, rich_system, threads};
use layland_testkit::traces::mutate;
use layland_trace::NoRecord;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Returns the entry of an event in a log.
fn told(event: &Event, system: &System) -> Entry {
    let index_of = |wanted: &dyn Fn(&RequestKind) -> bool| {
        let mut all = system.requests.iter();
        all.position(|Request { kind, .. }| wanted(kind)).expect("it was asked for") as u32
    };
    match event.clone() {
        Event::CpuOnline { cpu } => Entry::Online { cpu },
        Event::CpuOffline { cpu } => Entry::Offline { cpu },
        Event::Join { task, request, .. } => Entry::Join { task, request },
        Event::Leave { task } => Entry::Leave { task },
        Event::Reconfigure { task, change, request } => {
            let kind = RequestKind::Reconfigure(task, change);
            Entry::Asks { index: index_of(&|other| *other == kind), request }
        }
        Event::SetClusterCpus { cluster, cpus, request } => {
            let kind = RequestKind::SetClusterCpus { cluster, cpus };
            Entry::Asks { index: index_of(&|other| *other == kind), request }
        }
        Event::Arrival { job, release, deadline } => Entry::Arrival { job, release, deadline },
        Event::Measured { job, executed } => Entry::Measured { job, executed },
        Event::Release { job, release, deadline } => Entry::Release { job, release, deadline },
        Event::Completion { job, cpu, then } => Entry::Completion { job, cpu, then },
        Event::Ended { job } => Entry::Ended { job },
        Event::BudgetExhausted { job, cpu } => Entry::Budget { job, cpu },
        Event::Timer { id } => Entry::Timer { id },
        Event::Step { .. } => panic!("logs are of threads, which have no steps"),
    }
}

fn decided(action: &Action, log: &mut Log) -> Entry {
    match action.clone() {
        Action::Run { cpu, job, budget } => Entry::Run { cpu, job, budget },
        Action::Idle { cpu } => Entry::Idle { cpu },
        Action::SetTimer { id, at } => Entry::SetTimer { id, at },
        Action::ClearTimer { id } => Entry::ClearTimer { id },
        Action::Abort { job } => Entry::Abort { job },
        Action::EndJob { job, used_up } => Entry::EndJob { job, used_up },
        Action::SetDates { job, release, deadline } => Entry::SetDates { job, release, deadline },
        Action::SetSpeed { cpu, speed } => Entry::SetSpeed { cpu, speed },
        Action::Note { note } => Entry::Note(note),
        Action::Grant { .. } => panic!("logs are of threads, which have no steps"),
        Action::Refuse { request, reason } => {
            Entry::Refuse { request, reason: log.refusal(&reason) }
        }
    }
}

/// Returns the log that an engine would have written.
fn log_of(steps: &[Step], system: &System) -> Log {
    let mut log = Log::default();
    for step in steps {
        let mut entries: Vec<Entry> = step.events.iter().map(|event| told(event, system)).collect();
        entries.push(Entry::Decide { actions: step.actions.len() as u32, cost_ns: 0 });
        for action in &step.actions {
            entries.push(decided(action, &mut log));
        }
        log.records.extend(entries.into_iter().map(|entry| Record { at: step.now, entry }));
    }
    log
}

/// Jobs that end while they are being preempted are recorded as by an engine for threads, and a
/// replay accepts them. An end is impossible for a job that is on a CPU, that was never on one, or
/// that is not ready.
#[test]
fn ends_of_preempted_jobs_are_replayed() {
    let mut runner = TestRunner::deterministic();
    let (mut ends, mut refused) = (0u64, 0u64);
    let mut policies = std::collections::BTreeSet::new();
    for case in 0..2 * cases() {
        let mut systems: Vec<System> = Vec::new();
        for strategy in [periodic_system().boxed(), rich_system().boxed(), threads().boxed()] {
            systems.push(strategy.new_tree(&mut runner).expect("it can be drawn").current());
        }
        systems.push(draw_set(&mut Random::of_task(case, 3)));
        for system in &systems {
            for info in registry() {
                let build = || registry().build(&info.name, system);
                let Ok(policy) = build() else { continue };
                let logged = Logged::new(policy);
                let steps = logged.log();
                let periods = system.tasks.values().map(|task| task.period).max();
                let until = layland_model::Time::ZERO + periods.unwrap_or_default() * 3;
                let options = SimOptions { seed: case, ..SimOptions::until(until) };
                let hasty = Hasty::new(logged, system, case);
                let outcome = simulate(system, hasty, &mut NoRecord, &options);
                let ended = outcome.expect("it is short").policy.ended;
                let log = log_of(&steps.lock().expect("nobody panicked"), system);
                let replayed = replay(&log, system, &mut *build().expect("it was built before"));
                let replayed = replayed.unwrap_or_else(|error| panic!("{}: {error}", info.name));
                assert_eq!(replayed.divergence, None, "{}", info.name);
                ends += ended;
                if ended > 0 {
                    policies.insert(info.name.clone());
                }
                refused += u64::from(end_is_refused(&log, system, &build));
            }
        }
    }
    assert!(policies.len() > 25, "few policies had a job that ended like this: {policies:?}");
    assert!(ends > 500 && refused > 100, "{ends} ends, {refused} refused");
}

/// Returns true if a log has a completion on a CPU that could be recorded as an end, and a replay rejects that.
fn end_is_refused(
    log: &Log,
    system: &System,
    build: &dyn Fn() -> Result<Box<dyn layland_policy::Policy>, layland_policy::BuildError>,
) -> bool {
    let is_wrong = |record: &Record| {
        let Entry::Completion { job, .. } = record.entry else { return false };
        system.tasks[job.task].on_miss != OnMiss::Abort
    };
    let Some(place) = log.records.iter().rposition(is_wrong) else { return false };
    let mut wrong = log.clone();
    if let Entry::Completion { job, .. } = wrong.records[place].entry {
        wrong.records[place].entry = Entry::Ended { job };
    }
    let found = replay(&wrong, system, &mut *build().expect("it was built before"));
    let error = found.expect_err("a job that is on a CPU signals its end there");
    assert_eq!(error.record, place);
    true
}

fn cases() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(4)
}

#[test]
fn damaged_logs_do_not_reach_a_policy() {
    let mut runner = TestRunner::deterministic();
    let mut random = Random::of_task(17, 0);
    let (mut damaged, mut impossible, mut diverged, mut same) = (0u64, 0u64, 0u64, 0u64);
    let mut policies = std::collections::BTreeSet::new();
    for case in 0..cases() {
        let mut systems: Vec<System> = Vec::new();
        for strategy in [periodic_system().boxed(), rich_system().boxed(), threads().boxed()] {
            systems.push(strategy.new_tree(&mut runner).expect("it can be drawn").current());
        }
        systems.push(draw_set(&mut Random::of_task(case, 3)));
        for system in &systems {
            let set = layland_config::to_toml(system);
            for info in registry() {
                let build = || registry().build(&info.name, system);
                let Ok(policy) = build() else { continue };
                let logged = Logged::new(policy);
                let steps = logged.log();
                let periods = system.tasks.values().map(|task| task.period).max();
                let until = layland_model::Time::ZERO + periods.unwrap_or_default() * 3;
                let options = SimOptions { seed: case, ..SimOptions::until(until) };
                simulate(system, logged, &mut NoRecord, &options).expect("it is short");
                let steps = steps.lock().expect("nobody panicked");
                let log = log_of(&steps, system);
                let replayed = replay(&log, system, &mut *build().expect("it was built before"));
                let replayed =
                    replayed.unwrap_or_else(|error| panic!("{}: {error}\n{set}", info.name));
                assert_eq!(replayed.divergence, None, "{}\n{set}", info.name);
                policies.insert(info.name.clone());

                let file =
                    LogFile { policy: info.name.to_string(), seed: case, set: set.clone(), log };
                let mut bytes = Vec::new();
                file.write(&mut bytes).expect("memory is enough");
                for _ in 0..25 {
                    let mut text = bytes.clone();
                    let kind = random.below(mutate::OF_TEXTS.len() as u64) as usize;
                    mutate::text(kind, &mut text, &mut random);
                    damaged += 1;
                    let Ok(text) = String::from_utf8(text) else { continue };
                    let Ok(read) = LogFile::read(&text) else { continue };
                    match replay(&read.log, system, &mut *build().expect("it was built before")) {
                        Err(_) => impossible += 1,
                        Ok(found) if found.divergence.is_some() => diverged += 1,
                        Ok(_) => same += 1,
                    }
                }
            }
        }
    }
    assert!(policies.len() > 30, "few policies wrote a log: {policies:?}");
    assert!(
        damaged > 1000 && impossible > 100 && diverged > 10 && same > 10,
        "{damaged} damaged: {impossible} impossible, {diverged} diverged, {same} same"
    );
}
