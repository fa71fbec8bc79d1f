// SPDX-License-Identifier: Apache-2.0
// Stands for include/routing.p4, of edges of optical packet switches: counters count in actions, a packet ages after its route is found,
// and no edge is reached over several cores.
#ifndef SLOTWISE_ROUTING_P4
#define SLOTWISE_ROUTING_P4
#include "counting.p4"
#include "../include/access.p4"
#include "../include/edge_parser.p4"

control Routing(inout edge_headers_t hdr,
                inout edge_metadata_t meta,
                inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) ipv4_route_counter;

    // Until a VOQ is found the queue is one that no packet may go to.
    action to_edge(edge_t edge) {
        meta.to_fibre = 1;
        meta.dst_edge = edge;
        meta.queue = SIGNALING_QUEUE;
        COUNT(ipv4_route_counter)
    }

    // Also restores what label and optical header have taken the place of.
    action to_host(port_t port, mac_t mac) {
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.ethernet.dst = mac;
        hdr.ethernet.src = meta.mac;
        hdr.label.setInvalid();
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

    direct_counter(CounterType.packets_and_bytes) voq_counter;

    action enqueue(queue_t queue, port_t port) {
        meta.queue = queue;
        meta.egress_port = port;
        COUNT(voq_counter)
    }

    // Each packet is a train, with another output where there is no room at `port`.
    action enqueue_either(queue_t queue, port_t port, port_t second) {
        meta.queue = queue;
        meta.egress_port = port;
        meta.second_port = second;
        COUNT(voq_counter)
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
            @defaultonly no_voq;
        }
        const default_action = no_voq();
        counters = voq_counter;
        size = MAX_QUEUES;
    }

    @hidden action misdirect() {
        meta.to_fibre = 0;
        meta.drop_reason = DropReason.MISDIRECTED;
    }

    apply {
        switch (ipv4_route.apply().action_run) {
            to_edge: {
                if (hdr.optical.isValid()) {
                    misdirect();
                } else {
                    traffic_class.apply();
                    voq.apply();
                }
            }
        }
    }
}

#endif
