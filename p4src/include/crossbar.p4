// SPDX-License-Identifier: Apache-2.0
#ifndef SLOTWISE_CROSSBAR_P4
#define SLOTWISE_CROSSBAR_P4
#include "core_parser.p4"
#include "core_control.p4"

// Light passes if its slot connects its input, if it keeps clear of the guard and of the slot's end, and
// if its output is free; what does not pass is lost and counted. The clock is the switch's own, so times
// have the target's unit; a packet counts from the arrival of its head. The clock goes round (after 78 h in ns): only
// differences count, and an output is busy for a slot at most. One that never was has 0.
//
//   guard? ──> crossbar (bank, slot, input) ──connect──> overrun? ──> collision? ──> output
control Crossbar(inout core_metadata_t meta, inout standard_metadata_t standard_metadata) {
    version_t active = 0;
    bit<1>    bank = 0;
    slot_t    slot = 0;
    clock_t   start = 0;
    clock_t   duration = 0;
    clock_t   offset = 0;
    clock_t   busy = 0;
    port_t    output_port = PORT_DROP;

    register<clock_t>((bit<32>)PORT_DROP + 1) busy_until;
    counter((bit<32>)PORT_DROP + 1, CounterType.packets_and_bytes) output_traffic;
    direct_counter(CounterType.packets_and_bytes) crossbar_counter;

    action connect(port_t port) {
        output_port = port;
    }

    action dark() {
        meta.drop_reason = DropReason.DARK;
    }

    table crossbar {
        key = {
            bank:                           exact @name("bank");
            slot:                           exact @name("slot");
            standard_metadata.ingress_port: exact @name("input");
        }
        actions = {
            connect;
            @defaultonly dark;
        }
        const default_action = dark();
        counters = crossbar_counter;
        size = 524288;  // two banks of 256 inputs and 1024 slots
    }

    apply {
        active_version.read(active, 0);
        bank = active[0:0];
        current_slot.read(slot, 0);
        slot_start.read(start, 0);
        offset = standard_metadata.ingress_global_timestamp - start;
        duration = (bit<48>)(((bit<64>)standard_metadata.packet_length * (bit<64>)meta.time_per_byte_q16) >> 16);

        if (offset < meta.guard) {
            meta.drop_reason = DropReason.GUARD;
        } else if (crossbar.apply().hit) {
            busy_until.read(busy, (bit<32>)output_port);
            if (offset + duration > meta.slot) {
                meta.drop_reason = DropReason.OVERRUN;
            } else if (busy != 0 && busy - standard_metadata.ingress_global_timestamp - 1 < meta.slot) {
                meta.drop_reason = DropReason.COLLISION;
            } else {
                busy_until.write((bit<32>)output_port, standard_metadata.ingress_global_timestamp + duration);
                output_traffic.count((bit<32>)output_port);
                standard_metadata.egress_spec = output_port;
            }
        }
    }
}

#endif
