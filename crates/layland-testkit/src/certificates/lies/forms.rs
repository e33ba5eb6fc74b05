//! Lies about the policy and its options, and true statements in an invalid form.

use super::{Lie, Tell, any};
use layland_gen::Random;
use serde_json::{Value, json};

/// Adds lies of form: changed certificates that state only the truth, but not in a permitted form.
pub(super) fn of_form(random: &mut Random, lie: &mut Tell<'_>) {
    lie(Lie::UnknownOption, &mut |answer| {
        let spec = answer["policy"].as_str()?;
        answer["policy"] = json!(format!("{spec}:colour=blue"));
        Some(())
    });
    lie(Lie::OptionTwice, &mut |answer| {
        let spec = answer["policy"].as_str()?;
        let (_, last) = spec.rsplit_once(':')?;
        answer["policy"] = json!(format!("{spec}:{last}"));
        Some(())
    });
    lie(Lie::UnknownPolicy, &mut |answer| {
        let spec = answer["policy"].as_str()?;
        answer["policy"] = json!(format!("x{spec}"));
        Some(())
    });
    let numbers: [(Lie, &dyn Fn(i64) -> Value); 2] =
        [(Lie::Fraction, &|number| json!(number as f64)), (Lie::TooLarge, &|_| json!(1e50))];
    for (which, change) in numbers {
        lie(which, &mut |answer| {
            let mut places = Vec::new();
            whole_numbers(answer, &mut places);
            let at = random.below(places.len().max(1) as u64) as usize;
            let place = places.get(at)?;
            let number = answer.pointer(place)?.as_i64()?;
            *answer.pointer_mut(place)? = change(number);
            Some(())
        });
    }
    lie(Lie::Truth, &mut |answer| {
        let mut places = Vec::new();
        whole_numbers(answer, &mut places);
        let is_bit = |place: &&String| {
            answer.pointer(place).is_some_and(|value| matches!(value.as_i64(), Some(0 | 1)))
        };
        let bits: Vec<&String> = places.iter().filter(is_bit).collect();
        let place = bits.get(random.below(bits.len().max(1) as u64) as usize)?.to_string();
        let is_one = answer.pointer(&place)?.as_i64() == Some(1);
        *answer.pointer_mut(&place)? = json!(is_one);
        Some(())
    });
    lie(Lie::OtherForm, &mut |answer| {
        let is_parts = answer["proof"]["kind"] == "parts";
        let place = if is_parts {
            let part = any(&mut answer["proof"]["parts"], random)?;
            &mut any(&mut part["items"], random)?["demand_ns"]
        } else {
            &mut any(&mut answer["proof"]["comparisons"], random)?["value"]
        };
        let number = place.as_str()?;
        let forms = match number.split_once('/') {
            Some((above, below)) => {
                [format!("{above}0/{below}0"), format!("0{number}"), format!("{number}.0")]
            }
            None => [format!("{number}/1"), format!("0{number}"), format!("{number}.0")],
        };
        *place = json!(forms[random.below(3) as usize]);
        Some(())
    });
}

/// Finds the places of all whole numbers below a value, as JSON pointers.
fn whole_numbers(value: &Value, found: &mut Vec<String>) {
    fn walk(value: &Value, place: &str, found: &mut Vec<String>) {
        match value {
            Value::Number(number) if number.is_i64() => found.push(place.to_owned()),
            Value::Array(list) => {
                for (at, one) in list.iter().enumerate() {
                    walk(one, &format!("{place}/{at}"), found);
                }
            }
            Value::Object(members) => {
                for (name, one) in members {
                    walk(one, &format!("{place}/{name}"), found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    walk(value, "", found);
}

/// Returns the options that make the policy another one than the test covers.
pub(super) fn changing(
    spec: &str,
    test: Option<&str>,
    is_yes: bool,
    is_wide: bool,
) -> Vec<&'static str> {
    let name = spec.split(':').next().unwrap_or_default();
    let test = test.unwrap_or_default();
    let mut found = Vec::new();
    let (form, order) = name.split_once('-').unwrap_or((name, ""));
    if matches!(form, "g" | "c" | "p") && matches!(order, "edf" | "rm" | "dm" | "fp") {
        found.push("nonpreemptive=on");
        if order == "edf" && test == "WITNESS" {
            found.push("tie=running");
        }
    }
    if test.starts_with("U-") {
        found.push("place=locality");
        if order == "edf" {
            found.push("tie=running");
        }
    }
    if form == "c" && is_wide {
        found.push("size=1");
    }
    if test == "LOPEZ" {
        found.extend(["fit=nf", "fit=nfd", "fit=wf"]);
    }
    if test == "LOPEZ-ADAPTIVE" {
        found.push("start=0");
    }
    match name {
        "smc" if test == "FTP-SMC" => found.extend(["order=rm", "order=cm"]),
        "amc" => found.extend(["order=rm", "order=amc-ia-paper"]),
        "run" => found.extend(["packing=0", "duals=0"]),
        "qps" => found.push("packing=0"),
        "dl" | "dl-sp" => {
            found.extend(["exhaust=postpone", "grub_pa=on"]);
            if is_yes {
                found.extend(["ac=on:limit=1/1000000000", "ac=on:fair=1"]);
            }
        }
        _ => {}
    }
    found
}

/// Returns true if a policy has this option already.
pub(super) fn gives(spec: &str, option: &str) -> bool {
    let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
    let given: Vec<String> = spec.split(':').skip(1).map(name).collect();
    option.split(':').any(|option| given.contains(&name(option)))
}
