//! Admission: the conditions (1) and (2) on random systems, and requests of deadline threads.
#![expect(clippy::print_stderr, reason = "a test reports which kernels it used, and what it saw")]

use layland_system_tests::{CommandRun, Kernel};

/// Bandwidths, in 2^-20 of a CPU, rounded down as the kernel does.
const CPU: u64 = 1 << 20;
const LIMIT: u64 = CPU * 19 / 20;
const CPUS: u64 = 3;

/// A request for admission: budget and period in microseconds, and a CPU or none.
#[derive(Clone, Copy)]
pub(super) struct Request {
    budget: u64,
    period: u64,
    cpu: Option<u64>,
}

/// Draws systems whose sums are near the limits: half of the threads are tied, and budgets are whole
/// milliseconds, so that sums often equal a limit.
pub(super) fn systems(count: usize) -> Vec<Vec<Request>> {
    // A linear congruential generator (Knuth's MMIX), of which the high bits are used.
    let mut state = 20_211_207_u64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut systems = Vec::new();
    for _ in 0..count {
        let threads = 6 + draw(9);
        let system = (0..threads).map(|_| {
            let period = [20_000, 25_000, 40_000, 50_000, 100_000][draw(5) as usize];
            let percents = [5, 10, 19, 20, 25, 30, 45, 50, 70, 95][draw(10) as usize];
            let cpu = (draw(2) == 0).then(|| 1 + draw(CPUS));
            Request { budget: period * percents / 100, period, cpu }
        });
        systems.push(system.collect());
    }
    systems
}

/// The decisions of the specification: (1) everything within the limit of all CPUs, and (2) what is tied
/// to a CPU within its own. `unit` is the precision: 2^20 for the kernel's, which rounds each thread down.
fn decide(system: &[Request]) -> String {
    let (mut total, mut tied) = (0, [0; CPUS as usize + 1]);
    let decide = system.iter().map(|request| {
        let share = request.budget * CPU / request.period;
        let on = request.cpu.unwrap_or(0) as usize;
        let fits_all = total + share <= LIMIT * CPUS;
        let fits_its_own = on == 0 || tied[on] + share <= LIMIT;
        if fits_all && fits_its_own {
            total += share;
            tied[on] += share;
            '+'
        } else {
            'b'
        }
    });
    decide.collect()
}

/// The same decisions with exact fractions, which are never wider.
fn decide_exactly(system: &[Request], admitted: &str) -> bool {
    // All periods divide 200 ms: utilizations are multiples of 1/200,000.
    const UNIT: u64 = 200_000;
    let (mut total, mut tied) = (0, [0; CPUS as usize + 1]);
    system.iter().zip(admitted.chars()).all(|(request, answer)| {
        let share = request.budget * UNIT / request.period;
        let on = request.cpu.unwrap_or(0) as usize;
        let fits = 20 * (total + share) <= 19 * UNIT * CPUS
            && (on == 0 || 20 * (tied[on] + share) <= 19 * UNIT);
        if answer == '+' {
            total += share;
            tied[on] += share;
        }
        // The kernel may admit more than the exact sums do, by what it rounds off, and never less.
        !fits || answer == '+'
    })
}

pub(super) fn command(systems: &[Vec<Request>]) -> String {
    let words = systems.iter().map(|system| {
        let words = system.iter().map(|request| {
            let cpu = request.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
            format!("{}:{}:{cpu}", request.budget, request.period)
        });
        words.collect::<Vec<_>>().join(",")
    });
    format!("dl_admit -g $CG/rt -c 1-3 {}", words.collect::<Vec<_>>().join(" "))
}

pub(super) fn judge(kernel: &Kernel, ran: &CommandRun, systems: &[Vec<Request>]) {
    assert_eq!(ran.code, Some(0), "{}: {ran}", kernel.label);
    let answers: Vec<&str> = ran.output.lines().collect();
    assert_eq!(answers.len(), systems.len(), "{}: {ran}", kernel.label);
    let (mut admitted, mut refused) = (0, 0);
    for (system, answer) in systems.iter().zip(answers) {
        assert_eq!(answer, decide(system), "{}", kernel.label);
        assert!(decide_exactly(system, answer), "{}: {answer}", kernel.label);
        admitted += answer.matches('+').count();
        refused += answer.matches('b').count();
    }
    eprintln!("{}: {admitted} threads admitted, {refused} refused, as specified", kernel.label);
    assert!(admitted > systems.len() && refused > systems.len(), "{admitted}, {refused}");
}

/// The requests of `kernel/guest/dl_requests.c`, and their answers under the rules of the paper.
const ANSWERS: &str = "enter-tied ok
tied-same-parameters ok
tied-more-budget EBUSY
tied-same-bandwidth EBUSY
tied-same-affinity EBUSY
tied-other-cpu EBUSY
tied-all-cpus EBUSY
tied-offline EBUSY
tied-leaves ok
enter-migrating ok
migrating-one-cpu EBUSY
migrating-more-budget EBUSY
migrating-offline ok
enter-two-cpus EPERM
";

/// The command that makes the requests.
pub(super) const REQUESTS: &str = "rules 7 950000; dl_requests 2; rules 0 950000";

pub(super) fn judge_requests(kernel: &Kernel, ran: &CommandRun) {
    assert_eq!(ran.output.trim_end(), ANSWERS.trim_end(), "{}: {ran}", kernel.label);
}
