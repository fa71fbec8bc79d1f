// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import java.util.Arrays;
import java.util.Objects;
import org.slotwise.systems.star.model.Version;

/** What one edge has to send, for REQUEST_ENTRIES of its queues: a request message that passed all checks. */
public final class Request {
    private final int edge;
    private final long frame;
    private final Version active;
    private final Version next;
    private final int block;
    private final boolean hasLight;
    private final long[] backlogBytes;
    private final long[] arrivedBytes;

    Request(int edge, long frame, Version active, Version next, int block, boolean hasLight, long[] backlogBytes,
            long[] arrivedBytes) {
        this.edge = edge;
        this.frame = frame;
        this.active = Objects.requireNonNull(active);
        this.next = Objects.requireNonNull(next);
        this.block = block;
        this.hasLight = hasLight;
        this.backlogBytes = backlogBytes;
        this.arrivedBytes = arrivedBytes;
    }

    /** Index of the edge that made it. */
    public int edge() {
        return edge;
    }

    /** Frame in which it was made, 32 bits that wrap. */
    public long frame() {
        return frame;
    }

    /** Schedule in force at the edge. */
    public Version active() {
        return active;
    }

    /** Schedule announced to the edge, or the one in force. */
    public Version next() {
        return next;
    }

    /** Block of queues, counted from the star's first. */
    public int block() {
        return block;
    }

    /** Whether light comes to the edge in this star: a request out of band comes without it, too. */
    public boolean hasLight() {
        return hasLight;
    }

    /** Bytes waiting in the block's queue {@code entry}. */
    long backlogBytes(int entry) {
        return backlogBytes[entry];
    }

    /** Bytes that ever came into the block's queue {@code entry}, modulo 2^32. */
    long arrivedBytes(int entry) {
        return arrivedBytes[entry];
    }

    @Override
    public String toString() {
        return "request of edge " + edge + ", frame " + frame + ", active " + active + ", next " + next
                + ", block " + block + ", backlog " + Arrays.toString(backlogBytes);
    }
}
