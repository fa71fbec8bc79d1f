// SPDX-License-Identifier: Apache-2.0
//! Parsers, and how headers lie on the wire.

use super::emitter::{Emitter, Result, Unsupported, plain, unaligned};
use super::runtime::{Call, Context};
use crate::codec::{Chunk, Codec};
use crate::ir::{DefaultTransition, HeaderId, KeySource, LastRead, ParseState, ParserOp, Primitive, Target, When};
use crate::parser::MAX_EMPTY_STATES;
use crate::value::{limbs_for, mask};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I16, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Variable;
use std::mem::offset_of;

/// A parser in the making.
struct Run {
    frame: Value,
    frame_bytes: Value,
    /// Bytes parsed.
    at: Variable,
    error: Variable,
    /// Only in parsers that can go round.
    budget: Option<Variable>,
    states: Vec<Block>,
    end: Block,
}

/// A header of a frame, all of whose bytes are there.
#[derive(Clone, Copy)]
struct Wire {
    address: Value,
    bytes: usize,
}

impl<'ir> Emitter<'_, 'ir> {
    /// Runs the parser to its end; the parser's error.
    pub fn parser(&mut self) -> Result<Value> {
        let ir = self.ir;
        let run = Run {
            frame: self.context_field(offset_of!(Context, frame)),
            frame_bytes: self.context_field(offset_of!(Context, frame_bytes)),
            at: self.builder.declare_var(I64),
            error: self.builder.declare_var(I64),
            budget: may_run_out(&ir.parser.states).then(|| self.builder.declare_var(I64)),
            states: ir.parser.states.iter().map(|_| self.block()).collect(),
            end: self.block(),
        };
        let zero = self.constant(0);
        self.builder.def_var(run.at, zero);
        let no_error = self.constant(ir.errors.no_error);
        self.builder.def_var(run.error, no_error);
        if let Some(budget) = run.budget {
            let states = self.builder.ins().iadd_imm(run.frame_bytes, MAX_EMPTY_STATES as i64);
            self.builder.def_var(budget, states);
        }
        self.jump(ir.parser.start.map_or(run.end, |start| run.states[start]));
        for (state, &block) in ir.parser.states.iter().zip(&run.states) {
            self.switch_to(block);
            self.state(state, &run)?;
        }
        self.switch_to(run.end);
        let at = self.builder.use_var(run.at);
        self.set_context_field(offset_of!(Context, at), at);
        Ok(self.builder.use_var(run.error))
    }

    fn state(&mut self, state: &'ir ParseState, run: &Run) -> Result<()> {
        if let Some(budget) = run.budget {
            let left = self.builder.use_var(budget);
            let used_up = self.builder.ins().icmp_imm(IntCC::Equal, left, 0);
            self.fail_if(used_up, self.ir.errors.parser_timeout, run);
            let left = self.builder.ins().iadd_imm(left, -1);
            self.builder.def_var(budget, left);
        }
        for op in &state.ops {
            self.check_size()?;
            self.parser_op(op, run)?;
        }
        let next = |next: Option<usize>| next.map_or(run.end, |state| run.states[state]);
        if state.key.is_empty() {
            self.jump(next(state.default.next()));
            return Ok(());
        }
        let mut key = Vec::new();
        for source in &state.key {
            self.check_size()?;
            self.key_part(source, &mut key, run)?;
        }
        let mut stored = None;
        for case in &state.cases {
            self.check_size()?;
            let matched = match &case.when {
                When::Matches { value, mask } => {
                    let mut different = self.constant(0);
                    for ((&part, &mask), &value) in key.iter().zip(mask).zip(value) {
                        let part = self.masked(part, mask);
                        let wanted = self.constant(value);
                        let difference = self.builder.ins().bxor(part, wanted);
                        different = self.builder.ins().bor(different, difference);
                    }
                    self.builder.ins().icmp_imm(IntCC::Equal, different, 0)
                }
                When::InSet { .. } => {
                    let address = match stored {
                        Some(address) => address,
                        None => self.store_key(&key)?,
                    };
                    stored = Some(address);
                    let words = self.constant(key.len() as u64);
                    let case = self.address_of(case);
                    self.call_value(Call::Matches, &[case, address, words])?
                }
            };
            let on = self.block();
            self.branch(matched, next(case.next), on);
            self.switch_to(on);
        }
        if state.default == DefaultTransition::Missing {
            let as_bmv2 = self.context_field(offset_of!(Context, bmv2_compatible));
            let rejects = self.builder.ins().icmp_imm(IntCC::Equal, as_bmv2, 0);
            self.fail_if(rejects, self.ir.errors.no_match, run);
        }
        self.jump(next(state.default.next()));
        Ok(())
    }

    fn store_key(&mut self, key: &[Value]) -> Result<Value> {
        let address = self.stack_words(key.len())?;
        for (index, &word) in key.iter().enumerate() {
            let offset = i32::try_from(index * 8).map_err(Unsupported::new)?;
            self.builder.ins().store(plain(), word, address, offset);
        }
        Ok(address)
    }

    /// Ends the parser with an error if the condition is not zero.
    fn fail_if(&mut self, condition: Value, error: u64, run: &Run) {
        let (fail, on) = (self.block(), self.block());
        self.branch(condition, fail, on);
        self.switch_to(fail);
        let error = self.constant(error);
        self.builder.def_var(run.error, error);
        self.jump(run.end);
        self.switch_to(on);
    }

    /// Calls the interpreter for something that may fail and may move on in the frame.
    fn call_fallible(&mut self, call: Call, args: &[Value], run: &Run) -> Result<()> {
        let at = self.builder.use_var(run.at);
        self.set_context_field(offset_of!(Context, at), at);
        let failed = self.call_value(call, args)?;
        let at = self.context_field(offset_of!(Context, at));
        self.builder.def_var(run.at, at);
        let (fail, on) = (self.block(), self.block());
        self.branch(failed, fail, on);
        self.switch_to(fail);
        let error = self.context_field(offset_of!(Context, error));
        self.builder.def_var(run.error, error);
        self.jump(run.end);
        self.switch_to(on);
        Ok(())
    }

    /// Adds the words of a part to the key.
    fn key_part(&mut self, source: &'ir KeySource, key: &mut Vec<Value>, run: &Run) -> Result<()> {
        let words = limbs_for(source.width());
        match source {
            KeySource::Field(field) => {
                for index in 0..words {
                    key.push(self.word(field.slot + index)?);
                }
            }
            KeySource::Lookahead { offset_bits, width } if *width <= 64 => {
                let bytes = (*offset_bits as usize + *width as usize).div_ceil(8);
                let wire = self.ahead(bytes, run);
                key.push(self.bits(wire, *offset_bits as usize, *width));
            }
            _ => {
                let address = self.stack_words(words)?;
                let source = self.address_of(source);
                self.call_fallible(Call::ParserKey, &[source, address], run)?;
                for index in 0..words {
                    let offset = i32::try_from(index * 8).map_err(Unsupported::new)?;
                    key.push(self.builder.ins().load(I64, plain(), address, offset));
                }
            }
        }
        Ok(())
    }

    /// The next bytes of the frame; the parser fails if they are not there.
    fn ahead(&mut self, bytes: usize, run: &Run) -> Wire {
        let at = self.builder.use_var(run.at);
        let left = self.builder.ins().isub(run.frame_bytes, at);
        let short = self.builder.ins().icmp_imm(IntCC::UnsignedLessThan, left, bytes as i64);
        self.fail_if(short, self.ir.errors.packet_too_short, run);
        let address = self.builder.ins().iadd(run.frame, at);
        Wire { address, bytes }
    }

    fn parser_op(&mut self, op: &'ir ParserOp, run: &Run) -> Result<()> {
        match op {
            ParserOp::Extract(header) if self.codec(*header).is_fixed() => self.extract(*header, run),
            ParserOp::ExtractNext { stack, bits: None } if self.is_plain_stack(*stack) => {
                let ir = self.ir;
                let next_slot = ir.layout.stacks[*stack].next;
                let next = self.word(next_slot)?;
                match self.element(*stack, next)? {
                    None => self.call_op(op, run),
                    Some(found) => {
                        let full = self.builder.ins().icmp_imm(IntCC::Equal, found.exists, 0);
                        self.fail_if(full, ir.errors.stack_out_of_bounds, run);
                        let header_type = &ir.layout.types[ir.layout.stacks[*stack].header_type];
                        self.extract_to(&header_type.codec, header_type.words, found.address, run)?;
                        let valid = self.constant(1);
                        self.builder.ins().store(plain(), valid, found.address, 0);
                        let next = self.builder.ins().iadd_imm(next, 1);
                        self.store_word(next_slot, next)
                    }
                }
            }
            ParserOp::Lookahead {
                target: Target::Word { slot, mask: fits },
                offset_bits,
                width,
            } if *width <= 64 => {
                let value = self.look_ahead(*offset_bits, *width, run);
                let value = self.masked(value[0], *fits);
                self.store_word(*slot, value)
            }
            ParserOp::Lookahead {
                target: Target::Wide { slot, width: fits },
                offset_bits,
                width,
            } if width == fits => {
                let limbs = self.look_ahead(*offset_bits, *width, run);
                let mut words = (*slot..).zip(limbs);
                words.try_for_each(|(slot, limb)| self.store_word(slot, limb))
            }
            ParserOp::Verify { condition, error } => {
                let condition = self.expr(condition)?;
                let error = self.expr(error)?;
                let (fail, on) = (self.block(), self.block());
                self.branch(condition, on, fail);
                self.switch_to(fail);
                self.builder.def_var(run.error, error);
                self.jump(run.end);
                self.switch_to(on);
                Ok(())
            }
            ParserOp::NeedLast(reads) => self.need_last(reads, run),
            // A log calls the caller, whose panics end the parser.
            ParserOp::Primitive(primitive) if !matches!(primitive, Primitive::Log { .. }) => self.primitive(primitive),
            _ => self.call_op(op, run),
        }
    }

    fn need_last(&mut self, reads: &'ir [LastRead], run: &Run) -> Result<()> {
        for read in reads {
            self.check_size()?;
            match read {
                LastRead::Always(stack) => {
                    let next = self.word(self.ir.layout.stacks[*stack].next)?;
                    let empty = self.builder.ins().icmp_imm(IntCC::Equal, next, 0);
                    self.fail_if(empty, self.ir.errors.stack_out_of_bounds, run);
                }
                LastRead::If { condition, yes, no } => {
                    let condition = self.expr(condition)?;
                    let (holds, fails, on) = (self.block(), self.block(), self.block());
                    self.branch(condition, holds, fails);
                    for (block, reads) in [(holds, yes), (fails, no)] {
                        self.switch_to(block);
                        self.need_last(reads, run)?;
                        self.jump(on);
                    }
                    self.switch_to(on);
                }
            }
        }
        Ok(())
    }

    /// Bits of the frame ahead, in limbs, the lowest one first.
    fn look_ahead(&mut self, offset_bits: u32, width: u32, run: &Run) -> Vec<Value> {
        let at_bit = offset_bits as usize;
        let wire = self.ahead((at_bit + width as usize).div_ceil(8), run);
        self.wire_limbs(wire, at_bit, width)
    }

    fn call_op(&mut self, op: &'ir ParserOp, run: &Run) -> Result<()> {
        let op = self.address_of(op);
        self.call_fallible(Call::ParserOp, &[op], run)
    }

    fn codec(&self, header: HeaderId) -> &'ir Codec {
        let layout = &self.ir.layout;
        &layout.types[layout.headers[header].header_type].codec
    }

    /// Its elements are of fixed length and in no union.
    fn is_plain_stack(&self, stack: usize) -> bool {
        let layout = &self.ir.layout;
        let stack = &layout.stacks[stack];
        layout.types[stack.header_type].codec.is_fixed()
            && stack.elements.iter().all(|&e| layout.headers[e].union.is_none())
    }

    fn extract(&mut self, header: HeaderId, run: &Run) -> Result<()> {
        let instance = &self.ir.layout.headers[header];
        let words = self.ir.layout.types[instance.header_type].words;
        let base = i64::from(self.slot(instance.base)?);
        self.slot(instance.base + words - 1)?;
        let address = self.builder.ins().iadd_imm(self.words, base);
        self.extract_to(self.codec(header), words, address, run)?;
        self.mark_valid(header)
    }

    /// Extracts the fields of a header to the instance of `words` words at `to`.
    fn extract_to(&mut self, codec: &'ir Codec, words: usize, to: Value, run: &Run) -> Result<()> {
        let wire = self.ahead(codec.fixed_bytes, run);
        let field = |offset: usize| {
            if offset >= words {
                return Err(Unsupported::new("a field outside its header"));
            }
            i32::try_from(offset * 8).map_err(Unsupported::new)
        };
        for chunk in codec.chunks() {
            match chunk {
                Chunk::Word { at, bytes, fields } => {
                    let value = self.bits(wire, at * 8, *bytes as u32 * 8);
                    for &(offset, shift, mask) in fields {
                        let part = self.builder.ins().ushr_imm(value, i64::from(shift));
                        let part = self.masked(part, mask);
                        self.builder.ins().store(plain(), part, to, field(offset)?);
                    }
                }
                Chunk::Bits { at_bit, width, offset } => {
                    for (index, limb) in self.wire_limbs(wire, *at_bit, *width).into_iter().enumerate() {
                        self.builder.ins().store(plain(), limb, to, field(offset + index)?);
                    }
                }
            }
        }
        let at = self.builder.use_var(run.at);
        let at = self.builder.ins().iadd_imm(at, codec.fixed_bytes as i64);
        self.builder.def_var(run.at, at);
        Ok(())
    }

    /// Any number of bits from bit `at_bit` on, in limbs, the lowest one first.
    fn wire_limbs(&mut self, wire: Wire, at_bit: usize, width: u32) -> Vec<Value> {
        let limbs = (0..limbs_for(width)).map(|index| {
            let above = width - index as u32 * 64;
            let take = above.min(64);
            self.bits(wire, at_bit + (above - take) as usize, take)
        });
        limbs.collect()
    }

    /// `width` (up to 64) bits from bit `at_bit` on.
    fn bits(&mut self, wire: Wire, at_bit: usize, width: u32) -> Value {
        if width == 0 {
            return self.constant(0);
        }
        let end = at_bit + width as usize;
        let (first, last) = (at_bit / 8, end.div_ceil(8));
        if last - first > 8 {
            // Nine bytes.
            let high = self.bits(wire, at_bit, width - 32);
            let low = self.bits(wire, end - 32, 32);
            let high = self.builder.ins().ishl_imm(high, 32);
            return self.builder.ins().bor(high, low);
        }
        let (value, value_end) = self.bytes(wire, first, last);
        let value = self.builder.ins().ushr_imm(value, (value_end * 8 - end) as i64);
        self.masked(value, mask(width))
    }

    /// A big-endian word that has the bytes `first..last` (1 to 8) of a header, and the byte before which it ends.
    /// It reads nothing but the header.
    fn bytes(&mut self, wire: Wire, first: usize, last: usize) -> (Value, usize) {
        let bytes = last - first;
        let size = bytes.next_power_of_two();
        if size <= wire.bytes {
            let start = first.min(wire.bytes - size);
            return (self.load_bytes(wire, start, size), start + size);
        }
        // Two loads that overlap.
        let size = size / 2;
        let high = self.load_bytes(wire, first, size);
        let low = self.load_bytes(wire, last - size, size);
        let high = self.builder.ins().ishl_imm(high, ((bytes - size) * 8) as i64);
        (self.builder.ins().bor(high, low), last)
    }

    /// 1, 2, 4 or 8 bytes as a big-endian number.
    fn load_bytes(&mut self, wire: Wire, start: usize, size: usize) -> Value {
        let offset = start as i32;
        let narrow = match size {
            1 => return self.builder.ins().uload8(I64, unaligned(), wire.address, offset),
            2 => I16,
            4 => I32,
            _ => I64,
        };
        let value = self.builder.ins().load(narrow, unaligned(), wire.address, offset);
        let value = self.builder.ins().bswap(value);
        match size {
            8 => value,
            _ => self.builder.ins().uextend(I64, value),
        }
    }
}

/// False if no way through the parser can take more states than every frame may.
fn may_run_out(states: &[ParseState]) -> bool {
    // Every state that has no predecessor left can be taken away, unless there is a loop.
    let mut incoming = vec![0usize; states.len()];
    let successors = |state: &ParseState| {
        let cases = state.cases.iter().map(|case| case.next);
        cases.chain([state.default.next()]).flatten().collect::<Vec<_>>()
    };
    for to in states.iter().flat_map(successors) {
        incoming[to] += 1;
    }
    let mut free: Vec<usize> = (0..states.len()).filter(|&s| incoming[s] == 0).collect();
    let mut taken = 0;
    while let Some(state) = free.pop() {
        taken += 1;
        for to in successors(&states[state]) {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(to);
            }
        }
    }
    taken < states.len() || states.len() > MAX_EMPTY_STATES
}
