//! Requests: what tasks and CPUs ask for, what the policy refuses, and what is granted.

use super::state::{NONE, Status};
use super::{Asked, Engine};
use layland_model::{Change, CpuId, RequestKind, Task, TaskId};
use layland_policy::{Event, Policy, Refusal, RefusalKind, RequestId};
use layland_trace::{Answer, Errno, JobEnd, Mark, MarkKind, Recorder};

impl<P: Policy, R: Recorder> Engine<'_, P, R> {
    pub(super) fn new_request(&mut self, asked: Asked) -> RequestId {
        let id = RequestId(self.request_ids);
        self.request_ids += 1;
        self.asked.push((id, asked, None));
        id
    }

    #[inline]
    pub(super) fn requests(&mut self) {
        while let Some(request) = self.system.requests.get(self.next_request)
            && request.at == self.now
        {
            self.ask(self.next_request);
            self.next_request += 1;
        }
    }

    #[cold]
    pub(super) fn ask(&mut self, index: usize) {
        match &self.system.requests[index].kind {
            RequestKind::Leave(task) => {
                self.new_request(Asked::Request(index));
                self.leave(*task);
            }
            RequestKind::Reconfigure(task, change) => {
                let outside = matches!(self.tasks[*task].status, Status::Outside | Status::Gone);
                if outside {
                    // A task that was turned away gets the same answer again.
                    let kind = self.turned_away.get(task).copied();
                    let kind = kind.unwrap_or(RefusalKind::Invalid);
                    let reason = "the task is not in the system".to_owned();
                    let reason = Refusal { kind, reason };
                    self.answer_request(index, Some(reason));
                    return;
                }
                let request = self.new_request(Asked::Request(index));
                self.tell(Event::Reconfigure { task: *task, change: change.clone(), request });
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                let request = self.new_request(Asked::Request(index));
                self.tell(Event::SetClusterCpus { cluster: *cluster, cpus: cpus.clone(), request });
            }
            RequestKind::CpuOnline(cpu) => {
                self.new_request(Asked::Request(index));
                if !std::mem::replace(&mut self.cpus[*cpu].online, true) {
                    self.recorder.marked(&Mark { at: self.now, kind: MarkKind::CpuOnline(*cpu) });
                    self.tell(Event::CpuOnline { cpu: *cpu });
                }
            }
            RequestKind::CpuOffline(cpu) => {
                self.new_request(Asked::Request(index));
                if std::mem::replace(&mut self.cpus[*cpu].online, false) {
                    self.detach(*cpu);
                    self.recorder.marked(&Mark { at: self.now, kind: MarkKind::CpuOffline(*cpu) });
                    self.tell(Event::CpuOffline { cpu: *cpu });
                }
            }
        }
    }

    pub(super) fn leave(&mut self, id: TaskId) {
        let before = self.tasks[id].status;
        if before == Status::Ready {
            let cpu = self.tasks[id].cpu;
            if !self.tasks[id].endless {
                self.stop(id, JobEnd::Left);
            } else if cpu != NONE {
                // The policy may still say that a job of the hog ended in this instant: see `left`.
                self.detach(CpuId(cpu));
            }
        }
        let task = &mut self.tasks[id];
        task.status = Status::Gone;
        task.waiting.clear();
        self.arrivals.clear(task.leaf as usize);
        match before {
            Status::Idle | Status::Ready => self.tell(Event::Leave { task: id }),
            Status::Outside | Status::Gone => {}
        }
    }

    #[cold]
    pub(super) fn refuse(&mut self, request: RequestId, reason: Refusal) {
        let asked = self.asked.iter_mut().find(|(id, ..)| *id == request);
        let (_, asked, refused) = asked.expect("the policy refuses what was not asked");
        let joining = if let Asked::Join(id) = asked { Some(*id) } else { None };
        if let Some(id) = joining {
            self.turned_away.insert(id, reason.kind);
        }
        *refused = Some(reason);
        if let Some(id) = joining {
            if self.tasks[id].status == Status::Ready {
                self.stop(id, JobEnd::Left);
                self.tasks[id].dated = false;
            }
            self.tasks[id].status = Status::Gone;
            self.tasks[id].waiting.clear();
            self.arrivals.clear(self.tasks[id].leaf as usize);
        }
    }

    /// What the last decision did not refuse is granted.
    #[cold]
    pub(super) fn grant(&mut self) {
        for (_, asked, refused) in std::mem::take(&mut self.asked) {
            let index = match asked {
                Asked::Join(id) => {
                    if refused.is_some() {
                        let request = format!("task `{}` enters", self.system.tasks[id].name);
                        self.answer(request, refused);
                    }
                    continue;
                }
                Asked::Request(index) => index,
            };
            if let (
                None,
                RequestKind::Reconfigure(id, Change::Parameters { wcet, period, deadline }),
            ) = (&refused, &self.system.requests[index].kind)
            {
                let mut task = Task::clone(self.streams[*id].task());
                let own = task.criticality.level();
                task.wcet[own] = *wcet;
                task.budget = task.budget.map(|_| *wcet);
                (task.period, task.deadline) = (*period, *deadline);
                self.tasks[*id].reconfigure(&task, self.grains, &mut self.streams[*id]);
            }
            if let RequestKind::Leave(id) = &self.system.requests[index].kind {
                self.left(*id);
            }
            self.answer_request(index, refused);
        }
    }

    pub(super) fn answer_request(&mut self, index: usize, refused: Option<Refusal>) {
        let request = self.system.describe(&self.system.requests[index].kind);
        self.answer(request, refused);
    }

    pub(super) fn answer(&mut self, request: String, refused: Option<Refusal>) {
        let errno = refused.as_ref().map(|refusal| match refusal.kind {
            RefusalKind::Busy => Errno::Busy,
            RefusalKind::NotPermitted => Errno::NotPermitted,
            RefusalKind::Invalid => Errno::Invalid,
        });
        let refused = refused.map(|refusal| refusal.reason);
        self.recorder.answered(&Answer { at: self.now, request, refused, errno });
    }
}
