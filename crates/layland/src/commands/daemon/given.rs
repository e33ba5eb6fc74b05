//! Threads that a client has named, and a check that their numbers still identify them.

use super::rules::may_give;
use crate::ui::exit::Failure;
use layland_linux::exec::{Rights, Thread, thread};

/// A thread that a client has named, as it was at that time.
#[derive(Clone)]
pub(super) struct Given {
    pub(super) thread: Thread,
    rights: Rights,
}

impl Given {
    /// Finds the thread with this number, if this user may name it.
    pub(super) fn find(number: i32, user: u32) -> Result<Given, Failure> {
        let found = thread(number);
        let rights = found.as_ref().and_then(|_| Rights::of(number));
        may_give(user, number, rights.as_ref().map(|rights| rights.owner))?;
        let gone = || Failure::usage(format!("there is no thread {number}"));
        let (thread, rights) = found.zip(rights).ok_or_else(gone)?;
        let given = Given { thread, rights };
        // The data that was read last may belong to a later thread with the same number.
        given.is_the_same()?;
        Ok(given)
    }

    /// Checks that the number still identifies this thread, and that the thread has no more rights:
    /// changes address the thread by its number.
    pub(super) fn is_the_same(&self) -> Result<(), Failure> {
        let number = self.thread.tid.0;
        let rights = Rights::of(number).filter(|_| self.thread.is_alive());
        let rights =
            rights.ok_or_else(|| Failure::usage(format!("there is no thread {number}")))?;
        if rights.exceed(&self.rights) {
            return Err(Failure::refused(format!(
                "thread {number} has got the rights of another program meanwhile"
            )));
        }
        Ok(())
    }

    /// Returns true if the program of the thread has been replaced by one with other rights.
    pub(super) fn has_more_rights(&self) -> bool {
        let Given { thread, rights } = self;
        Rights::of(thread.tid.0).is_some_and(|now| now.exceed(rights)) && thread.is_alive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::daemon::rules::ROOT;
    use crate::ui::exit::Exit;

    #[test]
    fn a_thread_is_found_for_its_owner_and_root() {
        let own = std::process::id() as i32;
        let user = Rights::of(own).expect("it is there").owner.effective;
        let given = Given::find(own, user).map_err(|failure| failure.exit).expect("it is ours");
        assert!(given.is_the_same().is_ok());
        assert_eq!(
            Given::find(own, user + 1).map(drop).map_err(|failure| failure.exit),
            Err(Exit::Refused)
        );
        // A different thread with the number, or one with more rights, counts as another thread.
        let mut other = given.clone();
        other.thread.started += 1;
        assert!(other.is_the_same().is_err());
        assert!(Given::find(i32::MAX, ROOT).is_err());
    }
}
