//! Graphs of tasks that follow other tasks ([`Graph`](layland_model::Graph)).
//!
//! The jobs of a graph with one sequence number form an instance of the graph. They arrive
//! together, at the arrivals of the first task of the graph. A job is ready once it has arrived,
//! the previous job of its task has ended, and the jobs of its number of all tasks that its task
//! follows have completed. So one task may be several instances ahead of another, and its arrived
//! jobs wait in a queue of the task.
//!
//! The order of events in an instant stays as it is: a job that becomes ready by a completion is
//! handled like an arrival at this instant, and is released with the others, by rank.

use crate::instances::{GraphTask, Graphs, Missing};
use crate::{Engine, Ledger, Status, jobs};
use layland_model::TaskId;
use layland_policy::{AfterJob, Policy, State};

impl<P: Policy, T> Ledger<P, T> {
    /// Returns true if a task follows another one, or is followed. Called for every job: a set
    /// without graphs pays only one branch.
    #[inline]
    pub fn is_in_graph(&self, id: TaskId) -> bool {
        self.graphs.as_ref().is_some_and(|graphs| graphs.member(id).is_some())
    }

    /// Saves the state of jobs that wait for others, to find out whether a state recurs.
    pub fn save_graphs(&self, state: &mut State) {
        let Some(graphs) = &self.graphs else { return };
        for (id, member) in graphs.members.iter() {
            let Some(member) = member else { continue };
            state.number(member.waiting.len() as i64);
            for ((job, demand), missing) in self.tasks[id].waiting.iter().zip(&member.waiting) {
                state.time(job.deadline, self.now);
                state.time(job.release.max(self.now), self.now);
                state.number(*demand);
                state.number(missing.jobs as i64);
            }
        }
    }
}

/// Handles the next event of a task of a graph: an instance of its graph arrives, or its next job
/// is ready.
#[cold]
pub(crate) fn arrive(engine: &mut impl Engine, id: TaskId) {
    let first = graphs(engine).first_of(id);
    if first == Some(id) {
        while engine.ledger().tasks[id].next_release <= engine.ledger().now {
            arrive_together(engine, id);
        }
    }
    release(engine, id);
    let ledger = engine.ledger_mut();
    if first == Some(id) {
        ledger.notice(id, ledger.tasks[id].next_release);
    } else {
        ledger.arrivals.clear(ledger.tasks[id].position as usize);
    }
}

/// Handles the arrival of the next instance of the graph with this first task.
fn arrive_together(engine: &mut impl Engine, first: TaskId) {
    let graph = graphs(engine).member(first).expect("it is in a graph").graph;
    let (arrival, release) = {
        let task = &engine.ledger().tasks[first];
        (task.next_arrival, task.next_release)
    };
    let seq = engine.ledger().tasks[first].next_seq();
    for at in 0..graphs(engine).tasks[graph].len() {
        let id = graphs(engine).tasks[graph][at];
        if engine.ledger().tasks[id].status == Status::Outside {
            jobs::join(engine, id);
        }
        let demand = engine.ledger_mut().streams[id].demand(seq);
        let demand = engine.amount(demand);
        let task = &mut engine.ledger_mut().tasks[id];
        let job = task.next_job_at(arrival, release);
        debug_assert_eq!(job.id.seq, seq, "the tasks of a graph count alike");
        task.waiting.push_back((job, demand));
        task.blocked = true;
        let member = member(engine, id);
        let missing = Missing { jobs: member.follows, since: release };
        member.waiting.push_back(missing);
        notice_if_ready(engine, id);
    }
    let ledger = engine.ledger_mut();
    let next = ledger.streams[first].next(seq, arrival);
    ledger.tasks[first].set_next(next);
}

/// Schedules the release of the first waiting job in this round, if it can run.
fn notice_if_ready(engine: &mut impl Engine, id: TaskId) {
    if engine.ledger().tasks[id].status == Status::Idle
        && member(engine, id).waiting.front().is_some_and(|missing| missing.jobs == 0)
    {
        let ledger = engine.ledger_mut();
        ledger.notice(id, ledger.now);
    }
}

/// Releases the first waiting job, if it can run.
fn release(engine: &mut impl Engine, id: TaskId) {
    if engine.ledger().tasks[id].status != Status::Idle {
        return;
    }
    let waiting = &mut member(engine, id).waiting;
    let Some(Missing { jobs: 0, since }) = waiting.front().copied() else { return };
    waiting.pop_front();
    let task = &mut engine.ledger_mut().tasks[id];
    let (mut job, demand) =
        task.waiting.pop_front().expect("each job that waits is in both queues");
    job.release = job.release.max(since);
    task.status = Status::Ready;
    (task.job, task.demand) = (job, demand);
    jobs::tell_release(engine, id, job);
    let task = &mut engine.ledger_mut().tasks[id];
    task.blocked = !task.waiting.is_empty();
}

/// Handles the end of a job of a task of a graph. Returns the next action of its thread.
#[cold]
pub(crate) fn end(engine: &mut impl Engine, id: TaskId) -> AfterJob {
    let (now, seq) = (engine.ledger().now, engine.ledger().tasks[id].job.id.seq);
    for at in 0..member(engine, id).followers.len() {
        let follower = member(engine, id).followers[at];
        // A follower whose queue begins after this number has no job that waits for this one.
        let front = engine.ledger().tasks[follower].waiting.front().map(|(job, _)| job.id.seq);
        let Some(place) = front.and_then(|front| seq.checked_sub(front)) else { continue };
        let waiting = &mut member(engine, follower).waiting;
        let missing = &mut waiting[place as usize];
        missing.jobs -= 1;
        missing.since = missing.since.max(now);
        notice_if_ready(engine, follower);
        jobs::continues(engine.ledger_mut(), follower);
    }
    notice_if_ready(engine, id);
    jobs::continues(engine.ledger_mut(), id);
    let is_next_there = member(engine, id).waiting.front().is_some_and(|missing| missing.jobs == 0);
    if is_next_there { AfterJob::Continues } else { AfterJob::Blocks }
}

fn graphs<E: Engine>(engine: &mut E) -> &Graphs {
    engine.ledger().graphs.as_deref().expect("a task follows another one")
}

fn member<E: Engine>(engine: &mut E, id: TaskId) -> &mut GraphTask {
    let graphs = engine.ledger_mut().graphs.as_deref_mut().expect("a task follows another one");
    graphs.members[id].as_deref_mut().expect("the task is in a graph")
}
