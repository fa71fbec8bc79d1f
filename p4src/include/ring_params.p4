// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_RING_PARAMS_P4
#define SLOTWISE_RING_PARAMS_P4
#include "quotient.p4"
#include "ring_parser.p4"

// What a station knows about itself; one default action that the controller sets.
control StationParams(inout ring_metadata_t meta) {
    // `stations`: at most MAX_STATIONS. `weight`: at least 1.
    action set_station(station_t station, bit<16> stations, mac_t mac, bit<8> weight) {
        meta.station = station;
        meta.stations = stations;
        AT_MOST(meta.stations, MAX_STATIONS)
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
    @hidden action find_ringlet() {
        meta.ringlet = RINGLETS;
        if (meta.from == From.RING) {
            meta.ringlet = 1;
            if ((meta.message == Message.FAIRNESS) == (standard_metadata.ingress_port == PORT_RING_EAST)) {
                meta.ringlet = 0;
            }
            if (hdr.ring.isValid() && hdr.ring.ringlet != meta.ringlet) {
                meta.ringlet = RINGLETS;
            }
        } else if (meta.from == From.LINECARD) {
            if (hdr.linecard.port == (bit<16>)PORT_RING_EAST) {
                meta.ringlet = 0;
            } else if (hdr.linecard.port == (bit<16>)PORT_RING_WEST) {
                meta.ringlet = 1;
            }
        } else if (meta.from == From.CONTROLLER && hdr.ring.isValid() && hdr.ring.ringlet < RINGLETS) {
            meta.ringlet = hdr.ring.ringlet;
        }
        meta.link = (index_t)meta.ringlet;
    }

    apply {
        find_ringlet();
    }
}

// How the links of this station are shared.
control RingletParams(inout ring_metadata_t meta) {
    // `mode`: RingMode. Rates in byte/s. `target`: threshold times capacity; `relief` is below it.
    action set_ringlet(station_t downstream, bit<8> mode, rate_t capacity, rate_t target, rate_t relief) {
        meta.downstream = downstream;
        meta.mode = (RingMode)mode;
        meta.capacity = capacity;
        meta.target = target;
        meta.relief = relief;
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

    // Reports to the controller: `report_intervals` apart in mode CONTROLLER, `watch_intervals` in the others; 0: none.
    action set_timing(bit<32> interval_ns,
                      bit<32> intervals_q8,
                      bit<8> old_shift,
                      bit<8> new_shift,
                      bit<16> window,
                      bit<32> windows_q8,
                      bit<16> bucket_bytes,
                      bit<32> hol_timer_ns,
                      bit<16> calm_intervals,
                      bit<16> hold_intervals,
                      bit<16> wait_intervals,
                      bit<16> report_intervals,
                      bit<16> watch_intervals) {
        meta.interval_ns = interval_ns;
        meta.intervals_q8 = intervals_q8;
        meta.old_shift = old_shift;
        meta.new_shift = new_shift;
        meta.window = window;
        meta.windows_q8 = windows_q8;
        meta.bucket_bytes = bucket_bytes;
        meta.hol_timer_ns = hol_timer_ns;
        meta.calm_intervals = calm_intervals;
        meta.hold_intervals = hold_intervals;
        meta.wait_intervals = wait_intervals;
        meta.report_intervals = report_intervals;
        if (meta.mode != RingMode.CONTROLLER) {
            meta.report_intervals = watch_intervals;
        }
    }

    table ring_timing {
        actions = {
            set_timing;
        }
        // 100 us, W1 = W2 = 8; windows of 10 ms; two packets of 1500 bytes; 1 ms; 10 intervals each.
        default_action = set_timing(100000, 2560000, 3, 3, 100, 25600, 3000, 1000000, 10, 10, 10, 1, 0);
        size = 1;
    }

    apply {
        if (ringlet.apply().hit) {
            ring_timing.apply();
        } else {
            meta.ringlet = RINGLETS;
        }
    }
}

#endif
