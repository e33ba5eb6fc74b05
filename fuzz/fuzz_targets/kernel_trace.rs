//! Kernel traces as text: no input causes a panic.
#![no_main]

use layland_interchange::kernel::{ReadOptions, Threads, read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let every = |_: &str, _: u32| true;
    for threads in [Threads::Marked, Threads::Where(&every)] {
        if let Ok(import) = read(text, &ReadOptions { threads, origin_ns: None }) {
            let _ = write(&import.trace, &import.labels, import.origin_ns);
        }
    }
});
