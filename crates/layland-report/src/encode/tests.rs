use super::*;
use layland_model::{Criticality, Duration, MoveReason, Note, Service};
use layland_trace::{Job, Mark, MarkKind};
use proptest::prelude::*;

/// Reads the columns according to their table, slowly and with arbitrarily large integers.
fn decode(encoded: &Encoded) -> (Trace, Vec<DrawnMark>) {
    let raw = miniz_oxide::inflate::decompress_to_vec(&encoded.bytes).unwrap();
    let layout = &encoded.layout;
    assert_eq!(layout.columns.iter().sum::<usize>(), raw.len());
    let mut position = 0;
    let columns: Vec<Vec<u128>> = (layout.columns.iter())
        .map(|&length| {
            let mut values = Vec::new();
            let (mut value, mut shift) = (0u128, 0);
            for &byte in &raw[position..position + length] {
                value |= u128::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    values.push(value);
                    (value, shift) = (0, 0);
                }
            }
            position += length;
            values
        })
        .collect();
    let column =
        |name: &str| columns[COLUMNS.iter().position(|&known| known == name).unwrap()].clone();
    let unfold = |value: u128| (value >> 1) as i128 ^ -((value & 1) as i128);
    let base: i128 = layout.base.parse().unwrap();
    let time = |ns: i128| Time::from_ns(ns.try_into().unwrap());
    let mut trace = Trace::default();
    let (mut arrival, mut numbers) = (base, BTreeMap::new());
    let mut ends = column("end").into_iter();
    for k in 0..layout.jobs {
        arrival += column("arrival")[k] as i128;
        let task = column("task")[k];
        let number = numbers.get(&task).copied().unwrap_or(-1) + 1 + unfold(column("seq")[k]);
        numbers.insert(task, number);
        let deadline = match column("deadline")[k] {
            0 => i64::MAX.into(),
            folded => arrival + unfold(folded - 1),
        };
        let mut end = || time(arrival + unfold(ends.next().unwrap()));
        let end = match column("how")[k] {
            0 | 4 => None,
            1 => Some((end(), JobEnd::Completed)),
            2 => Some((end(), JobEnd::Aborted)),
            _ => Some((end(), JobEnd::Left)),
        };
        let id = JobId { task: TaskId(task as u32), seq: number as u64 };
        let job = Job {
            id,
            arrival: time(arrival),
            release: time(arrival + unfold(column("release")[k])),
            deadline: time(deadline),
        };
        let executed = Service::from_ns(unfold(column("executed")[k]) as i64);
        trace.jobs.push(JobRecord { job, end, executed });
    }
    let mut k = 0;
    for (cpu, count) in column("on_cpu").into_iter().enumerate() {
        let (mut end, mut job) = (base, 0);
        for _ in 0..count {
            let start = end + unfold(column("start")[k]);
            end = start + unfold(column("length")[k]);
            job += unfold(column("job")[k]);
            let overhead = Duration::from_ns(unfold(column("overhead")[k]) as i64);
            trace.segments.push(Segment {
                job: trace.jobs[job as usize].job.id,
                cpu: CpuId::from_index(cpu),
                start: time(start),
                end: time(end),
                overhead,
            });
            k += 1;
        }
    }
    let mut at = base;
    let mut marks = Vec::new();
    for k in 0..layout.marks {
        at += column("at")[k] as i128;
        marks.push(DrawnMark {
            at: time(at),
            name: layout.kinds[column("kind")[k] as usize].name,
            task: column("of_task")[k].checked_sub(1).map(|task| TaskId(task as u32)),
            cpu: column("of_cpu")[k].checked_sub(1).map(|cpu| CpuId(cpu as u32)),
            level: column("level")[k],
            sign: layout.signs[column("sign")[k] as usize].clone(),
        });
    }
    (trace, marks)
}

/// The drawn properties of a mark.
#[derive(Debug, PartialEq)]
struct DrawnMark {
    at: Time,
    name: &'static str,
    task: Option<TaskId>,
    cpu: Option<CpuId>,
    level: u128,
    sign: String,
}

fn drawn(mark: &Mark) -> DrawnMark {
    let description = mark.kind.describe();
    DrawnMark {
        at: mark.at,
        name: description.kind.name,
        task: description.task(),
        cpu: description.cpu(),
        level: description.level().map_or(0, |level| level.level() as u128),
        sign: description.sign(),
    }
}

/// Returns the trace in the order of the columns, with the drawn properties of its marks.
fn sorted(mut trace: Trace) -> (Trace, Vec<DrawnMark>) {
    trace.jobs.sort_by_key(|record| (record.job.arrival, record.job.id));
    trace.segments.sort_by_key(|segment| (segment.cpu, segment.start, segment.end, segment.job));
    trace.marks.sort_by_key(|mark| mark.at);
    trace.over = Time::ZERO;
    let marks = trace.marks.drain(..).map(|mark| drawn(&mark)).collect();
    (trace, marks)
}

fn arbitrary_trace(most: i64) -> impl Strategy<Value = Trace> {
    let job = (0..5u32, 0..most, 0..most, 0..most, 0..5u8, 0..most);
    let segment = (0..3u32, 0..most, 1..most, any::<prop::sample::Index>(), 0..3i64);
    let mark = (0..most, 0..8u8, 0..5u32, 0..3u32, 0..most);
    let parts = (
        prop::collection::vec(job, 1..20),
        prop::collection::vec(segment, 0..30),
        prop::collection::vec(mark, 0..10),
    );
    parts.prop_map(|(jobs, segments, marks)| {
        let mut trace = Trace::default();
        let at = Time::from_ns;
        for (seq, (task, arrival, release, deadline, how, end)) in jobs.into_iter().enumerate() {
            let id = JobId { task: TaskId(task), seq: (seq * seq) as u64 };
            let deadline = if how == 0 { i64::MAX } else { deadline };
            let job =
                Job { id, arrival: at(arrival), release: at(release), deadline: at(deadline) };
            let kinds =
                [None, None, Some(JobEnd::Completed), Some(JobEnd::Aborted), Some(JobEnd::Left)];
            let end = kinds[usize::from(how)].map(|kind| (at(end), kind));
            trace.jobs.push(JobRecord { job, end, executed: Service::from_ns(arrival) });
        }
        for (cpu, start, length, job, overhead) in segments {
            trace.segments.push(Segment {
                job: job.get(&trace.jobs).job.id,
                cpu: CpuId(cpu),
                start: at(start),
                end: at(start + length),
                overhead: Duration::from_ns(overhead),
            });
        }
        for (when, kind, first, second, third) in marks {
            let (task, cpu) = (TaskId(first), CpuId(first));
            let kind = match kind {
                0 => MarkKind::BudgetExhausted(JobId { task, seq: 0 }, CpuId(second)),
                1 => MarkKind::CpuOnline(cpu),
                2 => MarkKind::CpuOffline(cpu),
                3 => {
                    let why = MoveReason::ALL[first as usize % 4];
                    MarkKind::Note(Note::Moved { task, from: CpuId(second), to: cpu, why })
                }
                4 => MarkKind::Note(Note::Throttled { task }),
                5 => MarkKind::Note(Note::Unlisted { task }),
                6 => MarkKind::Note(Note::Replenished { task, deadline: at(third) }),
                _ => MarkKind::Note(Note::Indicator { cpu, level: Criticality(second as u8) }),
            };
            trace.marks.push(Mark { at: at(when), kind });
        }
        trace
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_encoded_reads_back(trace in arbitrary_trace(1_000_000)) {
        let encoded = encode(&trace, 2, extent([&trace].into_iter()));
        prop_assert!(!encoded.layout.wide);
        prop_assert_eq!(encoded.layout.base.as_str(), "0");
        prop_assert_eq!(decode(&encoded), sorted(trace.clone()));
        prop_assert_eq!(encode(&trace, 2, extent([&trace].into_iter())).bytes, encoded.bytes);
    }

    #[test]
    fn so_does_what_no_floating_point_number_can_hold(trace in arbitrary_trace(1 << 60)) {
        let encoded = encode(&trace, 0, extent([&trace].into_iter()));
        prop_assert_eq!(decode(&encoded), sorted(trace));
    }
}

#[test]
fn late_and_short_is_not_wide() {
    let mut trace = Trace::default();
    let (start, end) = (Time::from_ns(1 << 60), Time::from_ns((1 << 60) + 5));
    let job = JobId { task: TaskId(3), seq: u64::MAX };
    trace.segments.push(Segment { job, cpu: CpuId(1), start, end, overhead: Duration::ZERO });
    trace.over = end;
    let encoded = encode(&trace, 4, extent([&trace].into_iter()));
    assert!(!encoded.layout.wide);
    assert_eq!(encoded.layout.base, (1u64 << 60).to_string());
    // The job without a record is present nevertheless.
    let (read, _) = decode(&encoded);
    assert_eq!((read.jobs[0].job.id, read.jobs[0].job.arrival), (job, start));
    assert_eq!(read.segments, trace.segments);
}

#[test]
fn an_empty_trace_is_encoded() {
    let trace = Trace::default();
    let encoded = encode(&trace, 2, extent([&trace].into_iter()));
    assert_eq!(decode(&encoded), (trace, Vec::new()));
}
