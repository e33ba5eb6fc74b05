//! A trace as three tables, in Parquet.
//!
//! Every time and amount of work is an integer of nanoseconds. What does not exist is null.
//! The version of the schema is in the metadata of each file (`layland.schema`), with the table
//! (`layland.table`), the end of the run (`layland.over_ns`), the number of CPUs (`layland.cpus`),
//! whether the run was interrupted (`layland.interrupted`), and what the caller says of the run. The command
//! says what was run (`layland.provenance`), by which version (`layland.version`), with which arguments
//! (`layland.command`) and seed (`layland.seed`), and of which task set (`layland.set_xxh3_128`, the hash of the
//! set as it is written in TOML).
//! A new column does not change the version; a column that is renamed, removed or means something
//! else does.
//!
//! **jobs**, in the order of their ends, then those pending:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `task`, `name` | int64, text | the task: its number from 0, its name |
//! | `seq` | int64 | which of its jobs, from 0 |
//! | `arrival_ns`, `release_ns`, `deadline_ns` | int64 | absolute; the release is the arrival plus the jitter |
//! | `end_ns` | int64 | when it ended; null if it was pending |
//! | `how` | text | `completed`, `aborted`, `left`, `pending` |
//! | `executed_ns` | int64 | the work that it got |
//! | `response_ns`, `tardiness_ns` | int64 | from the arrival, from the deadline; null if it did not complete |
//! | `missed` | boolean | whether it missed its deadline in this run |
//!
//! **segments**, in the order of their ends:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `task`, `name`, `seq` | | the job |
//! | `cpu` | int64 | from 0 |
//! | `start_ns`, `end_ns` | int64 | never empty |
//! | `overhead_ns` | int64 | what of it the CPU spent on overheads |
//!
//! **marks**, in the order of time, the answers to requests after the marks of an instant:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `at_ns` | int64 | when |
//! | `kind` | text | `budget_exhausted`, `cpu_online`, `cpu_offline`, `speed`, `moved`, `throttled`, `replenished`; `granted` and `refused` are answers |
//! | `task`, `name`, `seq` | | the task or job, if it is about one |
//! | `cpu` | int64 | the CPU, if it is about one; where a task moved to |
//! | `from_cpu` | int64 | where a task moved from |
//! | `deadline_ns` | int64 | the new deadline of a server |
//! | `speed` | text | the new speed of a CPU, a fraction |
//! | `text` | text | why a task moved (`placed`, `pushed`, `pulled`, `expelled`); the request |
//! | `reason` | text | why a request was refused |

use crate::columns::{Column, Columns};
use layland_model::note::{Description, Detail};
use layland_model::{CpuId, TaskId, Time};
use layland_trace::{Answer, JobEnd, Labels, MarkKind, Trace};

/// The version of the schema of all three tables.
pub const SCHEMA: u32 = 1;

/// The tables of a trace, with their names. `facts` are names and values for the metadata: what was run.
///
/// ```
/// use layland_trace::{Labels, Trace};
/// let tables = layland_interchange::tables::of(&Trace::default(), &Labels::default(), &[]);
/// assert_eq!(tables.map(|(name, table)| (name, table.rows())), [("jobs", 0), ("segments", 0), ("marks", 0)]);
/// ```
pub fn of(
    trace: &Trace,
    labels: &Labels,
    facts: &[(&str, String)],
) -> [(&'static str, Columns); 3] {
    let table = |name: &str| {
        let columns = Columns::new(SCHEMA)
            .with("table", name)
            .with("over_ns", trace.over.ns().to_string())
            .with("cpus", labels.cpus.to_string())
            .with("interrupted", trace.interrupted.to_string());
        facts.iter().fold(columns, |columns, (name, value)| columns.with(name, value.clone()))
    };
    [
        ("jobs", jobs(table("jobs"), trace, labels)),
        ("segments", segments(table("segments"), trace, labels)),
        ("marks", marks(table("marks"), trace, labels)),
    ]
}

/// A column of integers that all exist.
fn ints(values: impl Iterator<Item = i64>) -> Column {
    Column::Int(values.map(Some).collect())
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn jobs(mut table: Columns, trace: &Trace, labels: &Labels) -> Columns {
    let all = || trace.jobs.iter();
    let ids = || all().map(|record| record.job.id);
    table.push("task", ints(ids().map(|id| i64::from(id.task.0))));
    table.push("name", Column::Text(ids().map(|id| Some(labels.task(id.task))).collect()));
    table.push("seq", ints(ids().map(|id| whole(id.seq))));
    table.push("arrival_ns", ints(all().map(|record| record.job.arrival.ns())));
    table.push("release_ns", ints(all().map(|record| record.job.release.ns())));
    table.push("deadline_ns", ints(all().map(|record| record.job.deadline.ns())));
    let ends = all().map(|record| record.end.map(|(at, _)| at.ns()));
    table.push("end_ns", Column::Int(ends.collect()));
    let how = all().map(|record| Some(end_name(record.end.map(|(_, how)| how)).to_owned()));
    table.push("how", Column::Text(how.collect()));
    table.push("executed_ns", ints(all().map(|record| record.executed.ns())));
    let of_completed = |length: fn(&layland_trace::Job, Time) -> i64| {
        let values = all().map(move |record| Some(length(&record.job, record.completion()?)));
        Column::Int(values.collect())
    };
    table.push("response_ns", of_completed(|job, end| (end - job.arrival).ns()));
    table.push("tardiness_ns", of_completed(|job, end| job.tardiness(end).ns()));
    let missed = all().map(|record| Some(record.missed(trace.over)));
    table.push("missed", Column::Bool(missed.collect()));
    table
}

fn end_name(end: Option<JobEnd>) -> &'static str {
    match end {
        Some(JobEnd::Completed) => "completed",
        Some(JobEnd::Aborted) => "aborted",
        Some(JobEnd::Left) => "left",
        None => "pending",
    }
}

fn segments(mut table: Columns, trace: &Trace, labels: &Labels) -> Columns {
    let all = || trace.segments.iter();
    table.push("task", ints(all().map(|segment| i64::from(segment.job.task.0))));
    let names = all().map(|segment| Some(labels.task(segment.job.task)));
    table.push("name", Column::Text(names.collect()));
    table.push("seq", ints(all().map(|segment| whole(segment.job.seq))));
    table.push("cpu", ints(all().map(|segment| i64::from(segment.cpu.0))));
    table.push("start_ns", ints(all().map(|segment| segment.start.ns())));
    table.push("end_ns", ints(all().map(|segment| segment.end.ns())));
    table.push("overhead_ns", ints(all().map(|segment| segment.overhead.ns())));
    table
}

/// A row of the table of marks.
#[derive(Default)]
struct Row {
    at: Time,
    kind: &'static str,
    task: Option<TaskId>,
    seq: Option<u64>,
    cpu: Option<CpuId>,
    from: Option<CpuId>,
    deadline: Option<Time>,
    speed: Option<String>,
    text: Option<String>,
    reason: Option<String>,
}

impl Row {
    fn of_mark(at: Time, mark: &MarkKind) -> Row {
        let Description { kind, details } = mark.describe();
        let mut row = Row { at, kind: kind.name, ..Row::default() };
        for detail in details {
            match detail {
                Detail::Task(task) => row.task = Some(task),
                Detail::Job(seq) => row.seq = Some(seq),
                Detail::From(cpu) => row.from = Some(cpu),
                Detail::Cpu(cpu) => row.cpu = Some(cpu),
                Detail::Deadline(at) => row.deadline = Some(at),
                Detail::Speed(speed) => {
                    row.speed = Some(format!("{}/{}", speed.numerator(), speed.denominator()));
                }
                Detail::Why(_) | Detail::Level(_) => row.text = Some(detail.to_string()),
            }
        }
        row
    }

    fn of_answer(answer: &Answer) -> Row {
        Row {
            at: answer.at,
            kind: if answer.refused.is_some() { "refused" } else { "granted" },
            text: Some(answer.request.clone()),
            reason: answer.refused.clone(),
            ..Row::default()
        }
    }
}

fn marks(mut table: Columns, trace: &Trace, labels: &Labels) -> Columns {
    let marks = trace.marks.iter().map(|mark| Row::of_mark(mark.at, &mark.kind));
    let mut rows: Vec<Row> = marks.chain(trace.answers.iter().map(Row::of_answer)).collect();
    rows.sort_by_key(|row| row.at);
    let all = || rows.iter();
    table.push("at_ns", ints(all().map(|row| row.at.ns())));
    table.push("kind", Column::Text(all().map(|row| Some(row.kind.to_owned())).collect()));
    let cpu = |cpu: Option<CpuId>| cpu.map(|cpu| i64::from(cpu.0));
    table.push("task", Column::Int(all().map(|row| Some(i64::from(row.task?.0))).collect()));
    table.push("name", Column::Text(all().map(|row| Some(labels.task(row.task?))).collect()));
    table.push("seq", Column::Int(all().map(|row| Some(whole(row.seq?))).collect()));
    table.push("cpu", Column::Int(all().map(|row| cpu(row.cpu)).collect()));
    table.push("from_cpu", Column::Int(all().map(|row| cpu(row.from)).collect()));
    table.push("deadline_ns", Column::Int(all().map(|row| Some(row.deadline?.ns())).collect()));
    table.push("speed", Column::Text(all().map(|row| row.speed.clone()).collect()));
    table.push("text", Column::Text(all().map(|row| row.text.clone()).collect()));
    table.push("reason", Column::Text(all().map(|row| row.reason.clone()).collect()));
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, JobId, MoveReason, Note, Rate, Service, Speed};
    use layland_trace::{Job, JobRecord, Mark, Segment};

    #[test]
    fn every_column_has_its_values() {
        let at = Time::from_ns;
        let id = JobId { task: TaskId(0), seq: 3 };
        let job = Job { id, arrival: at(1), release: at(2), deadline: at(9) };
        let record = |end| JobRecord { job, end, executed: Service::from_ns(4) };
        let (start, end, cpu) = (at(2), at(8), CpuId(1));
        let half = Speed::new(&Rate::new(1, 2)).unwrap();
        let (from, to, why) = (CpuId(0), CpuId(1), MoveReason::Pushed);
        let kinds = [
            MarkKind::BudgetExhausted(id, cpu),
            MarkKind::Speed(cpu, half),
            MarkKind::Note(Note::Moved { task: TaskId(0), from, to, why }),
            MarkKind::Note(Note::Replenished { task: TaskId(0), deadline: at(12) }),
        ];
        let answer = |ns, refused: Option<&str>| Answer {
            at: at(ns),
            request: "join".to_owned(),
            entering: None,
            refused: refused.map(str::to_owned),
            errno: None,
        };
        let trace = Trace {
            jobs: vec![
                record(Some((at(11), JobEnd::Completed))),
                record(Some((at(5), JobEnd::Aborted))),
                record(Some((at(5), JobEnd::Left))),
                record(None),
            ],
            segments: vec![Segment { job: id, cpu, start, end, overhead: Duration::from_ns(1) }],
            marks: kinds.into_iter().map(|kind| Mark { at: at(6), kind }).collect(),
            answers: vec![answer(4, None), answer(6, Some("full"))],
            over: at(10),
            interrupted: false,
        };
        let labels = Labels { tasks: vec!["a".to_owned()].into(), cpus: 2, levels: Vec::new() };
        let [jobs, segments, marks] = of(&trace, &labels, &[]).map(|(_, table)| table.csv());
        assert_eq!(
            jobs,
            "task,name,seq,arrival_ns,release_ns,deadline_ns,end_ns,how,executed_ns,response_ns,\
             tardiness_ns,missed\n\
             0,a,3,1,2,9,11,completed,4,10,2,true\n\
             0,a,3,1,2,9,5,aborted,4,,,true\n\
             0,a,3,1,2,9,5,left,4,,,false\n\
             0,a,3,1,2,9,,pending,4,,,true\n"
        );
        assert_eq!(segments, "task,name,seq,cpu,start_ns,end_ns,overhead_ns\n0,a,3,1,2,8,1\n");
        assert_eq!(
            marks,
            "at_ns,kind,task,name,seq,cpu,from_cpu,deadline_ns,speed,text,reason\n\
             4,granted,,,,,,,,join,\n\
             6,budget_exhausted,0,a,3,1,,,,,\n\
             6,speed,,,,1,,,1/2,,\n\
             6,moved,0,a,,1,0,,,pushed,\n\
             6,replenished,0,a,,,,12,,,\n\
             6,refused,,,,,,,,join,full\n"
        );
        for (_, table) in of(&trace, &labels, &[]) {
            assert!(table.parquet().unwrap().ends_with(b"PAR1"));
        }
    }
}
