//! Names, options and their errors.

use layland_model::{Duration, Order, Service, System, Task};
use layland_policy::{PolicyInfo, Registry, Values, ordered};

fn system() -> System {
    System::new(2, vec![Task::implicit("a", Service::from_ms(1), Duration::from_ms(5))])
}

#[test]
fn names_are_unique_and_each_policy_builds() {
    let registry = Registry::standard();
    for (at, info) in registry.iter().enumerate() {
        assert!(registry.iter().take(at).all(|other| other.name != info.name));
        let mut system = system();
        system.tasks.values_mut().for_each(|task| task.priority = Some(1));
        assert!(registry.build(&info.name, &system).is_ok(), "{}", info.name);
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let message = |spec: &str| match Registry::standard().build(spec, &system()) {
        Ok(_) => panic!("{spec} was built"),
        Err(error) => error.to_string(),
    };
    assert_eq!(message("gg-edf"), "there is no policy `gg-edf`: did you mean `g-edf`?");
    assert_eq!(message("magic"), "there is no policy `magic`");
    assert_eq!(
        message("p-edf:fir=ff"),
        "policy `p-edf` has no option `fir`: it has fit, tie, nonpreemptive, locks"
    );
    assert_eq!(
        message("p-edf:fit=xyz"),
        "option `fit` of policy `p-edf` cannot be `xyz`: use auto, ff, ffd, bf, bfd, wf, wfd, nf, nfd, ef, \
         efd or given"
    );
    assert_eq!(
        message("dl:kernel=6.1"),
        "option `kernel` of policy `dl` cannot be `6.1`: use 5.4, 6.12, 6.18 or 7.2"
    );
    assert!(message("dl:ac=maybe").ends_with("cannot be `maybe`: use on or off"));
    assert!(message("dl:limit=0").ends_with("use a number above 0, such as 19/20 or 0.95"));
    assert!(message("dl:start=0,x").ends_with("use CPUs, such as 0+2+1"));
    assert!(message("c-edf:size=-1").ends_with("use a whole number"));
    assert!(message("c-edf:size=3").contains("cannot split 2 CPUs into clusters of 3"));
    assert!(message("g-fp").starts_with("task `a` has no priority"));
}

/// A policy accepts every documented value of an option, even if the value does not suit this
/// system.
#[test]
fn every_value_that_is_named_is_known() {
    let mut system = system();
    system.tasks.values_mut().for_each(|task| task.priority = Some(1));
    let registry = Registry::standard();
    for info in &registry {
        for option in &info.options {
            let words: Vec<&str> = match &option.values {
                Values::Switch => vec!["on", "off"],
                Values::OneOf(words) => words.iter().map(AsRef::as_ref).collect(),
                Values::Number => vec!["1", "2"],
                Values::Rate => vec!["19/20", "0.95", "1"],
                Values::Duration => vec!["1ms", "500us"],
                Values::Cpus => vec!["0", "1", "1+0", "1,0"],
                Values::Bins => vec!["0"],
            };
            for word in words {
                let spec = format!("{}:{}={word}", info.name, option.name);
                match registry.build(&spec, &system) {
                    Ok(_) => {}
                    Err(error) => {
                        assert!(error.to_string().contains("affinity to one CPU"), "{error}");
                    }
                }
            }
        }
    }
}

/// Commas separate the policies in lists, so no value of an option may need one.
#[test]
fn every_value_that_is_named_can_stand_in_a_list_of_policies() {
    for info in &Registry::standard() {
        for option in &info.options {
            let example = match &option.values {
                Values::OneOf(words) => words.join(" "),
                other => other
                    .to_string()
                    .rsplit_once("such as ")
                    .map_or_else(String::new, |(_, example)| example.to_owned()),
            };
            assert!(!example.contains(','), "{} {}: {example}", info.name, option.name);
        }
    }
}

#[test]
fn a_policy_from_elsewhere_is_one_of_them() {
    let info = |name: &str| {
        PolicyInfo::new(name.to_owned(), "global EDF", "as g-edf", |system, options| {
            Ok(Box::new(ordered::global(Order::Deadline, system, options)?))
        })
    };
    let registry = Registry::standard().with(info("mine")).unwrap();
    assert!(registry.build("mine", &system()).is_ok());
    assert_eq!(registry.iter().last().map(|info| info.name.as_ref()), Some("mine"));
    let wrong = |name| registry.clone().with(info(name)).map(|_| ()).unwrap_err().to_string();
    assert_eq!(wrong("mine"), "there is a policy `mine` already");
    assert_eq!(wrong("g-edf"), "there is a policy `g-edf` already");
    assert!(wrong("my:edf").starts_with("`my:edf` cannot name a policy"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_policy_or_an_error(
        text in ".{0,40}",
        option in "(dl|p-edf|c-edf|apedf|hpa-rm)(:(fit|size|tie|ac|limit|start|grub_pa|kernel|assign)=[-0-9a-z,/.]{0,8}){0,3}",
    ) {
        let registry = Registry::standard();
        let _ = registry.build(&text, &system());
        let _ = registry.build(&option, &system());
    }
}

#[test]
fn every_policy_says_what_breaks_ties() {
    for info in Registry::standard().iter() {
        assert!(!info.ties.is_empty(), "{}", info.name);
    }
}
