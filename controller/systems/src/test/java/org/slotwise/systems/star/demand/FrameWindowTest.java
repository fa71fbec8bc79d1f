// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.slotwise.systems.star.demand.FrameWindow.Verdict;

class FrameWindowTest {
    private static final long LAST = 0xffff_ffffL;

    private final FrameWindow window = new FrameWindow();

    private void expect(Verdict verdict, long frame) {
        assertEquals(verdict, window.take(frame), "frame " + frame);
    }

    private void confirmAt(long frame) {
        expect(Verdict.NEWER, FrameNumber.plus(frame, -1));
        expect(Verdict.NEWER, frame);
    }

    @Test
    void newerFramesAreTakenOnceAndOverTheWrap() {
        confirmAt(LAST);
        expect(Verdict.STALE, LAST);
        expect(Verdict.STALE, LAST - 1);
        expect(Verdict.NEWER, 0);
        expect(Verdict.STALE, LAST);
        expect(Verdict.NEWER, FrameWindow.MAX_AHEAD);
    }

    @Test
    void oneFrameFarAheadIsRefusedAndChangesNothing() {
        confirmAt(100);
        expect(Verdict.TOO_FAR, 101 + FrameWindow.MAX_AHEAD);
        expect(Verdict.NEWER, 101);
        expect(Verdict.TOO_FAR, 500_000);
        expect(Verdict.NEWER, 102);
    }

    @Test
    void twoFramesInSequenceFarAheadAreBelieved() {
        confirmAt(100);
        expect(Verdict.TOO_FAR, 5_000);
        expect(Verdict.TOO_FAR, 5_000);
        expect(Verdict.TOO_FAR, 4_999);
        expect(Verdict.NEWER, 5_000);
        expect(Verdict.STALE, 101);
    }

    @Test
    void whoIsHeardSeldomIsHeardAllTheSame() {
        confirmAt(100);
        expect(Verdict.TOO_FAR, 300);
        expect(Verdict.NEWER, 500);
        expect(Verdict.TOO_FAR, 700);
        expect(Verdict.NEWER, 900);
    }

    @Test
    void aWitnessedFrameFarAheadIsBelievedAtOnceAndAnOldOneNever() {
        confirmAt(100);
        assertEquals(Verdict.NEWER, window.take(5_000, true));
        assertEquals(Verdict.STALE, window.take(5_000, true));
        assertEquals(Verdict.STALE, window.take(4_999, true));
        expect(Verdict.NEWER, 5_001);
    }

    @Test
    void oldFramesAreNeverBelieved() {
        confirmAt(5_000);
        expect(Verdict.STALE, 100);
        expect(Verdict.STALE, 101);
        expect(Verdict.STALE, 102);
        expect(Verdict.NEWER, 5_001);
    }

    @Test
    void wrongFirstFrameIsCorrectedByTheNextMessage() {
        expect(Verdict.NEWER, 0x4000_0000L);
        expect(Verdict.RESTARTED, 7);
        expect(Verdict.NEWER, 8);
        expect(Verdict.STALE, 7);
    }

    @Test
    void afterAResetFramesStartAnew() {
        confirmAt(5_000);
        window.reset();
        expect(Verdict.NEWER, 3);
        expect(Verdict.NEWER, 4);
    }
}
