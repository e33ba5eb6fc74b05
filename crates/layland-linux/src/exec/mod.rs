//! Existing programs with reservations: they are started or joined, their threads receive a class
//! of the kernel, and at the end the threads return to their former state.
//!
//! ```text
//!   program.rs      starts a program, which waits until it has what it asked for
//!   processes.rs    which threads there are: a program, all that it started, another program
//!   group.rs        those of a control group
//!   signals.rs      what the terminal and the kernel tell, and what is passed on to the program
//!   foreign.rs      threads of others
//!   socket.rs       a socket on which programs ask, and who asks
//!   rights.rs       what a thread may, and what a daemon keeps of what it may
//!   reserve.rs      gives a thread a class and a place, and reads back what the kernel made of it
//! ```
//!
//! Nothing here makes admission decisions: analyses do, and the register lists the members that
//! they have admitted ([`Member`](crate::Member)).

mod foreign;
mod group;
mod processes;
mod program;
mod reserve;
mod rights;
mod signals;
mod socket;

pub use crate::kernel::sys::{Reservation, Tid, monotonic_ns};
pub use foreign::{Rival, Used, foreign_deadline, rivals, set_priority, watch};
pub use group::Group;
pub use processes::{
    Owner, Process, Thread, Waits, busy_times, descendants, processor_time, thread, threads_of,
    threads_of_kernel,
};
pub use program::{Ambient, Ended, Program};
pub use reserve::{
    Class, Given, Limits, Place, Reserving, ReservingError, can_have, has_no_holder,
};
pub use rights::{Rights, keep_what_a_scheduler_needs};
pub use signals::{Signal, Signals};
pub use socket::{Asker, Door, Peer, Said, is_ready};
