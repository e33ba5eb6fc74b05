//! Tests of names and options in the registry. They are not unit tests: to build any policy, a test
//! program needs the code of all of them, and a second one would compile it again.

mod federated;
mod registry;
mod spoken;
