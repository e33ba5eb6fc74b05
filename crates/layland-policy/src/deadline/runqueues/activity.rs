//! The bandwidth in use, if a policy keeps [`Accounts`]: for reclaiming (option `grub`) and for
//! speeds that follow the bandwidth (option `grub_pa`).
//!
//! | activity | meaning | counts as running |
//! |---|---|---|
//! | contending | the thread is ready, runs or is throttled | yes |
//! | noncontending | it sleeps, and its zero-lag time has not passed | yes |
//! | inactive | it sleeps, and that time has passed; or it has not woken up yet | no |
//!
//! | event at `t` | effect |
//! |---|---|
//! | it is admitted | its bandwidth belongs to its CPU; inactive |
//! | it wakes up or enters | contending, even if the wake-up rule throttles it |
//! | it blocks | noncontending until its zero-lag time; inactive if that has passed |
//! | it moves to another CPU | its bandwidth moves with it, and stays active if it was |
//! | it leaves | as if it blocked; its bandwidth stays with the CPU until its zero-lag time |
//! | other parameters, awake | the new bandwidth is as active as the old one |
//! | other parameters, asleep | inactive at once: earlier than the theory permits, as in Linux |
//!
//! The price for a running thread depends on the accounts of its CPU. So a change of the accounts
//! must first charge the running threads at the old price, and then grant their budgets anew at the
//! new one: all changes go through [`RunQueues::account`]. With the kernel's arithmetic each charge
//! is rounded down, so a stretch ends with every event. A kernel also charges at its ticks, and
//! does not charge before a wake-up that preempts nothing; neither is modelled here.
#![expect(non_snake_case, reason = "Q, T and D are the symbols of the papers")]

use super::RunQueues;
use super::thread::{Activity, Departed};
use crate::deadline::accounts::Accounts;
use crate::deadline::price::{Arith, Price, Rest};
use crate::deadline::server::ServerState;
use crate::{Action, State, TimerId};
use layland_model::{CpuId, Rate, TaskId, Time};

impl RunQueues {
    /// Returns the arithmetic of budgets.
    pub(crate) fn arith(&self) -> Arith {
        self.arith
    }

    /// Sets the arithmetic of budgets.
    pub(crate) fn count_in(&mut self, arith: Arith) {
        self.arith = arith;
        for p in self.threads.ids() {
            self.count_anew(p);
        }
    }

    /// Tracks the active bandwidth from now on. If `reclaims`, threads whose flag says so reclaim
    /// the rest.
    pub(crate) fn keep_accounts(&mut self, accounts: Accounts, reclaims: bool) {
        (self.accounts, self.reclaims) = (Some(accounts), reclaims);
        for p in self.threads.ids() {
            self.count_anew(p);
        }
    }

    /// Recomputes the budget arithmetic and the bandwidth of a thread that is not in the accounts.
    pub(super) fn count_anew(&mut self, p: TaskId) {
        // Where a nanosecond costs a fraction, a job preempted within its budget keeps such a rest.
        let is_cheap = self.reclaims && self.threads[p].reclaims
            || self.speed_grid.is_some()
            || self.has_other_speeds;
        let rest = if is_cheap { Rest::Counts } else { Rest::IsKept };
        let thread = &mut self.threads[p];
        let (Q, T, _) = thread.server.parameters();
        thread.server.count_in(rest, self.arith);
        if let Some(accounts) = &self.accounts {
            thread.bandwidth = accounts.bandwidth(Q, T);
        }
    }

    /// Changes the accounts: charges all running threads before, and updates their prices
    /// afterwards.
    fn account(&mut self, change: impl FnOnce(&mut Accounts, &mut RunQueues)) {
        let Some(mut accounts) = self.accounts.take() else { return };
        self.curr.ids().for_each(|c| self.charge(c));
        change(&mut accounts, self);
        self.accounts = Some(accounts);
        self.curr.ids().for_each(|c| self.price_anew(c));
    }

    /// Returns the price of a nanosecond on a CPU for its running thread.
    pub(super) fn price(&self, c: CpuId) -> Price {
        self.curr[c].map_or(Price::Unit, |p| self.price_of(p, c))
    }

    /// Returns the price of a nanosecond on a CPU for a thread.
    pub(super) fn price_of(&self, p: TaskId, c: CpuId) -> Price {
        let thread = &self.threads[p];
        match &self.accounts {
            Some(accounts) if self.reclaims && thread.reclaims => {
                accounts.price(&thread.bandwidth, c)
            }
            Some(_) | None => Price::of_speed(self.speeds[c], self.arith),
        }
    }

    /// Updates the price for the running thread of a CPU, which must have been charged until now.
    pub(super) fn price_anew(&mut self, c: CpuId) {
        let price = self.price(c);
        if self.prices[c] != price {
            self.prices[c] = price;
            self.touched.insert(c);
            self.regrant.insert(c);
        }
    }

    /// Ends stretches of running at every event, with the kernel's arithmetic.
    #[inline]
    pub(super) fn end_stretches(&mut self) {
        if self.arith != Arith::Exact {
            self.charge_stretches();
        }
    }

    fn charge_stretches(&mut self) {
        for c in self.curr.ids() {
            if self.since[c] < self.now && matches!(self.prices[c], Price::Scaled { .. }) {
                self.charge(c);
                self.touched.insert(c);
                self.regrant.insert(c);
            }
        }
    }

    /// Adds an admitted thread to the accounts.
    pub(super) fn enter_accounts(&mut self, p: TaskId) {
        self.account(|accounts, rq| {
            let thread = &mut rq.threads[p];
            thread.activity = Activity::Inactive;
            accounts.reserve(&thread.bandwidth, thread.cluster);
            accounts.enter(&thread.bandwidth, thread.cpu);
        });
    }

    /// Handles a thread that wakes up or enters.
    pub(super) fn awake(&mut self, p: TaskId) {
        match self.threads[p].activity {
            Activity::Outside | Activity::Contending => return,
            Activity::Inactive => self.account(|accounts, rq| {
                accounts.activate(&rq.threads[p].bandwidth, rq.threads[p].cpu);
            }),
            Activity::NonContending { .. } => {
                self.out.push(Action::ClearTimer { id: TimerId(self.threads[p].seat) });
            }
        }
        self.threads[p].activity = Activity::Contending;
    }

    /// Handles a thread that goes to sleep, and is no longer queued.
    pub(super) fn asleep(&mut self, p: TaskId) {
        if self.threads[p].activity != Activity::Contending {
            return;
        }
        let until = self.threads[p].server.zero_lag();
        if until > self.now {
            self.threads[p].activity = Activity::NonContending { until };
            self.set_timer(p, until);
        } else {
            self.becomes_inactive(p);
        }
    }

    /// Handles the zero-lag time of a sleeping thread, if it has come.
    pub(super) fn zero_lag(&mut self, p: TaskId) {
        if matches!(self.threads[p].activity, Activity::NonContending { until } if until <= self.now)
        {
            self.becomes_inactive(p);
        }
    }

    fn becomes_inactive(&mut self, p: TaskId) {
        self.account(|accounts, rq| {
            let thread = &mut rq.threads[p];
            thread.activity = Activity::Inactive;
            accounts.deactivate(&thread.bandwidth, thread.cpu);
        });
    }

    /// Moves the bandwidth of a thread whose current or last queue has changed.
    pub(super) fn transfer(&mut self, p: TaskId, [from, to]: [CpuId; 2]) {
        let activity = self.threads[p].activity;
        if activity != Activity::Outside {
            self.account(|accounts, rq| {
                accounts.transfer(&rq.threads[p].bandwidth, [from, to], activity.is_active());
            });
        }
    }

    /// Assigns a thread to another cluster; its queue does not change.
    pub(crate) fn set_cluster(&mut self, p: TaskId, cluster: usize) {
        self.account(|accounts, rq| {
            let thread = &rq.threads[p];
            if thread.activity != Activity::Outside {
                accounts.unreserve(&thread.bandwidth, thread.cluster);
                accounts.reserve(&thread.bandwidth, cluster);
            }
        });
        self.threads[p].cluster = cluster;
    }

    /// Updates the bandwidth of a thread with other parameters.
    pub(super) fn reserve_anew(&mut self, p: TaskId) {
        if let Activity::NonContending { .. } = self.threads[p].activity {
            self.out.push(Action::ClearTimer { id: TimerId(self.threads[p].seat) });
            self.becomes_inactive(p);
        }
        self.account(|accounts, rq| {
            let thread = &mut rq.threads[p];
            let (Q, T, _) = thread.server.parameters();
            let old = std::mem::replace(&mut thread.bandwidth, accounts.bandwidth(Q, T));
            if thread.activity == Activity::Outside {
                return;
            }
            let (new, c, domain) = (&thread.bandwidth, thread.cpu, thread.cluster);
            if thread.activity.is_active() {
                accounts.deactivate(&old, c);
                accounts.activate(new, c);
            }
            accounts.leave(&old, c);
            accounts.enter(new, c);
            accounts.unreserve(&old, domain);
            accounts.reserve(new, domain);
        });
    }

    /// Handles a thread that leaves: its bandwidth stays until its zero-lag time.
    pub(super) fn leave_accounts(&mut self, p: TaskId) {
        let thread = &mut self.threads[p];
        let activity = std::mem::replace(&mut thread.activity, Activity::Outside);
        if activity == Activity::Outside {
            return;
        }
        let until = match activity {
            Activity::NonContending { until } => until,
            Activity::Contending => thread.server.zero_lag(),
            Activity::Inactive | Activity::Outside => self.now,
        };
        let (bandwidth, cpu, cluster) = (thread.bandwidth.clone(), thread.cpu, thread.cluster);
        if !activity.is_active() {
            // Departed threads count as active until their bandwidth is released.
            self.account(|accounts, _| accounts.activate(&bandwidth, cpu));
        }
        self.departed.push(Departed { bandwidth, cpu, cluster, until });
        if until > self.now {
            self.set_timer(p, until);
        }
        self.release_departed();
    }

    /// Removes the bandwidth of departed threads whose zero-lag times have come. If another thread
    /// with the same id has reused the timer, this happens late, at the next event.
    #[inline]
    pub(super) fn release_departed(&mut self) {
        while let Some(at) = self.departed.iter().position(|departed| departed.until <= self.now) {
            let Departed { bandwidth, cpu, cluster, .. } = self.departed.swap_remove(at);
            self.account(|accounts, _| {
                accounts.deactivate(&bandwidth, cpu);
                accounts.leave(&bandwidth, cpu);
                accounts.unreserve(&bandwidth, cluster);
            });
        }
    }

    /// Rebuilds the accounts after the CPUs of clusters have changed.
    pub(super) fn rebuild_accounts(&mut self) {
        self.account(|accounts, rq| {
            for (cluster, cpus) in rq.usable.iter().enumerate() {
                let own = rq.threads.values().filter(|thread| {
                    thread.cluster == cluster && thread.activity != Activity::Outside
                });
                let departed = rq.departed.iter().filter(|departed| departed.cluster == cluster);
                let bandwidths = own.map(|thread| &thread.bandwidth);
                let departed = departed.map(|gone| &gone.bandwidth);
                accounts.rebuild(cluster, cpus, bandwidths.chain(departed));
            }
        });
    }

    /// Panics if the accounts do not agree with the threads.
    pub(super) fn assert_accounts(&self) {
        let Some(accounts) = &self.accounts else { return };
        for c in self.curr.ids() {
            let own = || self.threads.values().filter(|thread| thread.cpu == c);
            let gone: Rate = self
                .departed
                .iter()
                .filter(|gone| gone.cpu == c)
                .map(|gone| gone.bandwidth.clone())
                .sum();
            let sum = |counts: &dyn Fn(Activity) -> bool| -> Rate {
                let counted = own().filter(|thread| counts(thread.activity));
                let threads: Rate = counted.map(|thread| thread.bandwidth.clone()).sum();
                &threads + &gone
            };
            let account = accounts.of(c);
            assert_eq!(
                account.this,
                sum(&|activity| activity != Activity::Outside),
                "this of {c:?}"
            );
            assert_eq!(account.running, sum(&Activity::is_active), "running of {c:?}");
        }
        for thread in self.threads.values() {
            let is_awake =
                matches!(thread.server.state, ServerState::Eligible | ServerState::Throttled);
            if thread.activity != Activity::Outside {
                assert_eq!(is_awake, thread.activity == Activity::Contending);
            }
        }
    }

    /// Writes the state that the accounts depend on, apart from the servers.
    pub(super) fn save_activity(&self, now: Time, state: &mut State) {
        if self.accounts.is_none() {
            return;
        }
        for thread in self.threads.values() {
            match thread.activity {
                Activity::Outside => state.number(0),
                Activity::Inactive => state.number(1),
                Activity::Contending => state.number(2),
                Activity::NonContending { until } => {
                    state.number(3);
                    state.time(until, now);
                }
            }
        }
        for gone in &self.departed {
            state.number(i64::from(gone.cpu.0));
            state.number(gone.cluster as i64);
            state.text(&gone.bandwidth.to_string());
            state.time(gone.until, now);
        }
    }
}
