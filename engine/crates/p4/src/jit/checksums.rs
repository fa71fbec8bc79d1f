// SPDX-License-Identifier: Apache-2.0
//! Checksums that the architecture verifies and updates.

use super::emitter::{Emitter, Result};
use super::runtime::Call;
use crate::hash::Algorithm;
use crate::ir::{Calculation, CalculationInput, Checksum, FieldRef, HeaderId};
use crate::value::mask;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, Value};

/// The header and the fields of an Internet checksum over fields of one header.
fn plain_fields(calculation: &Calculation) -> Option<(HeaderId, Vec<FieldRef>)> {
    if calculation.algorithm != Algorithm::Csum16 {
        return None;
    }
    let fields = calculation.input.iter().map(|input| match input {
        CalculationInput::Field(field) if !field.variable => Some(*field),
        _ => None,
    });
    let fields: Vec<FieldRef> = fields.collect::<Option<_>>()?;
    let header = fields.first()?.header;
    let bits: u64 = fields.iter().map(|field| u64::from(field.width)).sum();
    // So that the sum of the 16-bit words and its first fold fit easily.
    let short = bits < 1 << 16;
    (short && fields.iter().all(|field| field.header == header)).then_some((header, fields))
}

impl<'ir> Emitter<'_, 'ir> {
    /// 1 if every checksum that applies is right.
    pub fn verify_checksums(&mut self) -> Result<Value> {
        let right = self.builder.declare_var(I64);
        let one = self.constant(1);
        self.builder.def_var(right, one);
        for checksum in &self.ir.verify_checksums {
            self.check_size()?;
            let (check, on) = (self.block(), self.block());
            let applies = self.applies(checksum)?;
            let valid = self.valid(checksum.target.header)?;
            let zero = self.constant(0);
            let applies = self.builder.ins().select(valid, applies, zero);
            self.branch(applies, check, on);
            self.switch_to(check);
            let computed = self.calculate(checksum.calculation)?;
            let found = self.word(checksum.target.slot)?;
            let equal = self.compare(IntCC::Equal, computed, found);
            let before = self.builder.use_var(right);
            let after = self.builder.ins().band(before, equal);
            self.builder.def_var(right, after);
            self.jump(on);
            self.switch_to(on);
        }
        Ok(self.builder.use_var(right))
    }

    /// Writes every checksum that applies.
    pub fn update_checksums(&mut self) -> Result<()> {
        for checksum in &self.ir.update_checksums {
            self.check_size()?;
            let (update, on) = (self.block(), self.block());
            let applies = self.applies(checksum)?;
            self.branch(applies, update, on);
            self.switch_to(update);
            let computed = self.calculate(checksum.calculation)?;
            let computed = self.masked(computed, mask(checksum.target.width));
            self.store_word(checksum.target.slot, computed)?;
            self.jump(on);
            self.switch_to(on);
        }
        Ok(())
    }

    fn applies(&mut self, checksum: &'ir Checksum) -> Result<Value> {
        match &checksum.condition {
            Some(condition) => self.expr(condition),
            None => Ok(self.constant(1)),
        }
    }

    fn calculate(&mut self, calculation: usize) -> Result<Value> {
        let Some((header, fields)) = plain_fields(&self.ir.calculations[calculation]) else {
            let calculation = self.constant(calculation as u64);
            return self.call_value(Call::Calculate, &[calculation]);
        };
        let mut sum = self.constant(0);
        let mut at_bit = 0;
        for field in fields {
            sum = self.add_field(sum, field, at_bit)?;
            at_bit += field.width;
        }
        // Fields of an invalid header are left out.
        let valid = self.valid(header)?;
        let zero = self.constant(0);
        sum = self.builder.ins().select(valid, sum, zero);
        for _ in 0..3 {
            let low = self.masked(sum, 0xffff);
            let high = self.builder.ins().ushr_imm(sum, 16);
            sum = self.builder.ins().iadd(low, high);
        }
        let inverted = self.builder.ins().bnot(sum);
        Ok(self.masked(inverted, 0xffff))
    }

    /// Adds the parts of a field to the 16-bit words in which they lie.
    fn add_field(&mut self, mut sum: Value, field: FieldRef, at_bit: u32) -> Result<Value> {
        let end = at_bit + field.width;
        let mut from = at_bit;
        while from < end {
            // The part in the word that `from` lies in, but not over the edge of a limb.
            let word_end = (from / 16 + 1) * 16;
            let limb = (end - from - 1) / 64;
            let limb_end = end - limb * 64;
            let to = word_end.min(end).min(limb_end);
            let value = self.word(field.slot + limb as usize)?;
            let shifted = self.builder.ins().ushr_imm(value, i64::from(limb_end - to));
            let part = self.masked(shifted, mask(to - from));
            let part = self.builder.ins().ishl_imm(part, i64::from(word_end - to));
            sum = self.builder.ins().iadd(sum, part);
            from = to;
        }
        Ok(sum)
    }
}
