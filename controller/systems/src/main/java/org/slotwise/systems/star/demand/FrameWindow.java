// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.demand;

import org.slotwise.wire.WireConstants;

/**
 * Which messages of one sender are new, by the frames that they name: serial numbers (RFC 1982).
 *
 * <p>A message that names a frame far ahead would make all true ones look old, so it is believed only if the next one
 * confirms it, and the first message of all until the second one does not (as RTP does: RFC 3550, appendix A.1).
 */
public final class FrameWindow {
    /** Frames by which a message may be ahead of the one before; of a sender that was silent for longer, one message is lost without a witness. */
    static final int MAX_AHEAD = 64;

    private boolean heard;
    private boolean confirmed;
    private long last;
    private boolean suspecting;
    private long suspect;

    /** What a message is. */
    public enum Verdict {
        /** Newer than the last one. */
        NEWER,
        /** To be taken although it may be older: the one before, the first of all, was wrong. */
        RESTARTED,
        /** Not newer than the last one. Refused. */
        STALE,
        /** Of a frame too far ahead. Refused. */
        TOO_FAR
    }

    /** Judges the sender's next message; one that is refused changes nothing but what may confirm it. */
    public Verdict take(long frame) {
        return take(frame, false);
    }

    /**
     * Judges the sender's next message as {@link #take(long)} does.
     *
     * @param isWitnessed whether another sender, of the same clock, is about that far: a frame far ahead needs no second message then
     */
    public Verdict take(long frame, boolean isWitnessed) {
        if (!heard) {
            accept(frame, false);
            return Verdict.NEWER;
        }
        int ahead = FrameNumber.difference(frame, last);
        if (ahead == 0) {
            return Verdict.STALE;
        }
        if (isAhead(ahead, MAX_AHEAD)) {
            accept(frame, true);
            return Verdict.NEWER;
        }
        if (!confirmed) {
            accept(frame, false);
            return Verdict.RESTARTED;
        }
        if (ahead < 0) {
            return Verdict.STALE;
        }
        if (isWitnessed || suspecting && isAhead(FrameNumber.difference(frame, suspect), WireConstants.FRAME_WINDOW)) {
            accept(frame, true);
            return Verdict.NEWER;
        }
        suspecting = true;
        suspect = frame;
        return Verdict.TOO_FAR;
    }

    /** Forgets all: the sender's frames may start anew. */
    public void reset() {
        heard = false;
        confirmed = false;
        suspecting = false;
    }

    private void accept(long frame, boolean isConfirmed) {
        heard = true;
        confirmed = isConfirmed;
        suspecting = false;
        last = frame;
    }

    /** Returns whether two senders of one clock may be at these frames at once. */
    public static boolean isNear(long frame, long other) {
        return Math.abs(FrameNumber.difference(frame, other)) <= MAX_AHEAD;
    }

    private static boolean isAhead(int frames, int atMost) {
        return frames > 0 && frames <= atMost;
    }
}
