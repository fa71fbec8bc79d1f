// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.io.ByteArrayOutputStream;
import org.slotwise.wire.ControlMessage;
import org.slotwise.wire.EthernetHeader;
import org.slotwise.wire.OpticalHeader;
import org.slotwise.wire.OpticalKind;
import org.slotwise.wire.RequestEntryHeader;
import org.slotwise.wire.RequestHeader;
import org.slotwise.wire.WireConstants;

/** Builds request messages as an edge would send them. */
public final class RequestMessage {
    private final int edge;
    private final long[] backlog = new long[WireConstants.REQUEST_ENTRIES];
    private final long[] arrived = new long[WireConstants.REQUEST_ENTRIES];
    private int kind = OpticalKind.REQUEST.code();
    private long frame;
    private long active;
    private long next;
    private int block;
    private int core;
    private int flags = WireConstants.REQUEST_BEACON;

    /** Starts a request of an edge: frame 0, version 0, nothing to send. */
    public RequestMessage(int edge) {
        this.edge = edge;
    }

    /** Sets the frame. */
    public RequestMessage frame(long value) {
        frame = value;
        return this;
    }

    /** Sets the versions in force and announced. */
    public RequestMessage versions(long activeVersion, long nextVersion) {
        active = activeVersion;
        next = nextVersion;
        return this;
    }

    /** Sets the block. */
    public RequestMessage block(int value) {
        block = value;
        return this;
    }

    /** Sets the core whose star an edge says, out of band, that it asks. */
    public RequestMessage core(int value) {
        core = value;
        return this;
    }

    /** No light comes to the edge. */
    public RequestMessage dark() {
        flags |= WireConstants.REQUEST_NO_LIGHT;
        return this;
    }

    /** Sets the kind of message. */
    public RequestMessage kind(int value) {
        kind = value;
        return this;
    }

    /** Sets what waits in an entry's queue. */
    public RequestMessage backlog(int entry, long bytes) {
        backlog[entry] = bytes;
        return this;
    }

    /** Sets what ever came into an entry's queue. */
    public RequestMessage arrived(int entry, long bytes) {
        arrived[entry] = bytes;
        return this;
    }

    /** Bytes from Ethernet on. */
    public byte[] encode() {
        ByteArrayOutputStream entries = new ByteArrayOutputStream();
        for (int entry = 0; entry < WireConstants.REQUEST_ENTRIES; entry++) {
            entries.writeBytes(new RequestEntryHeader(backlog[entry], arrived[entry]).encode());
        }
        return ControlMessage.seal(new EthernetHeader(0, 0, WireConstants.ETHERTYPE_OPTICAL),
                new OpticalHeader(WireConstants.OPTICAL_VERSION, kind, 0, edge, 0, WireConstants.SIGNALING_QUEUE, 0, core, 1, 0),
                new RequestHeader(frame, active, next, block, flags).encode(), entries.toByteArray());
    }
}
