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

// P4Testgen knows no action with two results; to its one packet nothing has been reported.
#ifdef P4TESTGEN
#define TELL(i) \
    @hidden action read_##i() { \
        told.backlog_bytes_##i = 0; \
        told.arrived_bytes_##i = 0; \
    }
#else
#define TELL(i) \
    RegisterAction2<report_t, bit<6>, bit<32>, bit<32>>(reports_##i) tell_##i = { \
        void apply(inout report_t value, out bit<32> backlog, out bit<32> arrived) { \
            backlog = value.backlog_bytes; \
            arrived = value.arrived_bytes; \
        } \
    }; \
    @hidden action read_##i() { \
        told.backlog_bytes_##i = tell_##i.execute(cell, told.arrived_bytes_##i); \
    }
#endif

#define OF_QUEUE(i) \
    Register<report_t, bit<6>>(64) reports_##i; \
    RegisterAction<report_t, bit<6>, bit<32>>(reports_##i) note_##i = { \
        void apply(inout report_t value) { \
            value.backlog_bytes = queue_report.backlog_bytes; \
            value.arrived_bytes = queue_report.arrived_bytes; \
        } \
    }; \
    TELL(i) \
    @hidden action keep_##i() { \
        note_##i.execute(cell); \
    } \
    @hidden table of_queue_##i { \
        key = { \
            tells:                   ternary; \
            queue_report.queue[3:0]: ternary; \
        } \
        actions = { \
            keep_##i; \
            read_##i; \
            @defaultonly NoAction; \
        } \
        const default_action = NoAction(); \
        const entries = { \
            (1, _): read_##i(); \
            (0, i): keep_##i(); \
        } \
    }

// `tells`: a request of the block `cell`, or a report of a queue of it.
control Reports(in bit<1> tells, in bit<6> cell, in queue_report_t queue_report, inout request_entries_t told) {
    OF_QUEUE(0) OF_QUEUE(1) OF_QUEUE(2) OF_QUEUE(3) OF_QUEUE(4) OF_QUEUE(5) OF_QUEUE(6) OF_QUEUE(7)
    OF_QUEUE(8) OF_QUEUE(9) OF_QUEUE(10) OF_QUEUE(11) OF_QUEUE(12) OF_QUEUE(13) OF_QUEUE(14) OF_QUEUE(15)

    apply {
        if (tells == 1) {
            told.setValid();
        }
        of_queue_0.apply();
        of_queue_1.apply();
        of_queue_2.apply();
        of_queue_3.apply();
        of_queue_4.apply();
        of_queue_5.apply();
        of_queue_6.apply();
        of_queue_7.apply();
        of_queue_8.apply();
        of_queue_9.apply();
        of_queue_10.apply();
        of_queue_11.apply();
        of_queue_12.apply();
        of_queue_13.apply();
        of_queue_14.apply();
        of_queue_15.apply();
    }
}

#endif
