//! Requests of tasks, CPUs and programs, which the policy refuses or grants.

use crate::ledger::Status;
use crate::programs::Visit;
use crate::streams::Arrival;
use crate::tell::tell;
use crate::{Asked, Engine, jobs};
use layland_model::{CpuId, Duration, RequestKind, Service, TaskId};
use layland_policy::{Event, Refusal, RefusalKind, RequestId};
use layland_trace::JobEnd;
use std::sync::Arc;

/// Handles all requests that are due by now.
#[inline]
pub(crate) fn ask(engine: &mut impl Engine) {
    while engine.ledger().is_request_due()
        && let Some((index, request)) = engine.ledger_mut().take_request()
    {
        ask_for(engine, index, request.kind);
    }
}

#[cold]
fn ask_for(engine: &mut impl Engine, index: usize, kind: RequestKind) {
    let asked = Asked::Request(index);
    match kind {
        RequestKind::Leave(task) => {
            engine.ledger_mut().new_request(asked);
            leave(engine, task);
        }
        RequestKind::Reconfigure(task, change) => {
            let run = &engine.ledger().tasks[task];
            match run.status {
                Status::Outside | Status::Gone => {
                    // A task that was refused gets the same answer again.
                    let kind = run.turned_away.unwrap_or(RefusalKind::Invalid);
                    let reason = "the task is not in the system".to_owned();
                    engine.answered(asked, Some(Refusal { kind, reason }));
                }
                Status::Idle | Status::Ready => {
                    let request = engine.ledger_mut().new_request(asked);
                    tell(engine, Event::Reconfigure { task, change, request });
                }
            }
        }
        RequestKind::SetClusterCpus { cluster, cpus } => {
            let request = engine.ledger_mut().new_request(asked);
            tell(engine, Event::SetClusterCpus { cluster, cpus, request });
        }
        RequestKind::CpuOnline(cpu) => {
            engine.ledger_mut().new_request(asked);
            set_online(engine, cpu, true);
        }
        RequestKind::CpuOffline(cpu) => {
            engine.ledger_mut().new_request(asked);
            set_online(engine, cpu, false);
        }
    }
}

/// Makes a CPU available or unavailable, unless it is already.
fn set_online(engine: &mut impl Engine, cpu: CpuId, online: bool) {
    if std::mem::replace(&mut engine.ledger_mut().online[cpu], online) == online {
        return;
    }
    if online {
        tell(engine, Event::CpuOnline { cpu });
    } else {
        engine.vacate(cpu);
        tell(engine, Event::CpuOffline { cpu });
    }
}

/// Handles the arrival or departure of a program or a CPU.
#[cold]
pub(crate) fn receive(engine: &mut impl Engine, visit: Visit) {
    match visit {
        Visit::Enters(parameters) => {
            let ledger = engine.ledger_mut();
            let task = ledger.settle(Arc::clone(&parameters));
            let request = ledger.new_request(Asked::Enter(task));
            tell(engine, Event::Join { task, parameters, request });
        }
        Visit::Leaves(task) => {
            let status = engine.ledger().tasks[task].status;
            assert!(
                matches!(status, Status::Idle | Status::Ready),
                "a program leaves as {task:?}, which is not in the system"
            );
            engine.ledger_mut().new_request(Asked::Exit(task));
            leave(engine, task);
        }
        Visit::Wakes { task, at } => {
            if engine.ledger().tasks[task].status == Status::Idle {
                engine.ledger_mut().set_next(task, Some(Arrival { at, release: at }));
                jobs::arrive(engine, task);
            }
        }
        Visit::Cpu { cpu, online } => set_online(engine, cpu, online),
    }
}

/// Removes a task, with its ready job.
fn leave(engine: &mut impl Engine, id: TaskId) {
    let task = &engine.ledger().tasks[id];
    let before = task.status;
    if before == Status::Ready {
        if task.endless {
            // The policy may still report that a job of the hog ended in this instant: see `grant`.
            engine.withdraw(id);
        } else {
            jobs::stop(engine, id, JobEnd::Left);
        }
    }
    depart(engine, id);
    match before {
        Status::Idle | Status::Ready => tell(engine, Event::Leave { task: id }),
        Status::Outside | Status::Gone => {}
    }
}

fn depart(engine: &mut impl Engine, id: TaskId) {
    engine.ledger_mut().tasks[id].status = Status::Gone;
    engine.ledger_mut().end_arrivals(id);
}

/// Records that the policy refuses a request.
#[cold]
pub(crate) fn refuse(engine: &mut impl Engine, request: RequestId, reason: Refusal) {
    let ledger = engine.ledger_mut();
    let found = ledger.asked.iter_mut().find(|(id, ..)| *id == request);
    let (_, asked, refused) = found.expect("the policy refuses what was not asked");
    let (asked, kind) = (*asked, reason.kind);
    *refused = Some(reason);
    if let Asked::Join(id) | Asked::Enter(id) = asked {
        ledger.tasks[id].turned_away = Some(kind);
        if ledger.tasks[id].status == Status::Ready {
            jobs::stop(engine, id, JobEnd::Left);
            engine.ledger_mut().tasks[id].dated = false;
        }
        depart(engine, id);
    }
}

/// Grants the requests that the last decision did not refuse.
#[cold]
pub(crate) fn grant(engine: &mut impl Engine) {
    let mut all = std::mem::take(&mut engine.ledger_mut().asked);
    for (_, asked, refused) in all.drain(..) {
        match asked {
            Asked::Join(_) => {}
            Asked::Enter(id) if refused.is_some() => engine.ledger_mut().free(id),
            Asked::Enter(id) => {
                let regular = engine.ledger_mut().take_parameters(id);
                set_regular(engine, id, regular);
                engine.ledger_mut().admit(id);
            }
            Asked::Exit(id) => {
                left(engine, id);
                engine.ledger_mut().free(id);
            }
            Asked::Request(index) => {
                match (engine.ledger().request(index).kind.clone(), &refused) {
                    (RequestKind::Leave(id), _) => {
                        left(engine, id);
                        engine.ledger_mut().free(id);
                    }
                    (RequestKind::Reconfigure(id, change), None) => {
                        if let Some(regular) = engine.ledger_mut().reconfigure(id, &change) {
                            set_regular(engine, id, regular);
                        }
                    }
                    (
                        RequestKind::Reconfigure(..)
                        | RequestKind::SetClusterCpus { .. }
                        | RequestKind::CpuOnline(_)
                        | RequestKind::CpuOffline(_),
                        _,
                    ) => {}
                }
            }
        }
        engine.answered(asked, refused);
    }
    engine.ledger_mut().asked = all;
}

/// Handles the departure of a task after the next decision of the policy: a part of a hog that has
/// dates ends now.
fn left(engine: &mut impl Engine, id: TaskId) {
    let task = &mut engine.ledger_mut().tasks[id];
    if task.endless && std::mem::take(&mut task.dated) {
        engine.ended(id, JobEnd::Left);
    }
}

/// Sets the period and the demand of a task whose jobs are all alike.
fn set_regular<E: Engine>(engine: &mut E, id: TaskId, regular: Option<(Duration, Service)>) {
    let regular = regular.map(|(period, demand)| (period, engine.amount(demand)));
    engine.ledger_mut().tasks[id].regular = regular;
}
