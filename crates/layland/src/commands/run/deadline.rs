//! `layland run --engine deadline`: the kernel's own SCHED_DEADLINE.

use super::args::{Requests, RunArgs};
use super::document::{
    Deadline, KernelInversion, KernelRequest, KernelRun, KernelTask, RunDocument,
};
use super::gated;
use super::promise::promise;
use super::recording::Recording;
use super::request::{Request, chosen_cpus, end, refused, what};
use crate::pages::figures;
use crate::pages::report;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::Set;
use crate::ui::recorded::Recorded;
use crate::ui::table;
use crate::ui::{chart, document, interrupt, terminal};
use layland_linux::deadline::{DeadlineOptions, Facts, Plan, Ran, run as run_plan};
use layland_linux::{Changes, Machine, Repair};
use layland_model::{Algorithm, Change, Duration, JobId, RequestKind, System, counted};
use layland_policy::deadline::{KernelOptions, Throttle};
use layland_policy::{Registry, SystemRefusal};
use layland_report::{Line, Severity};
use layland_trace::inversion::{Inversion, inversions, tardiness};
use layland_trace::{Labels, Statistics, Summary};
use std::sync::atomic::Ordering;

/// A kernel inversion up to this length is attributed to latency.
const LATENCY: Duration = Duration::from_ms(1);
/// The number of intervals in which tardiness over time is reported.
const PARTS: usize = 8;
/// The largest number of inversions that are shown.
const SHOWN: usize = 3;

/// Runs a set on the kernel's scheduler.
pub(super) fn run(request: Request<'_>) -> Outcome {
    let Request { registry, args, .. } = request;
    let facts = Facts::read();
    let plan = plan(registry, args, &request.set, &facts)?;
    let reserved = plan.reserved(&request.asked);
    let promise = promise(&request, &reserved, args.reserve.as_ref())?;
    let Request { set, duration, outputs, .. } = request;
    let system = &set.system;
    // Listen before anything is changed: an interrupt must not end the run without undoing the
    // changes.
    let interrupt = interrupt::listen();
    let mut changes = Changes::begin(&what(args, &set), most(duration, &plan))?;
    let (cpus, elsewhere) = machine_cpus(&mut changes, args, system)?;
    for caveat in &plan.caveats {
        terminal::warn(caveat, None);
    }
    tell(&plan, system, &facts);
    if let Some(remark) = &elsewhere {
        terminal::warn(remark, None);
    }
    let recording = Recording::start(&outputs, false, system, &mut changes)?;
    let options = DeadlineOptions {
        until: duration,
        seed: args.seed,
        cpus: &cpus,
        markers: recording.markers.clone(),
        interrupt: Some(interrupt),
    };
    let limit = facts.limit_thousandths as f64 / 1000.0;
    let ran = run_plan(system, &plan, limit, &options, &mut changes).map_err(|error| {
        let reason = set.located_by_name(error.to_string(), error.task());
        Failure::refused(reason).help(error.help())
    });
    drop(options);
    let lost = recording.finish(args.quiet);
    let taken_back = end(changes, Exit::Yes);
    let (ran, lost) = (ran?, lost?);
    let labels = Labels::of(system);
    let mut statistics = Statistics::new(labels.tasks.len(), labels.cpus);
    ran.trace.replay(&mut statistics);
    let summary = statistics.summary(&labels);
    let failed = gated(args, &set, (&ran.trace, &summary), &promise.bounds)?;
    let excuse = if failed > 0 { ran.excuse(system) } else { None };
    let exit = if taken_back != Exit::Yes {
        taken_back
    } else if interrupt.load(Ordering::SeqCst) {
        Exit::Interrupted
    } else if lost > 0 || excuse.is_some() {
        Exit::Untrusted
    } else if failed > 0 {
        Exit::No
    } else {
        Exit::Yes
    };
    let answer = Answer { args, set: &set, plan: &plan, ran: &ran, summary, lost, excuse, exit };
    chart::tell_if_idle(args.window, &ran.trace, &args.policy);
    for output in &outputs {
        answer.recorded().write(output, args.quiet)?;
    }
    if args.json {
        document::print(&answer.document())?;
    } else {
        terminal::result(&answer.as_text())?;
    }
    Ok(exit)
}

/// Prints the reservations to standard error.
fn tell(plan: &Plan, system: &System, facts: &Facts) {
    for domain in &plan.domains {
        let names: Vec<String> = (domain.tasks.iter())
            .map(|&id| {
                let reservation = plan.reservations[id];
                let name = &system.tasks[id].name;
                format!("{name} {:#} every {:#}", reservation.runtime, reservation.period)
            })
            .collect();
        let (load, most) = (plan.load(domain), facts.limit_thousandths as f64 / 1000.0);
        let most = most * domain.cpus.len() as f64;
        terminal::talk(&terminal::wrap(
            &format!("{:#}: reserves {load:.3} of {most:.3}: {}", domain.cpus, names.join(", ")),
            "",
        ));
    }
}

/// Returns the setup of the run. Unless the policy is the kernel's own, the setup only has to
/// provide what the policy promises.
fn plan(registry: &Registry, args: &RunArgs, set: &Set, facts: &Facts) -> Result<Plan, Failure> {
    let (spec, system) = (&args.policy, &set.system);
    let cannot = |error| refused(set, spec, &error);
    let (info, options) = registry.parse(spec).map_err(cannot)?;
    let policy = info.build(system, &options).map_err(|refusal| cannot(refusal.into()))?;
    let (margin, deadline) = (args.reserve.as_ref(), &args.deadline);
    let algorithm = info.algorithm(&options);
    let is_kernel =
        matches!(algorithm, Algorithm::SchedDeadline | Algorithm::SemiPartitionedDeadline);
    let plan = if is_kernel {
        let stated = KernelOptions::of(algorithm, &options)
            .map_err(|refusal| cannot(SystemRefusal::from(refusal).into()))?;
        if stated.reclaims_in(system) || stated.postpones {
            // The endless threads of this engine yield before their budgets end, and would have
            // nothing to reclaim for.
            let reason =
                "the engine `deadline` starts no thread that reclaims or goes on beyond its budget";
            return Err(Failure::refused(reason)
                .help("simulate it, or let the dispatcher run it: --engine fifo"));
        }
        let asks_itself = deadline.requests_by == Requests::Task;
        if algorithm == Algorithm::SemiPartitionedDeadline {
            let repair = match stated.throttle {
                Throttle::All => Repair::PAPER,
                Throttle::Waiting => Repair::LIGHT,
            };
            Plan::of_repaired(system, facts, repair, margin, deadline.force, asks_itself)
        } else {
            Plan::of_kernel(system, facts, margin, deadline.force, deadline.settle, asks_itself)
        }
    } else {
        Plan::new(system, &policy.rule(), facts, margin, deadline.force)
    };
    plan.map_err(|refusal| {
        let reason = set.located_by_name(refusal.to_string(), refusal.task());
        Failure::refused(reason).help(refusal.help())
    })
}

/// Returns the time after which the guardian ends a run, which may have been stopped.
fn most(duration: Duration, plan: &Plan) -> Duration {
    duration + plan.lead + Duration::from_secs(60)
}

/// Returns the CPU of the machine for each CPU of the platform: the first that may be used and that
/// no other run has. Also returns a note if these are not the first CPUs of the machine.
fn machine_cpus(
    changes: &mut Changes,
    args: &RunArgs,
    system: &System,
) -> Result<(Vec<usize>, Option<String>), Failure> {
    let needed = system.platform.cpu_count();
    changes.claim(&chosen_cpus(args)?, |usable| match usable.get(..needed) {
        Some(cpus) => Ok((cpus.to_vec(), cpus.to_vec())),
        None => Err(Failure::refused(format!(
            "the set needs {needed} CPUs, and {} can be used here",
            usable.len()
        ))
        .help("a smaller platform: change `cpus` in the set")),
    })
}

struct Answer<'a> {
    args: &'a RunArgs,
    set: &'a Set,
    plan: &'a Plan,
    ran: &'a Ran,
    summary: Summary,
    lost: u64,
    excuse: Option<String>,
    exit: Exit,
}

impl Answer<'_> {
    fn recorded(&self) -> Recorded<'_> {
        let (args, set) = (self.args, self.set);
        Recorded {
            title: format!("{} under {}, engine deadline", set.name, args.policy),
            name: args.policy.clone(),
            labels: Labels::of(&set.system),
            system: Some(&set.system),
            trace: &self.ran.trace,
            how: None,
            summary: self.summary.clone(),
            lines: self.remarks().into_iter().map(|text| Line::new(Severity::Note, text)).collect(),
            provenance: format!(
                "layland {}: run of {} for {} under {}, engine deadline, seed {}, kernel {}",
                env!("CARGO_PKG_VERSION"),
                set.name,
                self.ran.trace.over,
                args.policy,
                args.seed,
                Machine::probe().kernel,
            ),
            seed: Some(args.seed),
            window: args.window,
            ascii: args.ascii,
        }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.kernel();
        if self.ran.overruns > 0 {
            remarks.push(format!("the kernel reported {} budget overruns", self.ran.overruns));
        }
        remarks.extend(self.plan.caveats.iter().cloned());
        if self.ran.trace.interrupted {
            remarks
                .push(format!("INTERRUPTED at {:#}: the figures are partial", self.ran.trace.over));
        }
        if self.lost > 0 {
            remarks.push(format!("NOT TRUSTWORTHY: the kernel's trace lost {} events", self.lost));
        }
        remarks.extend(self.excuse.iter().map(|excuse| format!("NOT TRUSTWORTHY: {excuse}")));
        remarks
    }

    /// Returns the inversions, if tasks may run on all CPUs that the set allows.
    fn inversions(&self) -> Option<Vec<Inversion>> {
        let allowed = self.plan.affinities.as_ref()?;
        // If affinities change during the run, inversions cannot be determined.
        let changes = |request: &layland_model::Request| {
            matches!(
                request.kind,
                RequestKind::Reconfigure(_, Change::Affinity(_) | Change::Cluster(_))
            )
        };
        if self.set.system.requests.iter().any(changes) {
            return None;
        }
        let cpus = self.set.system.platform.cpu_count();
        Some(inversions(&self.ran.trace, allowed, cpus, LATENCY))
    }

    /// Describes the behaviour of the kernel, if it is the policy.
    fn kernel(&self) -> Vec<String> {
        let system = &self.set.system;
        if self.plan.affinities.is_none() {
            return Vec::new();
        }
        let mut remarks = Vec::new();
        let name = |job: JobId| format!("{}#{}", system.tasks[job.task].name, job.number());
        for (id, told) in tardiness(&self.ran.trace, system.tasks.len(), PARTS).iter() {
            let told: Vec<String> = told.iter().map(|late| format!("{late:#}")).collect();
            let name = &system.tasks[id].name;
            remarks.push(format!("{name}: most tardiness over time: {}", told.join(", ")));
        }
        for (id, task) in system.tasks.iter() {
            let own = self.ran.trace.segments.iter().filter(|segment| segment.job.task == id);
            let got: i64 = own.map(|segment| (segment.end - segment.start).ns()).sum();
            let share = got as f64 / self.ran.trace.over.ns().max(1) as f64;
            let reserved = task.reservation().ns() as f64 / task.period.ns() as f64;
            remarks.push(format!("{}: got {share:.3} of a CPU, reserved {reserved:.3}", task.name));
        }
        let refused = self.ran.trace.answers.iter().filter_map(|answer| {
            let why = answer.refused.as_ref()?;
            Some(format!("at {:#} the kernel refused: {}: {why}", answer.at, answer.request))
        });
        remarks.extend(refused);
        let granted = self.ran.trace.answers.iter().filter(|answer| answer.refused.is_none());
        match granted.count() {
            0 => {}
            count => remarks.push(format!("the kernel granted {}", counted(count, "request"))),
        }
        match self.inversions().as_deref() {
            None => {}
            Some([]) => remarks.push(format!("no priority inversion of more than {LATENCY:#}")),
            Some(found) => {
                let longest = found.iter().map(Inversion::length).max().unwrap_or_default();
                remarks.push(format!(
                    "PRIORITY INVERSION: {} of more than {LATENCY:#}, the longest of {longest:#}",
                    counted(found.len(), "time")
                ));
                remarks.extend(found.iter().take(SHOWN).map(|one| {
                    let instead = one.running.map_or_else(
                        || "is idle".to_owned(),
                        |job| format!("runs {}, due later", name(job)),
                    );
                    format!(
                        "  {:#} to {:#}: {} waits, and CPU {}, which could be freed for it, {instead}",
                        one.from,
                        one.to,
                        name(one.waiting),
                        one.cpu
                    )
                }));
            }
        }
        remarks
    }

    fn as_text(&self) -> String {
        let rows = self.args.chart.rows();
        let mut text = rows.map_or_else(String::new, |rows| self.recorded().chart(rows));
        let style = table::Style { ascii: self.args.ascii, colours: terminal::colours() };
        let tasks = self.summary.tasks.iter();
        let all = tasks.map(|task| (task.name.clone(), Some(task)));
        let rows = figures::rows(all.chain([("all".to_owned(), Some(&self.summary.total))]));
        text += &format!("\n{}\n", table::tasks(&rows, style));
        let (labels, system) = (Labels::of(&self.set.system), &self.set.system);
        if let Some(why) = report::why_late(&self.args.policy, &self.ran.trace, &labels, system) {
            text += &(terminal::wrap(&why, "") + "\n");
        }
        for remark in self.remarks() {
            text += &terminal::wrap(&remark, "");
            text.push('\n');
        }
        text
    }

    fn kernel_document(&self) -> KernelRun<'_> {
        let system = &self.set.system;
        let name = |job: JobId| format!("{}#{}", system.tasks[job.task].name, job.number());
        let told = tardiness(&self.ran.trace, system.tasks.len(), PARTS);
        let tasks = system.tasks.iter().map(|(id, task)| {
            let own = self.ran.trace.segments.iter().filter(|segment| segment.job.task == id);
            KernelTask {
                name: &task.name,
                got_ns: own.map(|segment| (segment.end - segment.start).ns()).sum(),
                reserved_ns: task.reservation().ns(),
                period_ns: task.period.ns(),
                tardiness_over_time_ns: told[id].iter().map(|late| late.ns()).collect(),
            }
        });
        let requests = self.ran.trace.answers.iter().map(|answer| KernelRequest {
            at_ns: answer.at.ns(),
            request: &answer.request,
            refused: answer.refused.as_deref(),
        });
        let one = |one: Inversion| KernelInversion {
            from_ns: one.from.ns(),
            to_ns: one.to.ns(),
            waiting: name(one.waiting),
            running: one.running.map(name),
            cpu: one.cpu.0,
        };
        let inversions = self.inversions().map(|found| found.into_iter().map(one).collect());
        KernelRun { tasks: tasks.collect(), requests: requests.collect(), inversions }
    }

    fn document(&self) -> RunDocument<'_> {
        RunDocument::Deadline(Deadline {
            layland: env!("CARGO_PKG_VERSION"),
            command: "run",
            engine: "deadline",
            policy: &self.args.policy,
            seed: self.args.seed,
            end_ns: self.ran.trace.over.ns(),
            budget_overruns: self.ran.overruns,
            lost_events: self.lost,
            doubts: self.excuse.as_deref(),
            caveats: &self.plan.caveats,
            kernel: self.plan.affinities.is_some().then(|| self.kernel_document()),
            summary: &self.summary,
            exit: self.exit,
        })
    }
}
