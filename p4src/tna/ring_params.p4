// SPDX-License-Identifier: Apache-2.0
// Stands for include/ring_params.p4. What an interval's end is made with is the switch's agent's, `ring_timing` with it; whoever writes
// `station_params` keeps to MAX_STATIONS.
#ifndef SLOTWISE_RING_PARAMS_P4
#define SLOTWISE_RING_PARAMS_P4
#include "target.p4"
#include "../include/ring_parser.p4"

// What a station knows about itself; one default action that the controller sets. `most_hops` is the number of stations once more, for 8-bit
// containers: what is compared, or moved, is of one size.
control StationParams(inout ring_metadata_t meta, inout bit<8> most_hops) {
    // `stations`: at most MAX_STATIONS. `weight`: at least 1.
    action set_station(station_t station, bit<16> stations, mac_t mac, bit<8> weight) {
        meta.station = station;
        meta.stations = stations;
        most_hops = stations[7:0];
        meta.mac = mac;
        meta.weight = weight;
    }

    table station_params {
        actions = {
            set_station;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1;
    }

    apply {
        station_params.apply();
    }
}

// The ringlet that a packet is on, or a message is about. A message about a ringlet comes on the other one, so by the port by
// which the ringlet's own packets leave.
control Ringlet(in ring_headers_t hdr, in standard_metadata_t standard_metadata, inout ring_metadata_t meta) {
    @hidden action is(bit<4> ringlet) {
        meta.ringlet = ringlet;
        meta.link = (index_t)ringlet;
    }

    @hidden table by_port {
        key = {
            meta.from:                      exact;
            meta.message:                   ternary;
            standard_metadata.ingress_port: ternary;
            hdr.linecard.port:              ternary;
            hdr.ring.ringlet:               ternary;
        }
        actions = {
            is;
        }
        const default_action = is(RINGLETS);
        const entries = {
            (From.RING, Message.FAIRNESS, PORT_RING_EAST, _, 0):  is(0);
            (From.RING, Message.FAIRNESS, PORT_RING_WEST, _, 1):  is(1);
            (From.RING, Message.FAIRNESS, _, _, _):               is(RINGLETS);
            (From.RING, Message.DATA, PORT_RING_WEST, _, 0):      is(0);
            (From.RING, Message.DATA, PORT_RING_EAST, _, 1):      is(1);
            (From.LINECARD, _, _, (bit<16>)PORT_RING_EAST, _):    is(0);
            (From.LINECARD, _, _, (bit<16>)PORT_RING_WEST, _):    is(1);
            (From.CONTROLLER, Message.FAIRNESS, _, _, 0):         is(0);
            (From.CONTROLLER, Message.FAIRNESS, _, _, 1):         is(1);
        }
    }

    apply {
        by_port.apply();
    }
}

// How the links of this station are shared.
control RingletParams(inout ring_metadata_t meta) {
    // `mode`: RingMode. Rates in byte/s. `target`: threshold times capacity; `relief` is below it.
    action set_ringlet(station_t downstream, bit<8> mode, rate_t capacity, rate_t target, rate_t relief) {
        meta.downstream = downstream;
        meta.mode = (RingMode)mode;
    }

    table ringlet {
        key = {
            meta.ringlet: exact @name("ringlet");
        }
        actions = {
            set_ringlet;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = 2;
    }

    @hidden action no_ringlet() {
        meta.ringlet = RINGLETS;
    }

    apply {
        if (!ringlet.apply().hit) {
            no_ringlet();
        }
    }
}

#endif
