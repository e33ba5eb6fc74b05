//! The tasks that may keep a job waiting, the weights of their work, and the carried-in jobs among
//! them. The proof is in [`super`].

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::affinity::reduction::Masked;
use layland_model::{CpuId, CpuSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The weight 1, a multiple of all numbers of CPUs up to 16. For larger numbers, weights are
/// rounded up.
pub(crate) const WHOLE: i64 = 720_720;

/// With more parts of `alpha_k`, or more reachable sets, fewer weights are tried.
const PARTS: usize = 15;
const REACHES: usize = 64;

/// The rivals that share an affinity.
pub(crate) struct Crowd {
    pub(crate) members: Rc<[usize]>,
    /// The weight of a unit of their work.
    pub(crate) weight: i64,
    /// The maximum number of their jobs that run at once on the CPUs that count.
    pub(crate) at_once: i64,
}

/// The limits on the jobs that are carried into a window.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    /// For each crowd whose jobs could have used the CPU of the gap: the maximum number of them
    /// that carry a job in. `None` for the other crowds, all of whose jobs may be carried in.
    pub(crate) limited: Vec<Option<usize>>,
    /// The maximum number of limited rivals that carry a job in.
    pub(crate) rivals: usize,
    /// The maximum number of these, including `tau_k` itself.
    pub(crate) all: usize,
    /// True if `tau_k` itself may carry a job in.
    pub(crate) own: bool,
}

impl Gap {
    /// The limits for crowds with these affinities, of which only the marked ones are limited.
    fn new<'a>(own: &CpuSet, affinities: impl Iterator<Item = (&'a CpuSet, bool)>) -> Gap {
        let (mut limited, mut U) = (Vec::new(), CpuSet::new());
        for (Q, is_limited) in affinities {
            limited.push(is_limited.then(|| Q.len() - 1));
            if is_limited {
                U = U.union(Q);
            }
        }
        let (rivals, all) = (U.len().saturating_sub(1), U.union(own).len() - 1);
        Gap { limited, rivals, all, own: own.len() > 1 }
    }
}

/// The windows for which weights hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Windows {
    /// Windows from the release and from the gap.
    All,
    /// Windows from the release, and windows from the gap under fixed priorities: `tau_k` itself
    /// does not run before.
    WithoutOwn,
    /// Windows from the gap under EDF.
    WithOwn,
}

/// One choice of weights for the jobs of a task.
pub(crate) struct Delay {
    /// The CPUs that the reasons name.
    pub(crate) cpus: CpuSet,
    pub(crate) crowds: Vec<Crowd>,
    /// The weight of a unit of earlier jobs of the task itself.
    pub(crate) own: i64,
    /// The limits for each CPU that the gap may be on, without duplicates.
    pub(crate) gaps: Vec<Gap>,
    pub(crate) windows: Windows,
    /// True for a single CPU whose tasks may use no other.
    pub(crate) is_alone: bool,
}

/// The rivals, grouped by affinity.
type Crowds<'a> = BTreeMap<&'a CpuSet, Rc<[usize]>>;

fn weight(cpus: usize) -> i64 {
    (WHOLE as usize).div_ceil(cpus) as i64
}

/// The only choice where all `count` tasks share these CPUs.
pub(crate) fn shared(cpus: &CpuSet, count: usize, k: usize) -> Delay {
    let members = (0..count).filter(|&i| i != k).collect();
    let m = cpus.len();
    Delay {
        cpus: cpus.clone(),
        crowds: vec![Crowd { members, weight: weight(m), at_once: m as i64 }],
        own: weight(m),
        gaps: vec![Gap::new(cpus, [(cpus, true)].into_iter())],
        windows: Windows::All,
        is_alone: m == 1,
    }
}

/// The choices for task `k` under the weak invariant, where these others may come before it: one
/// for each part of its CPUs.
pub(crate) fn weak(masked: &Masked, k: usize, others: &[usize]) -> Vec<Delay> {
    let (own, crowds) = (&masked.masks[k], by_affinity(masked, others));
    let on = |S: CpuSet| on_part(own, &crowds, S);
    masked.parts(k, || others.to_vec()).into_iter().map(|part| on(part.cpus)).collect()
}

/// The choices that the strong invariant adds: `S(R)` is `R` if it has at least a given number of
/// CPUs, and otherwise a part of `alpha_k`.
pub(crate) fn strong(masked: &Masked, k: usize, others: &[usize]) -> Vec<Delay> {
    let (own, crowds) = (&masked.masks[k], by_affinity(masked, others));
    let mut parts = masked.parts(k, || others.to_vec());
    if parts.len() > PARTS {
        parts.retain(|part| part.cpus == *own);
    }
    let mut all = Vec::new();
    for windows in [Windows::WithoutOwn, Windows::WithOwn] {
        let also = (windows == Windows::WithOwn).then_some(own);
        let Some(reaches) = reaches(own, &crowds, also) else { continue };
        let sizes: BTreeSet<usize> = reaches.iter().map(CpuSet::len).collect();
        for (at, part) in parts.iter().enumerate() {
            for (step, size) in sizes.iter().copied().chain([usize::MAX]).enumerate() {
                // With the smallest size every `R` counts as a whole, so the part does not matter.
                if at == 0 || step > 0 {
                    let counts =
                        |R: &CpuSet| if R.len() < size { part.cpus.clone() } else { R.clone() };
                    all.push(Delay { windows, ..on_reaches(own, &crowds, &reaches, counts) });
                }
            }
        }
    }
    all
}

fn by_affinity<'a>(masked: &'a Masked, others: &[usize]) -> Crowds<'a> {
    let mut crowds: BTreeMap<&CpuSet, Vec<usize>> = BTreeMap::new();
    for &i in others {
        crowds.entry(&masked.masks[i]).or_default().push(i);
    }
    crowds.into_iter().map(|(Q, members)| (Q, members.into())).collect()
}

fn on_part(own: &CpuSet, crowds: &Crowds<'_>, S: CpuSet) -> Delay {
    let met = || crowds.iter().filter(|(Q, _)| !Q.is_disjoint(&S));
    // Gaps for which the same crowds are limited are equal.
    let mut gaps: BTreeMap<Vec<bool>, Gap> = BTreeMap::new();
    for c in S.iter() {
        let key = met().map(|(Q, _)| Q.contains(c)).collect();
        gaps.entry(key).or_insert_with(|| Gap::new(own, met().map(|(Q, _)| (*Q, Q.contains(c)))));
    }
    let crowd = |(Q, members): (&&CpuSet, &Rc<[usize]>)| Crowd {
        members: Rc::clone(members),
        weight: weight(S.len()),
        at_once: Q.intersection(&S).len() as i64,
    };
    Delay {
        crowds: met().map(crowd).collect(),
        own: weight(S.len()),
        gaps: gaps.into_values().collect(),
        windows: Windows::All,
        is_alone: S.len() == 1 && *own == S && met().all(|(Q, _)| **Q == S),
        cpus: S,
    }
}

fn on_reaches(
    own: &CpuSet,
    crowds: &Crowds<'_>,
    reaches: &[CpuSet],
    counts: impl Fn(&CpuSet) -> CpuSet,
) -> Delay {
    let (mut found, mut affinities) = (Vec::new(), Vec::new());
    for (Q, members) in crowds {
        let within = reaches.iter().filter(|R| Q.is_subset(R)).map(&counts);
        let met: Vec<CpuSet> = within.filter(|S| !S.is_disjoint(Q)).collect();
        let Some(fewest) = met.iter().map(CpuSet::len).min() else { continue };
        let at_once = met.iter().map(|S| S.intersection(Q).len()).max().unwrap_or(0) as i64;
        found.push(Crowd { members: Rc::clone(members), weight: weight(fewest), at_once });
        affinities.push((*Q, own.is_subset(Q)));
    }
    Delay {
        cpus: own.clone(),
        crowds: found,
        own: reaches.iter().map(|R| weight(counts(R).len())).max().unwrap_or(0),
        gaps: vec![Gap::new(own, affinities.into_iter())],
        windows: Windows::All,
        is_alone: false,
    }
}

/// The sets that a waiting job can reach; `None` if there are too many. `also` is the affinity of
/// one more job that may run.
fn reaches(own: &CpuSet, crowds: &Crowds<'_>, also: Option<&CpuSet>) -> Option<Vec<CpuSet>> {
    let (mut known, mut next) = (BTreeSet::from([own.clone()]), vec![own.clone()]);
    while let Some(R) = next.pop() {
        for Q in crowds.keys().filter(|Q| !Q.is_disjoint(&R)) {
            let joined = R.union(Q);
            if known.insert(joined.clone()) {
                next.push(joined);
            }
        }
        if known.len() > REACHES {
            return None;
        }
    }
    Some(known.into_iter().filter(|R| can_fill(R, crowds, also)).collect())
}

/// Returns true if tasks confined to these CPUs can keep all of them busy. Uses a matching, CPU by
/// CPU.
fn can_fill(R: &CpuSet, crowds: &Crowds<'_>, also: Option<&CpuSet>) -> bool {
    let inside = crowds.iter().filter(|(Q, _)| Q.is_subset(R));
    // A crowd runs at most as many jobs at once as it has CPUs.
    let jobs = inside.flat_map(|(Q, members)| members.iter().take(Q.len()).map(move |_| *Q));
    let affinities: Vec<&CpuSet> = jobs.chain(also).collect();
    let mut on: Vec<Option<CpuId>> = vec![None; affinities.len()];
    R.iter().all(|c| find_job(c, &affinities, &mut on, &mut vec![false; affinities.len()]))
}

fn find_job(c: CpuId, affinities: &[&CpuSet], on: &mut [Option<CpuId>], seen: &mut [bool]) -> bool {
    for i in 0..affinities.len() {
        if seen[i] || !affinities[i].contains(c) {
            continue;
        }
        seen[i] = true;
        if on[i].is_none_or(|other| find_job(other, affinities, on, seen)) {
            on[i] = Some(c);
            return true;
        }
    }
    false
}
