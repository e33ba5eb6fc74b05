//! rt-app JSON: no input causes a panic, and every set that is read is valid.
#![no_main]

use layland_config::{Format, Host, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let host = Host { cpus: Some(4), default_cpus: Some(2), ..Host::default() };
    match read("fuzz", bytes, Format::RtApp, &host) {
        Ok(loaded) => assert_eq!(loaded.system.validate(), []),
        Err(report) => {
            let _ = (report.plain(), report.graphical(80, false, true));
        }
    }
});
