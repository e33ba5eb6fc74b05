//! The slow twin: simulates an executor tick by tick. It does not predict ends, keeps flat lists,
//! and sorts them at each decision.

use layland_model::{Service, Time};
use layland_ros::{CallbackKind, Executor, ExecutorKind, Supply, Timers};

/// Callback, number, activation, origin, start, finish, thread.
pub(crate) type Row = (usize, u64, i64, i64, i64, i64, usize);

#[derive(Clone, Copy)]
struct Active {
    row: usize,
    left: i64,
}

/// Returns the jobs in the order of their starts, and the polls. Runs until `end` at most.
pub(crate) fn run(
    executor: &Executor,
    arrivals: &[Vec<Time>],
    work: impl Fn(usize, u64) -> Service,
    end: i64,
) -> (Vec<Row>, Vec<i64>) {
    let callbacks = &executor.callbacks;
    let by_order = |list: &mut Vec<usize>| list.sort_by_key(|&at| (callbacks[at].kind, at));
    let (timers, threads, queue) = match executor.kind {
        ExecutorKind::Default(timers) => (timers, 1, false),
        ExecutorKind::Multi { timers, threads } => (timers, threads, false),
        ExecutorKind::EventsFifo | ExecutorKind::EventsEdf | ExecutorKind::EventsFp => {
            (Timers::Live, 1, true)
        }
    };
    let live = |at: usize| timers == Timers::Live && callbacks[at].kind == CallbackKind::Timer;
    // Callback, number, activation, origin; in the order in which they come in.
    let mut pending: Vec<(usize, u64, i64, i64)> = Vec::new();
    let mut counts = vec![0_u64; callbacks.len()];
    let mut on: Vec<Option<Active>> = vec![None; threads];
    let mut ready: Vec<usize> = Vec::new();
    let (mut rows, mut polls): (Vec<Row>, Vec<i64>) = (Vec::new(), Vec::new());
    for t in 0..end {
        let supplied = match &executor.supply {
            Supply::Always => true,
            Supply::Server { period, budget } => {
                let (k, at) = (t / period.ns(), t % period.ns());
                if k == 0 { at < budget.ns() } else { at >= period.ns() - budget.ns() }
            }
            Supply::Intervals(all) => all.iter().any(|&(a, b)| a.ns() <= t && t < b.ns()),
        };
        let mut first_round = true;
        loop {
            let mut caused = Vec::new();
            for place in &mut on {
                if let Some(active) = place.filter(|active| active.left == 0) {
                    rows[active.row].5 = t;
                    caused.push(active.row);
                    *place = None;
                }
            }
            for at in 0..callbacks.len() {
                let outside = arrivals[at]
                    .iter()
                    .filter(|time| first_round && time.ns() == t)
                    .map(|time| time.ns());
                let inside = caused
                    .iter()
                    .filter(|&&row| callbacks[rows[row].0].next.contains(&at))
                    .map(|&row| rows[row].3);
                for origin in outside.chain(inside) {
                    pending.push((at, counts[at], t, origin));
                    counts[at] += 1;
                }
            }
            first_round = false;
            for thread in 0..threads {
                if !supplied || on[thread].is_some() {
                    continue;
                }
                let busy: Vec<usize> =
                    on.iter().flatten().map(|active| rows[active.row].0).collect();
                let free = |at: usize| {
                    callbacks[at].reentrant
                        || !busy.iter().any(|&other| {
                            let same = at == other
                                || (callbacks[at].group.is_some()
                                    && callbacks[at].group == callbacks[other].group);
                            same && !callbacks[other].reentrant
                        })
                };
                let chosen = if queue {
                    let key = |&(at, number, activation, _): &(usize, u64, i64, i64)| match executor
                        .kind
                    {
                        ExecutorKind::EventsEdf => (
                            activation + callbacks[at].deadline.unwrap().ns(),
                            activation,
                            at,
                            number,
                        ),
                        ExecutorKind::EventsFp => {
                            (callbacks[at].priority.unwrap(), activation, at, number)
                        }
                        _ => (0, 0, 0, 0),
                    };
                    pending.iter().min_by_key(|one| key(one)).map(|one| one.0)
                } else {
                    let mut candidates: Vec<usize> =
                        pending.iter().map(|one| one.0).filter(|&at| free(at)).collect();
                    by_order(&mut candidates);
                    candidates.dedup();
                    by_order(&mut ready);
                    let timer = candidates.iter().copied().find(|&at| live(at));
                    let listed = ready.iter().copied().find(|&at| free(at));
                    timer.or(listed).or_else(|| {
                        let found: Vec<usize> =
                            candidates.into_iter().filter(|&at| !live(at)).collect();
                        let first = found.first().copied();
                        if first.is_some() {
                            ready = found;
                            polls.push(t);
                        }
                        first
                    })
                };
                if let Some(at) = chosen {
                    if !live(at) || queue {
                        ready.retain(|&one| one != at);
                    }
                    let place = pending.iter().position(|one| one.0 == at).unwrap();
                    let (at, number, activation, origin) = pending.remove(place);
                    rows.push((at, number, activation, origin, t, i64::MAX, thread));
                    on[thread] = Some(Active { row: rows.len() - 1, left: work(at, number).ns() });
                }
            }
            if on.iter().flatten().all(|active| active.left > 0) {
                break;
            }
        }
        if supplied {
            on.iter_mut().flatten().for_each(|active| active.left -= 1);
        }
    }
    (rows, polls)
}
