// SPDX-License-Identifier: Apache-2.0
// What an edge that joins by invitation knows of itself in each star, and what a master was ordered, by core: in the pipe that takes messages
// (side_pipe.p4). How its clock runs is learnt by the line card: T_d is kept as it was measured last.
#ifndef SLOTWISE_TNA_SESSION_STATE_P4
#define SLOTWISE_TNA_SESSION_STATE_P4
#include "aside.p4"
#include "halves.p4"
#include "session_op.p4"
#include "version.p4"

Register<session_t, star_t>(MAX_CORES) own_session;      // 0: not joined
Register<session_t, star_t>(MAX_CORES) last_nonce;       // of the newest invitation
Register<bit<8>, star_t>(MAX_CORES)    answer;           // to the newest invitation
Register<bit<8>, star_t>(MAX_CORES)    session_state;    // MemberState
Register<bit<32>, star_t>(MAX_CORES)   own_hold_frames;  // as configured
Register<frame_t, star_t>(MAX_CORES)   measured_frame;   // of the last measurement taken; before the first one, of the first tick
Register<halves_t, star_t>(MAX_CORES)  measured_phase;   // T_d
Register<bit<8>, star_t>(MAX_CORES)    no_light;         // it has raised LOSS_OF_SIGNAL
Register<frame_t, star_t>(MAX_CORES)   order_frame;      // of the controller's last shutdown, or of its end
Register<bit<8>, star_t>(MAX_CORES)    shutting_down;

const bit<8> NO_ANSWER = 0;
const bit<8> ANSWER_DUE = 1;
const bit<8> ANSWER_SENT = 2;

// What these registers hold for one core.
struct session_state_t {
    session_t session;
    session_t nonce;
    bit<8>    answer;
    bit<8>    state;
    bit<32>   hold_frames;
    time_ns_t phase;
    frame_t   measured_frame;
    frame_t   order_frame;
    bit<8>    dark;
    bit<8>    ending;
}

// A register that is kept by some operations, and read by the others.
#define KEPT(register, type, what, known, ops) \
    RegisterAction<type, star_t, type>(register) put_##register = { \
        void apply(inout type value) { \
            value = what; \
        } \
    }; \
    RegisterAction<type, star_t, type>(register) get_##register = { \
        void apply(inout type value, out type read) { \
            read = value; \
        } \
    }; \
    @hidden action keep_##register() { \
        put_##register.execute(core); \
    } \
    @hidden action read_##register() { \
        known = get_##register.execute(core); \
    } \
    @hidden table of_##register { \
        key = { \
            op: ternary; \
        } \
        actions = { \
            keep_##register; \
            read_##register; \
            @defaultonly NoAction; \
        } \
        const default_action = NoAction(); \
        const entries = { \
            ops \
            _: read_##register(); \
        } \
    }

// `session`, `frame`, `phase` and `hold_frames` are a message's, of a tick `frame` is the one before; `new_session` and `state` are what becomes of the edge, `flag`
// what is noted besides.
control SessionState(in star_t core,
                     in SessionOp op,
                     in session_t session,
                     in session_t new_session,
                     in frame_t frame,
                     in time_ns_t phase,
                     in bit<8> state,
                     in bit<32> hold_frames,
                     in bit<8> flag,
                     inout session_state_t known) {
    KEPT(own_session, session_t, new_session, known.session,
         SessionOp.INVITE: keep_own_session(); SessionOp.JOIN: keep_own_session(); SessionOp.LEAVE: keep_own_session();)
    KEPT(last_nonce, session_t, session, known.nonce, SessionOp.INVITE: keep_last_nonce();)
    KEPT(own_hold_frames, bit<32>, hold_frames, known.hold_frames, SessionOp.JOIN: keep_own_hold_frames();)
    KEPT(no_light, bit<8>, flag, known.dark, SessionOp.ALARM: keep_no_light();)
    KEPT(shutting_down, bit<8>, flag, known.ending, SessionOp.ORDER: keep_shutting_down();)
    KEPT(order_frame, frame_t, frame, known.order_frame, SessionOp.ORDER: keep_order_frame();)

    RegisterAction<bit<8>, star_t, bit<8>>(answer) put_answer = {
        void apply(inout bit<8> value) {
            value = flag;
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(answer) send_answer = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
            if (value == ANSWER_DUE) {
                value = ANSWER_SENT;
            }
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(answer) get_answer = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(session_state) put_state = {
        void apply(inout bit<8> value) {
            value = state;
        }
    };
    // Who has left since the measurement was examined stays out.
    RegisterAction<bit<8>, star_t, bit<8>>(session_state) measure_state = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
            if (value != (bit<8>)MemberState.OUT) {
                value = state;
            }
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(session_state) tick_state = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
            if (value == (bit<8>)MemberState.JOINED) {
                value = (bit<8>)MemberState.UNMEASURED;
            }
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(session_state) get_state = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
        }
    };
    RegisterAction<frame_t, star_t, frame_t>(measured_frame) put_frame = {
        void apply(inout frame_t value) {
            value = frame;
        }
    };
    RegisterAction<frame_t, star_t, frame_t>(measured_frame) get_frame = {
        void apply(inout frame_t value, out frame_t read) {
            read = value;
        }
    };

    KEEP_HALVES(put_phase, measured_phase, star_t, phase)
    READ_HALVES(get_phase, measured_phase, star_t)

    @hidden action keep_phase() {
        put_phase.execute(core);
    }

    @hidden action read_phase() {
        GET_HALVES(get_phase, core, known.phase)
    }

    @hidden table of_phase {
        key = {
            op: ternary;
        }
        actions = {
            keep_phase;
            read_phase;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            SessionOp.MEASURE: keep_phase();
            _:                 read_phase();
        }
    }

    @hidden action keep_answer() {
        put_answer.execute(core);
    }

    @hidden action begin_answer() {
        known.answer = send_answer.execute(core);
    }

    @hidden action read_answer() {
        known.answer = get_answer.execute(core);
    }

    @hidden table of_answer {
        key = {
            op: ternary;
        }
        actions = {
            keep_answer;
            begin_answer;
            read_answer;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            SessionOp.INVITE: keep_answer();
            SessionOp.JOIN:   keep_answer();
            SessionOp.ANSWER: begin_answer();
            _:                read_answer();
        }
    }

    @hidden action keep_state() {
        put_state.execute(core);
    }

    @hidden action keep_or_read_state() {
        known.state = measure_state.execute(core);
    }

    @hidden action begin_or_read_state() {
        known.state = tick_state.execute(core);
    }

    @hidden action read_state() {
        known.state = get_state.execute(core);
    }

    @hidden table of_state {
        key = {
            op: ternary;
        }
        actions = {
            keep_state;
            keep_or_read_state;
            begin_or_read_state;
            read_state;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            SessionOp.INVITE:  keep_state();
            SessionOp.JOIN:    keep_state();
            SessionOp.MEASURE: keep_or_read_state();
            SessionOp.LEAVE:   keep_state();
            SessionOp.TICK:    begin_or_read_state();
            _:                 read_state();
        }
    }

    @hidden action keep_frame() {
        put_frame.execute(core);
    }

    @hidden action read_frame() {
        known.measured_frame = get_frame.execute(core);
    }

    // Measurements are newer than the frame before the first tick.
    @hidden table of_measured_frame {
        key = {
            op:          ternary;
            known.state: ternary;
        }
        actions = {
            keep_frame;
            read_frame;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (SessionOp.MEASURE, _):                          keep_frame();
            (SessionOp.TICK, (bit<8>)MemberState.JOINED):    keep_frame();
            (_, _):                                          read_frame();
        }
    }

    apply {
        of_own_session.apply();
        of_last_nonce.apply();
        of_answer.apply();
        of_state.apply();
        of_own_hold_frames.apply();
        of_phase.apply();
        of_no_light.apply();
        of_shutting_down.apply();
        of_order_frame.apply();
        of_measured_frame.apply();
    }
}

#endif
