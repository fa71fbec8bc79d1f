// SPDX-License-Identifier: Apache-2.0
// Trains. Their labels reserve an output for as long as the train lasts; the frames behind go the same way unread, but for whose
// they are. Only differences of time count, since the clock goes round.
//
//   label ──> label_route ──> fibres in order: its wavelength, in time for the RAM? ──> others? ──> reserved, path of the input
//   frame ──> path of the input ──> the same output
#ifndef SLOTWISE_OPS_SWITCHING_P4
#define SLOTWISE_OPS_SWITCHING_P4
#include "label_route.p4"
#include "ops_params.p4"
#include "quotient.p4"
#include "xcp.p4"

const index_t OPS_PORTS = (index_t)PORT_DROP + 1;

// By output, with BUSY_ONCE: when its last train is over. 0: it has had none.
register<bit<49>>(OPS_PORTS) busy_until;
const bit<49> BUSY_ONCE = 1 << 48;

// The train that comes by an input, by input.
register<index_t>(OPS_PORTS) path_output;  // port; 0: there is none; PATH_REFUSED and a DropReason
register<bit<32>>(OPS_PORTS) path_owner;   // source and queue
register<bit<32>>(OPS_PORTS) path_left;    // bytes
register<clock_t>(OPS_PORTS) path_until;   // no frame of it comes later

const index_t PATH_REFUSED = 0x10000;

control SwitchTrain(inout ops_headers_t hdr, inout ops_metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(MAX_TRAIN_FATES, CounterType.packets_and_bytes) trains;

    TrainFate  fate;
    DropReason reason;
    clock_t    now;
    clock_t    duration;
    clock_t    horizon;     // no output is busy for longer
    bit<49>    until;
    clock_t    left;
    bit<8>     rank;
    bit<8>     fibres;      // that could be had so far, busy or not
    bit<8>     fibre;
    bit<8>     tries;
    bit<8>     trial;
    bit<8>     wavelength;
    bit<8>     converted;
    index_t    port;
    index_t    wanted;
    index_t    input;
    bit<64>    sum;

    // Not back by the fibre by which it comes. On each fibre its own wavelength first. Who may not be deflected has one fibre.
    @hidden action choose() {
        now = standard_metadata.ingress_global_timestamp;
        duration = (clock_t)(((bit<64>)hdr.label.length * (bit<64>)meta.time_per_byte_q16) >> 16);
        horizon = meta.ram + meta.guard + (clock_t)(((bit<64>)meta.longest_bytes * (bit<64>)meta.time_per_byte_q16) >> 16);
        fate = TrainFate.REFUSED;
        reason = DropReason.NO_ROUTE;
        fibres = 0;
        wanted = 0;
        meta.egress = 0;
        converted = hdr.label.wavelength;
        tries = 1;
        if (meta.converts == 1) {
            tries = meta.wavelengths;
        }
        if (hdr.label.hops_left <= 1) {
            reason = DropReason.TTL_EXPIRED;
            meta.choices = 0xffffffff;
        }
        for (rank = 0; rank < FIBRE_CHOICES; rank = rank + 1) {
            fibre = meta.choices[31:24];
            meta.choices = meta.choices << 8;
            port = WAVELENGTH_PORT(fibre, hdr.label.wavelength);
            if (meta.egress == 0 && fibre != NO_FIBRE && fibre != meta.fibre && IS_OPTICAL_PORT(port)) {
                if (fibres != 0 && hdr.label.deflections_left == 0) {
                    reason = DropReason.NOT_DEFLECTED;
                } else {
                    reason = DropReason.CONTENTION;
                    if (fibres == 0) {
                        wanted = port;
                    }
                    wavelength = hdr.label.wavelength;
                    for (trial = 0; trial < tries; trial = trial + 1) {
                        port = WAVELENGTH_PORT(fibre, wavelength);
                        if (meta.egress == 0 && IS_OPTICAL_PORT(port)) {
                            busy_until.read(until, port);
                            left = until[47:0] - now;
                            if (until == 0 || left > horizon) {
                                left = 0;
                            }
                            if (left <= meta.ram) {
                                meta.egress = port;
                                converted = wavelength;
                                until = BUSY_ONCE | (bit<49>)(now + left + duration + meta.guard);
                                busy_until.write(port, until);
                                fate = TrainFate.STRAIGHT;
                                if (left != 0) {
                                    fate = TrainFate.WAITED;
                                }
                                if (trial != 0) {
                                    fate = TrainFate.CONVERTED;
                                }
                                if (fibres != 0) {
                                    fate = TrainFate.DEFLECTED;
                                }
                            }
                        }
                        wavelength = wavelength + 1;
                        if (wavelength == meta.wavelengths) {
                            wavelength = 0;
                        }
                    }
                    fibres = fibres + 1;
                }
            }
        }
    }

    // All that arrives counts, before it is dropped; what is taken elsewhere counts there as well.
    @hidden action count_arrival() {
        if (wanted != 0) {
            xcp_bytes.read(sum, wanted);
            xcp_bytes.write(wanted, sum + (bit<64>)hdr.label.length);
        }
        if (meta.egress != 0 && meta.egress != wanted) {
            xcp_bytes.read(sum, meta.egress);
            xcp_bytes.write(meta.egress, sum + (bit<64>)hdr.label.length);
        }
    }

    // For the frames behind this one.
    @hidden action open_path() {
        input = (index_t)standard_metadata.ingress_port;
        port = meta.egress;
        if (meta.egress == 0) {
            port = PATH_REFUSED | (index_t)(bit<8>)reason;
        }
        if (hdr.label.packets == 1) {
            port = 0;
        }
        path_output.write(input, port);
        path_owner.write(input, hdr.optical.src_edge ++ hdr.optical.queue);
        path_left.write(input, hdr.label.length - meta.bytes);
        path_until.write(input, now + duration + meta.guard);
    }

    @hidden action send() {
        hdr.label.wavelength = converted;
        hdr.label.hops_left = hdr.label.hops_left - 1;
        if (fate == TrainFate.DEFLECTED) {
            hdr.label.deflections_left = hdr.label.deflections_left - 1;
        }
        standard_metadata.egress_spec = (port_t)meta.egress;
    }

    @hidden action drop() {
        meta.drop_reason = reason;
    }

    apply {
        choose();
        count_arrival();
        open_path();
        trains.count((bit<32>)(bit<8>)fate);
        if (meta.egress == 0) {
            drop();
        } else {
            send();
        }
    }
}

// A frame of a train that is under way. What comes by an input where there is none is lost.
control FollowTrain(in ops_headers_t hdr, inout ops_metadata_t meta, inout standard_metadata_t standard_metadata) {
    index_t input;
    index_t port;
    bit<32> owner;
    bit<32> left;
    clock_t until;
    clock_t horizon;

    @hidden action follow() {
        input = (index_t)standard_metadata.ingress_port;
        horizon = meta.guard + (clock_t)(((bit<64>)meta.longest_bytes * (bit<64>)meta.time_per_byte_q16) >> 16);
        path_output.read(port, input);
        path_owner.read(owner, input);
        path_left.read(left, input);
        path_until.read(until, input);
        if (port == 0 || until - standard_metadata.ingress_global_timestamp > horizon) {
            meta.drop_reason = DropReason.DARK;
        } else if (owner != hdr.optical.src_edge ++ hdr.optical.queue) {
            meta.drop_reason = DropReason.NOT_A_MEMBER;
        } else if (meta.bytes > left) {
            meta.drop_reason = DropReason.OVERRUN;
        } else {
            path_left.write(input, left - meta.bytes);
            if (hdr.optical.train == (bit<8>)TrainPart.LAST) {
                path_output.write(input, 0);
            }
            if (port >= PATH_REFUSED) {
                meta.drop_reason = (DropReason)port[7:0];
            } else {
                meta.egress = port;
                standard_metadata.egress_spec = (port_t)port;
            }
        }
    }

    apply {
        follow();
    }
}

#endif
