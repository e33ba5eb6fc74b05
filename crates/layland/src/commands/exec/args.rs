//! The arguments of `layland exec`.

use crate::ui::numbers::process;
use clap::{Args, ValueEnum};
use layland_answers::values::length_of;
use layland_guarantee::admission::Regime;
use layland_linux::exec::Ambient;
use layland_model::{CpuSet, Duration};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland exec --dl 2ms/10ms -- ./controller
      2 ms of every 10 ms for its first thread, by SCHED_DEADLINE, if that can be guaranteed beside the reservations \
      of others; the program starts with it, or not at all
  layland exec --dl 2ms/10ms --policy p-edf -- ./controller
      the same on a CPU of its own, which layland finds and separates from the others
  layland exec --dl 2ms/10ms --deadline 8ms --on-cpus 2-3 --thread 'ctrl.*' -- ./controller
      for each thread whose name matches, also threads that start later, on CPUs 2 and 3
  layland exec robot.toml --policy p-dm -- ./robot
      the tasks of a set, whose key `thread` names their threads, by SCHED_FIFO
  layland exec --pid 1234 --thread 'audio.*' --dl 1ms/5ms
      a running program; Ctrl-C restores the former scheduling of its threads
  layland exec --cgroup system.slice/robot.service --thread 'ctrl.*' --dl 1ms/5ms
      a running service, also after it was restarted
  layland exec --engine ext --on-cpus 1 --dl 2ms/10ms -- ./controller
      under dl-sp, by the scheduler that `layland daemon` loads: on CPU 1, without privileges of its own
  layland exec --list; layland exec --leave controller
      list the admitted programs of this machine; give back the reservation of one
  layland exec --dl 2ms/10ms --dry-run
      only ask whether it would be admitted

All reservations are kept in one machine-wide register. A new program is admitted if the tests of `layland check` \
guarantee the deadlines of all programs, and the kernel agrees. Otherwise it is refused, with the missing amount and \
the largest reservation that would be admitted.

Needs CAP_SYS_NICE, and root for --on-cpus and p-edf (cpusets). As a service: ExecStart=layland exec .. with \
AmbientCapabilities=CAP_SYS_NICE.

The guarantee is about time: a thread gets its runtime before each deadline. It does not say that this is enough for \
its work; `layland trace infer` shows how much a thread used.

Exits with the code of the program (128 and the signal if it was killed), 126 if it cannot be executed, 127 if it is \
not found, 1 if it is not admitted or if a guarantee did not hold (--strict), and 5 if the system refuses.";

#[derive(Args)]
pub(crate) struct ExecArgs {
    /// A task set whose tasks are reservations. The key `thread` of each names its threads (`main`, `cgroup:PATH`
    /// for those of a control group, or a regular expression that must match the whole name; by default the name of
    /// the task)
    #[arg(value_name = "SET")]
    pub set: Option<String>,
    /// The program and its arguments
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
    /// Reserve RUNTIME of processor time in every PERIOD, as in 2ms/10ms
    #[arg(long, value_name = "RUNTIME/PERIOD", value_parser = parse_reservation)]
    #[arg(help_heading = "Reservation")]
    #[arg(conflicts_with = "set")]
    pub dl: Option<(Duration, Duration)>,
    /// The relative deadline. A thread gets its runtime within this time of waking up [default: the period]
    #[arg(long, value_name = "TIME", value_parser = length_of, requires = "dl")]
    #[arg(help_heading = "Reservation")]
    pub deadline: Option<Duration>,
    /// The threads whose whole name matches this regular expression. Or `main`, the first thread [default: main]
    #[arg(long, value_name = "REGEX", requires = "dl", help_heading = "Reservation")]
    pub thread: Option<String>,
    /// Guarantee a largest tardiness instead of deadlines: no thread is later than this
    #[arg(long, value_name = "TIME", value_parser = length_of, help_heading = "Reservation")]
    #[arg(hide_short_help = true)]
    pub tardiness: Option<Duration>,
    /// The name of this reservation [default: the program]
    #[arg(long, value_name = "NAME", help_heading = "Reservation")]
    pub name: Option<String>,
    /// Reserve for a running program instead of starting one
    #[arg(long, value_name = "PID", conflicts_with = "command", value_parser = process)]
    #[arg(help_heading = "Reservation")]
    pub pid: Option<i32>,
    /// Reserve for the threads of a control group, such as a running service. Those of --thread, or for `main` the
    /// first thread of each process. The group may be empty, because a service may start again
    #[arg(long, value_name = "PATH", conflicts_with_all = ["command", "pid"])]
    #[arg(help_heading = "Reservation")]
    pub cgroup: Option<String>,
    /// The policy. By default dl, and dl-sp with --engine ext
    #[arg(long, short, value_name = "P", value_enum, help_heading = "Scheduling")]
    pub policy: Option<Policy>,
    /// The engine that carries out the decisions
    #[arg(long, value_name = "E", value_enum, default_value_t = Engine::Kernel)]
    #[arg(help_heading = "Scheduling")]
    pub engine: Engine,
    /// The path of the daemon's socket
    #[arg(long, value_name = "PATH", default_value = SOCKET, help_heading = "Scheduling")]
    #[arg(hide_short_help = true)]
    pub socket: PathBuf,
    /// The CPUs of this machine to use, as in 2-3 or 1,3. With SCHED_DEADLINE they become a root domain of their own,
    /// shared by all programs that name the same CPUs
    #[arg(long, value_name = "LIST", help_heading = "Scheduling")]
    pub on_cpus: Option<CpuSet>,
    /// Pass CAP_SYS_NICE on to the program where it is an ambient capability, as for a service. Otherwise only layland
    /// has it
    #[arg(long, conflicts_with_all = ["pid", "cgroup", "list", "leave", "dry_run"])]
    #[arg(help_heading = "Program")]
    #[arg(hide_short_help = true)]
    pub keep_capability: bool,
    /// Exit with 1 if a guarantee did not hold. A thread of another program or a limit of the kernel came after the
    /// admission, a thread was given another class, or a reservation had no thread
    #[arg(long, conflicts_with_all = ["list", "leave", "dry_run"], help_heading = "Program")]
    #[arg(hide_short_help = true)]
    pub strict: bool,
    /// List the admitted programs, and how the kernel schedules each of their threads
    #[arg(long, conflicts_with_all = ["set", "dl", "pid", "cgroup", "command", "leave"])]
    #[arg(help_heading = "Admission")]
    pub list: bool,
    /// Give back the reservation of this name. Its program continues as an ordinary one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["set", "dl", "pid", "cgroup", "command"])]
    #[arg(help_heading = "Admission")]
    pub leave: Option<String>,
    /// Only say whether the program would be admitted
    #[arg(long, conflicts_with_all = ["list", "leave"], help_heading = "Admission")]
    pub dry_run: bool,
    /// Write to this file. Its extension says what, when the program has ended, about its threads and from the kernel's
    /// trace: a report (.html), a chart (.svg, .txt) or the trace (.json). May be repeated. Needs root
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    #[arg(conflicts_with_all = ["list", "leave", "dry_run"])]
    pub output: Vec<PathBuf>,
    /// Print the result as JSON. This needs --list or --dry-run
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print results and problems only
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// The default socket of the daemon.
pub(crate) const SOCKET: &str = "/run/layland/ext.socket";

/// The engine that carries out a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// SCHED_DEADLINE and SCHED_FIFO, as the kernel has them: dl, p-edf, p-dm, p-rm, p-fp; and dl-sp, if it is patched
    Kernel,
    /// The policy decides, and the kernel follows it: dl-sp, dl, apedf, a2pedf. Needs `layland daemon`
    Ext,
}

impl ExecArgs {
    /// Returns whether the program keeps our capabilities.
    pub(crate) fn ambient(&self) -> Ambient {
        if self.keep_capability { Ambient::Kept } else { Ambient::Dropped }
    }

    /// Returns the policy that was requested, or else the default of the engine.
    pub(crate) fn policy(&self) -> Policy {
        self.policy.unwrap_or(match self.engine {
            Engine::Kernel => Policy::Dl,
            Engine::Ext => Policy::DlSp,
        })
    }
}

/// The policy that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// SCHED_DEADLINE as it is: global EDF with a budget for each thread, on all CPUs or on those of --on-cpus
    #[value(alias = "g-edf", alias = "c-edf")]
    Dl,
    /// SCHED_DEADLINE with a root domain for each CPU that is used: a thread stays on the CPU that it gets
    PEdf,
    /// SCHED_FIFO by deadlines, each thread on one CPU. No budgets: a thread that runs for too long delays others
    PDm,
    /// SCHED_FIFO by periods, likewise
    PRm,
    /// SCHED_FIFO by the priorities of a set, likewise: tasks of one priority share one of the kernel
    PFp,
    /// SCHED_DEADLINE repaired, where a thread may have one CPU or all of them: with --engine ext, or in a patched
    /// kernel
    DlSp,
    /// With --engine ext: EDF that gives each job a CPU when it arrives
    Apedf,
    /// With --engine ext: the same, with pulling
    A2pedf,
}

impl Policy {
    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Policy::Dl => "dl",
            Policy::PEdf => "p-edf",
            Policy::PDm => "p-dm",
            Policy::PRm => "p-rm",
            Policy::PFp => "p-fp",
            Policy::DlSp => "dl-sp",
            Policy::Apedf => "apedf",
            Policy::A2pedf => "a2pedf",
        }
    }

    /// Returns the regime of this policy, if the engine has it.
    pub(crate) fn regime(self, engine: Engine) -> Option<Regime> {
        match engine {
            Engine::Kernel => Regime::of_kernel(self.name()),
            Engine::Ext => Regime::of_ext(self.name()),
        }
    }
}

fn parse_reservation(text: &str) -> Result<(Duration, Duration), String> {
    let (runtime, period) = text.split_once('/').ok_or("write RUNTIME/PERIOD, as in 2ms/10ms")?;
    let (runtime, period) = (length_of(runtime)?, length_of(period)?);
    if runtime > period {
        return Err(format!("a runtime of {runtime:#} does not fit into a period of {period:#}"));
    }
    Ok((runtime, period))
}
