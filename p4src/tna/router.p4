// SPDX-License-Identifier: Apache-2.0
// router.p4 for Tofino. XCP's interval ticks are the agent's: a line card's are refused, as for outputs without controllers.
//
//   controller ──> packet-out ──────────────────────────> any port
//   ports ──> ARP, TTL ──> routing ──> checksum ──> XCP ──> port
#include "target.p4"
#include "ports.p4"
#include "forwarding.p4"
#include "drops.p4"
#include "no_egress.p4"
#include "../include/router_parser.p4"
#include "../include/router_control.p4"
#include "router_xcp.p4"
#include "../include/packet_out.p4"

struct router_ingress_metadata_t {
    router_metadata_t   router;
    standard_metadata_t standard;
}

parser RouterIngressParser(packet_in packet,
                           out router_headers_t hdr,
                           out router_ingress_metadata_t meta,
                           out ingress_intrinsic_metadata_t intrinsic) {
    RouterParser() router_parser;

    state start {
        packet.extract(intrinsic);
        READ_PORT(meta.standard.ingress_port)
        router_parser.apply(packet, hdr, meta.router, meta.standard);
        transition accept;
    }
}

// Operands of a stateful ALU stay whole. The instances that hold tables and counters are named so that P4Info says RouterIngress.<table>.
@pa_container_size("ingress", "_RouterIngress_packet_rtt_x", 32)
@pa_container_size("ingress", "_RouterIngress_packet_rtt_x_room", 32)
control RouterIngress(inout router_headers_t hdr,
                      inout router_ingress_metadata_t meta,
                      in ingress_intrinsic_metadata_t intrinsic,
                      in ingress_intrinsic_metadata_from_parser_t from_parser,
                      inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                      inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    @name(".RouterIngress") RouterParams() params;
    PacketOut() send;
    Access() access;
    @name(".RouterIngress") RouterForwarding() forwarding;
    Age() age;
    @name(".RouterIngress") RouterXcp() router_xcp;
    @name(".RouterIngress") DropAccounting() drop_accounting;
    @name(".RouterIngress") ToDevice() to_device;

    @hidden action begin() {
        meta.standard.egress_spec = PORT_DROP;
        meta.router.mac = 0;
        meta.router.drop_reason = DropReason.NONE;
        meta.router.xcp = false;
        meta.router.output = 0;
        for_tm.bypass_egress = 1;
    }

    apply {
        begin();
        params.apply(meta.router);

        if (from_parser.parser_err != PARSER_ERROR_OK) {
            meta.router.drop_reason = DropReason.TRUNCATED;
        } else if (meta.standard.ingress_port < PORT_OPTICAL_BASE && meta.standard.ingress_port != PORT_SELF) {
            if (IS_FORWARDABLE(hdr.ipv4)) {
                forwarding.apply(hdr, meta.router, meta.standard);
                if (meta.router.drop_reason == DropReason.NONE) {
                    age.apply(hdr.ipv4);
                }
            } else if (hdr.linecard.isValid()) {
                meta.router.drop_reason = DropReason.UNEXPECTED_PORT;
            } else {
                access.apply(hdr.ethernet, hdr.arp, hdr.ipv4, meta.router.mac, meta.standard, meta.router.drop_reason);
            }
        } else if (meta.standard.ingress_port == PORT_CPU) {
            send.apply(hdr.packet_out, meta.standard, meta.router.drop_reason);
        } else if (meta.standard.ingress_port != PORT_LINECARD || !hdr.linecard.isValid()) {
            meta.router.drop_reason = DropReason.UNEXPECTED_PORT;
        } else if (!hdr.queue_report.isValid()) {
            meta.router.drop_reason = DropReason.BAD_VERSION;
        } else if (hdr.queue_report.queue > SIGNALING_QUEUE) {
            if (hdr.interval_tick.isValid()) {
                meta.router.drop_reason = DropReason.BAD_QUEUE;
            }
        } else if (hdr.interval_tick.isValid()) {
            meta.router.drop_reason = DropReason.NO_SIGNALING;
        }

        if (meta.router.xcp) {
            router_xcp.apply(hdr, meta.router);
        }
        drop_accounting.apply(meta.router.drop_reason);
        to_device.apply(meta.standard, for_deparser, for_tm);
    }
}

control RouterIngressDeparser(packet_out packet,
                              inout router_headers_t hdr,
                              in router_ingress_metadata_t meta,
                              in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    RouterDeparser() deparser;

    apply {
        deparser.apply(packet, hdr);
    }
}

Pipeline(RouterIngressParser(),
         RouterIngress(),
         RouterIngressDeparser(),
         NoEgressParser(),
         NoEgress(),
         NoEgressDeparser()) pipe;

Switch(pipe) main;
