// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/**
 * A place for each pair of edges in a flat array, by how far the receiver is behind the sender, then by sender: what is
 * done diagonal by diagonal, as the fixed rotation goes, then walks through memory. The diagonal of distance 0 is there and
 * not used.
 */
final class PairsByDistance {
    /** Of ints in a line of the cache; rows whose length is a power of two would all begin in the same few of its sets. */
    private static final int LINE = 16;

    private final int edges;
    private final int stride;

    PairsByDistance(int edges) {
        this.edges = edges;
        this.stride = (edges + LINE - 1) / LINE * LINE + LINE;
    }

    /** Length of a flat array. */
    int length() {
        return edges * stride;
    }

    int place(int sender, int receiver) {
        return distance(sender, receiver) * stride + sender;
    }

    int distance(int sender, int receiver) {
        int distance = receiver - sender;
        return distance < 0 ? distance + edges : distance;
    }

    int receiver(int distance, int sender) {
        int receiver = sender + distance;
        return receiver < edges ? receiver : receiver - edges;
    }
}
