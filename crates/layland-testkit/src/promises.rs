//! The promises of `layland exec`, on the running kernel. For the campaign `promises` and a test of
//! the command line.
//!
//! Sets are drawn over all its policies, with deadlines up to the periods and earlier. Each task is
//! a loop of Python that works for a part of its runtime in each period, and reports how late its
//! jobs were, measured from the periods in which they arrive. Ordinary loops compete for every CPU.
//! Some runs have threads of others, of SCHED_FIFO, SCHED_RR and SCHED_DEADLINE, which start before
//! the admission or after it.
//!
//! No job of an admitted thread may be later than the delay that the machine itself causes for a
//! thread of the highest priority ([`PromiseResults::machine`]), unless `exec` has withdrawn its promise.
#![expect(clippy::disallowed_methods, reason = "processes take real time")]

use layland_gen::{Aspect, Random};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The time for which the jobs of a set are watched.
const WATCHED_MS: i64 = 2_500;
const PAUSE: Duration = Duration::from_millis(5);
/// The maximum number of pauses for any operation: 30 s.
const ROUNDS: u32 = 6_000;

/// Reports that it is ready, and works for a number of microseconds of each period, for a number of
/// jobs. It can first wait for a real-time class. Prints the number of late jobs, and the maximum
/// lateness in nanoseconds, which is negative if no job was late.
/// none was.
const LOOP: &str = "import gc, os, sys, time\n\
    gc.disable()\n\
    work, period, deadline, jobs, waits = (int(word) for word in sys.argv[1:6])\n\
    work, period, deadline = work * 1000, period * 1000, deadline * 1000\n\
    print('ready', flush=True)\n\
    end = time.monotonic() + 25\n\
    while waits and os.sched_getscheduler(0) & 255 not in (1, 6):\n  \
      if time.monotonic() > end: sys.exit('it has no class')\n  \
      time.sleep(0.005)\n\
    if waits: time.sleep(2 * period / 1e9)\n\
    late, most, wake = 0, -period, time.monotonic_ns()\n\
    for job in range(jobs):\n  \
      until = time.thread_time_ns() + work\n  \
      while time.thread_time_ns() < until: pass\n  \
      by = time.monotonic_ns() - wake - deadline\n  \
      most = max(most, by)\n  \
      late += by > 0\n  \
      wake += period\n  \
      time.sleep(max(0, wake - time.monotonic_ns()) / 1e9)\n\
    print(late, most)\n";

/// Another thread on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stranger {
    /// No thread other than ordinary loops.
    Nobody,
    /// A thread of this class with 2 ms of every 20 ms, started before the admission.
    Before(&'static str),
    /// A thread of this class with 8 ms of every 20 ms, started after the admission.
    After(&'static str),
}

const STRANGERS: [Stranger; 8] = [
    Stranger::Nobody,
    Stranger::Nobody,
    Stranger::Before("fifo"),
    Stranger::Before("rr"),
    Stranger::Before("deadline"),
    Stranger::After("fifo"),
    Stranger::After("rr"),
    Stranger::After("deadline"),
];

const POLICIES: [&str; 5] = ["dl", "p-edf", "p-dm", "p-rm", "p-fp"];

/// A process that is killed at the end.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    fn start(command: &mut Command) -> io::Result<Process> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map(Process)
    }

    /// Waits until a loop has loaded its modules, which takes longer than one of its jobs.
    fn is_ready(&mut self) -> io::Result<()> {
        let Some(stdout) = &mut self.0.stdout else { return Ok(()) };
        let mut byte = [0];
        while byte != *b"\n" {
            if stdout.read(&mut byte)? == 0 {
                let (code, _, said) = self.end()?;
                return Err(io::Error::other(format!("a loop ended with {code:?}: {said}")));
            }
        }
        Ok(())
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }

    /// Returns the exit code, and the contents of standard output and standard error.
    fn end(&mut self) -> io::Result<(Option<i32>, String, String)> {
        let mut rounds = 0..ROUNDS;
        let status = loop {
            if let Some(status) = self.0.try_wait()? {
                break status;
            }
            rounds.next().ok_or(io::ErrorKind::TimedOut)?;
            std::thread::sleep(PAUSE);
        };
        let (mut out, mut err) = (String::new(), String::new());
        if let (Some(stdout), Some(stderr)) = (&mut self.0.stdout, &mut self.0.stderr) {
            stdout.read_to_string(&mut out)?;
            stderr.read_to_string(&mut err)?;
        }
        Ok((status.code(), out, err))
    }
}

/// Returns the path of the interpreter itself. `python3` may be a script, and threads of
/// SCHED_DEADLINE may not fork.
fn interpreter() -> String {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let said = asked.map(|asked| String::from_utf8_lossy(&asked.stdout).trim().to_owned());
    said.ok().filter(|path| !path.is_empty()).unwrap_or_else(|| "python3".to_owned())
}

/// Returns a command with a loop behind these words. Work, period and deadline are in microseconds.
fn looping(python: &str, words: &[&str], us: [i64; 3], jobs: i64, waits: bool) -> Command {
    let words = words.iter().copied().chain([python, "-c", LOOP]);
    let mut words = words.map(str::to_owned).chain(us.iter().map(i64::to_string));
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).args([jobs.to_string(), i64::from(waits).to_string()]);
    command
}

/// Returns the number of late jobs and the maximum lateness.
fn figures(out: &str) -> Option<(u64, i64)> {
    let (late, most) = out.trim().split_once(' ')?;
    Some((late.parse().ok()?, most.parse().ok()?))
}

/// A task, in microseconds.
#[derive(Clone, Copy, Debug)]
struct DrawnTask {
    runtime: i64,
    deadline: i64,
    period: i64,
}

/// The results of the sets of one policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyResults {
    /// The number of threads that requested admission.
    pub asked: u64,
    /// The number of admitted threads.
    pub admitted: u64,
    /// The number of jobs of admitted threads.
    pub jobs: u64,
    /// The number of late jobs.
    pub late: u64,
    /// The number of threads with a job that was later than the machine itself explains.
    pub beyond: u64,
    /// The number of threads whose promise was withdrawn.
    pub withdrawn: u64,
}

/// The results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct PromiseResults {
    /// The results for each policy.
    pub rows: BTreeMap<&'static str, PolicyResults>,
    /// The maximum delay that the machine caused for a job of a thread of the highest priority of SCHED_FIFO.
    pub machine: Duration,
    /// The number of strangers of SCHED_DEADLINE that the kernel rejected because of the reservations.
    pub kept_out: u64,
    /// Promises that were broken and not withdrawn.
    pub broken: Vec<String>,
    /// Promises that were broken once, but kept in a repetition.
    pub disturbed: Vec<String>,
}

/// A campaign of sets under one `layland`, one after the other.
pub struct Campaign {
    program: PathBuf,
    python: String,
    random: Random,
    cpus: usize,
    found: PromiseResults,
    /// The number of sets so far.
    number: u64,
}

impl Campaign {
    /// Creates a campaign for the `layland` under test.
    pub fn new(program: &Path, seed: u64) -> Campaign {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let random = Random::new(seed, 0, Aspect::Periods);
        let (program, python, found) =
            (program.to_owned(), interpreter(), PromiseResults::default());
        Campaign { program, python, random, cpus, found, number: 0 }
    }

    /// Returns the results so far.
    pub fn found(&self) -> &PromiseResults {
        &self.found
    }

    fn below(&mut self, bound: i64) -> i64 {
        self.random.below(bound.max(1).unsigned_abs()) as i64
    }

    fn task(&mut self) -> DrawnTask {
        let period = [10, 20, 40, 50, 100][self.below(5) as usize] * 1_000;
        let runtime = period * (10 + self.below(35)) / 100;
        let earliest = (runtime * 3 / 2).max(period / 2);
        let deadline = match self.below(2) {
            0 => period,
            _ => earliest + self.below(period - earliest + 1),
        };
        DrawnTask { runtime, deadline, period }
    }

    /// Measures the delay that the machine causes for a loop of the highest priority on each CPU,
    /// beside ordinary loops.
    fn control(&mut self) -> io::Result<()> {
        for cpu in 0..self.cpus {
            let words = ["taskset", "-c", &cpu.to_string(), "chrt", "-f", "99"];
            let mut one = Process::start(&mut looping(
                &self.python,
                &words,
                [1_000, 10_000, 1_000],
                50,
                false,
            ))?;
            one.is_ready()?;
            let (_, out, err) = one.end()?;
            let (_, most) = figures(&out).ok_or_else(|| io::Error::other(err))?;
            let most = Duration::from_nanos(most.max(0).unsigned_abs());
            self.found.machine = self.found.machine.max(most);
        }
        Ok(())
    }

    /// Starts a stranger. Returns `None` if the kernel itself rejects it.
    fn stranger(python: &str, class: &str, work: i64) -> io::Result<Option<Process>> {
        let (runtime, period) = ((work + 500) * 1_000, 20_000_000);
        let (runtime, period) = (runtime.to_string(), i64::to_string(&period));
        let words = match class {
            "fifo" => vec!["taskset", "-c", "0", "chrt", "-f", "97"],
            "rr" => vec!["taskset", "-c", "0", "chrt", "-r", "97"],
            _ => {
                let of = ["--sched-runtime", &runtime, "--sched-deadline", &period];
                [&["chrt", "-d"][..], &of, &["--sched-period", &period, "0"]].concat()
            }
        };
        let mut stranger =
            Process::start(&mut looping(python, &words, [work, 20_000, 20_000], 600, false))?;
        match stranger.is_ready() {
            Ok(()) => Ok(Some(stranger)),
            // The reservations leave less than the stranger requests.
            Err(error) if error.to_string().contains("Device or resource busy") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Requests admission under a policy for the loop of a task that waits.
    fn ask(&self, policy: &str, number: usize, task: DrawnTask, pid: &str) -> io::Result<Process> {
        let DrawnTask { runtime, deadline, period } = task;
        let mut command = Command::new(&self.program);
        command.args(["exec", "--strict", "-p", policy, "--pid", pid]);
        command.args(["--name", &format!("task{number}")]).env("NO_COLOR", "1");
        if policy == "p-fp" {
            let set = std::env::temp_dir().join(format!("layland-promise-{number}.toml"));
            let text = format!(
                "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"task{number}\"\nthread = \"main\"\n\
                 priority = {}\nwcet = \"{runtime}us\"\ndeadline = \"{deadline}us\"\nperiod = \"{period}us\"\n",
                number / 2
            );
            std::fs::write(&set, text)?;
            command.arg(set);
        } else {
            command.args(["--dl", &format!("{runtime}us/{period}us")]);
            command.args(["--deadline", &format!("{deadline}us")]);
        }
        Process::start(&mut command)
    }

    /// Draws one set, requests its admission, and watches it. If a promise is broken, all of this
    /// is repeated: a job that is late again is late because of the set, and otherwise because of
    /// another disturbance of the machine.
    ///
    /// # Errors
    /// If a process cannot be started, or does not end.
    pub fn set(&mut self) -> io::Result<()> {
        let policy = POLICIES[self.number as usize % POLICIES.len()];
        let stranger = STRANGERS[self.below(STRANGERS.len() as i64) as usize];
        self.number += 1;
        let count = 1 + self.below(3);
        let tasks: Vec<DrawnTask> = (0..count).map(|_| self.task()).collect();
        let once = self.watch(policy, stranger, &tasks)?;
        if once.is_empty() {
            return Ok(());
        }
        match self.watch(policy, stranger, &tasks)? {
            again if again.is_empty() => self.found.disturbed.extend(once),
            again => self.found.broken.extend(again),
        }
        Ok(())
    }

    /// Returns descriptions of the promises that were broken without being withdrawn.
    fn watch(
        &mut self,
        policy: &'static str,
        stranger: Stranger,
        tasks: &[DrawnTask],
    ) -> io::Result<Vec<String>> {
        let mut broken = Vec::new();
        let mut others = Vec::new();
        for _ in 0..self.cpus {
            others.push(Process::start(Command::new("sh").args(["-c", "while :; do :; done"]))?);
        }
        self.control()?;
        if let Stranger::Before(class) = stranger {
            others.extend(Self::stranger(&self.python, class, 2_000)?);
        }
        let mut running = Vec::new();
        for (number, &task) in tasks.iter().enumerate() {
            let work = task.runtime * 7 / 10;
            let jobs = WATCHED_MS * 1_000 / task.period;
            let us = [work, task.period, task.deadline];
            let mut child = Process::start(&mut looping(&self.python, &[], us, jobs, true))?;
            child.is_ready()?;
            let mut exec = self.ask(policy, number, task, &child.id())?;
            let row = self.found.rows.entry(policy).or_default();
            row.asked += 1;
            if !self.has_class(&mut child, &mut exec)? {
                let (code, _, err) = exec.end()?;
                if !matches!(code, Some(1)) {
                    let what = format!("{policy}, {task:?}: exit {code:?}: {err}");
                    broken.push(what);
                }
                continue;
            }
            let row = self.found.rows.entry(policy).or_default();
            row.admitted += 1;
            row.jobs += jobs.unsigned_abs();
            running.push((task, child, exec));
        }
        if let Stranger::After(class) = stranger {
            let stranger = Self::stranger(&self.python, class, 8_000)?;
            self.found.kept_out += u64::from(stranger.is_none());
            others.extend(stranger);
        }
        let mut ended = Vec::new();
        for (task, mut child, mut exec) in running {
            let (_, out, err) = child.end()?;
            let figures = figures(&out).ok_or_else(|| io::Error::other(err))?;
            let (code, _, said) = exec.end()?;
            ended.push((task, figures, code, said));
        }
        self.control()?;
        drop(others);
        for (task, (late, most), code, said) in ended {
            let row = self.found.rows.entry(policy).or_default();
            row.late += late;
            row.withdrawn += u64::from(code == Some(1));
            if most <= self.found.machine.as_nanos() as i64 {
                continue;
            }
            row.beyond += 1;
            if code != Some(1) {
                let by = Duration::from_nanos(most.unsigned_abs());
                broken.push(format!(
                    "set {}, {policy}, {stranger:?}, {task:?}: {late} late, by up to {by:?} where the machine takes \
                     {:?}; {tasks:?}; {said}",
                    self.number, self.found.machine
                ));
            }
        }
        Ok(broken)
    }

    /// Waits until a loop has its class. Returns false if it does not get one.
    fn has_class(&self, child: &mut Process, exec: &mut Process) -> io::Result<bool> {
        for _ in 0..ROUNDS {
            let policy = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
            // The 41st field of all fields, which is the 39th after the name.
            let rest = policy.rsplit_once(')').map_or("", |(_, rest)| rest);
            if matches!(rest.split_ascii_whitespace().nth(38), Some("1" | "6")) {
                return Ok(true);
            }
            if exec.0.try_wait()?.is_some() {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}
