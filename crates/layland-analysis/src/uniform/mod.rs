//! Global scheduling on CPUs of different speeds (*uniform* CPUs), where the running jobs are on the
//! fastest CPUs, in the order of their priorities. **Sufficient** tests.
//!
//! | test | condition | source |
//! |---|---|---|
//! | `U-GFB` | densities | Funk, Goossens and Baruah 2001 |
//! | `U-BCL` | interference within the window of each task | after Bertogna, Cirinei and Lipari 2005 |
//! | `U-LOAD` | load | after Baruah and Goossens 2008 |
//! | `U-BAR` | windows that begin where a CPU is idle | after Baruah 2007 |
//! | `U-RTA-LC-*` | response times, fixed priorities, limited carry-in | after Guan et al. 2009 |
//!
//! Assumes: (1) jobs of a task at least a period apart, and a job waits for the one before, (2) no
//! release jitter, (3) `D_i <= T_i`, (4) the k-th of the running jobs is on a k-th fastest CPU, (5) no
//! affinities within a cluster, (6) WCETs are kept, (7) overheads are part of `C_i`, (8) nothing changes
//! while the system runs. On CPUs of unit speed the conditions are those of the tests for identical CPUs.
//!
//! | paper | meaning |
//! |---|---|
//! | `s_1 >= .. >= s_m` | the speeds |
//! | `S_k`, `S` | the sum of the k fastest, of all |
//! | `lambda` | `max over i of (s_{i+1} + .. + s_m) / s_i`; `m - 1` for identical CPUs |
//! | `C_i+` | `C_i + s_1 - g`, where `g` is the largest unit of which every CPU does whole numbers per ns |
//!
//! **Waste.** Decisions fall on whole nanoseconds: a job that ends within one has its CPU to the end of
//! it, and takes at most `C_i+` from it. The proofs are about the jobs with what they take. Without the
//! waste every one of these tests is unsound: on CPUs of speeds 1/2 and 3, with the tasks (1, D 1, T 2)
//! and (1, D 1, T 3), a nanosecond has work for 3 and serves one job on CPU 1, so that the other is late.
//!
//! **Lemma.** While a job of `tau_k` is active over a window of length `L` and has got `w`, the others of
//! higher priority have got at least `S L - (lambda + 1) w`, and all together at least `S L - lambda w`.
//! Proof: at an instant at which it runs on CPU `j` (`j = m + 1` and speed 0 if it waits) CPUs `1 .. j - 1`
//! are busy with higher jobs, and `S - S_{j-1} <= (lambda + 1) s_j`, `S - S_j <= lambda s_j`; integrate.
//!
//! **Prefixes.** A CPU that is slower than all others never makes a job later. So what holds on the `k`
//! fastest CPUs holds on all, and each test tries all `k`: first all CPUs, then 1, 2, and so on.

pub(crate) mod demand;
mod edf;
mod fixed_priority;
mod numbers;

pub use edf::{OnUniform, bar, bcl, by_demand, gfb, load};
pub use fixed_priority::responses;
use numbers::fastest_first;
pub use numbers::{Tau, Uniform};

use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::group::{Group, together};
use crate::ordered::{Analysis, ByOrder, by_order, given_last};
use crate::test::ResponseBounds;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    Certify, Citation, Decide, Evidence, Finding, OrderedTest, Part, Quantity, Reason,
    ResponseBound, SchedulabilityTest, Scope, Subject, TestKind, Verdict,
};
use layland_model::{Algorithm, CpuSet, Duration, Order, System, Task, TaskId, TaskMap};

/// Funk, Goossens and Baruah 2001.
pub const FUNK: Citation = Citation {
    key: "funk2001line",
    text: "S. Funk, J. Goossens and S. Baruah. On-line scheduling on uniform multiprocessors. RTSS 2001, \
           pages 183-192.",
    bibtex: "@inproceedings{funk2001line,
  author    = {Shelby Funk and Jo\\\"el Goossens and Sanjoy Baruah},
  title     = {On-line Scheduling on Uniform Multiprocessors},
  booktitle = {22nd IEEE Real-Time Systems Symposium (RTSS)},
  pages     = {183--192}, year = {2001},
  doi       = {10.1109/REAL.2001.990609}
}",
};

/// Baruah and Goossens 2008.
pub const BARUAH_GOOSSENS: Citation = Citation {
    key: "baruah2008edf",
    text: "S. Baruah and J. Goossens. The EDF scheduling of sporadic task systems on uniform \
           multiprocessors. RTSS 2008, pages 367-374.",
    bibtex: "@inproceedings{baruah2008edf,
  author    = {Sanjoy Baruah and Jo\\\"el Goossens},
  title     = {The {EDF} Scheduling of Sporadic Task Systems on Uniform Multiprocessors},
  booktitle = {29th IEEE Real-Time Systems Symposium (RTSS)},
  pages     = {367--374}, year = {2008},
  doi       = {10.1109/RTSS.2008.32}
}",
};

const ASSUMED: &[Assumption] = &[
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    WcetKept,
    NoOverheads,
    WholeClusters,
    NoRequests,
];

const EDF: Subject = Subject::Algorithms(&[Algorithm::FastestFirst(Order::Deadline)]);

/// U-GFB, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, uniform};
/// use layland_model::{CpuId, Duration, Rate, Service, Speed, System, Task};
/// let task = |name, c| Task::implicit(name, Service::from_ns(c), Duration::from_ns(400));
/// let mut system = System::new(2, vec![task("a", 800), task("b", 300)]);
/// system.platform.speeds[CpuId(1)] = Speed::new(&Rate::whole(4)).unwrap();
/// assert_eq!(uniform::U_GFB.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const U_GFB: SchedulabilityTest = SchedulabilityTest {
    name: "U-GFB",
    title: "density test for global EDF on CPUs of different speeds",
    subject: EDF,
    kind: TestKind::Sufficient,
    assumptions: ASSUMED,
    citations: &[&FUNK],
    certify: Certify::By(|system| each_part(system, by_densities)),
    decide: Decide::by(|system| each_group(system, by_densities)),
};

/// The condition of U-GFB.
fn by_densities(tasks: &[Tau], cpus: &Uniform) -> OnUniform {
    let (sum, bound) = gfb(tasks, cpus);
    if sum <= bound { OnUniform::Holds } else { OnUniform::Fails { task: None, interval: None } }
}

/// U-BCL, for each cluster.
pub const U_BCL: SchedulabilityTest = SchedulabilityTest {
    name: "U-BCL",
    title: "interference test for global EDF on CPUs of different speeds",
    citations: &[&crate::global_edf::bcl::BERTOGNA],
    certify: Certify::By(|system| each_part(system, bcl)),
    decide: Decide::by(|system| each_group(system, bcl)),
    ..U_GFB
};

/// U-LOAD, for each cluster.
pub const U_LOAD: SchedulabilityTest = SchedulabilityTest {
    name: "U-LOAD",
    title: "load test for global EDF on CPUs of different speeds",
    citations: &[&BARUAH_GOOSSENS],
    certify: Certify::By(|system| each_part(system, load)),
    decide: Decide::by(|system| each_group(system, load)),
    ..U_GFB
};

/// U-BAR, for each cluster.
pub const U_BAR: SchedulabilityTest = SchedulabilityTest {
    name: "U-BAR",
    title: "windows from an idle CPU on, for global EDF on CPUs of different speeds",
    citations: &[&crate::global_edf::bar::BARUAH_2007],
    certify: Certify::By(|system| each_part(system, bar)),
    decide: Decide::by(|system| each_group(system, bar)),
    ..U_GFB
};

/// `U-RTA-LC-RM`, `U-RTA-LC-DM` and `U-RTA-LC-FP`.
pub const U_RTA_LC: OrderedTest = OrderedTest {
    listing: given_last!(
        "U-RTA-LC",
        "response times under global ",
        " priorities on CPUs of different speeds"
    ),
    subject: by_order!(|ORDER| Subject::Algorithms(&[Algorithm::FastestFirst(ORDER)])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(&and::<8>(ASSUMED, Priorities), ASSUMED),
    citations: &[&crate::global_fp::GUAN_2009],
    certify: ByOrder {
        given: Certify::By(|system| each_pass(system, PriorityOrder::Given)),
        rate_monotonic: Certify::By(|system| each_pass(system, PriorityOrder::RateMonotonic)),
        deadline_monotonic: Certify::By(|system| {
            each_pass(system, PriorityOrder::DeadlineMonotonic)
        }),
    },
    analysis: Analysis::Together(response_times),
};

/// Returns all numbers of CPUs in the order in which tests try them.
fn prefixes(most: usize) -> impl Iterator<Item = usize> {
    std::iter::once(most).chain(1..most)
}

const TOO_LARGE: &str = "the speeds or times are too large for the test";

/// Applies a condition to each cluster, on its `k` fastest CPUs for some `k`.
fn each_group(system: &System, condition: fn(&[Tau], &Uniform) -> OnUniform) -> Finding {
    together(Group::clusters(system).iter().map(|group| {
        let cpus = fastest_first(system, &group.cpus);
        let speeds = |k: usize| cpus[..k].iter().map(|&cpu| system.platform.speeds[cpu]);
        let mut first = None;
        for k in prefixes(cpus.len()) {
            let Some(uniform) = Uniform::new(speeds(k)) else { continue };
            let Some(tasks) = uniform.tasks(group.tasks()) else { continue };
            let answer = condition(&tasks, &uniform);
            if answer == OnUniform::Holds {
                let counted: CpuSet = cpus[..k].iter().copied().collect();
                return Finding::new(Verdict::Yes, densities(&counted, &tasks, &uniform, true));
            }
            first = first.or(Some((answer, tasks, uniform)));
        }
        let reason = match first {
            None => Reason::Holds(TOO_LARGE),
            Some((OnUniform::Fails { task: Some(at), .. }, ..)) => {
                Reason::MayBeLate(group.tasks[at].0)
            }
            Some((OnUniform::Fails { task: None, .. } | OnUniform::Holds, tasks, uniform)) => {
                densities(&group.cpus, &tasks, &uniform, false)
            }
            Some((OnUniform::GaveUp, ..)) => Reason::Holds("the search stopped at its limit"),
        };
        Finding::new(Verdict::Unknown, reason)
    }))
}

/// Returns, for each cluster with tasks, the fastest CPUs on which a condition holds. The verifier computes
/// the condition on them itself, with all intervals, so that there is no other evidence.
fn each_part(
    system: &System,
    condition: fn(&[Tau], &Uniform) -> OnUniform,
) -> Result<Vec<Part>, &'static str> {
    let of_group = |group: &Group<'_>| {
        let cpus = fastest_first(system, &group.cpus);
        let holds = |&k: &usize| {
            let speeds = cpus[..k].iter().map(|&cpu| system.platform.speeds[cpu]);
            let Some(uniform) = Uniform::new(speeds) else { return false };
            let tasks = uniform.tasks(group.tasks());
            tasks.is_some_and(|tasks| condition(&tasks, &uniform) == OnUniform::Holds)
        };
        let k = prefixes(cpus.len()).find(holds).ok_or(NOT_ACCEPTED)?;
        Ok(Part {
            cpus: cpus[..k].iter().copied().collect(),
            tasks: group.tasks.iter().map(|&(id, _)| id).collect(),
            evidence: Evidence::Points(Vec::new()),
        })
    };
    let groups = Group::clusters(system);
    groups.iter().filter(|group| !group.tasks.is_empty()).map(of_group).collect()
}

const NOT_ACCEPTED: &str = "the test does not accept the set";

/// Returns, for each cluster with tasks, response times on some of its fastest CPUs. The tasks that have a
/// bound in a pass are the highest ones, so that one pass has bounds of all.
fn each_pass(system: &System, order: PriorityOrder) -> Result<Vec<Part>, &'static str> {
    let of_group = |group: &Group<'_>| {
        let sorted = order.sort(group);
        let cpus = fastest_first(system, &group.cpus);
        let pass = |k: usize| {
            let speeds = cpus[..k].iter().map(|&cpu| system.platform.speeds[cpu]);
            let uniform = Uniform::new(speeds)?;
            let tasks = uniform.tasks(sorted.iter().map(|&(_, task)| task))?;
            let bounds: Option<Vec<i64>> = responses(&tasks, &uniform, true).into_iter().collect();
            let lengths = |bounds: Vec<i64>| {
                let of =
                    |(&(id, _), ns): (&(TaskId, &Task), i64)| (id, vec![Duration::from_ns(ns)]);
                sorted.iter().zip(bounds).map(of).collect()
            };
            Some((k, lengths(bounds?)))
        };
        let (k, lengths) = prefixes(cpus.len()).find_map(pass).ok_or(NOT_ACCEPTED)?;
        Ok(Part {
            cpus: cpus[..k].iter().copied().collect(),
            tasks: sorted.iter().map(|&(id, _)| id).collect(),
            evidence: Evidence::BusyPeriods(lengths),
        })
    };
    let groups = Group::clusters(system);
    groups.iter().filter(|group| !group.tasks.is_empty()).map(of_group).collect()
}

/// Compares the densities, in work per time, with what the test by densities would allow.
fn densities(cpus: &CpuSet, tasks: &[Tau], uniform: &Uniform, holds: bool) -> Reason {
    let (sum, bound) = gfb(tasks, uniform);
    let ns = uniform.in_work(1);
    // Another test may accept more, or less.
    if (sum <= bound) != holds {
        return Reason::Holds(if holds {
            "the condition holds on the fastest CPUs of each group, each job with what it wastes at its end"
        } else {
            "the condition fails on the fastest CPUs, however many of them count"
        });
    }
    let (value, bound) = (Quantity::Number(&sum * &ns), Quantity::Number(&bound * &ns));
    Reason::compared("the sum of the densities", Scope::cpus(cpus), value, bound, holds)
}

/// The least bound of each task over the numbers of CPUs.
fn response_times(system: &System, order: PriorityOrder) -> (Finding, ResponseBounds) {
    let mut bounds: ResponseBounds = TaskMap::filled(None, system.tasks.len());
    let groups = Group::clusters(system);
    let findings = groups.iter().map(|group| {
        let sorted = order.sort(group);
        let ordered: Vec<&Task> = sorted.iter().map(|&(_, task)| task).collect();
        let cpus = fastest_first(system, &group.cpus);
        let mut least: Vec<Option<i64>> = vec![None; ordered.len()];
        for k in prefixes(cpus.len()) {
            let speeds = cpus[..k].iter().map(|&cpu| system.platform.speeds[cpu]);
            let Some(uniform) = Uniform::new(speeds) else { continue };
            let Some(tasks) = uniform.tasks(ordered.iter().copied()) else { continue };
            for (least, found) in least.iter_mut().zip(responses(&tasks, &uniform, true)) {
                *least = match (*least, found) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (one, other) => one.or(other),
                };
            }
        }
        let mut reasons = Vec::new();
        for (&(id, task), bound) in sorted.iter().zip(&least) {
            let Some(ns) = *bound else {
                return Finding::new(Verdict::Unknown, Reason::MayBeLate(id));
            };
            let response = Duration::from_ns(ns);
            bounds[id] = Some(ResponseBound::new(id, response));
            let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
            let (value, bound) = (quantity(response), quantity(task.deadline));
            let scope = Scope::task(id, &group.cpus);
            reasons.push(Reason::compared("the response time", scope, value, bound, true));
        }
        Finding { verdict: Verdict::Yes, reasons }
    });
    let finding = together(findings.collect::<Vec<Finding>>().into_iter());
    (finding, bounds)
}
