//! A daemon with many honest and dishonest users at once: `layland daemon`, with the engine `ext`.
//!
//! The users are simulated: a thread of root takes another user's number while it connects, and the
//! kernel reports that number to the daemon. Without root all users are the same.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it talks to another process, for a bounded time"
)]

use rustix::process::{Pid, Signal, Uid, geteuid, kill_process};
use rustix::thread::set_thread_res_uid;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that runs for a test.
pub struct Daemon {
    child: Child,
    socket: PathBuf,
}

/// The resources of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its memory, in KiB.
    pub memory: u64,
    /// Its open files.
    pub files: usize,
}

impl Daemon {
    /// Starts a daemon whose socket is in this folder, on the first CPU, with these additional arguments.
    ///
    /// # Errors
    /// If the daemon does not start to listen. The error contains the daemon's messages.
    pub fn start(program: &Path, folder: &Path, more: &[&str]) -> io::Result<Daemon> {
        std::fs::create_dir_all(folder)?;
        let socket = folder.join("daemon.socket");
        let mut child = Command::new(program)
            .args(["daemon", "--on-cpus", "0", "--socket"])
            .arg(&socket)
            .args(more)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().expect("it is piped"));
        while !said.contains("layland daemon: CPU") {
            if errors.read_line(&mut said)? == 0 {
                child.wait()?;
                return Err(io::Error::other(said));
            }
        }
        // Drain further messages, so that the daemon never blocks on a full pipe.
        std::thread::spawn(move || io::copy(&mut errors, &mut io::sink()));
        Ok(Daemon { child, socket })
    }

    /// Returns its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns its resources.
    ///
    /// # Errors
    /// If it has ended.
    pub fn size(&self) -> io::Result<Size> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        let memory = memory.ok_or_else(|| io::Error::other("the daemon has ended"))?;
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.pid()))?.count();
        Ok(Size { memory, files })
    }

    /// Opens a connection as this user, if we may become another user.
    ///
    /// # Errors
    /// If the daemon does not listen.
    pub fn knock(&self, user: u32) -> io::Result<UnixStream> {
        let own = geteuid();
        if own.is_root() {
            set_thread_res_uid(None, Uid::from_raw(user), None)?;
        }
        let stream = UnixStream::connect(&self.socket);
        if own.is_root() {
            set_thread_res_uid(None, own, None)?;
        }
        let stream = stream?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Stops the daemon, and returns the time that this took.
    ///
    /// # Errors
    /// If it ends with an error, or not at all.
    pub fn end(mut self) -> io::Result<Duration> {
        let begun = Instant::now();
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM)?;
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                let took = begun.elapsed();
                return if status.success() {
                    Ok(took)
                } else {
                    Err(io::Error::other(format!("the daemon ended with {status}")))
                };
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(io::Error::other("the daemon does not end"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the question whether a thread with this number, or any thread, would be admitted under this policy.
#[must_use]
pub fn question(policy: &str, thread: Option<i64>) -> String {
    let thread = thread.map_or("null".to_owned(), |number| number.to_string());
    format!(
        "{{\"ask\":\"admit\",\"name\":\"c\",\"thread\":{thread},\"runtime_ns\":10000,\"deadline_ns\":10000000,\
         \"period_ns\":10000000,\"tardiness_ns\":null,\"cpus\":\"0\",\"policy\":\"{policy}\"}}"
    )
}

/// Sends a question on a connection, and waits for the answer.
///
/// # Errors
/// If there is no answer.
pub fn ask(stream: &mut UnixStream, line: &str) -> io::Result<serde_json::Value> {
    stream.write_all(format!("{line}\n").as_bytes())?;
    hear(stream)
}

/// Reads the next answer byte by byte, because later bytes belong to the answer after it.
fn hear(stream: &mut UnixStream) -> io::Result<serde_json::Value> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match stream.read(&mut byte)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ if byte[0] == b'\n' => break,
            _ => line.push(byte[0]),
        }
    }
    serde_json::from_slice(&line).map_err(io::Error::other)
}

/// The effect of a flood on another user.
#[derive(Debug)]
pub struct Delays {
    /// The response times of the other user's questions, in ascending order.
    pub of_other: Vec<Duration>,
    /// The number of answers that the flood received meanwhile.
    pub flooded: u64,
}

/// Lets a user flood the daemon over `connections` connections, each with sixteen questions at a
/// time, while another user asks `questions` questions.
///
/// # Errors
/// If a question is not answered.
pub fn flood(daemon: &Daemon, connections: usize, questions: usize) -> io::Result<Delays> {
    let (is_over, flooded) = (AtomicBool::new(false), AtomicU64::new(0));
    let pours = || -> io::Result<()> {
        let mut streams = Vec::new();
        for _ in 0..connections {
            let stream = daemon.knock(2001)?;
            stream.set_nonblocking(true)?;
            streams.push(stream);
        }
        let lines = format!("{}\n", question("dl-sp", None)).repeat(16);
        let mut part = [0; 65_536];
        while !is_over.load(Ordering::Relaxed) {
            for stream in &mut streams {
                // Text that does not fit is cut anywhere, so its last line may not be a question any more.
                let _ = stream.write(lines.as_bytes());
                if let Ok(length) = stream.read(&mut part) {
                    let answers = part[..length].iter().filter(|&&byte| byte == b'\n').count();
                    flooded.fetch_add(answers as u64, Ordering::Relaxed);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    };
    let asks = || -> io::Result<Vec<Duration>> {
        let mut stream = daemon.knock(3000)?;
        while flooded.load(Ordering::Relaxed) < 100 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut took = Vec::new();
        for _ in 0..questions {
            let begun = Instant::now();
            ask(&mut stream, &question("dl-sp", None))?;
            took.push(begun.elapsed());
            std::thread::sleep(Duration::from_millis(5));
        }
        took.sort_unstable();
        Ok(took)
    };
    std::thread::scope(|scope| {
        let pouring = scope.spawn(pours);
        let of_other = asks();
        is_over.store(true, Ordering::Relaxed);
        let poured = pouring.join().expect("it does not panic");
        let delays = Delays { of_other: of_other?, flooded: flooded.load(Ordering::Relaxed) };
        poured?;
        Ok(delays)
    })
}

/// The results of many messages.
#[derive(Debug, Default)]
pub struct MessageResults {
    /// The number of messages sent.
    pub sent: u64,
    /// The number of answers.
    pub answers: u64,
    /// The number of connections that ended as expected.
    pub ended: u64,
    /// Descriptions of the errors.
    pub wrong: Vec<String>,
    /// The longest time before an answer.
    pub slowest: Duration,
}

/// Pseudo-random numbers (SplitMix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn of<T: Clone>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u64) as usize].clone()
    }
}

/// The expected reaction to a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// This number of answers.
    Answers(u64),
    /// One answer that admits nothing.
    Refusal,
    /// The end of the connection.
    End,
    /// None: the client disconnects before there can be an answer.
    Gone,
}

const LIST: &str = "{\"ask\":\"list\"}";

fn honest(draws: &mut Draws) -> String {
    match draws.below(3) {
        0 => LIST.to_owned(),
        1 => question("dl-sp", None),
        _ => "{\"ask\":\"leave\",\"name\":\"nobody\"}".to_owned(),
    }
}

/// Returns a message, and the expected reaction.
fn message(draws: &mut Draws, daemon: u32) -> (Vec<u8>, Due) {
    let lines = |lines: Vec<String>| lines.iter().flat_map(|line| [line, "\n"]).collect::<String>();
    let one = |line: String| (format!("{line}\n").into_bytes(), Due::Answers(1));
    match draws.below(13) {
        0..=2 => one(honest(draws)),
        3 => {
            let count = draws.of(&[2, 15, 16, 17, 40]);
            let said = lines((0..count).map(|_| honest(draws)).collect());
            (said.into_bytes(), Due::Answers(count))
        }
        4 => {
            let mut line = honest(draws).into_bytes();
            for _ in 0..=draws.below(8) {
                let place = draws.below(line.len() as u64) as usize;
                line[place] = b' ' + draws.below(95) as u8;
            }
            line.push(b'\n');
            (line, Due::Answers(1))
        }
        5 => (b"{\"ask\":\"\xff\xfe\"}\n".to_vec(), Due::End),
        6 => one(honest(draws).replace('a', "\0")),
        7 => {
            let length = draws.of(&[4_094, 4_095, 4_096, 4_097, 4_098, 20_000]);
            let due = if length <= 4_096 { Due::Answers(1) } else { Due::End };
            (format!("{}\n", "x".repeat(length)).into_bytes(), due)
        }
        8 => one(draws.of(&["[", "{\"a\":", "\"", "[1,"]).repeat(draws.below(800) as usize + 1)),
        9 => {
            let line = honest(draws);
            let cut = draws.below(line.len() as u64) as usize;
            (line.as_bytes()[..cut].to_vec(), Due::Gone)
        }
        10 => {
            let thread = draws.of(&[0, 1, 2, i64::from(daemon), -1, i64::from(i32::MAX), i64::MAX]);
            (format!("{}\n", question("dl-sp", Some(thread))).into_bytes(), Due::Refusal)
        }
        11 => {
            let number =
                draws.of(&["0", "-1", "9223372036854775807", "1e400", "18446744073709551616"]);
            let name = draws.of(&["10000", "10000000", "null", "\"0\"", "\"c\""]);
            one(question("dl-sp", None).replacen(name, number, draws.below(3) as usize))
        }
        _ => (lines((0..20).map(|_| honest(draws)).collect()).into_bytes(), Due::Gone),
    }
}

/// Lets one user send `count` messages.
fn talks(daemon: &Daemon, user: u32, count: u64, seed: u64) -> io::Result<MessageResults> {
    let mut draws = Draws(seed);
    let mut told = MessageResults::default();
    let mut stream = daemon.knock(user)?;
    while told.sent < count {
        let (said, due) = message(&mut draws, daemon.pid());
        let begun = Instant::now();
        told.sent += 1;
        // Sometimes send it in small parts, and sometimes as the last message.
        let written = match draws.below(20) {
            0 if said.len() < 500 => said.chunks(1).try_for_each(|part| stream.write_all(part)),
            _ => stream.write_all(&said),
        };
        // The daemon may reject an overlong message before it has been sent completely, so writing may fail.
        if due != Due::End {
            written?;
        }
        let are_last = draws.below(50) == 0;
        if are_last {
            stream.shutdown(Shutdown::Write)?;
        }
        let mut is_over = are_last;
        match due {
            Due::Answers(answers) => {
                for _ in 0..answers {
                    hear(&mut stream)?;
                    told.answers += 1;
                }
            }
            Due::Refusal => {
                let answer = hear(&mut stream)?;
                told.answers += 1;
                if answer["answer"] != "refused" {
                    told.wrong.push(format!("{} gave {answer}", String::from_utf8_lossy(&said)));
                }
            }
            Due::End => {
                // The connection is reset, because unread input is left.
                if let Ok(answer) = hear(&mut stream) {
                    told.wrong.push(format!("{} bytes gave {answer}", said.len()));
                }
                told.ended += 1;
                is_over = true;
            }
            Due::Gone => is_over = true,
        }
        if !matches!(due, Due::Gone) {
            told.slowest = told.slowest.max(begun.elapsed());
        }
        if is_over {
            stream = daemon.knock(user)?;
        }
    }
    Ok(told)
}

/// Lets these users send `count` messages in total, at once: honest and broken ones, and some that
/// end in the middle.
///
/// # Errors
/// If a message is not answered.
pub fn messages(
    daemon: &Daemon,
    users: &[u32],
    count: u64,
    seed: u64,
) -> io::Result<MessageResults> {
    let each = count.div_ceil(users.len().max(1) as u64);
    let talked: Vec<io::Result<MessageResults>> = std::thread::scope(|scope| {
        let talking = users.iter().map(|&user| {
            scope.spawn(move || {
                talks(daemon, user, each, seed.wrapping_mul(1_000) + u64::from(user))
            })
        });
        let talking: Vec<_> = talking.collect();
        talking.into_iter().map(|one| one.join().expect("it does not panic")).collect()
    });
    let mut all = MessageResults::default();
    for told in talked {
        let MessageResults { sent, answers, ended, wrong, slowest } = told?;
        all.sent += sent;
        all.answers += answers;
        all.ended += ended;
        all.wrong.extend(wrong);
        all.slowest = all.slowest.max(slowest);
    }
    Ok(all)
}
