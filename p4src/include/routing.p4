// SPDX-License-Identifier: Apache-2.0
// IPv4 to a host of this edge, or to the queue for another edge.
//
//   ipv4_route ──to_host──> access port
//        └──────to_edge──> traffic_class ──> voq ──share──> voq_share ──enqueue──> optical header, fibre
#ifndef SLOTWISE_ROUTING_P4
#define SLOTWISE_ROUTING_P4
#include "edge_parser.p4"
#include "optical.p4"

control Routing(inout edge_headers_t hdr,
                inout edge_metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    bit<16> dst_edge = 0;
    bit<16> l4_src = 0;
    bit<16> l4_dst = 0;
    bit<8>  class = 0;
    bit<16> chosen = 0;
    bit<9>  fibre = PORT_DROP;
    bit<16> shared = 0;
    bool    is_shared = false;
    bit<8>  part = 0;

    Encapsulate() encapsulate;

    direct_counter(CounterType.packets_and_bytes) ipv4_route_counter;

    action to_edge(bit<16> edge) {
        dst_edge = edge;
    }

    // Also restores what an optical header has taken the place of.
    action to_host(bit<9> port, bit<48> mac) {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.ethernet.dst = mac;
        hdr.ethernet.src = meta.mac;
        hdr.optical.setInvalid();
        standard_metadata.egress_spec = port;
    }

    action no_route() {
        meta.drop_reason = DropReason.NO_ROUTE;
    }

    table ipv4_route {
        key = {
            hdr.ipv4.dst: lpm @name("dst");
        }
        actions = {
            to_edge;
            to_host;
            @defaultonly no_route;
        }
        const default_action = no_route();
        counters = ipv4_route_counter;
        size = 8192;
    }

    direct_counter(CounterType.packets_and_bytes) traffic_class_counter;

    action set_class(bit<8> traffic_class) {
        class = traffic_class;
    }

    table traffic_class {
        key = {
            hdr.ipv4.dscp:     ternary @name("dscp");
            hdr.ipv4.protocol: ternary @name("protocol");
            l4_src:            ternary @name("l4_src");
            l4_dst:            ternary @name("l4_dst");
        }
        actions = {
            set_class;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        counters = traffic_class_counter;
        size = 64;
    }

    direct_counter(CounterType.packets_and_bytes) voq_counter;

    action enqueue(bit<16> queue, bit<9> port) {
        chosen = queue;
        fibre = port;
    }

    // The edge is reached over several cores: the flow's share decides.
    action share(bit<16> shares) {
        shared = shares;
        is_shared = true;
    }

    action no_voq() {
        meta.drop_reason = DropReason.NO_VOQ;
    }

    table voq {
        key = {
            dst_edge: exact @name("dst_edge");
            class:    exact @name("class");
        }
        actions = {
            enqueue;
            share;
            @defaultonly no_voq;
        }
        const default_action = no_voq();
        counters = voq_counter;
        size = MAX_QUEUES;
    }

    direct_counter(CounterType.packets_and_bytes) voq_share_counter;

    table voq_share {
        key = {
            shared: exact @name("shares");
            part:   exact @name("part");
        }
        actions = {
            enqueue;
            @defaultonly no_voq;
        }
        const default_action = no_voq();
        counters = voq_share_counter;
        size = 4096;
    }

    apply {
        switch (ipv4_route.apply().action_run) {
            to_edge: {
                if (hdr.optical.isValid()) {
                    meta.drop_reason = DropReason.MISDIRECTED;
                } else {
                    if (hdr.l4.isValid()) {
                        l4_src = hdr.l4.src;
                        l4_dst = hdr.l4.dst;
                    }
                    traffic_class.apply();
                    voq.apply();
                    if (is_shared) {
                        hash(part, HashAlgorithm.crc32, 8w0,
                             {hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, l4_src, l4_dst}, SHARES);
                        voq_share.apply();
                    }
                    if (meta.drop_reason == DropReason.NONE) {
                        if (chosen >= SIGNALING_QUEUE) {
                            meta.drop_reason = DropReason.BAD_QUEUE;
                        } else {
                            encapsulate.apply(hdr.ethernet, hdr.optical, OpticalKind.DATA, class,
                                              meta.edge_id, dst_edge, chosen);
                            standard_metadata.egress_spec = fibre;
                            meta.xcp = hdr.xcp.isValid();
                            meta.output = (bit<32>)chosen;
                        }
                    }
                }
            }
        }
    }
}

#endif
