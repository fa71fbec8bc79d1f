// SPDX-License-Identifier: Apache-2.0
package org.slotwise.core.schedule;

import org.slotwise.core.schedule.FairShare.Share;

/** Grants slots fairly to whoever asks and keeps in place what did not change. */
final class FairScheduler implements Scheduler {
    private final Share share;
    private final SlotOrder order;

    FairScheduler(Share share, SlotOrder order) {
        this.share = share;
        this.order = order;
    }

    @Override
    public FrameSchedule schedule(int[][] demandSlots, FrameSchedule current) {
        return EdgeColouring.decompose(FairShare.allocate(demandSlots, current.slots(), share), current, order);
    }
}
