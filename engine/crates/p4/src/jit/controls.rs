// SPDX-License-Identifier: Apache-2.0
//! Controls: tables, conditions, actions.

use super::actions::may_stop;
use super::emitter::{Args, Emitter, Result, Unsupported, plain};
use super::primitives::{ABORT, EXIT};
use super::runtime::{Call, Context};
use crate::ir::{ActionId, NextNode, Node, Pipeline, Primitive, Table, TableId};
use crate::value::limbs_for;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use cranelift_frontend::Switch;
use std::collections::BTreeMap;
use std::mem::offset_of;

/// Bodies of up to so many primitives are put where they are used.
const MAX_INLINE: usize = 8;

/// Where the nodes of a control are.
pub(super) struct Places {
    blocks: BTreeMap<usize, Block>,
    /// Nodes without code yet.
    pending: Vec<usize>,
    pub end: Block,
}

impl<'ir> Emitter<'_, 'ir> {
    /// A control from its start to its end, or to an `exit`.
    pub fn control(&mut self, control: &'ir Pipeline) -> Result<Value> {
        let mut places = Places {
            blocks: BTreeMap::new(),
            pending: Vec::new(),
            end: self.block(),
        };
        let start = self.place(control.start, &mut places);
        self.jump(start);
        while let Some(node) = places.pending.pop() {
            self.check_size()?;
            self.switch_to(places.blocks[&node]);
            match &control.nodes[node] {
                Node::Table(table) => self.table(*table, &mut places)?,
                Node::If { condition, yes, no } => {
                    let condition = self.expr(condition)?;
                    let yes = self.place(*yes, &mut places);
                    let no = self.place(*no, &mut places);
                    self.branch(condition, yes, no);
                }
                Node::Action { action, args, next } => {
                    let next = self.place(*next, &mut places);
                    self.args = Args::Constant(args);
                    self.run_to(*action, next, places.end)?;
                }
            }
        }
        self.switch_to(places.end);
        Ok(self.constant(0))
    }

    /// The block of a node.
    pub(super) fn place(&mut self, node: Option<usize>, places: &mut Places) -> Block {
        let Some(node) = node else { return places.end };
        if let Some(&block) = places.blocks.get(&node) {
            return block;
        }
        let block = self.block();
        places.blocks.insert(node, block);
        places.pending.push(node);
        block
    }

    /// Runs an action with `self.args` and goes to `next`, or to the end if it stops the control.
    pub(super) fn run_to(&mut self, action: ActionId, next: Block, end: Block) -> Result<()> {
        let called = &self.ir.actions[action];
        let body: &'ir [Primitive] = &called.body;
        if self.args.words() != called.arg_words {
            return Err(Unsupported::new("an action without all arguments"));
        }
        if body.len() <= MAX_INLINE {
            self.body(called)?;
        } else {
            let (args, _) = self.args_for_call();
            self.call_action(action, args);
        }
        self.args = Args::Constant(&[]);
        if may_stop(body) {
            let (exit, abort) = (self.flag(EXIT), self.flag(ABORT));
            let stop = self.builder.ins().bor(exit, abort);
            self.branch(stop, end, next);
        } else {
            self.jump(next);
        }
        Ok(())
    }

    fn table(&mut self, id: TableId, places: &mut Places) -> Result<()> {
        let table = &self.ir.tables[id];
        if let Some(default) = fixed_default(table) {
            // No key and a constant default action: p4c's way to write a statement.
            let next = self.place(table.next.after(Some(default.action), false), places);
            let action = table.actions[default.action];
            self.args = Args::Constant(&default.args);
            return self.run_to(action, next, places.end);
        }
        self.decide(id, places)?;
        let key = self.key(table)?;
        let id = self.constant(id as u64);
        self.call(Call::Apply, &[id, key]);
        let action = self.context_field(offset_of!(Context, action));

        let mut switch = Switch::new();
        let chosen: Vec<Block> = table.actions.iter().map(|_| self.block()).collect();
        for (index, &block) in chosen.iter().enumerate() {
            switch.set_entry(index as u128, block);
        }
        let none = self.block();
        switch.emit(&mut self.builder, action, none);
        for (index, (&action, block)) in table.actions.iter().zip(chosen).enumerate() {
            self.check_size()?;
            self.switch_to(block);
            let after = self.block();
            let address = self.context_field(offset_of!(Context, args));
            let words = self.ir.actions[action].arg_words;
            self.args = Args::At { address, words };
            self.run_to(action, after, places.end)?;
            self.switch_to(after);
            match &table.next {
                NextNode::HitMiss { hit, miss } => self.hit_or_miss(*hit, *miss, places),
                NextNode::ByAction { next, .. } => {
                    let next = self.place(next[index], places);
                    self.jump(next);
                }
            }
        }
        self.switch_to(none);
        match &table.next {
            NextNode::HitMiss { hit, miss } => self.hit_or_miss(*hit, *miss, places),
            NextNode::ByAction { miss, .. } => {
                let miss = self.place(*miss, places);
                self.jump(miss);
            }
        }
        Ok(())
    }

    fn hit_or_miss(&mut self, hit: Option<usize>, miss: Option<usize>, places: &mut Places) {
        let hit = self.place(hit, places);
        let miss = self.place(miss, places);
        if hit == miss {
            return self.jump(hit);
        }
        let was_hit = self.context_field(offset_of!(Context, hit));
        self.branch(was_hit, hit, miss);
    }

    /// Puts the key of a table in the function's frame.
    fn key(&mut self, table: &'ir Table) -> Result<Value> {
        let address = self.stack_words(table.key_words)?;
        for (index, word) in self.key_words(table)?.into_iter().enumerate() {
            let offset = i32::try_from(index * 8).map_err(Unsupported::new)?;
            self.builder.ins().store(plain(), word, address, offset);
        }
        Ok(address)
    }

    /// The words of a table's key.
    pub(super) fn key_words(&mut self, table: &'ir Table) -> Result<Vec<Value>> {
        let mut words: Vec<Option<Value>> = vec![None; table.key_words];
        for part in &table.key {
            for index in 0..limbs_for(part.source.width) {
                let limb = self.word(part.source.slot + index)?;
                let limb = if part.source.width <= 64 {
                    self.builder.ins().ishl_imm(limb, i64::from(part.shift))
                } else {
                    limb
                };
                let Some(word) = words.get_mut(part.word + index) else {
                    return Err(Unsupported::new("a key that does not fit its words"));
                };
                *word = Some(match *word {
                    Some(before) => self.builder.ins().bor(before, limb),
                    None => limb,
                });
            }
        }
        let masks = words.into_iter().zip(&table.key_mask);
        let masked = masks.map(|(word, &mask)| match word {
            Some(word) => self.masked(word, mask),
            None => self.constant(0),
        });
        Ok(masked.collect())
    }
}

/// The action of a table that always runs the same one.
fn fixed_default(table: &Table) -> Option<&crate::ir::DefaultEntry> {
    let always = table.key_words == 0 && table.const_default_entry && !table.counters && table.direct_meter.is_none();
    table.default.as_ref().filter(|_| always)
}
