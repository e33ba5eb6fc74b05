//! Vectors of mappings: the best values of the objectives, and the assignment of first fit.

use super::reading::{integer, list, read, same};
use super::verdict::Read;
use layland_analysis::map::{Bin, Item, Objective, Problem, Value as Best, solve};
use layland_model::{Order, Rate};
use serde_json::{Value, json};

/// Runs a vector.
pub(super) fn run(vector: &Value) -> Read<()> {
    let problem = problem(vector)?;
    let expect = &vector["expect"];
    for (key, objective) in [
        ("feasible", Objective::Feasible),
        ("cpus", Objective::Cpus),
        ("balance", Objective::Balance),
        ("margin", Objective::Margin),
    ] {
        let solution = solve(&problem, objective, u64::MAX);
        if !solution.is_proven {
            return Err(format!("{key}: the search gave up"));
        }
        let found = match solution.found {
            None => Value::Null,
            Some((cpu_of, _)) if !problem.is_mapping(&cpu_of) => {
                return Err(format!("{key}: {cpu_of:?} is no mapping"));
            }
            Some((_, Best::Any)) => json!(true),
            Some((_, Best::Cost(cost))) => json!(cost),
            Some((_, Best::Fullest(rate))) => json!(rate.to_string()),
            Some((_, Best::Thousandths(factor))) => json!(factor),
        };
        same(key, &expect[key], &found)?;
    }
    let key = "first_fit_decreasing";
    same(key, &expect[key], &json!(first_fit_decreasing(&problem)))
}

fn problem(vector: &Value) -> Read<Problem> {
    let place = |value: &Value| read(value.as_u64().map(|at| at as usize), "place");
    let numbers = |key: &str| -> Read<Vec<i64>> {
        list(&vector[key], key)?.iter().map(|value| integer(value, key)).collect()
    };
    let (deadlines, periods, memory) = (numbers("D")?, numbers("T")?, numbers("memory")?);
    let mut items = Vec::new();
    for (at, row) in list(&vector["times"], "times")?.iter().enumerate() {
        let times: Read<Vec<Option<i64>>> = list(row, "times")?
            .iter()
            .map(|time| if time.is_null() { Ok(None) } else { integer(time, "time").map(Some) })
            .collect();
        let memory = memory[at].unsigned_abs();
        items.push(Item { times: times?, deadline: deadlines[at], period: periods[at], memory });
    }
    let cpus = numbers("room")?
        .into_iter()
        .zip(numbers("cost")?)
        .map(|(room, cost)| Bin { room: Some(room.unsigned_abs()), cost: cost.unsigned_abs() });
    let places = |row: &Value| list(row, "places")?.iter().map(place).collect::<Read<Vec<usize>>>();
    let groups = |key: &str| -> Read<Vec<Vec<usize>>> {
        list(&vector[key], key)?.iter().map(places).collect()
    };
    let fixed: Read<Vec<(usize, usize)>> = read(vector["fixed"].as_object(), "fixed")?
        .iter()
        .map(|(item, cpu)| Ok((read(item.parse().ok(), "task")?, place(cpu)?)))
        .collect();
    Ok(Problem {
        items,
        cpus: cpus.collect(),
        order: match vector["order"].as_str() {
            Some("edf") => Order::Deadline,
            Some("fp") => Order::DeadlineMonotonic,
            other => return Err(format!("{other:?} is no order")),
        },
        apart: groups("apart")?.iter().map(|pair| (pair[0], pair[1])).collect(),
        together: groups("together")?,
        fixed: fixed?,
    })
}

/// Returns the CPUs that first fit gives tasks by decreasing size, one by one: each gets the first CPU that
/// passes its test and breaks no constraint with those before.
fn first_fit_decreasing(problem: &Problem) -> Option<Vec<usize>> {
    let size = |item: &Item| {
        let of = |time: &i64| Rate::new(*time, item.deadline.min(item.period));
        item.times.iter().flatten().map(of).min()
    };
    let mut order: Vec<usize> = (0..problem.items.len()).collect();
    order.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(|item| size(&problem.items[item]));
        // Tasks without a CPU come first, and have none.
        a.is_none().cmp(&b.is_none()).reverse().then_with(|| b.cmp(&a))
    });
    let mut cpu_of: Vec<Option<usize>> = vec![None; problem.items.len()];
    for item in order {
        let fits = |cpu: &usize| {
            let mut tried = cpu_of.clone();
            tried[item] = Some(*cpu);
            is_possible(problem, &tried)
        };
        cpu_of[item] = Some((0..problem.cpus.len()).find(fits)?);
    }
    cpu_of.into_iter().collect()
}

/// Returns true if the tasks with a CPU are a mapping by themselves.
fn is_possible(problem: &Problem, cpu_of: &[Option<usize>]) -> bool {
    let there: Vec<usize> = (0..cpu_of.len()).filter(|&item| cpu_of[item].is_some()).collect();
    let place = |item: usize| there.iter().position(|&other| other == item);
    let both = |a: usize, b: usize| Some((place(a)?, place(b)?));
    let group = |all: &Vec<usize>| all.iter().filter_map(|&item| place(item)).collect();
    let part = Problem {
        items: there.iter().map(|&item| problem.items[item].clone()).collect(),
        cpus: problem.cpus.clone(),
        order: problem.order,
        apart: problem.apart.iter().filter_map(|&(a, b)| both(a, b)).collect(),
        together: problem.together.iter().map(group).collect(),
        fixed: (problem.fixed.iter())
            .filter_map(|&(item, cpu)| Some((place(item)?, cpu)))
            .collect(),
    };
    let cpus: Vec<usize> = there.iter().filter_map(|&item| cpu_of[item]).collect();
    part.is_mapping(&cpus)
}
