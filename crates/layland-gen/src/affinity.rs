//! Random affinities.

use crate::parameters::{Reader, Writer};
use crate::{GenError, Random};
use layland_model::{CpuId, CpuSet, Index, Rate, System};

/// A distribution of affinities. The sets of CPUs of every kind are nested or disjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinities {
    /// All CPUs for every task.
    Global,
    /// A uniformly drawn cluster for each task. Cluster `i` of `k` has the CPUs from
    /// `floor(i m / k)` to below `floor((i + 1) m / k)`.
    Clustered {
        /// The number of clusters.
        clusters: usize,
    },
    /// A uniformly drawn CPU for each task.
    Partitioned,
    /// CPU `i mod m` for task `i`.
    RoundRobin,
    /// The levels of Bonifaci, Brandenburg, D'Angelo, Marchetti-Spaccamela (2016): all CPUs, one
    /// socket, or one CPU with equal probability; then a uniformly drawn socket or CPU. The CPUs
    /// are divided into sockets like into clusters.
    Levels {
        /// The number of sockets.
        sockets: usize,
    },
    /// A random family of nested sets, the same for all tasks of a set: the CPUs, in random order,
    /// are split in two at a uniformly drawn position, and so are the parts, down to single CPUs.
    /// Each task gets one of the `2m - 1` sets, uniformly.
    Nested,
}

impl Affinities {
    pub(crate) fn check(self, cpus: usize) -> Result<(), GenError> {
        let parts = match self {
            Affinities::Global
            | Affinities::Partitioned
            | Affinities::RoundRobin
            | Affinities::Nested => return Ok(()),
            Affinities::Clustered { clusters } => ("clusters", clusters),
            Affinities::Levels { sockets } => ("sockets", sockets),
        };
        match parts {
            (_, 1..) if parts.1 <= cpus => Ok(()),
            (name, parts) => {
                Err(GenError::parameter(name, parts, "there are between 1 and as many as CPUs"))
            }
        }
    }

    /// Draws the affinity of every task, and the clusters of the platform.
    pub(crate) fn draw(self, system: &mut System, random: &mut Random) {
        let cpus = system.platform.cpu_count();
        let uniform = |count: usize, random: &mut Random| random.below(count as u64) as usize;
        match self {
            Affinities::Global => {}
            Affinities::Clustered { clusters } => {
                system.platform.clusters = cut(cpus, clusters);
                for task in system.tasks.values_mut() {
                    task.cluster = uniform(clusters, random);
                }
            }
            Affinities::Partitioned => {
                for task in system.tasks.values_mut() {
                    let cpu = CpuId::from_index(uniform(cpus, random));
                    task.affinity = Some(CpuSet::single(cpu));
                }
            }
            Affinities::RoundRobin => {
                for (index, task) in system.tasks.values_mut().enumerate() {
                    task.affinity = Some(CpuSet::single(CpuId::from_index(index % cpus)));
                }
            }
            Affinities::Levels { sockets } => {
                let parts = cut(cpus, sockets);
                for task in system.tasks.values_mut() {
                    task.affinity = match random.below(3) {
                        0 => None,
                        1 => Some(parts[uniform(sockets, random)].clone()),
                        _ => Some(CpuSet::single(CpuId::from_index(uniform(cpus, random)))),
                    };
                }
            }
            Affinities::Nested => {
                let mut order: Vec<CpuId> = system.platform.cpus().collect();
                random.shuffle(&mut order);
                let mut family: Vec<&[CpuId]> = vec![&order];
                let mut next = 0;
                while let Some(&part) = family.get(next) {
                    if part.len() > 1 {
                        let (left, right) = part.split_at(1 + uniform(part.len() - 1, random));
                        family.extend([left, right]);
                    }
                    next += 1;
                }
                for task in system.tasks.values_mut() {
                    let set = family[uniform(family.len(), random)];
                    task.affinity = (set.len() < cpus).then(|| set.iter().copied().collect());
                }
            }
        }
    }

    pub(crate) fn write(self, to: &mut Writer) {
        to.put(
            "affinities",
            match self {
                Affinities::Global => "global",
                Affinities::Clustered { .. } => "clustered",
                Affinities::Partitioned => "partitioned",
                Affinities::RoundRobin => "round-robin",
                Affinities::Levels { .. } => "levels",
                Affinities::Nested => "nested",
            },
        );
        match self {
            Affinities::Clustered { clusters } => to.put("affinities.clusters", clusters),
            Affinities::Levels { sockets } => to.put("affinities.sockets", sockets),
            Affinities::Global
            | Affinities::Partitioned
            | Affinities::RoundRobin
            | Affinities::Nested => {}
        }
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Affinities, GenError> {
        let kind: String = from.get("affinities")?;
        let mut from = from.part("affinities");
        Ok(match kind.as_str() {
            "global" => Affinities::Global,
            "clustered" => Affinities::Clustered { clusters: from.get("clusters")? },
            "partitioned" => Affinities::Partitioned,
            "round-robin" => Affinities::RoundRobin,
            "levels" => Affinities::Levels { sockets: from.get("sockets")? },
            "nested" => Affinities::Nested,
            _ => return Err(from.invalid("")),
        })
    }
}

/// Splits the CPUs `0..cpus` into contiguous parts whose sizes differ by at most one.
fn cut(cpus: usize, parts: usize) -> Vec<CpuSet> {
    let part = |i: usize| (i * cpus / parts..(i + 1) * cpus / parts).map(CpuId::from_index);
    (0..parts).map(|i| part(i).collect()).collect()
}

/// Returns true if every utilization is at most 1 and Hall's condition holds. The check is exact;
/// for implicit deadlines it is equivalent to feasibility.
pub(crate) fn hall_condition(system: &System) -> bool {
    let confined = system.hall().expect("drawn affinities are nested or disjoint");
    confined.fits && system.tasks.values().all(|task| task.utilization() <= Rate::ONE)
}
