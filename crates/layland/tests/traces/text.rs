//! The text of a kernel trace of one CPU, written thread by thread.

use std::fmt::Write;

/// A thread: its name, its id, and its priority as the kernel counts.
pub(crate) type Thread = (&'static str, u32, i32);

/// What was written so far. Times are microseconds.
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
    /// The thread of a CPU that has nothing to do.
    pub(crate) const IDLE: Thread = ("swapper/0", 0, 120);

    fn line(&mut self, at: i64, event: &str) {
        let (name, pid, _) = self.on;
        let name = if pid == 0 { "<idle>" } else { name };
        let at = at + 100_000_000;
        let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
        let _ = writeln!(self.lines, "{name}-{pid} [000] d..2. {seconds}.{rest:06}: {event}");
    }

    /// A thread becomes ready.
    pub(crate) fn wakes(&mut self, at: i64, (name, pid, prio): Thread) {
        let event = format!("sched_waking: comm={name} pid={pid} prio={prio} target_cpu=000");
        self.line(at, &event);
    }

    /// The thread that has the CPU leaves it in this state, and another one has it.
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

    /// Another thread has the CPU, and no line says so.
    pub(crate) fn silently(&mut self, next: Thread) {
        self.on = next;
    }
}
