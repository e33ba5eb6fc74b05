//! The threads that drive the policy: one manager, or a dispatcher on every CPU.

use crate::RunError;
use crate::fifo::hosts::Hosts;
use crate::fifo::threads::FifoThreads;
use crate::fifo::worker::{DispatcherPost, EndsRun, SharedState};
use crate::kernel::sys::{self, Tid};
use crate::log::Log;
use crate::machine::changes::no_process;
use crate::manager::dispatchers::{Domain, Locks, Scope, Served, merged};
use crate::manager::{Finished, Manager, Start};
use layland_model::{CpuId, Index};
use layland_policy::Policy;
use std::sync::atomic::Ordering;

/// The threads that drive the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dispatch {
    /// One manager.
    #[default]
    Manager,
    /// A dispatcher on every CPU, with these locks between them.
    PerCpu(Locks),
}

const STACK: usize = 1 << 20;

/// Makes the posts of the dispatchers.
///
/// # Errors
/// Returns an error if the kernel refuses a timer.
pub(super) fn make_posts(shared: &SharedState, hosts: &Hosts) -> Result<(), RunError> {
    let posts = hosts.of.values().map(|&host| DispatcherPost::new(host));
    let posts = posts
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(|error| RunError::refused("failed to make a timer", &error, String::new()))?;
    shared.dispatchers.set(posts).expect("a run has one set of dispatchers");
    Ok(())
}

/// The beginning of a run, without the policy and the log, which each domain has itself.
pub(super) type StartOf<'a> = dyn Fn(Box<dyn Policy>, Log) -> Start<'a> + Send + 'a;

/// Runs the dispatchers of all CPUs, on threads that end before this function does.
///
/// # Errors
/// Returns an error if the kernel refuses a thread, its place or its priority.
pub(super) fn manage_per_cpu<'a>(
    (policy, logs): (Box<dyn Policy>, Vec<Log>),
    start_of: &StartOf<'a>,
    shared: &'a SharedState,
    hosts: &'a Hosts,
    scopes: Vec<Scope>,
) -> Result<Finished, RunError> {
    let posts = shared.dispatchers.get().map_or(&[][..], Vec::as_slice);
    let mut domains = Vec::with_capacity(scopes.len());
    for (number, (scope, log)) in scopes.into_iter().zip(logs).enumerate() {
        let start = start_of(policy.clone(), log);
        let threads = FifoThreads::prepare(start.system, shared, &hosts.of, None)?;
        let manager = Manager::new(start, threads.of_domain(number));
        shared.expect_awake_by(number, sys::monotonic_ns());
        domains.push(Domain::new(manager, scope, posts));
    }
    let finished = std::thread::scope(|scope| {
        let mut dispatchers = Vec::new();
        for domain in &domains {
            for &cpu in domain.cpus() {
                let dispatcher =
                    std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                        dispatch(domain, cpu, &posts[cpu.index()], shared)
                    });
                match dispatcher {
                    Ok(dispatcher) => dispatchers.push(dispatcher),
                    Err(error) => {
                        end(shared);
                        return Err(RunError::refused(
                            "failed to start a thread",
                            &error,
                            no_process(&error),
                        ));
                    }
                }
            }
        }
        let mut parts = Vec::with_capacity(domains.len());
        let mut refused = None;
        for dispatcher in dispatchers {
            match dispatcher.join() {
                Ok(Ok(Some(part))) => parts.push(*part),
                Ok(Ok(None)) => {}
                Ok(Err(error)) => refused = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        refused.map_or(Ok(parts), Err)
    })?;
    Ok(merged(finished))
}

/// Ends the run early, in all domains.
fn end(shared: &SharedState) {
    shared.stop.store(true, Ordering::Release);
    shared.ring();
}

/// Runs the dispatcher of a CPU, on the calling thread.
fn dispatch(
    domain: &Domain<'_, FifoThreads<'_>>,
    cpu: CpuId,
    post: &DispatcherPost,
    shared: &SharedState,
) -> Result<Option<Box<Finished>>, RunError> {
    sys::name_thread(&format!("layland-cpu{cpu}"));
    sys::precise_timers();
    let own = Tid::own();
    let _ends = EndsRun(shared);
    if let Err(error) = prepare(own, post) {
        end(shared);
        return Err(error);
    }
    post.tid.store(own.0, Ordering::Release);
    post.ring();
    let served = domain.serve(cpu, own);
    if let Served::Over(Some(part)) = &served
        && part.interrupted
    {
        end(shared);
    }
    let _ = sys::set_ordinary(own);
    // Another thread may get this number soon.
    post.tid.store(0, Ordering::Release);
    match served {
        Served::Over(finished) => Ok(finished),
        Served::Panicked => Err(RunError::unsupported("a thread panicked")),
    }
}

fn prepare(own: Tid, post: &DispatcherPost) -> Result<(), RunError> {
    let help = || "choose other CPUs with --on-cpus".to_owned();
    sys::pin(own, post.host)
        .map_err(|error| RunError::refused("failed to choose a CPU", &error, help()))?;
    sys::set_fifo(own, sys::MANAGER).map_err(|error| {
        let help = "need CAP_SYS_NICE or rtprio >= 99 in limits.conf".to_owned();
        RunError::refused("no real-time priority", &error, help)
    })
}
