//! Self-suspension: each bound by a search from below, `unified` over all vectors, and the
//! dominance relations.

use super::{Draw, Shape, ceil, draw_set, from_below, sets, some};
use layland_analysis::locking::Locker;
use layland_analysis::locking::suspension::{Method, SEARCHED, responses};

const SUSPENDING: Shape = Shape {
    tasks: 5,
    cpus: 1,
    resources: 1,
    period: (8, 50),
    sections: (0, 1),
    nested: 0,
    suspends: 2,
};

/// `t = own + sum of ceil((t + J_i) / T_i) C_i`.
fn first(tasks: &[Locker], k: usize, own: i64, J: impl Fn(usize) -> i64) -> Option<i64> {
    let f = |t: i64| own + (0..k).map(|i| ceil(t + J(i), tasks[i].T) * tasks[i].C).sum::<i64>();
    from_below(1, tasks[k].D, f)
}

/// The bound of `k`, given those of the tasks above.
fn slow(method: Method, tasks: &[Locker], k: usize, R: &[Option<i64>]) -> Option<i64> {
    let own = tasks[k].C + tasks[k].S;
    match method {
        Method::Oblivious => {
            let f = |t: i64| {
                own + (0..k).map(|i| ceil(t, tasks[i].T) * (tasks[i].C + tasks[i].S)).sum::<i64>()
            };
            return from_below(1, tasks[k].D, f);
        }
        Method::UnsafeJitter => return first(tasks, k, own, |i| tasks[i].S),
        _ => {}
    }
    let R: Vec<i64> = R.iter().copied().collect::<Option<_>>()?;
    match method {
        Method::DeadlineJitter => first(tasks, k, own, |i| tasks[i].D - tasks[i].C),
        Method::ResponseJitter => first(tasks, k, own, |i| R[i] - tasks[i].C),
        Method::Blocking => {
            let blocking: i64 = tasks[..k].iter().map(|i| i.C.min(i.S)).sum();
            first(tasks, k, own + blocking, |_| 0)
        }
        Method::Unified => {
            // Every vector, including 0 for tasks that do not suspend themselves.
            let vector = |bits: u32| {
                let x = |i: usize| i64::from(bits >> i & 1);
                let Q = |i: usize| (i..k).map(|j| tasks[j].S * x(j)).sum::<i64>();
                first(tasks, k, own, |i| Q(i) + (1 - x(i)) * (R[i] - tasks[i].C))
            };
            (0..1 << k).filter_map(vector).min()
        }
        Method::Oblivious | Method::UnsafeJitter => unreachable!("returned above"),
    }
}

#[test]
fn bounds_are_the_first_from_below() {
    let (mut draw, mut found) = (Draw(6), [0; 6]);
    for _ in 0..sets(2_000) {
        let tasks = draw_set(&mut draw, SUSPENDING);
        for (at, method) in [
            Method::Oblivious,
            Method::DeadlineJitter,
            Method::ResponseJitter,
            Method::Blocking,
            Method::Unified,
            Method::UnsafeJitter,
        ]
        .into_iter()
        .enumerate()
        {
            let mut expected = Vec::new();
            for k in 0..tasks.len() {
                expected.push(slow(method, &tasks, k, &expected));
            }
            assert_eq!(some(&responses(method, &tasks)), expected, "{method:?} of {tasks:?}");
            found[at] += expected.iter().flatten().count();
        }
    }
    assert!(found.iter().all(|&found| found > 1_000), "{found:?}");
}

/// Returns true if each is at most the other, where the other is known.
fn at_most(less: &[Option<i64>], more: &[Option<i64>]) -> bool {
    less.iter().zip(more).all(|(less, more)| match (less, more) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(less), Some(more)) => less <= more,
    })
}

#[test]
fn the_unified_bound_dominates() {
    let (mut draw, mut jitter_wins, mut blocking_wins, mut strictly) = (Draw(7), 0, 0, 0);
    for _ in 0..sets(4_000) {
        let tasks = draw_set(&mut draw, Shape { tasks: 6, ..SUSPENDING });
        let of = |method| some(&responses(method, &tasks));
        let [oblivious, deadline, response, blocking, unified] = [
            Method::Oblivious,
            Method::DeadlineJitter,
            Method::ResponseJitter,
            Method::Blocking,
            Method::Unified,
        ]
        .map(of);
        assert!(at_most(&unified, &response), "{tasks:?}");
        assert!(at_most(&unified, &blocking), "{tasks:?}");
        assert!(at_most(&response, &deadline), "{tasks:?}");
        // Among these, only the oblivious bound does not require that the tasks above meet their
        // deadlines.
        let known = oblivious.iter().position(Option::is_none).unwrap_or(tasks.len());
        assert!(at_most(&blocking[..known], &oblivious[..known]), "{tasks:?}");
        for ((unified, response), blocking) in unified.iter().zip(&response).zip(&blocking) {
            if let (Some(unified), Some(response), Some(blocking)) = (unified, response, blocking) {
                jitter_wins += i32::from(response < blocking);
                blocking_wins += i32::from(blocking < response);
                strictly += i32::from(unified < response.min(blocking));
            }
        }
    }
    assert!(
        jitter_wins > 50 && blocking_wins > 50 && strictly > 5,
        "{jitter_wins}, {blocking_wins} and {strictly}"
    );
}

/// With more tasks than [`SEARCHED`], the bound tries only a few vectors, and still dominates.
#[test]
fn many_suspending_tasks_have_a_bound() {
    let mut draw = Draw(8);
    for _ in 0..20 {
        let count = SEARCHED as u32 + 4;
        let tasks: Vec<Locker> = (0..count)
            .map(|at| {
                let T = 200 + draw.below(400);
                let mut tasks = draw_set(&mut draw, Shape { tasks: 1, ..SUSPENDING });
                let task = tasks.pop().unwrap();
                let (C, S) = (1 + draw.below(4), 1 + draw.below(6));
                Locker { id: layland_model::TaskId(at), C, S, m: 1, T, D: T, ..task }
            })
            .collect();
        let of = |method| some(&responses(method, &tasks));
        let unified = of(Method::Unified);
        assert!(unified.iter().all(Option::is_some), "{tasks:?}");
        assert!(at_most(&unified, &of(Method::ResponseJitter)), "{tasks:?}");
        assert!(at_most(&unified, &of(Method::Blocking)), "{tasks:?}");
    }
}
