//! Schedules of SimSo: the corresponding policies produce equal ones. `tools/compare simso`
//! writes the vectors; `crates/layland-testkit/vectors/simso/README.md` has the command.

use layland_config::{Agreement, Format, Host, SIMSO_SCHEDULERS, read};
use layland_model::Time;
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Trace;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// SimSo rounds to its cycles.
const TOLERANCE: i64 = 100;

/// The execution intervals of each job, by task and number. Adjacent intervals are merged.
type Runs = BTreeMap<(usize, u64), Vec<(i64, i64)>>;

fn joined(mut runs: Vec<(usize, u64, i64, i64)>) -> Runs {
    runs.sort_unstable_by_key(|&(task, seq, start, _)| (task, seq, start));
    let mut whole = Runs::new();
    for (task, seq, start, end) in runs.into_iter().filter(|run| run.3 - run.2 > TOLERANCE) {
        let of_job = whole.entry((task, seq)).or_default();
        match of_job.last_mut() {
            Some((_, last)) if start - *last <= TOLERANCE => *last = end,
            Some(_) | None => of_job.push((start, end)),
        }
    }
    whole
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value} is a whole number"))
}

#[test]
fn policies_make_the_schedules_of_simso() {
    let folder = Path::new(crate::VECTORS).join("simso");
    let (mut seen, mut jobs) = (BTreeSet::new(), 0);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let known = SIMSO_SCHEDULERS.iter().find(|one| one.class == name);
        let known = known.unwrap_or_else(|| panic!("SimSo has no {name}"));
        assert!(matches!(known.agreement, Agreement::Same | Agreement::ButTies), "{name}");
        let sets: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for (at, set) in sets.as_array().unwrap().iter().enumerate() {
            let text = set["xml"].as_str().unwrap();
            let loaded = read(&name, text.as_bytes(), Format::Simso, &Host::default());
            let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.plain()));
            assert_eq!(loaded.policy, known.policy);
            let until = Time::ZERO + loaded.until.unwrap();
            let policy = registry().build(loaded.policy.unwrap(), &loaded.system).unwrap();
            let mut trace = Trace::default();
            simulate(&loaded.system, policy, &mut trace, &SimOptions::until(until)).unwrap();
            let ours = trace.segments.iter().map(|segment| {
                let job = segment.job;
                (job.task.0 as usize, job.seq, segment.start.ns(), segment.end.ns())
            });
            let theirs = set["runs"].as_array().unwrap().iter().map(|run| {
                let [task, seq, start, end] = [0, 1, 2, 3].map(|part| number(&run[part]));
                (task as usize, seq as u64, start, end)
            });
            let (ours, theirs) = (joined(ours.collect()), joined(theirs.collect()));
            assert!(ours.keys().eq(theirs.keys()), "{name} {at}: other jobs ran");
            for (job, theirs) in &theirs {
                let near = |(a, b): (&(i64, i64), &(i64, i64))| {
                    (a.0 - b.0).abs() <= TOLERANCE && (a.1 - b.1).abs() <= TOLERANCE
                };
                let is_same =
                    ours[job].len() == theirs.len() && ours[job].iter().zip(theirs).all(near);
                assert!(is_same, "{name} {at}, job {job:?}: {:?}, in SimSo {theirs:?}", ours[job]);
                jobs += 1;
            }
        }
        seen.insert(name);
    }
    // Fixed_PEDF stops in SimSo itself.
    let expected = SIMSO_SCHEDULERS.iter().filter(|one| {
        matches!(one.agreement, Agreement::Same | Agreement::ButTies) && one.class != "Fixed_PEDF"
    });
    assert_eq!(seen, expected.map(|one| one.class.to_owned()).collect());
    assert!(jobs > 1_000, "{jobs} jobs");
}
