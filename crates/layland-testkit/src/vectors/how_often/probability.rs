//! Probabilities of misses: exact ones, bounds, and intervals.

use super::super::reading::{integer, list, read, same};
use super::super::verdict::Read;
use crate::how_often::probability::{SlowRandomTask, SlowSet};
use layland_analysis::how_often::{
    Chance, Grid, Judged, Mass, OneCpuOrder, Periodic, Precision, RandomTask, SampleInterval,
    Shares, TypicalTask, most_misses,
};
use layland_model::{ArrivalCurve, Duration, OnMiss, Rate, Service, Time};
use serde_json::{Value, json};

/// A set as the library and its twin have it.
struct Set {
    tasks: Vec<RandomTask>,
    order: OneCpuOrder,
    judged: usize,
    slow: SlowSet,
}

impl Set {
    fn judged(&self) -> Judged<'_> {
        Judged { tasks: &self.tasks, order: self.order, task: self.judged }
    }

    fn slowly(&self, on_miss: OnMiss) -> SlowSet {
        SlowSet { on_miss, ..self.slow.clone() }
    }
}

fn ns(length: i64) -> Duration {
    Duration::from_ns(length)
}

fn rate(value: &Value, what: &str) -> Read<Rate> {
    if let Some(number) = value.as_i64() {
        return Ok(Rate::whole(number));
    }
    let text = read(value.as_str(), what)?;
    // The denominators of the grids are above 64 bits, so the parts are read one by one.
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    let part = |text: &str| text.parse::<i128>().map_err(|error| format!("{what}: {error}"));
    Ok(Rate::of_wide(part(numerator)?, part(denominator)?))
}

fn set(vector: &Value) -> Read<Set> {
    let mut tasks = Vec::new();
    let mut slow = Vec::new();
    for task in list(&vector["tasks"], "tasks")? {
        let [period, deadline] = ["T", "D"].map(|key| integer(&task[key], key));
        let (period, deadline) = (period?, deadline?);
        let mut times = Vec::new();
        for pair in list(&task["dist"], "dist")? {
            times.push((integer(&pair[0], "time")?, rate(&pair[1], "probability")?));
        }
        let typed: Vec<(Service, Rate)> =
            times.iter().map(|(time, rate)| (Service::from_ns(*time), rate.clone())).collect();
        let made = RandomTask::new(&typed, ns(period), ns(deadline), Duration::ZERO);
        tasks.push(made.map_err(|error| error.to_string())?);
        slow.push(SlowRandomTask { times, period, deadline });
    }
    let is_edf = match vector["policy"].as_str() {
        Some("fp") => false,
        Some("edf") => true,
        Some(_) | None => return Err("the policy is not known".to_owned()),
    };
    let judged = integer(&vector["judged"], "judged")? as usize;
    let slow = SlowSet { tasks: slow, is_edf, on_miss: OnMiss::Continue, judged };
    let order = [OneCpuOrder::FixedPriority, OneCpuOrder::EarliestDeadline][usize::from(is_edf)];
    Ok(Set { tasks, order, judged, slow })
}

fn arrivals(value: &Value) -> Read<Vec<Vec<i64>>> {
    let of_task =
        |times: &Value| list(times, "arrivals")?.iter().map(|at| integer(at, "arrival")).collect();
    list(value, "arrivals")?.iter().map(of_task).collect()
}

fn times(arrivals: &[Vec<i64>]) -> Vec<Vec<Time>> {
    let of_task = |times: &Vec<i64>| times.iter().map(|at| Time::from_ns(*at)).collect();
    arrivals.iter().map(of_task).collect()
}

/// The exact value must lie between the two bounds, which rounding alone keeps apart.
fn encloses(what: &str, exact: &Rate, chance: Chance) -> Read<()> {
    let (low, high) = (chance.low.to_rate(), chance.high.to_rate());
    let apart = &high - &low;
    if low <= *exact && *exact <= high && apart < Rate::of_wide(1, 1 << 80) {
        return Ok(());
    }
    Err(format!("{what}: expected {exact}, found {} to {}", low.to_f64(), high.to_f64()))
}

fn equals(what: &str, expected: &Rate, found: &Rate) -> Read<()> {
    if expected == found {
        Ok(())
    } else {
        Err(format!("{what}: expected {expected}, found {found}"))
    }
}

pub(super) fn periodic(vector: &Value) -> Read<()> {
    let (set, expect) = (set(vector)?, &vector["expect"]);
    let offset = |task: &Value| task["offset"].as_i64().unwrap_or(0);
    let starts: Vec<i64> = list(&vector["tasks"], "tasks")?.iter().map(offset).collect();
    let offsets: Vec<Duration> = starts.iter().map(|at| ns(*at)).collect();
    let periodic = Periodic { judged: set.judged(), offsets: &offsets };
    let own = &set.slow.tasks[set.judged];
    for pair in list(&expect["jobs"], "jobs")? {
        let (at, exact) = (integer(&pair[0], "arrival")?, rate(&pair[1], "probability")?);
        let number = (at - starts[set.judged]) / own.period;
        let chance = periodic.job(number).map_err(|error| error.to_string())?;
        encloses(&format!("the job at {at}"), &exact, chance)?;
        let of_task = |(task, first): (&SlowRandomTask, &i64)| -> Vec<i64> {
            (*first..at + own.deadline).step_by(task.period as usize).collect()
        };
        let arrivals: Vec<Vec<i64>> = set.slow.tasks.iter().zip(&starts).map(of_task).collect();
        equals(&format!("the job at {at} by units"), &exact, &set.slow.miss(&arrivals, at))?;
    }
    let hyperperiod = periodic.hyperperiod().map_err(|error| error.to_string())?;
    same("hyperperiod", &expect["hyperperiod"], &json!(hyperperiod.ns()))?;
    let found = periodic.long_run(&Precision::default()).map_err(|error| error.to_string())?;
    for triple in list(&expect["long_run"], "long_run")? {
        let offset = ns(integer(&triple[0], "offset")?);
        let [low, reference] = [1, 2].map(|at| read(triple[at].as_f64(), "bound"));
        let (low, reference) = (low?, reference?);
        let own = found.iter().find(|job| job.offset == offset);
        let chance = read(own, "job at the offset")?.chance;
        let (least, most) = (chance.low.to_rate().to_f64(), chance.high.to_rate().to_f64());
        // The vectors have ten digits; the bounds of the reference enclose the truth.
        let is_near = most >= low * (1.0 - 1e-8) && most <= reference * (1.0 + 1e-3) + 1e-12;
        if !is_near || least > reference * (1.0 + 1e-8) || least > most {
            return Err(format!(
                "offset {offset}: expected {low} to {reference}, found {least} to {most}"
            ));
        }
    }
    Ok(())
}

pub(super) fn given(vector: &Value) -> Read<()> {
    let (set, expect) = (set(vector)?, read(vector["expect"].as_object(), "expect")?);
    let (arrivals, at) = (arrivals(&vector["arrivals"])?, integer(&vector["job_at"], "job_at")?);
    for (name, exact) in expect {
        let on_miss = read(OnMiss::find(name), "on_miss")?;
        let exact = rate(exact, name)?;
        let chance = set.judged().under_arrivals(on_miss, &times(&arrivals), Time::from_ns(at));
        encloses(name, &exact, chance.map_err(|error| error.to_string())?)?;
        equals(&format!("{name} by units"), &exact, &set.slowly(on_miss).miss(&arrivals, at))?;
    }
    Ok(())
}

pub(super) fn phase(vector: &Value) -> Read<()> {
    let set = set(vector)?;
    let at = integer(&vector["job_at"], "job_at")?;
    let exact = rate(&vector["expect"]["greatest"], "greatest")?;
    let worst = set.judged().worst_first_jobs(Time::from_ns(at), 100_000);
    let worst = worst.map_err(|error| error.to_string())?;
    encloses("greatest", &exact, worst.chance)?;
    let witness: Vec<Vec<i64>> =
        worst.arrivals.iter().map(|times| times.iter().map(|at| at.ns()).collect()).collect();
    equals("the found arrivals by units", &exact, &set.slow.miss(&witness, at))
}

/// The bound must be at least the value and at most this many times it, for rounding.
fn is_near(what: &str, value: &Rate, bound: Mass) -> Read<()> {
    let bound = bound.to_rate();
    let most = &(value * &Rate::new(1_000_000_001, 1_000_000_000)) + &Rate::of_wide(1, 1 << 80);
    if bound >= *value && bound <= most {
        return Ok(());
    }
    Err(format!("{what}: expected {}, found {}", value.to_f64(), bound.to_f64()))
}

pub(super) fn bound(vector: &Value) -> Read<()> {
    let (set, expect) = (set(vector)?, &vector["expect"]);
    let judged = set.judged();
    let grid = Grid { tick: ns(1), arrivals: ns(integer(&vector["unit"], "unit")?) };
    let own = &set.slow.tasks[set.judged];
    let at = integer(&expect["job_at"], "job_at")?;
    let numbers = |value: &Value| -> Read<Vec<i64>> {
        list(value, "numbers")?.iter().map(|number| integer(number, "number")).collect()
    };
    let windows: Vec<Duration> =
        numbers(&expect["carry"]["windows"])?.into_iter().map(ns).collect();
    let carried = read(judged.carry(&windows, &grid), "answer of CARRY")?;
    let level = match set.order {
        OneCpuOrder::FixedPriority => set.judged + 1,
        OneCpuOrder::EarliestDeadline => set.tasks.len(),
    };
    let counts = &numbers(&expect["carry"]["counts_at_D"])?[..level];
    same("counts", &json!(counts), &json!(carried.counts))?;
    let sequential = rate(&expect["carry"]["sequential"], "sequential")?;
    is_near("sequential", &sequential, carried.sequential)?;
    is_near("minimum", &rate(&expect["carry"]["minimum"], "minimum")?, carried.minimum)?;
    let z = read(expect["chernoff"]["z"].as_str().and_then(|text| text.split_once('/')), "z")?;
    let part = |text: &str| text.parse::<u64>().map_err(|error| format!("z: {error}"));
    let t = ns(integer(&expect["chernoff"]["t"], "t")?);
    let chernoff = judged.chernoff(&carried.counts, t, (part(z.0)?, part(z.1)?), &grid);
    let reference = rate(&expect["chernoff"]["reference"], "reference")?;
    let most = &reference * &Rate::new(1_000_000_001, 1_000_000_000);
    if chernoff.to_rate() > most {
        let (most, found) = (reference.to_f64(), chernoff.to_rate().to_f64());
        return Err(format!("chernoff: at most {most}, found {found}"));
    }
    let best = judged.best_chernoff(&carried.counts, t, &grid);
    if best > chernoff && best.to_rate() > &chernoff.to_rate() * &Rate::new(11, 10) {
        return Err(format!("the best z is worse: {best:?}, {chernoff:?}"));
    }
    let shares = Shares(numbers(&expect["rate"]["work_per_period_16ths"])?[..level].to_vec());
    let precision = Precision::default();
    let bound_by = |shares: &Shares, on_miss| judged.rate(on_miss, shares, &grid, &precision);
    let by_rate = bound_by(&shares, OnMiss::Continue).map_err(|error| error.to_string())?;
    let most = rate(&expect["rate"]["at_most"], "at_most")?;
    if by_rate.to_rate() > most {
        let (most, found) = (most.to_f64(), by_rate.to_rate().to_f64());
        return Err(format!("rate: at most {most}, found {found}"));
    }
    let own_shares = judged.shares(&grid).map_err(|error| error.to_string())?;
    let by_own = bound_by(&own_shares, OnMiss::Continue).map_err(|error| error.to_string())?;
    for (name, seen) in read(expect["seen"].as_object(), "seen")? {
        let on_miss = read(OnMiss::find(name), "on_miss")?;
        let seen_at = arrivals(&seen["arrivals"])?;
        let exact = rate(&seen["probability"], "probability")?;
        equals(&format!("seen with {name}"), &exact, &set.slowly(on_miss).miss(&seen_at, at))?;
        let mut bounds = vec![("rate", by_rate), ("rate, own shares", by_own)];
        if on_miss == OnMiss::Abort {
            bounds.push(("sequential", carried.sequential));
            bounds.push(("minimum", carried.minimum));
            if t.ns() == own.deadline {
                bounds.extend([("chernoff", chernoff), ("best chernoff", best)]);
            }
        }
        for (which, bound) in bounds {
            if bound.to_rate() < exact {
                let bound = bound.to_rate().to_f64();
                return Err(format!("{which} is {bound}, and {exact} was seen with {name}"));
            }
        }
    }
    Ok(())
}

pub(super) fn interval(vector: &Value) -> Read<()> {
    let [runs, late] = ["runs", "late"].map(|key| integer(&vector[key], key));
    let alpha = rate(&vector["alpha"], "alpha")?;
    let found = SampleInterval::new(runs? as u64, late? as u64, &alpha);
    equals("low", &rate(&vector["expect"]["low"], "low")?, &found.low())?;
    equals("high", &rate(&vector["expect"]["high"], "high")?, &found.high())
}

pub(super) fn typical(vector: &Value) -> Read<()> {
    let task = |value: &Value| -> Read<TypicalTask> {
        let [usual, period, deadline, more] =
            ["C", "T", "D", "E"].map(|key| integer(&value[key], key));
        let exceptions = match value["P"].as_array() {
            None => None,
            Some(apart) => {
                let apart: Vec<Duration> =
                    apart.iter().map(|at| integer(at, "P").map(ns)).collect::<Read<_>>()?;
                Some(ArrivalCurve::new(&apart).map_err(|error| error.to_string())?)
            }
        };
        let (usual, more) = (Service::from_ns(usual?), Service::from_ns(more?));
        Ok(TypicalTask { usual, period: ns(period?), deadline: ns(deadline?), more, exceptions })
    };
    let tasks: Vec<TypicalTask> =
        list(&vector["tasks"], "tasks")?.iter().map(task).collect::<Read<_>>()?;
    let [judged, window] = ["judged", "window"].map(|key| integer(&vector[key], key));
    let found = most_misses(&tasks, judged? as usize, window? as u32).ok();
    let expect = &vector["expect"];
    same("bound", &expect["bound"], &json!(found.map(|bound| bound.misses)))?;
    match found {
        Some(bound) => same("busy", &expect["busy"], &json!(bound.busy.ns())),
        None => Ok(()),
    }
}
