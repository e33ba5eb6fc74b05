//! Identifiers, and the maps that they index.

use std::fmt;
use std::marker::PhantomData;
use std::ops;

/// An identifier that is a small index.
pub trait Index: Copy + Ord {
    /// Converts from an index.
    fn from_index(index: usize) -> Self;
    /// Converts to an index.
    fn index(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub struct $name(pub u32);

        impl Index for $name {
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id! {
    /// A CPU, numbered from 0.
    CpuId, "cpu"
}
id! {
    /// A task: its position in the task set, from 0.
    TaskId, "task"
}

/// One activation of a task: the job with number `seq`, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct JobId {
    /// The task.
    pub task: TaskId,
    /// The number of the job among those of the task, from 0.
    pub seq: u64,
}

impl JobId {
    /// Returns the number of the job for people, from 1: in messages, charts and traces for other
    /// tools. The number of the last possible job is also that of the one before it.
    pub const fn number(self) -> u64 {
        self.seq.saturating_add(1)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}#{}", self.task, self.seq)
    }
}

/// A vector indexed by an identifier.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdVec<I, T>(Vec<T>, PhantomData<I>);

/// One value per CPU.
pub type CpuMap<T> = IdVec<CpuId, T>;
/// One value per task.
pub type TaskMap<T> = IdVec<TaskId, T>;

impl<I: Index, T> IdVec<I, T> {
    /// `len` copies of a value.
    pub fn filled(value: T, len: usize) -> Self
    where
        T: Clone,
    {
        vec![value; len].into()
    }
    /// Appends a value and returns its identifier.
    pub fn push(&mut self, value: T) -> I {
        self.0.push(value);
        I::from_index(self.0.len() - 1)
    }
    /// The number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The value, if the identifier is in range.
    pub fn get(&self, id: I) -> Option<&T> {
        self.0.get(id.index())
    }
    /// The value, if the identifier is in range.
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.0.get_mut(id.index())
    }
    /// Changes the length to `len` and fills new entries with `value`.
    pub fn resize(&mut self, len: usize, value: T)
    where
        T: Clone,
    {
        self.0.resize(len, value);
    }
    /// Every identifier, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.0.len()).map(I::from_index)
    }
    /// Every value.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
    /// Every value.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.0.iter_mut()
    }
    /// Every identifier with its value.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator {
        self.0.iter().enumerate().map(|(index, value)| (I::from_index(index), value))
    }
    /// Views the values as a slice.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self(Vec::new(), PhantomData)
    }
}
impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(values: Vec<T>) -> Self {
        Self(values, PhantomData)
    }
}
impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(values: It) -> Self {
        Self(values.into_iter().collect(), PhantomData)
    }
}
impl<I: Index, T> ops::Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.0[id.index()]
    }
}
impl<I: Index, T> ops::IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.0[id.index()]
    }
}
impl<I: Index + fmt::Debug, T: fmt::Debug> fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
