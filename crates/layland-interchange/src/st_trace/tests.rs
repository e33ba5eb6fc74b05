//! Kernel records are read, and written records read back.

use super::*;

fn bytes(kind: u8, cpu: u8, pid: u16, job: u32, data: [u8; 16]) -> Vec<u8> {
    StRecord { kind, cpu, pid, job, data }.bytes().to_vec()
}

/// The records of a kernel: absolute times, several files, the number of the next job in the switch
/// that follows a completion, and a late job that continues without a switch.
#[test]
fn a_trace_of_a_kernel_is_read() {
    let name = *b"rtspin\0\0\0\0\0\0\0\0\0\0";
    let on_cpu_1 = [
        bytes(SWITCH_TO, 1, 700, 3, pair(1_005, 0)),
        bytes(COMPLETION, 1, 700, 3, pair(1_020, 0)),
        // The next job was released at 1018, so the execution from 1020 on is its own.
        bytes(SWITCH_AWAY, 1, 700, 4, pair(1_027, 7)),
        bytes(2, 1, 700, 0, [1; 16]),
    ];
    let on_cpu_0 = [
        bytes(NAME, 0, 700, 0, name),
        bytes(RELEASE, 0, 700, 3, pair(1_000, 1_018)),
        bytes(RELEASE, 0, 700, 4, pair(1_018, 1_036)),
        bytes(SWITCH_TO, 0, 700, 4, pair(1_030, 7)),
        bytes(COMPLETION, 0, 700, 4, pair(1_033, 1)),
        bytes(RELEASE, 0, 700, 5, pair(1_036, 1_054)),
        // The scheduler needs some time; the next job is not released yet.
        bytes(SWITCH_AWAY, 0, 700, 5, pair(1_034, 0)),
        bytes(12, 0, 701, 0, pair(5, 5)),
    ];
    let (trace, labels) = read(&[on_cpu_1.concat(), on_cpu_0.concat()].concat()).unwrap();
    assert_eq!((labels.tasks.as_slice(), labels.cpus), (["rtspin".to_owned()].as_slice(), 2));
    let segments: Vec<_> =
        trace.segments.iter().map(|s| (s.job.seq, s.cpu.0, s.start.ns(), s.end.ns())).collect();
    assert_eq!(segments, [(0, 1, 5, 20), (1, 1, 20, 27), (1, 0, 30, 33)]);
    let jobs: Vec<_> =
        trace.jobs.iter().map(|r| (r.job.release.ns(), r.end, r.executed.ns())).collect();
    let at = Time::from_ns;
    let ends = (Some((at(20), JobEnd::Completed)), Some((at(33), JobEnd::Aborted)));
    assert_eq!(jobs, [(0, ends.0, 15), (18, ends.1, 10)]);
    assert_eq!(trace.over, at(34));
}

#[test]
fn what_is_no_trace_is_refused_with_its_place() {
    let good = bytes(SWITCH_TO, 0, 1, 1, pair(4, 0));
    let cut = [good.clone(), good[..7].to_vec()].concat();
    assert_eq!(read(&cut).unwrap_err(), StTraceError::CutOff { records: 2, at: 24, rest: 7 });
    let wrong = [good.clone(), bytes(14, 0, 0, 0, [0; 16])].concat();
    assert_eq!(read(&wrong).unwrap_err(), StTraceError::Kind { record: 2, at: 24, kind: 14 });
    let beyond = bytes(COMPLETION, 0, 1, 1, pair(u64::MAX, 0));
    assert_eq!(read(&beyond).unwrap_err(), StTraceError::Time { record: 1, at: 0, ns: u64::MAX });
    assert!(looks_like(&good) && !looks_like(&cut) && !looks_like(&wrong));
}

proptest::proptest! {
    /// A run that is written while it is reported gives the same bytes as the whole trace, whether
    /// records wait in memory or in files.
    #[test]
    fn a_reported_run_is_written_as_its_trace(
        (system, policy) in crate::random::systems(),
        room in 0usize..3000,
    ) {
        let labels = Labels::of(&system);
        let scratch = Scratch::in_folder(&std::env::temp_dir(), room);
        let reported = StTraceWriter::new(Vec::new(), &labels, &scratch).unwrap();
        let (trace, reported) = crate::random::simulated(&system, policy, reported);
        assert_eq!(reported.finish().unwrap(), write(&trace, &labels).unwrap());
    }
}

proptest::proptest! {
    /// No input makes the reader panic.
    #[test]
    fn any_bytes_are_answered(
        records in proptest::collection::vec(
            (1u8..14, 0u8..3, 0u16..4, 0u32..5, 0u64..60, 0u64..60), 0..60),
        tail in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..50),
    ) {
        let mut all: Vec<u8> = records
            .into_iter()
            .flat_map(|(kind, cpu, pid, job, a, b)| bytes(kind, cpu, pid, job, pair(a, b)))
            .collect();
        let (trace, labels) = read(&all).unwrap();
        assert!(trace.segments.iter().all(|segment| segment.start < segment.end));
        assert!(write(&trace, &labels).is_ok());
        all.extend(tail);
        let _ = read(&all);
    }
}
