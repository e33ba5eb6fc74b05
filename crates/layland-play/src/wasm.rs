//! The boundary to the page. A text is a pointer and a length; what is returned begins with its length, four bytes, low
//! to high. The page says what is here in `assets/worker.js`.
#![expect(unsafe_code, reason = "texts cross the boundary as addresses")]

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// Why the program ended; memory can still be read after that.
    static WHY: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Room for a text of this length. [`answer`] or [`free`] takes it back.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn alloc(length: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            WHY.with(|why| *why.borrow_mut() = Some(panic.to_string()));
        }));
    });
    Box::into_raw(vec![0u8; length].into_boxed_slice()).cast()
}

/// Takes room back.
///
/// # Safety
/// The address and the length are those of [`alloc`], or of what [`answer`] returned, with its four bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn free(at: *mut u8, length: usize) {
    // Safety: by the contract above this is a boxed slice of that length, and nobody else has it.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) });
}

/// Answers the question of this length at an address from [`alloc`], which it takes.
///
/// # Safety
/// The page has filled the room with a text and does not use it again.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn answer(at: *mut u8, length: usize) -> *mut u8 {
    // Safety: by the contract above this is a boxed slice of that length, and nobody else has it.
    let question = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) };
    let answer = crate::answer(&String::from_utf8_lossy(&question));
    drop(question);
    with_length(&answer)
}

/// Why the program ended; 0 if it did not, or there was no memory left to say so.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn panicked() -> *mut u8 {
    let why = WHY.with(|why| why.try_borrow_mut().ok().and_then(|mut why| why.take()));
    why.map_or(std::ptr::null_mut(), |why| with_length(&why))
}

fn with_length(text: &str) -> *mut u8 {
    let length = u32::try_from(text.len()).expect("memory has 32 bits");
    let mut bytes = Vec::with_capacity(4 + text.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    Box::into_raw(bytes.into_boxed_slice()).cast()
}
