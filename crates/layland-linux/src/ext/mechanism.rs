//! The mechanism in the kernel: loading, attaching, ordering and detaching.
//!
//! The object was compiled from `mechanism/mechanism.bpf.c` (`mechanism/compile.sh`) and is checked
//! in beside it, so that a build needs no compiler for BPF; a test recompiles and compares it.
//! libbpf adapts it to the running kernel.

use super::shared::{MechanismRecord, Settings, SharedRecords, text};
use crate::RunError;
use libbpf_rs::libbpf_sys;
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder, PrintLevel, RingBuffer, RingBufferBuilder};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

static OBJECT: &[u8] = include_bytes!("mechanism/mechanism.bpf.o");
/// The number of records that fit into the ring.
const MOST_RECORDS: usize = (1 << 20) / 32;

/// The latest messages of libbpf, for the error.
static SAID: Mutex<String> = Mutex::new(String::new());

fn hear(_level: PrintLevel, text: String) {
    if let Ok(mut said) = SAID.lock() {
        said.push_str(&text);
    }
}

/// Builds an error with the latest messages of libbpf.
fn refused(what: &str, error: &dyn std::fmt::Display) -> RunError {
    let said = SAID.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default();
    let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last =
        said.iter().rev().take(3).rev().map(|line| line.trim()).collect::<Vec<_>>().join("; ");
    let error = if last.is_empty() { error.to_string() } else { format!("{error} ({last})") };
    RunError::Refused {
        what: what.to_owned(),
        error,
        help: "layland doctor says what this kernel lacks for the engine ext".to_owned(),
    }
}

/// The mechanism, which schedules from [`Mechanism::attach`] until it is dropped.
pub(super) struct Mechanism {
    // Declared before `object`, because fields drop in this order: dropping the link first returns
    // its threads to the kernel.
    link: Option<Link>,
    ring: RingBuffer<'static>,
    ring_fd: OwnedFd,
    records: Rc<RefCell<Vec<MechanismRecord>>>,
    shared: Mapping,
    commit: OwnedFd,
    names: Names,
    is_rt: bool,
    object: Object,
}

/// The records that the kernel and this process share.
struct Mapping(NonNull<SharedRecords>);

impl Drop for Mapping {
    fn drop(&mut self) {
        // Safety: mapped by `Mechanism::load` with this length, and no reference is left.
        let _ = unsafe { rustix::mm::munmap(self.0.as_ptr().cast(), size_of::<SharedRecords>()) };
    }
}

impl Mechanism {
    /// Loads the mechanism, which schedules no thread yet.
    pub fn load(settings: &Settings, is_rt: bool) -> Result<Mechanism, RunError> {
        libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
        let mut open = ObjectBuilder::default()
            .name("layland")
            .and_then(|builder| builder.open_memory(OBJECT))
            .map_err(|error| refused("failed to read the mechanism", &error))?;
        for mut map in open.maps_mut() {
            let name = map.name().to_string_lossy().into_owned();
            let set = match name.as_str() {
                name if name.ends_with(".rodata.settings") || name == ".rodata.settings" => {
                    map.set_initial_value(&settings.bytes())
                }
                "layland" => map.set_autocreate(!is_rt),
                "layland_rt" => map.set_autocreate(is_rt),
                _ => Ok(()),
            };
            set.map_err(|error| refused("failed to set up the mechanism", &error))?;
        }
        let object = open
            .load()
            .map_err(|error| refused("the kernel does not take the mechanism", &error))?;
        let find = |name: &str| {
            let found = object.maps().find(|map| {
                let own = map.name().to_string_lossy();
                own == name || own.ends_with(name)
            });
            found.ok_or_else(|| RunError::unsupported(format!("the mechanism has no map {name}")))
        };
        let duplicate = |fd: BorrowedFd<'_>| {
            fd.try_clone_to_owned().map_err(|error| refused("failed to keep a map", &error))
        };
        let map = find(".bss.shared")?;
        if map.value_size() as usize != size_of::<SharedRecords>() {
            let reason = format!(
                "the mechanism shares {} bytes, and not {}: it was compiled from other sources",
                map.value_size(),
                size_of::<SharedRecords>()
            );
            return Err(RunError::unsupported(reason));
        }
        let shared =
            share(map.as_fd()).map_err(|error| refused("failed to map the records", &error))?;
        let records = Rc::new(RefCell::new(Vec::with_capacity(MOST_RECORDS)));
        let sink = Rc::clone(&records);
        let (ring, ring_fd) = {
            let map = find("records")?;
            let mut builder = RingBufferBuilder::new();
            let take = move |bytes: &[u8]| {
                if bytes.len() >= size_of::<MechanismRecord>() {
                    // Safety: a record consists of plain numbers, and there are enough bytes.
                    let record =
                        unsafe { bytes.as_ptr().cast::<MechanismRecord>().read_unaligned() };
                    sink.borrow_mut().push(record);
                }
                0
            };
            let built = builder.add(&map, take).map(|_| ()).and_then(|()| builder.build());
            let ring = built
                .map_err(|error| refused("failed to read the messages of the mechanism", &error))?;
            (ring, duplicate(map.as_fd())?)
        };
        let program = |name: &str| {
            let found = object.progs().find(|program| program.name() == name);
            let found = found.ok_or_else(|| {
                RunError::unsupported(format!("the mechanism has no program {name}"))
            })?;
            duplicate(found.as_fd())
        };
        let (setup, commit) = (program("setup")?, program("commit")?);
        let names = Names(duplicate(find("indices")?.as_fd())?);
        if call(&setup).map_err(|error| refused("failed to set up the mechanism", &error))? != 0 {
            return Err(RunError::unsupported("the mechanism got no timers"));
        }
        Ok(Mechanism { link: None, ring, ring_fd, records, shared, commit, names, is_rt, object })
    }

    /// Lets the mechanism schedule the threads of class `SCHED_EXT` from now on.
    pub fn attach(&mut self) -> Result<(), RunError> {
        let name = if self.is_rt { "layland_rt" } else { "layland" };
        let map = self.object.maps_mut().find(|map| map.name() == name);
        let mut map =
            map.ok_or_else(|| RunError::unsupported("the mechanism has no operations"))?;
        let link = map
            .attach_struct_ops()
            .map_err(|error| refused("the kernel does not take the scheduler", &error))?;
        self.link = Some(link);
        Ok(())
    }

    /// Returns the records that both sides share.
    pub fn shared(&self) -> &SharedRecords {
        // Safety: the mapping lives as long as `self`, and every field is atomic.
        unsafe { self.shared.0.as_ref() }
    }

    /// Gives the thread with this descriptor an index, under which it is managed from now on.
    pub fn name(&self, thread: BorrowedFd<'_>, index: usize) -> io::Result<()> {
        self.names.name(thread, index)
    }

    /// Returns the table of thread indices, for another thread of this process.
    pub fn names(&self) -> io::Result<Names> {
        self.names.0.try_clone().map(Names)
    }

    /// Carries out the orders. Returns the number of stale ones.
    pub fn commit(&self) -> io::Result<u32> {
        call(&self.commit)
    }

    /// Reads the new records. They stay available until the next call.
    pub fn drain(&self) -> std::cell::Ref<'_, Vec<MechanismRecord>> {
        self.records.borrow_mut().clear();
        let _ = self.ring.consume_raw();
        self.records.borrow()
    }

    /// Returns a descriptor that becomes readable when a record awaits an answer.
    pub fn told(&self) -> BorrowedFd<'_> {
        self.ring_fd.as_fd()
    }

    /// Returns the reason why the kernel has ended the mechanism, if it has.
    pub fn ended(&self) -> Option<String> {
        let shared = self.shared();
        if shared.exit_kind.load(Ordering::Acquire) == 0 {
            return None;
        }
        let (reason, message) = (text(&shared.exit_reason), text(&shared.exit_message));
        Some(if message.is_empty() { reason } else { format!("{reason}: {message}") })
    }

    /// Returns every thread to the kernel's fair class.
    pub fn detach(&mut self) {
        self.link = None;
    }
}

/// The map from threads to their indices.
#[derive(Debug)]
pub(super) struct Names(OwnedFd);

impl Names {
    /// Gives the thread with this descriptor an index, which applies once the thread is in
    /// `SCHED_EXT`.
    pub fn name(&self, thread: BorrowedFd<'_>, index: usize) -> io::Result<()> {
        let (key, value) = (thread.as_raw_fd(), index as u32 + 1);
        // Safety: key and value have the sizes that the map requires, and live as long as the call.
        let result = unsafe {
            libbpf_sys::bpf_map_update_elem(
                self.0.as_raw_fd(),
                (&raw const key).cast(),
                (&raw const value).cast(),
                0,
            )
        };
        if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
    }
}

/// Runs a program of type `syscall` and returns its result.
fn call(program: &OwnedFd) -> io::Result<u32> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        ..Default::default()
    };
    // Safety: the descriptor belongs to a program, and the options live as long as the call.
    let result =
        unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(options.retval) }
}

fn share(map: BorrowedFd<'_>) -> io::Result<Mapping> {
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // Safety: a new mapping at an address that the kernel chooses.
    let address = unsafe {
        mmap(std::ptr::null_mut(), size_of::<SharedRecords>(), protection, MapFlags::SHARED, map, 0)
    }?;
    NonNull::new(address.cast()).map(Mapping).ok_or_else(|| io::Error::other("mapped at 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_has_what_is_asked_of_it() {
        let mut builder = ObjectBuilder::default();
        let object = builder.open_memory(OBJECT).unwrap();
        let size = |name: &str| {
            let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(name));
            found.map(|map| map.value_size() as usize)
        };
        assert_eq!(size(".bss.shared"), Some(size_of::<SharedRecords>()));
        assert_eq!(size(".rodata.settings"), Some(size_of::<Settings>()));
        for name in ["records", "indices", "layland", "layland_rt"] {
            assert!(size(name).is_some(), "{name}");
        }
        for name in ["setup", "commit"] {
            assert!(object.progs().any(|program| program.name() == name), "{name}");
        }
    }
}
