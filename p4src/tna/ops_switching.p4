// SPDX-License-Identifier: Apache-2.0
// Stands for include/ops_switching.p4. A pass tries one output; a label that finds no room comes again for the next one, as long as none of
// the frames behind it has come.
//
//   label ──> next fibre ──> room? ──> path of the input
//                        └─no──> loop ──> next wavelength, or next fibre
//   frame ──> path of the input ──> the same output
#ifndef SLOTWISE_OPS_SWITCHING_P4
#define SLOTWISE_OPS_SWITCHING_P4
#include "ops_train.p4"
#include "ops_reserve.p4"
#include "ops_path.p4"

control SwitchTrain(inout ops_headers_t hdr,
                    inout again_t again,
                    inout ops_metadata_t meta,
                    inout search_t search,
                    in bit<1> is_late,
                    in bit<48> now,
                    inout ns_t time,
                    inout path_t path,
                    inout standard_metadata_t standard_metadata) {
    TrainFate fate = TrainFate.REFUSED;
    bit<8>    next = 0;        // wavelength
    bit<1>    is_refused = 1;
    bit<1>    waits = 0;
    bit<1>    is_tried = 0;    // there is such an output, and the train may take it
    bit<1>    comes_again = 0;
    DropReason reason = DropReason.CONTENTION;

    @name(".OpsIngress") TrainTime() train_time;
    Reserve() reserve;

    Counter<bit<64>, bit<8>>(MAX_TRAIN_FATES, CounterType_t.PACKETS_AND_BYTES) trains;

    @hidden action next_wavelength() {
        next = search.wavelength + 1;
    }

    @hidden action keep_free() {
        time = time + meta.guard[31:0];
    }

    @hidden action first_wavelength() {
        next = 0;
    }

    @hidden action try_wavelength() {
        comes_again = 1;
        again.fibre = search.fibre;
        again.wavelength = next;
        again.is_deflected = search.is_deflected;
    }

    @hidden action try_fibre(bit<1> is_deflected) {
        comes_again = 1;
        again.fibre = NO_FIBRE;
        again.is_deflected = is_deflected;
    }

    @hidden action come_again() {
        again.setValid();
        again.input = standard_metadata.ingress_port;
        again.choices = meta.choices;
        standard_metadata.egress_spec = PORT_LOOP;
        path.refused = (bit<8>)DropReason.CONTENTION;
    }

    @hidden action switch_straight() {
        hdr.label.wavelength = search.wavelength;
        hdr.label.hops_left = hdr.label.hops_left - 1;
        standard_metadata.egress_spec = search.port[8:0];
        path.output = search.port;
    }

    @hidden action switch_deflected() {
        hdr.label.wavelength = search.wavelength;
        hdr.label.hops_left = hdr.label.hops_left - 1;
        standard_metadata.egress_spec = search.port[8:0];
        path.output = search.port;
        hdr.label.deflections_left = hdr.label.deflections_left - 1;
    }

    @hidden action refuse() {
        meta.drop_reason = reason;
        path.refused = (bit<8>)reason;
    }

    @hidden action no_path() {
        path.output = 0;
        path.refused = 0;
    }

    apply {
        next_wavelength();
        train_time.apply(hdr.label.length, time);
        keep_free();
        if (next == meta.wavelengths) {
            first_wavelength();
        }

        if (hdr.label.hops_left <= 1) {
            reason = DropReason.TTL_EXPIRED;
        } else if (is_late == 0) {
            if (search.fibre == NO_FIBRE) {
                if (search.is_deflected == 0) {
                    reason = DropReason.NO_ROUTE;
                }
            } else if (!IS_WAVELENGTH(search.port)) {
                // A fibre that there is not counts as none.
                if (search.is_last == 0) {
                    try_fibre(search.is_deflected);
                } else if (search.is_deflected == 0) {
                    reason = DropReason.NO_ROUTE;
                }
            } else if (search.is_deflected == 1 && hdr.label.deflections_left == 0) {
                reason = DropReason.NOT_DEFLECTED;
            } else {
                is_tried = 1;
            }
        }
        if (is_tried == 1) {
            reserve.apply(search.port[8:0], now, time, is_refused, waits);
            if (is_refused == 1) {
                if (meta.converts == 1 && next != hdr.label.wavelength) {
                    try_wavelength();
                } else if (search.is_last == 0) {
                    try_fibre(1);
                }
            } else if (search.is_deflected == 1) {
                fate = TrainFate.DEFLECTED;
            } else if (search.wavelength != hdr.label.wavelength) {
                fate = TrainFate.CONVERTED;
            } else {
                fate = TrainFate.STRAIGHT;
            }
        }

        if (comes_again == 1) {
            come_again();
        } else {
            if (fate == TrainFate.REFUSED) {
                refuse();
            } else if (fate == TrainFate.DEFLECTED) {
                switch_deflected();
            } else {
                switch_straight();
            }
            if (fate == TrainFate.STRAIGHT && waits == 1) {
                fate = TrainFate.WAITED;
            }
            trains.count((bit<8>)fate);
        }
        if (hdr.label.packets == 1) {
            no_path();
        }
    }
}

// A frame of a train that is under way, or was refused. What comes by an input where there is none is lost.
control FollowTrain(in bit<1> is_over,
                    in bit<1> is_strange,
                    in path_t path,
                    inout ops_metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    @hidden action follow() {
        standard_metadata.egress_spec = path.output[8:0];
    }

    @hidden action refuse_follower() {
        meta.drop_reason = (DropReason)path.refused;
    }

    apply {
        if (is_over == 1 || path.output == 0 && path.refused == 0) {
            meta.drop_reason = DropReason.DARK;
        } else if (is_strange == 1) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (path.refused != 0) {
            refuse_follower();
        } else {
            follow();
        }
    }
}

// A probe or reply: the first fibre that does not lead back, without an agent.
control ProbeWay(in search_t search, inout ops_headers_t hdr, inout ops_metadata_t meta, inout standard_metadata_t standard_metadata) {
    @hidden action send_probe() {
        hdr.label.hops_left = hdr.label.hops_left - 1;
        standard_metadata.egress_spec = search.port[8:0];
    }

    apply {
        if (!IS_WAVELENGTH(search.port)) {
            meta.drop_reason = DropReason.NO_ROUTE;
        } else {
            send_probe();
        }
    }
}

#endif
