// SPDX-License-Identifier: Apache-2.0
// The train that comes by an input: where its label went the frames behind it go. All of it is by input, and touched once a packet.
#ifndef SLOTWISE_TNA_OPS_PATH_P4
#define SLOTWISE_TNA_OPS_PATH_P4
#include "target.p4"
#include "../include/ops_parser.p4"

typedef bit<16> path_t;  // a port; 0: there is none; PATH_REFUSED and a DropReason

const path_t PATH_REFUSED = 0x8000;

Register<bit<32>, port_t>(512) path_search;  // number of the train whose label has not been seen twice; 0 once a frame has followed it
Register<path_t, port_t>(512)  path_output;
Register<bit<32>, port_t>(512) path_owner;   // source and queue
Register<bit<32>, port_t>(512) path_until;   // no frame of it comes later, in 2^10 ns

// What a packet does with the path of its input.
enum bit<8> PathOp {
    NONE   = 0,
    OPEN   = 1,  // a label has come
    CHANGE = 2,  // it comes again
    FOLLOW = 3,
    CLOSE  = 4   // the last frame of a train
}

// Whether a label that comes again may still be placed: not if a frame of its train, or another label, has come in between.
control Search(in PathOp op, in port_t input, in bit<32> train, out bit<1> is_late) {
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
        is_late = 0;
        if (op == PathOp.OPEN) {
            open.execute(input);
        } else if (op == PathOp.CHANGE) {
            is_late = look.execute(input);
        } else if (op == PathOp.FOLLOW || op == PathOp.CLOSE) {
            end.execute(input);
        }
    }
}

// `owner` is the packet's own, `moment` now, or of a label when its train is over. `path` is put, or got.
control Path(in PathOp op,
             in port_t input,
             in bit<32> owner,
             in bit<32> moment,
             out bit<1> is_over,
             out bit<1> is_strange,
             inout path_t path) {
    bit<32> other = 0;
    bit<32> until = 0;

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
    RegisterAction<bit<32>, port_t, bit<32>>(path_until) put_until = {
        void apply(inout bit<32> value) {
            value = moment;
        }
    };
    RegisterAction<bit<32>, port_t, bit<32>>(path_until) get_until = {
        void apply(inout bit<32> value, out bit<32> read) {
            read = value;
        }
    };
    RegisterAction<path_t, port_t, path_t>(path_output) put_output = {
        void apply(inout path_t value) {
            value = path;
        }
    };
    RegisterAction<path_t, port_t, path_t>(path_output) get_output = {
        void apply(inout path_t value, out path_t read) {
            read = value;
        }
    };
    RegisterAction<path_t, port_t, path_t>(path_output) take_output = {
        void apply(inout path_t value, out path_t read) {
            read = value;
            value = 0;
        }
    };

    @hidden action compare() {
        other = other ^ owner;
        until = until - moment;
    }

    apply {
        is_over = 0;
        is_strange = 0;
        if (op == PathOp.OPEN) {
            put_owner.execute(input);
            put_until.execute(input);
        } else if (op == PathOp.FOLLOW || op == PathOp.CLOSE) {
            other = get_owner.execute(input);
            until = get_until.execute(input);
            compare();
            // Not before it is over, and no more than 4.3 s before that, as long as no train lasts.
            if (until[31:22] != 0) {
                is_over = 1;
            }
            if (other != 0) {
                is_strange = 1;
            }
        }
        if (op == PathOp.OPEN || op == PathOp.CHANGE) {
            put_output.execute(input);
        } else if (op == PathOp.CLOSE && is_over == 0 && is_strange == 0) {
            path = take_output.execute(input);
        } else if (op != PathOp.NONE) {
            path = get_output.execute(input);
        }
    }
}

#endif
