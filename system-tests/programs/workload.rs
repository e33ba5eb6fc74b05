//! A program that does not use layland: it works forever, or for a short time in every period. It
//! is a single file that needs only the standard library, so that a test can compile it for a
//! machine without anything else.
//!
//! ```text
//!   workload hog MILLISECONDS              works, and prints which share of a CPU it got, in thousandths
//!   workload periodic WORK PERIOD JOBS BUDGET
//!                                          WORK, PERIOD and BUDGET in microseconds; prints how many jobs were late, of how
//!                                          many it would be no wonder, how late, and what one took
//!   workload arm SECONDS                   two threads of SCHED_FIFO that share a mutex with priority inheritance: `control`
//!                                          works for 4 ms in every 40 ms with priority 80, `planner` for 20 ms in every
//!                                          160 ms with priority 40; half of either is under the mutex
//!   workload log FILE PERIOD               writes a line into the file in every so many milliseconds, for ever
//!   workload stranger MILLISECONDS         a hog of class SCHED_EXT that nobody has admitted
//!   workload crowd SOCKET CPU COUNT MILLISECONDS
//!                                          has COUNT threads of its own admitted by the daemon, 100 us in 10 ms on this
//!                                          CPU; they sleep, wake together after this time, and end. Prints how many have not
//!                                          ended five seconds later, and what the threads of it got since, in milliseconds
//!   workload twice SOCKET CPU OTHER        has itself admitted by the daemon: once, again on the same connection, on another
//!                                          one, and on another CPU. Prints what the daemon answers each time
//!   workload gains SOCKET CPU PROGRAM      has a child admitted, which becomes this program and works; prints what the daemon
//!                                          says within five seconds
//!   workload as USER CMD..                 becomes the program, as a user with this number
//!   workload fifo|rr PRIORITY CMD..        becomes the program, with this priority of SCHED_FIFO or SCHED_RR
//!   workload activate SOCKET CMD..         waits for a client at a socket, and becomes a program that is given it, as a
//!                                          service manager does
//! ```

use std::ffi::{c_int, c_long, c_short, c_ulong};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[repr(C)]
struct Poll {
    fd: c_int,
    events: c_short,
    found: c_short,
}

unsafe extern "C" {
    fn sched_setscheduler(thread: c_int, class: c_int, priority: *const c_int) -> c_int;
    fn poll(fds: *mut Poll, count: c_ulong, milliseconds: c_int) -> c_int;
    fn dup2(old: c_int, new: c_int) -> c_int;
    fn gettid() -> c_int;
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn pthread_mutexattr_init(attributes: *mut c_int) -> c_int;
    fn pthread_mutexattr_setprotocol(attributes: *mut c_int, protocol: c_int) -> c_int;
    fn pthread_mutex_init(mutex: *mut [u64; 8], attributes: *const c_int) -> c_int;
    fn pthread_mutex_lock(mutex: *mut [u64; 8]) -> c_int;
    fn pthread_mutex_unlock(mutex: *mut [u64; 8]) -> c_int;
}

#[repr(C)]
struct Timespec {
    seconds: c_long,
    nanoseconds: c_long,
}

const CLOCK_THREAD_CPUTIME_ID: c_int = 3;

const PTHREAD_PRIO_INHERIT: c_int = 1;

const SCHED_FIFO: c_int = 1;
const SCHED_RR: c_int = 2;
const SCHED_EXT: c_int = 7;
/// The file descriptor of the first socket that a service receives.
const GIVEN: c_int = 3;

fn become_a_stranger() {
    // Safety: the priority lives as long as the call.
    let result = unsafe { sched_setscheduler(0, SCHED_EXT, &0) };
    assert_eq!(result, 0, "SCHED_EXT is refused");
}

fn become_real_time(class: c_int, priority: &str) {
    let priority: c_int = priority.parse().expect("a number");
    // Safety: the priority lives as long as the call.
    let result = unsafe { sched_setscheduler(0, class, &priority) };
    assert_eq!(result, 0, "the class is refused");
}

fn activate(path: &str, program: &str, arguments: &[String]) -> ! {
    let listener = UnixListener::bind(path).expect("the socket can be made");
    let mut fds = Poll { fd: listener.as_raw_fd(), events: 1, found: 0 };
    // Copy twice: a copy is not closed on exec, but a descriptor that is duplicated onto its own
    // number stays as it was. Safety: the record lives as long as the call, and nothing else uses
    // these descriptors.
    let given = unsafe {
        poll(&mut fds, 1, -1);
        dup2(listener.as_raw_fd(), GIVEN + 1);
        dup2(GIVEN + 1, GIVEN)
    };
    assert_eq!(given, GIVEN, "the socket cannot be given");
    let own = std::process::id().to_string();
    let mut command = Command::new(program);
    panic!("{}", command.args(arguments).env("LISTEN_FDS", "1").env("LISTEN_PID", own).exec());
}

/// Works for a few microseconds.
fn chunk() {
    for step in 0..1_000u64 {
        black_box(step);
    }
}

/// The shortest duration of a chunk, measured without interruptions.
fn cost() -> Duration {
    let times = (0..500).map(|_| {
        let begun = Instant::now();
        chunk();
        begun.elapsed()
    });
    times.min().unwrap_or_default().max(Duration::from_nanos(1))
}

fn hog(length: Duration, cost: Duration) {
    let begun = Instant::now();
    let mut chunks = 0u64;
    while begun.elapsed() < length {
        chunk();
        chunks += 1;
    }
    let worked = cost.as_nanos() * u128::from(chunks);
    println!("share {}", worked * 1000 / begun.elapsed().as_nanos());
}

/// The CPU time of this thread.
fn got() -> Duration {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // Safety: the record lives as long as the call.
    let result = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "a thread has a clock");
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

/// A job that exceeds its budget has no guarantee, nor has a job that is released before that
/// backlog is gone: these jobs are *over*. Counts the late jobs among the others.
fn periodic(work: Duration, period: Duration, jobs: u32, budget: Duration, cost: Duration) {
    let chunks = work.as_nanos() / cost.as_nanos();
    let (mut late, mut over) = (0, 0);
    let (mut worst, mut most) = (Duration::ZERO, Duration::ZERO);
    let mut has_backlog = false;
    let mut release = Instant::now() + period;
    for _ in 0..jobs {
        let early = release.saturating_duration_since(Instant::now());
        has_backlog &= early.is_zero();
        std::thread::sleep(early);
        let before = got();
        for _ in 0..chunks {
            chunk();
        }
        let used = got() - before;
        most = most.max(used);
        has_backlog |= used > budget;
        let response = release.elapsed();
        over += u32::from(has_backlog);
        if !has_backlog {
            late += u32::from(response > period);
            worst = worst.max(response);
        }
        release += period;
    }
    let [worst, most] = [worst, most].map(|time| time.as_micros());
    println!("late {late} of {jobs}, {over} over, worst {worst} us, used up to {most} us");
}

/// A mutex of the C library with priority inheritance, which the mutex of Rust does not support. It
/// is never freed.
#[derive(Clone, Copy)]
struct InheritanceMutex(*mut [u64; 8]);

// Safety: several threads may use a mutex.
unsafe impl Send for InheritanceMutex {}

impl InheritanceMutex {
    fn new() -> InheritanceMutex {
        let mutex = Box::into_raw(Box::new([0; 8]));
        let mut attributes: c_int = 0;
        // Safety: both are large enough, and live as long as they are used.
        let results = unsafe {
            [
                pthread_mutexattr_init(&mut attributes),
                pthread_mutexattr_setprotocol(&mut attributes, PTHREAD_PRIO_INHERIT),
                pthread_mutex_init(mutex, &attributes),
            ]
        };
        assert_eq!(results, [0; 3], "there is no such mutex");
        InheritanceMutex(mutex)
    }

    fn hold(self, section: impl FnOnce()) {
        // Safety: it was initialized, and is never freed.
        unsafe { pthread_mutex_lock(self.0) };
        section();
        // Safety: this thread holds it.
        unsafe { pthread_mutex_unlock(self.0) };
    }
}

/// Runs a controller and a planner.
fn arm(length: Duration, cost: Duration) {
    let shared = InheritanceMutex::new();
    let ms = Duration::from_millis;
    let begin = Instant::now() + ms(100);
    let threads = [("control", "80", ms(4), ms(40)), ("planner", "40", ms(20), ms(160))];
    let threads = threads.map(|(name, priority, work, period)| {
        let life = move || {
            become_real_time(SCHED_FIFO, priority);
            let half = || (0..work.as_nanos() / cost.as_nanos() / 2).for_each(|_| chunk());
            let mut release = begin;
            while release < begin + length {
                thread::sleep(release.saturating_duration_since(Instant::now()));
                half();
                shared.hold(half);
                release += period;
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(life).expect("a thread")
    });
    for thread in threads {
        thread.join().expect("it ends");
    }
}

fn log(path: &str, period: Duration) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).expect("a file");
    loop {
        let line = [b'x'; 63];
        let written = file.write_all(&line).and_then(|()| file.write_all(b"\n"));
        written.expect("there is room");
        thread::sleep(period);
    }
}

/// The threads of this process except the first, with the CPU time of each.
fn others() -> Vec<(i32, Duration)> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a process has threads");
    let numbers = tasks.filter_map(|task| task.ok()?.file_name().into_string().ok()?.parse().ok());
    let own = std::process::id() as i32;
    let got = |thread: i32| -> Option<Duration> {
        let told = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
        told.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    numbers.filter(|&thread| thread != own).filter_map(|of| Some((of, got(of)?))).collect()
}

/// A connection to the daemon.
struct Asker {
    asks: UnixStream,
    hears: BufReader<UnixStream>,
}

impl Asker {
    fn knock(socket: &str) -> Asker {
        let asks = UnixStream::connect(socket).expect("the daemon listens");
        let hears = BufReader::new(asks.try_clone().expect("a copy"));
        Asker { asks, hears }
    }

    /// Requests admission of a thread, 100 us in 10 ms on this CPU. Returns the answer of the
    /// daemon.
    fn admit(&mut self, thread: i32, cpu: &str) -> String {
        let times = "\"runtime_ns\":100000,\"deadline_ns\":10000000,\"period_ns\":10000000";
        let ask = format!(
            "{{\"ask\":\"admit\",\"name\":\"c\",\"thread\":{thread},{times},\"tardiness_ns\":null,\
             \"cpus\":\"{cpu}\",\"policy\":\"dl-sp\"}}\n"
        );
        self.asks.write_all(ask.as_bytes()).expect("the daemon hears");
        self.hear()
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        match self.hears.read_line(&mut line) {
            Ok(_) => line,
            Err(error) => format!("{error}\n"),
        }
    }
}

fn twice(socket: &str, cpu: &str, other: &str) {
    let own = std::process::id() as i32;
    let (mut one, mut another) = (Asker::knock(socket), Asker::knock(socket));
    print!("{}{}{}", one.admit(own, cpu), one.admit(own, cpu), another.admit(own, cpu));
    print!("{}{}", one.admit(own, other), another.admit(own, other));
}

fn gains(socket: &str, cpu: &str, program: &str) {
    let mut asker = Asker::knock(socket);
    let (own, childs) = UnixStream::pair().expect("a pair");
    let (mut says, mut hears) = (childs.try_clone().expect("a copy"), childs);
    let mut command = Command::new(program);
    command.args(["hog", "8000"]);
    // After the fork and before the exec, the child reports its process id and waits. Safety: it
    // only reads and writes.
    unsafe {
        command.pre_exec(move || {
            says.write_all(&std::process::id().to_ne_bytes())?;
            hears.read_exact(&mut [0])
        })
    };
    let started = thread::spawn(move || command.spawn());
    let (mut says, mut hears) = (own.try_clone().expect("a copy"), own);
    let mut number = [0; 4];
    hears.read_exact(&mut number).expect("the child is there");
    print!("{}", asker.admit(i32::from_ne_bytes(number), cpu));
    says.write_all(&[1]).expect("the child is there");
    asker.asks.set_read_timeout(Some(Duration::from_secs(5))).expect("a time");
    print!("{}", asker.hear());
    if let Ok(Ok(mut child)) = started.join() {
        let _ = child.wait();
    }
}

fn crowd(socket: &str, cpu: &str, count: usize, sleep: Duration) {
    let mut asker = Asker::knock(socket);
    let wake = Instant::now() + sleep;
    let (tell, told) = mpsc::channel();
    for _ in 0..count {
        let tell = tell.clone();
        thread::spawn(move || {
            // Safety: it has no arguments.
            let own = unsafe { gettid() };
            tell.send(own).expect("somebody waits");
            drop(tell);
            thread::sleep(wake.saturating_duration_since(Instant::now()));
        });
    }
    drop(tell);
    let admitted =
        told.into_iter().filter(|&thread| asker.admit(thread, cpu).contains("\"admitted\""));
    let admitted = admitted.count();
    let is_early = Instant::now() < wake;
    thread::sleep(wake.saturating_duration_since(Instant::now()));
    let before: Duration = others().iter().map(|(_, got)| *got).sum();
    thread::sleep(Duration::from_secs(5));
    let left = others();
    let got: Duration = left.iter().map(|(_, got)| *got).sum();
    let got = got.saturating_sub(before).as_millis();
    println!("admitted {admitted} early {is_early} left {} got {got}", left.len());
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse().ok()).unwrap_or(0);
    if let [what, user, program, arguments @ ..] = words.as_slice()
        && what == "as"
    {
        let user = user.parse().expect("a number");
        let error = Command::new(program).args(arguments).uid(user).gid(user).exec();
        panic!("{program}: {error}");
    }
    if let [class, priority, program, arguments @ ..] = words.as_slice()
        && let "fifo" | "rr" = class.as_str()
    {
        become_real_time(if class == "fifo" { SCHED_FIFO } else { SCHED_RR }, priority);
        panic!("{program}: {}", Command::new(program).args(arguments).exec());
    }
    if let [what, path, program, arguments @ ..] = words.as_slice()
        && what == "activate"
    {
        activate(path, program, arguments);
    }
    let cost = cost();
    match words.first().map(String::as_str) {
        Some("arm") => arm(Duration::from_secs(number(1)), cost),
        Some("log") => log(&words[1], Duration::from_millis(number(2))),
        Some("hog") => hog(Duration::from_millis(number(1)), cost),
        Some("crowd") => {
            let [socket, cpu] = [1, 2].map(|place| words.get(place).map_or("", String::as_str));
            crowd(socket, cpu, number(3) as usize, Duration::from_millis(number(4)));
        }
        Some("twice") => twice(&words[1], &words[2], &words[3]),
        Some("gains") => gains(&words[1], &words[2], &words[3]),
        Some("stranger") => {
            become_a_stranger();
            hog(Duration::from_millis(number(1)), cost);
        }
        Some("periodic") => {
            let [work, period, budget] =
                [1, 2, 4].map(|place| Duration::from_micros(number(place)));
            periodic(work, period, number(3) as u32, budget, cost);
        }
        _ => std::process::exit(2),
    }
}
