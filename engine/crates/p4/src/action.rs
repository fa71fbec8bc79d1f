// SPDX-License-Identifier: Apache-2.0
//! Execution of actions.

use slotwise_units::Instant;

use crate::Output;
use crate::calculation::compute;
use crate::expr::Expr;
use crate::ir::{Action, HeaderId, HeaderRef, Ir, MeterUnit, Primitive, StackId, Stage, UnionId, UnionStackId, Value};
use crate::state::{Packet, Persistent};
use crate::value::{limbs_for, truncate};
use rand::Rng;

/// Most backward jumps of one action: a loop that takes longer ends the packet.
pub(crate) const MAX_BACKWARD_JUMPS: u32 = 1 << 16;

/// Everything that runs a packet, borrowed apart from the tables.
pub(crate) struct Machine<'a> {
    pub ir: &'a Ir,
    pub packet: &'a mut Packet,
    pub persistent: &'a mut Persistent,
    /// What the parser left of the frame.
    pub payload: &'a [u8],
    pub now: Instant,
    pub drop_port: u64,
    /// Control that runs; `None` in parser and deparser.
    pub stage: Option<Stage>,
    /// See [`crate::Pipeline::set_bmv2_compatible`].
    pub bmv2_compatible: bool,
    pub out: &'a mut dyn Output,
}

impl Machine<'_> {
    pub fn eval(&mut self, expr: &Expr, args: &[u64]) -> u64 {
        self.packet.env(self.ir, args).eval(expr)
    }

    /// Runs an action.
    pub fn run(&mut self, action: &Action, args: &[u64]) {
        let body = &action.body;
        let mut at = 0;
        let mut backward = 0;
        while let Some(primitive) = body.get(at) {
            let to = match primitive {
                Primitive::Jump(to) => *to,
                Primitive::JumpIfZero { condition, to } => {
                    if self.eval(condition, args) == 0 {
                        *to
                    } else {
                        at + 1
                    }
                }
                _ => {
                    self.step(primitive, args);
                    at + 1
                }
            };
            if to <= at {
                backward += 1;
                if backward > MAX_BACKWARD_JUMPS || !self.persistent.work(action.loop_work(at, to)) {
                    self.packet.requests.abort = true;
                }
            }
            if self.packet.requests.abort {
                return;
            }
            at = to;
        }
    }

    /// Runs one primitive that does not jump.
    pub fn step(&mut self, primitive: &Primitive, args: &[u64]) {
        match primitive {
            Primitive::Assign { target, value } => self.packet.assign(self.ir, args, target, value),
            Primitive::Jump(_) | Primitive::JumpIfZero { .. } | Primitive::NoOp => {}
            Primitive::AssignVariable { target, source } => {
                let words = 1 + limbs_for(source.width);
                self.packet
                    .words
                    .copy_within(source.slot..source.slot + words, target.slot);
                let rest = 1 + limbs_for(target.width);
                self.packet.words[target.slot + words..target.slot + rest].fill(0);
            }
            Primitive::AssignHeader { target, source } => {
                let (Some(target), source) = (self.header(target, args), self.header(source, args)) else {
                    return;
                };
                self.assign_header(target, source);
            }
            Primitive::AssignUnion { target, source } => self.copy_union(*target, *source),
            Primitive::AssignStack { target, source } => {
                let ir = self.ir;
                let (to, from) = (&ir.layout.stacks[*target], &ir.layout.stacks[*source]);
                self.packet.words[to.next] = self.packet.words[from.next];
                for (&to, &from) in to.elements.iter().zip(&from.elements) {
                    self.packet.copy_header(ir, to, from);
                }
            }
            Primitive::AssignUnionStack { target, source } => {
                let ir = self.ir;
                let (to, from) = (&ir.layout.union_stacks[*target], &ir.layout.union_stacks[*source]);
                self.packet.words[to.next] = self.packet.words[from.next];
                for (&to, &from) in to.elements.iter().zip(&from.elements) {
                    self.copy_union(to, from);
                }
            }
            Primitive::SetValid(header) => {
                if let Some(header) = self.header(header, args) {
                    self.packet.add_header(self.ir, header);
                }
            }
            Primitive::MarkValid(header) => {
                if let Some(header) = self.header(header, args) {
                    self.packet.mark_valid(self.ir, header);
                }
            }
            Primitive::SetInvalid(header) => {
                if let Some(header) = self.header(header, args) {
                    self.set_invalid(header);
                }
            }
            Primitive::Push { stack, count } => {
                let count = self.eval(count, args);
                self.push(*stack, count);
            }
            Primitive::Pop { stack, count } => {
                let count = self.eval(count, args);
                self.pop(*stack, count);
            }
            Primitive::PushUnion { stack, count } => {
                let count = self.eval(count, args);
                self.push_union(*stack, count);
            }
            Primitive::PopUnion { stack, count } => {
                let count = self.eval(count, args);
                self.pop_union(*stack, count);
            }
            Primitive::Exit => self.packet.requests.exit = true,
            Primitive::MarkToDrop {
                egress_spec,
                multicast_group,
            } => {
                self.packet.set(*egress_spec, self.drop_port);
                self.packet.set_if(*multicast_group, 0);
            }
            Primitive::Count { counter, index } => {
                let index = self.eval(index, args);
                self.count(*counter, index);
            }
            Primitive::RegisterRead {
                target,
                register,
                index,
            } => {
                let index = self.eval(index, args);
                // Out of range: the target keeps its value, as in BMv2.
                let Some(cell) = self.ir.registers[*register].cell(index) else {
                    return;
                };
                let cell = &self.persistent.registers[cell];
                if let Some((slot, width)) = self.packet.resolve(self.ir, args, target) {
                    self.packet.store_limbs(slot, width, cell);
                }
            }
            Primitive::RegisterWrite { register, index, value } => {
                let index = self.eval(index, args);
                self.write_register(*register, index, value, args);
            }
            Primitive::Meter { meter, index, target } => {
                let index = self.eval(index, args);
                let amount = match self.ir.meters[*meter].unit {
                    MeterUnit::Bytes => self.packet.ingress_length,
                    MeterUnit::Packets => 1,
                };
                if let Some(cell) = cell(&mut self.persistent.meters[*meter], index) {
                    let color = cell.execute(amount, self.now);
                    self.packet.store_word(self.ir, args, target, color);
                }
            }
            Primitive::Hash {
                target,
                base,
                calculation,
                modulus,
            } => {
                let base = self.eval(base, args);
                let modulus = self.eval(modulus, args).max(1);
                let hash = compute(self.ir, &self.ir.calculations[*calculation], self.packet, self.payload);
                self.packet
                    .store_word(self.ir, args, target, (hash % modulus).wrapping_add(base));
            }
            Primitive::Random { target, low, high } => {
                let low = self.eval(low, args);
                let high = self.eval(high, args);
                if low <= high {
                    let value = self.persistent.random.random_range(low..=high);
                    self.packet.store_word(self.ir, args, target, value);
                }
            }
            Primitive::Clone { session, field_list } => {
                let session = self.eval(session, args);
                let list = self.eval(field_list, args);
                self.packet.requests.clone = Some((session, list));
            }
            Primitive::Resubmit { field_list } => {
                self.packet.requests.resubmit = Some(self.eval(field_list, args));
            }
            Primitive::Recirculate { field_list } => {
                self.packet.requests.recirculate = Some(self.eval(field_list, args));
            }
            Primitive::Digest { id } => {
                let id = self.eval(id, args);
                if self.bmv2_compatible {
                    self.packet.requests.digest = Some(id);
                } else if self.stage == Some(Stage::Ingress) {
                    self.digest(id);
                }
            }
            Primitive::Truncate { bytes } => {
                let bytes = usize::try_from(self.eval(bytes, args)).unwrap_or(usize::MAX);
                let shortest = self
                    .packet
                    .requests
                    .truncate
                    .map_or(bytes, |earlier| earlier.min(bytes));
                self.packet.requests.truncate = Some(shortest);
            }
            Primitive::Assert { condition } => {
                if self.eval(condition, args) == 0 {
                    self.packet.requests.abort = true;
                }
            }
            Primitive::Log { format, values } => {
                let mut message = String::new();
                let mut values = values.iter();
                let mut rest = format.as_str();
                while let Some((before, after)) = rest.split_once("{}") {
                    message.push_str(before);
                    if let Some(value) = values.next() {
                        message.push_str(&self.eval(value, args).to_string());
                    }
                    rest = after;
                }
                message.push_str(rest);
                self.out.log(&message);
            }
        }
    }

    /// Sends a digest with the values that its fields have now.
    fn digest(&mut self, id: u64) {
        let Some(digest) = self.ir.digests.get(&id) else { return };
        if self.persistent.work(digest.words) {
            self.packet.send_digest(digest, self.out);
        } else {
            self.packet.requests.abort = true;
        }
    }

    /// Counts the packet in a cell of a counter.
    pub fn count(&mut self, counter: usize, index: u64) {
        let bytes = self.packet.ingress_length;
        if let Some(cell) = cell(&mut self.persistent.counters[counter], index) {
            cell.0 = cell.0.wrapping_add(1);
            cell.1 = cell.1.wrapping_add(bytes);
        }
    }

    fn write_register(&mut self, register: usize, index: u64, value: &Value, args: &[u64]) {
        let array = &self.ir.registers[register];
        let Some(cell) = array.cell(index) else { return };
        let cell = &mut self.persistent.registers[cell];
        let mut env = self.packet.env(self.ir, args);
        match value {
            Value::Word(expr) => cell[0] = env.eval(expr),
            Value::Wide(expr) => env.with_wide(expr, |value| cell.copy_from_slice(&value[..cell.len()])),
        }
        truncate(cell, array.width);
    }

    fn header(&mut self, header: &HeaderRef, args: &[u64]) -> Option<HeaderId> {
        match header {
            HeaderRef::Fixed(header) => Some(*header),
            HeaderRef::Element { stack, index } => {
                let index = usize::try_from(self.eval(index, args)).ok()?;
                self.ir.layout.stacks[*stack].elements.get(index).copied()
            }
        }
    }

    /// Copies a header. No `source`: as from an invalid one.
    fn assign_header(&mut self, target: HeaderId, source: Option<HeaderId>) {
        let ir = self.ir;
        match source {
            Some(source) if self.packet.is_valid(ir, source) => self.packet.copy_header(ir, target, source),
            // p4c copies a union member by member, so an invalid member says nothing about the others.
            Some(source) if ir.layout.headers[source].union.is_some() => self.packet.mark_invalid(ir, target),
            _ => match self.whole_union(target) {
                Some(union) => self.clear_union(union),
                None => self.packet.mark_invalid(ir, target),
            },
        }
    }

    fn set_invalid(&mut self, header: HeaderId) {
        let ir = self.ir;
        match self.whole_union(header) {
            Some(union) => {
                for &member in &ir.layout.unions[union] {
                    self.packet.remove_header(ir, member);
                }
            }
            None => self.packet.remove_header(ir, header),
        }
    }

    /// Returns the union that becomes invalid with a member. In BMv2 the member alone does.
    fn whole_union(&self, member: HeaderId) -> Option<UnionId> {
        self.ir.layout.headers[member].union.filter(|_| !self.bmv2_compatible)
    }

    fn copy_union(&mut self, target: usize, source: usize) {
        let ir = self.ir;
        let (to, from) = (&ir.layout.unions[target], &ir.layout.unions[source]);
        // Invalid members first: copying a valid one makes the others invalid.
        for (&to, &from) in to.iter().zip(from) {
            if !self.packet.is_valid(ir, from) {
                self.packet.mark_invalid(ir, to);
            }
        }
        for (&to, &from) in to.iter().zip(from) {
            if self.packet.is_valid(ir, from) {
                self.packet.copy_header(ir, to, from);
            }
        }
    }

    fn push(&mut self, stack: StackId, count: u64) {
        let ir = self.ir;
        let stack = &ir.layout.stacks[stack];
        let count = clip(count, stack.elements.len());
        for (&to, &from) in stack
            .elements
            .iter()
            .skip(count)
            .rev()
            .zip(stack.elements.iter().rev().skip(count))
        {
            self.packet.copy_header(ir, to, from);
        }
        for &header in &stack.elements[..count] {
            self.packet.mark_invalid(ir, header);
        }
        let next = &mut self.packet.words[stack.next];
        *next = (*next + count as u64).min(stack.elements.len() as u64);
    }

    fn pop(&mut self, stack: StackId, count: u64) {
        let ir = self.ir;
        let stack = &ir.layout.stacks[stack];
        let count = clip(count, stack.elements.len());
        for (&to, &from) in stack.elements.iter().zip(&stack.elements[count..]) {
            self.packet.copy_header(ir, to, from);
        }
        for &header in &stack.elements[stack.elements.len() - count..] {
            self.packet.mark_invalid(ir, header);
        }
        let next = &mut self.packet.words[stack.next];
        *next = next.saturating_sub(count as u64);
    }

    fn push_union(&mut self, stack: UnionStackId, count: u64) {
        let ir = self.ir;
        let stack = &ir.layout.union_stacks[stack];
        let count = clip(count, stack.elements.len());
        for (&to, &from) in stack
            .elements
            .iter()
            .skip(count)
            .rev()
            .zip(stack.elements.iter().rev().skip(count))
        {
            self.copy_union(to, from);
        }
        for &union in &stack.elements[..count] {
            self.clear_union(union);
        }
        let next = &mut self.packet.words[stack.next];
        *next = (*next + count as u64).min(stack.elements.len() as u64);
    }

    fn pop_union(&mut self, stack: UnionStackId, count: u64) {
        let ir = self.ir;
        let stack = &ir.layout.union_stacks[stack];
        let count = clip(count, stack.elements.len());
        for (&to, &from) in stack.elements.iter().zip(&stack.elements[count..]) {
            self.copy_union(to, from);
        }
        for &union in &stack.elements[stack.elements.len() - count..] {
            self.clear_union(union);
        }
        let next = &mut self.packet.words[stack.next];
        *next = next.saturating_sub(count as u64);
    }

    fn clear_union(&mut self, union: usize) {
        for &header in &self.ir.layout.unions[union] {
            self.packet.mark_invalid(self.ir, header);
        }
    }
}

fn clip(count: u64, most: usize) -> usize {
    usize::try_from(count).unwrap_or(most).min(most)
}

/// The cell of an array; nothing out of range.
fn cell<T>(cells: &mut [T], index: u64) -> Option<&mut T> {
    cells.get_mut(usize::try_from(index).ok()?)
}
