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
//! let qpa = lines.iter().find(|line| line.starts_with("QPA ")).unwrap();
//! assert!(qpa.starts_with("QPA does not apply: task `a` may use CPUs 0-1"));
//! ```

use crate::uniprocessor::deferred;
use crate::uniprocessor::fixed_priority::{
    self, AUDSLEY, HYPERBOLIC, LIU_LAYLAND, RTA, RTA_DM, RTA_RM,
};
use crate::{
    BoundTest, ResponseTest, SchedulabilityTest, affinity, deadline, global_edf, global_fp, mixed,
    necessary, optimal, partitioned, semi_partitioned, top_first, uniprocessor,
};

/// The names of tests and response times that search through the lengths of windows: where they are silent they take
/// some milliseconds, hundreds of times as long as all others. GLOBAL-EDF runs one of them.
pub const LONG: &[&str] =
    &["G-RTA-LC", "GLOBAL-EDF", "SAPA-EDF", "SAPA-RM", "SAPA-DM", "SAPA-FP", "APA-EDF-LC"];

/// Every schedulability test.
pub const TESTS: &[SchedulabilityTest] = &[
    necessary::TEST,
    affinity::feasibility::TEST,
    optimal::TEST,
    optimal::pfair::TEST,
    semi_partitioned::FAIL_FIRST,
    semi_partitioned::FAIL_WORST,
    semi_partitioned::NEXT_FIRST,
    semi_partitioned::NEXT_BEST,
    semi_partitioned::WINDOWS,
    uniprocessor::edf::TEST,
    uniprocessor::edf_response::TEST,
    RTA,
    RTA_RM,
    RTA_DM,
    AUDSLEY,
    HYPERBOLIC,
    LIU_LAYLAND,
    deferred::edf::TEST,
    deferred::edf_response::TEST,
    deferred::fixed_priority::TEST,
    deferred::fixed_priority::TEST_RM,
    deferred::fixed_priority::TEST_DM,
    global_edf::gfb::TEST,
    global_edf::load::TEST,
    global_edf::bak::TEST,
    global_edf::bcl::TEST,
    global_edf::bcli::TEST,
    global_edf::bar::TEST,
    global_edf::rta::TEST,
    global_edf::ff_dbf::TEST,
    global_edf::limited::TEST,
    global_edf::combined::TEST,
    global_edf::edzl::TEST,
    top_first::EDF_US,
    top_first::FPEDF,
    top_first::EDF_K,
    top_first::RM_US,
    global_fp::BCL_RM,
    global_fp::BERTOGNA_RM,
    global_fp::GUAN_RM,
    global_fp::BCL_DM,
    global_fp::BERTOGNA_DM,
    global_fp::GUAN_DM,
    global_fp::BCL_FP,
    global_fp::BERTOGNA_FP,
    global_fp::GUAN_FP,
    affinity::hpa_speed::TEST,
    affinity::edf::TEST,
    affinity::fixed_priority::RM,
    affinity::fixed_priority::DM,
    affinity::fixed_priority::FP,
    affinity::busy::EDF,
    affinity::busy::STRONG_EDF,
    affinity::busy::STRONG_RM,
    affinity::busy::STRONG_DM,
    affinity::busy::STRONG_FP,
    partitioned::existence::TEST,
    partitioned::lopez::TEST,
    partitioned::lopez::ADAPTIVE,
    mixed::SMC_RM,
    mixed::SMC_CM,
    mixed::FTP_SMC,
    mixed::AMC_RT,
    mixed::AMC_MAX,
    mixed::AMC_IA,
    mixed::PT,
    mixed::ZSS,
    mixed::FJP,
    mixed::FJP_LB,
    mixed::EDF_VD,
    mixed::EDF_VD_WHOLE,
    mixed::EKBERG_YI,
    mixed::AMC_IA_PAPER,
    mixed::PT_PAPER,
    mixed::ZSS_PAPER,
    mixed::FJP_IJA_PAPER,
    mixed::FJP_IJA_FLOOR,
    deadline::admission::GLOBAL,
    deadline::admission::SEMI_PARTITIONED,
];

/// Every tardiness bound.
pub const BOUNDS: &[BoundTest] = &[
    global_edf::devi_anderson::TEST,
    global_edf::compliant_vector::PLAIN,
    global_edf::compliant_vector::REDUCED,
    affinity::lag::STRONG,
    deadline::tardiness::TEST,
    affinity::lag::SEMI_PARTITIONED,
];

/// Every bound on response times; several of one policy in no order: the smallest bound counts.
pub const RESPONSES: &[ResponseTest] = &[
    uniprocessor::edf_response::RESPONSES,
    fixed_priority::RTA_RESPONSES,
    fixed_priority::RTA_RM_RESPONSES,
    fixed_priority::RTA_DM_RESPONSES,
    deferred::edf_response::RESPONSES,
    deferred::fixed_priority::RESPONSES,
    deferred::fixed_priority::RESPONSES_RM,
    deferred::fixed_priority::RESPONSES_DM,
    global_edf::bcli::RESPONSES,
    global_edf::rta::RESPONSES,
    global_edf::limited::RESPONSES,
    global_fp::BCL_RM_RESPONSE,
    global_fp::BCL_DM_RESPONSE,
    global_fp::BCL_FP_RESPONSE,
    global_fp::BERTOGNA_RM_RESPONSE,
    global_fp::BERTOGNA_DM_RESPONSE,
    global_fp::BERTOGNA_FP_RESPONSE,
    global_fp::GUAN_RM_RESPONSE,
    global_fp::GUAN_DM_RESPONSE,
    global_fp::GUAN_FP_RESPONSE,
    affinity::edf::RESPONSES,
    affinity::fixed_priority::RM_RESPONSE,
    affinity::fixed_priority::DM_RESPONSE,
    affinity::fixed_priority::FP_RESPONSE,
    affinity::busy::EDF_RESPONSE,
    affinity::busy::STRONG_EDF_RESPONSE,
    affinity::busy::STRONG_RM_RESPONSE,
    affinity::busy::STRONG_DM_RESPONSE,
    affinity::busy::STRONG_FP_RESPONSE,
    mixed::SMC_RM_RESPONSES,
    mixed::SMC_CM_RESPONSES,
    mixed::FTP_SMC_RESPONSES,
    mixed::AMC_RT_RESPONSES,
    mixed::AMC_RT_RM_RESPONSES,
    mixed::AMC_MAX_RESPONSES,
    mixed::AMC_IA_RESPONSES,
];

/// The test with this name, in any case.
pub fn test(name: &str) -> Option<&'static SchedulabilityTest> {
    TESTS.iter().find(|test| test.name.eq_ignore_ascii_case(name))
}

/// The bound with this name, in any case.
pub fn bound(name: &str) -> Option<&'static BoundTest> {
    BOUNDS.iter().find(|bound| bound.name.eq_ignore_ascii_case(name))
}
