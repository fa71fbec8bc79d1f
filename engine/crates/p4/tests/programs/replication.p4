// SPDX-License-Identifier: Apache-2.0
// Clones, resubmission, recirculation, multicast, digest, truncation. The first byte chooses.
#include "common.p4"

header command_t {
    bit<8>  operation;
    bit<8>  instance_type;
    bit<8>  kept;
    bit<8>  rounds;
    bit<16> replica;
    bit<16> length;
}

struct headers_t { command_t command; }

struct metadata_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
}

struct noticed_t { bit<8> operation; bit<16> length; }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.command);
        transition accept;
    }
}

NO_VERIFY(headers_t, metadata_t)
NO_COMPUTE(headers_t, metadata_t)

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        meta.lost = 7;
        switch (hdr.command.operation) {
            1: { meta.kept = 0x41; clone_preserving_field_list(CloneType.I2E, 5, 1); hdr.command.rounds = 99; }
            3: {
                if (std.instance_type == 0) {
                    meta.kept = 0x43;
                    resubmit_preserving_field_list(1);
                }
            }
            5: { std.mcast_grp = 17; }
            6: { digest<noticed_t>(1, { hdr.command.operation, (bit<16>)std.packet_length }); }
            7: { truncate(10); }
            8: { mark_to_drop(std); }
            9: { resubmit_preserving_field_list(1); }
            11: {
                if (std.instance_type == 0) {
                    resubmit_preserving_field_list(1);
                }
            }
            12: { clone_preserving_field_list(CloneType.I2E, 5, 1); }
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        hdr.command.instance_type = (bit<8>)std.instance_type;
        hdr.command.kept = meta.kept;
        hdr.command.replica = std.egress_rid;
        hdr.command.length = (bit<16>)std.packet_length;
        if (hdr.command.operation == 2 && std.instance_type == 0) {
            meta.kept = 0x42;
            hdr.command.rounds = hdr.command.rounds + 1;
            clone_preserving_field_list(CloneType.E2E, 6, 1);
        }
        if (hdr.command.operation == 4 && hdr.command.rounds < 3) {
            meta.kept = 0x44;
            hdr.command.rounds = hdr.command.rounds + 1;
            recirculate_preserving_field_list(1);
        }
        if (hdr.command.operation == 10) {
            mark_to_drop(std);
        }
        if (hdr.command.operation == 13 && meta.kept == 0) {
            meta.kept = 0x4d;
            recirculate_preserving_field_list(1);
        }
        if (hdr.command.operation > 10) {
            hdr.command.rounds = (bit<8>)std.ingress_port;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.command); }
}

SWITCH;
