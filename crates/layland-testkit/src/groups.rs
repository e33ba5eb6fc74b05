//! Groups with reservations, one unit of time after the other: the slow twins of the supplies, the
//! tests and the design of `layland_analysis::groups`.
//!
//! Times are whole units. Nothing here uses the formulas of the fast forms: supplies are minima over
//! the states in which a window can begin, searches look at every length, and designs try every
//! budget and every period.

#![expect(non_snake_case, reason = "symbols of the papers")]

use layland_analysis::groups::design::{InTimeProof, LeastBudget, Refuted};
use layland_model::Duration;

/// A server `(Q, P, D)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowServer {
    /// The budget.
    pub budget: i64,
    /// The period.
    pub period: i64,
    /// The deadline of the budget.
    pub deadline: i64,
    /// True if the budget is lost while the group has no work.
    pub is_polling: bool,
}

/// A task `(C, T, D)`; of a list, the first one has the highest priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowTask {
    /// The execution time of a job.
    pub wcet: i64,
    /// The minimum time between two arrivals.
    pub period: i64,
    /// The relative deadline.
    pub deadline: i64,
}

impl SlowServer {
    /// The least supply of a window of length `t`: the minimum over the states at its start. The current
    /// budget is served as late as its deadline allows, and so is each later one.
    pub fn supply(&self, t: i64) -> i64 {
        let SlowServer { budget, period, deadline, is_polling } = *self;
        // Budgets whose period begins at `start`, served at the end of their deadlines.
        let later = |start: i64| -> i64 {
            let of_period =
                |k: i64| (t - (start + k * period) - (deadline - budget)).clamp(0, budget);
            (0..=t / period + 1).map(of_period).sum()
        };
        let with_budget = |left: i64| {
            // The part that was not served in the `deadline - left` before is still there.
            let q = (budget - (deadline - left)).max(0);
            (t - (left - q)).clamp(0, q) + later(left + period - deadline)
        };
        let states = (0..=deadline).map(with_budget).min().unwrap_or(0);
        // The budget was lost just before: up to a whole period until the next one.
        if is_polling { states.min(later(period)) } else { states }
    }

    /// The least `t` with this supply.
    pub fn time_for(&self, work: i64) -> i64 {
        (0..).find(|&t| self.supply(t) >= work).unwrap_or(i64::MAX)
    }

    /// Returns true if the server is served in this unit of its worst pattern, from its start on.
    pub fn is_served(&self, unit: i64) -> bool {
        self.supply(unit + 1) > self.supply(unit)
    }
}

/// The load as a pair `(sum of C_i H / T_i, H)`.
fn load(tasks: &[SlowTask]) -> (i64, i64) {
    let H = tasks.iter().fold(1, |lcm, task| num_integer::lcm(lcm, task.period));
    (tasks.iter().map(|task| task.wcet * (H / task.period)).sum(), H)
}

/// Returns true if tasks need more than the bandwidth of these servers.
pub fn overloads(tasks: &[SlowTask], servers: &[SlowServer]) -> bool {
    let (used, H) = load(tasks);
    let P = servers.iter().fold(1, |lcm, server| num_integer::lcm(lcm, server.period));
    let given: i64 = servers.iter().map(|server| server.budget * (P / server.period)).sum();
    used * P > given * H
}

/// The length of a search that surely sees every failing length: two hyperperiods beyond all gaps and
/// deadlines.
pub fn horizon(tasks: &[SlowTask], servers: &[SlowServer]) -> i64 {
    let H = tasks.iter().fold(1, |lcm, task| num_integer::lcm(lcm, task.period));
    let H = servers.iter().fold(H, |lcm, server| num_integer::lcm(lcm, server.period));
    let gaps: i64 = servers.iter().map(|server| 2 * server.period).sum();
    2 * H + gaps + tasks.iter().map(|task| task.deadline).max().unwrap_or(0)
}

/// `sum max(0, floor((t - D) / T) + 1) C`.
pub fn demand(tasks: &[SlowTask], t: i64) -> i64 {
    let of_task = |task: &SlowTask| {
        let jobs = (0..).take_while(|k| k * task.period + task.deadline <= t).count();
        jobs as i64 * task.wcet
    };
    tasks.iter().map(of_task).sum()
}

/// The least length whose demand exceeds the supply of one server, under EDF.
pub fn first_excess(server: &SlowServer, tasks: &[SlowTask], is_preemptive: bool) -> Option<i64> {
    let shortest = tasks.iter().map(|task| task.deadline).min()?;
    let blocked = |t: i64| {
        let later = tasks.iter().filter(|task| !is_preemptive && task.deadline > t);
        later.map(|task| task.wcet - 1).max().unwrap_or(0)
    };
    (shortest..=horizon(tasks, std::slice::from_ref(server)))
        .find(|&t| demand(tasks, t) + blocked(t) > server.supply(t))
}

/// The response time of the first job of task `k` under fixed priorities on one server, unit by unit:
/// all tasks arrive at the start of the worst pattern of the supply, and again each period. `None` if
/// it is longer than `limit`.
pub fn first_response(
    server: &SlowServer,
    tasks: &[SlowTask],
    k: usize,
    limit: i64,
) -> Option<i64> {
    let mut left: Vec<i64> = vec![0; k + 1];
    let mut own = tasks[k].wcet;
    for now in 0..limit {
        for (left, task) in left.iter_mut().zip(&tasks[..k]) {
            if now % task.period == 0 {
                *left += task.wcet;
            }
        }
        if !server.is_served(now) {
            continue;
        }
        match left[..k].iter_mut().find(|left| **left > 0) {
            Some(left) => *left -= 1,
            None => own -= 1,
        }
        if own == 0 {
            return Some(now + 1);
        }
    }
    None
}

/// `Y_j(t)`.
pub fn several(servers: &[SlowServer], j: usize, t: i64) -> i64 {
    let mut all: Vec<i64> = servers.iter().map(|server| server.supply(t)).collect();
    all.sort_unstable();
    all.iter().rev().take(j).sum()
}

/// The response times of global fixed priorities on several servers, each `t` one by one, up to the
/// first `None`.
pub fn global_responses(servers: &[SlowServer], tasks: &[SlowTask]) -> Vec<Option<i64>> {
    let mut found: Vec<i64> = Vec::new();
    for (k, task) in tasks.iter().enumerate() {
        let holds = |t: i64| {
            let carried = |i: usize| {
                let x = t + found[i] - tasks[i].wcet;
                let whole = x / tasks[i].period * tasks[i].wcet;
                (whole + (x % tasks[i].period).min(tasks[i].wcet)).min(t - task.wcet + 1)
            };
            let interference: i64 = (0..k).map(carried).sum();
            let lost = |j: usize| interference + j as i64 * (task.wcet - 1);
            (1..=servers.len()).any(|j| lost(j) < several(servers, j, t))
        };
        match (task.wcet..=task.deadline.min(task.period)).find(|&t| holds(t)) {
            Some(response) => found.push(response),
            None => return found.into_iter().map(Some).chain([None]).collect(),
        }
    }
    found.into_iter().map(Some).collect()
}

/// The largest work of jobs that are due in a window of length `L` which ends at a deadline, unit by
/// unit: whole jobs, and the end of one that began before.
fn due(task: &SlowTask, L: i64) -> (i64, i64) {
    let jobs = (0..).take_while(|k| task.deadline + k * task.period <= L).count() as i64;
    let begun = (L - jobs * task.period).clamp(0, task.wcet);
    (jobs * task.wcet, jobs * task.wcet + begun)
}

/// Returns true if the interference test for global EDF accepts the tasks.
pub fn interference(servers: &[SlowServer], tasks: &[SlowTask]) -> bool {
    (0..tasks.len()).all(|k| {
        let SlowTask { wcet, deadline, .. } = tasks[k];
        let others = (0..tasks.len()).filter(|&i| i != k);
        let sum: i64 = others.map(|i| due(&tasks[i], deadline).1.min(deadline - wcet + 1)).sum();
        (1..=servers.len()).any(|j| sum + j as i64 * (wcet - 1) < several(servers, j, deadline))
    })
}

/// Returns true if the test of long windows for global EDF accepts the tasks, at every length up to
/// `until`.
pub fn long_window(servers: &[SlowServer], tasks: &[SlowTask], until: i64) -> bool {
    let m = servers.len();
    let holds = |k: usize, L: i64| {
        let own = &tasks[k];
        let mut more = Vec::new();
        let mut sum = m as i64 * (own.wcet - 1) + 1;
        for (i, task) in tasks.iter().enumerate() {
            let (whole, most) = due(task, L);
            let (less, cap) =
                if i == k { (own.wcet, L - own.deadline) } else { (0, L - own.wcet + 1) };
            let (lo, hi) = ((whole - less).min(cap), (most - less).min(cap));
            sum += lo;
            more.push(hi - lo);
        }
        more.sort_unstable();
        sum + more.iter().rev().take(m - 1).sum::<i64>() <= several(servers, m, L)
    };
    !overloads(tasks, servers)
        && (0..tasks.len()).all(|k| (tasks[k].deadline..=until).all(|L| holds(k, L)))
}

/// Returns true if servers and plain tasks of one CPU never demand more than it has, under EDF; and
/// the least end of a period or a deadline at which they do.
pub fn outer_excess(servers: &[SlowServer], tasks: &[SlowTask]) -> (bool, Option<i64>) {
    let (used, H) = load(tasks);
    let P = servers.iter().fold(H, |lcm, server| num_integer::lcm(lcm, server.period));
    let given: i64 = servers.iter().map(|server| server.budget * (P / server.period)).sum();
    if given + used * (P / H) > P {
        return (false, None);
    }
    // In parts of the product of all deadlines.
    let unit: i64 = servers.iter().fold(1, |lcm, server| num_integer::lcm(lcm, server.deadline));
    let demand_of = |server: &SlowServer, L: i64| {
        let part = (L % server.period).min(server.deadline) * (unit / server.deadline);
        L / server.period * server.budget * unit + part * server.budget
    };
    let exceeds = |L: i64| {
        let of_servers: i64 = servers.iter().map(|server| demand_of(server, L)).sum();
        of_servers + demand(tasks, L) * unit > L * unit
    };
    let is_corner = |&L: &i64| {
        let of_server =
            |server: &SlowServer| L % server.period == 0 || L % server.period == server.deadline;
        servers.iter().any(of_server)
            || tasks.iter().any(|task| L >= task.deadline && (L - task.deadline) % task.period == 0)
    };
    let until = horizon(tasks, servers);
    let first = (1..=until).filter(is_corner).find(|&L| exceeds(L));
    (!(1..=until).any(exceeds), first)
}

/// The least budget that a test accepts, by trying each one.
pub fn least_budget(deadline: i64, accepts: impl Fn(i64) -> bool) -> Option<i64> {
    (1..=deadline).find(|&budget| accepts(budget))
}

/// Checks a proof that a budget is the least one for a period, on one constant-bandwidth server whose
/// deadline is the period. It takes no number of the proof for granted.
///
/// # Errors
/// Returns the first step that does not follow.
pub fn check_least_budget(
    proof: &LeastBudget,
    tasks: &[SlowTask],
    budget: i64,
    period: i64,
) -> Result<(), String> {
    let server = |budget| SlowServer { budget, period, deadline: period, is_polling: false };
    let arrived = |tasks: &[SlowTask], t: i64| -> i64 {
        tasks.iter().map(|task| (t + task.period - 1) / task.period * task.wcet).sum()
    };
    let enough = server(budget);
    match &proof.yes {
        InTimeProof::Responses(responses) => {
            if responses.len() != tasks.len() {
                return Err("a task is left out".to_owned());
            }
            for &(at, t) in responses {
                let (task, t) = (&tasks[at], t.ns());
                let needed = task.wcet + arrived(&tasks[..at], t);
                if t > task.deadline || enough.supply(t) < needed {
                    return Err(format!("task {at} does not end within {t}"));
                }
            }
        }
        InTimeProof::Alone(periods) => {
            let [task] = tasks else { return Err("the task is not alone".to_owned()) };
            let is_enough = periods * budget >= task.wcet
                && periods * period <= task.period
                && periods * period <= task.deadline;
            if !is_enough {
                return Err(format!("{periods} periods are not enough"));
            }
        }
        InTimeProof::Lengths(chain) => {
            // Below a length of the chain down to the next one, the demand is at most that 1 below it.
            let shortest = tasks.iter().map(|task| task.deadline).min().unwrap_or(0);
            let lengths: Vec<i64> = chain.iter().map(|length| length.ns()).collect();
            for (at, &length) in lengths.iter().enumerate() {
                let next = lengths.get(at + 1).copied().unwrap_or(shortest.min(length));
                if next > length || demand(tasks, length) > enough.supply(length) {
                    return Err(format!("length {length} fails"));
                }
                if next < length && demand(tasks, length - 1) > enough.supply(next) {
                    return Err(format!("the lengths from {next} to {length} are not covered"));
                }
            }
            let longest = lengths.first().copied().unwrap_or(0);
            let until = horizon(tasks, &[enough]);
            if let Some(t) = (longest + 1..=until).find(|&t| demand(tasks, t) > enough.supply(t)) {
                return Err(format!("length {t} is beyond the chain, and fails"));
            }
        }
    }
    let Some(no) = &proof.no else {
        return if budget == 1 { Ok(()) } else { Err("nothing is said about less".to_owned()) };
    };
    let less = server(budget - 1);
    let is_refuted = match no {
        Refuted::Bandwidth => overloads(tasks, &[less]),
        Refuted::Length(length) => demand(tasks, length.ns()) > less.supply(length.ns()),
        Refuted::Task(at, chain) => {
            let task = &tasks[*at];
            let mut before = None;
            let is_step = |t: &Duration| {
                let work = task.wcet + before.map_or(0, |before| arrived(&tasks[..*at], before));
                before = Some(t.ns());
                t.ns() <= less.time_for(work)
            };
            chain.iter().all(is_step) && chain.last().is_some_and(|t| t.ns() > task.deadline)
        }
    };
    if is_refuted { Ok(()) } else { Err("1 less is not refuted".to_owned()) }
}

/// A run of one constant-bandwidth server, unit by unit.
#[derive(Clone, Debug, Default)]
pub struct ServedRun {
    /// For each unit, whether the group has work, and whether it gets the unit.
    pub units: Vec<(bool, bool)>,
    /// The response time of each job, in the order of arrival.
    pub responses: Vec<i64>,
}

/// Runs jobs `(arrival, work)`, first come, first served, on a constant-bandwidth server that is
/// served by its deadlines and otherwise when `draw` says so.
///
/// Wake-up with `D = P`: the budget is kept if `q / (d - t) <= Q / P`, and renewed otherwise. With
/// `D < P` (revised rule) it is cut to `Q (d - t) / D` before the deadline, and a wake-up between the
/// deadline and the next period waits for that. Less than one unit counts as used up, and is kept.
///
/// # Panics
/// If the server is late, which the run excludes.
pub fn serve(
    server: &SlowServer,
    jobs: &[(i64, i64)],
    mut draw: impl FnMut() -> bool,
    until: i64,
) -> ServedRun {
    let SlowServer { budget: Q, period: P, deadline: D, .. } = *server;
    let mut run = ServedRun::default();
    let mut pending: std::collections::VecDeque<(i64, i64)> = [].into();
    let mut next = jobs.iter().copied().peekable();
    // The budget is in parts of 1 / D.
    let (mut q, mut d, mut asleep, mut waits_until) = (0, -P, true, None);
    for now in 0..until {
        if waits_until == Some(now) {
            (q, d, waits_until) = (q + Q * D, now + D, None);
        }
        while let Some(job) = next.next_if(|&(arrival, _)| arrival <= now) {
            pending.push_back(job);
        }
        if asleep && !pending.is_empty() {
            asleep = false;
            if waits_until.is_none() {
                if now >= d - D + P || D == P && now < d && q > Q * (d - now) {
                    (q, d) = (Q * D, now + D);
                } else if now >= d {
                    (q, waits_until) = (0, Some(d - D + P));
                } else if D < P && q > Q * (d - now) {
                    q = Q * (d - now);
                }
            }
        }
        if !asleep && waits_until.is_none() && q < D {
            if now >= d - D + P {
                (q, d) = (q + Q * D, now + D);
            } else {
                waits_until = Some(d - D + P);
            }
        }
        let is_ready = !asleep && waits_until.is_none();
        assert!(!is_ready || q / D <= d - now, "served by the deadline");
        let is_served = is_ready && (q / D == d - now || draw());
        run.units.push((!pending.is_empty(), is_served));
        if is_served {
            q -= D;
            let job = pending.front_mut().expect("a ready server has work");
            job.1 -= 1;
            if job.1 == 0 {
                run.responses.push(now + 1 - job.0);
                pending.pop_front();
                // A job that arrives at this instant keeps the server awake.
                asleep = pending.is_empty() && next.peek().is_none_or(|&(at, _)| at > now + 1);
            }
        }
    }
    run
}
