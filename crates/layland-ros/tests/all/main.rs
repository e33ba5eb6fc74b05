//! The executors against the vectors of an exact reference.

mod vectors;
