// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_SCHEDULE_P4
#define SLOTWISE_SCHEDULE_P4
#include "edge_parser.p4"
#include "version.p4"
#include "master.p4"

// First frame for which the last beacon heard is too old; 0 before the first one.
register<bit<32>>(MAX_CORES) stale_frame;  // by core

// A slave may open data gates only while it hears the master; the master is its own beacon.
control Freshness(in edge_metadata_t meta, in bit<32> frame, out bit<1> fresh) {
    bit<32> stale;

    apply {
        fresh = meta.is_master;
        stale_frame.read(stale, meta.core);
        if (stale != 0) {
            if (stale - frame - 1 <= meta.beacon_hold_frames + FRAME_LEAD) {
                fresh = 1;
            } else {
                // Or it would be ahead again when frame numbers have gone round.
                stale_frame.write(meta.core, 0);
            }
        }
    }
}

// The start of a slot: a new version comes into force, and the gate of the slot's queue is opened.
control Schedule(inout edge_headers_t hdr,
                 inout edge_metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    bit<32> active = 0;
    bit<1>  bank = 0;
    bit<1>  fresh = 0;
    bit<16> granted = 0;

    FlipVersion() flip;
    AnnounceVersion() announce;
    Freshness() freshness;

    direct_counter(CounterType.packets_and_bytes) slot_schedule_counter;

    action grant(bit<16> queue) {
        granted = queue;
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
        hdr.linecard.kind = LineCardKind.FLOW_CONTROL;
        hdr.flow_control.setValid();
        hdr.flow_control.queue = granted;
        hdr.flow_control.op = FlowOp.OPEN;
        hdr.flow_control.reserved = 0;
        hdr.flow_control.open_ns = hdr.slot_tick.local_ns + meta.guard_ns + meta.margin_ns;
        hdr.flow_control.close_ns = hdr.slot_tick.local_ns + meta.slot_ns - meta.margin_ns;
        hdr.flow_control.value = 0;
        hdr.slot_tick.setInvalid();
        standard_metadata.egress_spec = PORT_LINECARD;
    }

    apply {
        flip.apply(meta.core, hdr.slot_tick.frame, active);
        bank = active[0:0];
        if (meta.is_master == 1 && hdr.slot_tick.slot == 0) {
            announce.apply(meta.core, hdr.slot_tick.frame, meta.beacon_hold_frames);
        }
        freshness.apply(meta, hdr.slot_tick.frame, fresh);
        if (slot_schedule.apply().hit) {
            if ((bit<32>)granted >= MAX_QUEUES) {
                meta.drop_reason = DropReason.BAD_QUEUE;
            } else if (granted != SIGNALING_QUEUE && (fresh == 0 || meta.acquiring == 1)) {
                meta.drop_reason = DropReason.UNSYNCHRONIZED;
            } else {
                open_gate();
            }
        }
    }
}

#endif
