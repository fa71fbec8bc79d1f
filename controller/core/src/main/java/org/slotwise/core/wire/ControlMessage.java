// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.wire;

import java.io.ByteArrayOutputStream;

/** Messages that the controller makes for an edge switch itself: packet-outs to PORT_SELF. */
public final class ControlMessage {
    private ControlMessage() {
    }

    /**
     * Ethernet, optical header and payload.
     *
     * @param kind what the payload is
     * @param core core whose star it is about
     * @param fromEdge number of the edge that says it, a star's master
     * @param toEdge number of the edge that it is for
     * @param toMac that edge's address, 48 bits
     * @param sequence the sender's number of the message
     * @param payload the headers that the kind has
     */
    public static byte[] encode(OpticalKind kind, int core, int fromEdge, int toEdge, long toMac, long sequence,
            byte[]... payload) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.writeBytes(new EthernetHeader(toMac, 0, WireConstants.ETHERTYPE_OPTICAL).encode());
        bytes.writeBytes(new OpticalHeader(WireConstants.OPTICAL_VERSION, kind.code(), 0, fromEdge, toEdge,
                WireConstants.SIGNALING_QUEUE, 0, core, sequence, 0).encode());
        for (byte[] header : payload) {
            bytes.writeBytes(header);
        }
        return bytes.toByteArray();
    }
}
