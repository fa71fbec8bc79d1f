// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/**
 * Request, grant, accept, several times over: each receiver that is free grants one of the senders that ask, each sender
 * accepts one of the grants. How one is chosen is what differs between schedulers.
 */
abstract class IterativeMatcher implements SlotBySlotScheduler.Matcher {
    private final int iterations;
    private int[] granted = {};
    private boolean[] receiverTaken = {};

    IterativeMatcher(int iterations) {
        this.iterations = iterations;
    }

    /** A set of edges to choose from. */
    interface Candidates {
        boolean contains(int edge);
    }

    /** Prepares for so many edges; called before each slot. */
    abstract void begin(int edges);

    /** Sender that {@code receiver} grants, or NONE if there is no candidate. */
    abstract int grant(int receiver, int edges, Candidates senders);

    /** Receiver whose grant {@code sender} accepts, or NONE if there is no candidate. */
    abstract int accept(int sender, int edges, Candidates receivers);

    /** A grant was accepted in this iteration, from 0. */
    abstract void accepted(int sender, int receiver, int edges, int iteration);

    @Override
    public final void match(int[][] left, int[] receivers) {
        int edges = left.length;
        granted = granted.length == edges ? granted : new int[edges];
        receiverTaken = new boolean[edges];
        begin(edges);
        boolean more = true;
        for (int iteration = 0; more && iteration < iterations; iteration++) {
            for (int j = 0; j < edges; j++) {
                int receiver = j;
                granted[j] = receiverTaken[j] ? FrameSchedule.NONE : grant(j, edges,
                        sender -> receivers[sender] == FrameSchedule.NONE && left[sender][receiver] > 0);
            }
            more = false;
            for (int i = 0; i < edges; i++) {
                int sender = i;
                int receiver = receivers[i] != FrameSchedule.NONE ? FrameSchedule.NONE
                        : accept(i, edges, candidate -> granted[candidate] == sender);
                if (receiver != FrameSchedule.NONE) {
                    receivers[i] = receiver;
                    receiverTaken[receiver] = true;
                    accepted(i, receiver, edges, iteration);
                    more = true;
                }
            }
        }
    }
}
