// SPDX-License-Identifier: Apache-2.0
// Stands for include/ops_sort.p4: what there is to know of a packet, for the rules. A frame's length is known behind the traffic manager.
#ifndef SLOTWISE_OPS_SORT_P4
#define SLOTWISE_OPS_SORT_P4
#include "ops_place.p4"
#include "../include/ops_rules.p4"

control OpsSort(in ops_headers_t hdr, inout ops_metadata_t meta) {
    bit<1>  well_formed = 0;
    bit<1>  last_hop = 0;
    bit<8>  beyond = 0;        // the wavelengths for data, two's complement
    bit<32> excess = 0;

    @name(".OpsIngress.sort") OpsRules() rules;

    @hidden action compare() {
        beyond = hdr.label.wavelength - meta.wavelengths;
        excess = hdr.label.length |-| (bit<32>)meta.longest_bytes;
    }

    apply {
        compare();
        if (hdr.label.isValid() && hdr.label.hops_left <= 1) {
            last_hop = 1;
        }
        if (meta.message == Message.TRAIN) {
            // A first frame says alike in both headers whose it is.
            if (hdr.label.src_edge != hdr.label.dst_edge && hdr.label.src_edge == hdr.optical.src_edge) {
                if (hdr.label.dst_edge == hdr.optical.dst_edge && hdr.label.wavelength == meta.wavelength) {
                    if (excess == 0 && hdr.optical.version == OPTICAL_VERSION && hdr.optical.kind == OpticalKind.DATA) {
                        if (hdr.optical.train == (bit<8>)TrainPart.ONLY && hdr.label.packets == 1
                            || hdr.optical.train == (bit<8>)TrainPart.FIRST && hdr.label.packets > 1) {
                            well_formed = 1;
                        }
                    }
                }
            }
        } else if (meta.message == Message.PROBE || meta.message == Message.REPLY) {
            if (hdr.label.src_edge != hdr.label.dst_edge && beyond[7:7] == 1 && hdr.label.packets == 0) {
                if (hdr.label.train == 0) {
                    if (hdr.label.length == 0) {
                        well_formed = 1;
                    }
                }
            }
        } else if (meta.message == Message.FOLLOWER) {
            if (hdr.optical.train == (bit<8>)TrainPart.MIDDLE || hdr.optical.train == (bit<8>)TrainPart.LAST) {
                well_formed = 1;
            }
        } else if (meta.message == Message.INTERVAL_TICK) {
            if (IS_OPTICAL_PORT(hdr.queue_report.queue[8:0]) && hdr.queue_report.queue[15:9] == 0) {
                well_formed = 1;
            }
        }
        rules.apply(well_formed, last_hop, meta);
    }
}

#endif
