//! Tests the executors against the vectors of an exact reference, a slow twin and each other: runs
//! never exceed a bound.

mod draw;
mod others;
mod runs;
mod twin;
mod vectors;
