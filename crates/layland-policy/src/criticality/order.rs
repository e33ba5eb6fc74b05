//! The fixed priorities of a mechanism.

/// The fixed priorities of the tasks of a mechanism: see [`FixedOrder`](crate::FixedOrder).
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The place of each task.
    pub place: &'a [usize],
    /// True if an arrival ends the pending job of its task.
    pub replaces: bool,
    /// True if the selected job gives way to any other.
    pub yields: bool,
}
