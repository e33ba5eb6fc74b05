//! The changes of a run are reverted however it ends, and overlapping runs do not revert changes
//! that others use.

use layland_linux::doctor::{Leftover, heal, left_behind};
use layland_linux::{ChangeError, Changes, Register};
use layland_model::Duration;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CHILD: &str = "LAYLAND_GUARDIAN_TEST";
/// The action of a child: it changes the knob, creates a folder of this name, and waits; or it
/// looks for leftovers.
const MODE: &str = "LAYLAND_GUARDIAN_TEST_MODE";

fn register(folder: &Path) -> Register {
    Register::at(&folder.join("register")).expect("the folder is ours")
}

fn begin(folder: &Path) -> Changes {
    Changes::begin_in(register(folder), "a test", Duration::from_secs(60))
        .expect("it can be forked")
}

/// The program of a child process; not a test of its own.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let mode = std::env::var(MODE).expect("it is said what to do");
    if mode == "look" {
        println!("\nready {}", left_behind(&register(&folder)).len());
        return;
    }
    let mut changes = begin(&folder);
    changes.make(&folder.join(&mode)).expect("it can be made");
    changes.change("knob", &folder.join("knob"), "changed").expect("it can be changed");
    if mode == "stopped" {
        let own = guardians(std::process::id());
        assert_eq!(own.len(), 1);
        signal("-STOP", own[0]);
        assert_eq!(changes.end(), []);
        assert!(!is_alive(own[0]), "the guardian that was stopped is killed");
        println!("\nready 0");
        // The harness would write to a pipe without a reader.
        std::process::exit(0);
    }
    println!("\nready 0");
    std::thread::park();
}

fn start(folder: &Path, mode: &str) -> (Child, usize) {
    started(Command::new(std::env::current_exe().expect("it has a name")), folder, mode)
}

/// Returns the process when it is ready, and the number that it prints.
fn started(mut command: Command, folder: &Path, mode: &str) -> (Child, usize) {
    let mut child = command
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, folder)
        .env(MODE, mode)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let said = lines.find_map(|line| line.ok()?.strip_prefix("ready ").map(str::to_owned));
    let said = said.expect("the child says that it is ready");
    (child, said.parse().expect("a number"))
}

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..3000 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("not within 30 s: {what}");
}

/// Returns the fields after the name of a process in its `stat`.
fn stat(pid: u32) -> Vec<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().map(str::to_owned).collect()
}

fn is_alive(pid: u32) -> bool {
    stat(pid).first().is_some_and(|state| state != "Z")
}

/// Returns the guardians that are children of a process.
fn guardians(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").expect("there is /proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_child = |&own: &u32| stat(own).get(1) == Some(&pid.to_string());
    let name = |own: u32| std::fs::read_to_string(format!("/proc/{own}/comm")).unwrap_or_default();
    pids.filter(is_child).filter(|&own| name(own).trim() == "layland-guard").collect()
}

fn signal(name: &str, pid: u32) {
    assert!(Command::new("kill").args([name, &pid.to_string()]).status().unwrap().success());
}

fn kill(mut child: Child, name: &str) {
    signal(name, child.id());
    child.wait().expect("it ends");
}

/// Returns an empty folder with a knob.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guardian-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("knob"), "as it was\n").unwrap();
    folder
}

fn knob(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("knob")).unwrap_or_default().trim().to_owned()
}

#[test]
fn a_killed_run_is_taken_back() {
    for name in ["-KILL", "-TERM"] {
        let folder = folder(&format!("killed{name}"));
        let (child, _) = start(&folder, "made");
        assert!(folder.join("made").is_dir() && knob(&folder) == "changed");
        kill(child, name);
        eventually("the knob is as it was", || knob(&folder) == "as it was");
        eventually("the folder is gone", || !folder.join("made").exists());
        eventually("nothing is left", || left_behind(&register(&folder)).is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn the_last_run_restores_what_the_first_has_found() {
    for first_ends_first in [true, false] {
        let folder = folder("shared");
        let (first, _) = start(&folder, "first");
        let (second, _) = start(&folder, "second");
        let (one, other) = if first_ends_first { (first, second) } else { (second, first) };
        let (gone, there) =
            if first_ends_first { ("first", "second") } else { ("second", "first") };
        kill(one, "-KILL");
        eventually("its folder is gone", || !folder.join(gone).exists());
        let guarded = || register(&folder).runs().len();
        eventually("its guardian has ended", || guarded() == 1);
        assert_eq!(knob(&folder), "changed", "the other one uses it");
        assert!(folder.join(there).is_dir());
        assert_eq!(left_behind(&register(&folder)), []);
        kill(other, "-KILL");
        eventually("the knob is as it was", || knob(&folder) == "as it was");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_run_that_ends_leaves_what_another_uses() {
    let folder = folder("ends");
    let mut first = begin(&folder);
    first.change("knob", &folder.join("knob"), "changed").unwrap();
    let mut second = begin(&folder);
    second.change("knob", &folder.join("knob"), "changed").unwrap();
    assert_eq!(first.end(), []);
    assert_eq!(knob(&folder), "changed");
    assert_eq!(second.end(), []);
    assert_eq!(knob(&folder), "as it was");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_guardian_that_is_stopped_hangs_nobody() {
    let folder = folder("stopped");
    let (mut child, _) = start(&folder, "stopped");
    assert!(child.wait().unwrap().success());
    assert_eq!(knob(&folder), "as it was");
    assert!(!folder.join("stopped").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Kills a run together with its guardian. Returns the run's number.
fn left(folder: &Path) -> u32 {
    let (child, _) = start(folder, "made");
    let pid = child.id();
    guardians(pid).into_iter().for_each(|guardian| signal("-KILL", guardian));
    kill(child, "-KILL");
    pid
}

#[test]
fn what_is_left_is_found_and_healed() {
    let folder = folder("left");
    left(&folder);
    assert_eq!(knob(&folder), "changed");
    let register = register(&folder);
    let found = left_behind(&register);
    let said: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert!(said[0].ends_with("knob is changed and was as it was"), "{said:?}");
    assert!(matches!(found.last(), Some(Leftover::Entry { .. })), "{said:?}");
    found.iter().for_each(|one| heal(&register, one).unwrap());
    assert_eq!(left_behind(&register), []);
    assert_eq!(knob(&folder), "as it was");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_note_about_a_folder_that_was_never_made_is_healed() {
    let folder = folder("note");
    let register = register(&folder);
    let note = register.folder().join("setting-cpuset");
    // The run was killed before the folder was created, or before the note was written.
    for text in [format!("R{}\n", folder.join("never").display()), String::new()] {
        std::fs::write(&note, text).unwrap();
        let found = left_behind(&register);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].to_string(), note.display().to_string());
        heal(&register, &found[0]).unwrap();
        assert!(!note.exists());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_left_is_restored_by_the_next_run_that_uses_it() {
    let folder = folder("next");
    left(&folder);
    let mut changes = begin(&folder);
    changes.change("knob", &folder.join("knob"), "changed").unwrap();
    assert_eq!(changes.end(), []);
    assert_eq!(knob(&folder), "as it was");
    // If a user has set it meanwhile, that value counts as the former one.
    std::fs::remove_dir(folder.join("made")).unwrap();
    left(&folder);
    std::fs::write(folder.join("knob"), "by hand").unwrap();
    let mut changes = begin(&folder);
    changes.change("knob", &folder.join("knob"), "changed").unwrap();
    assert_eq!(changes.end(), []);
    assert_eq!(knob(&folder), "by hand");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_refusal_is_told_and_stays_in_the_register() {
    let folder = folder("refused");
    let knob_file = folder.join("knob");
    let mut changes = begin(&folder);
    changes.change("knob", &knob_file, "changed").unwrap();
    std::fs::remove_file(&knob_file).unwrap();
    let failed = changes.end();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].to_string().contains("the kernel refuses to take that back"), "{failed:?}");
    std::fs::write(&knob_file, "changed").unwrap();
    let register = register(&folder);
    let found = left_behind(&register);
    assert!(matches!(found.first(), Some(Leftover::Setting { .. })), "{found:?}");
    found.iter().for_each(|one| heal(&register, one).unwrap());
    assert_eq!(knob(&folder), "as it was");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_run_of_another_pid_namespace_is_alive() {
    let folder = folder("namespace");
    let (child, _) = start(&folder, "made");
    let mut inside = Command::new("unshare");
    inside.args(["-p", "-f", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    let is_able = Command::new("unshare").args(["-p", "-f", "--mount-proc", "true"]).status();
    if !is_able.is_ok_and(|status| status.success()) {
        kill(child, "-KILL");
        // Write directly to standard error: `.ci/run` counts these lines.
        let _ = std::io::stderr().write_all(b"skipped: needs root, for a PID namespace\n");
        return;
    }
    let (mut looks, seen) = started(inside, &folder, "look");
    looks.wait().unwrap();
    assert_eq!(seen, 0, "nothing of a live run is left over");
    let guardians = guardians(child.id());
    guardians.into_iter().for_each(|guardian| signal("-KILL", guardian));
    kill(child, "-KILL");
    let mut inside = Command::new("unshare");
    inside.args(["-p", "-f", "--mount-proc"]).arg(std::env::current_exe().unwrap());
    let (mut looks, seen) = started(inside, &folder, "look");
    looks.wait().unwrap();
    assert_eq!(seen, 2, "the knob and the entry");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_cpu_has_one_run() {
    let folder = folder("cpus");
    let claim = |changes: &mut Changes, count: usize| -> Result<_, ChangeError> {
        changes.claim(&[2, 5], |free| match free.get(..count) {
            Some(cpus) => Ok((cpus.to_vec(), cpus.to_vec())),
            None => Err(ChangeError::Occupied("too few".to_owned())),
        })
    };
    let mut first = begin(&folder);
    assert_eq!(claim(&mut first, 1).unwrap(), (vec![2], None));
    let mut second = begin(&folder);
    let error = claim(&mut second, 2).unwrap_err().to_string();
    let pid = std::process::id();
    let expected = format!("another run has CPUs that this one needs: `a test` (pid {pid}, CPU 2)");
    assert_eq!(error, expected);
    let (cpus, remark) = claim(&mut second, 1).unwrap();
    assert_eq!(cpus, [5]);
    let remark = remark.expect("it would have taken another");
    assert!(
        remark.starts_with("it runs on CPU 5 of the host, because another run has"),
        "{remark}"
    );
    // If the CPUs do not suffice even without other runs, the error is different.
    assert_eq!(claim(&mut second, 3).unwrap_err().to_string(), "too few");
    drop(first);
    assert_eq!(claim(&mut second, 2).unwrap().0, [2, 5]);
    drop(second);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_register_is_ours_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("alone");
    let (open, link) = (folder.join("open"), folder.join("link"));
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Register::at(&open).is_err(), "what it says is written into files of the kernel");
    symlink(folder.join("register"), &link).unwrap();
    assert!(Register::at(&link).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}
