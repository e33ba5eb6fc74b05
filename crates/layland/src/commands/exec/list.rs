//! Lists the admitted programs of this machine, and how the kernel schedules each thread.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::table::{self, Style};
use crate::ui::terminal;
use layland_linux::exec::{Given, Tid};
use layland_linux::{Member, Reserved};
use layland_model::{CpuId, CpuSet, Duration, Index};
use serde_json::{Value, json};

pub(super) fn show(as_json: bool, members: &[Member]) -> Outcome {
    if as_json {
        let members: Vec<Value> = members.iter().map(document).collect();
        let document = json!({
            "layland": env!("CARGO_PKG_VERSION"),
            "command": "exec",
            "members": members,
            "exit": Exit::Yes,
        });
        terminal::data(&format!("{document:#}\n"))?;
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

fn document(member: &Member) -> Value {
    let reserved: Vec<Value> = member
        .reserved
        .iter()
        .map(|reserved| {
            json!({
                "name": reserved.name,
                "thread": reserved.thread,
                "runtime_ns": reserved.runtime_ns,
                "deadline_ns": reserved.deadline_ns,
                "period_ns": reserved.period_ns,
                "guarantee": if reserved.is_hard { "deadlines" } else { "tardiness" },
                "kernel": given(reserved),
            })
        })
        .collect();
    json!({
        "name": member.name,
        "pid": member.pid,
        "is_elsewhere": member.is_elsewhere(),
        "runs": member.what,
        "policy": member.policy,
        "cpus": member.cpus,
        "is_partition": member.is_partition,
        "reserved": reserved,
        "withdrawn": member.withdrawn,
    })
}
