// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

import java.util.Arrays;
import org.slotwise.systems.star.model.CorePorts;

/**
 * Ports of a core as senders and receivers of a {@link Scheduler}, none of which sends to itself. A port does if several
 * edges share it: one of them may have something for another. So a shared port receives in a place of its own, behind
 * those in which ports send; the two places that this leaves without a sender, or without a receiver, are nobody's.
 */
final class PortLines {
    private final CorePorts ports;
    private final int count;
    private final int[] receivingPlace;
    /** By place; {@link FrameSchedule#NONE} if nobody receives there. */
    private final int[] receiver;

    PortLines(CorePorts ports) {
        this.ports = ports;
        this.receivingPlace = new int[ports.count()];
        int places = ports.count();
        for (int port = 0; port < ports.count(); port++) {
            receivingPlace[port] = ports.isShared(port) ? places++ : port;
        }
        this.count = places;
        this.receiver = new int[places];
        Arrays.fill(receiver, FrameSchedule.NONE);
        for (int port = 0; port < ports.count(); port++) {
            receiver[receivingPlace[port]] = port;
        }
    }

    /** Number of places; port p sends in place p. */
    int count() {
        return count;
    }

    /** What all edges of a port want from all of another, by place. */
    int[][] sums(int[][] byEdge) {
        int[][] sums = new int[count][count];
        for (int from = 0; from < byEdge.length; from++) {
            int[] row = sums[ports.portOf(from)];
            for (int to = 0; to < byEdge.length; to++) {
                if (from != to) {
                    row[receivingPlace[ports.portOf(to)]] += Math.max(0, Math.min(byEdge[from][to], FairShare.MAX_REQUEST));
                }
            }
        }
        return sums;
    }

    /** A schedule of edges as one of places. */
    FrameSchedule fold(FrameSchedule ofEdges) {
        FrameSchedule.Builder folded = new FrameSchedule.Builder(count, ofEdges.slots());
        for (int slot = 0; slot < ofEdges.slots(); slot++) {
            for (int from = 0; from < ofEdges.edges(); from++) {
                int to = ofEdges.output(slot, from);
                if (to != FrameSchedule.NONE) {
                    folded.connectIfFree(slot, ports.portOf(from), receivingPlace[ports.portOf(to)]);
                }
            }
        }
        return folded.build();
    }

    /**
     * Ports that each port sends to, by slot and sender. Where a scheduler without demand has connected a port with a
     * place that is nobody's, what this port sends or receives goes to others to which the same has happened.
     */
    int[][] receivers(FrameSchedule ofPlaces) {
        int[][] receivers = new int[ofPlaces.slots()][ports.count()];
        for (int slot = 0; slot < ofPlaces.slots(); slot++) {
            boolean[] freed = new boolean[ports.count()];
            for (int place = ports.count(); place < count; place++) {
                int to = ofPlaces.output(slot, place);
                if (to != FrameSchedule.NONE && receiver[to] != FrameSchedule.NONE) {
                    freed[receiver[to]] = true;
                }
            }
            for (int port = 0; port < ports.count(); port++) {
                int to = ofPlaces.output(slot, port);
                receivers[slot][port] = to == FrameSchedule.NONE ? FrameSchedule.NONE : receiver[to];
                if (to != FrameSchedule.NONE && receiver[to] == FrameSchedule.NONE) {
                    receivers[slot][port] = takeFreed(freed, port, slot);
                }
            }
        }
        return receivers;
    }

    /** Begins as the fixed rotation does. */
    private int takeFreed(boolean[] freed, int port, int slot) {
        for (int k = 0; k < freed.length; k++) {
            int to = (port + 1 + slot + k) % freed.length;
            if (freed[to] && (to != port || ports.isShared(port))) {
                freed[to] = false;
                return to;
            }
        }
        return FrameSchedule.NONE;
    }
}
