// SPDX-License-Identifier: Apache-2.0
//! Frames between two raw ports over a veth pair in a network namespace of the test's own. Needs root.

use std::process::Command;
use std::time::Duration;

use nix::libc;
use nix::sched::{CloneFlags, unshare};
use slotwise_netio::{Ports, Renewal, WallClock, WhenFull};

/// linux/if_packet.h.
const PACKET_VNET_HDR: libc::c_int = 15;

fn ip(arguments: &str) {
    command("ip", arguments);
}

fn command(name: &str, arguments: &str) {
    let status = Command::new(name)
        .args(arguments.split(' '))
        .status()
        .expect("iproute2 is installed");
    assert!(status.success(), "{name} {arguments}");
}

/// A numbered frame.
fn frame(k: u16, length: usize) -> Vec<u8> {
    let mut frame = vec![0u8; length];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&0x88b5u16.to_be_bytes());
    frame[14..16].copy_from_slice(&k.to_be_bytes());
    frame
}

/// Polls until `count` frames came or a generous time is over.
fn receive(ports: &mut Ports, count: usize) -> Vec<(usize, Vec<u8>)> {
    let clock = WallClock::start();
    let mut got = Vec::new();
    while got.len() < count && clock.now().ns() < 10_000_000_000 {
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

/// More than the kernel takes for an interface that sends a frame in 9 ms.
#[test]
fn what_a_slow_interface_has_no_room_for_stays_and_goes_later() {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    ip("link add left type veth peer name right");
    ip("link set left up mtu 9000");
    ip("link set right up mtu 9000");
    let mut far = Ports::open(&["right"], None).unwrap();
    // The first makes the socket wait, the second loses in its own queue, of three frames, what it is given.
    for queue in ["limit 10000000", "limit 30kb"] {
        let mut ports = Ports::open_with(&["left"], None, WhenFull::Keep).unwrap();
        let mut probe = Ports::open(&["left", "right"], None).unwrap();
        await_cable(&mut probe);
        command(
            "tc",
            &format!("qdisc replace dev left root tbf rate 8mbit burst 10kb {queue}"),
        );
        let sent: Vec<_> = (0..40).map(|k| frame(k, 9000)).collect();
        let (mut next, mut has_stalled) = (0, false);
        let mut got = Vec::new();
        let clock = WallClock::start();
        while got.len() < sent.len() && clock.now().ns() < 20_000_000_000 {
            while next < sent.len() && !ports.senders().is_stalled(0) {
                ports.send(0, &sent[next]);
                next += 1;
            }
            ports.flush();
            has_stalled |= ports.senders().is_stalled(0);
            ports.poll(Some(Duration::from_millis(20)), &mut |_, _| {}).unwrap();
            let mut take = |_, frame: &[u8]| {
                if frame[12..14] == [0x88, 0xb5] {
                    got.push(frame.to_vec());
                }
            };
            far.poll(Some(Duration::ZERO), &mut take).unwrap();
        }
        assert!(has_stalled, "{queue}");
        assert!(
            got == sent,
            "{queue}: {} of {} frames, or another order",
            got.len(),
            sent.len()
        );
        assert_eq!(ports.refused(0), 0, "{queue}");
        command("tc", "qdisc del dev left root");
    }
}

#[test]
fn a_port_goes_on_with_an_interface_made_anew() {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    let make = |number: &str| {
        ip(&format!("link add left{number} type veth peer name right"));
        ip("link set left up");
        ip("link set right up");
    };
    make("");
    let mut ports = Ports::open(&["left", "right"], None).unwrap();
    await_cable(&mut ports);
    let mut openers = [ports.opener(0), ports.opener(1)];
    let number = nix::net::if_::if_nametoindex("left").unwrap();
    assert!(matches!(openers[0].look(), Ok(Renewal::Same)));
    ip("link del left");
    assert!(matches!(openers[0].look(), Ok(Renewal::Gone)));
    ports.poll(Some(Duration::ZERO), &mut |_, _| {}).unwrap();
    // A new one may have the old one's number.
    make(&format!(" index {number}"));
    for (port, opener) in openers.iter_mut().enumerate() {
        let Ok(Renewal::Renewed(opened)) = opener.look() else {
            panic!("port {port} is on an interface that has gone");
        };
        ports.replace(port, opened);
        assert!(matches!(opener.look(), Ok(Renewal::Same)));
    }
    await_cable(&mut ports);
}

#[test]
fn an_interface_that_is_missing_at_first_gets_its_port_when_it_appears() {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    assert!(Ports::open_existing(&["name-of-16-bytes"], WhenFull::Lose).is_err());
    let (mut ports, missing) = Ports::open_existing(&["left", "lo", "right"], WhenFull::Lose).unwrap();
    assert_eq!(missing, [0, 2]);
    let mut openers = [ports.opener(0), ports.opener(2)];
    assert!(matches!(openers[0].look(), Ok(Renewal::Gone)));
    ports.send(0, &frame(1, 60));
    ports.flush();
    assert_eq!(ports.refused(0), 1);
    ports.poll(Some(Duration::ZERO), &mut |_, _| {}).unwrap();
    ip("link add left type veth peer name right");
    ip("link set left up");
    ip("link set right up");
    for (opener, port) in openers.iter_mut().zip([0, 2]) {
        let Ok(Renewal::Renewed(opened)) = opener.look() else {
            panic!("port {port} has not found its interface");
        };
        ports.replace(port, opened);
    }
    await_cable(&mut ports);
}

/// Sends TCP data as one super-frame to be cut into segments of `segment` bytes, as any host may.
fn send_super_frame(interface: &str, payload_bytes: usize, segment: u16) {
    let headers_bytes = 14 + 20 + 20;
    let mut message = vec![1, 1];
    for word in [headers_bytes, segment, 34, 16] {
        message.extend(word.to_ne_bytes());
    }
    message.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    message.extend([0x45, 0]);
    message.extend(((40 + payload_bytes) as u16).to_be_bytes());
    message.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    message.extend([0, 7, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    message.extend(vec![7; payload_bytes]);
    let index = nix::net::if_::if_nametoindex(interface).unwrap();
    // SAFETY: plain system calls; the pointers are to locals that outlive each call, with their sizes.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0);
        assert!(fd >= 0);
        let on: libc::c_int = 1;
        let size = |bytes: usize| bytes as libc::socklen_t;
        let option = (&raw const on).cast();
        let set = libc::setsockopt(fd, libc::SOL_PACKET, PACKET_VNET_HDR, option, size(size_of_val(&on)));
        assert_eq!(set, 0);
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index as i32;
        let to = (&raw const address).cast();
        let sent = libc::sendto(
            fd,
            message.as_ptr().cast(),
            message.len(),
            0,
            to,
            size(size_of_val(&address)),
        );
        assert_eq!(sent, message.len() as isize, "{}", std::io::Error::last_os_error());
        libc::close(fd);
    }
}

#[test]
fn a_super_frame_of_many_segments_does_not_hold_up_a_poll() {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    ip("link add left type veth peer name right");
    ip("link set left up");
    ip("link set right up");
    let mut ports = Ports::open(&["left", "right"], None).unwrap();
    await_cable(&mut ports);
    // The first is not cut at all, the others are, into 938 frames each.
    send_super_frame("left", 60_000, 1);
    for _ in 0..3 {
        send_super_frame("left", 60_000, 64);
    }
    let mut sequences = Vec::new();
    while sequences.len() < 3 * 938 {
        let mut frames = 0;
        let mut take = |_, frame: &[u8]| {
            frames += 1;
            if frame[12..14] == [8, 0] {
                sequences.push(u32::from_be_bytes([frame[38], frame[39], frame[40], frame[41]]));
            }
        };
        ports.poll(None, &mut take).unwrap();
        // Of each of the two ports.
        assert!(frames <= 2 * 256, "{frames} frames in one poll");
    }
    let expected = (0..3).flat_map(|_| (0..938).map(|k| k * 64));
    assert!(sequences.into_iter().eq(expected));
    assert_eq!(ports.unreadable(), 1);
}
