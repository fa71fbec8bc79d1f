// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.model.EdgeId;
import org.slotwise.systems.star.model.Network;

/**
 * Which slaves take part in schedules, since a star goes on when a slave's switch is lost. Nobody can know what such a
 * switch still does, so first the master stops its beacons; when the last one is too old the switch opens no data gate
 * any more, and its slots and banks are free. When it is back it has no data slot in either bank before it hears a
 * beacon again, and takes part from the next schedule on.
 *
 * <pre>
 * PRESENT --lost--> LOST --no beacon--> DARKENING --hold--> LEFT_OUT --is back--> RETURNING --written--> RETURNED --beacon--> PRESENT
 * </pre>
 */
final class Attendance {
    private enum State { PRESENT, LOST, DARKENING, LEFT_OUT, RETURNING, RETURNED }

    private final Network network;
    private final State[] states;
    /** Frame of the master and time when it had no beacon to send any more; in DARKENING only. */
    private final long[] lastFrame;
    private final long[] lastNs;
    private long changes;

    Attendance(Network network) {
        this.network = network;
        this.states = new State[network.edges().size()];
        this.lastFrame = new long[states.length];
        this.lastNs = new long[states.length];
        Arrays.fill(states, State.PRESENT);
    }

    /** Whether schedules count with an edge. */
    boolean takesPart(int edge) {
        return states[edge] == State.PRESENT;
    }

    /** Whether an edge was lost and nothing has been done yet to bring it back. */
    boolean isOut(int edge) {
        return states[edge] == State.LOST || states[edge] == State.DARKENING || states[edge] == State.LEFT_OUT;
    }

    /** Whether an edge is being configured before it hears a beacon again. */
    boolean isReturning(int edge) {
        return states[edge] == State.RETURNING;
    }

    /** Edges to which the master sends no beacon. */
    Set<EdgeId> withoutBeacon() {
        Set<EdgeId> edges = new LinkedHashSet<>();
        for (int edge = 0; edge < states.length; edge++) {
            if (isOut(edge) || states[edge] == State.RETURNING) {
                edges.add(network.edges().get(edge).id());
            }
        }
        return edges;
    }

    /** The switch of an edge is lost. */
    void lose(int edge) {
        states[edge] = State.LOST;
    }

    /** It is back, and its tables are written. */
    void bringBack(int edge) {
        states[edge] = State.RETURNING;
    }

    /** Its tables are right. */
    void haveWritten(int edge) {
        states[edge] = State.RETURNED;
    }

    /** Whether the master has beacons to stop or to take up. */
    boolean concernsMaster() {
        return isAny(State.LOST) || isAny(State.RETURNED);
    }

    /** The master's tables have no beacons for {@link #withoutBeacon} now; {@code frame} is the last that it told. */
    void masterObeys(long nowNs, long frame) {
        for (int edge = 0; edge < states.length; edge++) {
            if (states[edge] == State.LOST) {
                states[edge] = State.DARKENING;
                lastFrame[edge] = frame;
                lastNs[edge] = nowNs;
            } else if (states[edge] == State.RETURNED) {
                states[edge] = State.PRESENT;
                changes++;
            }
        }
    }

    /**
     * The master has told that it is in this frame. A beacon is too old after the hold both by frames, which may have been
     * told late, and by time, in which frames may have been late. The last frame that was told may be an interval old.
     */
    void masterAt(long nowNs, long frame) {
        int hold = network.beaconHoldFrames() + network.frame().requestIntervalFrames();
        for (int edge = 0; edge < states.length; edge++) {
            if (states[edge] == State.DARKENING && FrameNumber.difference(frame, lastFrame[edge]) > hold
                    && nowNs - lastNs[edge] > hold * network.frame().frameNs()) {
                states[edge] = State.LEFT_OUT;
                changes++;
            }
        }
    }

    /** Whether it is certain which edges use data slots. */
    boolean isSettled() {
        return !isAny(State.LOST) && !isAny(State.DARKENING) && !isAny(State.RETURNING);
    }

    /** How often those that schedules count with have changed: the schedule in force is for those of its time. */
    long changes() {
        return changes;
    }

    /** Whether all take part. */
    boolean isWhole() {
        for (State state : states) {
            if (state != State.PRESENT) {
                return false;
            }
        }
        return true;
    }

    private boolean isAny(State state) {
        return Arrays.asList(states).contains(state);
    }
}
