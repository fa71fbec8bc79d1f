// SPDX-License-Identifier: Apache-2.0
// Reserves an output, in one pass, by three registers. What v1model has as `busy_until` is a sum here: the time that was reserved since the
// start, and the time that the output was idle. So whether there is room, and what becomes of it, needs two operands and two comparisons:
//
//   last_label ──> idle for long? ──────────────────────────────┐
//   reserved_time: + the train's time ──> now - reserved ──> idle_time: below it: idle until now
//                                                                        above it by the RAM at most: waits
//                                                                        above it by more: refused, the train's time taken off again
//
// A difference of moments goes round with the clock in 4.3 s; of an output that had no label for that long the first register knows.
#ifndef SLOTWISE_TNA_OPS_RESERVE_P4
#define SLOTWISE_TNA_OPS_RESERVE_P4
#include "target.p4"

// By output.
Register<bit<32>, port_t>(512)  last_label;     // in 2^28 ns
Register<ns_t, port_t>(512)     reserved_time;  // of trains, with their guards
Register<int<32>, port_t>(512)  idle_time;

control Reserve(in port_t port, in bit<48> now, in ns_t time, out bit<1> is_refused, out bit<1> waits) {
    bit<32> last = 0;
    bit<32> eras = 0;
    ns_t    reserved = 0;
    int<32> idle = 0;

    // How long an output may be busy for what comes; whoever writes `ops_params` writes this one, too.
    RegisterParam<int<32>>(0) ram;

    RegisterAction<bit<32>, port_t, bit<32>>(last_label) note = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = (bit<32>)now[47:28];
        }
    };
    RegisterAction<ns_t, port_t, ns_t>(reserved_time) reserve = {
        void apply(inout ns_t value, out ns_t before) {
            before = value;
            value = value + time;
        }
    };
    RegisterAction<int<32>, port_t, bit<1>>(idle_time) begin = {
        void apply(inout int<32> value) {
            value = idle;
        }
    };
    RegisterAction2<int<32>, port_t, bit<1>, bit<1>>(idle_time) follow = {
        void apply(inout int<32> value, out bit<1> refuses, out bit<1> is_busy) {
            refuses = 0;
            is_busy = 0;
            if (value - idle - ram.read() > 0) {
                refuses = 1;
                value = value - (int<32>)time;
            } else if (value - idle <= 0) {
                value = idle;
            } else {
                is_busy = 1;
            }
        }
    };

    @hidden action compare() {
        eras = (bit<32>)now[47:28] - last;
        idle = (int<32>)(now[31:0] - reserved);
    }

    apply {
        last = note.execute(port);
        reserved = reserve.execute(port);
        compare();
        is_refused = 0;
        waits = 0;
        // A label that comes again is of the time when it came.
        if (eras == 0 || eras == 1 || eras == 0xffffffff) {
            is_refused = follow.execute(port, waits);
        } else {
            begin.execute(port);
        }
    }
}

#endif
