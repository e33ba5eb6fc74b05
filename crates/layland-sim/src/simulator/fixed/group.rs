//! [`Group`]: the tasks and CPUs of one group, and what happens there at an instant.
//!
//! Jobs that start are placed by the rule of the [shell](layland_policy::shell) of policies: see the
//! header of its file `turn.rs`.

use super::cpus::{IDLE, IdleCpus, Lowest, RunningJob, Scratch};
use super::decisions::Decisions;
use super::least::{Least, NEVER, smaller};
use super::row::{NOBODY, NOTHING, Tally, TaskRow};
use super::waiting::Waiting;
use layland_model::{CpuId, Duration, JobId, Service, Time};
use layland_trace::{Job, JobEnd, Recorder, Totals};

/// The state of a group. All times are in units since the start.
#[derive(Debug)]
pub(super) struct Group {
    /// A unit, in nanoseconds.
    unit: i64,
    /// The number of low bits of a word that say which task or CPU it is about.
    shift: u32,
    low_bits: u64,
    /// The bits in which a key must differ from that of a running job to be before it.
    tie_bits: u64,
    rows: Vec<TaskRow>,
    tallies: Vec<Tally>,
    cpus: Vec<CpuId>,
    running: Vec<RunningJob>,
    busy: Vec<u64>,
    idle: IdleCpus,
    lowest: Lowest,
    waiting: Waiting,
    /// The next arrival of each task.
    releases: Least,
    /// The end of the job that each CPU runs.
    ends: Least,
    scratch: Scratch,
    now: u64,
    pub(super) events: u64,
}

impl Group {
    /// Returns a group at time zero. Keys contain the position of their row in the low bits. If
    /// `running_first`, a running job keeps its CPU for a job whose key differs in these bits alone.
    pub(super) fn new(
        unit: i64,
        shift: u32,
        rows: Vec<TaskRow>,
        cpus: Vec<CpuId>,
        running_first: bool,
    ) -> Group {
        let m = cpus.len();
        let mut releases = Least::new(rows.len());
        for (seat, row) in rows.iter().enumerate() {
            releases.set(seat, row.next << shift | seat as u64);
        }
        let low_bits = (1 << shift) - 1;
        let scratch = Scratch { preferred: vec![NOBODY; m], ..Scratch::default() };
        Group {
            unit,
            shift,
            low_bits,
            tie_bits: if running_first { low_bits } else { 0 },
            tallies: vec![NOTHING; rows.len()],
            rows,
            running: vec![RunningJob { key: IDLE, start: 0, end: 0 }; m],
            busy: vec![0; m],
            idle: IdleCpus::all(m),
            lowest: Lowest::of(m),
            cpus,
            waiting: Waiting::default(),
            releases,
            ends: Least::new(m),
            scratch,
            now: 0,
            events: 0,
        }
    }

    /// Simulates all instants up to this time.
    pub(super) fn run_until(
        &mut self,
        until: u64,
        decisions: &mut Decisions,
        recorder: &mut impl Recorder,
    ) {
        loop {
            let next = smaller(self.releases.first(), self.ends.first()) >> self.shift;
            if next > until {
                return;
            }
            self.now = next;
            self.instant(decisions, recorder);
        }
    }

    /// Handles the events of this instant: completions by CPU, then arrivals by rank, then one
    /// decision. Most instants have one event, so its decision is here, without a queue.
    #[inline(always)]
    fn instant(&mut self, decisions: &mut Decisions, recorder: &mut impl Recorder) {
        let (now, shift) = (self.now, self.shift);
        let mut is_event = false;
        let end = self.ends.first();
        if end >> shift == now {
            is_event = true;
            let cpu = self.place_of(end);
            self.complete(cpu, recorder);
            let next = self.waiting.highest();
            // Jobs wait only if no CPU is idle. So the next one takes this CPU, if nothing else
            // happens now.
            if next != NEVER && self.releases.first() >> shift > now {
                self.lowest.runs_no_more(cpu, self.running[cpu].key);
                self.put(next, cpu);
                if self.ends.first() >> shift != now {
                    self.waiting.pop();
                    decisions.note(now);
                    return;
                }
                // Another job ends now, so that the two CPUs are for the next two jobs.
                let seat = self.place_of(next);
                self.rows[seat].cpu = NOBODY;
            }
            self.vacate(cpu);
            loop {
                let end = self.ends.first();
                if end >> shift != now {
                    break;
                }
                let cpu = self.place_of(end);
                self.complete(cpu, recorder);
                self.vacate(cpu);
            }
        }
        let release = self.releases.first();
        if release >> shift <= now {
            let key = self.arrive(self.place_of(release));
            if self.releases.first() >> shift > now && (key != NEVER || !is_event) {
                if key == NEVER {
                    // The job waits for the one before it, without an event.
                    return;
                }
                if self.idle.count == 0 {
                    decisions.note(now);
                    self.preempt_or_wait(key);
                    return;
                }
                if self.waiting.highest() == NEVER {
                    decisions.note(now);
                    let last = self.rows[self.place_of(key)].last_cpu;
                    let own = self.idle.contains(last);
                    let cpu = if own { last as usize } else { self.idle.lowest() };
                    self.start(key, cpu);
                    return;
                }
            }
            if key != NEVER {
                is_event = true;
                self.waiting.push(key);
            }
            loop {
                let release = self.releases.first();
                if release >> shift > now {
                    break;
                }
                let key = self.arrive(self.place_of(release));
                if key != NEVER {
                    is_event = true;
                    self.waiting.push(key);
                }
            }
        }
        if is_event {
            decisions.note(now);
            self.decide();
        }
    }

    /// Returns the row or the CPU that a word is about.
    #[inline(always)]
    fn place_of(&self, word: u64) -> usize {
        (word & self.low_bits) as usize
    }

    /// Makes the job of a task ready that has arrived, and returns its key; [`NEVER`] if it has to
    /// wait for the job before it.
    #[inline(always)]
    fn arrive(&mut self, seat: usize) -> u64 {
        let (now, shift) = (self.now, self.shift);
        let row = &mut self.rows[seat];
        if row.ready {
            row.blocked = true;
            self.releases.set(seat, NEVER);
            return NEVER;
        }
        self.events += 1 + u64::from(!row.joined);
        row.joined = true;
        row.ready = true;
        row.blocked = false;
        row.has_run = false;
        row.arrival = row.next;
        row.next += row.period;
        row.seq = row.seq.wrapping_add(1);
        row.left = row.demand;
        let key = row.arrival.wrapping_mul(row.key_per_arrival).wrapping_add(row.key_at_zero);
        // The next job may have arrived, too.
        let next = row.next.max(now);
        self.releases.set(seat, next << shift | seat as u64);
        key
    }

    /// Ends the job that a CPU runs.
    #[inline(always)]
    fn complete(&mut self, cpu: usize, recorder: &mut impl Recorder) {
        let RunningJob { key, start, .. } = self.running[cpu];
        let seat = self.place_of(key);
        let row = &self.rows[seat];
        let response = self.now - row.arrival;
        if response <= row.relative {
            let tally = &mut self.tallies[seat];
            tally.completed += 1;
            tally.sum_response += response;
            tally.min_response = smaller(tally.min_response, response);
            tally.max_response = tally.max_response.max(response);
            recorder.in_time(row.id, self.length(response));
        } else {
            self.complete_late(seat, recorder);
        }
        self.stop(seat, cpu, start);
        let row = &mut self.rows[seat];
        row.ready = false;
        if row.blocked {
            self.releases.set(seat, self.now << self.shift | seat as u64);
        }
        self.events += 1;
    }

    #[inline(never)]
    fn complete_late(&mut self, seat: usize, recorder: &mut impl Recorder) {
        let executed = self.length(self.rows[seat].demand).at_unit_speed();
        recorder.ended(&self.job(seat), self.time(self.now), JobEnd::Completed, executed);
    }

    /// Counts what a job that is taken off its CPU did since it started there.
    #[inline(always)]
    fn stop(&mut self, seat: usize, cpu: usize, start: u64) {
        let now = self.now;
        let row = &mut self.rows[seat];
        // A job that starts and stops in one instant leaves no trace.
        if now > start {
            let tally = &mut self.tallies[seat];
            // `&` and not `&&`: the counts need no branches.
            let same_job = row.has_run;
            let moved = (row.last_cpu != NOBODY) & (row.last_cpu != cpu as u32);
            let at_once = row.last_time == start;
            tally.preemptions += u64::from(same_job);
            tally.migrations += u64::from(moved);
            tally.migrations_within_jobs += u64::from(same_job & moved);
            tally.shifts += u64::from(same_job & moved & at_once);
            row.has_run = true;
            self.busy[cpu] += now - start;
        }
        row.cpu = NOBODY;
        row.last_cpu = cpu as u32;
        row.last_time = now;
    }

    /// Makes a CPU idle whose job has stopped.
    #[inline(always)]
    fn vacate(&mut self, cpu: usize) {
        let key = std::mem::replace(&mut self.running[cpu].key, IDLE);
        self.ends.set(cpu, NEVER);
        self.lowest.runs_no_more(cpu, key);
        self.idle.insert(cpu);
    }

    /// Runs a job on a CPU that is not idle, but whose job has just stopped.
    #[inline(always)]
    fn put(&mut self, key: u64, cpu: usize) {
        let seat = self.place_of(key);
        let row = &mut self.rows[seat];
        row.cpu = cpu as u32;
        let end = self.now + row.left;
        self.running[cpu] = RunningJob { key, start: self.now, end };
        self.ends.set(cpu, end << self.shift | cpu as u64);
        self.lowest.runs(cpu, key);
    }

    /// Runs a job on an idle CPU.
    #[inline(always)]
    fn start(&mut self, key: u64, cpu: usize) {
        self.idle.remove(cpu);
        self.put(key, cpu);
    }

    /// Returns true if a waiting job takes the CPU of a running one.
    #[inline(always)]
    fn preempts(&self, waiting: u64, running: u64) -> bool {
        (waiting | self.tie_bits) < running
    }

    /// Decides about one job that has arrived while no CPU is idle. If it does not preempt, no
    /// other does: they did not before.
    #[inline(always)]
    fn preempt_or_wait(&mut self, key: u64) {
        let lowest = self.lowest.key(&self.running);
        if !self.preempts(key, lowest) {
            self.waiting.push(key);
            return;
        }
        let cpu = self.take_off(lowest);
        self.lowest.runs_no_more(cpu, lowest);
        self.waiting.push(lowest);
        self.put(key, cpu);
    }

    /// Stops a running job that has not completed, and returns its CPU.
    #[inline(always)]
    fn take_off(&mut self, key: u64) -> usize {
        let seat = self.place_of(key);
        let cpu = self.rows[seat].cpu as usize;
        let RunningJob { start, end, .. } = self.running[cpu];
        self.rows[seat].left = end - self.now;
        self.stop(seat, cpu, start);
        cpu
    }

    /// Decides which jobs run. Jobs that start in this turn do not count as running.
    #[inline(never)]
    fn decide(&mut self) {
        loop {
            let highest = self.waiting.highest();
            if highest == NEVER {
                break;
            }
            if self.scratch.starting.len() == self.idle.count {
                let lowest = self.lowest.key(&self.running);
                if lowest == IDLE || !self.preempts(highest, lowest) {
                    break;
                }
                let cpu = self.take_off(lowest);
                self.vacate(cpu);
                self.waiting.pop();
                self.waiting.push(lowest);
            } else {
                self.waiting.pop();
            }
            self.scratch.starting.push(highest);
        }
        if let [key] = *self.scratch.starting.as_slice() {
            let cpu = self.own_idle(key).map_or_else(|| self.idle.lowest(), |(cpu, _)| cpu);
            self.start(key, cpu);
        } else {
            self.place();
        }
        self.scratch.starting.clear();
    }

    /// Returns the last CPU of the task of a job, if that CPU is idle, and the time until which it
    /// ran there.
    #[inline(always)]
    fn own_idle(&self, key: u64) -> Option<(usize, u64)> {
        let row = &self.rows[self.place_of(key)];
        self.idle.contains(row.last_cpu).then_some((row.last_cpu as usize, row.last_time))
    }

    /// Places several jobs.
    fn place(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch { starting, own, others, preferred } = &mut scratch;
        own.resize(starting.len(), 0);
        others.resize(starting.len(), 0);
        let (mut own_count, mut other_count) = (0, 0);
        let mut clash = self.cpus.len() > 64;
        let mut taken = 0u64;
        for &key in &*starting {
            // Without a branch: which jobs find their CPUs idle is unpredictable.
            let last = self.rows[self.place_of(key)].last_cpu;
            let is_own = self.idle.contains(last);
            (own[own_count], others[other_count]) = (key, key);
            own_count += usize::from(is_own);
            other_count += usize::from(!is_own);
            let cpu = u64::from(is_own) << (last % 64);
            clash |= taken & cpu != 0;
            taken |= cpu;
        }
        if clash {
            self.settle(starting, preferred);
            (own_count, other_count) = (0, 0);
            for (index, &key) in starting.iter().enumerate() {
                let last = self.rows[self.place_of(key)].last_cpu;
                let is_own = self.idle.contains(last) && preferred[last as usize] == index as u32;
                (own[own_count], others[other_count]) = (key, key);
                own_count += usize::from(is_own);
                other_count += usize::from(!is_own);
            }
            for &key in &*starting {
                let last = self.rows[self.place_of(key)].last_cpu;
                preferred.get_mut(last as usize).into_iter().for_each(|job| *job = NOBODY);
            }
        }
        for &key in &own[..own_count] {
            let last = self.rows[self.place_of(key)].last_cpu;
            self.start(key, last as usize);
        }
        for &key in &others[..other_count] {
            let cpu = self.idle.lowest();
            self.start(key, cpu);
        }
        self.scratch = scratch;
    }

    /// Decides whom each CPU prefers: of the jobs whose tasks ran there last, the one that ran most
    /// recently, and among equals the first.
    fn settle(&self, starting: &[u64], preferred: &mut [u32]) {
        for (index, &key) in starting.iter().enumerate() {
            let Some((cpu, until)) = self.own_idle(key) else { continue };
            let before = preferred[cpu];
            let is_preferred = before == NOBODY || {
                let (_, recent) = self.own_idle(starting[before as usize]).unwrap_or_default();
                until > recent
            };
            if is_preferred {
                preferred[cpu] = index as u32;
            }
        }
    }

    fn time(&self, at: u64) -> Time {
        Time::ZERO + self.length(at)
    }

    /// Converts units.
    #[inline(always)]
    fn length(&self, units: u64) -> Duration {
        Duration::from_ns(units as i64 * self.unit)
    }

    fn job(&self, seat: usize) -> Job {
        let row = &self.rows[seat];
        let arrival = self.time(row.arrival);
        Job {
            id: JobId { task: row.id, seq: row.seq },
            arrival,
            release: arrival,
            deadline: arrival + self.length(row.relative),
        }
    }

    /// Ends the run at this time, and reports what was counted.
    pub(super) fn finish(&mut self, at: u64, recorder: &mut impl Recorder) {
        self.now = at;
        for cpu in 0..self.running.len() {
            let RunningJob { key, start, end } = self.running[cpu];
            if key != IDLE {
                let seat = self.place_of(key);
                self.rows[seat].left = end - at;
                self.stop(seat, cpu, start);
            }
            recorder.busy(self.cpus[cpu], i128::from(self.busy[cpu]) * i128::from(self.unit));
        }
        for seat in 0..self.rows.len() {
            recorder.totals(self.rows[seat].id, &self.totals(seat));
            self.report_pending(seat, recorder);
        }
    }

    fn totals(&self, seat: usize) -> Totals {
        let (row, tally) = (&self.rows[seat], &self.tallies[seat]);
        let ns = |units: u64| i128::from(units) * i128::from(self.unit);
        let responses = (tally.completed > 0).then_some((tally.min_response, tally.max_response));
        Totals {
            released: row.seq.wrapping_add(1),
            completed: tally.completed,
            executed_ns: i128::from(tally.completed) * ns(row.demand),
            sum_response_ns: ns(tally.sum_response),
            responses: responses.map(|(min, max)| (self.length(min), self.length(max))),
            preemptions: tally.preemptions,
            migrations: tally.migrations,
            migrations_within_jobs: tally.migrations_within_jobs,
            shifts: tally.shifts,
        }
    }

    fn report_pending(&mut self, seat: usize, recorder: &mut impl Recorder) {
        let now = self.time(self.now);
        let TaskRow { ready, blocked, demand, left, .. } = self.rows[seat];
        if ready {
            let executed = self.length(demand - left).at_unit_speed();
            recorder.pending(&self.job(seat), now, executed);
        }
        while blocked && self.rows[seat].next <= self.now {
            let row = &mut self.rows[seat];
            row.seq = row.seq.wrapping_add(1);
            row.arrival = row.next;
            row.next += row.period;
            let job = self.job(seat);
            recorder.released(&job);
            recorder.pending(&job, now, Service::ZERO);
        }
    }
}
