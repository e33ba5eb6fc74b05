//! The engine ext: the daemon owns the scheduler and admits threads, and this is its client.
//!
//! The client names each matching thread to the daemon when it exists: the first thread of a
//! program before its first instruction, other threads when they appear. The reservations end with
//! the connection, and so with this process.

use super::args::ExecArgs;
use super::groups::Groups;
use super::machine::Machine;
use super::seen::{About, Seen};
use super::watch::{LATER_MS, watch};
use super::wishes::{Sight, Wish};
use super::{follow, list};
use crate::commands::daemon::talk::{Answer, Ask, Wanted, Why, failure};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::table::{self, Style};
use crate::ui::terminal;
use layland_guarantee::admission::{Guarantee, Reservation};
use layland_linux::Member;
use layland_linux::exec::{
    Asker, Given, Process, Program, Reserving, Signal, Signals, Thread, descendants, threads_of,
};
use layland_model::Task;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The longest wait for an answer: the daemon may have to load its scheduler and to ask polkit.
const PATIENCE_MS: u32 = 60_000;

/// A thread with a reservation.
struct AdmittedThread {
    wish: usize,
    thread: Thread,
    /// The name that the daemon uses.
    name: String,
}

struct Client<'a> {
    args: &'a ExecArgs,
    wishes: Vec<Wish>,
    /// `None` after the daemon has ended.
    asker: Option<Asker>,
    name: String,
    held: Vec<AdmittedThread>,
    /// Threads that match but get no reservation. Each is reported once.
    refused: BTreeSet<(i32, u64)>,
    groups: Groups,
    /// True after a user has asked to give the reservations back. No more are requested then.
    was_asked: bool,
    /// Records the trace for the files that are written at the end.
    seen: Option<Seen>,
    /// The reservation of every thread that was ever admitted, for these files.
    reserved: Vec<Task>,
}

/// An admission by the daemon.
struct Admitted {
    name: String,
    cpus: String,
    decided_by: Option<String>,
}

pub(super) fn run(args: &ExecArgs) -> Outcome {
    let (wishes, groups) = follow::wanted(args)?;
    let signals = Signals::block()
        .map_err(|error| Failure::refused(format!("failed to wait for signals: {error}")))?;
    let asker = Asker::knock(&args.socket).map_err(|error| {
        Failure::refused(format!("no daemon answers at {}: {error}", args.socket.display())).help(
            "start it: systemctl start laylandd.socket, or as root: layland daemon; --socket says where it listens",
        )
    })?;
    let name = match (&args.name, args.command.first()) {
        (Some(name), _) => name.clone(),
        (None, Some(command)) => {
            let file = Path::new(command).file_name().unwrap_or(command);
            file.to_string_lossy().into_owned()
        }
        (None, None) if args.pid.is_some() => follow::what(args),
        (None, None) => groups.name().unwrap_or_else(|| "new program".to_owned()),
    };
    let mut client = Client {
        args,
        wishes,
        asker: Some(asker),
        name,
        held: Vec::new(),
        refused: BTreeSet::new(),
        groups,
        was_asked: false,
        seen: None,
        reserved: Vec::new(),
    };
    if args.dry_run {
        return client.dry_run();
    }
    if args.output.is_empty() {
        return client.carry_out(&signals);
    }
    let what = follow::what(args);
    // The kernel's buffer is a change of the machine, which a guardian undoes if we die.
    let mut recording = Reserving::begin(&format!("layland exec {what}"))?;
    client.seen = Some(Seen::begin(&args.output, &mut recording)?);
    let ended = client.carry_out(&signals);
    let mut seen = client.seen.take();
    if let Some(seen) = &mut seen {
        seen.end();
    }
    for failed in recording.end() {
        terminal::warn(&failed.to_string(), Some("as root: layland doctor --clean"));
    }
    let exit = ended?;
    if let Some(seen) = seen {
        let cpus = Machine::read().cpu_count();
        seen.write(&About {
            name: &client.name,
            what: &what,
            policy: args.policy().name(),
            cpus,
            tasks: client.reserved,
            is_quiet: args.quiet,
        })?;
    }
    Ok(exit)
}

/// Asks the daemon, if it runs, to give back the reservations with this name. Returns true if there
/// were any.
pub(super) fn leave(socket: &Path, name: &str) -> Result<bool, Failure> {
    let Ok(mut asker) = Asker::knock(socket) else { return Ok(false) };
    match ask(&mut asker, &Ask::Leave { name: name.to_owned() }, &mut |_, _| {})? {
        Answer::Left { found } => Ok(found),
        Answer::Refused { exit, message, help } => Err(failure(exit, message, help)),
        Answer::Admitted { .. } | Answer::Gone { .. } | Answer::List { .. } => Ok(false),
    }
}

/// Returns the members that the daemon has admitted; none if it does not run. It is an error if the
/// daemon runs but does not answer.
pub(super) fn members(socket: &Path) -> Result<Vec<Member>, Failure> {
    let Ok(mut asker) = Asker::knock(socket) else { return Ok(Vec::new()) };
    match ask(&mut asker, &Ask::List, &mut |_, _| {})? {
        Answer::List { members } => Ok(members),
        Answer::Refused { exit, message, help } => Err(failure(exit, message, help)),
        Answer::Admitted { .. } | Answer::Left { .. } | Answer::Gone { .. } => {
            Err(Failure::refused("the daemon answers something else"))
        }
    }
}

/// Sends a request and waits for the answer. Unsolicited messages are passed to `gone`.
fn ask(asker: &mut Asker, what: &Ask, gone: &mut dyn FnMut(&str, Why)) -> Result<Answer, Failure> {
    let failed = |why: String| Failure::refused(format!("the daemon does not answer: {why}"));
    let line = serde_json::to_string(what).unwrap_or_default();
    asker.say(&line).map_err(|error| failed(error.to_string()))?;
    loop {
        let line = asker.hear(PATIENCE_MS).map_err(|error| failed(error.to_string()))?;
        let line = line.ok_or_else(|| failed("it takes too long".to_owned()))?;
        match serde_json::from_str(&line) {
            Ok(Answer::Gone { name, why }) => gone(&name, why),
            Ok(answer) => return Ok(answer),
            Err(error) => return Err(failed(error.to_string())),
        }
    }
}

fn tell_gone(name: &str, why: Why) {
    terminal::talk(&format!("{name} goes on as an ordinary one, if it does: {why}"));
}

impl Client<'_> {
    /// Requests the reservation of a wish for a thread; without a thread, asks whether it would be
    /// admitted.
    fn request(&mut self, wish: usize, thread: Option<&Thread>) -> Result<Admitted, Failure> {
        let wished = &self.wishes[wish];
        let Reservation { runtime, deadline, period, cpus, guarantee, .. } = &wished.reservation;
        let wanted = Wanted {
            name: match wished.name.as_str() {
                "" => self.name.clone(),
                task => format!("{}/{task}", self.name),
            },
            thread: thread.map(|thread| thread.tid.0),
            runtime_ns: runtime.ns(),
            deadline_ns: deadline.ns(),
            period_ns: period.ns(),
            tardiness_ns: match guarantee {
                Guarantee::Deadlines => None,
                Guarantee::Tardiness(most) => Some(most.ns()),
            },
            cpus: cpus.as_ref().map(ToString::to_string),
            policy: self.args.policy().name().to_owned(),
        };
        let Some(asker) = &mut self.asker else {
            return Err(Failure::refused("the daemon has gone"));
        };
        // The daemon closes connections that hold nothing and ask nothing, but accepts new ones.
        if self.held.is_empty()
            && let Err(_) = asker.hear(0)
        {
            *asker = Asker::knock(&self.args.socket)
                .map_err(|_| Failure::refused("the daemon has gone"))?;
        }
        let (held, was_asked) = (&mut self.held, &mut self.was_asked);
        let mut gone = |name: &str, why: Why| {
            *was_asked |= why == Why::Asked;
            held.retain(|held| held.name != name);
            tell_gone(name, why);
        };
        match ask(asker, &Ask::Admit(wanted), &mut gone)? {
            Answer::Admitted { name, cpus, decided_by } => Ok(Admitted { name, cpus, decided_by }),
            Answer::Refused { exit, message, help } => Err(failure(exit, message, help)),
            Answer::Left { .. } | Answer::Gone { .. } | Answer::List { .. } => {
                Err(Failure::refused("the daemon answers something else"))
            }
        }
    }

    fn carry_out(&mut self, signals: &Signals) -> Outcome {
        if self.args.command.is_empty() {
            self.join(self.args.pid, signals)
        } else {
            self.start(signals)
        }
    }

    fn say_admitted(&self, wish: usize, admitted: &Admitted) {
        if self.args.quiet {
            return;
        }
        let Reservation { runtime, period, guarantee, .. } = &self.wishes[wish].reservation;
        let by = admitted.decided_by.as_ref().map_or(String::new(), |test| format!(" ({test})"));
        let what = match guarantee {
            Guarantee::Deadlines => "every deadline".to_owned(),
            Guarantee::Tardiness(most) => format!("at most {most:#} late"),
        };
        let is = if self.args.dry_run { "would be admitted" } else { "admitted" };
        terminal::talk(&format!(
            "{is}: {}, {runtime:#} of every {period:#} on {} under {}: {what}{by}",
            admitted.name,
            layland_linux::cpus_named(&admitted.cpus),
            self.args.policy().name()
        ));
    }

    fn dry_run(&mut self) -> Outcome {
        let mut slots = Vec::new();
        for wish in 0..self.wishes.len() {
            let admitted = self.request(wish, None)?;
            self.say_admitted(wish, &admitted);
            slots.push(json!({ "name": admitted.name, "cpus": admitted.cpus }));
        }
        if self.args.json {
            let document = json!({
                "layland": env!("CARGO_PKG_VERSION"),
                "command": "exec",
                "would_be_admitted": slots,
                "exit": Exit::Yes,
            });
            terminal::data(&format!("{document:#}\n"))?;
        }
        Ok(Exit::Yes)
    }

    /// Requests the reservation of a wish for a thread.
    fn give(&mut self, wish: usize, thread: &Thread) -> Result<(), Failure> {
        let admitted = self.request(wish, Some(thread))?;
        self.say_admitted(wish, &admitted);
        if !self.args.quiet
            && let Ok(given) = Given::of(thread.tid)
        {
            let row = [format!("{} ({})", thread.name, thread.tid.0), list::said(&given)];
            let style = Style { ascii: false, colours: terminal::talk_colours() };
            terminal::talk(&table::plain(["thread", "the kernel says"], [row].into_iter(), style));
        }
        if let Some(seen) = &mut self.seen {
            let reservation = &self.wishes[wish].reservation;
            seen.has_slot(thread.tid.0, self.reserved.len(), reservation);
            let Reservation { runtime, deadline, period, .. } = *reservation;
            let task = Task::implicit(admitted.name.clone(), runtime, period);
            self.reserved.push(Task { deadline, ..task });
        }
        self.held.push(AdmittedThread { wish, thread: thread.clone(), name: admitted.name });
        Ok(())
    }

    /// Starts the program and follows it to its end.
    fn start(&mut self, signals: &Signals) -> Outcome {
        let program = Program::hold(&self.args.command, signals, self.args.ambient())
            .map_err(|error| Failure::refused(format!("failed to start a process: {error}")))?;
        let main = program.tid().0;
        let first = threads_of(Process(main)).into_iter().find(Thread::is_main);
        // The thread may not have executed the program yet, and still have our name.
        let first = first.map(|thread| Thread { name: program.name().to_owned(), ..thread });
        for wish in 0..self.wishes.len() {
            match first.as_ref().filter(|_| self.wishes[wish].is_about_main()) {
                Some(thread) => self.give(wish, thread)?,
                // The program does not start unless later threads can be admitted, too.
                None => drop(self.request(wish, None)?),
            }
        }
        let own = Process(std::process::id() as i32);
        let (args, name) = (self.args, self.name.clone());
        watch(program, &args.command, &name, signals, || {
            self.look(Some(main), &descendants(own).into_iter().collect());
        })
    }

    /// Follows a running program until it ends, or control groups until a user ends that.
    fn join(&mut self, pid: Option<i32>, signals: &Signals) -> Outcome {
        let mut is_first = true;
        loop {
            let processes: BTreeSet<Process> =
                pid.into_iter().flat_map(|pid| descendants(Process(pid))).collect();
            if pid.is_some() && processes.iter().all(|&process| threads_of(process).is_empty()) {
                return Ok(Exit::Yes);
            }
            if std::mem::take(&mut is_first) {
                self.ask_first(pid, &processes)?;
            }
            self.look(pid, &processes);
            let is_over = (self.asker.is_none() || self.was_asked) && self.held.is_empty();
            if is_over || signals.wait(LATER_MS).is_some_and(Signal::asks_to_end) {
                return Ok(Exit::Yes);
            }
        }
    }

    /// Checks that every wish can be admitted, even if its thread does not exist yet.
    fn ask_first(&mut self, main: Option<i32>, of: &BTreeSet<Process>) -> Result<(), Failure> {
        let threads = self.threads(of);
        for wish in 0..self.wishes.len() {
            let sight = Sight { main, groups: &self.groups };
            let is_meant = |thread: &&Thread| self.wishes[wish].is_about(thread, &sight);
            match threads.iter().find(is_meant) {
                Some(thread) => self.give(wish, thread)?,
                None => drop(self.request(wish, None)?),
            }
        }
        Ok(())
    }

    /// Returns the threads of these processes and of the control groups, except our own.
    fn threads(&mut self, of: &BTreeSet<Process>) -> Vec<Thread> {
        let own = Process(std::process::id() as i32);
        let grouped = self.groups.look();
        let others = of.union(&grouped).filter(|&&process| process != own);
        let threads = others.flat_map(|&process| threads_of(process));
        let by_number: BTreeMap<i32, Thread> =
            threads.map(|thread| (thread.tid.0, thread)).collect();
        by_number.into_values().collect()
    }

    /// Names matching threads that have no reservation to the daemon.
    fn look(&mut self, main: Option<i32>, of: &BTreeSet<Process>) {
        if let Some(seen) = &mut self.seen {
            seen.drain();
        }
        self.listen();
        self.held.retain(|held| held.thread.is_alive());
        for thread in self.threads(of) {
            let key = (thread.tid.0, thread.started);
            let has = self.held.iter().any(|held| held.thread.tid == thread.tid);
            if self.asker.is_none() || self.was_asked || has || self.refused.contains(&key) {
                continue;
            }
            let is_taken = |wish: usize| {
                !self.wishes[wish].is_for_each && self.held.iter().any(|held| held.wish == wish)
            };
            let sight = Sight { main, groups: &self.groups };
            let meant =
                (0..self.wishes.len()).filter(|&wish| self.wishes[wish].is_about(&thread, &sight));
            let meant: Vec<usize> = meant.collect();
            let Some(&first) = meant.first() else { continue };
            // Each thread is requested once, regardless of the result.
            self.refused.insert(key);
            let free = meant.into_iter().find(|&wish| !is_taken(wish));
            let refused = match free {
                Some(wish) => self.give(wish, &thread).err(),
                None => {
                    let name = &self.wishes[first].name;
                    Some(Failure::no(format!("another thread has what was reserved for it {name}")))
                }
            };
            if let Some(refused) = refused.filter(|_| thread.is_alive()) {
                let what = format!("thread `{}` ({}) goes on as it is", thread.name, thread.tid.0);
                terminal::warn(&what, None);
                terminal::complain(&refused.message);
            }
        }
    }

    /// Handles unsolicited messages of the daemon.
    fn listen(&mut self) {
        while let Some(asker) = &mut self.asker {
            match asker.hear(0) {
                Ok(None) => return,
                Ok(Some(line)) => {
                    if let Ok(Answer::Gone { name, why }) = serde_json::from_str(&line) {
                        self.was_asked |= why == Why::Asked;
                        let found = self.held.iter().position(|held| held.name == name);
                        let held = found.map(|found| self.held.remove(found));
                        // The end of a thread is not worth a message.
                        if held.is_some_and(|held| held.thread.is_alive()) {
                            tell_gone(&name, why);
                        }
                    }
                }
                Err(_) => {
                    // The daemon closes connections that hold nothing and ask nothing, but accepts
                    // new ones.
                    if self.held.is_empty()
                        && let Ok(again) = Asker::knock(&self.args.socket)
                    {
                        self.asker = Some(again);
                        return;
                    }
                    self.asker = None;
                    self.held.clear();
                    terminal::warn("the daemon has gone: threads go on as ordinary ones", None);
                }
            }
        }
    }
}
