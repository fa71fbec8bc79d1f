// SPDX-License-Identifier: Apache-2.0
// Of an edge that joins by invitation the fibre's pipe knows how far it has come and until when it is a member. It hears so by the orders for
// its line card, which side_pipe.p4 sends.
#ifndef SLOTWISE_TNA_MEMBERSHIP_P4
#define SLOTWISE_TNA_MEMBERSHIP_P4
#include "aside.p4"
#include "version.p4"

Register<bit<8>, star_t>(MAX_CORES)  member_state;
Register<int<32>, star_t>(MAX_CORES) member_until;  // last frame; before the first one, how many follow that

// What an edge may do at a tick.
enum bit<8> MayDo {
    ALL     = 0,
    SIGNAL  = 1,  // a whole guard off, and no data
    NOTHING = 2,
    LEAVE   = 3   // it has not been measured for too long
}

control Membership(in star_t core, in StarOp op, in frame_t frame, in again_t told, in bit<1> by_invitation, out bit<8> state, out MayDo may) {
    bit<32> is_over = 0;

    RegisterAction<bit<8>, star_t, bit<8>>(member_state) put_state = {
        void apply(inout bit<8> value) {
            value = told.state;
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(member_state) tick_state = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
            if (value == (bit<8>)MemberState.JOINED) {
                value = (bit<8>)MemberState.UNMEASURED;
            }
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(member_state) get_state = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
        }
    };
    RegisterAction<int<32>, star_t, bit<32>>(member_until) put_until = {
        void apply(inout int<32> value) {
            value = (int<32>)told.frame;
        }
    };
    RegisterAction<int<32>, star_t, bit<32>>(member_until) begin_until = {
        void apply(inout int<32> value) {
            value = value + (int<32>)frame;
        }
    };
    RegisterAction<int<32>, star_t, bit<32>>(member_until) has_passed = {
        void apply(inout int<32> value, out bit<32> passed) {
            passed = 0;
            if (value - (int<32>)frame < 0) {
                passed = 1;
            }
        }
    };

    @hidden action keep_state() {
        put_state.execute(core);
    }

    @hidden action begin_or_read_state() {
        state = tick_state.execute(core);
    }

    @hidden action read_state() {
        state = get_state.execute(core);
    }

    @hidden table of_state {
        key = {
            op: ternary;
        }
        actions = {
            keep_state;
            begin_or_read_state;
            read_state;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.JOIN: keep_state();
            StarOp.TICK: begin_or_read_state();
            StarOp.FLIP: begin_or_read_state();
            _:           read_state();
        }
    }

    @hidden action keep_until() {
        put_until.execute(core);
    }

    @hidden action begin() {
        begin_until.execute(core);
    }

    @hidden action compare_until() {
        is_over = has_passed.execute(core);
    }

    @hidden table of_until {
        key = {
            op:    ternary;
            state: ternary;
        }
        actions = {
            keep_until;
            begin;
            compare_until;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (StarOp.JOIN, _):                          keep_until();
            (StarOp.TICK, (bit<8>)MemberState.JOINED): begin();
            (StarOp.FLIP, (bit<8>)MemberState.JOINED): begin();
            (StarOp.TICK, _):                          compare_until();
            (StarOp.FLIP, _):                          compare_until();
        }
    }

    @hidden action do_so(MayDo what) {
        may = what;
    }

    @hidden table may_do {
        key = {
            by_invitation: ternary;
            state:         ternary;
            is_over:       ternary;
        }
        actions = {
            do_so;
        }
        const default_action = do_so(MayDo.SIGNAL);
        const entries = {
            (0, _, _):                              do_so(MayDo.ALL);
            (_, (bit<8>)MemberState.OUT, _):        do_so(MayDo.NOTHING);
            (_, _, 1):                              do_so(MayDo.LEAVE);
            (_, (bit<8>)MemberState.FOLLOWING, _):  do_so(MayDo.ALL);
        }
    }

    apply {
        state = (bit<8>)MemberState.OUT;
        of_state.apply();
        of_until.apply();
        may_do.apply();
    }
}

#endif
