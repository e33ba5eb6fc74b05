//! The timers of a manager on real threads.

/// The timers of a manager where threads release and end their jobs themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ManagerTimers {
    /// The manager wakes up when it is needed.
    #[default]
    AsNeeded,
    /// It also wakes up at every instant at which a job could need it, and looks whether it does.
    Periodic,
}
