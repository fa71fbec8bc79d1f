// SPDX-License-Identifier: Apache-2.0
// Stands for include/master.p4, the master's part of a commit: what the controller stages is announced at the next frame's first slot. That
// writes registers which it depends on: the tick comes twice, and the second time its announcement is kept like a beacon.
#ifndef SLOTWISE_MASTER_P4
#define SLOTWISE_MASTER_P4
#include "version.p4"

Register<version_t, star_t>(MAX_CORES) staged_version;
Register<int<32>, star_t>(MAX_CORES)   staged_frame;  // earliest frame wanted

// What the controller wants is kept once it has been examined. An announcement holds from the frame that it wants, at a tick `least_frame`
// at the earliest.
control Staged(in star_t core,
               in StarOp op,
               in version_t told_next,
               in frame_t told_first,
               in frame_t least_frame,
               inout version_t staged,
               inout frame_t first_frame) {
    RegisterAction<version_t, star_t, version_t>(staged_version) put_staged_version = {
        void apply(inout version_t value) {
            value = told_next;
        }
    };
    RegisterAction<version_t, star_t, version_t>(staged_version) get_staged_version = {
        void apply(inout version_t value, out version_t read) {
            read = value;
        }
    };
    RegisterAction<int<32>, star_t, frame_t>(staged_frame) put_staged_frame = {
        void apply(inout int<32> value) {
            value = (int<32>)told_first;
        }
    };
    RegisterAction<int<32>, star_t, frame_t>(staged_frame) choose_frame = {
        void apply(inout int<32> value, out frame_t first) {
            if (value - (int<32>)least_frame <= 0) {
                value = (int<32>)least_frame;
            }
            first = (frame_t)value;
        }
    };

    @hidden action keep_version() {
        put_staged_version.execute(core);
    }

    @hidden action read_version() {
        staged = get_staged_version.execute(core);
    }

    @hidden table of_staged_version {
        key = {
            op: ternary;
        }
        actions = {
            keep_version;
            read_version;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.STAGE: keep_version();
            _: read_version();
        }
    }

    @hidden action keep_frame() {
        put_staged_frame.execute(core);
    }

    @hidden action choose() {
        first_frame = choose_frame.execute(core);
    }

    @hidden table of_staged_frame {
        key = {
            op: exact;
        }
        actions = {
            keep_frame;
            choose;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            StarOp.STAGE: keep_frame();
            StarOp.FLIP:  choose();
        }
    }

    apply {
        of_staged_version.apply();
        of_staged_frame.apply();
    }
}

// A commit from the controller: only the version after the one in force, once, and for a frame that is near. While a
// version is announced the other bank is not free, so nothing more may be staged.
control ExamineStage(in versions_t versions, in version_t told_next, in frame_t told_first, in version_t staged, inout wrong_t wrong) {
    version_t difference = 0;
    version_t step = 0;
    version_t announced = 0;
    version_t again = 0;
    frame_t   lead = 0;
    bit<1>    is_newer = 0;

    Newer() newer;

    @hidden action compare() {
        difference = told_next - versions.next;
        step = told_next - versions.active;
        announced = versions.next ^ versions.active;
        again = told_next ^ staged;
        lead = told_first - versions.now;
    }

    @hidden action is_late() {
        wrong.stale = 1;
    }

    @hidden action is_far() {
        wrong.bad_field = 1;
    }

    @hidden action is_near() {
    }

    // From ORDER_WINDOW behind to MAX_COMMIT_LEAD ahead.
    @hidden table window {
        key = {
            lead: ternary;
        }
        actions = {
            is_near;
            is_late;
            is_far;
        }
        const default_action = is_far();
        const entries = {
            0xffff0000 &&& 0xffff0000: is_near();
            0x80000000 &&& 0x80000000: is_late();
            0 &&& 0xffffff00:          is_near();
            MAX_COMMIT_LEAD:           is_near();
        }
    }

    apply {
        compare();
        window.apply();
        newer.apply(difference, is_newer);
        if (is_newer == 0) {
            wrong.superseded = 1;
        }
        if (announced != 0) {
            wrong.bad_commit = 1;
        }
        if (step != 1) {
            wrong.bad_commit = 1;
        }
        if (again == 0) {
            wrong.stale = 1;
        }
    }
}

// At the master's first slot of a frame. It is made once, for it would move if it were made again.
control AnnounceVersion(in versions_t versions, in version_t staged, inout bit<1> is_due) {
    version_t step = 0;
    version_t announced = 0;

    @hidden action compare() {
        step = staged - versions.active;
        announced = versions.next ^ versions.active;
    }

    apply {
        compare();
        if (step == 1) {
            is_due = 1;
        }
        if (announced != 0) {
            is_due = 0;
        }
    }
}

#endif
