// SPDX-License-Identifier: Apache-2.0
//! What the two ends of a transfer say to each other beside the file: an offer before it, an answer on a connection of
//! its own. Layouts are in docs/transports.md, "xfer". Numbers are big-endian.

pub use slotwise_gtp::Digest;
use slotwise_units::Bytes;

const OFFER_MAGIC: [u8; 4] = *b"SWXO";
const ANSWER_MAGIC: [u8; 4] = *b"SWXA";
const VERSION: u8 = 1;

/// Drawn by the sender for one transfer; who does not see its packets cannot answer for the receiver.
pub type TransferId = [u8; 16];

/// A message that is not one of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}: invalid {field}; expected {expected}, got {found}")]
pub struct MessageError {
    message: &'static str,
    field: &'static str,
    found: String,
    expected: String,
}

/// What comes before the file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    pub id: TransferId,
    /// The sender's port for the answer.
    pub answer_port: u16,
    /// Length of the file.
    pub bytes: Bytes,
    pub digest: Digest,
}

impl Offer {
    pub const SIZE: usize = 64;

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        out[..4].copy_from_slice(&OFFER_MAGIC);
        out[4] = VERSION;
        out[6..8].copy_from_slice(&self.answer_port.to_be_bytes());
        out[8..24].copy_from_slice(&self.id);
        out[24..32].copy_from_slice(&self.bytes.get().to_be_bytes());
        out[32..].copy_from_slice(&self.digest.0);
        out
    }

    /// # Errors
    /// When it is of another kind or version, or names port 0.
    pub fn decode(bytes: &[u8; Self::SIZE]) -> Result<Offer, MessageError> {
        const MESSAGE: &str = "offer";
        check_kind(MESSAGE, bytes, OFFER_MAGIC)?;
        let answer_port = u16::from_be_bytes([bytes[6], bytes[7]]);
        if answer_port == 0 {
            return Err(MessageError {
                message: MESSAGE,
                field: "reply port",
                found: "0".into(),
                expected: "1 to 65535".into(),
            });
        }
        Ok(Offer {
            id: part(bytes, 8),
            answer_port,
            bytes: Bytes::new(u64::from_be_bytes(part(bytes, 24))),
            digest: Digest(part(bytes, 32)),
        })
    }
}

/// How a transfer ended at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The file is there, under its name.
    Stored = 0,
    /// What arrived is not what was offered.
    Differs = 1,
    /// Longer than the receiver takes.
    TooLong = 2,
    /// The receiver cannot write it.
    NotWritten = 3,
}

impl Status {
    const ALL: [Status; 4] = [Status::Stored, Status::Differs, Status::TooLong, Status::NotWritten];
}

/// What the receiver says at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Of the offer.
    pub id: TransferId,
    pub status: Status,
    /// Of what the receiver has stored; zeros if it has stored nothing.
    pub digest: Digest,
}

impl Answer {
    pub const SIZE: usize = 56;

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        out[..4].copy_from_slice(&ANSWER_MAGIC);
        out[4] = VERSION;
        out[5] = self.status as u8;
        out[8..24].copy_from_slice(&self.id);
        out[24..].copy_from_slice(&self.digest.0);
        out
    }

    /// # Errors
    /// When it is of another kind, version or status.
    pub fn decode(bytes: &[u8; Self::SIZE]) -> Result<Answer, MessageError> {
        const MESSAGE: &str = "answer";
        check_kind(MESSAGE, bytes, ANSWER_MAGIC)?;
        let status = Status::ALL.into_iter().find(|status| *status as u8 == bytes[5]);
        Ok(Answer {
            id: part(bytes, 8),
            status: status.ok_or_else(|| MessageError {
                message: MESSAGE,
                field: "status",
                found: bytes[5].to_string(),
                expected: "0 to 3".into(),
            })?,
            digest: Digest(part(bytes, 24)),
        })
    }
}

fn check_kind<const N: usize>(message: &'static str, bytes: &[u8; N], magic: [u8; 4]) -> Result<(), MessageError> {
    let wrong = |field, found: &[u8], expected: &[u8]| MessageError {
        message,
        field,
        found: found.escape_ascii().to_string(),
        expected: expected.escape_ascii().to_string(),
    };
    if bytes[..4] != magic {
        return Err(wrong("kind", &bytes[..4], &magic));
    }
    if bytes[4] != VERSION {
        return Err(wrong("version", &bytes[4..5], &[VERSION]));
    }
    Ok(())
}

/// `LENGTH` bytes of a message from `at` on. Both are constants of a layout that has them.
fn part<const LENGTH: usize, const N: usize>(bytes: &[u8; N], at: usize) -> [u8; LENGTH] {
    std::array::from_fn(|k| bytes[at + k])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        Offer {
            id: *b"0123456789abcdef",
            answer_port: 50_001,
            bytes: Bytes::new(1 << 40),
            digest: Digest(std::array::from_fn(|k| k as u8)),
        }
    }

    #[test]
    fn messages_survive_the_wire() {
        assert_eq!(Offer::decode(&offer().encode()), Ok(offer()));
        for status in Status::ALL {
            let answer = Answer {
                id: offer().id,
                status,
                digest: offer().digest,
            };
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
    }

    #[test]
    fn what_is_not_ours_is_refused_with_the_field() {
        let broken = |at: usize, value: u8| {
            let mut bytes = offer().encode();
            bytes[at] = value;
            bytes
        };
        let said = |bytes| Offer::decode(&bytes).unwrap_err().to_string();
        assert!(said(broken(3, b'A')).starts_with("offer: invalid kind; expected SWXO, got SWXA"));
        assert!(said(broken(4, 2)).contains("version"));
        let mut portless = broken(6, 0);
        portless[7] = 0;
        assert!(said(portless).contains("invalid reply port; expected 1 to 65535, got 0"));
        let mut answer = [0; Answer::SIZE];
        assert!(Answer::decode(&answer).unwrap_err().to_string().contains("kind"));
        answer[..5].copy_from_slice(b"SWXA\x01");
        assert!(Answer::decode(&answer).is_ok());
        answer[5] = 4;
        assert!(Answer::decode(&answer).unwrap_err().to_string().contains("got 4"));
    }

    #[test]
    fn a_digest_is_shown_as_sha256sum_does() {
        assert!(offer().digest.to_string().starts_with("000102") && offer().digest.to_string().ends_with("1d1e1f"));
    }
}
