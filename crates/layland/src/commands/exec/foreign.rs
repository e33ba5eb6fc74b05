//! Threads with kernel reservations that were not admitted by layland. They use a share of the
//! CPUs, too.

use super::args::Engine;
use crate::ui::exit::Failure;
use layland_guarantee::admission::{Admitted, Holding, Reservation};
use layland_linux::exec::{Reservation as Given, Thread};
use layland_model::{CpuId, CpuSet, Duration, Index, Service};

/// A thread that was not admitted by layland, its reservation, and the CPUs that it may use.
pub(super) type Foreign = (Thread, Given, Vec<usize>);

/// Adds the foreign threads to the admission test of a newcomer. Returns their names in the test.
///
/// Threads of SCHED_DEADLINE precede every thread of sched_ext. On one CPU, such a thread takes at
/// most `Q (t / P + 2)` of any interval of length `t`. This is at most the demand of jobs of
/// `2 Q (D / P + 1)` every `D`, due at the end of it, in each interval of at least `D`, the shortest
/// deadline on that CPU: in `t >= D` there are `k = floor(t / D) >= 1` of them, and
/// `k 2 (D / P + 1) >= (k + 1) D / P + 2 > t / P + 2`. Only intervals that contain a whole job of an
/// admitted thread matter. No such bound is known for several CPUs.
pub(super) fn take_part(
    admitted: &mut Admitted,
    engine: Engine,
    foreign: &[Foreign],
    newcomer: &Reservation,
) -> Result<Vec<String>, Failure> {
    let clusters = admitted.platform.clusters.clone();
    let all = clusters.iter().fold(CpuSet::new(), |all, cluster| all.union(cluster));
    let mut names = Vec::new();
    let mut shares = Vec::new();
    for (thread, reservation, cpus) in foreign {
        let own = cpus.iter().map(|&cpu| CpuId::from_index(cpu)).filter(|&cpu| all.contains(cpu));
        let own: CpuSet = own.collect();
        let met = clusters.iter().filter(|cluster| !cluster.is_disjoint(&own));
        let name = format!("{} ({}, not admitted by layland)", thread.name, thread.tid.0);
        let runtime = Service::from_ns(reservation.runtime.ns());
        if engine == Engine::Kernel {
            // The thread runs in one root domain, which contains the CPUs that it may use.
            let place = met.fold(CpuSet::new(), |all, cluster| all.union(cluster));
            let mut task = Reservation::implicit(&name, runtime, reservation.period);
            task.deadline = reservation.deadline;
            shares.extend((!place.is_empty()).then_some((task, place)));
            continue;
        }
        for cluster in met {
            if cluster.len() > 1 {
                let message = format!(
                    "thread {} (`{}`) has SCHED_DEADLINE, and may run on {} before every thread of sched_ext",
                    thread.tid.0,
                    thread.name,
                    layland_linux::cpus_named(&own.to_string())
                );
                return Err(Failure::no(message).help(
                    "beside it, deadlines are promised to threads with one CPU each: --policy dl-sp --cpus N",
                ));
            }
            let here = admitted.holdings.iter().filter(|holding| holding.cpus == *cluster);
            let windows = here.map(|holding| holding.task.window()).chain([newcomer.window()]);
            let shortest = windows.min().unwrap_or(reservation.period).max(Duration::from_ns(1));
            let (q, p) = (i128::from(runtime.ns()), i128::from(reservation.period.ns().max(1)));
            let most = (2 * q * (i128::from(shortest.ns()) + p) + p - 1) / p;
            let most = i64::try_from(most).unwrap_or(i64::MAX).min(shortest.ns());
            let name = format!("{name} on CPU {cluster}");
            let task = Reservation::implicit(&name, Service::from_ns(most), shortest);
            shares.push((task, cluster.clone()));
        }
    }
    for (task, cpus) in shares {
        // Ids from the top never collide with those of the book, which count up.
        let id = u64::MAX - names.len() as u64;
        names.push(task.name.clone());
        admitted.holdings.push(Holding { id, task, cpus, left: None });
    }
    Ok(names)
}
