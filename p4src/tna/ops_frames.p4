// SPDX-License-Identifier: Apache-2.0
// Behind the traffic manager, where a frame's length is known: whether it is within its train, as the label says.
#ifndef SLOTWISE_TNA_OPS_FRAMES_P4
#define SLOTWISE_TNA_OPS_FRAMES_P4
#include "target.p4"
#include "../include/constants.p4"

enum bit<8> CarriedAs {
    CONTROL  = 0,  // a packet of the controller
    LIGHT    = 1,
    LABEL    = 2,  // the first frame of a train
    FOLLOWER = 3   // a frame behind it
}

// What the traffic manager carries with each packet, in front of it; it is on no wire. Each field has containers of its own.
header carried_t {
    CarriedAs as;
    bit<16> port;    // where it leaves, of the plan
    bit<16> input;
    bit<32> length;  // of the train, of its first frame
}

Register<bit<32>, port_t>(512) path_left;  // bytes that frames of the train may still have, by input

control Frames(in carried_t carried, in bit<16> counted, inout DropReason drop_reason) {
    bit<16> frame_bytes = 0;
    bit<32> bytes = 0;        // the same
    bit<16> overhead = 0;
    bit<32> left = 0;
    bit<32> excess = 0;
    bit<1>  is_beyond = 0;

    // A container of 16 bits is not moved into one of 32.
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) wide;

    // Bytes that the traffic manager counts of each frame, and links do not; whoever sets `framing_bytes` sets them.
    action set_overhead(bit<16> bytes_of_each) {
        overhead = bytes_of_each;
    }

    table frame_params {
        actions = {
            set_overhead;
            @defaultonly NoAction;
        }
        default_action = NoAction();
        size = 1;
    }

    RegisterAction<bit<32>, port_t, bit<1>>(path_left) open = {
        void apply(inout bit<32> value) {
            value = left;
        }
    };
    RegisterAction<bit<32>, port_t, bit<1>>(path_left) take = {
        void apply(inout bit<32> value, out bit<1> overruns) {
            overruns = 0;
            if (value >= bytes) {
                value = value - bytes;
            } else {
                overruns = 1;
            }
        }
    };

    @hidden action measure() {
        frame_bytes = counted |-| overhead;
    }

    @hidden action widen() {
        bytes = wide.get({ frame_bytes });
    }

    @hidden action compare() {
        left = carried.length |-| bytes;
        excess = bytes |-| carried.length;
    }

    apply {
        frame_params.apply();
        measure();
        widen();
        compare();
        if (carried.as == CarriedAs.LABEL) {
            open.execute(carried.input[8:0]);
            if (excess != 0) {
                drop_reason = DropReason.BAD_FIELD;
            }
        } else if (carried.as == CarriedAs.FOLLOWER) {
            is_beyond = take.execute(carried.input[8:0]);
            if (is_beyond == 1) {
                drop_reason = DropReason.OVERRUN;
            }
        }
    }
}

#endif
