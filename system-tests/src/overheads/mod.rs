//! Measures the costs of SCHED_DEADLINE itself: Section 6 of Tang, Anderson and Abeni 2021 on the
//! kernels of `kernels.txt` and on this machine.
//!
//! | paper | measured here | by |
//! |---|---|---|
//! | Fig. 6, traces without and with the repair | Examples 5 and 6, each under the kernel's own scheduler (`dl`) and by the dispatcher (`dl-sp`); `sched_switch` | [`Traces`] |
//! | Fig. 9, forced throttles | the dispatcher under `dl-sp`, from its log | [`Dispatched`] |
//! | Fig. 10a, pushes | calls of the kernel's `push_dl_task`, by its function tracer | [`Traced`] |
//! | Fig. 10, pushes | the dispatcher under `dl` and `dl-sp`, from its log | [`Dispatched`] |
//!
//! The repair is a patch that no kernel includes. Therefore *after* is the same policy on threads
//! of class SCHED_FIFO.
//!
//! The meaning of the clock: a guest counts two nanoseconds for each instruction that any of its
//! CPUs executes. An interval without activity of other CPUs is a number of instructions, which is
//! equal on every machine. A longer interval includes turns of other CPUs, so the minimum and the
//! median are more meaningful than the mean, and ratios of functions of one run are more meaningful
//! than either. On this machine the clock is real.
//!
//! The tracer's own code is part of each time: about 700 instructions for a call, and as many again
//! for each traced function that it calls. So a push is traced together with only one other
//! function ([`MOVES`]), and the others in separate runs.

pub mod graph;
pub mod sets;
mod tables;
pub mod waits;

pub use tables::{Spread, markdown};

use crate::{Booted, Guest, Kernel, NO_FAIR_SERVERS};
use layland_interchange::kernel::{Import, ReadOptions, Threads, read};
use layland_model::System;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::Command;

/// The numbers of tasks of the paper.
pub const TASKS: [usize; 2] = [16, 40];
/// The number of tasks for each CPU.
const TASKS_PER_CPU: [usize; 2] = [2, 5];

/// The function whose calls Fig. 10a shows.
pub const PUSH: &str = "push_dl_task";
/// The function that is called when a thread moves to another CPU.
pub const MOVES: &str = "set_task_cpu";
/// The functions that the repair adds to each push, and others that the same kernel executes for a
/// deadline thread.
pub const OTHERS: [&str; 5] =
    ["dequeue_task_dl", "enqueue_task_dl", "dl_task_timer", "pull_dl_task", "find_lock_later_rq"];

/// Example 6 with `tau3` on CPU 0 when the other tasks arrive: it is tied to that CPU until then.
pub const EXAMPLE_6: &str = r#"layland = 1
platform.cpus = 2
[[task]]
name = "tau1"
period = "70ms"
wcet = "10ms"
release = "hog"
affinity = "0"
offset = "7ms"
[[task]]
name = "tau2"
period = "50ms"
wcet = "10ms"
release = "hog"
affinity = "1"
offset = "7ms"
[[task]]
name = "tau3"
period = "10ms"
wcet = "5ms"
release = "hog"
affinity = "0"
[[request]]
at = "6ms"
task = "tau3"
affinity = "all"
"#;

/// The amount of measurements.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    /// The number of systems of each kind; the paper has 10.
    pub systems: u64,
    /// The seconds that each of them runs; the paper has 600.
    pub seconds: u64,
}

/// The kernel's traces of Examples 5 and 6, as text: without the repair, and with it.
pub struct Traces {
    /// Example 5 (`demo:affinity-defect`, every time 20 times as long).
    pub five: [String; 2],
    /// Example 6 (`demo:push-defect`, every time 10 times as long).
    pub six: [String; 2],
}

/// The factors by which the times of the examples are stretched.
const STRETCH: [i64; 2] = [20, 10];

impl Traces {
    /// Runs the examples in `kernel`.
    ///
    /// # Errors
    ///
    /// Returns an error if the host cannot perform the boot.
    ///
    /// # Panics
    ///
    /// Panics if a command of the guest fails; the message contains its output.
    pub fn record(guest: &Guest, kernel: &Kernel, layland: &[u8]) -> io::Result<Self> {
        let booted = boot(guest, kernel, 4, layland, &Self::files(), &Self::commands())?;
        Ok(Self::read(&booted))
    }

    fn files() -> Vec<Named> {
        vec![("six.toml".to_owned(), EXAMPLE_6.to_owned())]
    }

    fn commands() -> Vec<Named> {
        let run = |name: &str, set: &str, options: &str| {
            // A run with misses exits with 1; only its record matters.
            let line = format!(
                "layland run {set} {options} -q --chart none -o {name}.trace; [ $? -lt 2 ] && cat {name}.trace"
            );
            (name.to_owned(), line)
        };
        let [five, six] = STRETCH.map(|factor| format!("--stretch {factor}x"));
        let (native, ours) = ("--policy dl --engine deadline", "--policy dl-sp --reserve 0");
        vec![
            run(
                "five-dl",
                "demo:affinity-defect",
                &format!("{native} {five} --until 1200ms --on-cpus 1-3"),
            ),
            run("six-dl", "six.toml", &format!("{native} {six} --until 190ms --on-cpus 1-2")),
            run("five-dl-sp", "demo:affinity-defect", &format!("{ours} {five} --until 1200ms")),
            run("six-dl-sp", "demo:push-defect", &format!("{ours} {six} --until 190ms")),
        ]
    }

    fn read(booted: &Booted) -> Self {
        let text = |name: &str| only_trace(said(booted, name));
        Self {
            five: [text("five-dl"), text("five-dl-sp")],
            six: [text("six-dl"), text("six-dl-sp")],
        }
    }
}

/// A file or a command of a guest: its name, and its contents or its line.
type Named = (String, String);

/// Boots a guest with the kernel's servers for ordinary threads turned off.
fn boot(
    guest: &Guest,
    kernel: &Kernel,
    cpus: u32,
    layland: &[u8],
    files: &[Named],
    commands: &[Named],
) -> io::Result<Booted> {
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let mut lines = vec![("fair-servers", NO_FAIR_SERVERS)];
    lines.extend(commands.iter().map(|(name, line)| (name.as_str(), line.as_str())));
    let booted = guest.boot(kernel, cpus, layland, &files, &lines)?;
    said(&booted, "fair-servers");
    Ok(booted)
}

/// The output of a command that succeeded.
fn said<'a>(booted: &'a Booted, name: &str) -> &'a str {
    let ran = booted.ran(name);
    assert_eq!(ran.code, Some(0), "{ran}\nconsole:\n{}", booted.console);
    &ran.output
}

/// The lines of a kernel's trace, without the summary of the run before them.
fn only_trace(output: &str) -> String {
    let is_event =
        |line: &&str| line.contains("] ") && line.contains(": ") || line.starts_with('#');
    output.lines().filter(is_event).map(|line| format!("{line}\n")).collect()
}

/// Parses a trace.
///
/// # Panics
///
/// Panics if it is damaged, or if the kernel lost events.
pub fn imported(text: &str, system: &System) -> Import {
    let options = ReadOptions { threads: Threads::Of(system), ..ReadOptions::default() };
    let import = read(text, &options).unwrap_or_else(|error| panic!("{error}: {}", error.help()));
    assert!(import.is_trustworthy() && !import.is_inferred, "{:?}", import.remarks);
    import
}

/// Calls of the kernel's functions while it scheduled the systems of the paper.
pub struct Traced {
    /// The number of tasks of the systems.
    pub tasks: usize,
    /// The calls of [`PUSH`] only: the tracer's cost of functions within it is that of [`MOVES`].
    pub pushes: Vec<graph::Call>,
    /// The calls of [`OTHERS`], from separate runs.
    pub others: Vec<graph::Call>,
}

/// The results of the dispatcher with the systems of the paper.
pub struct Dispatched {
    /// The policy: `dl` or `dl-sp`.
    pub policy: &'static str,
    /// The number of CPUs of the tasks.
    pub cpus: u32,
    /// The number of tasks of the systems.
    pub tasks: usize,
    /// The output of each run.
    pub runs: Vec<Value>,
}

/// The measurements on one kernel.
pub struct Measured {
    /// The kernel: its series, or `host`.
    pub place: String,
    /// The calls of its functions.
    pub traced: Vec<Traced>,
    /// The results of the dispatcher on it.
    pub dispatched: Vec<Dispatched>,
}

/// Traces `functions` while `command` runs, and prints the trace.
fn tracing(functions: &[&str], command: &str) -> String {
    let root = "/sys/kernel/tracing";
    let mut line = format!("echo nop >{root}/current_tracer; echo >{root}/set_ftrace_filter; ");
    // Set the filter first: without one, every function would be traced.
    for function in functions {
        line += &format!("echo {function} >>{root}/set_ftrace_filter || exit 9; ");
    }
    line += &format!(
        "echo mono >{root}/trace_clock; echo 4096 >{root}/buffer_size_kb; echo >{root}/trace; \
         echo function_graph >{root}/current_tracer; echo 1 >{root}/options/funcgraph-tail; \
         {command} >/dev/null 2>/tmp/said; code=$?; echo 0 >{root}/tracing_on; \
         [ $code -lt 2 ] || {{ cat /tmp/said; exit 9; }}; grep -v '^ -' {root}/trace | grep '|'; \
         echo nop >{root}/current_tracer; echo 1 >{root}/tracing_on; \
         cat {root}/per_cpu/cpu*/stats | grep -E '^(overrun|commit overrun|dropped events): [1-9]' && exit 8; true"
    );
    line
}

/// The systems of the paper that a guest runs. The guest has one CPU more than the tasks, for the
/// manager and everything else.
#[derive(Clone, Copy)]
pub struct OverheadSystems<'a> {
    /// The number of CPUs of the tasks.
    pub cpus: u32,
    /// The numbers of tasks of the systems.
    pub tasks: &'a [usize],
    /// The number of systems, and their duration.
    pub amount: Amount,
}

impl OverheadSystems<'_> {
    /// Measures the costs in `kernel`.
    ///
    /// # Errors
    ///
    /// Returns an error if the host cannot perform the boot.
    ///
    /// # Panics
    ///
    /// Panics if a command of the guest fails; the message contains its output.
    pub fn measure(&self, guest: &Guest, kernel: &Kernel, layland: &[u8]) -> io::Result<Measured> {
        let (files, commands) = (self.files(), self.commands());
        let booted = boot(guest, kernel, self.cpus + 1, layland, &files, &commands)?;
        Ok(self.read(kernel, &booted))
    }

    /// Measures the costs after the examples of [`Traces`], in one guest, because a boot takes as
    /// long as the measurements.
    ///
    /// # Errors
    ///
    /// Returns an error if the host cannot perform the boot.
    ///
    /// # Panics
    ///
    /// Panics if a command of the guest fails; the message contains its output. Also panics unless
    /// there are three CPUs for the tasks, as in the examples.
    pub fn measure_after_traces(
        &self,
        guest: &Guest,
        kernel: &Kernel,
        layland: &[u8],
    ) -> io::Result<(Traces, Measured)> {
        assert_eq!(self.cpus, 3, "the examples have three CPUs");
        let files = [Traces::files(), self.files()].concat();
        let commands = [Traces::commands(), self.commands()].concat();
        let booted = boot(guest, kernel, self.cpus + 1, layland, &files, &commands)?;
        Ok((Traces::read(&booted), self.read(kernel, &booted)))
    }

    /// Enumerates the systems: the number of tasks, and the index.
    fn systems(&self) -> impl Iterator<Item = (usize, u64)> {
        let each = |tasks| (0..self.amount.systems).map(move |index| (tasks, index));
        self.tasks.iter().copied().flat_map(each)
    }

    fn files(&self) -> Vec<Named> {
        let file = |(tasks, index)| {
            let system = sets::drawn(self.cpus, tasks, index);
            let system = system.expect("the utilization can be had");
            (format!("{tasks}-{index}.toml"), sets::file(&system))
        };
        self.systems().map(file).collect()
    }

    fn commands(&self) -> Vec<Named> {
        // Where the kernel supports it, budgets are enforced exactly when they are used up, not at
        // the next tick.
        let precise = "echo HRTICK_DL >/sys/kernel/debug/sched/features";
        let mut commands = vec![("precise".to_owned(), format!("{precise}; true"))];
        let OverheadSystems { cpus, amount, .. } = self;
        for (tasks, index) in self.systems() {
            let set = format!("{tasks}-{index}.toml");
            let time = format!("--until {}s", amount.seconds);
            let native = format!(
                "layland run {set} --policy dl --engine deadline --force {time} --on-cpus 1-{cpus} --chart none"
            );
            let name = |what: &str| format!("{what}-{tasks}-{index}");
            commands.push((name("push"), tracing(&[PUSH, MOVES], &native)));
            commands.push((name("others"), tracing(&OTHERS, &native)));
            for policy in ["dl", "dl-sp"] {
                let line = format!("layland run {set} --policy {policy} --reserve 0 {time} --json");
                commands.push((name(policy), line));
            }
        }
        commands
    }

    fn read(&self, kernel: &Kernel, booted: &Booted) -> Measured {
        let OverheadSystems { cpus, amount, .. } = *self;
        let mut measured =
            Measured { place: kernel.label.clone(), traced: Vec::new(), dispatched: Vec::new() };
        for &tasks in self.tasks {
            let all = |what: &str| {
                let each = (0..amount.systems).map(|index| format!("{what}-{tasks}-{index}"));
                each.flat_map(|name| graph::calls(said(booted, &name))).collect()
            };
            measured.traced.push(Traced { tasks, pushes: all("push"), others: all("others") });
            for policy in ["dl", "dl-sp"] {
                let each = (0..amount.systems).map(|index| {
                    let ran = booted.ran(&format!("{policy}-{tasks}-{index}"));
                    document(ran.code, &ran.output)
                });
                measured.dispatched.push(Dispatched { policy, cpus, tasks, runs: each.collect() });
            }
        }
        measured
    }
}

/// Measures the dispatcher on this machine, with as many tasks for each CPU as in the paper;
/// returns the reason if it cannot run.
///
/// # Errors
///
/// Returns a description of the failure, or a sentence that begins with `skipped: needs`.
pub fn on_host(program: &Path, folder: &Path, amount: Amount) -> Result<Measured, String> {
    let cpus = std::thread::available_parallelism().map_err(|error| error.to_string())?;
    let cpus = u32::try_from(cpus.get()).unwrap_or(1).min(sets::CPUS);
    if cpus < 2 {
        return Err("skipped: needs two CPUs".to_owned());
    }
    let mut dispatched = Vec::new();
    for tasks in TASKS_PER_CPU.map(|each| each * cpus as usize) {
        for policy in ["dl", "dl-sp"] {
            let mut runs = Vec::new();
            for index in 0..amount.systems {
                let system = sets::drawn(cpus, tasks, index).map_err(|error| error.to_string())?;
                let set = folder.join(format!("host-{tasks}-{index}.toml"));
                std::fs::write(&set, sets::file(&system)).map_err(|error| error.to_string())?;
                let ran = Command::new(program)
                    .arg("run")
                    .arg(&set)
                    // The manager shares a CPU with the tasks, because the machine has no other.
                    .args(["--policy", policy, "--manager", "shared"])
                    .args(["--reserve", "0", "--json", "--until"])
                    .arg(format!("{}s", amount.seconds))
                    .output()
                    .map_err(|error| error.to_string())?;
                if ran.status.code() == Some(5) {
                    let why = String::from_utf8_lossy(&ran.stderr);
                    return Err(format!(
                        "skipped: needs a machine for the dispatcher: {}",
                        why.trim()
                    ));
                }
                runs.push(document(ran.status.code(), &String::from_utf8_lossy(&ran.stdout)));
            }
            dispatched.push(Dispatched { policy, cpus, tasks, runs });
        }
    }
    Ok(Measured { place: "host".to_owned(), traced: Vec::new(), dispatched })
}

/// Parses the output of a run that ended with a result: it may have missed deadlines, or been
/// disturbed.
fn document(code: Option<i32>, output: &str) -> Value {
    assert!(matches!(code, Some(0 | 1 | 6)), "a run ended with {code:?}: {output}");
    // With a code above 1, the guest appends the standard error of the run.
    let mut values = serde_json::Deserializer::from_str(output).into_iter();
    values.next().and_then(Result::ok).unwrap_or_else(|| panic!("not a document: {output}"))
}
