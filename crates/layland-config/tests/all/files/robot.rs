//! A robot.
use std::time::Duration;
fn main() {}
