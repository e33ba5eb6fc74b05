//! The former states of threads of programs that were given another class, so that they can be
//! restored.
//!
//! The list is a file of records of fixed length, because the guardian reads it after a fork and
//! may not allocate. A record is written before its thread is changed, so that every changed thread
//! has one. It identifies the thread by its number and its start time, which together are never
//! reused: a record of a thread that has ended has no effect.

use super::ended::{self, LONGEST_PERIOD_NS};
use crate::kernel::files::{self, Lock};
use crate::kernel::sys::{self, Tid};
use layland_model::Duration;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// The length of a record.
const LENGTH: usize = 512;
/// The largest number of CPUs in an affinity.
const CPUS: usize = 1024;
/// The position of the string in a record, and its largest length.
const TEXT: usize = 192;
const LONGEST: usize = LENGTH - TEXT - 1;

/// The state of a thread before it was given another class.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Former {
    /// The thread.
    pub thread: Tid,
    /// Its start time: see [`start_of`].
    pub started: u64,
    /// Its class, its priority, its reservation.
    attributes: Attributes,
    /// The CPUs that it was tied to.
    cpus: [u64; CPUS / 64],
    /// The period of the reservation that it receives, in nanoseconds; 0 if there is none.
    period_ns: u64,
    /// The list of threads of its former cpuset, padded with zeros; empty if it was not moved.
    home: [u8; LONGEST + 1],
}

/// The members of [`libc::sched_attr`] that a record stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attributes {
    policy: u32,
    nice: i32,
    priority: u32,
    flags: u64,
    times: [u64; 3],
}

impl Former {
    /// Reads the present state of a thread. `home` is the file that lists the threads of its
    /// cpuset, if it is about to be moved; `period` is that of its reservation, if it is about to
    /// receive one.
    ///
    /// # Errors
    /// Returns an error if there is no such thread, or the name of the file is too long for a
    /// record.
    pub fn of(thread: Tid, home: Option<&CStr>, period: Option<Duration>) -> io::Result<Former> {
        let started = start_of(thread).ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        let name = home.map_or(&[][..], CStr::to_bytes);
        if name.len() > LONGEST {
            return Err(io::Error::other("the name of its cpuset is too long to be remembered"));
        }
        let mut home = [0; LONGEST + 1];
        home[..name.len()].copy_from_slice(name);
        let now = sys::attributes(thread)?;
        let set = sys::affinity_of(thread)?;
        let mut cpus = [0; CPUS / 64];
        for cpu in (0..CPUS).filter(|&cpu| set.is_set(cpu)) {
            cpus[cpu / 64] |= 1 << (cpu % 64);
        }
        let attributes = Attributes {
            policy: now.sched_policy,
            nice: now.sched_nice,
            priority: now.sched_priority,
            flags: now.sched_flags,
            times: [now.sched_runtime, now.sched_deadline, now.sched_period],
        };
        let period_ns = period.map_or(0, |period| period.ns().unsigned_abs());
        Ok(Former { thread, started, attributes, cpus, period_ns, home })
    }

    /// Returns the CPUs that it was tied to, in ascending order.
    pub fn cpus(&self) -> impl Iterator<Item = usize> {
        let cpus = self.cpus;
        (0..CPUS).filter(move |cpu| cpus[cpu / 64] >> (cpu % 64) & 1 == 1)
    }

    /// Returns the list of threads of its former cpuset, if it was moved.
    fn home(&self) -> Option<&CStr> {
        CStr::from_bytes_until_nul(&self.home).ok().filter(|path| !path.is_empty())
    }

    /// Restores the thread, if it still exists. Allocates nothing.
    ///
    /// # Errors
    /// Returns the first error of the kernel, after every step was tried.
    pub fn restore(&self) -> io::Result<()> {
        if start_of(self.thread) != Some(self.started) {
            return Ok(());
        }
        let Attributes { policy, nice, priority, flags, times: [runtime, deadline, period] } =
            self.attributes;
        // An ordinary thread can be moved anywhere, but one with a reservation cannot.
        let ordinary = libc::sched_attr { sched_nice: nice, ..sys::NO_ATTRIBUTES };
        let is_ordinary = policy == libc::SCHED_OTHER as u32;
        let ordinary =
            libc::sched_attr { sched_flags: if is_ordinary { flags } else { 0 }, ..ordinary };
        // If the kernel refuses to empty the reservation, it may still accept the change of class.
        let _ = sys::empty_reservation(self.thread);
        let mut results = [sys::set_attributes(self.thread, &ordinary), Ok(()), Ok(()), Ok(())];
        if let Some(home) = self.home() {
            results[1] = files::set(home, decimal(self.thread.0, &mut [0; 12]));
        }
        results[2] = sys::set_affinity(self.thread, self.cpus());
        if !is_ordinary {
            let attributes = libc::sched_attr {
                sched_policy: policy,
                sched_nice: nice,
                sched_priority: priority,
                sched_flags: flags,
                sched_runtime: runtime,
                sched_deadline: deadline,
                sched_period: period,
                ..sys::NO_ATTRIBUTES
            };
            results[3] = sys::set_attributes(self.thread, &attributes);
        }
        // The thread may have ended meanwhile.
        let is_gone = |error: &io::Error| error.raw_os_error() == Some(libc::ESRCH);
        let failed = results.into_iter().find(|result| result.as_ref().is_err_and(|e| !is_gone(e)));
        failed.unwrap_or(Ok(()))
    }

    fn bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        let Attributes { policy, nice, priority, flags, times } = self.attributes;
        put(&self.thread.0.to_ne_bytes());
        put(&policy.to_ne_bytes());
        put(&nice.to_ne_bytes());
        put(&priority.to_ne_bytes());
        put(&self.started.to_ne_bytes());
        put(&flags.to_ne_bytes());
        let words = times.iter().chain(&self.cpus).chain([&self.period_ns]);
        words.for_each(|word| put(&word.to_ne_bytes()));
        bytes[TEXT..].copy_from_slice(&self.home);
        bytes
    }

    /// Reads a record. The thread is 0 if the record is unused or its thread was forgotten.
    /// Allocates nothing.
    fn read(bytes: &[u8; LENGTH]) -> Former {
        let mut at = 0;
        let word4 = |at: &mut usize| {
            *at += 4;
            [bytes[*at - 4], bytes[*at - 3], bytes[*at - 2], bytes[*at - 1]]
        };
        let thread = Tid(i32::from_ne_bytes(word4(&mut at)));
        let policy = u32::from_ne_bytes(word4(&mut at));
        let nice = i32::from_ne_bytes(word4(&mut at));
        let priority = u32::from_ne_bytes(word4(&mut at));
        let mut words = [0; 2 + 3 + CPUS / 64 + 1];
        for (word, bytes) in words.iter_mut().zip(bytes[at..].chunks_exact(8)) {
            let mut all = [0; 8];
            all.copy_from_slice(bytes);
            *word = u64::from_ne_bytes(all);
        }
        let [started, flags, runtime, deadline, period, cpus @ .., period_ns] = words;
        let mut home = [0; LONGEST + 1];
        home.copy_from_slice(&bytes[TEXT..]);
        let times = [runtime, deadline, period];
        let attributes = Attributes { policy, nice, priority, flags, times };
        Former { thread, started, attributes, cpus, period_ns, home }
    }
}

/// The file that lists the changed threads.
#[derive(Debug)]
pub(crate) struct Changed {
    file: File,
    /// The thread of each record, in their order; `None` if the record can be reused.
    written: Vec<Option<Tid>>,
}

impl Changed {
    /// Creates a file with an empty list.
    ///
    /// # Errors
    /// Returns an error if the file cannot be created.
    pub fn make(path: &CStr) -> io::Result<Changed> {
        let file = files::open(path, true)?;
        file.set_len(0)?;
        Ok(Changed { file, written: Vec::new() })
    }

    /// Writes the record of a thread. To be called before the thread is changed.
    ///
    /// # Errors
    /// Returns an error if it cannot be written. The thread must not be changed then.
    pub fn remember(&mut self, former: &Former) -> io::Result<()> {
        let free = self.written.iter().position(Option::is_none);
        let index = free.unwrap_or(self.written.len());
        self.file.write_all_at(&former.bytes(), (index * LENGTH) as u64)?;
        match free {
            Some(index) => self.written[index] = Some(former.thread),
            None => self.written.push(Some(former.thread)),
        }
        Ok(())
    }

    /// Returns the former state of a thread.
    pub fn former(&self, thread: Tid) -> Option<Former> {
        let index = self.written.iter().position(|&of| of == Some(thread))?;
        read_at(&self.file, index)
    }

    /// Marks the record of a thread that has ended or has been restored as reusable.
    pub fn forget(&mut self, thread: Tid) {
        if let Some(index) = self.written.iter().position(|&of| of == Some(thread)) {
            // Clear only the number: `restore_all` still needs the period of a reservation that was
            // counted a moment ago. A process that has already read the record restores the thread
            // once more, without harm.
            let nobody = [0; size_of::<i32>()];
            let _ = self.file.write_all_at(&nobody, (index * LENGTH) as u64);
            self.written[index] = None;
        }
    }
}

fn read_at(file: &File, index: usize) -> Option<Former> {
    let mut bytes = [0; LENGTH];
    file.read_exact_at(&mut bytes, (index * LENGTH) as u64).ok()?;
    Some(Former::read(&bytes))
}

/// Restores every thread of a list, and removes the list. Concurrent callers wait until this is
/// done. Once the list is gone, its threads may receive new reservations, which no caller must
/// mistake for those of the list.
///
/// # Errors
/// Returns an error if the kernel refuses to restore a thread; the list stays then.
pub(crate) fn restore_all(path: &CStr) -> io::Result<()> {
    let file = match files::open(path, false) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(()),
        Err(error) => return Err(error),
    };
    let until = sys::monotonic_ns().saturating_add_unsigned(2 * LONGEST_PERIOD_NS);
    while !files::lock(&file, Lock::Exclusive)? {
        if sys::monotonic_ns() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        sys::sleep_until(sys::monotonic_ns() + 1_000_000);
    }
    let found = file.metadata()?;
    if found.nlink() == 0 {
        return Ok(());
    }
    let length = found.len() as usize;
    let mut result = Ok(());
    let (mut longest, mut is_parted) = (0, false);
    for index in 0..length / LENGTH {
        if let Some(former) = read_at(&file, index) {
            result = result.and(former.restore());
            // This also applies to threads that have ended.
            longest = longest.max(former.period_ns);
            is_parted |= former.home().is_some();
        }
    }
    if longest > 0 {
        ended::note(path, longest);
    }
    if is_parted {
        // Their root domain is removed next.
        ended::wait(path);
    }
    result?;
    files::remove(path)
}

/// Returns the number of threads of a list that still exist.
pub(crate) fn alive_in(path: &CStr) -> usize {
    let Ok(file) = files::open(path, false) else { return 0 };
    let length = file.metadata().map_or(0, |found| found.len()) as usize;
    let records = (0..length / LENGTH).filter_map(|index| read_at(&file, index));
    records.filter(|former| start_of(former.thread) == Some(former.started)).count()
}

/// Returns the start time of a thread, in ticks since boot; `None` if there is none, or only a
/// zombie. Allocates nothing.
pub(crate) fn start_of(thread: Tid) -> Option<u64> {
    let mut path = [0; 32];
    let mut digits = [0; 12];
    let parts: [&[u8]; 3] = [b"/proc/", decimal(thread.0, &mut digits), b"/stat"];
    let mut at = 0;
    for part in parts {
        path[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let mut text = [0; 1024];
    let file = files::open_to_read(path).ok()?;
    let length = file.read_at(&mut text, 0).ok()?;
    // The name before the fields may contain any character, also `)`.
    let end = text[..length].iter().rposition(|&byte| byte == b')')?;
    let mut fields = text[end + 1..length].split(|&byte| byte == b' ').filter(|f| !f.is_empty());
    let state = fields.next()?;
    if matches!(state, b"Z" | b"X") {
        return None;
    }
    std::str::from_utf8(fields.nth(18)?).ok()?.parse().ok()
}

/// Prints a number in decimal digits.
fn decimal(number: i32, digits: &mut [u8; 12]) -> &[u8] {
    let mut left = number.unsigned_abs();
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            return &digits[at..];
        }
    }
}

impl std::fmt::Debug for Former {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Former { thread, started, attributes, period_ns: _, home: _, cpus: _ } = self;
        write!(f, "{thread:?} since {started}: {attributes:?} in {:?}", self.home())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn path(name: &str) -> CString {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("layland-threads-{name}-{}", std::process::id()));
        CString::new(path.to_str().unwrap()).unwrap()
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let home = CString::new("/sys/fs/cgroup/cpuset/a b/tasks").unwrap();
        for home in [None, Some(home.as_c_str())] {
            let former = Former::of(Tid::own(), home, Some(Duration::from_ms(7))).unwrap();
            assert_eq!(Former::read(&former.bytes()), former);
            assert!(former.cpus().count() > 0);
        }
        assert_eq!(Former::read(&[0; LENGTH]).thread, Tid(0));
        let long = CString::new("x".repeat(LONGEST + 1)).unwrap();
        assert!(Former::of(Tid::own(), Some(&long), None).is_err());
    }

    #[test]
    fn records_are_used_again() {
        let path = path("again");
        let mut changed = Changed::make(&path).unwrap();
        let of =
            |number| Former { thread: Tid(number), ..Former::of(Tid::own(), None, None).unwrap() };
        [11, 12, 13].iter().for_each(|&number| changed.remember(&of(number)).unwrap());
        changed.forget(Tid(12));
        assert_eq!(changed.former(Tid(12)), None);
        changed.remember(&of(14)).unwrap();
        assert_eq!(changed.file.metadata().unwrap().len(), 3 * LENGTH as u64);
        assert_eq!(changed.former(Tid(14)).unwrap(), of(14));
        // The start times do not match these records, so no thread is touched.
        restore_all(&path).unwrap();
        assert!(!std::path::Path::new(path.to_str().unwrap()).exists());
        restore_all(&path).unwrap();
    }

    #[test]
    fn a_thread_is_what_it_was() {
        let path = path("was");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let own = Tid::own();
                assert_eq!(start_of(own), sys::start_of(own.0 as u32));
                let was = Former::of(own, None, None).unwrap();
                let mut changed = Changed::make(&path).unwrap();
                changed.remember(&was).unwrap();
                let first = was.cpus().next().unwrap();
                sys::set_affinity(own, [first]).unwrap();
                assert_eq!(
                    Former::of(own, None, None).unwrap().cpus().collect::<Vec<_>>(),
                    [first]
                );
                assert_eq!(alive_in(&path), 1);
                restore_all(&path).unwrap();
                assert_eq!(Former::of(own, None, None).unwrap(), was);
            });
        });
    }

    #[test]
    fn numbers_are_written_in_full() {
        let mut digits = [0; 12];
        for number in [0, 7, 10, 4_194_304, i32::MAX] {
            assert_eq!(decimal(number, &mut digits), number.to_string().as_bytes());
        }
    }
}
