// SPDX-License-Identifier: Apache-2.0
//! How late tunnels to hosts on other machines are: ICMP echoes to the far end of each, which its kernel answers, while a run lasts.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use slotwise_netio::{RawIpError, RawIpSocket};
use slotwise_units as units;

use slotwise_observe::lateness::Tunnel;

/// From one probe to the next.
const PERIOD: Duration = Duration::from_millis(50);
/// A probe that has no answer by then is lost.
const PATIENCE: Duration = Duration::from_secs(1);
const ICMP: u8 = 1;
const ECHO: u8 = 8;
const ECHO_REPLY: u8 = 0;
const IPV4_BYTES: usize = 20;
const ICMP_BYTES: usize = 8;
const PROBE_BYTES: usize = IPV4_BYTES + ICMP_BYTES;
/// Longer answers are cut: what is looked at stands at their beginning, behind the longest header.
const READ_BYTES: usize = 128;

/// Tunnels that are being measured, each by a thread.
#[derive(Default)]
pub struct Tunnels(Vec<Measuring>);

struct Measuring {
    interface: String,
    probe: Ipv4Addr,
    /// The thread ends when it is closed.
    stop: UnixStream,
    thread: JoinHandle<Probes>,
}

impl Tunnels {
    /// Begins to measure these, by interface.
    ///
    /// # Errors
    /// When raw sockets are not allowed, or there is no way to an address.
    pub fn measure(probes: &BTreeMap<String, Ipv4Addr>) -> Result<Tunnels, RawIpError> {
        let measure = |(interface, &probe): (&String, &Ipv4Addr)| {
            let socket = RawIpSocket::connect(ICMP, probe)?;
            let (stop, stopped) = UnixStream::pair().map_err(RawIpError::Open)?;
            // Ours among the echoes of this machine.
            let id = (std::process::id() as u16).wrapping_add(u16::from(probe.octets()[3]));
            let thread = thread::Builder::new().name("tunnel".into());
            let thread = thread.spawn(move || run(&socket, probe, id, &stopped));
            Ok(Measuring {
                interface: interface.clone(),
                probe,
                stop,
                thread: thread.map_err(RawIpError::Open)?,
            })
        };
        let probes: Vec<(&String, &Ipv4Addr)> = probes.iter().collect();
        let measuring: Result<Vec<Measuring>, RawIpError> = probes.into_iter().map(measure).collect();
        Ok(Tunnels(measuring?))
    }

    /// Ends it.
    pub fn finish(self) -> Vec<Tunnel> {
        let end = |measuring: Measuring| {
            drop(measuring.stop);
            let probes = measuring.thread.join().unwrap_or_default();
            probes.summary(measuring.interface, measuring.probe)
        };
        self.0.into_iter().map(end).collect()
    }
}

/// Sends probes and hears answers until `stopped` has ended.
fn run(socket: &RawIpSocket, to: Ipv4Addr, id: u16, stopped: &UnixStream) -> Probes {
    let _ = stopped.set_nonblocking(true);
    let mut probes = Probes::default();
    let mut next = Instant::now();
    let mut buffer = [0; READ_BYTES];
    let has_ended = || matches!(io::Read::read(&mut &*stopped, &mut [0]), Ok(0));
    while !has_ended() {
        let now = Instant::now();
        if now >= next {
            // What cannot be sent is lost.
            let number = probes.send(now);
            let _ = socket.send(&echo(to, id, number), to);
            next = now + PERIOD;
        }
        probes.give_up(now);
        if socket.wait(false, stopped.as_fd(), Some(next - now)).is_err() {
            break;
        }
        // Errors are what routers on the way say of a probe: it is lost.
        while let Ok(Some(length)) = socket.receive(&mut buffer) {
            if let Some(number) = answer(&buffer[..length.min(READ_BYTES)], id) {
                probes.answered(number, Instant::now());
            }
        }
    }
    probes
}

/// An echo request in an IPv4 packet, of which the kernel fills in the rest.
fn echo(to: Ipv4Addr, id: u16, number: u16) -> [u8; PROBE_BYTES] {
    let mut packet = [0; PROBE_BYTES];
    packet[0] = 0x45;
    packet[3] = PROBE_BYTES as u8;
    packet[8] = 64;
    packet[9] = ICMP;
    packet[16..20].copy_from_slice(&to.octets());
    packet[20] = ECHO;
    packet[24..26].copy_from_slice(&id.to_be_bytes());
    packet[26..28].copy_from_slice(&number.to_be_bytes());
    let words = [u16::from(ECHO) << 8, id, number];
    let sum: u32 = words.into_iter().map(u32::from).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    packet[22..24].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    packet
}

/// The number of the probe that an IPv4 packet answers, if it answers one of ours.
fn answer(packet: &[u8], id: u16) -> Option<u16> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let icmp = packet.get(header.max(IPV4_BYTES)..)?;
    let is_ours = *icmp.first()? == ECHO_REPLY && icmp.get(4..6)? == id.to_be_bytes();
    let number = icmp.get(6..8)?;
    is_ours.then(|| u16::from_be_bytes([number[0], number[1]]))
}

/// Probes and their answers.
struct Probes {
    next: u16,
    /// Number and time of those without an answer, by age.
    open: VecDeque<(u16, Instant)>,
    lost: u64,
    round_trips: Histogram<u64>,
}

impl Default for Probes {
    fn default() -> Probes {
        const LONGEST_NS: u64 = PATIENCE.as_nanos() as u64;
        const SIGNIFICANT_DIGITS: u8 = 3;
        Probes {
            next: 0,
            open: VecDeque::new(),
            lost: 0,
            round_trips: Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
                .expect("bounds and digits are allowed"),
        }
    }
}

impl Probes {
    /// One leaves; its number.
    fn send(&mut self, now: Instant) -> u16 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.open.push_back((number, now));
        number
    }

    /// An answer comes. Of an answer that comes twice, or too late, nothing more is counted.
    fn answered(&mut self, number: u16, now: Instant) {
        self.give_up(now);
        if let Some(place) = self.open.iter().position(|(open, _)| *open == number)
            && let Some((_, sent)) = self.open.remove(place)
        {
            self.round_trips.saturating_record((now - sent).as_nanos() as u64);
        }
    }

    /// What has no answer yet and is too old has none.
    fn give_up(&mut self, now: Instant) {
        while self.open.front().is_some_and(|(_, sent)| now - *sent > PATIENCE) {
            self.open.pop_front();
            self.lost += 1;
        }
    }

    fn summary(&self, interface: String, probe: Ipv4Addr) -> Tunnel {
        let answered = self.round_trips.len();
        let time = |ns: u64| (answered > 0).then(|| units::Duration::from_ns(ns));
        Tunnel {
            interface,
            probe,
            probes: answered + self.lost,
            lost: self.lost,
            round_trip_p50_ns: time(self.round_trips.value_at_quantile(0.5)),
            round_trip_p99_ns: time(self.round_trips.value_at_quantile(0.99)),
            round_trip_max_ns: time(self.round_trips.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn far() -> Ipv4Addr {
        Ipv4Addr::new(198, 18, 0, 2)
    }

    #[test]
    fn probes_without_an_answer_within_a_second_are_lost_and_others_timed() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut probes = Probes::default();
        let numbers: Vec<u16> = (0..4).map(|index| probes.send(at(50 * index))).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        probes.answered(1, at(52));
        probes.answered(1, at(53));
        probes.answered(9, at(53));
        probes.answered(3, at(160));
        // The first one is too old, and the third still on its way.
        probes.answered(0, at(1001));
        let Tunnel {
            probes: known,
            lost,
            round_trip_p50_ns,
            round_trip_max_ns,
            ..
        } = probes.summary("t0".into(), far());
        assert_eq!((known, lost), (3, 1));
        assert_eq!(probes.summary("t0".into(), far()).note(), None);
        let ms = |time: Option<units::Duration>| time.unwrap().ns() / 1_000_000;
        assert_eq!((ms(round_trip_p50_ns), ms(round_trip_max_ns)), (2, 10));
        probes.give_up(at(1101));
        assert_eq!(probes.summary("t0".into(), far()).lost, 2);
    }

    #[test]
    fn a_tunnel_that_is_silent_has_no_times() {
        let silent = Probes::default().summary("t0".into(), far());
        assert_eq!(silent.summary(), "  tunnel        t0: 0 of 0 probes lost\n");
        assert_eq!(silent.note(), None);
        let dead = Tunnel {
            probes: 3,
            lost: 3,
            ..silent.clone()
        };
        let note = dead.note().unwrap();
        assert!(note.starts_with("tunnel t0: no response from 198.18.0.2"), "{note}");
        assert_eq!(
            serde_json::to_value(&silent).unwrap(),
            serde_json::json!({"interface": "t0", "probe": "198.18.0.2", "probes": 0, "lost": 0})
        );
    }

    #[test]
    fn an_echo_is_answered_by_its_number_and_nothing_else_is_an_answer() {
        let mut packet = echo(far(), 0x1234, 0xfffe);
        let sum: u32 = packet[20..]
            .chunks(2)
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "RFC 1071");
        assert_eq!(answer(&packet, 0x1234), None, "a request");
        packet[20] = ECHO_REPLY;
        assert_eq!(answer(&packet, 0x1234), Some(0xfffe));
        assert_eq!(answer(&packet, 0x1235), None, "of another");
        for cut in 0..packet.len() {
            assert_eq!(answer(&packet[..cut], 0x1234), None, "cut at {cut}");
        }
        for first in 0..=u8::MAX {
            packet[0] = first;
            let found = answer(&packet, 0x1234);
            assert!(found.is_none() || usize::from(first & 0xf) * 4 <= IPV4_BYTES, "{first}");
        }
    }
}
