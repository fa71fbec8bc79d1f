// SPDX-License-Identifier: Apache-2.0
// What there is to know of a packet, for the rules.
#ifndef SLOTWISE_OPS_SORT_P4
#define SLOTWISE_OPS_SORT_P4
#include "ops_params.p4"
#include "ops_rules.p4"

control OpsSort(in ops_headers_t hdr, inout ops_metadata_t meta) {
    bit<1>  well_formed;
    bit<1>  last_hop;
    index_t place;

    // A first frame is at most as long as its train, and says alike in both headers whose it is.
    @hidden action look() {
        well_formed = 0;
        last_hop = 0;
        if (hdr.label.isValid() && hdr.label.src_edge != hdr.label.dst_edge) {
            if (hdr.optical.isValid()) {
                if (hdr.label.wavelength == meta.wavelength
                    && hdr.label.length <= (bit<32>)meta.longest_bytes && hdr.label.length >= meta.bytes
                    && hdr.optical.version == OPTICAL_VERSION && hdr.optical.kind == OpticalKind.DATA
                    && hdr.optical.src_edge == hdr.label.src_edge && hdr.optical.dst_edge == hdr.label.dst_edge
                    && (hdr.optical.train == (bit<8>)TrainPart.ONLY && hdr.label.packets == 1
                        || hdr.optical.train == (bit<8>)TrainPart.FIRST && hdr.label.packets > 1)) {
                    well_formed = 1;
                }
            } else if (hdr.label.wavelength < meta.wavelengths
                       && hdr.label.train == 0 && hdr.label.length == 0 && hdr.label.packets == 0) {
                well_formed = 1;
            }
        }
        if (hdr.optical.isValid() && !hdr.label.isValid()
            && (hdr.optical.train == (bit<8>)TrainPart.MIDDLE || hdr.optical.train == (bit<8>)TrainPart.LAST)) {
            well_formed = 1;
        }
        if (hdr.label.isValid() && hdr.label.hops_left <= 1) {
            last_hop = 1;
        }
        if (hdr.queue_report.isValid() && IS_OPTICAL_PORT((index_t)hdr.queue_report.queue)) {
            place = (index_t)hdr.queue_report.queue - (index_t)PORT_OPTICAL_BASE;
            place = place - (place >> meta.fibre_shift << meta.fibre_shift);
            if (place < (index_t)meta.wavelengths) {
                well_formed = 1;
            }
        }
    }

    @name(".OpsIngress.sort") OpsRules() rules;

    apply {
        look();
        rules.apply(well_formed, last_hop, meta);
    }
}

#endif
