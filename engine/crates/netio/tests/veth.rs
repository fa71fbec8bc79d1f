// SPDX-License-Identifier: Apache-2.0
//! Frames between two raw ports over a veth pair in a network namespace of the test's own. Needs root.

use std::process::Command;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use slotwise_netio::{Ports, WallClock};

fn ip(arguments: &str) {
    let status = Command::new("ip")
        .args(arguments.split(' '))
        .status()
        .expect("ip(8) is installed");
    assert!(status.success(), "ip {arguments}");
}

/// Polls until `count` frames came or a generous time is over.
fn receive(ports: &mut Ports, count: usize) -> Vec<(usize, Vec<u8>)> {
    let clock = WallClock::start();
    let mut got = Vec::new();
    while got.len() < count && clock.now_ns() < 10_000_000_000 {
        ports
            .poll(Some(Duration::from_millis(100)), &mut |port, frame| {
                // The kernel may send router solicitations of its own; and a probe may still be on its way.
                if frame[12..14] != [0x86, 0xdd] && frame[12..14] != [0x88, 0xb7] {
                    got.push((port, frame.to_vec()));
                }
            })
            .unwrap();
    }
    got
}

/// Sends frames until one arrives: an interface that has just come up drops what it gets until the kernel has given it its queue.
fn await_cable(ports: &mut Ports) {
    let mut probe = [0; 60];
    probe[12..14].copy_from_slice(&0x88b7u16.to_be_bytes());
    let mut has_arrived = false;
    for _ in 0..100 {
        ports.send(0, &probe);
        ports.flush();
        let mut look = |_, frame: &[u8]| has_arrived |= frame == probe;
        ports.poll(Some(Duration::from_millis(100)), &mut look).unwrap();
        if has_arrived {
            return;
        }
    }
    panic!("no frame crosses the cable");
}

#[test]
fn frames_cross_a_veth_pair_in_order_and_unchanged() {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    ip("link add left type veth peer name right");
    ip("link set left up mtu 9000");
    ip("link set right up mtu 9000");
    let mut ports = Ports::open(&["left", "right"], None).unwrap();
    await_cable(&mut ports);
    let refused_before = ports.refused(0);

    let frame = |k: u16, length: usize| {
        let mut frame = vec![0u8; length];
        frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        frame[12..14].copy_from_slice(&0x88b5u16.to_be_bytes());
        frame[14..16].copy_from_slice(&k.to_be_bytes());
        frame
    };
    let sent: Vec<_> = (0..100).map(|k| frame(k, 60 + 80 * usize::from(k))).collect();
    for frame in &sent {
        ports.send(0, frame);
    }
    ports.flush();
    let got = receive(&mut ports, sent.len());
    assert_eq!(got.len(), sent.len());
    assert!(got.iter().all(|(port, _)| *port == 1), "a port does not hear itself");
    assert!(got.iter().map(|(_, frame)| frame).eq(sent.iter()));

    // A tagged frame arrives with its tag, which the kernel reports beside the frame.
    let mut tagged = frame(7, 64);
    tagged.splice(12..12, [0x81, 0x00, 0x20, 0x05]);
    ports.send(1, &tagged);
    ports.flush();
    assert_eq!(receive(&mut ports, 1), vec![(0, tagged)]);
    assert_eq!((ports.refused(0), ports.refused(1)), (refused_before, 0));

    let waker = ports.waker();
    waker.wake();
    waker.wake();
    ports.poll(None, &mut |_, _| {}).unwrap();
}

#[test]
fn a_missing_interface_is_named() {
    let error = Ports::open(&["no-such-if"], None).err().unwrap();
    assert!(error.to_string().starts_with("interface no-such-if: "), "{error}");
}
