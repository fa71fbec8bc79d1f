// SPDX-License-Identifier: Apache-2.0
// What a line card's slot tick leads to: the tick at a slot's start opens a gate, the further ticks of a signaling slot become
// signaling messages.
//
//   slot_tick, repeat 0 ──> flip, announce ──> slot_schedule ──grant──> flow_control
//              repeat 1.. ──> signaling ──send_request / send_commit──> message
#ifndef SLOTWISE_SLOT_P4
#define SLOTWISE_SLOT_P4
#include "edge_parser.p4"
#include "master.p4"
#include "signaling.p4"

// The start of a slot: a new version comes into force, and the gate of the slot's queue is opened.
control Schedule(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    bit<1>  bank;
    bit<1>  fresh;
    frame_t stale;

    AnnounceVersion() announce;

    direct_counter(CounterType.packets_and_bytes) slot_schedule_counter;

    @hidden action start_slot() {
        FLIP_VERSION(meta.core, hdr.slot_tick.frame, meta.versions)
        bank = meta.versions.active[0:0];
        FRESHNESS(hdr.slot_tick.frame, stale, fresh)
    }

    action grant(queue_t queue) {
        meta.queue = queue;
    }

    action idle_slot() {
        meta.drop_reason = DropReason.NO_SIGNALING;
    }

    table slot_schedule {
        key = {
            meta.core:          exact @name("core");
            bank:               exact @name("bank");
            hdr.slot_tick.slot: exact @name("slot");
        }
        actions = {
            grant;
            @defaultonly idle_slot;
        }
        const default_action = idle_slot();
        counters = slot_schedule_counter;
        size = 8192;
    }

    @hidden action open_gate() {
        meta.to_linecard = 1;
        meta.op = FlowOp.OPEN;
        meta.open_ns = hdr.slot_tick.local_ns + meta.guard_ns + meta.margin_ns;
        meta.close_ns = hdr.slot_tick.local_ns + meta.slot_ns - meta.margin_ns;
    }

    apply {
        start_slot();
        if (meta.is_master == 1 && hdr.slot_tick.slot == 0) {
            announce.apply(meta.core, hdr.slot_tick.frame, meta.beacon_hold_frames, meta.versions);
        }
        if (slot_schedule.apply().hit) {
            if (meta.queue > SIGNALING_QUEUE) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else if (meta.queue != SIGNALING_QUEUE && (fresh == 0 || meta.acquiring == 1)) {
                meta.drop_reason = DropReason.UNSYNCHRONIZED;
            } else {
                open_gate();
            }
        }
    }
}

// An edge that has not been measured for too long leaves; one that has not joined is silent; one that does not know yet how
// its clock runs is acquiring: it signals, a whole guard off, and sends no data.
control Slot(inout edge_headers_t hdr, inout edge_metadata_t meta) {
    @name(".EdgeIngress") Schedule() schedule;
    @name(".EdgeIngress") Signaling() signaling;

    @hidden action note_frame() {
        meta.duty = Duty.TICK_SLOT;
        current_frame.write(meta.core, hdr.slot_tick.frame);
    }

    @hidden action look_at_clock() {
        if (meta.session == 0) {
            meta.drop_reason = DropReason.UNSYNCHRONIZED;
        } else if (meta.member.measurements == NO_TICK) {
            meta.acquiring = 1;
            measurements.write(meta.core, NO_MEASUREMENT);
            meta.member.measured_frame = hdr.slot_tick.frame - 1;
            measured_frame.write(meta.core, meta.member.measured_frame);
        } else if ((int<32>)(hdr.slot_tick.frame - meta.member.measured_frame) > (int<32>)meta.member.hold_frames) {
            meta.duty = Duty.LEAVE;
        } else if (meta.member.measurements != MANY_MEASUREMENTS) {
            meta.acquiring = 1;
        }
        if (meta.acquiring == 1) {
            meta.margin_ns = meta.guard_ns;
        }
    }

    apply {
        note_frame();
        if (meta.by_invitation == 1) {
            look_at_clock();
        }
        if (meta.duty == Duty.TICK_SLOT && meta.drop_reason == DropReason.NONE) {
            if (hdr.slot_tick.repeat == 0) {
                schedule.apply(hdr, meta);
            } else {
                signaling.apply(hdr, meta);
            }
        }
    }
}

#endif
