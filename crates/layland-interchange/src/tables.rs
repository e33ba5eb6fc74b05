//! A trace as three tables, in Parquet.
//!
//! Times and amounts of work are integers, in nanoseconds. Missing values are null. The metadata of
//! each file has the version of the schema (`layland.schema`), the table (`layland.table`), the end
//! of the run (`layland.over_ns`), the number of CPUs (`layland.cpus`), whether the run was
//! interrupted (`layland.interrupted`), and the facts that the caller adds. The command adds the
//! provenance (`layland.provenance`), its version (`layland.version`), its arguments
//! (`layland.command`), the seed (`layland.seed`), and the hash of the task set as written in TOML
//! (`layland.set_xxh3_128`). A new column does not change the version. Renaming a column, removing
//! it or changing its meaning does.
//!
//! **jobs**, in the order of their ends, then the pending jobs:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `task`, `name` | int64, text | the number of the task, from 0, and its name |
//! | `seq` | int64 | the number of the job within its task, from 0 |
//! | `arrival_ns`, `release_ns`, `deadline_ns` | int64 | absolute; the release is the arrival plus the jitter |
//! | `end_ns` | int64 | the end of the job; null if it was pending |
//! | `how` | text | `completed`, `aborted`, `left`, `pending` |
//! | `executed_ns` | int64 | the work that it executed |
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
//! | `overhead_ns` | int64 | the part of the segment that the CPU spent on overheads |
//!
//! **marks**, in the order of time; the answers to requests follow the marks of the same instant:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `at_ns` | int64 | the time of the mark |
//! | `kind` | text | `budget_exhausted`, `cpu_online`, `cpu_offline`, `speed`, `moved`, `throttled`, `replenished`; `granted` and `refused` are answers |
//! | `task`, `name`, `seq` | | the task or job, if it is about one |
//! | `cpu` | int64 | the CPU, if it is about one; the destination of a migration |
//! | `from_cpu` | int64 | the source of a migration |
//! | `deadline_ns` | int64 | the new deadline of a server |
//! | `speed` | text | the new speed of a CPU, a fraction |
//! | `text` | text | the reason of a migration (`placed`, `pushed`, `pulled`, `expelled`), or the request |
//! | `reason` | text | the reason why a request was refused |

use crate::columns::{Column, Columns, ColumnsError, ParquetWriter};
use layland_model::note::{Description, Detail};
use layland_model::{CpuId, Service, TaskId, Time};
use layland_trace::{
    Answer, Job, JobEnd, JobRecord, Labels, Mark, MarkKind, Recorder, Segment, Trace,
};
use std::io::Write;

/// The version of the schema of all three tables.
pub const SCHEMA: u32 = 1;

/// Returns the tables of a trace, with their names. `facts` are
/// names and values for the metadata that describe the run.
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
    let over = (trace.over, trace.interrupted);
    let table = |name| empty(name, labels, over, facts);
    let marks_of = trace.marks.iter().map(|mark| MarkRow::of_mark(mark.at, &mark.kind));
    let mut rows: Vec<MarkRow> =
        marks_of.chain(trace.answers.iter().map(MarkRow::of_answer)).collect();
    rows.sort_by_key(|row| row.at);
    [
        ("jobs", jobs(table("jobs"), &trace.jobs, over.0, labels)),
        ("segments", segments(table("segments"), &trace.segments, labels)),
        ("marks", marks(table("marks"), &rows, labels)),
    ]
}

/// Returns a table without columns, with its metadata.
fn empty(
    name: &str,
    labels: &Labels,
    (over, interrupted): (Time, bool),
    facts: &[(&str, String)],
) -> Columns {
    let columns = Columns::new(SCHEMA)
        .with("table", name)
        .with("over_ns", over.ns().to_string())
        .with("cpus", labels.cpus.to_string())
        .with("interrupted", interrupted.to_string());
    facts.iter().fold(columns, |columns, (name, value)| columns.with(name, value.clone()))
}

/// The maximum number of rows in a row group of [`TablesWriter`].
pub const ROWS: usize = 1 << 17;

/// Writes the three tables as Parquet while a run is reported, in bounded memory for runs of any
/// length. A table of at most [`ROWS`] rows has the same bytes as that of [`of`]; a longer table
/// has the same rows in several row groups.
///
/// ```
/// use layland_interchange::tables::{self, TablesWriter};
/// use layland_model::Time;
/// use layland_trace::{Labels, Trace};
/// let labels = Labels::default();
/// let writer = TablesWriter::new([Vec::new(), Vec::new(), Vec::new()], &labels, (Time::ZERO, false), &[]).unwrap();
/// let [jobs, ..] = writer.finish().unwrap();
/// let [(_, whole), ..] = tables::of(&Trace::default(), &labels, &[]);
/// assert_eq!(jobs, whole.parquet().unwrap());
/// ```
pub struct TablesWriter<'a, W: Write + Send> {
    jobs: GroupedTable<'a, W, JobRecord>,
    segments: GroupedTable<'a, W, Segment>,
    marks: GroupedTable<'a, W, MarkRow>,
    /// The answers of the instant `now`, which are written after its marks.
    answers: Vec<MarkRow>,
    /// The instant that is being reported.
    now: Time,
    written: Result<(), ColumnsError>,
}

/// The names of the three tables, as used in file names.
pub const NAMES: [&str; 3] = ["jobs", "segments", "marks"];

impl<'a, W: Write + Send> TablesWriter<'a, W> {
    /// Begins the three files, in the order of [`NAMES`]. `over` is the end of the run and whether
    /// that is before its horizon; `facts` are as in [`of`].
    ///
    /// # Errors
    /// If the library or writing fails.
    pub fn new(
        [to_jobs, to_segments, to_marks]: [W; 3],
        labels: &'a Labels,
        over: (Time, bool),
        facts: &[(&str, String)],
    ) -> Result<TablesWriter<'a, W>, ColumnsError> {
        let empty = |name| empty(name, labels, over, facts);
        let of_jobs = move |table, rows: &_| jobs(table, rows, over.0, labels);
        let of_segments = |table, rows: &_| segments(table, rows, labels);
        let of_marks = |table, rows: &_| marks(table, rows, labels);
        Ok(TablesWriter {
            jobs: GroupedTable::new(to_jobs, empty("jobs"), Box::new(of_jobs))?,
            segments: GroupedTable::new(to_segments, empty("segments"), Box::new(of_segments))?,
            marks: GroupedTable::new(to_marks, empty("marks"), Box::new(of_marks))?,
            answers: Vec::new(),
            now: Time::ZERO,
            written: Ok(()),
        })
    }

    /// Ends the files. Does not flush the writers.
    ///
    /// # Errors
    /// If the library or writing failed, now or while the run was reported.
    pub fn finish(mut self) -> Result<[W; 3], ColumnsError> {
        self.write(TablesWriter::write_answers);
        self.written?;
        Ok([self.jobs.finish()?, self.segments.finish()?, self.marks.finish()?])
    }

    /// Calls `write` unless writing has failed before.
    fn write(&mut self, write: impl FnOnce(&mut Self) -> Result<(), ColumnsError>) {
        if self.written.is_ok() {
            self.written = write(self);
        }
    }

    fn write_answers(&mut self) -> Result<(), ColumnsError> {
        self.answers.drain(..).try_for_each(|row| self.marks.push(row))
    }

    /// Moves on to an instant. Writes the answers of the one before, whose marks are complete.
    fn advance(&mut self, at: Time) {
        if at != self.now {
            self.now = at;
            self.write(TablesWriter::write_answers);
        }
    }
}

impl<W: Write + Send> Recorder for TablesWriter<'_, W> {
    fn executed(&mut self, segment: &Segment) {
        self.write(|to| to.segments.push(*segment));
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        let record = JobRecord { job: *job, end: Some((at, end)), executed };
        self.write(|to| to.jobs.push(record));
    }
    fn pending(&mut self, job: &Job, _at: Time, executed: Service) {
        self.write(|to| to.jobs.push(JobRecord { job: *job, end: None, executed }));
    }
    fn marked(&mut self, mark: &Mark) {
        self.advance(mark.at);
        self.write(|to| to.marks.push(MarkRow::of_mark(mark.at, &mark.kind)));
    }
    fn answered(&mut self, answer: &Answer) {
        self.advance(answer.at);
        self.answers.push(MarkRow::of_answer(answer));
    }
}

/// Converts rows to columns and adds them to a table.
type Columned<'a, T> = Box<dyn Fn(Columns, &[T]) -> Columns + 'a>;

/// A table that is written row group by row group.
struct GroupedTable<'a, W: Write + Send, T> {
    file: ParquetWriter<W>,
    /// The metadata of the table.
    empty: Columns,
    columned: Columned<'a, T>,
    rows: Vec<T>,
    is_begun: bool,
}

impl<'a, W: Write + Send, T> GroupedTable<'a, W, T> {
    fn new(
        out: W,
        empty: Columns,
        columned: Columned<'a, T>,
    ) -> Result<GroupedTable<'a, W, T>, ColumnsError> {
        let file = ParquetWriter::new(out, &columned(empty.clone(), &[]))?;
        Ok(GroupedTable { file, empty, columned, rows: Vec::new(), is_begun: false })
    }

    fn push(&mut self, row: T) -> Result<(), ColumnsError> {
        if self.rows.len() >= ROWS {
            self.write()?;
        }
        self.rows.push(row);
        Ok(())
    }

    fn write(&mut self) -> Result<(), ColumnsError> {
        self.is_begun = true;
        self.file.write(&(self.columned)(self.empty.clone(), &self.rows))?;
        self.rows.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<W, ColumnsError> {
        // A table without rows still has one row group, as `Columns::parquet` writes it.
        if !self.rows.is_empty() || !self.is_begun {
            self.write()?;
        }
        self.file.finish()
    }
}

/// A column of integers without missing values.
fn ints(values: impl Iterator<Item = i64>) -> Column {
    Column::Int(values.map(Some).collect())
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn jobs(mut table: Columns, jobs: &[JobRecord], over: Time, labels: &Labels) -> Columns {
    let all = || jobs.iter();
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
    let missed = all().map(|record| Some(record.missed(over)));
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

fn segments(mut table: Columns, segments: &[Segment], labels: &Labels) -> Columns {
    let all = || segments.iter();
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
struct MarkRow {
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

impl MarkRow {
    fn of_mark(at: Time, mark: &MarkKind) -> MarkRow {
        let Description { kind, details } = mark.describe();
        let mut row = MarkRow { at, kind: kind.name, ..MarkRow::default() };
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
                Detail::Why(_) | Detail::Level(_) | Detail::Resource(_) => {
                    row.text = Some(detail.to_string());
                }
            }
        }
        row
    }

    fn of_answer(answer: &Answer) -> MarkRow {
        MarkRow {
            at: answer.at,
            kind: if answer.refused.is_some() { "refused" } else { "granted" },
            text: Some(answer.request.clone()),
            reason: answer.refused.clone(),
            ..MarkRow::default()
        }
    }
}

fn marks(mut table: Columns, rows: &[MarkRow], labels: &Labels) -> Columns {
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
        let labels = Labels { tasks: vec!["a".to_owned()].into(), cpus: 2, ..Labels::default() };
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

    proptest::proptest! {
        /// A run that is written while it is reported gives the same tables as the whole trace.
        #[test]
        fn a_reported_run_is_written_as_its_trace((system, policy) in crate::random::systems()) {
            let labels = Labels::of(&system);
            let (trace, _) = crate::random::simulated(&system, policy, layland_trace::NoRecord);
            let over = (trace.over, trace.interrupted);
            let files = [Vec::new(), Vec::new(), Vec::new()];
            let reported = TablesWriter::new(files, &labels, over, &[]).unwrap();
            let (_, reported) = crate::random::simulated(&system, policy, reported);
            let whole = of(&trace, &labels, &[]).map(|(_, table)| table.parquet().unwrap());
            assert_eq!(reported.finish().unwrap(), whole);
        }
    }

    /// The rows exceed a row group, and the answers of an instant are reported before its marks.
    #[test]
    fn a_long_table_has_several_row_groups() {
        use parquet::file::reader::{FileReader, SerializedFileReader};
        let (labels, over) = (Labels::default(), (Time::from_ns(1 << 20), false));
        let files = [Vec::new(), Vec::new(), Vec::new()];
        let mut writer = TablesWriter::new(files, &labels, over, &[]).unwrap();
        let rows = 2 * ROWS + 3;
        for at in (0..rows as i64 / 2).map(Time::from_ns) {
            let request = at.ns().to_string();
            writer.answered(&Answer { at, request, entering: None, refused: None, errno: None });
            writer.marked(&Mark { at, kind: MarkKind::CpuOnline(CpuId(1)) });
        }
        let [.., marks] = writer.finish().unwrap();
        let path =
            std::env::temp_dir().join(format!("layland-tables-{}.parquet", std::process::id()));
        std::fs::write(&path, marks).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let groups = reader.metadata().row_groups().iter().map(|group| group.num_rows() as usize);
        assert_eq!(groups.collect::<Vec<_>>(), [ROWS, ROWS, 2]);
        let kinds = reader.get_row_iter(None).unwrap().map(|row| {
            let row = row.unwrap();
            let value =
                |name| row.get_column_iter().find(|(key, _)| *key == name).unwrap().1.to_string();
            (value("at_ns"), value("kind"))
        });
        for (index, (at, kind)) in kinds.enumerate() {
            let expected = if index % 2 == 0 { "\"cpu_online\"" } else { "\"granted\"" };
            assert_eq!((at.as_str(), kind.as_str()), ((index / 2).to_string().as_str(), expected));
        }
    }
}
