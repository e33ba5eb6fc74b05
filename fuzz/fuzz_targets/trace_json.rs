//! Traces as JSON: no input causes a panic.
#![no_main]

use layland_trace::json::read_json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = read_json(bytes);
});
