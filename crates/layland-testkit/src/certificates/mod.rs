//! Certificates of `layland check` and their verifier, for the campaign `certificates` and a test
//! of the command line.
//!
//! The program checks random sets and issues certificates. The verifier is a program in another
//! language that shares no code with this one. It has to find every proof valid. Then each proof is
//! falsified ([`lies`]), in ways that always make it false, and the verifier has to reject each
//! false proof.

mod draw;
mod lies;

pub use lies::{Lie, lies};

use draw::{set, set_on_uniform_cpus, set_with_steps};
use layland_config::to_toml;
use layland_gen::Random;
use layland_model::System;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The verifier's requirement.
pub const NEEDS: &str = "python3 (3.11 or later)";
/// The number of sets that are given to the program at once.
const TOGETHER: u64 = 100;
/// The number of sets for each additional set whose jobs have steps.
const STEPS_EACH: u64 = 4;

/// The number of sets for each additional set that is checked under policies with options.
const OPTIONS_EACH: u64 = 4;

/// Policies with options whose effects the verifier has to know.
const WITH_OPTIONS: [&str; 40] = [
    "p-edf:fit=wf",
    "p-edf:fit=nf",
    "p-edf:fit=bfd:tie=running",
    "p-edf:nonpreemptive=on",
    "p-edf:nonpreemptive=off",
    "p-rm:fit=bf",
    "p-dm:nonpreemptive=on",
    "p-fp:fit=efd",
    "g-edf:tie=running",
    "g-edf:nonpreemptive=on",
    "g-rm:nonpreemptive=on",
    "c-edf:size=1",
    "c-edf:size=2:fit=ffd",
    "c-rm:size=2",
    "c-fl:size=1",
    "hpa-edf:assign=plain",
    "ss:order=dm",
    "ps:order=fp:fit=nf",
    "dl:ac=on",
    "dl:ac=on:limit=1/2",
    "dl:grub=on:lend=cpu:umax=19/20",
    "dl:tie=fifo:kernel=6.12",
    "dl:ac=on:kernel=6.12:arith=kernel:fair=1/30",
    "dl:ac=on:kernel=6.12:fair=1/30",
    "dl-sp:limit=1/2",
    "dl-sp:grub=on:lend=parallel:umax=9/10",
    "dl-sp:ac=off:exhaust=postpone",
    "dl-sp:throttle=waiting:fair=1/20",
    "dl-sp:throttle_cost=50us:slack=on",
    "apedf:fallback=off",
    "run:fit=nf:fill=order",
    "qps:master=edf",
    "dp-wrap:mirror=off",
    "smc:order=rm",
    "smc:order=cm",
    "smc:sort=criticality",
    "amc:order=rm",
    "amc:own_overrun=cut",
    "rms:fit=wf",
    "llf:quantum=2ms",
];

/// The number of sets for each additional set whose CPUs have different speeds.
const SPEEDS_EACH: u64 = 4;

/// Policies with tests for CPUs of different speeds.
const ON_UNIFORM: [&str; 9] = [
    "g-edf",
    "g-rm",
    "g-dm",
    "g-fp",
    "c-edf",
    "c-edf:size=2",
    "c-dm",
    "g-edf:place=locality",
    "g-edf:tie=running",
];

/// The function that draws a set.
type Draw = fn(&mut Random) -> System;

/// The results of the verification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of sets.
    pub sets: u64,
    /// The number of proofs found valid, by verdict and test.
    pub valid: BTreeMap<String, u64>,
    /// The number of answers without a proof, by verdict and test.
    pub without: BTreeMap<String, u64>,
    /// The number of rejected false proofs, by the kind of lie.
    pub refused: BTreeMap<Lie, u64>,
}

impl Verified {
    /// Returns the number of all proofs that were found valid.
    pub fn proofs(&self) -> u64 {
        self.valid.values().sum()
    }
}

/// Returns true if the verifier can run on this machine.
pub fn has_python() -> bool {
    let mut asked = Command::new("python3");
    asked
        .args(["-c", "import tomllib"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The verifier as a process. It reads one line for each certificate.
struct Verifier {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Verifier {
    fn start(script: &Path) -> Result<Verifier, String> {
        let mut process = Command::new("python3")
            .arg(script)
            .arg("--lines")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("failed to start python3: {error}"))?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("python3 has no pipes".to_owned());
        };
        Ok(Verifier { process, input, output: BufReader::new(output).lines() })
    }

    /// Returns, for each answer, `None` if it has no proof, and otherwise the reason why the proof
    /// is invalid, which is empty for a valid proof.
    fn ask(&mut self, set: &str, certificate: &Value) -> Result<Vec<Option<String>>, String> {
        self.ask_text(set, &certificate.to_string())
    }

    fn ask_text(&mut self, set: &str, certificate: &str) -> Result<Vec<Option<String>>, String> {
        let line = format!("{{\"set\":{},\"certificate\":{certificate}}}\n", json!(set));
        self.input.write_all(line.as_bytes()).map_err(|error| error.to_string())?;
        let answer = self.output.next().ok_or("the verifier has ended")?;
        let answer = answer.map_err(|error| error.to_string())?;
        // The subject, the verdict, the test, the validity, and the reason.
        type Entry = (String, String, Option<String>, Option<bool>, String);
        let found: Vec<Entry> =
            serde_json::from_str(&answer).map_err(|error| format!("{error}: {answer}"))?;
        let valid = |(_, _, _, valid, why): Entry| match valid {
            None => None,
            Some(true) => Some(String::new()),
            Some(false) => Some(why),
        };
        Ok(found.into_iter().map(valid).collect())
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Checks random sets with this program, and its certificates with this verifier, in a separate folder.
///
/// # Errors
/// The first rejected proof, with its set and its certificate; the first accepted false proof; or a
/// process that cannot be started.
pub fn verify(
    program: &Path,
    verifier: &Path,
    folder: &Path,
    sets: u64,
    seed: u64,
) -> Result<Verified, String> {
    let mut verified = Verified::default();
    let mut verifier = Verifier::start(verifier)?;
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let with_options = WITH_OPTIONS.map(str::to_owned).to_vec();
    let on_uniform = ON_UNIFORM.map(str::to_owned).to_vec();
    let kinds: [(Draw, u64, Vec<String>); 4] = [
        (set, sets, Vec::new()),
        (set_with_steps, sets.div_ceil(STEPS_EACH), locking_policies()),
        (set, sets.div_ceil(OPTIONS_EACH), with_options),
        (set_on_uniform_cpus, sets.div_ceil(SPEEDS_EACH), on_uniform),
    ];
    for (at, (draw, sets, policies)) in kinds.into_iter().enumerate() {
        // Use other sets than those without options.
        let seed = if at == 2 { !seed } else { seed };
        for at in (0..sets).step_by(TOGETHER as usize) {
            let numbers = at..sets.min(at + TOGETHER);
            let systems: Vec<System> =
                (numbers.clone()).map(|number| draw(&mut Random::of_task(seed, number))).collect();
            let certificates = certificates(program, folder, &systems, &policies)?;
            for (number, (system, certificate)) in numbers.zip(systems.iter().zip(certificates)) {
                one(&mut verifier, system, &certificate, number, &mut verified).map_err(|why| {
                    format!("set {number} of seed {seed}: {why}\n{}", to_toml(system))
                })?;
            }
        }
        verified.sets += sets;
    }
    Ok(verified)
}

/// Returns the policies whose tests for locks and self-suspension have certificates.
fn locking_policies() -> Vec<String> {
    let of_order = |order| {
        let spec = move |protocol| format!("{order}:locks={protocol}");
        ["none", "pip", "pcp", "ipcp"].into_iter().map(spec)
    };
    let stack = ["p-edf:locks=srp".to_owned()];
    ["p-fp", "p-rm", "p-dm"].into_iter().flat_map(of_order).chain(stack).collect()
}

/// Returns the program's certificates for each system, under these policies or under all.
fn certificates(
    program: &Path,
    folder: &Path,
    systems: &[System],
    policies: &[String],
) -> Result<Vec<Value>, String> {
    let mut command = Command::new(program);
    command.args(["check", "--certificate", "-", "--effort", "200"]);
    if !policies.is_empty() {
        command.args(["--policy", &policies.join(",")]);
    }
    for (at, system) in systems.iter().enumerate() {
        let path = folder.join(format!("{at}.toml"));
        fs::write(&path, to_toml(system)).map_err(|error| error.to_string())?;
        command.arg(path);
    }
    let output = command.output().map_err(|error| format!("failed to start: {error}"))?;
    let documents = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    let documents: Result<Vec<Value>, _> = documents.collect();
    match documents {
        Ok(documents) if documents.len() == systems.len() => Ok(documents),
        Ok(_) | Err(_) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The kinds of answers of a certificate.
const KINDS: [&str; 2] = ["answers", "any_policy"];

/// Returns the certificate with only one of its answers.
fn alone(certificate: &Value, kind: &str, answer: Value) -> Value {
    let mut alone = certificate.clone();
    for kind in KINDS {
        alone[kind] = json!([]);
    }
    alone[kind] = json!([answer]);
    alone
}

/// Checks that the verifier rejects an object with two members of one name, which could be read in two ways.
fn member_twice(
    verifier: &mut Verifier,
    set: &str,
    certificate: &Value,
    kind: &str,
    answer: &Value,
    verified: &mut Verified,
) -> Result<(), String> {
    let text = alone(certificate, kind, answer.clone()).to_string();
    let verdict = answer["verdict"].as_str().unwrap_or_default();
    let other = if verdict == "yes" { "no" } else { "yes" };
    let told = format!("\"verdict\":\"{verdict}\"");
    let twice = text.replacen(&told, &format!("\"verdict\":\"{other}\",{told}"), 1);
    match &verifier.ask_text(set, &twice)?[..] {
        [Some(why)] if !why.is_empty() => {
            *verified.refused.entry(Lie::MemberTwice).or_default() += 1;
            Ok(())
        }
        _ => Err(format!("{:?} is not refused:\n{twice}", Lie::MemberTwice)),
    }
}

fn one(
    verifier: &mut Verifier,
    system: &System,
    certificate: &Value,
    number: u64,
    verified: &mut Verified,
) -> Result<(), String> {
    let text = to_toml(system);
    let found = verifier.ask(&text, certificate)?;
    let answers: Vec<(&str, &Value)> = KINDS
        .into_iter()
        .flat_map(|kind| certificate[kind].as_array().into_iter().flatten().map(move |a| (kind, a)))
        .collect();
    if found.len() != answers.len() {
        return Err(format!("{} answers have {} results", answers.len(), found.len()));
    }
    for (at, ((kind, answer), found)) in answers.into_iter().zip(found).enumerate() {
        let test = if answer["test"].is_null() { &answer["decided_by"] } else { &answer["test"] };
        let name = format!(
            "{} {}",
            answer["verdict"].as_str().unwrap_or("?"),
            test.as_str().unwrap_or("(no test)")
        );
        match found {
            None => *verified.without.entry(name).or_default() += 1,
            Some(why) if why.is_empty() => {
                *verified.valid.entry(name).or_default() += 1;
                // Policies that lead to the same system have the same proof, so one lie of each
                // kind is enough.
                let mut random = Random::of_task(number, at as u64);
                member_twice(verifier, &text, certificate, kind, answer, verified)?;
                for (lie, system, answer) in lies(system, answer, &mut random) {
                    let false_one = alone(certificate, kind, answer);
                    match &verifier.ask(&to_toml(&system), &false_one)?[..] {
                        [Some(why)] if !why.is_empty() => {
                            *verified.refused.entry(lie).or_default() += 1;
                        }
                        _ => return Err(format!("{lie:?} is not refused:\n{false_one:#}")),
                    }
                }
            }
            Some(why) => {
                return Err(format!(
                    "not valid: {why}\n{:#}",
                    alone(certificate, kind, answer.clone())
                ));
            }
        }
    }
    Ok(())
}
