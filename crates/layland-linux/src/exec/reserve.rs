//! Gives threads a class and a place, reads back what the kernel made of it, and reverts
//! everything.
//!
//! Long because the changes and their reversal belong together.

use super::processes::{Process, Thread, is_asleep};
use crate::kernel::sys::{self, Reservation, Tid};
use crate::kernel::tracefs::{Instance, TracefsError};
use crate::machine::admitted::{Admitting, Holder, Member, Membership, Reserved, holder_of};
use crate::machine::changes::{ChangeError, Changes, NotTakenBack};
use crate::machine::cpuset::{self, CpusetError, Partition};
use crate::machine::register::Register;
use crate::machine::rules::{Missing, enter_deadline, try_deadline};
use crate::machine::threads::Former;
use layland_model::Duration;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;

/// The time for which a guardian watches: longer than any machine runs.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The advice if a thread cannot have `SCHED_DEADLINE` although the rights suffice.
const WHOLE_DOMAIN: &str = "SCHED_DEADLINE needs a thread that may use every CPU of its root domain: start it without \
                            taskset, and name CPUs with --on-cpus";

/// Checks whether a thread like the calling one may have the class that a policy gives it: the
/// rights, the CPUs that it may use, and the kernel's admission control. `joined` is the thread
/// that is to have the class, if it exists already.
///
/// # Errors
/// Returns the obstacle, with advice for the user.
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
        // In a partition, the thread may use all CPUs of the partition.
        Class::Deadline(_) if !is_anywhere => Ok(()),
        Class::Deadline(_) => match joined {
            None => try_deadline().map_err(refused),
            // A thread in another cpuset may have another root domain, where this check says
            // nothing.
            Some(thread) if is_beside_us(thread) && !may_use_as_much(thread) => {
                Err(not_permitted())
            }
            Some(_) => Ok(()),
        },
    }
}

/// Returns true if a thread is in our cpuset, and the kernel grants this process `SCHED_DEADLINE`
/// there.
fn is_beside_us(thread: &Thread) -> bool {
    let home = |tid| cpuset::home_of(tid).ok();
    home(thread.tid) == home(Tid::own()) && try_deadline().is_ok()
}

/// Returns true if a thread may use every CPU that this process may use.
fn may_use_as_much(thread: &Thread) -> bool {
    let (Ok(own), Ok(its)) = (sys::affinity_of(Tid::own()), sys::affinity_of(thread.tid)) else {
        return true;
    };
    (0..rustix::thread::CpuSet::MAX_CPU).all(|cpu| its.is_set(cpu) || !own.is_set(cpu))
}

/// The kernel's scheduling class that a thread receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `SCHED_DEADLINE` with this reservation.
    Deadline(Reservation),
    /// `SCHED_FIFO` with this priority.
    Fifo(i32),
    /// `SCHED_EXT`, for a scheduler that knows the thread. Its children run in the ordinary class.
    Ext,
}

/// Where a thread may run, in CPUs of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the CPUs that it may use already.
    Anywhere,
    /// On these CPUs, which other threads may use as well.
    Tied(Vec<usize>),
    /// On these CPUs, which are a root domain of their own.
    Partition(Vec<usize>),
}

/// The scheduling parameters of a thread, as the kernel reports them.
#[derive(Clone, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[schemars(inline)]
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
    /// True if its children run in the ordinary class.
    pub resets_on_fork: bool,
    /// True if it uses time that other threads have reserved and do not need.
    pub reclaims: bool,
}

impl Given {
    /// Reads the present parameters of a thread.
    ///
    /// # Errors
    /// Returns an error if there is no such thread.
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

/// The reason why a thread does not get the reservation that was admitted.
#[derive(Debug, thiserror::Error)]
pub enum ReservingError {
    /// The register or the guardian, which revert the changes, is not available.
    #[error(transparent)]
    Changes(#[from] ChangeError),
    /// A root domain cannot be created for it.
    #[error(transparent)]
    Cpuset(#[from] CpusetError),
    /// Another member holds the thread already.
    #[error("thread `{name}` ({thread}) has a reservation already: that of {holder}")]
    Held {
        /// The kernel id of the thread.
        thread: i32,
        /// Its name.
        name: String,
        /// The member that holds it.
        holder: Box<Holder>,
    },
    /// The kernel refuses.
    #[error("thread {thread}: the kernel refuses {what}: {error}")]
    Thread {
        /// The kernel id of the thread.
        thread: i32,
        /// The class or setting that it was to get.
        what: &'static str,
        /// The error that the kernel returned.
        error: io::Error,
    },
}

impl ReservingError {
    /// Returns advice for the user.
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

    /// Returns true if the thread has ended, so that nothing is lost.
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

/// Returns an error if a member holds the thread already, under any policy, on any CPUs and in any
/// register. Callers must not admit another member for it then. [`Reserving::give`] repeats the
/// check, so that only one of two concurrent callers gets the thread.
///
/// # Errors
/// Returns an error if the thread has a holder, or the register cannot be opened.
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

/// The limits of what the kernel lets threads reserve.
pub use crate::deadline::Facts as Limits;

/// A thread with a class or a place that this process has set.
#[derive(Debug)]
struct ChangedThread {
    thread: Thread,
    /// The position of its reservation in the member.
    index: usize,
    /// The class that it gets once it has run in its partition.
    later: Option<Class>,
    /// Its reservation, if it has one.
    reservation: Option<Reservation>,
    /// The next step if its reservation is being restarted.
    anew: Option<Anew>,
}

/// The steps that restart a reservation: see [`Reserving::begin_anew`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anew {
    /// Drop the reservation for a while, as soon as the thread sleeps.
    Leave,
    /// Set the reservation again when the thread sleeps and this instant has passed.
    Return(i64),
}

/// Threads with reservations. Dropping the value restores their former classes and places.
#[derive(Debug)]
pub struct Reserving {
    membership: Option<Membership>,
    partitions: Vec<(Vec<usize>, Partition)>,
    held: BTreeMap<i32, ChangedThread>,
    /// Threads that have ended and that [`Reserving::ended`] has not reported yet.
    gone: Vec<(Thread, usize)>,
    changes: Option<Changes>,
}

impl Reserving {
    /// Enters this process into the register of the machine, and starts a guardian.
    ///
    /// # Errors
    /// Returns an error if the register or the guardian is not available. Nothing has changed then.
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

    /// Writes an admitted member into the register, while `admitting` holds the admission lock.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn enter(&mut self, admitting: &Admitting, member: Member) -> Result<(), ChangeError> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        self.membership = Some(Membership::enter(admitting, changes, member)?);
        Ok(())
    }

    /// Returns the entry of this process in the register.
    pub fn member(&self) -> Option<&Member> {
        self.membership.as_ref().map(|membership| &membership.member)
    }

    /// Changes the entry in the register. The caller must hold the admission lock if the entry
    /// grows.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn update(&mut self, change: impl FnOnce(&mut Member)) -> io::Result<()> {
        let Some(membership) = &mut self.membership else { return Ok(()) };
        change(&mut membership.member);
        membership.write()
    }

    /// Returns the id of this process in the register.
    pub fn id(&self) -> &str {
        self.changes.as_ref().map_or("", Changes::id)
    }

    /// Starts to record the kernel's trace, for as long as this value lives.
    ///
    /// # Errors
    /// Returns an error if tracefs is not mounted or not accessible.
    pub fn record(&mut self) -> Result<Instance, TracefsError> {
        let changes = self.changes.as_mut().ok_or(TracefsError::NotMounted)?;
        Instance::start(None, changes)
    }

    /// Returns the process that reverts everything if this one dies. It is a child of this process,
    /// but not part of the program.
    pub fn guardian(&self) -> Option<Process> {
        self.changes.as_ref().map(|changes| Process(changes.guardian()))
    }

    /// Checks that root domains can be created: creates a cpuset and removes it again.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, or there are no cpusets.
    pub fn can_part(&mut self) -> Result<(), ReservingError> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        Ok(cpuset::try_cpuset(changes).map(|_| ())?)
    }

    /// Returns true if the register asks this process to give up its reservations.
    pub fn shall_leave(&self) -> bool {
        self.membership.as_ref().is_some_and(Membership::shall_leave)
    }

    /// Gives a thread a class and a place: the reservation at `index` of the member. Returns `None`
    /// if the thread has its place and gets the class [later](Self::settle). The kernel checks the
    /// CPU on which a thread last ran, and a sleeping thread moves to its partition only when it
    /// wakes.
    ///
    /// # Errors
    /// Returns an error if another member holds the thread, or the kernel refuses. The thread is in
    /// its former state then.
    pub fn give(
        &mut self,
        thread: &Thread,
        index: usize,
        class: Class,
        place: &Place,
    ) -> Result<Option<Given>, ReservingError> {
        // The thread that had this number before has ended.
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

    /// Claims the thread, unless another member holds it. Two members could not both restore its
    /// former state.
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
        // Other users have registers of their own, which this lock does not cover. The claim is
        // therefore written before this check: of two concurrent callers, at least one sees the
        // other's claim.
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
                // Moving the thread would move its reservation, too; and it may have come with one.
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
                let held =
                    ChangedThread { thread: thread.clone(), index, later, reservation, anew: None };
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

    /// Gives the threads that have reached their CPUs the class that they wait for. Returns those
    /// that have it now.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses one of them. That thread is in its former state then.
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

    /// Restarts the reservation of a thread in phase with its wake-ups. Returns true if a restart
    /// is pending.
    ///
    /// If a thread wakes up between its deadline and the end of its period, the kernel throttles it
    /// until the end of that period. A reservation whose deadline comes before the end of its
    /// period, and that begins in the middle of a job, therefore keeps a wrong phase for ever. The
    /// kernel forgets the phase once the thread has had another class for a period; the next
    /// wake-up then begins a period. Both changes of class happen while the thread sleeps.
    pub fn begin_anew(&mut self, thread: &Thread) -> bool {
        let held = self.held.get_mut(&thread.tid.0).filter(|held| held.thread == *thread);
        let Some(held) = held.filter(|held| held.later.is_none()) else { return false };
        let is_short = |of: &Reservation| of.deadline < of.period;
        if held.reservation.as_ref().is_some_and(is_short) && held.anew.is_none() {
            held.anew = Some(Anew::Leave);
        }
        held.anew.is_some()
    }

    /// Continues the [restarts](Self::begin_anew) that are pending; to be called often.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses a reservation that it had granted before. The thread
    /// is in the ordinary class then.
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
                    match sys::empty_reservation(tid) {
                        // A kernel with the repair changes no reservation, and leaks none either.
                        Err(error) if error.raw_os_error() != Some(libc::EBUSY) => Err(error),
                        Ok(()) | Err(_) => sys::set_ordinary(tid),
                    }
                }
                Anew::Return(from) if now < from => continue,
                Anew::Return(_) => {
                    held.anew = None;
                    enter_deadline(tid, reservation)
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

    /// Returns true if the restart of a thread's reservation is pending.
    pub fn begins_anew(&self, thread: &Thread) -> bool {
        self.held.get(&thread.tid.0).is_some_and(|held| held.anew.is_some())
    }

    /// Returns the threads that wait for their class, each with the position of its reservation.
    pub fn waiting(&self) -> Vec<(usize, Thread)> {
        let waiting = self.held.values().filter(|held| held.later.is_some());
        waiting.map(|held| (held.index, held.thread.clone())).collect()
    }

    /// Returns true if a thread waits for its class.
    pub fn is_unsettled(&self) -> bool {
        self.held.values().any(|held| held.later.is_some())
    }

    /// Restores the former state of a thread.
    fn restore(&mut self, tid: i32) {
        let (Some(held), Some(membership)) = (self.held.remove(&tid), &mut self.membership) else {
            return;
        };
        if let Some(former) = membership.changed.former(Tid(tid)) {
            let _ = former.restore();
        }
        membership.changed.forget(Tid(tid));
        let _ = membership.claim(held.index, None);
        self.note_ended(held.reservation);
    }

    /// Notes that a thread has ended or lost its reservation, if it had one.
    fn note_ended(&self, reservation: Option<Reservation>) {
        if let (Some(reservation), Some(changes)) = (reservation, &self.changes) {
            changes.note_ended(reservation.period);
        }
    }

    /// Appends a reservation to the member. Returns its position.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn add(&mut self, reserved: Reserved) -> io::Result<usize> {
        self.update(|member| member.reserved.push(reserved))?;
        Ok(self.member().map_or(0, |member| member.reserved.len().saturating_sub(1)))
    }

    /// Removes the reservation at `index` and restores its thread, if it has one. The reservations
    /// behind it move up.
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

    /// Returns the position of the partition with these CPUs. Joins the partition first if
    /// necessary.
    fn partition(&mut self, cpus: &[usize]) -> Result<usize, ReservingError> {
        if let Some(found) = self.partitions.iter().position(|(of, _)| of == cpus) {
            return Ok(found);
        }
        let Some(changes) = &mut self.changes else { return Ok(0) };
        let partition = Partition::join(cpus, changes)?;
        if let Some(membership) = &self.membership {
            // A cpuset with threads cannot be removed, so the guardian must know the threads to
            // restore first.
            membership.tell_threads(changes).map_err(ChangeError::Register)?;
        }
        self.partitions.push((cpus.to_vec(), partition));
        Ok(self.partitions.len() - 1)
    }

    /// Forgets threads that have ended. Returns them with the positions of their free reservations.
    pub fn ended(&mut self) -> Vec<(Thread, usize)> {
        self.forget_ended();
        std::mem::take(&mut self.gone)
    }

    fn forget_ended(&mut self) {
        let gone: Vec<i32> = (self.held.iter())
            .filter(|(_, held)| !held.thread.is_alive())
            .map(|(&tid, _)| tid)
            .collect();
        let gone: Vec<ChangedThread> =
            gone.iter().filter_map(|tid| self.held.remove(tid)).collect();
        for held in gone {
            if let Some(membership) = &mut self.membership {
                membership.changed.forget(held.thread.tid);
                let _ = membership.claim(held.index, None);
            }
            self.note_ended(held.reservation);
            self.gone.push((held.thread, held.index));
        }
    }

    /// Returns the threads that this process holds, with the kernel's present parameters of each.
    pub fn held(&self) -> Vec<(Thread, usize, Option<Given>)> {
        let held = self.held.values();
        held.map(|held| (held.thread.clone(), held.index, Given::of(held.thread.tid).ok()))
            .collect()
    }

    /// Restores the former state of every thread. Returns the changes that the kernel refused to
    /// revert.
    pub fn give_back(&mut self) -> Vec<NotTakenBack> {
        let mut failed = Vec::new();
        let reservations = self.held.values().filter_map(|held| held.reservation);
        let longest = reservations.map(|reservation| reservation.period).max();
        let (Some(membership), Some(changes)) = (&mut self.membership, &mut self.changes) else {
            return failed;
        };
        for (tid, held) in std::mem::take(&mut self.held) {
            let former = membership.changed.former(Tid(tid));
            if let Some(Err(error)) = former.map(|former| former.restore()) {
                let path = format!("/proc/{tid}").into();
                failed.push(NotTakenBack { path, error: error.to_string() });
            } else {
                // From here on, other members may claim the thread.
                membership.changed.forget(Tid(tid));
            }
            let _ = membership.claim(held.index, None);
        }
        if let Some(longest) = longest {
            changes.note_ended(longest);
        }
        for (_, partition) in self.partitions.drain(..) {
            partition.leave(changes);
        }
        failed
    }

    /// Restores the former state of every thread and leaves the register. Returns the changes that
    /// the kernel refused to revert.
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
        Class::Deadline(reservation) => enter_deadline(thread, reservation),
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

/// Enters `SCHED_EXT` anew, even from that class, because the kernel notifies a scheduler only of
/// threads that enter it.
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

/// Returns true if the kernel may still see the thread on a CPU of another root domain.
fn is_elsewhere(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EPERM) && sys::has_capability(sys::CAP_SYS_NICE)
}
