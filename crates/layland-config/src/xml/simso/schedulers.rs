//! The schedulers of SimSo 0.8.5, and the corresponding policies.
//!
//! `tools/compare simso` runs SimSo and `layland` on random sets, and counts the schedules that
//! agree. [`Agreement`] has the results. `docs/from/simso.md` contains this list.

/// A scheduler of SimSo, and its counterpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimsoScheduler {
    /// The name of its class and of its module in `simso.schedulers`.
    pub class: &'static str,
    /// The corresponding policy, with options; `None` if there is none.
    pub policy: Option<&'static str>,
    /// The extent to which the two produce the same schedule.
    pub agreement: Agreement,
    /// The difference, or the reason why there is no policy; may be empty.
    pub note: &'static str,
}

/// The extent to which a policy produces the schedule of a SimSo scheduler, at every instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Always the same schedule, ties included.
    Same,
    /// The same schedule unless two jobs are equal to the
    /// scheduler: SimSo breaks ties by the order of events.
    ButTies,
    /// Sometimes a different schedule; the note has the reason.
    Differs,
    /// No corresponding policy.
    Absent,
}

impl Agreement {
    /// Describes the agreement in a few words.
    pub const fn text(self) -> &'static str {
        match self {
            Agreement::Same => "the same",
            Agreement::ButTies => "the same but for ties",
            Agreement::Differs => "another one",
            Agreement::Absent => "",
        }
    }
}

const fn same(class: &'static str, policy: &'static str, note: &'static str) -> SimsoScheduler {
    SimsoScheduler { class, policy: Some(policy), agreement: Agreement::Same, note }
}

const fn but_ties(class: &'static str, policy: &'static str, note: &'static str) -> SimsoScheduler {
    SimsoScheduler { class, policy: Some(policy), agreement: Agreement::ButTies, note }
}

const fn differs(class: &'static str, policy: &'static str, note: &'static str) -> SimsoScheduler {
    SimsoScheduler { class, policy: Some(policy), agreement: Agreement::Differs, note }
}

const fn absent(class: &'static str, note: &'static str) -> SimsoScheduler {
    SimsoScheduler { class, policy: None, agreement: Agreement::Absent, note }
}

/// The note on schedulers of SimSo that also accept sets without a feasible partition.
const UNPACKED: &str =
    "SimSo also runs sets that overload a CPU; they are refused here, as no partition keeps them";

/// All schedulers of SimSo 0.8.5, by name.
///
/// ```
/// use layland_config::SIMSO_SCHEDULERS;
/// let edf = SIMSO_SCHEDULERS.iter().find(|one| one.class == "EDF").unwrap();
/// assert_eq!(edf.policy, Some("g-edf"));
/// ```
pub static SIMSO_SCHEDULERS: [SimsoScheduler; 38] = [
    absent(
        "BF",
        "Boundary Fair (Zhu et al. 2003) gives whole quanta from deadline to deadline; `dp-wrap` gives exact \
         shares there, and `pd2` whole quanta throughout",
    ),
    absent(
        "CC_EDF",
        "cycle-conserving EDF slows its CPU down as jobs need less than the WCET; of the policies here only \
         `dl` changes speeds (`grub_pa`)",
    ),
    same("DP_WRAP", "dp-wrap", "SimSo fails where a first release is not at 0"),
    absent(
        "EDCL",
        "EDF with critical laxity looks for jobs without laxity when jobs come and end; `edzl` looks at every \
         instant",
    ),
    but_ties(
        "EDF",
        "g-edf",
        "with `tie=running` no job gives way to one of an equal deadline, as in SimSo",
    ),
    same("EDF2", "g-edf", "SimSo fails where a first release is not at 0"),
    but_ties(
        "EDF_US",
        "edf-us:zeta=1/2",
        "in SimSo a task that comes first never gives way to another one that does",
    ),
    but_ties("EDF_mono", "p-edf", "for one CPU"),
    absent(
        "EDHS",
        "semi-partitioned EDF (Kato and Yamasaki 2008): tasks that fit nowhere run in turn on the CPUs with \
         room left, before all others; `edf-wm` and `cd` split tasks so that each CPU stays EDF",
    ),
    but_ties("EDZL", "edzl", ""),
    absent(
        "EKG",
        "EKG (Andersson and Tovar 2006) shares tasks between neighbouring CPUs; `dp-wrap` is the form in which \
         all CPUs are one group, and meets the same deadlines",
    ),
    absent(
        "EPDF",
        "earliest pseudo-deadlines in quanta: `pd2` without its tie-breaks, which cost it optimality",
    ),
    differs(
        "ER_PD2",
        "er-pd2:quantum=100us",
        "the same windows, but SimSo compares other group deadlines, and does not look at jobs between quanta",
    ),
    but_ties("FP", "g-fp", "`priority` is read: in SimSo the larger number comes first"),
    but_ties(
        "Fixed_PEDF",
        "p-edf:fit=given",
        "`cpu` is read; SimSo 0.8.5 itself stops with an error",
    ),
    but_ties("G_FL", "g-fl", ""),
    absent(
        "G_FL_ZL",
        "G_FL in which a job without laxity comes before all others: the rule of `edzl` on top of `g-fl`",
    ),
    but_ties("LB_P_EDF", "p-edf:fit=wf", UNPACKED),
    differs("LLF", "llf:quantum=1ms:tie=rank", "SimSo adds a microsecond to each of its ticks"),
    absent("LLREF", "the older form of LRE-TL (Cho et al. 2006), for the same sets: use `lre-tl`"),
    absent("LLREF2", "LLREF again, with another order within a plane: use `lre-tl`"),
    differs(
        "LRE_TL",
        "lre-tl",
        "the same rules, which leave choices at the beginning of a plane; SimSo fails where a first release is \
         not at 0, and on most sets at full load",
    ),
    differs(
        "MLLF",
        "mllf",
        "the timer of SimSo takes cycles for milliseconds, so that it looks when jobs come and end alone",
    ),
    absent(
        "NVNLF",
        "LLREF that gives idle time to jobs that are ready (Funaoka et al. 2008): use `lre-tl`",
    ),
    differs(
        "PD2",
        "pd2:quantum=100us",
        "the same windows, but SimSo compares other group deadlines, and does not look at jobs between quanta",
    ),
    but_ties("P_EDF", "p-edf:fit=ffd", ""),
    but_ties("P_EDF2", "p-edf:fit=ff", ""),
    but_ties(
        "P_EDF_WF",
        "p-edf:fit=nfd",
        "its name says worst fit, its code is next fit; where that ends at the last CPU, SimSo begins again at \
         the first one, and the set is refused here",
    ),
    but_ties("P_RM", "p-rm:fit=wf", UNPACKED),
    differs(
        "PriD",
        "edf-k",
        "SimSo takes the k that needs the fewest CPUs, and `edf-k` the smallest one that works on those that \
         are there; where both are the same number, so are the schedules but for ties",
    ),
    but_ties("RM", "g-rm", ""),
    but_ties("RM_mono", "p-rm", "for one CPU"),
    differs(
        "RUN",
        "run",
        "SimSo packs servers by first fit and adds idle time elsewhere, which makes another tree",
    ),
    absent(
        "SCHED_DEADLINE",
        "servers of constant bandwidth under global EDF, with parameters in fields of the tasks; `dl` is the \
         kernel's own, with a budget for each task",
    ),
    absent(
        "Static_EDF",
        "slows its CPU down to the utilization: give the CPU that `speed` and use `p-edf`",
    ),
    differs(
        "U_EDF",
        "u-edf",
        "SimSo rounds allotments up, and a job that has to wait runs on while no other job needs its CPU",
    ),
    absent("WC_RUN", "`run` in which idle CPUs are given jobs that wait"),
    absent("WC_U_EDF", "`u-edf` in which idle CPUs are given jobs that wait"),
];

/// Returns the scheduler with a class name as in `<sched class="simso.schedulers.EDF">`.
pub(super) fn of_class(class: &str) -> Option<&'static SimsoScheduler> {
    let name = class.rsplit('.').next().unwrap_or_default();
    SIMSO_SCHEDULERS.iter().find(|one| one.class == name)
}
