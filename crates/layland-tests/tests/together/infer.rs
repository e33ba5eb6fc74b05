//! Task sets that are inferred from traces of simulations, compared with the simulated sets: with
//! jitter, preemption, migrations, execution times that vary, traces that begin in the middle, and
//! times in microseconds.

use layland_config::{Comments, Format, Host, TaskComments, read, to_toml_with};
use layland_interchange::infer::{Inferred, Pattern, Taking, Wanted, infer, of_trace};
use layland_interchange::kernel::{
    Counted, JobCounter, ReadOptions, Threads, observe, read as read_trace,
};
use layland_model::{Duration, ExecutionModel, Index, Rate, Service, System, Task, TaskId, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::kernel_text::{TextOptions, jobs_of, kernel_text};
use layland_testkit::observed::{Feature, InferredSet, campaign, held, shown, trace};
use layland_testkit::registry;
use layland_trace::{JobRecord, Labels, Mark, MarkKind, Trace};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The length of a run, in which the longest period fits fifty times.
const UNTIL: Time = Time::from_ms(1_500);
const LONGEST_US: i64 = 30_000;

#[derive(Clone, Debug)]
struct Drawn {
    period_us: i64,
    /// The share of the load, relative to the other tasks.
    share: i64,
    offset: i64,
    jitter_percent: i64,
    /// The minimum execution time, in percent.
    least: i64,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (500..LONGEST_US, 10i64..1_000, 0i64..1_000, prop_oneof![Just(0i64), 0i64..20], 20i64..101)
        .prop_map(|(period_us, share, offset, jitter_percent, least)| Drawn {
            period_us,
            share,
            offset,
            jitter_percent,
            least,
        })
}

/// Returns a system whose tasks have a total load of `load` percent of all CPUs.
fn system(cpus: usize, drawn: &[Drawn], load: i64) -> System {
    let all: i64 = drawn.iter().map(|one| one.share).sum();
    let tasks = drawn.iter().enumerate().map(|(index, one)| {
        let period = Duration::from_us(one.period_us);
        let part = load * cpus as i64 * one.share / all;
        let wcet = (period.ns() / 100 * part.min(90)).max(20_000);
        let mut task = Task::implicit(format!("task {index}"), Service::from_ns(wcet), period);
        task.offset = Duration::from_ns(period.ns() / 1_000 * one.offset);
        task.jitter = Duration::from_ns(period.ns() / 100 * one.jitter_percent);
        task.execution = ExecutionModel::Uniform {
            min: Service::from_ns(wcet / 100 * one.least),
            max: Service::from_ns(wcet),
        };
        task.priority = Some(index as i64 + 10);
        task
    });
    let mut system = System::new(cpus, tasks.collect());
    for (index, task) in system.tasks.values_mut().enumerate() {
        task.rank = index as i64;
    }
    system
}

/// Runs the set under the policy, or under its global twin if no partition is found.
fn run(system: &System, policy: &str, seed: u64) -> Trace {
    let built = registry().build(policy, system);
    let global = policy.replace("p-", "g-");
    let policy = built.or_else(|_| registry().build(&global, system)).expect("it takes any set");
    let mut trace = Trace::default();
    let options = SimOptions { seed, ..SimOptions::until(UNTIL) };
    simulate(system, policy, &mut trace, &options).expect("the horizon is in range");
    trace
}

/// Returns the jobs that a kernel can distinguish from their neighbours: their threads slept before and after.
fn alone(jobs: &[JobRecord]) -> impl Iterator<Item = (&JobRecord, Time)> {
    jobs.iter().enumerate().filter_map(|(number, record)| {
        let (end, _) = record.end?;
        let before = number.checked_sub(1).map(|before| jobs[before].end);
        let slept = before.is_none_or(|end| end.is_some_and(|(at, _)| at < record.job.release));
        let sleeps = jobs.get(number + 1).is_none_or(|next| next.job.release > end);
        (slept && sleeps && end < UNTIL).then_some((record, end))
    })
}

/// Checks that the file can be read back as the set, and simulated.
fn is_usable(inferred: &Inferred) -> Result<(), TestCaseError> {
    let words = &inferred.words;
    let of_task = |task: &layland_interchange::infer::TaskWords| TaskComments {
        above: task.above.clone(),
        keys: task.keys.clone(),
    };
    let tasks = words.tasks.iter().map(of_task).collect();
    let text = to_toml_with(&inferred.system, &Comments { head: words.head.clone(), tasks });
    let loaded = read("seen.toml", text.as_bytes(), Format::Toml, &Host::default());
    let loaded = loaded.map_err(|report| TestCaseError::fail(report.plain().to_string()))?;
    prop_assert_eq!(&loaded.system, &inferred.system);
    prop_assert!(inferred.system.validate().is_empty());
    let policy = registry().build("strong-edf", &inferred.system).expect("it takes affinities");
    let until = SimOptions::until(Time::from_ms(50));
    simulate(&inferred.system, policy, &mut Trace::default(), &until).expect("in range");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn what_is_inferred_is_what_was_simulated(
        cpus in 1usize..4,
        drawn in prop::collection::vec(drawn(), 1..7),
        load in 10i64..75,
        policy in prop::sample::select(vec!["g-edf", "p-edf", "g-rm", "p-rm", "g-fp", "p-fp"]),
        seed: u64,
        is_coarse: bool,
        from_ms in prop_oneof![Just(0i64), 1i64..200],
    ) {
        let system = system(cpus, &drawn, load);
        prop_assert!(system.validate().is_empty());
        let trace = run(&system, policy, seed);
        let is_edf = policy.ends_with("edf");
        // Delays that no thread of higher priority explains count as execution, since a kernel
        // shows its priorities.
        let before = |task: usize| {
            let period = |task: usize| drawn[task].period_us;
            if policy.ends_with("rm") {
                (0..task).chain(task + 1..drawn.len())
                    .filter(|&other| (period(other), other) < (period(task), task))
                    .count()
            } else {
                task
            }
        };
        let priorities: Vec<i32> = (0..system.tasks.len())
            .map(|task| if is_edf { -1 } else { before(task) as i32 + 10 })
            .collect();
        let from = Time::from_ms(from_ms);
        let start_ns = 77_000_000_000;
        let options = TextOptions { start_ns, is_coarse, priorities: priorities.clone(), from };
        let text = kernel_text(&trace, &Labels::of(&system), &options);
        let seen = observe(&text).expect("it has events");
        prop_assert_eq!(seen.threads.iter().map(|thread| thread.torn).sum::<u64>(), 0);
        let exact = Taking { tolerance: Rate::ZERO, ..Taking::default() };
        let inferred = infer(&seen, Wanted::RealTime, &exact);
        is_usable(&inferred)?;
        is_usable(&infer(&seen, Wanted::RealTime, &Taking::default()))?;
        prop_assert_eq!(inferred.chosen.others, 0);
        for (task, estimate) in inferred.system.tasks.values().zip(&inferred.chosen.tasks) {
            let Some((id, own)) = system.tasks.iter().find(|(_, own)| own.name == task.name) else {
                return Err(TestCaseError::fail(format!("{} is none", task.name)));
            };
            prop_assert_eq!(task.priority, Some(i64::from(priorities[id.index()])));
            let jobs = jobs_of(&trace, id.index());
            let whole: Vec<(&JobRecord, Time)> =
                alone(&jobs).filter(|(record, _)| record.job.release >= from).collect();
            let longest = whole.iter().map(|(record, _)| record.executed).max().unwrap_or_default();
            // Each of the switches of a job may be a microsecond off.
            let parts = trace.segments.iter().filter(|segment| segment.job.task == id).count();
            let rounding = if is_coarse { Service::from_us(1) * parts as i64 } else { Service::ZERO };
            prop_assert!(task.own_wcet() + rounding >= longest, "{}: {longest} seen", task);
            let is_in_time = whole.len() + 2 >= jobs.iter().filter(|job| job.job.release >= from).count();
            // To a kernel, two jobs without a sleep between them are one long job.
            let ended = jobs.iter().filter(|job| job.end.is_some_and(|(end, _)| end < UNTIL)).count();
            let is_each_alone = alone(&jobs).count() == ended;
            if is_in_time && is_each_alone && !is_coarse {
                let rounded = (longest.ns() + 999) / 1_000;
                prop_assert!(task.own_wcet().ns() <= rounded * 1_000, "{}: {longest} seen", task);
            }
            if !is_in_time || whole.len() < 30 {
                continue;
            }
            let Pattern::Periodic { period, start, jitter, .. } = estimate.arrivals.pattern else {
                return Err(TestCaseError::fail(format!("{own} is periodic: {estimate:?}")));
            };
            let error = (period - own.period).ns().abs();
            prop_assert!(error * 100 <= own.period.ns(), "{} and not {}", period, own.period);
            // The start is relative to the first event, from which the clock of the trace counts.
            let begin = start + seen.origin_ns - start_ns - own.offset.ns();
            let off = begin.rem_euclid(own.period.ns());
            let off = off.min(own.period.ns() - off);
            let allowed = own.jitter.ns() + own.period.ns() / 100 + 1_000;
            prop_assert!(off <= allowed, "{own} begins {off} ns off");
            // Jitter also makes the period uncertain, which adds to the jitter.
            let spread = jitter.ns() - own.jitter.ns() * 5 / 4;
            prop_assert!(spread <= own.period.ns() / 50 + 2_000, "{own}: jitter {jitter}");
        }
        // No task with enough jobs is missing.
        for (id, task) in system.tasks.iter() {
            let whole = alone(&jobs_of(&trace, id.index()))
                .filter(|(record, _)| record.job.release >= from)
                .count();
            let is_there = inferred.system.tasks.values().any(|own| own.name == task.name);
            prop_assert!(is_there || whole < 4, "{} has {whole} jobs", task.name);
        }
    }

    /// A trace of a simulation contains all facts about its set.
    #[test]
    fn a_trace_of_a_simulation_gives_its_set(
        cpus in 1usize..4,
        drawn in prop::collection::vec(drawn(), 1..6),
        load in 10i64..75,
        seed: u64,
    ) {
        let mut system = system(cpus, &drawn, load);
        system.tasks.values_mut().for_each(|task| {
            task.priority = None;
            task.execution = ExecutionModel::Wcet;
        });
        let trace = run(&system, "g-edf", seed);
        let seen = of_trace(&trace, &Labels::of(&system));
        let exact = Taking { tolerance: Rate::ZERO, ..Taking::default() };
        let inferred = infer(&seen, Wanted::RealTime, &exact);
        prop_assert_eq!(inferred.system.tasks.len(), system.tasks.len());
        is_usable(&inferred)?;
        for task in inferred.system.tasks.values() {
            let own = system.tasks.values().find(|own| own.name == task.name).expect("it is there");
            prop_assert_eq!(task.period, own.period);
            prop_assert_eq!(task.deadline, own.deadline);
            prop_assert_eq!(task.own_wcet(), own.own_wcet());
            prop_assert_eq!(task.offset, own.offset);
            prop_assert!(task.jitter <= own.jitter, "{} of {}", task.jitter, own.jitter);
        }
    }
}

/// The short form; the campaign `observed` of the test kit is the long one.
#[test]
fn no_set_promises_less_than_its_trace_shows() {
    let found = campaign(300, 1);
    assert!(found.broken.is_empty(), "{:#?}", found.broken);
    // The answer must not always be unknown: plain traces have to be explained.
    for (feature, tally) in &found.tallies {
        let of = format!("{feature:?}: {tally:?}");
        assert!(!feature.is_plain() || tally.unexplained + tally.nothing == 0, "{of}");
    }
    let plain = Feature::ALL.iter().filter(|feature| feature.is_plain());
    let guaranteed: u64 = plain.map(|feature| found.tallies[feature].guaranteed).sum();
    assert!(guaranteed > 30, "{guaranteed} sets are guaranteed");
}

/// Returns the state of a thread after its last event: `woken`, `runs` or `left`.
fn state_at_end(text: &str, pid: u32) -> Option<&'static str> {
    let names = |line: &str, key: &str| line.contains(&format!(" {key}={pid} "));
    text.lines().rev().find_map(|line| match line {
        line if names(line, "next_pid") => Some("runs"),
        line if names(line, "prev_pid") => Some("left"),
        line if line.contains("sched_wak") && names(line, "pid") => Some("woken"),
        _ => None,
    })
}

/// Jobs that are counted piece by piece equal those that are rebuilt from the whole trace, except
/// for jobs that began before it.
#[test]
fn what_is_counted_as_a_trace_grows_is_what_the_whole_shows() {
    let (mut jobs, mut budgets, mut unfinished) = (0, 0, 0);
    for seed in 0..216 {
        let feature = Feature::ALL[seed as usize % Feature::ALL.len()];
        let text = trace(feature, seed).text;
        let Ok(seen) = observe(&text) else { continue };
        let pids: Vec<u32> = seen.threads.iter().filter_map(|thread| thread.pid).collect();
        let task =
            |pid| Task::implicit(format!("{pid}"), Service::from_ms(1), Duration::from_ms(9));
        let system = System::new(8, pids.iter().map(task).collect());
        let of = pids.iter().enumerate().map(|(index, &pid)| (pid, TaskId::from_index(index)));
        let of: BTreeMap<u32, TaskId> = of.collect();
        let threads = Threads::Known(&system, &of);
        let whole = read_trace(&text, &ReadOptions { threads, ..ReadOptions::default() });
        let Ok(whole) = whole else { continue };

        let mut counter = JobCounter::default();
        pids.iter().for_each(|&pid| counter.follow(pid));
        let mut counted = Vec::new();
        for piece in text.as_bytes().chunks(1_000 + 97 * seed as usize) {
            counted.extend(counter.read(std::str::from_utf8(piece).expect("names are plain")));
        }
        counted.extend(counter.finish());

        for (&pid, &task) in &of {
            let mut of_task: Vec<&JobRecord> =
                whole.trace.jobs.iter().filter(|record| record.job.id.task == task).collect();
            of_task.sort_by_key(|record| record.job.id);
            unfinished += of_task.iter().filter(|record| record.end.is_none()).count();
            let over = whole.trace.over;
            let response =
                |record: &&JobRecord| record.end.map_or(over, |(at, _)| at) - record.job.arrival;
            let rebuilt: Vec<Duration> = of_task.iter().map(response).collect();
            let responses = counted.iter().filter_map(|counted| match counted {
                Counted::Job { thread, response } => (*thread == pid).then_some(*response),
                Counted::BudgetUsedUp { .. } => None,
            });
            let responses: Vec<Duration> = responses.collect();
            // The first job may have begun before the trace, and of the last one only the wake-up
            // may be visible.
            let waits = state_at_end(&text, pid) == Some("woken");
            let ran = &responses[..responses.len() - usize::from(waits)];
            let missing = rebuilt.len().saturating_sub(ran.len());
            assert!(missing <= 1, "{feature:?} {seed} {pid}: {responses:?} of {rebuilt:?}");
            assert_eq!(ran, &rebuilt[missing..], "{feature:?} {seed} {pid}");
            jobs += responses.len();
        }
        let is_mark = |mark: &&Mark| matches!(mark.kind, MarkKind::BudgetExhausted(..));
        let marked = whole.trace.marks.iter().filter(is_mark).count();
        let used_up = counted.iter().filter(|one| matches!(one, Counted::BudgetUsedUp { .. }));
        assert_eq!(used_up.count(), marked, "{feature:?} {seed}");
        budgets += marked;
    }
    assert!(jobs > 5_000 && budgets > 50 && unfinished > 20, "{jobs} {budgets} {unfinished}");
}

/// Traces that once led to sets with bounds below the observed values. Each is as small as possible.
#[test]
fn small_traces_are_explained_or_the_set_says_that_they_are_not() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/together/seen");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let mut count = 0;
    for file in files {
        let path = file.expect("it can be listed").path();
        let name = path.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let InferredSet { broken, is_unexplained, is_nothing, is_untrusted, .. } =
            held(&shown(&text));
        assert!(broken.is_empty(), "{name}: {broken:?}");
        assert!(!is_nothing, "{name}");
        // Two traces in sequence.
        assert_eq!(is_untrusted, name == "concat", "{name}");
        // No set of tasks can describe these: a thread that is always throttled, a thread on two
        // CPUs beside two tied threads, and deadlines that no event shows.
        let is_beyond = ["dl-yield", "mixed-affinity", "dl-constrained"].contains(&name.as_str());
        assert_eq!(is_unexplained, is_beyond, "{name}");
        count += 1;
    }
    assert_eq!(count, 35);
}
