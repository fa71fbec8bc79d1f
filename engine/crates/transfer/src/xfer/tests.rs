// SPDX-License-Identifier: Apache-2.0
//! Both sides against each other in virtual time: no socket, no clock.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use slotwise_units::{Bytes, Duration, Instant};
use tempfile::TempDir;

use super::content::{FileSource, Hashing};
use super::message::{Digest, Offer};
use super::receive::{ReceiveConfig, ReceiveSide};
use super::role::{Role, Step, XferError};
use super::send::{SendConfig, SendSide};

const MS: Duration = Duration::from_ms(1);
const DELAY: Duration = Duration::from_ms(5);
const PORT: u16 = 5253;

/// What happens to the n-th packet between the two.
type Fate = fn(u64) -> bool;

/// A folder, a file to send and both sides.
struct Transfer {
    directory: TempDir,
    send: SendSide,
    receive: ReceiveSide,
    now: Instant,
    sent: u64,
}

struct Ends {
    send: Option<Result<(), XferError>>,
    receive: Option<Result<(), XferError>>,
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

fn offer(path: &Path) -> Offer {
    let file = File::open(path).unwrap();
    let bytes = Bytes::new(file.metadata().unwrap().len());
    let mut hashing = Hashing::default();
    while !hashing.advance(&file, bytes).unwrap() {}
    Offer {
        id: *b"a transfer of us",
        answer_port: 50_001,
        bytes,
        digest: hashing.digest(),
    }
}

fn send_config(host: u8, port: u16) -> SendConfig {
    SendConfig {
        local: [10, 0, 0, host].into(),
        peer: format!("10.0.0.2:{PORT}").parse().unwrap(),
        port,
        packet_bytes: 1500,
        initial_sequences: [0xffff_fff0, 1],
    }
}

impl Transfer {
    fn new(bytes: usize, max_bytes: u64, change: fn(&mut Offer)) -> Transfer {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sent");
        fs::write(&path, content(bytes)).unwrap();
        let mut offer = offer(&path);
        change(&mut offer);
        let config = send_config(1, 50_000);
        let source = FileSource::new(&offer, File::open(&path).unwrap());
        let receive = ReceiveConfig {
            local: config.peer,
            path: directory.path().join("stored"),
            max_bytes: Bytes::new(max_bytes),
        };
        Transfer {
            send: SendSide::new(&config, offer, source).unwrap(),
            receive: ReceiveSide::new(receive, Box::new(|| Ok(7))).unwrap(),
            directory,
            now: Instant::ZERO,
            sent: 0,
        }
    }

    /// Makes the sender say one thing and do another.
    fn lie(&mut self, change: fn(&mut Offer)) {
        let path = self.directory.path().join("sent");
        let mut said = offer(&path);
        change(&mut said);
        let source = FileSource::new(&said, File::open(&path).unwrap());
        self.send = SendSide::new(&send_config(1, 50_000), offer(&path), source).unwrap();
    }

    fn stored(&self) -> PathBuf {
        self.directory.path().join("stored")
    }

    /// Names of the files beside the one that is sent.
    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "sent").collect()
    }

    /// Runs both until they have ended, or for `limit`.
    fn run(&mut self, arrives: Fate, limit: Duration) -> Ends {
        let limit = Instant::ZERO + limit;
        let mut ends = Ends {
            send: None,
            receive: None,
        };
        // (time, to the receiver, packet), by time: all take the same.
        let mut flying: VecDeque<(Instant, bool, Vec<u8>)> = VecDeque::new();
        while self.now < limit && (ends.send.is_none() || ends.receive.is_none()) {
            let now = self.now;
            while flying.front().is_some_and(|(at, ..)| *at <= now) {
                let (_, to_receiver, packet) = flying.pop_front().unwrap();
                // Who has ended hears nothing.
                if to_receiver && ends.receive.is_none() {
                    self.receive.stack().handle_segment(now, &packet);
                } else if !to_receiver && ends.send.is_none() {
                    self.send.stack().handle_segment(now, &packet);
                }
            }
            let mut put = |to_receiver, packet| {
                self.sent += 1;
                if arrives(self.sent) {
                    flying.push_back((now + DELAY, to_receiver, packet));
                }
            };
            let due = [
                turn(&mut self.send, now, &mut ends.send, &mut |packet| put(true, packet)),
                turn(&mut self.receive, now, &mut ends.receive, &mut |packet| {
                    put(false, packet)
                }),
                flying.front().map(|(at, ..)| *at),
            ];
            let Some(next) = due.into_iter().flatten().min() else {
                break;
            };
            self.now = next.max(now + Duration::from_ns(1));
        }
        ends
    }
}

/// One side's turn; when it wants the next.
fn turn<R: Role>(
    role: &mut R,
    now: Instant,
    end: &mut Option<Result<(), XferError>>,
    put: &mut dyn FnMut(Vec<u8>),
) -> Option<Instant> {
    if end.is_some() {
        return None;
    }
    role.stack().handle_timeout(now);
    let mut packet = Vec::new();
    while role.stack().poll_transmit(now, &mut packet).is_some() {
        put(packet.clone());
    }
    match role.step(now) {
        Ok(Step::Done) => *end = Some(Ok(())),
        Err(error) => *end = Some(Err(error)),
        Ok(Step::Again) => return Some(now),
        Ok(Step::Wait { until }) => {
            return [until, role.stack().poll_timeout()].into_iter().flatten().min();
        }
    }
    None
}

fn all(_: u64) -> bool {
    true
}

#[test]
fn files_of_any_length_arrive() {
    for bytes in [0, 1, 1376, 1377, 300_000] {
        let mut transfer = Transfer::new(bytes, 1 << 20, |_| {});
        let ends = transfer.run(all, 100_000 * MS);
        assert!(
            matches!((ends.send, ends.receive), (Some(Ok(())), Some(Ok(())))),
            "{bytes}"
        );
        assert_eq!(fs::read(transfer.stored()).unwrap(), content(bytes));
        assert_eq!(transfer.left(), ["stored"]);
        assert_eq!(transfer.send.stats().retransmissions, 0);
    }
}

#[test]
fn losses_everywhere_are_made_good() {
    let mut transfer = Transfer::new(300_000, 1 << 20, |_| {});
    let ends = transfer.run(|packet| packet % 7 != 3, 1_000_000 * MS);
    assert!(matches!((ends.send, ends.receive), (Some(Ok(())), Some(Ok(())))));
    assert_eq!(fs::read(transfer.stored()).unwrap(), content(300_000));
    assert!(transfer.send.stats().retransmissions > 10);
}

#[test]
fn another_digest_than_offered_fails_on_both_sides_and_leaves_nothing() {
    let mut transfer = Transfer::new(5000, 1 << 20, |offer| offer.digest = Digest([1; 32]));
    let ends = transfer.run(all, 100_000 * MS);
    assert!(matches!(ends.send, Some(Err(XferError::Differs(_)))));
    assert!(matches!(ends.receive, Some(Err(XferError::Differs(_)))));
    drop(transfer.receive);
    assert_eq!(fs::read_dir(transfer.directory.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_too_long_is_refused_before_it_comes() {
    let mut transfer = Transfer::new(20_000_000, 19_999_999, |_| {});
    let ends = transfer.run(all, 100_000 * MS);
    let Some(Err(error)) = ends.send else { panic!("sent") };
    assert!(error.to_string().contains("--max-bytes"), "{error}");
    assert!(matches!(
        ends.receive,
        Some(Err(XferError::TooLong {
            bytes,
            max_bytes
        })) if (bytes, max_bytes) == (Bytes::new(20_000_000), Bytes::new(19_999_999))
    ));
    assert!(transfer.send.stats().sent < Bytes::new(10_000_000));
}

#[test]
fn a_stream_of_another_length_than_offered_fails() {
    for change in [
        |offer: &mut Offer| offer.bytes -= Bytes::new(1),
        |offer: &mut Offer| offer.bytes += Bytes::new(1),
    ] {
        let mut transfer = Transfer::new(5000, 1 << 20, |_| {});
        transfer.lie(change);
        let ends = transfer.run(all, 100_000 * MS);
        assert!(matches!(ends.receive, Some(Err(XferError::Differs(_)))));
        assert!(matches!(ends.send, Some(Err(XferError::Differs(_)))));
    }
}

#[test]
fn a_stream_that_goes_on_too_long_is_cut_off() {
    let mut transfer = Transfer::new(20_000_000, 1 << 30, |_| {});
    transfer.lie(|offer| offer.bytes = Bytes::new(1000));
    let ends = transfer.run(all, 100_000 * MS);
    assert!(matches!(ends.receive, Some(Err(XferError::Differs(_)))));
    assert!(transfer.send.stats().sent < Bytes::new(10_000_000));
}

#[test]
fn the_largest_length_that_can_be_offered_is_a_length() {
    let mut transfer = Transfer::new(5000, u64::MAX, |_| {});
    transfer.lie(|offer| offer.bytes = Bytes::MAX);
    let ends = transfer.run(all, 100_000 * MS);
    assert!(matches!(ends.receive, Some(Err(XferError::Differs(_)))));
}

#[test]
fn who_makes_no_proper_offer_is_turned_away_and_the_next_one_served() {
    let mut transfer = Transfer::new(5000, 1 << 20, |_| {});
    let path = transfer.directory.path().join("sent");
    let good = SendSide::new(
        &send_config(3, 40_000),
        offer(&path),
        FileSource::new(&offer(&path), File::open(&path).unwrap()),
    )
    .unwrap();
    transfer.lie(|offer| offer.answer_port = 0);
    let ends = transfer.run(all, 2_000 * MS);
    assert!(ends.receive.is_none());
    assert_eq!(transfer.receive.turned_away(), 1);
    transfer.send = good;
    let ends = transfer.run(all, 100_000 * MS);
    assert!(matches!((ends.send, ends.receive), (Some(Ok(())), Some(Ok(())))));
}

#[test]
fn a_sender_that_falls_silent_before_its_offer_makes_room() {
    let mut transfer = Transfer::new(5000, 1 << 20, |_| {});
    // Its SYN arrives, and nothing else.
    let ends = transfer.run(|packet| packet == 1, 6_000 * MS);
    assert!(ends.receive.is_none());
    assert_eq!(transfer.receive.turned_away(), 1);
    assert_eq!(transfer.receive.progress(), None);
}

#[test]
fn hostile_packets_change_nothing() {
    let mut transfer = Transfer::new(5000, 1 << 20, |_| {});
    let mut packet = Vec::new();
    transfer.send.stack().poll_transmit(Instant::ZERO, &mut packet).unwrap();
    for cut in 0..packet.len() {
        transfer.receive.stack().handle_segment(Instant::ZERO, &packet[..cut]);
    }
    // No checksum covers the fields of the shim that routers read and write.
    for at in (0..23).chain(40..packet.len()) {
        let mut broken = packet.clone();
        broken[at] ^= 0x10;
        transfer.receive.stack().handle_segment(Instant::ZERO, &broken);
    }
    assert_eq!(
        transfer.receive.step(Instant::ZERO).unwrap(),
        Step::Wait { until: None }
    );
    assert_eq!(transfer.receive.turned_away(), 0);
    assert_eq!(transfer.left().len(), 1, "the temporary file");
}

#[test]
fn a_name_that_was_taken_meanwhile_is_not_overwritten() {
    let mut transfer = Transfer::new(5000, 1 << 20, |_| {});
    fs::write(transfer.stored(), "mine").unwrap();
    let ends = transfer.run(all, 100_000 * MS);
    assert!(matches!(ends.send, Some(Err(XferError::Refused(_)))));
    assert!(matches!(ends.receive, Some(Err(XferError::Exists(_)))));
    assert_eq!(fs::read_to_string(transfer.stored()).unwrap(), "mine");
}
