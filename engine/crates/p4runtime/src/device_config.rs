// SPDX-License-Identifier: Apache-2.0
//! `p4_device_config`: p4c's JSON as it is, or in the message that controllers made for BMv2 may put it into.

use std::borrow::Cow;

use prost::Message;

/// `p4.tmp.P4DeviceConfig`, as far as it means something here. Its `reassign` asks for what happens anyway, its `extras` are
/// for a switch that has other ways to be told.
#[derive(Clone, PartialEq, Message)]
struct P4DeviceConfig {
    #[prost(bytes = "vec", tag = "3")]
    device_data: Vec<u8>,
}

/// The JSON in a `p4_device_config`. What is neither is given back, for its reader to say what is wrong with it.
pub(crate) fn json(config: &[u8]) -> Cow<'_, [u8]> {
    let first = config.iter().find(|byte| !byte.is_ascii_whitespace());
    if first == Some(&b'{') {
        return Cow::Borrowed(config);
    }
    match P4DeviceConfig::decode(config) {
        Ok(wrapped) if !wrapped.device_data.is_empty() => Cow::Owned(wrapped.device_data),
        _ => Cow::Borrowed(config),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_alone_and_in_its_message() {
        assert_eq!(json(b" {\"a\": 1}"), &b" {\"a\": 1}"[..]);
        // reassign: true; extras: {kv: {"k": "v"}}; device_data: "{}"
        let wrapped = b"\x08\x01\x12\x08\x0a\x06\x0a\x01k\x12\x01v\x1a\x02{}";
        assert_eq!(json(wrapped), &b"{}"[..]);
        assert_eq!(json(b"\x1a\x02{}"), &b"{}"[..]);
        for neither in [&b""[..], b"\x08\x01", b"\x1a\x7f{}", b"not JSON", &[0xff; 40]] {
            assert_eq!(json(neither), neither);
        }
    }
}
