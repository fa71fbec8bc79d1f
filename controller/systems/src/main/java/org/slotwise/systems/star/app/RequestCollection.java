// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.OptionalLong;
import java.util.function.IntPredicate;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.demand.Request;
import org.slotwise.systems.star.model.Network;

/**
 * Which requests of the newest frame have come, and how long to wait for the others. Out of band nobody waits: slaves ask
 * ahead of the master by what their fibres are longer, so the master's last request closes a round.
 */
final class RequestCollection {
    private final Network network;
    private final long patienceNs;
    private final int edges;
    private final int blocks;
    private boolean[] arrived;
    private boolean started;
    private boolean open;
    private long frame;
    private long deadlineNs;
    private long earliestNs;

    RequestCollection(Network network) {
        this.network = network;
        this.edges = network.edges().size();
        this.blocks = network.requestBlocks();
        // All requests are made in the signaling slots; a quarter of a frame more is for the way.
        this.patienceNs = network.firstDataSlot() * network.frame().slotNs() + network.frame().frameNs() / 4;
        this.arrived = new boolean[edges * blocks];
    }

    /** Takes a request; the first of a frame starts a new collection, whatever became of the one before. */
    void add(long nowNs, Request request) {
        if (network.outOfBand()) {
            boolean isMaster = network.edges().get(request.edge()) == network.master();
            open = open || isMaster && request.block() == blocks - 1;
            deadlineNs = nowNs;
            return;
        }
        if (!started || FrameNumber.difference(request.frame(), frame) > 0) {
            started = true;
            open = true;
            frame = request.frame();
            deadlineNs = nowNs + patienceNs;
            arrived = new boolean[edges * blocks];
        }
        if (request.frame() == frame) {
            arrived[request.edge() * blocks + request.block()] = true;
        }
    }

    /** Whether it is time to use what has come: all but those of silent edges, or the deadline is over. */
    boolean isDue(long nowNs, IntPredicate silent) {
        if (!open || nowNs < earliestNs) {
            return false;
        }
        if (nowNs >= deadlineNs) {
            return true;
        }
        for (int i = 0; i < arrived.length; i++) {
            if (!arrived[i] && !silent.test(i / blocks)) {
                return false;
            }
        }
        return true;
    }

    /** Delays the use of requests until this time. */
    void waitUntil(long ns) {
        earliestNs = ns;
    }

    /** Ends the collection; the next one begins with a newer frame. */
    void close() {
        open = false;
    }

    /** Forgets the frame as well: frames may start anew. */
    void reset() {
        open = false;
        started = false;
    }

    /** When to use what has come at the latest. */
    OptionalLong deadlineNs() {
        return open ? OptionalLong.of(Math.max(deadlineNs, earliestNs)) : OptionalLong.empty();
    }
}
