// SPDX-License-Identifier: Apache-2.0
// What an XCP header says of itself.
#ifndef SLOTWISE_XCP_CHECK_P4
#define SLOTWISE_XCP_CHECK_P4
#include "headers.p4"

const bit<32> XCP_MAX_RTT_NS = 1000000000;  // a longer round trip counts as this
const bit<32> ETHERNET_HEADER_BYTES = 14;

// `packet_bytes` is what the IP header says, `frame_bytes` what came with Ethernet's header: who says more than it sends
// would have it counted.
control CheckXcp(in xcp_t xcp, in bit<16> packet_bytes, in bit<32> frame_bytes, out XcpVerdict verdict) {
    @hidden action check() {
        verdict = XcpVerdict.STANDARD;
        if (xcp.version != XCP_VERSION) {
            verdict = XcpVerdict.BAD_VERSION;
        } else if (xcp.length != XCP_LENGTH || (bit<32>)packet_bytes + ETHERNET_HEADER_BYTES > frame_bytes) {
            verdict = XcpVerdict.BAD_LENGTH;
        } else if (xcp.format == XcpFormat.MINIMAL) {
            verdict = XcpVerdict.MINIMAL;
        } else if (xcp.format != XcpFormat.STANDARD) {
            verdict = XcpVerdict.BAD_FORMAT;
        } else if (xcp.rtt != 0 && (xcp.x == 0 || (bit<34>)xcp.x > (bit<34>)xcp.rtt << 2)) {
            verdict = XcpVerdict.BAD_FIELDS;
        }
    }

    apply {
        check();
    }
}

#endif
