// SPDX-License-Identifier: Apache-2.0
//! What a datagram is. Numbers are big-endian; all begin `kind:8 | version:8 (1) | 0:16 | channel:32`.
//!
//! ```text
//! hello   1, channel of who asks  | nonce:128 | zeros to 64 bytes
//! cookie  2, channel of who asks  | period:64 | mac:128
//! open    3, channel of who asks  | nonce:128 | period:64 | mac:128 | 48 bytes of Noise
//! accept  4, channel of who asks  | 52 bytes of Noise: the other channel is in them
//! sealed  5, channel of who gets it | number:64 | what Noise sealed, 16 bytes more than what it holds
//! full    6, channel of who asks  | mac:256
//! ```

/// Version of all formats.
pub const VERSION: u8 = 1;
/// Bytes that protection adds to a message.
pub const SEAL_BYTES: usize = SEALED_HEADER_BYTES + TAG_BYTES;
/// Longest datagram that is read.
pub const MAX_DATAGRAM_BYTES: usize = 9000;
/// Length of a hello, longer than its answer.
pub const HELLO_BYTES: usize = 64;
/// First message of Noise_NNpsk0: a public key and a tag.
pub const NOISE_OPEN_BYTES: usize = 32 + TAG_BYTES;
/// Second message: the same and a channel.
pub const NOISE_ACCEPT_BYTES: usize = 32 + 4 + TAG_BYTES;
/// Bytes before what is sealed.
pub const SEALED_HEADER_BYTES: usize = HEADER_BYTES + 8;
/// An authentication tag.
pub const TAG_BYTES: usize = 16;
/// An HMAC of SHA-256.
pub const MAC_BYTES: usize = 32;

const HEADER_BYTES: usize = 8;
const COOKIE_PACKET_BYTES: usize = HEADER_BYTES + 24;
const OPEN_BYTES: usize = HEADER_BYTES + 16 + 24 + NOISE_OPEN_BYTES;
const ACCEPT_BYTES: usize = HEADER_BYTES + NOISE_ACCEPT_BYTES;
const FULL_BYTES: usize = HEADER_BYTES + MAC_BYTES;

const HELLO: u8 = 1;
const COOKIE: u8 = 2;
const OPEN: u8 = 3;
const ACCEPT: u8 = 4;
const SEALED: u8 = 5;
const FULL: u8 = 6;

/// Drawn by who asks, for one handshake.
pub type Nonce = [u8; 16];

/// Proof that an address gets what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie {
    /// When it was made.
    pub period: u64,
    /// Of that, the address, the channel and the nonce.
    pub mac: [u8; 16],
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// May I speak?
    Hello {
        /// Of who asks.
        channel: u32,
        /// Of this handshake.
        nonce: Nonce,
    },
    /// If this is your address.
    Cookie {
        /// Of who asks.
        channel: u32,
        /// To be sent back.
        cookie: Cookie,
    },
    /// It is, and I have the key.
    Open {
        /// Of who asks.
        channel: u32,
        /// As in its hello.
        nonce: Nonce,
        /// What came back.
        cookie: Cookie,
        /// First message.
        noise: &'a [u8; NOISE_OPEN_BYTES],
    },
    /// So have I.
    Accept {
        /// Of who asked.
        channel: u32,
        /// Second message.
        noise: &'a [u8; NOISE_ACCEPT_BYTES],
    },
    /// A message.
    Sealed {
        /// Of who gets it.
        channel: u32,
        /// Its number, which is the nonce of its protection.
        number: u64,
        /// What was sealed.
        body: &'a [u8],
    },
    /// You have the key, but I have no room.
    Full {
        /// Of who asked.
        channel: u32,
        /// Of that and the nonce, by the key.
        mac: &'a [u8; MAC_BYTES],
    },
}

/// A datagram that is none of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what}; expected {expected}, got {found}")]
pub struct PacketError {
    what: &'static str,
    found: u64,
    expected: &'static str,
}

fn check(is_right: bool, what: &'static str, found: u64, expected: &'static str) -> Result<(), PacketError> {
    if is_right {
        return Ok(());
    }
    Err(PacketError { what, found, expected })
}

fn piece<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|index| bytes[at + index])
}

fn cookie(bytes: &[u8], at: usize) -> Cookie {
    Cookie {
        period: u64::from_be_bytes(piece(bytes, at)),
        mac: piece(bytes, at + 8),
    }
}

impl<'a> Packet<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// When it is longer or shorter than its kind, or of another kind or version.
    pub fn decode(bytes: &'a [u8]) -> Result<Packet<'a>, PacketError> {
        let length = bytes.len() as u64;
        let is_possible = (HEADER_BYTES..=MAX_DATAGRAM_BYTES).contains(&bytes.len());
        check(is_possible, "datagram length", length, "8 to 9000 bytes")?;
        check(bytes[1] == VERSION, "version", bytes[1].into(), "1")?;
        let reserved = u16::from_be_bytes([bytes[2], bytes[3]]);
        check(reserved == 0, "reserved field", reserved.into(), "0")?;
        let channel = u32::from_be_bytes(piece(bytes, 4));
        let exactly = |needed: usize, expected| check(bytes.len() == needed, "datagram length", length, expected);
        Ok(match bytes[0] {
            HELLO => {
                exactly(HELLO_BYTES, "64 bytes (HELLO)")?;
                let padding = &bytes[HEADER_BYTES + 16..];
                check(padding.iter().all(|byte| *byte == 0), "HELLO padding", 1, "0")?;
                let nonce = piece(bytes, HEADER_BYTES);
                Packet::Hello { channel, nonce }
            }
            COOKIE => {
                exactly(COOKIE_PACKET_BYTES, "32 bytes (COOKIE)")?;
                let cookie = cookie(bytes, HEADER_BYTES);
                Packet::Cookie { channel, cookie }
            }
            OPEN => {
                exactly(OPEN_BYTES, "96 bytes (OPEN)")?;
                Packet::Open {
                    channel,
                    nonce: piece(bytes, HEADER_BYTES),
                    cookie: cookie(bytes, HEADER_BYTES + 16),
                    noise: bytes.last_chunk().expect("its length was checked"),
                }
            }
            ACCEPT => {
                exactly(ACCEPT_BYTES, "60 bytes (ACCEPT)")?;
                let noise = bytes.last_chunk().expect("its length was checked");
                Packet::Accept { channel, noise }
            }
            SEALED => {
                let holds = bytes.len() > SEALED_HEADER_BYTES + TAG_BYTES;
                check(holds, "datagram length", length, "at least 33 bytes (SEALED)")?;
                Packet::Sealed {
                    channel,
                    number: u64::from_be_bytes(piece(bytes, HEADER_BYTES)),
                    body: &bytes[SEALED_HEADER_BYTES..],
                }
            }
            FULL => {
                exactly(FULL_BYTES, "40 bytes (FULL)")?;
                let mac = bytes.last_chunk().expect("its length was checked");
                Packet::Full { channel, mac }
            }
            other => return Err(check(false, "datagram type", other.into(), "1 to 6").unwrap_err()),
        })
    }

    /// Appends the datagram to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let mut header = |kind: u8, channel: u32| {
            out.extend([kind, VERSION, 0, 0]);
            out.extend(channel.to_be_bytes());
        };
        match self {
            Packet::Hello { channel, nonce } => {
                header(HELLO, *channel);
                out.extend(nonce);
                out.resize(start + HELLO_BYTES, 0);
            }
            Packet::Cookie { channel, cookie } => {
                header(COOKIE, *channel);
                cookie.encode(out);
            }
            Packet::Open {
                channel,
                nonce,
                cookie,
                noise,
            } => {
                header(OPEN, *channel);
                out.extend(nonce);
                cookie.encode(out);
                out.extend(*noise);
            }
            Packet::Accept { channel, noise } => {
                header(ACCEPT, *channel);
                out.extend(*noise);
            }
            Packet::Sealed { channel, number, body } => {
                header(SEALED, *channel);
                out.extend(number.to_be_bytes());
                out.extend(*body);
            }
            Packet::Full { channel, mac } => {
                header(FULL, *channel);
                out.extend(*mac);
            }
        }
    }
}

impl Cookie {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.period.to_be_bytes());
        out.extend(self.mac);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(packet: &Packet) -> Vec<u8> {
        let mut out = Vec::new();
        packet.encode(&mut out);
        out
    }

    fn examples(channel: u32, number: u64, body: &[u8]) -> Vec<Vec<u8>> {
        let cookie = Cookie {
            period: number,
            mac: [9; 16],
        };
        let nonce = [7; 16];
        let packets = [
            Packet::Hello { channel, nonce },
            Packet::Cookie { channel, cookie },
            Packet::Open {
                channel,
                nonce,
                cookie,
                noise: &[3; NOISE_OPEN_BYTES],
            },
            Packet::Accept {
                channel,
                noise: &[4; NOISE_ACCEPT_BYTES],
            },
            Packet::Sealed { channel, number, body },
            Packet::Full {
                channel,
                mac: &[5; MAC_BYTES],
            },
        ];
        let check = |packet: &Packet| {
            let bytes = encoded(packet);
            assert_eq!(Packet::decode(&bytes).as_ref(), Ok(packet));
            bytes
        };
        packets.iter().map(check).collect()
    }

    #[test]
    fn no_answer_is_longer_than_what_asked() {
        let lengths: Vec<usize> = examples(1, 2, &[0; 17]).iter().map(Vec::len).collect();
        assert_eq!(lengths, [64, 32, 96, 60, 33, 40]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(channel: u32, number: u64, body in prop::collection::vec(any::<u8>(), 17..300)) {
            examples(channel, number, &body);
        }

        /// What is read is written as it was: no two datagrams mean the same.
        #[test]
        fn what_is_read_is_written_as_it_was(kind in 0u8..8, rest in prop::collection::vec(any::<u8>(), 0..120), which in 0usize..6, at in 0usize..100, bit in 0u8..8, cut in 0usize..100) {
            let mut changed = examples(5, 6, &rest.repeat(2).into_iter().chain([0; 17]).collect::<Vec<_>>())[which].clone();
            let length = changed.len();
            changed[at % length] ^= 1 << bit;
            changed.truncate(length.saturating_sub(cut % 3));
            let random: Vec<u8> = [kind, VERSION, 0, 0].into_iter().chain(rest).collect();
            for bytes in [changed, random] {
                if let Ok(packet) = Packet::decode(&bytes) {
                    prop_assert_eq!(encoded(&packet), bytes);
                }
            }
        }
    }
}
