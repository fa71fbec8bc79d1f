// SPDX-License-Identifier: Apache-2.0
//! Port numbers in messages: binary strings, or the integers of older clients.

use slotwise_p4::Port;

use crate::bits;
use crate::error::ApiError;

/// Ports of v1model have 9 bits.
const PORT_BITS: u32 = 9;

/// A port as a binary string.
pub(super) fn parse(bytes: &[u8]) -> Result<Port, ApiError> {
    let value = bits::parse(bytes, PORT_BITS).map_err(|error| error.at("port"))?;
    Ok(value.iter().fold(0, |port, byte| port << 8 | Port::from(*byte)))
}

/// A port as a number, which is deprecated.
pub(super) fn parse_number(number: i64) -> Result<Port, ApiError> {
    let port = Port::try_from(number).ok().filter(|port| *port < 1 << PORT_BITS);
    port.ok_or_else(|| ApiError::out_of_range(format!("port {number} is out of range; expected 0..=511")))
}

/// The port's canonical binary string.
pub(super) fn encode(port: Port) -> Vec<u8> {
    bits::canonical(&port.to_be_bytes())
}
