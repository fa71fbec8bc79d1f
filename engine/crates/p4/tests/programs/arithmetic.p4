// SPDX-License-Identifier: Apache-2.0
// Every operator, on operands of several widths; results go back in the header.
#include "common.p4"

header operands_t {
    bit<8>   a8;
    bit<8>   b8;
    bit<32>  a32;
    bit<32>  b32;
    bit<64>  a64;
    bit<64>  b64;
    bit<128> a128;
    bit<128> b128;
}

header results_t {
    bit<8>   add8;
    bit<8>   sub8;
    bit<8>   sat_add8;
    bit<8>   sat_sub8;
    bit<8>   signed_shift8;
    bit<8>   signed_less8;
    bit<8>   signed_sat_add8;
    bit<8>   signed_sat_sub8;
    bit<32>  mul32;
    bit<32>  not32;
    bit<32>  logic32;
    bit<32>  shl32;
    bit<32>  shr32;
    bit<32>  mux32;
    bit<16>  slice32;
    bit<32>  widened;
    bit<32>  negative32;
    bit<64>  add64;
    bit<64>  sub64;
    bit<64>  mul64;
    bit<64>  sat_add64;
    bit<64>  sat_sub64;
    bit<64>  concat64;
    bit<8>   compare64;
    bit<64>  signed_sat_add64;
    bit<128> add128;
    bit<128> sub128;
    bit<128> mul128;
    bit<128> shl128;
    bit<128> shr128;
    bit<128> xor128;
    bit<128> sat_sub128;
    bit<64>  slice128;
    bit<8>   compare128;
}

struct headers_t {
    operands_t operands;
    results_t  results;
}

struct metadata_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.operands);
        transition accept;
    }
}

NO_VERIFY(headers_t, metadata_t)
NO_COMPUTE(headers_t, metadata_t)
NO_EGRESS(headers_t, metadata_t)

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        bit<8> a8 = hdr.operands.a8;
        bit<8> b8 = hdr.operands.b8;
        bit<32> a32 = hdr.operands.a32;
        bit<32> b32 = hdr.operands.b32;
        bit<64> a64 = hdr.operands.a64;
        bit<64> b64 = hdr.operands.b64;
        bit<128> a128 = hdr.operands.a128;
        bit<128> b128 = hdr.operands.b128;

        hdr.results.setValid();
        hdr.results.add8 = a8 + b8;
        hdr.results.sub8 = a8 - b8;
        hdr.results.sat_add8 = a8 |+| b8;
        hdr.results.sat_sub8 = a8 |-| b8;
        hdr.results.signed_shift8 = (bit<8>)((int<8>)a8 >> 3);
        if ((int<8>)a8 < (int<8>)b8) { hdr.results.signed_less8 = 1; } else { hdr.results.signed_less8 = 0; }
        hdr.results.signed_sat_add8 = (bit<8>)((int<8>)a8 |+| (int<8>)b8);
        hdr.results.signed_sat_sub8 = (bit<8>)((int<8>)a8 |-| (int<8>)b8);
        hdr.results.mul32 = a32 * b32;
        hdr.results.not32 = ~a32;
        hdr.results.logic32 = (a32 & b32) | (a32 ^ 0x0f0f0f0f);
        hdr.results.shl32 = a32 << a8;
        hdr.results.shr32 = a32 >> b8;
        hdr.results.mux32 = a8 > b8 ? a32 : b32;
        hdr.results.slice32 = a32[23:8];
        hdr.results.widened = (bit<32>)(int<32>)(int<8>)a8;
        hdr.results.negative32 = -a32;
        hdr.results.add64 = a64 + b64;
        hdr.results.sub64 = a64 - b64;
        hdr.results.mul64 = a64 * b64;
        hdr.results.sat_add64 = a64 |+| b64;
        hdr.results.sat_sub64 = a64 |-| b64;
        hdr.results.concat64 = a32 ++ b32;
        hdr.results.compare64 = (bit<8>)((bit<1>)(a64 > b64) ++ (bit<1>)(a64 == b64) ++ (bit<1>)((int<64>)a64 > (int<64>)b64));
        hdr.results.signed_sat_add64 = (bit<64>)((int<64>)a64 |+| (int<64>)b64);
        hdr.results.add128 = a128 + b128;
        hdr.results.sub128 = a128 - b128;
        hdr.results.mul128 = a128 * b128;
        hdr.results.shl128 = a128 << a8;
        hdr.results.shr128 = a128 >> b8;
        hdr.results.xor128 = a128 ^ ~b128;
        hdr.results.sat_sub128 = a128 |-| b128;
        hdr.results.slice128 = a128[99:36];
        hdr.results.compare128 = (bit<8>)((bit<1>)(a128 > b128) ++ (bit<1>)(a128 != b128) ++ (bit<1>)((int<128>)a128 <= (int<128>)b128));
        std.egress_spec = 1;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.results);
    }
}

SWITCH;
