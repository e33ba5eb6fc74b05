//! Common names of policies.
//!
//! The registry has one name for each policy. Papers and talks use others: `gEDF`, `global-edf`,
//! `SCHED_DEADLINE`. A name with one possible meaning selects that policy. A name with several
//! (`edf`), or for something that does not exist here (`cfs`), is an error that says so.

use layland_model::nearest;

/// The meaning of a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Spoken<'a> {
    /// This policy.
    Policy(&'a str),
    /// One of these, or none: the meaning of the name, and the nearest policies.
    Family { what: &'static str, policies: Vec<&'a str> },
    /// No known meaning.
    Nothing,
}

/// Names in full, and the abbreviations that stand for them in the registry.
const ABBREVIATIONS: [(&str, &str); 8] = [
    ("global", "g"),
    ("clustered", "c"),
    ("partitioned", "p"),
    ("earliest-deadline-first", "edf"),
    ("rate-monotonic", "rm"),
    ("deadline-monotonic", "dm"),
    ("fixed-priorities", "fp"),
    ("fixed-priority", "fp"),
];

/// Other names of one policy, each with that of the registry.
pub const SYNONYMS: [(&str, &str); 32] = [
    ("sched-deadline", "dl"),
    ("deadline", "dl"),
    ("linux", "dl"),
    ("ap-edf", "apedf"),
    ("a2p-edf", "a2pedf"),
    ("edf-zl", "edzl"),
    ("gfl", "g-fl"),
    ("cfl", "c-fl"),
    ("global-fair-lateness", "g-fl"),
    ("clustered-fair-lateness", "c-fl"),
    ("edfus", "edf-us"),
    ("fp-edf", "fpedf"),
    ("edf(k)", "edf-k"),
    ("edf^(k)", "edf-k"),
    ("rmus", "rm-us"),
    ("least-laxity-first", "llf"),
    ("lst", "llf"),
    ("least-slack-time", "llf"),
    ("sporadic-server", "ss"),
    ("deferrable-server", "ds"),
    ("polling-server", "ps"),
    ("sporadic-servers", "ss"),
    ("deferrable-servers", "ds"),
    ("polling-servers", "ps"),
    ("dp-fair", "dp-wrap"),
    ("lretl", "lre-tl"),
    ("uedf", "u-edf"),
    ("c=d", "cd"),
    ("c-d", "cd"),
    ("edfwm", "edf-wm"),
    ("period-transformation", "pt"),
    ("zero-slack", "zss"),
];

/// Names of families and of algorithms that do not exist here, each with its meaning and the
/// policies that could be meant.
pub const FAMILIES: [(&[&str], &str, &[&str]); 17] = [
    (&["fl", "fair-lateness"], "fair lateness is global or clustered", &["g-fl", "c-fl"]),
    (
        &[
            "np-edf",
            "npedf",
            "edf-np",
            "non-preemptive-edf",
            "nonpreemptive-edf",
            "np-g-edf",
            "g-np-edf",
            "gnpedf",
            "p-np-edf",
            "lp-edf",
            "edf-lp",
            "npr-edf",
        ],
        "non-preemptive EDF is EDF with the option `nonpreemptive`, as in p-edf:nonpreemptive; tasks may have regions",
        &["p-edf", "g-edf", "c-edf"],
    ),
    (
        &[
            "np-fp",
            "npfp",
            "fp-np",
            "fpnp",
            "fpns",
            "fpnps",
            "fpds",
            "non-preemptive-fp",
            "nonpreemptive-fp",
            "g-np-fp",
            "p-np-fp",
            "np-rm",
            "np-dm",
            "lp-fp",
            "can",
        ],
        "non-preemptive fixed priorities are an option, as in p-fp:nonpreemptive; tasks may have regions",
        &["p-fp", "p-rm", "p-dm", "g-fp"],
    ),
    (&["edf"], "`edf` is global, clustered or partitioned", &["g-edf", "c-edf", "p-edf"]),
    (
        &["rm", "rma"],
        "`rm` (rate-monotonic) is global, clustered or partitioned",
        &["g-rm", "c-rm", "p-rm"],
    ),
    (
        &["dm", "dma"],
        "`dm` (deadline-monotonic) is global, clustered or partitioned",
        &["g-dm", "c-dm", "p-dm"],
    ),
    (
        &["fp", "fpps", "fixed"],
        "`fp` (fixed priorities, as the tasks have them) is global, clustered or partitioned",
        &["g-fp", "c-fp", "p-fp"],
    ),
    (
        &["fifo", "sched-fifo"],
        "SCHED_FIFO runs fixed priorities, which `priority` gives to tasks here",
        &["g-fp", "p-fp"],
    ),
    (
        &["rr", "sched-rr", "round-robin"],
        "round robin is not there; without its time slices it is fixed priorities",
        &["g-fp", "p-fp"],
    ),
    (
        &["pfair", "p-fair", "pf", "pd", "erfair", "er-fair"],
        "Pfair is PD2, with or without early releases",
        &["pd2", "er-pd2"],
    ),
    (
        &["llref"],
        "LLREF is there as LRE-TL, which takes the same sets and switches less",
        &["lre-tl"],
    ),
    (
        &["bf", "bfair", "lltsp", "ekg"],
        "this relative of Pfair is not there; optimal as well are RUN, QPS, DP-WRAP, LRE-TL, U-EDF and PD2",
        &["run", "qps", "dp-wrap", "lre-tl", "u-edf", "pd2"],
    ),
    (
        &["cbs", "grub", "bws", "constant-bandwidth-server"],
        "constant-bandwidth servers are part of SCHED_DEADLINE",
        &["dl", "dl-sp"],
    ),
    (
        &["mc", "mixed-criticality", "vestal"],
        "mixed criticality has several mechanisms",
        &["smc", "amc", "zss", "pt", "plrs", "ocbp", "edf-vd"],
    ),
    (
        &["apa", "affinity", "affinities", "weak", "strong", "hpa"],
        "EDF with affinities is weak, strong or hierarchical",
        &["weak-edf", "strong-edf", "hpa-edf"],
    ),
    (
        &["cfs", "eevdf", "other", "sched-other", "nice"],
        "fair time sharing is not there; Linux's class for deadlines is",
        &["dl"],
    ),
    (
        &["semi-partitioned", "semi-partitioned-edf", "sp-edf", "edf-os", "edhs", "hime"],
        "semi-partitioned scheduling is there as C=D splitting, EDF-WM, SCHED_DEADLINE and QPS",
        &["cd", "edf-wm", "dl-sp", "qps"],
    ),
];

/// Returns the meaning of a name among the names of a registry.
pub(crate) fn meant<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Spoken<'a> {
    let fold = |name: &str| name.to_lowercase().replace(['_', ' '], "-");
    let folded = fold(name);
    let known = |wanted: &str| names.clone().find(|name| fold(name) == wanted);
    let spellings = [folded.clone(), abbreviated(&folded), hyphenated(&folded)];
    for spelling in &spellings {
        let synonym = SYNONYMS.iter().find(|(other, _)| other == spelling).map(|&(_, name)| name);
        if let Some(name) = known(spelling).or_else(|| known(synonym?)) {
            return Spoken::Policy(name);
        }
    }
    let of_family =
        |(words, ..): &&(&[&str], _, _)| spellings.iter().any(|s| words.contains(&&**s));
    match FAMILIES.iter().find(of_family) {
        Some(&(_, what, policies)) => {
            // The registry of another program may lack some of them.
            let policies: Vec<&str> = policies.iter().filter_map(|name| known(name)).collect();
            if policies.is_empty() { Spoken::Nothing } else { Spoken::Family { what, policies } }
        }
        None => Spoken::Nothing,
    }
}

/// Abbreviates `global-edf` to `g-edf`.
fn abbreviated(name: &str) -> String {
    let mut name = name.to_owned();
    for (full, short) in ABBREVIATIONS {
        name = name.replace(full, short);
    }
    name
}

/// Converts `gedf` to `g-edf`.
fn hyphenated(name: &str) -> String {
    let order = ["edf", "rm", "dm", "fp"].into_iter().find(|order| name.ends_with(order));
    match order.and_then(|order| name.strip_suffix(order).map(|form| (form, order))) {
        Some((form @ ("g" | "c" | "p" | "weak" | "strong" | "hpa"), order)) => {
            format!("{form}-{order}")
        }
        Some(_) | None => name.to_owned(),
    }
}

/// Returns the name that was probably meant. Two of three letters match by chance, so short names
/// have no suggestion.
pub(crate) fn nearest_name<'a>(
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    if name.chars().count() < 4 { None } else { nearest(name, names) }
}
