//! Every test and every bound, in the order in which programs show them: first the necessary tests,
//! then the exact ones, then the sufficient ones.
//!
//! ```
//! use layland_analysis::catalogue;
//! use layland_model::{Duration, Service, System, Task};
//! let tasks = ["a", "b"].map(|name| Task::implicit(name, Service::from_ms(1), Duration::from_ms(4)));
//! let system = System::new(2, tasks.to_vec());
//! let mut lines = Vec::new();
//! for test in catalogue::TESTS.iter() {
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
use crate::uniprocessor::fixed_priority::{self, AUDSLEY, HYPERBOLIC, LIU_LAYLAND, PriorityOrder};
use crate::{
    BoundTest, OrderedTest, ResponseTest, SchedulabilityTest, affinity, crpd, deadline, global_edf,
    global_fp, graph, groups, levels, locking, mixed, necessary, optimal, partitioned,
    semi_partitioned, top_first, uniform, uniprocessor,
};
use CatalogueEntry::{Orders, Test, WithResponses};
use std::sync::LazyLock;

/// The names of tests and response-time analyses that search through window lengths. When they find
/// nothing they take some milliseconds, hundreds of times as long as all the others. GLOBAL-EDF is
/// among them because it repeats other tests.
pub const LONG: &[&str] =
    &["G-RTA-LC", "GLOBAL-EDF", "SAPA-EDF", "SAPA-RM", "SAPA-DM", "SAPA-FP", "APA-EDF-LC"];

/// Every schedulability test.
pub static TESTS: LazyLock<Vec<SchedulabilityTest>> =
    LazyLock::new(|| ENTRIES.iter().flat_map(CatalogueEntry::tests).collect());

/// Every tardiness bound.
pub const BOUNDS: &[BoundTest] = &[
    global_edf::devi_anderson::TEST,
    global_edf::devi_anderson::NONPREEMPTIVE,
    global_edf::compliant_vector::PLAIN,
    global_edf::compliant_vector::REDUCED,
    global_edf::compliant_vector::FAIR,
    affinity::lag::STRONG,
    deadline::tardiness::TEST,
    affinity::lag::SEMI_PARTITIONED,
];

/// Every bound on response times. If there are several for one policy, their order has no meaning:
/// the smallest bound counts.
pub static RESPONSES: LazyLock<Vec<ResponseTest>> =
    LazyLock::new(|| ENTRIES.iter().flat_map(CatalogueEntry::responses).collect());

/// Returns the test with this name, ignoring case.
pub fn test(name: &str) -> Option<&'static SchedulabilityTest> {
    TESTS.iter().find(|test| test.name.eq_ignore_ascii_case(name))
}

/// Returns the bound with this name, ignoring case.
pub fn bound(name: &str) -> Option<&'static BoundTest> {
    BOUNDS.iter().find(|bound| bound.name.eq_ignore_ascii_case(name))
}

/// An entry of the list.
enum CatalogueEntry {
    Test(SchedulabilityTest),
    WithResponses(SchedulabilityTest, &'static [ResponseTest]),
    /// For each order of fixed priorities, each of these tests with its response bounds.
    Orders(&'static [&'static OrderedTest]),
}

impl CatalogueEntry {
    fn tests(&self) -> Vec<SchedulabilityTest> {
        match *self {
            Test(test) | WithResponses(test, _) => vec![test],
            Orders(tests) => by_order(tests).map(|(test, order)| test.under(order)).collect(),
        }
    }

    fn responses(&self) -> Vec<ResponseTest> {
        match *self {
            Test(_) => Vec::new(),
            WithResponses(_, responses) => responses.to_vec(),
            Orders(tests) => {
                by_order(tests).filter_map(|(test, order)| test.responses_under(order)).collect()
            }
        }
    }
}

/// Returns all tests under the first order that they list, then under the second and the third.
fn by_order(
    tests: &'static [&'static OrderedTest],
) -> impl Iterator<Item = (&'static OrderedTest, PriorityOrder)> {
    let under = move |at: usize| tests.iter().map(move |&test| (test, test.listing.orders[at]));
    (0..3).flat_map(under)
}

const ENTRIES: &[CatalogueEntry] = &[
    Test(necessary::TEST),
    Test(affinity::feasibility::TEST),
    Test(optimal::TEST),
    Test(optimal::pfair::TEST),
    Test(semi_partitioned::FAIL_FIRST),
    Test(semi_partitioned::FAIL_WORST),
    Test(semi_partitioned::NEXT_FIRST),
    Test(semi_partitioned::NEXT_BEST),
    Test(semi_partitioned::WINDOWS),
    Test(uniprocessor::edf::TEST),
    WithResponses(uniprocessor::edf_response::TEST, &[uniprocessor::edf_response::RESPONSES]),
    Orders(&[&fixed_priority::RTA]),
    Test(AUDSLEY),
    Test(HYPERBOLIC),
    Test(LIU_LAYLAND),
    Test(deferred::edf::TEST),
    WithResponses(deferred::edf_response::TEST, &[deferred::edf_response::RESPONSES]),
    Orders(&[&deferred::fixed_priority::TEST]),
    Orders(&[&crpd::COMBINED]),
    Test(crpd::COMBINED_EDF),
    Orders(&[&crpd::ECB_MULTI]),
    Test(crpd::ECB_MULTI_EDF),
    Orders(&[&crpd::UCB_MULTI]),
    Test(crpd::UCB_MULTI_EDF),
    Orders(&[&crpd::ECB_UNION]),
    Test(crpd::ECB_UNION_EDF),
    Orders(&[&crpd::UCB_UNION]),
    Test(crpd::UCB_UNION_EDF),
    Orders(&[&crpd::UCB_ONLY]),
    Test(crpd::UCB_ONLY_EDF),
    Orders(&[&crpd::ECB_ONLY]),
    Test(crpd::ECB_ONLY_EDF),
    Orders(&[&locking::LOCK_RTA]),
    Orders(&[&locking::PIP_RTA]),
    Orders(&[&locking::PIP_MATCHING]),
    Orders(&[&locking::PCP_RTA]),
    Test(locking::stack::TEST),
    Orders(&[&locking::SUSP_OBL]),
    Orders(&[&locking::SUSP_JITTER_D]),
    Orders(&[&locking::SUSP_JITTER_R]),
    Orders(&[&locking::SUSP_BLOCK]),
    Orders(&[&locking::SUSP_UNIFIED]),
    Test(locking::suspended_demand::TEST),
    Test(locking::SUSP_JITTER_S),
    Orders(&[&locking::MPCP]),
    Orders(&[&locking::FMLP]),
    Orders(&[&locking::DPCP]),
    Orders(&[&locking::MSRP]),
    Orders(&[&locking::MSRP_HOLISTIC]),
    Test(locking::between::demand::TEST),
    Test(global_edf::gfb::TEST),
    Test(global_edf::load::TEST),
    Test(global_edf::bak::TEST),
    Test(global_edf::bcl::TEST),
    WithResponses(global_edf::bcli::TEST, &[global_edf::bcli::RESPONSES]),
    Test(global_edf::bar::TEST),
    WithResponses(global_edf::rta::TEST, &[global_edf::rta::RESPONSES]),
    Test(global_edf::ff_dbf::TEST),
    WithResponses(global_edf::limited::TEST, &[global_edf::limited::RESPONSES]),
    Test(global_edf::combined::TEST),
    Test(global_edf::edzl::TEST),
    Test(global_edf::compliant_vector::NOT_LATE),
    Test(top_first::EDF_US),
    Test(top_first::FPEDF),
    Test(top_first::EDF_K),
    Test(top_first::RM_US),
    Orders(&[&global_fp::BCL, &global_fp::BERTOGNA, &global_fp::GUAN]),
    Test(uniform::U_GFB),
    Test(uniform::U_BCL),
    Test(uniform::U_LOAD),
    Test(uniform::U_BAR),
    Orders(&[&uniform::U_RTA_LC]),
    WithResponses(levels::FIFO, &[levels::FIFO_RESPONSES, levels::FIFO_UNREACHED]),
    WithResponses(levels::ONE_CPU, &[levels::ONE_CPU_RESPONSES]),
    WithResponses(levels::SUSPENDING, &[levels::SUSPENDING_RESPONSES]),
    WithResponses(levels::BCL, &[levels::BCL_RESPONSES]),
    WithResponses(levels::BERTOGNA, &[levels::BERTOGNA_RESPONSES]),
    WithResponses(levels::GUAN, &[levels::GUAN_RESPONSES]),
    WithResponses(graph::FEDERATED, &[graph::FEDERATED_RESPONSES]),
    WithResponses(graph::QPA, &[graph::QPA_RESPONSES]),
    Orders(&[&graph::RTA]),
    WithResponses(graph::EDF, &[graph::EDF_RESPONSES]),
    Orders(&[&graph::FIXED]),
    WithResponses(groups::whole::BY_DEADLINE, &[groups::whole::BY_DEADLINE_RESPONSES]),
    WithResponses(groups::whole::BY_PRIORITY, &[groups::whole::BY_PRIORITY_RESPONSES]),
    Test(affinity::hpa_speed::TEST),
    WithResponses(affinity::edf::TEST, &[affinity::edf::RESPONSES]),
    Orders(&[&affinity::fixed_priority::TEST]),
    WithResponses(affinity::busy::EDF, &[affinity::busy::EDF_RESPONSE]),
    WithResponses(affinity::busy::STRONG_EDF, &[affinity::busy::STRONG_EDF_RESPONSE]),
    Orders(&[&affinity::busy::STRONG_FIXED]),
    Test(partitioned::existence::TEST),
    Orders(&[&partitioned::priorities::TEST]),
    Test(partitioned::lopez::TEST),
    Test(partitioned::lopez::ADAPTIVE),
    WithResponses(mixed::SMC_RM, &[mixed::SMC_RM_RESPONSES]),
    WithResponses(mixed::SMC_CM, &[mixed::SMC_CM_RESPONSES]),
    WithResponses(mixed::FTP_SMC, &[mixed::FTP_SMC_RESPONSES]),
    WithResponses(mixed::AMC_RT, &[mixed::AMC_RT_RESPONSES, mixed::AMC_RT_RM_RESPONSES]),
    WithResponses(mixed::AMC_MAX, &[mixed::AMC_MAX_RESPONSES]),
    WithResponses(mixed::AMC_IA, &[mixed::AMC_IA_RESPONSES]),
    Test(mixed::PT),
    Test(mixed::ZSS),
    Test(mixed::FJP),
    Test(mixed::FJP_LB),
    Test(mixed::EDF_VD),
    Test(mixed::EDF_VD_WHOLE),
    Test(mixed::EKBERG_YI),
    Test(mixed::AMC_IA_PAPER),
    Test(mixed::PT_PAPER),
    Test(mixed::ZSS_PAPER),
    Test(mixed::FJP_IJA_PAPER),
    Test(mixed::FJP_IJA_FLOOR),
    Test(deadline::admission::GLOBAL),
    Test(deadline::admission::SEMI_PARTITIONED),
];
