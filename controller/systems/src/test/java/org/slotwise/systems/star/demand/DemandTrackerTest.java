// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.app.Networks;
import org.slotwise.systems.star.app.RequestMessage;
import org.slotwise.systems.star.message.Message;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.schedule.FrameSchedule;
import org.slotwise.wire.WireConstants;

class DemandTrackerTest {
    private static final long SLOT_BYTES = 5920;

    private final Network network = Networks.star(4, 20);
    private final RequestReader reader = new RequestReader(network);
    private final DemandTracker tracker = new DemandTracker(network);
    private long arrived;

    /** Edge 1 reports for its queue to edge 2 that so many bytes came in a frame and so many wait. */
    private void report(long frame, long bytes, long backlog) throws RequestReader.Refused {
        arrived += bytes;
        tracker.update(reader.read(network.master().device(), WireConstants.PORT_OPTICAL_BASE,
                Message.read(new RequestMessage(1).frame(frame).versions(1, 1).backlog(2, backlog)
                        .arrived(2, arrived & 0xffff_ffffL).encode())));
    }

    private int demand(FrameSchedule active) {
        return tracker.demandSlots(active)[1][2];
    }

    /** Demand minus what then comes, in slots, after so many frames of a load; the schedule in force serves all. */
    private long error(DemandEstimator estimator, LongUnaryOperator slotsInFrame, int frames)
            throws RequestReader.Refused {
        tracker.use(estimator);
        tracker.forget(1);
        arrived = 0;
        for (int frame = 0; frame < frames; frame++) {
            report(frame, slotsInFrame.applyAsLong(frame) * SLOT_BYTES, 0);
        }
        FrameSchedule.Builder all = new FrameSchedule.Builder(4, 16);
        for (int slot = 0; slot < 16; slot++) {
            all.connect(slot, 1, 2);
        }
        return demand(all.build()) - slotsInFrame.applyAsLong(frames - 1 + DemandTracker.LEAD_FRAMES + 1);
    }

    @Test
    void steadyLoadIsForecastByAll() throws Exception {
        for (DemandEstimator estimator : DemandEstimator.values()) {
            assertEquals(0, error(estimator, frame -> 5, 30), estimator::name);
        }
    }

    @Test
    void onlyTheTrendMakesUpForTheFramesUntilTheScheduleIsInForce() throws Exception {
        LongUnaryOperator ramp = frame -> frame / 2;
        long byTrend = error(DemandEstimator.TREND, ramp, 20);
        assertTrue(Math.abs(byTrend) <= 1, () -> "off by " + byTrend);
        assertTrue(error(DemandEstimator.LAST, ramp, 20) <= -1);
        assertTrue(error(DemandEstimator.EWMA, ramp, 20) <= -2);
    }

    @Test
    void trendThatFallsForecastsNothingLessThanNothing() throws Exception {
        tracker.use(DemandEstimator.TREND);
        for (int frame = 0; frame < 6; frame++) {
            report(frame, (10 - 2 * frame) * SLOT_BYTES, 0);
        }
        assertTrue(tracker.arrivalsPerFrame()[1][2] >= 0);
        assertEquals(1, demand(FrameSchedule.empty(4, 16)), "the stream may go on");
    }

    @Test
    void lastValueFollowsAtOnceAndAverageByHalves() throws Exception {
        for (DemandEstimator estimator : new DemandEstimator[] {DemandEstimator.LAST, DemandEstimator.EWMA}) {
            tracker.use(estimator);
            tracker.forget(1);
            report(1, 0, 0);
            report(2, 8 * SLOT_BYTES, 0);
            assertEquals((estimator == DemandEstimator.LAST ? 8 : 4) * SLOT_BYTES,
                    tracker.arrivalsPerFrame()[1][2], estimator::name);
        }
    }

    @Test
    void whatIsAlreadyGrantedIsNotAskedForAgain() throws Exception {
        report(1, 0, 10 * SLOT_BYTES);
        assertEquals(10, demand(FrameSchedule.empty(4, 16)));
        FrameSchedule.Builder three = new FrameSchedule.Builder(4, 16);
        for (int slot = 0; slot < 3; slot++) {
            three.connect(slot, 1, 2);
        }
        assertEquals(10 - 3 * DemandTracker.LEAD_FRAMES, demand(three.build()));
    }

    @Test
    void thinStreamKeepsItsSlotBetweenItsPacketsAndLosesItWhenTheyEnd() throws Exception {
        for (DemandEstimator estimator : DemandEstimator.values()) {
            tracker.use(estimator);
            tracker.forget(1);
            report(1, 0, 0);
            report(2, 100, 0);
            for (int frame = 3; frame < 10; frame++) {
                report(frame, 0, 0);
                assertEquals(1, demand(FrameSchedule.empty(4, 16)), estimator::name);
            }
            for (int frame = 10; frame < 30; frame++) {
                report(frame, 0, 0);
            }
            assertEquals(0, demand(FrameSchedule.empty(4, 16)), estimator::name);
        }
    }

    @Test
    void counterThatIsResetOrJumpsIsNoLoad() throws Exception {
        report(1, 0, 0);
        report(2, -5_000_000, 0);
        assertEquals(0, tracker.arrivalsPerFrame()[1][2]);
    }
}
