//! The limits of each task and CPU, as a table.

use super::args::CheckArgs;
use super::text;
use layland_answers::Checked;
use layland_guarantee::{Assessment, CpuLimit, Limits, Sensitivity};
use layland_model::{System, TaskId};
use layland_report::Table;

const HEADINGS: [&str; 5] = ["task", "WCET", "deadline", "period", "jitter"];

/// Writes a number and its limit: `2ms <= 5ms` if it may grow up to there, `5ms >= 2ms` if it may shrink,
/// and `2ms < 5ms` or `5ms > 2ms` if it has to change.
fn beside<T: PartialOrd + ToString>(now: &T, limit: Option<T>, may_grow: bool) -> String {
    let now_shown = now.to_string();
    let Some(limit) = limit else { return format!("{now_shown}, none") };
    let sign = match (may_grow, limit >= *now, limit <= *now) {
        (true, true, _) => "<=",
        (true, false, _) => ">",
        (false, _, true) => ">=",
        (false, _, false) => "<",
    };
    format!("{now_shown} {sign} {}", limit.to_string())
}

/// Returns the numbers of a task beside their limits.
fn row(system: &System, found: &Sensitivity, id: TaskId) -> [String; 5] {
    let (task, limits) = (&system.tasks[id], &found.tasks[id]);
    [
        task.name.to_string(),
        match (limits.work, limits.wcet) {
            (None, Some(time)) => format!("{time} in time"),
            (work, _) => beside(&task.own_wcet(), work, true),
        },
        beside(&task.deadline, limits.deadline, false),
        beside(&task.period, limits.period, false),
        beside(&task.jitter, limits.jitter, true),
    ]
}

fn of_cpu(limit: &CpuLimit) -> String {
    match limit.least_speed() {
        None => format!("CPU {}: none", limit.cpu),
        Some(speed) => {
            let factor = limit.factor().to_f64();
            format!("CPU {}: {factor:.3}, or a speed of {speed}", limit.cpu)
        }
    }
}

/// Returns the lines about the limits below a table of them.
fn notes(found: &Sensitivity) -> Vec<String> {
    let mut notes = Vec::new();
    if !found.cpus.is_empty() {
        let cpus: Vec<String> = found.cpus.iter().map(of_cpu).collect();
        notes.push(format!("the WCETs of all tasks of a CPU x: {}", cpus.join("; ")));
    }
    notes.push(if found.tasks.values().all(|limits| *limits == Limits::default()) {
        "no other value of one number alone is accepted by the tests".to_owned()
    } else if found.is_exact {
        "beyond a limit some deadline is missed, where jobs may come at any distance".to_owned()
    } else {
        "a limit is the last value that the tests accept: the next one is refused first".to_owned()
    });
    notes
}

/// Returns the policies with limits.
fn with_limits<'a>(
    policies: impl IntoIterator<Item = &'a Assessment>,
) -> impl Iterator<Item = (&'a Assessment, &'a Sensitivity)> {
    policies.into_iter().filter_map(|policy| Some((policy, policy.sensitivity.as_ref()?)))
}

/// Returns the tables for a terminal.
pub(super) fn table<'a>(
    checked: &Checked,
    policies: impl IntoIterator<Item = &'a Assessment>,
    args: &CheckArgs,
) -> String {
    let of = |(policy, found): (&Assessment, &Sensitivity)| {
        let system = checked.system(&policy.spec);
        let mut rows = text::table(args);
        rows.set_header(HEADINGS);
        for id in system.tasks.ids() {
            rows.add_row(row(system, found, id));
        }
        let notes: String = notes(found).iter().map(|note| text::line(note)).collect();
        let title = format!("each number, and how far it may go alone under {}", policy.spec);
        format!("\n{}{}\n{notes}", text::line(&title), text::drawn(&rows))
    };
    with_limits(policies).map(of).collect()
}

/// Returns the tables of the page.
pub(super) fn tables(checked: &Checked) -> Vec<Table> {
    let of = |(policy, found): (&Assessment, &Sensitivity)| {
        let system = checked.system(&policy.spec);
        Table {
            title: format!("Each number, and how far it may go alone under {}", policy.spec),
            notes: notes(found),
            headings: HEADINGS.map(str::to_owned).to_vec(),
            rows: system.tasks.ids().map(|id| row(system, found, id).to_vec()).collect(),
            ..Table::default()
        }
    };
    with_limits(&checked.policies).map(of).collect()
}
