//! The book of admissions: a document beside the register, read and written under the lock of the
//! register. `layland_guarantee::admission` makes the decisions.
//!
//! The machine is divided into regions: CPUs under one policy. `dl` has all CPUs, or those of
//! `--cpus`; the partitioned policies have the CPUs that were granted to members. Regions do not
//! overlap, so that each test accounts for everything on its CPUs. A region is removed with the
//! last of its members.
//!
//! Long because the document, its regions and the queries about them belong together.

use super::args::{Engine, Policy};
use super::foreign::take_part;
use super::strangers::{HIGHEST, Strangers};
use crate::ui::exit::{Failure, Message};
use layland_guarantee::Effort;
use layland_guarantee::admission::{
    Admission, AdmissionError, AdmitOptions, Admitted, Ask, Grant, Guarantee, Holding, How, Kept,
    LeavesRoom, Left, Refused, Reservation, Shortfall, Suggest, Suggestion, admit,
};
use layland_linux::exec::{Limits, Tid, set_priority};
use layland_linux::{Admitting, Member, Throttling};
use layland_model::{CpuId, CpuSet, Duration, Index, Platform, Rate, Service, Time, counted};
use layland_policy::Registry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Book {
    regions: Vec<Region>,
}

/// CPUs under one policy.
#[derive(Serialize, Deserialize)]
struct Region {
    policy: String,
    /// The CPUs of a root domain; for a partitioned policy, those of its members.
    cpus: Option<String>,
    held: Vec<Entry>,
    exceeded: String,
    forgotten: String,
    next_id: u64,
}

/// A [`Holding`] and its owner.
#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    id: u64,
    /// The id of its member in the register.
    owner: String,
    name: String,
    runtime_ns: i64,
    deadline_ns: i64,
    period_ns: i64,
    tardiness_ns: Option<i64>,
    /// The priority of its task, if the policy uses it.
    #[serde(default)]
    priority: Option<i64>,
    cpus: String,
    left: Option<Gone>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Gone {
    at_ns: i64,
    until_ns: i64,
}

fn set_of(text: &str) -> CpuSet {
    text.parse().unwrap_or_default()
}

impl Entry {
    fn of(holding: &Holding, owner: &str) -> Entry {
        let Holding { id, task, cpus, left } = holding;
        Entry {
            id: *id,
            owner: owner.to_owned(),
            name: task.name.clone(),
            runtime_ns: task.runtime.ns(),
            deadline_ns: task.deadline.ns(),
            period_ns: task.period.ns(),
            tardiness_ns: match task.guarantee {
                Guarantee::Deadlines => None,
                Guarantee::Tardiness(most) => Some(most.ns()),
            },
            priority: task.priority,
            cpus: cpus.to_string(),
            left: left.map(|left| Gone { at_ns: left.at.ns(), until_ns: left.until.ns() }),
        }
    }

    fn holding(&self) -> Holding {
        let cpus = set_of(&self.cpus);
        let tardiness = self.tardiness_ns.map(Duration::from_ns);
        let task = Reservation {
            name: self.name.clone(),
            runtime: Service::from_ns(self.runtime_ns),
            deadline: Duration::from_ns(self.deadline_ns),
            period: Duration::from_ns(self.period_ns),
            cpus: None,
            priority: self.priority,
            // Ties go to the reservation that was admitted first.
            rank: self.id as i64,
            guarantee: tardiness.map_or(Guarantee::Deadlines, Guarantee::Tardiness),
        };
        let left = self.left.map(|Gone { at_ns, until_ns }| Left {
            at: Time::from_ns(at_ns),
            until: Time::from_ns(until_ns),
            how: How::Gone,
        });
        Holding { id: self.id, task, cpus, left }
    }
}

impl Region {
    fn is_held(&self) -> bool {
        self.held.iter().any(|entry| entry.left.is_none())
    }

    /// Returns the CPUs of the region.
    fn cpus(&self) -> CpuSet {
        match &self.cpus {
            Some(cpus) => set_of(cpus),
            None => {
                self.held.iter().fold(CpuSet::new(), |all, entry| all.union(&set_of(&entry.cpus)))
            }
        }
    }
}

/// The properties of the machine that matter for admission.
pub(crate) struct Machine {
    /// The CPUs that are online.
    pub(crate) online: CpuSet,
    pub(crate) limits: Limits,
    /// The time that the kernel withholds from real-time threads.
    pub(crate) kept: Vec<Kept>,
}

impl Machine {
    /// Reads the machine, with the limits of the control groups of this process.
    pub(crate) fn read() -> Machine {
        Machine::of(i32::try_from(std::process::id()).unwrap_or(i32::MAX))
    }

    /// Reads the machine, with the limits of the control groups of a process.
    pub(crate) fn of(process: i32) -> Machine {
        let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let online = text.trim().parse().unwrap_or_else(|_| CpuSet::first(1));
        let of_machine = Throttling::of_machine().into_iter();
        let of_machine = of_machine.map(|one| ("sched_rt_runtime_us".to_owned(), one));
        let all = of_machine.chain(Throttling::of_groups(process));
        let kept = all.map(|(of, one)| match one.is_fair_server {
            true => Kept::FairServer { runtime: one.gap(), period: one.period },
            false => Kept::Throttling { of, runtime: one.runtime, period: one.period },
        });
        Machine { online, limits: Limits::read(), kept: kept.collect() }
    }
}

/// The parameters of a request besides the reservation.
pub(crate) struct Terms<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) machine: &'a Machine,
    pub(crate) engine: Engine,
    pub(crate) policy: Policy,
    /// The CPUs of `--cpus`, or of the daemon.
    pub(crate) cpus: Option<&'a CpuSet>,
    /// The id of the member that makes the request.
    pub(crate) owner: &'a str,
    /// Running threads for which the reservation is requested. Their current scheduling class does
    /// not count.
    pub(crate) meant: &'a [Tid],
}

impl Terms<'_> {
    /// Returns the name of the policy in the book. SCHED_DEADLINE and the policy `dl` on sched_ext
    /// are different regions.
    fn region(&self) -> String {
        match self.engine {
            Engine::Kernel => self.policy.name().to_owned(),
            Engine::Ext => format!("{} (ext)", self.policy.name()),
        }
    }
}

/// Returns the spec of a policy of the engine `ext`, as it is built and analysed. If the policy can
/// reject an excessive request, the spec enables that.
pub(crate) fn spec_of(policy: Policy) -> &'static str {
    match policy {
        Policy::Dl => "dl:ac=on",
        other => other.name(),
    }
}

/// A division of the CPUs of a region into clusters, and the policy on them.
#[derive(Clone)]
struct Way {
    clusters: Vec<CpuSet>,
    spec: String,
}

/// A placement that was granted.
pub(crate) struct Granted {
    pub(crate) cpus: CpuSet,
    pub(crate) is_partition: bool,
    /// The deciding test.
    pub(crate) decided_by: Option<&'static str>,
    /// Further conditions of the promise: threads of others, and ordinary threads that must not
    /// wait for too long.
    pub(crate) beside: Vec<String>,
}

/// A newcomer that can be admitted.
struct Entering {
    grant: Box<Grant>,
    /// The names of the threads in the analysis that were not admitted by layland.
    foreign: Vec<String>,
    room: LeavesRoom,
}

/// The reason why a newcomer is not admitted.
pub(crate) enum NotGranted {
    /// At least one guarantee would be lost.
    Refused(Refused),
    /// Another failure.
    Failure(Failure),
}

impl From<Failure> for NotGranted {
    fn from(failure: Failure) -> NotGranted {
        NotGranted::Failure(failure)
    }
}

impl Book {
    /// Reads the book, without the members that no longer exist.
    ///
    /// # Errors
    /// Fails if the register cannot be read.
    pub(crate) fn read(admitting: &Admitting) -> Result<(Book, Vec<Member>), Failure> {
        let members = admitting.members().map_err(|error| {
            Failure::refused(format!("failed to take back what a dead program had: {error}"))
        })?;
        let mut book: Book = match admitting.remembered() {
            Some(text) if !members.is_empty() => serde_json::from_str(&text).map_err(|error| {
                Failure::refused(format!("the admitted reservations cannot be read: {error}")).help(
                    "give all reservations back: layland exec --list; layland exec --leave NAME",
                )
            })?,
            Some(_) | None => Book::default(),
        };
        let alive: BTreeSet<&str> = members.iter().map(|(id, _)| id.as_str()).collect();
        let gone: BTreeSet<String> = (book.regions.iter().flat_map(|region| &region.held))
            .filter(|entry| !alive.contains(entry.owner.as_str()))
            .map(|entry| entry.owner.clone())
            .collect();
        gone.iter().for_each(|owner| book.leave(owner, |_| true));
        Ok((book, members.into_iter().map(|(_, member)| member).collect()))
    }

    /// # Errors
    /// Fails if the book cannot be written.
    pub(crate) fn write(&self, admitting: &Admitting) -> Result<(), Failure> {
        let text = serde_json::to_string(self).unwrap_or_default();
        admitting
            .remember(&text)
            .map_err(|error| Failure::refused(format!("failed to write what is admitted: {error}")))
    }

    /// Marks as left the reservations of an owner whose names match.
    pub(crate) fn leave(&mut self, owner: &str, is_it: impl Fn(&str) -> bool) {
        let now = now();
        for entry in self.regions.iter_mut().flat_map(|region| &mut region.held) {
            if entry.owner == owner && entry.left.is_none() && is_it(&entry.name) {
                let window = entry.deadline_ns.min(entry.period_ns);
                let at_ns = now.ns();
                entry.left = Some(Gone { at_ns, until_ns: at_ns + window });
            }
        }
        self.regions.retain(Region::is_held);
    }

    /// Returns the foreign load that can precede the threads of a policy, with `new` newcomers. If
    /// only measurement can bound some of these threads, this takes a second.
    pub(crate) fn strangers(&self, terms: &Terms<'_>, members: &[Member], new: usize) -> Strangers {
        let name = terms.region();
        let held = self.regions.iter().filter(|region| region.policy == name);
        let count = new + held.map(|region| region.held.len()).sum::<usize>();
        let kept = match terms.engine {
            Engine::Kernel => &terms.machine.kept[..],
            // Threads of sched_ext run after ordinary ones, so no time is kept from them.
            Engine::Ext => &[],
        };
        let mut found = Strangers::look(terms.policy, members, kept, count);
        found.deadline.retain(|(thread, ..)| !terms.meant.contains(&thread.tid));
        found.rivals.retain(|watched| !terms.meant.contains(&watched.rival.thread.tid));
        found
    }

    /// Admits a newcomer if all guarantees still hold beside these strangers.
    pub(crate) fn admit(
        &mut self,
        strangers: &Strangers,
        terms: &Terms<'_>,
        members: &[Member],
        runs: &[layland_linux::Run],
        reservation: &Reservation,
    ) -> Result<Granted, NotGranted> {
        // A newcomer may change the priorities of all admitted threads.
        let is_out_of_reach =
            |member: &&Member| member.is_elsewhere() && member.policy == terms.policy.name();
        if !terms.policy.has_budgets()
            && let Some(member) = members.iter().find(is_out_of_reach)
        {
            let what = format!(
                "{member} is in another PID namespace: its threads cannot be given other priorities from here"
            );
            return Err(NotGranted::Failure(Failure::refused(what).help(
                "admit all programs under this policy from the same container, or choose --policy p-edf",
            )));
        }
        let index = self.region(terms, members, runs)?;
        let free = self.free(index, terms, runs);
        let region = &self.regions[index];
        let mut asked = reservation.clone();
        asked.rank = region.next_id as i64;
        if terms.policy == Policy::Dl && terms.engine == Engine::Kernel {
            // A thread of SCHED_DEADLINE may use the whole region.
            asked.cpus = None;
        }
        let entering = region.enter(strangers, terms, &free, &asked, Suggest::WhatFits);
        let entering = match entering {
            Ok(entering) => entering,
            Err(refused) => {
                self.regions.retain(Region::is_held);
                return Err(refused);
            }
        };
        let Entering { grant, foreign: names, room } = entering;
        let Some(holding) = grant.holding else {
            return Err(Failure::refused("nothing was granted").into());
        };
        let is_partition = match terms.policy {
            _ if terms.engine == Engine::Ext => false,
            Policy::Dl => {
                region.cpus.is_some()
                    && set_of(region.cpus.as_deref().unwrap_or_default()) != terms.machine.online
            }
            Policy::PEdf => terms.machine.online.len() > 1,
            Policy::PDm
            | Policy::PRm
            | Policy::PFp
            | Policy::DlSp
            | Policy::Apedf
            | Policy::A2pedf => false,
        };
        let mut beside = strangers.names(&holding.cpus);
        if room == LeavesRoom::OnEachAlone {
            beside.push("ordinary threads that never wait long for a CPU".to_owned());
        }
        self.regions[index].take(&grant.after, &names, &holding, terms.owner);
        Ok(Granted { cpus: holding.cpus, is_partition, decided_by: grant.decided_by, beside })
    }

    /// Checks that the reservations of a region keep their guarantees beside the current foreign
    /// load.
    ///
    /// # Errors
    /// Returns a message that describes the shortfall.
    pub(crate) fn still_keeps(
        &self,
        strangers: &Strangers,
        terms: &Terms<'_>,
    ) -> Result<(), String> {
        let name = terms.region();
        for region in self.regions.iter().filter(|region| region.policy == name) {
            let cpus = region.cpus();
            let held: Vec<Holding> = region.held.iter().map(Entry::holding).collect();
            if !terms.policy.has_budgets() {
                for cpu in cpus.iter() {
                    let kept = strangers.keep(terms.policy, &held, &CpuSet::single(cpu));
                    kept.map_err(|missing| missing.to_string())?;
                }
                continue;
            }
            let Some(first) = held.first() else { continue };
            for way in region.ways(terms, &cpus, &first.task) {
                let mut admitted = region.admitted(terms, way);
                let taken =
                    take_part(&mut admitted, terms.engine, &strangers.deadline, &first.task);
                taken.map_err(|failure| match failure.message {
                    Message::Plain(text, _) | Message::Drawn(text) => text,
                })?;
                let options = AdmitOptions { suggest: Suggest::Nothing, ..options() };
                let nothing = CpuSet::new();
                let asked = admit(terms.registry, &admitted, now(), &Ask::Lose(&nothing), &options);
                match asked {
                    Ok(Admission::Granted(_)) => {}
                    Ok(Admission::Refused(refused)) => return Err(refused.to_string()),
                    Err(error) => return Err(error.to_string()),
                }
                for place in places(&admitted.holdings) {
                    let kept = strangers.keep(terms.policy, &admitted.holdings, &place);
                    kept.map_err(|missing| missing.to_string())?;
                }
            }
        }
        Ok(())
    }

    /// Returns the region of a newcomer, and creates it if it does not exist.
    fn region(
        &mut self,
        terms: &Terms<'_>,
        members: &[Member],
        runs: &[layland_linux::Run],
    ) -> Result<usize, Failure> {
        let name = &terms.region();
        let online = &terms.machine.online;
        if let Some(cpus) = terms.cpus.filter(|cpus| !cpus.is_subset(online) || cpus.is_empty()) {
            let has = layland_linux::cpus_named(&online.to_string());
            return Err(Failure::usage(format!("--cpus {cpus}: this machine has {has}")));
        }
        let is_whole = terms.policy == Policy::Dl || terms.engine == Engine::Ext;
        let wanted = is_whole.then(|| terms.cpus.unwrap_or(online).clone());
        let same = |region: &Region| {
            region.policy == *name && region.cpus.as_deref().map(set_of) == wanted
        };
        if let Some(index) = self.regions.iter().position(same) {
            return Ok(index);
        }
        if let Some(wanted) = &wanted {
            let others = self.regions.iter().filter(|region| !region.cpus().is_disjoint(wanted));
            let taken = others.fold(CpuSet::new(), |all, region| all.union(&region.cpus()));
            let run = runs
                .iter()
                .find(|run| run.cpus.iter().any(|&cpu| wanted.contains(CpuId::from_index(cpu))));
            if let Some(run) = run {
                return Err(Failure::refused(format!("a run has CPUs that this one needs: {run}"))
                    .help("wait until it has ended, or choose other CPUs with --cpus"));
            }
            if !taken.is_empty() {
                let who: Vec<String> = members
                    .iter()
                    .filter(|member| {
                        member.cpus.iter().any(|&cpu| taken.contains(CpuId::from_index(cpu)))
                    })
                    .map(ToString::to_string)
                    .collect();
                let left = online.difference(&taken);
                let help = match left.is_empty() {
                    true => format!("join them: --policy {}", self.policy_of(&taken)),
                    false => format!(
                        "choose other CPUs: --cpus {left}, or join them: --policy {}",
                        self.policy_of(&taken)
                    ),
                };
                let are = if taken.len() == 1 { "is" } else { "are" };
                let cpus = layland_linux::cpus_named(&taken.to_string());
                let other = format!("{cpus} {are} under another policy: {}", who.join(" and "));
                return Err(Failure::no(other).help(help));
            }
        }
        self.regions.push(Region {
            policy: name.to_owned(),
            cpus: wanted.map(|cpus| cpus.to_string()),
            held: Vec::new(),
            exceeded: String::new(),
            forgotten: String::new(),
            next_id: 0,
        });
        Ok(self.regions.len() - 1)
    }

    /// Returns the priority of a thread of class `SCHED_FIFO`. The threads of a CPU are ordered by
    /// its policy, and ties go to the one that was admitted first; tasks with the same given
    /// priority share one. All priorities are above those of ordinary threads and below those of
    /// the threads that supervise them.
    pub(crate) fn priority(&self, owner: &str, name: &str) -> Option<i32> {
        let is_it =
            |entry: &&Entry| entry.owner == owner && entry.name == name && entry.left.is_none();
        let region =
            self.regions.iter().find(|region| region.held.iter().any(|entry| is_it(&entry)))?;
        let policy = Policy::find(&region.policy)?;
        let own = region.held.iter().find(is_it)?;
        let key = |entry: &Entry| match policy {
            Policy::PDm => Some((entry.deadline_ns, entry.id)),
            Policy::PRm => Some((entry.period_ns, entry.id)),
            Policy::PFp => Some((entry.priority?, 0)),
            Policy::Dl | Policy::PEdf | Policy::DlSp | Policy::Apedf | Policy::A2pedf => None,
        };
        key(own)?;
        let here =
            region.held.iter().filter(|entry| entry.left.is_none() && entry.cpus == own.cpus);
        let above: BTreeSet<_> = here.map(key).filter(|other| *other < key(own)).collect();
        let above = above.len();
        Some(HIGHEST - i32::try_from(above).unwrap_or(HIGHEST))
    }

    /// Sets the priorities of all admitted threads of class `SCHED_FIFO`. The lowest priority is
    /// set first, so that no thread is temporarily above a more urgent one.
    ///
    /// # Errors
    /// Fails if the register cannot be read, or if the kernel refuses.
    pub(crate) fn reorder(&self, admitting: &Admitting) -> Result<(), Failure> {
        let failed = |error| Failure::refused(format!("failed to read the register: {error}"));
        let mut wanted: Vec<(i32, i32)> = Vec::new();
        for (id, member) in &admitting.members().map_err(failed)? {
            let threads = member.reserved.iter().filter_map(|reserved| {
                Some((self.priority(id, &reserved.name)?, reserved.thread?))
            });
            wanted.extend(threads);
        }
        wanted.sort_unstable();
        // Report the first failure after all other priorities are set.
        let mut refused = None;
        for (priority, thread) in wanted {
            if let Err(error) = set_priority(thread, priority) {
                let what = format!("failed to give thread {thread} another priority: {error}");
                refused.get_or_insert(Failure::refused(what));
            }
        }
        refused.map_or(Ok(()), Err)
    }

    fn policy_of(&self, cpus: &CpuSet) -> String {
        let region = self.regions.iter().find(|region| !region.cpus().is_disjoint(cpus));
        region.map_or(String::new(), |region| {
            let cpus = region.cpus.as_ref().map_or(String::new(), |cpus| format!(" --cpus {cpus}"));
            format!("{}{cpus}", region.policy)
        })
    }

    /// Returns the CPUs that the policy of a region may grant to a newcomer: those of the region,
    /// or for a partitioned policy those that no other region has.
    fn free(&self, index: usize, terms: &Terms<'_>, runs: &[layland_linux::Run]) -> CpuSet {
        let region = &self.regions[index];
        if let Some(cpus) = &region.cpus {
            return set_of(cpus);
        }
        let others = self.regions.iter().enumerate().filter(|&(other, _)| other != index);
        let mut free = others
            .fold(terms.machine.online.clone(), |free, (_, other)| free.difference(&other.cpus()));
        for cpu in runs.iter().flat_map(|run| &run.cpus) {
            free.remove(CpuId::from_index(*cpu));
        }
        // The rest of the machine needs a CPU as well, and most interrupts arrive at the first one.
        if terms.cpus.is_none()
            && free == terms.machine.online
            && free.len() > 1
            && let Some(first) = free.lowest()
        {
            free.remove(first);
        }
        free.union(&region.cpus())
    }
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

fn options() -> AdmitOptions {
    AdmitOptions { effort: Effort::Quick, ..AdmitOptions::default() }
}

impl Region {
    /// Admits a newcomer where all guarantees still hold, beside the foreign load of those CPUs.
    fn enter(
        &self,
        strangers: &Strangers,
        terms: &Terms<'_>,
        free: &CpuSet,
        asked: &Reservation,
        suggest: Suggest,
    ) -> Result<Entering, NotGranted> {
        let options = AdmitOptions { suggest, ..options() };
        let mut first = None;
        let mut missing: Option<Box<Shortfall>> = None;
        for way in self.ways(terms, free, asked) {
            let mut asked = asked.clone();
            loop {
                let mut admitted = self.admitted(terms, way.clone());
                let foreign = match terms.policy.has_budgets() {
                    true => take_part(&mut admitted, terms.engine, &strangers.deadline, &asked),
                    false => Ok(Vec::new()),
                };
                let answer = foreign.map_err(NotGranted::from).and_then(|foreign| {
                    match admit(terms.registry, &admitted, now(), &Ask::Enter(&asked), &options) {
                        Ok(Admission::Granted(grant)) => Ok((grant, foreign)),
                        Ok(Admission::Refused(refused)) => Err(NotGranted::Refused(refused)),
                        Err(error) => Err(failure(&error).into()),
                    }
                });
                let (grant, foreign) = match answer {
                    Ok(found) => found,
                    Err(refused) => {
                        first.get_or_insert(refused);
                        break;
                    }
                };
                let Some(holding) = &grant.holding else { break };
                let cpus = holding.cpus.clone();
                match strangers.keep(terms.policy, &grant.after.holdings, &cpus) {
                    Ok(room) => return Ok(Entering { grant, foreign, room }),
                    Err(shortfall) => drop(missing.get_or_insert(shortfall)),
                }
                // Try again with the other CPUs.
                let own = asked.cpus.as_ref().unwrap_or(free).intersection(free);
                let left = own.difference(&cpus);
                if left.is_empty() || terms.policy == Policy::Dl {
                    break;
                }
                asked.cpus = Some(left);
            }
        }
        let Some(shortfall) = missing else {
            let nothing = || Failure::refused("nothing was granted").into();
            return Err(first.unwrap_or_else(nothing));
        };
        let mut refused =
            Refused { shortfalls: vec![*shortfall], suggestions: Vec::new(), leaving: Vec::new() };
        if suggest == Suggest::WhatFits {
            let fits = |us: i64| {
                let smaller = Reservation { runtime: Service::from_us(us), ..asked.clone() };
                self.enter(strangers, terms, free, &smaller, Suggest::Nothing).is_ok()
            };
            let (mut low, mut high) = (0, (asked.runtime.ns() + 999) / 1000);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if fits(middle) { low = middle } else { high = middle }
            }
            if low > 0 {
                refused.suggestions.push(Suggestion::Runtime(Service::from_us(low)));
            }
        }
        Err(NotGranted::Refused(refused))
    }

    /// Returns the ways to admit a newcomer, in the order in which they are tried.
    fn ways(&self, terms: &Terms<'_>, free: &CpuSet, newcomer: &Reservation) -> Vec<Way> {
        let limit = Rate::new(terms.machine.limits.limit_thousandths, 1000);
        let single = || free.iter().map(CpuSet::single).collect();
        let whole = || vec![free.clone()];
        let one = |clusters, spec| vec![Way { clusters, spec }];
        match terms.policy {
            Policy::DlSp => {
                // As long as every thread is tied to one CPU, no thread migrates, and each CPU is a
                // system of its own. A thread that may use all CPUs cannot be combined with threads
                // whose deadlines are guaranteed on one.
                let wants_all = newcomer.cpus.as_ref() == Some(free);
                let is_tied = self.held.iter().all(|entry| set_of(&entry.cpus).len() == 1);
                let tied = (is_tied && !wants_all).then(|| one(single(), "dl-sp".to_owned()));
                let all = one(whole(), "dl-sp".to_owned());
                tied.into_iter().chain([all]).flatten().collect()
            }
            policy if terms.engine == Engine::Ext => one(whole(), spec_of(policy).to_owned()),
            Policy::Dl => one(whole(), format!("dl:ac=on:limit={limit}")),
            Policy::PEdf => one(single(), format!("dl:ac=on:limit={limit}")),
            // Threads of the same priority share a SCHED_FIFO priority.
            Policy::PFp => one(whole(), "p-fp:tie=fifo".to_owned()),
            _ => one(whole(), terms.policy.name().to_owned()),
        }
    }

    /// Returns the admitted system in the form that the tests analyse.
    fn admitted(&self, terms: &Terms<'_>, way: Way) -> Admitted {
        let count = terms.machine.online.highest().map_or(1, |cpu| cpu.index() + 1);
        let mut platform = Platform::identical(count);
        let Way { clusters, spec } = way;
        platform.clusters = clusters;
        let mut admitted = Admitted::new(platform, spec);
        admitted.holdings = self.held.iter().map(Entry::holding).collect();
        admitted.exceeded = set_of(&self.exceeded);
        admitted.forgotten = set_of(&self.forgotten);
        admitted.next_id = self.next_id;
        admitted
    }

    /// Replaces the admitted reservations by those after an admission.
    fn take(&mut self, after: &Admitted, foreign: &[String], new: &Holding, owner: &str) {
        let owner_of = |holding: &Holding| {
            let known = self.held.iter().find(|entry| entry.id == holding.id);
            known.map_or(owner.to_owned(), |entry| entry.owner.clone())
        };
        let ours = after.holdings.iter().filter(|holding| !foreign.contains(&holding.task.name));
        let held = ours.map(|holding| match holding.id == new.id {
            true => Entry::of(holding, owner),
            false => Entry::of(holding, &owner_of(holding)),
        });
        self.held = held.collect();
        self.exceeded = after.exceeded.to_string();
        self.forgotten = after.forgotten.to_string();
        self.next_id = after.next_id;
    }
}

fn now() -> Time {
    Time::from_ns(layland_linux::now_ns())
}

fn failure(error: &AdmissionError) -> Failure {
    match error {
        AdmissionError::Invalid(_) => Failure::usage(error.to_string()),
        _ => Failure::refused(error.to_string()),
    }
}

/// Describes the shortfall and what would fit, as a message for the user.
pub(crate) fn explain(
    name: &str,
    terms: &Terms<'_>,
    reservation: &Reservation,
    refused: &Refused,
) -> Failure {
    let Reservation { runtime, deadline, period, .. } = reservation;
    let due = if deadline == period { String::new() } else { format!(" within {deadline:#}") };
    let mut message = format!(
        "{name}: {runtime:#} of every {period:#}{due} cannot be guaranteed under {}",
        terms.policy.name()
    );
    for shortfall in refused.shortfalls.iter().take(2) {
        message += &format!("\n  {shortfall}");
    }
    let way_out = refused.shortfalls.first().and_then(way_out);
    let mut help: Vec<String> = refused.suggestions.iter().map(ToString::to_string).collect();
    if !refused.leaving.is_empty() {
        help.push(format!(
            "{} left a moment ago: ask again",
            counted(refused.leaving.len(), "program")
        ));
    }
    help.extend(way_out.map(str::to_owned));
    let failure = Failure::no(message);
    if help.is_empty() { failure } else { failure.help(help.join("; ")) }
}

/// Returns advice if a setting of the machine is the obstacle.
fn way_out(missing: &Shortfall) -> Option<&'static str> {
    match missing {
        Shortfall::Throttled { .. } => Some("the limit is root's to raise"),
        Shortfall::FairServer { .. } => Some(
            "as root, echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime for each CPU lets ordinary threads wait",
        ),
        Shortfall::Beside { .. } => Some(
            "--policy p-edf comes before SCHED_FIFO; or end those threads, or give them lower priorities",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::foreign::Foreign;
    use super::*;
    use crate::ui::exit::Exit;
    use layland_linux::exec::Process;

    fn cpus(text: &str) -> CpuSet {
        text.parse().expect("a list of CPUs")
    }

    /// Requests `runtime` ms of every `period` ms under `dl-sp` on CPUs 1 to 3 of four. Returns the
    /// CPUs, or the refusal.
    fn ask(
        book: &mut Book,
        foreign: &[Foreign],
        name: &str,
        (runtime, period): (i64, i64),
        on: Option<&str>,
    ) -> Result<String, String> {
        let registry = Registry::standard();
        let (online, limits) = (CpuSet::first(4), Limits::read());
        let machine = Machine { online, limits, kept: Vec::new() };
        let all = cpus("1-3");
        let terms = Terms {
            registry: &registry,
            machine: &machine,
            engine: Engine::Ext,
            policy: Policy::DlSp,
            cpus: Some(&all),
            owner: "1",
            meant: &[],
        };
        let (runtime, period) = (Service::from_ms(runtime), Duration::from_ms(period));
        let mut reservation = Reservation::implicit(name, runtime, period);
        reservation.cpus = on.map(cpus);
        let strangers = Strangers { deadline: foreign.to_vec(), ..Strangers::default() };
        match book.admit(&strangers, &terms, &[], &[], &reservation) {
            Ok(granted) => Ok(granted.cpus.to_string()),
            Err(NotGranted::Refused(refused)) => Err(refused.shortfalls[0].to_string()),
            Err(NotGranted::Failure(failure)) => {
                assert_eq!(failure.exit, Exit::No);
                Err(format!("{:?}", failure.message))
            }
        }
    }

    /// Returns a thread with half a millisecond of every ten, on every CPU.
    fn foreign() -> Vec<Foreign> {
        let thread = layland_linux::exec::Thread {
            tid: layland_linux::exec::Tid(7),
            started: 1,
            process: Process(7),
            name: "other".to_owned(),
        };
        let period = Duration::from_ms(10);
        let runtime = Duration::from_us(500);
        let has = layland_linux::exec::Reservation { runtime, deadline: period, period };
        vec![(thread, has, vec![0, 1, 2, 3])]
    }

    #[test]
    fn threads_with_a_cpu_each_are_admitted_cpu_by_cpu() {
        let mut book = Book::default();
        let mut ask = |name: &str, c, on| ask(&mut book, &[], name, (c, 10), on);
        assert_eq!(ask("a", 6, Some("1")), Ok("1".to_owned()));
        assert_eq!(ask("b", 6, Some("2")), Ok("2".to_owned()));
        // The policy grants up to 95 % of a CPU.
        assert_eq!(ask("c", 3, Some("1")), Ok("1".to_owned()));
        let full =
            "the densities on CPU 1 would be 1.1000 together and may be 1.0000: 0.1000 is missing";
        assert_eq!(ask("d", 2, Some("1")), Err(full.to_owned()));
        assert!(ask("d", 1, Some("1")).is_err());
        // One of two CPUs, or any CPU: the one with enough free capacity.
        assert_eq!(ask("e", 3, Some("1-2")), Ok("2".to_owned()));
        assert_eq!(ask("f", 9, None), Ok("3".to_owned()));
        assert!(ask("g", 2, None).is_err());
        // A thread that may use all CPUs would run beside threads that are guaranteed one.
        assert!(ask("h", 1, Some("1-3")).is_err());
    }

    #[test]
    fn threads_that_may_use_all_cpus_are_beside_such_alone() {
        let mut book = Book::default();
        let mut ask = |name: &str, c, on| ask(&mut book, &[], name, (c, 20), on);
        assert_eq!(ask("a", 8, Some("1-3")), Ok("1-3".to_owned()));
        assert_eq!(ask("b", 8, None), Ok("1-3".to_owned()));
        let mixed = "the tasks on CPUs 1-3 do not all use the same CPUs";
        assert_eq!(ask("c", 1, Some("2")), Err(mixed.to_owned()));
    }

    #[test]
    fn a_thread_of_a_higher_class_takes_from_every_cpu_it_may_use() {
        let mut book = Book::default();
        let mut ask = |name: &str, c, on| ask(&mut book, &foreign(), name, (c, 10), on);
        // 2 (1/2) (10/10 + 1) = 2 of every 10.
        assert!(ask("a", 8, Some("1")).is_err());
        assert_eq!(ask("b", 7, Some("1")), Ok("1".to_owned()));
        assert!(ask("c", 1, Some("1")).is_err());
        assert_eq!(ask("d", 7, None), Ok("2".to_owned()));
        assert!(ask("e", 1, Some("1-3")).is_err_and(|why| why.contains("SCHED_DEADLINE")));
    }
}
