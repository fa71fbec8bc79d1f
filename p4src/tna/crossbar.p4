// SPDX-License-Identifier: Apache-2.0
// Stands for include/crossbar.p4. How long a packet is is known behind the traffic manager only, and there is nothing that multiplies:
// the guard and the connection are looked at before it, the slot's end and the output behind it, with a length's time from a table. Light
// ends within its slot, so an output is busy for what remains of a slot at most: `busy_slot` says of which, `busy_until` how far into it.
//
//   ingress  guard? ──> crossbar (bank, slot, input) ──connect──> light_t
//   egress   packet_time ──> overrun? ──> busy_slot ──> busy_until: collision? ──> output
#ifndef SLOTWISE_CROSSBAR_P4
#define SLOTWISE_CROSSBAR_P4
#include "core_control.p4"

// What the traffic manager carries with each packet of a core, in front of it; it is on no wire.
header light_t {
    @padding bit<6> _pad;
    bit<1>  is_light;   // or a packet of the controller
    port_t  port;       // where it leaves, of the plan
    slot_t  slot;
    frame_t frame;
    ns_t    offset;     // of its head from the slot's start
    ns_t    remaining;  // of the slot, two's complement
}

control Crossbar(in version_t active,
                 in slot_t slot,
                 in ns_t start,
                 in bit<16> era,
                 in bit<48> now,
                 inout light_t light,
                 inout core_metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    ns_t    early = 0;
    bit<16> eras = 0;

    // Of packets, in 32 bits: four entries and their counters in a word. With 64 bits each of packets and bytes it is one, and 16384 entries a stage.
    DirectCounter<bit<32>>(CounterType_t.PACKETS) crossbar_counter;

    @hidden action measure() {
        light.offset = now[31:0] - start;
        eras = now[47:32] - era;
    }

    @hidden action compare() {
        early = light.offset - meta.guard[31:0];
        light.remaining = meta.slot[31:0] - light.offset;
    }

    // No slot has started for so long that the difference says nothing.
    @hidden action is_over() {
        light.remaining = 0xffffffff;
    }

    action connect(port_t port) {
        standard_metadata.egress_spec = port;
        light.port = port;
        crossbar_counter.count();
    }

    action dark() {
        meta.drop_reason = DropReason.DARK;
    }

    table crossbar {
        key = {
            active[0:0]:                    exact @name("bank");
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
        measure();
        compare();
        // Less than 2^31 ns ago: in the same 2^32, or their last half and the first of the next.
        if (IS_NEGATIVE(light.offset) || eras != 0 && (eras != 1 || !IS_NEGATIVE(start) || IS_NEGATIVE(now))) {
            is_over();
            crossbar.apply();
        } else if (IS_NEGATIVE(early)) {
            meta.drop_reason = DropReason.GUARD;
        } else {
            crossbar.apply();
        }
    }
}

struct busy_slot_t {
    frame_t frame;
    bit<32> slot;
}

Register<busy_slot_t, port_t>(512) busy_slot;   // by output, in which it was last used
Register<ns_t, port_t>(512)        busy_until;  // by output, from that slot's start

control Output(inout light_t light, in bit<16> bytes, inout DropReason drop_reason) {
    ns_t    duration = 0;
    ns_t    end = 0;
    ns_t    spare = 0;
    bit<32> slot = 0;
    bit<1>  used = 0;
    bit<1>  busy = 0;

    Counter<bit<64>, port_t>(512, CounterType_t.PACKETS_AND_BYTES) output_traffic;

    RegisterAction<busy_slot_t, port_t, bit<1>>(busy_slot) enter = {
        void apply(inout busy_slot_t value, out bit<1> again) {
            again = 0;
            if (value.frame == light.frame && value.slot == slot) {
                again = 1;
            }
            value.frame = light.frame;
            value.slot = slot;
        }
    };
    RegisterAction<ns_t, port_t, bit<1>>(busy_until) begin = {
        void apply(inout ns_t value) {
            value = end;
        }
    };
    RegisterAction<ns_t, port_t, bit<1>>(busy_until) follow = {
        void apply(inout ns_t value, out bit<1> collides) {
            collides = 0;
            if (value > light.offset) {
                collides = 1;
            } else {
                value = end;
            }
        }
    };

    action lasts(ns_t time) {
        duration = time;
    }

    // One entry for each length, in bytes as the traffic manager counts them: a packet that lasts for ever overruns its slot.
    table packet_time {
        key = {
            bytes: exact @name("bytes");
        }
        actions = {
            lasts;
        }
        const default_action = lasts(0x7fffffff);
        size = 16384;
    }

    @hidden action reckon() {
        end = light.offset + duration;
        spare = light.remaining - duration;
        slot = (bit<32>)light.slot;
    }

    apply {
        packet_time.apply();
        reckon();
        if (IS_NEGATIVE(light.remaining) || IS_NEGATIVE(spare)) {
            drop_reason = DropReason.OVERRUN;
        } else {
            used = enter.execute(light.port);
            if (used == 0) {
                begin.execute(light.port);
            } else {
                busy = follow.execute(light.port);
            }
            if (busy == 1) {
                drop_reason = DropReason.COLLISION;
            } else {
                output_traffic.count(light.port);
            }
        }
    }
}

#endif
