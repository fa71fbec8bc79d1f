// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import org.slotwise.systems.star.schedule.FairShare.Share;

/** Grants slots fairly to whoever asks and keeps in place what did not change. */
final class FairScheduler implements Scheduler {
    private final Share share;
    private final SlotOrder order;
    private final PairWeights weights;
    private int edges;
    private int slots;
    private FairShare fair;
    private EdgeColouring colouring;

    FairScheduler(Share share, SlotOrder order, PairWeights weights) {
        this.share = share;
        this.order = order;
        this.weights = weights;
    }

    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        if (current.edges() != edges || current.slots() != slots) {
            edges = current.edges();
            slots = current.slots();
            fair = new FairShare(edges, slots, share, weights.forEdges(edges), true);
            colouring = new EdgeColouring(edges, slots, order);
        }
        return colouring.decompose(fair.allocate(demandSlots), current);
    }
}
