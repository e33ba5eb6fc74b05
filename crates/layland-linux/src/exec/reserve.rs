//! Gives threads a class and a place, reads back what the kernel made of it, and takes everything back.
//!
//! Long because what is given and how it is taken back belong together.

use super::processes::{Process, Thread, is_asleep};
use crate::kernel::sys::{self, Reservation, Tid};
use crate::kernel::tracefs::{Instance, TracefsError};
use crate::machine::admitted::{Admitting, Holder, Member, Membership, Reserved, holder_of};
use crate::machine::changes::{ChangeError, Changes, NotTakenBack};
use crate::machine::cpuset::{self, CpusetError, Partition};
use crate::machine::register::Register;
use crate::machine::rules::{Missing, try_deadline};
use crate::machine::threads::Former;
use layland_model::Duration;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// For how long a guardian watches: longer than any machine runs.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Why a thread cannot have `SCHED_DEADLINE` in spite of all rights.
const WHOLE_DOMAIN: &str = "SCHED_DEADLINE needs a thread that may use every CPU of its root domain: start it without \
                            taskset, and name CPUs with --cpus";

/// Whether a thread like the calling one, with the class that a policy gives it, can have that at all: rights, the CPUs
/// that it may use, and whether the kernel admits anything. `joined` is the thread that is to have it, if it is there.
///
/// # Errors
/// What is missing, and what to do about it.
pub fn can_have(
    class: Class,
    is_anywhere: bool,
    joined: Option<&Thread>,
) -> Result<(), ReservingError> {
    let tid = joined.map_or(Tid::own(), |thread| thread.tid);
    let refused =
        |error: io::Error| ReservingError::Thread { thread: tid.0, what: class.name(), error };
    let not_permitted = || refused(io::Error::from_raw_os_error(libc::EPERM));
    match class {
        Class::Ext => Ok(()),
        Class::Fifo(priority) => match Missing::for_fifo(priority) {
            Some(_) => Err(not_permitted()),
            None => Ok(()),
        },
        Class::Deadline(_) if Missing::for_deadline().is_some() => Err(not_permitted()),
        // In a partition it may use what that has.
        Class::Deadline(_) if !is_anywhere => Ok(()),
        Class::Deadline(_) => match joined {
            None => try_deadline().map_err(refused),
            // Where it is elsewhere, its root domain may be another one.
            Some(thread) if is_beside_us(thread) && !may_use_as_much(thread) => {
                Err(not_permitted())
            }
            Some(_) => Ok(()),
        },
    }
}

/// Whether a thread is in our cpuset, in which the kernel lets threads like us have `SCHED_DEADLINE`.
fn is_beside_us(thread: &Thread) -> bool {
    let home = |tid| cpuset::home_of(tid).ok();
    home(thread.tid) == home(Tid::own()) && try_deadline().is_ok()
}

/// Whether a thread may use every CPU that we may.
fn may_use_as_much(thread: &Thread) -> bool {
    let (Ok(own), Ok(its)) = (sys::affinity_of(Tid::own()), sys::affinity_of(thread.tid)) else {
        return true;
    };
    (0..rustix::thread::CpuSet::MAX_CPU).all(|cpu| its.is_set(cpu) || !own.is_set(cpu))
}

/// The class of the kernel that a thread gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_DEADLINE` with this reservation.
    Deadline(Reservation),
    /// `SCHED_FIFO` with this priority.
    Fifo(i32),
    /// `SCHED_EXT`, for a scheduler that knows the thread. What the thread starts is ordinary.
    Ext,
}

/// Where a thread may run, in CPUs of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Where it may run anyway.
    Anywhere,
    /// On these CPUs, which others may use as well.
    Tied(Vec<usize>),
    /// On these CPUs, as a root domain of their own.
    Partition(Vec<usize>),
}

/// What the kernel says of a thread.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Given {
    /// `SCHED_DEADLINE`, `SCHED_FIFO`, ..
    pub class: &'static str,
    /// Processor time in each period, in nanoseconds, if it has a reservation.
    pub runtime_ns: u64,
    /// Relative deadline.
    pub deadline_ns: u64,
    /// Period.
    pub period_ns: u64,
    /// Its priority, if it has one.
    pub priority: u32,
    /// The CPUs that it may use, as in `0-1,3`.
    pub cpus: String,
    /// Whether what it starts is ordinary.
    pub resets_on_fork: bool,
    /// Whether it uses time that others have reserved and leave.
    pub reclaims: bool,
}

impl Given {
    /// What it is now.
    ///
    /// # Errors
    /// If there is no such thread.
    pub fn of(thread: Tid) -> io::Result<Given> {
        const RECLAIM: u64 = 2;
        let now = sys::attributes(thread)?;
        let class = match now.sched_policy as i32 {
            libc::SCHED_OTHER => "SCHED_OTHER",
            libc::SCHED_BATCH => "SCHED_BATCH",
            libc::SCHED_IDLE => "SCHED_IDLE",
            libc::SCHED_FIFO => "SCHED_FIFO",
            libc::SCHED_RR => "SCHED_RR",
            libc::SCHED_DEADLINE => "SCHED_DEADLINE",
            7 => "SCHED_EXT",
            _ => "unknown",
        };
        let set = sys::affinity_of(thread)?;
        let count = rustix::thread::CpuSet::MAX_CPU;
        let cpus: Vec<usize> = (0..count).filter(|&cpu| set.is_set(cpu)).collect();
        Ok(Given {
            class,
            runtime_ns: now.sched_runtime,
            deadline_ns: now.sched_deadline,
            period_ns: now.sched_period,
            priority: now.sched_priority,
            cpus: crate::machine::register::list(&cpus),
            resets_on_fork: now.sched_flags & sys::RESET_ON_FORK != 0,
            reclaims: now.sched_flags & RECLAIM != 0,
        })
    }
}

/// Why a thread does not get what was admitted.
#[derive(Debug, thiserror::Error)]
pub enum ReservingError {
    /// What everything is taken back with is missing.
    #[error(transparent)]
    Changes(#[from] ChangeError),
    /// There is no root domain for it.
    #[error(transparent)]
    Cpuset(#[from] CpusetError),
    /// Somebody has the thread already.
    #[error("thread `{name}` ({thread}) has a reservation already: that of {holder}")]
    Held {
        /// Which one.
        thread: i32,
        /// What it is called.
        name: String,
        /// Who has it.
        holder: Box<Holder>,
    },
    /// The kernel refuses.
    #[error("thread {thread}: the kernel refuses {what}: {error}")]
    Thread {
        /// Which one.
        thread: i32,
        /// What it was to get.
        what: &'static str,
        /// What the kernel says.
        error: io::Error,
    },
}

impl ReservingError {
    /// What to do about it.
    pub fn help(&self) -> String {
        let error = match self {
            ReservingError::Changes(error) => return error.help(),
            ReservingError::Cpuset(error) => return error.help(),
            ReservingError::Held { holder, .. } => {
                return format!(
                    "let it give that back, with layland exec --leave {}: a thread has one reservation",
                    holder.member
                );
            }
            ReservingError::Thread { error, .. } => error,
        };
        let text = match error.raw_os_error() {
            Some(libc::EBUSY) => {
                "the kernel's own admission control: more than it lets be reserved on these CPUs (sched_rt_runtime_us)"
            }
            Some(libc::EPERM) => Missing::for_deadline().map_or(WHOLE_DOMAIN, Missing::help),
            Some(libc::ESRCH) => "it has ended",
            Some(libc::EINVAL) => {
                "the kernel takes no such times: see sched_deadline_period_min_us and _max_us in /proc/sys/kernel"
            }
            Some(_) | None => "see `layland doctor`",
        };
        text.to_owned()
    }

    /// Whether the thread has ended, so that nothing is lost.
    pub fn is_gone(&self) -> bool {
        match self {
            ReservingError::Thread { error, .. } => error.raw_os_error() == Some(libc::ESRCH),
            ReservingError::Cpuset(CpusetError::Io { error, .. }) => {
                error.raw_os_error() == Some(libc::ESRCH)
            }
            ReservingError::Cpuset(_)
            | ReservingError::Changes(_)
            | ReservingError::Held { .. } => false,
        }
    }
}

/// Who has a thread already, under whatever policy, on whatever CPUs and in whatever register: nobody else may be let
/// in for it. [`Reserving::give`] asks this, too, so that of two who ask at once one gets it.
///
/// # Errors
/// If it has a holder, or there is no register to be looked at.
pub fn has_no_holder(thread: &Thread) -> Result<(), ReservingError> {
    let register = Register::open().map_err(ChangeError::Register)?;
    is_free(&register, thread, None)
}

fn is_free(register: &Register, thread: &Thread, but: Option<&str>) -> Result<(), ReservingError> {
    match holder_of(register, thread.tid, thread.started, but) {
        None => Ok(()),
        Some(holder) => {
            let (thread, name, holder) = (thread.tid.0, thread.name.clone(), Box::new(holder));
            Err(ReservingError::Held { thread, name, holder })
        }
    }
}

/// What the kernel lets be reserved.
pub use crate::deadline::Facts as Limits;

/// A thread that was given something.
#[derive(Debug)]
struct Held {
    thread: Thread,
    /// Which reservation of the member.
    index: usize,
    /// The class that it gets when it has run in its partition.
    later: Option<Class>,
    /// What it has reserved, if it has.
    reservation: Option<Reservation>,
    /// How its reservation is set anew, if it is.
    anew: Option<Anew>,
}

/// How a reservation begins anew: see [`Reserving::begin_anew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anew {
    /// It is to be given up for a while, when its thread sleeps.
    Leave,
    /// It comes back when its thread sleeps, and this instant is past.
    Return(i64),
}

/// Threads with reservations. Dropping it gives them back what they were.
#[derive(Debug)]
pub struct Reserving {
    membership: Option<Membership>,
    partitions: Vec<(Vec<usize>, Partition)>,
    held: BTreeMap<i32, Held>,
    /// Threads that have ended, which nobody has asked for yet.
    gone: Vec<(Thread, usize)>,
    changes: Option<Changes>,
}

impl Reserving {
    /// Enters this process into the register of the machine, and starts a guardian.
    ///
    /// # Errors
    /// If there can be no register or no guardian. Nothing is changed then.
    pub fn begin(what: &str) -> Result<Reserving, ChangeError> {
        let changes = Changes::begin(what, FOR_EVER)?;
        Ok(Reserving {
            membership: None,
            partitions: Vec::new(),
            held: BTreeMap::new(),
            gone: Vec::new(),
            changes: Some(changes),
        })
    }

    /// What was admitted, under the hold of the admission, becomes known to others.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn enter(&mut self, admitting: &Admitting, member: Member) -> Result<(), ChangeError> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        self.membership = Some(Membership::enter(admitting, changes, member)?);
        Ok(())
    }

    /// What the register says of it.
    pub fn member(&self) -> Option<&Member> {
        self.membership.as_ref().map(|membership| &membership.member)
    }

    /// Says something else, under the hold of the admission if it is more than before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn update(&mut self, change: impl FnOnce(&mut Member)) -> io::Result<()> {
        let Some(membership) = &mut self.membership else { return Ok(()) };
        change(&mut membership.member);
        membership.write()
    }

    /// What it is called in the register.
    pub fn id(&self) -> &str {
        self.changes.as_ref().map_or("", Changes::id)
    }

    /// Starts to record the kernel's trace, as long as this lives.
    ///
    /// # Errors
    /// If tracefs is not mounted, or not ours to use.
    pub fn record(&mut self) -> Result<Instance, TracefsError> {
        let changes = self.changes.as_mut().ok_or(TracefsError::NotMounted)?;
        Instance::start(None, changes)
    }

    /// The process that takes everything back should this one die: a child, and no part of the program.
    pub fn guardian(&self) -> Option<Process> {
        self.changes.as_ref().map(|changes| Process(changes.guardian()))
    }

    /// Whether root domains can be made: a cpuset is made, and removed again.
    ///
    /// # Errors
    /// If the kernel refuses, or there are no cpusets.
    pub fn can_part(&mut self) -> Result<(), ReservingError> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        Ok(cpuset::try_cpuset(changes).map(|_| ())?)
    }

    /// Whether somebody wants the reservations to be given back.
    pub fn shall_leave(&self) -> bool {
        self.membership.as_ref().is_some_and(Membership::shall_leave)
    }

    /// Gives a thread a class and a place: the reservation at `index` of the member. `None` if it has its place, and
    /// gets the class [later](Self::settle): the kernel asks on which CPU a thread was last, and one that sleeps is
    /// moved to its partition when it wakes.
    ///
    /// # Errors
    /// If somebody has the thread already, or the kernel refuses. The thread is what it was then.
    pub fn give(
        &mut self,
        thread: &Thread,
        index: usize,
        class: Class,
        place: &Place,
    ) -> Result<Option<Given>, ReservingError> {
        // One that had this number has ended.
        if self.held.get(&thread.tid.0).is_some_and(|held| held.thread != *thread) {
            self.forget_ended();
        }
        self.claim(thread, index)?;
        let given = self.give_own(thread, index, class, place);
        if given.is_err()
            && let Some(membership) = &mut self.membership
        {
            let _ = membership.claim(index, None);
        }
        given
    }

    /// The thread is ours, if it is nobody's: what it was before could not be given back by two.
    fn claim(&mut self, thread: &Thread, index: usize) -> Result<(), ReservingError> {
        let (Some(membership), Some(changes)) = (&mut self.membership, &self.changes) else {
            let error = io::Error::other("nothing was admitted");
            let what = "a reservation";
            return Err(ReservingError::Thread { thread: thread.tid.0, what, error });
        };
        let register = changes.register();
        {
            let _hold = changes.hold().map_err(ChangeError::Register)?;
            is_free(register, thread, None)?;
            let claimed = membership.claim(index, Some((thread.tid, thread.started)));
            claimed.map_err(ChangeError::Register)?;
        }
        // Other users have registers of their own, of which this hold says nothing. Of two who come at once, at least
        // one sees what the other has written.
        let free = is_free(register, thread, Some(changes.id()));
        if free.is_err() {
            let _ = membership.claim(index, None);
        }
        free
    }

    fn give_own(
        &mut self,
        thread: &Thread,
        index: usize,
        class: Class,
        place: &Place,
    ) -> Result<Option<Given>, ReservingError> {
        let partition = match place {
            Place::Partition(cpus) => Some(self.partition(cpus)?),
            Place::Anywhere | Place::Tied(_) => None,
        };
        let tid = thread.tid;
        let refused =
            |what| move |error: io::Error| ReservingError::Thread { thread: tid.0, what, error };
        let home = match partition {
            Some(_) => Some(cpuset::home_of(tid)?),
            None => None,
        };
        let home = home.and_then(|path| CString::new(path.as_os_str().as_bytes()).ok());
        let period = match class {
            Class::Deadline(reservation) => Some(reservation.period),
            Class::Fifo(_) | Class::Ext => None,
        };
        let former =
            Former::of(tid, home.as_deref(), period).map_err(refused("to say what it is"))?;
        let Some(membership) = &mut self.membership else {
            let error = io::Error::other("nothing was admitted");
            return Err(refused("a reservation")(error));
        };
        membership.changed.remember(&former).map_err(refused("to be remembered"))?;
        let partitions = &self.partitions;
        let given = || -> Result<Option<Given>, ReservingError> {
            if let Some(partition) = partition {
                // It would take its reservation with it, and may have come with one.
                partitions[partition].1.attach(tid)?;
            }
            if let Place::Tied(cpus) = place {
                sys::set_affinity(tid, cpus.iter().copied()).map_err(refused("these CPUs"))?;
            }
            match enter(tid, class) {
                Err(error) if partition.is_some() && is_elsewhere(&error) => return Ok(None),
                answer => answer.map_err(refused(class.name()))?,
            }
            Given::of(tid).map(Some).map_err(refused("to say what it is"))
        }();
        match given {
            Ok(given) => {
                let later = given.is_none().then_some(class);
                let reservation = match class {
                    Class::Deadline(reservation) => Some(reservation),
                    Class::Fifo(_) | Class::Ext => None,
                };
                let held = Held { thread: thread.clone(), index, later, reservation, anew: None };
                self.held.insert(tid.0, held);
                Ok(given)
            }
            Err(error) => {
                let _ = former.restore();
                membership.changed.forget(tid);
                Err(error)
            }
        }
    }

    /// Gives threads the class for which they had to come to their CPUs first. Says which have it now.
    ///
    /// # Errors
    /// If the kernel refuses one. It is what it was then.
    pub fn settle(&mut self) -> Result<Vec<(Thread, Given)>, (Thread, ReservingError)> {
        let mut settled = Vec::new();
        let waiting: Vec<i32> = self
            .held
            .iter()
            .filter(|(_, held)| held.later.is_some())
            .map(|(&tid, _)| tid)
            .collect();
        for tid in waiting {
            let Some(held) = self.held.get_mut(&tid) else { continue };
            let Some(class) = held.later else { continue };
            let thread = held.thread.clone();
            let entered = enter(thread.tid, class).and_then(|()| Given::of(thread.tid));
            match entered {
                Ok(given) => {
                    held.later = None;
                    settled.push((thread, given));
                }
                Err(error) if is_elsewhere(&error) => {}
                Err(error) => {
                    let what = class.name();
                    self.restore(tid);
                    return Err((thread, ReservingError::Thread { thread: tid, what, error }));
                }
            }
        }
        Ok(settled)
    }

    /// Lets the reservation of a thread begin anew, in phase with its wake-ups: whether that is about to be done.
    ///
    /// The kernel throttles a thread that wakes up between its deadline and the end of its period, to the end of that
    /// period. So a reservation whose deadline comes earlier than its period, and that begins in the middle of a job,
    /// has a wrong phase for ever. What the kernel remembers of it is past when the thread has had another class for a
    /// period; then the next wake-up begins a period. Both are done while the thread sleeps.
    pub fn begin_anew(&mut self, thread: &Thread) -> bool {
        let held = self.held.get_mut(&thread.tid.0).filter(|held| held.thread == *thread);
        let Some(held) = held.filter(|held| held.later.is_none()) else { return false };
        let is_short = |of: &Reservation| of.deadline < of.period;
        if held.reservation.as_ref().is_some_and(is_short) && held.anew.is_none() {
            held.anew = Some(Anew::Leave);
        }
        held.anew.is_some()
    }

    /// Goes on with what [begins anew](Self::begin_anew); to be called often.
    ///
    /// # Errors
    /// If the kernel refuses what it had granted before. The thread is ordinary then.
    pub fn continue_anew(&mut self) -> Result<(), (Thread, ReservingError)> {
        for held in self.held.values_mut() {
            let (Some(step), Some(reservation)) = (held.anew, held.reservation) else { continue };
            let tid = held.thread.tid;
            if !held.thread.is_alive() || !is_asleep(tid) {
                continue;
            }
            let now = sys::monotonic_ns();
            let done = match step {
                Anew::Leave => {
                    held.anew = Some(Anew::Return(now + 2 * reservation.period.ns()));
                    sys::empty_reservation(tid).and_then(|()| sys::set_ordinary(tid))
                }
                Anew::Return(from) if now < from => continue,
                Anew::Return(_) => {
                    held.anew = None;
                    set_deadline(tid, reservation)
                }
            };
            if let Err(error) = done {
                let (thread, what) = (held.thread.clone(), "SCHED_DEADLINE");
                held.anew = None;
                return Err((thread, ReservingError::Thread { thread: tid.0, what, error }));
            }
        }
        Ok(())
    }

    /// Whether the reservation of a thread begins anew just now.
    pub fn begins_anew(&self, thread: &Thread) -> bool {
        self.held.get(&thread.tid.0).is_some_and(|held| held.anew.is_some())
    }

    /// The threads that wait for their class, by the position of their reservations.
    pub fn waiting(&self) -> Vec<(usize, Thread)> {
        let waiting = self.held.values().filter(|held| held.later.is_some());
        waiting.map(|held| (held.index, held.thread.clone())).collect()
    }

    /// Whether a thread waits for its class.
    pub fn is_unsettled(&self) -> bool {
        self.held.values().any(|held| held.later.is_some())
    }

    /// Gives a thread back what it was.
    fn restore(&mut self, tid: i32) {
        let (Some(held), Some(membership)) = (self.held.remove(&tid), &mut self.membership) else {
            return;
        };
        if let Some(former) = membership.changed.former(Tid(tid)) {
            let _ = former.restore();
        }
        membership.changed.forget(Tid(tid));
        let _ = membership.claim(held.index, None);
    }

    /// Reserves something more; the last of what is reserved.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, reserved: Reserved) -> io::Result<usize> {
        self.update(|member| member.reserved.push(reserved))?;
        Ok(self.member().map_or(0, |member| member.reserved.len().saturating_sub(1)))
    }

    /// Gives up what is reserved at `index`: its thread, if it has one, is given back what it was. Those behind it move
    /// up.
    pub fn remove(&mut self, index: usize) {
        let held = self.held.iter().find(|(_, held)| held.index == index).map(|(&tid, _)| tid);
        if let Some(tid) = held {
            self.restore(tid);
        }
        self.held.values_mut().filter(|held| held.index > index).for_each(|held| held.index -= 1);
        self.gone.retain(|&(_, of)| of != index);
        self.gone.iter_mut().filter(|(_, of)| *of > index).for_each(|(_, of)| *of -= 1);
        let _ = self.update(|member| {
            if index < member.reserved.len() {
                member.reserved.remove(index);
            }
        });
    }

    /// The position of the partition with these CPUs, which is joined first if need be.
    fn partition(&mut self, cpus: &[usize]) -> Result<usize, ReservingError> {
        if let Some(found) = self.partitions.iter().position(|(of, _)| of == cpus) {
            return Ok(found);
        }
        let Some(changes) = &mut self.changes else { return Ok(0) };
        let partition = Partition::join(cpus, changes)?;
        if let Some(membership) = &self.membership {
            // A cpuset with threads cannot be removed: they are restored before.
            membership.tell_threads(changes).map_err(ChangeError::Register)?;
        }
        self.partitions.push((cpus.to_vec(), partition));
        Ok(self.partitions.len() - 1)
    }

    /// Forgets threads that have ended, and says whose reservation is free.
    pub fn ended(&mut self) -> Vec<(Thread, usize)> {
        self.forget_ended();
        std::mem::take(&mut self.gone)
    }

    fn forget_ended(&mut self) {
        let gone: Vec<i32> = (self.held.iter())
            .filter(|(_, held)| !held.thread.is_alive())
            .map(|(&tid, _)| tid)
            .collect();
        let gone: Vec<Held> = gone.iter().filter_map(|tid| self.held.remove(tid)).collect();
        for held in gone {
            if let Some(membership) = &mut self.membership {
                membership.changed.forget(held.thread.tid);
                let _ = membership.claim(held.index, None);
            }
            self.gone.push((held.thread, held.index));
        }
    }

    /// The threads that are held, with what the kernel says of each now.
    pub fn held(&self) -> Vec<(Thread, usize, Option<Given>)> {
        let held = self.held.values();
        held.map(|held| (held.thread.clone(), held.index, Given::of(held.thread.tid).ok()))
            .collect()
    }

    /// Gives every thread back what it was. Says what the kernel refused to take back.
    pub fn give_back(&mut self) -> Vec<NotTakenBack> {
        let mut failed = Vec::new();
        let (Some(membership), Some(changes)) = (&mut self.membership, &mut self.changes) else {
            return failed;
        };
        for (tid, held) in std::mem::take(&mut self.held) {
            let former = membership.changed.former(Tid(tid));
            if let Some(Err(error)) = former.map(|former| former.restore()) {
                let path = format!("/proc/{tid}").into();
                failed.push(NotTakenBack { path, error: error.to_string() });
            } else {
                // Whoever asks from now on may have it.
                membership.changed.forget(Tid(tid));
            }
            let _ = membership.claim(held.index, None);
        }
        if !self.partitions.is_empty() {
            // Linux 6.18 forgets all bandwidth when it makes root domains anew, and still subtracts that of threads
            // whose zero-lag time comes later. The sum is below zero then, and whoever asks for less is refused
            // (EBUSY).
            let periods = membership.member.reserved.iter().map(|reserved| reserved.period_ns);
            sys::sleep_until(sys::monotonic_ns() + periods.max().unwrap_or(0));
        }
        for (_, partition) in self.partitions.drain(..) {
            partition.leave(changes);
        }
        failed
    }

    /// Gives every thread back what it was, and leaves the register. Says what the kernel refused to take back.
    pub fn end(&mut self) -> Vec<NotTakenBack> {
        let mut failed = self.give_back();
        if let Some(membership) = self.membership.take() {
            membership.remove();
        }
        failed.extend(self.changes.take().map(Changes::end).unwrap_or_default());
        failed
    }
}

impl Drop for Reserving {
    fn drop(&mut self) {
        self.end();
    }
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Deadline(_) => "SCHED_DEADLINE",
            Class::Fifo(_) => "SCHED_FIFO",
            Class::Ext => "SCHED_EXT",
        }
    }
}

fn enter(thread: Tid, class: Class) -> io::Result<()> {
    match class {
        Class::Deadline(reservation) => set_deadline(thread, reservation),
        Class::Fifo(priority) => {
            let _ = sys::empty_reservation(thread);
            sys::set_fifo(thread, priority)
        }
        Class::Ext => {
            let _ = sys::empty_reservation(thread);
            set_ext(thread)
        }
    }
}

/// Enters `SCHED_EXT` anew, also from that class: a scheduler hears of those that enter it alone.
fn set_ext(thread: Tid) -> io::Result<()> {
    let now = sys::attributes(thread)?;
    if now.sched_policy == sys::SCHED_EXT {
        sys::set_attributes(
            thread,
            &libc::sched_attr { sched_nice: now.sched_nice, ..sys::NO_ATTRIBUTES },
        )?;
    }
    sys::set_ext(thread, now.sched_nice, true)
}

/// Whether the kernel may still see a thread on a CPU of another root domain.
fn is_elsewhere(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EPERM) && sys::has_capability(sys::CAP_SYS_NICE)
}

/// Enters `SCHED_DEADLINE`. The kernel counts what somebody else had until its zero-lag time: it is asked again for a
/// period.
fn set_deadline(thread: Tid, reservation: Reservation) -> io::Result<()> {
    let until = sys::monotonic_ns() + reservation.period.ns().max(1_000_000_000);
    loop {
        match sys::set_deadline(thread, reservation, false) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                if sys::monotonic_ns() >= until {
                    return Err(error);
                }
                sys::sleep_until(sys::monotonic_ns() + 1_000_000);
            }
            answer => return answer,
        }
    }
}
