//! Threads with reservations of the kernel that nobody has admitted: they have a share of the CPUs, too.

use super::args::Engine;
use crate::ui::exit::Failure;
use layland_guarantee::admission::{Admitted, Holding, Reservation};
use layland_linux::exec::{Reservation as Given, Thread};
use layland_model::{CpuId, CpuSet, Duration, Index, Service};

/// A thread that nobody has admitted, what it has, and the CPUs that it may use.
pub(super) type Foreign = (Thread, Given, Vec<usize>);

/// Makes them take part in the question whether a newcomer may be let in. Gives the names under which they do.
///
/// Those of SCHED_DEADLINE come before every thread of sched_ext. On one CPU, such a thread takes at most
/// `Q (t / P + 2)` of any interval of length `t`. That is at most what jobs of `2 Q (D / P + 1)` every `D`, due at the
/// end of it, ask for in each interval of at least `D`, the shortest deadline on that CPU: in `t >= D` there are
/// `k = floor(t / D) >= 1` of them, and `k 2 (D / P + 1) >= (k + 1) D / P + 2 > t / P + 2`. Intervals that matter have
/// a whole job of somebody. Of several CPUs no such thing is known.
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
            // It runs in one root domain, which is where it may run.
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
        let id = u64::MAX - names.len() as u64;
        names.push(task.name.clone());
        admitted.holdings.push(Holding { id, task, cpus, left: None });
    }
    Ok(names)
}
