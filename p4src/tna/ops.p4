// SPDX-License-Identifier: Apache-2.0
// ops.p4 for Tofino. Outputs have no agents, so probes pass untouched. Registers are a pipe's own: all fibres of a switch are at one pipe.
//
//   fibre ──> label ──> an output that is free in time ──> traffic manager ──> within its train? ──> fibre
//                └─refused──> loop: the next output
//         ──> frame behind a label ──> the label's output ──> the same
//         ──> probe, reply ──> fibre
#include "target.p4"
#include "ports.p4"
#include "counting.p4"
#include "ops_place.p4"
#include "../include/ops_params.p4"
#include "ops_sort.p4"
#include "../include/label_route.p4"
#include "ops_switching.p4"
#include "ops_frames.p4"
#include "drops.p4"
#include "../include/packet_out.p4"

struct ops_ingress_headers_t {
    carried_t     carried;
    again_t       again;
    ops_headers_t ops;
}

struct ops_ingress_metadata_t {
    ops_metadata_t      ops;
    standard_metadata_t standard;
    search_t            search;
}

parser OpsIngressParser(packet_in packet,
                        out ops_ingress_headers_t hdr,
                        out ops_ingress_metadata_t meta,
                        out ingress_intrinsic_metadata_t intrinsic) {
    OpsParser() ops_parser;
    OpsParser() again_parser;

    // Each way has its own copy of the parser: it selects by a port that is known on either.
    state start {
        packet.extract(intrinsic);
        READ_PORT(meta.standard.ingress_port)
        transition select(meta.standard.ingress_port) {
            PORT_LOOP: parse_again;
            default:   parse_new;
        }
    }

    state parse_new {
        ops_parser.apply(packet, hdr.ops, meta.ops, meta.standard);
        transition accept;
    }

    state parse_again {
        packet.extract(hdr.again);
        again_parser.apply(packet, hdr.ops, meta.ops, meta.standard);
        transition accept;
    }
}

// The instances that hold tables and counters are named so that P4Info says OpsIngress.<table>.
control OpsIngress(inout ops_ingress_headers_t hdr,
                   inout ops_ingress_metadata_t meta,
                   in ingress_intrinsic_metadata_t intrinsic,
                   in ingress_intrinsic_metadata_from_parser_t from_parser,
                   inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                   inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".OpsIngress") OpsParams() params;
    OpsSort() sort;
    PacketOut() send;
    Search() path_search;
    @name(".OpsIngress") LabelRoute() label_route;
    NextFibre() next_fibre;
    @name(".OpsIngress") WavelengthPort() wavelength_port;
    @name(".OpsIngress") SwitchTrain() switch_train;
    Path() path_of_input;
    FollowTrain() follow_train;
    ProbeWay() probe_way;
    @name(".OpsIngress") DropAccounting() drop_accounting;
    @name(".OpsIngress") ToDevice() to_device;

    PathOp  op = PathOp.NONE;
    bit<1>  is_again = 0;
    bit<1>  is_late = 0;
    bit<1>  is_over = 0;
    bit<1>  is_strange = 0;
    path_t  path = { 0, 0 };
    ns_t    time = 0;

    @hidden action begin() {
        hdr.carried.setValid();
        hdr.carried.as = CarriedAs.LIGHT;
        meta.standard.egress_spec = PORT_DROP;
        meta.ops.from = From.NOWHERE;
        meta.ops.duty = Duty.NONE;
        meta.ops.drop_reason = DropReason.NONE;
        meta.search.is_last = 0;
        meta.search.port = 0;
    }

    @hidden action begin_search() {
        begin();
        meta.search.is_deflected = 0;
        meta.search.fibre = NO_FIBRE;
    }

    @hidden action recall_search() {
        begin();
        is_again = 1;
        meta.standard.ingress_port = hdr.again.input;
        meta.search.is_deflected = hdr.again.is_deflected;
        meta.search.fibre = hdr.again.fibre;
        meta.search.wavelength = hdr.again.wavelength;
        meta.ops.choices = hdr.again.choices;
        hdr.again.setInvalid();
    }

    @hidden action try_again() {
        meta.ops.duty = Duty.SWITCH;
    }

    @hidden action by_its_wavelength() {
        meta.search.wavelength = hdr.ops.label.wavelength;
    }

    @hidden action by_that_for_probes() {
        meta.search.wavelength = meta.ops.wavelengths;
    }

    @hidden action carry() {
        hdr.carried.port = (bit<16>)meta.standard.egress_spec;
        hdr.carried.input = (bit<16>)meta.standard.ingress_port;
        hdr.carried.length = hdr.ops.label.length;
    }

    @hidden action bypass() {
        hdr.carried.setInvalid();
        for_tm.bypass_egress = 1;
    }

    apply {
        if (hdr.again.isValid()) {
            recall_search();
        } else {
            begin_search();
        }
        params.apply(meta.standard, meta.ops);

        if (is_again == 1) {
            try_again();
        } else if (from_parser.parser_err != PARSER_ERROR_OK) {
            meta.ops.drop_reason = DropReason.TRUNCATED;
        } else {
            sort.apply(hdr.ops, meta.ops);
        }

        if (meta.ops.duty == Duty.SWITCH) {
            hdr.carried.as = CarriedAs.LABEL;
            if (is_again == 0) {
                op = PathOp.OPEN;
            } else if (hdr.ops.label.packets != 1) {
                op = PathOp.CHANGE;
            }
        } else if (meta.ops.duty == Duty.FOLLOW) {
            hdr.carried.as = CarriedAs.FOLLOWER;
            if (hdr.ops.optical.train == (bit<8>)TrainPart.LAST) {
                op = PathOp.CLOSE;
            } else {
                op = PathOp.FOLLOW;
            }
        } else if (meta.ops.duty == Duty.LEAVE) {
            hdr.carried.as = CarriedAs.CONTROL;
        }
        path_search.apply(op, meta.standard.ingress_port, hdr.ops.label.train, is_late);
        if (is_late == 1) {
            op = PathOp.NONE;  // the path is another train's, or says already that this one is refused
        }

        if (meta.ops.duty == Duty.SWITCH || meta.ops.duty == Duty.ANSWER || meta.ops.duty == Duty.PASS_ON) {
            if (is_again == 0) {
                label_route.apply(hdr.ops, meta.ops);
            }
            if (meta.search.fibre == NO_FIBRE) {
                next_fibre.apply(meta.ops.fibre, meta.ops.choices, meta.search.fibre);
                if (meta.ops.duty == Duty.SWITCH) {
                    by_its_wavelength();
                } else {
                    by_that_for_probes();
                }
            }
            if (meta.ops.choices == 0xffffffff) {
                meta.search.is_last = 1;
            }
            if (meta.search.fibre != NO_FIBRE) {
                wavelength_port.apply(meta.search.fibre, meta.search.wavelength, meta.ops, meta.search.port);
            }
        }
        if (meta.ops.duty == Duty.SWITCH) {
            switch_train.apply(hdr.ops, hdr.again, meta.ops, meta.search, is_late, from_parser.global_tstamp, time, path, meta.standard);
        }
        path_of_input.apply(op, meta.standard.ingress_port, hdr.ops.optical.src_edge ++ hdr.ops.optical.queue, from_parser.global_tstamp,
                            time, is_over, is_strange, path);
        if (meta.ops.duty == Duty.FOLLOW) {
            follow_train.apply(is_over, is_strange, path, meta.ops, meta.standard);
        } else if (meta.ops.duty == Duty.ANSWER || meta.ops.duty == Duty.PASS_ON) {
            probe_way.apply(meta.search, hdr.ops, meta.ops, meta.standard);
        } else if (meta.ops.duty == Duty.LEAVE) {
            send.apply(hdr.ops.packet_out, meta.standard, meta.ops.drop_reason);
        } else if (meta.ops.duty == Duty.TICK) {
            meta.ops.drop_reason = DropReason.NO_SIGNALING;
        }

        if (hdr.again.isValid()) {
            bypass();
        } else {
            carry();
        }
        drop_accounting.apply(meta.ops.drop_reason);
        to_device.apply(meta.standard, for_deparser, for_tm);
    }
}

control OpsIngressDeparser(packet_out packet,
                           inout ops_ingress_headers_t hdr,
                           in ops_ingress_metadata_t meta,
                           in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    OpsDeparser() deparser;

    apply {
        packet.emit(hdr.carried);
        packet.emit(hdr.again);
        deparser.apply(packet, hdr.ops);
    }
}

struct ops_egress_headers_t {
    carried_t carried;
}

struct ops_egress_metadata_t {
    DropReason drop_reason;
}

parser OpsEgressParser(packet_in packet,
                       out ops_egress_headers_t hdr,
                       out ops_egress_metadata_t meta,
                       out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(hdr.carried);
        transition accept;
    }
}

control OpsEgress(inout ops_egress_headers_t hdr,
                  inout ops_egress_metadata_t meta,
                  in egress_intrinsic_metadata_t intrinsic,
                  in egress_intrinsic_metadata_from_parser_t from_parser,
                  inout egress_intrinsic_metadata_for_deparser_t for_deparser,
                  inout egress_intrinsic_metadata_for_output_port_t for_port) {
    @name(".OpsEgress") Frames() frames;
    @name(".OpsEgress") DropAccounting() drop_accounting;

    Counter<bit<64>, port_t>(512, CounterType_t.PACKETS_AND_BYTES) output_traffic;

    @hidden action drop() {
        for_deparser.drop_ctl = 1;
    }

    apply {
        meta.drop_reason = DropReason.NONE;
        frames.apply(hdr.carried, intrinsic.pkt_length, meta.drop_reason);
        if (meta.drop_reason != DropReason.NONE) {
            drop();
        } else if (hdr.carried.as != CarriedAs.CONTROL) {
            output_traffic.count(hdr.carried.port[8:0]);
        }
        drop_accounting.apply(meta.drop_reason);
    }
}

control OpsEgressDeparser(packet_out packet,
                          inout ops_egress_headers_t hdr,
                          in ops_egress_metadata_t meta,
                          in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply { }
}

Pipeline(OpsIngressParser(),
         OpsIngress(),
         OpsIngressDeparser(),
         OpsEgressParser(),
         OpsEgress(),
         OpsEgressDeparser()) pipe;

Switch(pipe) main;
