// SPDX-License-Identifier: Apache-2.0
//! Messages of GTP, the payload of UDP. Numbers are big-endian; the first bit tells data from control (IX.1.A).
//!
//! ```text
//! data     1 session:31 | grant:32 | sequence:64 | offset:64 | 1 to 8948 bytes
//! control  0 session:31 | kind:8 | 0:8 | x:16 | ...
//!   request  kind 1, x payload of a full packet | offset:64 | length:64 | wanted b/s:64
//!   grant    kind 2, x 0 | number:32 | 0:32 | b/s:64 | lifetime ns:64
//!   losses   kind 3, x 0 | first lost block:64 | 1 to 1000 bytes: a bit a block, 0 = lost
//!   end      kind 4, x 0 | bytes received:64
//! ```

use slotwise_units::{Bytes, Duration, Rate};

use crate::segment::SegmentError;

/// Bytes of a data message before its payload.
pub const DATA_HEADER_BYTES: usize = 24;
/// Most bytes of a loss list's bitmap.
pub const MAX_BITMAP_BYTES: usize = 1000;
/// Most payload of a data message: what an IP packet of 9000 bytes holds.
pub const MAX_BLOCK_BYTES: usize = 9000 - slotwise_wire::DATAGRAM_HEADER_BYTES - DATA_HEADER_BYTES;
/// Largest session number.
pub const MAX_SESSION: u32 = u32::MAX >> 1;

const IS_DATA: u32 = 1 << 31;
const CONTROL_BYTES: usize = 8;
const REQUEST: u8 = 1;
const GRANT: u8 = 2;
const LOSSES: u8 = 3;
const END: u8 = 4;

/// What a sink wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Payload of a full data message, 1 to [`MAX_BLOCK_BYTES`]: the bytes asked for are numbered in blocks of so many.
    pub block_bytes: u16,
    /// First byte.
    pub offset: u64,
    /// How many; 0: until the end.
    pub length: Bytes,
    /// Most that the sink can use, of IP packets; 0: as much as it gets.
    pub wanted: Rate,
}

/// Header of a data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Number of the last grant that its source has got.
    pub grant: u32,
    /// One more than that of the message before; what is sent again gets a new one.
    pub sequence: u64,
    /// Place of its first byte.
    pub offset: u64,
}

/// What a sink lets a source send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Grows by one; what is not newer than what came before changes nothing.
    pub number: u32,
    /// The rate of IP packets.
    pub rate: Rate,
    /// How long it holds.
    pub lifetime: Duration,
}

/// Which blocks were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossList<'a> {
    /// The first one.
    pub first: u64,
    /// A bit a block from it on, the first bit of a byte first; 0 = lost.
    pub bitmap: &'a [u8],
}

impl LossList<'_> {
    /// The blocks that it names, in their order.
    pub fn blocks(&self) -> impl Iterator<Item = u64> + '_ {
        let bytes = (0..).zip(self.bitmap);
        bytes.flat_map(move |(at, byte)| {
            let bits = (0..8).filter(move |bit| byte & 0x80 >> bit == 0);
            bits.map(move |bit| self.first + at * 8 + bit)
        })
    }
}

/// A message of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// Bytes, at least one.
    Data(Data, &'a [u8]),
    /// From the sink: what it wants.
    Request(Request),
    /// From the sink: how fast.
    Grant(Grant),
    /// From the sink: what to send again.
    Losses(LossList<'a>),
    /// From the sink: that is all; from the source: it has heard that.
    End {
        /// Payload that the sink has.
        received: Bytes,
    },
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes[at..at + 8].iter();
    bytes.fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn half_word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Refuses lengths outside `range`.
fn check_length(
    what: &'static str,
    payload: &[u8],
    range: std::ops::RangeInclusive<usize>,
) -> Result<(), SegmentError> {
    if payload.len() < *range.start() {
        return Err(SegmentError::Truncated {
            what,
            needed: *range.start(),
            found: payload.len(),
        });
    }
    if payload.len() > *range.end() {
        return Err(SegmentError::Field {
            field: what,
            found: payload.len() as u32,
            expected: "the length of its type",
        });
    }
    Ok(())
}

fn check_reserved(found: u32) -> Result<(), SegmentError> {
    if found == 0 {
        return Ok(());
    }
    Err(SegmentError::Field {
        field: "reserved field of GTP message",
        found,
        expected: "0",
    })
}

impl<'a> Message<'a> {
    /// Reads a UDP payload: the session, and what it says.
    ///
    /// # Errors
    /// When it is shorter or longer than its kind, or a field has a value that means nothing.
    pub fn decode(payload: &'a [u8]) -> Result<(u32, Self), SegmentError> {
        check_length(
            "GTP message",
            payload,
            CONTROL_BYTES..=DATA_HEADER_BYTES + MAX_BLOCK_BYTES,
        )?;
        let first = half_word(payload, 0);
        let session = first & MAX_SESSION;
        if first & IS_DATA != 0 {
            check_length(
                "GTP data",
                payload,
                DATA_HEADER_BYTES + 1..=DATA_HEADER_BYTES + MAX_BLOCK_BYTES,
            )?;
            let data = Data {
                grant: half_word(payload, 4),
                sequence: word(payload, 8),
                offset: word(payload, 16),
            };
            return Ok((session, Message::Data(data, &payload[DATA_HEADER_BYTES..])));
        }
        let extra = u16::from_be_bytes([payload[6], payload[7]]);
        let kind = payload[4];
        check_reserved(payload[5].into())?;
        if kind != REQUEST {
            check_reserved(extra.into())?;
        }
        let message = match kind {
            REQUEST => Message::request(payload, extra)?,
            GRANT => {
                check_length("GTP grant", payload, 32..=32)?;
                check_reserved(half_word(payload, 12))?;
                Message::Grant(Grant {
                    number: half_word(payload, 8),
                    rate: Rate::from_bps(word(payload, 16)),
                    lifetime: Duration::from_ns(word(payload, 24)),
                })
            }
            LOSSES => Message::losses(payload)?,
            END => {
                check_length("GTP end", payload, 16..=16)?;
                Message::End {
                    received: Bytes::new(word(payload, 8)),
                }
            }
            other => {
                return Err(SegmentError::Field {
                    field: "GTP message type",
                    found: other.into(),
                    expected: "1 to 4",
                });
            }
        };
        Ok((session, message))
    }

    fn request(payload: &[u8], block_bytes: u16) -> Result<Self, SegmentError> {
        check_length("GTP request", payload, 32..=32)?;
        if !(1..=MAX_BLOCK_BYTES).contains(&usize::from(block_bytes)) {
            return Err(SegmentError::Field {
                field: "GTP request block",
                found: block_bytes.into(),
                expected: "1 to 8948 bytes",
            });
        }
        let (offset, length) = (word(payload, 8), word(payload, 16));
        if offset.checked_add(length).is_none() {
            return Err(SegmentError::Field {
                field: "GTP request length",
                found: u32::MAX,
                expected: "an end below 2^64",
            });
        }
        Ok(Message::Request(Request {
            block_bytes,
            offset,
            length: Bytes::new(length),
            wanted: Rate::from_bps(word(payload, 24)),
        }))
    }

    fn losses(payload: &'a [u8]) -> Result<Self, SegmentError> {
        const HEADER: usize = CONTROL_BYTES + 8;
        check_length("GTP loss list", payload, HEADER + 1..=HEADER + MAX_BITMAP_BYTES)?;
        let list = LossList {
            first: word(payload, CONTROL_BYTES),
            bitmap: &payload[HEADER..],
        };
        let ends = list.first.checked_add(8 * list.bitmap.len() as u64);
        if list.bitmap[0] & 0x80 != 0 || ends.is_none() {
            return Err(SegmentError::Field {
                field: "GTP loss list: first block",
                found: u32::from(list.bitmap[0]),
                expected: "lost blocks, the last one below 2^64",
            });
        }
        Ok(Message::Losses(list))
    }

    /// Appends a message of `session`, at most [`MAX_SESSION`], to `out`.
    pub fn encode(&self, session: u32, out: &mut Vec<u8>) {
        let control = |out: &mut Vec<u8>, kind: u8, extra: u16| {
            out.extend(session.to_be_bytes());
            out.extend([kind, 0]);
            out.extend(extra.to_be_bytes());
        };
        match self {
            Message::Data(data, payload) => {
                out.extend((session | IS_DATA).to_be_bytes());
                out.extend(data.grant.to_be_bytes());
                out.extend(data.sequence.to_be_bytes());
                out.extend(data.offset.to_be_bytes());
                out.extend(*payload);
            }
            Message::Request(request) => {
                control(out, REQUEST, request.block_bytes);
                out.extend(request.offset.to_be_bytes());
                out.extend(request.length.get().to_be_bytes());
                out.extend(request.wanted.bps().to_be_bytes());
            }
            Message::Grant(grant) => {
                control(out, GRANT, 0);
                out.extend(grant.number.to_be_bytes());
                out.extend([0; 4]);
                out.extend(grant.rate.bps().to_be_bytes());
                out.extend(grant.lifetime.ns().to_be_bytes());
            }
            Message::Losses(list) => {
                control(out, LOSSES, 0);
                out.extend(list.first.to_be_bytes());
                out.extend(list.bitmap);
            }
            Message::End { received } => {
                control(out, END, 0);
                out.extend(received.get().to_be_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(session: u32, message: Message) -> Vec<u8> {
        let mut out = Vec::new();
        message.encode(session, &mut out);
        out
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            session in 0..=MAX_SESSION,
            numbers in any::<(u32, u64, u64)>(),
            block_bytes in 1..=MAX_BLOCK_BYTES as u16,
            payload in prop::collection::vec(any::<u8>(), 1..200),
        ) {
            let (small, a, b) = numbers;
            let mut bitmap = payload.clone();
            bitmap[0] &= 0x7f;
            let messages = [
                Message::Data(Data { grant: small, sequence: a, offset: b }, &payload),
                Message::Request(Request { block_bytes, offset: a / 2, length: Bytes::new(b / 2), wanted: Rate::from_bps(a) }),
                Message::Grant(Grant { number: small, rate: Rate::from_bps(a), lifetime: Duration::from_ns(b) }),
                Message::Losses(LossList { first: a / 2, bitmap: &bitmap }),
                Message::End { received: Bytes::new(a) },
            ];
            for message in messages {
                let bytes = encoded(session, message);
                prop_assert_eq!(Message::decode(&bytes), Ok((session, message)));
                // Cut or longer, control is refused, and data is what is left of it.
                prop_assert!(Message::decode(&bytes[..7]).is_err());
                if !matches!(message, Message::Data(..) | Message::Losses(_)) {
                    prop_assert!(Message::decode(&bytes[..bytes.len() - 1]).is_err());
                    prop_assert!(Message::decode(&[&bytes[..], &[0]].concat()).is_err());
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused_and_read_again(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok((session, message)) = Message::decode(&bytes) {
                prop_assert_eq!(encoded(session, message), bytes);
            }
        }
    }

    #[test]
    fn a_list_names_12_mb_of_packets() {
        // IX.1.C: 8000 packets of 1500 bytes.
        let mut bitmap = vec![0xff; MAX_BITMAP_BYTES];
        bitmap[0] = 0x7f;
        bitmap[MAX_BITMAP_BYTES - 1] = 0xfe;
        let list = LossList {
            first: 40,
            bitmap: &bitmap,
        };
        assert_eq!(list.blocks().collect::<Vec<_>>(), [40, 40 + 7999]);
        let message = encoded(1, Message::Losses(list));
        assert!(Message::decode(&message).is_ok());
        assert!(Message::decode(&[&message[..], &[0]].concat()).is_err());
    }

    #[test]
    fn fields_that_mean_nothing_are_refused() {
        let good = |kind| {
            let bitmap = [0x7f];
            let message = match kind {
                REQUEST => Message::Request(Request {
                    block_bytes: 1,
                    offset: 0,
                    length: Bytes::ZERO,
                    wanted: Rate::ZERO,
                }),
                LOSSES => Message::Losses(LossList {
                    first: 0,
                    bitmap: &bitmap,
                }),
                _ => Message::End { received: Bytes::ZERO },
            };
            encoded(3, message)
        };
        let refused = |kind, at: usize, byte: u8| {
            let mut bytes = good(kind);
            assert!(Message::decode(&bytes).is_ok());
            bytes[at] = byte;
            Message::decode(&bytes).is_err()
        };
        assert!(refused(END, 4, 5) && refused(END, 4, 0), "no such kind");
        assert!(refused(END, 5, 1) && refused(END, 7, 1), "reserved");
        assert!(refused(REQUEST, 7, 0), "no payload");
        assert!(refused(REQUEST, 6, 0xff), "more than a packet holds");
        assert!(refused(LOSSES, 16, 0x80), "the first is not lost");
        let mut request = good(REQUEST);
        request[8..24].fill(0xff);
        assert!(Message::decode(&request).is_err(), "ends past 2^64");
    }
}
