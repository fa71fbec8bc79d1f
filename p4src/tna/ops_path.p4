// SPDX-License-Identifier: Apache-2.0
// The train that comes by an input: where its label went the frames behind it go. All of it is by input, and touched once a packet.
#ifndef SLOTWISE_TNA_OPS_PATH_P4
#define SLOTWISE_TNA_OPS_PATH_P4
#include "target.p4"
#include "../include/ops_parser.p4"

Register<bit<32>, port_t>(512) path_search;   // number of the train whose label may come again; 0 once a frame has followed it
Register<bit<32>, port_t>(512) path_owner;    // source and queue
Register<ns_t, port_t>(512)    path_start;
Register<bit<16>, port_t>(512) path_era;      // the same in 2^32 ns
Register<ns_t, port_t>(512)    path_time;     // from its start; no frame of it comes later
Register<bit<16>, port_t>(512) path_output;   // port; 0: there is none
Register<bit<8>, port_t>(512)  path_refused;  // DropReason, if there is none for its frames

// What a packet does with the path of its input.
enum bit<8> PathOp {
    NONE   = 0,
    OPEN   = 1,  // a label has come
    CHANGE = 2,  // it comes again
    FOLLOW = 3,
    CLOSE  = 4   // the last frame of a train
}

// Where a train goes.
struct path_t {
    bit<16> output;
    bit<8>  refused;
}

// Whether a label that comes again may still be placed: not if a frame of its train, or another label, has come in between.
control Search(in PathOp op, in port_t input, in bit<32> train, inout bit<1> is_late) {
    RegisterAction<bit<32>, port_t, bit<1>>(path_search) open = {
        void apply(inout bit<32> value) {
            value = train;
        }
    };
    RegisterAction<bit<32>, port_t, bit<1>>(path_search) look = {
        void apply(inout bit<32> value, out bit<1> differs) {
            differs = 0;
            if (value != train) {
                differs = 1;
            }
        }
    };
    RegisterAction<bit<32>, port_t, bit<1>>(path_search) end = {
        void apply(inout bit<32> value) {
            value = 0;
        }
    };

    apply {
        if (op == PathOp.OPEN) {
            open.execute(input);
        } else if (op == PathOp.CHANGE) {
            is_late = look.execute(input);
        } else if (op == PathOp.FOLLOW || op == PathOp.CLOSE) {
            end.execute(input);
        }
    }
}

// `owner` is the packet's own, `time` how long the train of a label lasts. `path` is put, or got.
control Path(in PathOp op,
             in port_t input,
             in bit<32> owner,
             in bit<48> now,
             in ns_t time,
             inout bit<1> is_over,
             inout bit<1> is_strange,
             inout path_t path) {
    bit<32> difference = 0;
    ns_t    start = 0;
    ns_t    since = 0;
    bit<16> eras = 0;
    ns_t    spare = 0;

    RegisterAction<bit<32>, port_t, bit<32>>(path_owner) put_owner = {
        void apply(inout bit<32> value) {
            value = owner;
        }
    };
    RegisterAction<bit<32>, port_t, bit<32>>(path_owner) get_owner = {
        void apply(inout bit<32> value, out bit<32> read) {
            read = value;
        }
    };
    RegisterAction<ns_t, port_t, ns_t>(path_start) put_start = {
        void apply(inout ns_t value) {
            value = now[31:0];
        }
    };
    RegisterAction<ns_t, port_t, ns_t>(path_start) get_start = {
        void apply(inout ns_t value, out ns_t read) {
            read = value;
        }
    };
    RegisterAction<bit<16>, port_t, bit<16>>(path_era) put_era = {
        void apply(inout bit<16> value) {
            value = now[47:32];
        }
    };
    RegisterAction<bit<16>, port_t, bit<16>>(path_era) get_era = {
        void apply(inout bit<16> value, out bit<16> read) {
            read = value;
        }
    };
    RegisterAction<ns_t, port_t, ns_t>(path_time) put_time = {
        void apply(inout ns_t value) {
            value = time;
        }
    };
    RegisterAction<ns_t, port_t, ns_t>(path_time) get_time = {
        void apply(inout ns_t value, out ns_t read) {
            read = value;
        }
    };
    RegisterAction<bit<16>, port_t, bit<16>>(path_output) put_output = {
        void apply(inout bit<16> value) {
            value = path.output;
        }
    };
    RegisterAction<bit<16>, port_t, bit<16>>(path_output) get_output = {
        void apply(inout bit<16> value, out bit<16> read) {
            read = value;
        }
    };
    RegisterAction<bit<16>, port_t, bit<16>>(path_output) take_output = {
        void apply(inout bit<16> value, out bit<16> read) {
            read = value;
            value = 0;
        }
    };
    RegisterAction<bit<8>, port_t, bit<8>>(path_refused) put_refused = {
        void apply(inout bit<8> value) {
            value = path.refused;
        }
    };
    RegisterAction<bit<8>, port_t, bit<8>>(path_refused) get_refused = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
        }
    };
    RegisterAction<bit<8>, port_t, bit<8>>(path_refused) take_refused = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
            value = 0;
        }
    };

    @hidden action compare() {
        difference = difference ^ owner;
        since = now[31:0] - start;
        eras = now[47:32] - eras;
    }

    @hidden action compare_times() {
        spare = spare - since;
    }

    @hidden action put_out() {
        put_output.execute(input);
    }

    @hidden action get_out() {
        path.output = get_output.execute(input);
    }

    @hidden action take_out() {
        path.output = take_output.execute(input);
    }

    @hidden action put_reason() {
        put_refused.execute(input);
    }

    @hidden action get_reason() {
        path.refused = get_refused.execute(input);
    }

    @hidden action take_reason() {
        path.refused = take_refused.execute(input);
    }

    // The last frame ends the path, if it is one of its train.
    @hidden table output {
        key = {
            op:         ternary;
            is_over:    ternary;
            is_strange: ternary;
        }
        actions = {
            put_out;
            get_out;
            take_out;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (PathOp.OPEN, _, _):   put_out();
            (PathOp.CHANGE, _, _): put_out();
            (PathOp.CLOSE, 0, 0):  take_out();
            (PathOp.CLOSE, _, _):  get_out();
            (PathOp.FOLLOW, _, _): get_out();
        }
    }

    @hidden table refused {
        key = {
            op:         ternary;
            is_over:    ternary;
            is_strange: ternary;
        }
        actions = {
            put_reason;
            get_reason;
            take_reason;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (PathOp.OPEN, _, _):   put_reason();
            (PathOp.CHANGE, _, _): put_reason();
            (PathOp.CLOSE, 0, 0):  take_reason();
            (PathOp.CLOSE, _, _):  get_reason();
            (PathOp.FOLLOW, _, _): get_reason();
        }
    }

    apply {
        if (op == PathOp.OPEN) {
            put_owner.execute(input);
            put_start.execute(input);
            put_era.execute(input);
            put_time.execute(input);
        } else if (op == PathOp.FOLLOW || op == PathOp.CLOSE) {
            difference = get_owner.execute(input);
            start = get_start.execute(input);
            eras = get_era.execute(input);
            spare = get_time.execute(input);
            compare();
            compare_times();
            if (difference != 0) {
                is_strange = 1;
            }
            if (!IS_RECENT(since, eras, start, now[31:0])) {
                is_over = 1;
            } else if (IS_NEGATIVE(spare)) {
                is_over = 1;
            }
        }
        output.apply();
        refused.apply();
    }
}

#endif
