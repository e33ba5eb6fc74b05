//! Sorts any number of records by their keys, in bounded memory.
//!
//! A merge sort. Records are sorted in memory as long as they fit. Further
//! records are written to files as sorted runs, and [`FAN`] runs of one level
//! are merged into one run of the next level, so that few files are open at
//! any length. The sort is stable: records with equal keys keep their order.

use layland_model::Time;
use layland_trace::Scratch;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// The number of runs that are merged into one.
const FAN: usize = 16;

/// The sort key of a record, compared byte by byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SortKey([u8; SortKey::LENGTH]);

impl SortKey {
    const LENGTH: usize = 22;

    /// Orders by time first, then by the other values in turn.
    pub(crate) fn new(at: Time, rank: u8, (a, b, c): (u64, u32, u8)) -> SortKey {
        let mut key = [0; SortKey::LENGTH];
        // Flipping the sign bit makes negative times sort before positive ones.
        key[..8].copy_from_slice(&(at.ns() as u64 ^ 1 << 63).to_be_bytes());
        key[8] = rank;
        key[9..17].copy_from_slice(&a.to_be_bytes());
        key[17..21].copy_from_slice(&b.to_be_bytes());
        key[21] = c;
        SortKey(key)
    }
}

pub(crate) struct Sorter {
    scratch: Scratch,
    /// The records in memory, concatenated.
    bytes: Vec<u8>,
    /// For each record in memory its key, its offset in `bytes` and its length.
    held: Vec<(SortKey, usize, usize)>,
    /// The runs in files. The runs of a level are older than those of all lower levels, and each
    /// run is older than the next run of its level.
    levels: Vec<Vec<File>>,
}

impl Sorter {
    pub(crate) fn new(scratch: Scratch) -> Sorter {
        Sorter { scratch, bytes: Vec::new(), held: Vec::new(), levels: Vec::new() }
    }

    pub(crate) fn push(&mut self, key: SortKey, record: &[u8]) -> io::Result<()> {
        let used = self.bytes.len() + self.held.len() * size_of::<(SortKey, usize, usize)>();
        // A record that exceeds the memory on its own is held nevertheless.
        if used.saturating_add(record.len()) > self.scratch.room() && !self.held.is_empty() {
            self.spill()?;
        }
        self.held.push((key, self.bytes.len(), record.len()));
        self.bytes.extend_from_slice(record);
        Ok(())
    }

    /// Writes all records, in order.
    pub(crate) fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        if self.levels.is_empty() {
            self.held.sort_by_key(|&(key, ..)| key);
            let mut held = self.held.iter();
            return held
                .try_for_each(|&(_, at, length)| out.write_all(&self.bytes[at..at + length]));
        }
        self.spill()?;
        // The merge prefers earlier runs at equal keys,
        // so the order of the runs keeps the sort stable.
        let oldest_first = self.levels.into_iter().rev().flatten().collect();
        merge(oldest_first, |_, record| out.write_all(record))
    }

    /// The keys in memory, in order.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> Vec<SortKey> {
        let mut keys: Vec<SortKey> = self.held.iter().map(|&(key, ..)| key).collect();
        keys.sort();
        keys
    }

    /// Writes the records in memory to a file, as a sorted run.
    fn spill(&mut self) -> io::Result<()> {
        self.held.sort_by_key(|&(key, ..)| key);
        let mut run = BufWriter::with_capacity(1 << 16, self.scratch.file()?);
        for &(key, at, length) in &self.held {
            put(&mut run, key, &self.bytes[at..at + length])?;
        }
        self.held.clear();
        self.bytes.clear();
        self.add(0, run.into_inner().map_err(io::IntoInnerError::into_error)?)
    }

    fn add(&mut self, level: usize, run: File) -> io::Result<()> {
        if level == self.levels.len() {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        if self.levels[level].len() < FAN {
            return Ok(());
        }
        let runs = std::mem::take(&mut self.levels[level]);
        let mut merged = BufWriter::with_capacity(1 << 16, self.scratch.file()?);
        merge(runs, |key, record| put(&mut merged, key, record))?;
        self.add(level + 1, merged.into_inner().map_err(io::IntoInnerError::into_error)?)
    }
}

fn put(run: &mut impl Write, key: SortKey, record: &[u8]) -> io::Result<()> {
    run.write_all(&key.0)?;
    let length = u32::try_from(record.len()).map_err(io::Error::other)?;
    run.write_all(&length.to_le_bytes())?;
    run.write_all(record)
}

/// Passes all records of some runs to `each`, in order;
/// at equal keys, those of an earlier run first.
fn merge(
    runs: Vec<File>,
    mut each: impl FnMut(SortKey, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut runs: Vec<_> = runs.into_iter().map(SortedRun::open).collect::<io::Result<_>>()?;
    let mut heads = BinaryHeap::new();
    for (index, run) in runs.iter_mut().enumerate() {
        heads.extend(run.next()?.map(|key| Reverse((key, index))));
    }
    while let Some(Reverse((key, index))) = heads.pop() {
        each(key, &runs[index].record)?;
        heads.extend(runs[index].next()?.map(|key| Reverse((key, index))));
    }
    Ok(())
}

/// A run that is being read.
struct SortedRun {
    file: BufReader<File>,
    /// The record that was read last.
    record: Vec<u8>,
}

impl SortedRun {
    fn open(mut file: File) -> io::Result<SortedRun> {
        file.rewind()?;
        Ok(SortedRun { file: BufReader::with_capacity(1 << 16, file), record: Vec::new() })
    }

    /// Reads the next record and returns its key, or `None` at the end of the run.
    fn next(&mut self) -> io::Result<Option<SortKey>> {
        let mut key = [0; SortKey::LENGTH];
        match self.file.read_exact(&mut key) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let mut length = [0; 4];
        self.file.read_exact(&mut length)?;
        self.record.resize(u32::from_le_bytes(length) as usize, 0);
        self.file.read_exact(&mut self.record)?;
        Ok(Some(SortKey(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(scratch: Scratch, records: &[(i64, u8)]) -> Vec<u8> {
        let mut sorter = Sorter::new(scratch);
        for (index, &(at, rank)) in records.iter().enumerate() {
            let key = SortKey::new(Time::from_ns(at), rank, (0, 0, 0));
            sorter.push(key, &vec![index as u8; index % 4]).unwrap();
        }
        let mut out = Vec::new();
        sorter.finish(&mut out).unwrap();
        out
    }

    proptest! {
        /// With memory for one record, for a few and for all,
        /// the result is that of a stable sort in memory.
        #[test]
        fn it_sorts_as_a_list_does(
            records in prop::collection::vec((-3i64..9, 0u8..3), 0..600),
            room in 0usize..2000,
        ) {
            let mut order: Vec<usize> = (0..records.len()).collect();
            order.sort_by_key(|&index| records[index]);
            let expected: Vec<u8> =
                order.into_iter().flat_map(|index| vec![index as u8; index % 4]).collect();
            prop_assert_eq!(sorted(Scratch::memory(), &records), &expected[..]);
            let small = Scratch::in_folder(&std::env::temp_dir(), room);
            prop_assert_eq!(sorted(small, &records), expected);
        }
    }
}
