//! Tests of the command that need no particular machine, as one program with several modules. Tests
//! that start threads or occupy CPUs are separate programs, which run one after the other.

mod certificates;
mod command;
#[path = "../common/mod.rs"]
mod common;
mod daemon;
mod designs;
mod first_steps;
mod foreign;
mod large;
mod levels;
mod lies;
mod packaging;
mod play;
#[path = "../common/process.rs"]
mod process;
mod recorded;
mod screens;
mod slips;
mod speed_page;
mod sweeps;
mod working;
