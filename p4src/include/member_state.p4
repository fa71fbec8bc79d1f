// SPDX-License-Identifier: Apache-2.0
// What an edge that joins by invitation knows of itself in each star, by core.
#ifndef SLOTWISE_MEMBER_STATE_P4
#define SLOTWISE_MEMBER_STATE_P4
#include "headers.p4"

register<session_t>(MAX_CORES) own_session;      // 0: not joined
register<session_t>(MAX_CORES) last_nonce;       // of the newest invitation
register<bit<8>>(MAX_CORES)    answer;           // to the newest invitation
register<bit<32>>(MAX_CORES)   own_hold_frames;  // as configured
register<frame_t>(MAX_CORES)   measured_frame;   // of the last measurement taken; before the first one, of the first tick
register<time_ns_t>(MAX_CORES) measured_phase;   // T_d
register<bit<64>>(MAX_CORES)   phase_change;     // 2^-16 ns a frame
register<bit<8>>(MAX_CORES)    measurements;     // how far it has come since the configuration

const bit<8> NO_ANSWER = 0;
const bit<8> ANSWER_DUE = 1;
const bit<8> ANSWER_SENT = 2;

const bit<8> NO_TICK = 0;
const bit<8> NO_MEASUREMENT = 1;
const bit<8> ONE_MEASUREMENT = 2;
const bit<8> MANY_MEASUREMENTS = 3;

// What these registers, but the session's, hold for one core.
struct member_t {
    session_t nonce;
    bit<8>    answer;
    bit<32>   hold_frames;
    frame_t   measured_frame;
    time_ns_t measured_phase;
    bit<64>   phase_change;
    bit<8>    measurements;
}

#define READ_MEMBER(core, member) \
    last_nonce.read(member.nonce, core); \
    answer.read(member.answer, core); \
    own_hold_frames.read(member.hold_frames, core); \
    measured_frame.read(member.measured_frame, core); \
    measured_phase.read(member.measured_phase, core); \
    phase_change.read(member.phase_change, core); \
    measurements.read(member.measurements, core);

#endif
