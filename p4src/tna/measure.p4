// SPDX-License-Identifier: Apache-2.0
// Stands for include/measure.p4, the master's part of synchronization: what was measured of each edge, told in its next signaling slot.
#ifndef SLOTWISE_MEASURE_P4
#define SLOTWISE_MEASURE_P4
#include "counting.p4"
#include "halves.p4"
#include "session_op.p4"
#include "../include/edge_parser.p4"

typedef bit<8> member_index_t;  // below MAX_MEMBERS

Register<session_t, member_index_t>(MAX_MEMBERS) member_session;
Register<frame_t, member_index_t>(MAX_MEMBERS)   told_frame;
Register<halves_t, member_index_t>(MAX_MEMBERS)  told_edge_ns;
Register<halves_t, member_index_t>(MAX_MEMBERS)  told_phase;
Register<bit<8>, member_index_t>(MAX_MEMBERS)    told_due;  // measured, and not yet told

// Which edges have joined, and by which fibre they speak.
control Members(in edge_t edge, in port_t port, inout session_t its_session, inout bit<1> is_stranger) {
    direct_counter(CounterType.packets) member_counter;

    action accept_session(session_t session) {
        its_session = session;
        COUNT(member_counter)
    }

    action stranger() {
        is_stranger = 1;
    }

    table member {
        key = {
            edge: exact @name("edge");
            port: exact @name("port");
        }
        actions = {
            accept_session;
            @defaultonly stranger;
        }
        const default_action = stranger();
        counters = member_counter;
        size = 256;
    }

    @hidden action known() {
    }

    @hidden table range_of_edge {
        key = {
            edge: ternary;
        }
        actions = {
            stranger;
            known;
        }
        const default_action = stranger();
        const entries = {
            (edge_t)MAX_MEMBERS &&& 0xfff0: stranger();
            0 &&& 0xff00:                   known();
        }
    }

    apply {
        member.apply();
        range_of_edge.apply();
    }
}

// What is known of `member`, and becomes of it.
control Measured(in member_index_t member,
                 in SessionOp op,
                 in Made made,
                 in session_t session,
                 in frame_t frame,
                 in time_ns_t edge_ns,
                 in time_ns_t phase_ns,
                 inout session_t last_session,
                 inout frame_t last_frame,
                 inout sync_t told,
                 inout bit<8> is_due) {
    RegisterAction<session_t, member_index_t, session_t>(member_session) put_session = {
        void apply(inout session_t value) {
            value = session;
        }
    };
    RegisterAction<session_t, member_index_t, session_t>(member_session) get_session = {
        void apply(inout session_t value, out session_t read) {
            read = value;
        }
    };
    RegisterAction<frame_t, member_index_t, frame_t>(told_frame) put_frame = {
        void apply(inout frame_t value) {
            value = frame;
        }
    };
    RegisterAction<frame_t, member_index_t, frame_t>(told_frame) get_frame = {
        void apply(inout frame_t value, out frame_t read) {
            read = value;
        }
    };
    RegisterAction<bit<8>, member_index_t, bit<8>>(told_due) put_due = {
        void apply(inout bit<8> value) {
            value = 1;
        }
    };
    RegisterAction<bit<8>, member_index_t, bit<8>>(told_due) take_due = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
            value = 0;
        }
    };
    KEEP_HALVES(put_edge_ns, told_edge_ns, member_index_t, edge_ns)
    KEEP_HALVES(put_phase, told_phase, member_index_t, phase_ns)
    READ_HALVES(get_edge_ns, told_edge_ns, member_index_t)
    READ_HALVES(get_phase, told_phase, member_index_t)

    @hidden action keep_session() {
        put_session.execute(member);
    }

    @hidden action read_session() {
        last_session = get_session.execute(member);
    }

    @hidden action tell_session() {
        told.setValid();
        told.session = get_session.execute(member);
    }

    @hidden table of_session {
        key = {
            op:   ternary;
            made: ternary;
        }
        actions = {
            keep_session;
            tell_session;
            read_session;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (SessionOp.KEEP, _): keep_session();
            (_, Made.TELL):      tell_session();
            (_, _):              read_session();
        }
    }

    @hidden action keep_frame() {
        put_frame.execute(member);
    }

    @hidden action read_frame() {
        last_frame = get_frame.execute(member);
    }

    @hidden action tell_frame() {
        told.frame = get_frame.execute(member);
    }

    @hidden table of_frame {
        key = {
            op:   ternary;
            made: ternary;
        }
        actions = {
            keep_frame;
            tell_frame;
            read_frame;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (SessionOp.KEEP, _): keep_frame();
            (_, Made.TELL):      tell_frame();
            (_, _):              read_frame();
        }
    }

    @hidden action keep_edge_ns() {
        put_edge_ns.execute(member);
    }

    @hidden action tell_edge_ns() {
        GET_HALVES(get_edge_ns, member, told.edge_ns)
    }

    @hidden table of_edge_ns {
        key = {
            op:   ternary;
            made: ternary;
        }
        actions = {
            keep_edge_ns;
            tell_edge_ns;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (SessionOp.KEEP, _): keep_edge_ns();
            (_, Made.TELL):      tell_edge_ns();
        }
    }

    @hidden action keep_phase() {
        put_phase.execute(member);
    }

    @hidden action tell_phase() {
        GET_HALVES(get_phase, member, told.phase_ns)
    }

    @hidden table of_phase {
        key = {
            op:   ternary;
            made: ternary;
        }
        actions = {
            keep_phase;
            tell_phase;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (SessionOp.KEEP, _): keep_phase();
            (_, Made.TELL):      tell_phase();
        }
    }

    @hidden action be_due() {
        put_due.execute(member);
    }

    @hidden action tell_once() {
        is_due = take_due.execute(member);
    }

    @hidden table of_due {
        key = {
            op:   ternary;
            made: ternary;
        }
        actions = {
            be_due;
            tell_once;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (SessionOp.KEEP, _): be_due();
            (_, Made.TELL):      tell_once();
        }
    }

    apply {
        of_session.apply();
        of_frame.apply();
        of_edge_ns.apply();
        of_phase.apply();
        of_due.apply();
    }
}

#endif
