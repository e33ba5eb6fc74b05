use super::*;
use crate::commands::daemon::limits::{Limit, PATIENCE_NS};
use crate::ui::exit::Exit;
use layland_linux::exec::{Asker, Door, is_ready};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

const SECOND: i64 = 1_000_000_000;

/// Admits every client, and records the order.
#[derive(Default)]
struct Record {
    answered: Vec<(u32, String)>,
    with_thread: Vec<u64>,
    parted: Vec<u64>,
}

impl Office for Record {
    fn admit(&mut self, client: &Client, wanted: &Wanted) -> Result<Answer, Failure> {
        self.answered.push((client.user, wanted.name.clone()));
        if wanted.name == "thread" {
            self.with_thread.push(client.connection);
        }
        let cpus = "1".to_owned();
        Ok(Answer::Admitted { name: wanted.name.clone(), cpus, decided_by: None })
    }

    fn leave_called(&mut self, _user: u32, name: &str, told: &mut Told) -> bool {
        told.extend(self.with_thread.iter().map(|&connection| {
            let why = crate::commands::daemon::talk::Why::Asked;
            (connection, Answer::Gone { name: name.to_owned(), why })
        }));
        true
    }

    fn part(&mut self, connection: u64) {
        self.parted.push(connection);
    }

    fn members(&self) -> Vec<Member> {
        Vec::new()
    }

    fn has_thread(&self, connection: u64) -> bool {
        self.with_thread.contains(&connection)
    }
}

/// A listening socket to which a test connects clients.
struct Bench {
    folder: PathBuf,
    door: Door,
    guests: Guests,
    office: Record,
    now_ns: i64,
}

impl Bench {
    fn new(polkit: Option<&str>) -> Bench {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("layland-guests-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let polkit = polkit.map(|script| {
            let path = folder.join("pkcheck");
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, executable).expect("it is ours");
            Polkit::at(&path)
        });
        let door = Door::open(&folder.join("socket")).expect("a socket can be made");
        let (guests, office) = (Guests::new(polkit), Record::default());
        Bench { folder, door, guests, office, now_ns: SECOND }
    }

    /// Connects a program of this user.
    fn knock(&mut self, user: u32) -> Asker {
        let asker = Asker::knock(&self.folder.join("socket")).expect("somebody listens");
        assert!(is_ready(&[self.door.as_fd()], Some(5_000))[0]);
        let mut peer = self.door.next().expect("somebody knocks");
        peer.uid = user;
        self.guests.welcome(&mut self.office, peer, self.now_ns);
        asker
    }

    /// Does the work of the loop between two waits.
    fn turn(&mut self) {
        let quiet: Vec<u64> = self.guests.quiet().iter().map(|(of, _)| *of).collect();
        let mut told = Told::new();
        self.guests.listen(&quiet);
        self.guests.look(&mut self.office, self.now_ns);
        self.guests.answer(&mut self.office, self.now_ns, &mut told);
        self.guests.tell(&mut self.office, told);
    }

    fn count(&self, user: u32) -> usize {
        self.guests.guests.values().filter(|guest| guest.user == user).count()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn question(name: &str) -> String {
    let wanted = Wanted {
        name: name.to_owned(),
        thread: None,
        runtime_ns: 10_000,
        deadline_ns: 10_000_000,
        period_ns: 10_000_000,
        tardiness_ns: None,
        cpus: Some("1".to_owned()),
        policy: "dl-sp".to_owned(),
    };
    serde_json::to_string(&Ask::Admit(wanted)).expect("it is JSON")
}

fn list() -> String {
    serde_json::to_string(&Ask::List).expect("it is JSON")
}

fn hears(asker: &mut Asker) -> Option<Answer> {
    let line = asker.hear(0).ok().flatten()?;
    Some(serde_json::from_str(&line).expect("it is an answer"))
}

#[test]
fn the_question_of_another_is_answered_before_the_next_one_of_a_flood() {
    let mut bench = Bench::new(None);
    let flood = vec![question("flood"); 40].join("\n");
    let mut floods: Vec<Asker> = (0..CONNECTIONS.of_one).map(|_| bench.knock(2001)).collect();
    for asker in &mut floods {
        asker.say(&flood).expect("it is heard");
    }
    let mut asker = bench.knock(3000);
    bench.turn();
    for round in 0..20 {
        for _ in 0..round {
            bench.turn();
        }
        let before = bench.office.answered.len();
        asker.say(&question("other")).expect("it is heard");
        bench.turn();
        assert_eq!(bench.office.answered[before..], [(3000, "other".to_owned())], "{round}");
        assert!(hears(&mut asker).is_some());
    }
    // With five flooding users, the question is answered after one question of each.
    let mut others: Vec<Asker> = (2002..2006).map(|user| bench.knock(user)).collect();
    for asker in &mut others {
        asker.say(&flood).expect("it is heard");
    }
    for _ in 0..13 {
        bench.turn();
    }
    let before = bench.office.answered.len();
    asker.say(&question("other")).expect("it is heard");
    for _ in 0..6 {
        bench.turn();
    }
    let mut users: Vec<u32> =
        bench.office.answered[before..].iter().map(|(user, _)| *user).collect();
    users.sort_unstable();
    assert_eq!(users, [2001, 2002, 2003, 2004, 2005, 3000]);
    // Root does not wait for other users.
    let mut root = bench.knock(0);
    root.say(&list()).expect("it is heard");
    bench.turn();
    assert!(matches!(hears(&mut root), Some(Answer::List { .. })));
}

#[test]
fn as_many_lines_as_are_said_at_once_are_answered() {
    for count in [1, 16, 17, 40, 100, 1_000] {
        let mut bench = Bench::new(None);
        let mut asker = bench.knock(1000);
        asker.say(&vec![list(); count].join("\n")).expect("it is heard");
        let mut answers = 0;
        for _ in 0..count {
            // The rest of the input is either here or in the kernel, which reports it.
            let fds: Vec<_> = bench.guests.quiet().iter().map(|(_, fd)| *fd).collect();
            let is_there = is_ready(&fds, Some(0)).contains(&true);
            assert!(is_there || bench.guests.patience_ms(bench.now_ns) == Some(0), "{answers}");
            bench.turn();
            answers += usize::from(hears(&mut asker).is_some());
        }
        assert_eq!(answers, count);
        assert_ne!(bench.guests.patience_ms(bench.now_ns), Some(0));
    }
}

#[test]
fn nobody_waits_for_the_polkit_of_another() {
    let mut bench = Bench::new(Some("exec sleep 60"));
    let mut askers: Vec<Asker> = (0..8).map(|_| bench.knock(1000)).collect();
    for asker in &mut askers {
        asker.say(&question("one")).expect("it is heard");
    }
    for _ in 0..8 {
        bench.turn();
    }
    let considered = |bench: &Bench| {
        let asks = bench.guests.guests.values();
        asks.filter(|guest| matches!(guest.asks, Asks::Considered(..))).count()
    };
    let Limit { of_one, .. } = OF_POLKIT;
    assert_eq!(considered(&bench), of_one);
    // The rest waits until polkit is done, and nothing is busy meanwhile.
    assert_ne!(bench.guests.patience_ms(bench.now_ns), Some(0));
    let mut root = bench.knock(0);
    for ask in [list(), question("root's")] {
        root.say(&ask).expect("it is heard");
        bench.turn();
        assert!(hears(&mut root).is_some());
    }
    let mut other = bench.knock(1001);
    other.say(&question("two")).expect("it is heard");
    bench.turn();
    assert_eq!(considered(&bench), of_one + 1);
    bench.now_ns += PATIENCE_NS;
    for _ in 0..12 {
        bench.turn();
    }
    // The timed-out questions are refused, and polkit has been asked about the others.
    let refused = |asker: &mut Asker| match hears(asker) {
        Some(Answer::Refused { exit, message, .. }) => {
            assert!(message.contains("does not answer"), "{message}");
            assert_eq!(exit, Exit::Refused.code());
            true
        }
        _ => false,
    };
    assert_eq!(askers.iter_mut().filter_map(|asker| refused(asker).then_some(())).count(), of_one);
    assert!(refused(&mut other));
    assert_eq!(considered(&bench), of_one);
    assert_eq!(bench.office.answered, [(0, "root's".to_owned())]);
}

#[test]
fn what_polkit_says_counts() {
    for (script, allowed) in [("exit 0", true), ("exit 1", false)] {
        let mut bench = Bench::new(Some(script));
        let mut asker = bench.knock(1000);
        asker.say(&question("one")).expect("it is heard");
        let answer = loop {
            bench.turn();
            if let Some(answer) = hears(&mut asker) {
                break answer;
            }
        };
        assert_eq!(matches!(answer, Answer::Admitted { .. }), allowed, "{answer:?}");
    }
}

#[test]
fn nobody_is_locked_out_by_connections_that_nobody_uses() {
    let mut bench = Bench::new(None);
    let mut idle: Vec<Asker> = Vec::new();
    for user in 2001..2006 {
        for _ in 0..CONNECTIONS.of_one + 3 {
            idle.push(bench.knock(user));
            bench.now_ns += 1_000;
        }
        assert!(bench.count(user) <= CONNECTIONS.of_one);
    }
    assert!(bench.guests.guests.len() <= CONNECTIONS.of_users);
    // A new user is accepted and answered, and so is root, for whom no connection is closed.
    let mut asker = bench.knock(3000);
    asker.say(&question("other")).expect("it is heard");
    bench.turn();
    assert!(matches!(hears(&mut asker), Some(Answer::Admitted { .. })));
    let before = bench.guests.guests.len();
    let mut roots: Vec<Asker> = (0..CONNECTIONS.most - before).map(|_| bench.knock(0)).collect();
    assert_eq!(bench.guests.guests.len(), CONNECTIONS.most);
    roots[0].say(&list()).expect("it is heard");
    bench.turn();
    assert!(hears(&mut roots[0]).is_some());
    // Idle connections are closed unless they have a thread.
    let mut holder = bench.knock(4000);
    holder.say(&question("thread")).expect("it is heard");
    bench.turn();
    bench.now_ns += IDLE_NS + SECOND;
    bench.turn();
    assert_eq!((bench.guests.guests.len(), bench.count(4000)), (1, 1));
    // A connection that may stay silent for ever sets no timeout.
    assert_eq!(bench.guests.patience_ms(bench.now_ns), None);
}

#[test]
fn what_a_connection_has_is_left_when_it_ends() {
    let mut bench = Bench::new(None);
    let mut asker = bench.knock(1000);
    asker.say(&question("thread")).expect("it is heard");
    bench.turn();
    assert!(hears(&mut asker).is_some());
    let mut other = bench.knock(1000);
    other.say(r#"{"ask":"leave","name":"thread"}"#).expect("it is heard");
    bench.turn();
    assert!(matches!(hears(&mut other), Some(Answer::Left { found: true })));
    assert!(matches!(hears(&mut asker), Some(Answer::Gone { .. })));
    drop(asker);
    // A process that another test is starting still holds the descriptors it inherited from the
    // fork.
    while bench.office.parted.is_empty() {
        bench.turn();
    }
    assert_eq!(bench.office.parted, [1]);
}
