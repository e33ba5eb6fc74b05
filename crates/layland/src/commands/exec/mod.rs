//! `layland exec`: runs existing programs under a policy, with admission control.
//!
//! ```text
//!   wishes.rs   what is asked for, and for which threads
//!   machine.rs  the CPUs of the machine, and the time that the kernel keeps
//!   foreign.rs  the threads of the machine that were not admitted
//!   book.rs     reads and writes the book of admissions, and asks it
//!   promise.rs  whether what was promised still holds
//!   groups.rs   control groups that are named
//!   follow.rs   from the first thread to the last
//!   watch.rs    from the first instruction of the program to its end
//!   seen.rs     what the kernel's trace says of it
//!   client.rs   the same as follow.rs by the daemon, for the engine ext
//!   work.rs     which threads use the processor time
//!   list.rs     what is admitted now
//! ```

mod args;
pub(crate) mod book;
mod client;
mod follow;
mod foreign;
mod groups;
mod list;
pub(crate) mod machine;
mod promise;
mod seen;
mod watch;
mod wishes;
mod work;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::terminal;
use args::Engine;
use layland_linux::{Admitting, Member, Register};
use layland_policy::Registry;

pub(crate) use args::{EXAMPLES, ExecArgs, SOCKET};
pub(crate) use list::{ExecDocument, cpus as cpus_of, thread as thread_of};

pub(crate) fn run(registry: &Registry, args: &ExecArgs) -> Outcome {
    if args.list {
        return list::show(args.json, &members(args)?);
    }
    if let Some(name) = &args.leave {
        return leave(name, args);
    }
    let policy = args.policy();
    let Some(regime) = policy.regime(args.engine) else {
        let (name, other) = match args.engine {
            Engine::Kernel => ("the kernel's own classes", "add --engine ext"),
            Engine::Ext => ("the engine ext", "leave --engine ext out"),
        };
        let message = format!("{name} cannot carry out {}", policy.name());
        return Err(Failure::usage(message).help(other));
    };
    match args.engine {
        Engine::Kernel => follow::run(registry, args, regime),
        Engine::Ext => client::run(args),
    }
}

/// Returns the members in the register and those of the daemon. The register of root differs from
/// that of other users.
fn members(args: &ExecArgs) -> Result<Vec<Member>, Failure> {
    let mut members: Vec<Member> =
        register()?.members().into_iter().map(|(_, member)| member).collect();
    for member in client::members(&args.socket)? {
        let is_it = |known: &Member| (known.pid, known.namespace) == (member.pid, member.namespace);
        if !members.iter().any(is_it) {
            members.push(member);
        }
    }
    Ok(members)
}

fn register() -> Result<Register, Failure> {
    Register::open().map_err(|error| layland_linux::ChangeError::Register(error).into())
}

/// Locks the register: no other process can admit anything until the result is dropped.
pub(crate) fn admitting() -> Result<Admitting, Failure> {
    let admitting = register()?.admitting();
    admitting.map_err(|error| layland_linux::ChangeError::Register(error).into())
}

/// Asks a member to give its reservations back.
fn leave(name: &str, args: &ExecArgs) -> Outcome {
    if client::leave(&args.socket, name)? {
        terminal::talk(&format!("`{name}` has given back what it had reserved"));
        return Ok(Exit::Yes);
    }
    let register = register()?;
    let asked = register.ask_to_leave(name);
    if asked.map_err(|error| Failure::refused(format!("failed to ask `{name}`: {error}")))? {
        terminal::talk(&format!("asked `{name}` to give back what it has reserved"));
        return Ok(Exit::Yes);
    }
    let members = register.members();
    let names: Vec<&str> = members.iter().map(|(_, member)| member.name.as_str()).collect();
    let help = match names.as_slice() {
        [] => "nothing is admitted on this machine".to_owned(),
        names => format!("there is {}", names.join(", ")),
    };
    Err(Failure::usage(format!("no program called `{name}` is admitted")).help(help))
}
