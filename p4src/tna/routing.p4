// SPDX-License-Identifier: Apache-2.0
// Stands for include/routing.p4: counters count in actions, a packet ages after its route is found, and `enqueue`, which two tables have, is
// counted by queue.
#ifndef SLOTWISE_ROUTING_P4
#define SLOTWISE_ROUTING_P4
#include "counting.p4"
#include "../include/access.p4"
#include "../include/edge_parser.p4"

control Routing(inout edge_headers_t hdr,
                inout edge_metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    bit<1> is_shared = 0;

    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc;
    direct_counter(CounterType.packets_and_bytes) ipv4_route_counter;

    // Until a VOQ is found the queue is one that no packet may go to.
    action to_edge(edge_t edge) {
        meta.to_fibre = 1;
        meta.dst_edge = edge;
        meta.queue = SIGNALING_QUEUE;
        COUNT(ipv4_route_counter)
    }

    // Also restores what an optical header has taken the place of.
    action to_host(port_t port, mac_t mac) {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.ethernet.dst = mac;
        hdr.ethernet.src = meta.mac;
        hdr.optical.setInvalid();
        standard_metadata.egress_spec = port;
        COUNT(ipv4_route_counter)
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
        COUNT(traffic_class_counter)
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

    Counter<bit<64>, queue_t>(MAX_QUEUES, CounterType_t.PACKETS_AND_BYTES) voq_traffic;

    action enqueue(queue_t queue, port_t port) {
        meta.queue = queue;
        meta.egress_port = port;
    }

    // The edge is reached over several cores: the flow's share decides.
    action share(bit<16> shares) {
        meta.shares = shares;
        is_shared = 1;
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
            share;
            @defaultonly no_voq;
        }
        const default_action = no_voq();
        size = MAX_QUEUES;
    }

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
        size = 4096;
    }

    // Of SHARES, the last four bits.
    @hidden action choose_part() {
        meta.part = 4w0 ++ crc.get({ hdr.ipv4.src, hdr.ipv4.dst, hdr.ipv4.protocol, meta.l4_src, meta.l4_dst })[3:0];
    }

    @hidden action refuse_queue() {
        meta.to_fibre = 0;
    }

    @hidden action count_queue() {
        voq_traffic.count(meta.queue);
    }

    @hidden table queue_range {
        key = {
            meta.queue: ternary;
        }
        actions = {
            refuse_queue;
            count_queue;
        }
        const default_action = refuse_queue();
        const entries = {
            SIGNALING_QUEUE: refuse_queue();
            0 &&& 0xfc00:    count_queue();
        }
    }

    apply {
        switch (ipv4_route.apply().action_run) {
            to_edge: {
                if (hdr.optical.isValid()) {
                    meta.to_fibre = 0;
                    meta.drop_reason = DropReason.MISDIRECTED;
                } else {
                    traffic_class.apply();
                    voq.apply();
                    if (is_shared == 1) {
                        choose_part();
                        voq_share.apply();
                    }
                    queue_range.apply();
                    if (meta.to_fibre == 0 && meta.drop_reason == DropReason.NONE) {
                        meta.drop_reason = DropReason.BAD_QUEUE;
                    }
                }
            }
        }
    }
}

#endif
