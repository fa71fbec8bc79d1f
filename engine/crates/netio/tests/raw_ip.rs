// SPDX-License-Identifier: Apache-2.0
//! Raw IP sockets on the loopback of a network namespace of the test's own. Needs root.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;

use nix::sched::{CloneFlags, unshare};
use slotwise_netio::{RawIpError, RawIpSocket, Sent};

const PROTOCOL: u8 = 253;
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

fn in_new_namespace() -> bool {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return false;
    }
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).status();
    assert!(up.expect("ip(8) is installed").success());
    true
}

fn packet(source: Ipv4Addr, destination: Ipv4Addr, payload: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 24, 0, 0, 0x40, 0, 64, PROTOCOL, 0, 0];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend([payload; 4]);
    packet
}

/// Payloads that wait, once something does.
fn received(socket: &RawIpSocket) -> Vec<u8> {
    let (never, _other) = UnixStream::pair().unwrap();
    socket.wait(false, never.as_fd(), None).unwrap();
    let mut buffer = [0; 100];
    let mut payloads = Vec::new();
    while let Some(length) = socket.receive(&mut buffer).unwrap() {
        assert_eq!(length, 24);
        payloads.push(buffer[20]);
    }
    payloads
}

#[test]
fn packets_pass_and_a_peer_hears_only_its_peer() {
    if !in_new_namespace() {
        return;
    }
    let any = RawIpSocket::listen(PROTOCOL, HERE, None).unwrap();
    let choosy = RawIpSocket::listen(PROTOCOL, HERE, Some(ELSEWHERE)).unwrap();
    let connected = RawIpSocket::connect(PROTOCOL, HERE).unwrap();
    assert_eq!(connected.local(), HERE);
    for (source, payload) in [(HERE, 1), (ELSEWHERE, 2)] {
        assert_eq!(
            connected.send(&packet(source, HERE, payload), HERE).unwrap(),
            Sent::Taken
        );
    }
    assert_eq!(received(&any), [1, 2]);
    assert_eq!(received(&choosy), [2]);
}

#[test]
fn a_readable_stop_ends_the_wait() {
    if !in_new_namespace() {
        return;
    }
    let socket = RawIpSocket::listen(PROTOCOL, HERE, None).unwrap();
    let (stop, mut signal) = UnixStream::pair().unwrap();
    std::io::Write::write_all(&mut signal, b"x").unwrap();
    socket.wait(false, stop.as_fd(), None).unwrap();
    assert_eq!(socket.receive(&mut [0; 10]).unwrap(), None);
}

#[test]
fn errors_name_the_address_and_what_it_must_be() {
    if !in_new_namespace() {
        return;
    }
    for address in [[0, 0, 0, 0], [224, 0, 0, 1], [255; 4], [192, 0, 2, 1]].map(Ipv4Addr::from) {
        let Err(RawIpError::Local { address: named, .. }) = RawIpSocket::listen(PROTOCOL, address, None) else {
            panic!("listens at {address}");
        };
        assert_eq!(named, address);
        assert!(matches!(
            RawIpSocket::connect(PROTOCOL, address),
            Err(RawIpError::Peer { .. })
        ));
    }
    let socket = RawIpSocket::listen(PROTOCOL, HERE, None).unwrap();
    let too_long = vec![0x45; 65_536];
    assert_eq!(
        socket.send(&too_long, HERE).unwrap_err().raw_os_error(),
        Some(nix::libc::EMSGSIZE)
    );
}
