// SPDX-License-Identifier: Apache-2.0
//! `slotwise xfer` over the loopback of a network namespace of the test's own: no router, so nothing but windows limits it.
//! Needs root. Transfers through P4 routers are in `tests/end_to_end/test_xfer.py`.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sched::{CloneFlags, unshare};
use slotwise_netio::{RawIpSocket, Sent};

const HOST: &str = "127.0.0.1";
const PROTOCOL: u8 = 253;
/// Shorter than the ports that would name a connection.
const NOISE_PACKETS: usize = 24;

fn xfer(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotwise"));
    command.arg("xfer").args(arguments);
    command
}

fn in_new_namespace() -> bool {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return false;
    }
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(up.expect("ip(8) is installed").success());
    true
}

/// A receiver that listens.
fn receiver(path: &Path, options: &[&str]) -> Child {
    let mut child = xfer(&["receive", HOST, path.to_str().unwrap()])
        .args(options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("listening"), "{line}");
    child
}

/// Packets of the protocol that mean nothing, to the receiver.
fn send_noise() {
    let host: Ipv4Addr = HOST.parse().unwrap();
    let socket = RawIpSocket::connect(PROTOCOL, host).unwrap();
    for packet in 0..NOISE_PACKETS {
        let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, PROTOCOL, 0, 0];
        bytes.extend([host.octets(), host.octets()].concat());
        bytes.extend(vec![packet as u8; packet]);
        assert_eq!(socket.send(&bytes, host).unwrap(), Sent::Taken);
    }
}

fn report(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("a report")
}

#[test]
fn a_file_arrives_and_what_is_there_already_stays() {
    if !in_new_namespace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (sent, stored) = (directory.path().join("sent"), directory.path().join("stored"));
    let content: Vec<u8> = (0..3_000_000u32).map(|at| (at / 3) as u8).collect();
    std::fs::write(&sent, &content).unwrap();
    let receiving = receiver(&stored, &[]);
    send_noise();
    let sender = xfer(&["send", sent.to_str().unwrap(), HOST]).output().unwrap();
    let received = receiving.wait_with_output().unwrap();
    assert!(
        sender.status.success() && received.status.success(),
        "{sender:?} {received:?}"
    );
    assert_eq!(std::fs::read(&stored).unwrap(), content);
    let (sender, received) = (report(&sender), report(&received));
    for (field, value) in [("bytes", &3_000_000.into()), ("ok", &true.into())] {
        assert_eq!((&sender[field], &received[field]), (value, value));
    }
    assert_eq!(sender["sha256"], received["sha256"]);
    assert_eq!(received["malformed_packets"], NOISE_PACKETS);

    let again = xfer(&["receive", HOST, stored.to_str().unwrap()]).output().unwrap();
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("file exists already"));
    assert_eq!(std::fs::read(&stored).unwrap(), content);
}

#[test]
fn a_file_that_is_too_long_is_refused_at_both_ends() {
    if !in_new_namespace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let sent = directory.path().join("sent");
    std::fs::write(&sent, [7; 100_000]).unwrap();
    let receiving = receiver(&directory.path().join("stored"), &["--max-bytes", "99999"]);
    let sender = xfer(&["send", sent.to_str().unwrap(), HOST]).output().unwrap();
    let received = receiving.wait_with_output().unwrap();
    assert_eq!((sender.status.code(), received.status.code()), (Some(1), Some(1)));
    for output in [&sender, &received] {
        let error = report(output)["error"].to_string();
        assert!(error.contains("--max-bytes"), "{error}");
    }
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        1,
        "nothing but what was sent"
    );
}

#[test]
fn says_what_is_wrong_and_fails() {
    if !in_new_namespace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "content").unwrap();
    let (file, folder) = (file.to_str().unwrap(), directory.path().to_str().unwrap());
    let nowhere = format!("{folder}/nowhere/stored");
    let cases: [(&[&str], &str); 12] = [
        (&["send", file], "ADDRESS"),
        (&["send", file, "here"], "expected an IPv4 address"),
        (&["send", file, "127.0.0.1:0"], "expected an IPv4 address"),
        (&["send", file, "0.0.0.0"], "unicast address"),
        (&["send", file, "224.0.0.1"], "unicast address"),
        (&["send", file, "192.0.2.1"], "with a route"),
        (&["send", "no-such-file", HOST], "no-such-file"),
        (&["send", folder, HOST], "not a regular file"),
        (&["send", file, HOST, "--packet-bytes", "100"], "576"),
        (&["receive", "192.0.2.1", "stored"], "address of this host"),
        (&["receive", HOST, &nowhere], "nowhere"),
        (&["receive", HOST, "stored", "--timeout-s", "0"], "1..=3600"),
    ];
    for (arguments, message) in cases {
        let output = xfer(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}
