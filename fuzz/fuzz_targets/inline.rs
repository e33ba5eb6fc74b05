//! Inline tasks: no input causes a panic.
#![no_main]

use layland_config::parse_inline;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse_inline(text);
});
