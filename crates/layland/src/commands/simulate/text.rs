//! The answer of `layland sim` as text: charts, a table of the policies, and remarks.

use super::SimArgs;
use crate::pages::assigned::AssignedTable;
use crate::pages::figures;
use crate::pages::report;
use crate::pages::simulation::View;
use crate::ui::chart::Chart;
use crate::ui::exit::Failure;
use crate::ui::table;
use crate::ui::{chart, terminal};
use layland_answers::simulate::PolicyRun;
use layland_chart::gantt::{self, Colours};
use layland_model::{Time, counted};
use layland_trace::Labels;

/// The largest number of tasks whose CPUs are listed. Beyond it, a chart or JSON serves better.
const FEW_TASKS: usize = 20;

/// Returns the answer for the terminal.
pub(super) fn text(view: &View<'_>, args: &SimArgs) -> Result<String, Failure> {
    let simulated = view.simulated;
    let system = &simulated.set.system;
    let (tasks, cpus) = (system.tasks.len(), system.platform.cpu_count());
    let head = format!(
        "{}: {} on {}, utilization {:.*}{}",
        simulated.set.name,
        counted(tasks, "task"),
        counted(cpus, "CPU"),
        args.digits as usize,
        system.utilization().to_f64(),
        view.simulated_up_to(),
    );
    let mut text = terminal::wrap(&head, "") + "\n";
    let window = view.window();
    let labels = Labels::of(system);
    let style = table::Style { ascii: args.ascii, colours: terminal::colours() };
    for policy in &simulated.policies {
        let Ok(ran) = &policy.result else { continue };
        if let Some(rows) = args.chart.unwrap_or(Chart::Tasks).rows() {
            match view.text_trace(ran, window)? {
                Some(trace) => {
                    chart::tell_if_idle(args.window, &trace, &policy.spec);
                    let colours = if style.colours { Colours::Ansi } else { Colours::Never };
                    let options = chart::text_options(rows, chart::charset(args.ascii), colours);
                    let drawn = gantt::View::new(&trace, &labels).window(window.0, window.1);
                    text += &format!("\n{}  {}", policy.spec, drawn.text(&options));
                }
                None => text += &format!("\n{}  INTERRUPTED: no chart\n", policy.spec),
            }
            text.extend(view.elsewhere(ran, window).map(|line| terminal::wrap(&line, "") + "\n"));
        }
        if args.per_task {
            let tasks = ran.summary.tasks.iter();
            let rows = tasks.map(|task| (task.name.clone(), Some(task)));
            let rows = figures::rows_with(rows, args.digits());
            text += &format!("\n{}\n{}\n", policy.spec, table::tasks(&rows, style));
        }
    }
    let rows = simulated.policies.iter().map(|policy| {
        let ran = policy.result.as_ref().ok();
        (policy.spec.clone(), ran.map(|ran| &ran.summary.total))
    });
    let rows = figures::rows_with(rows, args.digits());
    text += &assignments(view, style);
    text += &format!("\n{}\n", table::policies(&rows, style));
    for policy in &simulated.policies {
        if let Some(why) = why_late(view, policy)? {
            text += &(terminal::wrap(&why, "") + "\n");
        }
    }
    for remark in simulated.policies.iter().flat_map(|policy| view.remarks(policy)) {
        text += &terminal::wrap(&remark, "");
        text.push('\n');
    }
    Ok(text)
}

/// Returns a table with the CPU of each task under the policies that assign each task to one.
fn assignments(view: &View<'_>, style: table::Style) -> String {
    let system = &view.simulated.set.system;
    if system.tasks.len() > FEW_TASKS {
        return String::new();
    }
    let Some(found) = AssignedTable::of(&view.assignments(), system) else { return String::new() };
    let title = terminal::wrap(&found.title, "");
    format!("\n{title}\n{}\n", table::texts(found.headings, found.rows, style))
}

/// Explains the first miss under a policy.
fn why_late(view: &View<'_>, policy: &PolicyRun) -> Result<Option<String>, Failure> {
    let Ok(ran) = &policy.result else { return Ok(None) };
    // After an interrupt, the user does not want to wait until the miss is found again.
    let Some(miss) = ran.first_miss.filter(|_| !view.simulated.interrupted) else {
        return Ok(None);
    };
    let system = &view.simulated.set.system;
    // Start at the earliest possible arrival of the job. The chart's window extends far enough
    // to show the job's end, or that it is late.
    let longest = system.tasks.values().map(|task| task.deadline.max(task.period)).max();
    let from = Time::ZERO.max(miss - longest.unwrap_or_default());
    let to = miss.saturating_add(longest.unwrap_or_default());
    let Some(trace) = view.chart_trace(ran, (from, to))? else { return Ok(None) };
    Ok(report::why_late(&policy.spec, &trace, &Labels::of(system), system))
}
