// SPDX-License-Identifier: Apache-2.0
// What this station has to do with a packet, by where it comes from and what it is: all of the rules, the first that applies
// counts. What a message says is looked at later.
#ifndef SLOTWISE_RING_RULES_P4
#define SLOTWISE_RING_RULES_P4
#include "ring_parser.p4"

// What there is to know of the packet, a bit each.
const bit<9> ON_RINGLET     = 0x100;  // it is on, or about, a ringlet that this station has, and came by the right port
const bit<9> OF_A_STATION   = 0x080;  // the ring has such a source
const bit<9> OURS           = 0x040;  // this station is its source
const bit<9> FOR_US         = 0x020;  // this station is its destination
const bit<9> LAST_HOP       = 0x010;
const bit<9> FROM_NEXT      = 0x008;  // the next station is its source
const bit<9> BY_CONTROLLER  = 0x004;  // the controller says what may be added to the ringlet
const bit<9> FORWARDABLE    = 0x002;  // it is an IPv4 packet that may be forwarded
const bit<9> FIRST_TICK     = 0x001;  // it is the tick at an interval's end

control RingRules(in bit<9> traits, inout ring_metadata_t meta) {
    @hidden action refuse(DropReason reason) {
        meta.drop_reason = reason;
    }

    @hidden action accept(Duty duty) {
        meta.duty = duty;
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
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (From.ACCESS, Message.NONE, FORWARDABLE &&& FORWARDABLE):           accept(Duty.ROUTE);
            (From.ACCESS, Message.NONE, _):                                     accept(Duty.ANSWER);
            (From.CONTROLLER_OUT, _, _):                                        accept(Duty.LEAVE);

            (From.RING, Message.OTHER_RING, _):                                 refuse(DropReason.BAD_VERSION);
            (From.RING, Message.DATA, 0 &&& ON_RINGLET):                        refuse(DropReason.BAD_FIELD);
            (From.RING, Message.DATA, 0 &&& OF_A_STATION):                      refuse(DropReason.NOT_A_MEMBER);
            (From.RING, Message.DATA, OURS &&& OURS):                           refuse(DropReason.RETURNED);
            (From.RING, Message.DATA, (FOR_US | FORWARDABLE) &&& (FOR_US | FORWARDABLE)): accept(Duty.ROUTE);
            (From.RING, Message.DATA, FOR_US &&& FOR_US):                       refuse(DropReason.NO_ROUTE);
            (From.RING, Message.DATA, LAST_HOP &&& LAST_HOP):                   refuse(DropReason.TTL_EXPIRED);
            (From.RING, Message.DATA, _):                                       accept(Duty.PASS_ON);
            (From.RING, Message.FAIRNESS, 0 &&& ON_RINGLET):                    refuse(DropReason.BAD_FIELD);
            (From.RING, Message.FAIRNESS, 0 &&& FOR_US):                        refuse(DropReason.MISDIRECTED);
            (From.RING, Message.FAIRNESS, BY_CONTROLLER &&& BY_CONTROLLER):     refuse(DropReason.UNEXPECTED_PORT);
            (From.RING, Message.FAIRNESS, 0 &&& FROM_NEXT):                     refuse(DropReason.NOT_A_MEMBER);
            (From.RING, Message.FAIRNESS, _):                                   accept(Duty.TAKE);

            (From.CONTROLLER, Message.OTHER_RING, _):                           refuse(DropReason.BAD_VERSION);
            (From.CONTROLLER, Message.DATA, _):                                 refuse(DropReason.BAD_VERSION);
            (From.CONTROLLER, Message.FAIRNESS, 0 &&& ON_RINGLET):              refuse(DropReason.BAD_FIELD);
            (From.CONTROLLER, Message.FAIRNESS, 0 &&& FOR_US):                  refuse(DropReason.MISDIRECTED);
            (From.CONTROLLER, Message.FAIRNESS, BY_CONTROLLER &&& BY_CONTROLLER): accept(Duty.TAKE);

            (From.LINECARD, Message.OTHER_LINECARD, _):                         refuse(DropReason.BAD_VERSION);
            (From.LINECARD, Message.RING_TICK, 0 &&& ON_RINGLET):               refuse(DropReason.BAD_FIELD);
            (From.LINECARD, Message.RING_TICK, FIRST_TICK &&& FIRST_TICK):      accept(Duty.MEASURE);
            (From.LINECARD, Message.RING_TICK, _):                              accept(Duty.TELL);
        }
    }

    apply {
        sort.apply();
    }
}

#endif
