//! Long sequences of runs in which tasks come and go: they must leak nothing and leave nothing
//! behind. By default there are two rounds of each policy; `LAYLAND_SOAK_SECONDS=3600` makes it
//! long.

mod common;

use common::{alone, task, try_run};
use layland_linux::trace::verify;
use layland_linux::{now_ns, replay};
use layland_model::{Duration, Request, RequestKind, System, TaskId, Time};
use layland_policy::Registry;

const RUN: Duration = Duration::from_secs(6);
const TASKS: u32 = 24;
/// The permitted growth of resident memory: about twice the size of one run's log.
const GROWTH_KIB: i64 = 16 << 10;

/// A generator (splitmix64), so that a failure is repeatable.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound) as i64
    }
}

/// About a third of the tasks are present at any time; together they use a quarter of a CPU.
fn system(random: &mut Random) -> System {
    let mut tasks = Vec::new();
    let mut requests = Vec::new();
    for index in 0..TASKS {
        let period = 20 + random.below(60);
        let mut one = task(&format!("t{index}"), 1 + period / 50, period);
        let joins = random.below(RUN.ns() as u64);
        one.offset = Duration::from_ns(joins);
        tasks.push(one);
        let leaves = joins + RUN.ns() / 10 + random.below(RUN.ns() as u64 / 2);
        requests
            .push(Request { at: Time::from_ns(leaves), kind: RequestKind::Leave(TaskId(index)) });
    }
    requests.sort_by_key(|request| request.at);
    let mut system = System::new(1, tasks);
    system.requests = requests;
    assert_eq!(system.validate(), []);
    system
}

/// Returns the threads, open files and child processes of this process.
fn held() -> (usize, usize, String) {
    let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
    let own = std::process::id();
    let children = format!("/proc/{own}/task/{own}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    (count("/proc/self/task"), count("/proc/self/fd"), children)
}

/// Returns the resident memory in KiB.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn nothing_leaks() {
    let _alone = alone();
    let seconds = std::env::var("LAYLAND_SOAK_SECONDS").ok();
    let seconds: i64 = seconds.map_or(36, |text| text.parse().expect("a number of seconds"));
    let middle = now_ns() + seconds * 500_000_000;
    let until = now_ns() + seconds * 1_000_000_000;
    let mut random = Random(seconds as u64);
    let mut before = None;
    let mut settled = 0;
    for round in 0.. {
        let spec = ["p-edf", "g-rm", "dl"][round % 3];
        let system = system(&mut random);
        let policy = Registry::standard().build(spec, &system).unwrap();
        let rule = policy.rule();
        let Some(outcome) = try_run(&system, policy, RUN) else { return };
        let broken = verify(&outcome.log, &system, &rule);
        assert_eq!(broken, Vec::<String>::new(), "round {round} under {spec}");
        let mut fresh = Registry::standard().build(spec, &system).unwrap();
        let replayed = replay(&outcome.log, &system, &mut *fresh).unwrap();
        assert!(replayed.divergence.is_none(), "round {round}: {:?}", replayed.divergence);
        assert!(outcome.decisions > 100, "round {round}: {}", outcome.decisions);
        drop(outcome);
        let now = held();
        assert_eq!(&now, before.get_or_insert_with(|| now.clone()), "round {round}");
        // The allocator keeps the memory that it has; by the middle of the test it has enough.
        let memory = resident();
        if now_ns() < middle {
            settled = settled.max(memory);
        } else {
            let most = settled + GROWTH_KIB;
            assert!(memory <= most, "round {round}: {memory} KiB, and {settled} in the first half");
        }
        if now_ns() + RUN.ns() > until {
            break;
        }
    }
}
