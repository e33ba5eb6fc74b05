//! Requests of the system, and what the policy answers.

use super::{Asked, Manager, Status};
use crate::log::Entry;
use layland_model::{Change, RequestKind, Task, TaskId, Time};
use layland_policy::{Event, Refusal, RefusalKind, RequestId};
use std::sync::Arc;

impl Manager<'_> {
    pub(super) fn new_request(&mut self, asked: Asked) -> RequestId {
        let id = RequestId(self.request_ids);
        self.request_ids += 1;
        self.asked.push((id, asked, None));
        id
    }

    pub(super) fn ask(&mut self, index: usize) {
        let now = self.now;
        let system = self.system;
        match &system.requests[index].kind {
            RequestKind::Leave(task) => {
                self.new_request(Asked::Request(index));
                self.leave(*task);
            }
            RequestKind::Reconfigure(task, change) => {
                if matches!(self.tasks[*task].status, Status::Outside | Status::Gone) {
                    let kind = self.turned_away[*task].unwrap_or(RefusalKind::Invalid);
                    let reason = "the task is not in the system".to_owned();
                    let reason = self.log.refusal(Refusal { kind, reason });
                    self.log.push(now, Entry::Refused { index: index as u32, reason });
                    return;
                }
                let request = self.new_request(Asked::Request(index));
                self.log.push(now, Entry::Asks { index: index as u32, request });
                self.tell(Event::Reconfigure { task: *task, change: change.clone(), request });
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                let request = self.new_request(Asked::Request(index));
                self.log.push(now, Entry::Asks { index: index as u32, request });
                self.tell(Event::SetClusterCpus { cluster: *cluster, cpus: cpus.clone(), request });
            }
            RequestKind::CpuOnline(cpu) => {
                self.new_request(Asked::Request(index));
                if !std::mem::replace(&mut self.cpus[*cpu].online, true) {
                    self.log.push(now, Entry::Online { cpu: *cpu });
                    self.tell(Event::CpuOnline { cpu: *cpu });
                }
            }
            RequestKind::CpuOffline(cpu) => {
                self.new_request(Asked::Request(index));
                if std::mem::replace(&mut self.cpus[*cpu].online, false) {
                    self.want_idle(*cpu);
                    self.vacate(*cpu);
                    self.log.push(now, Entry::Offline { cpu: *cpu });
                    self.tell(Event::CpuOffline { cpu: *cpu });
                }
            }
        }
    }

    pub(super) fn leave(&mut self, id: TaskId) {
        let before = self.tasks[id].status;
        if before == Status::Ready {
            if !self.tasks[id].endless {
                self.drop_job(id, false);
            } else if let Some(cpu) = self.tasks[id].want {
                // The policy may still say that a job of the hog ended in this instant.
                self.want_idle(cpu);
                self.vacate(cpu);
            }
        }
        let task = &mut self.tasks[id];
        task.status = Status::Gone;
        task.waiting.clear();
        task.next_release = Time::NEVER;
        match before {
            Status::Idle | Status::Ready => {
                self.log.push(self.now, Entry::Leave { task: id });
                self.tell(Event::Leave { task: id });
            }
            Status::Outside | Status::Gone => {}
        }
    }

    pub(super) fn refuse(&mut self, request: RequestId, refusal: Refusal) {
        let kind = refusal.kind;
        let reason = self.log.refusal(refusal);
        self.log.push(self.now, Entry::Refuse { request, reason });
        let asked = self.asked.iter_mut().find(|(id, ..)| *id == request);
        let (_, asked, refused) = asked.expect("the policy refuses what was not asked");
        *refused = Some(reason);
        if let Asked::Join(id) = *asked {
            self.turned_away[id] = Some(kind);
            if self.tasks[id].status == Status::Ready {
                self.drop_job(id, false);
                self.tasks[id].dated = false;
            }
            self.tasks[id].status = Status::Gone;
            self.tasks[id].waiting.clear();
            self.tasks[id].next_release = Time::NEVER;
        }
    }

    /// What the last decision did not refuse is granted.
    pub(super) fn grant(&mut self) {
        let now = self.now;
        for at in 0..self.asked.len() {
            let (_, asked, refused) = self.asked[at];
            let index = match asked {
                Asked::Join(task) => {
                    if let Some(reason) = refused {
                        self.log.push(now, Entry::TurnedAway { task, reason });
                    }
                    continue;
                }
                Asked::Request(index) => index,
            };
            let kind = &self.system.requests[index].kind;
            if let (
                None,
                RequestKind::Reconfigure(id, Change::Parameters { wcet, period, deadline }),
            ) = (refused, kind)
            {
                let mut task = Task::clone(self.streams[*id].task());
                let own = task.criticality.level();
                task.wcet[own] = *wcet;
                task.budget = task.budget.map(|_| *wcet);
                (task.period, task.deadline) = (*period, *deadline);
                self.tasks[*id].deadline = *deadline;
                self.streams[*id].reconfigure(Arc::new(task));
            }
            if let RequestKind::Leave(id) = kind
                && self.tasks[*id].endless
            {
                self.give_up(*id, None);
                if std::mem::take(&mut self.tasks[*id].dated) {
                    let job = self.tasks[*id].job;
                    self.log.push(now, Entry::Dropped { job, aborted: false });
                }
            }
            let index = index as u32;
            self.log.push(
                now,
                match refused {
                    Some(reason) => Entry::Refused { index, reason },
                    None => Entry::Granted { index },
                },
            );
        }
        self.asked.clear();
    }
}
