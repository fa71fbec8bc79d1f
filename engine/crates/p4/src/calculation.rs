// SPDX-License-Identifier: Apache-2.0
//! Checksums and hashes over fields, headers and payload.

use crate::ir::{Calculation, CalculationInput, Checksum, Ir};
use crate::state::Packet;
use crate::value::mask;

/// The value of a calculation. Fields of invalid headers are left out.
pub(crate) fn compute(ir: &Ir, calculation: &Calculation, packet: &mut Packet, payload: &[u8]) -> u64 {
    let mut bits = Bits::in_memory_of(std::mem::take(&mut packet.bytes));
    for input in &calculation.input {
        match input {
            CalculationInput::Field(field) if packet.is_valid(ir, field.header) => {
                let (width, start) = if field.variable {
                    (packet.words[field.slot] as u32, field.slot + 1)
                } else {
                    (field.width, field.slot)
                };
                bits.push(width, &packet.words[start..]);
            }
            CalculationInput::Constant { value, width } => bits.push(*width, value),
            CalculationInput::Header(header) if packet.is_valid(ir, *header) => {
                let instance = &ir.layout.headers[*header];
                ir.layout.types[instance.header_type]
                    .codec
                    .emit(&packet.words[instance.base..], bits.whole_bytes());
            }
            CalculationInput::Field(_) | CalculationInput::Header(_) => {}
            CalculationInput::Payload => bits.whole_bytes().extend_from_slice(payload),
        }
    }
    let bytes = bits.whole_bytes();
    let result = calculation.algorithm.compute(bytes);
    packet.bytes = std::mem::take(bytes);
    result
}

/// Bits one after the other, the first in the highest place of its byte.
struct Bits {
    bytes: Vec<u8>,
    /// Bits that are not in `bytes` yet, the last in the lowest place; what lies above them means nothing.
    pending: u128,
    /// How many are pending: less than 64.
    count: u32,
}

impl Bits {
    fn in_memory_of(mut bytes: Vec<u8>) -> Bits {
        bytes.clear();
        Bits {
            bytes,
            pending: 0,
            count: 0,
        }
    }

    /// The lowest `width` bits of the limbs.
    fn push(&mut self, width: u32, limbs: &[u64]) {
        let mut left = width;
        while left > 0 {
            // The part above a limb's edge first.
            let part = (left - 1) % 64 + 1;
            left -= part;
            self.pending = self.pending << part | u128::from(limbs[(left / 64) as usize] & mask(part));
            self.count += part;
            if self.count >= 64 {
                self.count -= 64;
                let word = (self.pending >> self.count) as u64;
                self.bytes.extend_from_slice(&word.to_be_bytes());
            }
        }
    }

    /// All bytes so far; the last is filled up with zeros.
    fn whole_bytes(&mut self) -> &mut Vec<u8> {
        if self.count > 0 {
            let word = (self.pending << (64 - self.count)) as u64;
            let bytes = self.count.div_ceil(8) as usize;
            self.bytes.extend_from_slice(&word.to_be_bytes()[..bytes]);
            self.count = 0;
        }
        &mut self.bytes
    }
}

/// True if every checksum that applies is right.
pub(crate) fn verify(ir: &Ir, packet: &mut Packet, payload: &[u8]) -> bool {
    let mut right = true;
    for checksum in &ir.verify_checksums {
        if packet.is_valid(ir, checksum.target.header) && applies(ir, checksum, packet) {
            let computed = compute(ir, &ir.calculations[checksum.calculation], packet, payload);
            right &= computed == packet.get(checksum.target);
        }
    }
    right
}

/// Writes every checksum that applies.
pub(crate) fn update(ir: &Ir, packet: &mut Packet, payload: &[u8]) {
    for checksum in &ir.update_checksums {
        if applies(ir, checksum, packet) {
            let computed = compute(ir, &ir.calculations[checksum.calculation], packet, payload);
            packet.set(checksum.target, computed);
        }
    }
}

fn applies(ir: &Ir, checksum: &Checksum, packet: &mut Packet) -> bool {
    match &checksum.condition {
        Some(condition) => packet.env(ir, &[]).eval(condition) != 0,
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::write_bits;
    use rand::{Rng, SeedableRng};

    #[test]
    fn bits_follow_each_other_as_on_the_wire() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        for _ in 0..500 {
            let mut bits = Bits::in_memory_of(vec![7; 3]);
            let (mut expected, mut end) = (Vec::new(), 0);
            for _ in 0..random.random_range(0..12) {
                let width = match random.random_range(0..3) {
                    0 => 8 * random.random_range(0..9),
                    _ => random.random_range(0..200),
                };
                // What lies above a value does not count.
                let limbs: [u64; 4] = random.random();
                bits.push(width, &limbs);
                expected.resize((end + width as usize).div_ceil(8), 0);
                write_bits(&mut expected, end, width, &limbs);
                end += width as usize;
                if random.random_range(0..6) == 0 {
                    bits.whole_bytes().push(0xff);
                    expected.push(0xff);
                    end = expected.len() * 8;
                }
            }
            assert_eq!(*bits.whole_bytes(), expected);
        }
    }
}
