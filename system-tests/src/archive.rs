//! The archive that a kernel unpacks as its first file system: `cpio`, format `newc`.
//!
//! Owners and times are zero and the order is that of the calls, so that the same files produce the
//! same bytes.

/// An archive under construction.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

impl Archive {
    /// Adds a directory; its parent must have been added before.
    pub fn directory(&mut self, path: &str) {
        self.entry(path, DIRECTORY, &[]);
    }

    /// Adds an executable file.
    pub fn program(&mut self, path: &str, content: &[u8]) {
        self.entry(path, PROGRAM, content);
    }

    /// Adds a symbolic link to `target`.
    pub fn link(&mut self, path: &str, target: &str) {
        self.entry(path, LINK, target.as_bytes());
    }

    /// The finished archive.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let size = |length: usize| u32::try_from(length).expect("a file is smaller than 4 GiB");
        // Inode, mode, owner, group, links, time, size, four device numbers, length of the name.
        let (name, content_size) = (size(path.len() + 1), size(content.len()));
        let fields = [self.entries, mode, 0, 0, 1, 0, content_size, 0, 0, 0, 0, name, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    /// Aligns to four bytes, as names and contents require.
    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;

    #[test]
    fn entries_are_aligned_and_end_with_the_trailer() {
        let mut archive = Archive::default();
        archive.directory("bin");
        archive.program("bin/a", b"xyz");
        archive.link("bin/b", "a");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let starts: Vec<usize> =
            (0..bytes.len() - 5).filter(|&at| &bytes[at..at + 6] == b"070701").collect();
        assert_eq!(starts.len(), 4);
        assert!(starts.iter().all(|at| at % 4 == 0), "{starts:?}");
        assert!(bytes.windows(10).any(|window| window == b"TRAILER!!!"));
    }
}
