//! Tests of the files that packages install: systemd accepts the units, and the action of polkit is
//! the one that the daemon uses.
#![cfg(target_os = "linux")]

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

#[test]
fn systemd_reads_the_units() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("units");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let mut units = Vec::new();
    for name in ["laylandd.socket", "laylandd.service"] {
        let text = fs::read_to_string(packaging().join(name)).expect("the unit is there");
        // systemd checks that the program exists, and it is not installed here.
        let text = text.replace("/usr/bin/layland", env!("CARGO_BIN_EXE_layland"));
        fs::write(folder.join(name), text).expect("it can be written");
        units.push(folder.join(name));
    }
    let verified = Command::new("systemd-analyze").arg("verify").args(&units).output();
    let verified = match verified {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return common::skipped("systemd-analyze");
        }
        other => other.expect("systemd-analyze runs"),
    };
    let said = String::from_utf8_lossy(&verified.stderr);
    // systemd also reports on other units of this machine.
    let about_ours: Vec<&str> = said.lines().filter(|line| line.contains("laylandd")).collect();
    assert!(verified.status.success() && about_ours.is_empty(), "{said}");
}

#[test]
fn polkit_reads_the_action() {
    const DTD: &str = "/usr/share/polkit-1/policyconfig-1.dtd";
    let action = packaging().join("org.layland.exec.policy");
    let checked = Command::new("xmllint").args(["--noout", "--dtdvalid", DTD]).arg(action).output();
    match checked {
        Err(error) if error.kind() == io::ErrorKind::NotFound => common::skipped("xmllint"),
        _ if !Path::new(DTD).exists() => common::skipped("polkit"),
        checked => {
            let checked = checked.expect("xmllint runs");
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
}

/// Imitates the units without systemd: a program that owns the socket starts the daemon when a
/// client connects.
#[cfg(feature = "ext")]
#[test]
fn the_daemon_takes_the_socket_that_it_is_given() {
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("given.socket");
    let _ = fs::remove_file(&path);
    let started = Command::new("systemd-socket-activate")
        .arg("-l")
        .arg(&path)
        .args([env!("CARGO_BIN_EXE_layland"), "daemon", "--on-cpus", "0"])
        .spawn();
    let mut started = match started {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return common::skipped("systemd-socket-activate");
        }
        other => other.expect("it starts"),
    };
    let mut client = loop {
        match UnixStream::connect(&path) {
            Ok(client) => break client,
            Err(error) => assert!(matches!(started.try_wait(), Ok(None)), "{error}"),
        }
    };
    client.write_all(b"{\"ask\":\"list\"}\n").expect("somebody listens");
    let mut answer = String::new();
    BufReader::new(client).read_line(&mut answer).expect("somebody answers");
    let _ = started.kill();
    let _ = started.wait();
    let _ = fs::remove_file(&path);
    assert_eq!(answer.trim_end(), r#"{"answer":"list","members":[]}"#);
}

#[test]
fn the_daemon_is_what_the_units_say() {
    let read = |name: &str| fs::read_to_string(packaging().join(name)).expect("it is there");
    let line = |text: &str, key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key}")).to_owned()
    };
    // The socket is at the path that clients use.
    let socket = line(&read("laylandd.socket"), "ListenStream=");
    let start = line(&read("laylandd.service"), "ExecStart=/usr/bin/layland ");
    let help = Command::new(env!("CARGO_BIN_EXE_layland")).args([&start, "--help"]).output();
    let help = help.expect("layland runs");
    let text = String::from_utf8_lossy(&help.stdout);
    assert!(help.status.success() && text.contains(&format!("[default: {socket}]")), "{text}");
    assert!(read("org.layland.exec.policy").contains("<action id=\"org.layland.exec\">"));
}
