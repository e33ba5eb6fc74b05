//! The servers of groups: their budgets, and the events of their lives.

use crate::State;
use crate::deadline::price::Price;
use crate::deadline::server::{Server, Woken};
use layland_model::{CpuId, Duration, GroupId, GroupServer, Rate, ServerRule, Service, Time};

/// The state of a server of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// The group has no ready job.
    Idle,
    /// The group has ready jobs, and the server has a budget.
    Ready,
    /// The group has ready jobs, and the server has no budget until it is replenished.
    Throttled,
}

/// A change of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerChange {
    /// It wakes up with a new period.
    New,
    /// It wakes up with the rest of its budget.
    Keep,
    /// It wakes up with its deadline, and a part of the budget that is not too much until then.
    Revised,
    /// It wakes up and waits for its next period.
    Wait,
    /// Its budget is used up.
    Throttle,
    /// Its budget is used up, and replenished at once.
    Postpone,
    /// It waited for its budget, and has it.
    Replenish,
    /// The last ready job of its group has ended.
    Idle,
}

impl ServerChange {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            ServerChange::New => "new",
            ServerChange::Keep => "keep",
            ServerChange::Revised => "revised",
            ServerChange::Wait => "wait",
            ServerChange::Throttle => "throttle",
            ServerChange::Postpone => "postpone",
            ServerChange::Replenish => "replenish",
            ServerChange::Idle => "idle",
        }
    }
}

/// A change of a server, with its state afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// The time.
    pub at: Time,
    /// The group.
    pub group: GroupId,
    /// The CPU of the server.
    pub cpu: CpuId,
    /// The change.
    pub change: ServerChange,
    /// The budget that it has left.
    pub left: Rate,
    /// Its deadline; [`Time::NEVER`] for a server by priority.
    pub deadline: Time,
}

/// The server of a group on one of its CPUs.
#[derive(Clone, Debug)]
pub(super) struct ServerOnCpu {
    pub(super) group: GroupId,
    pub(super) cpu: CpuId,
    pub(super) state: ServerState,
    /// True since it was served or gave way in the last decision.
    pub(super) pays: bool,
    budget: Budget,
}

#[derive(Clone, Debug)]
enum Budget {
    /// A constant-bandwidth server, by deadline.
    Constant(Server),
    /// Full at each multiple of the period. A polling server loses it without work.
    Multiples { full: Service, period: Duration, left: Service, full_at: Time, polls: bool },
}

impl ServerOnCpu {
    pub(super) fn new(group: GroupId, cpu: CpuId, server: &GroupServer) -> ServerOnCpu {
        let GroupServer { budget, period, deadline, rule } = *server;
        let multiples = |polls| Budget::Multiples {
            full: budget,
            period,
            left: budget,
            full_at: Time::ZERO + period,
            polls,
        };
        let budget = match rule {
            ServerRule::Cbs => Budget::Constant(Server::new(budget, period, deadline)),
            ServerRule::Deferrable => multiples(false),
            ServerRule::Polling => multiples(true),
        };
        ServerOnCpu { group, cpu, state: ServerState::Idle, pays: false, budget }
    }

    pub(super) fn event(&self, at: Time, change: ServerChange) -> ServerEvent {
        let left = match &self.budget {
            Budget::Constant(server) => server.exact_budget().rate(),
            Budget::Multiples { left, .. } => Rate::whole(left.ns()),
        };
        ServerEvent {
            at,
            group: self.group,
            cpu: self.cpu,
            change,
            left,
            deadline: self.deadline(),
        }
    }

    pub(super) fn deadline(&self) -> Time {
        match &self.budget {
            Budget::Constant(server) => server.deadline(),
            Budget::Multiples { .. } => Time::NEVER,
        }
    }

    pub(super) fn charge(&mut self, length: Duration) {
        match &mut self.budget {
            Budget::Constant(server) => server.charge(length, &Price::Unit),
            Budget::Multiples { left, .. } => *left -= length.at_unit_speed(),
        }
    }

    /// Returns true if less than a nanosecond is left.
    pub(super) fn is_used_up(&self) -> bool {
        match &self.budget {
            Budget::Constant(server) => server.is_exhausted(),
            Budget::Multiples { left, .. } => *left <= Service::ZERO,
        }
    }

    /// The time for which it can still pay, in whole nanoseconds.
    pub(super) fn left(&self) -> Duration {
        match &self.budget {
            Budget::Constant(server) => server.budget().at_unit_speed(),
            Budget::Multiples { left, .. } => left.at_unit_speed(),
        }
    }

    /// The time of its next replenishment.
    pub(super) fn replenished_at(&self) -> Time {
        match &self.budget {
            Budget::Constant(server) => server.replenishment(),
            Budget::Multiples { full_at, .. } => *full_at,
        }
    }

    /// Handles a budget that is used up.
    pub(super) fn throttle(&mut self, now: Time) -> ServerChange {
        match &mut self.budget {
            Budget::Constant(server) if now >= server.replenishment() => {
                server.replenish();
                ServerChange::Postpone
            }
            Budget::Constant(_) | Budget::Multiples { .. } => {
                self.state = ServerState::Throttled;
                ServerChange::Throttle
            }
        }
    }

    /// Renews the budget of a server by priority at the multiples of its period; returns true if this
    /// ends its throttling.
    pub(super) fn refill(&mut self, now: Time) -> bool {
        let Budget::Multiples { full, period, left, full_at, .. } = &mut self.budget else {
            return false;
        };
        if *full_at > now {
            return false;
        }
        // An overrun, of an engine that reports late, is paid back.
        *left = *full + (*left).min(Service::ZERO);
        let next = (now.ns().div_euclid(period.ns()) + 1).saturating_mul(period.ns());
        *full_at = Time::from_ns(next);
        let ends = self.state == ServerState::Throttled && *left > Service::ZERO;
        if ends {
            self.state = ServerState::Ready;
        }
        ends
    }

    /// Replenishes a throttled constant-bandwidth server whose time has come; returns true if so.
    pub(super) fn replenish(&mut self, now: Time) -> bool {
        let Budget::Constant(server) = &mut self.budget else { return false };
        if self.state != ServerState::Throttled || server.replenishment() > now {
            return false;
        }
        server.replenish();
        self.state = ServerState::Ready;
        true
    }

    /// The first ready job of its group is there.
    pub(super) fn wake(&mut self, now: Time) -> ServerChange {
        self.state = ServerState::Ready;
        let server = match &mut self.budget {
            Budget::Multiples { left, polls, .. } => {
                if *polls {
                    *left = (*left).min(Service::ZERO);
                }
                if *left > Service::ZERO {
                    return ServerChange::Keep;
                }
                self.state = ServerState::Throttled;
                return ServerChange::Wait;
            }
            Budget::Constant(server) => server,
        };
        let before = server.deadline();
        if before == Time::NEVER {
            server.new_period(now);
            return ServerChange::New;
        }
        let (left, had_any) = (server.exact_budget().rate(), !server.is_exhausted());
        match server.wake(now) {
            Woken::ThrottledUntil(_) => {
                self.state = ServerState::Throttled;
                // Of a part below a nanosecond nothing can be used before the next period.
                if had_any && now < before { ServerChange::Revised } else { ServerChange::Wait }
            }
            Woken::Eligible if server.deadline() != before => ServerChange::New,
            Woken::Eligible if server.exact_budget().rate() != left => ServerChange::Revised,
            Woken::Eligible => ServerChange::Keep,
        }
    }

    /// Writes the state, where the server has paid since `at` if it pays.
    pub(super) fn save(&self, at: Time, now: Time, state: &mut State) {
        let mut current = self.clone();
        if current.pays {
            current.charge(now - at);
        }
        current.refill(now);
        state.number(current.state as i64);
        state.number(i64::from(current.pays));
        match &current.budget {
            Budget::Constant(server) => {
                let is_over = server.deadline() == Time::NEVER
                    || server.replenishment() <= now
                    || (server.replenishment() == server.deadline() && server.deadline() <= now);
                // It begins a new period with its next job.
                if current.state == ServerState::Idle && is_over {
                    return state.number(0);
                }
                state.number(1);
                state.text(&server.exact_budget().rate().to_string());
                state.time(server.deadline(), now);
            }
            Budget::Multiples { left, full_at, .. } => {
                state.number(left.ns());
                state.time(*full_at, now);
            }
        }
    }
}
