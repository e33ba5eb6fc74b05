//! Builds the text of a kernel trace of one CPU, thread by thread.

use std::fmt::Write;

/// A thread: its name, its id, and its priority in the kernel's numbering.
pub(crate) type Thread = (&'static str, u32, i32);

/// The text so far. Times are in microseconds.
pub(crate) struct Text {
    lines: String,
    on: Thread,
}

impl Default for Text {
    fn default() -> Text {
        Text { lines: "# tracer: nop\n".to_owned(), on: Text::IDLE }
    }
}

impl From<Text> for String {
    fn from(text: Text) -> String {
        text.lines
    }
}

impl Text {
    /// The idle thread of a CPU.
    pub(crate) const IDLE: Thread = ("swapper/0", 0, 120);

    fn line(&mut self, at: i64, event: &str) {
        let (name, pid, _) = self.on;
        let name = if pid == 0 { "<idle>" } else { name };
        let at = at + 100_000_000;
        let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
        let _ = writeln!(self.lines, "{name}-{pid} [000] d..2. {seconds}.{rest:06}: {event}");
    }

    /// Makes a thread ready.
    pub(crate) fn wakes(&mut self, at: i64, (name, pid, prio): Thread) {
        let event = format!("sched_waking: comm={name} pid={pid} prio={prio} target_cpu=000");
        self.line(at, &event);
    }

    /// Switches from the current thread, which gets this state, to another one.
    pub(crate) fn switch(&mut self, at: i64, state: &str, next: Thread) {
        let prev = self.on;
        let event = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={state} ==> \
             next_comm={} next_pid={} next_prio={}",
            prev.0, prev.1, prev.2, next.0, next.1, next.2
        );
        self.line(at, &event);
        self.on = next;
    }

    /// Switches to another thread without an event.
    pub(crate) fn silently(&mut self, next: Thread) {
        self.on = next;
    }
}
