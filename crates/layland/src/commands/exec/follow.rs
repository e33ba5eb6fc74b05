//! Follows a program from admission control to the end of its last thread: requests its
//! reservations, starts or joins the program, gives the reservations to its threads, follows new
//! threads, and restores their scheduling classes.
//!
//! Long because it is the life of one program, from beginning to end.

use super::admitting;
use super::args::ExecArgs;
use super::book::{self, Request};
use super::foreign::Look;
use super::groups::Groups;
use super::list::{self, WouldBe};
use super::machine::Machine;
use super::promise::Promise;
use super::seen::{About, Seen};
use super::watch::{LATER_MS, SOON_MS, watch};
use super::wishes::{self, Sight, Wish, Wishes};
use super::work::Work;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::table::{self, Style};
use crate::ui::terminal;
use layland_guarantee::admission::{
    Book, Foreign, Granted, Guarantee, HIGHEST, Regime, Reservation, Sign,
};
use layland_linux::exec::{
    Class, Given, Place, Process, Program, Reserving, ReservingError, Signal, Signals, Thread, Tid,
    can_have, descendants, has_no_holder, thread, threads_of,
};
use layland_linux::{Admitting, Member, Repair, Reserved, Rules};
use layland_model::{CpuSet, Index, Task, visible};
use layland_policy::Registry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The number of times that a waiting program is woken, until the kernel reports it on its CPUs.
const ROUNDS_TO_SETTLE: u32 = 200;

/// A reservation that was admitted.
struct Slot {
    wish: usize,
    /// The name of the reservation in the register.
    name: String,
    reservation: Reservation,
    cpus: CpuSet,
    is_partition: bool,
    has_thread: bool,
    /// True if a thread ever had the reservation.
    was_given: bool,
}

struct Follower<'a> {
    registry: &'a Registry,
    args: &'a ExecArgs,
    regime: Regime,
    machine: Machine,
    wishes: Vec<Wish>,
    /// The number of CPUs of the task set that the wishes are from.
    count: Option<usize>,
    /// The CPUs that the user names, by an option or by a task set for the whole machine.
    cpus: Option<CpuSet>,
    /// The name of the member in the register.
    name: String,
    what: String,
    slots: Vec<Slot>,
    reserving: Reserving,
    /// Threads that match but get no reservation. Each is reported once.
    refused: BTreeSet<(i32, u64)>,
    /// Messages about admissions that are not printed yet, by slot.
    unsaid: Vec<(usize, String)>,
    /// Threads that wait for their class, and were reported as waiting.
    waiting: BTreeSet<i32>,
    promise: Promise,
    /// Matching threads that were running before the admission.
    meant: Vec<Tid>,
    /// Measures which threads use the processor time; `None` if all threads that need a reservation
    /// are named.
    work: Option<Work>,
    /// The reason why the only matching thread gets no reservation.
    refused_for_good: Option<Failure>,
    has_left: bool,
    /// True once the table of the threads and the warning about the machine are printed.
    has_told: bool,
    /// Records the trace for the summary and the files that are written at the end.
    seen: Option<Seen>,
    groups: Groups,
}

pub(super) fn run(registry: &Registry, args: &ExecArgs, regime: Regime) -> Outcome {
    let (wishes, groups) = wanted(args)?;
    let signals = Signals::block()
        .map_err(|error| Failure::refused(format!("failed to wait for signals: {error}")))?;
    let what = what(args);
    let reserving = Reserving::begin(&format!("layland exec {what}"))?;
    let machine = args.pid.map_or_else(Machine::read, Machine::of);
    // Without names, a CPU is left to the rest of the machine.
    let is_whole = wishes.cpus.is_some_and(|count| count >= machine.online.len());
    let cpus = args.on_cpus.clone().or_else(|| is_whole.then(|| machine.online.clone()));
    let cpus = cpus.filter(|_| !regime.has_the_root_domain());
    let mut follower = Follower {
        registry,
        args,
        regime,
        machine,
        count: wishes.cpus,
        cpus,
        wishes: wishes.all,
        name: String::new(),
        what,
        slots: Vec::new(),
        reserving,
        refused: BTreeSet::new(),
        unsaid: Vec::new(),
        waiting: BTreeSet::new(),
        promise: Promise::new(),
        meant: Vec::new(),
        work: Work::of(args),
        refused_for_good: None,
        has_left: false,
        has_told: false,
        seen: None,
        groups,
    };
    follower.be_admitted()?;
    if args.dry_run {
        return follower.tell_dry_run();
    }
    // Record only if there is a reader.
    if !args.quiet || !args.output.is_empty() {
        follower.seen = Some(Seen::begin(&args.output, &mut follower.reserving)?);
    }
    let ended = match (args.pid, args.command.is_empty()) {
        (Some(pid), _) => follower.join(Some(pid), &signals),
        (None, true) => follower.join(None, &signals),
        (None, false) => follower.start(&signals),
    };
    let mut seen = follower.seen.take();
    // The kernel's buffer is given back together with the other changes.
    if let Some(seen) = &mut seen {
        seen.end();
    }
    let broken = follower.end_of_promise();
    let left = follower.leave();
    let exit = ended?;
    for failed in left {
        terminal::warn(&failed.to_string(), Some("as root: layland doctor --clean"));
    }
    if let Some(seen) = seen {
        seen.write(&follower.about())?;
    }
    Ok(match exit {
        // A program that has failed keeps its own exit code.
        Exit::Yes | Exit::OfProgram(0) if args.strict && broken => Exit::No,
        exit => exit,
    })
}

/// Returns the reason why the kernel does not carry out `dl-sp`, if there is one.
fn not_repaired(repair: Option<Repair>) -> Option<Failure> {
    let on = Repair::LIGHT.value();
    let ext = "another way: --engine ext, with `layland daemon`";
    match repair {
        None => {
            let what = "SCHED_DEADLINE of this kernel is not repaired, as dl-sp is: it has no \
                        kernel.sched_dl_semi_partitioned";
            Some(Failure::refused(what).help(ext))
        }
        Some(repair) if !repair.is_whole() => {
            let what = format!(
                "the repair of SCHED_DEADLINE is not on: kernel.sched_dl_semi_partitioned is {}",
                repair.value()
            );
            let help = format!("as root: sysctl kernel.sched_dl_semi_partitioned={on}; {ext}");
            Some(Failure::refused(what).help(help))
        }
        Some(_) => None,
    }
}

/// Returns the wishes and the named control groups, if the arguments say what is to run.
pub(super) fn wanted(args: &ExecArgs) -> Result<(Wishes, Groups), Failure> {
    let wishes = wishes::of(args)?;
    let of_tasks = wishes.all.iter().filter_map(Wish::group);
    let groups = Groups::of(args.cgroup.as_deref().into_iter().chain(of_tasks).collect())?;
    match (args.pid, args.command.is_empty() && groups.is_empty(), args.dry_run) {
        (None, true, false) => {
            return Err(Failure::usage("which program?").help(
                "write it after --, as in layland exec --dl 2ms/10ms -- ./controller, or name one that runs by --pid \
                 or --cgroup",
            ));
        }
        (Some(pid), ..) if threads_of(Process(pid)).is_empty() => {
            return Err(Failure::usage(format!("there is no process {pid}")));
        }
        _ => {}
    }
    Ok((wishes, groups))
}

/// Describes what is run, for messages.
pub(super) fn what(args: &ExecArgs) -> String {
    if let Some(group) = &args.cgroup {
        return group.clone();
    }
    match args.pid {
        Some(pid) => {
            let threads = threads_of(Process(pid));
            let main = threads.iter().find(|thread| thread.is_main());
            main.map_or_else(|| format!("process {pid}"), |main| main.name.clone())
        }
        None => {
            let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
            visible(&words.join(" ")).into_owned()
        }
    }
}

impl Follower<'_> {
    fn request(&self) -> Request<'_> {
        Request {
            registry: self.registry,
            machine: &self.machine,
            regime: self.regime,
            cpus: self.cpus.as_ref(),
            owner: self.reserving.id(),
            meant: &self.meant,
        }
    }

    /// Requests all reservations before the start. Either all are admitted, or none is.
    fn be_admitted(&mut self) -> Result<(), Failure> {
        let is_about_main =
            self.wishes.iter().any(|wish| wish.is_about_main() && !wish.is_for_each);
        let main = self.args.pid.filter(|_| is_about_main).and_then(thread);
        if let Some(main) = &main {
            has_no_holder(main).map_err(|error| refused(&error))?;
        }
        self.is_possible(main.as_ref())?;
        let running = self.args.pid.into_iter().flat_map(|pid| descendants(Process(pid)));
        let running: Vec<Process> = running.chain(self.groups.look()).collect();
        let sight = Sight { main: self.args.pid, groups: &self.groups };
        let is_meant =
            |thread: &Thread| self.wishes.iter().any(|wish| wish.is_about(thread, &sight));
        let meant = running.into_iter().flat_map(threads_of).filter(is_meant);
        self.meant = meant.map(|thread| thread.tid).collect();
        let admitting = admitting()?;
        let (mut book, members) = book::read(&admitting)?;
        self.name = self.free_name(&members)?;
        let foreign = self.request().look(&book, &members, self.wishes.len());
        self.place_together(&book, &foreign, &members, &admitting.runs());
        for wish in 0..self.wishes.len() {
            let slot = self.ask(&mut book, &foreign, &members, &admitting, wish)?;
            self.slots.push(slot);
        }
        self.promise.counts(foreign);
        if self.args.dry_run {
            return Ok(());
        }
        let member = self.member();
        // Write the member to the register first: if it dies before it writes the book, the book
        // does not contain it.
        self.reserving.enter(&admitting, member)?;
        book::write(&book, &admitting)?;
        book::reorder(&book, &admitting)
    }

    /// Gives the wishes of a task set the CPUs that its policy assigns to its tasks, as `check` shows
    /// them, if all are granted there.
    fn place_together(
        &mut self,
        book: &Book,
        foreign: &Foreign,
        members: &[Member],
        runs: &[layland_linux::Run],
    ) {
        let Some(count) = self.count else { return };
        let wished = self.wishes.iter().map(|wish| wish.reservation.clone());
        let mut asked: Vec<Reservation> = wished.collect();
        let request = self.request();
        let Some(places) = request.partition(book, runs, &asked, count) else { return };
        for (reservation, place) in asked.iter_mut().zip(&places) {
            reservation.name = format!("{}/{}", self.name, reservation.name);
            reservation.cpus = Some(place.clone());
        }
        let mut trial = book.clone();
        let mut admit = |one| request.admit(&mut trial, foreign, members, runs, one).is_ok();
        if asked.iter().all(&mut admit) {
            for (wish, place) in self.wishes.iter_mut().zip(places) {
                wish.reservation.cpus = Some(place);
            }
        }
    }

    /// Checks that the kernel and our rights allow what is requested, regardless of the free
    /// capacity.
    fn is_possible(&mut self, main: Option<&Thread>) -> Result<(), Failure> {
        let regime = self.regime;
        let online = &self.machine.online;
        if regime.has_the_root_domain()
            && let Some(failure) = not_repaired(self.machine.limits.repair)
        {
            return Err(failure);
        }
        let is_partition = regime.is_partition(self.cpus.as_ref().unwrap_or(online), online);
        let is_anywhere = regime == Regime::KernelDl && !is_partition;
        let rules = Rules::read();
        for wish in self.wishes.iter().filter(|_| regime.has_budgets()) {
            let Reservation { runtime, period, .. } = &wish.reservation;
            rules.check(runtime.at_unit_speed(), *period).map_err(|broken| {
                let of =
                    if wish.name.is_empty() { String::new() } else { format!("{}: ", wish.name) };
                Failure::refused(format!("{of}{broken}")).help(broken.help())
            })?;
        }
        let class = if regime.has_budgets() {
            Class::Deadline(layland_linux::exec::Reservation::default())
        } else {
            Class::Fifo(HIGHEST)
        };
        // An existing thread has an affinity of its own. Future threads inherit ours.
        let is_ours = self.args.pid.is_none() && self.groups.is_empty();
        can_have(class, is_anywhere && (is_ours || main.is_some()), main)
            .map_err(|error| refused(&error))?;
        if is_partition {
            self.reserving.can_part().map_err(|error| refused(&error))
        } else {
            Ok(())
        }
    }

    fn free_name(&self, members: &[Member]) -> Result<String, Failure> {
        let is_taken = |name: &str| members.iter().any(|member| member.name == name);
        if let Some(name) = &self.args.name {
            return if is_taken(name) {
                Err(Failure::usage(format!("a program called `{name}` is admitted"))
                    .help("choose another --name; layland exec --list shows all"))
            } else {
                Ok(name.clone())
            };
        }
        let program = match (self.args.command.first(), self.args.pid) {
            (Some(command), _) => {
                let file = Path::new(command).file_name().unwrap_or(command);
                file.to_string_lossy().into_owned()
            }
            (None, Some(_)) => self.what.clone(),
            (None, None) => self.groups.name().unwrap_or_else(|| "new program".to_owned()),
        };
        let mut names = (1..).map(|count| match count {
            1 => program.clone(),
            count => format!("{program}-{count}"),
        });
        Ok(names.find(|name| !is_taken(name)).unwrap_or(program.clone()))
    }

    /// Requests one more reservation for a wish.
    fn ask(
        &mut self,
        book: &mut Book,
        foreign: &Foreign,
        members: &[Member],
        admitting: &Admitting,
        wish: usize,
    ) -> Result<Slot, Failure> {
        let wished = &self.wishes[wish];
        let is_first = wished.is_about_main() && !wished.is_for_each;
        let base = match wished.name.as_str() {
            "" => self.name.clone(),
            task => format!("{}/{task}", self.name),
        };
        let is_taken = |name: &str| self.slots.iter().any(|slot| slot.name == name);
        let mut names = (1..).map(|count| match count {
            1 => base.clone(),
            count => format!("{base}.{count}"),
        });
        let name = names.find(|name| !is_taken(name)).unwrap_or(base.clone());
        let reservation = Reservation { name: name.clone(), ..wished.reservation.clone() };
        let granted =
            self.request().admit(book, foreign, members, &admitting.runs(), &reservation)?;
        let beside = book::conditions(&granted);
        let Granted { cpus, is_partition, decided_by, .. } = granted;
        if !self.args.quiet {
            let by = decided_by.map_or(String::new(), |test| format!(" ({test})"));
            let what = match reservation.guarantee {
                Guarantee::Deadlines if is_first => "every deadline of its first thread".to_owned(),
                Guarantee::Deadlines => "every deadline".to_owned(),
                Guarantee::Tardiness(most) => format!("at most {most:#} late"),
            };
            let Reservation { runtime, period, .. } = &reservation;
            let is = if self.args.dry_run { "would be admitted" } else { "admitted" };
            let on = layland_linux::cpus_named(&cpus.to_string());
            let with = match beside.as_slice() {
                [] => String::new(),
                beside => format!(", beside {}", beside.join(" and ")),
            };
            let said = format!(
                "{is}: {name}, {runtime:#} of every {period:#} on {on} under {}: {what}{by}{with}",
                self.regime.policy()
            );
            self.unsaid.push((self.slots.len(), said));
        }
        let (has_thread, was_given) = (false, false);
        Ok(Slot { wish, name, reservation, cpus, is_partition, has_thread, was_given })
    }

    fn member(&self) -> Member {
        let cpus = self.slots.iter().fold(CpuSet::new(), |all, slot| all.union(&slot.cpus));
        Member {
            name: self.name.clone(),
            pid: std::process::id(),
            namespace: layland_linux::pid_namespace(),
            what: self.what.clone(),
            policy: self.regime.name(),
            cpus: cpus.iter().map(Index::index).collect(),
            is_partition: self.slots.iter().any(|slot| slot.is_partition),
            reserved: self.slots.iter().map(reserved).collect(),
            withdrawn: self.promise.broken().to_vec(),
        }
    }

    /// Reports admissions as soon as the kernel has accepted them: a sleeping thread may get its
    /// class when it wakes up.
    fn say_admitted(&mut self) {
        let waiting: BTreeMap<usize, Thread> = self.reserving.waiting().into_iter().collect();
        let (later, now): (Vec<_>, Vec<_>) =
            self.unsaid.drain(..).partition(|(slot, _)| waiting.contains_key(slot));
        self.unsaid = later;
        now.into_iter().for_each(|(_, said)| terminal::talk(&said));
        for thread in waiting.into_values() {
            if self.waiting.insert(thread.tid.0) && !self.args.quiet {
                let Thread { name, tid, .. } = thread;
                terminal::talk(&format!(
                    "there is room: time will be reserved when thread `{name}` ({}) wakes up",
                    tid.0
                ));
            }
        }
    }

    /// Checks each second what could break a promise, and withdraws the promise if it is broken.
    fn keep_promise(&mut self) {
        if !self.promise.is_due() {
            return;
        }
        if self.promise.is_late_to_begin() {
            self.say_lone("no thread has what is reserved for", "so far");
        }
        let mut held = self.reserving.held();
        held.retain(|(thread, ..)| !self.reserving.begins_anew(thread));
        let mut reasons = self.promise.changed(&held);
        for (thread, slot, given) in &held {
            let of = &self.slots[*slot].reservation;
            let Some(sign) = self.promise.sign(thread, of) else { continue };
            let Thread { name, tid, .. } = thread;
            let is_reserved = given.as_ref().is_some_and(|given| given.period_ns > 0);
            let waited = match sign {
                Sign::Late(waited) => waited,
                Sign::Yields if is_reserved && self.promise.is_first_yield(thread) => {
                    terminal::warn(
                        &format!(
                            "thread `{name}` ({}) never sleeps and leaves a part of its budget: it calls sched_yield",
                            tid.0
                        ),
                        Some(
                            "under SCHED_DEADLINE that gives the rest of the budget away until the next period: right \
                             at the end of a periodic job, and late anywhere else",
                        ),
                    );
                    continue;
                }
                Sign::Yields => continue,
            };
            let is_short = is_reserved && of.deadline < of.period;
            if is_short && self.promise.may_begin_anew(thread) && self.reserving.begin_anew(thread)
            {
                terminal::warn(
                    &format!(
                        "thread `{name}` ({}) wakes up when the kernel has no time for it, between its deadline and \
                         the end of its period: its reservation begins again",
                        tid.0
                    ),
                    Some(
                        "with --deadline below the period, the program must keep to exactly that period",
                    ),
                );
                continue;
            }
            reasons.push(format!(
                "thread `{name}` ({}) waits {waited:#} in each job, and is late",
                tid.0
            ));
        }
        let machine = self.args.pid.map_or_else(Machine::read, Machine::of);
        let is_as_before = machine.kept == self.machine.kept;
        self.machine = machine;
        if !is_as_before || self.has_more_foreign() {
            match self.still_keeps() {
                Ok(()) => {}
                Err(missing) => reasons.push(missing),
            }
        }
        let name = self.name.clone();
        let before = self.promise.broken().len();
        reasons.into_iter().for_each(|reason| self.promise.withdraw(&name, reason));
        if self.promise.broken().len() > before {
            let withdrawn = self.promise.broken().to_vec();
            let _ = self.reserving.update(|member| member.withdrawn = withdrawn);
        }
    }

    /// Returns true if there are threads that no answer has accounted for.
    fn has_more_foreign(&mut self) -> bool {
        let Ok(register) = super::register() else { return false };
        let members: Vec<Member> = register.members().into_iter().map(|(_, one)| one).collect();
        let of_policy = members.iter().filter(|member| member.policy == self.regime.name());
        let count = of_policy.map(|member| member.reserved.len()).sum();
        let (regime, kept, meant) = (self.regime, &self.machine.kept[..], &self.meant[..]);
        self.promise.has_more_foreign(&Look { regime, members: &members, kept, count, meant })
    }

    /// Checks that the guarantees still hold beside the current foreign load.
    ///
    /// # Errors
    /// Returns a message that describes the shortfall.
    fn still_keeps(&mut self) -> Result<(), String> {
        let Ok(admitting) = admitting() else { return Ok(()) };
        let Ok((book, members)) = book::read(&admitting) else { return Ok(()) };
        let foreign = self.request().look(&book, &members, 0);
        let answer = self.request().still_keeps(&book, &foreign);
        self.promise.counts(foreign);
        answer
    }

    /// Warns of reservations that no thread ever had. Returns true if there are any.
    fn say_lone(&self, what: &str, when: &str) -> bool {
        let lone = self.slots.iter().filter(|slot| !slot.was_given);
        let lone: Vec<&str> = lone.map(|slot| slot.name.as_str()).collect();
        if !lone.is_empty() {
            let said = format!("{what} {} {when}", lone.join(", "));
            let help =
                "--thread, or the key `thread` of a task, must match the whole name of a thread";
            terminal::warn(said.trim_end(), Some(help));
        }
        !lone.is_empty()
    }

    /// Reports at the end whether the promise was kept. Returns true if it was not.
    fn end_of_promise(&mut self) -> bool {
        let is_lone = !self.has_left && self.say_lone("no thread had what was reserved for", "");
        let broken = self.promise.broken().len();
        if broken > 0 {
            let reasons = layland_model::counted(broken, "reason");
            let said = format!("the promise to {} did not hold: {reasons} above", self.name);
            terminal::warn(&said, None);
        }
        is_lone || broken > 0
    }

    fn tell_dry_run(&mut self) -> Outcome {
        self.say_admitted();
        if self.args.json {
            let slots = self
                .slots
                .iter()
                .map(|slot| WouldBe { name: slot.name.clone(), cpus: slot.cpus.to_string() });
            list::show_dry_run(slots.collect())?;
        }
        Ok(Exit::Yes)
    }

    /// Starts the program and follows it to its end.
    fn start(&mut self, signals: &Signals) -> Outcome {
        let mut program = Program::hold(&self.args.command, signals, self.args.ambient())
            .map_err(|error| Failure::refused(format!("failed to start a process: {error}")))?;
        let main = program.tid().0;
        // The first thread gets its reservation before its first instruction.
        let waiting = threads_of(Process(main));
        let first = waiting.into_iter().find(Thread::is_main);
        // The thread may not have executed the program yet, and still have our name.
        let first = first.map(|thread| Thread { name: program.name().to_owned(), ..thread });
        let mut given = Vec::new();
        if let Some(thread) = first {
            let wish = self.wishes.iter().position(Wish::is_about_main);
            if let Some(slot) = self.slots.iter().position(|slot| Some(slot.wish) == wish) {
                let found = self.give(&thread, slot).map_err(|error| refused(&error))?;
                given.extend(found.map(|found| (thread.clone(), found)));
            }
        }
        for _ in 0..ROUNDS_TO_SETTLE {
            if !self.reserving.is_unsettled() {
                break;
            }
            program.wake();
            if let Some(signal) = signals.wait(SOON_MS) {
                program.pass_on(signal);
            }
            given.extend(self.reserving.settle().map_err(|(_, error)| refused(&error))?);
        }
        if self.reserving.is_unsettled() {
            return Err(Failure::refused("the kernel did not move the program to its CPUs")
                .help("see `layland doctor`"));
        }
        self.say_admitted();
        self.tell(&given);
        let own = Process(std::process::id() as i32);
        let name = self.name.clone();
        watch(program, &self.args.command, &name, signals, || {
            self.look(descendants(own).into_iter().flat_map(threads_of), Some(main));
        })
    }

    /// Follows a running program until it ends, or control groups until a user ends that.
    fn join(&mut self, pid: Option<i32>, signals: &Signals) -> Outcome {
        loop {
            let processes = pid.into_iter().flat_map(|pid| descendants(Process(pid)));
            let threads: Vec<Thread> = processes.flat_map(threads_of).collect();
            if self.has_left || (threads.is_empty() && pid.is_some()) {
                return Ok(Exit::Yes);
            }
            self.look(threads.into_iter(), pid);
            if let Some(refused) = self.refused_for_good.take() {
                return Err(refused);
            }
            self.say_admitted();
            if signals.wait(LATER_MS).is_some_and(Signal::asks_to_end) {
                return Ok(Exit::Yes);
            }
        }
    }

    /// Gives free reservations to matching threads that have none.
    fn look(&mut self, threads: impl Iterator<Item = Thread>, main: Option<i32>) {
        if let Some(seen) = &mut self.seen {
            seen.begin_to_count(&mut self.reserving);
            seen.drain();
        }
        if self.has_left {
            return;
        }
        if self.reserving.shall_leave() {
            self.has_left = true;
            if !self.args.quiet {
                terminal::talk(&format!("{} gives back what it has reserved", self.name));
            }
            // The kernel cannot remove a recording that is being read.
            if let Some(seen) = &mut self.seen {
                seen.end();
            }
            self.leave();
            return;
        }
        self.keep_promise();
        if let Err((thread, error)) = self.reserving.continue_anew() {
            self.refuse_by(&thread, &error);
        }
        for (_, index) in self.reserving.ended() {
            self.slots[index].has_thread = false;
        }
        let held: BTreeSet<i32> =
            self.reserving.held().iter().map(|(thread, ..)| thread.tid.0).collect();
        let grouped = self.groups.look().into_iter().flat_map(threads_of);
        // A program may be in a control group, and so may this process.
        let own = Process(std::process::id() as i32);
        let is_own = |process| process == own || Some(process) == self.reserving.guardian();
        let threads: BTreeMap<i32, Thread> = (threads.chain(grouped))
            .filter(|thread| !is_own(thread.process))
            .map(|thread| (thread.tid.0, thread))
            .collect();
        if let Some(work) = &mut self.work {
            work.look(threads.values(), |thread| held.contains(&thread.tid.0));
        }
        let mut given = Vec::new();
        for thread in threads.into_values().filter(|thread| !held.contains(&thread.tid.0)) {
            if self.refused.contains(&(thread.tid.0, thread.started)) {
                continue;
            }
            let sight = Sight { main, groups: &self.groups };
            let wishes = 0..self.wishes.len();
            let meant: Vec<usize> =
                wishes.filter(|&wish| self.wishes[wish].is_about(&thread, &sight)).collect();
            if meant.is_empty() {
                continue;
            }
            match self.slot_for(&meant) {
                Ok(Some(slot)) => match self.give(&thread, slot) {
                    Ok(found) => given.extend(found.map(|found| (thread.clone(), found))),
                    // The thread has ended before it got its reservation.
                    Err(error) if error.is_gone() => {}
                    Err(error) => self.refuse_by(&thread, &error),
                },
                Ok(None) => {
                    let taken = "another thread has what was reserved for it";
                    self.refuse(&thread, taken, Some("give the task a `count`, or another name"));
                }
                Err(failure) => {
                    self.refuse(&thread, "it is not admitted", None);
                    terminal::complain(&failure.message);
                }
            }
        }
        match self.reserving.settle() {
            Ok(settled) => given.extend(settled),
            Err((thread, error)) => self.refuse_by(&thread, &error),
        }
        if !given.is_empty() {
            self.say_admitted();
        }
        self.tell(&given);
    }

    /// Handles a thread that cannot get what was admitted for it. If the program was joined for
    /// this thread alone, there is nothing left to follow.
    fn refuse_by(&mut self, thread: &Thread, error: &ReservingError) {
        let is_alone = self.args.pid == Some(thread.tid.0)
            && self.wishes.iter().all(|wish| wish.is_about_main() && !wish.is_for_each);
        if is_alone {
            self.refused_for_good = Some(refused(error));
        } else {
            self.refuse(thread, &error.to_string(), Some(&error.help()));
        }
    }

    fn refuse(&mut self, thread: &Thread, why: &str, help: Option<&str>) {
        self.refused.insert((thread.tid.0, thread.started));
        let message =
            format!("thread `{}` ({}) goes on as it is: {why}", thread.name, thread.tid.0);
        terminal::warn(&message, help);
    }

    /// Returns a free reservation for one of these wishes. Requests a new one if each thread of a
    /// wish gets its own.
    fn slot_for(&mut self, wishes: &[usize]) -> Result<Option<usize>, Failure> {
        let is_free = |slot: &Slot| !slot.has_thread && wishes.contains(&slot.wish);
        if let Some(free) = self.slots.iter().position(is_free) {
            return Ok(Some(free));
        }
        let is_for_each = |wish: &&usize| self.wishes[**wish].is_for_each;
        let Some(&wish) = wishes.iter().find(is_for_each) else { return Ok(None) };
        let admitting = admitting()?;
        let (mut book, members) = book::read(&admitting)?;
        let foreign = self.request().look(&book, &members, 1);
        let slot = self.ask(&mut book, &foreign, &members, &admitting, wish)?;
        self.promise.counts(foreign);
        self.slots.push(slot);
        let member = self.member();
        let written = self.reserving.update(|known| {
            let before = std::mem::replace(known, member);
            for (reserved, before) in known.reserved.iter_mut().zip(before.reserved) {
                (reserved.thread, reserved.started) = (before.thread, before.started);
            }
        });
        written
            .map_err(|error| Failure::refused(format!("failed to write the register: {error}")))?;
        book::write(&book, &admitting)?;
        book::reorder(&book, &admitting)?;
        Ok(Some(self.slots.len() - 1))
    }

    /// Gives the reservation of a slot to a thread. Returns `None` if the thread has its CPUs, but
    /// gets its class only after it has run there.
    fn give(&mut self, thread: &Thread, index: usize) -> Result<Option<Given>, ReservingError> {
        let slot = &mut self.slots[index];
        let cpus: Vec<usize> = slot.cpus.iter().map(Index::index).collect();
        let is_tied = if self.regime.has_the_root_domain() {
            slot.cpus != self.machine.online
        } else {
            !self.regime.has_budgets()
        };
        let place = match (slot.is_partition, is_tied) {
            (true, _) => Place::Partition(cpus),
            (false, false) => Place::Anywhere,
            (false, true) => Place::Tied(cpus),
        };
        let Reservation { runtime, deadline, period, .. } = &slot.reservation;
        let class = if self.regime.has_budgets() {
            Class::Deadline(layland_linux::exec::Reservation {
                runtime: runtime.at_unit_speed(),
                deadline: *deadline,
                period: *period,
            })
        } else {
            let known = admitting().ok().and_then(|admitting| book::read(&admitting).ok());
            let priority =
                known.and_then(|(book, _)| book.priority(self.reserving.id(), &slot.name));
            Class::Fifo(priority.unwrap_or(1))
        };
        let given = self.reserving.give(thread, index, class, &place)?;
        (slot.has_thread, slot.was_given) = (true, true);
        if let Some(seen) = &mut self.seen {
            seen.has_slot(thread.tid.0, index, &slot.reservation);
        }
        Ok(given)
    }

    /// Returns the description of the run for the output files.
    fn about(&self) -> About<'_> {
        let tasks = self.slots.iter().map(|slot| {
            let Reservation { runtime, deadline, period, .. } = slot.reservation;
            Task { deadline, ..Task::implicit(slot.name.clone(), runtime, period) }
        });
        About {
            name: &self.name,
            what: &self.what,
            policy: self.regime.policy(),
            cpus: self.machine.cpu_count(),
            tasks: tasks.collect(),
            is_quiet: self.args.quiet,
        }
    }

    /// Reports the classes that the kernel has set.
    fn tell(&mut self, given: &[(Thread, Given)]) {
        given.iter().for_each(|(thread, given)| self.promise.is_given(thread, given));
        if given.is_empty() || self.args.quiet {
            return;
        }
        let rows = given.iter().map(|(thread, given)| {
            [format!("{} ({})", thread.name, thread.tid.0), list::said(given)]
        });
        // Threads that come later are further rows of one table, whose head stands above already.
        if std::mem::replace(&mut self.has_told, true) {
            rows.for_each(|[thread, said]| terminal::talk(&format!("{thread}: {said}")));
            return;
        }
        let style = Style { ascii: false, colours: terminal::talk_colours() };
        terminal::talk(&table::plain(["thread", "the kernel says"], rows, style));
        let limits = &self.machine.limits;
        if self.regime.has_budgets() && limits.has_hrtick != Some(true) {
            terminal::warn(
                &format!(
                    "budgets are enforced by the tick: a thread that needs more than its runtime takes up to {} more",
                    limits.tick
                ),
                Some("echo HRTICK_DL >/sys/kernel/debug/sched/features enforces them precisely"),
            );
        }
    }

    /// Restores every thread and leaves the register.
    fn leave(&mut self) -> Vec<layland_linux::NotTakenBack> {
        if self.reserving.member().is_none() {
            return self.reserving.end();
        }
        let owner = self.reserving.id().to_owned();
        let left = self.reserving.give_back();
        // The lock is held until the entry is removed as well, so that no other member is admitted
        // before.
        let _admitting = match leave_book(&owner) {
            Ok(admitting) => Some(admitting),
            Err(failure) => {
                let kept = "those who stay keep the priorities that they had beside";
                terminal::warn(&format!("{kept} {}", self.name), None);
                terminal::complain(&failure.message);
                None
            }
        };
        [left, self.reserving.end()].concat()
    }
}

/// Frees the reservations of an owner, and reorders the priorities of the others.
fn leave_book(owner: &str) -> Result<Admitting, Failure> {
    let admitting = admitting()?;
    let (mut book, _) = book::read(&admitting)?;
    book.leave(owner, book::now(), |_| true);
    book::write(&book, &admitting)?;
    book::reorder(&book, &admitting)?;
    Ok(admitting)
}

fn reserved(slot: &Slot) -> Reserved {
    let Reservation { runtime, deadline, period, guarantee, .. } = &slot.reservation;
    Reserved {
        name: slot.name.clone(),
        thread: None,
        started: None,
        runtime_ns: runtime.ns(),
        deadline_ns: deadline.ns(),
        period_ns: period.ns(),
        is_hard: *guarantee == Guarantee::Deadlines,
    }
}

fn refused(error: &ReservingError) -> Failure {
    let failure = match error {
        ReservingError::Held { .. } => Failure::no(error.to_string()),
        ReservingError::Changes(_) | ReservingError::Cpuset(_) | ReservingError::Thread { .. } => {
            Failure::refused(error.to_string())
        }
    };
    failure.help(error.help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_lacks_is_said() {
        assert!(not_repaired(None).is_some());
        for part in [0, 1, 6, 8, 14] {
            assert!(not_repaired(Some(Repair::of(part))).is_some(), "{part}");
        }
        for whole in [Repair::PAPER, Repair::LIGHT] {
            assert!(not_repaired(Some(whole)).is_none());
        }
    }
}
