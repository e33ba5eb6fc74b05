//! The search against all assignments.

use super::*;

struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> i64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit) as i64
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent as i64
    }
}

/// Draws up to 5 tasks on up to 3 CPUs, with constraints.
fn drawn(seed: u64) -> Problem {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (n, m) = (1 + draw.below(5) as usize, 1 + draw.below(3) as usize);
    let [alike, equal, masks, memory, costs] = [50, 40, 30, 30, 40].map(|share| draw.chance(share));
    let mut items: Vec<Item> = Vec::new();
    for at in 0..n {
        if equal && at > 0 && draw.chance(60) {
            items.push(items[at - 1].clone());
            continue;
        }
        let period = 4 + draw.below(9);
        let time = 1 + draw.below(period as u64 / 2);
        let times = (0..m).map(|_| {
            let own = if alike { time } else { 1 + draw.below(period as u64 / 2 + 1) };
            (!masks || draw.chance(70)).then_some(own)
        });
        let times = times.collect();
        let deadline = if draw.chance(60) { period } else { 3 + draw.below(period as u64 - 2) };
        let needs = if memory { draw.below(4) as u64 } else { 0 };
        items.push(Item { times, deadline, period, memory: needs });
    }
    let cpu = |draw: &mut Draw| Bin {
        room: memory.then(|| 3 + draw.below(5) as u64),
        cost: if costs { 1 + draw.below(3) as u64 } else { 1 },
    };
    let room = cpu(&mut draw);
    let cpus = (0..m).map(|_| if alike { room } else { cpu(&mut draw) }).collect();
    let mut problem = Problem {
        items,
        cpus,
        order: [Order::Deadline, Order::DeadlineMonotonic, Order::RateMonotonic, Order::Given]
            [draw.below(4) as usize],
        apart: Vec::new(),
        together: Vec::new(),
        fixed: Vec::new(),
    };
    let one = |draw: &mut Draw| draw.below(n as u64) as usize;
    if draw.chance(25) {
        problem.apart.push((one(&mut draw), one(&mut draw)));
    }
    if draw.chance(25) {
        problem.together.push(vec![one(&mut draw), one(&mut draw), one(&mut draw)]);
    }
    if draw.chance(25) {
        problem.fixed.push((one(&mut draw), draw.below(m as u64) as usize));
    }
    problem
}

/// The best value over all assignments.
fn best_of_all(problem: &Problem, objective: Objective) -> Option<Value> {
    let (n, m) = (problem.items.len(), problem.cpus.len());
    let mut best: Option<Value> = None;
    for number in 0..m.pow(n as u32) {
        let cpu_of: Vec<usize> = (0..n as u32).map(|at| number / m.pow(at) % m).collect();
        if !problem.is_mapping(&cpu_of) {
            continue;
        }
        let value = problem.value(objective, &cpu_of);
        if best.as_ref().is_none_or(|best| value.is_better_than(best)) {
            best = Some(value);
        }
    }
    best
}

const OBJECTIVES: [Objective; 4] =
    [Objective::Feasible, Objective::Cpus, Objective::Balance, Objective::Margin];

#[test]
fn the_search_finds_the_best_of_all_assignments() {
    let [mut possible, mut impossible, mut short] = [0; 3];
    for seed in 0..1500 {
        let problem = drawn(seed);
        for objective in OBJECTIVES {
            let solution = solve(&problem, objective, u64::MAX);
            assert!(solution.is_proven, "seed {seed}: {problem:?}");
            let right = best_of_all(&problem, objective);
            let found = solution.found.as_ref().map(|(_, value)| value.clone());
            assert_eq!(found, right, "seed {seed}, {objective:?}: {problem:?}");
            if let Some((cpu_of, value)) = &solution.found {
                assert!(problem.is_mapping(cpu_of), "seed {seed}: {problem:?}");
                assert_eq!(problem.value(objective, cpu_of), *value, "seed {seed}");
                assert_eq!(solution.reason, None);
                possible += 1;
            } else {
                impossible += 1;
                short += usize::from(solution.reason.is_some());
            }
        }
    }
    assert!(possible > 1500 && impossible > 500 && short > 100, "{possible} {impossible} {short}");
}

#[test]
fn a_search_that_gives_up_proves_nothing() {
    let item = |time| Item { times: vec![Some(time); 2], deadline: 7, period: 7, memory: 0 };
    let problem = Problem {
        // Two of them are too much for a CPU, and all three are not too much for two.
        items: [4, 4, 4].map(item).to_vec(),
        cpus: vec![Bin { room: None, cost: 1 }; 2],
        order: Order::Deadline,
        apart: Vec::new(),
        together: Vec::new(),
        fixed: Vec::new(),
    };
    let solution = solve(&problem, Objective::Feasible, 3);
    assert!(!solution.is_proven && solution.nodes <= 3, "{solution:?}");
    let again = solve(&problem, Objective::Feasible, 3);
    assert_eq!(solution, again);
}

#[test]
fn short_reasons_need_no_search() {
    let item = |time| Item { times: vec![time; 2], deadline: 4, period: 4, memory: 0 };
    let mut problem = Problem {
        items: vec![item(Some(3)), item(Some(3)), item(Some(3))],
        cpus: vec![Bin { room: None, cost: 1 }; 2],
        order: Order::Deadline,
        apart: vec![(0, 1)],
        together: vec![vec![1, 0]],
        fixed: Vec::new(),
    };
    let reason = |problem: &Problem| solve(problem, Objective::Cpus, 1000).reason;
    assert_eq!(reason(&problem), Some(Impossible::ApartAndTogether(0, 1)));
    problem.together.clear();
    assert_eq!(reason(&problem), Some(Impossible::TooMuch(Rate::new(9, 4))));
    problem.items[2] = item(None);
    assert_eq!(reason(&problem), Some(Impossible::NoCpu(vec![2])));
    problem.items[2] = item(Some(1));
    problem.together.push(vec![2, 0, 1]);
    problem.apart.clear();
    assert_eq!(reason(&problem), Some(Impossible::NoCpu(vec![0, 1, 2])));
}
