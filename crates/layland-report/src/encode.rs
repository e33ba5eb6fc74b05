//! Encodes a trace as deflated columns of variable-length integers, for the script of a report.
//!
//! Every column is a sequence of unsigned integers, each in groups of seven bits, the lowest first,
//! with the high bit set in all bytes but the last (LEB128). *Signed* values are folded: 0, -1, 1,
//! -2 become 0, 1, 2, 3. The columns are concatenated and deflated together without a header. Times
//! are nanoseconds after the base of the trace.
//!
//! | column | per | value |
//! |---|---|---|
//! | `arrival` | job | after the arrival of the job before; jobs are sorted by arrival, task, number |
//! | `task` | job | the task |
//! | `seq` | job | signed: its number, minus 1 and minus the number of the task's job before |
//! | `release` | job | signed: after its arrival |
//! | `deadline` | job | 0 if there is none; otherwise 1 plus, signed: after its arrival |
//! | `how` | job | 0 pending, 1 completed, 2 aborted, 3 left, 4 known only by its segments |
//! | `end` | job that ended | signed: after its arrival |
//! | `executed` | job | signed: the work that it executed |
//! | `on_cpu` | CPU | the number of its segments; segments are sorted by CPU, start, end |
//! | `start` | segment | signed: after the end of the segment before on the CPU, at first after the base |
//! | `length` | segment | signed: from its start to its end |
//! | `job` | segment | signed: the position of its job minus that of the segment before on the CPU |
//! | `overhead` | segment | signed |
//! | `at` | mark | after the mark before |
//! | `kind` | mark | the position of its kind in a list ([`Layout::kinds`]) |
//! | `of_task` | mark | the task that it is about, plus 1; 0 if none |
//! | `of_cpu` | mark | its CPU, plus 1; 0 if none |
//! | `level` | mark | the criticality level in it, or else 0 |
//! | `sign` | mark | the position of its sign in a list of words |
//!
//! A script computes with 53 bits, which is exact if no value reaches 2^51
//! after the base (26 days). Otherwise the trace is *wide*: the script then
//! reads arbitrarily large integers and stores the rounding error of each
//! floating-point number beside it, so that each time is exact up to 2^63 ns.

use layland_model::note::NoteKind;
use layland_model::{CpuId, Index, JobId, TaskId, Time};
use layland_trace::{JobEnd, JobRecord, Segment, Trace};
use serde::Serialize;
use std::collections::BTreeMap;

/// The names of the columns, in their order.
pub const COLUMNS: [&str; 19] = [
    "arrival", "task", "seq", "release", "deadline", "how", "end", "executed", "on_cpu", "start",
    "length", "job", "overhead", "at", "kind", "of_task", "of_cpu", "level", "sign",
];

/// The value from which a trace is wide.
const WIDE: i128 = 1 << 51;

/// An encoded trace.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// The columns, deflated.
    pub bytes: Vec<u8>,
    /// The information that is required to read them.
    pub layout: Layout,
}

/// The information that is required to read the columns.
#[derive(Debug, Serialize)]
pub(crate) struct Layout {
    /// The base of times, in decimal digits: a script cannot read 64 bits as a number.
    pub base: String,
    /// True if values beyond 53 bits occur.
    pub wide: bool,
    /// The number of jobs.
    pub jobs: usize,
    /// The number of segments.
    pub segments: usize,
    /// The number of marks.
    pub marks: usize,
    /// The length of each column in bytes before deflation.
    pub columns: Vec<usize>,
    /// The kinds of marks that occur, in the order of their first occurrence.
    pub kinds: Vec<MarkLegend>,
    /// The signs of marks that occur.
    pub signs: Vec<String>,
}

/// The description of a kind of mark in a page.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MarkLegend {
    /// Its name in files: the script draws some kinds in a special way.
    pub name: &'static str,
    /// The meaning of its sign.
    pub legend: &'static str,
}

/// Folds a signed value.
fn fold(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)) as u128
}

fn write(column: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        column.push(value as u8 | 0x80);
        value >>= 7;
    }
    column.push(value as u8);
}

struct Columns(Vec<Vec<u8>>);

impl Columns {
    fn put(&mut self, column: &str, value: u128) {
        let index = COLUMNS.iter().position(|&name| name == column).expect("a known column");
        write(&mut self.0[index], value);
    }
    fn put_signed(&mut self, column: &str, value: i128) {
        self.put(column, fold(value));
    }
}

fn ns(at: Time) -> i128 {
    at.ns().into()
}

/// Returns every time of the trace that is written, except infinite deadlines.
fn times(trace: &Trace) -> impl Iterator<Item = Time> + '_ {
    let of_job = |record: &JobRecord| {
        let JobRecord { job, end, .. } = *record;
        [Some(job.arrival), Some(job.release), Some(job.deadline), end.map(|(at, _)| at)]
    };
    let jobs = trace.jobs.iter().flat_map(of_job).flatten();
    let segments = trace.segments.iter().flat_map(|segment| [segment.start, segment.end]);
    let marks = trace.marks.iter().map(|mark| mark.at);
    let over = [trace.over];
    jobs.chain(segments).chain(marks).chain(over).filter(|at| at.ns() != i64::MAX)
}

/// Returns the earliest and the latest time of some traces; the range includes time 0 unless that
/// would make them wide.
pub(crate) fn extent<'a>(traces: impl Iterator<Item = &'a Trace> + Clone) -> (Time, Time) {
    let all = || traces.clone().flat_map(times);
    let most = all().max().unwrap_or_default().max(Time::ZERO);
    let least = all().min().unwrap_or_default();
    (if ns(most) < WIDE { least.min(Time::ZERO) } else { least }, most)
}

/// Encodes a trace on at least this many CPUs, with its times relative to the start of an
/// [`extent`] that contains it. Equal traces give equal bytes.
pub(crate) fn encode(trace: &Trace, cpus: usize, extent: (Time, Time)) -> Encoded {
    let base = ns(extent.0);
    let mut columns = Columns(vec![Vec::new(); COLUMNS.len()]);
    let positions = put_jobs(&mut columns, trace, base);
    put_segments(&mut columns, trace, base, cpus, &positions);
    let (kinds, signs) = put_marks(&mut columns, trace, base);
    let lengths: Vec<usize> = columns.0.iter().map(Vec::len).collect();
    let raw: Vec<u8> = columns.0.concat();
    let layout = Layout {
        base: base.to_string(),
        wide: ns(extent.1) - base >= WIDE,
        jobs: positions.len(),
        segments: trace.segments.len(),
        marks: trace.marks.len(),
        columns: lengths,
        kinds,
        signs,
    };
    Encoded { bytes: miniz_oxide::deflate::compress_to_vec(&raw, 6), layout }
}

/// The position of each job.
type Positions = BTreeMap<JobId, usize>;

fn put_jobs(columns: &mut Columns, trace: &Trace, base: i128) -> Positions {
    let mut positions: Positions = trace.jobs.iter().map(|record| (record.job.id, 0)).collect();
    // A segment without a job record gets one with only an
    // arrival. Its arrival is the start of its first segment.
    let mut stray: BTreeMap<JobId, Time> = BTreeMap::new();
    for segment in &trace.segments {
        if !positions.contains_key(&segment.job) {
            let arrival = stray.entry(segment.job).or_insert(segment.start);
            *arrival = segment.start.min(*arrival);
        }
    }
    let known = trace.jobs.iter().map(|record| (record.job.arrival, record.job.id, Some(record)));
    let stray = stray.into_iter().map(|(id, arrival)| (arrival, id, None));
    let mut jobs: Vec<(Time, JobId, Option<&JobRecord>)> = known.chain(stray).collect();
    jobs.sort_by_key(|&(arrival, id, _)| (arrival, id));
    let mut before = base;
    let mut numbers: BTreeMap<TaskId, i128> = BTreeMap::new();
    for (position, &(arrival, id, record)) in jobs.iter().enumerate() {
        positions.insert(id, position);
        columns.put("arrival", (ns(arrival) - before) as u128);
        before = ns(arrival);
        columns.put("task", id.task.index() as u128);
        let number = numbers.entry(id.task).or_insert(-1);
        columns.put_signed("seq", i128::from(id.seq) - *number - 1);
        *number = id.seq.into();
        let after = |at: Time| ns(at) - ns(arrival);
        columns.put_signed("release", record.map_or(0, |record| after(record.job.release)));
        let due = record.map(|record| record.job.deadline).filter(|at| at.ns() != i64::MAX);
        columns.put("deadline", due.map_or(0, |due| fold(after(due)) + 1));
        let (how, end) = match record.map(|record| record.end) {
            None => (4, None),
            Some(None) => (0, None),
            Some(Some((at, JobEnd::Completed))) => (1, Some(at)),
            Some(Some((at, JobEnd::Aborted))) => (2, Some(at)),
            Some(Some((at, JobEnd::Left))) => (3, Some(at)),
        };
        columns.put("how", how);
        if let Some(end) = end {
            columns.put_signed("end", after(end));
        }
        columns.put_signed("executed", record.map_or(0, |record| record.executed.ns().into()));
    }
    positions
}

fn put_segments(
    columns: &mut Columns,
    trace: &Trace,
    base: i128,
    cpus: usize,
    positions: &Positions,
) {
    let mut segments: Vec<&Segment> = trace.segments.iter().collect();
    segments.sort_by_key(|segment| (segment.cpu, segment.start, segment.end, segment.job));
    let mut rest = segments.as_slice();
    for cpu in (0..cpus.max(trace.cpu_count())).map(CpuId::from_index) {
        let (here, later) = rest.split_at(rest.partition_point(|segment| segment.cpu <= cpu));
        rest = later;
        columns.put("on_cpu", here.len() as u128);
        let (mut end, mut job) = (base, 0);
        for segment in here {
            columns.put_signed("start", ns(segment.start) - end);
            columns.put_signed("length", ns(segment.end) - ns(segment.start));
            end = ns(segment.end);
            let position = positions[&segment.job] as i128;
            columns.put_signed("job", position - job);
            job = position;
            columns.put_signed("overhead", segment.overhead.ns().into());
        }
    }
}

/// Returns the kinds and the signs that occur.
fn put_marks(columns: &mut Columns, trace: &Trace, base: i128) -> (Vec<MarkLegend>, Vec<String>) {
    let (mut kinds, mut signs) = (Vec::new(), Vec::new());
    let mut marks: Vec<_> = trace.marks.iter().collect();
    marks.sort_by_key(|mark| mark.at);
    let mut before = base;
    for mark in marks {
        columns.put("at", (ns(mark.at) - before) as u128);
        before = ns(mark.at);
        let description = mark.kind.describe();
        let NoteKind { name, legend, .. } = *description.kind;
        columns.put("kind", position(&mut kinds, MarkLegend { name, legend }));
        columns.put("of_task", description.task().map_or(0, |task| task.index() as u128 + 1));
        columns.put("of_cpu", description.cpu().map_or(0, |cpu| cpu.index() as u128 + 1));
        columns.put("level", description.level().map_or(0, |level| level.level() as u128));
        columns.put("sign", position(&mut signs, description.sign()));
    }
    (kinds, signs)
}

/// Returns the position of an item in a list, and appends it if it is missing.
fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> u128 {
    let position = list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    });
    position as u128
}

#[cfg(test)]
mod tests;
