//! Servers as tasks of one CPU, beside plain tasks: is every server served by its deadline?
//!
//! | between servers | test | kind |
//! |---|---|---|
//! | EDF | [`earliest_deadline`] | exact if every deadline is the period, else sufficient |
//! | fixed priorities | [`fixed_priority`] | sufficient |
//!
//! If it is so on each CPU of a group, the supply of the group is that of its servers, whatever other
//! groups do: groups are tested one by one.
//!
//! The most budget of a CBS that arrives and is due in a window of length `L` is
//!
//! ```text
//! server_demand(L) = floor(L / P) Q + Q min(L mod P, D) / D
//! ```
//!
//! The first period in the window may begin by a wake-up, whose rules leave `q <= Q x / D` at `x` before
//! the deadline; later periods are at least `P` apart. So a server with `D < P` differs from a sporadic task:
//! the servers (3, 8, 6) and (3, 8, 3) would pass as such, and the first one can be late.
//!
//! Assumes: (1) plain tasks are sporadic and on this CPU, (2) they keep their WCETs, (3) overheads are
//! part of `C` and `Q`.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{hyperperiod, overloads};
use crate::fixed_point::{Diverged, GaveUp, MAX_STEPS, least};
use crate::global_edf::quotient;
use crate::sporadic::{SHIFT, fixed, load_above};
use crate::{Sporadic, groups::Supply};
use layland_model::{Duration, GroupServer, Rate, RateSum, ServerRule, TIME_LIMIT};

/// The answer of the demand test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// No server and no plain task is late.
    InTime,
    /// The bandwidths sum to more than 1.
    Overload,
    /// A window may have more demand than its length.
    Exceeds {
        /// The length.
        interval: Duration,
        /// The demand in nanoseconds.
        demand: Rate,
    },
}

/// `server_demand(L)` of all servers and `dbf(L)` of all plain tasks.
pub fn demand(servers: &[GroupServer], tasks: &[Sporadic], length: Duration) -> RateSum {
    let L = length.ns();
    let mut sum = RateSum::with_capacity(servers.len() + 1);
    let whole = |servers: i128| u128::try_from(servers).unwrap_or(0);
    let mut integers: i128 = tasks.iter().map(|task| i128::from(task.demand(L))).sum();
    for server in servers {
        let [Q, P, D] = [server.budget.ns(), server.period.ns(), server.deadline.ns()];
        let part = (L % P).min(D);
        integers += i128::from(L / P) * i128::from(Q);
        sum.add_fraction(whole(i128::from(Q) * i128::from(part)), whole(D.into()));
    }
    sum.add_fraction(whole(integers), 1);
    sum
}

/// Tests whether constant-bandwidth servers and plain tasks are in time under EDF on one CPU:
/// `demand(L) <= L` for every `L`.
///
/// Between `k P`, `k P + D` of servers and `k T + D` of tasks the demand is linear, so these corners
/// decide. From a corner with the demand `h`, the search goes to the last corner below `h`: between
/// them the demand is at most `h`.
///
/// ```
/// use layland_analysis::groups::outer::{Served, earliest_deadline};
/// use layland_model::{Duration, GroupServer, ServerRule, Service};
/// let server = |budget, deadline| {
///     let (budget, period) = (Service::from_ns(budget), Duration::from_ns(8));
///     GroupServer { budget, period, deadline: Duration::from_ns(deadline), rule: ServerRule::Cbs }
/// };
/// assert_eq!(earliest_deadline(&[server(3, 8), server(5, 8)], &[]), Ok(Served::InTime));
/// // As sporadic tasks they would pass.
/// let found = earliest_deadline(&[server(3, 6), server(3, 3)], &[]).unwrap();
/// assert!(matches!(found, Served::Exceeds { .. }), "{found:?}");
/// ```
///
/// # Errors
/// Returns [`GaveUp`] if the search reaches its limit.
pub fn earliest_deadline(servers: &[GroupServer], tasks: &[Sporadic]) -> Result<Served, GaveUp> {
    if is_overload(servers, tasks) {
        return Ok(Served::Overload);
    }
    let is_linear = servers.iter().all(|server| server.deadline == server.period)
        && tasks.iter().all(|task| task.deadline >= task.period);
    if is_linear {
        return Ok(Served::InTime);
    }
    let longest = longest(servers, tasks).ok_or(GaveUp::Endless)?;
    let mut next = corner_before(servers, tasks, longest.saturating_add(1));
    for _ in 0..MAX_STEPS {
        let Some(L) = next else { return Ok(Served::InTime) };
        let interval = Duration::from_ns(L);
        let h = demand(servers, tasks, interval);
        if !h.fits(&Rate::ZERO, &Rate::whole(L)) {
            return Ok(Served::Exceeds { interval, demand: h.exact() });
        }
        // A demand that fits is at most `L`.
        next = corner_before(servers, tasks, h.ceil().map_or(L, |h| h.min(L)));
    }
    let reached = Duration::from_ns(next.unwrap_or(0));
    Err(GaveUp::OutOfSteps { reached, steps: MAX_STEPS })
}

/// Returns true if the bandwidths of servers and plain tasks sum to more than 1.
fn is_overload(servers: &[GroupServer], tasks: &[Sporadic]) -> bool {
    let mut sum = RateSum::with_capacity(servers.len());
    servers.iter().for_each(|server| sum.add(&server.bandwidth()));
    let of_servers = sum.exact();
    of_servers > Rate::ONE || overloads(tasks.iter(), &(&Rate::ONE - &of_servers))
}

/// The largest corner below `L`.
fn corner_before(servers: &[GroupServer], tasks: &[Sporadic], L: i64) -> Option<i64> {
    let before = |first: i64, period: i64| {
        let room = L - 1 - first;
        (room >= 0).then(|| first + room / period * period)
    };
    let of_servers = servers.iter().flat_map(|server| {
        let [P, D] = [server.period.ns(), server.deadline.ns()];
        [before(P, P), before(D, P)]
    });
    let of_tasks = tasks.iter().map(|task| before(task.deadline.ns(), task.period.ns()));
    of_servers.chain(of_tasks).flatten().max()
}

/// A length that no failing window has to exceed: `K / (1 - U)` with
/// `K = sum (Q - alpha D) + sum U_i max(0, T_i - D_i)`, or a hyperperiod beyond all `D_i - T_i`.
fn longest(servers: &[GroupServer], tasks: &[Sporadic]) -> Option<i64> {
    let (mut most, mut load) = (0, load_above(tasks));
    let up = |product: i128, by: i64| num_integer::Integer::div_ceil(&product, &by.into());
    for server in servers {
        let [Q, P, D] = [server.budget.ns(), server.period.ns(), server.deadline.ns()];
        most += up(i128::from(Q) * i128::from(P - D), P);
        load += fixed(Q, P) + 1;
    }
    for task in tasks {
        let [C, D, T] = task.ns();
        most += up(i128::from((T - D).max(0)) * i128::from(C), T);
    }
    let room = (1u128 << SHIFT).checked_sub(load).filter(|&room| room > 0);
    let load_bound = room.and_then(|room| quotient(most, room));
    let beyond = tasks.iter().map(|task| (task.deadline - task.period).ns()).max().unwrap_or(0);
    // Only the periods of the servers count here.
    let supplies: Vec<Supply> = servers.iter().map(Supply::of).collect();
    let repetition =
        hyperperiod(tasks.iter(), &supplies).and_then(|H| H.checked_add(beyond.max(0)));
    match (repetition, load_bound) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// A server or a plain task of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entity {
    /// A server of a group.
    Server(GroupServer),
    /// A task without a group, with a deadline within its period.
    Task(Sporadic),
}

/// The response times of servers and plain tasks on one CPU under fixed priorities, the highest
/// first: `R = Q + sum_hp ceil((R + J) / P) Q`, where `J = P - Q` of a deferrable server and 0 of
/// others. The supply of a server then has the deadline `R`.
///
/// ```
/// use layland_analysis::groups::outer::{Entity, fixed_priority};
/// use layland_analysis::Sporadic;
/// use layland_model::{Duration, GroupServer, ServerRule, Service};
/// let (ns, work) = (Duration::from_ns, Service::from_ns);
/// let server = GroupServer { budget: work(1), period: ns(4), deadline: ns(4), rule: ServerRule::Deferrable };
/// let task = Sporadic::implicit(work(3), ns(20));
/// let found = fixed_priority(&[Entity::Server(server), Entity::Task(task)]);
/// // The server may run at the end of one period and at the start of the next one.
/// assert_eq!(found, [Ok(ns(1)), Ok(ns(5))]);
/// ```
pub fn fixed_priority(entities: &[Entity]) -> Vec<Result<Duration, Diverged>> {
    let terms: Vec<(Sporadic, i64)> = entities.iter().map(term).collect();
    let response = |(i, (own, _)): (usize, &(Sporadic, i64))| {
        let higher = &terms[..i];
        let f = |R: Duration| {
            let of_one = |(one, J): &(Sporadic, i64)| {
                let jobs = Duration::from_ns(R.ns().saturating_add(*J)).div_ceil(one.period);
                jobs.saturating_mul(one.wcet.ns())
            };
            let above = higher.iter().map(of_one);
            Duration::from_ns(above.fold(own.wcet.ns(), i64::saturating_add))
        };
        least(own.wcet.at_unit_speed(), own.deadline.min(own.period), f)
    };
    terms.iter().enumerate().map(response).collect()
}

/// An entity as a sporadic task, and its jitter for lower ones.
fn term(entity: &Entity) -> (Sporadic, i64) {
    match entity {
        Entity::Task(task) => (*task, 0),
        Entity::Server(server) => {
            let GroupServer { budget: wcet, period, deadline, rule } = *server;
            let jitter = match rule {
                // The budget may be used at the end of one period and at the start of the next.
                ServerRule::Deferrable => (period.ns() - wcet.ns()).min(TIME_LIMIT),
                ServerRule::Cbs | ServerRule::Polling => 0,
            };
            (Sporadic { wcet, deadline, period }, jitter)
        }
    }
}
