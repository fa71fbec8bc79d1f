// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.demand;

import org.slotwise.core.network.Edge;
import org.slotwise.core.network.Network;
import org.slotwise.core.schedule.FrameSchedule;
import org.slotwise.core.wire.WireConstants;

/** Knows from requests what each edge has for each other edge, and forecasts what it wants from the next schedule. */
public final class DemandTracker {
    /** A schedule made from requests of frame f is announced in f + 1 and holds from f + 2. */
    static final int LEAD_FRAMES = 2;

    private final Network network;
    private final Pair[][] pairs;
    private final long[] payloadBytes;

    /** What is known of one queue. */
    private static final class Pair {
        private boolean known;
        private long frame;
        private long backlogBytes;
        private long arrivedBytes;
        private long arrivalsPerFrame;

        /** Smooths arrivals over about two requests: fast enough to follow, slow enough not to follow each packet. */
        private void update(long newFrame, long backlog, long arrived) {
            if (known) {
                int frames = FrameNumber.difference(newFrame, frame);
                int delta = FrameNumber.difference(arrived, arrivedBytes);
                // A counter that runs backwards was reset.
                long perFrame = delta > 0 && frames > 0 ? delta / frames : 0;
                arrivalsPerFrame = (arrivalsPerFrame + perFrame) / 2;
            }
            known = true;
            frame = newFrame;
            backlogBytes = backlog;
            arrivedBytes = arrived;
        }
    }

    /** Starts with no demand. */
    public DemandTracker(Network network) {
        this.network = network;
        int edges = network.edges().size();
        this.pairs = new Pair[edges][edges];
        this.payloadBytes = network.edges().stream().mapToLong(network::slotPayloadBytes).toArray();
        for (int edge = 0; edge < edges; edge++) {
            forget(edge);
        }
    }

    /** Takes a request. */
    public void update(Request request) {
        for (int index = 0; index < pairs.length; index++) {
            Edge destination = network.edges().get(index);
            int entry = destination.id().value() - request.block() * WireConstants.REQUEST_ENTRIES;
            if (entry >= 0 && entry < WireConstants.REQUEST_ENTRIES && index != request.edge()) {
                pairs[request.edge()][index].update(
                        request.frame(), request.backlogBytes(entry), request.arrivedBytes(entry));
            }
        }
    }

    /** Forgets what an edge wanted: it is silent, or it starts anew. */
    public void forget(int edge) {
        for (int index = 0; index < pairs.length; index++) {
            pairs[edge][index] = new Pair();
        }
    }

    /** Bytes waiting by (sender, receiver), as last reported. */
    public long[][] backlogBytes() {
        long[][] backlog = new long[pairs.length][pairs.length];
        for (int i = 0; i < pairs.length; i++) {
            for (int j = 0; j < pairs.length; j++) {
                backlog[i][j] = pairs[i][j].backlogBytes;
            }
        }
        return backlog;
    }

    /** Bytes that come each frame by (sender, receiver), smoothed. */
    public long[][] arrivalsPerFrame() {
        long[][] arrivals = new long[pairs.length][pairs.length];
        for (int i = 0; i < pairs.length; i++) {
            for (int j = 0; j < pairs.length; j++) {
                arrivals[i][j] = pairs[i][j].arrivalsPerFrame;
            }
        }
        return arrivals;
    }

    /**
     * Slots that each pair wants a frame from the schedule that comes after {@code active}: what will wait when it
     * takes over, after {@code active} has served its last frames, and what will come during its first frame.
     */
    public int[][] demandSlots(FrameSchedule active) {
        int[][] service = active.service();
        int[][] demand = new int[pairs.length][pairs.length];
        for (int i = 0; i < pairs.length; i++) {
            for (int j = 0; j < pairs.length; j++) {
                Pair pair = pairs[i][j];
                long served = LEAD_FRAMES * service[i][j] * payloadBytes[i];
                long waiting = Math.max(0, pair.backlogBytes + LEAD_FRAMES * pair.arrivalsPerFrame - served);
                demand[i][j] = slots(waiting, pair.arrivalsPerFrame, payloadBytes[i]);
            }
        }
        return demand;
    }

    /**
     * Rounded up for bytes that wait. A mere forecast earns its last slot only if it fills at least half of it, except
     * its first: a stream of less than half a slot a frame would otherwise have a slot and lose it by turns, and wait
     * for requests and commits in between.
     */
    private static int slots(long waiting, long arrivals, long payloadBytes) {
        long bytes = waiting + arrivals;
        long whole = bytes / payloadBytes;
        long rest = bytes % payloadBytes;
        boolean another = waiting > 0 || whole == 0 ? rest > 0 : 2 * rest >= payloadBytes;
        return (int) Math.min(Integer.MAX_VALUE, whole + (another ? 1 : 0));
    }
}
