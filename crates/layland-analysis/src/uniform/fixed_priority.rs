//! U-RTA and U-RTA-LC: response times under global fixed priorities on uniform CPUs.
#![expect(non_snake_case, reason = "symbols of the papers")]

use super::numbers::{Tau, Uniform, largest};

/// The number of values of `x` that are tried for all tasks together.
const STEPS: usize = 1_000_000;

/// The response times of tasks in the order of their priorities, the highest first; none where there is
/// no bound within the deadline. A task below one without a bound has none.
///
/// For each task `k`: the least whole `x <= D_k` with `x >= (w(x) + (lambda + 1) C_k) / S`. Without
/// `limited`, every task of higher priority may carry in (`w = sum max(NC, CI)`); with it, `m - 1` of them
/// (`sum NC + the m - 1 largest CI - NC`): the window begins where a CPU was idle.
///
/// Proof: while a job of `k` is active over a window of length `x` and has got less than `C_k`, the others
/// have got at least `S x - (lambda + 1) C_k`.
pub fn responses(tasks: &[Tau], cpus: &Uniform, limited: bool) -> Vec<Option<i64>> {
    let mut bounds: Vec<Option<i64>> = Vec::with_capacity(tasks.len());
    let mut steps = STEPS;
    for (k, own) in tasks.iter().enumerate() {
        let higher: Option<Vec<(&Tau, i128)>> = (tasks[..k].iter().zip(&bounds))
            .map(|(tau, bound)| Some((tau, i128::from((*bound)?))))
            .collect();
        let bound = higher.and_then(|higher| response(own, &higher, cpus, limited, &mut steps));
        bounds.push(bound.and_then(|x| i64::try_from(x).ok()));
    }
    bounds
}

fn response(
    own: &Tau,
    higher: &[(&Tau, i128)],
    cpus: &Uniform,
    limited: bool,
    steps: &mut usize,
) -> Option<i128> {
    let (lambda, den) = cpus.lambda();
    let supply = cpus.total() * den;
    let mut x = 1;
    loop {
        if x > own.D || *steps < higher.len() + 1 {
            return None;
        }
        *steps -= higher.len() + 1;
        let most = interference(higher, cpus, limited, x) * den + (lambda + den) * own.C;
        let next = num_integer::Integer::div_ceil(&most, &supply);
        if next <= x {
            return Some(x);
        }
        x = next;
    }
}

/// `w(x)`, in grains.
pub(super) fn interference(
    higher: &[(&Tau, i128)],
    cpus: &Uniform,
    limited: bool,
    x: i128,
) -> i128 {
    let s_1 = cpus.first();
    let (mut sum, mut more) = (0, Vec::new());
    for (tau, R_i) in higher {
        // `s_1 y` for `y = x + R_i - C_i+ / s_1`, which is a whole number of grains.
        let scaled = (x + R_i) * s_1 - tau.plus;
        let with = if scaled <= 0 {
            0
        } else {
            let period = tau.T * s_1;
            ((scaled / period) * tau.plus + tau.plus.min(scaled % period)).min(s_1 * x)
        };
        let body = (x / tau.T) * tau.plus + tau.plus.min(s_1 * (x % tau.T));
        let without = body.min(s_1 * x);
        // With a short response a task that carries in may do less than one that does not.
        let extra = (with - without).max(0);
        sum += without;
        if limited {
            more.push(extra);
        } else {
            sum += extra;
        }
    }
    sum + largest(more, cpus.cpus() - 1)
}
