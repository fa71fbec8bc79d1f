// SPDX-License-Identifier: Apache-2.0
// Reserves an output, in one pass, by registers that are touched once each. What v1model has as `busy_until` is a sum here: the time that
// was reserved since the start, and the time that the output was idle. So whether there is room, and what becomes of it, needs two
// operands and two comparisons:
//
//   last_label, last_era ──> idle for long? ──────────────────────┐
//   reserved_time: + the train's time ──> now - reserved ──> idle_time: below it: idle until now
//                                                                       above it by the RAM at most: waits
//                                                                       above it by more: refused, the train's time taken off again
//
// A difference of moments goes round with the clock in 4.3 s: of an output that had no label for 2.1 s the first two know.
#ifndef SLOTWISE_TNA_OPS_RESERVE_P4
#define SLOTWISE_TNA_OPS_RESERVE_P4
#include "target.p4"

// By output.
Register<ns_t, port_t>(512)    last_label;
Register<bit<16>, port_t>(512) last_era;       // the same in 2^32 ns
Register<ns_t, port_t>(512)    reserved_time;  // of trains, with their guards
Register<int<32>, port_t>(512) idle_time;

// How long an output may be busy for what comes; whoever writes `ops_params` writes this one, too.
RegisterParam<int<32>>(0) ram;

control Reserve(in port_t port, in bit<48> now, in ns_t time, inout bit<1> is_refused, inout bit<1> waits) {
    ns_t    before = 0;
    ns_t    since = 0;
    bit<16> eras = 0;
    ns_t    reserved = 0;
    int<32> idle = 0;
    int<32> was_idle = 0;
    bit<32> busy = 0;  // for so long, two's complement

    RegisterAction<ns_t, port_t, ns_t>(last_label) note_label = {
        void apply(inout ns_t value, out ns_t read) {
            read = value;
            value = now[31:0];
        }
    };
    RegisterAction<bit<16>, port_t, bit<16>>(last_era) note_era = {
        void apply(inout bit<16> value, out bit<16> read) {
            read = value;
            value = now[47:32];
        }
    };
    RegisterAction<ns_t, port_t, ns_t>(reserved_time) reserve = {
        void apply(inout ns_t value, out ns_t read) {
            read = value;
            value = value + time;
        }
    };
    RegisterAction<int<32>, port_t, bit<1>>(idle_time) begin = {
        void apply(inout int<32> value) {
            value = idle;
        }
    };
#ifndef P4TESTGEN  // which knows no action with two results; its one packet finds every output idle
    RegisterAction2<int<32>, port_t, bit<1>, int<32>>(idle_time) follow = {
        void apply(inout int<32> value, out bit<1> refuses, out int<32> read) {
            refuses = 0;
            read = value;
            if (value - idle > ram.read()) {
                refuses = 1;
                value = value - (int<32>)time;
            } else if (value - idle <= 0) {
                value = idle;
            }
        }
    };
#endif

    @hidden action compare_moments() {
        since = now[31:0] - before;
        eras = now[47:32] - eras;
        idle = (int<32>)(now[31:0] - reserved);
    }

    @hidden action compare_idle() {
        busy = (bit<32>)(was_idle - idle);
    }

    apply {
        before = note_label.execute(port);
        eras = note_era.execute(port);
        reserved = reserve.execute(port);
        compare_moments();
#ifdef P4TESTGEN
        begin.execute(port);
        is_refused = 0;
#else
        if (IS_RECENT(since, eras, before, now[31:0])) {
            is_refused = follow.execute(port, was_idle);
            compare_idle();
            if (!IS_NEGATIVE(busy) && busy != 0) {
                waits = 1;
            }
        } else {
            begin.execute(port);
            is_refused = 0;
        }
#endif
    }
}

#endif
