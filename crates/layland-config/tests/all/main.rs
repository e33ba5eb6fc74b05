//! The tests of this crate as one program, a module each.

mod blocking;
mod caches;
mod chains;
mod common;
mod csv;
mod curves;
mod follows;
mod lines;
mod messages;
mod robustness;
mod rtapp;
mod rtapp_steps;
mod steps;
mod taskset;
mod xml;
