//! The budget of a server and its replenishments: the rules of the file header of `served.rs`.

use crate::State;
use layland_model::{Duration, Server, ServerKind, Service, Time};
use std::collections::VecDeque;

/// The budget of a server and its replenishments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BudgetAccount {
    Chunks {
        /// The chunks, in the order of their times. Their sum is the budget.
        chunks: VecDeque<Chunk>,
        is_active: bool,
    },
    Multiples {
        left: Service,
        /// The time of the next full replenishment.
        full_at: Time,
    },
}

/// A part of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) from: Time,
    pub(super) amount: Service,
}

impl BudgetAccount {
    pub(super) fn new(kind: ServerKind, server: Server) -> BudgetAccount {
        match kind {
            ServerKind::Sporadic => BudgetAccount::Chunks {
                chunks: [Chunk { from: Time::ZERO, amount: server.budget }].into(),
                is_active: false,
            },
            ServerKind::Deferrable | ServerKind::Polling => {
                BudgetAccount::Multiples { left: server.budget, full_at: Time::ZERO }
            }
        }
    }

    pub(super) fn charge(&mut self, server: Server, executed: Service) {
        match self {
            BudgetAccount::Multiples { left, .. } => *left -= executed,
            BudgetAccount::Chunks { chunks, .. } => {
                let Some(first) = chunks.front_mut() else { return };
                first.amount -= executed;
                let from = first.from + server.period;
                match chunks.back_mut() {
                    Some(last) if last.from == from => last.amount += executed,
                    _ => chunks.push_back(Chunk { from, amount: executed }),
                }
                spend(chunks);
            }
        }
    }

    /// Replenishes the account at an instant. `is_new` is true if there is work now, and there was
    /// none before. The losses of a server without work take effect only when work arrives.
    pub(super) fn settle(&mut self, kind: ServerKind, server: Server, now: Time, is_new: bool) {
        match self {
            BudgetAccount::Multiples { left, full_at } => {
                if *full_at <= now {
                    *left = server.budget + (*left).min(Service::ZERO);
                    *full_at = next_multiple(server.period, now);
                }
                if kind == ServerKind::Polling && is_new {
                    *left = (*left).min(Service::ZERO);
                }
            }
            BudgetAccount::Chunks { chunks, is_active } => {
                *is_active &= !is_new && chunks.front().is_some_and(|first| first.from <= now);
            }
        }
    }

    /// Handles the presence of work.
    pub(super) fn activate(&mut self, now: Time) {
        let BudgetAccount::Chunks { chunks, is_active } = self else { return };
        if *is_active || chunks.front().is_none_or(|first| first.from > now) {
            return;
        }
        let mut amount = Service::ZERO;
        while let Some(chunk) = take_first(chunks, |chunk| chunk.from <= now) {
            amount += chunk.amount;
        }
        chunks.push_front(Chunk { from: now, amount });
        spend(chunks);
        *is_active = chunks.front().is_some_and(|first| first.from <= now);
    }

    /// Returns the time that a job of the server may execute now.
    pub(super) fn left(&self) -> Service {
        match self {
            BudgetAccount::Multiples { left, .. } => *left,
            BudgetAccount::Chunks { is_active: false, .. } => Service::ZERO,
            BudgetAccount::Chunks { chunks, .. } => {
                chunks.front().map_or(Service::ZERO, |first| first.amount)
            }
        }
    }

    /// Returns the time of the next replenishment, if the server executes nothing.
    pub(super) fn replenished_at(&self) -> Time {
        match self {
            BudgetAccount::Multiples { full_at, .. } => *full_at,
            BudgetAccount::Chunks { chunks, .. } => {
                chunks.front().map_or(Time::NEVER, |first| first.from)
            }
        }
    }

    pub(super) fn save(
        &self,
        kind: ServerKind,
        server: Server,
        now: Time,
        has_work: bool,
        state: &mut State,
    ) {
        let mut account = self.clone();
        account.settle(kind, server, now, !has_work);
        match account {
            BudgetAccount::Multiples { left, full_at } => {
                state.number(left.ns());
                state.time(full_at, now);
            }
            BudgetAccount::Chunks { mut chunks, is_active } => {
                state.number(i64::from(is_active));
                if !is_active {
                    // Chunks that already count are merged when work arrives.
                    let mut amount = Service::ZERO;
                    while let Some(chunk) = take_first(&mut chunks, |chunk| chunk.from <= now) {
                        amount += chunk.amount;
                    }
                    chunks.push_front(Chunk { from: now, amount });
                }
                state.number(chunks.len() as i64);
                for Chunk { from, amount } in chunks {
                    state.time(from, now);
                    state.number(amount.ns());
                }
            }
        }
    }
}

/// Removes used-up chunks, and subtracts an excess from the next one.
fn spend(chunks: &mut VecDeque<Chunk>) {
    while chunks.len() > 1
        && let Some(first) = take_first(chunks, |first| first.amount <= Service::ZERO)
    {
        if let Some(next) = chunks.front_mut() {
            next.amount += first.amount;
        }
    }
}

/// Removes and returns the first chunk if it satisfies a condition.
fn take_first(chunks: &mut VecDeque<Chunk>, is_so: impl FnOnce(&Chunk) -> bool) -> Option<Chunk> {
    chunks.front().is_some_and(is_so).then(|| chunks.pop_front()).flatten()
}

/// Returns the first multiple of a period after now.
fn next_multiple(period: Duration, now: Time) -> Time {
    Time::from_ns((now.ns().div_euclid(period.ns()) + 1).saturating_mul(period.ns()))
}
