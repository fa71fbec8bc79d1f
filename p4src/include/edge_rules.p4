// SPDX-License-Identifier: Apache-2.0
// What this switch has to do with a message of the controller or another edge, by where it comes from, what it is, and what
// this edge is in its star: all of the rules, the first that applies counts. What the message says is looked at later.
#ifndef SLOTWISE_EDGE_RULES_P4
#define SLOTWISE_EDGE_RULES_P4
#include "edge_parser.p4"

// What there is to know of the message and of this edge, a bit each.
const bit<9> OPTICAL       = 0x100;  // it has an optical header
const bit<9> STAR          = 0x080;  // it belongs to a star
const bit<9> FOR_US        = 0x040;  // this edge is its destination
const bit<9> FROM_MASTER   = 0x020;  // the star's master is its source
const bit<9> JOINED        = 0x010;  // this edge has a session
const bit<9> MASTER        = 0x008;  // this edge is the star's master
const bit<9> INVITING      = 0x004;
const bit<9> BY_INVITATION = 0x002;
const bit<9> OUT_OF_BAND   = 0x001;

const bit<9> MASTER_INVITING      = MASTER | INVITING;
const bit<9> BY_INVITATION_JOINED = BY_INVITATION | JOINED;

control EdgeRules(in bit<9> traits, inout edge_metadata_t meta) {
    @hidden action refuse(DropReason reason) {
        meta.duty = Duty.REFUSED;
        meta.drop_reason = reason;
    }

    @hidden action accept(Duty duty) {
        meta.duty = duty;
    }

    // The controller gets it if it is taken.
    @hidden action tell(Duty duty) {
        meta.duty = duty;
        meta.to_controller = 1;
    }

    @hidden table sort {
        key = {
            meta.from:    ternary;
            meta.message: ternary;
            traits:       ternary;
        }
        actions = {
            refuse;
            accept;
            tell;
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (_, Message.PROBE, _):                                                 refuse(DropReason.BAD_VERSION);

            (From.CONTROLLER, _, 0 &&& OPTICAL):                                   refuse(DropReason.UNEXPECTED_PORT);
            (From.CONTROLLER, _, 0 &&& STAR):                                      refuse(DropReason.BAD_FIELD);
            (From.CONTROLLER, _, 0 &&& FOR_US):                                    refuse(DropReason.MISDIRECTED);
            (From.CONTROLLER, Message.COMMIT, MASTER &&& MASTER):                  accept(Duty.STAGE_VERSION);
            (From.CONTROLLER, Message.COMMIT, 0 &&& OUT_OF_BAND):                  refuse(DropReason.BAD_COMMIT);
            (From.CONTROLLER, Message.FAULT, INVITING &&& INVITING):               accept(Duty.TAKE_ORDER);
            // An invitation comes as light only: its answer is timed by it.
            (From.CONTROLLER, Message.OTHER_OPTICAL, _):                           refuse(DropReason.BAD_VERSION);
            (From.CONTROLLER, Message.TRAIN, _):                                   refuse(DropReason.BAD_VERSION);
            (From.CONTROLLER, Message.OTHER_KIND, _):                              refuse(DropReason.BAD_VERSION);
            (From.CONTROLLER, Message.DATA, _):                                    refuse(DropReason.BAD_VERSION);
            (From.CONTROLLER, Message.REQUEST, _):                                 refuse(DropReason.BAD_VERSION);
            (From.CONTROLLER, Message.INVITATION, _):                              refuse(DropReason.BAD_VERSION);

            (From.FIBRE, _, 0 &&& OPTICAL):                                        refuse(DropReason.UNEXPECTED_PORT);
            (From.FIBRE, Message.OTHER_OPTICAL, _):                                refuse(DropReason.BAD_VERSION);
            (From.FIBRE, Message.TRAIN, _):                                        refuse(DropReason.BAD_VERSION);
            (From.FIBRE, _, 0 &&& FOR_US):                                         refuse(DropReason.MISDIRECTED);
            (From.FIBRE, Message.OTHER_KIND, _):                                   refuse(DropReason.BAD_VERSION);
            (From.FIBRE, Message.DATA, _):                                         refuse(DropReason.NO_ROUTE);
            (From.FIBRE, Message.COMMIT, OUT_OF_BAND &&& OUT_OF_BAND):             refuse(DropReason.BAD_COMMIT);
            (From.FIBRE, Message.COMMIT, MASTER &&& MASTER):                       refuse(DropReason.BAD_COMMIT);
            // At the master, for the controller.
            (From.FIBRE, Message.CONFIGURATION, MASTER &&& MASTER):                refuse(DropReason.BAD_VERSION);
            (From.FIBRE, Message.REQUEST, 0 &&& MASTER):                           refuse(DropReason.UNEXPECTED_PORT);
            (From.FIBRE, Message.REQUEST, _):                                      tell(Duty.TELL_REQUEST);
            (From.FIBRE, Message.INVITATION, MASTER_INVITING &&& MASTER_INVITING): tell(Duty.TELL_ANSWER);
            (From.FIBRE, Message.SYNC, MASTER_INVITING &&& MASTER_INVITING):       tell(Duty.TELL_MEASURED);
            (From.FIBRE, Message.FAULT, MASTER_INVITING &&& MASTER_INVITING):      tell(Duty.TELL_FAULT);
            (From.FIBRE, _, MASTER &&& MASTER):                                    refuse(DropReason.NOT_A_MEMBER);

            // From the master, as light or by the controller.
            (_, Message.COMMIT, 0 &&& FROM_MASTER):                                refuse(DropReason.BAD_COMMIT);
            (_, Message.COMMIT, BY_INVITATION &&& BY_INVITATION_JOINED):           refuse(DropReason.NOT_A_MEMBER);
            (_, Message.COMMIT, _):                                                accept(Duty.TAKE_BEACON);
            (_, _, 0 &&& BY_INVITATION):                                           refuse(DropReason.NOT_A_MEMBER);
            (_, _, 0 &&& FROM_MASTER):                                             refuse(DropReason.NOT_A_MEMBER);
            (_, Message.INVITATION, _):                                            accept(Duty.TAKE_INVITATION);
            (_, Message.CONFIGURATION, _):                                         accept(Duty.TAKE_CONFIGURATION);
            (_, Message.SYNC, _):                                                  accept(Duty.TAKE_MEASUREMENT);
            (_, Message.FAULT, _):                                                 accept(Duty.LEAVE);
        }
    }

    apply {
        sort.apply();
    }
}

#endif
