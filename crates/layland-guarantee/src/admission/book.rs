//! The book of a machine: the regions under which programs were admitted, and the decisions about
//! newcomers beside the [foreign](super::Foreign) load.
//!
//! The machine is divided into regions: CPUs under one [regime](Regime). A region of
//! SCHED_DEADLINE or of sched_ext has given CPUs; the partitioned policies have the CPUs that were
//! granted to their members. Regions do not overlap, so that each test accounts for everything on
//! its CPUs. A region is removed with the last of its members.
//!
//! A newcomer is granted if [`admit`] grants it among the tasks of its region, and if all of them
//! keep their guarantees beside the foreign load. A *yes* is **sufficient**, under the assumptions
//! of [`admit`](super) and of [`Foreign`].
//!
//! The book is a plain value: its owner has the clock and a lock, writes the book down, and finds
//! the foreign load.
//!
//! Long because a newcomer, a departure and a change of the foreign load are decided by the same
//! entries.
//!
//! ```
//! use layland_guarantee::admission::{Book, Foreign, Regime, Reservation, Terms};
//! use layland_model::{CpuId, CpuSet, Duration, Rate, Service, Time};
//! use layland_policy::Registry;
//! let (registry, online) = (Registry::standard(), CpuSet::first(2));
//! let terms = Terms {
//!     registry: &registry,
//!     regime: Regime::PDm,
//!     online: &online,
//!     limit: &Rate::ONE,
//!     cpus: None,
//!     runs: &[],
//!     owner: "1",
//!     now: Time::ZERO,
//! };
//! let mut book = Book::default();
//! let mut ask = |name, c| {
//!     let task = Reservation::implicit(name, Service::from_ms(c), Duration::from_ms(10));
//!     book.admit(&terms, &Foreign::default(), &task)
//! };
//! // The first CPU is left to the rest of the machine.
//! assert_eq!(ask("audio", 6).unwrap().cpus, CpuSet::single(CpuId(1)));
//! assert!(ask("video", 5).is_err());
//! assert_eq!(book.priority("1", "audio"), Some(90));
//! ```

mod partition;

use super::beside::LeavesRoom;
use super::foreign::{Foreign, OnSeveralCpus};
use super::refusal::{Refused, Suggestion};
use super::regime::Regime;
use super::register::{Admitted, Holding, How, Left, Reservation};
use super::shortfall::{Shortfall, on};
use super::suggestions::largest;
use super::{Admission, AdmissionError, AdmitOptions, Ask, Grant, Suggest, admit};
use crate::options::Effort;
use layland_model::{CpuSet, Index, Platform, Rate, Service, Time};
use layland_policy::Registry;
use std::collections::BTreeSet;

/// The highest priority of SCHED_FIFO that an admitted thread gets: above ordinary threads, and
/// below those that supervise.
pub const HIGHEST: i32 = 90;

/// Returns the lowest priority of SCHED_FIFO that one of `count` admitted threads may have.
pub fn lowest(count: usize) -> i32 {
    (HIGHEST - i32::try_from(count).unwrap_or(HIGHEST) + 1).max(1)
}

/// The admitted programs of a machine, and their CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// The regions, whose CPUs do not overlap.
    pub regions: Vec<Region>,
}

/// CPUs under one regime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The policy and its scheduler.
    pub regime: Regime,
    /// The given CPUs; `None` if the region has the CPUs of its members.
    pub cpus: Option<CpuSet>,
    /// The admitted and the departed reservations.
    pub held: Vec<Held>,
    /// See [`Admitted::exceeded`].
    pub exceeded: CpuSet,
    /// See [`Admitted::forgotten`].
    pub forgotten: CpuSet,
    /// The id of the next holding.
    pub next_id: u64,
}

/// A reservation in the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The id of the program that has it.
    pub owner: String,
    /// The reservation. Its rank is its id: ties go to the one that was admitted first.
    pub holding: Holding,
}

/// The machine and the program that asks.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The policies.
    pub registry: &'a Registry,
    /// The regime that the program asks for.
    pub regime: Regime,
    /// The CPUs that are online.
    pub online: &'a CpuSet,
    /// The share of its CPUs that SCHED_DEADLINE grants.
    pub limit: &'a Rate,
    /// The CPUs of the region that the program asks for; `None` leaves the choice to the book.
    pub cpus: Option<&'a CpuSet>,
    /// The CPUs of each run that has CPUs for itself.
    pub runs: &'a [CpuSet],
    /// The id of the program.
    pub owner: &'a str,
    /// The time, by the clock of the book.
    pub now: Time,
}

/// A placement that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// The CPUs.
    pub cpus: CpuSet,
    /// True if the kernel has to separate these CPUs from the others.
    pub is_partition: bool,
    /// The test that decided.
    pub decided_by: Option<&'static str>,
    /// The threads that the promise accounts for.
    pub beside: Vec<String>,
    /// The conditions under which ordinary threads take nothing.
    pub room: LeavesRoom,
}

/// The reason why nothing is granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    /// At least one guarantee was not shown.
    #[error("{0}")]
    Refused(Refused),
    /// A foreign thread, of which no bound is known.
    #[error(transparent)]
    Foreign(#[from] OnSeveralCpus),
    /// The question is not valid.
    #[error(transparent)]
    Invalid(#[from] AdmissionError),
    /// The machine does not have these CPUs, or there are none.
    #[error("the machine has {}, and not {asked}", on(online))]
    NoSuchCpus {
        /// The CPUs that were asked for.
        asked: CpuSet,
        /// The CPUs that are online.
        online: CpuSet,
    },
    /// A run has some of the CPUs for itself.
    #[error("a run has CPUs that this one needs")]
    OfRun {
        /// Its place in [`Terms::runs`].
        run: usize,
    },
    /// Some of the CPUs are in regions of other regimes or with other CPUs.
    #[error("{} {} under another policy: {}", on(taken), if taken.len() == 1 { "is" } else { "are" }, by.regime.name())]
    OfRegions {
        /// All CPUs of these regions.
        taken: CpuSet,
        /// The first of these regions.
        by: Box<Region>,
    },
}

impl From<Box<Shortfall>> for NotGranted {
    fn from(shortfall: Box<Shortfall>) -> NotGranted {
        let shortfalls = vec![*shortfall];
        NotGranted::Refused(Refused { shortfalls, suggestions: Vec::new(), leaving: Vec::new() })
    }
}

impl Book {
    /// Returns the region of a regime, of which there may be several with different CPUs.
    fn of(&self, regime: Regime) -> impl Iterator<Item = &Region> {
        self.regions.iter().filter(move |region| region.regime == regime)
    }

    /// Returns the number of reservations under a regime, including those that left and still
    /// count.
    pub fn count(&self, regime: Regime) -> usize {
        self.of(regime).map(|region| region.held.len()).sum()
    }

    /// Records that an owner leaves at `now` with its reservations whose names match.
    pub fn leave(&mut self, owner: &str, now: Time, is_it: impl Fn(&str) -> bool) {
        for held in self.regions.iter_mut().flat_map(|region| &mut region.held) {
            let Holding { task, left, .. } = &mut held.holding;
            if held.owner == owner && left.is_none() && is_it(&task.name) {
                *left = Some(Left { at: now, until: now + task.window(), how: How::Gone });
            }
        }
        self.regions.retain(Region::is_held);
    }

    /// Admits a newcomer if all guarantees still hold beside this foreign load.
    ///
    /// # Errors
    /// The reason why it is not admitted; the book is unchanged then.
    pub fn admit(
        &mut self,
        terms: &Terms<'_>,
        foreign: &Foreign,
        reservation: &Reservation,
    ) -> Result<Granted, NotGranted> {
        let index = self.region(terms)?;
        let entered = self.enter(index, terms, foreign, reservation);
        self.regions.retain(Region::is_held);
        entered
    }

    fn enter(
        &mut self,
        index: usize,
        terms: &Terms<'_>,
        foreign: &Foreign,
        reservation: &Reservation,
    ) -> Result<Granted, NotGranted> {
        let free = self.free(index, terms);
        if free.is_empty() {
            return Err(self.nothing_free(index, terms));
        }
        let region = &mut self.regions[index];
        let mut asked = reservation.clone();
        asked.rank = region.next_id as i64;
        if terms.regime == Regime::KernelDl {
            // A thread of SCHED_DEADLINE may use the whole region.
            asked.cpus = None;
        }
        let desk = Desk { region, terms, foreign, free: &free };
        let Entering { grant, holding, room } = desk.enter(&asked, Suggest::WhatFits)?;
        region.take(&grant.after, &holding, terms.owner);
        let Holding { cpus, .. } = holding;
        Ok(Granted {
            is_partition: terms.regime.is_partition(&free, terms.online),
            decided_by: grant.decided_by,
            beside: foreign.names(&cpus),
            room,
            cpus,
        })
    }

    /// Checks that the reservations of a regime keep their guarantees beside this foreign load.
    ///
    /// # Errors
    /// The shortfall.
    pub fn still_keeps(&self, terms: &Terms<'_>, foreign: &Foreign) -> Result<(), NotGranted> {
        for region in self.of(terms.regime) {
            region.still_keeps(terms, foreign)?;
        }
        Ok(())
    }

    /// Returns the region of a newcomer, and creates it if it does not exist.
    fn region(&mut self, terms: &Terms<'_>) -> Result<usize, NotGranted> {
        let Terms { regime, online, .. } = *terms;
        if let Some(asked) = terms.cpus.filter(|cpus| !cpus.is_subset(online) || cpus.is_empty()) {
            return Err(NotGranted::NoSuchCpus { asked: asked.clone(), online: online.clone() });
        }
        let wanted = regime.has_own_cpus().then(|| terms.cpus.unwrap_or(online).clone());
        let same = |region: &Region| region.regime == regime && region.cpus == wanted;
        if let Some(index) = self.regions.iter().position(same) {
            return Ok(index);
        }
        if let Some(wanted) = &wanted {
            if let Some(run) = terms.runs.iter().position(|run| !run.is_disjoint(wanted)) {
                return Err(NotGranted::OfRun { run });
            }
            let mut others = self.regions.iter().filter(|it| !it.cpus().is_disjoint(wanted));
            if let Some(first) = others.next() {
                let taken = others.fold(first.cpus(), |all, region| all.union(&region.cpus()));
                return Err(NotGranted::OfRegions { taken, by: Box::new(first.clone()) });
            }
        }
        self.regions.push(Region {
            regime,
            cpus: wanted,
            held: Vec::new(),
            exceeded: CpuSet::new(),
            forgotten: CpuSet::new(),
            next_id: 0,
        });
        Ok(self.regions.len() - 1)
    }

    /// Returns the reason why no CPU is free for a region.
    fn nothing_free(&self, index: usize, terms: &Terms<'_>) -> NotGranted {
        if let Some(run) = terms.runs.iter().position(|run| !run.is_disjoint(terms.online)) {
            return NotGranted::OfRun { run };
        }
        let others = self.regions.iter().enumerate().filter(|&(other, _)| other != index);
        let mut others = others.map(|(_, other)| other).filter(|other| !other.cpus().is_empty());
        match others.next() {
            Some(first) => {
                let taken = others.fold(first.cpus(), |all, region| all.union(&region.cpus()));
                NotGranted::OfRegions { taken, by: Box::new(first.clone()) }
            }
            None => NotGranted::NoSuchCpus { asked: CpuSet::new(), online: terms.online.clone() },
        }
    }

    /// Returns the priority of a thread of SCHED_FIFO: from [`HIGHEST`] downwards on each CPU, in
    /// the order of the policy.
    pub fn priority(&self, owner: &str, name: &str) -> Option<i32> {
        let is_it = |held: &&Held| {
            let Holding { task, left, .. } = &held.holding;
            held.owner == owner && task.name == name && left.is_none()
        };
        let (region, own) = self
            .regions
            .iter()
            .find_map(|region| Some((region, region.held.iter().find(is_it)?)))?;
        let key = |held: &Held| region.regime.key(&held.holding.task, held.holding.id);
        let own_key = key(own)?;
        let here = region.held.iter().map(|held| (held, &held.holding));
        let here = here.filter(|(_, it)| it.left.is_none() && it.cpus == own.holding.cpus);
        let above: BTreeSet<_> =
            here.filter_map(|(held, _)| key(held)).filter(|other| *other < own_key).collect();
        Some(HIGHEST - i32::try_from(above.len()).unwrap_or(HIGHEST))
    }

    /// Returns the CPUs that the policy of a region may grant to a newcomer: those of the region,
    /// or for a partitioned policy those that no other region has.
    fn free(&self, index: usize, terms: &Terms<'_>) -> CpuSet {
        let region = &self.regions[index];
        if let Some(cpus) = &region.cpus {
            return cpus.clone();
        }
        let others = self.regions.iter().enumerate().filter(|&(other, _)| other != index);
        let others = others.map(|(_, other)| other.cpus()).chain(terms.runs.iter().cloned());
        let mut free = others.fold(terms.online.clone(), |free, other| free.difference(&other));
        // The rest of the machine needs a CPU as well, and most interrupts arrive at the first one.
        if terms.cpus.is_none()
            && free == *terms.online
            && free.len() > 1
            && let Some(first) = free.lowest()
        {
            free.remove(first);
        }
        free.union(&region.cpus())
    }
}

/// A division of the CPUs of a region into clusters, and the policy on them.
#[derive(Clone)]
struct Way {
    clusters: Vec<CpuSet>,
    spec: String,
}

impl Region {
    fn is_held(&self) -> bool {
        self.held.iter().any(|held| held.holding.left.is_none())
    }

    /// Returns the CPUs of the region.
    pub fn cpus(&self) -> CpuSet {
        let of_members =
            || self.held.iter().fold(CpuSet::new(), |all, held| all.union(&held.holding.cpus));
        self.cpus.clone().unwrap_or_else(of_members)
    }

    fn still_keeps(&self, terms: &Terms<'_>, foreign: &Foreign) -> Result<(), NotGranted> {
        let cpus = self.cpus();
        if !self.regime.has_budgets() {
            let held: Vec<Holding> = self.held.iter().map(|held| held.holding.clone()).collect();
            for cpu in cpus.iter() {
                foreign.keep(self.regime, &held, &CpuSet::single(cpu))?;
            }
            return Ok(());
        }
        let Some(first) = self.held.first().map(|held| &held.holding.task) else { return Ok(()) };
        for way in self.ways(terms, &cpus, first) {
            let mut admitted = self.admitted(terms, foreign, way);
            foreign.take_part(&mut admitted, self.regime, first)?;
            let nothing = CpuSet::new();
            let ask = Ask::Lose(&nothing);
            match admit(terms.registry, &admitted, terms.now, &ask, &options(Suggest::Nothing))? {
                Admission::Granted(_) => {}
                Admission::Refused(refused) => return Err(NotGranted::Refused(refused)),
            }
            for place in places(&admitted.holdings) {
                foreign.keep(self.regime, &admitted.holdings, &place)?;
            }
        }
        Ok(())
    }

    /// Returns the ways to admit a newcomer on these CPUs, in the order in which they are tried.
    /// Never empty.
    fn ways(&self, terms: &Terms<'_>, free: &CpuSet, newcomer: &Reservation) -> Vec<Way> {
        let single = || free.iter().map(CpuSet::single).collect();
        let whole = || vec![free.clone()];
        let spec = || self.regime.spec().to_owned();
        let limited = || format!("{}:limit={}", self.regime.spec(), terms.limit);
        match self.regime {
            Regime::KernelDlSp | Regime::DlSp => {
                // As long as every thread is tied to one CPU, no thread migrates, and each CPU is a
                // system of its own. A thread that may use all CPUs cannot be combined with threads
                // whose deadlines are guaranteed on one.
                let wants_all = newcomer.cpus.as_ref() == Some(free);
                let is_tied = self.held.iter().all(|held| held.holding.cpus.len() == 1);
                let spec = if self.regime.is_ext() { spec() } else { limited() };
                let tied = Way { clusters: single(), spec: spec.clone() };
                let all = Way { clusters: whole(), spec };
                if is_tied && !wants_all { vec![tied, all] } else { vec![all] }
            }
            Regime::KernelDl => vec![Way { clusters: whole(), spec: limited() }],
            Regime::PEdf => vec![Way { clusters: single(), spec: limited() }],
            Regime::PDm
            | Regime::PRm
            | Regime::PFp
            | Regime::ExtDl
            | Regime::Apedf
            | Regime::A2pedf => vec![Way { clusters: whole(), spec: spec() }],
        }
    }

    /// Returns the admitted system in the form that the tests analyse.
    fn admitted(&self, terms: &Terms<'_>, foreign: &Foreign, way: Way) -> Admitted {
        let holdings: Vec<Holding> = self.held.iter().map(|held| held.holding.clone()).collect();
        let count = terms.online.highest().map_or(1, |cpu| cpu.index() + 1);
        let mut platform = Platform::identical(count);
        platform.clusters = way.clusters;
        Admitted {
            loads: foreign.above(self.regime, &holdings, &self.cpus()),
            holdings,
            exceeded: self.exceeded.clone(),
            forgotten: self.forgotten.clone(),
            next_id: self.next_id,
            ..Admitted::new(platform, way.spec)
        }
    }

    /// Replaces the admitted reservations by those after an admission, without the threads that
    /// only took part in it.
    fn take(&mut self, after: &Admitted, new: &Holding, owner: &str) {
        let owner_of = |holding: &Holding| match self
            .held
            .iter()
            .find(|held| held.holding.id == holding.id && holding.id != new.id)
        {
            Some(known) => known.owner.clone(),
            None => owner.to_owned(),
        };
        let ours = after.holdings.iter().filter(|holding| holding.id < after.next_id);
        let held = ours.map(|it| Held { owner: owner_of(it), holding: it.clone() });
        self.held = held.collect();
        self.exceeded = after.exceeded.clone();
        self.forgotten = after.forgotten.clone();
        self.next_id = after.next_id;
    }
}

fn options(suggest: Suggest) -> AdmitOptions {
    AdmitOptions { effort: Effort::Quick, suggest, ..AdmitOptions::default() }
}

/// Returns the distinct sets of CPUs that are in use.
fn places(held: &[Holding]) -> Vec<CpuSet> {
    let mut places: Vec<CpuSet> = Vec::new();
    for holding in held {
        if !places.contains(&holding.cpus) {
            places.push(holding.cpus.clone());
        }
    }
    places
}

/// A question about a region.
struct Desk<'a> {
    region: &'a Region,
    terms: &'a Terms<'a>,
    foreign: &'a Foreign,
    /// The CPUs that may be granted.
    free: &'a CpuSet,
}

/// A newcomer that can be admitted.
struct Entering {
    grant: Box<Grant>,
    holding: Holding,
    room: LeavesRoom,
}

/// The outcome of trying one way.
enum Tried {
    Entering(Entering),
    /// The tests of the policy refuse, or the question is not valid.
    Refused(NotGranted),
    /// The newcomer would be granted these CPUs if not for the foreign load.
    Beside(Box<Shortfall>, CpuSet),
}

impl Desk<'_> {
    /// Looks for CPUs where all guarantees still hold, beside the foreign load of those CPUs.
    fn enter(&self, asked: &Reservation, suggest: Suggest) -> Result<Entering, NotGranted> {
        let mut first = None;
        let mut missing: Option<Box<Shortfall>> = None;
        for way in self.region.ways(self.terms, self.free, asked) {
            let mut asked = asked.clone();
            loop {
                match self.attempt(way.clone(), &asked, suggest) {
                    Tried::Entering(entering) => return Ok(entering),
                    Tried::Refused(refused) => {
                        first.get_or_insert(refused);
                        break;
                    }
                    Tried::Beside(shortfall, cpus) => {
                        missing.get_or_insert(shortfall);
                        // Try again with the other CPUs.
                        let own = asked.cpus.as_ref().unwrap_or(self.free);
                        let left = own.intersection(self.free).difference(&cpus);
                        if left.is_empty() || self.is_whole() {
                            break;
                        }
                        asked.cpus = Some(left);
                    }
                }
            }
        }
        let Some(shortfall) = missing else {
            let mut refused = first.expect("there is at least one way");
            if let NotGranted::Refused(Refused { suggestions, .. }) = &mut refused {
                let all = std::mem::take(suggestions).into_iter();
                suggestions.extend(all.filter_map(|one| self.beside_others(one, asked)));
            }
            return Err(refused);
        };
        let largest = match suggest {
            Suggest::WhatFits => self.largest_runtime(asked, asked.runtime),
            Suggest::Nothing => None,
        };
        Err(NotGranted::Refused(Refused {
            shortfalls: vec![*shortfall],
            suggestions: largest.map(Suggestion::Runtime).into_iter().collect(),
            leaving: Vec::new(),
        }))
    }

    /// Returns true if a thread uses all CPUs of the region, so that it cannot have others.
    fn is_whole(&self) -> bool {
        matches!(self.terms.regime, Regime::KernelDl | Regime::ExtDl)
    }

    fn attempt(&self, way: Way, asked: &Reservation, suggest: Suggest) -> Tried {
        let Terms { registry, regime, now, .. } = *self.terms;
        let mut admitted = self.region.admitted(self.terms, self.foreign, way);
        if let Err(unbounded) = self.foreign.take_part(&mut admitted, regime, asked) {
            return Tried::Refused(unbounded.into());
        }
        let grant = match admit(registry, &admitted, now, &Ask::Enter(asked), &options(suggest)) {
            Ok(Admission::Granted(grant)) => grant,
            Ok(Admission::Refused(refused)) => return Tried::Refused(NotGranted::Refused(refused)),
            Err(error) => return Tried::Refused(error.into()),
        };
        let holding = grant.holding.clone().expect("a newcomer has CPUs");
        match self.foreign.keep(regime, &grant.after.holdings, &holding.cpus) {
            Ok(room) => Tried::Entering(Entering { grant, holding, room }),
            Err(shortfall) => Tried::Beside(shortfall, holding.cpus),
        }
    }

    /// Returns the suggestion of the tests, which do not know all of the foreign load, in a form
    /// that also holds beside it.
    fn beside_others(&self, suggestion: Suggestion, asked: &Reservation) -> Option<Suggestion> {
        let is_granted = |terms: &Terms<'_>, asked: &Reservation| {
            let Desk { region, foreign, free, .. } = *self;
            Desk { region, terms, foreign, free }.enter(asked, Suggest::Nothing).is_ok()
        };
        let holds = match &suggestion {
            Suggestion::Runtime(runtime) => {
                let runtime = *runtime;
                let smaller = Reservation { runtime, ..asked.clone() };
                if !is_granted(self.terms, &smaller) {
                    return self.largest_runtime(asked, runtime).map(Suggestion::Runtime);
                }
                true
            }
            Suggestion::Cpus(cpus) => is_granted(self.terms, &asked.clone().on(cpus.clone())),
            Suggestion::Later(now) => is_granted(&Terms { now: *now, ..*self.terms }, asked),
            Suggestion::Policy(_) => true,
        };
        holds.then_some(suggestion)
    }

    /// Returns the largest runtime below `limit`, in whole microseconds, with which the newcomer
    /// would be admitted.
    fn largest_runtime(&self, asked: &Reservation, limit: Service) -> Option<Service> {
        largest(limit, |runtime| {
            let smaller = Reservation { runtime, ..asked.clone() };
            self.enter(&smaller, Suggest::Nothing).is_ok()
        })
    }
}

#[cfg(test)]
mod tests;
