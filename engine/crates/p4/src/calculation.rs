// SPDX-License-Identifier: Apache-2.0
//! Checksums and hashes over fields, headers and payload.

use crate::codec::write_bits;
use crate::ir::{Calculation, CalculationInput, Checksum, Ir};
use crate::state::Packet;

/// The value of a calculation. Fields of invalid headers are left out.
pub(crate) fn compute(ir: &Ir, calculation: &Calculation, packet: &mut Packet, payload: &[u8]) -> u64 {
    let mut bytes = std::mem::take(&mut packet.bytes);
    bytes.clear();
    let mut bits = 0;
    for input in &calculation.input {
        match input {
            CalculationInput::Field(field) if packet.is_valid(ir, field.header) => {
                let (width, start) = if field.variable {
                    (packet.words[field.slot] as u32, field.slot + 1)
                } else {
                    (field.width, field.slot)
                };
                push_bits(&mut bytes, &mut bits, width, &packet.words[start..]);
            }
            CalculationInput::Field(_) => {}
            CalculationInput::Constant { value, width } => push_bits(&mut bytes, &mut bits, *width, value),
            CalculationInput::Header(header) if packet.is_valid(ir, *header) => {
                let instance = &ir.layout.headers[*header];
                ir.layout.types[instance.header_type]
                    .codec
                    .emit(&packet.words[instance.base..], &mut bytes);
                bits = bytes.len() * 8;
            }
            CalculationInput::Header(_) => {}
            CalculationInput::Payload => {
                bytes.extend_from_slice(payload);
                bits = bytes.len() * 8;
            }
        }
    }
    let result = calculation.algorithm.compute(&bytes);
    packet.bytes = bytes;
    result
}

fn push_bits(bytes: &mut Vec<u8>, bits: &mut usize, width: u32, limbs: &[u64]) {
    let end = *bits + width as usize;
    bytes.resize(end.div_ceil(8), 0);
    write_bits(bytes, *bits, width, limbs);
    *bits = end;
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
