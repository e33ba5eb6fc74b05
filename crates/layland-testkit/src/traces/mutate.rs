//! Mutations of traces.

use layland_gen::Random;
use layland_model::{CpuId, Duration, Index, JobId, Rate, Service, Speed, System, TaskId, Time};
use layland_trace::{Answer, JobEnd, Mark, MarkKind, Trace};

/// A kind of mutation of a trace.
type Mutation = fn(&mut Trace, &System, &mut Random);

/// All kinds, with their names.
pub const OF_TRACES: [(&str, Mutation); 22] = [
    ("deadline moved", |trace, _, random| {
        let by = length(random);
        with_job(trace, random, |job| job.job.deadline += by);
    }),
    ("arrival moved", |trace, _, random| {
        let by = length(random);
        with_job(trace, random, |job| job.job.arrival += by);
    }),
    ("release moved", |trace, _, random| {
        let by = length(random);
        with_job(trace, random, |job| job.job.release += by);
    }),
    ("arrival and release moved", |trace, _, random| {
        let by = length(random);
        with_job(trace, random, |job| {
            job.job.arrival += by;
            job.job.release += by;
        });
    }),
    ("dates moved together", |trace, _, random| {
        let by = length(random);
        with_job(trace, random, |job| {
            job.job.arrival += by;
            job.job.release += by;
            job.job.deadline += by;
        });
    }),
    ("end moved", |trace, _, random| {
        let by = length(random);
        with_job(trace, random, |job| {
            if let Some((at, _)) = &mut job.end {
                *at += by;
            }
        });
    }),
    ("job pending", |trace, _, random| with_job(trace, random, |job| job.end = None)),
    ("job aborted", |trace, _, random| {
        let over = trace.over;
        with_job(trace, random, |job| {
            job.end = Some((job.end.map_or(over, |(at, _)| at), JobEnd::Aborted));
        });
    }),
    ("job left", |trace, _, random| {
        let over = trace.over;
        with_job(trace, random, |job| {
            job.end = Some((job.end.map_or(over, |(at, _)| at), JobEnd::Left));
        });
    }),
    ("demand changed", |trace, _, random| {
        let by = Service::from_ns(length(random).ns());
        with_job(trace, random, |job| job.executed += by);
    }),
    ("job removed with its execution", |trace, _, random| {
        if let Some(id) = any_job(trace, random) {
            remove(trace, |job| job == id);
        }
    }),
    ("last job removed with its execution", |trace, system, random| {
        let task = any_task(system, random);
        let own = trace.jobs.iter().map(|job| job.job.id).filter(|id| id.task == task);
        if let Some(last) = own.max() {
            remove(trace, |job| job == last);
        }
    }),
    ("job removed, and the later ones numbered anew", |trace, _, random| {
        if let Some(id) = any_job(trace, random) {
            remove(trace, |job| job == id);
            let later = |job: &mut JobId| {
                if job.task == id.task && job.seq > id.seq {
                    job.seq -= 1;
                }
            };
            trace.jobs.iter_mut().for_each(|job| later(&mut job.job.id));
            trace.segments.iter_mut().for_each(|segment| later(&mut segment.job));
        }
    }),
    ("task removed", |trace, system, random| {
        let task = any_task(system, random);
        remove(trace, |job| job.task == task);
    }),
    ("task turned away", |trace, system, random| {
        let task = any_task(system, random);
        remove(trace, |job| job.task == task);
        trace.answers.push(Answer {
            at: Time::ZERO,
            request: format!("task `{}` enters", system.tasks[task].name),
            entering: None,
            refused: Some("no".to_owned()),
            errno: None,
        });
    }),
    ("all deadlines of a task moved", |trace, system, random| {
        let (task, by) = (any_task(system, random), length(random));
        let own = trace.jobs.iter_mut().filter(|job| job.job.id.task == task);
        own.for_each(|job| job.job.deadline += by);
    }),
    ("segment dropped", |trace, _, random| {
        if let Some(index) = any_segment(trace, random) {
            let segment = trace.segments.remove(index);
            // In every other case, the job's recorded execution shrinks, too.
            if random.below(2) == 0
                && let Some(job) = trace.jobs.iter_mut().find(|job| job.job.id == segment.job)
            {
                job.executed -= Service::from_ns((segment.end - segment.start).ns());
            }
        }
    }),
    ("segment on another CPU", |trace, system, random| {
        if let Some(index) = any_segment(trace, random) {
            let cpus = system.platform.cpu_count() as u64 + 1;
            trace.segments[index].cpu = CpuId(random.below(cpus) as u32);
        }
    }),
    ("segment doubled", |trace, system, random| {
        if let Some(index) = any_segment(trace, random) {
            let mut copy = trace.segments[index];
            copy.cpu = CpuId(random.below(system.platform.cpu_count() as u64) as u32);
            trace.segments.insert(index, copy);
        }
    }),
    ("segments of two jobs exchanged", |trace, _, random| {
        if let (Some(a), Some(b)) = (any_segment(trace, random), any_segment(trace, random)) {
            let (first, second) = (trace.segments[a].job, trace.segments[b].job);
            (trace.segments[a].job, trace.segments[b].job) = (second, first);
        }
    }),
    ("end of the run moved", |trace, _, random| {
        trace.over = (trace.over + length(random)).max(Time::ZERO);
    }),
    ("another platform", |trace, system, random| {
        let cpu = CpuId(random.below(system.platform.cpu_count() as u64) as u32);
        let at = Time::from_ns(random.between(0, trace.over.ns().max(1)));
        let kind = match random.below(3) {
            0 => MarkKind::CpuOffline(cpu),
            1 => MarkKind::CpuOnline(cpu),
            _ => MarkKind::Speed(cpu, Speed::new(&Rate::new(1, 2)).expect("a half is a speed")),
        };
        trace.marks.push(Mark { at, kind });
    }),
];

/// The names of the mutations of texts.
pub const OF_TEXTS: [&str; 7] = [
    "bit flipped",
    "cut off",
    "lines exchanged",
    "line doubled",
    "line dropped",
    "number changed",
    "digit changed",
];

/// Applies one of [`OF_TEXTS`].
pub fn text(kind: usize, bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len() as u64) as usize;
    match kind {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes.truncate(at),
        2..=4 => {
            let mut lines: Vec<Vec<u8>> =
                bytes.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
            let [a, b] = [(); 2].map(|()| random.below(lines.len() as u64) as usize);
            match kind {
                2 => lines.swap(a, b),
                3 => lines.insert(b, lines[a].clone()),
                _ => drop(lines.remove(a)),
            }
            *bytes = lines.join(&b'\n');
        }
        _ => {
            let Some(from) = (at..bytes.len()).find(|&i| bytes[i].is_ascii_digit()) else { return };
            let length = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if kind == 6 {
                let digit = from + random.below(length as u64) as usize;
                bytes[digit] = b'0' + random.below(10) as u8;
                return;
            }
            let number = std::str::from_utf8(&bytes[from..from + length]).unwrap_or("0");
            let number: i128 = number.parse().unwrap_or(0);
            let changed = match random.below(4) {
                0 => number + i128::from(random.between(-3, 3)),
                1 => number + i128::from(random.between(-2000, 2000)),
                2 => i128::from(random.between(0, 20)),
                _ => i128::from(random.bits()),
            };
            let changed = changed.max(0).to_string().into_bytes();
            bytes.splice(from..from + length, changed);
        }
    }
}

/// Draws a small or large length other than zero.
fn length(random: &mut Random) -> Duration {
    let most = [3, 50, 2_000][random.below(3) as usize];
    let ns = random.between(1, most);
    Duration::from_ns(if random.below(2) == 0 { ns } else { -ns })
}

fn any_task(system: &System, random: &mut Random) -> TaskId {
    TaskId::from_index(random.below(system.tasks.len() as u64) as usize)
}

fn any_job(trace: &Trace, random: &mut Random) -> Option<JobId> {
    let index = random.below(trace.jobs.len().max(1) as u64) as usize;
    trace.jobs.get(index).map(|record| record.job.id)
}

fn any_segment(trace: &Trace, random: &mut Random) -> Option<usize> {
    let index = random.below(trace.segments.len().max(1) as u64) as usize;
    (index < trace.segments.len()).then_some(index)
}

fn with_job(
    trace: &mut Trace,
    random: &mut Random,
    how: impl FnMut(&mut layland_trace::JobRecord),
) {
    let index = random.below(trace.jobs.len().max(1) as u64) as usize;
    trace.jobs.get_mut(index).into_iter().for_each(how);
}

fn remove(trace: &mut Trace, which: impl Fn(JobId) -> bool) {
    trace.jobs.retain(|record| !which(record.job.id));
    trace.segments.retain(|segment| !which(segment.job));
}
