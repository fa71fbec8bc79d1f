// SPDX-License-Identifier: Apache-2.0
//! What goes wrong around a switch does not end it, and is said.

use std::process::Stdio;
use std::time::Duration;

use nix::mount::{MsFlags, mount};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use slotwise_netio::Ports;

use super::support::{
    Controller, P4INFO, PROGRAM, Switch, forward_mac_1_to_port_2, frame, in_new_namespace, ip, plug, receive, runtime,
    simple_switch_grpc, slotwise,
};

#[test]
fn a_full_disk_ends_captures_and_traces_but_not_the_switch() {
    if !in_new_namespace() {
        return;
    }
    let small = tempfile::tempdir().unwrap();
    mount(
        Some("none"),
        small.path(),
        Some("tmpfs"),
        MsFlags::empty(),
        Some("size=64k"),
    )
    .unwrap();
    let mut switch = Switch::start(
        slotwise()
            .args(["switch", "-i", "1@one", "-i", "2@two", PROGRAM, "--p4info", P4INFO])
            .args(["--grpc-server-addr", "127.0.0.1:0", "--trace"])
            .arg(small.path().join("trace"))
            .arg(format!("--pcap={}", small.path().display()))
            .stderr(Stdio::piped()),
    );
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();
    runtime().block_on(async {
        let mut controller = Controller::connect(&switch.address, 1).await;
        controller.client.write(forward_mac_1_to_port_2(1)).await.unwrap();
    });
    let mut long = frame(1);
    long.resize(1400, 7);
    for _ in 0..200 {
        far.send(0, &long);
        far.flush();
        assert_eq!(receive(&mut far), (1, long.clone()));
    }
    let errors = switch.stop_and_read_errors();
    for file in ["one_in.pcap", "two_out.pcap", "trace"] {
        let note = format!("{}: No space left on device", small.path().join(file).display());
        assert_eq!(errors.matches(&note).count(), 1, "{file}: {errors}");
    }
    for file in ["one_in.pcap", "two_out.pcap"] {
        let bytes = std::fs::metadata(small.path().join(file)).unwrap().len();
        assert_eq!((bytes - 24) % (16 + 1400), 0, "{file} ends with a whole frame");
    }
}

/// Sends frames by the first port until one leaves the switch for the second.
fn arrives(far: &mut Ports) -> bool {
    let mut has_arrived = false;
    for _ in 0..100 {
        far.send(0, &frame(1));
        far.flush();
        let mut look = |port, got: &[u8]| has_arrived |= port == 1 && got == frame(1);
        far.poll(Some(Duration::from_millis(100)), &mut look).unwrap();
        if has_arrived {
            break;
        }
    }
    has_arrived
}

#[test]
fn an_interface_made_anew_takes_its_place_again() {
    if !in_new_namespace() {
        return;
    }
    let mut switch = Switch::start(
        slotwise()
            .args(["switch", "-i", "1@one", "-i", "2@two", PROGRAM, "--p4info", P4INFO])
            .args(["--grpc-server-addr", "127.0.0.1:0"])
            .stderr(Stdio::piped()),
    );
    runtime().block_on(async {
        let mut controller = Controller::connect(&switch.address, 1).await;
        controller.client.write(forward_mac_1_to_port_2(1)).await.unwrap();
    });
    ip("link del one");
    plug("one");
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();
    assert!(arrives(&mut far), "the switch looks four times a second");
    let errors = switch.stop_and_read_errors();
    assert!(errors.contains("interface one recreated"), "{errors}");
}

#[test]
fn an_interface_that_is_renamed_and_gets_its_name_back_is_reported_as_such() {
    if !in_new_namespace() {
        return;
    }
    let mut switch = Switch::start(
        slotwise()
            .args(["switch", "-i", "1@one", "-i", "2@two", PROGRAM, "--p4info", P4INFO])
            .args(["--grpc-server-addr", "127.0.0.1:0"])
            .stderr(Stdio::piped()),
    );
    ip("link set one down");
    ip("link set one name other");
    switch.await_error("interface one of port 1 disappeared");
    ip("link set other name one");
    switch.await_error("interface one of port 1 returned");
    let errors = switch.stop_and_read_errors();
    assert!(!errors.contains("recreated"), "{errors}");
}

#[test]
fn an_interface_that_is_missing_at_the_start_gets_its_port_when_it_appears() {
    if !in_new_namespace() {
        return;
    }
    plug("three");
    let mut switch = Switch::start(
        slotwise()
            .args([
                "switch", "-i", "1@late", "-i", "2@two", "-i", "3@three", PROGRAM, "--p4info", P4INFO,
            ])
            .args(["--grpc-server-addr", "127.0.0.1:0"])
            .stderr(Stdio::piped()),
    );
    runtime().block_on(async {
        let mut controller = Controller::connect(&switch.address, 1).await;
        controller.client.write(forward_mac_1_to_port_2(1)).await.unwrap();
    });
    let mut far = Ports::open(&["far-three", "far-two"], None).unwrap();
    far.send(0, &frame(1));
    far.flush();
    assert_eq!(receive(&mut far), (1, frame(1)), "the others work meanwhile");
    for _ in 0..2 {
        plug("late");
        let mut far = Ports::open(&["far-late", "far-two"], None).unwrap();
        assert!(arrives(&mut far), "the switch looks four times a second");
        ip("link del late");
    }
    let errors = switch.stop_and_read_errors();
    for note in [
        "interface late of port 1 does not exist: the port waits for it",
        "interface late appeared; port 1 uses it",
        "interface late recreated; port 1 uses it",
    ] {
        assert_eq!(errors.matches(note).count(), 1, "{note}: {errors}");
    }
}

#[test]
fn output_that_cannot_be_written_does_not_end_a_switch() {
    if !in_new_namespace() {
        return;
    }
    const ADDRESS: &str = "127.0.0.1:50051";
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut process = slotwise()
        .args(["switch", PROGRAM, "--p4info", P4INFO, "--thrift-port", "9090"])
        .args(["--grpc-server-addr", ADDRESS])
        .stdout(full())
        .stderr(full())
        .spawn()
        .unwrap();
    // It cannot say that it is ready.
    while std::net::TcpStream::connect(ADDRESS).is_err() {
        assert_eq!(process.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    runtime().block_on(async {
        let mut controller = Controller::connect(ADDRESS, 1).await;
        controller.client.write(forward_mac_1_to_port_2(1)).await.unwrap();
    });
    kill(Pid::from_raw(process.id() as i32), Signal::SIGTERM).unwrap();
    assert!(process.wait().unwrap().success());
}

#[test]
fn a_log_that_nobody_reads_does_not_keep_a_switch_from_ending() {
    if !in_new_namespace() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut switch = Switch::start(
        simple_switch_grpc(directory.path())
            .args(["-i", "1@one", "-i", "2@two", PROGRAM, "--log-console"])
            .args(["--", "--grpc-server-addr", "127.0.0.1:0"]),
    );
    let mut far = Ports::open(&["far-one", "far-two"], None).unwrap();
    // Each is some lines of a log that goes into a pipe of 64 kB.
    for _ in 0..2000 {
        far.send(0, &frame(1));
        far.flush();
    }
    switch.end();
}

#[test]
fn bmv2s_manner_says_what_is_wrong_and_fails() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.p4info.txtpb");
    std::fs::write(&empty, "# nothing\n").unwrap();
    let empty = empty.to_str().unwrap();
    let by_name = || simple_switch_grpc(tempfile::tempdir_in(directory.path()).unwrap().keep().as_path());
    let cases: [(&[&str], &str); 7] = [
        (&["-i", "1@one"], "missing program"),
        (&["--pcap", "no-such-directory", PROGRAM], "no such directory"),
        (&[PROGRAM, "--", "--cpu-port", "0"], "--cpu-port 0"),
        (&[PROGRAM, "--use-files", "0"], "--use-files: not supported"),
        (
            &[PROGRAM, "--", "--dp-grpc-server-addr", "0.0.0.0:50052"],
            "--dp-grpc-server-addr: not supported",
        ),
        (
            &["router.p4"],
            "p4c-bm2-ss --p4runtime-files router.p4info.txtpb -o router.json router.p4",
        ),
        (&[PROGRAM, "--p4info", empty], "an empty P4Info"),
    ];
    for (arguments, message) in cases {
        let output = by_name().args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    for (argument, answer) in [
        ("--json-version", "2.23\n"),
        ("--version", "simple_switch_grpc slotwise "),
    ] {
        let output = by_name().arg(argument).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.starts_with(answer), "{text}");
    }
}
