// SPDX-License-Identifier: Apache-2.0
// Registers, counters, hashes, checksums, random numbers, log, assert, exit, timestamps. The first byte chooses.
#include "common.p4"

header command_t {
    bit<8>  operation;
    bit<8>  index;
    bit<64> value;
    bit<80> wide;
    bit<16> checksum;
    bit<8>  checksum_error;
}

struct headers_t { command_t command; }
struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.command);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.command.operation == 9, { hdr.command.value, 4w5, hdr.command.index, 4w6 },
                        hdr.command.checksum, HashAlgorithm.csum16);
    }
}

control TestCompute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.command.operation == 0x88, { hdr.command.value, hdr.command.wide },
                        hdr.command.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.command.operation == 0x8a, { hdr.command.value },
                                     hdr.command.checksum, HashAlgorithm.csum16);
    }
}

NO_EGRESS(headers_t, metadata_t)

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    register<bit<64>>(4) words;
    register<bit<80>>(4) wides;
    counter(4, CounterType.packets_and_bytes) traffic;

    action leave() { exit; }

    apply {
        std.egress_spec = 1;
        hdr.command.checksum_error = (bit<8>)std.checksum_error;
        switch (hdr.command.operation) {
            1: { words.write((bit<32>)hdr.command.index, hdr.command.value); }
            2: { words.read(hdr.command.value, (bit<32>)hdr.command.index); }
            3: {
                wides.write((bit<32>)hdr.command.index, hdr.command.wide);
                wides.read(hdr.command.wide, (bit<32>)hdr.command.index);
                hdr.command.wide = hdr.command.wide + 1;
            }
            4: { traffic.count((bit<32>)hdr.command.index); }
            5: {
                bit<32> crc = 0;
                bit<16> folded = 0;
                hash(crc, HashAlgorithm.crc32, 32w0, { hdr.command.operation, hdr.command.index }, 64w0x100000000);
                hash(folded, HashAlgorithm.crc16, 16w10, { hdr.command.operation }, 32w7);
                hdr.command.value = crc ++ 16w0 ++ folded;
            }
            6: {
                bit<16> drawn;
                random(drawn, 16w10, 16w12);
                hdr.command.value = (bit<64>)drawn;
            }
            7: { log_msg("value {} of {}", { hdr.command.value, hdr.command.index }); }
            11: { assert(hdr.command.index == 1); }
            12: { leave(); }
            13: {
                hdr.command.value = (bit<64>)std.ingress_global_timestamp;
                hdr.command.wide = (bit<80>)std.packet_length;
            }
        }
        hdr.command.operation = 0x80 | hdr.command.operation;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.command); }
}

SWITCH;
