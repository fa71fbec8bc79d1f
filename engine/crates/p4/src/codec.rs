// SPDX-License-Identifier: Apache-2.0
//! Headers between wire and packet state.
//!
//! A header's fields are grouped at load into *chunks*: runs of fields that start and end on a byte and have at
//! most 64 bits, so that a run is one load and a few shifts. What does not fit so goes bit by bit.

use crate::ir::Field;
use crate::value::mask;

/// How a header type lies on the wire.
#[derive(Debug, Default)]
pub(crate) struct Codec {
    chunks: Vec<Chunk>,
    /// Bytes before the variable field, or of the whole header.
    pub fixed_bytes: usize,
    variable: Option<Variable>,
}

#[derive(Debug)]
pub(crate) enum Chunk {
    /// `bytes` bytes at `at`: fields as (offset in the instance, shift, mask).
    Word {
        at: usize,
        bytes: usize,
        fields: Vec<(usize, u32, u64)>,
    },
    /// One field of any width at any bit.
    Bits { at_bit: usize, width: u32, offset: usize },
}

#[derive(Debug)]
struct Variable {
    /// Bit of the header where it starts.
    at_bit: usize,
    offset: usize,
    max_bits: u32,
    /// Fixed bits after it.
    tail: Vec<(usize, u32)>,
}

impl Codec {
    /// Groups `fields`, which lie on the wire in this order.
    pub fn new(fields: &[Field]) -> Codec {
        // What has no bits is not on the wire.
        let fields: Vec<&Field> = fields.iter().filter(|f| f.variable || f.width > 0).collect();
        let fixed_bits: usize = fields.iter().filter(|f| !f.variable).map(|f| f.width as usize).sum();
        let split = fields.iter().position(|f| f.variable).unwrap_or(fields.len());
        let mut codec = Codec {
            chunks: Vec::new(),
            fixed_bytes: fixed_bits.div_ceil(8),
            variable: None,
        };
        let mut at_bit = 0usize;
        let mut rest = &fields[..split];
        while let Some(first) = rest.first() {
            let run = aligned_run(at_bit, rest);
            if run == 0 {
                codec.chunks.push(Chunk::Bits {
                    at_bit,
                    width: first.width,
                    offset: first.offset,
                });
                at_bit += first.width as usize;
                rest = &rest[1..];
                continue;
            }
            let bits: u32 = rest[..run].iter().map(|f| f.width).sum();
            let mut shift = bits;
            let placed = rest[..run].iter().map(|f| {
                shift -= f.width;
                (f.offset, shift, mask(f.width))
            });
            let fields = placed.collect();
            codec.chunks.push(Chunk::Word {
                at: at_bit / 8,
                bytes: bits as usize / 8,
                fields,
            });
            at_bit += bits as usize;
            rest = &rest[run..];
        }
        if let Some(field) = fields.get(split) {
            let tail = fields[split + 1..].iter().map(|f| (f.offset, f.width)).collect();
            codec.variable = Some(Variable {
                at_bit,
                offset: field.offset,
                max_bits: field.width,
                tail,
            });
        }
        codec
    }

    /// Bytes on the wire of the instance `words`.
    pub fn bytes(&self, words: &[u64]) -> usize {
        self.fixed_bytes + self.variable.as_ref().map_or(0, |v| words[v.offset] as usize / 8)
    }

    /// Most bytes on the wire.
    pub fn max_bytes(&self) -> usize {
        self.fixed_bytes + (self.max_variable_bits() as usize).div_ceil(8)
    }

    /// True if there is no variable field: the chunks are the whole header.
    pub fn is_fixed(&self) -> bool {
        self.variable.is_none()
    }

    /// What lies before the variable field, in order.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    /// Most bits of the variable field; 0 if there is none.
    pub fn max_variable_bits(&self) -> u32 {
        self.variable.as_ref().map_or(0, |v| v.max_bits)
    }

    /// Reads a header. `data` has at least its bytes, and `variable_bits` is at most [`Codec::max_variable_bits`].
    pub fn extract(&self, data: &[u8], words: &mut [u64], variable_bits: u32) {
        for chunk in &self.chunks {
            match chunk {
                Chunk::Word { at, bytes, fields } => {
                    let value = load_be(data, *at, *bytes);
                    for &(offset, shift, mask) in fields {
                        words[offset] = value >> shift & mask;
                    }
                }
                Chunk::Bits { at_bit, width, offset } => {
                    read_bits(data, *at_bit, *width, &mut words[*offset..]);
                }
            }
        }
        let Some(variable) = &self.variable else { return };
        words[variable.offset] = u64::from(variable_bits);
        let limbs = crate::value::limbs_for(variable.max_bits);
        let start = variable.offset + 1;
        words[start..start + limbs].fill(0);
        read_bits(data, variable.at_bit, variable_bits, &mut words[start..]);
        let mut at_bit = variable.at_bit + variable_bits as usize;
        for &(offset, width) in &variable.tail {
            read_bits(data, at_bit, width, &mut words[offset..]);
            at_bit += width as usize;
        }
    }

    /// Appends the header to `out`.
    pub fn emit(&self, words: &[u64], out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + self.bytes(words), 0);
        let data = &mut out[start..];
        for chunk in &self.chunks {
            match chunk {
                Chunk::Word { at, bytes, fields } => {
                    let value = fields
                        .iter()
                        .fold(0, |acc, &(offset, shift, _)| acc | words[offset] << shift);
                    data[*at..*at + *bytes].copy_from_slice(&value.to_be_bytes()[8 - *bytes..]);
                }
                Chunk::Bits { at_bit, width, offset } => write_bits(data, *at_bit, *width, &words[*offset..]),
            }
        }
        let Some(variable) = &self.variable else { return };
        let bits = words[variable.offset] as u32;
        write_bits(data, variable.at_bit, bits, &words[variable.offset + 1..]);
        let mut at_bit = variable.at_bit + bits as usize;
        for &(offset, width) in &variable.tail {
            write_bits(data, at_bit, width, &words[offset..]);
            at_bit += width as usize;
        }
    }
}

/// How many of the fields make the longest run of whole bytes, at most 64 bits, from a byte boundary.
fn aligned_run(at_bit: usize, fields: &[&Field]) -> usize {
    if !at_bit.is_multiple_of(8) {
        return 0;
    }
    let (mut bits, mut run) = (0, 0);
    for (index, field) in fields.iter().enumerate() {
        bits += field.width;
        if bits > 64 {
            break;
        }
        if bits % 8 == 0 {
            run = index + 1;
        }
    }
    run
}

/// `bytes` (1..=8) big-endian bytes at `at`.
fn load_be(data: &[u8], at: usize, bytes: usize) -> u64 {
    // One unaligned load wherever eight bytes are there; only the end of a frame goes byte by byte.
    if let Some(eight) = data.get(at..at + 8).and_then(|s| <[u8; 8]>::try_from(s).ok()) {
        return u64::from_be_bytes(eight) >> (64 - 8 * bytes);
    }
    data[at..at + bytes].iter().fold(0, |acc, &b| acc << 8 | u64::from(b))
}

/// Reads `width` bits from bit `at_bit` on into limbs.
pub(crate) fn read_bits(data: &[u8], at_bit: usize, width: u32, limbs: &mut [u64]) {
    let mut remaining = width;
    let mut index = 0;
    while remaining > 0 {
        let take = remaining.min(64);
        let first = at_bit + (remaining - take) as usize;
        limbs[index] = read_word(data, first, take);
        remaining -= take;
        index += 1;
    }
}

/// Reads `width` (1..=64) bits from bit `at_bit` on.
fn read_word(data: &[u8], at_bit: usize, width: u32) -> u64 {
    let end = at_bit + width as usize;
    let bytes = &data[at_bit / 8..end.div_ceil(8)];
    let value = bytes.iter().fold(0u128, |acc, &b| acc << 8 | u128::from(b));
    (value >> (end.div_ceil(8) * 8 - end)) as u64 & mask(width)
}

/// Writes `width` bits from limbs to bit `at_bit` on; the bits there are zero.
pub(crate) fn write_bits(data: &mut [u8], at_bit: usize, width: u32, limbs: &[u64]) {
    let mut remaining = width;
    let mut index = 0;
    while remaining > 0 {
        let take = remaining.min(64);
        let first = at_bit + (remaining - take) as usize;
        let end = first + take as usize;
        let last_byte = end.div_ceil(8);
        let mut value = u128::from(limbs[index] & mask(take)) << (last_byte * 8 - end);
        for byte in data[first / 8..last_byte].iter_mut().rev() {
            *byte |= value as u8;
            value >>= 8;
        }
        remaining -= take;
        index += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::headers::lay_out_fields;

    fn round_trip(widths: &[u32], data: &[u8]) -> Vec<u64> {
        let (fields, words) = lay_out_fields(widths.iter().map(|&w| (w, false)));
        let codec = Codec::new(&fields);
        let mut state = vec![0; words];
        codec.extract(data, &mut state, 0);
        let mut out = Vec::new();
        codec.emit(&state, &mut out);
        assert_eq!(out, &data[..codec.fixed_bytes]);
        fields.iter().map(|f| state[f.offset]).collect()
    }

    #[test]
    fn fields_within_bytes() {
        assert_eq!(round_trip(&[4, 4, 8, 16], &[0x45, 0x02, 0x01, 0x00]), [4, 5, 2, 256]);
        assert_eq!(round_trip(&[3, 13], &[0x40, 0x05]), [2, 5]);
    }

    #[test]
    fn fields_wider_than_a_word() {
        let data: Vec<u8> = (1..=17).collect();
        assert_eq!(round_trip(&[128, 8], &data), [0x090a0b0c0d0e0f10, 0x11]);
    }

    #[test]
    fn fields_that_straddle_words() {
        let data: Vec<u8> = (0..9).map(|i| i * 29 + 3).collect();
        assert_eq!(round_trip(&[4, 64, 4], &data)[2], u64::from(data[8] & 15));
    }

    #[test]
    fn variable_field_has_its_own_length() {
        let (fields, words) = lay_out_fields([(8, false), (80, true), (8, false)]);
        let codec = Codec::new(&fields);
        let mut state = vec![0; words];
        let data = [1, 2, 3, 4, 9];
        codec.extract(&data, &mut state, 24);
        assert_eq!(state[fields[2].offset], 9);
        let mut out = Vec::new();
        codec.emit(&state, &mut out);
        assert_eq!(out, data);
        assert_eq!(codec.max_variable_bits(), 80);
    }
}
