//! The scheduler and all admitted threads. It is loaded with the first thread and removed with the
//! last.

use super::DaemonArgs;
use super::given::Given;
use super::guests::{Client, Office, Told};
use super::limits::THREADS;
use super::rules::{ROOT, is_within_share, may_end, reservation_of};
use super::talk::{Answer, Wanted, Why};
use crate::commands::exec::admitting;
use crate::commands::exec::book::{self, Request};
use crate::commands::exec::machine::Machine;
use crate::commands::run::failure;
use crate::ui::exit::Failure;
use crate::ui::files::{NewFile, failed};
use crate::ui::terminal;
use layland_guarantee::admission::{Granted, Guarantee, Has, Regime, Reservation, Share};
use layland_linux::exec::{Class, Place, Reserving, ReservingError, Thread, has_no_holder};
use layland_linux::ext::{CarryOptions, Carrying, EnterError, Ticket};
use layland_linux::{LogFile, Member, Program, Reserved, ext_support};
use layland_model::{CpuId, CpuSet, Index, Platform, Rate, System};
use layland_policy::Registry;
use std::fmt;

/// The capacity of a log, in records.
const LOG_RECORDS: usize = 1 << 20;

/// An admitted thread. The reservations of the register are in the same order.
pub(super) struct Held {
    /// The name of the reservation, and the name that the client asked for.
    name: String,
    asked_as: String,
    user: u32,
    connection: u64,
    ticket: Ticket,
    rate: Rate,
    given: Given,
}

impl Held {
    /// Returns true if this is its name, or the one that its client asked for.
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.asked_as == name
    }
}

/// The state that exists while a thread is admitted.
struct Session {
    regime: Regime,
    reserving: Reserving,
    carrying: Carrying,
    held: Vec<Held>,
}

/// Answers the questions of clients.
pub(super) struct Desk<'a> {
    registry: &'a Registry,
    args: &'a DaemonArgs,
    cpus: CpuSet,
    /// The CPU of the machine on which the manager runs.
    manager: usize,
    session: Option<Session>,
}

/// Sends a message to a connection.
type Tell<'a> = dyn FnMut(u64, &Answer) + 'a;

impl fmt::Display for Desk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.args.share.to_f64() * 100.0;
        let policy = self.args.policy.policy();
        let cpus = if self.cpus.len() == 1 { "CPU" } else { "CPUs" };
        write!(f, "{cpus} {} under {policy}, {share:.0} % of that for a user", self.cpus)
    }
}

impl<'a> Desk<'a> {
    /// Creates a desk without admitted threads.
    pub(super) fn new(registry: &'a Registry, args: &'a DaemonArgs) -> Result<Desk<'a>, Failure> {
        let online = Machine::read().online;
        let polls = ext_support().manager_polls();
        // The first CPU is left to everything else and to a manager that is woken. A manager that
        // polls gets the second.
        let kept = if polls { 2 } else { usize::from(online.len() > 1) };
        let rest: CpuSet = online.iter().skip(kept).collect();
        let cpus = args.on_cpus.clone().unwrap_or(rest);
        if polls && (cpus.is_empty() || online.len() < cpus.len() + 2) {
            let message =
                "on a kernel with PREEMPT_RT the manager polls, and needs a CPU of its own";
            let help =
                "leave out two CPUs, for the manager and for all others: --on-cpus 2-3 of 0-3";
            return Err(Failure::refused(message).help(help));
        }
        if cpus.is_empty() || !cpus.is_subset(&online) {
            return Err(Failure::usage(format!(
                "--on-cpus {cpus}: this machine has CPUs {online}"
            )));
        }
        let mut free = online.difference(&cpus);
        if polls && let Some(first) = free.lowest() {
            free.remove(first);
        }
        let manager = free.lowest().or(cpus.lowest()).map_or(0, Index::index);
        Ok(Desk { registry, args, cpus, manager, session: None })
    }

    /// Returns a descriptor that becomes readable when there is something to [look](Self::look) at.
    pub(super) fn bell(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.session.as_ref().map(|session| session.carrying.bell())
    }

    /// Admits a thread if all guarantees hold; without a thread, checks whether it would be
    /// admitted.
    fn answer(&mut self, client: &Client, wanted: &Wanted) -> Result<Answer, Failure> {
        let mut reservation = reservation_of(wanted)?;
        let regime = Regime::of_ext(&wanted.policy).ok_or_else(|| {
            Failure::usage(format!("the engine ext does not carry out `{}`", wanted.policy))
        })?;
        if regime != self.args.policy {
            let in_force = self.args.policy.policy();
            return Err(Failure::no(format!("the policy of this machine is {in_force}")).help(
                format!("join: --policy {in_force}; root chooses it: layland daemon --policy"),
            ));
        }
        let given = match wanted.thread {
            None => None,
            Some(number) => Some(Given::find(number, client.user)?),
        };
        let held = self.session.as_ref().map_or(&[][..], |session| &session.held);
        if let Some(given) = &given
            && let Some(held) = held.iter().find(|held| held.given.thread == given.thread)
        {
            return Err(has_one(&given.thread, &held.name));
        }
        if !THREADS.has_room(client.user, held.iter().map(|held| held.user)) {
            let message = format!(
                "too many threads are admitted: a user may have {}, all users {}",
                THREADS.of_one, THREADS.of_users
            );
            return Err(Failure::refused(message).help("wait until some have left, or ask as root"));
        }
        let rate = reservation.utilization();
        let sum = |is_it: &dyn Fn(u32) -> bool| -> Rate {
            held.iter().filter(|held| is_it(held.user)).map(|held| held.rate.clone()).sum()
        };
        let has = Has { own: sum(&|user| user == client.user), users: sum(&|user| user != ROOT) };
        let share = Share { of_one: &self.args.share, cpus: self.cpus.len() };
        is_within_share(client.user, &share, &has, &rate)?;
        reservation.name = free_name(held, &wanted.name);
        let admitted = self.let_in(client, wanted, regime, &reservation, given.as_ref());
        self.end_if_empty();
        admitted
    }

    fn let_in(
        &mut self,
        client: &Client,
        wanted: &Wanted,
        regime: Regime,
        reservation: &Reservation,
        given: Option<&Given>,
    ) -> Result<Answer, Failure> {
        let mut begun = None;
        let owner = match (&self.session, given) {
            (Some(session), _) => session.reserving.id().to_owned(),
            (None, Some(_)) => begun.insert(Reserving::begin("layland daemon")?).id().to_owned(),
            // A mere question enters nothing in the register, so that it needs no guardian.
            (None, None) => String::new(),
        };
        let admitting = admitting()?;
        let (mut book, members) = book::read(&admitting)?;
        if let Some(given) = given {
            // `give` checks this again. The check here avoids loading a scheduler for nothing.
            has_no_holder(&given.thread).map_err(not_given)?;
        }
        let machine = Machine::read();
        let request = Request {
            registry: self.registry,
            machine: &machine,
            regime,
            cpus: Some(&self.cpus),
            owner: &owner,
            meant: &[],
        };
        let foreign = request.look(&book, &members, 1);
        let Granted { cpus, decided_by, .. } =
            request.admit(&mut book, &foreign, &members, &admitting.runs(), reservation)?;
        let answer = Answer::Admitted {
            name: reservation.name.clone(),
            cpus: cpus.to_string(),
            decided_by: decided_by.map(str::to_owned),
        };
        let Some(given) = given else { return Ok(answer) };
        if let Some(reserving) = begun {
            let carrying = self.start(regime)?;
            self.session = Some(Session { regime, reserving, carrying, held: Vec::new() });
        }
        let hosts: Vec<usize> = self.cpus.iter().map(Index::index).collect();
        let Some(session) = &mut self.session else { return Ok(answer) };
        let program = program_of(reservation, &cpus, &self.cpus);
        // Another process may have held the lock of the register for long, and loading a scheduler
        // takes time.
        given.is_the_same()?;
        let ticket = session.carrying.enter(&program, given.thread.tid.0).map_err(not_entered)?;
        let reserved = Reserved {
            name: reservation.name.clone(),
            thread: None,
            started: None,
            runtime_ns: reservation.runtime.ns(),
            deadline_ns: reservation.deadline.ns(),
            period_ns: reservation.period.ns(),
            is_hard: reservation.guarantee == Guarantee::Deadlines,
        };
        let written = match session.reserving.member() {
            Some(_) => session.reserving.add(reserved).map_err(|error| {
                Failure::refused(format!("failed to write the register: {error}"))
            }),
            None => {
                let member = Member {
                    name: "laylandd".to_owned(),
                    pid: std::process::id(),
                    namespace: layland_linux::pid_namespace(),
                    what: "layland daemon".to_owned(),
                    policy: regime.name(),
                    cpus: hosts,
                    is_partition: false,
                    withdrawn: Vec::new(),
                    reserved: vec![reserved],
                };
                session.reserving.enter(&admitting, member).map(|()| 0).map_err(Failure::from)
            }
        };
        let index = match written.and_then(|index| book::write(&book, &admitting).map(|()| index)) {
            Ok(index) => index,
            Err(failure) => {
                session.carrying.forget(ticket);
                return Err(failure);
            }
        };
        let name = reservation.name.clone();
        let place = Place::Tied(cpus.iter().map(Index::index).collect());
        session.held.push(Held {
            name: name.clone(),
            asked_as: wanted.name.clone(),
            user: client.user,
            connection: client.connection,
            ticket,
            rate: reservation.utilization(),
            given: given.clone(),
        });
        let entered = given.is_the_same().and_then(|()| {
            let entered = session.reserving.give(&given.thread, index, Class::Ext, &place);
            entered.map_err(not_given)
        });
        match entered {
            Ok(_) => Ok(answer),
            Err(failure) => {
                session.carrying.forget(ticket);
                session.give_back(index);
                book.leave(&owner, book::now(), |of| of == name);
                book::write(&book, &admitting)?;
                Err(failure)
            }
        }
    }

    /// Loads the scheduler.
    fn start(&self, regime: Regime) -> Result<Carrying, Failure> {
        let mut system = System::new(self.cpus.len(), Vec::new());
        system.platform = Platform::identical(self.cpus.len());
        let built = self.registry.build(regime.spec(), &system);
        let built = built.map_err(|error| Failure::refused(error.to_string()))?;
        let options = CarryOptions {
            hosts: self.cpus.iter().map(Index::index).collect(),
            manager: self.manager,
            log_records: if self.args.log.is_some() { LOG_RECORDS } else { 0 },
        };
        let carrying = Carrying::start(built, options).map_err(failure)?;
        if !carrying.is_watched() {
            terminal::warn("the watchdog has no real-time priority", None);
        }
        Ok(carrying)
    }

    /// Removes threads whose programs have been replaced by ones with other rights: the user had
    /// the right to name only programs with rights of its own.
    pub(super) fn look_at_rights(&mut self, tell: &mut Tell<'_>) {
        self.leave(|held| held.given.has_more_rights(), Why::Rights, tell);
    }

    /// Gives back the reservations of these threads. Returns true if there were any.
    fn leave(&mut self, is_it: impl Fn(&Held) -> bool, why: Why, tell: &mut Tell<'_>) -> bool {
        let Some(session) = &mut self.session else { return false };
        let mut names = Vec::new();
        while let Some(index) = session.held.iter().position(&is_it) {
            let held = session.give_back(index);
            let gone = Answer::Gone { name: held.name.clone(), why };
            tell(held.connection, &gone);
            names.push(held.name);
        }
        if names.is_empty() {
            return false;
        }
        let owner = session.reserving.id().to_owned();
        let forgotten = admitting().and_then(|admitting| {
            let (mut book, _) = book::read(&admitting)?;
            book.leave(&owner, book::now(), |name| names.iter().any(|own| own == name));
            book::write(&book, &admitting)
        });
        if let Err(failure) = forgotten {
            terminal::complain(&failure.message);
        }
        self.end_if_empty();
        true
    }

    /// Gives back the reservations of threads that have left by themselves, or of all threads if
    /// the scheduler has ended.
    pub(super) fn look(&mut self, tell: &mut Tell<'_>) {
        let Some(session) = &mut self.session else { return };
        if session.carrying.over().is_some() {
            self.end(Why::Unscheduled, tell);
            return;
        }
        let gone = session.carrying.left();
        if !gone.is_empty() {
            self.leave(|held| gone.contains(&held.ticket), Why::Ended, tell);
        }
    }

    /// Gives back all reservations.
    pub(super) fn end(&mut self, why: Why, tell: &mut Tell<'_>) {
        self.leave(|_| true, why, tell);
        self.end_if_empty();
    }

    fn end_if_empty(&mut self) {
        let Some(mut session) = self.session.take_if(|session| session.held.is_empty()) else {
            return;
        };
        match session.carrying.end() {
            Ok(carried) => {
                if let Some(over) = &carried.over {
                    terminal::warn(&format!("the scheduler has ended: {over}"), None);
                }
                if carried.figures.by_caretaker > 0 {
                    let count = carried.figures.by_caretaker;
                    terminal::warn(
                        &format!("the manager was late: {count} decisions by the caretaker"),
                        None,
                    );
                }
                self.write_log(session.regime, carried.log);
            }
            Err(error) => terminal::complain(&failure(error).message),
        }
        for failed in session.reserving.end() {
            terminal::warn(&failed.to_string(), Some("as root: layland doctor --clean"));
        }
    }

    fn write_log(&self, regime: Regime, log: layland_linux::Log) {
        let Some(path) = &self.args.log else { return };
        let policy = regime.spec().to_owned();
        let file = LogFile { policy, seed: 0, set: String::new(), log };
        // The file appears only when it is complete, for programs that wait for it.
        let written = NewFile::create(path).and_then(|mut out| {
            file.write(&mut out).map_err(|error| failed(path, &error))?;
            out.keep()
        });
        if let Err(failure) = written {
            terminal::complain(&failure.message);
        }
    }
}

impl Office for Desk<'_> {
    fn admit(&mut self, client: &Client, wanted: &Wanted) -> Result<Answer, Failure> {
        self.answer(client, wanted)
    }

    fn leave_called(&mut self, user: u32, name: &str, told: &mut Told) -> bool {
        let mut tell = |connection, answer: &Answer| told.push((connection, answer.clone()));
        let is_it = |held: &Held| held.is_called(name) && may_end(user, held.user);
        self.leave(is_it, Why::Asked, &mut tell)
    }

    fn part(&mut self, connection: u64) {
        self.leave(|held| held.connection == connection, Why::Closed, &mut |_, _| {});
    }

    fn members(&self) -> Vec<Member> {
        let member = self.session.as_ref().and_then(|session| session.reserving.member());
        member.cloned().into_iter().collect()
    }

    fn has_thread(&self, connection: u64) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.held.iter().any(|held| held.connection == connection))
    }
}

impl Session {
    /// Restores the scheduling class of a thread, if it exists, and removes its reservation.
    fn give_back(&mut self, index: usize) -> Held {
        self.reserving.remove(index);
        self.held.remove(index)
    }
}

fn not_given(error: ReservingError) -> Failure {
    Failure::refused(error.to_string()).help(error.help())
}

fn has_one(thread: &Thread, name: &str) -> Failure {
    Failure::refused(format!("thread {} has a reservation: `{name}`", thread.tid.0))
        .help(format!("give that back first: layland exec --leave {name}"))
}

/// Returns a reservation in the manager's form, with CPUs numbered as on the platform.
fn program_of(reservation: &Reservation, cpus: &CpuSet, all: &CpuSet) -> Program {
    let place = |cpu: CpuId| all.iter().position(|own| own == cpu);
    let own: CpuSet = cpus.iter().filter_map(place).map(CpuId::from_index).collect();
    Program {
        name: reservation.name.clone(),
        runtime: reservation.runtime,
        deadline: reservation.deadline,
        period: reservation.period,
        cpus: (cpus != all).then(|| own.to_string()),
    }
}

/// Returns an unused name.
fn free_name(held: &[Held], wanted: &str) -> String {
    let mut names = (1..).map(|count| match count {
        1 => wanted.to_owned(),
        count => format!("{wanted}.{count}"),
    });
    let is_free = |name: &String| held.iter().all(|held| held.name != *name);
    names.find(is_free).unwrap_or_else(|| wanted.to_owned())
}

fn not_entered(error: EnterError) -> Failure {
    match error {
        EnterError::Refused(_) => Failure::no(error.to_string()),
        EnterError::Over(_) | EnterError::Full | EnterError::Thread { .. } => {
            Failure::refused(error.to_string())
        }
    }
}
