//! Task-set files: no input causes a panic, and a set that is read and written reads back
//! unchanged.
#![no_main]

use layland_config::{Format, Host, read, to_toml};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let host = Host { cpus: Some(4), default_cpus: None, ..Host::default() };
    match read("fuzz.toml", bytes, Format::Toml, &host) {
        Ok(loaded) => {
            let text = to_toml(&loaded.system);
            let again = read("again.toml", text.as_bytes(), Format::Toml, &host);
            assert_eq!(again.expect("what we write is valid").system, loaded.system);
        }
        Err(report) => {
            let _ = (report.plain(), report.graphical(80, false, true));
        }
    }
});
