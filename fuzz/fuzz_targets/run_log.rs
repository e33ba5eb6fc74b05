//! Logs of runs: no input causes a panic, and a policy receives no event that an engine cannot
//! report.
#![no_main]

use layland_config::{Format, Host, read};
use layland_linux::{LogFile, replay};
use layland_policy::Registry;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = LogFile::read(text) else { return };
    let host = Host { cpus: None, default_cpus: None };
    let Ok(set) = read("fuzz", file.set.as_bytes(), Format::Toml, &host) else { return };
    if let Ok(mut policy) = Registry::standard().build(&file.policy, &set.system) {
        let _ = replay(&file.log, &set.system, &mut *policy);
    }
});
