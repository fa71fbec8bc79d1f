// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import org.slotwise.systems.star.model.Edge;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.wire.WireConstants;

/** Knows from requests what each edge has for each other edge, and forecasts what it wants from the next schedule. */
public final class DemandTracker {
    /** A schedule made from requests of frame f is announced in f + 1 and holds from f + 2. */
    static final int LEAD_FRAMES = 2;

    private final Network network;
    private final Pair[][] pairs;
    private final long[] payloadBytes;
    private DemandEstimator estimator = DemandEstimator.EWMA;

    /** A stream keeps its slot for so many frames without a packet, since a packet may come only every few frames. */
    private static final int STANDING_FRAMES = 8;

    /** What is known of one queue. */
    private static final class Pair {
        private final DemandEstimator.Rate rate = new DemandEstimator.Rate();
        private boolean known;
        private long frame;
        private long backlogBytes;
        private long arrivedBytes;
        private int framesToStand;

        private void update(DemandEstimator estimator, long newFrame, long backlog, long arrived) {
            if (known) {
                int frames = Math.max(1, FrameNumber.difference(newFrame, frame));
                // A counter that runs backwards was reset.
                int delta = Math.max(0, FrameNumber.difference(arrived, arrivedBytes));
                estimator.update(rate, delta / frames);
                framesToStand = delta > 0 ? STANDING_FRAMES : Math.max(0, framesToStand - frames);
            }
            known = true;
            frame = newFrame;
            backlogBytes = backlog;
            arrivedBytes = arrived;
        }

        /** Bytes that come before the next schedule is in force. */
        private long expectedBefore() {
            long bytes = 0;
            for (int ahead = 1; ahead <= LEAD_FRAMES; ahead++) {
                bytes += rate.expected(ahead);
            }
            return bytes;
        }

        /** Bytes that come in the first frame of the next schedule. */
        private long expectedThen() {
            return rate.expected(LEAD_FRAMES + 1);
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

    /** Chooses how demand is forecast from now on. */
    public void use(DemandEstimator chosen) {
        estimator = chosen;
    }

    /** Takes a request. */
    public void update(Request request) {
        for (int index = 0; index < pairs.length; index++) {
            Edge destination = network.edges().get(index);
            int block = network.firstRequestBlock() + request.block();
            int entry = network.queue(destination) - block * WireConstants.REQUEST_ENTRIES;
            if (entry >= 0 && entry < WireConstants.REQUEST_ENTRIES && index != request.edge()) {
                pairs[request.edge()][index].update(
                        estimator, request.frame(), request.backlogBytes(entry), request.arrivedBytes(entry));
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

    /** Bytes expected in the next frame by (sender, receiver). */
    public long[][] arrivalsPerFrame() {
        long[][] arrivals = new long[pairs.length][pairs.length];
        for (int i = 0; i < pairs.length; i++) {
            for (int j = 0; j < pairs.length; j++) {
                arrivals[i][j] = pairs[i][j].rate.expected(1);
            }
        }
        return arrivals;
    }

    /**
     * Slots that each pair wants a frame from the schedule that comes after {@code active}: what will wait when it
     * takes over, after {@code active} has served its last frames, and what will come during its first frame. A stream of
     * less than half a slot a frame wants one: it would otherwise win a slot and lose it by turns, and wait for requests and
     * commits in between.
     */
    public int[][] demandSlots(FrameSchedule active) {
        int[][] service = active.service();
        int[][] demand = new int[pairs.length][pairs.length];
        for (int i = 0; i < pairs.length; i++) {
            for (int j = 0; j < pairs.length; j++) {
                Pair pair = pairs[i][j];
                long served = (long) LEAD_FRAMES * service[i][j] * payloadBytes[i];
                long waiting = Math.max(0, pair.backlogBytes + pair.expectedBefore() - served);
                demand[i][j] = slots(waiting, pair.expectedThen(), payloadBytes[i]);
                if (demand[i][j] == 0 && pair.framesToStand > 0) {
                    demand[i][j] = 1;
                }
            }
        }
        return demand;
    }

    /** Rounded up for bytes that wait; a mere forecast earns its last slot only if it fills at least half of it. */
    private static int slots(long waiting, long arrivals, long payloadBytes) {
        long bytes = waiting + arrivals;
        long whole = bytes / payloadBytes;
        long rest = bytes % payloadBytes;
        boolean another = waiting > 0 ? rest > 0 : 2 * rest >= payloadBytes;
        return (int) Math.min(Integer.MAX_VALUE, whole + (another ? 1 : 0));
    }
}
