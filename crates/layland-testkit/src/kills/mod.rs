//! Runs that are killed at random moments, and runs that overlap, and the check that they leave the
//! machine as it was. For the campaign `kills` and a test of the command line.
//!
//! Before and after each run, a [`Snapshot`] records everything that a run could change. If the
//! guardian of a killed run lives, the state must be restored within some seconds. If the guardian
//! was killed, too, or stopped, `layland doctor --clean` must restore it. An overlap must leave
//! nothing behind, and no run may hang.
//!
//! Long because a campaign is a list of ways to die.
#![expect(clippy::disallowed_methods, reason = "processes take real time")]

mod machine;

pub use machine::{Able, Kind, Snapshot, guardians};

use layland_gen::Random;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The time limit for the machine to return to its earlier state. The kernel counts bandwidth to
/// the end of a period, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time limit for a run after its regular end.
const LATE: Duration = Duration::from_secs(40);
const PAUSE: Duration = Duration::from_millis(10);

/// A way to end a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// A signal to its process.
    Main(&'static str),
    /// `KILL` to its process group, at any time.
    Group,
    /// `KILL` to its process group within the first 20 ms.
    GroupEarly,
    /// `KILL` to its guardians. The run goes on, and is interrupted later.
    Guardian,
    /// `KILL` to its guardians, then to the run.
    GuardianThenMain,
    /// `KILL` to the run, then to its guardians.
    MainThenGuardian,
    /// `STOP` to its guardians. The run is interrupted.
    StoppedGuardian,
    /// `STOP` to its guardians, and `KILL` to all of them.
    StoppedAndKilled,
}

/// All ways; the usual ones occur more often.
const WAYS: [Way; 16] = [
    Way::Main("KILL"),
    Way::Main("KILL"),
    Way::Main("TERM"),
    Way::Main("INT"),
    Way::Main("HUP"),
    Way::Group,
    Way::GroupEarly,
    Way::GroupEarly,
    Way::GroupEarly,
    Way::Guardian,
    Way::GuardianThenMain,
    Way::GuardianThenMain,
    Way::MainThenGuardian,
    Way::MainThenGuardian,
    Way::StoppedGuardian,
    Way::StoppedAndKilled,
];

impl Way {
    /// Returns true if something may be left for the doctor.
    fn needs_doctor(self) -> bool {
        match self {
            Way::GuardianThenMain | Way::MainThenGuardian | Way::StoppedAndKilled => true,
            Way::Main(_) | Way::Group | Way::GroupEarly | Way::Guardian | Way::StoppedGuardian => {
                false
            }
        }
    }

    fn name(self) -> String {
        match self {
            Way::Main(signal) => format!("{signal} to the run"),
            Way::Group => "KILL to the group".to_owned(),
            Way::GroupEarly => "KILL to the group, 1-20 ms".to_owned(),
            Way::Guardian => "KILL to the guardian".to_owned(),
            Way::GuardianThenMain => "KILL to the guardian, then the run".to_owned(),
            Way::MainThenGuardian => "KILL to the run, then the guardian".to_owned(),
            Way::StoppedGuardian => "STOP to the guardian, INT to the run".to_owned(),
            Way::StoppedAndKilled => "STOP to the guardian, KILL to both".to_owned(),
        }
    }
}

/// The results of one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KillCounts {
    times: u64,
    /// The number of runs that were alive when they were killed.
    live: u64,
    /// For each kind, the number of times that something was left before the repair.
    left: BTreeMap<Kind, u64>,
    any: u64,
    healed: u64,
}

/// The findings of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    rows: BTreeMap<String, KillCounts>,
    /// Descriptions of the errors.
    pub wrong: Vec<String>,
}

impl Findings {
    /// Returns the table, with a line for each way.
    pub fn table(&self) -> String {
        let mut text =
            format!("{:38} {:>5} {:>5} {:>5} {:>6}", "", "times", "live", "left", "healed");
        for kind in Kind::ALL {
            text += &format!(" {:>9}", kind.name());
        }
        for (name, row) in &self.rows {
            text += &format!(
                "\n{name:38} {:5} {:5} {:5} {:6}",
                row.times, row.live, row.any, row.healed
            );
            for kind in Kind::ALL {
                text += &format!(" {:9}", row.left.get(&kind).copied().unwrap_or(0));
            }
        }
        text + "\n"
    }
}

/// A campaign against one program.
pub struct Campaign {
    program: PathBuf,
    folder: PathBuf,
    able: Able,
    random: Random,
    before: Snapshot,
    started: Vec<u32>,
    found: Findings,
}

/// Programs for `exec` that leave its process group and its session, and also the process that it has started.
const PROGRAMS: [&[&str]; 9] = [
    &["sleep", "20"],
    &["timeout", "20", "sleep", "20"],
    &["timeout", "-s", "KILL", "0.1", "sleep", "20"],
    &["setsid", "sleep", "20"],
    &["setsid", "-w", "sh", "-c", "sleep 20 & sleep 20"],
    &["bash", "-c", "set -m; sleep 20 & sleep 20 & wait"],
    &["sh", "-c", "for i in 1 2 3; do (setsid sleep 0.1 &); done; while :; do :; done"],
    // Like sudo: a child in a separate session, and its exit code.
    &[
        "python3",
        "-c",
        "import os\nif os.fork() == 0: os.setsid(); os.execvp('sleep', ['sleep', '20'])\nos.wait()",
    ],
    // A server that stays in the foreground.
    &["python3", "-c", "import os, time\nos.setsid()\ntime.sleep(20)"],
];

/// One CPU, and two tasks that the kernel's own scheduler accepts, too.
const TASKS: [&str; 6] = ["-t", "a=20ms/100ms", "-t", "b=20ms/200ms", "--cpus", "1"];

impl Campaign {
    /// Prepares a campaign with a folder for its files.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn new(program: &Path, folder: &Path, seed: u64) -> io::Result<Campaign> {
        let program = program.canonicalize()?;
        std::fs::create_dir_all(folder)?;
        let able = Able::find(&program)?;
        // Remove the leftovers of earlier runs, which must not be counted here.
        Command::new(&program).args(["doctor", "--clean"]).output()?;
        let before = Snapshot::take(&program, &[]);
        let random = Random::of_task(seed, 0);
        let (folder, found) = (folder.to_owned(), Findings::default());
        Ok(Campaign { program, folder, able, random, before, started: Vec::new(), found })
    }

    /// Returns the capabilities of this machine.
    pub fn able(&self) -> Able {
        self.able
    }

    /// Returns the findings so far.
    pub fn found(&self) -> &Findings {
        &self.found
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound.max(1))
    }

    /// Returns the arguments of the runs that this machine supports, each for this number of milliseconds.
    fn workloads(&self, milliseconds: u64) -> Vec<Vec<String>> {
        let time = format!("{milliseconds}ms");
        let trace = self.folder.join("run.trace").display().to_string();
        let mut all: Vec<Vec<&str>> = Vec::new();
        let run = |engine: &'static str, policy: &'static str| {
            let mut words = vec!["run", "--engine", engine, "--policy", policy];
            words.extend(TASKS);
            words.extend(["-q", "--until"]);
            words
        };
        if self.able.fifo {
            all.push([&run("fifo", "p-edf")[..], &[&time]].concat());
        }
        if self.able.deadline {
            all.push([&run("deadline", "p-edf")[..], &[&time]].concat());
            all.push([&run("deadline", "dl")[..], &[&time]].concat());
        }
        if self.able.tracefs {
            all.push(vec!["trace", "record", "-o", &trace, "--until", &time]);
            if self.able.deadline {
                all.push([&run("deadline", "p-edf")[..], &[&time, "-o", &trace]].concat());
            }
            if self.able.fifo {
                all.push([&run("fifo", "g-edf")[..], &[&time, "-o", &trace]].concat());
            }
        }
        all.into_iter().map(|words| words.into_iter().map(str::to_owned).collect()).collect()
    }

    /// Returns the arguments of an `exec` of one of [`PROGRAMS`], under a policy that this machine supports.
    fn exec(&mut self) -> Option<Vec<String>> {
        let mut policies = Vec::new();
        if self.able.fifo {
            policies.push("p-dm");
        }
        if self.able.deadline {
            policies.extend(["dl", "p-edf"]);
        }
        if policies.is_empty() {
            return None;
        }
        let policy = policies[self.below(policies.len() as u64) as usize];
        let program = PROGRAMS[self.below(PROGRAMS.len() as u64) as usize];
        let mut words = vec!["exec", "-q", "--dl", "1ms/100ms", "-p", policy];
        if self.below(2) == 0 {
            words.extend(["--thread", "sleep|sh|python3"]);
        }
        words.push("--");
        words.extend(program);
        Some(words.into_iter().map(str::to_owned).collect())
    }

    fn start(&mut self, words: &[String]) -> io::Result<Child> {
        // Programs inherit ignored signals, for example from `nohup`, but these runs have to end by them.
        let child = Command::new("env")
            .arg("--default-signal=INT,HUP,QUIT")
            .arg(&self.program)
            .args(words)
            .env(machine::MARK, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        self.started.push(child.id());
        Ok(child)
    }

    /// Waits until the machine is in its earlier state. Returns the remaining differences.
    fn settled(&self, patience: Duration) -> Vec<(Kind, String)> {
        let mut left = PATIENCE.min(patience);
        loop {
            let differ = Snapshot::take(&self.program, &self.started).since(&self.before);
            if differ.is_empty() || left.is_zero() {
                return differ;
            }
            // A snapshot of every process takes time, too.
            std::thread::sleep(5 * PAUSE);
            left = left.saturating_sub(5 * PAUSE);
        }
    }

    /// Waits until the killed processes are gone. A process that was changing cpusets dies only
    /// after the kernel has finished that, and holds its locks until then. Its leftovers are free
    /// only afterwards.
    fn await_deaths(&self) {
        let mut left = PATIENCE;
        let lives = || {
            let now = Snapshot::take(&self.program, &self.started);
            now.since(&self.before).iter().any(|(kind, _)| *kind == Kind::Process)
        };
        while lives() && !left.is_zero() {
            std::thread::sleep(5 * PAUSE);
            left = left.saturating_sub(5 * PAUSE);
        }
    }

    /// Kills one run in one way.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn kill(&mut self) -> io::Result<()> {
        let workloads = self.workloads(20_000);
        // One of the possible runs is an `exec` of some program.
        let drawn = self.below(workloads.len() as u64 + 1) as usize;
        match workloads.get(drawn) {
            Some(words) => self.kill_one(words),
            None => self.kill_exec(),
        }
    }

    /// Kills one `exec` in one way. It ends whatever its program does.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn kill_exec(&mut self) -> io::Result<()> {
        match self.exec() {
            Some(words) => self.kill_one(&words),
            None => Ok(()),
        }
    }

    fn kill_one(&mut self, words: &[String]) -> io::Result<()> {
        let way = WAYS[self.below(WAYS.len() as u64) as usize];
        let after = match way {
            Way::GroupEarly => 1 + self.below(20),
            _ => self.below(300),
        };
        let mut child = self.start(words)?;
        std::thread::sleep(Duration::from_millis(after));
        let is_live = child.try_wait()?.is_none();
        self.end(&mut child, way);
        let name = way.name();
        let what = format!("{name} after {after} ms: layland {}", words.join(" "));
        if !has_ended(&mut child, LATE) {
            self.found.wrong.push(format!("{what}: hangs"));
            let _ = child.kill();
            let _ = child.wait();
        }
        if way.needs_doctor() {
            self.await_deaths();
        }
        // If no process is left that could restore anything, waiting changes nothing.
        let patience = if way.needs_doctor() { Duration::from_millis(300) } else { PATIENCE };
        let left = self.settled(patience);
        let row = self.found.rows.entry(name).or_default();
        row.times += 1;
        row.live += u64::from(is_live);
        self.judge(&what, &way.name(), left, way.needs_doctor())
    }

    /// Counts the leftovers, and lets the doctor repair them.
    fn judge(
        &mut self,
        what: &str,
        name: &str,
        left: Vec<(Kind, String)>,
        may_be_left: bool,
    ) -> io::Result<()> {
        if left.is_empty() {
            return Ok(());
        }
        let said: Vec<&str> = left.iter().map(|(_, what)| what.as_str()).collect();
        if !may_be_left {
            self.found.wrong.push(format!("{what}: left {}", said.join(", ")));
        }
        let mut doctor = Command::new(&self.program);
        let output = doctor.args(["doctor", "--clean"]).output()?;
        let still = self.settled(PATIENCE);
        let row = self.found.rows.entry(name.to_owned()).or_default();
        row.any += 1;
        let mut kinds: Vec<Kind> = left.iter().map(|&(kind, _)| kind).collect();
        kinds.dedup();
        kinds.into_iter().for_each(|kind| *row.left.entry(kind).or_default() += 1);
        if still.is_empty() {
            row.healed += 1;
        } else {
            let still: Vec<&str> = still.iter().map(|(_, what)| what.as_str()).collect();
            self.found.wrong.push(format!(
                "{what}: `doctor --clean` did not heal {}; it said {} {}",
                still.join(", "),
                String::from_utf8_lossy(&output.stdout).trim(),
                String::from_utf8_lossy(&output.stderr).trim(),
            ));
        }
        Ok(())
    }

    fn end(&mut self, child: &mut Child, way: Way) {
        let pid = child.id();
        match way {
            Way::Main(name) => signal(pid, signal_of(name)),
            Way::Group | Way::GroupEarly => {
                if let Some(group) = Pid::from_raw(pid as i32) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
            Way::Guardian => {
                guardians(pid).into_iter().for_each(|guardian| signal(guardian, Signal::KILL));
                // The run goes on, and has to restore everything by itself.
                std::thread::sleep(Duration::from_millis(self.below(200)));
                signal(pid, Signal::INT);
            }
            Way::GuardianThenMain => {
                guardians(pid).into_iter().for_each(|guardian| signal(guardian, Signal::KILL));
                signal(pid, Signal::KILL);
            }
            Way::MainThenGuardian => {
                let guardians = guardians(pid);
                signal(pid, Signal::KILL);
                std::thread::sleep(Duration::from_micros(self.below(2_000)));
                guardians.into_iter().for_each(|guardian| signal(guardian, Signal::KILL));
            }
            Way::StoppedGuardian => {
                guardians(pid).into_iter().for_each(|guardian| signal(guardian, Signal::STOP));
                signal(pid, Signal::INT);
            }
            Way::StoppedAndKilled => {
                let guardians = guardians(pid);
                guardians.iter().for_each(|&guardian| signal(guardian, Signal::STOP));
                signal(pid, Signal::KILL);
                guardians.into_iter().for_each(|guardian| signal(guardian, Signal::KILL));
            }
        }
    }

    /// Lets two or three runs overlap, some of which are killed. None may leave anything behind or hang.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn overlap(&mut self) -> io::Result<()> {
        let count = 2 + self.below(2);
        let mut runs = Vec::new();
        for _ in 0..count {
            let length = 200 + self.below(500);
            let workloads = self.workloads(length);
            if workloads.is_empty() {
                return Ok(());
            }
            let words = workloads[self.below(workloads.len() as u64) as usize].clone();
            runs.push((self.start(&words)?, words.join(" ")));
            std::thread::sleep(Duration::from_millis(self.below(250)));
        }
        let name = format!("{count} runs that overlap");
        let what: Vec<&str> = runs.iter().map(|(_, words)| words.as_str()).collect();
        let what = format!("{name}: layland {}", what.join(" | "));
        let mut live = 0;
        for (child, _) in &mut runs {
            // One in four is killed.
            if self.below(4) == 0 && child.try_wait()?.is_none() {
                live += 1;
                signal(child.id(), Signal::KILL);
            }
        }
        for (mut child, words) in runs {
            if !has_ended(&mut child, LATE) {
                self.found.wrong.push(format!("{what}: {words} hangs"));
                child.kill()?;
            }
            let code = child.wait()?.code();
            if !matches!(code, None | Some(0 | 1 | 5 | 6)) {
                self.found.wrong.push(format!("{what}: {words} ended with {code:?}"));
            }
        }
        let left = self.settled(PATIENCE);
        let row = self.found.rows.entry(name.clone()).or_default();
        row.times += 1;
        row.live += live;
        self.judge(&what, &name, left, false)
    }
}

fn signal_of(name: &str) -> Signal {
    match name {
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        _ => Signal::KILL,
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The process may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

fn has_ended(child: &mut Child, within: Duration) -> bool {
    let mut left = within;
    while !left.is_zero() {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => return true,
        }
        std::thread::sleep(PAUSE);
        left = left.saturating_sub(PAUSE);
    }
    false
}
