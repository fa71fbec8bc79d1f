// SPDX-License-Identifier: Apache-2.0
//! The program as machine code of the host, made by Cranelift.
//!
//! Five functions stand for what the interpreter does in a pass over the program: parse, verify checksums, ingress,
//! egress, and the deparser with its checksum updates. They work on the same packet state as the interpreter, so that
//! either can run any packet. What is rare or long is not compiled but called: [`runtime`] holds these functions, and
//! they run the interpreter's own code for the construct, which is how there is one meaning only.
//!
//! Tables are data to the code: writes to them need no compilation.

mod actions;
mod checksums;
mod controls;
mod decisions;
mod deparser;
#[cfg(test)]
mod differential;
mod emitter;
mod expressions;
mod memory;
mod parsers;
mod primitives;
mod runtime;
mod wide;

use crate::action::Machine;
use crate::control::LiveTable;
use crate::ir::{Ir, Stage};
use crate::parser::ValueSetMembers;
use crate::profile::Profile;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::FuncId;
pub(crate) use emitter::Unsupported;
use emitter::{Compiler, Result};
use memory::Module;
use runtime::Context;
use std::cell::Cell;
use std::sync::Arc;

/// A compiled pass; what it returns depends on the pass.
type Pass = unsafe extern "C" fn(*mut Context<'_>) -> u64;

/// Programs of more instructions of Cranelift's are interpreted: compiling takes time that grows with them, and a
/// program comes from outside. `edge.p4` has some thousands.
const MAX_INSTRUCTIONS: usize = 500_000;

/// Largest frame of a function on the stack; at most two are there at a time, a pass and an action. Programs that
/// would need more are interpreted: the stack is the caller's, and may be a small one.
const MAX_FRAME_BYTES: usize = 64 << 10;

/// Longest output of a deparser that is compiled: its buffer is reserved before it runs.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// Machine code of one program; shared by its pipelines.
pub(crate) struct Code {
    /// The program that the code has addresses of.
    ir: Arc<Ir>,
    /// Owns the code's memory. A pass runs only with a borrow of this value, and the function pointers do not leave it.
    _module: Module,
    parse: Pass,
    /// `None`: there is nothing to verify.
    verify: Option<Pass>,
    ingress: Pass,
    egress: Pass,
    deparse: Pass,
    /// Most bytes that `deparse` writes, slack included.
    deparse_room: usize,
}

// SAFETY: after it was made, the module is only touched to free it, by the one owner that drops it; function pointers
// and the program can be shared.
unsafe impl Send for Code {}
// SAFETY: as above; running code changes nothing but what its context points to.
unsafe impl Sync for Code {}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").finish_non_exhaustive()
    }
}

impl Code {
    /// Compiles a program, or says why this host or this program cannot be compiled.
    pub fn compile(ir: &Arc<Ir>) -> Result<Code> {
        let has_decided = Cell::new(false);
        let code = Code::with(ir, Some(&has_decided));
        if code.is_err() && has_decided.get() {
            // Comparing instead of looking up makes code longer: what is too large with it may not be without.
            return Code::with(ir, None);
        }
        code
    }

    /// Compares with entries that the program gives, and notes it, or looks all up.
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "a path to the method is not general enough in its lifetimes"
    )]
    fn with(ir: &Arc<Ir>, has_decided: Option<&Cell<bool>>) -> Result<Code> {
        if cfg!(not(all(target_pointer_width = "64", target_endian = "little"))) {
            return Err(Unsupported::new("the host is not a 64-bit little-endian machine"));
        }
        let deparse_room = deparser::room(ir)?;
        let mut compiler = Compiler::new(ir, Module::new(module()?), has_decided)?;
        compiler.actions()?;
        let parse = compiler.pass("parse", |emitter| emitter.parser())?;
        let verify = match ir.verify_checksums.as_slice() {
            [] => None,
            _ => Some(compiler.pass("verify", |emitter| emitter.verify_checksums())?),
        };
        let ingress = compiler.pass("ingress", |emitter| emitter.control(&ir.ingress))?;
        let egress = compiler.pass("egress", |emitter| emitter.control(&ir.egress))?;
        let deparse = compiler.pass("deparse", |emitter| emitter.deparser())?;
        let module = compiler.finish()?;
        let pass = |id: FuncId| {
            let address = module.get_finalized_function(id);
            // SAFETY: the function was defined with the signature of `Pass`: see `Compiler::pass`.
            unsafe { std::mem::transmute::<*const u8, Pass>(address) }
        };
        Ok(Code {
            parse: pass(parse),
            verify: verify.map(pass),
            ingress: pass(ingress),
            egress: pass(egress),
            deparse: pass(deparse),
            deparse_room,
            ir: Arc::clone(ir),
            _module: module,
        })
    }

    /// Parses; returns the parser's error and how many bytes of the frame are parsed.
    pub fn parse(&self, machine: &mut Machine, frame: &[u8], value_sets: &[ValueSetMembers]) -> (u64, usize) {
        let mut context = Context::new(machine);
        context.frame = frame.as_ptr();
        context.frame_bytes = frame.len();
        context.value_sets = value_sets;
        let error = self.run(self.parse, &mut context);
        (error, context.at)
    }

    /// True if every checksum that applies is right.
    pub fn verify(&self, machine: &mut Machine) -> bool {
        match self.verify {
            Some(verify) => self.run(verify, &mut Context::new(machine)) != 0,
            None => true,
        }
    }

    /// Runs a control. Neither `exit` nor `abort` has been asked for yet.
    pub fn control(&self, stage: Stage, tables: &mut [LiveTable], profiles: &[Profile], machine: &mut Machine) {
        let mut context = Context::new(machine);
        assert_eq!(tables.len(), self.ir.tables.len(), "tables of another program");
        context.first_table = tables.as_ptr();
        context.tables = tables;
        context.profiles = profiles;
        let pass = match stage {
            Stage::Ingress => self.ingress,
            Stage::Egress => self.egress,
        };
        self.run(pass, &mut context);
    }

    /// Updates checksums and writes the valid headers to `out`, which is empty.
    pub fn deparse(&self, machine: &mut Machine, out: &mut Vec<u8>) {
        out.reserve(self.deparse_room);
        let mut context = Context::new(machine);
        context.out = out.as_mut_ptr();
        let written = self.run(self.deparse, &mut context) as usize;
        // SAFETY: the pass wrote the first `written` bytes, at most `deparse_room`.
        unsafe { out.set_len(written) };
    }

    fn run(&self, pass: Pass, context: &mut Context) -> u64 {
        let words = context.word_count();
        assert_eq!(words, self.ir.layout.initial.len(), "packet of another program");
        // SAFETY: the code is alive as long as `self`. It was compiled for `self.ir`, which the packet state has the
        // size of, and reads and writes only the context, the packet state and, within bounds that it checks or that
        // were checked when it was compiled, the frame, the arguments and the output that the context points to.
        let result = unsafe { pass(context) };
        if let Some(panic) = context.panic.take() {
            std::panic::resume_unwind(panic);
        }
        result
    }
}

/// A module for this host, with the runtime's functions.
fn module() -> Result<JITModule> {
    let mut flags = settings::builder();
    let checked = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "speed"),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("enable_verifier", checked),
        // A frame of several pages touches each, so that it cannot jump over the guard page below the stack.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ] {
        flags.set(name, value).map_err(Unsupported::new)?;
    }
    let isa = cranelift_native::builder().map_err(Unsupported::new)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(Unsupported::new)?;
    let mut builder = JITBuilder::with_isa(isa, cranelift_module::default_libcall_names());
    for function in &runtime::FUNCTIONS {
        builder.symbol(function.name, function.address());
    }
    Ok(JITModule::new(builder))
}
