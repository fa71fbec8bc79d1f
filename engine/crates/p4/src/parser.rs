// SPDX-License-Identifier: Apache-2.0
//! Execution of the parser.

use crate::action::Machine;
use crate::codec::read_bits;
use crate::ir::{DefaultTransition, HeaderId, Ir, KeySource, LastRead, ParseState, ParserOp, Slot, Transition, When};
use crate::trace::TraceEvent;
use crate::value::limbs_for;

/// A frame of `n` bytes may take so many states plus `n`: a loop that eats nothing ends as `ParserTimeout`.
pub(crate) const MAX_EMPTY_STATES: usize = 1024;

/// Values that the controller put into a value set; the parts of a member as the key has them.
pub(crate) type ValueSetMembers = Vec<Vec<u64>>;

/// A parser's way through one frame.
pub(crate) struct ParserRun<'m, 'a> {
    pub machine: &'m mut Machine<'a>,
    pub frame: &'m [u8],
    pub value_sets: &'m [ValueSetMembers],
    /// Bytes parsed so far.
    pub at: usize,
}

/// The code of a parser error.
type Failure = u64;

impl ParserRun<'_, '_> {
    /// Runs to the end and returns the parser error.
    pub fn run(&mut self) -> u64 {
        let ir = self.machine.ir;
        let mut state = ir.parser.start;
        let mut budget = MAX_EMPTY_STATES + self.frame.len();
        while let Some(current) = state {
            if budget == 0 {
                return ir.errors.parser_timeout;
            }
            budget -= 1;
            let name = &ir.parser.states[current].name;
            self.machine
                .persistent
                .note(|| TraceEvent::ParserState { name: name.clone() });
            match self.state(current) {
                Ok(next) => state = next,
                Err(failure) => return failure,
            }
        }
        ir.errors.no_error
    }

    fn state(&mut self, state: usize) -> Result<Option<usize>, Failure> {
        let ir: &Ir = self.machine.ir;
        let state = &ir.parser.states[state];
        for op in &state.ops {
            self.op(op)?;
        }
        if state.key.is_empty() {
            return Ok(state.default.next());
        }
        let bottom = self.machine.packet.stack.len();
        let next = self.select(state);
        self.machine.packet.stack.truncate(bottom);
        next
    }

    /// The state that the key chooses; the caller takes what is left of the key from the stack.
    fn select(&mut self, state: &ParseState) -> Result<Option<usize>, Failure> {
        let bottom = self.machine.packet.stack.len();
        for source in &state.key {
            self.push_key(source)?;
        }
        let key = &self.machine.packet.stack[bottom..];
        match state.cases.iter().find(|case| matches(case, key, self.value_sets)) {
            Some(case) => Ok(case.next),
            None if state.default == DefaultTransition::Missing && !self.machine.bmv2_compatible => {
                Err(self.machine.ir.errors.no_match)
            }
            None => Ok(state.default.next()),
        }
    }

    /// Puts a part of the key on the stack.
    pub(crate) fn push_key(&mut self, source: &KeySource) -> Result<(), Failure> {
        let ir = self.machine.ir;
        let slot: Slot = match source {
            KeySource::Field(field) => field.slot,
            KeySource::LastOfStack { stack, offset, .. } => {
                let stack = &ir.layout.stacks[*stack];
                let header = self.last(stack.next, &stack.elements)?;
                ir.layout.headers[header].base + offset
            }
            KeySource::LastOfUnionStack {
                stack, member, offset, ..
            } => {
                let stack = &ir.layout.union_stacks[*stack];
                let union = self.last(stack.next, &stack.elements)?;
                ir.layout.headers[ir.layout.unions[union][*member]].base + offset
            }
            KeySource::Lookahead { offset_bits, width } => return self.push_ahead(*offset_bits, *width),
        };
        let packet = &mut *self.machine.packet;
        packet
            .stack
            .extend_from_slice(&packet.words[slot..slot + limbs_for(source.width())]);
        Ok(())
    }

    fn last(&self, next: Slot, elements: &[usize]) -> Result<usize, Failure> {
        let last = (self.machine.packet.words[next] as usize).checked_sub(1);
        last.and_then(|i| elements.get(i).copied())
            .ok_or(self.machine.ir.errors.stack_out_of_bounds)
    }

    fn need_last(&mut self, reads: &[LastRead]) -> Result<(), Failure> {
        for read in reads {
            match read {
                LastRead::Always(stack) => {
                    let stack = &self.machine.ir.layout.stacks[*stack];
                    self.last(stack.next, &stack.elements)?;
                }
                LastRead::If { condition, yes, no } => {
                    let holds = self.machine.eval(condition, &[]) != 0;
                    self.need_last(if holds { yes } else { no })?;
                }
            }
        }
        Ok(())
    }

    /// Puts bits of the packet ahead on the stack.
    fn push_ahead(&mut self, offset_bits: u32, width: u32) -> Result<(), Failure> {
        let ahead = &self.frame[self.at..];
        if ahead.len() < (offset_bits as usize + width as usize).div_ceil(8) {
            return Err(self.machine.ir.errors.packet_too_short);
        }
        let stack = &mut self.machine.packet.stack;
        let bottom = stack.len();
        stack.resize(bottom + limbs_for(width), 0);
        read_bits(ahead, offset_bits as usize, width, &mut stack[bottom..]);
        Ok(())
    }

    pub(crate) fn op(&mut self, op: &ParserOp) -> Result<(), Failure> {
        let ir = self.machine.ir;
        match op {
            ParserOp::Extract(header) => self.extract(*header, 0),
            ParserOp::ExtractVariable { header, bits } => {
                let bits = self.machine.eval(bits, &[]);
                self.extract(*header, bits)
            }
            ParserOp::ExtractNext { stack, bits } => {
                let bits = bits.as_ref().map_or(0, |bits| self.machine.eval(bits, &[]));
                let stack = &ir.layout.stacks[*stack];
                let next = self.machine.packet.words[stack.next];
                let Some(&header) = stack.elements.get(next as usize) else {
                    return Err(ir.errors.stack_out_of_bounds);
                };
                self.extract(header, bits)?;
                self.machine.packet.words[stack.next] = next + 1;
                Ok(())
            }
            ParserOp::ExtractNextUnion { stack, member, bits } => {
                let bits = bits.as_ref().map_or(0, |bits| self.machine.eval(bits, &[]));
                let stack = &ir.layout.union_stacks[*stack];
                let next = self.machine.packet.words[stack.next];
                let Some(&union) = stack.elements.get(next as usize) else {
                    return Err(ir.errors.stack_out_of_bounds);
                };
                self.extract(ir.layout.unions[union][*member], bits)?;
                self.machine.packet.words[stack.next] = next + 1;
                Ok(())
            }
            ParserOp::Lookahead {
                target,
                offset_bits,
                width,
            } => {
                let bottom = self.machine.packet.stack.len();
                self.push_ahead(*offset_bits, *width)?;
                let packet = &mut *self.machine.packet;
                if let Some((slot, target_width)) = packet.resolve(ir, &[], target) {
                    let limbs = limbs_for(target_width);
                    let found = limbs_for(*width).min(limbs);
                    packet.words[slot..slot + limbs].fill(0);
                    packet.words[slot..slot + found].copy_from_slice(&packet.stack[bottom..bottom + found]);
                    crate::value::truncate(&mut packet.words[slot..slot + limbs], target_width);
                }
                packet.stack.truncate(bottom);
                Ok(())
            }
            ParserOp::Advance { bits } => {
                let bits = self.machine.eval(bits, &[]);
                if !bits.is_multiple_of(8) {
                    return Err(ir.errors.parser_invalid_argument);
                }
                if bits / 8 > (self.frame.len() - self.at) as u64 {
                    return Err(ir.errors.packet_too_short);
                }
                self.at += (bits / 8) as usize;
                Ok(())
            }
            ParserOp::Verify { condition, error } => {
                if self.machine.eval(condition, &[]) != 0 {
                    return Ok(());
                }
                Err(self.machine.eval(error, &[]))
            }
            ParserOp::NeedLast(reads) => self.need_last(reads),
            ParserOp::Primitive(primitive) => {
                self.machine.step(primitive, &[]);
                Ok(())
            }
        }
    }

    fn extract(&mut self, header: HeaderId, variable_bits: u64) -> Result<(), Failure> {
        let ir = self.machine.ir;
        let instance = &ir.layout.headers[header];
        let codec = &ir.layout.types[instance.header_type].codec;
        if !variable_bits.is_multiple_of(8) {
            return Err(ir.errors.parser_invalid_argument);
        }
        let ahead = &self.frame[self.at..];
        if variable_bits / 8 > ahead.len() as u64 {
            return Err(ir.errors.packet_too_short);
        }
        let bytes = codec.fixed_bytes + (variable_bits / 8) as usize;
        if ahead.len() < bytes {
            return Err(ir.errors.packet_too_short);
        }
        if variable_bits > u64::from(codec.max_variable_bits()) {
            return Err(ir.errors.header_too_short);
        }
        let words = &mut self.machine.packet.words[instance.base..];
        codec.extract(ahead, words, variable_bits as u32);
        self.machine.packet.mark_valid(ir, header);
        self.at += bytes;
        Ok(())
    }
}

/// True if a case matches the key.
pub(crate) fn matches(case: &Transition, key: &[u64], sets: &[ValueSetMembers]) -> bool {
    match &case.when {
        When::Matches { value, mask } => key.iter().zip(mask).zip(value).all(|((k, m), v)| k & m == *v),
        When::InSet { set, mask } => sets[*set]
            .iter()
            .any(|member| key.iter().zip(mask).zip(member).all(|((k, m), v)| k & m == v & m)),
    }
}
