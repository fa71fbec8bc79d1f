// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

/** Where the slots of one edge pair lie in the frame. */
enum SlotOrder {
    /** Far from each other, so that a packet waits little for its next slot. */
    SPREAD {
        @Override
        int toTake(SlotSet send, SlotSet receive, SlotSet own, int slots) {
            int best = SlotSet.NONE;
            int bestDistance = -1;
            for (int slot = send.firstCommon(receive, 0); slot != SlotSet.NONE;
                    slot = send.firstCommon(receive, slot + 1)) {
                int distance = Math.min(gapAfter(own, slot, slots), gapBefore(own, slot, slots));
                if (distance > bestDistance) {
                    bestDistance = distance;
                    best = slot;
                }
            }
            return best;
        }

        @Override
        int toRelease(SlotSet own, int slots) {
            int best = SlotSet.NONE;
            int bestRoom = Integer.MAX_VALUE;
            for (int slot = own.first(); slot != SlotSet.NONE; slot = own.after(slot)) {
                int room = gapAfter(own, slot, slots) + gapBefore(own, slot, slots);
                if (room < bestRoom) {
                    bestRoom = room;
                    best = slot;
                }
            }
            return best;
        }
    },
    /** Next to each other, so that the core reconfigures seldom. */
    CONTIGUOUS {
        @Override
        int toTake(SlotSet send, SlotSet receive, SlotSet own, int slots) {
            for (int slot = send.firstCommon(receive, 0); slot != SlotSet.NONE;
                    slot = send.firstCommon(receive, slot + 1)) {
                if (slot > 0 && own.contains(slot - 1) || slot < slots - 1 && own.contains(slot + 1)) {
                    return slot;
                }
            }
            return send.firstCommon(receive, 0);
        }

        @Override
        int toRelease(SlotSet own, int slots) {
            return own.before(slots);
        }
    };

    /** Chooses among the slots free at both ends for a pair that has {@code own}; NONE if none is free. */
    abstract int toTake(SlotSet send, SlotSet receive, SlotSet own, int slots);

    /** Chooses which of the pair's slots goes. */
    abstract int toRelease(SlotSet own, int slots);

    /** Slots to the pair's next one, around the frame; {@code slots} if it has no other. */
    private static int gapAfter(SlotSet own, int slot, int slots) {
        int next = own.after(slot);
        if (next == SlotSet.NONE) {
            int first = own.first();
            return first == SlotSet.NONE ? slots : first + slots - slot;
        }
        return next - slot;
    }

    /** Slots to the pair's one before, around the frame; {@code slots} if it has no other. */
    private static int gapBefore(SlotSet own, int slot, int slots) {
        int previous = own.before(slot);
        if (previous == SlotSet.NONE) {
            int last = own.before(slots);
            return last == SlotSet.NONE ? slots : slot + slots - last;
        }
        return slot - previous;
    }
}
