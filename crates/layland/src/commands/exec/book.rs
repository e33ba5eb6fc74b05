//! The book of admissions: a document beside the register, read and written under the lock of the
//! register. `layland_guarantee::admission::Book` makes the decisions.

use super::foreign::Look;
use super::machine::Machine;
use crate::ui::exit::Failure;
use layland_guarantee::admission::{
    AdmissionError, Book, Foreign, Granted, Guarantee, Held, Holding, How, LeavesRoom, Left,
    NotGranted, Refused, Regime, Region, Reservation, Shortfall, Terms,
};
use layland_linux::exec::{Tid, set_priority};
use layland_linux::{Admitting, Member};
use layland_model::{CpuId, CpuSet, Duration, Index, Service, Time, counted};
use layland_policy::Registry;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The form in which the book is written.
#[derive(Default, Serialize, Deserialize)]
struct Document {
    regions: Vec<WrittenRegion>,
}

#[derive(Serialize, Deserialize)]
struct WrittenRegion {
    policy: String,
    cpus: Option<String>,
    held: Vec<Entry>,
    exceeded: String,
    forgotten: String,
    next_id: u64,
}

/// A reservation and its owner.
#[derive(Serialize, Deserialize)]
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

#[derive(Serialize, Deserialize)]
struct Gone {
    at_ns: i64,
    until_ns: i64,
}

impl Document {
    fn of(book: &Book) -> Document {
        let of_region = |region: &Region| WrittenRegion {
            policy: region.regime.name(),
            cpus: region.cpus.as_ref().map(CpuSet::to_string),
            held: region.held.iter().map(Entry::of).collect(),
            exceeded: region.exceeded.to_string(),
            forgotten: region.forgotten.to_string(),
            next_id: region.next_id,
        };
        Document { regions: book.regions.iter().map(of_region).collect() }
    }

    /// # Errors
    /// If the document names an unknown policy, or CPUs that are not a list.
    fn book(self) -> Result<Book, String> {
        let of_region = |region: WrittenRegion| {
            let WrittenRegion { policy, cpus, held, exceeded, forgotten, next_id } = region;
            let regime = Regime::find(&policy).ok_or(format!("unknown policy `{policy}`"))?;
            Ok::<_, String>(Region {
                regime,
                cpus: cpus.as_deref().map(set_of).transpose()?,
                held: held.into_iter().map(Entry::held).collect::<Result<_, _>>()?,
                exceeded: set_of(&exceeded)?,
                forgotten: set_of(&forgotten)?,
                next_id,
            })
        };
        Ok(Book { regions: self.regions.into_iter().map(of_region).collect::<Result<_, _>>()? })
    }
}

impl Entry {
    fn of(held: &Held) -> Entry {
        let Holding { id, task, cpus, left } = &held.holding;
        Entry {
            id: *id,
            owner: held.owner.clone(),
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

    fn held(self) -> Result<Held, String> {
        let tardiness = self.tardiness_ns.map(Duration::from_ns);
        let task = Reservation {
            name: self.name,
            runtime: Service::from_ns(self.runtime_ns),
            deadline: Duration::from_ns(self.deadline_ns),
            period: Duration::from_ns(self.period_ns),
            cpus: None,
            priority: self.priority,
            rank: self.id as i64,
            guarantee: tardiness.map_or(Guarantee::Deadlines, Guarantee::Tardiness),
        };
        let left = self.left.map(|Gone { at_ns, until_ns }| Left {
            at: Time::from_ns(at_ns),
            until: Time::from_ns(until_ns),
            how: How::Gone,
        });
        let holding = Holding { id: self.id, task, cpus: set_of(&self.cpus)?, left };
        Ok(Held { owner: self.owner, holding })
    }
}

fn set_of(text: &str) -> Result<CpuSet, String> {
    match text {
        "" => Ok(CpuSet::new()),
        text => text.parse().map_err(|_| format!("`{text}` is not a list of CPUs")),
    }
}

/// Reads the book, without the members that no longer exist, and the other members.
///
/// # Errors
/// Fails if the register or the book cannot be read.
pub(crate) fn read(admitting: &Admitting) -> Result<(Book, Vec<Member>), Failure> {
    let members = admitting.members().map_err(|error| {
        Failure::refused(format!("failed to take back what a dead program had: {error}"))
    })?;
    let unreadable = |error: String| {
        Failure::refused(format!("the admitted reservations cannot be read: {error}"))
            .help("give all reservations back: layland exec --list; layland exec --leave NAME")
    };
    let document: Document = match admitting.remembered() {
        Some(text) if !members.is_empty() => {
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?
        }
        Some(_) | None => Document::default(),
    };
    let mut book = document.book().map_err(unreadable)?;
    let alive: BTreeSet<&str> = members.iter().map(|(id, _)| id.as_str()).collect();
    let gone: BTreeSet<String> = (book.regions.iter().flat_map(|region| &region.held))
        .filter(|held| !alive.contains(held.owner.as_str()))
        .map(|held| held.owner.clone())
        .collect();
    gone.iter().for_each(|owner| book.leave(owner, now(), |_| true));
    Ok((book, members.into_iter().map(|(_, member)| member).collect()))
}

/// Writes the book.
///
/// # Errors
/// Fails if the book cannot be written.
pub(crate) fn write(book: &Book, admitting: &Admitting) -> Result<(), Failure> {
    let text = serde_json::to_string(&Document::of(book)).unwrap_or_default();
    admitting
        .remember(&text)
        .map_err(|error| Failure::refused(format!("failed to write what is admitted: {error}")))
}

/// Returns the current time, by the clock of the book.
pub(crate) fn now() -> Time {
    Time::from_ns(layland_linux::now_ns())
}

/// A program that asks for reservations.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) machine: &'a Machine,
    pub(crate) regime: Regime,
    /// The CPUs of `--on-cpus`, or of the daemon.
    pub(crate) cpus: Option<&'a CpuSet>,
    /// The id of the member that makes the request.
    pub(crate) owner: &'a str,
    /// Running threads for which the reservation is requested.
    pub(crate) meant: &'a [Tid],
}

impl Request<'_> {
    /// Finds the foreign load that can precede the threads of the regime, with `new` newcomers.
    pub(crate) fn look(&self, book: &Book, members: &[Member], new: usize) -> Foreign {
        let Request { regime, meant, .. } = *self;
        let (kept, count) = (&self.machine.kept[..], new + book.count(regime));
        Look { regime, members, kept, count, meant }.now()
    }

    fn terms<'a>(&'a self, runs: &'a [CpuSet]) -> Terms<'a> {
        Terms {
            registry: self.registry,
            regime: self.regime,
            online: &self.machine.online,
            limit: &self.machine.share,
            cpus: self.cpus,
            runs,
            owner: self.owner,
            now: now(),
        }
    }

    /// Returns the CPU that the policy assigns to each of these reservations, if it assigns them all
    /// at once.
    pub(crate) fn partition(
        &self,
        book: &Book,
        runs: &[layland_linux::Run],
        asked: &[Reservation],
        most: usize,
    ) -> Option<Vec<CpuSet>> {
        let of_runs: Vec<CpuSet> = runs.iter().map(|run| set_of_numbers(&run.cpus)).collect();
        book.partition(&self.terms(&of_runs), asked, most)
    }

    /// Admits a newcomer if all guarantees still hold beside this foreign load.
    ///
    /// # Errors
    /// Fails with the shortfall and with what would fit.
    pub(crate) fn admit(
        &self,
        book: &mut Book,
        foreign: &Foreign,
        members: &[Member],
        runs: &[layland_linux::Run],
        reservation: &Reservation,
    ) -> Result<Granted, Failure> {
        // A newcomer may change the priorities of all admitted threads.
        let policy = self.regime.policy();
        let is_out_of_reach = |member: &&Member| member.is_elsewhere() && member.policy == policy;
        if !self.regime.has_budgets()
            && let Some(member) = members.iter().find(is_out_of_reach)
        {
            let what = format!(
                "{member} is in another PID namespace: its threads cannot be given other priorities from here"
            );
            return Err(Failure::refused(what).help(
                "admit all programs under this policy from the same container, or choose --policy p-edf",
            ));
        }
        let of_runs: Vec<CpuSet> = runs.iter().map(|run| set_of_numbers(&run.cpus)).collect();
        let granted = book.admit(&self.terms(&of_runs), foreign, reservation);
        granted.map_err(|error| match error {
            NotGranted::Refused(refused) => self.refusal(reservation, &refused),
            NotGranted::OfRun { run } => {
                let message = format!("a run has CPUs that this one needs: {}", runs[run]);
                Failure::refused(message)
                    .help("wait until it has ended, or choose other CPUs with --on-cpus")
            }
            NotGranted::OfRegions { taken, by } => self.is_taken(&taken, &by, members),
            NotGranted::NoSuchCpus { asked, online } => {
                let has = layland_linux::cpus_named(&online.to_string());
                Failure::usage(format!("--on-cpus {asked}: this machine has {has}"))
            }
            NotGranted::Foreign(unbounded) => Failure::no(unbounded.to_string()).help(
                "beside it, deadlines are promised to threads with one CPU each: --policy dl-sp --on-cpus N",
            ),
            NotGranted::Invalid(error @ AdmissionError::Invalid(_)) => {
                Failure::usage(error.to_string())
            }
            NotGranted::Invalid(error) => Failure::refused(error.to_string()),
        })
    }

    /// Checks that the reservations of the regime keep their guarantees beside this foreign load.
    ///
    /// # Errors
    /// Returns a message that describes the shortfall.
    pub(crate) fn still_keeps(&self, book: &Book, foreign: &Foreign) -> Result<(), String> {
        book.still_keeps(&self.terms(&[]), foreign).map_err(|error| error.to_string())
    }

    /// Describes the members of other regions that have some of the CPUs, and the CPUs that are
    /// left.
    fn is_taken(&self, taken: &CpuSet, by: &Region, members: &[Member]) -> Failure {
        let has_some = |member: &&Member| !set_of_numbers(&member.cpus).is_disjoint(taken);
        let who: Vec<String> = members.iter().filter(has_some).map(ToString::to_string).collect();
        let cpus = by.cpus.as_ref().map_or(String::new(), |cpus| format!(" --on-cpus {cpus}"));
        let join = format!("join them: --policy {}{cpus}", by.regime.name());
        let left = self.machine.online.difference(taken);
        let help = if left.is_empty() {
            join
        } else {
            format!("choose other CPUs: --on-cpus {left}, or {join}")
        };
        let are = if taken.len() == 1 { "is" } else { "are" };
        let cpus = layland_linux::cpus_named(&taken.to_string());
        let other = format!("{cpus} {are} under another policy: {}", who.join(" and "));
        Failure::no(other).help(help)
    }

    /// Describes the shortfall and what would fit, as a message for the user.
    fn refusal(&self, reservation: &Reservation, refused: &Refused) -> Failure {
        let Reservation { name, runtime, deadline, period, .. } = reservation;
        let due = if deadline == period { String::new() } else { format!(" within {deadline:#}") };
        let mut message = format!(
            "{name}: {runtime:#} of every {period:#}{due} cannot be guaranteed under {}",
            self.regime.policy()
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

/// Returns the conditions of a promise: foreign threads, and ordinary threads that must not wait
/// for too long.
pub(crate) fn conditions(granted: &Granted) -> Vec<String> {
    let mut beside = granted.beside.clone();
    match granted.room {
        LeavesRoom::Always => {}
        LeavesRoom::OnEachAlone => {
            beside.push("ordinary threads that never wait long for a CPU".to_owned());
        }
    }
    beside
}

fn set_of_numbers(cpus: &[usize]) -> CpuSet {
    cpus.iter().map(|&cpu| CpuId::from_index(cpu)).collect()
}

/// Sets the priorities of all admitted threads of class `SCHED_FIFO`. The lowest priority is set
/// first, so that no thread is temporarily above a more urgent one.
///
/// # Errors
/// Fails if the register cannot be read, or if the kernel refuses.
pub(crate) fn reorder(book: &Book, admitting: &Admitting) -> Result<(), Failure> {
    let failed = |error| Failure::refused(format!("failed to read the register: {error}"));
    let mut wanted: Vec<(i32, i32)> = Vec::new();
    for (id, member) in &admitting.members().map_err(failed)? {
        let threads = member
            .reserved
            .iter()
            .filter_map(|reserved| Some((book.priority(id, &reserved.name)?, reserved.thread?)));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Other versions of the program on the machine read the same document.
    #[test]
    fn the_document_has_one_form() {
        let text = r#"{"regions":[{"policy":"dl-sp (ext)","cpus":"1-3","held":[{"id":4,"owner":"7-1","name":"ctl","runtime_ns":2000000,"deadline_ns":8000000,"period_ns":10000000,"tardiness_ns":null,"priority":null,"cpus":"1","left":null},{"id":2,"owner":"7-1","name":"old","runtime_ns":1,"deadline_ns":5,"period_ns":6,"tardiness_ns":3,"priority":9,"cpus":"1-2","left":{"at_ns":100,"until_ns":105}}],"exceeded":"2","forgotten":"","next_id":5}]}"#;
        let document: Document = serde_json::from_str(text).expect("it is a document");
        let book = document.book().expect("every policy is known");
        assert_eq!(book.regions[0].regime, Regime::DlSp);
        assert_eq!(book.count(Regime::DlSp), 2);
        assert_eq!(serde_json::to_string(&Document::of(&book)).expect("it is written"), text);
        for wrong in ["dl-sp (ext)", "1-2"] {
            let document = serde_json::from_str::<Document>(&text.replace(wrong, "x"));
            assert!(document.expect("it has the right form").book().is_err(), "{wrong}");
        }
    }
}
