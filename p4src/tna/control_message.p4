// SPDX-License-Identifier: Apache-2.0
// Stands for include/control_message.p4: compares what a commit says with what this edge knows. What is taken comes again, and is kept then. Other
// messages are side_pipe.p4's.
#ifndef SLOTWISE_CONTROL_MESSAGE_P4
#define SLOTWISE_CONTROL_MESSAGE_P4
#include "master.p4"
#include "version.p4"
#include "../include/edge_parser.p4"

control Examine(in edge_headers_t hdr, in version_t staged, inout edge_metadata_t meta) {
    ExamineBeacon() beacon;
    ExamineStage() stage;

    apply {
        if (meta.duty == Duty.TAKE_BEACON) {
            beacon.apply(meta.versions, hdr.commit.frame, hdr.commit.active_version, hdr.commit.next_version, hdr.commit.first_frame,
                         meta.wrong);
        } else if (meta.duty == Duty.STAGE_VERSION) {
            stage.apply(meta.versions, hdr.commit.next_version, hdr.commit.first_frame, staged, meta.wrong);
        }
    }
}

#endif
