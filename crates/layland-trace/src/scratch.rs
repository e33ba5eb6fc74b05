//! [`Scratch`]: where a writer puts what it cannot write yet.
//!
//! The formats of traces want an order that a run does not have: all jobs before all segments, or everything by
//! the time at which it begins. What has to wait is put aside: a little in memory, and more in files without a
//! name, which are gone when the writer is, however it ends.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Where a writer puts what it cannot write yet.
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
    /// All of it in memory.
    pub fn memory() -> Scratch {
        Scratch { room: usize::MAX, folder: None }
    }

    /// So many bytes in memory for each thing that waits, and the rest in files in a folder. A folder that takes
    /// no files is replaced by that of the system for temporary files.
    pub fn in_folder(folder: &Path, room: usize) -> Scratch {
        Scratch { room, folder: Some(folder.to_owned()) }
    }

    /// How many bytes may wait in memory.
    pub fn room(&self) -> usize {
        self.room
    }

    /// A file without a name, to write and to read.
    ///
    /// # Errors
    /// If there can be none.
    pub fn file(&self) -> io::Result<File> {
        // Beside the output first: the folder for temporary files is often kept in memory, which is to be spared.
        let beside = self.folder.as_deref().and_then(|folder| tempfile::tempfile_in(folder).ok());
        beside.map_or_else(tempfile::tempfile, Ok)
    }

    /// Nothing yet, to be written and then read once.
    pub fn spool(&self) -> Spool {
        Spool { scratch: self.clone(), held: Held::Memory(Vec::new()) }
    }
}

/// Bytes that are read in the order in which they were written.
#[derive(Debug)]
pub struct Spool {
    scratch: Scratch,
    held: Held,
}

#[derive(Debug)]
enum Held {
    Memory(Vec<u8>),
    File(BufWriter<File>),
}

impl Spool {
    /// All that was written, from the start.
    ///
    /// # Errors
    /// If the file cannot be written or read.
    pub fn read_again(self) -> io::Result<Box<dyn Read>> {
        match self.held {
            Held::Memory(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Held::File(out) => {
                let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.rewind()?;
                Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
            }
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Held::Memory(held) = &mut self.held
            && held.len().saturating_add(bytes.len()) > self.scratch.room
        {
            let mut file = BufWriter::with_capacity(1 << 16, self.scratch.file()?);
            file.write_all(held)?;
            self.held = Held::File(file);
        }
        match &mut self.held {
            Held::Memory(held) => held.write(bytes),
            Held::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.held {
            Held::Memory(_) => Ok(()),
            Held::File(file) => file.flush(),
        }
    }
}
