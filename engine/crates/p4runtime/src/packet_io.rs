// SPDX-License-Identifier: Apache-2.0
//! Controller headers: between metadata in P4Runtime's messages and bits in front of a frame.

use slotwise_p4::Bits;

use crate::bits;
use crate::error::ApiError;
use crate::p4info::Field;
use crate::proto::p4::v1::PacketMetadata;

/// Longest header that we take, in bytes.
const MAX_BYTES: u64 = 1024;

/// Layout of the header in front of packets from or to PORT_CPU.
#[derive(Debug)]
pub(crate) struct ControllerHeader {
    /// In the order of the header, most significant bits first.
    fields: Vec<Field>,
    bytes: usize,
}

impl ControllerHeader {
    /// A header of these fields, together a whole number of bytes.
    pub fn new(fields: Vec<Field>) -> Result<ControllerHeader, ApiError> {
        let bits: u64 = fields.iter().map(|field| u64::from(field.width)).sum();
        if !bits.is_multiple_of(8) {
            return Err(ApiError::invalid(format!(
                "{bits} bits are not a whole number of bytes; pad the header"
            )));
        }
        if bits > MAX_BYTES * 8 {
            return Err(ApiError::invalid(format!(
                "{bits} bits; expected at most {MAX_BYTES} bytes"
            )));
        }
        Ok(ControllerHeader {
            fields,
            bytes: (bits / 8) as usize,
        })
    }

    /// The frame for the pipeline: header, then payload. Every field has to be there once; padding (its name begins
    /// with `_`, as p4c's own convention has it) may be left out.
    pub fn encode(&self, metadata: &[PacketMetadata], payload: &[u8]) -> Result<Vec<u8>, ApiError> {
        for item in metadata {
            if !self.fields.iter().any(|field| field.id == item.metadata_id) {
                return Err(ApiError::invalid(format!(
                    "packet-out has no metadata with id {}",
                    item.metadata_id
                )));
            }
        }
        let mut frame = vec![0; self.bytes];
        frame.reserve_exact(payload.len());
        let mut offset = 0;
        for field in &self.fields {
            let mut values = metadata.iter().filter(|item| item.metadata_id == field.id);
            match (values.next(), values.next()) {
                (Some(item), None) => {
                    let value = field.parse(&item.value).map_err(|error| error.at(&field.name))?;
                    put(&mut frame, offset, field.width as usize, &value);
                }
                (None, _) if field.name.starts_with('_') => {}
                (None, _) => {
                    return Err(ApiError::invalid(format!(
                        "packet-out metadata {} is missing",
                        field.name
                    )));
                }
                (Some(_), Some(_)) => {
                    return Err(ApiError::invalid(format!(
                        "duplicate packet-out metadata {}",
                        field.name
                    )));
                }
            }
            offset += field.width as usize;
        }
        frame.extend_from_slice(payload);
        Ok(frame)
    }

    /// Metadata and payload of a frame that left by PORT_CPU; `None` if it is shorter than the header.
    pub fn decode<'a>(&self, frame: &'a [u8]) -> Option<(Vec<PacketMetadata>, &'a [u8])> {
        let (header, payload) = frame.split_at_checked(self.bytes)?;
        let mut offset = 0;
        let metadata = self.fields.iter().map(|field| {
            let value = get(header, offset, field.width as usize);
            offset += field.width as usize;
            PacketMetadata {
                metadata_id: field.id,
                value: field.encode(&value),
            }
        });
        Some((metadata.collect(), payload))
    }
}

/// Writes a canonical value that fits `width` bits at a bit offset into zeroed bytes.
fn put(header: &mut [u8], offset: usize, width: usize, value: &[u8]) {
    if width == 0 {
        return;
    }
    let end = offset + width;
    for (index, &byte) in value.iter().rev().enumerate() {
        let last_bit = end - 1 - index * 8;
        let shifted = u16::from(byte) << (7 - last_bit % 8);
        header[last_bit / 8] |= shifted as u8;
        if shifted > 0xff {
            header[last_bit / 8 - 1] |= (shifted >> 8) as u8;
        }
    }
}

/// Reads `width` bits at a bit offset, canonical.
fn get(header: &[u8], offset: usize, width: usize) -> Bits {
    let bit = |index: usize| header[index / 8] >> (7 - index % 8) & 1;
    let mut value = vec![0; width.div_ceil(8)];
    for index in 0..width {
        let from_low = width - 1 - index;
        let byte = value.len() - 1 - from_low / 8;
        value[byte] |= bit(offset + index) << (from_low % 8);
    }
    bits::canonical(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ControllerHeader {
        let field = |id, name: &str, width| Field {
            id,
            name: name.to_owned(),
            width,
            is_text: false,
        };
        ControllerHeader::new(vec![field(1, "port", 9), field(2, "_pad", 7), field(3, "cookie", 48)]).unwrap()
    }

    fn item(metadata_id: u32, value: &[u8]) -> PacketMetadata {
        PacketMetadata {
            metadata_id,
            value: value.to_vec(),
        }
    }

    #[test]
    fn there_and_back() {
        let metadata = [item(1, &[1, 0xfe]), item(2, &[0x55]), item(3, &[1, 2, 3, 4, 5])];
        let frame = header().encode(&metadata, b"payload").unwrap();
        assert_eq!(frame[..8], [0xff, 0x55, 0, 1, 2, 3, 4, 5]);
        let (back, payload) = header().decode(&frame).map(|(m, p)| (m, p.to_vec())).unwrap();
        assert_eq!((back.as_slice(), payload.as_slice()), (&metadata[..], &b"payload"[..]));
    }

    #[test]
    fn fields_without_bits_have_no_place() {
        let field = |id, width| Field {
            id,
            name: id.to_string(),
            width,
            is_text: false,
        };
        let header = ControllerHeader::new(vec![field(1, 0), field(2, 8), field(3, 0)]).unwrap();
        let metadata = [item(1, &[0]), item(2, &[7]), item(3, &[0])];
        let frame = header.encode(&metadata, b"payload").unwrap();
        assert_eq!(frame, b"\x07payload");
        assert_eq!(header.decode(&frame).unwrap().0, metadata);
    }

    #[test]
    fn only_padding_may_be_left_out() {
        assert_eq!(
            header().encode(&[item(3, &[9]), item(1, &[3])], &[]).unwrap(),
            [1, 0x80, 0, 0, 0, 0, 0, 9]
        );
        let wrong: [(&[PacketMetadata], &str); 4] = [
            (&[item(1, &[3])], "cookie is missing"),
            (
                &[item(1, &[3]), item(1, &[3]), item(3, &[9])],
                "duplicate packet-out metadata port",
            ),
            (&[item(1, &[2, 0]), item(3, &[9])], "port: value too large"),
            (&[item(1, &[3]), item(3, &[9]), item(7, &[1])], "no metadata with id 7"),
        ];
        for (metadata, message) in wrong {
            let error = header().encode(metadata, &[]).unwrap_err();
            assert!(error.message.contains(message), "{error}: expected {message}");
        }
    }

    #[test]
    fn short_frames_and_odd_headers_are_refused() {
        assert_eq!(header().decode(&[0; 7]), None);
        assert!(
            ControllerHeader::new(vec![Field {
                id: 1,
                name: "port".to_owned(),
                width: 9,
                is_text: false,
            }])
            .is_err()
        );
    }
}
