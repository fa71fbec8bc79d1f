// SPDX-License-Identifier: Apache-2.0
// Whether a control message is taken. What it says is compared with what the switch knows, each comparison by itself; which
// of those that failed counts is decided here, for all messages.
#ifndef SLOTWISE_VERDICT_P4
#define SLOTWISE_VERDICT_P4
#include "headers.p4"

// What is wrong with a message; the first one is the reason why it is dropped.
struct wrong_t {
    bit<1> not_a_member;  // of a session that is not in force, or a stranger's
    bit<1> superseded;    // not newer than what is already announced
    bit<1> bad_commit;    // of a version that cannot be the next one
    bit<1> bad_content;   // says what nobody may say
    bit<1> old;           // its frame is outside the window, and was before this one
    bit<1> ahead;         // its frame is outside the window
    bit<1> stale;         // not newer than the last one that was taken
    bit<1> bad_field;     // with a field out of range
}

control Verdict(in wrong_t wrong, inout DropReason drop_reason) {
    @hidden action refuse(DropReason reason) {
        drop_reason = reason;
    }

    @hidden action accept() {
    }

    @hidden table verdict {
        key = {
            wrong.not_a_member: ternary;
            wrong.superseded:   ternary;
            wrong.bad_commit:   ternary;
            wrong.bad_content:  ternary;
            wrong.old:          ternary;
            wrong.ahead:        ternary;
            wrong.stale:        ternary;
            wrong.bad_field:    ternary;
        }
        actions = {
            refuse;
            accept;
        }
        const default_action = accept();
        const entries = {
            (1, _, _, _, _, _, _, _): refuse(DropReason.NOT_A_MEMBER);
            (_, 1, _, _, _, _, _, _): refuse(DropReason.STALE);
            (_, _, 1, _, _, _, _, _): refuse(DropReason.BAD_COMMIT);
            (_, _, _, 1, _, _, _, _): refuse(DropReason.BAD_FIELD);
            (_, _, _, _, 1, _, _, _): refuse(DropReason.STALE);
            (_, _, _, _, _, 1, _, _): refuse(DropReason.BAD_FIELD);
            (_, _, _, _, _, _, 1, _): refuse(DropReason.STALE);
            (_, _, _, _, _, _, _, 1): refuse(DropReason.BAD_FIELD);
        }
    }

    apply {
        verdict.apply();
    }
}

#endif
