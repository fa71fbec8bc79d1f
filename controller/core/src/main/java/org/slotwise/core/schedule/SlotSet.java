// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

/** Set of slot numbers as a bit mask; mutable, so that a decomposition makes no garbage for each slot. */
final class SlotSet {
    /** No slot. */
    static final int NONE = -1;

    private final long[] words;

    private SlotSet(int words) {
        this.words = new long[words];
    }

    /** The slots 0 .. {@code slots} - 1. */
    static SlotSet all(int slots) {
        SlotSet set = empty(slots);
        for (int slot = 0; slot < slots; slot++) {
            set.add(slot);
        }
        return set;
    }

    /** No slot yet, of at most {@code slots}. */
    static SlotSet empty(int slots) {
        return new SlotSet((slots + 63) / 64);
    }

    void add(int slot) {
        words[slot >>> 6] |= 1L << slot;
    }

    void remove(int slot) {
        words[slot >>> 6] &= ~(1L << slot);
    }

    boolean contains(int slot) {
        return (words[slot >>> 6] >>> slot & 1) != 0;
    }

    /** The lowest slot, or NONE. */
    int first() {
        return firstCommon(this, 0);
    }

    /** The lowest slot above {@code slot}, or NONE. */
    int after(int slot) {
        return firstCommon(this, slot + 1);
    }

    /** The highest slot below {@code slot}, or NONE. */
    int before(int slot) {
        int word = slot >>> 6;
        long bits = word < words.length ? words[word] & (1L << slot) - 1 : 0;
        while (bits == 0) {
            if (--word < 0) {
                return NONE;
            }
            bits = words[word];
        }
        return (word << 6) + 63 - Long.numberOfLeadingZeros(bits);
    }

    /** The lowest slot from {@code from} on that both sets have, or NONE. */
    int firstCommon(SlotSet other, int from) {
        int word = from >>> 6;
        if (word >= words.length) {
            return NONE;
        }
        long bits = words[word] & other.words[word] & -1L << from;
        while (bits == 0) {
            if (++word == words.length) {
                return NONE;
            }
            bits = words[word] & other.words[word];
        }
        return (word << 6) + Long.numberOfTrailingZeros(bits);
    }
}
