// SPDX-License-Identifier: Apache-2.0
//! What compiled code calls.
//!
//! Every function here gets the context of the pass that calls it. The code passes pointers into the program, which it
//! was compiled from and which it keeps alive, into its own stack, and to arguments that [`apply`] gave it.

use crate::action::Machine;
use crate::calculation;
use crate::control::{self, LiveTable};
use crate::expr::Expr;
use crate::ir::{KeySource, ParserOp, Primitive, Transition};
use crate::parser::{self, ParserRun, ValueSetMembers};
use crate::profile::Profile;
use crate::state::Packet;
use crate::value::limbs_for;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// No action was chosen.
pub(super) const NO_ACTION: u64 = u64::MAX;

/// What a pass works on. The code reads and writes the plain fields.
#[repr(C)]
pub(super) struct Context<'a> {
    pub words: *mut u64,
    pub packet: *mut Packet,
    /// Limbs of all registers.
    pub registers: *mut u64,
    pub drop_port: u64,
    /// Not 0: see [`Machine::bmv2_compatible`].
    pub bmv2_compatible: u64,
    /// [Work](crate::work) that is left.
    pub work_left: *mut u64,
    /// Parser: the frame, and how much of it is parsed (where the code calls a function, and at the end).
    pub frame: *const u8,
    pub frame_bytes: usize,
    pub at: usize,
    /// Parser: code of the error, when a function failed.
    pub error: u64,
    /// Result of [`apply`]: was it a hit, index into the table's actions or [`NO_ACTION`], the action's arguments.
    pub hit: u64,
    pub action: u64,
    pub args: *const u64,
    /// Deparser: where the headers go.
    pub out: *mut u8,
    machine: *mut Machine<'a>,
    pub tables: *mut [LiveTable],
    /// Of `tables`.
    pub first_table: *const LiveTable,
    pub profiles: *const [Profile],
    pub value_sets: *const [ValueSetMembers],
    /// What a callback of the caller panicked with: it goes on when the code has returned.
    pub panic: Option<Box<dyn Any + Send>>,
}

impl<'a> Context<'a> {
    pub fn new(machine: &mut Machine<'a>) -> Context<'a> {
        Context {
            words: machine.packet.words.as_mut_ptr(),
            packet: &raw mut *machine.packet,
            registers: machine.persistent.registers.as_mut_ptr(),
            drop_port: machine.drop_port,
            bmv2_compatible: machine.bmv2_compatible.into(),
            work_left: &raw mut machine.persistent.work_left,
            frame: std::ptr::null(),
            frame_bytes: 0,
            at: 0,
            error: 0,
            hit: 0,
            action: NO_ACTION,
            args: std::ptr::null(),
            out: std::ptr::null_mut(),
            machine,
            tables: &mut [],
            first_table: std::ptr::null(),
            profiles: &[],
            value_sets: &[],
            panic: None,
        }
    }

    pub fn word_count(&self) -> usize {
        // SAFETY: `packet` points to the machine's packet, which outlives the context.
        unsafe { (*self.packet).words.len() }
    }

    fn machine(&mut self) -> &mut Machine<'a> {
        // SAFETY: the context was made of this machine, which its maker has borrowed as long as the pass runs; the
        // code does not touch the packet while it is in a function of this file.
        unsafe { &mut *self.machine }
    }

    /// Notes a broken invariant. Compiled code cannot be unwound, so the panic waits until it has returned.
    fn broken(&mut self, what: &'static str) {
        self.panic = Some(Box::new(what));
    }

    fn parser<T>(&mut self, run: impl FnOnce(&mut ParserRun<'_, 'a>) -> T) -> T {
        // SAFETY: `Code::parse` set both to slices that outlive the pass.
        let (frame, value_sets) = unsafe {
            (
                std::slice::from_raw_parts(self.frame, self.frame_bytes),
                &*self.value_sets,
            )
        };
        let at = self.at;
        let mut parser = ParserRun {
            machine: self.machine(),
            frame,
            value_sets,
            at,
        };
        let result = run(&mut parser);
        self.at = parser.at;
        result
    }
}

/// A function that compiled code calls.
pub(super) struct Function {
    pub name: &'static str,
    /// All are 64 bits wide.
    pub params: usize,
    pub returns: bool,
    address: Address,
}

#[derive(Clone, Copy)]
struct Address(*const u8);

// SAFETY: the address of a function, which is never read as data.
unsafe impl Sync for Address {}

impl Function {
    const fn new(name: &'static str, params: usize, returns: bool, address: *const u8) -> Function {
        Function {
            name,
            params,
            returns,
            address: Address(address),
        }
    }

    pub fn address(&self) -> *const u8 {
        self.address.0
    }
}

/// Index into [`FUNCTIONS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Step,
    Eval,
    Apply,
    Count,
    ParserOp,
    ParserKey,
    Matches,
    Calculate,
    Emit,
}

/// In the order of [`Call`]; the parameters are those of the functions below.
pub(super) static FUNCTIONS: [Function; 9] = [
    Function::new("step", 4, false, step as *const u8),
    Function::new("eval", 4, true, eval as *const u8),
    Function::new("apply", 3, false, apply as *const u8),
    Function::new("count", 3, false, count as *const u8),
    Function::new("parser_op", 2, true, parser_op as *const u8),
    Function::new("parser_key", 3, true, parser_key as *const u8),
    Function::new("matches", 4, true, matches as *const u8),
    Function::new("calculate", 2, true, calculate as *const u8),
    Function::new("emit", 3, true, emit as *const u8),
];

/// A slice of words that the code passes; without words the pointer may be anything.
///
/// # Safety
/// `words` points to `count` words that do not change during `'a`.
unsafe fn slice<'a>(words: *const u64, count: u64) -> &'a [u64] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(words, count as usize) }
}

/// Runs a primitive.
unsafe extern "C" fn step(context: *mut Context<'_>, primitive: *const Primitive, args: *const u64, arg_words: u64) {
    // SAFETY: see the module; the arguments are those of the action.
    let (context, primitive, args) = unsafe { (&mut *context, &*primitive, slice(args, arg_words)) };
    let machine = context.machine();
    // `log_msg` calls the caller's output. Compiled code cannot be unwound, so a panic waits until it has returned.
    let result = catch_unwind(AssertUnwindSafe(|| machine.step(primitive, args)));
    if let Err(panic) = result {
        machine.packet.requests.abort = true;
        context.panic = Some(panic);
    }
}

/// Evaluates an expression.
unsafe extern "C" fn eval(context: *mut Context<'_>, expr: *const Expr, args: *const u64, arg_words: u64) -> u64 {
    // SAFETY: see the module; the arguments are those of the action.
    let (context, expr, args) = unsafe { (&mut *context, &*expr, slice(args, arg_words)) };
    context.machine().eval(expr, args)
}

/// Looks a packet up in a table; `key` has the table's key words.
unsafe extern "C" fn apply(context: *mut Context<'_>, table: u64, key: *const u64) {
    // SAFETY: see the module; `Code::control` set tables and profiles to slices that outlive the pass.
    let (context, tables, profiles) = unsafe {
        let context = &mut *context;
        let (tables, profiles) = (&mut *context.tables, &*context.profiles);
        (context, tables, profiles)
    };
    let machine = context.machine();
    let (ir, table) = (machine.ir, table as usize);
    let shape = &ir.tables[table];
    // SAFETY: the code builds the key in its own stack, with the words that the table's key has.
    let key = unsafe { slice(key, shape.key_words as u64) };
    let (hit, action) = control::choose(shape, &mut tables[table], profiles, key, machine);
    context.hit = u64::from(hit);
    context.action = NO_ACTION;
    let Some(action) = action else { return };
    // `pack_args` and the loader make as many words as the action's parameters have, and the code reads as many.
    let called = shape.actions.get(action.action);
    if called.is_some_and(|&called| ir.actions[called].arg_words == action.args.len()) {
        context.action = action.action as u64;
        context.args = action.args.as_ptr();
    } else {
        context.machine().packet.requests.abort = true;
        context.broken("an action whose arguments are not those that its parameters need");
    }
}

/// Counts the packet in a cell of a counter.
unsafe extern "C" fn count(context: *mut Context<'_>, counter: u64, index: u64) {
    // SAFETY: see the module.
    let context = unsafe { &mut *context };
    context.machine().count(counter as usize, index);
}

/// Runs an operation of the parser; not 0 if it failed.
unsafe extern "C" fn parser_op(context: *mut Context<'_>, op: *const ParserOp) -> u64 {
    // SAFETY: see the module.
    let (context, op) = unsafe { (&mut *context, &*op) };
    let result = catch_unwind(AssertUnwindSafe(|| context.parser(|parser| parser.op(op))));
    match result {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            context.error = error;
            1
        }
        Err(panic) => {
            context.panic = Some(panic);
            1
        }
    }
}

/// Puts a part of a `select` key into `key`, which has room for its words; not 0 if it failed.
unsafe extern "C" fn parser_key(context: *mut Context<'_>, source: *const KeySource, key: *mut u64) -> u64 {
    // SAFETY: see the module.
    let (context, source) = unsafe { (&mut *context, &*source) };
    let bottom = context.machine().packet.stack.len();
    let result = context.parser(|parser| parser.push_key(source));
    let stack = &mut context.machine().packet.stack;
    if let Err(error) = result {
        stack.truncate(bottom);
        context.error = error;
        return 1;
    }
    let part = &stack[bottom..];
    if part.len() != limbs_for(source.width()) {
        stack.truncate(bottom);
        context.broken("a part of a key whose words are not those that its width needs");
        return 1;
    }
    // SAFETY: the code reserved the words of the part in its own stack.
    unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), key, part.len()) };
    stack.truncate(bottom);
    0
}

/// 1 if a case of a `select` matches.
unsafe extern "C" fn matches(
    context: *mut Context<'_>,
    case: *const Transition,
    key: *const u64,
    key_words: u64,
) -> u64 {
    // SAFETY: see the module; the value sets outlive the pass.
    let (case, key, value_sets) = unsafe { (&*case, slice(key, key_words), &*(*context).value_sets) };
    u64::from(parser::matches(case, key, value_sets))
}

/// The value of a calculation.
unsafe extern "C" fn calculate(context: *mut Context<'_>, calculation: u64) -> u64 {
    // SAFETY: see the module.
    let context = unsafe { &mut *context };
    let machine = context.machine();
    let calculation = &machine.ir.calculations[calculation as usize];
    calculation::compute(machine.ir, calculation, machine.packet, machine.payload)
}

/// Writes a header; returns how many bytes.
unsafe extern "C" fn emit(context: *mut Context<'_>, header: u64, to: *mut u8) -> u64 {
    // SAFETY: see the module.
    let context = unsafe { &mut *context };
    let machine = context.machine();
    let instance = &machine.ir.layout.headers[header as usize];
    let mut bytes = std::mem::take(&mut machine.packet.bytes);
    bytes.clear();
    let codec = &machine.ir.layout.types[instance.header_type].codec;
    codec.emit(&machine.packet.words[instance.base..], &mut bytes);
    let fits = bytes.len() <= codec.max_bytes();
    let written = if fits { bytes.len() } else { 0 };
    // SAFETY: `Code::deparse` reserved `max_bytes` for every header.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, written) };
    machine.packet.bytes = bytes;
    if !fits {
        context.broken("a variable field that is longer than it may be");
    }
    written as u64
}
