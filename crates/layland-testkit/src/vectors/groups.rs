//! Vectors of groups with reservations: supplies, tests on one and on several servers, servers as
//! tasks, designs, and the arithmetic of the kernel.
//!
//! Times are whole units, which stand for nanoseconds. The slow twins of [`crate::groups`] compute each
//! expectation again, where they have one.

use super::reading::{integer, list, read, same};
use super::verdict::{Read, Verdict};
use crate::groups::{self as slow, SlowServer, SlowTask};
use layland_analysis::Sporadic;
use layland_analysis::groups::design::{Design, InTimeProof, LeastBudget, Refuted};
use layland_analysis::groups::outer::{self, Entity, Served};
use layland_analysis::groups::{
    GroupTask, InnerTest, MultiprocessorResource, Supplies, Supply, demand, fifo, fixed_priority,
    global, kernel,
};
use layland_analysis::uniprocessor::edf::Demand;
use layland_model::{Duration, GroupServer, InnerPolicy, Rate, ServerRule, Service, TIME_LIMIT};
use serde_json::{Value, json};

const FOREVER: Duration = Duration::from_ns(TIME_LIMIT);

fn ns(length: i64) -> Duration {
    Duration::from_ns(length)
}

/// Runs a vector of one of these types.
pub(super) fn run(vector: &Value) -> Verdict {
    let outcome = match vector["type"].as_str() {
        Some("supply") => supply(vector),
        Some("bounded_delay") => bounded_delay(vector),
        Some("mpr") => multiprocessor(vector),
        Some("several") => several(vector),
        Some("uniprocessor") => one_server(vector),
        Some("global") => on_several(vector),
        Some("outer_edf") => outer_edf(vector),
        Some("outer_fp") => outer_fp(vector),
        Some("design") => design(vector),
        Some("hcbs_ratio") => kernel_ratio(vector),
        Some("hcbs_tree") => kernel_tree(vector),
        Some(_) | None => Err("no known type".to_owned()),
    };
    outcome.into()
}

fn rule(name: &Value) -> Read<ServerRule> {
    read(name.as_str().and_then(ServerRule::find), "kind of a server")
}

fn server(value: &Value) -> Read<GroupServer> {
    Ok(GroupServer {
        budget: Service::from_ns(integer(&value["Q"], "Q")?),
        period: ns(integer(&value["P"], "P")?),
        deadline: ns(integer(&value["D"], "D")?),
        rule: rule(&value["kind"])?,
    })
}

fn servers(vector: &Value) -> Read<Vec<GroupServer>> {
    list(&vector["servers"], "servers")?.iter().map(server).collect()
}

/// Tasks `[C, T, D]`, highest priority first.
fn tasks(vector: &Value) -> Read<Vec<Sporadic>> {
    let of_task = |task: &Value| {
        let [wcet, period, deadline] = [0, 1, 2].map(|at| integer(&task[at], "task"));
        let wcet = Service::from_ns(wcet?);
        Ok(Sporadic { wcet, period: ns(period?), deadline: ns(deadline?) })
    };
    list(&vector["tasks"], "tasks")?.iter().map(of_task).collect()
}

fn slow_server(server: &GroupServer) -> SlowServer {
    SlowServer {
        budget: server.budget.ns(),
        period: server.period.ns(),
        deadline: server.deadline.ns(),
        is_polling: server.rule == ServerRule::Polling,
    }
}

fn slow_tasks(tasks: &[Sporadic]) -> Vec<SlowTask> {
    let of = |task: &Sporadic| SlowTask {
        wcet: task.wcet.ns(),
        period: task.period.ns(),
        deadline: task.deadline.ns(),
    };
    tasks.iter().map(of).collect()
}

/// Pairs `[x, f(x)]` for the `x` of a list of pairs.
fn at_each(pairs: &Value, f: impl Fn(i64) -> i64) -> Read<Value> {
    let of_pair = |pair: &Value| {
        let x = integer(&pair[0], "pair")?;
        Ok(json!([x, f(x)]))
    };
    list(pairs, "pairs")?.iter().map(of_pair).collect()
}

/// Fractions as the vectors write them.
pub(super) fn written(rate: &Rate) -> Value {
    match rate.as_i64_pair() {
        Some((whole, 1)) => json!(whole),
        Some((numerator, denominator)) => json!(format!("{numerator}/{denominator}")),
        None => Value::Null,
    }
}

fn supply(vector: &Value) -> Read<()> {
    let (server, expect) = (server(&vector["server"])?, &vector["expect"]);
    let supply = Supply::of(&server);
    let delay = supply.delay().ns();
    same("delay", &expect["delay"], &json!(delay))?;
    let gap = delay - (server.deadline.ns() - server.budget.ns());
    same("gap", &expect["gap"], &json!(gap))?;
    let sbf = at_each(&expect["sbf"], |t| supply.within(ns(t)).ns())?;
    same("sbf", &expect["sbf"], &sbf)?;
    let tbf = at_each(&expect["tbf"], |w| supply.time_for(Service::from_ns(w)).ns())?;
    same("tbf", &expect["tbf"], &tbf)?;
    let slow = slow_server(&server);
    if slow.period <= 100 {
        same("sbf by states", &expect["sbf"], &at_each(&expect["sbf"], |t| slow.supply(t))?)?;
        same("tbf by states", &expect["tbf"], &at_each(&expect["tbf"], |w| slow.time_for(w))?)?;
    }
    Ok(())
}

fn bounded_delay(vector: &Value) -> Read<()> {
    let alpha = vector["alpha"].as_str().and_then(|text| text.parse::<Rate>().ok());
    let delay = integer(&vector["delay"], "delay")?;
    let supply = Supply::bounded_delay(&read(alpha, "alpha")?, ns(delay));
    let (supply, expect) = (read(supply, "bandwidth up to 1")?, &vector["expect"]);
    let sbf = at_each(&expect["sbf"], |t| supply.within(ns(t)).ns())?;
    same("sbf", &expect["sbf"], &sbf)?;
    let tbf = at_each(&expect["tbf"], |w| supply.time_for(Service::from_ns(w)).ns())?;
    same("tbf", &expect["tbf"], &tbf)
}

fn multiprocessor(vector: &Value) -> Read<()> {
    let resource = MultiprocessorResource {
        budget: Service::from_ns(integer(&vector["theta"], "theta")?),
        period: ns(integer(&vector["P"], "P")?),
        concurrency: u32::try_from(integer(&vector["m"], "m")?).map_err(|_| "m is too large")?,
    };
    let expected = &vector["expect"]["sbf"];
    same("sbf", expected, &at_each(expected, |t| resource.within(ns(t)).ns())?)
}

fn several(vector: &Value) -> Read<()> {
    let servers = servers(vector)?;
    let slow: Vec<SlowServer> = servers.iter().map(slow_server).collect();
    let supplies = Supplies::new(servers.iter().map(Supply::of).collect());
    for triple in list(&vector["expect"]["Y"], "Y")? {
        let [j, t, expected] = [0, 1, 2].map(|at| integer(&triple[at], "triple"));
        let (j, t, expected) = (j? as usize, t?, expected?);
        let found = (supplies.within(j, ns(t)).ns(), slow::several(&slow, j, t));
        if found != (expected, expected) {
            return Err(format!("Y_{j}({t}): expected {expected}, found {found:?}"));
        }
    }
    Ok(())
}

fn or_null<E>(found: Result<Duration, E>) -> Value {
    found.map_or(Value::Null, |response| json!(response.ns()))
}

fn one_server(vector: &Value) -> Read<()> {
    let (server, tasks, expect) = (server(&vector["server"])?, tasks(vector)?, &vector["expect"]);
    let (supply, slow, few) = (Supply::of(&server), slow_server(&server), slow_tasks(&tasks));
    let each =
        |respond: &dyn Fn(usize) -> Value| -> Value { (0..tasks.len()).map(respond).collect() };
    let any =
        each(&|k| or_null(fixed_priority::response_time(&supply, &tasks[k], &tasks[..k], FOREVER)));
    same("fp_any", &expect["fp_any"], &any)?;
    if expect.get("fp").is_some() {
        let fp = each(&|k| {
            let limit = tasks[k].deadline;
            or_null(fixed_priority::response_time(&supply, &tasks[k], &tasks[..k], limit))
        });
        same("fp", &expect["fp"], &fp)?;
        let units = each(&|k| json!(slow::first_response(&slow, &few, k, few[k].deadline)));
        same("fp by units", &expect["fp"], &units)?;
    }
    let np = each(&|k| {
        let (higher, lower) = (&tasks[..k], &tasks[k + 1..]);
        let of = fixed_priority::nonpreemptive_response_time;
        or_null(of(&supply, &tasks[k], higher, lower, FOREVER))
    });
    same("np_fp", &expect["np_fp"], &np)?;
    same("fifo", &expect["fifo"], &or_null(fifo::response_time(&supply, &tasks, FOREVER)))?;
    let met = |found: Result<Demand, _>| json!(found == Ok(Demand::Met));
    same("edf", &expect["edf"], &met(demand::preemptive(&supply, &tasks)))?;
    let overload = slow::overloads(&few, &[slow]);
    let first = if overload { None } else { slow::first_excess(&slow, &few, true) };
    same("edf_first by units", &expect["edf_first"], &json!(first))?;
    if expect.get("np_edf").is_some() {
        same("np_edf", &expect["np_edf"], &met(demand::nonpreemptive(&supply, &tasks)))?;
        let holds = !overload && slow::first_excess(&slow, &few, false).is_none();
        same("np_edf by units", &expect["np_edf"], &json!(holds))?;
    }
    Ok(())
}

fn on_several(vector: &Value) -> Read<()> {
    let (servers, tasks, expect) = (servers(vector)?, tasks(vector)?, &vector["expect"]);
    let supplies = Supplies::new(servers.iter().map(Supply::of).collect());
    let slow: Vec<SlowServer> = servers.iter().map(slow_server).collect();
    let few = slow_tasks(&tasks);
    let deadlines: Vec<Duration> = tasks.iter().map(|task| task.deadline).collect();
    let at_deadlines = (0..tasks.len()).all(|k| {
        let (higher, limits) = (&tasks[..k], &deadlines[..k]);
        global::responds_within(&supplies, &tasks[k], higher, limits, deadlines[k])
    });
    same("fp_at_deadlines", &expect["fp_at_deadlines"], &json!(at_deadlines))?;
    let accepted = json!(global::interference(&supplies, &tasks) == global::Accepted::All);
    same("edf_bcl", &expect["edf_bcl"], &accepted)?;
    // The units of some vectors are too many to look at one by one.
    let is_small = few.iter().all(|task| task.period <= 1000);
    if is_small {
        same("edf_bcl by units", &expect["edf_bcl"], &json!(slow::interference(&slow, &few)))?;
    }
    if expect.get("fp").is_some() {
        let fp: Value =
            global::fixed_priority(&supplies, &tasks).into_iter().map(or_null).collect();
        same("fp", &expect["fp"], &fp)?;
        if is_small {
            same("fp by units", &expect["fp"], &json!(slow::global_responses(&slow, &few)))?;
        }
    }
    if expect.get("edf_sel").is_some() {
        let accepted = global::long_window(&supplies, &tasks) == Ok(global::Accepted::All);
        same("edf_sel", &expect["edf_sel"], &json!(accepted))?;
        if is_small {
            let until = slow::horizon(&few, &slow);
            let units = slow::long_window(&slow, &few, until);
            same("edf_sel by units", &expect["edf_sel"], &json!(units))?;
        }
    }
    Ok(())
}

fn outer_edf(vector: &Value) -> Read<()> {
    let (servers, tasks, expect) = (servers(vector)?, tasks(vector)?, &vector["expect"]);
    let found = outer::earliest_deadline(&servers, &tasks);
    same("ok", &expect["ok"], &json!(found == Ok(Served::InTime)))?;
    let slow: Vec<SlowServer> = servers.iter().map(slow_server).collect();
    let (holds, first) = slow::outer_excess(&slow, &slow_tasks(&tasks));
    same("ok by units", &expect["ok"], &json!(holds))?;
    same("first by units", &expect["first"], &json!(first))?;
    let mut demands = Vec::new();
    for pair in list(&expect["demand"], "demand")? {
        let length = integer(&pair[0], "length")?;
        let demand = outer::demand(&servers, &[], ns(length)).exact();
        demands.push(json!([length, written(&demand)]));
    }
    same("demand", &expect["demand"], &json!(demands))
}

fn outer_fp(vector: &Value) -> Read<()> {
    let entity = |value: &Value| {
        let [first, second, third] = [1, 2, 3].map(|at| integer(&value[at], "entity"));
        let (amount, period, deadline) = (Service::from_ns(first?), ns(second?), ns(third?));
        match value[0].as_str() {
            Some("server") => {
                let rule = rule(&value[4])?;
                Ok(Entity::Server(GroupServer { budget: amount, period, deadline, rule }))
            }
            Some("task") => Ok(Entity::Task(Sporadic { wcet: amount, period, deadline })),
            Some(_) | None => Err("an entity is a server or a task".to_owned()),
        }
    };
    let entities: Vec<Entity> =
        list(&vector["entities"], "entities")?.iter().map(entity).collect::<Read<_>>()?;
    let found: Value = outer::fixed_priority(&entities).into_iter().map(or_null).collect();
    same("responses", &vector["expect"]["responses"], &found)
}

fn inner(name: &Value) -> Read<InnerPolicy> {
    match name.as_str() {
        Some("fp") => Ok(InnerPolicy::Fp),
        Some("edf") => Ok(InnerPolicy::Edf),
        Some("fifo") => Ok(InnerPolicy::Fifo),
        Some("np-fp") => Ok(InnerPolicy::NonpreemptiveFp),
        Some("np-edf") => Ok(InnerPolicy::NonpreemptiveEdf),
        Some(_) | None => Err("the inner policy is not known".to_owned()),
    }
}

fn design(vector: &Value) -> Read<()> {
    let (tasks, inner, expect) = (tasks(vector)?, inner(&vector["inner"])?, &vector["expect"]);
    let of_group =
        |(priority, task): (usize, &Sporadic)| GroupTask { task: *task, priority: priority as i64 };
    let design = |cost: i64| Design {
        // The reference designs for EDF on several CPUs by this test.
        test: InnerTest::new(inner, tasks.iter().enumerate().map(of_group).collect())
            .by_interference_alone(),
        rule: ServerRule::Cbs,
        servers: vector["m"].as_u64().unwrap_or(1) as usize,
        cost: ns(cost),
    };
    let free = design(0);
    let periods = || (1..=12).map(ns);
    let mut least = Vec::new();
    for period in periods() {
        let found = free.least_budget(period, period).map_err(|why| format!("{why:?}"))?;
        let every = slow::least_budget(period.ns(), |budget| {
            free.accepts(Service::from_ns(budget), period, period) == Ok(true)
        });
        if found.map(Service::ns) != every {
            return Err(format!("period {period}: bisection {found:?}, every budget {every:?}"));
        }
        least.push(json!([period.ns(), every]));
    }
    same("least", &expect["least"], &json!(least))?;
    for cost in [0, 1] {
        let found = design(cost).least_bandwidth(periods()).map_err(|why| format!("{why:?}"))?;
        let found =
            found.map(|best| json!([written(&best.bandwidth), best.period.ns(), best.budget.ns()]));
        let key = format!("bandwidth_cost_{cost}");
        same(&key, &expect[&key], &json!(found))?;
    }
    let Some(certificate) = expect.get("certificate") else { return Ok(()) };
    let [period, budget] = ["P", "Q"].map(|key| integer(&certificate[key], key));
    let (period, budget) = (ns(period?), Service::from_ns(budget?));
    let ours = free.certificate(budget, period, period)?;
    let theirs = given(certificate, inner)?;
    for (whose, proof) in [("found", &ours), ("given", &theirs)] {
        slow::check_least_budget(proof, &slow_tasks(&tasks), budget.ns(), period.ns())
            .map_err(|why| format!("the {whose} certificate: {why}"))?;
    }
    Ok(())
}

/// The certificate of a vector.
fn given(certificate: &Value, inner: InnerPolicy) -> Read<LeastBudget> {
    let lengths = |value: &Value| -> Read<Vec<Duration>> {
        list(value, "lengths")?.iter().map(|t| integer(t, "length").map(ns)).collect()
    };
    let yes = lengths(&certificate["yes"])?;
    let yes = match inner {
        InnerPolicy::Fp => InTimeProof::Responses(yes.into_iter().enumerate().collect()),
        InnerPolicy::Edf
        | InnerPolicy::Fifo
        | InnerPolicy::RoundRobin(_)
        | InnerPolicy::NonpreemptiveFp
        | InnerPolicy::NonpreemptiveEdf => InTimeProof::Lengths(yes),
    };
    let no = &certificate["no"];
    let no = if no.is_null() {
        None
    } else if no["bandwidth"] == true {
        Some(Refuted::Bandwidth)
    } else if let Some(length) = no["length"].as_i64() {
        Some(Refuted::Length(ns(length)))
    } else {
        Some(Refuted::Task(integer(&no["task"], "task")? as usize, lengths(&no["chain"])?))
    };
    Ok(LeastBudget { yes, no })
}

/// Rows `[Q ns, P ns, bandwidth, Q of the servers ns, budget to write us]`.
fn kernel_ratio(vector: &Value) -> Read<()> {
    let of_row = |row: &Value| -> Read<Value> {
        let [budget, period] = [0, 1].map(|at| read(row[at].as_u64(), "number"));
        let (budget, period) = (budget?, period?);
        let bandwidth = kernel::bandwidth(budget, period);
        // For a whole CPU the kernel sets no limit.
        let served = match kernel::budget_of(bandwidth, period) {
            served if served == period => json!("max"),
            served => json!(served),
        };
        let file = kernel::file_value(budget, period);
        Ok(json!([budget, period, bandwidth, served, file]))
    };
    let found: Value = list(&vector["expect"], "rows")?.iter().map(of_row).collect::<Read<_>>()?;
    same("rows", &vector["expect"], &found)
}

fn kernel_tree(vector: &Value) -> Read<()> {
    let text = |value: &Value| read(value.as_str().map(str::to_owned), "name");
    let number = |value: &Value| read(value.as_u64(), "number");
    let [limit, period] = [0, 1].map(|at| number(&vector["rt"][at]));
    let threads = number(&vector["dl_bw_per_cpu"])?;
    let mut tree = kernel::GroupTree::new(limit?, period?, threads);
    for (at, op) in list(&vector["ops"], "ops")?.iter().enumerate() {
        let name = text(&op[1])?;
        let is_known = match op[0].as_str() {
            Some("mkdir") => tree.create(&name, &text(&op[2])?),
            Some("rt_task") => tree.add_task(&name),
            Some("write") => {
                let budget = if op[2] == "max" { None } else { Some(number(&op[2])?) };
                let found = match tree.write(&name, budget, number(&op[3])?) {
                    Ok(()) => "ok",
                    Err(kernel::Rejected::Invalid) => "EINVAL",
                    Err(kernel::Rejected::Busy) => "EBUSY",
                };
                same(&format!("operation {at}"), &op[4], &json!(found))?;
                true
            }
            Some(_) | None => return Err("the operation is not known".to_owned()),
        };
        if !is_known {
            return Err(format!("operation {at}: there is no such group"));
        }
    }
    let expect = &vector["expect"];
    let names = read(expect["context"].as_object(), "contexts")?.keys();
    for name in names {
        let servers = tree.servers(name).map(|(budget, period)| json!([budget, period]));
        same(&format!("servers of {name}"), &expect["internal"][name], &json!(servers))?;
        same(&format!("context of {name}"), &expect["context"][name], &json!(tree.context(name)))?;
    }
    Ok(())
}
