// SPDX-License-Identifier: Apache-2.0
//! Making functions: what all parts of the compiler share.

use super::memory::Module;
use super::runtime::{Call, Context, FUNCTIONS};
use super::{MAX_FRAME_BYTES, MAX_INSTRUCTIONS};
use crate::ir::{Ir, Slot};
use cranelift_codegen::Context as CodegenContext;
use cranelift_codegen::ir::types::{I8, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, FuncRef, InstBuilder, MemFlags, Signature, StackSlotData, StackSlotKind, Value,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module as _};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Display;
use std::mem::offset_of;

/// Why a program is not compiled; it is interpreted then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unsupported(String);

impl Unsupported {
    pub fn new(reason: impl Display) -> Unsupported {
        Unsupported(reason.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, Unsupported>;

/// The functions of one program in the making.
pub(super) struct Compiler<'ir> {
    pub ir: &'ir Ir,
    module: Module,
    scratch: FunctionBuilderContext,
    codegen: CodegenContext,
    functions: Functions,
    /// Instructions so far.
    instructions: usize,
    has_decided: Option<&'ir Cell<bool>>,
}

/// What functions can call.
struct Functions {
    runtime: Vec<FuncId>,
    /// One for each action of the program.
    actions: Vec<FuncId>,
}

/// A signature of 64-bit values.
fn signature(module: &JITModule, params: usize, returns: bool) -> Signature {
    let mut signature = module.make_signature();
    signature.params = vec![AbiParam::new(I64); params];
    signature.returns = vec![AbiParam::new(I64); usize::from(returns)];
    signature
}

impl<'ir> Compiler<'ir> {
    pub fn new(ir: &'ir Ir, mut module: Module, has_decided: Option<&'ir Cell<bool>>) -> Result<Compiler<'ir>> {
        let mut runtime = Vec::new();
        for function in &FUNCTIONS {
            let signature = signature(&module, function.params, function.returns);
            let id = module.declare_function(function.name, Linkage::Import, &signature);
            runtime.push(id.map_err(Unsupported::new)?);
        }
        let mut actions = Vec::new();
        for index in 0..ir.actions.len() {
            let signature = signature(&module, 2, false);
            let id = module.declare_function(&format!("action {index}"), Linkage::Local, &signature);
            actions.push(id.map_err(Unsupported::new)?);
        }
        Ok(Compiler {
            ir,
            codegen: module.make_context(),
            module,
            scratch: FunctionBuilderContext::new(),
            functions: Functions { runtime, actions },
            instructions: 0,
            has_decided,
        })
    }

    /// Defines a function from the context to a number.
    pub fn pass(&mut self, name: &str, emit: impl FnOnce(&mut Emitter<'_, 'ir>) -> Result<Value>) -> Result<FuncId> {
        let signature = signature(&self.module, 1, true);
        let id = self
            .module
            .declare_function(name, Linkage::Local, &signature)
            .map_err(Unsupported::new)?;
        self.define(id, signature, |emitter, _| {
            let result = emit(emitter)?;
            emitter.builder.ins().return_(&[result]);
            Ok(())
        })?;
        Ok(id)
    }

    /// Defines the function of an action: from the context and the arguments to nothing.
    pub fn action(
        &mut self,
        index: usize,
        emit: impl FnOnce(&mut Emitter<'_, 'ir>, Value) -> Result<()>,
    ) -> Result<()> {
        let signature = signature(&self.module, 2, false);
        self.define(self.functions.actions[index], signature, |emitter, params| {
            emit(emitter, params[1])?;
            emitter.builder.ins().return_(&[]);
            Ok(())
        })
    }

    fn define(
        &mut self,
        id: FuncId,
        signature: Signature,
        emit: impl FnOnce(&mut Emitter<'_, 'ir>, &[Value]) -> Result<()>,
    ) -> Result<()> {
        self.codegen.func.signature = signature;
        let mut builder = FunctionBuilder::new(&mut self.codegen.func, &mut self.scratch);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        let params = builder.block_params(entry).to_vec();
        let words = builder
            .ins()
            .load(I64, plain(), params[0], offset_of!(Context, words) as i32);
        let mut emitter = Emitter {
            builder,
            ir: self.ir,
            context: params[0],
            words,
            args: Args::Constant(&[]),
            module: &mut self.module,
            functions: &self.functions,
            imported: HashMap::new(),
            instructions_left: MAX_INSTRUCTIONS.saturating_sub(self.instructions),
            frame_bytes: 0,
            has_decided: self.has_decided,
        };
        emit(&mut emitter, &params)?;
        emitter.check_size()?;
        emitter.builder.seal_all_blocks();
        emitter.builder.finalize();
        self.instructions += self.codegen.func.dfg.num_insts();
        self.module
            .define_function(id, &mut self.codegen)
            .map_err(|error| Unsupported::new(format!("{error:?}")))?;
        // What the emitter put into the frame, and values for which there were not enough registers.
        let frame_bytes = self.codegen.compiled_code().map_or(0, |code| code.frame_size as usize);
        check_frame(frame_bytes)?;
        self.module.clear_context(&mut self.codegen);
        Ok(())
    }

    /// Makes everything executable.
    pub fn finish(mut self) -> Result<Module> {
        self.module.finalize_definitions().map_err(Unsupported::new)?;
        Ok(self.module)
    }
}

fn check_frame(bytes: usize) -> Result<()> {
    if bytes > MAX_FRAME_BYTES {
        return Err(Unsupported::new("a function needs too much of the stack"));
    }
    Ok(())
}

/// Memory that is there and aligned.
pub(super) fn plain() -> MemFlags {
    MemFlags::trusted()
}

/// Memory that is there, at any address.
pub(super) fn unaligned() -> MemFlags {
    MemFlags::new().with_notrap()
}

/// Where an action's arguments are.
#[derive(Clone, Copy)]
pub(super) enum Args<'ir> {
    /// So many words at an address that is known at run time.
    At { address: Value, words: usize },
    /// Known now; they live in the program.
    Constant(&'ir [u64]),
}

impl Args<'_> {
    pub fn words(&self) -> usize {
        match self {
            Args::At { words, .. } => *words,
            Args::Constant(args) => args.len(),
        }
    }
}

/// Writes one function.
pub(super) struct Emitter<'e, 'ir> {
    pub builder: FunctionBuilder<'e>,
    pub ir: &'ir Ir,
    pub context: Value,
    /// The packet state.
    pub words: Value,
    pub args: Args<'ir>,
    module: &'e mut JITModule,
    functions: &'e Functions,
    imported: HashMap<FuncId, FuncRef>,
    /// Instructions that this function may have.
    instructions_left: usize,
    /// Of this function's frame, as far as it was asked for.
    frame_bytes: usize,
    /// Set when the code compares with entries that the program gives; `None`: it must not.
    pub has_decided: Option<&'ir Cell<bool>>,
}

impl<'ir> Emitter<'_, 'ir> {
    /// Refuses a function that has become too large. Whatever the program has in any number asks this for each, so that what
    /// is too large is not made first.
    pub fn check_size(&self) -> Result<()> {
        if self.builder.func.dfg.num_insts() > self.instructions_left {
            return Err(Unsupported::new("the program is too large"));
        }
        Ok(())
    }

    /// Whether there is much room left for what is faster, but longer.
    pub fn is_small(&self) -> bool {
        self.builder.func.dfg.num_insts() < self.instructions_left / 4
    }

    pub fn constant(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(I64, value as i64)
    }

    /// The address of a part of the program, which lives as long as the code.
    pub fn address_of<T: ?Sized>(&mut self, part: &'ir T) -> Value {
        self.constant(std::ptr::from_ref(part).cast::<u8>() as u64)
    }

    /// The byte offset of a word of the packet state.
    pub fn slot(&self, slot: Slot) -> Result<i32> {
        if slot >= self.ir.layout.initial.len() {
            return Err(Unsupported::new("a field outside the packet state"));
        }
        i32::try_from(slot * 8).map_err(Unsupported::new)
    }

    pub fn word(&mut self, slot: Slot) -> Result<Value> {
        let offset = self.slot(slot)?;
        Ok(self.builder.ins().load(I64, plain(), self.words, offset))
    }

    pub fn store_word(&mut self, slot: Slot, value: Value) -> Result<()> {
        let offset = self.slot(slot)?;
        self.builder.ins().store(plain(), value, self.words, offset);
        Ok(())
    }

    pub fn store_constant(&mut self, slot: Slot, value: u64) -> Result<()> {
        let value = self.constant(value);
        self.store_word(slot, value)
    }

    /// `value & mask`, nothing if the mask is whole.
    pub fn masked(&mut self, value: Value, mask: u64) -> Value {
        if mask == u64::MAX {
            return value;
        }
        self.builder.ins().band_imm(value, mask as i64)
    }

    /// A field of the context.
    pub fn context_field(&mut self, offset: usize) -> Value {
        self.builder.ins().load(I64, plain(), self.context, offset as i32)
    }

    pub fn set_context_field(&mut self, offset: usize, value: Value) {
        self.builder.ins().store(plain(), value, self.context, offset as i32);
    }

    pub fn packet(&mut self) -> Value {
        self.context_field(offset_of!(Context, packet))
    }

    /// A flag of what the program asked for, at `offset` in the packet: an 8-bit value.
    pub fn flag(&mut self, offset: usize) -> Value {
        let packet = self.packet();
        self.builder.ins().load(I8, plain(), packet, offset as i32)
    }

    pub fn set_flag(&mut self, offset: usize) {
        let packet = self.packet();
        let set = self.builder.ins().iconst(I8, 1);
        self.builder.ins().store(plain(), set, packet, offset as i32);
    }

    /// Calls a function of the runtime with the context and `args`; its result, if it has one.
    pub fn call(&mut self, call: Call, args: &[Value]) -> Option<Value> {
        let function = self.import(self.functions.runtime[call as usize]);
        let mut all = vec![self.context];
        all.extend_from_slice(args);
        let instruction = self.builder.ins().call(function, &all);
        self.builder.inst_results(instruction).first().copied()
    }

    /// As [`Emitter::call`], of a function that returns something.
    pub fn call_value(&mut self, call: Call, args: &[Value]) -> Result<Value> {
        self.call(call, args)
            .ok_or_else(|| Unsupported::new(format!("{call:?} returns nothing")))
    }

    pub fn call_action(&mut self, action: usize, args: Value) {
        let function = self.import(self.functions.actions[action]);
        self.builder.ins().call(function, &[self.context, args]);
    }

    fn import(&mut self, id: FuncId) -> FuncRef {
        let (module, function) = (&mut *self.module, &mut *self.builder.func);
        *self
            .imported
            .entry(id)
            .or_insert_with(|| module.declare_func_in_func(id, function))
    }

    /// Address and number of the arguments, for the runtime.
    pub fn args_for_call(&mut self) -> (Value, Value) {
        let words = self.args.words();
        let address = match self.args {
            Args::At { address, .. } => address,
            Args::Constant(args) => self.address_of(args),
        };
        (address, self.constant(words as u64))
    }

    /// A word of the arguments.
    pub fn arg(&mut self, index: usize) -> Result<Value> {
        let missing = || Unsupported::new("an argument that the action does not have");
        match self.args {
            Args::At { address, words } => {
                if index >= words {
                    return Err(missing());
                }
                let offset = i32::try_from(index * 8).map_err(Unsupported::new)?;
                Ok(self.builder.ins().load(I64, plain(), address, offset))
            }
            Args::Constant(args) => {
                let value = *args.get(index).ok_or_else(missing)?;
                Ok(self.constant(value))
            }
        }
    }

    /// The address of so many words in the function's frame.
    pub fn stack_words(&mut self, words: usize) -> Result<Value> {
        self.frame_bytes = self.frame_bytes.saturating_add(words.saturating_mul(8));
        check_frame(self.frame_bytes)?;
        let bytes = u32::try_from(words * 8).map_err(Unsupported::new)?;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes.max(8), 3);
        let slot = self.builder.create_sized_stack_slot(slot);
        Ok(self.builder.ins().stack_addr(I64, slot, 0))
    }

    pub fn block(&mut self) -> Block {
        self.builder.create_block()
    }

    pub fn jump(&mut self, to: Block) {
        self.builder.ins().jump(to, &[]);
    }

    /// Goes to one of two blocks; the condition is any integer.
    pub fn branch(&mut self, condition: Value, yes: Block, no: Block) {
        self.builder.ins().brif(condition, yes, &[], no, &[]);
    }

    pub fn switch_to(&mut self, block: Block) {
        self.builder.switch_to_block(block);
    }
}
