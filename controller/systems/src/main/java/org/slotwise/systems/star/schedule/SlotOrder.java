// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.schedule;

/**
 * Where the slots of one edge pair lie in the frame. A decomposition gives a pair colours that follow each other as far
 * as it can, and this order says which slot each colour is.
 */
enum SlotOrder {
    /**
     * Far from each other, so that a packet waits little for its next slot: colours are bit-reversed (the van der
     * Corput sequence), which spreads any run of them evenly.
     */
    SPREAD {
        @Override
        int[] slotsOfColours(int slots) {
            int bits = slots < 2 ? 0 : Integer.SIZE - Integer.numberOfLeadingZeros(slots - 1);
            int[] order = new int[slots];
            int colour = 0;
            for (int k = 0; colour < slots; k++) {
                int slot = bits == 0 ? 0 : Integer.reverse(k) >>> Integer.SIZE - bits;
                if (slot < slots) {
                    order[colour++] = slot;
                }
            }
            return order;
        }
    },
    /** Next to each other, so that the core reconfigures seldom. */
    CONTIGUOUS {
        @Override
        int[] slotsOfColours(int slots) {
            int[] order = new int[slots];
            for (int colour = 0; colour < slots; colour++) {
                order[colour] = colour;
            }
            return order;
        }
    };

    /** The slot of each of {@code slots} colours: a permutation. */
    abstract int[] slotsOfColours(int slots);
}
