//! Between CPUs: every term of every protocol from its definition, section by section. All response
//! times rise together, each computed from those of the previous round.

use super::{Draw, Shape, ceil, draw_set, from_below, sets};
use layland_analysis::locking::Locker;
use layland_analysis::locking::between::{Bounded, Shared, Waits, dpcp, fmlp, mpcp, msrp};
use layland_model::CpuId;

const SHAPE: Shape = Shape {
    tasks: 6,
    cpus: 3,
    resources: 3,
    period: (30, 90),
    sections: (3, 3),
    nested: 0,
    suspends: 5,
};

/// A set, with its homes if the protocol has homes.
struct Set {
    tasks: Vec<Locker>,
    home: Option<Vec<CpuId>>,
}

impl Set {
    fn users(&self, q: usize) -> Vec<usize> {
        let uses = |&u: &usize| self.tasks[u].sections.iter().any(|section| section.q == q);
        (0..self.tasks.len()).filter(uses).collect()
    }

    fn is_global(&self, q: usize) -> bool {
        let mut cpus: Vec<CpuId> = self.users(q).iter().map(|&u| self.tasks[u].cpu).collect();
        cpus.extend(self.home.iter().map(|home| home[q]));
        cpus.iter().any(|cpu| *cpu != cpus[0])
    }

    /// The lengths of the sections of a job on a resource. Each counts as long as the longest one,
    /// as in the bounds.
    fn on(&self, u: usize, q: usize) -> Vec<i64> {
        let of_q: Vec<i64> =
            self.tasks[u].sections.iter().filter(|s| s.q == q).map(|s| s.length).collect();
        let longest = of_q.iter().copied().max().unwrap_or(0);
        vec![longest; of_q.len()]
    }

    /// `N_{u,q}`.
    fn N(&self, u: usize, q: usize) -> i64 {
        self.on(u, q).len() as i64
    }

    /// `L_{u,q}`.
    fn L(&self, u: usize, q: usize) -> i64 {
        self.on(u, q).first().copied().unwrap_or(0)
    }

    fn globals(&self) -> Vec<usize> {
        (0..3).filter(|&q| !self.users(q).is_empty() && self.is_global(q)).collect()
    }

    fn others(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.tasks.len()).filter(move |&u| u != i)
    }

    fn same_cpu(&self, a: usize, b: usize) -> bool {
        self.tasks[a].cpu == self.tasks[b].cpu
    }

    fn lower(&self, i: usize) -> impl Iterator<Item = usize> + '_ {
        (i + 1..self.tasks.len()).filter(move |&j| self.same_cpu(i, j))
    }

    fn jobs(&self, u: usize, I: i64, R: &[i64]) -> i64 {
        ceil(I + R[u], self.tasks[u].T)
    }

    /// The sections of all these jobs of `u` on a resource.
    fn all(&self, u: usize, q: usize, jobs: i64) -> Vec<i64> {
        (0..jobs).flat_map(|_| self.on(u, q)).collect()
    }

    /// `n_i`.
    fn n(&self, i: usize) -> i64 {
        self.globals().iter().map(|&q| self.N(i, q)).sum()
    }

    /// The longest local section of a task of lower priority with a ceiling at least as high as
    /// `i`.
    fn local_section(&self, i: usize) -> i64 {
        let mut longest = 0;
        for j in self.lower(i) {
            for section in &self.tasks[j].sections {
                if !self.is_global(section.q) && self.users(section.q)[0] <= i {
                    longest = longest.max(section.length);
                }
            }
        }
        longest
    }
}

fn longest(count: i64, mut lengths: Vec<i64>) -> i64 {
    lengths.sort_unstable();
    lengths.iter().rev().take(count.max(0).cast_unsigned() as usize).sum()
}

/// Computes all `R` from those of the previous round, until none changes; `None` if one exceeds its
/// deadline.
fn together(set: &Set, next: impl Fn(usize, &[i64]) -> Option<i64>) -> Option<Vec<i64>> {
    let mut R: Vec<i64> = set.tasks.iter().map(|task| task.C).collect();
    loop {
        let risen: Vec<i64> = (0..R.len()).map(|i| next(i, &R)).collect::<Option<_>>()?;
        if risen.iter().zip(&set.tasks).any(|(R, task)| *R > task.D) {
            return None;
        }
        if risen == R {
            return Some(R);
        }
        R = risen;
    }
}

fn suspended(set: &Set, waits: impl Fn(usize, &[i64]) -> Option<Waits>) -> Option<Bounded<Waits>> {
    let next = |i: usize, R: &[i64]| {
        let task = &set.tasks[i];
        let Waits { remote, local, ceiling } = waits(i, R)?;
        let mut sum = task.C + task.S + remote + local + ceiling;
        for h in (0..i).filter(|&h| set.same_cpu(h, i)) {
            let away = set.tasks[h].S > 0 || waits(h, R)?.remote > 0;
            let J = if away { R[h] - set.tasks[h].C } else { 0 };
            sum += ceil(R[i] + J, set.tasks[h].T) * set.tasks[h].C;
        }
        Some(sum)
    };
    let response = together(set, next)?;
    let waits = (0..response.len()).map(|i| waits(i, &response)).collect::<Option<_>>()?;
    Some(Bounded { response, waits })
}

fn slow_mpcp(set: &Set) -> Option<Bounded<Waits>> {
    let remote_ceiling = |q: usize, cpu: CpuId| {
        set.users(q).into_iter().find(|&u| set.tasks[u].cpu != cpu).unwrap_or(usize::MAX)
    };
    let W = |u: usize, q: usize| {
        let cpu = set.tasks[u].cpu;
        let mut sum = set.L(u, q);
        for v in set.others(u).filter(|&v| set.same_cpu(u, v)) {
            let as_high =
                |&x: &usize| set.N(v, x) > 0 && remote_ceiling(x, cpu) <= remote_ceiling(q, cpu);
            sum +=
                set.globals().into_iter().filter(as_high).map(|x| set.L(v, x)).max().unwrap_or(0);
        }
        sum
    };
    let w = |i: usize, q: usize| {
        let users: Vec<usize> = set.users(q).into_iter().filter(|&u| u != i).collect();
        if users.is_empty() {
            return Some(0);
        }
        let lower = users.iter().filter(|&&u| u > i).map(|&u| W(u, q)).max().unwrap_or(0);
        let f = |w: i64| {
            let higher = users.iter().filter(|&&u| u < i);
            lower
                + higher
                    .map(|&u| (ceil(w, set.tasks[u].T) + 1) * set.N(u, q) * W(u, q))
                    .sum::<i64>()
        };
        from_below(1, set.tasks[i].T.max(set.tasks[i].D), f)
    };
    suspended(set, |i, _| {
        let mut remote = 0;
        for q in set.globals().into_iter().filter(|&q| set.N(i, q) > 0) {
            remote += set.N(i, q) * w(i, q)?;
        }
        let arrivals = set.n(i) + set.tasks[i].m + 1;
        let worst = |j: usize| set.globals().into_iter().map(|q| set.L(j, q)).max().unwrap_or(0);
        let local = arrivals * set.lower(i).map(worst).sum::<i64>();
        Some(Waits { remote, local, ceiling: arrivals * set.local_section(i) })
    })
}

fn slow_fmlp(set: &Set) -> Option<Bounded<Waits>> {
    suspended(set, |i, R| {
        let own = set.tasks[i].cpu;
        let every = |u: usize| -> Vec<i64> {
            let jobs = set.jobs(u, R[i], R);
            set.globals().into_iter().flat_map(|x| set.all(u, x, jobs)).collect()
        };
        let (mut remote, mut counted) = (0, 0);
        for cpu in (0..3).map(CpuId) {
            let there: Vec<usize> = set.others(i).filter(|&u| set.tasks[u].cpu == cpu).collect();
            let (mut count, mut issued) = (0, 0);
            for q in set.globals() {
                for &u in &there {
                    count += (set.jobs(u, R[i], R) * set.N(u, q)).min(set.N(i, q));
                }
                if there.iter().any(|&u| set.N(u, q) > 0) {
                    issued += set.N(i, q);
                }
            }
            counted += count;
            if cpu != own {
                remote += there.iter().map(|&u| longest(count.min(issued), every(u))).sum::<i64>();
            }
        }
        let arrivals = set.n(i).min(counted) + set.tasks[i].m + 1;
        let local = set.lower(i).map(|j| longest(arrivals, every(j))).sum();
        Some(Waits { remote, local, ceiling: arrivals * set.local_section(i) })
    })
}

fn slow_dpcp(set: &Set) -> Option<Bounded<Waits>> {
    let home = set.home.as_ref().expect("the protocol has homes");
    suspended(set, |i, R| {
        let at = |cpu: CpuId| -> Vec<usize> {
            set.globals().into_iter().filter(|&q| home[q] == cpu).collect()
        };
        let every = |u: usize, q: usize| set.all(u, q, set.jobs(u, R[i], R));
        let mut remote = 0;
        for cpu in (0..3).map(CpuId).filter(|cpu| *cpu != set.tasks[i].cpu) {
            let k: i64 = at(cpu).iter().map(|&q| set.N(i, q)).sum();
            if k == 0 {
                continue;
            }
            let mut lower = Vec::new();
            for u in set.others(i) {
                for q in at(cpu) {
                    if u < i {
                        remote += every(u, q).iter().sum::<i64>();
                    } else if set.users(q)[0] <= i {
                        lower.extend(every(u, q));
                    }
                }
            }
            remote += longest(k, lower);
        }
        let here = at(set.tasks[i].cpu);
        let of_task = |u: usize| here.iter().flat_map(|&q| every(u, q)).sum::<i64>();
        let arrivals = set.n(i) + set.tasks[i].m + 1;
        let local = set.others(i).map(of_task).sum();
        Some(Waits { remote, local, ceiling: arrivals * set.local_section(i) })
    })
}

fn slow_msrp(set: &Set, counting: msrp::Counting) -> Option<Bounded<msrp::Spins>> {
    let elsewhere = |i: usize| (0..3).map(CpuId).filter(move |cpu| *cpu != set.tasks[i].cpu);
    let there = |cpu: CpuId| (0..set.tasks.len()).filter(move |&u| set.tasks[u].cpu == cpu);
    let request = |i: usize, q: usize| -> i64 {
        elsewhere(i).map(|cpu| there(cpu).map(|u| set.L(u, q)).max().unwrap_or(0)).sum()
    };
    let spin = |i: usize, R: &[i64]| {
        let mut spin = 0;
        for q in set.globals() {
            for cpu in elsewhere(i) {
                let every = there(cpu).flat_map(|u| set.all(u, q, set.jobs(u, R[i], R))).collect();
                spin += match counting {
                    msrp::Counting::Holistic => longest(set.N(i, q), every),
                    msrp::Counting::Classic => {
                        set.N(i, q) * there(cpu).map(|u| set.L(u, q)).max().unwrap_or(0)
                    }
                };
            }
        }
        spin
    };
    let arrival = |i: usize| {
        let mut longest = set.local_section(i);
        for j in set.lower(i) {
            for q in set.globals().into_iter().filter(|&q| set.N(j, q) > 0) {
                longest = longest.max(request(j, q) + set.L(j, q));
            }
        }
        longest
    };
    let next = |i: usize, R: &[i64]| {
        let above = (0..i).filter(|&h| set.same_cpu(h, i));
        let preempted =
            above.map(|h| ceil(R[i], set.tasks[h].T) * (set.tasks[h].C + spin(h, R))).sum::<i64>();
        Some(set.tasks[i].C + spin(i, R) + arrival(i) + preempted)
    };
    let response = together(set, next)?;
    let spins = |i: usize| msrp::Spins { spin: spin(i, &response), arrival: arrival(i) };
    Some(Bounded { waits: (0..response.len()).map(spins).collect(), response })
}

#[test]
fn every_term_is_that_of_the_text() {
    let (mut draw, mut accepted, mut waited) = (Draw(9), [0; 5], [0; 5]);
    for _ in 0..sets(1_500) {
        let tasks = draw_set(&mut draw, SHAPE);
        let home: Vec<CpuId> = (0..3).map(|_| CpuId(draw.below(3) as u32)).collect();
        let shared = Shared::new(tasks.clone());
        let at_home = dpcp::shared(tasks.clone(), &home);
        let set = Set { tasks: tasks.clone(), home: None };
        let with_homes = Set { tasks: tasks.clone(), home: Some(home.clone()) };
        let spinning: Vec<Locker> =
            tasks.iter().map(|task| Locker { S: 0, m: 0, ..task.clone() }).collect();
        let spinning = Set { tasks: spinning, home: None };
        let shared_spinning = Shared::new(spinning.tasks.clone());
        let suspended = [
            (mpcp::bounds(&shared).ok(), slow_mpcp(&set)),
            (fmlp::bounds(&shared).ok(), slow_fmlp(&set)),
            (dpcp::bounds(&at_home, &home).ok(), slow_dpcp(&with_homes)),
        ];
        for (at, (said, slow)) in suspended.into_iter().enumerate() {
            assert_eq!(said, slow, "{at}, homes {home:?}, {tasks:#?}");
            accepted[at] += i32::from(said.is_some());
            let waits = said.map(|said| said.waits.iter().any(|waits| waits.remote > 0));
            waited[at] += i32::from(waits == Some(true));
        }
        let [classic, holistic] =
            [msrp::Counting::Classic, msrp::Counting::Holistic].map(|counting| {
                let said = msrp::bounds(&shared_spinning, counting).ok();
                assert_eq!(said, slow_msrp(&spinning, counting), "{counting:?}, {tasks:#?}");
                said
            });
        for (at, said) in [(3, &classic), (4, &holistic)] {
            accepted[at] += i32::from(said.is_some());
            let spins = said.as_ref().map(|said| said.waits.iter().any(|waits| waits.spin > 0));
            waited[at] += i32::from(spins == Some(true));
        }
        if let Some(classic) = classic {
            let holistic = holistic.expect("it spins no longer");
            assert!(
                holistic.response.iter().zip(&classic.response).all(|(h, c)| h <= c),
                "{tasks:#?}"
            );
        }
    }
    assert!(accepted.iter().all(|&accepted| accepted > 200), "{accepted:?}");
    assert!(waited.iter().all(|&waited| waited > 50), "{waited:?}");
}
