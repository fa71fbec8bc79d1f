// SPDX-License-Identifier: Apache-2.0
// Every match kind, direct counters and meters, action profile and selector, const entries. The answer goes back.
#include "common.p4"

header key_t {
    bit<8>   table_number;
    bit<8>   a;
    bit<16>  b;
    bit<32>  c;
    bit<128> d;
    bit<16>  answer;
    bit<8>   color;
}

struct headers_t { key_t key; }
struct metadata_t { bit<2> color; }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.key);
        transition accept;
    }
}

NO_VERIFY(headers_t, metadata_t)
NO_COMPUTE(headers_t, metadata_t)
NO_EGRESS(headers_t, metadata_t)

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) exact_counter;
    direct_meter<bit<2>>(MeterType.packets) ternary_meter;
    meter(4, MeterType.bytes) byte_meter;
    action_profile(4) members;
    action_selector(HashAlgorithm.crc16, 8, 10) choices;

    action answer(bit<16> value) { hdr.key.answer = value; }
    action metered(bit<16> value) { ternary_meter.read(meta.color); hdr.key.answer = value; }

    table exact_table {
        key = { hdr.key.a: exact; hdr.key.d: exact; }
        actions = { answer; NoAction; }
        default_action = answer(0xdead);
        counters = exact_counter;
        size = 2;
    }
    table lpm_table {
        key = { hdr.key.a: exact; hdr.key.c: lpm; }
        actions = { answer; NoAction; }
        const default_action = NoAction();
    }
    table ternary_table {
        key = { hdr.key.b: ternary; hdr.key.c: lpm; hdr.key.a: optional; }
        actions = { metered; NoAction; }
        meters = ternary_meter;
        default_action = NoAction();
    }
    table range_table {
        key = { hdr.key.b: range; hdr.key.a: ternary; }
        actions = { answer; NoAction; }
        default_action = NoAction();
    }
    table const_table {
        key = { hdr.key.b: ternary; }
        actions = { answer; NoAction; }
        const default_action = NoAction();
        const entries = {
            0x1200 &&& 0xff00: answer(1);
            0x1234:            answer(2);
            0x99ee &&& 0x00ff: answer(4);  // value bits outside the mask mean nothing
            _:                 answer(3);
        }
    }
    table profile_table {
        key = { hdr.key.a: exact; }
        actions = { answer; NoAction; }
        implementation = members;
    }
    table selector_table {
        key = { hdr.key.a: exact; hdr.key.c: selector; }
        actions = { answer; NoAction; }
        implementation = choices;
    }

    apply {
        std.egress_spec = 1;
        switch (hdr.key.table_number) {
            1: {
                switch (exact_table.apply().action_run) {
                    answer: { hdr.key.color = 0xa0; }
                    default: { hdr.key.color = 0xb0; }
                }
            }
            2: { if (lpm_table.apply().hit) { hdr.key.color = 0x11; } else { hdr.key.color = 0x22; } }
            3: { ternary_table.apply(); hdr.key.color = (bit<8>)meta.color; }
            4: { range_table.apply(); }
            5: { const_table.apply(); }
            6: { profile_table.apply(); }
            7: { selector_table.apply(); }
            8: {
                bit<2> color = 3;
                byte_meter.execute_meter((bit<32>)hdr.key.a, color);
                hdr.key.color = (bit<8>)color;
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.key); }
}

SWITCH;
