// SPDX-License-Identifier: Apache-2.0
// What this switch has to do with a packet, by where it comes from and what it is: all of the rules, the first that applies counts.
#ifndef SLOTWISE_OPS_RULES_P4
#define SLOTWISE_OPS_RULES_P4
#include "ops_parser.p4"

control OpsRules(in bit<1> well_formed, in bit<1> last_hop, inout ops_metadata_t meta) {
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
            well_formed:  ternary;
            last_hop:     ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = refuse(DropReason.UNEXPECTED_PORT);
        const entries = {
            (From.CONTROLLER_OUT, _, _, _):                 accept(Duty.LEAVE);

            // Of a train that may go no further all frames are to be dropped for the same reason: its label is examined later.
            (From.DATA, Message.OTHER_LIGHT, _, _):         refuse(DropReason.BAD_VERSION);
            (From.DATA, Message.TRAIN, 0, _):               refuse(DropReason.BAD_FIELD);
            (From.DATA, Message.TRAIN, _, _):               accept(Duty.SWITCH);
            (From.DATA, Message.FOLLOWER, 0, _):            refuse(DropReason.BAD_FIELD);
            (From.DATA, Message.FOLLOWER, _, _):            accept(Duty.FOLLOW);

            (From.PROBES, Message.OTHER_LIGHT, _, _):       refuse(DropReason.BAD_VERSION);
            (From.PROBES, Message.PROBE, 0, _):             refuse(DropReason.BAD_FIELD);
            (From.PROBES, Message.REPLY, 0, _):             refuse(DropReason.BAD_FIELD);
            (From.PROBES, Message.PROBE, _, 1):             refuse(DropReason.TTL_EXPIRED);
            (From.PROBES, Message.REPLY, _, 1):             refuse(DropReason.TTL_EXPIRED);
            (From.PROBES, Message.PROBE, _, _):             accept(Duty.ANSWER);
            (From.PROBES, Message.REPLY, _, _):             accept(Duty.PASS_ON);

            (From.LINECARD, Message.OTHER_LINECARD, _, _):  refuse(DropReason.BAD_VERSION);
            (From.LINECARD, Message.INTERVAL_TICK, 0, _):   refuse(DropReason.BAD_QUEUE);
            (From.LINECARD, Message.INTERVAL_TICK, _, _):   accept(Duty.TICK);
        }
    }

    apply {
        sort.apply();
    }
}

#endif
