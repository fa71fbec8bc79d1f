// SPDX-License-Identifier: Apache-2.0
//! The stages of a pipeline: parser, controls and deparser, each on the interpreter or in machine code.

use crate::action::Machine;
use crate::api::Output;
use crate::calculation;
use crate::control::{self, LiveTable};
use crate::ir::{Ir, Stage};
use crate::jit::Code;
use crate::parser::{ParserRun, ValueSetMembers};
use crate::pipeline::Pipeline;
use crate::profile::Profile;
use crate::state::Packet;
use crate::trace::TraceEvent;

/// What a machine needs to run a stage.
struct Means<'a> {
    /// `None`: the interpreter runs it, as it does while packets are traced.
    code: Option<&'a Code>,
    tables: &'a mut [LiveTable],
    profiles: &'a [Profile],
    value_sets: &'a [ValueSetMembers],
}

impl Pipeline {
    fn machine<'a>(
        &'a mut self,
        (ir, stage): (&'a Ir, Option<Stage>),
        packet: &'a mut Packet,
        payload: &'a [u8],
        out: &'a mut dyn Output,
    ) -> (Machine<'a>, Means<'a>) {
        let means = Means {
            code: self.code.as_deref().filter(|_| self.persistent.trace.is_none()),
            tables: &mut self.tables,
            profiles: &self.profiles,
            value_sets: &self.value_sets,
        };
        let machine = Machine {
            ir,
            packet,
            persistent: &mut self.persistent,
            payload,
            now: self.now,
            drop_port: u64::from(self.config.drop_port),
            stage,
            bmv2_compatible: self.bmv2_compatible,
            out,
        };
        (machine, means)
    }

    /// Parses and verifies checksums; says where the payload starts.
    pub(crate) fn parse(&mut self, ir: &Ir, packet: &mut Packet, frame: &[u8], out: &mut dyn Output) -> usize {
        // A state each for so many bytes; if nothing is left after that, the control does not run.
        self.persistent.work(frame.len() as u64);
        let (mut machine, means) = self.machine((ir, None), packet, &[], out);
        let (error, at) = match means.code {
            Some(code) => code.parse(&mut machine, frame, means.value_sets),
            None => {
                let mut run = ParserRun {
                    machine: &mut machine,
                    frame,
                    value_sets: means.value_sets,
                    at: 0,
                };
                let error = run.run();
                (error, run.at)
            }
        };
        machine.persistent.note(|| TraceEvent::ParserEnd {
            bytes: at,
            error: ir
                .errors
                .names
                .get(&error)
                .cloned()
                .unwrap_or_else(|| error.to_string()),
        });
        machine.packet.set_if(ir.standard.parser_error, error);
        if !ir.verify_checksums.is_empty() {
            machine.payload = &frame[at..];
            let right = match means.code {
                Some(code) => code.verify(&mut machine),
                None => calculation::verify(ir, machine.packet, machine.payload),
            };
            machine.packet.set_if(ir.standard.checksum_error, u64::from(!right));
        }
        at
    }

    /// Runs ingress or egress.
    pub(crate) fn control(&mut self, ir: &Ir, stage: Stage, packet: &mut Packet, payload: &[u8], out: &mut dyn Output) {
        let control = ir.control(stage);
        if control.start.is_none() {
            return;
        }
        if !self.persistent.work(control.most_work) {
            packet.requests.abort = true;
            return;
        }
        let (mut machine, means) = self.machine((ir, Some(stage)), packet, payload, out);
        match means.code {
            // What the parser asked for is not the code's business: it only looks after what may have asked.
            Some(code) if !machine.packet.requests.exit && !machine.packet.requests.abort => {
                code.control(stage, means.tables, means.profiles, &mut machine);
            }
            _ => control::run(control, means.tables, means.profiles, &mut machine),
        }
    }

    /// What leaves before the payload: checksums, valid headers in order.
    pub(crate) fn deparse(
        &mut self,
        ir: &Ir,
        packet: &mut Packet,
        payload: &[u8],
        deparsed: &mut Vec<u8>,
        out: &mut dyn Output,
    ) {
        deparsed.clear();
        let (mut machine, means) = self.machine((ir, None), packet, payload, out);
        match means.code {
            Some(code) => code.deparse(&mut machine, deparsed),
            None => emit_headers(ir, machine.packet, payload, deparsed),
        }
    }
}

/// Updates checksums and writes the valid headers in order.
fn emit_headers(ir: &Ir, packet: &mut Packet, payload: &[u8], out: &mut Vec<u8>) {
    calculation::update(ir, packet, payload);
    for &header in &ir.deparser {
        let instance = &ir.layout.headers[header];
        let words = &packet.words[instance.base..];
        if words[0] != 0 {
            ir.layout.types[instance.header_type].codec.emit(words, out);
        }
    }
}
