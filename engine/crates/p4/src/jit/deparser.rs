// SPDX-License-Identifier: Apache-2.0
//! The deparser.

use super::MAX_HEADER_BYTES;
use super::emitter::{Emitter, Result, Unsupported, unaligned};
use super::runtime::{Call, Context};
use crate::codec::{Chunk, Codec};
use crate::ir::{HeaderId, Ir, Slot};
use crate::value::limbs_for;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};
use std::mem::offset_of;

/// Fields are written as whole words, so up to so many bytes beyond the end are written too.
const SLACK: usize = 8;

/// Room that the deparser needs at its output.
pub(super) fn room(ir: &Ir) -> Result<usize> {
    let bytes = |&header: &HeaderId| ir.layout.types[ir.layout.headers[header].header_type].codec.max_bytes();
    let most = ir.deparser.iter().map(bytes).try_fold(SLACK, usize::checked_add);
    most.filter(|&most| most <= MAX_HEADER_BYTES)
        .ok_or_else(|| Unsupported::new("the deparser emits very long headers"))
}

/// The header can be written as whole words, from its start to its end.
fn whole_words(codec: &Codec) -> bool {
    codec.is_fixed()
        && codec.chunks().iter().all(|chunk| match chunk {
            Chunk::Word { .. } => true,
            Chunk::Bits { at_bit, width, .. } => at_bit % 8 == 0 && width % 8 == 0,
        })
}

impl Emitter<'_, '_> {
    /// Updates checksums, then writes the valid headers; how many bytes.
    pub fn deparser(&mut self) -> Result<Value> {
        self.update_checksums()?;
        let start = self.context_field(offset_of!(Context, out));
        let to = self.builder.declare_var(I64);
        self.builder.def_var(to, start);
        for &header in &self.ir.deparser {
            self.check_size()?;
            let (emit, on) = (self.block(), self.block());
            let valid = self.valid(header)?;
            self.branch(valid, emit, on);
            self.switch_to(emit);
            let address = self.builder.use_var(to);
            let after = self.emit(header, address)?;
            self.builder.def_var(to, after);
            self.jump(on);
            self.switch_to(on);
        }
        let end = self.builder.use_var(to);
        Ok(self.builder.ins().isub(end, start))
    }

    /// Writes a header; the address after it.
    fn emit(&mut self, header: HeaderId, to: Value) -> Result<Value> {
        let ir = self.ir;
        let instance = &ir.layout.headers[header];
        let codec = &ir.layout.types[instance.header_type].codec;
        if !whole_words(codec) {
            let header = self.constant(header as u64);
            let written = self.call_value(Call::Emit, &[header, to])?;
            return Ok(self.builder.ins().iadd(to, written));
        }
        for chunk in codec.chunks() {
            match chunk {
                Chunk::Word { at, bytes, fields } => {
                    let mut value = self.constant(0);
                    for &(offset, shift, _) in fields {
                        let field = self.word(instance.base + offset)?;
                        let field = self.builder.ins().ishl_imm(field, i64::from(shift));
                        value = self.builder.ins().bor(value, field);
                    }
                    self.store_bytes(value, *bytes, to, *at);
                }
                Chunk::Bits { at_bit, width, offset } => {
                    self.emit_limbs(instance.base + offset, *width, to, at_bit / 8)?;
                }
            }
        }
        Ok(self.builder.ins().iadd_imm(to, codec.fixed_bytes as i64))
    }

    /// Writes a field of whole bytes, most significant limb first.
    fn emit_limbs(&mut self, slot: Slot, width: u32, to: Value, at: usize) -> Result<()> {
        let mut at = at;
        for index in (0..limbs_for(width)).rev() {
            let bytes = (width as usize / 8 - index * 8).min(8);
            let limb = self.word(slot + index)?;
            self.store_bytes(limb, bytes, to, at);
            at += bytes;
        }
        Ok(())
    }

    /// Writes the low `bytes` (1 to 8) bytes of a value, big-endian; what comes after them is overwritten too.
    fn store_bytes(&mut self, value: Value, bytes: usize, to: Value, at: usize) {
        let value = self.builder.ins().ishl_imm(value, (64 - bytes * 8) as i64);
        let value = self.builder.ins().bswap(value);
        self.builder.ins().store(unaligned(), value, to, at as i32);
    }
}
