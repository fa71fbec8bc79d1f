// SPDX-License-Identifier: Apache-2.0
//! What is sealed: messages of GTP, behind a byte of 0, and what the ends say of files. Numbers are big-endian.
//!
//! ```text
//! 0 | a message of GTP
//! 1 | kind:8 | x:16 | transfer:32 | ...
//!   get    1, x 0                  | name: 1 to 1024 bytes of UTF-8
//!   put    2, x payload of a block | bytes:64 | SHA-256:256 | name
//!   wait   3, x 0
//!   have   4, x payload of a block | bytes:64 | SHA-256:256
//!   take   5, x 0                  | offset:64
//!   no     6, x reason
//!   done   7, x verdict
//!   heard  8, x 0
//!   close  9, x 0                  (of the channel; transfer 0)
//! ```

use std::fmt;

use slotwise_units::Bytes;

/// First byte of a message of GTP.
pub const IS_GTP: u8 = 0;
/// Longest name of a file, bytes.
pub const MAX_NAME_BYTES: usize = 1024;

const IS_CONTROL: u8 = 1;
const HEADER_BYTES: usize = 8;
const ENTRY_BYTES: usize = HEADER_BYTES + 8 + 32;

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// Why an end does not do what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// There is no such file, or it may not be had.
    Missing,
    /// A file of that name is there already.
    Exists,
    /// It takes no files, or none of that name.
    Forbidden,
    /// It is longer than what is taken.
    TooLong,
    /// Too many transfers.
    Busy,
    /// It cannot be read or written there.
    Storage,
    /// A transfer of this file is under way, or has not been given up yet.
    UnderWay,
}

impl Reason {
    const ALL: [Reason; 7] = [
        Reason::Missing,
        Reason::Exists,
        Reason::Forbidden,
        Reason::TooLong,
        Reason::Busy,
        Reason::Storage,
        Reason::UnderWay,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Reason::Missing => "no such file",
            Reason::Exists => "file exists already",
            Reason::Forbidden => {
                "upload not allowed; expected a server with --take and an existing directory for the name"
            }
            Reason::TooLong => "file exceeds the size limit of the receiver (--max-bytes)",
            Reason::Busy => "too many transfers; try again later",
            Reason::Storage => "file cannot be read or written at the peer",
            Reason::UnderWay => {
                "another transfer to this name is in progress; an interrupted one expires after the --timeout-s of the receiver (default 10 s)"
            }
        })
    }
}

/// What a sink says at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It has the file, and its SHA-256 is the sender's.
    Whole,
    /// The SHA-256 is another.
    Differs,
    /// It could not be written.
    Storage,
}

impl Verdict {
    const ALL: [Verdict; 3] = [Verdict::Whole, Verdict::Differs, Verdict::Storage];
}

/// What is said of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control<'a> {
    /// I want this file.
    Get {
        /// Its name below the other's directory.
        name: &'a str,
    },
    /// I have a file for you.
    Put {
        /// Most bytes of it in a data message.
        block_bytes: u16,
        /// Its length.
        bytes: Bytes,
        /// Its SHA-256.
        digest: Digest,
        /// Its name below the other's directory.
        name: &'a str,
    },
    /// I am at it.
    Wait,
    /// This is what you asked for.
    Have {
        /// Most bytes of it in a data message.
        block_bytes: u16,
        /// Its length.
        bytes: Bytes,
        /// Its SHA-256.
        digest: Digest,
    },
    /// I take it, from this byte on.
    Take {
        /// Bytes that are there.
        offset: u64,
    },
    /// I do not.
    No {
        /// Why.
        reason: Reason,
    },
    /// I have all of it.
    Done {
        /// And it is what it should be, or not.
        verdict: Verdict,
    },
    /// I know that you are done.
    Heard,
    /// I close this channel; its transfers end as they are.
    Close,
}

/// A message that means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what}; expected {expected}")]
pub struct ControlError {
    what: &'static str,
    expected: &'static str,
}

fn check(is_right: bool, what: &'static str, expected: &'static str) -> Result<(), ControlError> {
    if is_right {
        return Ok(());
    }
    Err(ControlError { what, expected })
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|index| bytes[at + index]))
}

fn name(bytes: &[u8]) -> Result<&str, ControlError> {
    let is_possible = (1..=MAX_NAME_BYTES).contains(&bytes.len());
    check(is_possible, "name length", "1 to 1024 bytes")?;
    std::str::from_utf8(bytes).map_err(|_| ControlError {
        what: "name",
        expected: "UTF-8",
    })
}

/// Block, length and SHA-256 of a file.
fn entry(bytes: &[u8], block_bytes: u16) -> Result<(u16, Bytes, Digest), ControlError> {
    check(bytes.len() >= ENTRY_BYTES, "message length", "48 bytes plus a name")?;
    check(block_bytes > 0, "block payload", "above 0")?;
    let digest = Digest(std::array::from_fn(|index| bytes[HEADER_BYTES + 8 + index]));
    Ok((block_bytes, Bytes::new(word(bytes, HEADER_BYTES)), digest))
}

fn nth<T: Copy>(all: &[T], x: u16, what: &'static str) -> Result<T, ControlError> {
    let found = usize::from(x).checked_sub(1).and_then(|at| all.get(at)).copied();
    found.ok_or(ControlError {
        what,
        expected: "a known code",
    })
}

impl<'a> Control<'a> {
    /// Reads what was sealed, whose first byte is not [`IS_GTP`]: the transfer, and what is said of it.
    ///
    /// # Errors
    /// When it is longer or shorter than its kind, or a field has a value that means nothing.
    pub fn decode(bytes: &'a [u8]) -> Result<(u32, Control<'a>), ControlError> {
        check(bytes.len() >= HEADER_BYTES, "message length", "at least 8 bytes")?;
        check(bytes[0] == IS_CONTROL, "first byte", "0 or 1")?;
        let x = u16::from_be_bytes([bytes[2], bytes[3]]);
        let transfer = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let nothing = || check(x == 0, "reserved field", "0");
        let exactly = |length: usize| check(bytes.len() == length, "message length", "the length of its type");
        let control = match bytes[1] {
            1 => {
                nothing()?;
                let name = name(&bytes[HEADER_BYTES..])?;
                Control::Get { name }
            }
            2 => {
                let (block_bytes, length, digest) = entry(bytes, x)?;
                let name = name(&bytes[ENTRY_BYTES..])?;
                Control::Put {
                    block_bytes,
                    bytes: length,
                    digest,
                    name,
                }
            }
            3 => {
                nothing().and(exactly(HEADER_BYTES))?;
                Control::Wait
            }
            4 => {
                let (block_bytes, length, digest) = entry(bytes, x)?;
                exactly(ENTRY_BYTES)?;
                Control::Have {
                    block_bytes,
                    bytes: length,
                    digest,
                }
            }
            5 => {
                nothing().and(exactly(HEADER_BYTES + 8))?;
                let offset = word(bytes, HEADER_BYTES);
                Control::Take { offset }
            }
            6 => {
                exactly(HEADER_BYTES)?;
                let reason = nth(&Reason::ALL, x, "reason")?;
                Control::No { reason }
            }
            7 => {
                exactly(HEADER_BYTES)?;
                let verdict = nth(&Verdict::ALL, x, "verdict")?;
                Control::Done { verdict }
            }
            8 => {
                nothing().and(exactly(HEADER_BYTES))?;
                Control::Heard
            }
            9 => {
                nothing().and(exactly(HEADER_BYTES))?;
                check(transfer == 0, "transfer", "0")?;
                Control::Close
            }
            _ => return Err(check(false, "message type", "1 to 9").unwrap_err()),
        };
        Ok((transfer, control))
    }

    /// Appends the message of `transfer` to `out`. A name must be 1 to [`MAX_NAME_BYTES`] bytes long.
    pub fn encode(&self, transfer: u32, out: &mut Vec<u8>) {
        let place = |all: usize| all as u16 + 1;
        let (kind, x) = match self {
            Control::Get { .. } => (1, 0),
            Control::Put { block_bytes, .. } => (2, *block_bytes),
            Control::Wait => (3, 0),
            Control::Have { block_bytes, .. } => (4, *block_bytes),
            Control::Take { .. } => (5, 0),
            Control::No { reason } => (6, place(*reason as usize)),
            Control::Done { verdict } => (7, place(*verdict as usize)),
            Control::Heard => (8, 0),
            Control::Close => (9, 0),
        };
        out.extend([IS_CONTROL, kind]);
        out.extend(x.to_be_bytes());
        out.extend(transfer.to_be_bytes());
        match self {
            Control::Get { name } => out.extend(name.as_bytes()),
            Control::Put {
                bytes, digest, name, ..
            } => {
                out.extend(bytes.get().to_be_bytes());
                out.extend(digest.0);
                out.extend(name.as_bytes());
            }
            Control::Have { bytes, digest, .. } => {
                out.extend(bytes.get().to_be_bytes());
                out.extend(digest.0);
            }
            Control::Take { offset } => out.extend(offset.to_be_bytes()),
            Control::Wait | Control::No { .. } | Control::Done { .. } | Control::Heard | Control::Close => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn controls(name: &str, block_bytes: u16, bytes: Bytes) -> Vec<Control<'_>> {
        let digest = Digest([8; 32]);
        let mut controls = vec![
            Control::Get { name },
            Control::Put {
                block_bytes,
                bytes,
                digest,
                name,
            },
            Control::Wait,
            Control::Have {
                block_bytes,
                bytes,
                digest,
            },
            Control::Take { offset: bytes.get() },
            Control::Heard,
            Control::Close,
        ];
        controls.extend(Reason::ALL.map(|reason| Control::No { reason }));
        controls.extend(Verdict::ALL.map(|verdict| Control::Done { verdict }));
        controls
    }

    fn encoded(transfer: u32, control: &Control) -> Vec<u8> {
        let mut out = Vec::new();
        control.encode(transfer, &mut out);
        out
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(transfer: u32, name in "[^\u{0}]{1,200}", block_bytes in 1u16.., bytes: u64) {
            for control in controls(&name, block_bytes, Bytes::new(bytes)) {
                let transfer = if control == Control::Close { 0 } else { transfer };
                let bytes = encoded(transfer, &control);
                prop_assert_eq!(Control::decode(&bytes), Ok((transfer, control)));
            }
        }

        /// No two messages mean the same.
        #[test]
        fn what_is_read_is_written_as_it_was(which in 0usize..17, at: usize, bit in 0u8..8, cut in 0usize..3, random in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut changed = encoded(3, &controls("name", 1400, Bytes::new(77))[which]);
            let length = changed.len();
            changed[at % length] ^= 1 << bit;
            changed.truncate(length - cut);
            let framed: Vec<u8> = [IS_CONTROL, bit + 1].into_iter().chain(random.clone()).collect();
            for bytes in [changed, random, framed] {
                if let Ok((transfer, control)) = Control::decode(&bytes) {
                    prop_assert_eq!(encoded(transfer, &control), bytes);
                }
            }
        }
    }

    #[test]
    fn a_name_has_bounds() {
        for (length, is_taken) in [
            (0, false),
            (1, true),
            (MAX_NAME_BYTES, true),
            (MAX_NAME_BYTES + 1, false),
        ] {
            let name = "n".repeat(length);
            let bytes = encoded(1, &Control::Get { name: &name });
            assert_eq!(Control::decode(&bytes).is_ok(), is_taken, "{length}");
        }
    }
}
