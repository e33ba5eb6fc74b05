//! Tests of patterns, and the search for the most misses.

use super::super::reading::{integer, list, read, same};
use super::super::verdict::Read;
use crate::how_often::runs::{RunTask, outcomes};
use crate::how_often::words as slow;
use layland_analysis::Sporadic;
use layland_analysis::how_often::{MandatoryPattern, OneCpuOrder, PatternTask};
use layland_guarantee::search::misses::{FoundMisses, MissSearch};
use layland_model::{Duration, HitOrMiss, Service, WeaklyHard};
use serde_json::{Value, json};

fn ns(length: i64) -> Duration {
    Duration::from_ns(length)
}

fn parameters<const N: usize>(task: &Value, keys: [&str; N]) -> Read<[i64; N]> {
    let mut found = [0; N];
    for (number, key) in found.iter_mut().zip(keys) {
        *number = integer(&task[key], key)?;
    }
    Ok(found)
}

pub(super) fn patterns(vector: &Value) -> Read<()> {
    let of_task = |task: &Value| -> Read<PatternTask> {
        let [wcet, period, deadline, m, k] = parameters(task, ["C", "T", "D", "m", "k"])?;
        let constraint = read(WeaklyHard::new(m as u32, k as u32), "constraint")?;
        let (wcet, period) = (Service::from_ns(wcet), ns(period));
        Ok(PatternTask { wcet, period, deadline: ns(deadline), constraint })
    };
    let tasks: Vec<PatternTask> =
        list(&vector["tasks"], "tasks")?.iter().map(of_task).collect::<Read<_>>()?;
    for (name, pattern) in [("red", MandatoryPattern::Red), ("even", MandatoryPattern::Even)] {
        let response = |k: usize| pattern.response_time(&tasks, k).ok().map(Duration::ns);
        let responses: Vec<Option<i64>> = (0..tasks.len()).map(response).collect();
        let keeps = pattern.keeps_deadlines(&tasks).map_err(|error| error.to_string())?;
        same(name, &vector["expect"][name], &json!({ "fp": responses, "edf": keeps }))?;
    }
    Ok(())
}

pub(super) fn search(vector: &Value) -> Read<()> {
    let of_task = |task: &Value| parameters(task, ["C", "T", "D"]);
    let of: Vec<[i64; 3]> =
        list(&vector["tasks"], "tasks")?.iter().map(of_task).collect::<Read<_>>()?;
    let sporadic = |&[wcet, period, deadline]: &[i64; 3]| Sporadic {
        wcet: Service::from_ns(wcet),
        period: ns(period),
        deadline: ns(deadline),
    };
    let tasks: Vec<Sporadic> = of.iter().map(sporadic).collect();
    let is_edf = vector["policy"] == "edf";
    let order = [OneCpuOrder::FixedPriority, OneCpuOrder::EarliestDeadline][usize::from(is_edf)];
    let judged = integer(&vector["judged"], "judged")? as usize;
    let window = integer(&vector["K"], "K")? as u32;
    let search = MissSearch { tasks: &tasks, order, judged, window, tick: ns(1) };
    let FoundMisses::Most { misses, arrivals } = search.run(2_000_000) else {
        return Err("the search gave up".to_owned());
    };
    same("most_misses", &vector["expect"]["most_misses"], &json!(misses))?;
    if misses == 0 {
        return Ok(());
    }
    let run: Vec<RunTask> = of
        .iter()
        .zip(&arrivals)
        .map(|(task, times)| RunTask {
            deadline: task[2],
            jobs: times.iter().map(|at| (at.ns(), task[0])).collect(),
        })
        .collect();
    let longest = of.iter().map(|task| task[1] + task[2]).max().unwrap_or(0);
    let until = arrivals.iter().flatten().map(|at| at.ns()).max().unwrap_or(0) + longest;
    let word = outcomes(&run, is_edf, judged, until);
    let replayed = slow::most_misses(&word, window as usize, HitOrMiss::Hit);
    same("the arrivals by units", &json!(misses), &json!(replayed))
}
