// SPDX-License-Identifier: Apache-2.0
//! Constants and header codecs that the engine shares with P4.
//!
//! `constants` and `headers` are generated from `p4src/include` by `scripts/gen-constants`, [`limits`] from `schema/limits.json` by
//! `scripts/gen-limits`; see `docs/wire-formats.md` for the layouts. A codec reads a header at the front of a byte slice and never
//! panics; fields wider than 32 bits are `u64`, narrower ones the smallest unsigned type that holds them.

mod bits;
#[rustfmt::skip]
mod constants;
#[rustfmt::skip]
mod headers;
pub mod limits;

pub use constants::*;
pub use headers::*;

/// Bytes of UDP's header, of which P4 reads the ports only.
pub const UDP_HEADER_BYTES: usize = 8;
/// What a datagram has before its payload: the headers of IPv4 and UDP.
pub const DATAGRAM_HEADER_BYTES: usize = Ipv4::SIZE + UDP_HEADER_BYTES;

/// A number on the wire that names no member of its enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCode {
    /// The enumeration's name in P4.
    pub enumeration: &'static str,
    /// The number found.
    pub code: u64,
}

impl std::fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} has no code {}", self.enumeration, self.code)
    }
}

impl std::error::Error for UnknownCode {}
