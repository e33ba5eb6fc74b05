//! Lists the admitted programs of this machine, and how the kernel schedules each thread.

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::table::{self, Style};
use crate::ui::{document, terminal};
use layland_linux::exec::{Given, Tid};
use layland_linux::{Member, Reserved};
use layland_model::{CpuId, CpuSet, Duration, Index};
use schemars::JsonSchema;
use serde::Serialize;

pub(super) fn show(as_json: bool, members: &[Member]) -> Outcome {
    if as_json {
        document::print(&ExecDocument::Members {
            layland: env!("CARGO_PKG_VERSION"),
            command: "exec",
            members: members.iter().map(Listed::of).collect(),
            exit: Exit::Yes,
        })?;
    } else if members.is_empty() {
        terminal::talk("nothing is admitted on this machine");
    } else {
        let rows = members
            .iter()
            .flat_map(|member| member.reserved.iter().map(move |reserved| row(member, reserved)));
        let style = Style { ascii: false, colours: terminal::colours() };
        let table = table::plain(
            [
                "name",
                "policy",
                "CPUs",
                "runtime",
                "deadline",
                "period",
                "thread",
                "the kernel says",
            ],
            rows,
            style,
        );
        let withdrawn = members.iter().flat_map(|member| {
            let of = |reason| format!("the promise to {} no longer holds: {reason}\n", member.name);
            member.withdrawn.iter().map(of)
        });
        let withdrawn: String = withdrawn.collect();
        terminal::result(&format!("{table}\n{withdrawn}"))?;
    }
    Ok(Exit::Yes)
}

/// Formats CPUs of the machine as `0-1,3`.
pub(crate) fn cpus(cpus: &[usize]) -> String {
    let set: CpuSet = cpus.iter().map(|&cpu| CpuId::from_index(cpu)).collect();
    set.to_string()
}

/// Returns the number of a thread, or the reason why there is none.
pub(crate) fn thread(member: &Member, reserved: &Reserved) -> String {
    match reserved.thread {
        Some(thread) => thread.to_string(),
        None if member.is_elsewhere() => "in a container".to_owned(),
        None => "none yet".to_owned(),
    }
}

fn given(reserved: &Reserved) -> Option<Given> {
    Given::of(Tid(reserved.thread?)).ok()
}

fn row(member: &Member, reserved: &Reserved) -> [String; 8] {
    let time = |ns: i64| Duration::from_ns(ns).to_string();
    [
        reserved.name.clone(),
        member.policy.clone(),
        cpus(&member.cpus),
        time(reserved.runtime_ns),
        time(reserved.deadline_ns),
        time(reserved.period_ns),
        thread(member, reserved),
        given(reserved).map_or("-".to_owned(), |given| said(&given)),
    ]
}

/// Describes how the kernel schedules a thread, in a few words.
pub(super) fn said(given: &Given) -> String {
    let mut text = given.class.to_owned();
    if given.period_ns > 0 {
        let time = |ns: u64| Duration::from_ns(i64::try_from(ns).unwrap_or(i64::MAX));
        let (runtime, deadline, period) =
            (time(given.runtime_ns), time(given.deadline_ns), time(given.period_ns));
        text += &format!(" {runtime}/{deadline}/{period}");
    }
    if given.priority > 0 {
        text += &format!(" {}", given.priority);
    }
    text += &format!(" on {}", layland_linux::cpus_named(&given.cpus));
    if given.resets_on_fork {
        text += ", reset on fork";
    }
    if given.reclaims {
        text += ", reclaims";
    }
    text
}

/// Prints what a dry run found.
pub(super) fn show_dry_run(would_be_admitted: Vec<WouldBe>) -> Result<(), Failure> {
    document::print(&ExecDocument::DryRun {
        layland: env!("CARGO_PKG_VERSION"),
        command: "exec",
        would_be_admitted,
        exit: Exit::Yes,
    })
}

/// The answer of `layland exec --list --json`, or of `--dry-run --json`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum ExecDocument<'a> {
    /// The admitted programs.
    Members {
        /// The version of Layland.
        layland: &'static str,
        #[schemars(extend("const" = "exec"))]
        command: &'static str,
        /// The admitted programs of this machine.
        members: Vec<Listed<'a>>,
        /// The result of the command.
        exit: Exit,
    },
    /// A dry run.
    DryRun {
        /// The version of Layland.
        layland: &'static str,
        #[schemars(extend("const" = "exec"))]
        command: &'static str,
        /// The reservations that would be admitted, and their CPUs.
        would_be_admitted: Vec<WouldBe>,
        /// The result of the command.
        exit: Exit,
    },
}

/// A reservation that would be admitted.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct WouldBe {
    /// The name that it would have.
    pub name: String,
    /// The CPUs, as in `0-1,3`.
    pub cpus: String,
}

/// Programs with reservations, under one policy on some CPUs.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct Listed<'a> {
    /// Its name, as in `--leave NAME`.
    name: &'a str,
    /// The process that looks after it, in its own PID namespace.
    pid: u32,
    /// True if it is of another PID namespace, as in a container: its threads are null then.
    is_elsewhere: bool,
    /// The command, or the name of the program.
    runs: &'a str,
    /// The policy.
    policy: &'a str,
    /// The CPUs of the machine.
    cpus: &'a [usize],
    /// True if they are a root domain of their own.
    is_partition: bool,
    /// Its reservations.
    reserved: Vec<ListedReservation<'a>>,
    /// The reasons why the promise no longer holds; empty as long as it holds.
    withdrawn: &'a [String],
}

/// A reservation.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
struct ListedReservation<'a> {
    /// Its name.
    name: &'a str,
    /// The thread that has it; null if there is none yet.
    thread: Option<i32>,
    /// Processor time in each period.
    runtime_ns: i64,
    /// Relative deadline.
    deadline_ns: i64,
    /// Period.
    period_ns: i64,
    /// The promise.
    #[schemars(extend("enum" = ["deadlines", "tardiness"]))]
    guarantee: &'static str,
    /// The scheduling of the thread by the kernel now; null if it has ended.
    kernel: Option<Given>,
}

impl Listed<'_> {
    fn of(member: &Member) -> Listed<'_> {
        Listed {
            name: &member.name,
            pid: member.pid,
            is_elsewhere: member.is_elsewhere(),
            runs: &member.what,
            policy: &member.policy,
            cpus: &member.cpus,
            is_partition: member.is_partition,
            reserved: member.reserved.iter().map(ListedReservation::of).collect(),
            withdrawn: &member.withdrawn,
        }
    }
}

impl ListedReservation<'_> {
    fn of(reserved: &Reserved) -> ListedReservation<'_> {
        ListedReservation {
            name: &reserved.name,
            thread: reserved.thread,
            runtime_ns: reserved.runtime_ns,
            deadline_ns: reserved.deadline_ns,
            period_ns: reserved.period_ns,
            guarantee: if reserved.is_hard { "deadlines" } else { "tardiness" },
            kernel: given(reserved),
        }
    }
}
