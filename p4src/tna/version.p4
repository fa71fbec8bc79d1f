// SPDX-License-Identifier: Apache-2.0
// Stands for include/version.p4: stateful ALUs say whether a frame has come, ternary tables look at windows, so that no serial number is cut
// into slices. A pipe of the device has registers of its own, and a packet touches each of them once, in this order: what it has read decides
// what it writes into later ones. A beacon would have to write what it is compared with; it comes twice: examined first, then resubmitted and
// kept.
//
//   current_frame, beacon_heard, known_frame, next_frame, next_version ──> known_version ──> active_version
#ifndef SLOTWISE_VERSION_P4
#define SLOTWISE_VERSION_P4
#include "target.p4"
#include "../include/headers.p4"
#include "../include/verdict.p4"

typedef bit<3> star_t;  // number of a core below MAX_CORES

// By core, since an edge is in several stars; a core's own are at 0.
Register<frame_t, star_t>(MAX_CORES)   current_frame;   // of this switch's last slot tick
Register<version_t, star_t>(MAX_CORES) active_version;  // changes at a slot's start only
Register<bit<8>, star_t>(MAX_CORES)    beacon_heard;
Register<version_t, star_t>(MAX_CORES) known_version;   // in force from known_frame on, says the master
Register<int<32>, star_t>(MAX_CORES)   known_frame;     // of the newest beacon
Register<version_t, star_t>(MAX_CORES) next_version;    // equals known_version when nothing is announced
Register<int<32>, star_t>(MAX_CORES)   next_frame;      // from which next_version holds

// What these registers hold for one core.
struct versions_t {
    frame_t   now;
    version_t active;
    bit<8>    heard;
    frame_t   known_frame;
    version_t next;
    frame_t   next_frame;
}

// What a packet does with a star's registers.
enum bit<8> StarOp {
    READ     = 0,
    TICK     = 1,  // reads, as all ticks that begin no slot
    FLIP     = 2,  // a slot starts
    KEEP     = 3,  // a beacon is taken
    ANNOUNCE = 4,  // what the master announces is kept as a beacon is
    STAGE    = 5,  // what the controller wants is kept
    JOIN     = 6   // this edge joins, is measured, or leaves
}

// The newest version whose frame has come at this switch is in force at a slot's start. The announced one is then the known one too: 2^31
// frames from now next_frame will be ahead again. What a beacon says changes nothing before the next slot's start.
// `frame` is that of the tick, or of the beacon, whose versions the next three are. What is done with a register is a table's choice:
// the assembler does not see that the branches of a condition exclude each other.
control Versions(in star_t core,
                 in StarOp op,
                 in frame_t frame,
                 in version_t told_active,
                 in version_t told_next,
                 in frame_t told_first,
                 inout versions_t versions) {
    bit<32> next_has_come = 0;  // 32 bits, as a stateful ALU says it: two of one bit lie in one container, and the assembler refuses that
    bit<32> known_has_come = 0;

    RegisterAction<frame_t, star_t, frame_t>(current_frame) put_current_frame = {
        void apply(inout frame_t value) {
            value = frame;
        }
    };
    RegisterAction<frame_t, star_t, frame_t>(current_frame) get_current_frame = {
        void apply(inout frame_t value, out frame_t read) {
            read = value;
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(beacon_heard) put_heard = {
        void apply(inout bit<8> value) {
            value = 1;
        }
    };
    RegisterAction<bit<8>, star_t, bit<8>>(beacon_heard) get_heard = {
        void apply(inout bit<8> value, out bit<8> read) {
            read = value;
        }
    };
    RegisterAction<int<32>, star_t, frame_t>(known_frame) put_known_frame = {
        void apply(inout int<32> value) {
            value = (int<32>)frame;
        }
    };
    RegisterAction<int<32>, star_t, frame_t>(known_frame) get_known_frame = {
        void apply(inout int<32> value, out frame_t read) {
            read = (frame_t)value;
        }
    };
    RegisterAction<int<32>, star_t, bit<32>>(known_frame) has_known_frame_come = {
        void apply(inout int<32> value, out bit<32> has_come) {
            has_come = 0;
            if (value - (int<32>)frame <= 0) {
                has_come = 1;
            }
        }
    };
    RegisterAction<int<32>, star_t, frame_t>(next_frame) put_next_frame = {
        void apply(inout int<32> value) {
            value = (int<32>)told_first;
        }
    };
    RegisterAction<int<32>, star_t, frame_t>(next_frame) get_next_frame = {
        void apply(inout int<32> value, out frame_t read) {
            read = (frame_t)value;
        }
    };
    RegisterAction<int<32>, star_t, bit<32>>(next_frame) has_next_frame_come = {
        void apply(inout int<32> value, out bit<32> has_come) {
            has_come = 0;
            if (value - (int<32>)frame <= 0) {
                has_come = 1;
            }
        }
    };
    RegisterAction<version_t, star_t, version_t>(next_version) put_next_version = {
        void apply(inout version_t value) {
            value = told_next;
        }
    };
    RegisterAction<version_t, star_t, version_t>(next_version) get_next_version = {
        void apply(inout version_t value, out version_t read) {
            read = value;
        }
    };
    RegisterAction<version_t, star_t, version_t>(known_version) put_known_version = {
        void apply(inout version_t value) {
            value = told_active;
        }
    };
    RegisterAction<version_t, star_t, version_t>(known_version) put_announced = {
        void apply(inout version_t value) {
            value = versions.next;
        }
    };
    RegisterAction<version_t, star_t, version_t>(known_version) get_known_version = {
        void apply(inout version_t value, out version_t read) {
            read = value;
        }
    };
    RegisterAction<version_t, star_t, version_t>(active_version) put_active_version = {
        void apply(inout version_t value) {
            value = versions.active;
        }
    };
    RegisterAction<version_t, star_t, version_t>(active_version) get_active_version = {
        void apply(inout version_t value, out version_t read) {
            read = value;
        }
    };

    @hidden action keep_current_frame() {
        put_current_frame.execute(core);
    }

    @hidden action read_current_frame() {
        versions.now = get_current_frame.execute(core);
    }

    @hidden table of_current_frame {
        key = {
            op: ternary;
        }
        actions = {
            keep_current_frame;
            read_current_frame;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.FLIP: keep_current_frame();
            _: read_current_frame();
        }
    }

    @hidden action keep_heard() {
        put_heard.execute(core);
    }

    @hidden action read_heard() {
        versions.heard = get_heard.execute(core);
    }

    @hidden table of_heard {
        key = {
            op: ternary;
        }
        actions = {
            keep_heard;
            read_heard;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.KEEP:     keep_heard();
            StarOp.ANNOUNCE: keep_heard();
            _: read_heard();
        }
    }

    @hidden action keep_known_frame() {
        put_known_frame.execute(core);
    }

    @hidden action compare_known_frame() {
        known_has_come = has_known_frame_come.execute(core);
    }

    @hidden action read_known_frame() {
        versions.known_frame = get_known_frame.execute(core);
    }

    @hidden table of_known_frame {
        key = {
            op: ternary;
        }
        actions = {
            keep_known_frame;
            compare_known_frame;
            read_known_frame;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.KEEP:     keep_known_frame();
            StarOp.ANNOUNCE: keep_known_frame();
            StarOp.FLIP:     compare_known_frame();
            _: read_known_frame();
        }
    }

    // What is announced now is what the master says at once.
    @hidden action keep_next_frame() {
        put_next_frame.execute(core);
        versions.next_frame = told_first;
    }

    @hidden action compare_next_frame() {
        next_has_come = has_next_frame_come.execute(core);
    }

    @hidden action read_next_frame() {
        versions.next_frame = get_next_frame.execute(core);
    }

    @hidden table of_next_frame {
        key = {
            op: ternary;
        }
        actions = {
            keep_next_frame;
            compare_next_frame;
            read_next_frame;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.KEEP:     keep_next_frame();
            StarOp.ANNOUNCE: keep_next_frame();
            StarOp.FLIP:     compare_next_frame();
            _: read_next_frame();
        }
    }

    @hidden action keep_next_version() {
        put_next_version.execute(core);
        versions.next = told_next;
    }

    @hidden action read_next_version() {
        versions.next = get_next_version.execute(core);
    }

    @hidden table of_next_version {
        key = {
            op: ternary;
        }
        actions = {
            keep_next_version;
            read_next_version;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.KEEP:     keep_next_version();
            StarOp.ANNOUNCE: keep_next_version();
            _: read_next_version();
        }
    }

    @hidden action keep_known_version() {
        put_known_version.execute(core);
    }

    @hidden action announced_is_known() {
        put_announced.execute(core);
        versions.active = versions.next;
    }

    @hidden action read_known_version() {
        versions.active = get_known_version.execute(core);
    }

    @hidden table of_known_version {
        key = {
            op:            ternary;
            next_has_come: ternary;
        }
        actions = {
            keep_known_version;
            announced_is_known;
            read_known_version;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (StarOp.KEEP, _):     keep_known_version();
            (StarOp.ANNOUNCE, _): keep_known_version();
            (StarOp.FLIP, 1):     announced_is_known();
            (_, _):               read_known_version();
        }
    }

    @hidden action keep_active_version() {
        put_active_version.execute(core);
    }

    @hidden action read_active_version() {
        versions.active = get_active_version.execute(core);
    }

    @hidden table of_active_version {
        key = {
            op:             ternary;
            next_has_come:  ternary;
            known_has_come: ternary;
        }
        actions = {
            keep_active_version;
            read_active_version;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (StarOp.FLIP, 1, _): keep_active_version();
            (StarOp.FLIP, _, 1): keep_active_version();
            (_, _, _):            read_active_version();
        }
    }

    apply {
        of_current_frame.apply();
        of_heard.apply();
        of_known_frame.apply();
        of_next_frame.apply();
        of_next_version.apply();
        of_known_version.apply();
        of_active_version.apply();
    }
}

// Whether a frame that is so far behind this one is outside the window of 1024 frames behind and FRAME_LEAD ahead.
control FrameWindow(in frame_t behind, inout bit<1> is_outside, inout bit<1> is_old) {
    @hidden action is_ahead() {
        is_outside = 1;
    }

    @hidden action is_behind() {
        is_outside = 1;
        is_old = 1;
    }

    @hidden action is_inside() {
    }

    @hidden table window {
        key = {
            behind: ternary;
        }
        actions = {
            is_inside;
            is_ahead;
            is_behind;
        }
        const default_action = is_behind();
        const entries = {
            0xffffffff:                is_inside();
            0 &&& 0xfffffc00:          is_inside();
            FRAME_WINDOW:              is_inside();
            0x80000000 &&& 0x80000000: is_ahead();
        }
    }

    apply {
        window.apply();
    }
}

// Whether a frame that is so far ahead of a beacon's is not one of the FRAME_WINDOW after it.
control FirstFrameWindow(in frame_t lead, inout bit<1> is_outside) {
    @hidden action refuse() {
        is_outside = 1;
    }

    @hidden action accept() {
    }

    @hidden table window {
        key = {
            lead: ternary;
        }
        actions = {
            accept;
            refuse;
        }
        const default_action = refuse();
        const entries = {
            0:                refuse();
            0 &&& 0xfffffc00: accept();
            FRAME_WINDOW:     accept();
        }
    }

    apply {
        window.apply();
    }
}

// By the sign of a difference of serial numbers.
control Newer(in bit<32> difference, inout bit<1> is_newer) {
    @hidden action newer() {
        is_newer = 1;
    }

    @hidden action not_newer() {
    }

    @hidden table sign {
        key = {
            difference: ternary;
        }
        actions = {
            newer;
            not_newer;
        }
        const default_action = newer();
        const entries = {
            0:                         not_newer();
            0x80000000 &&& 0x80000000: not_newer();
        }
    }

    apply {
        sign.apply();
    }
}

// A beacon of the master counts if it is newer than the last one. Its versions may be older than those known: the master
// has started anew then. What was heard longer ago than the window no longer tells old from new.
control ExamineBeacon(in versions_t versions,
                      in frame_t frame,
                      in version_t told_active,
                      in version_t told_next,
                      in frame_t told_first,
                      inout wrong_t wrong) {
    version_t step = 0;
    frame_t   lead = 0;
    frame_t   behind = 0;
    frame_t   known_behind = 0;
    frame_t   difference = 0;
    bit<1>    is_far = 0;
    bit<1>    is_forgotten = 0;
    bit<1>    is_old = 0;
    bit<1>    is_newer = 0;

    FirstFrameWindow() first_frame;
    FrameWindow() made;
    FrameWindow() heard;
    Newer() newer;

    @hidden action compare() {
        step = told_next - told_active;
        lead = told_first - frame;
        behind = versions.now - frame;
        known_behind = versions.now - versions.known_frame;
        difference = frame - versions.known_frame;
    }

    apply {
        compare();
        first_frame.apply(lead, is_far);
        made.apply(behind, wrong.ahead, wrong.old);
        heard.apply(known_behind, is_forgotten, is_old);
        newer.apply(difference, is_newer);
        if (step != 0) {
            if (step != 1) {
                wrong.bad_commit = 1;
            }
            if (is_far == 1) {
                wrong.bad_field = 1;
            }
        }
        if (versions.heard == 1 && is_forgotten == 0 && is_newer == 0) {
            wrong.stale = 1;
        }
    }
}

#endif
