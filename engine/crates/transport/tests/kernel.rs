// SPDX-License-Identifier: Apache-2.0
//! Against the kernel's TCP, over a TUN device in a network namespace of its own. Needs root and /dev/net/tun; says
//! so and passes where it has not got them.
#![cfg(target_os = "linux")]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::thread;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use slotwise_transport::content::{Pattern, PatternCheck, Sink, Source};
use slotwise_transport::{Algorithm, Endpoint, Event, Receiver, ReceiverConfig, Sender, SenderConfig};
use slotwise_units::{Bytes, Duration, Instant};

const KERNEL: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 9, 0, 1), 5001);
const OURS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 9, 0, 2), 40_001);
const BYTES: Bytes = Bytes::new(1_000_000);

/// A TUN device in a fresh network namespace, into which the calling thread moves.
fn open_tun() -> io::Result<File> {
    // SAFETY: no pointers; only this thread changes its namespace.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let tun = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: ifreq is plain data for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"swtun0") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
    // SAFETY: the descriptor is open and `request` outlives the call.
    if unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF as _, &request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    for arguments in ["addr add 10.9.0.1/24 dev swtun0", "link set swtun0 up"] {
        let status = Command::new("ip").args(arguments.split(' ')).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("ip {arguments}: {status}")));
        }
    }
    Ok(tun)
}

/// Runs `work` with a TUN device, in a thread whose namespace dies with it.
fn in_namespace(work: impl FnOnce(File) + Send + 'static) {
    let test = move || match open_tun() {
        Ok(tun) => work(tun),
        Err(error) => eprintln!("skipped, needs root, /dev/net/tun and ip: {error}"),
    };
    if let Err(panic) = thread::spawn(test).join() {
        std::panic::resume_unwind(panic);
    }
}

/// Drives `endpoint` by the wall clock until both directions are closed; loses packets both ways.
fn drive(endpoint: &mut dyn Endpoint, tun: &mut File, loss: f64, seed: u64) -> Vec<Event> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let start = std::time::Instant::now();
    let elapsed = || Instant::from_ns(start.elapsed().as_nanos() as u64);
    let mut events = Vec::new();
    let mut packet = vec![0; 65_536];
    let mut out = Vec::new();
    loop {
        let now = elapsed();
        assert!(now < Instant::ZERO + Duration::from_s(60), "stuck after {events:?}");
        match tun.read(&mut packet) {
            // IPv6 neighbours and the like are not for us.
            Ok(length) if length > 0 && packet[0] >> 4 == 4 => {
                if !rng.random_bool(loss) {
                    endpoint.handle_segment(now, &packet[..length]);
                }
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let due = endpoint.poll_timeout().unwrap_or(Instant::MAX).saturating_since(now);
                wait(tun, (due / Duration::from_ms(1)).min(100) as i32);
            }
            Err(error) => panic!("TUN: {error}"),
        }
        let now = elapsed();
        endpoint.handle_timeout(now);
        while endpoint.poll_transmit(now, &mut out).is_some() {
            if !rng.random_bool(loss) {
                tun.write_all(&out).expect("the device is up");
            }
        }
        while let Some(event) = endpoint.poll_event() {
            events.push(event);
            if matches!(event, Event::Closed | Event::Aborted(_)) {
                return events;
            }
        }
    }
}

fn wait(tun: &File, timeout_ms: i32) {
    let mut poll = libc::pollfd {
        fd: tun.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&mut poll, 1, timeout_ms) };
}

fn send_to_kernel(algorithm: Algorithm, sack: bool, loss: f64) {
    in_namespace(move |mut tun| {
        let listener = TcpListener::bind(KERNEL).unwrap();
        let peer = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            received
        });
        let mut config = SenderConfig::new(OURS, KERNEL, algorithm);
        config.packet_bytes = 1500;
        config.sack = sack;
        config.rto.min = Duration::from_ms(50);
        config.initial_sequence = 0xfffc_0000;
        let mut sender = Sender::new(config, Some(BYTES), Pattern::new(3)).unwrap();
        let events = drive(&mut sender, &mut tun, loss, 11);
        assert_eq!(events, [Event::Connected, Event::Finished, Event::Closed]);
        let received = peer.join().unwrap();
        let mut check = PatternCheck::new(Pattern::new(3));
        check.write(0, &received);
        assert_eq!((check.bytes(), check.wrong()), (BYTES, Bytes::ZERO));
        let stats = sender.stats();
        assert_eq!((stats.malformed, stats.unexpected), (0, 0));
        assert!(loss == 0.0 || stats.retransmissions > 0, "{stats:?}");
    });
}

#[test]
fn the_kernel_takes_what_newreno_sends() {
    send_to_kernel(Algorithm::NewReno, false, 0.0);
    send_to_kernel(Algorithm::NewReno, false, 0.02);
}

#[test]
fn the_kernel_takes_what_cubic_with_sack_sends() {
    send_to_kernel(Algorithm::Cubic, true, 0.0);
    send_to_kernel(Algorithm::Cubic, true, 0.02);
}

#[test]
fn the_receiver_takes_what_the_kernel_sends() {
    for (sack, loss) in [(true, 0.0), (false, 0.02), (true, 0.02)] {
        in_namespace(move |mut tun| {
            let peer = thread::spawn(move || {
                let mut content = vec![0; BYTES.get() as usize];
                Pattern::new(3).read(0, &mut content);
                let mut stream = TcpStream::connect(OURS).unwrap();
                stream.write_all(&content).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let rest = stream.read(&mut content).unwrap();
                assert_eq!(rest, 0, "our FIN");
            });
            let mut config = ReceiverConfig::new(OURS);
            config.mss_bytes = 1460;
            config.sack = sack;
            config.delayed_ack = Some(Duration::from_ms(40));
            let mut receiver = Receiver::new(config, PatternCheck::new(Pattern::new(3))).unwrap();
            let events = drive(&mut receiver, &mut tun, loss, 12);
            assert_eq!(events, [Event::Connected, Event::Finished, Event::Closed]);
            peer.join().unwrap();
            let check = receiver.sink();
            assert_eq!((check.bytes(), check.wrong()), (BYTES, Bytes::ZERO));
            assert_eq!((receiver.stats().malformed, receiver.stats().in_order), (0, BYTES));
        });
    }
}
