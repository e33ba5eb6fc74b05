//! Every test and every bound, in the order in which a program shows them: from what rules a system
//! out, over what is exact, to what is sufficient.
//!
//! ```
//! use layland_analysis::catalogue;
//! use layland_model::{Duration, Service, System, Task};
//! let tasks = ["a", "b"].map(|name| Task::implicit(name, Service::from_ms(1), Duration::from_ms(4)));
//! let system = System::new(2, tasks.to_vec());
//! let mut lines = Vec::new();
//! for test in catalogue::TESTS {
//!     lines.push(match test.run(&system) {
//!         Ok(finding) => format!("{} {}: {}", test.name, test.kind.name(), finding.verdict.name()),
//!         Err(refusal) => format!("{} does not apply: {refusal} ({})", test.name, refusal.help),
//!     });
//! }
//! assert_eq!(lines[0], "CAPACITY necessary: unknown");
//! assert!(lines[2].starts_with("QPA does not apply: task `a` may use CPUs 0-1"));
//! ```

use crate::uniprocessor::fixed_priority::{AUDSLEY, HYPERBOLIC, LIU_LAYLAND, RTA, RTA_DM, RTA_RM};
use crate::{
    BoundTest, SchedulabilityTest, affinity, deadline, global_edf, necessary, partitioned,
    uniprocessor,
};

/// Every schedulability test.
pub const TESTS: &[SchedulabilityTest] = &[
    necessary::TEST,
    affinity::feasibility::TEST,
    uniprocessor::edf::TEST,
    RTA,
    RTA_RM,
    RTA_DM,
    AUDSLEY,
    HYPERBOLIC,
    LIU_LAYLAND,
    global_edf::gfb::TEST,
    global_edf::bcl::TEST,
    global_edf::bak::TEST,
    partitioned::existence::TEST,
    partitioned::lopez::TEST,
    deadline::admission::GLOBAL,
    deadline::admission::SEMI_PARTITIONED,
];

/// Every tardiness bound.
pub const BOUNDS: &[BoundTest] = &[
    global_edf::devi_anderson::TEST,
    global_edf::compliant_vector::PLAIN,
    global_edf::compliant_vector::REDUCED,
    deadline::tardiness::TEST,
];

/// The test with this name, in any case.
pub fn test(name: &str) -> Option<&'static SchedulabilityTest> {
    TESTS.iter().find(|test| test.name.eq_ignore_ascii_case(name))
}

/// The bound with this name, in any case.
pub fn bound(name: &str) -> Option<&'static BoundTest> {
    BOUNDS.iter().find(|bound| bound.name.eq_ignore_ascii_case(name))
}
