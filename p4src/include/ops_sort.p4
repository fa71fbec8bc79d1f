// SPDX-License-Identifier: Apache-2.0
// What this switch has to do with a packet, by where it comes from and what it is: all of the rules, the first that applies counts.
#ifndef SLOTWISE_OPS_SORT_P4
#define SLOTWISE_OPS_SORT_P4
#include "ops_params.p4"

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

    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action accept(Duty duty) {
        meta.duty = duty;
    }

    @hidden table sort {
        key = {
            meta.from:    ternary;
            meta.message: ternary;
            well_formed:  ternary;
            last_hop:     ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (From.CONTROLLER_OUT, _, _, _):                 accept(Duty.LEAVE);

            // Of a train that may go no further all frames are to be dropped for the same reason: its label is examined later.
            (From.DATA, Message.OTHER_LIGHT, _, _):         refuse(DropReason.BAD_VERSION);
            (From.DATA, Message.TRAIN, 0, _):               refuse(DropReason.BAD_FIELD);
            (From.DATA, Message.TRAIN, _, _):               accept(Duty.SWITCH);
            (From.DATA, Message.FOLLOWER, 0, _):            refuse(DropReason.BAD_FIELD);
            (From.DATA, Message.FOLLOWER, _, _):            accept(Duty.FOLLOW);

            (From.PROBES, Message.OTHER_LIGHT, _, _):       refuse(DropReason.BAD_VERSION);
            (From.PROBES, Message.PROBE, 0, _):             refuse(DropReason.BAD_FIELD);
            (From.PROBES, Message.REPLY, 0, _):             refuse(DropReason.BAD_FIELD);
            (From.PROBES, Message.PROBE, _, 1):             refuse(DropReason.TTL_EXPIRED);
            (From.PROBES, Message.REPLY, _, 1):             refuse(DropReason.TTL_EXPIRED);
            (From.PROBES, Message.PROBE, _, _):             accept(Duty.ANSWER);
            (From.PROBES, Message.REPLY, _, _):             accept(Duty.PASS_ON);

            (From.LINECARD, Message.OTHER_LINECARD, _, _):  refuse(DropReason.BAD_VERSION);
            (From.LINECARD, Message.INTERVAL_TICK, 0, _):   refuse(DropReason.BAD_QUEUE);
            (From.LINECARD, Message.INTERVAL_TICK, _, _):   accept(Duty.TICK);
        }
    }

    apply {
        look();
        sort.apply();
    }
}

#endif
