//! Twins of the bounds for locks and self-suspension, written directly from the specification
//! without optimization: programs are expanded into lists of sections, fixed points are searched
//! from below, and all choices are tried. Both versions run on the same random sets.
//!
//! For the long form, run `CASES=100000 cargo test -p layland-analysis --test locking`.

#![expect(non_snake_case, reason = "symbols of the specification")]

mod between;
mod one_cpu;
mod suspension;

use layland_analysis::locking::{Held, Locker, Response};
use layland_model::{CpuId, TaskId};

/// The number of random sets, unless the user requests another number.
fn sets(default: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the user of the test asks for a longer run")]
    let asked = std::env::var("CASES").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(default)
}

/// Pseudo-random numbers below a bound; the sequence is always the same.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound.cast_unsigned()).cast_signed()
    }

    fn one_in(&mut self, of: i64) -> bool {
        self.below(of) == 0
    }
}

/// The parameters from which sets are drawn.
#[derive(Clone, Copy)]
struct Shape {
    tasks: i64,
    cpus: i64,
    resources: i64,
    /// The shortest period, and the maximum by which others are longer.
    period: (i64, i64),
    /// The maximum number of sections of a job, and their maximum length.
    sections: (i64, i64),
    /// One in `nested` sections has another one within it; never if 0.
    nested: i64,
    /// One in `suspends` tasks suspends itself; never if 0.
    suspends: i64,
}

/// Draws a set, the highest priority first.
fn draw_set(draw: &mut Draw, shape: Shape) -> Vec<Locker> {
    let count = 1 + draw.below(shape.tasks);
    (0..count).map(|at| draw_task(draw, shape, at as u32)).collect()
}

fn draw_task(draw: &mut Draw, shape: Shape, id: u32) -> Locker {
    let T = shape.period.0 + draw.below(shape.period.1);
    let mut sections: Vec<Held> = Vec::new();
    for _ in 0..draw.below(shape.sections.0 + 1) {
        let q = draw.below(shape.resources).cast_unsigned() as usize;
        let length = 1 + draw.below(shape.sections.1);
        sections.push(Held { q, length, within: None });
        let mut around = sections.len() - 1;
        // Nest only in ascending order of resources, so that there is a consistent order.
        while shape.nested > 0 && draw.one_in(shape.nested) {
            let Held { q: outer, length, .. } = sections[around];
            let inner = outer + 1 + draw.below(2) as usize;
            if inner >= shape.resources as usize {
                break;
            }
            let length = draw.below(length + 1);
            sections.push(Held { q: inner, length, within: Some(around) });
            around = sections.len() - 1;
        }
    }
    let inside: i64 = sections.iter().filter(|s| s.within.is_none()).map(|s| s.length).sum();
    let C = inside + i64::from(inside == 0) + draw.below(3);
    let m = if shape.suspends > 0 && draw.one_in(shape.suspends) { 1 + draw.below(2) } else { 0 };
    let S = if m > 0 { m + draw.below(5) } else { 0 };
    let T = T.max(C + S);
    let D = T - draw.below(1 + (T - C - S) / 2);
    let cpu = CpuId(draw.below(shape.cpus) as u32);
    Locker { id: TaskId(id), cpu, C, S, m, T, D, sections }
}

/// The responses that are known.
fn some(responses: &[Response]) -> Vec<Option<i64>> {
    responses.iter().map(|response| response.ok()).collect()
}

fn ceil(a: i64, b: i64) -> i64 {
    (a + b - 1).div_euclid(b)
}

/// Returns the least `t` with `t = f(t)`, trying all from `from` to `limit` one by one.
fn from_below(from: i64, limit: i64, f: impl Fn(i64) -> i64) -> Option<i64> {
    (from..=limit).find(|&t| f(t) == t)
}
