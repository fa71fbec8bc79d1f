// SPDX-License-Identifier: Apache-2.0
// Messages of the controller and of other edges that this edge has something to do with: what they say is examined, and what
// is taken goes into the registers. How an edge joins and follows its master's clock is in docs/protocols.md.
//
//   invitation ──> OPEN_AND_TICK ──> line card ──answer tick──> answer
//   configuration ──> session, SET_PHASE
//   measurement ──> SET_PHASE; none for too long, or a jump ──> STOP ──> alarm ──> fault
#ifndef SLOTWISE_CONTROL_MESSAGE_P4
#define SLOTWISE_CONTROL_MESSAGE_P4
#include "edge_parser.p4"
#include "freshness.p4"
#include "master.p4"
#include "measure.p4"

// The measurement after the second moves the change a frame by a quarter of what it differs from the expected one.
const bit<8> CHANGE_GAIN_SHIFT = 2;
// What differs by more than a quarter of the guard is a jump.
const bit<8> JUMP_SHIFT = 2;

// Compares what a control message says with what this edge knows.
control Examine(in edge_headers_t hdr, inout edge_metadata_t meta) {
    version_t staged;
    frame_t   last;
    session_t last_session;

    @hidden action beacon() {
        EXAMINE_BEACON(meta.versions, hdr.commit, meta.wrong)
    }

    @hidden action stage() {
        staged_version.read(staged, meta.core);
        EXAMINE_STAGE(meta.versions, hdr.commit, staged, meta.wrong)
    }

    @hidden action order() {
        order_frame.read(last, meta.core);
        EXAMINE_ORDER(meta.versions, hdr.fault, last, meta.wrong)
    }

    @hidden action invitation() {
        if (hdr.invitation.mac != meta.mac || hdr.invitation.flags != 0) {
            meta.wrong.not_a_member = 1;
        }
        if (meta.member.nonce != 0 && !IS_NEWER(hdr.invitation.nonce, meta.member.nonce)) {
            meta.wrong.stale = 1;
        }
        if (hdr.invitation.nonce == 0 || hdr.invitation.answer_ns > MAX_ANSWER_NS) {
            meta.wrong.bad_field = 1;
        }
    }

    // The master that cuts time otherwise than this edge was told to is refused: its light would miss its slots.
    @hidden action configuration() {
        if (hdr.configuration.session == 0 || hdr.configuration.session != meta.member.nonce
            || meta.member.answer == ANSWER_DUE) {
            meta.wrong.not_a_member = 1;
        }
        if (meta.member.answer == NO_ANSWER) {
            meta.wrong.stale = 1;
        }
        if (hdr.configuration.slot_ns > MAX_SLOT_NS || hdr.configuration.guard_ns >= hdr.configuration.slot_ns
            || hdr.configuration.slots == 0 || hdr.configuration.hold_frames == 0
            || hdr.configuration.phase_ns + MAX_PHASE_NS > 2 * MAX_PHASE_NS
            || (time_ns_t)hdr.configuration.slot_ns != meta.slot_ns
            || (time_ns_t)hdr.configuration.guard_ns != meta.guard_ns) {
            meta.wrong.bad_field = 1;
        }
    }

    @hidden action measurement() {
        if (meta.session == 0 || hdr.sync.session != meta.session || meta.member.measurements == NO_TICK) {
            meta.wrong.not_a_member = 1;
        }
        if (!IS_NEWER(hdr.sync.frame, meta.member.measured_frame)) {
            meta.wrong.stale = 1;
        }
        if (IS_NEWER(hdr.sync.frame, meta.versions.now)
            || hdr.stamp.received_ns - hdr.sync.edge_ns > (time_ns_t)MAX_ANSWER_NS
            || hdr.sync.phase_ns + MAX_PHASE_NS > 2 * MAX_PHASE_NS) {
            meta.wrong.bad_field = 1;
        }
    }

    // The master ends, or so it says.
    @hidden action shutdown() {
        if (hdr.fault.session != meta.session || meta.session == 0) {
            meta.wrong.not_a_member = 1;
        }
        if (hdr.fault.code != FaultCode.SHUTDOWN || hdr.fault.flags != 0 || hdr.fault.edge != meta.master) {
            meta.wrong.bad_content = 1;
        }
        EXAMINE_FRAME(hdr.fault.frame, meta.versions.now, FRAME_WINDOW, meta.wrong)
    }

    @hidden action request() {
        EXAMINE_FRAME(hdr.request.frame, meta.versions.now, FRAME_WINDOW, meta.wrong)
    }

    // T_d = received - sent - the way from the core to here, which is the master's own T_d (equation 3.3 of the AAPN thesis).
    @hidden action measured() {
        meta.measured_edge = (index_t)hdr.optical.src_edge;
        told_frame.read(last, meta.measured_edge);
        member_session.read(last_session, meta.measured_edge);
        meta.value = hdr.stamp.received_ns - hdr.stamp.sent_ns;
        if (hdr.sync.session != meta.session) {
            meta.wrong.not_a_member = 1;
        }
        if (meta.versions.now - hdr.sync.frame > 1
            || (last_session == meta.session && !IS_NEWER(hdr.sync.frame, last))) {
            meta.wrong.stale = 1;
        }
        if (meta.value - meta.own_phase_ns + MAX_PHASE_NS > 2 * MAX_PHASE_NS) {
            meta.wrong.bad_field = 1;
        }
    }

    @hidden action fault() {
        if (hdr.fault.session != meta.session) {
            meta.wrong.not_a_member = 1;
        }
    }

    @hidden action nothing() {
    }

    @hidden table examine {
        key = {
            meta.duty: exact;
        }
        actions = {
            beacon;
            stage;
            order;
            invitation;
            configuration;
            measurement;
            shutdown;
            request;
            measured;
            fault;
            nothing;
        }
        const default_action = nothing();
        const entries = {
            Duty.TAKE_BEACON:        beacon();
            Duty.STAGE_VERSION:      stage();
            Duty.TAKE_ORDER:         order();
            Duty.TAKE_INVITATION:    invitation();
            Duty.TAKE_CONFIGURATION: configuration();
            Duty.TAKE_MEASUREMENT:   measurement();
            Duty.LEAVE:              shutdown();
            Duty.TELL_REQUEST:       request();
            Duty.TELL_MEASURED:      measured();
            Duty.TELL_FAULT:         fault();
        }
    }

    apply {
        examine.apply();
    }
}

// Does what a control message that was taken says.
control Take(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    bit<64> frames;
    bit<64> change;
    bit<64> difference_q16;
    bit<64> tolerated_q16;
    bit<64> learnt_q16;

    // The line card of the fibre that the message came by.
    action order(FlowOp op, time_ns_t open_ns, time_ns_t close_ns, time_ns_t value) {
        meta.to_linecard = 1;
        meta.queue = SIGNALING_QUEUE;
        meta.op = op;
        meta.open_ns = open_ns;
        meta.close_ns = close_ns;
        meta.value = value;
        hdr.linecard.setValid();
        hdr.linecard.reserved = 0;
    }

    @hidden action beacon() {
        KEEP_BEACON(meta.core, hdr.commit)
        stale_frame.write(meta.core, hdr.commit.frame + meta.beacon_hold_frames + 1);
    }

    @hidden action stage() {
        staged_version.write(meta.core, hdr.commit.next_version);
        staged_frame.write(meta.core, hdr.commit.first_frame);
    }

    @hidden action master_order() {
        order_frame.write(meta.core, hdr.fault.frame);
        shutting_down.write(meta.core, ~hdr.fault.flags[0:0]);
    }

    // An invitation is answered once: the line card is asked for a tick at the time that the master wants.
    @hidden action invitation() {
        own_session.write(meta.core, 0);
        last_nonce.write(meta.core, hdr.invitation.nonce);
        answer.write(meta.core, ANSWER_DUE);
        meta.open_ns = hdr.stamp.received_ns + (time_ns_t)hdr.invitation.answer_ns;
        order(FlowOp.OPEN_AND_TICK, meta.open_ns, meta.open_ns + meta.slot_ns, 0);
    }

    // The edge has joined: its line card's slots begin. The master repeats a configuration until it hears the edge. An
    // invitation is used up by the configuration that follows it: an edge that leaves must be invited anew.
    @hidden action configuration() {
        answer.write(meta.core, NO_ANSWER);
        own_session.write(meta.core, hdr.configuration.session);
        own_hold_frames.write(meta.core, (bit<32>)hdr.configuration.hold_frames);
        measurements.write(meta.core, NO_TICK);
        phase_change.write(meta.core, 0);
        order(FlowOp.SET_PHASE, 0, 0, hdr.configuration.phase_ns);
    }

    // The edge has lost its T_d, or its master: it is silent until it has been invited again.
    @hidden action leave() {
        own_session.write(meta.core, 0);
        order(FlowOp.STOP, 0, 0, 0);
    }

    // T_d follows what the master measured. It changes by about as much in each frame, since clocks differ in rate: that
    // change is learnt, and the line card goes on with it until the next measurement. What no rate makes in a frame is a jump, of
    // the fibre's delay: nothing is learnt of it, or T_d would go on with it, into the guard, where the next messages are lost.
    // After a long jump the edge leaves.
    @hidden action measurement() {
        // `frames` is at most hold_frames, of 16 bits: the edge would have left.
        frames = (bit<64>)(hdr.sync.frame - meta.member.measured_frame);
        change = meta.member.phase_change;
        difference_q16 = ((hdr.sync.phase_ns - meta.member.measured_phase) << 16) - change * frames;
        tolerated_q16 = meta.guard_ns << 16;
        learnt_q16 = tolerated_q16 >> JUMP_SHIFT;
        if (meta.member.measurements != NO_MEASUREMENT && difference_q16 + tolerated_q16 > 2 * tolerated_q16) {
            own_session.write(meta.core, 0);
            order(FlowOp.STOP, 0, 0, 0);
        } else {
            if (meta.member.measurements == NO_MEASUREMENT) {
                meta.member.measurements = ONE_MEASUREMENT;
            } else if (frames == 1 && meta.member.measurements == ONE_MEASUREMENT) {
                change = difference_q16;
                meta.member.measurements = MANY_MEASUREMENTS;
            } else if (frames == 1 && meta.member.measurements == MANY_MEASUREMENTS
                       && difference_q16 + learnt_q16 <= 2 * learnt_q16) {
                change = change + (bit<64>)((int<64>)difference_q16 >> CHANGE_GAIN_SHIFT);
            }
            measured_frame.write(meta.core, hdr.sync.frame);
            measured_phase.write(meta.core, hdr.sync.phase_ns);
            phase_change.write(meta.core, change);
            measurements.write(meta.core, meta.member.measurements);
            order(FlowOp.SET_PHASE, hdr.sync.edge_ns, change, hdr.sync.phase_ns);
        }
    }

    // The master tells its edge in the next signaling slot.
    @hidden action measured() {
        member_session.write(meta.measured_edge, hdr.sync.session);
        told_frame.write(meta.measured_edge, hdr.sync.frame);
        told_edge_ns.write(meta.measured_edge, hdr.stamp.sent_ns);
        told_phase.write(meta.measured_edge, meta.value - meta.own_phase_ns);
        told_due.write(meta.measured_edge, 1);
    }

    @hidden action nothing() {
    }

    @hidden table take {
        key = {
            meta.duty: exact;
        }
        actions = {
            beacon;
            stage;
            master_order;
            invitation;
            configuration;
            measurement;
            leave;
            measured;
            nothing;
        }
        const default_action = nothing();
        const entries = {
            Duty.TAKE_BEACON:        beacon();
            Duty.STAGE_VERSION:      stage();
            Duty.TAKE_ORDER:         master_order();
            Duty.TAKE_INVITATION:    invitation();
            Duty.TAKE_CONFIGURATION: configuration();
            Duty.TAKE_MEASUREMENT:   measurement();
            Duty.LEAVE:              leave();
            Duty.TELL_MEASURED:      measured();
        }
    }

    apply {
        take.apply();
    }
}

#endif
