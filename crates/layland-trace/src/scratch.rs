//! [`Scratch`]: storage for data that a writer cannot write yet.
//!
//! The formats of traces require an order that a run does not have: all jobs before all segments,
//! or everything by its start time. Data that has to wait is stored: a small amount in memory, and
//! the rest in unnamed files, which disappear with the writer, even after a crash.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Storage for data that a writer cannot write yet.
///
/// ```
/// use layland_trace::Scratch;
/// use std::io::{Read, Write};
/// for scratch in [Scratch::memory(), Scratch::in_folder(&std::env::temp_dir(), 3)] {
///     let mut spool = scratch.spool();
///     spool.write_all(b"later").unwrap();
///     let mut text = String::new();
///     spool.read_again().unwrap().read_to_string(&mut text).unwrap();
///     assert_eq!(text, "later");
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Scratch {
    room: usize,
    folder: Option<PathBuf>,
}

impl Scratch {
    /// Keeps everything in memory.
    pub fn memory() -> Scratch {
        Scratch { room: usize::MAX, folder: None }
    }

    /// Keeps up to `room` bytes of each list in memory, and the rest in files in a folder. If files
    /// cannot be created in the folder, the system's folder for temporary files is used.
    pub fn in_folder(folder: &Path, room: usize) -> Scratch {
        Scratch { room, folder: Some(folder.to_owned()) }
    }

    /// The number of bytes that may wait in memory.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Creates an unnamed file for writing and reading.
    ///
    /// # Errors
    /// Returns an error if no file can be created.
    pub fn file(&self) -> io::Result<File> {
        // Try the folder of the output first: the folder for temporary files is often in memory,
        // which should be spared.
        let beside = self.folder.as_deref().and_then(|folder| tempfile::tempfile_in(folder).ok());
        beside.map_or_else(tempfile::tempfile, Ok)
    }

    /// Creates an empty spool, which is written and then read once.
    pub fn spool(&self) -> Spool {
        Spool { scratch: self.clone(), held: Storage::Memory(Vec::new()) }
    }
}

/// Bytes that are read in the order in which they were written.
#[derive(Debug)]
pub struct Spool {
    scratch: Scratch,
    held: Storage,
}

#[derive(Debug)]
enum Storage {
    Memory(Vec<u8>),
    File(BufWriter<File>),
}

impl Spool {
    /// Returns all bytes that were written, from the start.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written or read.
    pub fn read_again(self) -> io::Result<Box<dyn Read>> {
        match self.held {
            Storage::Memory(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Storage::File(out) => {
                let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.rewind()?;
                Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
            }
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Storage::Memory(held) = &mut self.held
            && held.len().saturating_add(bytes.len()) > self.scratch.room
        {
            let mut file = BufWriter::with_capacity(1 << 16, self.scratch.file()?);
            file.write_all(held)?;
            self.held = Storage::File(file);
        }
        match &mut self.held {
            Storage::Memory(held) => held.write(bytes),
            Storage::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.held {
            Storage::Memory(_) => Ok(()),
            Storage::File(file) => file.flush(),
        }
    }
}
