//! The meanings of names.

use layland_policy::{FAMILIES, Registry, SYNONYMS};

fn canonical(name: &str) -> Result<String, String> {
    Registry::standard().canonical(name).map_err(|error| error.to_string())
}

#[test]
fn other_spellings_of_one_policy_are_taken_for_it() {
    for (name, policy) in [
        ("G-EDF", "g-edf"),
        ("gEDF", "g-edf"),
        ("GEDF", "g-edf"),
        ("g_edf", "g-edf"),
        ("global-edf", "g-edf"),
        ("Global EDF", "g-edf"),
        ("global-earliest-deadline-first", "g-edf"),
        ("partitioned-rm", "p-rm"),
        ("PRM", "p-rm"),
        ("p-deadline-monotonic", "p-dm"),
        ("weakedf", "weak-edf"),
        ("SCHED_DEADLINE", "dl"),
        ("RUN", "run"),
        ("fpEDF", "fpedf"),
        ("G-FL", "g-fl"),
        ("global fair lateness", "g-fl"),
        ("EDF^(k)", "edf-k"),
        ("RMUS", "rm-us"),
        ("least laxity first", "llf"),
        ("Sporadic Server", "ss"),
        ("deferrable_server", "ds"),
        ("apEDF", "apedf"),
        ("ER_PD2", "er-pd2"),
        ("DP_WRAP", "dp-wrap"),
        ("LRE_TL", "lre-tl"),
        ("U_EDF", "u-edf"),
        ("P-EDF:fit=wfd", "p-edf:fit=wfd"),
        (" g-edf ", "g-edf"),
    ] {
        assert_eq!(canonical(name).as_deref(), Ok(policy), "{name}");
    }
}

#[test]
fn a_family_is_explained() {
    for (name, message) in [
        (
            "edf",
            "`edf` is global, clustered or partitioned: did you mean `g-edf`, `c-edf` or `p-edf`?",
        ),
        (
            "EDF",
            "`edf` is global, clustered or partitioned: did you mean `g-edf`, `c-edf` or `p-edf`?",
        ),
        (
            "rate-monotonic",
            "`rm` (rate-monotonic) is global, clustered or partitioned: did you mean `g-rm`, `c-rm` or `p-rm`?",
        ),
        (
            "NP-EDF",
            "non-preemptive EDF is EDF with the option `nonpreemptive`, as in p-edf:nonpreemptive; tasks may have \
             regions: did you mean `p-edf`, `g-edf` or `c-edf`?",
        ),
        (
            "fpns",
            "non-preemptive fixed priorities are an option, as in p-fp:nonpreemptive; tasks may have regions: did you \
             mean `p-fp`, `p-rm`, `p-dm` or `g-fp`?",
        ),
        (
            "cbs",
            "constant-bandwidth servers are part of SCHED_DEADLINE: did you mean `dl` or `dl-sp`?",
        ),
    ] {
        assert_eq!(canonical(name), Err(message.to_owned()));
    }
    for name in ["fl", "rm", "dm", "fp", "fifo", "fixed", "rr", "pfair", "llref", "ekg"] {
        let message = canonical(name).expect_err("a family is no policy");
        assert!(message.contains("did you mean"), "{message}");
    }
}

/// Policies in messages are in the registry, and no family has the name of a policy.
#[test]
fn families_name_what_there_is() {
    let registry = Registry::standard();
    for (words, what, policies) in FAMILIES {
        for policy in policies {
            assert!(registry.find(policy).is_some(), "{what}: {policy}");
        }
        for word in words {
            assert!(registry.find(word).is_none(), "{word} is a policy");
            assert!(canonical(word).is_err(), "{word}");
        }
    }
    for (name, policy) in SYNONYMS {
        assert_eq!(canonical(name).as_deref(), Ok(policy));
    }
}

#[test]
fn a_short_word_suggests_nothing() {
    assert_eq!(canonical("xyz"), Err("there is no policy `xyz`".to_owned()));
    assert_eq!(canonical("dl2"), Err("there is no policy `dl2`".to_owned()));
    let message = "there is no policy `apdef`: did you mean `apedf`?";
    assert_eq!(canonical("apdef"), Err(message.to_owned()));
}
