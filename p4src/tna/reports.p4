// SPDX-License-Identifier: Apache-2.0
// What line cards last reported of an edge's queues, behind the traffic manager. The queues of a request are in a register each, so that a
// packet reads them all and touches each once; a request's block is their cell.
//
//   queue report ──> cell of the register of its queue
//   request ──> the same cell of all registers ──> entries
#ifndef SLOTWISE_TNA_REPORTS_P4
#define SLOTWISE_TNA_REPORTS_P4
#include "target.p4"
#include "../include/edge_parser.p4"

struct report_t {
    bit<32> backlog_bytes;
    bit<32> arrived_bytes;
}

#define OF_QUEUE(i) \
    Register<report_t, bit<6>>(64) reports_##i; \
    RegisterAction<report_t, bit<6>, bit<32>>(reports_##i) note_##i = { \
        void apply(inout report_t value) { \
            value.backlog_bytes = queue_report.backlog_bytes; \
            value.arrived_bytes = queue_report.arrived_bytes; \
        } \
    }; \
    RegisterAction2<report_t, bit<6>, bit<32>, bit<32>>(reports_##i) tell_##i = { \
        void apply(inout report_t value, out bit<32> backlog, out bit<32> arrived) { \
            backlog = value.backlog_bytes; \
            arrived = value.arrived_bytes; \
        } \
    };

#define TOUCH(i) \
    if (tells == 1) { \
        entries.backlog_bytes_##i = tell_##i.execute(cell, entries.arrived_bytes_##i); \
    } else if (queue_report.queue[3:0] == i) { \
        note_##i.execute(cell); \
    }

// `tells`: a request of the block `cell`, or a report of a queue of it.
control Reports(in bit<1> tells, in bit<6> cell, in queue_report_t queue_report, inout request_entries_t entries) {
    OF_QUEUE(0) OF_QUEUE(1) OF_QUEUE(2) OF_QUEUE(3) OF_QUEUE(4) OF_QUEUE(5) OF_QUEUE(6) OF_QUEUE(7)
    OF_QUEUE(8) OF_QUEUE(9) OF_QUEUE(10) OF_QUEUE(11) OF_QUEUE(12) OF_QUEUE(13) OF_QUEUE(14) OF_QUEUE(15)

    apply {
        if (tells == 1) {
            entries.setValid();
        }
        TOUCH(0)
        TOUCH(1)
        TOUCH(2)
        TOUCH(3)
        TOUCH(4)
        TOUCH(5)
        TOUCH(6)
        TOUCH(7)
        TOUCH(8)
        TOUCH(9)
        TOUCH(10)
        TOUCH(11)
        TOUCH(12)
        TOUCH(13)
        TOUCH(14)
        TOUCH(15)
    }
}

#endif
