// SPDX-License-Identifier: Apache-2.0
// The line card that the switch itself is: its packet generator makes slot ticks, its traffic manager's queues are VOQs, and advanced flow
// control resumes and pauses them as a card opens and shuts gates. A star whose queues are not in `device_queue` has a card outside.
//
//   generator ──> slot (batch), repeat ──> slot_schedule ──> device_gate ──> resume; at the slot's end pause
#ifndef SLOTWISE_TNA_GATES_P4
#define SLOTWISE_TNA_GATES_P4
#include "aside.p4"
#include "../include/edge_parser.p4"

// The packet generator of the pipe; linecard_t and slot_tick_t are in its buffer, filled with the star's port.
const port_t PORT_GENERATOR = 508;

// Its application that makes a batch a slot: packet 0 a guard and a margin after the slot's start, packet 1 a margin before its end. Packets of any
// other one are for signaling, a batch a slot, behind packet 0 of that.
const bit<4> SLOTS = 0;

Register<frame_t, bit<3>>(MAX_CORES) generated_frame;  // by core

// A packet of the generator becomes a tick; frames are counted by those that begin slot 0. `again`: it has been counted.
control GeneratedTick(inout edge_headers_t hdr, in pktgen_timer_header_t timer, in bit<1> again, inout standard_metadata_t standard_metadata) {
    RegisterAction<frame_t, bit<3>, frame_t>(generated_frame) count_frame = {
        void apply(inout frame_t value, out frame_t read) {
            value = value + 1;
            read = value;
        }
    };
    RegisterAction<frame_t, bit<3>, frame_t>(generated_frame) get_frame = {
        void apply(inout frame_t value, out frame_t read) {
            read = value;
        }
    };

    // For who gets a request it is as if it came from a card.
    @hidden action number() {
        standard_metadata.ingress_port = PORT_LINECARD;
        hdr.slot_tick.slot = timer.batch_id;
    }

    @hidden action begin_frame() {
        hdr.slot_tick.frame = count_frame.execute(hdr.linecard.port[2:0]);
    }

    @hidden action begin_or_end_slot() {
        hdr.slot_tick.frame = get_frame.execute(hdr.linecard.port[2:0]);
    }

    @hidden action make_message() {
        hdr.slot_tick.repeat = timer.packet_id;
        hdr.slot_tick.frame = get_frame.execute(hdr.linecard.port[2:0]);
    }

    @hidden table frame {
        key = {
            again:           ternary;
            timer.app_id:    ternary;
            timer.batch_id:  ternary;
            timer.packet_id: ternary;
        }
        actions = {
            begin_frame;
            begin_or_end_slot;
            make_message;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (0, SLOTS, 0, 0): begin_frame();
            (_, SLOTS, _, _): begin_or_end_slot();
            (_, _, _, _):     make_message();
        }
    }

    apply {
        if (timer.isValid()) {
            number();
            frame.apply();
        }
    }
}

// The queue of the traffic manager that is a VOQ, and what resumes or pauses it: a word of advanced flow control, with 1 in bit 31, pipe and
// port group below, the group's queue in bits 21 to 15, credit in the others, 0 to resume (docs/tofino-linecard.md).
control DeviceQueue(in port_t port, in queue_t queue, in xcp_t xcp, inout SideWay aside, inout ingress_intrinsic_metadata_for_tm_t for_tm) {
    bit<1> by_xcp = 0;

    action enter(QueueId_t qid) {
        for_tm.qid = qid;
    }

    // Not for packets of XCP: they go aside, and enter from there.
    action enter_with_xcp(QueueId_t qid) {
        for_tm.qid = qid;
        by_xcp = 1;
    }

    @hidden action go_aside() {
        for_tm.qid = 0;
        aside = SideWay.XCP;
    }

    table device_queue {
        key = {
            port:  exact @name("port");
            queue: exact @name("queue");
        }
        actions = {
            enter;
            enter_with_xcp;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = 2048;
    }

    apply {
        device_queue.apply();
        if (by_xcp == 1 && xcp.isValid()) {
            go_aside();
        }
    }
}

control DeviceGate(in port_t port,
                   in queue_t queue,
                   in bit<1> shuts,
                   inout bit<1> is_here,
                   inout ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    action control_queue(bit<32> word) {
        for_deparser.adv_flow_ctl = word;
        is_here = 1;
    }

    table device_gate {
        key = {
            port:  exact @name("port");
            queue: exact @name("queue");
            shuts: exact @name("shuts");
        }
        actions = {
            control_queue;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = 4096;
    }

    apply {
        device_gate.apply();
    }
}

#endif
