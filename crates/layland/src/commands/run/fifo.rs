//! `layland run --engine fifo` and `--engine ext`: a manager that dispatches threads of class SCHED_FIFO or SCHED_EXT.

use super::args::{Engine, ManagerChoice, RunArgs};
use super::carried::{ahead, carry_out, ext_figures};
use super::document::{Counts, ForeignThread, HostCpus, Managed, RunDocument, Servers, SetSummary};
use super::gated;
use super::promise::promise;
use super::recording::Recording;
use super::request::{Request, chosen_cpus, end, failure, refused, what};
use crate::pages::figures;
use crate::pages::report;
use crate::pages::window;
use crate::ui::chart;
use crate::ui::document::{self, Named};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::recorded::Recorded;
use crate::ui::table;
use crate::ui::{files, interrupt, terminal};
use layland_engine::reserves::Reserves;
use layland_linux::trace::{View as TraceView, verify};
use layland_linux::{
    Changes, Dispatch, FifoOptions, Figures, Hosts, Locks, LogFile, Machine, ManagerPlace,
    ServerCosts, Throttling, foresee, server_costs, way_out,
};
use layland_model::{Duration, ScheduleRule, System, Time, counted};
use layland_report::{Line, Severity};
use layland_trace::{FirstMiss, Labels, Statistics, Summary, Trace};

/// Returns the threads that drive the policy.
fn dispatch(args: &RunArgs) -> Dispatch {
    match args.fifo.manager {
        ManagerChoice::Auto | ManagerChoice::Shared | ManagerChoice::Dedicated => Dispatch::Manager,
        ManagerChoice::PerCpu => Dispatch::PerCpu(Locks::default()),
    }
}

/// The data for the answer.
struct Ran {
    outcome: layland_linux::Outcome,
    hosts: Hosts,
    machine: Machine,
    trace: Trace,
    summary: Summary,
    first_miss: Option<Time>,
    checked: Option<Vec<String>>,
    doubts: Vec<String>,
    servers: ServerCosts,
}

pub(super) fn run(request: Request<'_>) -> Outcome {
    let Request { registry, args, .. } = request;
    let build = |system: &System| registry.build(&args.policy, system);
    let plain =
        build(&request.set.system).map_err(|error| refused(&request.set, &args.policy, &error))?;
    let margin = args.reserve.clone().unwrap_or_default();
    let reserves = Reserves::of(&*plain);
    let larger = reserves.larger(&request.set.system, &margin).into_owned();
    let policy = build(&larger).map_err(|error| {
        refused(&request.set, &args.policy, &error).help(format!(
            "the policy takes the set without the margin of {margin}: choose a smaller --reserve"
        ))
    })?;
    let promise = {
        let asked = reserves.larger(&request.asked, &margin);
        promise(&request, &asked, (reserves != Reserves::AsSaid).then_some(&margin))?
    };
    // The reserved margin is not executed.
    let Request { mut set, asked, duration, outputs, .. } = request;
    set.system = larger;
    let place = match args.fifo.manager {
        ManagerChoice::Auto => ManagerPlace::Auto,
        ManagerChoice::Shared | ManagerChoice::PerCpu => ManagerPlace::Shared,
        ManagerChoice::Dedicated => ManagerPlace::Dedicated,
    };
    let cpus = set.system.platform.cpu_count();
    let interrupt = interrupt::listen();
    // The run has a guardian of its own, which ends it. This one is for the recording.
    let mut changes = Changes::begin(&what(args, &set), Duration::MAX)?;
    let (hosts, elsewhere) =
        Hosts::claim(&mut changes, cpus, &chosen_cpus(args)?, place).map_err(failure)?;
    if place == ManagerPlace::Auto && cpus > 1 && hosts.shared().is_some() {
        let message = format!(
            "the manager shares host CPU {} with the jobs: the set takes every CPU that the run may use",
            hosts.manager
        );
        let help =
            "its decisions delay the jobs there; a set with one CPU less leaves it one of its own";
        terminal::warn(&message, Some(help));
    }
    let throttling = Throttling::of_machine();
    let foreseen = match args.engine {
        // For this engine the kernel withholds no time for other classes.
        Engine::Ext => Vec::new(),
        Engine::Fifo | Engine::Deadline => {
            foresee(&asked, &policy.rule(), hosts.shared(), &throttling)
        }
    };
    for text in &foreseen {
        terminal::warn(text, Some(way_out(&throttling)));
    }
    let recording = Recording::start(&outputs, args.fifo.ftrace, &set.system, &mut changes)?;
    let options = FifoOptions {
        seed: args.seed,
        markers: recording.markers.clone(),
        interrupt: Some(interrupt),
        dispatch: dispatch(args),
        ..FifoOptions::new(duration, hosts.clone())
    };
    let rule = policy.rule();
    let outcome = carry_out(args, &set.system, policy, options);
    let lost = recording.finish(args.quiet);
    let taken_back = end(changes, Exit::Yes);
    let (mut outcome, lost) = (outcome?, lost?);
    outcome.remarks.extend(promise.lost.into_iter().chain(foreseen).chain(elsewhere));
    let mut ran = Ran::new(args, &set.system, outcome, hosts, &rule);
    if lost > 0 {
        ran.doubts.push(format!("the kernel's trace lost {lost} events"));
    }
    let failed = gated(args, &set, (&ran.trace, &ran.summary), &promise.bounds)?;
    let exit = match taken_back {
        Exit::Yes => ran.exit(failed),
        other => other,
    };
    if let Some(path) = &args.fifo.log {
        let file = LogFile {
            policy: args.policy.clone(),
            seed: args.seed,
            set: layland_config::to_toml(&set.system),
            log: ran.outcome.log.clone(),
        };
        let mut bytes = Vec::new();
        file.write(&mut bytes).map_err(|error| Failure::refused(error.to_string()))?;
        files::write(path, &bytes)?;
        if !args.quiet {
            terminal::talk(&format!("wrote {}", path.display()));
        }
    }
    let answer = Answer { args, name: &set.name, system: &set.system, ran: &ran };
    chart::tell_if_idle(args.window, &ran.trace, &args.policy);
    for output in &outputs {
        answer.recorded().write(output, args.quiet)?;
    }
    if args.json {
        document::print(&answer.document(exit))?;
    } else {
        terminal::result(&answer.as_text())?;
    }
    Ok(exit)
}

impl Ran {
    fn new(
        args: &RunArgs,
        system: &System,
        outcome: layland_linux::Outcome,
        hosts: Hosts,
        rule: &ScheduleRule,
    ) -> Ran {
        let trace = outcome.trace(system, TraceView::Measured);
        let mut statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
        trace.replay(&mut statistics);
        let summary = statistics.summary(&Labels::of(system));
        let mut first_miss = FirstMiss::default();
        trace.replay(&mut first_miss);
        let checked = (args.fifo.check && !outcome.interrupted)
            .then(|| verify(&outcome.log, &outcome.system(system), rule));
        let mut doubts = outcome.doubts.clone();
        if summary.total.missed > 0 {
            doubts.extend(outcome.pause(system));
        }
        let machine = Machine::probe();
        let first_miss = first_miss.0;
        let servers = server_costs(&outcome.log);
        Ran { outcome, hosts, machine, trace, summary, first_miss, checked, doubts, servers }
    }

    /// Describes the CPUs of the jobs and of the threads that drive the policy.
    fn places(&self, args: &RunArgs) -> String {
        match dispatch(args) {
            Dispatch::Manager => self.hosts.to_string(),
            Dispatch::PerCpu(_) => format!("{}; a dispatcher on each", self.hosts.of_jobs()),
        }
    }

    fn exit(&self, failures: u64) -> Exit {
        let broken = self.checked.as_ref().map_or(0, Vec::len);
        let user = self.outcome.interrupted && self.outcome.doubts.is_empty();
        exit(user, self.doubts.len(), broken, failures)
    }
}

/// Returns the exit code of a run. If the machine was late or the trace has lost events, a broken
/// rule is undecided. It is a bug of layland only if the run can be trusted.
fn exit(by_user: bool, doubts: usize, broken: usize, missed: u64) -> Exit {
    if doubts > 0 && !by_user {
        Exit::Untrusted
    } else if broken > 0 {
        Exit::Bug
    } else if by_user {
        Exit::Interrupted
    } else if missed > 0 {
        Exit::No
    } else {
        Exit::Yes
    }
}

/// Describes the result of the check of a run; `None` stands for a run that was not checked to its
/// end.
fn verdict(found: Option<&[String]>, is_trusted: bool) -> Vec<Line> {
    let (severity, head) = match found {
        None => (Severity::Warning, "INTERRUPTED: not checked"),
        Some([]) => (Severity::Note, "checked, every rule holds"),
        Some(_) if is_trusted => (Severity::BrokenRule, "BROKEN RULES, a bug of layland:"),
        Some(_) => (
            Severity::Warning,
            "NOT TRUSTWORTHY: rules are broken, which cannot be held against the policy in such a run:",
        ),
    };
    let broken = found.into_iter().flatten().map(|rule| Line::new(Severity::Note, rule.clone()));
    [Line::new(severity, head)].into_iter().chain(broken).collect()
}

struct Answer<'a> {
    args: &'a RunArgs,
    name: &'a str,
    system: &'a System,
    ran: &'a Ran,
}

impl Answer<'_> {
    fn window(&self) -> (Time, Time) {
        if let Some(window) = self.args.window {
            return window;
        }
        let end = self.ran.outcome.end.max(Time::from_ns(1));
        let total = &self.ran.summary.total;
        let segments = (total.released + total.preemptions).max(1) as i64;
        let span = (end.ns() / segments).saturating_mul(window::SEGMENTS);
        window::around(span, end, self.ran.first_miss, Some(self.system))
    }

    fn recorded(&self) -> Recorded<'_> {
        let (ran, args) = (self.ran, self.args);
        Recorded {
            title: format!("{} under {}, on real threads", self.name, args.policy),
            name: args.policy.clone(),
            labels: Labels::of(self.system),
            system: Some(self.system),
            trace: &ran.trace,
            how: None,
            summary: ran.summary.clone(),
            lines: self.remarks(),
            provenance: format!(
                "layland {}: run of {} for {} under {}, engine {}, seed {}, {}, kernel {}",
                env!("CARGO_PKG_VERSION"),
                self.name,
                ran.outcome.end,
                args.policy,
                args.engine.name(),
                args.seed,
                ran.places(args),
                ran.machine.kernel,
            ),
            seed: Some(args.seed),
            window: Some(self.window()),
            ascii: args.ascii,
        }
    }

    fn as_text(&self) -> String {
        let (ran, system) = (self.ran, self.system);
        let head = format!(
            "{}: {} on {}, utilization {:.3}, ran for {} under {}",
            self.name,
            counted(system.tasks.len(), "task"),
            counted(system.platform.cpu_count(), "CPU"),
            system.utilization().to_f64(),
            format_args!("{:#}", ran.outcome.end.since_start()),
            self.args.policy,
        );
        let mut text = terminal::wrap(&head, "") + "\n";
        text += &(terminal::wrap(
            &format!("{}, kernel {}", ran.places(self.args), ran.machine.kernel),
            "",
        ) + "\n");
        let style = table::Style { ascii: self.args.ascii, colours: terminal::colours() };
        if let Some(rows) = self.args.chart.rows() {
            text += &format!("\n{}\n", self.recorded().chart(rows).trim_end());
        }
        if self.args.per_task {
            let tasks = ran.summary.tasks.iter();
            let rows = figures::rows(tasks.map(|task| (task.name.clone(), Some(task))));
            text += &format!("\n{}\n", table::tasks(&rows, style));
        }
        let all = figures::rows([(self.args.policy.clone(), Some(&ran.summary.total))]);
        text += &format!("\n{}\n", table::policies(&all, style));
        let mut costs = rows(&ran.outcome.measured.figures());
        costs.extend(rows(&ran.servers.figures()));
        text += &format!("\n{}\n", table::distributions(&costs, style));
        let labels = Labels::of(system);
        if let Some(why) = report::why_late(&self.args.policy, &ran.trace, &labels, system) {
            text += &(terminal::wrap(&why, "") + "\n");
        }
        for remark in self.remarks() {
            text += &terminal::wrap(&remark.text, "");
            text.push('\n');
        }
        text
    }

    fn remarks(&self) -> Vec<Line> {
        let ran = self.ran;
        let measured = &ran.outcome.measured;
        let mut facts = vec![format!(
            "{} dispatches, {} demotions, {} migrations, {} parked; completed jobs asked for {:#} and got {:.4} % more",
            measured.dispatches,
            measured.demotions,
            measured.migrations,
            measured.parks,
            Duration::from_ns(measured.asked_ns),
            (measured.got_ns - measured.asked_ns) as f64 / (measured.asked_ns.max(1)) as f64
                * 100.0,
        )];
        if measured.leaked_ns > 0 {
            facts.push(format!(
                "waiting threads got {:#} of processor time between an end and the decision after it",
                Duration::from_ns(measured.leaked_ns)
            ));
        }
        facts.extend(ahead(&ran.outcome));
        let servers = &ran.servers;
        if !servers.is_empty() {
            facts.push(format!(
                "pushes {}, pulls {}, throttles {}; forced throttles {}, after {} of which the thread stayed on its CPU",
                servers.pushes, servers.pulls, servers.throttles, servers.forced, servers.forced_stayed,
            ));
        }
        let stolen = ran.outcome.disturbance.stolen;
        if stolen > Duration::ZERO {
            facts.push(format!("a hypervisor took {stolen:#} of the CPUs"));
        }
        facts.extend(ran.machine.caveats());
        facts.extend(ran.outcome.remarks.iter().cloned());
        let note = |fact| Line::new(Severity::Note, fact);
        let mut remarks: Vec<Line> = facts.into_iter().map(note).collect();
        if self.args.fifo.check {
            remarks.extend(verdict(ran.checked.as_deref(), ran.doubts.is_empty()));
        }
        if ran.outcome.interrupted && ran.outcome.doubts.is_empty() {
            let text = format!("INTERRUPTED at {:#}: the figures are partial", ran.outcome.end);
            remarks.push(Line::new(Severity::Warning, text));
        }
        let doubt = |doubt| Line::new(Severity::Warning, format!("NOT TRUSTWORTHY: {doubt}"));
        remarks.extend(ran.doubts.iter().map(doubt));
        remarks
    }

    fn document(&self, exit: Exit) -> RunDocument<'_> {
        let ran = self.ran;
        let measured = &ran.outcome.measured;
        let disturbance = &ran.outcome.disturbance;
        let foreign = disturbance.foreign.iter().map(|one| ForeignThread {
            name: &one.name,
            pid: one.pid,
            took_ns: one.took.ns(),
            cpus: &one.cpus,
        });
        RunDocument::Managed(Box::new(Managed {
            layland: env!("CARGO_PKG_VERSION"),
            command: "run",
            engine: self.args.engine.name(),
            set: SetSummary {
                name: self.name,
                tasks: self.system.tasks.len(),
                cpus: self.system.platform.cpu_count(),
                utilization: self.system.utilization().to_f64(),
            },
            policy: &self.args.policy,
            seed: self.args.seed,
            hosts: HostCpus { cpus: ran.hosts.of.as_slice(), manager: ran.hosts.manager },
            machine: &ran.machine,
            end_ns: ran.outcome.end.ns(),
            interrupted: ran.outcome.interrupted,
            events: ran.outcome.events,
            decisions: ran.outcome.decisions,
            first_missed_deadline_ns: ran.first_miss.map(Time::ns),
            broken_rules: ran.checked.as_deref(),
            summary: &ran.summary,
            overheads: Named(measured.figures()),
            counts: Counts::of(measured),
            servers: Servers::of(&ran.servers),
            ext: ext_figures(&ran.outcome),
            asked_ns: measured.asked_ns,
            got_ns: measured.got_ns,
            leaked_ns: measured.leaked_ns,
            stolen_ns: disturbance.stolen.ns(),
            foreign: foreign.collect(),
            caveats: ran.machine.caveats(),
            remarks: &ran.outcome.remarks,
            doubts: &ran.doubts,
            exit,
        }))
    }
}

/// Returns the rows of a table of distributions.
pub(crate) fn rows(figures: &[(&'static str, Figures)]) -> Vec<(String, u64, [f64; 5])> {
    let row = |(name, figures): &(&str, Figures)| {
        let times = [figures.p50_ns, figures.p99_ns, figures.p999_ns, figures.max_ns];
        let [a, b, c, d] = times.map(|ns| ns as f64);
        ((*name).to_owned(), figures.count, [a, b, c, d, figures.mean_ns])
    };
    figures.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_rule_is_a_bug_only_in_a_run_that_can_be_trusted() {
        for (by_user, doubts, broken, missed, expected) in [
            (false, 0, 0, 0, Exit::Yes),
            (false, 0, 0, 3, Exit::No),
            (false, 0, 2, 3, Exit::Bug),
            (false, 1, 2, 3, Exit::Untrusted),
            (false, 1, 2, 0, Exit::Untrusted),
            (false, 1, 0, 0, Exit::Untrusted),
            // A user who ends a run gets its partial result; doubts about the rest do not count.
            (true, 0, 0, 3, Exit::Interrupted),
            (true, 1, 0, 0, Exit::Interrupted),
            (true, 0, 1, 0, Exit::Bug),
        ] {
            let found = exit(by_user, doubts, broken, missed);
            assert_eq!(found, expected, "{by_user} {doubts} {broken} {missed}");
        }
    }

    #[test]
    fn both_facts_are_said() {
        let broken = ["two CPUs run one job".to_owned()];
        let said = |found, is_trusted| -> Vec<String> {
            verdict(found, is_trusted).into_iter().map(|line| line.text).collect()
        };
        let trusted = said(Some(&broken), true);
        assert_eq!(trusted, ["BROKEN RULES, a bug of layland:", "two CPUs run one job"]);
        let doubtful = said(Some(&broken), false);
        assert!(doubtful[0].starts_with("NOT TRUSTWORTHY: rules are broken"), "{doubtful:?}");
        assert_eq!(doubtful[1], "two CPUs run one job");
        for is_trusted in [true, false] {
            assert_eq!(said(Some(&[]), is_trusted), ["checked, every rule holds"]);
            assert_eq!(said(None, is_trusted), ["INTERRUPTED: not checked"]);
        }
    }
}
