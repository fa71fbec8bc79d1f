// SPDX-License-Identifier: Apache-2.0
package org.slotwise.systems.star.app;

import java.util.Arrays;
import java.util.Optional;
import java.util.function.IntPredicate;
import org.slotwise.systems.star.demand.FrameNumber;
import org.slotwise.systems.star.demand.FrameWindow;
import org.slotwise.systems.star.demand.FrameWindow.Verdict;
import org.slotwise.systems.star.demand.Request;
import org.slotwise.systems.star.model.Network;
import org.slotwise.systems.star.model.Version;

/** What each edge last said about the schedule in force at it. */
final class EdgeReports {
    /** Requests that are missing, beyond the beacon hold, after which nobody waits for an edge any more. */
    private static final int PATIENCE_REQUESTS = 6;

    private final int master;
    private final int silenceFrames;
    private final Request[] last;
    private final FrameWindow[][] frames;

    EdgeReports(Network network) {
        int edges = network.edges().size();
        this.master = network.indexOf(network.master().id()).orElseThrow();
        this.silenceFrames = network.beaconHoldFrames()
                + PATIENCE_REQUESTS * network.frame().requestIntervalFrames();
        this.last = new Request[edges];
        this.frames = new FrameWindow[edges][network.requestBlocks()];
        for (FrameWindow[] blocks : frames) {
            Arrays.setAll(blocks, block -> new FrameWindow());
        }
    }

    /**
     * Takes a request if its frame is the next one for its block; says whether it did. An edge whose fibre was cut for long is believed
     * at once if it is where the master is, whose own fibre cannot be cut.
     */
    Verdict take(Request request) {
        int edge = request.edge();
        boolean isWitnessed = edge != master && last[master] != null && FrameWindow.isNear(request.frame(), last[master].frame());
        Verdict verdict = frames[edge][request.block()].take(request.frame(), isWitnessed);
        boolean newest = last[edge] == null || FrameNumber.difference(request.frame(), last[edge].frame()) >= 0;
        if (verdict == Verdict.RESTARTED || verdict == Verdict.NEWER && newest) {
            last[edge] = request;
        }
        return verdict;
    }

    /** Forgets an edge: its frames may start anew. */
    void forget(int edge) {
        last[edge] = null;
        for (FrameWindow block : frames[edge]) {
            block.reset();
        }
    }

    /** The master's last request: what it says is so. */
    Optional<Request> master() {
        return Optional.ofNullable(last[master]);
    }

    /**
     * Whether nobody should wait for an edge. An edge that is silent for longer than the beacon hold either hears
     * beacons, and then follows every commit, or it does not, and then it uses no data slot.
     *
     * @param since frame since when requests are expected
     */
    boolean isSilent(int edge, long since) {
        if (edge == master || last[master] == null) {
            return false;
        }
        long from = since;
        if (last[edge] != null && FrameNumber.difference(last[edge].frame(), since) > 0) {
            from = last[edge].frame();
        }
        return FrameNumber.difference(last[master].frame(), from) > silenceFrames;
    }

    /** Whether every edge that takes part and speaks has {@code version} in force and nothing announced. */
    boolean agreeOn(Version version, long since, IntPredicate takesPart) {
        for (int edge = 0; edge < last.length; edge++) {
            boolean agrees = last[edge] != null
                    && last[edge].active().equals(version) && last[edge].next().equals(version);
            if (!agrees && takesPart.test(edge) && !isSilent(edge, since)) {
                return false;
            }
        }
        return true;
    }
}
