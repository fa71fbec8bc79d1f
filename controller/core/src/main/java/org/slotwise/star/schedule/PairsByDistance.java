// SPDX-License-Identifier: Apache-2.0
package org.slotwise.star.schedule;

/**
 * A place for each pair of edges in a flat array, by how far the receiver is behind the sender, then by sender: what is
 * done diagonal by diagonal, as the fixed rotation goes, then walks through memory. The diagonal of distance 0 is there and
 * not used.
 */
final class PairsByDistance {
    private static final int BLOCK = 64;
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

    /** Place of the first sender's pair at a distance; those of others follow. */
    int first(int distance) {
        return distance * stride;
    }

    int place(int sender, int receiver) {
        int distance = receiver - sender;
        return (distance < 0 ? distance + edges : distance) * stride + sender;
    }

    int receiver(int distance, int sender) {
        int receiver = sender + distance;
        return receiver < edges ? receiver : receiver - edges;
    }

    /** Takes over what stands in a {@link Square}, block by block so that neither side runs out of the cache. */
    void copy(int[] square, Square places, int[] byDistance) {
        for (int firstSender = 0; firstSender < edges; firstSender += BLOCK) {
            int lastSender = Math.min(edges, firstSender + BLOCK);
            for (int firstDistance = 0; firstDistance < edges; firstDistance += BLOCK) {
                int lastDistance = Math.min(edges, firstDistance + BLOCK);
                for (int sender = firstSender; sender < lastSender; sender++) {
                    int row = places.entry(sender, 0);
                    int receiver = receiver(firstDistance, sender);
                    for (int place = firstDistance * stride + sender; place < lastDistance * stride; place += stride) {
                        byDistance[place] = square[row + receiver];
                        receiver = receiver + 1 < edges ? receiver + 1 : 0;
                    }
                }
            }
        }
    }
}
