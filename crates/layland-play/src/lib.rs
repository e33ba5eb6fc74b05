//! The engine of the playground: it answers questions, both in JSON, for a page that runs it as
//! WebAssembly.
//!
//! [`answer`] does not depend on a page. The answers to `sim` and `check` are the bytes that the
//! commands print, which a test checks: they come from [`layland::answers`]. A question that cannot
//! be answered gives an error with the places of the mistakes in the text, never a panic. `wasm.rs`
//! is the boundary.
//!
//! ```
//! let question = r#"{"ask": "inspect", "set": "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\nwcet = \"1ms\"\nperiod = \"5ms\"\n"}"#;
//! let answer: serde_json::Value = serde_json::from_str(&layland_play::answer(question)).unwrap();
//! assert_eq!(answer["ok"]["tasks"][0]["period_ns"], 5_000_000);
//! ```

mod about;
mod ask;
mod places;
mod problem;
mod set;
#[cfg(target_family = "wasm")]
mod wasm;

use ask::Ask;
use problem::Refused;
use serde_json::{Value, json};

/// Answers a question: `{"ok": ..}` or `{"error": ..}`.
pub fn answer(question: &str) -> String {
    let answered = serde_json::from_str::<Ask>(question)
        .map_err(|error| Refused::usage(format!("the question is not understood: {error}")))
        .and_then(|ask| ask.answer());
    let answer = match answered {
        Ok(found) => json!({ "ok": found }),
        Err(refused) => json!({ "error": Value::from(refused) }),
    };
    answer.to_string()
}
