//! The tests of this crate as one program, with a module for each topic.

mod blocking;
mod caches;
mod chains;
mod common;
mod csv;
mod curves;
mod files;
mod follows;
mod keys;
mod lines;
mod messages;
mod robustness;
mod rtapp;
mod rtapp_steps;
mod steps;
mod taskset;
mod xml;
