use super::super::beside::Kept;
use super::super::foreign::{Budgeted, Outsider, Watched};
use super::*;
use layland_model::Duration;

fn cpus(text: &str) -> CpuSet {
    text.parse().expect("a list of CPUs")
}

/// Requests `runtime` ms of every `period` ms under `dl-sp` on CPUs 1 to 3 of four. Returns the
/// CPUs, or the refusal.
fn ask(
    book: &mut Book,
    foreign: &Foreign,
    name: &str,
    (runtime, period): (i64, i64),
    on: Option<&str>,
) -> Result<String, String> {
    let registry = Registry::standard();
    let terms = Terms {
        registry: &registry,
        regime: Regime::DlSp,
        online: &CpuSet::first(4),
        limit: &Rate::ONE,
        cpus: Some(&cpus("1-3")),
        runs: &[],
        owner: "1",
        now: Time::ZERO,
    };
    let (runtime, period) = (Service::from_ms(runtime), Duration::from_ms(period));
    let mut reservation = Reservation::implicit(name, runtime, period);
    reservation.cpus = on.map(cpus);
    match book.admit(&terms, foreign, &reservation) {
        Ok(granted) => Ok(granted.cpus.to_string()),
        Err(NotGranted::Refused(refused)) => Err(refused.shortfalls[0].to_string()),
        Err(other) => Err(other.to_string()),
    }
}

/// Returns a thread with half a millisecond of every ten, on every CPU.
fn foreign() -> Foreign {
    let name = "other".to_owned();
    let thread = Outsider { number: 7, started: 1, name, cpus: CpuSet::first(4) };
    let period = Duration::from_ms(10);
    let one = Budgeted { thread, runtime: Service::from_us(500), deadline: period, period };
    Foreign { budgeted: vec![one], ..Foreign::default() }
}

#[test]
fn threads_with_a_cpu_each_are_admitted_cpu_by_cpu() {
    let mut book = Book::default();
    let mut ask = |name: &str, c, on| ask(&mut book, &Foreign::default(), name, (c, 10), on);
    assert_eq!(ask("a", 6, Some("1")), Ok("1".to_owned()));
    assert_eq!(ask("b", 6, Some("2")), Ok("2".to_owned()));
    // The policy grants up to 95 % of a CPU.
    assert_eq!(ask("c", 3, Some("1")), Ok("1".to_owned()));
    let full =
        "the densities on CPU 1 would add up to 1.1, but at most 1 is allowed (0.1 too much)";
    assert_eq!(ask("d", 2, Some("1")), Err(full.to_owned()));
    assert!(ask("d", 1, Some("1")).is_err());
    // One of two CPUs, or any CPU: the one with enough free capacity.
    assert_eq!(ask("e", 3, Some("1-2")), Ok("2".to_owned()));
    assert_eq!(ask("f", 9, None), Ok("3".to_owned()));
    assert!(ask("g", 2, None).is_err());
    // A thread that may use all CPUs would run beside threads that are guaranteed one.
    assert!(ask("h", 1, Some("1-3")).is_err());
}

#[test]
fn threads_that_may_use_all_cpus_are_beside_such_alone() {
    let mut book = Book::default();
    let mut ask = |name: &str, c, on| ask(&mut book, &Foreign::default(), name, (c, 20), on);
    assert_eq!(ask("a", 8, Some("1-3")), Ok("1-3".to_owned()));
    assert_eq!(ask("b", 8, None), Ok("1-3".to_owned()));
    let mixed = "the tasks on CPUs 1-3 do not all use the same CPUs";
    assert_eq!(ask("c", 1, Some("2")), Err(mixed.to_owned()));
}

#[test]
fn a_thread_of_a_higher_class_takes_from_every_cpu_it_may_use() {
    let mut book = Book::default();
    let mut ask = |name: &str, c, on| ask(&mut book, &foreign(), name, (c, 10), on);
    // 2 (1/2) (10/10 + 1) = 2 of every 10.
    assert!(ask("a", 8, Some("1")).is_err());
    assert_eq!(ask("b", 7, Some("1")), Ok("1".to_owned()));
    assert!(ask("c", 1, Some("1")).is_err());
    assert_eq!(ask("d", 7, None), Ok("2".to_owned()));
    assert!(ask("e", 1, Some("1-3")).is_err_and(|why| why.contains("SCHED_DEADLINE")));
}

#[test]
fn a_region_has_its_cpus_alone() {
    let (registry, online) = (Registry::standard(), CpuSet::first(4));
    let (first, last) = (cpus("0-1"), cpus("1-3"));
    let of = |regime, cpus| Terms {
        registry: &registry,
        regime,
        online: &online,
        limit: &Rate::ONE,
        cpus,
        runs: &[],
        owner: "1",
        now: Time::ZERO,
    };
    let task = |name| Reservation::implicit(name, Service::from_ms(1), Duration::from_ms(10));
    let mut book = Book::default();
    let mut ask = |terms: Terms<'_>, name| book.admit(&terms, &Foreign::default(), &task(name));
    let granted = ask(of(Regime::KernelDl, Some(&first)), "a").expect("the machine is empty");
    assert_eq!((granted.cpus, granted.is_partition), (first.clone(), true));
    let refused = ask(of(Regime::DlSp, Some(&last)), "b").expect_err("CPU 1 is taken");
    assert_eq!(refused.to_string(), "CPUs 0-1 are under another policy: dl");
    // The partitioned policies have the rest, and a run has CPU 2 for itself.
    let runs = [cpus("2")];
    let beside_a_run = Terms { runs: &runs, ..of(Regime::PRm, None) };
    assert_eq!(ask(beside_a_run, "c").map(|granted| granted.cpus), Ok(cpus("3")));
    let refused = ask(Terms { runs: &runs, ..of(Regime::DlSp, Some(&runs[0])) }, "d");
    assert_eq!(refused, Err(NotGranted::OfRun { run: 0 }));
    let unknown = cpus("3-4");
    let refused = ask(of(Regime::KernelDl, Some(&unknown)), "e");
    assert!(matches!(refused, Err(NotGranted::NoSuchCpus { .. })), "{refused:?}");
}

#[test]
fn where_no_cpu_is_free_it_says_who_has_them() {
    let (registry, online) = (Registry::standard(), CpuSet::first(2));
    let of = |regime, runs| Terms {
        registry: &registry,
        regime,
        online: &online,
        limit: &Rate::ONE,
        cpus: None,
        runs,
        owner: "1",
        now: Time::ZERO,
    };
    let task = |name| Reservation::implicit(name, Service::from_ms(1), Duration::from_ms(10));
    let runs = [CpuSet::first(2)];
    for regime in Regime::ALL {
        let refused = Book::default().admit(&of(regime, &runs), &Foreign::default(), &task("a"));
        assert_eq!(refused, Err(NotGranted::OfRun { run: 0 }), "{}", regime.name());
    }
    let mut taken = Book::default();
    let granted = taken.admit(&of(Regime::DlSp, &[]), &Foreign::default(), &task("a"));
    assert!(granted.is_ok(), "{granted:?}");
    for regime in Regime::ALL.into_iter().filter(|&regime| regime != Regime::DlSp) {
        let refused = taken.clone().admit(&of(regime, &[]), &Foreign::default(), &task("b"));
        let refused = refused.expect_err("all CPUs are those of dl-sp").to_string();
        assert_eq!(refused, format!("CPUs 0-1 are under another policy: {}", Regime::DlSp.name()));
    }
}

#[test]
fn priorities_follow_the_policy_on_each_cpu() {
    let (registry, online) = (Registry::standard(), CpuSet::first(2));
    let mut book = Book::default();
    let asked =
        [("slow", 30, 1), ("fast", 10, 1), ("medium", 20, 1), ("tied", 20, 1), ("b", 20, 0)];
    for (name, period, cpu) in asked {
        let terms = Terms {
            registry: &registry,
            regime: Regime::PRm,
            online: &online,
            limit: &Rate::ONE,
            cpus: Some(&online),
            runs: &[],
            owner: "1",
            now: Time::ZERO,
        };
        let (runtime, period) = (Service::from_ms(1), Duration::from_ms(period));
        let task = Reservation::implicit(name, runtime, period).on(cpus(&format!("{cpu}")));
        book.admit(&terms, &Foreign::default(), &task).expect("there is much room");
    }
    let of = |book: &Book| asked.map(|(name, ..)| book.priority("1", name));
    assert_eq!(of(&book), [Some(87), Some(90), Some(89), Some(88), Some(90)]);
    // A reservation that left has no priority, although it still counts.
    book.leave("1", Time::ZERO, |name| name == "fast");
    assert_eq!(of(&book), [Some(88), None, Some(90), Some(89), Some(90)]);
    assert_eq!(book.count(Regime::PRm), 5);
    assert_eq!(book.priority("2", "slow"), None);
}

/// Returns terms for the only CPU of a machine under `p-fp`.
fn alone<'a>(registry: &'a Registry, online: &'a CpuSet, ms: i64) -> Terms<'a> {
    Terms {
        registry,
        regime: Regime::PFp,
        online,
        limit: &Rate::ONE,
        cpus: None,
        runs: &[],
        owner: "1",
        now: Time::from_ms(ms),
    }
}

/// A foreign thread prolongs the time for which a departed task counts. If it takes 48 ms at once
/// when `high` leaves, `low` still needs 8 ms at 190 ms, and would end at 238 ms below the newcomer.
#[test]
fn a_departed_task_counts_as_long_as_foreign_threads_keep_the_cpu_busy() {
    let (registry, online) = (Registry::standard(), CpuSet::first(1));
    let thread = Outsider { number: 7, started: 1, name: "other".to_owned(), cpus: online.clone() };
    let (used, within) = (Duration::from_ms(24), Duration::from_secs(1));
    let one = Watched { thread, class: "SCHED_FIFO", priority: 95, used, within, in_short: None };
    let foreign = Foreign { watched: vec![one], ..Foreign::default() };
    let task = |name: &str, priority, c, d| {
        let period = Duration::from_secs(1);
        let mut task = Reservation::implicit(name, Service::from_ms(c), period);
        task.deadline = Duration::from_ms(d);
        task.priority = Some(priority);
        task
    };
    let mut book = Book::default();
    let mut ask = |ms, task| book.admit(&alone(&registry, &online, ms), &foreign, &task).is_ok();
    assert!(ask(0, task("high", 1, 40, 88)));
    assert!(ask(0, task("middle", 2, 100, 1_000)));
    assert!(ask(0, task("low", 3, 10, 200)));
    book.leave("1", Time::from_ms(40), |name| name == "high");
    let mut ask = |ms, task| book.admit(&alone(&registry, &online, ms), &foreign, &task).is_ok();
    // 40 + 100 + 10 + 2 * 24 = 198 ms after the departure, the CPU has been quiet.
    assert!(!ask(190, task("newcomer", 1, 40, 88)));
    assert!(ask(238, task("newcomer", 1, 40, 88)));
}

/// The tests of a policy do not know the fair server of the kernel.
#[test]
fn what_would_fit_fits_beside_the_foreign_load() {
    let (registry, online) = (Registry::standard(), CpuSet::first(1));
    let server =
        Kept::FairServer { runtime: Duration::from_ms(50), period: Duration::from_secs(1) };
    let foreign = Foreign { kept: vec![server], ..Foreign::default() };
    let terms = Terms { regime: Regime::PEdf, ..alone(&registry, &online, 0) };
    let mut book = Book::default();
    let task = |name, c| Reservation::implicit(name, Service::from_ms(c), Duration::from_ms(10));
    assert!(book.admit(&terms, &foreign, &task("first", 4)).is_ok());
    let mut asked = task("second", 8);
    let refused = book.admit(&terms, &foreign, &asked).expect_err("it needs more than a CPU");
    let NotGranted::Refused(refused) = refused else { panic!("{refused}") };
    let [Suggestion::Runtime(fits)] = refused.suggestions[..] else { panic!("{refused}") };
    asked.runtime = fits;
    assert!(book.admit(&terms, &foreign, &asked).is_ok());
}

/// The places that a policy gives to all tasks at once are granted, though some task would be
/// refused after the others.
#[test]
fn a_set_is_placed_as_its_policy_packs_it() {
    let registry = Registry::standard();
    let online = CpuSet::first(4);
    let sets = [
        // One by one, the emptiest CPU comes first.
        (Regime::PDm, &[20, 20, 45, 90][..], &["2", "2", "2", "1"][..]),
        (Regime::PRm, &[20, 20, 45, 90], &["2", "2", "2", "1"]),
        // One by one, the first CPU comes first.
        (Regime::PEdf, &[28, 28, 28, 65, 38], &["2", "1", "2", "1", "2"]),
    ];
    for (regime, runtimes, expected) in sets {
        let task = |(at, c): (usize, &i64)| {
            Reservation::implicit(format!("t{at}"), Service::from_ms(*c), Duration::from_ms(100))
        };
        let tasks: Vec<Reservation> = runtimes.iter().enumerate().map(task).collect();
        let terms = Terms { regime, ..alone(&registry, &online, 0) };
        let mut book = Book::default();
        let mut one_by_one = book.clone();
        let two = cpus("1-2");
        let tied = |one: &Reservation| Reservation { cpus: Some(two.clone()), ..one.clone() };
        let mut granted = tasks
            .iter()
            .map(tied)
            .map(|one| one_by_one.admit(&terms, &Foreign::default(), &one).is_ok());
        assert!(!granted.all(|is_granted| is_granted), "{regime:?}");
        // The first CPU is left to the rest of the machine.
        let places = book.partition(&terms, &tasks, 2).expect("it packs them");
        let expected: Vec<CpuSet> = expected.iter().map(|text| cpus(text)).collect();
        assert_eq!(places, expected, "{regime:?}");
        for (one, place) in tasks.iter().zip(places) {
            let one = Reservation { cpus: Some(place.clone()), ..one.clone() };
            let granted = book.admit(&terms, &Foreign::default(), &one);
            assert_eq!(granted.map(|granted| granted.cpus).ok(), Some(place), "{regime:?}");
        }
        // Only the third CPU is free, and they do not fit together on it.
        let late = book.partition(&terms, &tasks, 2).into_iter().flatten();
        assert!(late.clone().all(|place| place == cpus("3")), "{regime:?}");
    }
    for regime in [Regime::KernelDl, Regime::KernelDlSp, Regime::ExtDl, Regime::DlSp] {
        let terms = Terms { regime, ..alone(&registry, &online, 0) };
        let task = Reservation::implicit("a", Service::from_ms(1), Duration::from_ms(10));
        assert_eq!(Book::default().partition(&terms, &[task], 2), None, "{regime:?}");
    }
}

/// A kernel with the repair admits threads with one CPU or all of them, by its limit for both.
#[test]
fn a_repaired_kernel_ties_threads() {
    let registry = Registry::standard();
    let online = CpuSet::first(3);
    let limit = Rate::new(9, 10);
    let terms = Terms { regime: Regime::KernelDlSp, limit: &limit, ..alone(&registry, &online, 0) };
    let ask = |book: &mut Book, name: &str, ms: i64, cpus: Option<CpuSet>| {
        let task = Reservation::implicit(name, Service::from_ms(ms), Duration::from_ms(10));
        let task = Reservation { cpus, ..task };
        book.admit(&terms, &Foreign::default(), &task)
    };
    let mut book = Book::default();
    let second = cpus("1");
    // One that is named, and one that is found; no CPU becomes a partition.
    let granted = ask(&mut book, "a", 6, Some(second.clone())).unwrap();
    assert_eq!((granted.cpus, granted.is_partition), (second.clone(), false));
    let granted = ask(&mut book, "b", 9, None).unwrap();
    assert!(granted.cpus.len() == 1 && granted.cpus != second, "{:?}", granted.cpus);
    // The limit of the kernel, and not the whole CPU.
    assert!(ask(&mut book, "c", 4, Some(second.clone())).is_err());
    assert!(ask(&mut book, "c", 3, Some(second)).is_ok());
    // A thread that migrates has no deadline beside those that are tied, so that one that may use all CPUs
    // is tied, too.
    let granted = ask(&mut book, "d", 1, Some(online.clone())).unwrap();
    assert_eq!((granted.cpus.len(), granted.cpus.is_disjoint(&cpus("1"))), (1, true));
    assert!(ask(&mut book, "e", 9, Some(online.clone())).is_err());
    let mut empty = Book::default();
    assert_eq!(ask(&mut empty, "d", 5, Some(online.clone())).unwrap().cpus, online);
}
