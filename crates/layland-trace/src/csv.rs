//! A trace as comma-separated values, one event per line, in the order of time: for spreadsheets
//! and data frames.
//!
//! | column | meaning |
//! |---|---|
//! | `kind` | `segment`, `job` |
//! | `task`, `seq` | the name of the task (quoted where it must be), the number of the job |
//! | `cpu` | of a segment |
//! | `start_ns`, `end_ns` | of a segment; arrival and end of a job, whose end is empty while it is pending |
//! | `deadline_ns`, `executed_ns`, `how` | of a job: `completed`, `aborted`, `left`, `pending` |

use crate::{JobEnd, Labels, Trace};
use layland_model::csv_cell;
use std::io::{self, Write};

/// Writes the trace. The writer should be buffered.
///
/// ```
/// let mut text = Vec::new();
/// layland_trace::csv::write(&mut text, &Default::default(), &Default::default()).unwrap();
/// assert_eq!(text, b"kind,task,seq,cpu,start_ns,end_ns,deadline_ns,executed_ns,how\n");
/// ```
///
/// # Errors
/// Returns an error if writing fails.
pub fn write(out: &mut impl Write, trace: &Trace, labels: &Labels) -> io::Result<()> {
    writeln!(out, "kind,task,seq,cpu,start_ns,end_ns,deadline_ns,executed_ns,how")?;
    let mut rows: Vec<(i64, u8, String)> = Vec::new();
    for record in &trace.jobs {
        let job = &record.job;
        let (end, how) = match record.end {
            Some((at, JobEnd::Completed)) => (at.ns().to_string(), "completed"),
            Some((at, JobEnd::Aborted)) => (at.ns().to_string(), "aborted"),
            Some((at, JobEnd::Left)) => (at.ns().to_string(), "left"),
            None => (String::new(), "pending"),
        };
        let (arrival, deadline, executed) =
            (job.arrival.ns(), job.deadline.ns(), record.executed.ns());
        let name = labels.task(job.id.task);
        let name = csv_cell(&name);
        let row = format!("job,{name},{},,{arrival},{end},{deadline},{executed},{how}", job.id.seq);
        rows.push((arrival, 0, row));
    }
    for segment in &trace.segments {
        let name = labels.task(segment.job.task);
        let name = csv_cell(&name);
        let (seq, cpu) = (segment.job.seq, segment.cpu);
        let (start, end) = (segment.start.ns(), segment.end.ns());
        let executed = (segment.end - segment.start - segment.overhead).ns();
        let row = format!("segment,{name},{seq},{cpu},{start},{end},,{executed},");
        rows.push((start, 1, row));
    }
    rows.sort_by_key(|&(at, order, _)| (at, order));
    rows.iter().try_for_each(|(_, _, row)| writeln!(out, "{row}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::naive;

    #[test]
    fn one_row_for_each_job_and_segment() {
        let (mut system, trace) = naive(1, &[(2, 4), (3, 9)], 9);
        system.tasks.values_mut().for_each(|task| task.name = format!(",{}", task.name).into());
        let mut text = Vec::new();
        write(&mut text, &trace, &Labels::of(&system)).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 1 + trace.jobs.len() + trace.segments.len());
        assert!(text.contains("\njob,\",t2_4\",0,,0,2,4,2,completed\n"), "{text}");
        assert!(text.contains("\nsegment,\",t3_9\",0,0,2,4,,2,\n"), "{text}");
    }
}
