// SPDX-License-Identifier: Apache-2.0
// Stands for include/edge_ingress.p4: trains before the outputs of an edge, without classes. A packet touches an output's register once,
// so one that finds no room comes again for its second choice.
//
//   train ──> first choice, room? ──> counted
//                └─none──> resubmitted ──> second choice, room? ──> counted
//   the line card has sent one ──> one fewer
#ifndef SLOTWISE_EDGE_INGRESS_P4
#define SLOTWISE_EDGE_INGRESS_P4
#include "target.p4"
#include "../include/edge_parser.p4"

#define AN_OUTPUT 9w256 &&& 9w0x1f8  // PORT_OPTICAL_BASE + MAX_OUTPUTS of them

Register<bit<32>, port_t>(512) output_trains;  // that wait or are being sent, by the output's port

// What a packet does with an output.
enum bit<8> OutputOp {
    NONE  = 0,
    ENTER = 1,  // a train
    LEAVE = 2   // one has been sent
}

#define TRY(k) \
    (1, k, _, _):                             leave_by(PORT_OPTICAL_BASE + k); \
    (0, _, AN_OUTPUT, PORT_OPTICAL_BASE + k): try_either(k);

#define TRY_SECOND(k) (0, _, _, PORT_OPTICAL_BASE + k): leave_by(PORT_OPTICAL_BASE + k);

// By which of its two choices a train tries to leave, and which one is left: `may_return`. One that comes again has this one only.
control ChooseOutput(in bit<1> is_again, in bit<8> only, inout edge_metadata_t meta, inout OutputOp op, inout bit<1> may_return, inout bit<8> second) {
    @hidden action try_first() {
        op = OutputOp.ENTER;
    }

    @hidden action try_either(bit<8> left) {
        op = OutputOp.ENTER;
        may_return = 1;
        second = left;
    }

    @hidden action leave_by(port_t port) {
        op = OutputOp.ENTER;
        meta.egress_port = port;
    }

    @hidden action none_is_there() {
        meta.drop_reason = DropReason.INGRESS_FULL;
    }

    @hidden table choice {
        key = {
            is_again:         ternary;
            only:             ternary;
            meta.egress_port: ternary;
            meta.second_port: ternary;
        }
        actions = {
            try_first;
            try_either;
            leave_by;
            none_is_there;
        }
        const default_action = none_is_there();
        const entries = {
            TRY(0) TRY(1) TRY(2) TRY(3) TRY(4) TRY(5) TRY(6) TRY(7)
            (0, _, AN_OUTPUT, _): try_first();
            TRY_SECOND(0) TRY_SECOND(1) TRY_SECOND(2) TRY_SECOND(3) TRY_SECOND(4) TRY_SECOND(5) TRY_SECOND(6) TRY_SECOND(7)
        }
    }

    apply {
        choice.apply();
    }
}

// A train has left by the output of `meta.core`, and the next one begins.
control TrainSent(in train_sent_t train_sent, inout edge_metadata_t meta) {
    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action note() { }

    @hidden table look_at_sent {
        key = {
            meta.counts_trains:       ternary;
            meta.core:                ternary;
            train_sent.flags:         ternary;
            train_sent.traffic_class: ternary;
        }
        actions = {
            refuse;
            note;
        }
        const default_action = refuse(DropReason.BAD_FIELD);
        const entries = {
            (0, _, _, _):                           refuse(DropReason.NO_SIGNALING);
            (_, NO_CORE, _, _):                     refuse(DropReason.BAD_QUEUE);
            (_, _, OUTPUT_IDLE &&& OUTPUT_IDLE, _): note();
            (_, _, _, 0 &&& 0xf8):                  note();  // of MAX_OUTPUT_CLASSES
        }
    }

    apply {
        look_at_sent.apply();
    }
}

// The register of `port`. A train has room where none is, or no more wait than may.
control OutputTrains(in OutputOp op, in port_t port, in bit<8> limit, inout bit<32> found) {
    bit<32> allowed = 0;

    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) wide;

    RegisterAction<bit<32>, port_t, bit<32>>(output_trains) count_in = {
        void apply(inout bit<32> value, out bit<32> has_room) {
            has_room = 0;
            if (value <= allowed) {
                has_room = 1;
                value = value + 1;
            }
        }
    };
    RegisterAction<bit<32>, port_t, bit<32>>(output_trains) count_out = {
        void apply(inout bit<32> value, out bit<32> read) {
            read = value;
            value = value |-| 1;
        }
    };

    @hidden action limited() {
        allowed = wide.get({ limit });
    }

    @hidden action unlimited() {
        allowed = 0x7fffffff;
    }

    @hidden action enter() {
        found = count_in.execute(port);
    }

    @hidden action leave() {
        found = count_out.execute(port);
    }

    @hidden table output_op {
        key = {
            op: exact;
        }
        actions = {
            enter;
            leave;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            OutputOp.ENTER: enter();
            OutputOp.LEAVE: leave();
        }
    }

    apply {
        if (limit == NO_TRAIN_LIMIT) {
            unlimited();
        } else {
            limited();
        }
        output_op.apply();
    }
}

#endif
