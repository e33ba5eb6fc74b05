//! False proofs, each made from a valid one in a way that always makes it false.

mod forms;

use forms::{changing, gives, of_form};
use layland_gen::Random;
use layland_model::{Rate, Service, Speed, Step, System};
use serde_json::{Value, json};

/// The false part of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lie {
    /// The verdict is the opposite one.
    OtherVerdict,
    /// The policy has another order of jobs than the test covers.
    OtherPolicy,
    /// A task of the set needs a nanosecond more than was analysed.
    OtherSet,
    /// A task of the set may be blocked until its deadline.
    Blocked,
    /// The policy has another locking protocol than the test covers.
    OtherProtocol,
    /// An analysed WCET is a nanosecond too small.
    SmallerWcet,
    /// A task of a partition is on another CPU.
    Moved,
    /// Two tasks change places in the order of priorities, although the policy fixes it.
    Swapped,
    /// A compared number differs.
    OtherNumber,
    /// A comparison is missing.
    Missing,
    /// A demand, a response time, a busy period or a rate is too small by one.
    TooSmall,
    /// A slack is longer than that of a job that never waits.
    TooMuchSlack,
    /// A job of a run arrives a nanosecond too early.
    TooEarly,
    /// A job of a run executes for a nanosecond more than its WCET.
    TooLong,
    /// The deadline of the late job is a nanosecond too late.
    DueLater,
    /// An option of the policy makes it another policy than the test covers.
    OtherOption,
    /// An option that the policy does not have.
    UnknownOption,
    /// An option occurs twice.
    OptionTwice,
    /// The policy does not exist.
    UnknownPolicy,
    /// A whole number is written with a fraction, but has the same value.
    Fraction,
    /// A CPU is `true` or `false`.
    Truth,
    /// A number is not in its only valid form.
    OtherForm,
    /// A number is above every limit.
    TooLarge,
    /// A response time allegedly grows for ever, although the load of the CPU is at most 1.
    ForEver,
    /// A response time is below the WCET.
    BelowWcet,
    /// The comparison or the evidence is for CPUs that do not exist.
    OtherCpus,
    /// Every CPU of the set is so slow that no job is done in time.
    OtherSpeeds,
    /// A group of CPUs has no evidence.
    MissingPart,
    /// A task is in two groups.
    TwoGroups,
    /// A level has no response time.
    MissingLevel,
    /// A rate is on another grid than the others.
    OtherGrid,
    /// An interval length is omitted.
    Gap,
    /// A job of a run executes for zero time.
    NoTime,
    /// A member of an object occurs twice, with two values.
    MemberTwice,
}

impl Lie {
    /// All kinds.
    pub const ALL: [Lie; 34] = [
        Lie::OtherVerdict,
        Lie::OtherPolicy,
        Lie::OtherSet,
        Lie::Blocked,
        Lie::OtherProtocol,
        Lie::SmallerWcet,
        Lie::Moved,
        Lie::Swapped,
        Lie::OtherNumber,
        Lie::Missing,
        Lie::TooSmall,
        Lie::TooMuchSlack,
        Lie::TooEarly,
        Lie::TooLong,
        Lie::DueLater,
        Lie::OtherOption,
        Lie::UnknownOption,
        Lie::OptionTwice,
        Lie::UnknownPolicy,
        Lie::Fraction,
        Lie::Truth,
        Lie::OtherForm,
        Lie::TooLarge,
        Lie::ForEver,
        Lie::BelowWcet,
        Lie::OtherCpus,
        Lie::OtherSpeeds,
        Lie::MissingPart,
        Lie::TwoGroups,
        Lie::MissingLevel,
        Lie::OtherGrid,
        Lie::Gap,
        Lie::NoTime,
        Lie::MemberTwice,
    ];
}

/// Returns every possible lie about this answer, with the set and the changed answer.
pub fn lies(system: &System, answer: &Value, random: &mut Random) -> Vec<(Lie, System, Value)> {
    let mut found: Vec<(Lie, System, Value)> = Vec::new();
    let mut lie = |lie: Lie, change: &mut dyn FnMut(&mut Value) -> Option<()>| {
        let mut changed = answer.clone();
        if change(&mut changed).is_some() {
            found.push((lie, system.clone(), changed));
        }
    };
    let test = answer["decided_by"].as_str();
    let kind = answer["proof"]["kind"].as_str().unwrap_or_default();
    of_form(random, &mut lie);
    // Statements about any policy, or any scheduler, do not depend on the analysed policy.
    let of_policy = test.is_some_and(|test| !matches!(test, "CAPACITY" | "AFFINITY"));
    lie(Lie::OtherVerdict, &mut |answer| {
        answer["verdict"] = json!(if answer["verdict"] == "yes" { "no" } else { "yes" });
        Some(())
    });
    if of_policy {
        lie(Lie::OtherOption, &mut |answer| {
            let spec = answer["policy"].as_str()?;
            let tasks = answer["analysed"]["tasks"].as_array()?;
            let is_wide = tasks.iter().any(|task| count(&task["cpus"]) > 1);
            let options = changing(spec, test, answer["verdict"] == "yes", is_wide);
            let fitting: Vec<&&str> =
                options.iter().filter(|option| !gives(spec, option)).collect();
            let option = fitting.get(random.below(fitting.len().max(1) as u64) as usize)?;
            answer["policy"] = json!(format!("{spec}:{option}"));
            Some(())
        });
    }
    if of_policy && kind != "run" {
        lie(Lie::OtherPolicy, &mut |answer| {
            let spec = answer["policy"].as_str()?;
            let (form, order) = spec.split_once('-')?;
            let (order, options) = order.split_once(':').unwrap_or((order, ""));
            let other = match order {
                _ if !options.is_empty() && !is_of_locks(test) => return None,
                "edf" => "rm",
                "rm" if is_of_locks(test) => "dm",
                "dm" | "fp" if is_of_locks(test) => "rm",
                "rm" | "dm" | "fp" => "edf",
                _ => return None,
            };
            let options = if is_of_locks(test) { format!(":{options}") } else { String::new() };
            answer["policy"] = json!(format!("{form}-{other}{options}"));
            Some(())
        });
        lie(Lie::OtherProtocol, &mut |answer| {
            if !is_of_locks(test) {
                return None;
            }
            let spec = answer["policy"].as_str()?;
            let (before, _) = spec.split_once("locks=")?;
            let other = match test {
                Some("SRP") => "none",
                Some("SUSP-OBL-EDF") => "pcp",
                _ => "srp",
            };
            answer["policy"] = json!(format!("{before}locks={other}"));
            Some(())
        });
    }
    if of_policy {
        lie(Lie::SmallerWcet, &mut |answer| {
            let task = any(&mut answer["analysed"]["tasks"], random)?;
            less(&mut task["wcet_ns"])
        });
    }
    match kind {
        "comparisons" => of_comparisons(system, test, random, &mut lie),
        "parts" => of_parts(answer, of_policy, random, &mut lie),
        "run" => of_run(system, random, &mut lie),
        _ => {}
    }
    if of_policy && kind != "run" {
        let other = with_longer_task(system, random);
        found.push((Lie::OtherSet, other, answer.clone()));
    }
    if answer["verdict"] == "yes" {
        let mut blocked = system.clone();
        let ids: Vec<_> = blocked.tasks.ids().collect();
        let task = &mut blocked.tasks[ids[random.below(ids.len() as u64) as usize]];
        // The rest of the deadline is not enough for the WCET.
        task.blocking_time = task.deadline;
        found.push((Lie::Blocked, blocked, answer.clone()));
        let mut slow = system.clone();
        let speed = Speed::new(&Rate::new(1, 1_000_000)).expect("a small fraction");
        slow.platform.speeds.values_mut().for_each(|of_cpu| *of_cpu = speed);
        found.push((Lie::OtherSpeeds, slow, answer.clone()));
    }
    found
}

/// Returns the set with a task that needs a nanosecond more.
fn with_longer_task(system: &System, random: &mut Random) -> System {
    let mut other = system.clone();
    let ids: Vec<_> = other.tasks.ids().collect();
    let task = &mut other.tasks[ids[random.below(ids.len() as u64) as usize]];
    task.wcet.iter_mut().for_each(|wcet| *wcet += Service::from_ns(1));
    if let Some(steps) = &task.steps {
        let mut steps = steps.to_vec();
        let runs = steps.iter_mut().rev().find_map(|step| match step {
            Step::Run(length) => Some(length),
            Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => None,
        });
        runs.into_iter().for_each(|length| *length += Service::from_ns(1));
        task.steps = Some(steps.into());
    }
    // The analysed execution time may be the budget.
    task.budget = task.budget.map(|budget| budget + Service::from_ns(1));
    other
}

/// Returns true if a test is about locks and self-suspension on single CPUs, with response times as its proof.
fn is_of_locks(test: Option<&str>) -> bool {
    let begins = |test: &str| {
        let begins = ["LOCK-RTA", "PIP-", "PCP-RTA", "SUSP-", "SRP"];
        begins.iter().any(|begin| test.starts_with(begin))
    };
    test.is_some_and(begins)
}

/// Returns true if a job comes as early as possible: at the offset of its task, or a period after
/// the job before it.
fn comes_first_or_a_period_later(system: &System, jobs: &[Value], at: usize) -> bool {
    let name = &jobs[at]["task"];
    let Some(task) = system.tasks.values().find(|task| *task.name == *name) else { return false };
    let arrival = |job: &Value| job["arrival_ns"].as_i64();
    let before = jobs[..at].iter().rev().find(|job| job["task"] == *name);
    let earliest = match before {
        Some(before) => arrival(before).map(|before| before + task.period.ns()),
        None => Some(task.offset.ns()),
    };
    arrival(&jobs[at]) == earliest
}

type Tell<'a> = dyn FnMut(Lie, &mut dyn FnMut(&mut Value) -> Option<()>) + 'a;

fn of_comparisons(system: &System, test: Option<&str>, random: &mut Random, lie: &mut Tell<'_>) {
    lie(Lie::OtherNumber, &mut |answer| {
        let one = any(&mut answer["proof"]["comparisons"], random)?;
        one["value"].as_str()?;
        // Compared values are never negative.
        one["value"] = json!("-1");
        // A *no* may show more than one number, although one is enough.
        (answer["verdict"] == "yes" || count(&answer["proof"]["comparisons"]) == 1).then_some(())
    });
    lie(Lie::TooSmall, &mut |answer| {
        if !is_of_locks(test) {
            return None;
        }
        let one = any(&mut answer["proof"]["comparisons"], random)?;
        let response: i64 = one["value"].as_str()?.parse().ok()?;
        one["value"] = json!((response - 1).to_string());
        Some(())
    });
    lie(Lie::Swapped, &mut |answer| {
        let all = answer["proof"]["comparisons"].as_array_mut()?;
        let swaps = is_of_locks(test) && all.len() > 1 && all[0]["cpus"] == all[1]["cpus"];
        swaps.then(|| all.swap(0, 1))
    });
    lie(Lie::ForEver, &mut |answer| {
        let is_late = matches!(test, Some("RTA" | "RTA-RM" | "RTA-DM"));
        let load = load_of(system, &answer["analysed"]["tasks"])?;
        let is_no = answer["verdict"] == "no";
        let first = answer["proof"]["comparisons"].get_mut(0)?;
        (is_late && is_no && load < 0.999).then(|| first["value"] = Value::Null)
    });
    lie(Lie::BelowWcet, &mut |answer| {
        let begins = ["BCL-", "BERTOGNA-", "GUAN-", "APA-"];
        let responds = |test: &str| begins.iter().any(|begin| test.starts_with(begin));
        if !is_of_locks(test) && !test.is_some_and(responds) {
            return None;
        }
        let one = any(&mut answer["proof"]["comparisons"], random)?;
        let name = one["task"].as_str()?;
        let task = system.tasks.values().find(|task| *task.name == *name)?;
        one["value"] = json!((task.own_wcet().ns() - 1).to_string());
        Some(())
    });
    lie(Lie::OtherCpus, &mut |answer| {
        let is_yes = answer["verdict"] == "yes";
        let one = any(&mut answer["proof"]["comparisons"], random)?;
        let is_of_one = is_yes && !one["cpus"].is_null();
        let needs_cpus = test.is_some_and(|test| {
            test.starts_with("APA-") || matches!(test, "GFB" | "HPA-SPEED" | "FF-DBF" | "LOAD")
        });
        (is_of_one && needs_cpus).then(|| one["cpus"] = json!([4095]))
    });
    lie(Lie::Missing, &mut |answer| {
        let is_yes = answer["verdict"] == "yes";
        let all = answer["proof"]["comparisons"].as_array_mut()?;
        if is_yes || all.len() == 1 { all.pop().map(|_| ()) } else { None }
    });
}

fn of_run(system: &System, random: &mut Random, lie: &mut Tell<'_>) {
    lie(Lie::TooEarly, &mut |answer| {
        let jobs = answer["proof"]["jobs"].as_array_mut()?;
        let at = (0..jobs.len()).find(|&at| comes_first_or_a_period_later(system, jobs, at))?;
        less(&mut jobs[at]["arrival_ns"])
    });
    lie(Lie::TooLong, &mut |answer| {
        let job = any(&mut answer["proof"]["jobs"], random)?;
        job["execution_ns"] = json!(job["execution_ns"].as_i64()? + 1);
        Some(())
    });
    lie(Lie::NoTime, &mut |answer| {
        any(&mut answer["proof"]["jobs"], random)?["execution_ns"] = json!(0);
        Some(())
    });
    lie(Lie::DueLater, &mut |answer| {
        let late = &mut answer["proof"]["late"]["deadline_ns"];
        *late = json!(late.as_i64()? + 1);
        Some(())
    });
}

fn of_parts(answer: &Value, of_policy: bool, random: &mut Random, lie: &mut Tell<'_>) {
    let parts = count(&answer["proof"]["parts"]);
    if parts == 0 {
        return;
    }
    let at = random.below(parts as u64) as usize;
    let evidence = answer["proof"]["parts"][at]["evidence"].as_str().unwrap_or_default().to_owned();
    if of_policy && parts > 1 {
        lie(Lie::Moved, &mut |answer| {
            let other = answer["proof"]["parts"][(at + 1) % parts]["cpus"].clone();
            let moved = answer["proof"]["parts"][at]["tasks"][0].clone();
            let tasks = answer["analysed"]["tasks"].as_array_mut()?;
            tasks.iter_mut().find(|task| task["task"] == moved)?["cpus"] = other;
            Some(())
        });
    }
    let has_order = of_policy && (evidence == "busy periods");
    if has_order {
        lie(Lie::Swapped, &mut |answer| {
            let items = answer["proof"]["parts"][at]["items"].as_array_mut()?;
            (items.len() > 1).then(|| items.swap(0, 1))
        });
    }
    let counts_fastest =
        |answer: &Value| answer["decided_by"].as_str().is_some_and(|test| test.starts_with("U-"));
    lie(Lie::OtherCpus, &mut |answer| {
        counts_fastest(answer).then(|| answer["proof"]["parts"][at]["cpus"] = json!([4095]))
    });
    lie(Lie::MissingPart, &mut |answer| {
        answer["proof"]["parts"].as_array_mut()?.remove(at);
        Some(())
    });
    if parts > 1 {
        lie(Lie::TwoGroups, &mut |answer| {
            let other = answer["proof"]["parts"][(at + 1) % parts]["tasks"][0].clone();
            answer["proof"]["parts"][at]["tasks"].as_array_mut()?.push(other);
            Some(())
        });
    }
    if evidence == "levels" {
        lie(Lie::MissingLevel, &mut |answer| {
            let task = any(&mut answer["proof"]["parts"][at]["items"], random)?;
            task["lengths_ns"].as_array_mut()?.pop().map(|_| ())
        });
    }
    if evidence == "rates" {
        lie(Lie::OtherGrid, &mut |answer| {
            let items = &mut answer["proof"]["parts"][at]["items"];
            let many = count(items) > 1;
            let unit = &mut any(items, random)?["unit_ns"];
            *unit = json!(unit.as_i64()? + 1);
            many.then_some(())
        });
    }
    if answer["decided_by"] == "QPA" {
        lie(Lie::Gap, &mut |answer| {
            let points = answer["proof"]["parts"][at]["items"].as_array_mut()?;
            let gone = random.below(points.len().max(1) as u64) as usize;
            (gone < points.len()).then(|| drop(points.remove(gone)))
        });
    }
    match evidence.as_str() {
        "points" => lie(Lie::TooSmall, &mut |answer| {
            let point = any(&mut answer["proof"]["parts"][at]["items"], random)?;
            let demand: i128 = point["demand_ns"].as_str()?.parse().ok()?;
            point["demand_ns"] = json!((demand - 1).to_string());
            Some(())
        }),
        "busy periods" | "levels" => lie(Lie::TooSmall, &mut |answer| {
            let task = any(&mut answer["proof"]["parts"][at]["items"], random)?;
            less(any(&mut task["lengths_ns"], random)?)
        }),
        "rates" => lie(Lie::TooSmall, &mut |answer| {
            less(&mut any(&mut answer["proof"]["parts"][at]["items"], random)?["rate"])
        }),
        "slacks" => lie(Lie::TooMuchSlack, &mut |answer| {
            let step = any(&mut answer["proof"]["parts"][at]["items"], random)?;
            step["slack_ns"] = json!(1_i64 << 60);
            Some(())
        }),
        _ => {}
    }
}

/// Returns the total load of the CPUs, with overheads as analysed.
#[expect(clippy::cast_precision_loss, reason = "it says roughly how full a CPU is")]
fn load_of(system: &System, analysed: &Value) -> Option<f64> {
    let of = |found: &Value| {
        let task = system.tasks.values().find(|task| *task.name == found["task"])?;
        Some(found["wcet_ns"].as_i64()? as f64 / task.period.ns() as f64)
    };
    analysed.as_array()?.iter().map(of).sum()
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

/// Returns a random entry of a list.
fn any<'a>(list: &'a mut Value, random: &mut Random) -> Option<&'a mut Value> {
    let list = list.as_array_mut()?;
    let at = random.below(list.len().max(1) as u64) as usize;
    list.get_mut(at)
}

fn less(number: &mut Value) -> Option<()> {
    *number = json!(number.as_i64()? - 1);
    Some(())
}
