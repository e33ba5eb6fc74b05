//! Which tasks may keep a job waiting, what their work weighs, and which of them carry a job into its window. The
//! argument is in [`super`].

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::affinity::reduction::Masked;
use layland_model::{CpuId, CpuSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The weight 1: a multiple of all numbers of CPUs up to 16. The weights of larger ones are rounded up.
pub(crate) const WHOLE: i64 = 720_720;

/// With more parts of `alpha_k` than these, or more sets that may be reached, fewer weights are tried.
const PARTS: usize = 15;
const REACHES: usize = 64;

/// The rivals that share an affinity.
pub(crate) struct Crowd {
    pub(crate) members: Rc<[usize]>,
    /// What a unit of their work weighs.
    pub(crate) weight: i64,
    /// So many of their jobs run at once on the CPUs that count.
    pub(crate) at_once: i64,
}

/// What may be carried into a window.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    /// Of each crowd whose jobs could have used the CPU of the gap: so many of them carry a job in. None of the others:
    /// all of them may.
    pub(crate) limited: Vec<Option<usize>>,
    /// So many of the limited rivals carry a job in.
    pub(crate) rivals: usize,
    /// So many with `tau_k` itself.
    pub(crate) all: usize,
    /// Whether `tau_k` itself may.
    pub(crate) own: bool,
}

impl Gap {
    /// What may be carried in by crowds with these affinities, if they are limited.
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

/// The windows that weights hold for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Windows {
    /// From the release and from the gap.
    All,
    /// From the release, and from the gap under fixed priorities: `tau_k` itself does not run before.
    WithoutOwn,
    /// From the gap under EDF.
    WithOwn,
}

/// One choice of weights for the jobs of a task.
pub(crate) struct Delay {
    /// The CPUs of which the reasons tell.
    pub(crate) cpus: CpuSet,
    pub(crate) crowds: Vec<Crowd>,
    /// What a unit of earlier jobs of the task itself weighs.
    pub(crate) own: i64,
    /// One for each CPU that the gap may be on, without equal ones.
    pub(crate) gaps: Vec<Gap>,
    pub(crate) windows: Windows,
    /// Whether it is about one CPU whose tasks have no other.
    pub(crate) is_alone: bool,
}

/// The affinities of the rivals.
type Crowds<'a> = BTreeMap<&'a CpuSet, Rc<[usize]>>;

fn weight(cpus: usize) -> i64 {
    (WHOLE as usize).div_ceil(cpus) as i64
}

/// The one choice where all of `count` tasks share these CPUs.
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

/// The choices for task `k` under the weak invariant, where these others may come before it: one for each part of
/// its CPUs.
pub(crate) fn weak(masked: &Masked, k: usize, others: &[usize]) -> Vec<Delay> {
    let (own, crowds) = (&masked.masks[k], by_affinity(masked, others));
    let on = |S: CpuSet| on_part(own, &crowds, S);
    masked.parts(k, || others.to_vec()).into_iter().map(|part| on(part.cpus)).collect()
}

/// Those that the strong invariant adds: `S(R)` is `R` if it has at least so many CPUs, and otherwise a part of
/// `alpha_k`.
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
                // From the least size on every `R` counts as a whole, whatever the part is.
                if at == 0 || step > 0 {
                    let counts = |R: &CpuSet| match R.len() < size {
                        true => part.cpus.clone(),
                        false => R.clone(),
                    };
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
    // Those that the same crowds hold for are equal.
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

/// The sets that a job that waits can reach; none if there are too many. `also` is the affinity of one more job
/// that may run.
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

/// Whether tasks confined to these CPUs can keep all of them busy: a matching, CPU by CPU.
fn can_fill(R: &CpuSet, crowds: &Crowds<'_>, also: Option<&CpuSet>) -> bool {
    let inside = crowds.iter().filter(|(Q, _)| Q.is_subset(R));
    // More jobs of a crowd than its CPUs cannot run at once.
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
