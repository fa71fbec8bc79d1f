// SPDX-License-Identifier: Apache-2.0
// Stands for include/freshness.p4.
#ifndef SLOTWISE_FRESHNESS_P4
#define SLOTWISE_FRESHNESS_P4
#include "version.p4"

// Last frame for which a beacon has been heard that is new enough; 0 before the first one.
Register<int<32>, star_t>(MAX_CORES) fresh_frame;  // by core

// A slave may open data gates only while it hears the master; the master is its own beacon. What is stale is forgotten, or it would be
// ahead again when frame numbers have gone round. A beacon that is taken is trusted until `last_frame`.
control Freshness(in star_t core, in StarOp op, in frame_t frame, in frame_t last_frame, in bit<1> is_master, inout bit<1> fresh) {
    RegisterAction<int<32>, star_t, bit<1>>(fresh_frame) put_fresh_frame = {
        void apply(inout int<32> value) {
            value = (int<32>)last_frame;
        }
    };
    RegisterAction<int<32>, star_t, bit<1>>(fresh_frame) trust = {
        void apply(inout int<32> value, out bit<1> is_fresh) {
            is_fresh = 0;
            if (value != 0 && value - (int<32>)frame >= 0) {
                is_fresh = 1;
            } else {
                value = 0;
            }
        }
    };

    @hidden action keep() {
        put_fresh_frame.execute(core);
    }

    @hidden action compare() {
        fresh = trust.execute(core);
    }

    @hidden table of_fresh_frame {
        key = {
            op: exact;
        }
        actions = {
            keep;
            compare;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.KEEP: keep();
            StarOp.TICK: compare();
            StarOp.FLIP: compare();
        }
    }

    apply {
        of_fresh_frame.apply();
        if (is_master == 1) {
            fresh = 1;
        }
    }
}

#endif
