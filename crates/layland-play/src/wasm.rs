//! The boundary to the page. A text is a pointer and a length; a returned text begins with its
//! length, in four bytes, little-endian. The page describes its side in `assets/worker.js`.
#![expect(unsafe_code, reason = "texts cross the boundary as addresses")]

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    /// The panic message; the memory can still be read after a panic.
    static WHY: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Allocates a text of this length. [`answer`] or [`free`] takes it back.
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

/// Frees a text.
///
/// # Safety
/// The address and the length must be those of [`alloc`], or of a text that [`answer`] returned,
/// with its four bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn free(at: *mut u8, length: usize) {
    // Safety: by the contract above this is a boxed slice of that length, and there is no other
    // reference to it.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) });
}

/// Answers the question of this length at an address from [`alloc`], and frees the question.
///
/// # Safety
/// The page has filled the memory with a text and does not use it again.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn answer(at: *mut u8, length: usize) -> *mut u8 {
    // Safety: by the contract above this is a boxed slice of that length, and there is no other
    // reference to it.
    let question = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(at, length)) };
    let answer = crate::answer(&String::from_utf8_lossy(&question));
    drop(question);
    with_length(&answer)
}

/// Returns the panic message; 0 if there was no panic, or no memory left for the message.
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
