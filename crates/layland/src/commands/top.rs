//! `layland top`: shows repeatedly the admitted programs of this machine and their behaviour.
//!
//! Response times are those of wake-ups: a thread that wakes up has a job, which ends when it
//! sleeps again. They come from the kernel's own trace. Each interval is evaluated by itself, so
//! that a job longer than an interval is not seen.

use super::exec::{cpus_of, thread_of};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::numbers::whole_u64;
use crate::ui::table::{self, Style};
use crate::ui::{interrupt, terminal};
use clap::Args;
use layland_answers::values::length_of;
use layland_interchange::infer::Thread;
use layland_interchange::kernel;
use layland_linux::exec::{busy_times, processor_time};
use layland_linux::tracefs::Instance;
use layland_linux::{Changes, Member, Register, Reserved};
use layland_model::Duration;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland top
      every second: the used part of each budget, response times, and the threads that were late
  layland top --json --interval 5s --count 12 >minute.jsonl
      a line of JSON for each interval

Response times are inferred from the kernel's trace, which needs root: from the wake-up of a thread to its next sleep. \
If a thread blocks in the middle of a job, the job is taken to end there. A thread is throttled when its reservation \
is used up before its job is done; a yield looks the same. Without the trace, only the processor time is shown.

Exits with 0.";

#[derive(Args)]
pub(crate) struct TopArgs {
    /// The length of each interval
    #[arg(long, value_name = "TIME", value_parser = length_of, default_value = "1s")]
    pub interval: Duration,
    /// End after this many intervals [default: at Ctrl-C]
    #[arg(long, value_name = "N", value_parser = whole_u64::<0, { u64::MAX }>)]
    pub count: Option<u64>,
    /// Print the result as JSON. Each interval is a line
    #[arg(long)]
    pub json: bool,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
}

/// A snapshot. Differences of two give the behaviour in an interval.
struct Look {
    at_ns: i64,
    /// The processor time so far, by thread.
    used: BTreeMap<i32, Duration>,
    /// The busy time of each CPU of the machine.
    busy: Vec<(usize, Duration)>,
}

impl Look {
    fn at(members: &[Member]) -> Look {
        let threads = members.iter().flat_map(|member| &member.reserved);
        let threads = threads.filter_map(|reserved| reserved.thread);
        let used = threads.filter_map(|thread| Some((thread, processor_time(thread)?))).collect();
        Look { at_ns: layland_linux::now_ns(), used, busy: busy_times() }
    }
}

/// The behaviour of a thread in an interval.
struct Did<'a> {
    member: &'a Member,
    reserved: &'a Reserved,
    /// The used fraction of the time that was reserved for the interval; `None` if the thread is
    /// new.
    used: Option<f64>,
    /// The response times of its jobs in ascending order, if they are known.
    responses: Option<Vec<Duration>>,
    /// The number of times that its budget was used up, if that is known.
    throttled: Option<u64>,
}

impl Did<'_> {
    fn late(&self) -> Option<usize> {
        let deadline = Duration::from_ns(self.reserved.deadline_ns);
        Some(self.responses.as_ref()?.iter().filter(|&&response| response > deadline).count())
    }
}

pub(crate) fn run(args: &TopArgs) -> Outcome {
    let register = Register::open()
        .map_err(|error| Failure::from(layland_linux::ChangeError::Register(error)))?;
    let interrupt = interrupt::listen();
    let mut changes = Changes::begin("layland top", Duration::MAX)?;
    let mut trace = match Instance::start(None, &mut changes) {
        Ok(instance) => Some(instance),
        Err(error) => {
            terminal::warn(&format!("no response times: {error}"), Some(&error.help()));
            None
        }
    };
    let members = |register: &Register| -> Vec<Member> {
        register.members().into_iter().map(|(_, member)| member).collect()
    };
    let mut before = Look::at(&members(&register));
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        if !wait(args.interval, interrupt) {
            break;
        }
        let seen = trace.as_mut().and_then(threads_of);
        let members = members(&register);
        let now = Look::at(&members);
        let did = what_was_done(&members, &before, &now, seen.as_ref());
        if args.json {
            terminal::data(&format!("{}\n", line(&did, &before, &now)))?;
        } else {
            terminal::clear()?;
            terminal::result(&format!("{}\n", picture(args, &did, &before, &now)))?;
        }
        before = now;
    }
    drop(trace);
    Ok(crate::commands::run::end(changes, Exit::Yes))
}

/// Waits. Returns false if the user wants to end.
#[expect(clippy::disallowed_methods, reason = "what happens takes real time")]
fn wait(length: Duration, interrupt: &AtomicBool) -> bool {
    let until = layland_linux::now_ns().saturating_add(length.ns());
    while layland_linux::now_ns() < until && !interrupt.load(Ordering::SeqCst) {
        let left = (until - layland_linux::now_ns()).clamp(0, 20_000_000);
        std::thread::sleep(std::time::Duration::from_nanos(left.unsigned_abs()));
    }
    !interrupt.load(Ordering::SeqCst)
}

/// Returns the behaviour of each thread since the last call, if the kernel's trace can be read.
fn threads_of(trace: &mut Instance) -> Option<BTreeMap<u32, Thread>> {
    let mut bytes = Vec::new();
    trace.drain(&mut bytes).ok()?;
    let seen = kernel::observe(&String::from_utf8_lossy(&bytes)).ok()?;
    let threads = seen.threads.into_iter();
    Some(threads.filter_map(|thread| Some((thread.pid?, thread))).collect())
}

fn what_was_done<'a>(
    members: &'a [Member],
    before: &Look,
    now: &Look,
    seen: Option<&BTreeMap<u32, Thread>>,
) -> Vec<Did<'a>> {
    let length = (now.at_ns - before.at_ns).max(1) as f64;
    let reserved =
        members.iter().flat_map(|member| member.reserved.iter().map(move |r| (member, r)));
    let did = reserved.map(|(member, reserved)| {
        let used = reserved.thread.and_then(|thread| {
            let used = *now.used.get(&thread)? - *before.used.get(&thread)?;
            let share = reserved.runtime_ns as f64 / reserved.period_ns.max(1) as f64;
            Some(used.ns() as f64 / (length * share))
        });
        let own = seen.zip(reserved.thread).map(|(seen, thread)| seen.get(&thread.unsigned_abs()));
        let responses = own.map(|own| {
            let jobs = own.map_or(&[][..], |thread| &thread.jobs);
            let mut responses: Vec<Duration> =
                jobs.iter().filter_map(|job| Some(job.end? - job.arrival)).collect();
            responses.sort_unstable();
            responses
        });
        let throttled = own.map(|own| own.map_or(0, |thread| thread.throttled));
        Did { member, reserved, used, responses, throttled }
    });
    did.collect()
}

fn median(responses: &[Duration]) -> Option<Duration> {
    responses.get(responses.len() / 2).copied()
}

/// Returns the fraction of an interval in which each CPU was busy.
fn busy(before: &Look, now: &Look) -> Vec<(usize, f64)> {
    let length = (now.at_ns - before.at_ns).max(1) as f64;
    let of = |&(cpu, time): &(usize, Duration)| {
        let (_, was) = before.busy.iter().find(|&&(other, _)| other == cpu)?;
        Some((cpu, ((time - *was).ns() as f64 / length).clamp(0.0, 1.0)))
    };
    now.busy.iter().filter_map(of).collect()
}

fn line(did: &[Did<'_>], before: &Look, now: &Look) -> Value {
    let of = |did: &Did<'_>| {
        let responses = did.responses.as_deref();
        json!({
            "name": did.reserved.name,
            "member": did.member.name,
            "thread": did.reserved.thread,
            "policy": did.member.policy,
            "cpus": did.member.cpus,
            "used_of_reserved": did.used,
            "jobs": responses.map(<[_]>::len),
            "response_p50_ns": responses.and_then(median).map(Duration::ns),
            "response_max_ns": responses.and_then(|all| all.last()).map(|last| last.ns()),
            "deadline_ns": did.reserved.deadline_ns,
            "late": did.late(),
            "throttled": did.throttled,
        })
    };
    json!({
        "layland": env!("CARGO_PKG_VERSION"),
        "command": "top",
        "length_ns": now.at_ns - before.at_ns,
        "are_responses_inferred": true,
        "reserved": did.iter().map(of).collect::<Vec<_>>(),
        "busy": busy(before, now).iter().map(|(cpu, part)| json!({ "cpu": cpu, "part": part })).collect::<Vec<_>>(),
    })
}

fn picture(args: &TopArgs, did: &[Did<'_>], before: &Look, now: &Look) -> String {
    /// The width of the bar of a CPU.
    const WIDTH: usize = 40;
    let style = Style { ascii: args.ascii, colours: terminal::colours() };
    let mut text = String::new();
    for (cpu, part) in busy(before, now) {
        let filled = (part * WIDTH as f64).round() as usize;
        let (full, empty) = if args.ascii { ("#", ".") } else { ("█", "░") };
        let bar = full.repeat(filled) + &empty.repeat(WIDTH - filled);
        text += &format!("CPU {cpu:<3} {bar} {:>3.0} %\n", part * 100.0);
    }
    if did.is_empty() {
        return text + "nothing is admitted on this machine";
    }
    let rows = did.iter().map(|did| {
        let time = |time: Option<Duration>| time.map_or("-".to_owned(), |time| format!("{time:#}"));
        let responses = did.responses.as_deref();
        [
            did.reserved.name.clone(),
            thread_of(did.member, did.reserved),
            format!("{} on {}", did.member.policy, cpus_of(&did.member.cpus)),
            did.used.map_or("-".to_owned(), |used| format!("{:.0} %", used * 100.0)),
            responses.map_or("-".to_owned(), |responses| responses.len().to_string()),
            time(responses.and_then(median)),
            time(responses.and_then(|all| all.last()).copied()),
            time(Some(Duration::from_ns(did.reserved.deadline_ns))),
            did.late().map_or("-".to_owned(), |late| late.to_string()),
            did.throttled.map_or("-".to_owned(), |times| times.to_string()),
        ]
    });
    let headings = [
        "name",
        "thread",
        "policy",
        "of budget",
        "jobs",
        "response p50",
        "max",
        "deadline",
        "late",
        "throttled",
    ];
    text += &table::plain(headings, rows, style);
    text += "\n(response times are inferred: from wake-up to sleep)";
    // A member occurs once for each of its reservations.
    let mut members: Vec<&Member> = did.iter().map(|did| did.member).collect();
    members.dedup_by_key(|member| member.pid);
    for member in members {
        for reason in &member.withdrawn {
            text += &format!("\nthe promise to {} no longer holds: {reason}", member.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_used_is_a_part_of_what_it_reserved() {
        let reserved = Reserved {
            name: "a".to_owned(),
            thread: Some(7),
            started: None,
            runtime_ns: 2_000_000,
            deadline_ns: 8_000_000,
            period_ns: 10_000_000,
            is_hard: true,
        };
        let member = Member {
            name: "a".to_owned(),
            pid: 1,
            namespace: layland_linux::pid_namespace(),
            what: "a".to_owned(),
            policy: "dl".to_owned(),
            cpus: vec![0],
            is_partition: false,
            withdrawn: Vec::new(),
            reserved: vec![reserved],
        };
        let look = |at_ns, used| Look {
            at_ns,
            used: [(7, Duration::from_ms(used))].into(),
            busy: vec![(0, Duration::from_ms(used))],
        };
        let (before, now) = (look(0, 0), look(1_000_000_000, 100));
        let job = |response| layland_interchange::infer::SeenJob {
            arrival: layland_model::Time::ZERO,
            delay: Duration::ZERO,
            end: Some(layland_model::Time::from_ms(response)),
            executed: layland_model::Service::ZERO,
            lost: Duration::ZERO,
            stretches: Vec::new(),
            deadline: None,
            woken_by: None,
        };
        let jobs = vec![job(9), job(1), job(3)];
        let seen = [(7, Thread { jobs, throttled: 2, ..Thread::default() })].into();
        let members = [member];
        let did = what_was_done(&members, &before, &now, Some(&seen));
        let line = line(&did, &before, &now);
        let of = &line["reserved"][0];
        assert_eq!(
            (&of["used_of_reserved"], &of["jobs"], &of["late"], &of["throttled"]),
            (&0.5.into(), &3.into(), &1.into(), &2.into())
        );
        assert_eq!(
            (&of["response_p50_ns"], &of["response_max_ns"]),
            (&3_000_000.into(), &9_000_000.into())
        );
        assert_eq!(line["busy"][0]["part"], 0.1);
    }
}
