// SPDX-License-Identifier: Apache-2.0
// ring.p4 for Tofino. What an interval's end makes of what is counted, limits and messages, is the switch's agent's: ticks are refused.
//
//   hosts ──> ARP, TTL ──> routing ──> class, meter ──> way ──> ring header ──> ring
//   ring ───> for a host here ──> routing ──> access port;  transit, counted by source ──> ring
//   next station, controller ──> message ──> check ──examined, resubmitted──> kept for the agent
//   controller, agent ──> packet-out ──> any port
#include "target.p4"
#include "ports.p4"
#include "forwarding.p4"
#include "drops.p4"
#include "no_egress.p4"
#include "ring_params.p4"
#include "ring_sort.p4"
#include "../include/ring_routing.p4"
#include "ring_link.p4"
#include "ring_emit.p4"
#include "ring_message.p4"
#include "../include/packet_out.p4"

// A message that is accepted comes back with the port by which it came, in front of it.
header resubmitted_t {
    bit<16> port;
}

struct ring_ingress_headers_t {
    resubmitted_t  resubmitted;
    ring_headers_t ring;
}

struct ring_ingress_metadata_t {
    ring_metadata_t     ring;
    standard_metadata_t standard;
    resubmitted_t       resubmitted;
}

parser RingIngressParser(packet_in packet,
                         out ring_ingress_headers_t hdr,
                         out ring_ingress_metadata_t meta,
                         out ingress_intrinsic_metadata_t intrinsic) {
    RingParser() ring_parser;
    RingParser() again_parser;

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
        ring_parser.apply(packet, hdr.ring, meta.ring, meta.standard);
        transition accept;
    }

    state parse_again {
        packet.extract(hdr.resubmitted);
        packet.advance(PORT_METADATA_SIZE - RESUBMITTED_BITS);
        meta.standard.ingress_port = hdr.resubmitted.port[8:0];
        again_parser.apply(packet, hdr.ring, meta.ring, meta.standard);
        transition accept;
    }
}

// The instances that hold tables and counters are named so that P4Info says RingIngress.<table>.
control RingIngress(inout ring_ingress_headers_t hdr,
                    inout ring_ingress_metadata_t meta,
                    in ingress_intrinsic_metadata_t intrinsic,
                    in ingress_intrinsic_metadata_from_parser_t from_parser,
                    inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                    inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".RingIngress") StationParams() station_params;
    Ringlet() ringlet;
    @name(".RingIngress") RingletParams() ringlet_params;
    RingSort() sort;
    @name(".RingIngress") RingRouting() routing;
    Age() age;
    Access() access;
    PacketOut() send;
    @name(".RingIngress") CountTransit() count_transit;
    PassOn() pass_on;
    RingCrc() ring_crc;
    TakeLimits() take_limits;
    AddToRing() add_to_ring;
    @name(".RingIngress") DropAccounting() drop_accounting;
    @name(".RingIngress") ToDevice() to_device;

    bit<8>  most_hops = 0;
    bit<1>  comes_again = 0;
    bit<32> differs = 0;

    // What the parser has not said is 0, as v1model has it.
    @hidden action begin() {
        meta.standard.egress_spec = PORT_DROP;
        meta.ring.duty = Duty.NONE;
        meta.ring.drop_reason = DropReason.NONE;
        meta.ring.wrong = { 0, 0, 0, 0, 0, 0, 0, 0 };
        meta.ring.to_ring = 0;
        meta.ring.traffic_class = RingClass.BEST_EFFORT;
        for_tm.bypass_egress = 1;
    }

    @hidden action compare() {
        differs = hdr.ring.check.crc ^ meta.ring.crc;
    }

    @hidden action resubmit() {
        for_deparser.resubmit_type = 1;
        meta.resubmitted.port = (bit<16>)meta.standard.ingress_port;
    }

    apply {
        begin();
        station_params.apply(meta.ring, most_hops);

        if (from_parser.parser_err != PARSER_ERROR_OK) {
            meta.ring.drop_reason = DropReason.TRUNCATED;
        } else {
            ringlet.apply(hdr.ring, meta.standard, meta.ring);
            if (meta.ring.message == Message.RING_TICK || meta.ring.message == Message.FAIRNESS) {
                ringlet_params.apply(meta.ring);
            }
            sort.apply(hdr.ring, meta.ring);
        }

        if (meta.ring.duty == Duty.ROUTE) {
            routing.apply(hdr.ring, meta.ring, meta.standard);
            if (meta.ring.from == From.ACCESS && meta.ring.drop_reason == DropReason.NONE) {
                age.apply(hdr.ring.ipv4);
            }
            if (meta.ring.to_ring == 1) {
                add_to_ring.apply(hdr.ring, most_hops, meta.ring, meta.standard);
            }
        } else if (meta.ring.duty == Duty.ANSWER) {
            access.apply(hdr.ring.ethernet, hdr.ring.arp, hdr.ring.ipv4, meta.ring.mac, meta.standard, meta.ring.drop_reason);
        } else if (meta.ring.duty == Duty.LEAVE) {
            send.apply(hdr.ring.packet_out, meta.standard, meta.ring.drop_reason);
        } else if (meta.ring.duty == Duty.PASS_ON) {
            count_transit.apply(hdr.ring, meta.ring);
            pass_on.apply(hdr.ring, meta.ring, meta.standard);
        } else if (meta.ring.duty == Duty.TAKE) {
            ring_crc.apply(hdr.ring, meta.ring);
            compare();
            if (differs != 0) {
                meta.ring.drop_reason = DropReason.BAD_CHECK;
            } else {
                take_limits.apply(hdr.ring, intrinsic.resubmit_flag, most_hops, meta.ring);
                if (meta.ring.drop_reason == DropReason.NONE && intrinsic.resubmit_flag == 0) {
                    comes_again = 1;
                }
            }
        } else if (meta.ring.duty == Duty.MEASURE || meta.ring.duty == Duty.TELL) {
            meta.ring.drop_reason = DropReason.NO_SIGNALING;
        }

        drop_accounting.apply(meta.ring.drop_reason);
        if (comes_again == 1) {
            resubmit();
        } else {
            to_device.apply(meta.standard, for_deparser, for_tm);
        }
    }
}

control RingIngressDeparser(packet_out packet,
                            inout ring_ingress_headers_t hdr,
                            in ring_ingress_metadata_t meta,
                            in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    Resubmit(1) resubmit;
    RingDeparser() deparser;

    apply {
#ifndef P4TESTGEN  // which knows none
        if (for_deparser.resubmit_type == 1) {
            resubmit.emit(meta.resubmitted);
        }
#endif
        deparser.apply(packet, hdr.ring);
    }
}

Pipeline(RingIngressParser(),
         RingIngress(),
         RingIngressDeparser(),
         NoEgressParser(),
         NoEgress(),
         NoEgressDeparser()) pipe;

Switch(pipe) main;
