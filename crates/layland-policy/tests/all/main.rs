//! What the registry makes of names and options. Not among the units: to make any policy, a program of tests needs the
//! code of all of them, and would compile it a second time.

mod federated;
mod registry;
mod spoken;
