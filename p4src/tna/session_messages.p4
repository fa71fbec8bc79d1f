// SPDX-License-Identifier: Apache-2.0
// Messages of the controller and of other edges, but commits: what they say is compared with what this edge knows, and one table for each kind
// says why it is refused. What is taken comes again, and is kept then. Stands for these parts of include/control_message.p4.
#ifndef SLOTWISE_TNA_SESSION_MESSAGES_P4
#define SLOTWISE_TNA_SESSION_MESSAGES_P4
#include "session_state.p4"
#include "../include/edge_parser.p4"

// Of a message, by its kind.
struct said_t {
    session_t session;   // or nonce
    frame_t   frame;
}

const bit<32> LONGEST_PHASE_NS = (bit<32>)MAX_PHASE_NS;

// A span from -MAX_PHASE_NS to MAX_PHASE_NS, as keys and in both signs: its halves, and MAX_PHASE_NS less and more the lower one.
#define SPAN_KEY(time) \
    time[63:32]: ternary; \
    low:         ternary; \
    above:       ternary; \
    below:       ternary;
#define POSITIVE_SPAN 0, 0 &&& 0x80000000, 0 &&& 0x80000000, _
#define NEGATIVE_SPAN 0xffffffff, 0x80000000 &&& 0x80000000, _, 0 &&& 0x80000000
#define ANY_SPAN _, _, _, _

control ExamineMessage(in edge_headers_t hdr,
                       in star_state_t state,
                       in said_t said,
                       in session_state_t known,
                       in session_t last_session,   // of the edge that was measured, and its
                       in frame_t last_frame,
                       in session_t session,        // that it has
                       in bit<1> is_stranger,
                       in time_ns_t span,           // T_d that was measured; how long a measurement took to come back
                       inout bit<32> low,           // half of the span
                       inout DropReason drop_reason) {
    bit<32> differs = 0;
    bit<32> newer = 0;
    bit<32> newer_nonce = 0;
    bit<32> behind = 0;
    bit<32> last_behind = 0;
    bit<32> last_differs = 0;
    bit<32> slot_differs = 0;
    bit<32> guard_differs = 0;
    bit<32> above = 0;
    bit<32> below = 0;
    bit<32> excess = 0;
    bit<32> answer_excess = 0;
    bit<32> turn = 0;
    bit<48> mac_differs = 0;
    bit<16> edge_differs = 0;
    bit<1>  is_forgotten = 0;

    COPY(copy_phase, bit<32>, low, hdr.sync.phase_ns[31:0])
    COPY(copy_configured, bit<32>, low, hdr.configuration.phase_ns[31:0])
    COPY(copy_measured, bit<32>, low, span[31:0])
    COPY(copy_turn, bit<32>, turn, span[31:0])

    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action accept() {
    }

    @hidden action compare_frames() {
        behind = state.now - said.frame;
    }

    @hidden action of_invitation() {
        newer_nonce = said.session - known.nonce;
        mac_differs = hdr.invitation.mac ^ state.mac;
        answer_excess = MAX_ANSWER_NS - hdr.invitation.answer_ns;
    }

    @hidden action of_configuration() {
        differs = said.session ^ known.nonce;
        slot_differs = hdr.configuration.slot_ns ^ state.slot_ns;
        guard_differs = hdr.configuration.guard_ns ^ state.guard_ns;
    }

    @hidden action of_measurement() {
        differs = said.session ^ known.session;
        newer = said.frame - known.measured_frame;
    }

    @hidden action of_shutdown() {
        differs = said.session ^ known.session;
        edge_differs = hdr.fault.edge ^ state.master;
    }

    @hidden action of_order() {
        newer = said.frame - known.order_frame;
        last_behind = state.now - known.order_frame;
    }

    @hidden action of_measured() {
        differs = said.session ^ session;
        last_differs = last_session ^ session;
        newer = said.frame - last_frame;
    }

    @hidden action of_fault() {
        differs = said.session ^ session;
    }

    @hidden action measure_excess() {
        excess = MAX_ANSWER_NS - turn;
    }

    @hidden table compare {
        key = {
            state.duty: exact;
        }
        actions = {
            of_invitation;
            of_configuration;
            of_measurement;
            of_shutdown;
            of_order;
            of_measured;
            of_fault;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (bit<8>)Duty.TAKE_INVITATION:    of_invitation();
            (bit<8>)Duty.TAKE_CONFIGURATION: of_configuration();
            (bit<8>)Duty.TAKE_MEASUREMENT:   of_measurement();
            (bit<8>)Duty.LEAVE:              of_shutdown();
            (bit<8>)Duty.TAKE_ORDER:         of_order();
            (bit<8>)Duty.TELL_MEASURED:      of_measured();
            (bit<8>)Duty.TELL_FAULT:         of_fault();
        }
    }

    @hidden action measure_span() {
        above = LONGEST_PHASE_NS - low;
        below = LONGEST_PHASE_NS + low;
    }

    // The rules of each kind, the first that applies: who is no member is so by the last one, since keys are compared for what they are.
    @hidden table invitation {
        key = {
            mac_differs:              ternary;
            hdr.invitation.flags:     ternary;
            said.session:             ternary;
            known.nonce:              ternary;
            newer_nonce:              ternary;
            hdr.invitation.answer_ns: ternary;
            answer_excess:            ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (0, 0, 0, 0, _, _, _):                                refuse(DropReason.BAD_FIELD);
            (0, 0, _, 0, _, 0x80000000 &&& 0x80000000, _):        refuse(DropReason.BAD_FIELD);
            (0, 0, _, 0, _, _, 0x80000000 &&& 0x80000000):        refuse(DropReason.BAD_FIELD);
            (0, 0, _, 0, _, _, _):                                accept();
            (0, 0, _, _, 0, _, _):                                refuse(DropReason.STALE);
            (0, 0, _, _, 0x80000000 &&& 0x80000000, _, _):        refuse(DropReason.STALE);
            (0, 0, 0, _, _, _, _):                                refuse(DropReason.BAD_FIELD);
            (0, 0, _, _, _, 0x80000000 &&& 0x80000000, _):        refuse(DropReason.BAD_FIELD);
            (0, 0, _, _, _, _, 0x80000000 &&& 0x80000000):        refuse(DropReason.BAD_FIELD);
            (0, 0, _, _, _, _, _):                                accept();
        }
    }

    // The master that cuts time otherwise than this edge was told to is refused: its light would miss its slots.
    @hidden table configuration {
        key = {
            said.session:                  ternary;
            differs:                       ternary;
            known.answer:                  ternary;
            slot_differs:                  ternary;
            guard_differs:                 ternary;
            hdr.configuration.slots:       ternary;
            hdr.configuration.hold_frames: ternary;
            SPAN_KEY(hdr.configuration.phase_ns)
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (0, _, _, _, _, _, _, ANY_SPAN):          refuse(DropReason.NOT_A_MEMBER);
            (_, _, ANSWER_DUE, _, _, _, _, ANY_SPAN): refuse(DropReason.NOT_A_MEMBER);
            (_, 0, NO_ANSWER, _, _, _, _, ANY_SPAN):  refuse(DropReason.STALE);
            (_, 0, _, _, _, 0, _, ANY_SPAN):          refuse(DropReason.BAD_FIELD);
            (_, 0, _, _, _, _, 0, ANY_SPAN):          refuse(DropReason.BAD_FIELD);
            (_, 0, _, 0, 0, _, _, POSITIVE_SPAN):     accept();
            (_, 0, _, 0, 0, _, _, NEGATIVE_SPAN):     accept();
            (_, 0, _, _, _, _, _, ANY_SPAN):          refuse(DropReason.BAD_FIELD);
        }
    }

    // What is measured is of a frame that has been, and comes back within MAX_ANSWER_NS.
    @hidden table measurement {
        key = {
            said.session: ternary;
            differs:      ternary;
            known.state:  ternary;
            newer:        ternary;
            behind:       ternary;
            span:         ternary;
            excess:       ternary;
            SPAN_KEY(hdr.sync.phase_ns)
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (0, _, _, _, _, _, _, ANY_SPAN):                                             refuse(DropReason.NOT_A_MEMBER);
            (_, _, (bit<8>)MemberState.JOINED, _, _, _, _, ANY_SPAN):                    refuse(DropReason.NOT_A_MEMBER);
            (_, 0, _, 0, _, _, _, ANY_SPAN):                                             refuse(DropReason.STALE);
            (_, 0, _, 0x80000000 &&& 0x80000000, _, _, _, ANY_SPAN):                     refuse(DropReason.STALE);
            (_, 0, _, _, 0x80000000 &&& 0x80000000, _, _, ANY_SPAN):                     refuse(DropReason.BAD_FIELD);
            (_, 0, _, _, _, 0 &&& 0xffffffff80000000, 0 &&& 0x80000000, POSITIVE_SPAN):  accept();
            (_, 0, _, _, _, 0 &&& 0xffffffff80000000, 0 &&& 0x80000000, NEGATIVE_SPAN):  accept();
            (_, 0, _, _, _, _, _, ANY_SPAN):                                             refuse(DropReason.BAD_FIELD);
        }
    }

    // The master ends, or so it says.
    @hidden table shutdown {
        key = {
            said.session:    ternary;
            differs:         ternary;
            hdr.fault.code:  ternary;
            hdr.fault.flags: ternary;
            edge_differs:    ternary;
            behind:          ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (0, _, _, _, _, _):                                              refuse(DropReason.NOT_A_MEMBER);
            (_, 0, (bit<8>)FaultCode.SHUTDOWN, 0, 0, 0xffffffff):                    accept();
            (_, 0, (bit<8>)FaultCode.SHUTDOWN, 0, 0, 0 &&& 0xfffffc00):              accept();
            (_, 0, (bit<8>)FaultCode.SHUTDOWN, 0, 0, FRAME_WINDOW):                  accept();
            (_, 0, (bit<8>)FaultCode.SHUTDOWN, 0, 0, 0 &&& 0x80000000):              refuse(DropReason.STALE);
            (_, 0, _, _, _, _):                                              refuse(DropReason.BAD_FIELD);
        }
    }

    @hidden action forget() {
        is_forgotten = 1;
    }

    // The last order is too long ago to tell old from new.
    @hidden table last_order {
        key = {
            last_behind: ternary;
        }
        actions = {
            forget;
            accept;
        }
        const default_action = forget();
        const entries = {
            0xffffffff:       accept();
            0 &&& 0xffff0000: accept();
            ORDER_WINDOW:     accept();
        }
    }

    // The controller wants the master to end, or takes that back. Orders are numbered by frames.
    @hidden table order {
        key = {
            hdr.fault.code:  ternary;
            hdr.fault.flags: ternary;
            said.session:    ternary;
            behind:          ternary;
            newer:           ternary;
            is_forgotten:    ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.BAD_FIELD);
        const entries = {
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, 0xffffffff, 0, 0):                               refuse(DropReason.STALE);
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, 0xffffffff, 0x80000000 &&& 0x80000000, 0):       refuse(DropReason.STALE);
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, 0xffffffff, _, _):                               accept();
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, 0x80000000 &&& 0x80000000, _, _):                refuse(DropReason.BAD_FIELD);
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, _, 0, 0):                                        refuse(DropReason.STALE);
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, _, 0x80000000 &&& 0x80000000, 0):                refuse(DropReason.STALE);
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, 0 &&& 0xffff0000, _, _):                         accept();
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, ORDER_WINDOW, _, _):                             accept();
            ((bit<8>)FaultCode.SHUTDOWN, 0 &&& 0xfe, 0, _, _, _):                                        refuse(DropReason.STALE);
        }
    }

    @hidden table request {
        key = {
            is_stranger: ternary;
            behind:      ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.STALE);
        const entries = {
            (1, _):                         refuse(DropReason.NOT_A_MEMBER);
            (_, 0xffffffff):                accept();
            (_, 0 &&& 0xfffffc00):          accept();
            (_, FRAME_WINDOW):              accept();
            (_, 0x80000000 &&& 0x80000000): refuse(DropReason.BAD_FIELD);
        }
    }

    // What an edge asks to be measured is of this frame or the one before, and newer than what was measured of its session.
    @hidden table of_edge {
        key = {
            is_stranger:  ternary;
            differs:      ternary;
            behind:       ternary;
            last_differs: ternary;
            newer:        ternary;
            SPAN_KEY(span)
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (1, _, _, _, _, ANY_SPAN):                             refuse(DropReason.NOT_A_MEMBER);
            (_, 0, _, 0, 0, ANY_SPAN):                             refuse(DropReason.STALE);
            (_, 0, _, 0, 0x80000000 &&& 0x80000000, ANY_SPAN):     refuse(DropReason.STALE);
            (_, 0, 0 &&& 0xfffffffe, _, _, POSITIVE_SPAN):         accept();
            (_, 0, 0 &&& 0xfffffffe, _, _, NEGATIVE_SPAN):         accept();
            (_, 0, 0 &&& 0xfffffffe, _, _, ANY_SPAN):              refuse(DropReason.BAD_FIELD);
            (_, 0, _, _, _, ANY_SPAN):                             refuse(DropReason.STALE);
        }
    }

    @hidden table fault {
        key = {
            is_stranger: ternary;
            differs:     ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.NOT_A_MEMBER);
        const entries = {
            (0, 0): accept();
        }
    }

    apply {
        compare_frames();
        compare.apply();
        if (state.duty == (bit<8>)Duty.TELL_MEASURED) {
            copy_measured();
        } else if (state.duty == (bit<8>)Duty.TAKE_CONFIGURATION) {
            copy_configured();
        } else if (state.duty == (bit<8>)Duty.TAKE_MEASUREMENT) {
            copy_phase();
            copy_turn();
        }
        measure_span();
        if (state.duty == (bit<8>)Duty.TAKE_INVITATION) {
            invitation.apply();
        } else if (state.duty == (bit<8>)Duty.TAKE_CONFIGURATION) {
            configuration.apply();
        } else if (state.duty == (bit<8>)Duty.TAKE_MEASUREMENT) {
            measure_excess();
            measurement.apply();
        } else if (state.duty == (bit<8>)Duty.LEAVE) {
            shutdown.apply();
        } else if (state.duty == (bit<8>)Duty.TAKE_ORDER) {
            last_order.apply();
            order.apply();
        } else if (state.duty == (bit<8>)Duty.TELL_REQUEST) {
            request.apply();
        } else if (state.duty == (bit<8>)Duty.TELL_MEASURED) {
            of_edge.apply();
        } else if (state.duty == (bit<8>)Duty.TELL_FAULT) {
            fault.apply();
        }
    }
}

#endif
