//! With the option `grub_pa` the speed of a CPU follows its active bandwidth (the power-aware form
//! of GRUB): `min(1, sum of Q/T)` over its threads that are ready, throttled, or sleep before their
//! zero-lag times, as a kernel counts them (`activity.rs`). The speed is exact if the bandwidths
//! have a common denominator up to 10^6, and otherwise rounded up to a thousandth; with the
//! kernel's arithmetic to a 1024th. A CPU without active threads keeps its speed.
//!
//! If sleeping threads did not count, a CPU would slow down when a thread blocks, and a thread that
//! wakes up before its zero-lag time would find that the other threads have been served too slowly.
//!
//! CPUs may also have different fixed speeds: the option `capacity` takes them into account, with the
//! kernel's arithmetic in its integers ([`layland_model::capacity`]).
#![expect(non_snake_case, reason = "Q, T and D are the symbols of the papers")]

use super::RunQueues;
use crate::deadline::price::Arith;
use crate::{Action, Refusal};
use layland_model::capacity::{self, Fit};
use layland_model::{CpuId, CpuSet, Rate, Speed, System, TaskId};
use std::cmp::Reverse;

impl RunQueues {
    /// Makes the speed of a CPU follow the bandwidth of its threads from now on.
    pub(crate) fn scale_speeds(&mut self, system: &System) -> Result<(), Refusal> {
        if !system.platform.is_unit_speed() {
            return Err(Refusal::invalid("grub_pa needs CPUs of unit speed at full frequency"));
        }
        let mut grid = Some(1i64);
        for thread in self.threads.values() {
            let denominator = thread.u.as_i64_pair().map(|(_, denominator)| denominator);
            grid = grid.zip(denominator).and_then(|(grid, denominator)| {
                let common = num_integer::Integer::gcd(&grid, &denominator);
                (grid / common).checked_mul(denominator).filter(|&grid| grid <= Speed::LIMIT)
            });
        }
        let grid = match self.arith {
            Arith::Exact => grid.unwrap_or(1000),
            Arith::Kernel => 1024,
        };
        let longest = system.tasks.values().flat_map(|task| &task.wcet).max();
        let work = longest.map_or(0, |wcet| wcet.ns());
        if work.checked_mul(grid).is_none_or(|grains| grains > layland_model::TIME_LIMIT) {
            return Err(Refusal::invalid(
                "execution times are too long for grub_pa to be kept exactly",
            ));
        }
        self.speed_grid = Some(grid);
        Ok(())
    }

    /// Sets the speed of every CPU to the bandwidth of its threads.
    pub(super) fn update_speeds(&mut self, grid: i64) {
        for c in self.curr.ids() {
            let bandwidth =
                self.accounts.as_ref().map_or(Rate::ZERO, |accounts| accounts.active(c));
            let steps = (&bandwidth * &Rate::whole(grid)).ceil().map_or(grid, |n| n.min(grid));
            let Some(speed) = Speed::new(&Rate::new(steps, grid)) else { continue };
            if speed != self.speeds[c] {
                self.charge(c);
                self.speeds[c] = speed;
                self.prices[c] = self.price(c);
                self.out.push(Action::SetSpeed { cpu: c, speed });
                self.touched.insert(c);
                self.regrant.insert(c);
            }
        }
    }

    /// Takes different speeds of CPUs into account from now on, if there are any.
    pub(crate) fn know_speeds(&mut self) {
        let first = self.speeds.values().next().copied();
        self.knows_speeds = self.speeds.values().any(|&speed| Some(speed) != first);
    }

    /// Returns true if different speeds of CPUs are taken into account.
    pub(crate) fn knows_speeds(&self) -> bool {
        self.knows_speeds
    }

    /// Returns the speed of a CPU.
    pub(crate) fn speed_of(&self, c: CpuId) -> Speed {
        self.speeds[c]
    }

    /// Returns the capacity of a set of CPUs, in CPUs: the sum of their speeds, or their number.
    pub(crate) fn capacity(&self, cpus: &CpuSet) -> Rate {
        if self.knows_speeds {
            cpus.iter().map(|c| self.speeds[c].rate()).sum()
        } else {
            Rate::whole(cpus.len() as i64)
        }
    }

    /// Returns true if a CPU could serve the budget of a thread by its deadline, if it did nothing
    /// else.
    pub(crate) fn fits(&self, p: TaskId, c: CpuId) -> bool {
        if !self.knows_speeds {
            return true;
        }
        let (Q, _, D) = self.threads[p].server.parameters();
        if self.arith == Arith::Kernel {
            let [D, Q] = [D.ns(), Q.ns()].map(i64::unsigned_abs);
            return Fit::ByDensity.fits(D, Q, capacity::of_speed(self.speeds[c]));
        }
        &self.speeds[c].rate() * &Rate::whole(D.ns()) >= Rate::whole(Q.ns())
    }

    /// Returns the free CPU for a thread: its own, or else the lowest.
    #[inline]
    pub(crate) fn free_for(&self, p: TaskId) -> Option<CpuId> {
        let thread = &self.threads[p];
        let (free, own) = (self.cpudl[thread.cluster].free(), thread.cpu);
        if self.knows_speeds {
            let free = self.fast_enough(p, free.intersection(&thread.mask));
            return if free.contains(own) { Some(own) } else { free.lowest() };
        }
        if free.contains(own) && thread.mask.contains(own) {
            return Some(own);
        }
        free.lowest_common(&thread.mask)
    }

    /// Returns the free CPUs that are fast enough for a thread; if there is none, the fastest one,
    /// among equals its own, then the lowest.
    fn fast_enough(&self, p: TaskId, free: CpuSet) -> CpuSet {
        let fitting: CpuSet = free.iter().filter(|&c| self.fits(p, c)).collect();
        if !fitting.is_empty() {
            return fitting;
        }
        let own = self.threads[p].cpu;
        let fastest = free.iter().max_by_key(|&c| (self.speeds[c].rate(), c == own, Reverse(c)));
        fastest.map_or(free, CpuSet::single)
    }
}
