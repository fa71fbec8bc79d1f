// SPDX-License-Identifier: Apache-2.0
//! What a packet carries through the pipeline, and what stays in the switch from packet to packet.

use crate::api::{Bits, Output};
use crate::expr::Env;
use crate::ir::{Digest, FieldRef, HeaderId, Ir, Slot, Target, Value};
use crate::meter::Meter;
use crate::trace::{Trace, TraceEvent};
use crate::value::{self, limbs_for, mask, truncate};
use crate::work::MAX_WORK;
use rand_pcg::Pcg64Mcg;

/// A packet being processed.
#[derive(Debug, Default)]
pub(crate) struct Packet {
    /// Headers and metadata, as the program's layout says.
    pub words: Vec<u64>,
    /// Bytes of the packet as BMv2 counts them for `packet_length`: those that came in, changed by `setValid` and `setInvalid`.
    pub length: u64,
    /// Bytes of the packet as it came in, which counters and meters count.
    pub ingress_length: u64,
    pub requests: Requests,
    /// Scratch of wide arithmetic.
    pub stack: Vec<u64>,
    /// Scratch of calculations.
    pub bytes: Vec<u8>,
}

/// What the program asked the architecture to do at the end of the pipeline.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requests {
    /// Session and field list.
    pub clone: Option<(u64, u64)>,
    /// Field list.
    pub resubmit: Option<u64>,
    /// Field list.
    pub recirculate: Option<u64>,
    /// The last digest called, in BMv2's way; otherwise each is sent at its call.
    pub digest: Option<u64>,
    pub truncate: Option<usize>,
    pub exit: bool,
    /// A loop or an assertion made the rest meaningless.
    pub abort: bool,
}

/// Registers, counters, meters and the generator of `random()`.
#[derive(Debug)]
pub(crate) struct Persistent {
    /// Limbs of the cells of all registers, one after the other.
    pub registers: Vec<u64>,
    /// (packets, bytes)
    pub counters: Vec<Vec<(u64, u64)>>,
    pub meters: Vec<Vec<Meter>>,
    pub random: Pcg64Mcg,
    /// [Work](crate::work) that the packet at hand may still make, with all that it becomes.
    pub work_left: u64,
    /// What packets did, while someone wants to know.
    pub trace: Option<Trace>,
}

impl Persistent {
    pub fn new(ir: &Ir, seed: u64) -> Persistent {
        use rand::SeedableRng;
        let limbs = ir.registers.iter().map(|r| r.size * limbs_for(r.width)).sum();
        Persistent {
            registers: vec![0; limbs],
            counters: ir.counters.iter().map(|c| vec![(0, 0); c.size]).collect(),
            meters: ir.meters.iter().map(|m| vec![Meter::default(); m.size]).collect(),
            random: Pcg64Mcg::seed_from_u64(seed),
            work_left: MAX_WORK,
            trace: None,
        }
    }

    /// Takes work of what is left; false if that is too little, and then nothing is left.
    pub fn work(&mut self, amount: u64) -> bool {
        let left = self.work_left.checked_sub(amount);
        self.work_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Notes an event that is made only if someone wants to know it.
    #[inline]
    pub fn note(&mut self, event: impl FnOnce() -> TraceEvent) {
        if let Some(trace) = &mut self.trace {
            trace.push(event());
        }
    }
}

impl Packet {
    /// Ready for a new packet of `length` bytes.
    pub fn reset(&mut self, ir: &Ir, length: usize) {
        let initial = &ir.layout.initial;
        if self.words.len() == initial.len() {
            for words in &ir.layout.reset {
                self.words[words.clone()].copy_from_slice(&initial[words.clone()]);
            }
        } else {
            self.words.clone_from(initial);
        }
        self.length = length as u64;
        self.ingress_length = length as u64;
        self.requests = Requests::default();
    }

    pub fn env<'a>(&'a mut self, ir: &'a Ir, args: &'a [u64]) -> Env<'a> {
        Env {
            layout: &ir.layout,
            words: &self.words,
            args,
            stack: &mut self.stack,
        }
    }

    /// Sets a field of up to 64 bits.
    pub fn set(&mut self, field: FieldRef, value: u64) {
        self.words[field.slot] = value & mask(field.width);
    }

    pub fn set_if(&mut self, field: Option<FieldRef>, value: u64) {
        if let Some(field) = field {
            self.set(field, value);
        }
    }

    pub fn get(&self, field: FieldRef) -> u64 {
        self.words[field.slot]
    }

    /// Where a target is now; `None` if it is an element that does not exist.
    pub fn resolve(&mut self, ir: &Ir, args: &[u64], target: &Target) -> Option<(Slot, u32)> {
        match target {
            Target::Word { slot, mask } => Some((*slot, mask.count_ones())),
            Target::Wide { slot, width } => Some((*slot, *width)),
            Target::Element {
                stack,
                index,
                offset,
                width,
            } => {
                let index = self.env(ir, args).eval(index);
                let base = crate::expr::element(&ir.layout, *stack, index)?;
                Some((base + offset, *width))
            }
            Target::Last { stack, offset, width } => {
                let stack = &ir.layout.stacks[*stack];
                let last = self.words[stack.next].checked_sub(1)?;
                let header = *stack.elements.get(last as usize)?;
                Some((ir.layout.headers[header].base + offset, *width))
            }
        }
    }

    /// Stores a word, cut or zero-extended to the target.
    pub fn store_word(&mut self, ir: &Ir, args: &[u64], target: &Target, value: u64) {
        if let Target::Word { slot, mask } = target {
            self.words[*slot] = value & mask;
        } else if let Some((slot, width)) = self.resolve(ir, args, target) {
            self.store_limbs(slot, width, &[value]);
        }
    }

    /// Stores limbs, cut or zero-extended to `width` bits.
    pub fn store_limbs(&mut self, slot: Slot, width: u32, limbs: &[u64]) {
        let place = &mut self.words[slot..slot + limbs_for(width)];
        place.fill(0);
        place.iter_mut().zip(limbs).for_each(|(word, limb)| *word = *limb);
        truncate(place, width);
    }

    /// Evaluates and stores.
    pub fn assign(&mut self, ir: &Ir, args: &[u64], target: &Target, value: &Value) {
        match (target, value) {
            (Target::Word { slot, mask }, Value::Word(expr)) => {
                let value = self.env(ir, args).eval(expr);
                self.words[*slot] = value & mask;
            }
            (_, Value::Word(expr)) => {
                let value = self.env(ir, args).eval(expr);
                self.store_word(ir, args, target, value);
            }
            (_, Value::Wide(expr)) => {
                let Some((slot, width)) = self.resolve(ir, args, target) else {
                    return;
                };
                // The value is computed before the target changes: they may overlap.
                let bottom = self.stack.len();
                self.env(ir, args).push_wide(expr);
                let place = &mut self.words[slot..slot + limbs_for(width)];
                place.copy_from_slice(&self.stack[bottom..bottom + place.len()]);
                truncate(place, width);
                self.stack.truncate(bottom);
            }
        }
    }

    pub fn is_valid(&self, ir: &Ir, header: HeaderId) -> bool {
        self.words[ir.layout.headers[header].base] != 0
    }

    /// Makes a header valid and the other members of its union invalid.
    pub fn mark_valid(&mut self, ir: &Ir, header: HeaderId) {
        let header = &ir.layout.headers[header];
        for &member in header.union.map_or(&[][..], |union| &ir.layout.unions[union]) {
            self.words[ir.layout.headers[member].base] = 0;
        }
        self.words[header.base] = 1;
    }

    pub fn mark_invalid(&mut self, ir: &Ir, header: HeaderId) {
        self.words[ir.layout.headers[header].base] = 0;
    }

    /// `setValid`: a header that was not valid starts with zeros.
    pub fn add_header(&mut self, ir: &Ir, header: HeaderId) {
        if self.is_valid(ir, header) {
            return;
        }
        let instance = &ir.layout.headers[header];
        let words = ir.layout.types[instance.header_type].words;
        self.words[instance.base..instance.base + words].fill(0);
        self.mark_valid(ir, header);
        self.length = self.length.wrapping_add(self.header_bytes(ir, header));
    }

    /// `setInvalid`, without the rest of a union.
    pub fn remove_header(&mut self, ir: &Ir, header: HeaderId) {
        if self.is_valid(ir, header) {
            self.length = self.length.wrapping_sub(self.header_bytes(ir, header));
            self.mark_invalid(ir, header);
        }
    }

    /// Returns the bytes with which the packet would leave now, given those of its payload.
    pub fn length_as_it_is(&self, ir: &Ir, payload: usize) -> u64 {
        let valid = ir.deparser.iter().filter(|&&header| self.is_valid(ir, header));
        payload as u64 + valid.map(|&header| self.header_bytes(ir, header)).sum::<u64>()
    }

    fn header_bytes(&self, ir: &Ir, header: HeaderId) -> u64 {
        let instance = &ir.layout.headers[header];
        ir.layout.types[instance.header_type]
            .codec
            .bytes(&self.words[instance.base..]) as u64
    }

    /// Copies a header of the same type.
    pub fn copy_header(&mut self, ir: &Ir, target: HeaderId, source: HeaderId) {
        if !self.is_valid(ir, source) {
            self.mark_invalid(ir, target);
            return;
        }
        let (to, from) = (&ir.layout.headers[target], &ir.layout.headers[source]);
        let words = ir.layout.types[from.header_type].words;
        self.words.copy_within(from.base..from.base + words, to.base);
        self.mark_valid(ir, target);
    }

    /// Copies fields from the state of another packet.
    pub fn copy_fields(&mut self, fields: &[FieldRef], source: &[u64]) {
        for field in fields {
            let words = limbs_for(field.width) + usize::from(field.variable);
            self.words[field.slot..field.slot + words].copy_from_slice(&source[field.slot..field.slot + words]);
        }
    }

    /// Sends a digest with the values that its fields have now.
    pub fn send_digest(&self, digest: &Digest, out: &mut dyn Output) {
        let fields: Vec<Bits> = digest.fields.iter().map(|&field| self.field_bytes(field)).collect();
        out.digest(&digest.name, &fields);
    }

    /// A field as big-endian bytes.
    pub fn field_bytes(&self, field: FieldRef) -> Vec<u8> {
        let start = field.slot + usize::from(field.variable);
        value::to_be_bytes(&self.words[start..start + limbs_for(field.width)])
    }
}
