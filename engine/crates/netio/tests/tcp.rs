// SPDX-License-Identifier: Apache-2.0
//! TCP of two kernels with all offloads on, through a wire made of two ports, in network namespaces of the test's own. Needs root.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;
use slotwise_netio::Ports;

const BYTES: usize = 20_000_000;
const MTU_FRAME: usize = 1514;
const HOSTS: [(&str, [&str; 2]); 2] = [("left", ["10.0.0.1", "fd00::1"]), ("right", ["10.0.0.2", "fd00::2"])];
const PORT: u16 = 4711;

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status();
    assert!(status.expect("ip(8) is installed").success(), "ip {arguments}");
}

/// What is sent: no two segments alike.
fn data() -> Vec<u8> {
    (0..BYTES as u32 / 4)
        .flat_map(|k| k.wrapping_mul(0x9e37_79b9).to_be_bytes())
        .collect()
}

/// One's complement sum by its definition.
fn sum(bytes: &[u8]) -> u64 {
    let pairs = bytes.chunks(2);
    pairs
        .map(|pair| u64::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum()
}

/// Whether the frame is TCP, whose checksum then is right.
fn is_right_tcp(frame: &[u8]) -> bool {
    let (addresses, protocol, tcp) = match u16::from_be_bytes([frame[12], frame[13]]) {
        0x0800 => (&frame[26..34], frame[23], &frame[34..]),
        0x86dd => (&frame[22..54], frame[20], &frame[54..]),
        _ => return false,
    };
    if protocol != 6 {
        return false;
    }
    let total = sum(addresses) + 6 + tcp.len() as u64 + sum(tcp);
    assert_eq!(total % 0xffff, 0, "a wrong checksum");
    true
}

/// Moves the interface into the calling thread's new network and sets it up.
fn become_host(host: usize, moved: &Barrier, thread_id: &std::sync::mpsc::Sender<(usize, i32)>) {
    unshare(CloneFlags::CLONE_NEWNET).expect("root may");
    thread_id.send((host, gettid().as_raw())).expect("the test waits");
    moved.wait();
    let (name, addresses) = HOSTS[host];
    ip(&format!("address add {}/24 dev {name}", addresses[0]));
    ip(&format!("link set {name} up"));
    ip(&format!("address add {}/64 dev {name} nodad", addresses[1]));
}

#[test]
fn kernels_with_offloads_talk_over_frames_of_a_wire() {
    if unshare(CloneFlags::CLONE_NEWNET).is_err() {
        eprintln!("skipped: network namespaces need root");
        return;
    }
    for (name, _) in HOSTS {
        ip(&format!("link add {name} type veth peer name wire-{name}"));
        ip(&format!("link set wire-{name} up"));
    }
    let mut ports = Ports::open(&["wire-left", "wire-right"], None).unwrap();
    let (moved, listening) = (Barrier::new(3), Barrier::new(2));
    let (thread_ids, ids) = std::sync::mpsc::channel();
    let done = AtomicBool::new(false);
    let mut data_frames = 0;
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            become_host(1, &moved, &thread_ids);
            let expected = data();
            for address in HOSTS[1].1 {
                let listener = TcpListener::bind(SocketAddr::new(address.parse::<IpAddr>().unwrap(), PORT)).unwrap();
                listening.wait();
                let mut got = Vec::with_capacity(BYTES);
                listener.accept().unwrap().0.read_to_end(&mut got).unwrap();
                assert!(
                    got == expected,
                    "{} of {BYTES} bytes over {address}, or other ones",
                    got.len()
                );
            }
            done.store(true, Ordering::Relaxed);
        });
        let sender = scope.spawn(|| {
            become_host(0, &moved, &thread_ids);
            for address in HOSTS[1].1 {
                listening.wait();
                let mut stream = TcpStream::connect(SocketAddr::new(address.parse::<IpAddr>().unwrap(), PORT)).unwrap();
                stream.write_all(&data()).unwrap();
            }
        });
        for _ in HOSTS {
            let (host, thread_id) = ids.recv().unwrap();
            ip(&format!("link set {} netns {thread_id}", HOSTS[host].0));
        }
        moved.wait();
        while !done.load(Ordering::Relaxed) && !receiver.is_finished() {
            let forward = &mut |senders: &mut slotwise_netio::Senders, port: usize, frame: &[u8]| {
                assert!(frame.len() <= MTU_FRAME, "{} bytes", frame.len());
                data_frames += u64::from(is_right_tcp(frame) && frame.len() > 1000);
                senders.send(1 - port, frame);
            };
            ports.poll_and_send(Some(Duration::from_millis(20)), forward).unwrap();
            ports.flush();
        }
        receiver.join().unwrap();
        sender.join().unwrap();
    });
    assert!(data_frames as usize >= 2 * BYTES / MTU_FRAME);
    assert_eq!(ports.unreadable(), 0);
}
