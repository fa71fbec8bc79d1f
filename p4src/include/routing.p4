// SPDX-License-Identifier: Apache-2.0
// IPv4 to a host of this edge, or to the queue for another edge.
//
//   ipv4_route ──to_host──> access port
//        └──────to_edge──> traffic_class ──> voq ──share──> voq_share ──enqueue──> optical header, fibre
#ifndef SLOTWISE_ROUTING_P4
#define SLOTWISE_ROUTING_P4
#include "access.p4"
#include "edge_parser.p4"

control Routing(inout edge_headers_t hdr,
                inout edge_metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) ipv4_route_counter;

    // Until a VOQ is found the queue is one that no packet may go to.
    action to_edge(edge_t edge) {
        AGE(hdr.ipv4)
        meta.to_fibre = 1;
        meta.dst_edge = edge;
        meta.queue = SIGNALING_QUEUE;
    }

    // What comes as light has aged where it became light. Also restores what an optical header has taken the place of.
    action to_host(port_t port, mac_t mac) {
        if (!hdr.optical.isValid()) {
            AGE(hdr.ipv4)
        }
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.ethernet.dst = mac;
        hdr.ethernet.src = meta.mac;
        hdr.label.setInvalid();
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
        meta.traffic_class = traffic_class;
    }

    table traffic_class {
        key = {
            hdr.ipv4.dscp:        ternary @name("dscp");
            hdr.ipv4.protocol:    ternary @name("protocol");
            meta.l4_src:          ternary @name("l4_src");
            meta.l4_dst:          ternary @name("l4_dst");
            meta.acknowledgement: ternary @name("acknowledgement");
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

    action enqueue(queue_t queue, port_t port) {
        meta.queue = queue;
        meta.output = (index_t)queue;
        meta.egress_port = port;
    }

    // The same at an edge that makes each packet a train, with another output where there is no room at `port`.
    action enqueue_either(queue_t queue, port_t port, port_t second) {
        enqueue(queue, port);
        meta.second_port = second;
    }

    // The edge is reached over several cores: the flow's share decides.
    action share(bit<16> shares) {
        meta.shares = shares;
    }

    action no_voq() {
        meta.drop_reason = DropReason.NO_VOQ;
    }

    table voq {
        key = {
            meta.dst_edge:      exact @name("dst_edge");
            meta.traffic_class: exact @name("class");
        }
        actions = {
            enqueue;
            enqueue_either;
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
            meta.shares: exact @name("shares");
            meta.part:   exact @name("part");
        }
        actions = {
            enqueue;
            @defaultonly no_voq;
        }
        const default_action = no_voq();
        counters = voq_share_counter;
        size = 4096;
    }

    @hidden action choose_part() {
        hash(meta.part, HashAlgorithm.crc32, 8w0,
             {hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4_src, meta.l4_dst}, SHARES);
    }

    apply {
        switch (ipv4_route.apply().action_run) {
            to_edge: {
                if (hdr.optical.isValid()) {
                    meta.to_fibre = 0;
                    meta.drop_reason = DropReason.MISDIRECTED;
                } else {
                    traffic_class.apply();
                    switch (voq.apply().action_run) {
                        share: {
                            choose_part();
                            voq_share.apply();
                        }
                    }
                    if (meta.queue >= SIGNALING_QUEUE) {
                        meta.to_fibre = 0;
                        if (meta.drop_reason == DropReason.NONE) {
                            meta.drop_reason = DropReason.BAD_QUEUE;
                        }
                    }
                }
            }
        }
    }
}

#endif
