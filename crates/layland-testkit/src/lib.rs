//! Layland's test kit: what the tests of every crate share, and nobody else uses.
//!
//! - [`twin`]: the obvious version of each clever algorithm, to run beside it on random inputs;
//! - [`affinity`]: what scheduling with affinities means, read off the definitions;
//! - [`bounds`]: what is claimed of all schedules, held against many;
//! - [`inversions`]: priority inversions in a recorded schedule;
//! - [`cases`]: random systems aimed at where analyses decide, and runs of them;
//! - [`criticality`]: mixed-criticality analyses, read off their definitions;
//! - [`logged`]: a policy that writes down what it does, to feed it to a copy;
//! - [`mixed`]: mixed criticality under adversarial runs, and its slow twins;
//! - [`optimal`]: RUN and QPS at full load, and their slow twins;
//! - [`ticks`]: a simulator that moves one time unit at a time;
//! - [`strategies`]: random task sets for property tests;
//! - [`vectors`]: the runner of test vectors in the documented schemas.

pub mod affinity;
pub mod bounds;
pub mod cases;
pub mod criticality;
pub mod inversions;
pub mod logged;
pub mod mixed;
pub mod optimal;
pub mod strategies;
pub mod ticks;
pub mod twin;
pub mod vectors;
