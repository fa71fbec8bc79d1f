// SPDX-License-Identifier: Apache-2.0
//! Cutting and packing against each other, and against what no sane kernel hands over.

use proptest::prelude::*;

use super::coalesce::Coalescer;
use super::headers::{ACK, CWR, ECE, FIN, PSH, put_u16};
use super::segment::{Frames, LEAST_SEGMENT_BYTES, MAX_TINY_SEGMENTS};
use super::virtio::{BadOffload, Cut, HEADER_BYTES, Offload, PartialChecksum};

const MTU_FRAME: usize = 1514;

/// A TCP stream's headers.
#[derive(Debug, Clone)]
struct Stream {
    is_ipv6: bool,
    sequence: u32,
    id: u16,
    flags: u8,
    /// Words of TCP options.
    options: usize,
}

impl Stream {
    fn tcp_at(&self) -> usize {
        if self.is_ipv6 { 54 } else { 34 }
    }

    /// The super-frame that a kernel would hand over, but for lengths and checksums.
    fn headers(&self) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if self.is_ipv6 {
            frame.extend([0x86, 0xdd, 0x60, 0x12, 0x34, 0x56, 0, 0, 6, 64]);
            frame.extend([0xfd; 32]);
        } else {
            frame.extend([8, 0, 0x45, 0x02, 0, 0]);
            frame.extend(self.id.to_be_bytes());
            frame.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1]);
        }
        frame.extend([0x1f, 0x90, 0x14, 0x51]);
        frame.extend(self.sequence.to_be_bytes());
        frame.extend([
            1,
            2,
            3,
            4,
            ((5 + self.options) as u8) << 4,
            self.flags,
            0xff,
            0xff,
            0,
            0,
            0,
            0,
        ]);
        frame.extend((0..self.options * 4).map(|k| k as u8));
        frame
    }

    /// The frames that carry `payload` in parts of `segment` bytes.
    fn frames(&self, payload: &[u8], segment: u16) -> Vec<Vec<u8>> {
        let mut frame = self.headers();
        frame.extend(payload);
        cut(tcp_offload(self.tcp_at(), segment), &mut frame).expect("a right super-frame")
    }
}

fn tcp_offload(tcp: usize, segment: u16) -> Offload {
    Offload {
        checksum: Some(PartialChecksum {
            start: tcp as u16,
            offset: 16,
        }),
        cut: Some((Cut::Tcp, segment)),
    }
}

pub(super) fn cut(offload: Offload, frame: &mut [u8]) -> Result<Vec<Vec<u8>>, BadOffload> {
    let mut parts = Vec::new();
    let (mut frames, mut room) = (Frames::new(offload, frame)?, Vec::new());
    while let Some(part) = frames.next(frame, &mut room) {
        parts.push(part.to_vec());
    }
    Ok(parts)
}

/// The messages that frames become.
fn pack<'a>(frames: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<Vec<u8>> {
    let mut coalescer = Coalescer::new(MTU_FRAME);
    frames.into_iter().for_each(|frame| coalescer.push(frame));
    let mut parts = Vec::new();
    coalescer.take(|bytes, messages| {
        let mut start = 0;
        for message in messages {
            parts.push(bytes[start..message.end].to_vec());
            start = message.end;
        }
        assert_eq!(start, bytes.len());
        messages.len()
    });
    assert_eq!((coalescer.len(), coalescer.bytes()), (0, 0));
    parts
}

/// The frames that messages stand for.
fn unpack(messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for message in messages {
        let (header, frame) = message.split_first_chunk::<HEADER_BYTES>().expect("a header");
        let offload = Offload::parse(header).expect("a right header");
        frames.extend(cut(offload, &mut frame.to_vec()).expect("a right super-frame"));
    }
    frames
}

fn stream() -> Stream {
    Stream {
        is_ipv6: false,
        sequence: u32::MAX - 5_000,
        id: u16::MAX - 3,
        flags: ACK | PSH,
        options: 3,
    }
}

fn streams() -> impl Strategy<Value = Stream> {
    let flags = prop::sample::subsequence(vec![PSH, FIN, ECE, CWR], 0..=4)
        .prop_map(|flags| flags.into_iter().fold(ACK, |all, flag| all | flag));
    (any::<bool>(), any::<u32>(), any::<u16>(), flags, 0usize..=10).prop_map(
        |(is_ipv6, sequence, id, flags, options)| Stream {
            is_ipv6,
            sequence,
            id,
            flags,
            options,
        },
    )
}

#[test]
fn a_super_frame_becomes_the_frames_of_a_wire() {
    let payload: Vec<u8> = (0..3000u32).map(|k| k as u8).collect();
    let frames = stream().frames(&payload, 1448);
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [1514, 1514, 66 + 104]);
    for (k, frame) in (0u16..).zip(&frames) {
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        assert_eq!(usize::from(word(16)), frame.len() - 14);
        assert_eq!(word(18), (u16::MAX - 3).wrapping_add(k));
        assert_eq!(frame[47] & PSH != 0, k == 2, "PSH in the last one");
        assert_eq!(frame[66..], payload[usize::from(k) * 1448..][..frame.len() - 66]);
        // Ones' complement sums by definition, apart from the code under test.
        let sum = |words: &mut dyn Iterator<Item = u16>| {
            let total = words.map(u32::from).fold(0u32, |a, b| (a + b) % 0xffff);
            assert_eq!(total, 0, "checksum of frame {k}");
        };
        let words = |bytes: &[u8]| {
            let pairs = bytes.chunks(2);
            let words = pairs.map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
            words.collect::<Vec<_>>()
        };
        sum(&mut words(&frame[14..34]).into_iter());
        let pseudo = [words(&frame[26..34]), vec![6, (frame.len() - 34) as u16]].concat();
        sum(&mut pseudo.into_iter().chain(words(&frame[34..])));
    }
}

#[test]
fn frames_of_a_stream_become_one_message() {
    let payload = vec![7; 40_000];
    let frames = stream().frames(&payload, 1448);
    let messages = pack(&frames);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].len(), HEADER_BYTES + 66 + payload.len());
    assert_eq!(unpack(&messages), frames);
}

#[test]
fn super_frames_are_no_longer_than_an_ip_packet() {
    let frames: Vec<_> = (0..3)
        .flat_map(|k| {
            let part = Stream {
                sequence: k * 60_000,
                id: (k * 60) as u16,
                flags: ACK,
                ..stream()
            };
            part.frames(&vec![k as u8; 60_000], 1000)
        })
        .collect();
    let messages = pack(&frames);
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().all(|message| message.len() <= HEADER_BYTES + 65_535));
    assert_eq!(unpack(&messages), frames);
}

/// A change to the second of four frames, and whether its checksums are made right again.
#[test]
fn what_does_not_go_on_stays_apart() {
    let frames = stream().frames(&[1; 4000], 1000);
    assert_eq!(pack(&frames).len(), 1);
    let changes: [(&str, usize, u8); 12] = [
        ("destination MAC", 0, 1),
        ("traffic class", 15, 1),
        ("identification", 19, 1),
        ("fragment", 21, 1),
        ("TTL", 22, 1),
        ("source address", 29, 1),
        ("source port", 35, 1),
        ("sequence", 41, 1),
        ("acknowledgment", 45, 1),
        ("urgent pointer", 53, 1),
        ("SYN", 47, 2),
        ("option", 60, 1),
    ];
    for (what, at, bits) in changes {
        let mut changed = frames.clone();
        changed[1][at] ^= bits;
        repair(&mut changed[1]);
        let messages = pack(&changed);
        assert_eq!(messages.len(), 3, "{what}: first, second, the others");
        assert_eq!(unpack(&messages), changed, "{what}");
    }
    // Wrong checksums, of IP and of TCP, are somebody's evidence: they stay.
    for at in [24, 50, 200] {
        let mut wrong = frames.clone();
        wrong[1][at] ^= 1;
        let messages = pack(&wrong);
        assert_eq!(messages.len(), 3);
        assert_eq!(unpack(&messages), wrong);
    }
}

/// Makes both checksums right.
fn repair(frame: &mut Vec<u8>) {
    put_u16(frame, 50, 0);
    let single = tcp_offload(34, 60_000);
    let id = [frame[18], frame[19]];
    let mut frames = cut(single, frame).expect("still TCP");
    *frame = frames.remove(0);
    frame[18..20].copy_from_slice(&id);
}

#[test]
fn long_frames_and_tagged_ones_stay_single() {
    let long = stream().frames(&[1; 6000], 2000);
    assert_eq!(pack(&long).len(), 3);
    let mut tagged = stream().frames(&[1; 3000], 1000);
    for frame in &mut tagged {
        frame.splice(12..12, [0x81, 0, 0, 5]);
    }
    assert_eq!(unpack(&pack(&tagged)), tagged);
    assert_eq!(pack(&tagged).len(), 3);
}

#[test]
fn a_tagged_super_frame_is_cut_too() {
    let untagged = stream().frames(&[1; 3000], 1000);
    let mut frame = stream().headers();
    frame.extend([1; 3000]);
    frame.splice(12..12, [0x81, 0, 0, 5]);
    let mut frames = cut(tcp_offload(38, 1000), &mut frame).unwrap();
    for frame in &mut frames {
        frame.drain(12..16);
    }
    assert_eq!(frames, untagged);
}

#[test]
fn udp_is_cut_into_datagrams() {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend([0x45, 0, 0, 0, 0, 9, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 1, 1]);
    frame.extend([0, 7, 0, 9, 0, 0, 0, 0]);
    frame.extend([5; 250]);
    let offload = Offload {
        checksum: Some(PartialChecksum { start: 34, offset: 6 }),
        cut: Some((Cut::Udp, 100)),
    };
    let frames = cut(offload, &mut frame).unwrap();
    let lengths = |at: usize| {
        frames
            .iter()
            .map(|f| u16::from_be_bytes([f[at], f[at + 1]]))
            .collect::<Vec<_>>()
    };
    assert_eq!(lengths(16), [128, 128, 78]);
    assert_eq!(lengths(18), [9, 10, 11]);
    assert_eq!(lengths(38), [108, 108, 58]);
    assert_eq!(unpack(&pack(&frames)), frames);
}

#[test]
fn a_partial_checksum_is_finished() {
    let whole = stream().frames(&[9; 333], 1000).remove(0);
    let mut partial = whole.clone();
    // The sum of the pseudo header where the checksum belongs.
    let mut sum = 6 + (whole.len() - 34) as u32;
    for pair in whole[26..34].chunks(2) {
        sum += u32::from(u16::from_be_bytes([pair[0], pair[1]]));
    }
    put_u16(&mut partial, 50, ((sum & 0xffff) + (sum >> 16)) as u16);
    let offload = Offload {
        checksum: Some(PartialChecksum { start: 34, offset: 16 }),
        cut: None,
    };
    assert_eq!(cut(offload, &mut partial), Ok(vec![whole]));
}

#[test]
fn a_super_frame_is_not_cut_into_a_great_many_tiny_segments() {
    let with_payload = |bytes: usize| {
        let mut frame = stream().headers();
        frame.extend(vec![1; bytes]);
        frame
    };
    for (payload_bytes, segment, expected) in [
        (60_000, LEAST_SEGMENT_BYTES as u16, Some(938)),
        (60_000, LEAST_SEGMENT_BYTES as u16 - 1, None),
        (60_000, 1, None),
        (MAX_TINY_SEGMENTS, 1, Some(MAX_TINY_SEGMENTS)),
        (MAX_TINY_SEGMENTS + 1, 1, None),
    ] {
        let frames = cut(tcp_offload(34, segment), &mut with_payload(payload_bytes));
        assert_eq!(
            frames.ok().map(|frames| frames.len()),
            expected,
            "{payload_bytes} in {segment}"
        );
    }
}

#[test]
fn tiny_segments_are_packed_so_that_they_are_cut_again() {
    let tiny: Vec<_> = (0..3)
        .flat_map(|k| {
            let part = Stream {
                sequence: k * 100,
                id: (k * 100) as u16,
                flags: ACK,
                ..stream()
            };
            part.frames(&[k as u8; 100], 1)
        })
        .collect();
    let messages = pack(&tiny);
    assert_eq!(messages.len(), 3);
    assert_eq!(unpack(&messages), tiny);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let frame = || {
        let mut frame = stream().headers();
        frame.extend([1; 3000]);
        frame
    };
    let with = |start, offset, cut| Offload {
        checksum: Some(PartialChecksum { start, offset }),
        cut,
    };
    let cases = [
        ("no payload a segment", with(34, 16, Some((Cut::Tcp, 0)))),
        ("checksum not TCP's", with(34, 6, Some((Cut::Tcp, 1000)))),
        ("TCP in the IP header", with(20, 16, Some((Cut::Tcp, 1000)))),
        ("TCP beyond the end", with(60_000, 16, Some((Cut::Tcp, 1000)))),
        ("TCP header beyond the end", with(3050, 16, Some((Cut::Tcp, 1000)))),
        ("checksum beyond the end", with(3000, 65_535, None)),
        ("checksum's start beyond the end", with(65_535, 0, None)),
        (
            "finished checksums",
            Offload {
                checksum: None,
                cut: Some((Cut::Tcp, 1000)),
            },
        ),
    ];
    for (what, offload) in cases {
        assert!(cut(offload, &mut frame()).is_err(), "{what}");
    }
    let mut not_ip = frame();
    not_ip[12] = 0x55;
    assert!(cut(tcp_offload(34, 1000), &mut not_ip).is_err());
    let mut short_header = frame();
    short_header[46] = 0x40;
    assert!(cut(tcp_offload(34, 1000), &mut short_header).is_err());
    let mut header = [0; HEADER_BYTES];
    header[1] = 3;
    assert!(Offload::parse(&header).is_err(), "fragments of UDP were not asked for");
}

proptest! {
    #[test]
    fn packing_can_be_undone(
        stream in streams(),
        payload in prop::collection::vec(any::<u8>(), 0..20_000),
        segment in 1u16..1400,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..100, any::<u8>()), 0..4),
    ) {
        let mut frames = stream.frames(&payload, segment.max(payload.len() as u16 / 120 + 1));
        for (frame, at, bits) in changes {
            let frame = frame.get_mut(&mut frames);
            if let Some(byte) = frame.get_mut(at) {
                *byte ^= bits;
            }
        }
        prop_assert_eq!(unpack(&pack(&frames)), frames);
    }

    #[test]
    fn any_header_before_any_frame_is_cut_or_refused(
        header in any::<[u8; HEADER_BYTES]>(),
        mut frame in prop::collection::vec(any::<u8>(), 0..300),
        near_tcp in any::<bool>(),
        stream in streams(),
    ) {
        if near_tcp {
            let headers = stream.headers();
            let both = headers.len().min(frame.len());
            frame[..both].copy_from_slice(&headers[..both]);
        }
        if let Ok(offload) = Offload::parse(&header) {
            let before = frame.len();
            if let Ok(frames) = cut(offload, &mut frame) {
                prop_assert!(frames.iter().all(|frame| frame.len() <= before));
            }
        }
    }

    #[test]
    fn any_frames_are_packed_so_that_they_come_back(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..100), 0..20),
    ) {
        prop_assert_eq!(unpack(&pack(&frames)), frames);
    }
}
