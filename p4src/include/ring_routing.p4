// SPDX-License-Identifier: Apache-2.0
// IPv4 to a host of this station, or over the ring to another one.
//
//   ipv4_route ──to_host──> access port
//        └──────to_station──> traffic_class ──> meter ──> ring_way ──reach──> ring header, ring port
#ifndef SLOTWISE_RING_ROUTING_P4
#define SLOTWISE_RING_ROUTING_P4
#include "access.p4"
#include "counting.p4"
#include "ring_parser.p4"

const bit<8> GREEN  = 0;
const bit<8> YELLOW = 1;

control RingRouting(inout ring_headers_t hdr,
                    inout ring_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    bit<8> color;
    index_t profile;

    direct_counter(CounterType.packets_and_bytes) ipv4_route_counter;
    // By access port and class, 4 * port + class.
    byte_meter(1024) ingress_rate;

    action to_station(station_t station) {
        AGE(hdr.ipv4)
        meta.destination = station;
        meta.to_ring = 1;
    }

    // What comes by the ring has aged where it was added.
    action to_host(port_t port, mac_t mac) {
        AGE_UNLESS(hdr.ring, hdr.ipv4)
        hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        hdr.ethernet.dst = mac;
        hdr.ethernet.src = meta.mac;
        hdr.ring.setInvalid();
        hdr.ring_data.setInvalid();
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
            to_station;
            to_host;
            @defaultonly no_route;
        }
        const default_action = no_route();
        counters = ipv4_route_counter;
        size = 8192;
    }

    direct_counter(CounterType.packets_and_bytes) traffic_class_counter;

    // BEST_EFFORT, COMMITTED (what is above its rate becomes EXCESS) or RESERVED.
    action set_class(bit<4> traffic_class) {
        meta.traffic_class = (RingClass)traffic_class;
        COUNT(traffic_class_counter)
    }

    table traffic_class {
        key = {
            hdr.ipv4.dscp:     ternary @name("dscp");
            hdr.ipv4.protocol: ternary @name("protocol");
            meta.l4_src:       ternary @name("l4_src");
            meta.l4_dst:       ternary @name("l4_dst");
        }
        actions = {
            set_class;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        counters = traffic_class_counter;
        size = 64;
    }

    FIND_PROFILE(profile, standard_metadata.ingress_port, (bit<4>)meta.traffic_class)

    @hidden action refuse() {
        meta.drop_reason = DropReason.POLICED;
        meta.to_ring = 0;
    }

    @hidden action pass() {
    }

    @hidden action make_excess() {
        meta.traffic_class = RingClass.EXCESS;
    }

    // A class that nobody has is refused.
    @hidden table police {
        key = {
            meta.traffic_class: ternary;
            color:              ternary;
        }
        actions = {
            refuse;
            pass;
            make_excess;
        }
        const default_action = refuse();
        const entries = {
            (RingClass.BEST_EFFORT, GREEN):  pass();
            (RingClass.BEST_EFFORT, YELLOW): pass();
            (RingClass.COMMITTED, GREEN):    pass();
            (RingClass.COMMITTED, YELLOW):   make_excess();
            (RingClass.RESERVED, GREEN):     pass();
        }
    }

    direct_counter(CounterType.packets_and_bytes) ring_way_counter;

    // `hops`: to the station, at least 1.
    action reach(bit<4> ringlet, bit<8> hops) {
        meta.ringlet = ringlet;
        meta.link = (index_t)ringlet;
        meta.hops = hops;
        COUNT(ring_way_counter)
    }

    action no_way() {
        meta.to_ring = 0;
        meta.drop_reason = DropReason.NO_ROUTE;
    }

    table ring_way {
        key = {
            meta.destination: exact @name("station");
        }
        actions = {
            reach;
            @defaultonly no_way;
        }
        const default_action = no_way();
        counters = ring_way_counter;
        size = (bit<32>)MAX_STATIONS;
    }

    @hidden action misdirected() {
        meta.to_ring = 0;
        meta.drop_reason = DropReason.MISDIRECTED;
    }

    @hidden action bad_way() {
        meta.to_ring = 0;
        meta.drop_reason = DropReason.BAD_FIELD;
    }

    apply {
        ipv4_route.apply();
        if (meta.to_ring == 1) {
            if (meta.from == From.RING) {
                misdirected();
            } else {
                traffic_class.apply();
                find_profile();
                EXECUTE(ingress_rate, profile, color)
                police.apply();
                if (meta.to_ring == 1) {
                    ring_way.apply();
                    if (meta.to_ring == 1 && (meta.ringlet >= RINGLETS || meta.hops == 0)) {
                        bad_way();
                    }
                }
            }
        }
    }
}

#endif
