//! An emulated machine: several CPUs, one kernel, several commands.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it waits for another machine, for a bounded time"
)]

use crate::archive::Archive;
use crate::program::past_the_harness;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

/// A kernel that can be booted.
#[derive(Clone)]
pub struct Kernel {
    /// Its series, such as `6.12`, or series and flavour: `7.3-rt`.
    pub label: String,
    /// The package that contains it.
    pub package: String,
    image: PathBuf,
}

impl Kernel {
    /// A kernel that was built, and not fetched.
    #[must_use]
    pub fn built(label: &str, image: PathBuf) -> Self {
        Self { label: label.into(), package: image.display().to_string(), image }
    }
}

/// The reason why no kernel could be booted: a sentence that begins with `skipped: needs`.
pub struct Skipped(pub String);

/// The machine before it boots.
#[derive(Clone)]
pub struct Guest {
    folder: PathBuf,
    busybox: Vec<u8>,
    /// The available kernels, in the order of `kernels.txt`.
    pub kernels: Vec<Kernel>,
    /// Additional programs on the path, with their names. Empty at first.
    pub programs: Vec<(String, Vec<u8>)>,
    /// The duration of an instruction: two to this power nanoseconds. The default is 2 ns, which is
    /// used to measure times. The cost of busy CPUs for the host is inversely proportional to it:
    /// half at 4 ns.
    pub shift: u32,
}

/// The result of a boot.
pub struct Booted {
    /// One entry per command that was started.
    pub ran: Vec<CommandRun>,
    /// The complete console output of the guest, for failure messages.
    pub console: String,
}

/// One command of the guest.
pub struct CommandRun {
    /// The name that the caller gave it.
    pub name: String,
    /// Its exit code; `None` if the guest stopped before the command ended.
    pub code: Option<i32>,
    /// Its output; including standard error, if the code is above 1.
    pub output: String,
}

const APPLETS: [&str; 12] = [
    "sh", "mount", "ls", "cat", "echo", "poweroff", "mkdir", "sleep", "uname", "taskset", "kill",
    "grep",
];

/// The time limit of a boot and its commands on the host, which may be busy with other work: while
/// other tests ran on two CPUs, a boot of five CPUs took more than twenty minutes.
const LIMIT: Duration = Duration::from_secs(2_400);

impl Guest {
    /// Fetches the packages into `folder`, once.
    ///
    /// # Errors
    ///
    /// Returns [`Skipped`] if QEMU or the packages are not available.
    pub fn fetch(folder: &Path) -> Result<Self, Skipped> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fetch.sh");
        let output = Command::new("sh")
            .arg(script)
            .arg(folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| Skipped(format!("skipped: needs a shell ({error})")))?;
        let said = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => {}
            Some(77) => return Err(Skipped(said.lines().last().unwrap_or_default().into())),
            _ => panic!("fetch.sh failed: {said}"),
        }
        let used = fs::read_to_string(folder.join("used.txt")).expect("fetch.sh wrote used.txt");
        let mut kernels = Vec::new();
        let mut busybox = Vec::new();
        for line in used.lines() {
            let [label, package, path] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("used.txt has `{line}`");
            };
            match label {
                "qemu" => {}
                "busybox" => busybox = fs::read(path).expect("busybox was unpacked"),
                _ => kernels.push(Kernel {
                    label: label.into(),
                    package: package.into(),
                    image: path.into(),
                }),
            }
        }
        if kernels.is_empty() {
            return Err(Skipped("skipped: needs one of the kernels of kernels.txt".into()));
        }
        Ok(Self { folder: folder.into(), busybox, kernels, programs: Vec::new(), shift: 1 })
    }

    /// The kernels with these labels. Reports each missing kernel like a skipped test.
    #[must_use]
    pub fn labelled(&self, labels: &[&str]) -> Vec<&Kernel> {
        let find = |label: &&str| {
            let found = self.kernels.iter().find(|kernel| kernel.label == *label);
            if found.is_none() {
                past_the_harness(&format!("skipped: needs a kernel {label} (kernels.txt)"));
            }
            found
        };
        labels.iter().filter_map(find).collect()
    }

    /// The kernels of a test: those of its short form, or all of `all` if `LAYLAND_KERNELS` is
    /// `all`.
    ///
    /// # Panics
    ///
    /// Panics if `LAYLAND_KERNELS` is anything else.
    #[must_use]
    pub fn chosen(&self, short: &[&str], all: &[&str]) -> Vec<&Kernel> {
        match std::env::var_os("LAYLAND_KERNELS") {
            None => self.labelled(short),
            Some(value) if value == "all" => self.labelled(all),
            Some(value) => panic!("LAYLAND_KERNELS is `{}`, and not `all`", value.display()),
        }
    }

    /// Boots `kernel` and runs the commands there, one after the other, as root.
    ///
    /// Each command is a name and a line for the shell; `layland` is on the path. The output of a
    /// command is kept in a file and printed when the command has ended, so that the console does
    /// not disturb the run. `files` are available in the directory in which commands start. The
    /// machine has `cpus` CPUs, of which the kernel keeps the first one for itself as far as it
    /// can.
    ///
    /// # Errors
    ///
    /// Returns an error if the host cannot perform the boot.
    pub fn boot(
        &self,
        kernel: &Kernel,
        cpus: u32,
        layland: &[u8],
        files: &[(&str, &str)],
        commands: &[(&str, &str)],
    ) -> io::Result<Booted> {
        self.boot_with(kernel, cpus, "", layland, files, commands)
    }

    /// Like [`boot`](Self::boot), with additional kernel parameters. The machine has a second
    /// serial port, `ttyS1`, which is not connected.
    ///
    /// # Errors
    ///
    /// Returns an error if the host cannot perform the boot.
    pub fn boot_with(
        &self,
        kernel: &Kernel,
        cpus: u32,
        words: &str,
        layland: &[u8],
        files: &[(&str, &str)],
        commands: &[(&str, &str)],
    ) -> io::Result<Booted> {
        // Tests boot at the same time, as threads of one process or as several processes.
        static BOOTS: AtomicU32 = AtomicU32::new(0);
        let (own, boot) = (std::process::id(), BOOTS.fetch_add(1, Ordering::Relaxed));
        let file = |of| self.folder.join(format!("{}-{own}-{boot}.{of}", kernel.label));
        let (image, console) = (file("cpio"), file("console"));
        fs::write(&image, self.file_system(layland, files, commands))?;
        let mut machine = Command::new("qemu-system-x86_64")
            .args([
                "-accel",
                "tcg,thread=single",
                "-cpu",
                "max",
                "-m",
                "1G",
                "-smp",
                &cpus.to_string(),
            ])
            .args(["-nodefaults", "-no-user-config", "-icount"])
            .arg(format!("shift={},sleep=off", self.shift))
            .args(["-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"])
            .args(["-display", "none", "-no-reboot", "-serial"])
            .arg(format!("file:{}", console.display()))
            .args(["-serial", "null"])
            .arg("-kernel")
            .arg(&kernel.image)
            .arg("-initrd")
            .arg(&image)
            .args(["-append", &format!("{} {words}", command_line(cpus))])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        let begun = Instant::now();
        while machine.try_wait()?.is_none() {
            if begun.elapsed() > LIMIT {
                machine.kill()?;
                machine.wait()?;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        let text = String::from_utf8_lossy(&fs::read(&console)?).replace('\r', "");
        fs::remove_file(&image)?;
        fs::remove_file(&console)?;
        Ok(Booted { ran: parse(&text), console: text })
    }

    fn file_system(
        &self,
        layland: &[u8],
        files: &[(&str, &str)],
        commands: &[(&str, &str)],
    ) -> Vec<u8> {
        let mut archive = Archive::default();
        for path in ["bin", "proc", "sys", "dev", "tmp"] {
            archive.directory(path);
        }
        archive.program("bin/busybox", &self.busybox);
        for applet in APPLETS {
            archive.link(&format!("bin/{applet}"), "busybox");
        }
        archive.program("bin/layland", layland);
        for (name, program) in &self.programs {
            archive.program(&format!("bin/{name}"), program);
        }
        for (name, content) in files {
            archive.program(&format!("tmp/{name}"), content.as_bytes());
        }
        let mut script = String::from(INIT);
        for (name, command) in commands {
            script += &format!(
                "echo \"@@ begin {name}\"; ({command}) >/tmp/out 2>/tmp/err; code=$?; cat /tmp/out; [ $code -lt 2 ] || cat /tmp/err; echo \"@@ end $code\"\n"
            );
        }
        archive.program("init", (script + "poweroff -f\n").as_bytes());
        archive.finish()
    }
}

/// The command line of the kernel. The self-tests of its ciphers would occupy CPUs for seconds, and
/// khugepaged would take any CPU for tens of milliseconds, as an ordinary thread that comes before
/// those of sched_ext. Clearing all allocated memory would take a quarter of the host time of a
/// boot.
fn command_line(cpus: u32) -> String {
    let last = cpus - 1;
    format!(
        "console=ttyS0 quiet panic=-1 nokaslr nohz_full=1-{last} rcu_nocbs=1-{last} irqaffinity=0 \
         cryptomgr.notests transparent_hugepage=never init_on_alloc=0"
    )
}

const INIT: &str = "#!/bin/sh
export PATH=/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t cgroup2 cgroup2 /sys/fs/cgroup
cd /tmp
";

/// Parses the console's `@@ begin NAME`, output, `@@ end CODE` into a list.
fn parse(console: &str) -> Vec<CommandRun> {
    let mut ran: Vec<CommandRun> = Vec::new();
    let mut open = false;
    for line in console.lines() {
        if let Some((_, name)) = line.split_once("@@ begin ") {
            ran.push(CommandRun { name: name.into(), code: None, output: String::new() });
            open = true;
        } else if let (true, Some((rest, code)), Some(last)) =
            (open, line.split_once("@@ end "), ran.last_mut())
        {
            last.output += rest;
            last.code = code.trim().parse().ok();
            open = false;
        } else if let (true, Some(last)) = (open, ran.last_mut())
            && !is_of_the_kernel(line)
        {
            last.output += line;
            last.output.push('\n');
        }
    }
    ran
}

/// Returns true if the kernel wrote this line, such as `[ 92.936726] psi: task underflow!`: kernel
/// lines can occur at any time.
fn is_of_the_kernel(line: &str) -> bool {
    let time = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    time.and_then(|(time, _)| time.trim_start().split_once('.')).is_some_and(|(seconds, micros)| {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        micros.len() == 6 && is_number(seconds) && is_number(micros)
    })
}

impl Booted {
    /// The command with this name.
    ///
    /// # Panics
    ///
    /// Panics if the guest stopped before it; the message contains the console.
    #[must_use]
    pub fn ran(&self, name: &str) -> &CommandRun {
        self.ran.iter().find(|ran| ran.name == name).unwrap_or_else(|| {
            panic!("the guest stopped before `{name}`; its console:\n{}", self.console)
        })
    }
}

impl fmt::Display for CommandRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ended with {:?}:\n{}", self.name, self.code, self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn commands_are_found_in_the_console() {
        let ran = parse(
            "boot\n@@ begin a\n[   92.936726] psi: task underflow!\nx\ny@@ end 0\nnoise\n@@ begin b\nz\n",
        );
        assert_eq!(ran.len(), 2);
        assert_eq!((ran[0].name.as_str(), ran[0].code), ("a", Some(0)));
        assert_eq!(ran[0].output, "x\ny");
        assert_eq!((ran[1].code, ran[1].output.as_str()), (None, "z\n"));
    }
}
