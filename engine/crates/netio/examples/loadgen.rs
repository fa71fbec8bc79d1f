// SPDX-License-Identifier: Apache-2.0
//! Offers UDP frames of 64 bytes to a switch at a chosen rate and says what came out at the other side.
//!
//! `scripts/bench-switch` runs it. Sender and sink are raw sockets in two network namespaces. One line of JSON says how many frames
//! were sent and how many arrived and, with `--latency`, how long one in 16 took: from the moment before a frame is handed to the kernel
//! to the moment in which the kernel has it at the other side, so that waking the reader does not count. The others are counted
//! unread, so that the reader leaves the processor to the switch.

use std::fs::File;
use std::io;
use std::mem;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use nix::sched::{CloneFlags, setns};
use nix::time::{ClockId, clock_gettime};

const FRAME_BYTES: usize = 64;
const UDP_PORT: u16 = 9;
/// Source port of frames whose time is taken, and which ones they are.
const TIMED_PORT: u16 = 10;
const TIMED_EVERY: u64 = 16;
const SOURCE_PORT_AT: usize = 34;
const FLOWS: usize = 200;
/// Where a frame has the time at which it was sent.
const STAMP_AT: usize = 42;
const MAX_BATCH: usize = 32;
/// How long frames may take after the last one was sent.
const DRAIN: Duration = Duration::from_millis(200);
const SINK_BUFFER_BYTES: libc::c_int = 64 << 20;

#[derive(Parser)]
struct Args {
    /// Network namespace and interface that send
    #[arg(long, num_args = 2, value_names = ["NETNS", "IFACE"])]
    from: Vec<String>,
    /// Network namespace and interface at which the frames arrive
    #[arg(long, num_args = 2, value_names = ["NETNS", "IFACE"])]
    to: Vec<String>,
    /// MAC address of the switch, 12 hexadecimal digits
    #[arg(long, value_parser = |text: &str| u64::from_str_radix(text, 16))]
    mac: u64,
    /// First of 200 destinations, which the frames take in turn
    #[arg(long)]
    destination: Ipv4Addr,
    /// Frames a second
    #[arg(long)]
    rate: u64,
    /// How long to send
    #[arg(long)]
    seconds: f64,
    /// Take the time of each frame, which are then sent one by one
    #[arg(long)]
    latency: bool,
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn set(fd: &OwnedFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = mem::size_of_val(&value) as libc::socklen_t;
    // SAFETY: pointer and length describe a live local.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const value).cast(), length) })?;
    Ok(())
}

/// A raw socket at an interface of a namespace; the calling thread stays in that namespace.
fn open(place: &[String], protocol: libc::c_int) -> io::Result<OwnedFd> {
    let [namespace, interface] = place else {
        unreachable!("clap takes two values")
    };
    setns(File::open(Path::new(namespace))?.as_fd(), CloneFlags::CLONE_NEWNET)?;
    let protocol = (protocol as u16).to_be();
    // SAFETY: plain system call; the result is checked and owned at once.
    let fd = unsafe {
        OwnedFd::from_raw_fd(check(libc::socket(
            libc::AF_PACKET,
            libc::SOCK_RAW | libc::SOCK_CLOEXEC,
            0,
        ))?)
    };
    // SAFETY: all-zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = protocol;
    address.sll_ifindex = nix::net::if_::if_nametoindex(interface.as_str())? as libc::c_int;
    let length = mem::size_of_val(&address) as libc::socklen_t;
    // SAFETY: pointer and length describe a live local.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(fd)
}

fn realtime_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).expect("Linux has CLOCK_REALTIME");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

fn frame(args: &Args, number: u64) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..6].copy_from_slice(&args.mac.to_be_bytes()[2..]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 0x10]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let destination = u32::from(args.destination) + (number % FLOWS as u64) as u32;
    let ip_bytes = (FRAME_BYTES - 14) as u16;
    frame[14..26].copy_from_slice(&[0x45, 0, 0, ip_bytes as u8, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame[26..30].copy_from_slice(&[10, 0, 0, 1]);
    frame[30..34].copy_from_slice(&destination.to_be_bytes());
    let sum: u32 = frame[14..34]
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    frame[36..38].copy_from_slice(&UDP_PORT.to_be_bytes());
    frame[38..40].copy_from_slice(&(ip_bytes - 20).to_be_bytes());
    frame
}

/// Sends at the rate for the time; gives how many frames the kernel took and how long it took.
fn send(args: &Args, fd: &OwnedFd) -> (u64, f64) {
    let batch_limit = if args.latency { 1 } else { MAX_BATCH as u64 };
    let mut frames: Vec<_> = (0..FLOWS as u64).map(|number| frame(args, number)).collect();
    let start = Instant::now();
    let (mut offered, mut sent) = (0, 0);
    loop {
        let elapsed = start.elapsed().as_secs_f64();
        if elapsed >= args.seconds {
            return (sent, elapsed);
        }
        let due = (elapsed * args.rate as f64) as u64;
        let batch = due.saturating_sub(offered).min(batch_limit);
        if batch == 0 {
            std::hint::spin_loop();
            continue;
        }
        // SAFETY: all-zero is valid for both structures; the pointers set below are into `frames` and to locals that live on.
        let mut parts: [libc::iovec; MAX_BATCH] = unsafe { mem::zeroed() };
        let mut headers: [libc::mmsghdr; MAX_BATCH] = unsafe { mem::zeroed() };
        for k in 0..batch as usize {
            let number = offered + k as u64;
            let frame = &mut frames[number as usize % FLOWS];
            let is_timed = args.latency && number.is_multiple_of(TIMED_EVERY);
            let source_port = if is_timed { TIMED_PORT } else { UDP_PORT };
            frame[SOURCE_PORT_AT..SOURCE_PORT_AT + 2].copy_from_slice(&source_port.to_be_bytes());
            if is_timed {
                frame[STAMP_AT..STAMP_AT + 8].copy_from_slice(&realtime_ns().to_le_bytes());
            }
            parts[k] = libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: FRAME_BYTES,
            };
            headers[k].msg_hdr.msg_iov = &raw mut parts[k];
            headers[k].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: see above.
        let taken = unsafe {
            libc::sendmmsg(
                fd.as_raw_fd(),
                headers.as_mut_ptr(),
                batch as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        offered += batch;
        sent += taken.max(0) as u64;
    }
}

/// Frames that a socket has seen since the last call, read or not.
fn seen(fd: &OwnedFd) -> io::Result<u64> {
    // SAFETY: all-zero is valid.
    let mut statistics: libc::tpacket_stats = unsafe { mem::zeroed() };
    let mut length = mem::size_of_val(&statistics) as libc::socklen_t;
    // SAFETY: pointers are to live locals.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    })?;
    Ok(u64::from(statistics.tp_packets))
}

/// The socket gets only frames whose time is taken.
fn take_timed_only(fd: &OwnedFd) -> io::Result<()> {
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut program = [
        instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, 0, 0, SOURCE_PORT_AT as u32),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, u32::from(TIMED_PORT)),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, u32::MAX),
        instruction(libc::BPF_RET | libc::BPF_K, 0, 0, 0),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_mut_ptr(),
    };
    let length = mem::size_of_val(&filter) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: pointers and lengths describe live locals; the kernel copies the program.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const filter).cast(), length) })?;
    Ok(())
}

/// Reads frames until `stop`; the time that each took, in ns.
fn take_times(fd: &OwnedFd, stop: &AtomicBool) -> io::Result<Vec<u64>> {
    let mut times = Vec::with_capacity(1 << 20);
    let mut frame = [0u8; 256];
    let mut control = [0u64; 16];
    while !stop.load(Ordering::Relaxed) {
        let mut part = libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: frame.len(),
        };
        // SAFETY: all-zero is valid; the pointers set below are to locals that outlive the call.
        let mut header: libc::msghdr = unsafe { mem::zeroed() };
        header.msg_iov = &raw mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = mem::size_of_val(&control);
        // SAFETY: see above.
        let length = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, 0) };
        if length < 0 {
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => continue,
                error => return Err(error),
            }
        }
        // SAFETY: the kernel filled header and control buffer; the first message is the only one that was asked for.
        let arrival = unsafe {
            let message = libc::CMSG_FIRSTHDR(&raw const header);
            if message.is_null() || (*message).cmsg_type != libc::SCM_TIMESTAMPNS {
                continue;
            }
            std::ptr::read_unaligned(libc::CMSG_DATA(message).cast::<libc::timespec>())
        };
        if length as usize == FRAME_BYTES {
            let stamp = frame[STAMP_AT..]
                .first_chunk()
                .map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let arrival_ns = arrival.tv_sec as u64 * 1_000_000_000 + arrival.tv_nsec as u64;
            times.push(arrival_ns.saturating_sub(stamp));
        }
    }
    Ok(times)
}

fn main() -> io::Result<()> {
    let args = Args::parse();
    let home = File::open(PathBuf::from("/proc/thread-self/ns/net"))?;
    let sink = open(&args.to, libc::ETH_P_IP)?;
    let timed = open(&args.to, libc::ETH_P_IP)?;
    take_timed_only(&timed)?;
    let source = open(&args.from, 0)?;
    setns(home.as_fd(), CloneFlags::CLONE_NEWNET)?;
    set(&source, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
    if args.latency {
        set(&timed, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, SINK_BUFFER_BYTES)?;
        set(&timed, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        let timeout = libc::timeval {
            tv_sec: 0,
            tv_usec: 50_000,
        };
        let length = mem::size_of_val(&timeout) as libc::socklen_t;
        // SAFETY: pointer and length describe a live local.
        check(unsafe {
            libc::setsockopt(
                timed.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const timeout).cast(),
                length,
            )
        })?;
    }
    let stop = AtomicBool::new(false);
    seen(&sink)?;
    let (sent, seconds, times) = thread::scope(|scope| {
        let reader = args.latency.then(|| scope.spawn(|| take_times(&timed, &stop)));
        let (sent, seconds) = send(&args, &source);
        thread::sleep(DRAIN);
        stop.store(true, Ordering::Relaxed);
        let times = reader.map_or(Ok(Vec::new()), |reader| {
            reader.join().expect("the reader does not panic")
        });
        times.map(|times| (sent, seconds, times))
    })?;
    let received = seen(&sink)?;
    let mut times = times;
    times.sort_unstable();
    let percentile = |hundredths: usize| times.get(times.len() * hundredths / 10_000).copied().unwrap_or(0);
    println!(
        "{{\"sent\": {sent}, \"seconds\": {seconds}, \"received\": {received}, \"timed\": {}, \"p50_ns\": {}, \"p99_ns\": {}}}",
        times.len(),
        percentile(5_000),
        percentile(9_900),
    );
    Ok(())
}
