// SPDX-License-Identifier: Apache-2.0
// core.p4 for Tofino. Registers are a pipe's own: the control unit's ticks and the beacons go to each pipe that has fibres.
//
//   control unit ──> slot tick ──┐
//   master ──> beacon ──examined, resubmitted──> kept ──> slot, version
//                                        │
//   fibre ──> guard, crossbar ──> traffic manager ──> overrun, collision ──> fibre
#include "target.p4"
#include "ports.p4"
#include "core_control.p4"
#include "crossbar.p4"
#include "drops.p4"
#include "../include/packet_out.p4"

// What a beacon that is accepted comes back with, where port metadata stands otherwise. Nothing reads it: nothing else comes back.
header again_t {
    bit<16> port;
}

struct core_ingress_headers_t {
    light_t        light;
    core_headers_t core;
}

struct core_ingress_metadata_t {
    core_metadata_t     core;
    standard_metadata_t standard;
    again_t             again;
    CoreDuty            duty;
}

parser CoreIngressParser(packet_in packet,
                         out core_ingress_headers_t hdr,
                         out core_ingress_metadata_t meta,
                         out ingress_intrinsic_metadata_t intrinsic) {
    CoreParser() core_parser;
    CoreParser() beacon_parser;

    state start {
        packet.extract(intrinsic);
        transition select(intrinsic.resubmit_flag) {
            1:       parse_again;
            default: parse_port;
        }
    }

    // Each way has its own copy of the parser: it selects by a port that is known on either.
    state parse_port {
        READ_PORT(meta.standard.ingress_port)
        core_parser.apply(packet, hdr.core, meta.core, meta.standard);
        transition accept;
    }

    state parse_again {
        packet.advance(PORT_METADATA_SIZE);
        meta.standard.ingress_port = PORT_CORE_CONTROL;
        beacon_parser.apply(packet, hdr.core, meta.core, meta.standard);
        transition accept;
    }
}

// The instances that hold tables and counters are named so that P4Info says CoreIngress.<table>.
control CoreIngress(inout core_ingress_headers_t hdr,
                    inout core_ingress_metadata_t meta,
                    in ingress_intrinsic_metadata_t intrinsic,
                    in ingress_intrinsic_metadata_from_parser_t from_parser,
                    inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                    inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".CoreIngress") CoreParams() params;
    Versions() versions;
    ExamineBeacon() examine;
    Verdict() verdict;
    CoreSlot() core_slot;
    PacketOut() send;
    @name(".CoreIngress") Crossbar() crossbar;
    @name(".CoreIngress") DropAccounting() drop_accounting;
    @name(".CoreIngress") ToDevice() to_device;

    StarOp op = StarOp.READ;
    frame_t   frame = 0;
    slot_t    slot = 0;
    ns_t      start = 0;
    bit<16>   era = 0;

    @hidden action begin() {
        meta.standard.egress_spec = PORT_DROP;
        meta.duty = CoreDuty.NONE;
        meta.core.drop_reason = DropReason.NONE;
        meta.core.wrong = { 0, 0, 0, 0, 0, 0, 0, 0 };
        hdr.light.setValid();
        hdr.light.is_light = 0;
    }

    @hidden action start_slot() {
        meta.duty = CoreDuty.START;
        op = StarOp.FLIP;
        frame = hdr.core.slot_tick.frame;
    }

    @hidden action examine_beacon() {
        meta.duty = CoreDuty.EXAMINE;
        frame = hdr.core.commit.frame;
    }

    @hidden action take_beacon() {
        meta.duty = CoreDuty.TAKE;
        op = StarOp.KEEP;
        frame = hdr.core.commit.frame;
    }

    @hidden action resubmit() {
        for_deparser.resubmit_type = 1;
        meta.again.port = (bit<16>)PORT_CORE_CONTROL;
    }

    @hidden action pass_on() {
        hdr.light.is_light = 1;
        hdr.light.slot = slot;
        hdr.light.frame = meta.core.versions.now;
    }

    apply {
        begin();
        params.apply(meta.core);

        if (meta.standard.ingress_port >= PORT_OPTICAL_BASE
            && meta.standard.ingress_port < PORT_OPTICAL_BASE + MAX_FIBRES) {
            meta.duty = CoreDuty.PASS;
        } else if (from_parser.parser_err != PARSER_ERROR_OK) {
            meta.core.drop_reason = DropReason.TRUNCATED;
        } else if (meta.standard.ingress_port == PORT_LINECARD) {
            if (!hdr.core.linecard.isValid()) {
                meta.core.drop_reason = DropReason.UNEXPECTED_PORT;
            } else if (!hdr.core.slot_tick.isValid()) {
                meta.core.drop_reason = DropReason.BAD_VERSION;
            } else if (hdr.core.slot_tick.repeat != 0) {
                meta.core.drop_reason = DropReason.NO_SIGNALING;
            } else {
                start_slot();
            }
        } else if (meta.standard.ingress_port == PORT_CORE_CONTROL) {
            if (!hdr.core.optical.isValid()) {
                meta.core.drop_reason = DropReason.UNEXPECTED_PORT;
            } else if (!hdr.core.commit.isValid()) {
                meta.core.drop_reason = DropReason.BAD_VERSION;
            } else if (intrinsic.resubmit_flag == 1) {
                take_beacon();
            } else {
                examine_beacon();
            }
        } else if (meta.standard.ingress_port == PORT_CPU) {
            send.apply(hdr.core.packet_out, meta.standard, meta.core.drop_reason);
        } else {
            meta.core.drop_reason = DropReason.UNEXPECTED_PORT;
        }

        if (meta.duty != CoreDuty.NONE) {
            versions.apply(0, op, frame, hdr.core.commit.active_version, hdr.core.commit.next_version, hdr.core.commit.first_frame,
                           meta.core.versions);
            core_slot.apply(meta.duty, hdr.core.slot_tick.slot, from_parser.global_tstamp, slot, start, era);
        }
        if (meta.duty == CoreDuty.PASS) {
            pass_on();
            crossbar.apply(meta.core.versions.active, slot, start, era, from_parser.global_tstamp, hdr.light, meta.core, meta.standard);
        } else if (meta.duty == CoreDuty.EXAMINE) {
            examine.apply(meta.core.versions, frame, hdr.core.commit.active_version, hdr.core.commit.next_version,
                          hdr.core.commit.first_frame, meta.core.wrong);
            verdict.apply(meta.core.wrong, meta.core.drop_reason);
        }
        drop_accounting.apply(meta.core.drop_reason);
        if (meta.duty == CoreDuty.EXAMINE && meta.core.drop_reason == DropReason.NONE) {
            resubmit();
        } else {
            to_device.apply(meta.standard, for_deparser, for_tm);
        }
    }
}

// Only light leaves a core, and it was not read.
control CoreIngressDeparser(packet_out packet,
                            inout core_ingress_headers_t hdr,
                            in core_ingress_metadata_t meta,
                            in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Resubmit(1) resubmit;

    apply {
#ifndef P4TESTGEN  // which knows none
        if (for_deparser.resubmit_type == 1) {
            resubmit.emit(meta.again);
        }
#endif
        packet.emit(hdr.light);
    }
}

struct core_egress_headers_t {
    light_t light;
}

struct core_egress_metadata_t {
    DropReason drop_reason;
}

parser CoreEgressParser(packet_in packet,
                        out core_egress_headers_t hdr,
                        out core_egress_metadata_t meta,
                        out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(hdr.light);
        transition accept;
    }
}

control CoreEgress(inout core_egress_headers_t hdr,
                   inout core_egress_metadata_t meta,
                   in egress_intrinsic_metadata_t intrinsic,
                   in egress_intrinsic_metadata_from_parser_t from_parser,
                   inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout egress_intrinsic_metadata_for_output_port_t for_port) {
    @name(".CoreEgress") Output() output;
    @name(".CoreEgress") DropAccounting() drop_accounting;

    @hidden action drop() {
        for_deparser.drop_ctl = 1;
    }

    apply {
        meta.drop_reason = DropReason.NONE;
        if (hdr.light.is_light == 1) {
            output.apply(hdr.light, intrinsic.pkt_length, meta.drop_reason);
        }
        if (meta.drop_reason != DropReason.NONE) {
            drop();
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control CoreEgressDeparser(packet_out packet,
                           inout core_egress_headers_t hdr,
                           in core_egress_metadata_t meta,
                           in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply { }
}

Pipeline(CoreIngressParser(),
         CoreIngress(),
         CoreIngressDeparser(),
         CoreEgressParser(),
         CoreEgress(),
         CoreEgressDeparser()) pipe;

Switch(pipe) main;
